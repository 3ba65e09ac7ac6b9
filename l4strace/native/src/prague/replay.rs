//! The detector replayed from packets alone: what the tracker drives, ACK by ACK.

use super::build::Build;
use super::detector::{Carry, Inputs, Step};
use super::filter::RttFilter;

/// classic_ecn as score 0..17, by the correct references and by those of the scaling bug.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    pub fixed: f64,
    pub buggy: f64,
}

/// One flow direction's detector, fed by RTT samples and by what the tracker knows of its rounds.
///
/// Call `on_rtt` for every ACK that gives an RTT, `on_reduction` when the window shrinks (CWR entry),
/// `on_round` at the end of each round. The window that the tracker estimates stands for ssthresh.
#[derive(Clone, Debug, Default)]
pub struct PacketReplay {
    filter: Option<RttFilter>,
    carry: Carry,
    fixed: i64,
    buggy: i64,
}

impl PacketReplay {
    pub fn on_rtt(&mut self, rtt_us: u64) {
        match &mut self.filter {
            Some(filter) => filter.on_rtt(rtt_us),
            None => self.filter = Some(RttFilter::new(rtt_us)),
        }
    }

    /// prague_ssthresh at a CWR entry: `ssthresh` packets, `filter::INFINITE_SSTHRESH` before any cut.
    pub fn on_reduction(&mut self, ssthresh: u32) {
        if let Some(filter) = &mut self.filter {
            self.carry.rescale(filter.rescale(ssthresh));
        }
    }

    /// One EWMA round. The detector sleeps until the first mark, as prague_update_alpha has it.
    pub fn on_round(&mut self, min_rtt_us: Option<u32>, saw_ce: bool) -> Scores {
        if let (Some(filter), true) = (&self.filter, saw_ce) {
            let inputs = Inputs::from_filter(filter, min_rtt_us);
            if let Some(step) = Step::take(&inputs, &mut self.carry) {
                self.fixed = step.apply(&Build::BITS24_FIXED, self.fixed);
                self.buggy = step.apply(&Build::BITS24_BUGGY, self.buggy);
            }
        }
        self.scores()
    }

    pub fn scores(&self) -> Scores {
        Scores { fixed: Build::BITS24_FIXED.score(self.fixed), buggy: Build::BITS24_BUGGY.score(self.buggy) }
    }

    /// srtt_pace_us and mdev_pace_us, unshifted with their fractions; `None` before the first sample.
    pub fn pace_us(&self) -> Option<(f64, f64)> {
        self.filter.as_ref().map(|filter| {
            (
                filter.srtt as f64 / f64::from(1u32 << filter.srtt_shift),
                filter.mdev as f64 / f64::from(1u32 << filter.mdev_shift),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(replay: &mut PacketReplay, rounds: usize, rtt: impl Fn(u64) -> u64) -> Scores {
        for round in 0..rounds {
            for ack in 0..30 {
                replay.on_rtt(rtt(round as u64 * 30 + ack));
            }
            replay.on_round(Some(10_000), true);
        }
        replay.scores()
    }

    #[test]
    fn sleeps_until_the_first_mark() {
        let mut replay = PacketReplay::default();
        replay.on_rtt(30_000);
        replay.on_reduction(20);
        assert_eq!(replay.on_round(Some(10_000), false), Scores::default());
        assert!(replay.on_round(Some(10_000), true).buggy > 0.0);
    }

    #[test]
    fn a_shallow_queue_fools_only_the_buggy_references() {
        let mut replay = PacketReplay::default();
        replay.on_rtt(10_000);
        replay.on_reduction(30);
        let scores = run(&mut replay, 100, |n| 10_300 + (n % 7) * 40);
        assert_eq!((scores.fixed, scores.buggy), (0.0, 17.0));
    }

    #[test]
    fn a_deep_swinging_queue_is_classic_by_both() {
        let mut replay = PacketReplay::default();
        replay.on_rtt(10_000);
        replay.on_reduction(30);
        let scores = run(&mut replay, 300, |n| 10_000 + (n % 300) * 60);
        assert_eq!((scores.fixed, scores.buggy), (17.0, 17.0));
    }
}
