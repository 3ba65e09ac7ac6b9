//! What one direction's receiver reports of it: CE count, CE bytes, and whether the two agree.

pub(super) mod ace;
pub(super) mod counters;
pub(super) mod reports;
mod standing;

use self::ace::{Arrived, CeBytes, CeCount, Step};
use self::counters::ByteCounters;
use crate::packet::AccEcnOption;
use crate::track::sending::segments::Delivered;

/// Feedback on one direction.
#[derive(Clone, Debug, Default)]
pub struct Feedback {
    pub ce: CeCount,
    /// Counters of the option, once one came.
    pub bytes: Option<Box<ByteCounters>>,
    /// Packets of the direction since the last feedback that move no acknowledgement.
    pub extra: u32,
    /// The last ACK carried classic ECE: only the first of a run reports a packet just marked.
    pub echoing: bool,
    /// An ACK since the last accepted one is missing, or showed a counter that could not be used.
    skipped: bool,
    shortest: u32,
    /// Sums since the last option that counts CE bytes.
    since: [u32; 2],
    extra_since: u32,
}

/// What one option showed apart from its counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionSays {
    pub zeroed: bool,
    pub implausible: bool,
    pub contradicts: bool,
    pub ce_bytes: Option<u32>,
    /// Corrections to the CE bounds: lo, hi, best.
    pub moved: [i64; 3],
}

impl Feedback {
    /// So many packets more may be reported by feedback that moves no acknowledgement.
    #[inline]
    pub fn expect(&mut self, packets: u32) {
        self.extra = self.extra.saturating_add(packets);
    }

    /// A repeated acknowledgement without SACK: a packet came behind the hole at which the last one stood.
    #[inline]
    pub fn behind_hole(&mut self) {
        self.expect(1);
        self.ce.at_hole();
    }

    /// An ACK that shows nothing new: it may be older than the last, or repeat it without the SACK blocks
    /// that the snaplen cut off. Only IP ids without a gap show it to be newer. Where they do not and the
    /// counter moved, or an ACK is missing before it, one feedback packet no longer reports all since the last.
    #[inline]
    pub fn repeated(&mut self, ace: u8, gapless: bool) -> Step {
        if gapless && !self.skipped {
            if let Some(step) = self.ce.repeated(ace) {
                self.sum(step);
                return step;
            }
        }
        self.skipped |= !gapless || !self.ce.stands_at(ace);
        Step::default()
    }

    /// A newer ACE value.
    #[inline(always)]
    pub fn ace(&mut self, ace: u8, got: &Delivered, gapless: bool, hidden: bool) -> Step {
        // A super-packet is received, and marked by a veth or a virtual queue, as one.
        let gapless = gapless && !got.merged && !std::mem::take(&mut self.skipped);
        let arrived = Arrived { delivered: got.packets, extra: self.extra, hidden, gapless };
        let step = self.ce.feed(ace, arrived);
        self.sum(step);
        self.extra_since = self.extra_since.saturating_add(self.extra);
        self.extra = 0;
        if got.shortest > 0 {
            self.shortest = if self.shortest == 0 { got.shortest } else { self.shortest.min(got.shortest) };
        }
        step
    }

    fn sum(&mut self, step: Step) {
        self.since[0] = self.since[0].saturating_add(step.lo);
        self.since[1] = self.since[1].saturating_add(step.hi);
    }

    /// The option of the same packet. `most` bytes were sent, `acked` of them acknowledged.
    #[inline(always)]
    pub fn option(
        &mut self,
        option: &AccEcnOption,
        (most, acked): (u64, i64),
        from_start: bool,
        longest: u32,
    ) -> OptionSays {
        let first = self.bytes.is_none();
        let counters = self.bytes.get_or_insert_default();
        let verdict = counters.read(option, most, acked, from_start);
        let mut says = OptionSays {
            zeroed: verdict.zeroed,
            implausible: verdict.implausible,
            ce_bytes: verdict.ce_bytes,
            ..OptionSays::default()
        };
        let Some(bytes) = verdict.ce_bytes else { return says };
        if from_start || !first {
            says.contradicts = self.contradicts(bytes);
            let (lo, hi, best) = self.ce.narrow(CeBytes { bytes, shortest: self.shortest, longest });
            says.moved = [lo, hi, best];
        }
        (self.since, self.extra_since, self.shortest) = ([0, 0], 0, 0);
        says
    }

    /// CE bytes without a CE packet, or data packets with CE without CE bytes. Where eight packets and more
    /// arrived, the counter of three bits may have come round.
    fn contradicts(&self, bytes: u32) -> bool {
        let [lo, hi] = self.since;
        (bytes > 0 && hi == 0 && !self.ce.may_wrap()) || (bytes == 0 && lo > self.extra_since)
    }
}
