//! Inputs as read from objects, before the names of topics become numbers.

use rebalance_guard::{Assignment, CommitAnswer, Offset, Partition, Record, Resume, Scope, Tick};
use wasm_bindgen::JsValue;

use crate::error::{error, wrong};
use crate::names::Names;
use crate::read::{self, Fields, Read};

/// A partition by the name of its topic.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) topic: String,
    pub(crate) index: i32,
}

impl Place {
    fn of(fields: &Fields, topic: Option<&str>) -> Read<Self> {
        Ok(Self { topic: fields.topic(topic)?, index: fields.index()? })
    }

    /// `{topic?, partition}`.
    pub(crate) fn read(value: &JsValue, topic: Option<&str>) -> Read<Self> {
        Self::of(&Fields::of(value, "a partition", &["topic", "partition"])?, topic)
    }

    fn read_list(fields: &Fields, topic: Option<&str>) -> Read<Vec<Self>> {
        fields.list("partitions")?.iter().map(|value| Self::read(value, topic)).collect()
    }

    /// By number; one that no assign named is never owned.
    pub(crate) fn known(&self, names: &Names) -> Partition {
        Partition::new(names.number(&self.topic), self.index)
    }
}

/// By number, each.
pub(crate) fn known(places: &[Place], names: &Names) -> Vec<Partition> {
    places.iter().map(|place| place.known(names)).collect()
}

/// Where reading resumes.
#[derive(Debug)]
pub(crate) enum From {
    Committed(Offset, Vec<u8>),
    Empty(Option<Offset>),
    At(Offset),
    Unknown,
}

impl From {
    fn read(fields: &Fields) -> Read<Self> {
        let optional = |name: &str| {
            let value = fields.get(name)?.filter(|value| !value.is_null());
            value.map(|value| read::offset(&value, name)).transpose()
        };
        let committed = optional("committed")?;
        let metadata = match fields.get("metadata")?.filter(|value| !value.is_null()) {
            Some(value) => read::bytes(&value, "metadata")?,
            None => Vec::new(),
        };
        match (committed, fields.flag("none")?, optional("offset")?) {
            (Some(offset), false, None) => Ok(Self::Committed(offset, metadata)),
            (None, true, offset) => Ok(Self::Empty(offset)),
            (None, false, Some(offset)) => Ok(Self::At(offset)),
            (None, false, None) => Ok(Self::Unknown),
            _ => Err(error(
                "ambiguous",
                "say where reading resumes in one way: committed (with metadata), or none: true \
                 (with offset, if known), or offset alone",
            )),
        }
    }

    /// As the guard takes it.
    pub(crate) fn resume(&self) -> Resume<'_> {
        match self {
            Self::Committed(offset, metadata) => Resume::Committed { offset: *offset, metadata },
            Self::Empty(offset) => Resume::Empty(*offset),
            Self::At(offset) => Resume::At(*offset),
            Self::Unknown => Resume::Unknown,
        }
    }
}

/// What an assign adds.
#[derive(Debug)]
pub(crate) struct Assign {
    pub(crate) generation: Option<i32>,
    pub(crate) partitions: Vec<(Place, From)>,
}

impl Assign {
    pub(crate) fn read(value: &JsValue, topic: Option<&str>) -> Read<Self> {
        const KNOWN: &[&str] = &["topic", "partition", "committed", "metadata", "none", "offset"];
        let fields = Fields::of(value, "an assign", &["generation", "partitions"])?;
        let generation = fields.get("generation")?.filter(|value| !value.is_null());
        let generation = generation.map(|value| read::signed(&value, "generation")).transpose()?;
        let mut partitions = Vec::new();
        for value in fields.list("partitions")? {
            let fields = Fields::of(&value, "an assigned partition", KNOWN)?;
            partitions.push((Place::of(&fields, topic)?, From::read(&fields)?));
        }
        Ok(Self { generation, partitions })
    }
}

/// What is said of one assignment.
#[derive(Debug)]
pub(crate) struct About {
    pub(crate) place: Place,
    pub(crate) assignment: Assignment,
}

impl About {
    fn of(fields: &Fields, topic: Option<&str>) -> Read<Self> {
        Ok(Self { place: Place::of(fields, topic)?, assignment: fields.assignment()? })
    }

    /// `{topic?, partition, assignment}`.
    pub(crate) fn read(value: &JsValue, topic: Option<&str>) -> Read<Self> {
        let known = &["topic", "partition", "assignment"];
        Self::of(&Fields::of(value, "the end of a partition", known)?, topic)
    }

    /// And where it resumes.
    pub(crate) fn position(value: &JsValue, topic: Option<&str>) -> Read<(Self, From)> {
        const KNOWN: &[&str] =
            &["topic", "partition", "assignment", "committed", "metadata", "none", "offset"];
        let fields = Fields::of(value, "a position", KNOWN)?;
        Ok((Self::of(&fields, topic)?, From::read(&fields)?))
    }

    /// And an offset.
    pub(crate) fn offset(value: &JsValue, topic: Option<&str>) -> Read<(Self, Offset)> {
        const KNOWN: &[&str] = &["topic", "partition", "assignment", "offset"];
        let fields = Fields::of(value, "a group's offset", KNOWN)?;
        Ok((Self::of(&fields, topic)?, fields.offset("offset")?))
    }

    /// And what became of a commit.
    pub(crate) fn commit(
        value: &JsValue,
        topic: Option<&str>,
    ) -> Read<(Self, Offset, CommitAnswer)> {
        const KNOWN: &[&str] = &["topic", "partition", "assignment", "offset", "result"];
        let fields = Fields::of(value, "a commit's answer", KNOWN)?;
        let answer = match fields.need("result")?.as_string().as_deref() {
            Some("stored") => CommitAnswer::Stored,
            Some("retry") => CommitAnswer::Retry,
            Some("rejected") => CommitAnswer::Rejected,
            Some("not_mine") => CommitAnswer::NotMine,
            Some("fatal") => CommitAnswer::Fatal,
            _ => {
                let words = "\"stored\", \"retry\", \"rejected\", \"not_mine\" or \"fatal\"";
                return Err(wrong("result", words));
            }
        };
        Ok((Self::of(&fields, topic)?, fields.offset("offset")?, answer))
    }
}

/// `{topic?, partition, offset}`.
pub(crate) fn rewind(value: &JsValue, topic: Option<&str>) -> Read<(Place, Offset)> {
    let fields = Fields::of(value, "a rewind", &["topic", "partition", "offset"])?;
    Ok((Place::of(&fields, topic)?, fields.offset("offset")?))
}

/// `{partitions, drain | deadline}`.
pub(crate) fn revoke(value: &JsValue, topic: Option<&str>, now: Tick) -> Read<(Vec<Place>, Tick)> {
    let fields = Fields::of(value, "a revoke", &["partitions", "drain", "deadline"])?;
    let deadline = match (fields.get("drain")?, fields.get("deadline")?) {
        (Some(span), None) => now.after(read::whole(&span, "drain")?),
        (None, Some(at)) => read::tick(&at, "deadline")?,
        _ => {
            let message = "give `drain`, the time from now, or `deadline`, the tick, and not both";
            return Err(error("ambiguous", message));
        }
    };
    Ok((Place::read_list(&fields, topic)?, deadline))
}

/// What a loss covers.
#[derive(Debug)]
pub(crate) enum Loss {
    Some(Vec<Place>),
    All,
    Fatal,
}

impl Loss {
    /// `{partitions}`, `{all: true}` or `{fatal: true}`.
    pub(crate) fn read(value: &JsValue, topic: Option<&str>) -> Read<Self> {
        let fields = Fields::of(value, "a loss", &["partitions", "all", "fatal"])?;
        match (fields.get("partitions")?, fields.flag("all")?, fields.flag("fatal")?) {
            (Some(_), false, false) => Place::read_list(&fields, topic).map(Self::Some),
            (None, _, true) => Ok(Self::Fatal),
            (None, true, false) => Ok(Self::All),
            _ => Err(error(
                "ambiguous",
                "say what is lost: `partitions`, or `all: true`, or `fatal: true`",
            )),
        }
    }

    /// The partitions by number.
    pub(crate) fn known(&self, names: &Names) -> Vec<Partition> {
        if let Self::Some(places) = self { known(places, names) } else { Vec::new() }
    }

    /// As the guard takes it.
    pub(crate) fn scope<'a>(&self, partitions: &'a [Partition]) -> Scope<'a> {
        match self {
            Self::Some(_) => Scope::Some(partitions),
            Self::All => Scope::All,
            Self::Fatal => Scope::Fatal,
        }
    }
}

/// A record that owns its key.
#[derive(Debug)]
pub(crate) struct Offered {
    place: Place,
    offset: Offset,
    key: Option<Vec<u8>>,
    attempts: u16,
    namespace: u32,
    leader_epoch: Option<i32>,
}

impl Offered {
    /// `{topic?, partition, offset, key?, attempts?, leaderEpoch?, namespace?}`.
    pub(crate) fn read(value: &JsValue, topic: Option<&str>) -> Read<Self> {
        const KNOWN: &[&str] =
            &["topic", "partition", "offset", "key", "attempts", "leaderEpoch", "namespace"];
        let fields = Fields::of(value, "a record", KNOWN)?;
        let given = |name: &str| Ok::<_, JsValue>(fields.get(name)?.filter(|v| !v.is_null()));
        Ok(Self {
            place: Place::of(&fields, topic)?,
            offset: fields.offset("offset")?,
            key: given("key")?.map(|value| read::bytes(&value, "key")).transpose()?,
            attempts: fields.small("attempts", 0)?,
            namespace: fields.small("namespace", 0)?,
            leader_epoch: given("leaderEpoch")?
                .map(|value| read::signed(&value, "leaderEpoch"))
                .transpose()?,
        })
    }

    /// As the guard takes it.
    pub(crate) fn record(&self, names: &Names) -> Record<'_> {
        Record {
            partition: self.place.known(names),
            offset: self.offset,
            key: self.key.as_deref(),
            attempts: self.attempts,
            namespace: self.namespace,
            leader_epoch: self.leader_epoch,
        }
    }
}
