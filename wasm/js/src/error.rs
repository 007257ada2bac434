//! What is thrown: an `Error` with a `code`, and a message that says what to do.

use js_sys::{Error, Reflect};
use rebalance_guard::{ConfigError, InputError, Partition, RestoreError};
use wasm_bindgen::JsValue;

use crate::names::Names;

/// An `Error` with `code`.
pub(crate) fn error(code: &str, message: &str) -> JsValue {
    let error = Error::new(message);
    // A fresh object takes any property.
    let _ = Reflect::set(&error, &"code".into(), &code.into());
    error.into()
}

/// An argument of the wrong kind.
pub(crate) fn wrong(field: &str, expected: &str) -> JsValue {
    error("type", &format!("`{field}` must be {expected}"))
}

/// Settings that contradict themselves. The core spells names with underscores.
pub(crate) fn config(why: ConfigError) -> JsValue {
    error("config", &camel_case_names(&why.to_string()))
}

/// A snapshot that is none.
pub(crate) fn restore(why: RestoreError) -> JsValue {
    match why {
        RestoreError::Config(why) => config(why),
        why => error("snapshot", &why.to_string()),
    }
}

/// A refused input, told with the names of the topics.
pub(crate) fn input(why: InputError, names: &Names) -> JsValue {
    let place = |partition: Partition| {
        let name = names.name(partition.topic).unwrap_or("(never assigned)");
        format!("partition {} of topic {name}", partition.index)
    };
    match why {
        InputError::NotActive(partition) => error(
            code(why),
            &format!(
                "{} is not owned or being handed over: it cannot be rewound",
                place(partition)
            ),
        ),
        InputError::ResumeUnknown(partition) => error(
            code(why),
            &format!("where {} resumes is not known yet: call position first", place(partition)),
        ),
        why => error(code(why), &why.to_string()),
    }
}

/// The word for a refused input.
pub(crate) fn code(why: InputError) -> &'static str {
    match why {
        InputError::PartitionsFull { .. } => "partitions_full",
        InputError::NegativePartition(_) => "negative_partition",
        InputError::Dead => "dead",
        InputError::NotActive(_) => "not_active",
        InputError::AboveMark { .. } => "above_mark",
        InputError::ResumeUnknown(_) => "resume_unknown",
        InputError::NoPosition => "no_position",
        InputError::AssignmentsSpent => "assignments_spent",
        _ => "refused",
    }
}

/// `storm_at` as `stormAt`, between backticks only.
fn camel_case_names(text: &str) -> String {
    let mut quoted = false;
    let mut raise = false;
    let mut out = String::new();
    for letter in text.chars() {
        quoted ^= letter == '`';
        if quoted && letter == '_' {
            raise = true;
        } else if core::mem::take(&mut raise) {
            out.push(letter.to_ascii_uppercase());
        } else {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::camel_case_names;

    #[test]
    fn names_of_settings_are_spelled_as_in_javascript() {
        assert_eq!(camel_case_names("`storm_at` of a_b: `c`"), "`stormAt` of a_b: `c`");
    }
}
