//! The detector replayed from packets alone: what the tracker drives, ACK by ACK.

use super::build::Build;
use super::detector::{Carry, Inputs, Step};
use super::filter::{RttFilter, MAX_SRTT_SHIFT};

/// classic_ecn as score 0..17, by the correct references and by those of the scaling bug.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    pub fixed: f64,
    pub buggy: f64,
}

/// The slow-start threshold at a reduction: the most likely one, and between which two it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ssthresh {
    pub best: u32,
    pub least: u32,
    pub most: u32,
}

/// Whose clock ended a round: alpha's as builds up to 2022 update it, or as builds from 5.15 on do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paced {
    Early,
    Late,
}

/// What the detector keeps beside the filters.
#[derive(Clone, Copy, Debug, Default)]
struct Detector {
    carry: Carry,
    fixed: i64,
    buggy: i64,
}

impl Detector {
    fn step(&mut self, filter: &RttFilter, min_rtt_us: Option<u32>) {
        if let Some(step) = Step::take(&Inputs::from_filter(filter, min_rtt_us), &mut self.carry) {
            self.fixed = step.apply(&Build::BITS24_FIXED, self.fixed);
            self.buggy = step.apply(&Build::BITS24_BUGGY, self.buggy);
        }
    }

    fn scores(&self) -> Scores {
        Scores { fixed: Build::BITS24_FIXED.score(self.fixed), buggy: Build::BITS24_BUGGY.score(self.buggy) }
    }
}

/// The same detector with another threshold at each reduction, by both clocks.
#[derive(Clone, Copy, Debug)]
struct Lane {
    filter: RttFilter,
    detectors: [Detector; 2],
}

impl Lane {
    fn rescale(&mut self, ssthresh: u32) {
        let bits = self.filter.rescale(ssthresh);
        self.detectors.iter_mut().for_each(|detector| detector.carry.rescale(bits));
    }
}

/// What packets do not show of the detector: its clock, the threshold of each reduction within bounds, and in a
/// capture that begins late the score before it.
#[derive(Clone, Debug)]
struct Around {
    /// By the late clock, with the likeliest thresholds.
    late: Detector,
    /// With the least and with the largest ones. Their filters are those of the replay until `split`.
    lanes: [Lane; 2],
    split: bool,
    /// RTT samples until the filters have forgotten that they began late; `NEVER` before a threshold is known.
    cold: u32,
}

const NEVER: u32 = u32::MAX;

impl Around {
    fn new(filter: RttFilter, own: Detector, late_start: bool) -> Self {
        let lane = Lane { filter, detectors: [own; 2] };
        let mut lanes = [lane; 2];
        if late_start {
            let most = |build: Build| build.c_sticky();
            for detector in &mut lanes[1].detectors {
                (detector.fixed, detector.buggy) = (most(Build::BITS24_FIXED), most(Build::BITS24_BUGGY));
            }
        }
        Around { late: own, lanes, split: false, cold: if late_start { NEVER } else { 0 } }
    }

    /// `before` and `after`: the replay's own filter around the reduction.
    fn rescale(&mut self, before: RttFilter, after: RttFilter, ssthresh: Ssthresh) {
        if !self.split {
            self.lanes.iter_mut().for_each(|lane| lane.filter = before);
        }
        self.late.carry.rescale(i32::from(after.srtt_shift) - i32::from(before.srtt_shift));
        for (lane, packets) in self.lanes.iter_mut().zip([ssthresh.least, ssthresh.most]) {
            lane.rescale(packets);
        }
        let same = |lane: &Lane| {
            lane.filter.srtt_shift == after.srtt_shift
                && lane.filter.srtt_us() == after.srtt_us()
                && lane.filter.mdev_us() == after.mdev_us()
        };
        self.split = !self.lanes.iter().all(same);
        let shift = self.lanes[1].filter.mdev_shift;
        if self.cold == NEVER && shift <= MAX_SRTT_SHIFT {
            self.cold = 1 << shift;
        }
    }

    fn on_rtt(&mut self, rtt_us: u64) {
        if self.split {
            self.lanes.iter_mut().for_each(|lane| lane.filter.on_rtt(rtt_us));
        }
        if self.cold > 0 && self.cold < NEVER {
            self.cold -= 1;
        }
    }

    fn on_round(&mut self, own: &RttFilter, min_rtt_us: Option<u32>, paced: Paced) {
        if paced == Paced::Late {
            self.late.step(own, min_rtt_us);
        }
        if self.cold > 0 {
            return;
        }
        for lane in &mut self.lanes {
            let filter = if self.split { lane.filter } else { *own };
            lane.detectors[paced as usize].step(&filter, min_rtt_us);
        }
    }

    fn detectors(&self) -> impl Iterator<Item = &Detector> {
        self.lanes.iter().flat_map(|lane| &lane.detectors).chain([&self.late])
    }
}

/// One flow direction's detector, fed by RTT samples and by what the tracker knows of its rounds.
///
/// Call `on_rtt` for every ACK that gives an RTT, `on_reduction` when the window shrinks (CWR entry),
/// `on_round` at the end of each round. The window that the tracker estimates stands for ssthresh.
#[derive(Clone, Debug, Default)]
pub struct PacketReplay {
    filter: Option<RttFilter>,
    own: Detector,
    /// From the first reduction on.
    around: Option<Box<Around>>,
    late_start: bool,
}

impl PacketReplay {
    /// `handshake_us`: RTT of the handshake; without one the capture began late.
    pub fn new(handshake_us: Option<u32>) -> Self {
        PacketReplay {
            filter: handshake_us.map(|us| RttFilter::new(us.into())),
            late_start: handshake_us.is_none(),
            ..PacketReplay::default()
        }
    }

    #[inline(always)]
    pub fn on_rtt(&mut self, rtt_us: u64) {
        match &mut self.filter {
            Some(filter) => filter.on_rtt(rtt_us),
            None => self.filter = Some(RttFilter::new(rtt_us)),
        }
        if let Some(around) = &mut self.around {
            around.on_rtt(rtt_us);
        }
    }

    /// prague_ssthresh at a CWR entry; `filter::INFINITE_SSTHRESH` before any cut.
    pub fn on_reduction(&mut self, ssthresh: Ssthresh) {
        if let Some(filter) = &mut self.filter {
            let around =
                self.around.get_or_insert_with(|| Box::new(Around::new(*filter, self.own, self.late_start)));
            let before = *filter;
            self.own.carry.rescale(filter.rescale(ssthresh.best));
            around.rescale(before, *filter, ssthresh);
        }
    }

    /// One EWMA round. The detector sleeps until the first mark, as prague_update_alpha has it.
    pub fn on_round(&mut self, min_rtt_us: Option<u32>, saw_ce: bool, paced: Paced) {
        if let (Some(filter), true) = (&self.filter, saw_ce) {
            if paced == Paced::Early {
                self.own.step(filter, min_rtt_us);
            }
            if let Some(around) = &mut self.around {
                around.on_round(filter, min_rtt_us, paced);
            }
        }
    }

    pub fn scores(&self) -> Scores {
        self.own.scores()
    }

    /// Least and largest scores that the packets allow.
    pub fn bounds(&self) -> [Scores; 2] {
        let all = self.around.iter().flat_map(|around| around.detectors());
        all.map(Detector::scores).fold([self.scores(); 2], |[lo, hi], s| {
            [
                Scores { fixed: lo.fixed.min(s.fixed), buggy: lo.buggy.min(s.buggy) },
                Scores { fixed: hi.fixed.max(s.fixed), buggy: hi.buggy.max(s.buggy) },
            ]
        })
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
    use crate::prague::filter::INFINITE_SSTHRESH;

    fn known(packets: u32) -> Ssthresh {
        Ssthresh { best: packets, least: packets, most: packets }
    }

    /// A detector whose window was reduced once, to a threshold between `least` and `most` packets.
    fn reduced(least: u32, best: u32, most: u32) -> PacketReplay {
        let mut replay = PacketReplay::new(Some(10_000));
        replay.on_reduction(known(INFINITE_SSTHRESH));
        replay.on_reduction(Ssthresh { best, least, most });
        replay
    }

    fn run(replay: &mut PacketReplay, rounds: usize, rtt: impl Fn(u64) -> u64) -> Scores {
        for round in 0..rounds {
            for ack in 0..30 {
                replay.on_rtt(rtt(round as u64 * 30 + ack));
            }
            replay.on_round(Some(10_000), true, Paced::Early);
            replay.on_round(Some(10_000), true, Paced::Late);
        }
        replay.scores()
    }

    fn fixed(replay: &PacketReplay) -> (f64, f64) {
        let [lo, hi] = replay.bounds();
        (lo.fixed, hi.fixed)
    }

    #[test]
    fn sleeps_until_the_first_mark() {
        let mut replay = PacketReplay::default();
        replay.on_rtt(30_000);
        replay.on_reduction(known(20));
        replay.on_round(Some(10_000), false, Paced::Early);
        assert_eq!(replay.scores(), Scores::default());
        replay.on_round(Some(10_000), true, Paced::Early);
        assert!(replay.scores().buggy > 0.0);
    }

    #[test]
    fn a_shallow_queue_fools_only_the_buggy_references() {
        let mut replay = reduced(30, 30, 30);
        let scores = run(&mut replay, 100, |n| 10_300 + (n % 7) * 40);
        assert_eq!((scores.fixed, scores.buggy), (0.0, 17.0));
        assert_eq!(fixed(&replay), (0.0, 0.0));
    }

    #[test]
    fn a_deep_swinging_queue_is_classic_by_both() {
        let mut replay = reduced(30, 30, 30);
        let scores = run(&mut replay, 300, |n| 10_000 + (n % 300) * 60);
        assert_eq!((scores.fixed, scores.buggy), (17.0, 17.0));
        assert_eq!(fixed(&replay), (17.0, 17.0));
    }

    #[test]
    fn a_threshold_that_packets_leave_open_shows_in_the_bounds() {
        // A swing of 300 ACKs: a filter of 4 packets follows it, one of 60 takes it for deviation.
        let swing = |n: u64| 10_000 + (n % 300).abs_diff(150) * 30;
        for (least, most) in [(4, 4), (60, 60), (4, 60)] {
            let mut replay = reduced(least, most, most);
            run(&mut replay, 400, swing);
            let (lo, hi) = fixed(&replay);
            assert_eq!((lo <= 8.0, hi > 8.0), (least == 4, most == 60), "{least} to {most}: {lo} to {hi}");
        }
    }

    #[test]
    fn thresholds_of_one_power_of_two_are_one_filter() {
        let mut replay = reduced(33, 40, 63);
        run(&mut replay, 40, |n| 10_000 + (n % 300) * 60);
        assert!(replay.around.as_ref().is_some_and(|around| !around.split));
    }

    #[test]
    fn a_build_that_steps_each_25_ms_lags_behind() {
        let mut replay = reduced(30, 30, 30);
        for n in 0..40u64 {
            (0..30).for_each(|ack| replay.on_rtt(10_000 + ((30 * n + ack) % 300) * 60));
            replay.on_round(Some(10_000), true, Paced::Early);
        }
        assert!(replay.scores().fixed > 8.0);
        assert_eq!(fixed(&replay).0, 0.0);
    }

    #[test]
    fn a_late_capture_does_not_know_the_score_before_it() {
        let mut replay = PacketReplay::new(None);
        replay.on_rtt(10_000);
        replay.on_reduction(known(INFINITE_SSTHRESH));
        run(&mut replay, 10, |n| 10_300 + (n % 7) * 40);
        assert_eq!(fixed(&replay), (0.0, 17.0));
        replay.on_reduction(known(30));
        run(&mut replay, 100, |n| 10_300 + (n % 7) * 40);
        assert_eq!(fixed(&replay), (0.0, 0.0));
    }
}
