//! prague_classic_ecn_detection.

use super::build::{Build, TERM_SHIFT};
use super::filter::{shift_by, RttFilter, MAX_SRTT_SHIFT};

/// PRAGUE_INIT_ADJ_US: half a unit at the largest shift, so that the carry rounds.
pub const INIT_ADJ: u64 = 262_144;
/// PRAGUE_INIT_MDEV_CARRY = 2^19.5: rest_mdev_us at first; rest_depth_us is half of it.
pub const INIT_CARRY: u32 = 741_455;
const MAX_MDEV_SHIFT: u8 = MAX_SRTT_SHIFT + 1;

/// rest_mdev_us and rest_depth_us: the fraction that the integer logarithms leave for the next round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carry {
    pub mdev: u32,
    pub depth: u32,
}

impl Default for Carry {
    fn default() -> Self {
        Carry { mdev: INIT_CARRY, depth: INIT_CARRY >> 1 }
    }
}

impl Carry {
    /// Follows a change of the filters' shifts, as prague_ssthresh does.
    pub fn rescale(&mut self, bits: i32) {
        self.mdev = shift_by(u64::from(self.mdev), bits) as u32;
        self.depth = shift_by(u64::from(self.depth), bits) as u32;
    }
}

/// What goes into one step, read from the socket at the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inputs {
    pub srtt_us: u64,
    pub mdev_us: u64,
    pub srtt_shift: u8,
    pub mdev_shift: u8,
    /// tcp_min_rtt; `None` before the first sample.
    pub min_rtt_us: Option<u32>,
}

impl Inputs {
    pub fn from_filter(filter: &RttFilter, min_rtt_us: Option<u32>) -> Self {
        Inputs {
            srtt_us: filter.srtt_us(),
            mdev_us: filter.mdev_us(),
            srtt_shift: filter.srtt_shift,
            mdev_shift: filter.mdev_shift,
            min_rtt_us,
        }
    }
}

/// The two integer logarithms of one step. They do not depend on the build's references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    mdev_lg: i64,
    /// `None` when srtt does not exceed min_rtt.
    depth_lg: Option<i64>,
}

impl Step {
    /// Takes the logarithms and moves the carry on. `None` where the kernel returns early.
    pub fn take(inputs: &Inputs, carry: &mut Carry) -> Option<Step> {
        let min_rtt = u64::from(inputs.min_rtt_us?);
        if inputs.srtt_us == 0 {
            return None;
        }
        let adj = INIT_ADJ >> (MAX_MDEV_SHIFT - inputs.mdev_shift.min(MAX_MDEV_SHIFT));
        let x = inputs.mdev_us.wrapping_mul(u64::from(carry.mdev)).wrapping_add(adj);
        let mdev_lg = log_above(x, inputs.mdev_shift);
        carry.mdev = (x >> mdev_lg) as u32;
        let depth_lg = (inputs.srtt_us > min_rtt).then(|| {
            let depth = inputs.srtt_us - min_rtt;
            let y = depth.wrapping_mul(u64::from(carry.depth)).wrapping_add(adj >> 1);
            let depth_lg = log_above(y, inputs.srtt_shift);
            carry.depth = (y >> depth_lg) as u32;
            i64::from(depth_lg)
        });
        Some(Step { mdev_lg: i64::from(mdev_lg), depth_lg })
    }

    /// classic_ecn after the step, by the references of `build`.
    pub fn apply(&self, build: &Build, classic_ecn: i64) -> i64 {
        let scale = build.bits - TERM_SHIFT;
        let mut new = classic_ecn.saturating_add((self.mdev_lg << scale) - build.v0_lg);
        if let Some(depth_lg) = self.depth_lg {
            new = new.saturating_add(((depth_lg << scale) - build.d0_lg).max(0));
        }
        new.clamp(0, build.c_sticky())
    }
}

/// max(ilog2(x), shift) - shift; the kernel's ilog2(0) is undefined, taken as 0 here.
fn log_above(x: u64, shift: u8) -> u32 {
    x.max(1).ilog2().max(u32::from(shift)) - u32::from(shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores after each of `rounds` steps with constant deviation and depth at shifts 18 and 19.
    fn trajectory(build: Build, mdev_us: u64, depth_us: u64, rounds: usize) -> Vec<f64> {
        let inputs = Inputs {
            srtt_us: 10_000 + depth_us,
            mdev_us,
            srtt_shift: 18,
            mdev_shift: 19,
            min_rtt_us: Some(10_000),
        };
        let (mut carry, mut score) = (Carry::default(), 0);
        (0..rounds)
            .map(|_| {
                score = Step::take(&inputs, &mut carry).expect("an RTT").apply(&build, score);
                build.score(score)
            })
            .collect()
    }

    fn close(got: &[f64], want: &[f64]) {
        assert_eq!(got.len(), want.len());
        for (g, w) in got.iter().zip(want) {
            assert!((g - w).abs() < 0.011, "{got:?} is not {want:?}");
        }
    }

    #[test]
    fn an_l4s_path_is_classic_within_two_rounds_of_the_buggy_build_only() {
        close(&trajectory(Build::BITS24_BUGGY, 43, 53, 4), &[4.86, 9.72, 14.58, 17.0]);
        close(&trajectory(Build::BITS24_FIXED, 43, 53, 4), &[0.0; 4]);
        close(&trajectory(Build::BITS24_BUGGY, 200, 600, 3), &[7.86, 15.22, 17.0]);
        close(&trajectory(Build::BITS24_FIXED, 200, 600, 3), &[0.0; 3]);
    }

    #[test]
    fn the_reference_deviation_hovers_at_zero_or_runs_away() {
        close(&trajectory(Build::BITS24_FIXED, 750, 0, 3), &[0.22, 0.0, 0.22]);
        close(&trajectory(Build::BITS24_BUGGY, 750, 0, 4), &[4.7, 8.9, 13.6, 17.0]);
    }

    #[test]
    fn a_codel_like_queue_is_classic_in_every_build() {
        let fixed = [1.74, 3.48, 5.23, 6.47, 8.21];
        close(&trajectory(Build::BITS24_FIXED, 2500, 6000, 5), &fixed);
        close(&trajectory(Build::BITS20, 2500, 6000, 5), &fixed);
        close(&trajectory(Build::BITS24_BUGGY, 2500, 6000, 2), &[11.36, 17.0]);
    }

    #[test]
    fn microseconds_keep_even_the_buggy_build_low() {
        close(&trajectory(Build::BITS24_BUGGY, 2, 2, 3), &[0.36, 0.72, 2.08]);
        let crossing = trajectory(Build::BITS24_BUGGY, 2, 2, 20).iter().position(|c| *c > 8.0);
        assert_eq!(crossing, Some(13));
        assert!(trajectory(Build::BITS24_BUGGY, 1, 0, 1000).iter().all(|c| *c < 0.5));
        // The rounding term of the carry makes 1 us count as sqrt(2) us: with a depth of 1 us too, the
        // score creeps up by 0.06 every second round, which a short run takes for hovering.
        let creep = trajectory(Build::BITS24_BUGGY, 1, 1, 300);
        assert!(creep[..7].iter().all(|c| *c < 0.5));
        assert_eq!(creep.iter().position(|c| *c > 8.0), Some(255));
    }

    #[test]
    fn only_the_builds_own_residues_occur() {
        for build in Build::ALL {
            let (mut carry, mut score, mut seen) = (Carry::default(), 0, Vec::new());
            let mut noise = 12345u64;
            for _ in 0..2000 {
                noise = noise.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let inputs = Inputs {
                    srtt_us: 10_000 + (noise >> 50) / 2,
                    mdev_us: (noise >> 33) % 3000,
                    srtt_shift: 6,
                    mdev_shift: 7,
                    min_rtt_us: Some(10_000),
                };
                carry = if carry == Carry::default() { Carry { mdev: 181, depth: 90 } } else { carry };
                let after = Step::take(&inputs, &mut carry).unwrap().apply(&build, score);
                seen.extend(build.residue(score, after));
                score = after;
            }
            seen.sort_unstable();
            seen.dedup();
            assert!(!seen.is_empty());
            assert!(seen.iter().all(|residue| build.residues().contains(residue)), "{seen:?}");
        }
    }
}
