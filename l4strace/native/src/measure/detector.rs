//! Steps of the classic-ECN detector, one a round from the first CE on: see `l4strace/derive/senders/detector.py`.

use super::numbers::least;
use super::rounds::{Direction, Rounds};

/// A round whose end is a step of the detector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub of: u32,
    pub row: u32,
    /// The round before, whose scores are those before the step; None for the first.
    pub before: Option<u32>,
    /// Smallest RTT so far as tcp_min_rtt has it: packets that overtook others count.
    pub min_rtt_us: Option<f64>,
}

/// Of directions that may carry Prague's data.
pub fn steps(rounds: &Rounds<'_>, directions: &[Direction]) -> Vec<Step> {
    let mut found = Vec::new();
    for (of, direction) in directions.iter().enumerate().filter(|(_, direction)| direction.prague) {
        let (mut marked, mut min_rtt_us, mut before) = (false, None, None);
        for row in direction.rows.clone().filter(|row| rounds.single(*row)) {
            marked |= rounds.ce_best.or_zero(row) > 0;
            let own = least(rounds.rtt_min_us.get(row), rounds.sacked_rtt_min_us.get(row));
            min_rtt_us = least(min_rtt_us, own);
            if marked && rounds.mdev_pace_us.get(row).is_some() {
                found.push(Step { of: of as u32, row: row as u32, before, min_rtt_us });
            }
            before = Some(row as u32);
        }
    }
    found
}

impl Step {
    /// Queue depth that the step used.
    pub fn depth_us(&self, rounds: &Rounds<'_>) -> Option<f64> {
        Some((rounds.srtt_pace_us.get(self.row as usize)? - self.min_rtt_us?).max(0.0))
    }
}
