//! Tracking: decoded packets in, conversations, directions and rounds out. One pass; memory grows with
//! conversations and with their rounds up to a limit, never with packets.
//!
//! `udp` has the conversations of UDP; all else is TCP.
//!
//! `pipeline` has the thread that follows packets, `table` finds the conversation of one, and `conversation` hands it to
//! `handshake`, to what its direction is `sending` and to the `feedback` on the other; `rounds` has the rows. Packets of
//! more conversations than a cache holds are `waiting` for others of their own.

mod conversation;
mod dscp;
mod effects;
mod feedback;
mod handshake;
mod pipeline;
mod prefetch;
mod rounds;
mod sending;
mod table;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod udp;
mod waiting;

pub use conversation::direction::{Direction, Totals, CLOCK_STEP_NS};
pub use conversation::flow::{Ended, Flow};
pub use conversation::seq::SeqSpace;
pub use effects::{Acked, Effect, Effects, Seen};
pub use feedback::counters::{CEB, E0B, E1B};
pub use handshake::vantage::Vantage;
pub use handshake::{reflected, Handshake, Mode, Shown};
pub use pipeline::{follow, Pipeline, Threads};
pub use rounds::round::{Controlled, Limit, RoundRow};
pub use rounds::rows::{Leaving, Rows};
pub use sending::rtt::RttTotals;
pub use table::retrace::Retrace;
pub use table::unify::{unify, Member};
pub use table::{FlowTable, Initiator, Interned};
pub use udp::{
    by_content, Counts, Dissected, Sample, Sampled, Sending, Slot as UdpSlot, Stated, Statements, Tally,
    Transport, UdpFlow, UdpFlows, UdpRetrace, DISSECTED_FIELDS,
};

use crate::packet::Packet;
use waiting::mix::Mix;
use waiting::Waiting;

/// Follows the packets of one capture.
#[derive(Default)]
pub struct Tracker {
    pub table: FlowTable,
    /// Each where it is, however many there are: none is copied when there are more.
    #[allow(clippy::vec_box)]
    pub flows: Vec<Box<Flow>>,
    pub rounds: Rows,
    mix: Mix,
    waiting: Waiting,
    /// Conversations without data that were dropped, and with how many conversations to look again.
    folded: u64,
    fold_at: usize,
    /// With how many rows to thin them.
    thin_at: usize,
    /// First frame since when a conversation has its ports again, or goes on after a gap, and its number.
    resumed: Vec<(u64, u32)>,
    general: bool,
}

impl Tracker {
    /// Follows every packet by the general code, without prediction: all that it leaves must be the same.
    pub fn general() -> Self {
        Tracker { general: true, ..Tracker::default() }
    }

    /// Follows packets in the order of the capture.
    ///
    /// While more conversations take turns than a cache holds, they wait until some can be followed together:
    /// see [`Tracker::flush`].
    pub fn packets(&mut self, packets: &[Packet]) {
        let mut rest = packets;
        while !rest.is_empty() {
            let (next, later) = rest.split_at(self.mix.look(rest.len()));
            if self.gathers() {
                self.wait(next);
            } else {
                self.flush();
                for p in next {
                    let id = self.place(p);
                    self.follow(p, id >> 1, (id & 1) as usize);
                }
            }
            rest = later;
        }
    }

    /// So many conversations take turns that their packets wait for each other.
    #[inline]
    pub fn gathers(&self) -> bool {
        self.mix.is_wide
    }

    /// The directional id of the packet.
    #[inline(always)]
    fn place(&mut self, p: &Packet) -> u32 {
        if self.flows.len() < self.fold_at {
            if let Some(id) = self.table.again(p) {
                return id;
            }
        }
        self.intern(p, self.table.keys.hash(&p.key)).id()
    }

    #[inline]
    fn intern(&mut self, p: &Packet, hash: u64) -> Interned {
        // Here, and not once in a call, so that what is dropped depends on the packets alone.
        if self.flows.len() >= self.fold_at {
            self.fold();
        }
        let at = self.table.intern(p, hash);
        self.mix.turn(at.flow);
        if at.new {
            self.flows.push(self.begun(at.flow, p));
        }
        at
    }

    /// A conversation of that number, which `p` begins.
    fn begun(&self, number: u32, p: &Packet) -> Box<Flow> {
        let mut flow = Flow::new(number, u64::from(number) + self.folded, p);
        flow.general = self.general;
        Box::new(flow)
    }

    /// Conversations that began so far, those that were dropped among them.
    pub fn serials(&self) -> u32 {
        (self.flows.len() as u64 + self.folded) as u32
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
        self.flows.iter_mut().for_each(|flow| flow.forget_rounds());
    }
}
