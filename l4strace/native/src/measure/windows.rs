//! How a sender's window follows its marks, round by round: what `laws` and `alphas` compare.
//!
//! One reduction shows little: marks come in two rounds running, the window grows again before it is seen,
//! and what is in flight counts whole packets. So the window after every usable mark is predicted from the
//! share that a hypothesis gives up, and the errors of all predictions are added up.
//!
//! A marked round is usable when it shows for certain whether Prague reduced: isolated (no mark in the
//! 25 ms before, the shortest time between two reductions), or in a run of marked rounds, where a reduction
//! follows a reduction. Marks that were on their way when the sender reduced may make it reduce once more in
//! the next round. Rounds with losses and those of slow start are left out.

use std::array;
use std::cell::LazyCell;

use super::numbers::{least, mean, median, Sum};
use super::rounds::{Direction, Rounds};
use crate::prague::build::TARGET_RTT_US;

/// prague_rtt_target: a reduction that comes sooner after the last one is ignored.
const TARGET_NS: i64 = TARGET_RTT_US as i64 * 1000;

/// Packets in flight from which the floor (0.3125) takes away more than one.
pub const MIN_WINDOW: f64 = 4.0;

/// Packets that additive increase adds per round at most (prague_update_cwnd, RFC 5681).
const GROWTH_MAX: f64 = 1.0;

/// Growth per round while every round has marks, where nothing shows it: marked packets do not count and an
/// RTT below 25 ms slows it down. Each law may have the one that suits it.
const GROWTHS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, GROWTH_MAX];

/// Packets of growth in one round that count at most: more is a burst. By eye.
pub const BURST: f64 = 3.0;

/// Smallest error of a prediction: two counts of whole packets are off by 0.4 each (a third of a packet,
/// uniform, twice); and by eye 5 % of the window for bursts.
pub const ROUNDING: f64 = 0.7;
const UNSTEADY: f64 = 0.05;

/// Packets in flight are the fractional window rounded up: half a packet more on average.
const ROUNDED: f64 = 0.5;

/// Reductions per round (or per 25 ms where rounds are shorter) while every round has marks. CWR ends with
/// the first ACK beyond its own start: by eye, a fifth of a round later.
const CONTINUED: f64 = 0.8;

/// An error beyond two standard deviations counts linearly instead of quadratically, and one sample at most
/// six (nats): single rounds go wrong for reasons of their own. By eye.
const GAUSSIAN: f64 = 2.0;
const UNLIKELY: f64 = 6.0;

/// Single rounds of a direction.
pub struct Windows<'a> {
    rounds: &'a Rounds<'a>,
    pub rows: Vec<usize>,
    /// Whether each has neither marks nor losses.
    quiet: Vec<bool>,
}

/// A marked round that shows a response, in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub row: usize,
    pub before: f64,
    pub after: f64,
    /// Reductions that it may hold; None where no RTT is known.
    pub cuts: Option<f64>,
    /// The round after it has marks as well and comes late enough for a second reduction.
    pub again: bool,
    /// Of an isolated mark; a run of them has one of `GROWTHS`.
    pub growth: f64,
    pub error: f64,
    pub isolated: bool,
}

impl<'a> Windows<'a> {
    pub fn new(rounds: &'a Rounds<'a>, direction: &Direction) -> Self {
        let rows = rounds.singles(direction);
        let none = |row: &usize| rounds.ce_best.or_zero(*row) == 0 && rounds.retransmits.or_zero(*row) == 0;
        let quiet = rows.iter().map(none).collect();
        Windows { rounds, rows, quiet }
    }

    fn row(&self, i: usize, steps: isize) -> Option<usize> {
        self.rows.get(i.checked_add_signed(steps)?).copied()
    }

    pub fn window(&self, i: usize, steps: isize) -> Option<f64> {
        self.rounds.window(self.row(i, steps)?)
    }

    /// None beyond the ends.
    fn marked(&self, i: usize, steps: isize) -> Option<bool> {
        Some(self.rounds.ce_best.or_zero(self.row(i, steps)?) > 0)
    }

    /// A loss in or around a round, or slow start, moves the window too.
    fn disturbed(&self, i: usize) -> bool {
        let lost = |steps| self.row(i, steps).is_some_and(|row| self.rounds.retransmits.or_zero(row) > 0);
        [-1, 0, 1, 2].into_iter().any(lost) || self.rounds.slow_start[self.rows[i]] == Some(true)
    }

    /// No mark and no loss is near a round.
    pub fn calm(&self, i: usize) -> bool {
        let near = i.checked_sub(1).and_then(|first| self.quiet.get(first..first + 4));
        near.is_some_and(|near| !near.contains(&false)) && self.rounds.slow_start[self.rows[i]] != Some(true)
    }

    fn lowest(&self, i: usize) -> Option<f64> {
        least(self.window(i, 1), self.window(i, 2))
    }

    /// Growth per round without marks, and how far rounds are from the usual one.
    fn growth(&self) -> (f64, Option<f64>) {
        let change = |i: usize| Some(self.lowest(i)? - self.window(i, 0)?);
        let mut changes: Vec<f64> =
            (0..self.rows.len()).filter(|i| self.calm(*i)).filter_map(change).collect();
        let growths = changes.iter().map(|change| change.clamp(-BURST, BURST));
        let growth = mean(growths).map_or(GROWTH_MAX, |mean| mean.clamp(0.0, GROWTH_MAX));
        let usual = median(&mut changes).unwrap_or_default();
        (growth, mean(changes.iter().map(|change| (change - usual).abs())))
    }

    /// Usable rounds.
    pub fn samples(&self) -> Vec<Sample> {
        let rounds = self.rounds;
        let rtt_us = |row: &usize| rounds.rtt_mean_us.get(*row);
        let usual_us = LazyCell::new(|| median(&mut self.rows.iter().filter_map(rtt_us).collect::<Vec<_>>()));
        let calm = LazyCell::new(|| self.growth());
        let (mut found, mut marked_ns) = (Vec::new(), None);
        for (i, row) in self.rows.iter().copied().enumerate() {
            if self.marked(i, 0) != Some(true) {
                continue;
            }
            let isolated = marked_ns.is_none_or(|ns| rounds.start_ns.or_zero(row) - ns >= TARGET_NS);
            marked_ns = rounds.end_ns.get(row).or(marked_ns);
            let running = [-1, -2].into_iter().all(|steps| self.marked(i, steps) == Some(true));
            let after = if isolated { self.lowest(i) } else { self.window(i, 1) };
            let before = self.window(i, 0).filter(|before| *before >= MIN_WINDOW);
            let (Some(before), Some(after)) = (before, after) else { continue };
            if (isolated || running) && !self.disturbed(i) {
                // Each round's own RTT: a queue that grows makes rounds of 10 ms last for 25 ms and more.
                let periods = || Some((rtt_us(&row).or(*usual_us)? * 1e3 / TARGET_NS as f64).clamp(0.0, 1.0));
                let (growth, noise) = *calm;
                let error = ROUNDING.max(noise.unwrap_or_default()).max(before * UNSTEADY);
                let cuts = if isolated { Some(1.0) } else { periods().map(|periods| CONTINUED * periods) };
                let again = isolated && self.marked(i, 1) == Some(true) && periods() == Some(1.0);
                found.push(Sample { row, before, after, cuts, again, growth, error, isolated });
            }
        }
        found
    }
}

impl Sample {
    /// Share of the window that was given up, growth added back.
    pub fn given(&self) -> f64 {
        1.0 - (self.after - self.growth - ROUNDED) / (self.before - ROUNDED)
    }

    /// Cost of the sample where reductions take `fraction` of the window, in nats: each law may have made
    /// the second reduction or not.
    fn cost(&self, fraction: f64, cuts: f64, growth: f64) -> f64 {
        let left = 1.0 - fraction * cuts;
        let once = self.cost_of(left, growth);
        if self.again {
            once.min(self.cost_of(left * (1.0 - fraction), growth))
        } else {
            once
        }
    }

    /// Cost where `left` of the window is left.
    fn cost_of(&self, left: f64, growth: f64) -> f64 {
        let predicted = (self.before - ROUNDED) * left + ROUNDED;
        let off = ((self.after - (predicted + growth)) / self.error).abs();
        if off < GAUSSIAN {
            off * off / 2.0
        } else {
            (GAUSSIAN * off - GAUSSIAN * GAUSSIAN / 2.0).min(UNLIKELY)
        }
    }
}

/// Log-likelihood of each law (nats), without the constant that all share; `fractions` are the shares that
/// they give up after a round. A sample without one shows nothing of its law.
pub fn log_likelihoods<const LAWS: usize>(
    samples: &[Sample],
    fractions: impl Fn(usize) -> [Option<f64>; LAWS],
) -> [f64; LAWS] {
    let mut alone = [Sum::default(); LAWS];
    let mut running = [[Sum::default(); GROWTHS.len()]; LAWS];
    for sample in samples {
        let Some(cuts) = sample.cuts else { continue };
        for (law, fraction) in fractions(sample.row).into_iter().enumerate() {
            let Some(fraction) = fraction else { continue };
            if sample.isolated {
                alone[law] += sample.cost(fraction, cuts, sample.growth);
            } else {
                for (sum, growth) in running[law].iter_mut().zip(GROWTHS) {
                    *sum += sample.cost(fraction, cuts, growth);
                }
            }
        }
    }
    let least = |law: usize| running[law].iter().map(|sum| sum.total).fold(f64::INFINITY, f64::min);
    array::from_fn(|law| -(alone[law].total + least(law)))
}

#[cfg(test)]
mod tests {
    use super::{log_likelihoods, Direction, Rounds, Sample, Windows, CONTINUED};
    use crate::measure::rounds::Limit;
    use crate::measure::Column;

    const COUNT: usize = 40;
    const RTT_NS: i64 = 40_000_000;

    /// Round and reductions of the usable ones among rounds of these RTTs.
    fn usable(marked: &[usize], rtt_us: &[f64; COUNT]) -> Vec<(usize, f64)> {
        samples(marked, rtt_us).iter().map(|sample| (sample.row, sample.cuts.unwrap_or(0.0))).collect()
    }

    fn again(marked: &[usize], rtt_us: &[f64; COUNT]) -> Vec<(usize, bool)> {
        samples(marked, rtt_us).iter().map(|sample| (sample.row, sample.again)).collect()
    }

    fn samples(marked: &[usize], rtt_us: &[f64; COUNT]) -> Vec<Sample> {
        let marks: [u32; COUNT] = std::array::from_fn(|n| u32::from(marked.contains(&n)));
        let times: [i64; COUNT + 1] = std::array::from_fn(|n| n as i64 * RTT_NS);
        let rounds = Rounds {
            start_ns: Column::new(&times, None),
            end_ns: Column::new(&times[1..], None),
            ce_best: Column::new(&marks, None),
            inflight_max_packets: Column::new(&[40; COUNT], None),
            rtt_mean_us: Column::new(rtt_us, None),
            slow_start: &[None; COUNT],
            ..Rounds::default()
        };
        let direction = Direction { rows: 0..COUNT, ..Direction::default() };
        Windows::new(&rounds, &direction).samples()
    }

    #[test]
    fn a_mark_after_a_pause_is_usable_and_the_next_is_not() {
        assert_eq!(usable(&[10, 20, 21], &[40e3; COUNT]), [(10, 1.0), (20, 1.0)]);
    }

    #[test]
    fn in_a_run_of_marked_rounds_a_reduction_follows_a_reduction() {
        assert_eq!(usable(&[20, 21, 22, 23], &[40e3; COUNT]), [(20, 1.0), (22, CONTINUED), (23, CONTINUED)]);
    }

    /// Simulated run s4417-000: the window of the receiver hides how far the sender's own one falls.
    #[test]
    fn a_window_that_the_receiver_ends_shows_no_reduction() {
        let times: [i64; COUNT] = std::array::from_fn(|n| n as i64 * RTT_NS);
        let found = |limit: Limit| {
            let rounds = Rounds {
                start_ns: Column::new(&times, None),
                ce_best: Column::new(&[1; COUNT], None),
                inflight_max_packets: Column::new(&[40; COUNT], None),
                slow_start: &[None; COUNT],
                limits: &[limit; COUNT],
                ..Rounds::default()
            };
            let direction = Direction { rows: 0..COUNT, ..Direction::default() };
            Windows::new(&rounds, &direction).samples().len()
        };
        assert!(found(Limit::Cwnd) > 30);
        assert_eq!(found(Limit::Rwnd), 0);
    }

    /// Lab run s1301-093: rounds of 12 ms last for 28 ms when the capacity falls.
    #[test]
    fn a_round_that_a_queue_makes_long_has_a_reduction_of_its_own() {
        let mut rtts = [10e3; COUNT];
        rtts[20..23].fill(30e3);
        let found = usable(&[20, 21, 22, 23], &rtts);
        assert_eq!(found, [(20, 1.0), (22, CONTINUED), (23, CONTINUED * 0.4)]);
    }

    /// A window of 100 (and the half packet that counting adds), halved.
    const HALVED: Sample = Sample {
        row: 0,
        before: 100.5,
        after: 50.5,
        cuts: Some(1.0),
        again: false,
        growth: 0.0,
        error: 10.0,
        isolated: true,
    };

    fn likelihood(samples: &[Sample], fraction: f64) -> f64 {
        log_likelihoods(samples, |_| [Some(fraction), None])[0]
    }

    #[test]
    fn errors_cost_quadratically_then_linearly_then_no_more() {
        assert_eq!(likelihood(&[HALVED], 0.5), 0.0);
        assert_eq!(likelihood(&[HALVED], 0.4), -0.5);
        assert_eq!(likelihood(&[HALVED], 0.25), -(2.0 * 2.5 - 2.0));
        assert_eq!(likelihood(&[HALVED], 0.0), -6.0);
        assert_eq!(likelihood(&[Sample { cuts: None, ..HALVED }], 0.0), 0.0);
    }

    #[test]
    fn marks_on_their_way_may_make_a_second_reduction() {
        let twice = Sample { again: true, ..HALVED };
        let floor = 0.3125;
        assert!(likelihood(&[HALVED], floor) < -1.5);
        assert!(likelihood(&[twice], floor) > -0.1, "0.47 is left of two");
        assert_eq!(likelihood(&[twice], 0.5), 0.0, "one reduction by half is as likely");
        assert_eq!(likelihood(&[twice], 0.025), -6.0, "alpha/2 explains neither");
    }

    #[test]
    fn a_second_reduction_needs_marks_in_the_next_round_and_25_ms() {
        let found = |marked: &[usize], rtt_us: f64| again(marked, &[rtt_us; COUNT]);
        assert_eq!(found(&[10, 20, 21], 40e3), [(10, false), (20, true)]);
        assert_eq!(found(&[10, 20, 21], 10e3), [(10, false), (20, false)]);
    }

    #[test]
    fn a_run_has_the_growth_that_suits_the_law() {
        let run = Sample { after: 51.25, isolated: false, ..HALVED };
        assert_eq!(likelihood(&[run], 0.5), 0.0);
        let other = Sample { after: 50.75, ..run };
        // One growth for all of its rounds: half a packet more, a twentieth of the error off each.
        let each: f64 = 0.025_f64.powi(2) / 2.0;
        assert!((likelihood(&[run, other], 0.5) + 2.0 * each).abs() < 1e-12);
    }

    /// Lab run s1201-030: of 5.5 packets, of which 6 are in flight, a third leaves 4.3.
    #[test]
    fn a_share_is_of_the_fractional_window() {
        let sample = Sample { before: 6.0, after: 4.28, ..HALVED };
        assert!((sample.given() - 0.3125).abs() < 1e-3);
    }
}
