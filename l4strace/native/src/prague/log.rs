//! Detector steps that a kernel log recorded, replayed one by one and from the start.

use super::build::Build;
use super::detector::{Carry, Inputs, Step};
use super::filter::MAX_SRTT_SHIFT;

/// One call of prague_classic_ecn_detection as logged at its entry; what is not logged is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoggedStep {
    pub classic_ecn: Option<i64>,
    pub srtt_us: u64,
    pub mdev_us: u64,
    pub srtt_shift: Option<u8>,
    pub min_rtt_us: Option<u32>,
    pub rest_mdev: Option<u32>,
    pub rest_depth: Option<u32>,
}

/// What the replay shows about that call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReplayedStep {
    /// Scores before the step, each run from 0 with its own references.
    pub fixed: f64,
    pub buggy: f64,
    /// classic_ecn after the step from the logged value before it, per build of `Build::ALL`.
    pub after: [Option<i64>; 3],
    /// The logged carry went in: `after` is exact.
    pub exact: bool,
}

/// Replays one flow's steps in order.
pub fn replay(steps: &[LoggedStep]) -> Vec<ReplayedStep> {
    let (fixed, buggy) = (Build::BITS24_FIXED, Build::BITS24_BUGGY);
    let (mut score_fixed, mut score_buggy) = (0, 0);
    let mut runner = CarryRunner::default();
    steps
        .iter()
        .map(|logged| {
            let mut out = ReplayedStep {
                fixed: fixed.score(score_fixed),
                buggy: buggy.score(score_buggy),
                after: [None; 3],
                exact: logged.rest_mdev.is_some() && logged.rest_depth.is_some(),
            };
            if let Some(step) = runner.step(logged) {
                score_fixed = step.apply(&fixed, score_fixed);
                score_buggy = step.apply(&buggy, score_buggy);
                out.after = Build::ALL.map(|build| Some(step.apply(&build, logged.classic_ecn?)));
            } else {
                out.after = [logged.classic_ecn; 3];
            }
            out
        })
        .collect()
}

/// The carry as logged, or run forward from its initial value where it is not.
struct CarryRunner {
    carry: Carry,
    shift: u8,
}

impl Default for CarryRunner {
    fn default() -> Self {
        CarryRunner { carry: Carry::default(), shift: MAX_SRTT_SHIFT }
    }
}

impl CarryRunner {
    fn step(&mut self, logged: &LoggedStep) -> Option<Step> {
        let shift = logged.srtt_shift.unwrap_or(self.shift).min(MAX_SRTT_SHIFT);
        self.carry.rescale(i32::from(shift) - i32::from(self.shift));
        self.shift = shift;
        if let (Some(mdev), Some(depth)) = (logged.rest_mdev, logged.rest_depth) {
            self.carry = Carry { mdev, depth };
        }
        let inputs = Inputs {
            srtt_us: logged.srtt_us,
            mdev_us: logged.mdev_us,
            srtt_shift: shift,
            mdev_shift: shift + 1,
            min_rtt_us: logged.min_rtt_us,
        };
        Step::take(&inputs, &mut self.carry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lab run b, the third detect event and the classic_ecn that the fourth one shows.
    fn logged() -> LoggedStep {
        LoggedStep {
            classic_ecn: Some(0),
            srtt_us: 10_031,
            mdev_us: 1,
            srtt_shift: Some(18),
            min_rtt_us: Some(10_030),
            rest_mdev: Some(741_455),
            rest_depth: Some(370_727),
        }
    }

    #[test]
    fn carry_runs_forward_where_it_is_not_logged() {
        let first = logged();
        let second = LoggedStep { rest_mdev: Some(1_003_599), rest_depth: Some(501_799), ..first };
        let blind = LoggedStep { rest_mdev: None, rest_depth: None, ..first };
        let with = replay(&[first, second]);
        let without = replay(&[blind, blind]);
        assert_eq!(with[1].after, without[1].after);
        assert!(with[1].exact && !without[1].exact);
    }

    #[test]
    fn a_step_without_rtt_changes_nothing() {
        let blind = LoggedStep { min_rtt_us: None, classic_ecn: Some(5), ..logged() };
        assert_eq!(replay(&[blind])[0].after, [Some(5); 3]);
    }
}
