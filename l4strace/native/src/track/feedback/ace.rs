//! The CE count of one direction as its receiver reports it in ACE, as bounds and a best value.
//!
//! ACE is the receiver's CE packet count modulo 8, starting at 5 (RFC 9768 section 3.2.2). Between two
//! feedback packets the count may have moved by `delta + 8 k`, as long as that many packets can have
//! arrived in between. Where the AccECN option counts the CE bytes, it narrows `k`.

/// Where the counter starts on the wire (RFC 9768 section 3.2.2.2).
pub const ACE_START: u8 = 5;
/// Marks after which ACE, three bits, is the same again.
pub const ACE_WRAPS: u32 = 8;

/// Weight of the newest step in running means: of the CE share that predicts what a lost ACK held, and of
/// what ACKs for eight packets and more report.
const GAIN: f32 = 1.0 / 16.0;

/// Share of CE from which runs of eight and more are likely.
const RUNS_SHARE: f32 = 0.5;

/// Packets whose marks must be known before their share predicts that of other packets.
const PROOF: u32 = 32;

/// Mean step of ACKs for eight packets and more up to which marks are so rare that a run of eight is no
/// explanation: marked throughout, such ACKs step by 3.5 on average, whatever they cover.
const QUIET: f32 = 1.0;
/// A single step from which a run of marks is likelier than marks far apart.
const LEAP: u32 = 4;
/// Share of such ACKs that step as if every packet was marked, from which that is what happened.
const ALL_MARKED: f32 = 0.9;

/// By how much the count moved with one feedback packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    pub lo: u32,
    pub hi: u32,
    pub best: u32,
}

/// What may have arrived between two feedback packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrived {
    /// Data packets newly acknowledged or SACKed.
    pub delivered: u32,
    /// Packets that can have arrived without moving the acknowledgement: pure ACKs, second copies.
    pub extra: u32,
    /// One more packet, if a hole begins here: without SACK the ACK does not show it.
    pub hidden: bool,
    /// No feedback packet was lost in between: the receiver's IP ids are consecutive.
    pub gapless: bool,
}

/// CE bytes that the option reported since the last option, and the payloads they can come in.
#[derive(Clone, Copy, Debug)]
pub struct CeBytes {
    pub bytes: u32,
    pub shortest: u32,
    pub longest: u32,
}

/// CE packets fed back so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct CeCount {
    pub lo: u64,
    pub hi: u64,
    pub best: u64,
    pub naive: u64,
    /// Counter value of the last accepted and of the last seen feedback packet.
    pub(super) ace: u8,
    pub(super) naive_ace: u8,
    pub(super) started: bool,
    /// Running share of CE among packets whose marks are known: ACKs for fewer than eight, and options.
    share: f32,
    /// So many packets have entered it.
    known: u32,
    /// Running means over ACKs for eight packets and more: the step, and whether it was that of all marked.
    step: f32,
    all: f32,
    /// Packets delivered since the last option.
    option_delivered: u32,
    /// Bounds when the last option was accepted, and packets without payload since.
    option_lo: u64,
    option_hi: u64,
    option_best: u64,
    pub(super) option_extra: u32,
    /// Marks since then that `tells_all` ruled out although the packets would allow them, and those since
    /// the ACKs last showed no marks.
    ruled_out: u32,
    ruled_out_lately: u32,
    /// Eight marks that only a hidden packet allows: in the last step, and in one whose hole showed since.
    pub(super) hidden: bool,
    pub(super) shown: bool,
}

impl CeCount {
    pub fn started(&self) -> bool {
        self.started
    }

    /// The last accepted feedback packet carried this value.
    pub fn stands_at(&self, ace: u8) -> bool {
        self.ace == ace
    }

    /// Sets which counter value means zero: 5 after a seen handshake, else the first one seen.
    pub fn start(&mut self, ace: u8) {
        if !self.started {
            self.started = true;
            (self.ace, self.naive_ace) = (ace, ace);
        }
    }

    /// The plain sum over every ACK, in whatever order: what this module improves on.
    #[inline]
    pub fn sum_naively(&mut self, ace: u8) {
        self.naive += u64::from(ace.wrapping_sub(self.naive_ace) & 7);
        self.naive_ace = ace;
    }

    /// A feedback packet that is known to be newer than the last.
    #[inline(always)]
    pub fn feed(&mut self, ace: u8, arrived: Arrived) -> Step {
        let delta = u32::from(ace.wrapping_sub(self.ace) & 7);
        self.ace = ace;
        let most = arrived.delivered.saturating_add(arrived.extra);
        let possible = most.saturating_sub(delta) / 8;
        let mut extra = 8 * u32::from(std::mem::take(&mut self.shown));
        let with_hidden = most.saturating_add(u32::from(arrived.hidden));
        self.hidden = with_hidden.saturating_sub(delta) / 8 > possible;
        if self.hidden {
            self.rule_out(8);
        }
        let wraps = if possible == 0 {
            0
        } else if self.tells_all(delta, arrived) {
            self.rule_out(8 * possible);
            0
        } else {
            // Marks began to come in runs before the running means could show it.
            extra += std::mem::take(&mut self.ruled_out_lately);
            possible
        };
        // More marks than packets: the field was mangled, or the capture missed packets.
        let hi = (delta + 8 * wraps).saturating_add(extra);
        let step = Step { lo: delta.min(with_hidden), hi, best: self.guess(delta, wraps, arrived) };
        self.learn(delta, most, arrived);
        self.option_extra = self.option_extra.saturating_add(arrived.extra);
        self.lo += u64::from(step.lo);
        self.hi += u64::from(step.hi);
        self.best += u64::from(step.best);
        step
    }

    /// The last ACK stood at the beginning of a hole.
    #[inline]
    pub fn at_hole(&mut self) {
        self.shown |= std::mem::take(&mut self.hidden);
    }

    /// A feedback packet that is newer than the last by its IP id alone: what it delivers is not known yet.
    /// `None` where it may report more than its step.
    pub fn repeated(&mut self, ace: u8) -> Option<Step> {
        let delta = u32::from(ace.wrapping_sub(self.ace) & 7);
        if !self.tells_all(delta, Arrived { gapless: true, ..Arrived::default() }) {
            return None;
        }
        self.ace = ace;
        self.lo += u64::from(delta);
        self.hi += u64::from(delta);
        self.best += u64::from(delta);
        Some(Step { lo: delta, hi: delta, best: delta })
    }

    /// The receiver must send feedback before seven marks went unreported (RFC 9768 section 3.2.2.5.1), so
    /// without a lost ACK nothing wraps, however much one ACK covers. Receive offload can break that
    /// rule with a run of marks: that there are none must have been seen, on packets whose marks are known
    /// and in the steps themselves, which are small and mostly nothing where marks are rare.
    fn tells_all(&self, delta: u32, arrived: Arrived) -> bool {
        let rare = self.known >= PROOF && self.share < RUNS_SHARE;
        arrived.gapless && rare && self.step < QUIET && delta < LEAP
    }

    /// So many packets arrived since the last option that ACE may be what it was in spite of marks.
    pub fn may_wrap(&self) -> bool {
        self.option_delivered.saturating_add(self.option_extra) >= ACE_WRAPS
    }

    #[cold]
    fn rule_out(&mut self, marks: u32) {
        if self.step < GAIN {
            self.ruled_out_lately = 0;
        }
        self.ruled_out = self.ruled_out.saturating_add(marks);
        self.ruled_out_lately = self.ruled_out_lately.saturating_add(marks);
    }

    /// The member of `delta + 8 k` nearest to what the share of CE so far predicts.
    fn guess(&self, delta: u32, wraps: u32, arrived: Arrived) -> u32 {
        if wraps == 0 {
            return delta;
        }
        let share = if self.all > ALL_MARKED { 1.0 } else { self.share };
        let expected = share * arrived.delivered as f32;
        let k = ((expected - delta as f32) / 8.0).round().max(0.0) as u32;
        delta + 8 * k.min(wraps)
    }

    /// Only from what is certain: a guess that entered here would confirm itself.
    #[inline]
    fn learn(&mut self, delta: u32, most: u32, arrived: Arrived) {
        self.option_delivered = self.option_delivered.saturating_add(arrived.delivered);
        if most < ACE_WRAPS {
            self.learn_share(delta, most);
            return;
        }
        self.step += GAIN * (delta as f32 - self.step);
        // Where whole eights are delivered, no mark and all marked step alike.
        if arrived.delivered & 7 != 0 {
            let all = if delta == arrived.delivered & 7 { 1.0 } else { 0.0 };
            self.all += GAIN * (all - self.all);
        }
    }

    pub(super) fn learn_share(&mut self, marks: u32, packets: u32) {
        if packets > 0 {
            let share = if marks == 0 { 0.0 } else { (marks as f32 / packets as f32).min(1.0) };
            // An ACK for many packets shows as much as many ACKs.
            let gain = (GAIN * packets as f32).min(0.5);
            self.share += gain * (share - self.share);
            self.known = self.known.saturating_add(packets);
        }
    }

    /// Narrows the bounds with the CE bytes reported since the last option.
    ///
    /// Returns what the caller must add to the round's sums, as signed corrections.
    #[inline]
    pub fn narrow(&mut self, ce: CeBytes) -> (i64, i64, i64) {
        // As a rule there is no mark, and nothing to narrow.
        let is_clear = ce.bytes == 0 && self.lo == self.hi;
        let moved = if is_clear { (0, 0, 0) } else { self.narrow_by(ce) };
        if self.lo == self.hi && self.option_lo == self.option_hi && ce.shortest > 0 {
            let marks = u32::try_from(self.lo - self.option_lo).unwrap_or(u32::MAX);
            self.learn_share(marks, self.option_delivered);
        }
        self.end_option();
        moved
    }

    #[cold]
    fn narrow_by(&mut self, ce: CeBytes) -> (i64, i64, i64) {
        let before = (self.lo, self.hi, self.best);
        let least = u64::from(ce.bytes.div_ceil(ce.longest.max(1)));
        self.allow(self.option_hi + least);
        if ce.shortest > 0 && self.hi > self.lo {
            let mean = (ce.shortest + ce.longest) / 2;
            let most = u64::from(ce.bytes / ce.shortest) + u64::from(self.option_extra);
            self.raise_to(self.option_lo + least);
            self.lower_to(self.option_hi + most);
            self.settle(self.option_best + u64::from((ce.bytes + mean / 2) / mean.max(1)));
        }
        let moved = |now: u64, old: u64| now as i64 - old as i64;
        (moved(self.lo, before.0), moved(self.hi, before.1), moved(self.best, before.2))
    }

    /// What comes is counted from this option on.
    #[inline]
    pub(super) fn end_option(&mut self) {
        (self.option_lo, self.option_hi, self.option_best) = (self.lo, self.hi, self.best);
        (self.option_extra, self.ruled_out, self.ruled_out_lately) = (0, 0, 0);
        self.option_delivered = 0;
    }

    /// Takes back what `tells_all` ruled out when the bytes show that a whole run of marks was merged.
    fn allow(&mut self, bound: u64) {
        let missing = bound.saturating_sub(self.hi).div_ceil(8) * 8;
        self.hi += missing.min(u64::from(self.ruled_out));
    }

    fn raise_to(&mut self, bound: u64) {
        if bound > self.lo {
            // The count is known modulo 8.
            self.lo = (self.lo + (bound - self.lo).div_ceil(8) * 8).min(self.hi);
        }
    }

    fn lower_to(&mut self, bound: u64) {
        if bound < self.hi {
            self.hi = self.hi.saturating_sub((self.hi - bound).div_ceil(8) * 8).max(self.lo);
        }
    }

    /// The value modulo 8 nearest to `likely` within the bounds.
    fn settle(&mut self, likely: u64) {
        let k = (likely.saturating_sub(self.lo) + 4) / 8;
        self.best = (self.lo + 8 * k).min(self.hi);
    }
}

#[cfg(test)]
mod tests;
