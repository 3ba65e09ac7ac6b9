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

/// Follows the packets of one capture.
#[derive(Default)]
pub struct Tracker {
    pub table: FlowTable,
    pub flows: Vec<Flow>,
    pub rounds: Vec<RoundRow>,
}

impl Tracker {
    #[inline]
    pub fn packet(&mut self, p: &Packet) {
        let at = self.table.intern(p);
        if at.new {
            self.flows.push(Flow::new(at.flow, p));
        }
        self.flows[at.flow as usize].packet(p, usize::from(!at.forward), &mut self.rounds);
    }

    /// Ends what still runs; call once after the last packet.
    pub fn finish(&mut self) {
        for flow in &mut self.flows {
            flow.finish(&mut self.rounds);
        }
    }
}
