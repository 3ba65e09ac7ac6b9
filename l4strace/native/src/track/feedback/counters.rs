//! The byte counters of the AccECN option, unwrapped (RFC 9768 section 3.2.3).

use crate::packet::AccEcnOption;

/// Index of a counter: EE0B, ECEB, EE1B.
pub const E0B: usize = 0;
pub const CEB: usize = 1;
pub const E1B: usize = 2;

/// Where the three counters start (RFC 9768 section 3.2.3.2.4).
const START: [u32; 3] = [1, 0, 1];

/// The counters have 24 bits.
const MODULUS: i64 = 1 << 24;

/// What is wrong with one option, if anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    pub zeroed: bool,
    pub implausible: bool,
    /// CE bytes since the last option that carried them; `None` when this one does not.
    pub ce_bytes: Option<u32>,
}

/// Counters that one direction's receiver reported.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByteCounters {
    pub(super) wire: [Option<u32>; 3],
    pub total: [Option<i64>; 3],
    /// Of the totals.
    pub(super) sum: i64,
    /// What was acknowledged when the last option was read.
    pub(super) acked: i64,
}

impl ByteCounters {
    /// Reads one option. `most`: payload bytes that the other side had sent; `acked`: those that are
    /// acknowledged; `from_start`: the handshake was seen, so the counters have not moved before.
    #[inline(always)]
    pub fn read(&mut self, option: &AccEcnOption, most: u64, acked: i64, from_start: bool) -> Verdict {
        self.go_on(option, most, acked).unwrap_or_else(|| self.look(option, most, acked, from_start))
    }

    /// The same where all three counters go on from what they were, as they do as a rule.
    #[inline(always)]
    fn go_on(&mut self, option: &AccEcnOption, most: u64, acked: i64) -> Option<Verdict> {
        let values = [option.e0b?, option.ceb?, option.e1b?];
        let before = [self.wire[0]?, self.wire[1]?, self.wire[2]?];
        // A counter that starts at 1 is 0 where it wraps, too.
        if values[E0B] == 0 || values[E1B] == 0 || acked - self.acked >= MODULUS / 2 {
            return None;
        }
        let step = |i: usize| values[i].wrapping_sub(before[i]) & (MODULUS as u32 - 1);
        let steps = [step(0), step(1), step(2)];
        let sum = i64::from(steps[0]) + i64::from(steps[1]) + i64::from(steps[2]);
        if (steps[0] | steps[1] | steps[2]) >= MODULUS as u32 / 2 || self.sum + sum > most as i64 {
            return None;
        }
        self.acked = acked;
        self.sum += sum;
        for i in 0..3 {
            self.wire[i] = Some(values[i]);
            self.total[i] = self.total[i].map(|total| total + i64::from(steps[i]));
        }
        Some(Verdict { ce_bytes: Some(steps[CEB]), ..Verdict::default() })
    }

    /// The same whatever the option shows.
    fn look(&mut self, option: &AccEcnOption, most: u64, acked: i64, from_start: bool) -> Verdict {
        let mut verdict = Verdict::default();
        let values = [option.e0b, option.ceb, option.e1b];
        let zeroed = is_zeroed(option);
        if zeroed && values.iter().flatten().all(|&v| v == 0) {
            verdict.zeroed = true;
            return verdict;
        }
        let mut steps: [Option<i64>; 3] = std::array::from_fn(|i| Some(self.step(i, values[i]?, from_start)));
        if acked - self.acked >= MODULUS / 2 && (from_start || self.wire.iter().any(Option::is_some)) {
            self.unwrap(&mut steps, acked);
        }
        // Data behind a hole counts before it is acknowledged: that far forward is no step back.
        let unreported = most as i64 - self.sum;
        for step in steps.iter_mut().flatten() {
            if *step < 0 && *step + MODULUS <= unreported {
                *step += MODULUS;
            }
        }
        let step = |i: usize| steps[i].unwrap_or(0);
        let sum = step(0) + step(1) + step(2);
        if (step(0) | step(1) | step(2)) < 0 || self.sum + sum > most as i64 {
            verdict.implausible = true;
            return verdict;
        }
        if zeroed {
            verdict.zeroed = true;
            return verdict;
        }
        self.acked = acked;
        self.sum += sum;
        for i in 0..3 {
            if let (Some(value), Some(step)) = (values[i], steps[i]) {
                self.wire[i] = Some(value);
                *self.total[i].get_or_insert(0) += step;
            }
        }
        verdict.ce_bytes = steps[CEB].map(|s| u32::try_from(s).unwrap_or(u32::MAX));
        verdict
    }

    /// Options further apart than half a counter: what was acknowledged in between shows how often one
    /// wrapped, and what it counted so far, which.
    #[cold]
    fn unwrap(&self, steps: &mut [Option<i64>; 3], acked: i64) {
        let moved = acked - self.acked;
        steps.iter_mut().flatten().for_each(|step| *step = step.rem_euclid(MODULUS));
        let missing = moved - steps.iter().flatten().sum::<i64>();
        let most = (0..3).filter(|&i| steps[i].is_some()).max_by_key(|&i| (self.total[i], steps[i]));
        if let (Some(step), true) = (most.and_then(|i| steps[i].as_mut()), missing >= MODULUS / 2) {
            *step += (missing + MODULUS / 2) / MODULUS * MODULUS;
        }
    }

    /// Signed step modulo 2^24.
    fn step(&self, i: usize, value: u32, from_start: bool) -> i64 {
        let before = match (self.wire[i], from_start) {
            (Some(before), _) => before,
            // Drafts before the RFC (0xACC0) start EE1B at 0.
            (None, true) => START[i].min(value),
            (None, false) => value,
        };
        let step = value.wrapping_sub(before) << 8;
        i64::from(step as i32 >> 8)
    }
}

/// The first counter of an option starts at 1, so that a middlebox that writes zeros is noticed.
fn is_zeroed(option: &AccEcnOption) -> bool {
    let order_1 = option.kind == 174 || option.exid == Some(0xACC1);
    let first = if order_1 { option.e1b } else { option.e0b };
    first == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(e0b: u32, ceb: u32, e1b: u32) -> AccEcnOption {
        AccEcnOption { kind: 172, length: 11, e0b: Some(e0b), ceb: Some(ceb), e1b: Some(e1b), exid: None }
    }

    #[test]
    fn totals_do_not_contain_the_initial_values() {
        let mut c = ByteCounters::default();
        assert_eq!(c.read(&option(1001, 500, 1), 1500, 0, true).ce_bytes, Some(500));
        assert_eq!(c.total, [Some(1000), Some(500), Some(0)]);
    }

    #[test]
    fn an_old_draft_starts_ee1b_at_zero() {
        let mut c = ByteCounters::default();
        assert!(!c.read(&option(1, 0, 0), 0, 0, true).implausible);
        c.read(&option(1, 0, 1432), 1432, 0, true);
        assert_eq!(c.total[E1B], Some(1432));
    }

    #[test]
    fn counters_wrap_at_24_bit() {
        let mut c = ByteCounters::default();
        let most = 1 << 40;
        for i in 1..=40u32 {
            c.read(&option(1, (i * 5_000_000) & 0xff_ffff, 1), most, 0, true);
        }
        assert_eq!(c.total[CEB], Some(200_000_000));
    }

    #[test]
    fn options_further_apart_than_a_counter_are_unwrapped_by_what_was_acknowledged() {
        let mut c = ByteCounters::default();
        for i in 1..=50i64 {
            let bytes = i * 17_400_000;
            let read = c.read(&option(1, (bytes & 0xff_ffff) as u32, 1), 1 << 40, bytes, true);
            assert!(!read.implausible);
        }
        assert_eq!(c.total, [Some(0), Some(50 * 17_400_000), Some(0)]);
    }

    #[test]
    fn a_step_of_more_than_half_a_counter_is_no_step_back() {
        let mut c = ByteCounters::default();
        c.read(&option(1, 0, 1001), 1 << 40, 1000, true);
        assert_eq!(c.read(&option(1, 40, 10_001_001), 1 << 40, 10_001_040, true).ce_bytes, Some(40));
        assert_eq!(c.total, [Some(0), Some(40), Some(10_001_000)]);
    }

    #[test]
    fn what_goes_on_is_read_as_if_it_might_not() {
        let mut random = 1u64;
        let mut next = |most: u32| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as u32 % most
        };
        let (mut went_on, mut did_not) = (0, 0);
        for _ in 0..200 {
            let (mut short, mut long) = (ByteCounters::default(), ByteCounters::default());
            let (mut at, mut acked) = ([1u32, 0, 1], 0i64);
            let from_start = next(2) == 0;
            for _ in 0..100 {
                let most = [3000, 3000, 3000, 1 << 24, 1 << 25][next(5) as usize];
                at[next(3) as usize] += next(most);
                acked += i64::from(next(most));
                let kind = [172, 174][next(2) as usize];
                let mut value =
                    |i: usize| (next(50) > 0).then(|| at[i].wrapping_sub(next(40) / 39) & 0xff_ffff);
                let (e0b, ceb, e1b) = (value(0), value(1), value(2));
                let option = AccEcnOption { kind, length: 11, e0b, ceb, e1b, exid: None };
                let sent = (acked + i64::from(next(most))) as u64;
                let found = short.read(&option, sent, acked, from_start);
                assert_eq!(found, long.look(&option, sent, acked, from_start));
                assert_eq!(format!("{short:?}"), format!("{long:?}"));
                let counted = u32::from(found.ce_bytes.is_some());
                (went_on, did_not) = (went_on + counted, did_not + 1 - counted);
            }
        }
        assert!(went_on > 1000 && did_not > 1000, "{went_on}, {did_not}");
    }

    #[test]
    fn nor_is_one_that_the_ack_has_yet_to_follow_behind_a_hole() {
        let mut c = ByteCounters::default();
        let (arrived, acked) = (8_422_668, 8_375_220);
        assert!(!c.read(&option(1, 0, arrived + 1), u64::from(arrived), acked, true).implausible);
        assert_eq!(c.total[E1B], Some(i64::from(arrived)));
        assert!(c.read(&option(1, 0, arrived), u64::from(arrived), acked, true).implausible);
    }

    #[test]
    fn a_counter_that_runs_back_or_ahead_of_the_data_is_implausible() {
        let mut c = ByteCounters::default();
        assert!(c.read(&option(0xff_ffff, 0xff_ffff, 0xff_ffff), 100, 0, true).implausible);
        assert!(c.read(&option(5000, 0, 1), 100, 0, true).implausible);
        assert!(!c.read(&option(50, 0, 1), 100, 0, true).implausible);
    }

    #[test]
    fn zero_in_the_first_field_is_impossible() {
        let mut c = ByteCounters::default();
        assert!(c.read(&option(0, 0, 1001), 2000, 0, true).zeroed);
        assert!(!c.read(&AccEcnOption { kind: 174, ..option(0, 0, 1) }, 2000, 0, false).zeroed);
    }
}
