//! The report that a data packet repeats, the acknowledgement, the counter and the option: header prediction follows
//! it with what it cannot move left out.

use super::ace::{CeCount, ACE_WRAPS};
use super::counters::ByteCounters;
use super::Feedback;
use crate::packet::{flag, AccEcnOption, Packet};
use crate::track::conversation::direction::{Carried, Direction};
use crate::track::conversation::flow::Flow;
use crate::track::handshake::Mode;

impl Flow {
    /// The report of a packet with new data of `side` is the one that stands.
    #[inline(always)]
    pub(in crate::track) fn report_stands(&self, p: &Packet, side: usize) -> bool {
        let (me, peer) = (&self.dirs[side], &self.dirs[side ^ 1]);
        let stands = match self.mode {
            Some(Mode::None) => true,
            Some(Mode::Classic) => !peer.feedback.echoing && p.flags & (flag::ECE | flag::CWR) == 0,
            Some(Mode::AccEcn) => peer.counters_stand(p) && me.carried.showed(p),
            _ => false,
        };
        stands && peer.ack_stands(p)
    }

    /// Follows such a report: the same as [`Flow::acknowledge`] for it.
    #[inline(always)]
    pub(in crate::track) fn repeat_report(&mut self, p: &Packet, side: usize) {
        if self.mode == Some(Mode::AccEcn) {
            let gapless = self.dirs[side].totals.is_gapless();
            self.dirs[side ^ 1].feedback.stands_again(p.accecn.is_some(), gapless);
            self.dirs[side].carried.again(p);
        }
    }
}

impl Direction {
    /// The packet acknowledges of this direction, which sent no data, what was acknowledged before.
    #[inline(always)]
    fn ack_stands(&self, p: &Packet) -> bool {
        self.sender.is_none() && self.space.started() && self.space.unwrap(p.ack) == self.acked
    }

    #[inline(always)]
    fn counters_stand(&self, p: &Packet) -> bool {
        let most = self.totals.payload_bytes.max(self.acked.max(0) as u64);
        self.feedback.ce.stands(p.ace(), self.feedback.extra)
            && p.accecn.as_ref().is_none_or(|option| self.feedback.option_stands(option, most, self.acked))
    }
}

impl Feedback {
    #[inline(always)]
    fn option_stands(&self, option: &AccEcnOption, most: u64, acked: i64) -> bool {
        let delivered = self.shortest > 0 || self.since[0] > 0;
        !delivered && self.bytes.as_deref().is_some_and(|bytes| bytes.stand(option, most, acked))
    }

    /// The same report once more: it only ends the wait for one.
    #[inline(always)]
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
    #[inline(always)]
    fn stands(&self, ace: u8, extra: u32) -> bool {
        self.started
            && self.ace == ace
            && self.naive_ace == ace
            && extra < ACE_WRAPS
            && !self.hidden
            && !self.shown
    }

    #[inline(always)]
    fn stands_again(&mut self, extra: u32) {
        self.learn_share(0, extra);
        self.option_extra = self.option_extra.saturating_add(extra);
    }
}

impl ByteCounters {
    /// The option repeats all three counters, which were plausible and still are.
    #[inline(always)]
    fn stand(&self, option: &AccEcnOption, most: u64, acked: i64) -> bool {
        let (Some(e0b), Some(ceb), Some(e1b)) = (option.e0b, option.ceb, option.e1b) else { return false };
        let [Some(e0b_before), Some(ceb_before), Some(e1b_before)] = self.wire else { return false };
        let moved = (e0b ^ e0b_before) | (ceb ^ ceb_before) | (e1b ^ e1b_before);
        moved == 0 && e0b > 0 && e1b > 0 && self.acked == acked && self.sum <= most as i64
    }
}

impl Carried {
    /// The direction carried the counter, and the option if this packet does.
    #[inline(always)]
    fn showed(&self, p: &Packet) -> bool {
        self.ace_seen & 1 << p.ace() != 0 && (p.accecn.is_none() || self.option.is_some())
    }

    #[inline(always)]
    fn again(&mut self, p: &Packet) {
        self.ace_again(p.ace());
        if let Some(option) = &p.accecn {
            self.option(option, p.frame);
        }
    }
}
