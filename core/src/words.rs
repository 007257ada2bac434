//! What reasons, phases and places are called in logs.

use core::fmt;

use crate::{
    Ended, Event, Fenced, Hold, Ignored, Partition, Phase, Reason, Refuse, Seen, Skip, Storm,
    Ticket, TicketKind, WaitReason,
};

/// Displays each variant by one word or phrase.
macro_rules! words {
    ($type:ty { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $word,)+
                })
            }
        }
    };
}

words!(Ended {
    Drained => "drained",
    Deadline => "deadline",
    Lost => "lost",
    Replaced => "replaced",
    Rewound => "rewound",
});
words!(Fenced {
    NotOwned => "not owned",
    Draining => "draining",
    Sealed => "sealed",
    LeaseExpired => "lease expired",
    Dead => "client dead",
});
words!(Phase {
    Unowned => "unowned",
    Active => "active",
    Draining => "draining",
    Committing => "committing",
});
words!(Reason {
    AttemptsSpent => "attempts spent",
    Permanent => "permanent",
    NoUsableKey => "no usable key",
});
words!(Seen {
    Finished => "finished here",
    InFlight => "in flight here",
    Never => "never admitted here",
    BelowResume => "below the resume position",
});
words!(Skip {
    Carried => "finished by an owner before",
    DuplicateFinished => "duplicate of a finished key",
    DuplicateInFlight => "duplicate of a key in flight",
});
words!(Ignored {
    Foreign => "foreign or damaged",
    Version => "of another version",
    Base => "written for another offset",
    TooLong => "longer than metadata_max",
    LaterEpoch => "contradicted by a later leader epoch",
});
words!(WaitReason {
    NothingAssigned => "nothing assigned",
    Revoked => "revoked",
    Lost => "lost",
    LeaseExpired => "lease expired",
    Dead => "client dead",
});
words!(Storm { Calm => "calm", Rising => "rising", Storm => "storm" });
words!(TicketKind { Run => "run", DeadLetter => "dead letter" });

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owed(offset) => write!(f, "offset {offset} is owed"),
            Self::ResumeUnknown => f.write_str("resume position unknown"),
            Self::KeyBusy => f.write_str("key busy"),
            Self::Window => f.write_str("window full"),
            Self::Budget => f.write_str("budget full"),
            Self::Storm => f.write_str("storm"),
        }
    }
}

impl fmt::Display for Refuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fenced(why) => write!(f, "fenced: {why}"),
            Self::OffsetRegression { last, seen } => {
                write!(f, "offset does not move forward: last {last}, {seen}")
            }
            Self::OffsetLimit => f.write_str("the largest offset has no next one"),
        }
    }
}

/// As `topic/partition`, the topic by the host's number.
impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.topic, self.index)
    }
}

/// As `assignment:sequence`, enough to find it in a log.
impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.assignment, self.sequence)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assigned => f.write_str("assigned"),
            Self::Revoked => f.write_str("revoked"),
            Self::Sealed(ended) => write!(f, "sealed: {ended}"),
            Self::Released { stored: true } => f.write_str("released, last commit stored"),
            Self::Released { stored: false } => f.write_str("released, last commit not stored"),
            Self::Refused(why) => write!(f, "refused: {why}"),
            Self::StaleAnswer => f.write_str("stale answer"),
            Self::InputRefused(why) => write!(f, "input refused: {why}"),
            Self::LeaseExpired => f.write_str("lease expired"),
            Self::ClientDead => f.write_str("client dead"),
            Self::StormBegan => f.write_str("storm began"),
            Self::StormEnded => f.write_str("storm ended"),
        }
    }
}
