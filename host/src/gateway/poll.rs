//! What the client gives.

use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rebalance_guard::Input;

use super::state::{Flow, Gateway, Interrupt};
use crate::clock;
use crate::kafka::session::Polled;

/// Records taken from the client before anything else gets its turn.
const POLLS: usize = 128;

impl Gateway<'_> {
    /// Polls until nothing is there or others have waited long enough; whether anything was.
    pub(super) fn poll(&mut self) -> Flow<bool> {
        for turn in 0..POLLS {
            let polled = self.session.poll(&mut self.topics);
            if let Polled::Callback(callback) = polled {
                // First of all: it may say that everything is lost.
                self.callback(callback)?;
                // A drain is no stand-still.
                self.turned = clock::now();
                self.tell_polled()?;
                return Ok(true);
            }
            if turn == 0 {
                // Having polled is what renews the lease, whatever the poll gave.
                self.tell_polled()?;
            }
            match polled {
                Polled::Nothing | Polled::Callback(_) => return Ok(turn > 0),
                Polled::Unsaid => {}
                Polled::Record(record) => self.delivered(record, clock::now())?,
                Polled::End(index) => self.end_of_partition(index)?,
                Polled::Exceeded => {
                    // Its revoke follows; until then nothing may run any more.
                    self.lose_all("the client was not polled for too long".to_owned())?;
                    self.obey_outputs()?;
                }
                Polled::Fatal(code, words) => return Err(Interrupt::Fatal(code, words)),
                Polled::Trouble(error) => self.trouble(&error)?,
            }
        }
        Ok(true)
    }

    fn tell_polled(&mut self) -> Flow {
        let _ = self.engine.handle(self.now(), Input::Polled)?;
        self.obey_outputs()
    }

    fn end_of_partition(&mut self, index: i32) -> Flow {
        // B119 (fede1024/rust-rdkafka#644): an empty poll is not the end; this is.
        let Some(topic) = self.settings.topics.first().cloned() else { return Ok(()) };
        let partition = self.topics.partition(&topic, index);
        if let Some(assignment) = self.holdings.get(&partition).map(|h| h.assignment) {
            let _ = self.tell(Input::EndOfPartition { partition, assignment })?;
        }
        Ok(())
    }

    fn trouble(&mut self, error: &KafkaError) -> Flow {
        match error.rdkafka_error_code() {
            Some(code @ (Code::GroupAuthorizationFailed | Code::InconsistentGroupProtocol)) => {
                Err(Interrupt::Fatal(code, error.to_string()))
            }
            Some(Code::AutoOffsetReset | Code::OffsetOutOfRange) => Err(self.out_of_range()),
            _ => {
                tracing::warn!(%error, "the client reports");
                Ok(())
            }
        }
    }
}
