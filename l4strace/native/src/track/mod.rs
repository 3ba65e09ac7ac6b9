//! Tracking: decoded packets in, conversations, directions and rounds out. One pass; memory grows with
//! conversations and rounds, never with packets.

mod ace;
mod alpha;
mod burst;
mod counters;
mod direction;
mod echo;
mod feedback;
mod flow;
mod handshake;
mod holes;
mod prefetch;
mod reports;
mod round;
mod segments;
mod sender;
mod seq;
mod table;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod unify;
mod vantage;

pub use counters::{CEB, E0B, E1B};
pub use direction::Direction;
pub use flow::Flow;
pub use handshake::{reflected, Handshake, Mode, Shown};
pub use round::RoundRow;
pub use seq::SeqSpace;
pub use table::{FlowTable, Initiator, Interned};
pub use unify::{unify, Member};

use crate::packet::Packet;
use prefetch::prefetch;

/// Up to here the flows' state fits in the cache, and packets are followed as they come.
const FEW_FLOWS: usize = 1024;

/// Packets held back to fetch their flows' state, when there are many flows.
const BATCH: usize = 32;

/// Follows the packets of one capture.
#[derive(Default)]
pub struct Tracker {
    pub table: FlowTable,
    pub flows: Vec<Flow>,
    pub rounds: Vec<RoundRow>,
    waiting: Vec<(Packet, u64)>,
}

impl Tracker {
    #[inline]
    pub fn packet(&mut self, p: &Packet) {
        if self.flows.len() < FEW_FLOWS {
            return self.follow(p);
        }
        let hash = self.table.expect(&p.key);
        self.waiting.push((*p, hash));
        if self.waiting.len() == BATCH {
            self.catch_up();
        }
    }

    #[inline]
    fn follow(&mut self, p: &Packet) {
        let at = self.table.intern(p);
        if at.new {
            self.flows.push(Flow::new(at.flow, p));
        }
        self.flows[at.flow as usize].packet(p, usize::from(!at.forward), &mut self.rounds);
    }

    /// Follows the packets held back, each with its state fetched while others were at work.
    fn catch_up(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let mut flows = [None; BATCH];
        for (flow, (_, hash)) in flows.iter_mut().zip(&waiting) {
            *flow = self.table.guess(*hash).and_then(|id| self.flows.get(id as usize / 2));
            if let Some(flow) = flow {
                prefetch(*flow);
            }
        }
        for flow in flows.into_iter().flatten() {
            flow.dirs.iter().for_each(|d| d.prefetch());
        }
        for (p, _) in &waiting {
            self.follow(p);
        }
        self.waiting = waiting;
        self.waiting.clear();
    }

    /// Ends what still runs; call once after the last packet.
    pub fn finish(&mut self) {
        self.catch_up();
        for flow in &mut self.flows {
            flow.finish(&mut self.rounds);
        }
    }
}
