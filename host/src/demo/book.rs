//! What the ledger knows: which operations took effect, and whose token is the highest.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// One effect, as a line of the ledger file.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Line {
    /// The order that took effect.
    pub order: String,
    /// Where its record was read.
    pub partition: i32,
    /// Its place there.
    pub offset: i64,
    /// The idempotency key it came with.
    pub key: Option<String>,
    /// The fencing token it came with.
    pub token: Option<String>,
    /// The member that carried it.
    pub member: String,
}

/// One call of a member, as it was received.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) line: Line,
    pub(super) topic: String,
    pub(super) amount_cents: i64,
}

/// What the ledger answers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Ruling {
    /// It took effect now.
    Applied,
    /// It had taken effect before.
    Absorbed,
    /// A higher token was seen.
    Fenced { highest: String },
    /// It can never take effect.
    Refused(&'static str),
    /// Not now.
    Unavailable,
    /// The ledger cannot be written.
    Failed(String),
}

/// The calls for one record.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Calls {
    /// All of them.
    pub raw: u32,
    /// Those that the ledger answered with "try again".
    pub put_off: u32,
    /// The idempotency key of the first.
    pub key: Option<String>,
    /// Whether a later one came with another key.
    pub key_changed: bool,
}

/// How the ledger rules.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Rules {
    /// Honour keys and tokens.
    pub check: bool,
    /// Answer so many of 100 calls with 503, every second of them after the effect.
    pub put_off_percent: u8,
}

impl Rules {
    /// Honour keys and tokens as `check` says, and put nothing off.
    pub const fn new(check: bool) -> Self {
        Self { check, put_off_percent: 0 }
    }

    /// Put off so many of 100 calls.
    #[must_use]
    pub const fn putting_off(self, percent: u8) -> Self {
        Self { put_off_percent: percent, ..self }
    }
}

/// The ledger's state. Effects are lines of an append-only file; what is here serves the rules.
#[derive(Debug)]
#[non_exhaustive]
pub struct Book {
    file: File,
    length: u64,
    rules: Rules,
    random: super::random::Random,
    keys: HashSet<String>,
    tokens: HashMap<(String, i32), (u64, u64)>,
    /// How often each order took effect.
    pub effects: HashMap<String, u32>,
    /// The calls for each record.
    pub calls: HashMap<(i32, i64), Calls>,
    /// The last member that called for a partition.
    pub owners: BTreeMap<i32, String>,
    /// Calls absorbed by their key.
    pub absorbed: u64,
    /// Calls refused by their token.
    pub fenced: u64,
    /// Calls refused for good.
    pub refused: u64,
    /// Calls being answered, by member.
    pub open: HashMap<String, u32>,
    /// Why the ledger could not be written, if it could not.
    pub failure: Option<String>,
}

impl Book {
    pub(super) fn open(path: &Path, rules: Rules) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let length = file.metadata()?.len();
        Ok(Self {
            file,
            length,
            rules,
            random: super::random::Random::new(503),
            keys: HashSet::new(),
            tokens: HashMap::new(),
            effects: HashMap::new(),
            calls: HashMap::new(),
            owners: BTreeMap::new(),
            absorbed: 0,
            fenced: 0,
            refused: 0,
            open: HashMap::new(),
            failure: None,
        })
    }

    /// Effects that have taken place.
    pub fn applied(&self) -> u64 {
        self.effects.values().map(|times| u64::from(*times)).sum()
    }

    /// Rules on one call and writes its effect, if it has one.
    pub(super) fn rule(&mut self, call: &Call) -> Ruling {
        let line = &call.line;
        self.owners.insert(line.partition, line.member.clone());
        let put_off = self.random.below(100) < u64::from(self.rules.put_off_percent);
        let calls = self.calls.entry((line.partition, line.offset)).or_default();
        calls.raw += 1;
        calls.put_off += u32::from(put_off);
        if calls.raw == 1 {
            calls.key.clone_from(&line.key);
        } else {
            calls.key_changed |= calls.key != line.key;
        }
        if put_off && self.random.below(2) == 0 {
            return Ruling::Unavailable;
        }
        match self.decide(call) {
            Ruling::Applied | Ruling::Absorbed if put_off => Ruling::Unavailable,
            ruling => ruling,
        }
    }

    fn decide(&mut self, call: &Call) -> Ruling {
        let line = &call.line;
        if self.rules.check
            && let Some(highest) = self.outrun(call)
        {
            self.fenced += 1;
            return Ruling::Fenced { highest };
        }
        if call.amount_cents <= 0 {
            self.refused += 1;
            return Ruling::Refused("an order's amount is above 0");
        }
        if self.rules.check
            && let Some(key) = &line.key
            && self.keys.contains(key)
        {
            self.absorbed += 1;
            return Ruling::Absorbed;
        }
        if let Err(error) = self.append(line) {
            self.failure = Some(error.to_string());
            return Ruling::Failed(format!("the ledger cannot be written: {error}"));
        }
        self.keys.extend(line.key.clone());
        *self.effects.entry(line.order.clone()).or_default() += 1;
        Ruling::Applied
    }

    /// The highest token of the call's partition, when the call's own is lower.
    fn outrun(&mut self, call: &Call) -> Option<String> {
        let token = parse(call.line.token.as_deref()?)?;
        let place = (call.topic.clone(), call.line.partition);
        let highest = self.tokens.entry(place).or_insert(token);
        if token < *highest {
            return Some(format!("{}.{}", highest.0, highest.1));
        }
        *highest = token;
        None
    }

    /// A whole line or nothing.
    fn append(&mut self, line: &Line) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        if let Err(error) = self.file.write_all(&bytes) {
            // Takes back the part of a line; where that fails, too, the reader stops there.
            let _ = self.file.set_len(self.length);
            return Err(error);
        }
        self.length = self.length.saturating_add(bytes.len().try_into().unwrap_or(u64::MAX));
        Ok(())
    }
}

/// Reads `A.B`.
fn parse(token: &str) -> Option<(u64, u64)> {
    let (group, assignment) = token.split_once('.')?;
    Some((group.parse().ok()?, assignment.parse().ok()?))
}

/// The effects in a ledger file, in order.
///
/// # Errors
/// It cannot be read, or holds what is no effect.
pub fn read(path: &Path) -> io::Result<Vec<Line>> {
    let text = std::fs::read_to_string(path)?;
    text.lines().map(|line| serde_json::from_str(line).map_err(io::Error::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(order: &str, offset: i64, key: Option<&str>, token: Option<&str>) -> Call {
        let line = Line {
            order: order.into(),
            partition: 3,
            offset,
            key: key.map(Into::into),
            token: token.map(Into::into),
            member: "m".into(),
        };
        Call { line, topic: "orders".into(), amount_cents: 100 }
    }

    fn book(name: &str, check: bool) -> Book {
        let folder = std::env::temp_dir().join(format!("rg-book-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&folder);
        let book = Book::open(&folder, Rules::new(check)).expect("a file in the temp folder");
        std::fs::remove_file(&folder).expect("it was made");
        book
    }

    #[test]
    fn a_known_key_is_absorbed_and_a_new_one_applied() {
        let mut book = book("keys", true);
        assert_eq!(book.rule(&call("a", 0, Some("a"), Some("1.5"))), Ruling::Applied);
        assert_eq!(book.rule(&call("a", 0, Some("a"), Some("1.5"))), Ruling::Absorbed);
        assert_eq!((book.absorbed, book.applied()), (1, 1));
    }

    #[test]
    fn a_lower_token_is_fenced_even_with_a_new_key() {
        let mut book = book("tokens", true);
        assert_eq!(book.rule(&call("a", 0, Some("a"), Some("2.1"))), Ruling::Applied);
        let highest = "2.1".to_owned();
        let fenced = Ruling::Fenced { highest };
        assert_eq!(book.rule(&call("b", 1, Some("b"), Some("1.99"))), fenced);
        assert_eq!(book.rule(&call("b", 1, Some("b"), Some("2.1"))), Ruling::Applied);
        assert_eq!(book.rule(&call("c", 2, Some("c"), Some("10.0"))), Ruling::Applied);
        assert_eq!(book.fenced, 1);
    }

    #[test]
    fn without_checks_every_repeat_takes_effect_again() {
        let mut book = book("unchecked", false);
        assert_eq!(book.rule(&call("a", 0, Some("a"), Some("2.1"))), Ruling::Applied);
        assert_eq!(book.rule(&call("a", 0, Some("a"), Some("1.1"))), Ruling::Applied);
        assert_eq!(book.effects["a"], 2);
    }

    #[test]
    fn an_order_that_cannot_be_is_refused_for_good() {
        let mut book = book("poison", true);
        let poison = Call { amount_cents: -1, ..call("a", 0, Some("a"), None) };
        assert!(matches!(book.rule(&poison), Ruling::Refused(_)));
        assert_eq!((book.refused, book.applied()), (1, 0));
    }

    #[test]
    fn a_full_disk_fails_the_call_and_nothing_takes_effect() {
        let mut book = Book::open(Path::new("/dev/full"), Rules::new(true)).expect("it opens");
        let ruling = book.rule(&call("a", 0, Some("a"), None));
        assert!(
            matches!(ruling, Ruling::Failed(ref why) if why.contains("No space")),
            "{ruling:?}"
        );
        assert_eq!(book.applied(), 0);
        assert!(book.failure.is_some());
    }

    #[test]
    fn a_key_that_changes_between_calls_is_noticed() {
        let mut book = book("changed", true);
        book.rule(&call("a", 0, Some("a"), None));
        book.rule(&call("a", 0, Some("b"), None));
        let calls = &book.calls[&(3, 0)];
        assert_eq!((calls.raw, calls.key_changed), (2, true));
    }
}
