//! What a line expects against what the guard answered and shows.

use serde_json::{Value, json};

use super::fields::{Bad, Fields};
use super::line::{Line, Named, partition};
use super::player::Player;
use super::words::{self, Shown};
use crate::Subject;
use crate::trace::Said;

impl Player<'_> {
    /// The first expectation that does not hold.
    pub(super) fn compare(
        &mut self,
        line: &Line,
        said: &Said,
        shown: &Shown,
        batch: &[Value],
        subject: &mut impl Subject,
    ) -> Result<Option<String>, Bad> {
        if let Some(expected) = &line.expect {
            let found = match (said, expected) {
                (Said::Batch(_), Value::Array(list)) => batch_difference(list, batch)?,
                (_, Value::Object(_)) => object_difference("", expected, shown)?,
                _ => return Err("`expect` must be an object, of a batch a list".into()),
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        if let Some(expected) = &line.expect_state {
            let found = self.state(expected, subject)?;
            if let Some(found) = object_difference("state ", expected, &found)? {
                return Ok(Some(found));
            }
        }
        match &line.expect_commit {
            None => Ok(None),
            Some(Value::Array(list)) => {
                for one in list {
                    if let Some(found) = self.commit_difference(one, subject)? {
                        return Ok(Some(found));
                    }
                }
                Ok(None)
            }
            Some(one) => self.commit_difference(one, subject),
        }
    }

    /// What the guard shows of the parts that are asked for.
    fn state(&self, asked: &Value, subject: &mut impl Subject) -> Result<Shown, Bad> {
        let mut shown = Shown::new();
        let asked = asked.as_object().ok_or("`expect_state` must be an object")?;
        for (part, expected) in asked {
            let value = match part.as_str() {
                "storm" => json!(words::storm_word(subject.storm())),
                "in_flight" => json!(subject.in_flight()),
                "waiting" => match subject.waiting() {
                    Some(waiting) => json!(words::wait_word(waiting.why)),
                    None => Value::Null,
                },
                "live" => {
                    let names = expected.as_array().ok_or("`live` must be a list of names")?;
                    let live = |name: &&Value| {
                        name.as_str().is_some_and(|name| {
                            subject.is_live(self.ticket(&Named::Name(name.to_owned())))
                        })
                    };
                    Value::Array(names.iter().filter(live).cloned().collect())
                }
                "owed" => self.owed(subject),
                other => return Err(format!("`expect_state` has no part `{other}`")),
            };
            shown.insert(part.clone(), value);
        }
        Ok(shown)
    }

    /// Every debt, by partition: its number alone for the topic `t`, else `topic/number`.
    fn owed(&self, subject: &mut impl Subject) -> Value {
        let mut owed = Shown::new();
        for partition in &self.file.partitions {
            let debt = subject.progress(*partition).and_then(|progress| progress.owed);
            if let Some(offset) = debt {
                let topic = self.topics.name(partition.topic);
                let name = match topic.as_str() {
                    "t" => partition.index.to_string(),
                    topic => format!("{topic}/{}", partition.index),
                };
                owed.insert(name, json!(offset.value()));
            }
        }
        Value::Object(owed)
    }

    fn commit_difference(
        &mut self,
        expected: &Value,
        subject: &mut impl Subject,
    ) -> Result<Option<String>, Bad> {
        let mut fields = Fields::of(expected.clone(), "`expect_commit`")?;
        let at = partition(&mut fields, &mut self.topics)?;
        if !fields.has("offset") {
            return Err("`expect_commit` needs an `offset`, or null".into());
        }
        let wanted = fields.u64("offset")?;
        fields.raw("offset");
        fields.end("`expect_commit`")?;
        let found =
            subject.progress(at).and_then(|progress| progress.mark).map(|mark| mark.value());
        let name = self.topics.name(at.topic);
        let text =
            |value: Option<u64>| value.map_or_else(|| "null".to_owned(), |value| value.to_string());
        let differs = found != wanted;
        Ok(differs.then(|| {
            format!("commit of {name}/{}: expected {}, is {}", at.index, text(wanted), text(found))
        }))
    }
}

fn batch_difference(expected: &[Value], found: &[Value]) -> Result<Option<String>, Bad> {
    if expected.len() != found.len() {
        let (wanted, is) = (expected.len(), found.len());
        return Ok(Some(format!("expected {wanted} verdicts, there are {is}")));
    }
    for (number, (expected, found)) in expected.iter().zip(found).enumerate() {
        let found = found.as_object().cloned().unwrap_or_default();
        let name = format!("verdict {} ", number + 1);
        if let Some(difference) = object_difference(&name, expected, &found)? {
            return Ok(Some(difference));
        }
    }
    Ok(None)
}

/// The first field of `expected` that `found` has not, or has otherwise.
fn object_difference(name: &str, expected: &Value, found: &Shown) -> Result<Option<String>, Bad> {
    let expected = expected.as_object().ok_or("an expectation must be an object")?;
    for (field, wanted) in expected {
        let is = found.get(field).unwrap_or(&Value::Null);
        if is != wanted {
            return Ok(Some(format!("{name}{field}: expected {wanted}, is {is}")));
        }
    }
    Ok(None)
}
