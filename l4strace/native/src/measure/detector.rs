//! Steps of the classic-ECN detector, one a round from the first CE on: see `l4strace/derive/senders/detector.py`.

use super::numbers::least;
use super::rounds::{Direction, Rounds};

/// A round whose end is a step of the detector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub of: usize,
    pub row: usize,
    /// The round before, whose scores are those before the step; None for the first.
    pub before: Option<usize>,
    /// Smallest RTT so far as tcp_min_rtt has it: packets that overtook others count.
    pub min_rtt_us: Option<f64>,
}

/// Of one direction, which may carry Prague's data.
pub fn steps<'a>(
    rounds: &'a Rounds<'_>,
    of: usize,
    direction: &Direction,
) -> impl Iterator<Item = Step> + use<'a> {
    let (mut marked, mut min_rtt_us, mut last) = (false, None, None);
    direction.rows.clone().filter(|row| rounds.single(*row)).filter_map(move |row| {
        marked |= rounds.ce_best.or_zero(row) > 0;
        let own = least(rounds.rtt_min_us.get(row), rounds.sacked_rtt_min_us.get(row));
        min_rtt_us = least(min_rtt_us, own);
        let before = last.replace(row);
        (marked && rounds.mdev_pace_us.get(row).is_some()).then_some(Step { of, row, before, min_rtt_us })
    })
}

impl Step {
    /// Queue depth that the step used.
    pub fn depth_us(&self, rounds: &Rounds<'_>) -> Option<f64> {
        Some((rounds.srtt_pace_us.get(self.row)? - self.min_rtt_us?).max(0.0))
    }
}
