//! Header prediction: nearly every data packet repeats the report of the packet before it, the acknowledgement, the
//! counter and the option. Such a report is followed here, with what it cannot move left out.

use super::ace::{CeCount, ACE_WRAPS};
use super::counters::ByteCounters;
use super::Feedback;
use crate::packet::{flag, AccEcnOption, Packet};
use crate::track::conversation::direction::{Carried, Direction};
use crate::track::conversation::flow::Flow;
use crate::track::handshake::Mode;

impl Flow {
    /// Follows the report of a packet with new data of `side` if it is the one that stands: the same as
    /// [`Flow::acknowledge`] for it. False, with nothing changed, where it may be another one.
    #[inline]
    pub(in crate::track) fn report_stands(&mut self, p: &Packet, side: usize) -> bool {
        let [client, server] = &mut self.dirs;
        let (me, peer) = if side == 0 { (client, server) } else { (server, client) };
        if !peer.ack_stands(p) {
            return false;
        }
        match self.mode {
            Some(Mode::None) => true,
            Some(Mode::Classic) => !peer.feedback.echoing && p.flags & (flag::ECE | flag::CWR) == 0,
            Some(Mode::AccEcn) if peer.counters_stand(p) && me.carried.showed(p) => {
                peer.feedback.stands_again(p.accecn.is_some(), me.totals.gapless);
                me.carried.again(p);
                true
            }
            _ => false,
        }
    }
}

impl Direction {
    /// The packet acknowledges of this direction, which sent no data, what was acknowledged before.
    fn ack_stands(&self, p: &Packet) -> bool {
        self.sender.is_none() && self.space.started() && self.space.unwrap(p.ack) == self.acked
    }

    fn counters_stand(&self, p: &Packet) -> bool {
        let most = self.totals.payload_bytes.max(self.acked.max(0) as u64);
        self.feedback.ce.stands(p.ace(), self.feedback.extra)
            && p.accecn.as_ref().is_none_or(|option| self.feedback.option_stands(option, most, self.acked))
    }
}

impl Feedback {
    fn option_stands(&self, option: &AccEcnOption, most: u64, acked: i64) -> bool {
        let delivered = self.shortest > 0 || self.since[0] > 0;
        !delivered && self.bytes.as_deref().is_some_and(|bytes| bytes.stand(option, most, acked))
    }

    /// The same report once more: it only ends the wait for one.
    fn stands_again(&mut self, with_option: bool, gapless: bool) {
        self.skipped &= !gapless;
        let extra = std::mem::take(&mut self.extra);
        self.ce.stands_again(extra);
        self.extra_since = self.extra_since.saturating_add(extra);
        if with_option {
            self.ce.end_option();
            (self.since, self.extra_since) = ([0, 0], 0);
        }
    }
}

impl CeCount {
    /// A counter of `ace` after `extra` packets without data moves nothing.
    fn stands(&self, ace: u8, extra: u32) -> bool {
        self.started
            && self.ace == ace
            && self.naive_ace == ace
            && extra < ACE_WRAPS
            && !self.hidden
            && !self.shown
    }

    fn stands_again(&mut self, extra: u32) {
        self.learn_share(0, extra);
        self.option_extra = self.option_extra.saturating_add(extra);
    }
}

impl ByteCounters {
    /// The option repeats all three counters, which were plausible and still are.
    fn stand(&self, option: &AccEcnOption, most: u64, acked: i64) -> bool {
        let values = [option.e0b, option.ceb, option.e1b];
        let counts = |value: Option<u32>| value.is_some_and(|value| value > 0);
        values == self.wire
            && values[1].is_some()
            && counts(values[0])
            && counts(values[2])
            && self.acked == acked
            && self.sum <= most as i64
    }
}

impl Carried {
    /// The direction carried the counter, and the option if this packet does.
    fn showed(&self, p: &Packet) -> bool {
        self.ace_seen & 1 << p.ace() != 0 && (p.accecn.is_none() || self.option.is_some())
    }

    fn again(&mut self, p: &Packet) {
        self.ace(p.ace());
        if let Some(option) = &p.accecn {
            self.option(option, p.frame);
        }
    }
}
