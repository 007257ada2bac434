//! Faults by name.

use rebalance_guard_sim::group::{Act, CommitFault, Planned};

use super::SimulateError;

/// What goes wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fault {
    Restart,
    Kill,
    Freeze,
    Stall,
    Network,
    SlowCommit,
    FailingCommit,
    Hang,
    LateAnswer,
    Clock,
    Duplicate,
    Compaction,
    Truncation,
}

/// Name and meaning of each.
pub(super) const ALL: [(&str, Fault, &str); 13] = [
    ("restart", Fault::Restart, "a process stops in good order and starts again in 2 to 8 s"),
    ("kill", Fault::Kill, "a process dies at once and starts again in 5 to 20 s"),
    ("freeze", Fault::Freeze, "a process stands still for longer than the session, and goes on"),
    ("stall", Fault::Stall, "a process does not poll for longer than max poll, and goes on"),
    (
        "network",
        Fault::Network,
        "a member cannot reach the coordinator for longer than the session",
    ),
    ("slow-commit", Fault::SlowCommit, "for 10 to 30 s commits are answered 1 to 8 s late"),
    ("failing-commit", Fault::FailingCommit, "for 10 to 30 s commits fail, stored or not"),
    ("hang", Fault::Hang, "a worker does not come back for about as long as a drain may take"),
    ("late-answer", Fault::LateAnswer, "a worker's answer is given twice"),
    ("clock", Fault::Clock, "a process's clock jumps"),
    ("duplicate", Fault::Duplicate, "a record is delivered again"),
    ("compaction", Fault::Compaction, "old records vanish from a partition"),
    ("truncation", Fault::Truncation, "a partition loses its unread end"),
];

/// At most so many of one kind.
const MOST: u32 = 1_000;

/// Reads the list of the flag.
///
/// # Errors
/// An unknown name, or a count that is none.
pub(super) fn parse(list: &[String]) -> Result<Vec<Fault>, SimulateError> {
    let mut faults = Vec::new();
    let words = list.iter().map(|word| word.trim());
    for word in words.filter(|word| !word.is_empty() && *word != "none") {
        let (name, count) = match word.split_once('=') {
            Some((name, count)) => (name, count.parse().ok()),
            None => (word, Some(1)),
        };
        let Some((_, fault, _)) = ALL.iter().find(|(known, ..)| *known == name) else {
            return Err(unknown(name));
        };
        let count = count.filter(|count| *count <= MOST);
        let count = count.ok_or_else(|| SimulateError::FaultCount {
            word: word.to_owned(),
            name: name.to_owned(),
            most: MOST,
        })?;
        faults.extend((0..count).map(|_| *fault));
    }
    Ok(faults)
}

fn unknown(name: &str) -> SimulateError {
    let near = ALL.iter().map(|(known, ..)| (strsim::damerau_levenshtein(name, known), *known));
    let near = near.min().filter(|(distance, _)| *distance <= 3).map(|(_, known)| known);
    let hint = near.map_or_else(String::new, |known| format!("did you mean `{known}`? "));
    let all: Vec<&str> = ALL.iter().map(|(known, ..)| *known).collect();
    SimulateError::Fault { name: name.to_owned(), hint, all: all.join(", ") }
}

/// One planned event in words.
pub(super) fn words(planned: &Planned) -> String {
    let seconds = |ms: u64| format!("{}.{} s", ms / 1_000, ms % 1_000 / 100);
    match planned.act {
        Act::Start(member) => format!("member {} starts", member + 1),
        Act::Stop(member) => format!("member {} stops in good order", member + 1),
        Act::Kill(member) => format!("member {} is killed", member + 1),
        Act::Pause(member, span) => {
            format!("member {} stands still for {}", member + 1, seconds(span))
        }
        Act::Stall(member, span) => {
            format!("member {} does not poll for {}", member + 1, seconds(span))
        }
        Act::Cut(member, span) => {
            format!("member {} cannot reach the coordinator for {}", member + 1, seconds(span))
        }
        Act::SlowCommits(span, late) => {
            format!("for {} commits are answered {} late", seconds(span), seconds(late))
        }
        Act::FailCommits(span, fault) => {
            let how = match fault {
                CommitFault::NotStored => "are not stored",
                CommitFault::InDoubt => "are stored and seem to fail",
                CommitFault::TooLarge => "are refused for their metadata",
            };
            format!("for {} commits {how}", seconds(span))
        }
        Act::Hang(member, span) => {
            format!("a worker of member {} hangs for {}", member + 1, seconds(span))
        }
        Act::LateAnswer(member) => format!("a worker of member {} answers twice", member + 1),
        Act::Clock(member, by) => format!("the clock of member {} jumps by {by} ms", member + 1),
        Act::Duplicate(member) => format!("member {} gets a record again", member + 1),
        Act::Compact(partition) => format!("partition {partition} is compacted"),
        Act::Truncate(partition) => format!("partition {partition} loses its end"),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<Vec<Fault>, String> {
        let words: Vec<String> = text.split(',').map(str::to_owned).collect();
        parse(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn names_and_counts_are_read() {
        use Fault::{Kill, Restart};
        assert_eq!(list("kill, restart=2,kill=2"), Ok(vec![Kill, Restart, Restart, Kill, Kill]));
        assert_eq!(list("none"), Ok(Vec::new()));
        assert_eq!(list(""), Ok(Vec::new()));
        assert_eq!(list("kill=0"), Ok(Vec::new()));
    }

    #[test]
    fn a_name_that_is_not_known_is_refused_with_the_nearest_one_and_all() {
        let refused = list("kil").expect_err("unknown");
        assert!(refused.contains("`kil`") && refused.contains("did you mean `kill`"), "{refused}");
        assert!(refused.contains("failing-commit"), "{refused}");
    }

    #[test]
    fn a_count_that_is_none_is_refused_with_an_example() {
        for text in ["kill=", "kill=x", "kill=-1", "kill=1001", "kill=99999999999"] {
            let refused = list(text).expect_err(text);
            assert!(refused.contains("such as `kill=2`"), "{refused}");
        }
    }
}
