//! Tracking: decoded packets in, conversations, directions and rounds out. One pass; memory grows with
//! conversations and rounds, never with packets.

mod ace;
mod alpha;
mod burst;
mod clock;
mod counters;
mod data;
mod direction;
mod echo;
mod ending;
mod feedback;
mod flow;
mod fold;
mod handshake;
mod holes;
mod prefetch;
mod reports;
mod retrace;
mod round;
mod segments;
mod sender;
mod seq;
mod strays;
mod table;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod train;
mod twice;
mod unify;
mod vantage;
mod waiting;

pub use counters::{CEB, E0B, E1B};
pub use direction::{Direction, Totals};
pub use flow::{Ended, Flow};
pub use handshake::{reflected, Handshake, Mode, Shown};
pub use retrace::Retrace;
pub use round::RoundRow;
pub use seq::SeqSpace;
pub use table::{FlowTable, Initiator, Interned};
pub use unify::{unify, Member};
pub use vantage::Vantage;

use crate::packet::Packet;
use strays::Followed;
use waiting::Waiting;

/// As many conversations stay in a second-level cache by themselves.
const CACHED: usize = 128;

/// Follows the packets of one capture.
#[derive(Default)]
pub struct Tracker {
    pub table: FlowTable,
    pub flows: Vec<Flow>,
    pub rounds: Vec<RoundRow>,
    waiting: Waiting,
    /// Conversations without data that were dropped, and with how many conversations to look again.
    folded: u64,
    fold_at: usize,
}

impl Tracker {
    /// Follows packets in the order of the capture.
    ///
    /// With more conversations than a cache holds they wait until some can be followed together: see
    /// [`Tracker::flush`].
    pub fn packets(&mut self, packets: &[Packet]) {
        if self.flows.len() >= self.fold_at {
            self.fold();
        }
        if self.flows.len() > CACHED {
            return self.wait(packets);
        }
        for p in packets {
            let at = self.intern(p, self.table.hash(&p.key));
            self.follow(p, at.flow, usize::from(!at.forward));
        }
    }

    #[inline]
    fn follow(&mut self, p: &Packet, mut flow: u32, side: usize) {
        if self.flows[flow as usize].successor.is_some() {
            flow = self.latest(flow);
        }
        if self.flows[flow as usize].packet(p, side, &mut self.rounds) == Followed::Elsewhere {
            self.restart(flow);
        }
    }

    /// The conversation that has the ports of `flow` now; packets may have been numbered before it began.
    #[cold]
    fn latest(&mut self, flow: u32) -> u32 {
        let mut latest = flow;
        while let Some(next) = self.flows[latest as usize].successor {
            latest = next;
        }
        self.flows[flow as usize].successor = Some(latest);
        latest
    }

    /// What `flow` holds are the first packets of another connection on its ports.
    #[cold]
    fn restart(&mut self, flow: u32) {
        let held = self.flows[flow as usize].take_held();
        let Some((first, side)) = held.first() else { return };
        let at = self.table.restart(flow, first, *side);
        self.flows[flow as usize].successor = Some(at.flow);
        let mut new = Flow::new(at.flow, u64::from(at.flow) + self.folded, first);
        for (p, side) in &held {
            new.packet(p, *side, &mut self.rounds);
        }
        self.flows.push(new);
    }

    #[inline]
    fn intern(&mut self, p: &Packet, hash: u64) -> Interned {
        let at = self.table.intern(p, hash);
        if at.new {
            let serial = u64::from(at.flow) + self.folded;
            self.flows.push(Flow::new(at.flow, serial, p));
        }
        at
    }

    /// First frame and number of every conversation, for [`Retrace`].
    pub fn starts(&self) -> Vec<(u64, u32)> {
        self.flows.iter().map(|flow| (flow.first_frame, flow.id)).collect()
    }

    /// Ends what still runs; call once after the last packet.
    pub fn finish(&mut self) {
        self.flush();
        for flow in &mut self.flows {
            flow.finish(&mut self.rounds);
        }
    }

    /// Drops the rounds so far, which the caller has seen.
    pub fn forget_rounds(&mut self) {
        self.rounds.clear();
        self.flows.iter_mut().for_each(Flow::forget_rounds);
    }
}
