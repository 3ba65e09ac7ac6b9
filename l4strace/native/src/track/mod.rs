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

/// Packets looked at together.
const AHEAD: usize = 16;

/// As many conversations stay in a second-level cache by themselves.
const CACHED: usize = 128;

/// Follows the packets of one capture.
#[derive(Default)]
pub struct Tracker {
    pub table: FlowTable,
    pub flows: Vec<Flow>,
    pub rounds: Vec<RoundRow>,
}

impl Tracker {
    /// Follows packets in the order of the capture.
    ///
    /// With thousands of conversations no cache holds them, so the memory that a few packets need is
    /// asked for before the first of them is followed: what is asked for together comes together.
    pub fn packets(&mut self, packets: &[Packet]) {
        let mut hashes = [0; AHEAD];
        for packets in packets.chunks(AHEAD) {
            for (p, hash) in packets.iter().zip(&mut hashes) {
                *hash = self.table.hash(&p.key);
                self.table.prefetch(*hash);
            }
            let hashes = &hashes[..packets.len()];
            if self.flows.len() > CACHED {
                self.prefetch(hashes);
            }
            for (p, &hash) in packets.iter().zip(hashes) {
                self.packet(p, hash);
            }
        }
    }

    /// Asks for the conversations of some keys, then for what lies behind them, level by level.
    fn prefetch(&self, hashes: &[u64]) {
        let dirs = || self.likely(hashes).flat_map(|flow| &flow.dirs);
        self.likely(hashes).for_each(prefetch);
        dirs().for_each(Direction::prefetch);
        dirs().for_each(Direction::prefetch_sent);
    }

    fn likely<'a>(&'a self, hashes: &'a [u64]) -> impl Iterator<Item = &'a Flow> {
        hashes.iter().filter_map(|&hash| self.flows.get((self.table.likely(hash)? >> 1) as usize))
    }

    #[inline]
    fn packet(&mut self, p: &Packet, hash: u64) {
        let at = self.table.intern(p, hash);
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

    /// Drops the rounds so far, which the caller has seen.
    pub fn forget_rounds(&mut self) {
        self.rounds.clear();
        self.flows.iter_mut().for_each(Flow::forget_rounds);
    }
}
