//! The byte counters of the AccECN option, unwrapped (RFC 9768 section 3.2.3).

use crate::packet::AccEcnOption;

/// Index of a counter: EE0B, ECEB, EE1B.
pub const E0B: usize = 0;
pub const CEB: usize = 1;
pub const E1B: usize = 2;

/// Where the three counters start (RFC 9768 section 3.2.3.2.4).
const START: [u32; 3] = [1, 0, 1];

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
    wire: [Option<u32>; 3],
    pub total: [Option<i64>; 3],
}

impl ByteCounters {
    /// Reads one option. `most`: payload bytes that the other side had sent; `from_start`: the
    /// handshake was seen, so the counters have not moved before.
    pub fn read(&mut self, option: &AccEcnOption, most: u64, from_start: bool) -> Verdict {
        let mut verdict = Verdict::default();
        let values = [option.e0b, option.ceb, option.e1b];
        if values.iter().flatten().all(|&v| v == 0) && is_zeroed(option) {
            verdict.zeroed = true;
            return verdict;
        }
        let steps: [Option<i64>; 3] = std::array::from_fn(|i| Some(self.step(i, values[i]?, from_start)));
        let sum: i64 = steps.iter().flatten().sum();
        let known: i64 = self.total.iter().flatten().sum();
        if steps.iter().flatten().any(|&s| s < 0) || known + sum > most as i64 {
            verdict.implausible = true;
            return verdict;
        }
        if is_zeroed(option) {
            verdict.zeroed = true;
            return verdict;
        }
        for i in 0..3 {
            if let (Some(value), Some(step)) = (values[i], steps[i]) {
                self.wire[i] = Some(value);
                *self.total[i].get_or_insert(0) += step;
            }
        }
        verdict.ce_bytes = steps[CEB].map(|s| s as u32);
        verdict
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
        assert_eq!(c.read(&option(1001, 500, 1), 1500, true).ce_bytes, Some(500));
        assert_eq!(c.total, [Some(1000), Some(500), Some(0)]);
    }

    #[test]
    fn an_old_draft_starts_ee1b_at_zero() {
        let mut c = ByteCounters::default();
        assert!(!c.read(&option(1, 0, 0), 0, true).implausible);
        c.read(&option(1, 0, 1432), 1432, true);
        assert_eq!(c.total[E1B], Some(1432));
    }

    #[test]
    fn counters_wrap_at_24_bit() {
        let mut c = ByteCounters::default();
        let most = 1 << 40;
        for i in 1..=40u32 {
            c.read(&option(1, (i * 5_000_000) & 0xff_ffff, 1), most, true);
        }
        assert_eq!(c.total[CEB], Some(200_000_000));
    }

    #[test]
    fn a_counter_that_runs_back_or_ahead_of_the_data_is_implausible() {
        let mut c = ByteCounters::default();
        assert!(c.read(&option(0xff_ffff, 0xff_ffff, 0xff_ffff), 100, true).implausible);
        assert!(c.read(&option(5000, 0, 1), 100, true).implausible);
        assert!(!c.read(&option(50, 0, 1), 100, true).implausible);
    }

    #[test]
    fn zero_in_the_first_field_is_impossible() {
        let mut c = ByteCounters::default();
        assert!(c.read(&option(0, 0, 1001), 2000, true).zeroed);
        assert!(!c.read(&AccEcnOption { kind: 174, ..option(0, 0, 1) }, 2000, false).zeroed);
    }
}
