//! What the coordinator's answers do to a client.

use std::collections::BTreeSet;

use super::{Client, Event, Join, Then};
use crate::group::options::Protocol;
use crate::group::wire::{Code, From, Request, Response};

impl Client {
    /// An answer of the coordinator's arrives.
    pub(in crate::group) fn hear(&mut self, now: u64, to: From, response: Response) {
        if self.fatal || to.link != self.from.link || self.cut {
            return;
        }
        match response {
            Response::Join { code, member, generation } => self.joined(code, member, generation),
            Response::Sync { code, generation, assigned } => {
                self.synced(now, code, generation, &assigned);
            }
            Response::Heartbeat(code) => self.beaten(now, code),
            Response::Reconciled { code, member, epoch, assigned } => {
                self.reconciled(now, code, member, epoch, &assigned);
            }
            Response::Commit { tag, code } => self.committed(tag, code),
        }
    }

    fn joined(&mut self, code: Code, member: u64, generation: i32) {
        if self.join != Join::Asking {
            return;
        }
        match code {
            Code::Ok => {
                (self.member, self.generation) = (member, generation);
                self.ask(Request::Sync { member, generation });
            }
            Code::FencedInstance => self.die(code),
            _ => self.put_out(code),
        }
    }

    fn synced(&mut self, now: u64, code: Code, generation: i32, assigned: &[u32]) {
        if self.join != Join::Asking || generation != self.generation {
            return;
        }
        match code {
            Code::Ok => {
                self.heard = now;
                self.reach(assigned);
            }
            Code::RebalanceInProgress => self.ask_to_join(),
            Code::FencedInstance => self.die(code),
            _ => self.put_out(code),
        }
    }

    /// Callbacks from what is owned to what is assigned.
    fn reach(&mut self, assigned: &[u32]) {
        let target: BTreeSet<u32> = assigned.iter().copied().collect();
        let added: Vec<u32> = target.difference(&self.owned).copied().collect();
        let gone: Vec<u32> = self.owned.difference(&target).copied().collect();
        self.join = Join::Callback;
        if gone.is_empty() {
            self.events.push_back(Event::Assign(added));
            self.then = Then::Settle;
        } else {
            self.events.push_back(Event::Revoke(gone));
            self.then = Then::Assign(added, self.protocol == Protocol::Cooperative);
        }
    }

    fn beaten(&mut self, now: u64, code: Code) {
        match code {
            Code::Ok => self.heard = now,
            Code::RebalanceInProgress => {
                self.heard = now;
                if self.join == Join::Steady {
                    self.rejoin();
                }
            }
            Code::FencedInstance => self.die(code),
            _ if self.join == Join::Asking => {}
            _ => self.put_out(code),
        }
    }

    fn rejoin(&mut self) {
        if self.protocol == Protocol::Cooperative {
            return self.ask_to_join();
        }
        self.events.push_back(Event::Revoke(self.owned.iter().copied().collect()));
        self.join = Join::Callback;
        self.then = Then::Join;
    }

    fn put_out(&mut self, code: Code) {
        match code {
            Code::IllegalGeneration => self.generation = -1,
            _ if self.protocol == Protocol::Consumer => {}
            _ => self.member = 0,
        }
        self.lose_all();
    }

    fn reconciled(&mut self, now: u64, code: Code, member: u64, epoch: i32, assigned: &[u32]) {
        match code {
            Code::Ok => {}
            Code::UnreleasedInstance | Code::FencedInstance => return self.die(code),
            _ if self.join == Join::Init || self.evicted => return,
            // The epoch shows as it was; only the flag tells.
            _ => return self.lose_all(),
        }
        if self.evicted || self.exceeded || self.join == Join::Init {
            return;
        }
        self.heard = now;
        (self.member, self.generation) = (member, epoch);
        let first = self.join == Join::Asking;
        let same = assigned.iter().copied().eq(self.owned.iter().copied());
        if !same && (first || self.join == Join::Steady) {
            self.reach(assigned);
        } else if first {
            // Nothing was given yet, which is no news to the application.
            self.join = Join::Steady;
        }
    }

    fn committed(&mut self, tag: u64, code: Code) {
        if self.open.remove(&tag).is_none() {
            return;
        }
        self.answers.push_back((tag, code));
        match code {
            Code::FencedInstance => self.die(code),
            Code::UnknownMember if self.join == Join::Steady => self.put_out(code),
            Code::IllegalGeneration if self.join == Join::Steady => self.put_out(code),
            _ => {}
        }
    }
}
