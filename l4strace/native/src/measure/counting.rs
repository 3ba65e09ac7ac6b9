//! Which directions of a path count, and the rounds of them that last.

use std::collections::BTreeMap;

use super::numbers::least;
use super::rounds::{Direction, Rounds};
use super::usage::SLOW_START_ROUNDS;

/// Rounds of one direction that last, by `round`.
pub struct Directed {
    pub of: usize,
    pub rows: Vec<usize>,
    /// Packets.
    pub acked: u64,
    pub begin_ns: i64,
    pub end_ns: i64,
    /// Smallest RTT.
    pub least_us: Option<f64>,
}

/// Both directions of flows inside one network are one path: the larger one counts.
pub fn counting(rounds: &Rounds<'_>, directions: &[Direction]) -> Vec<Directed> {
    let mut acked: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
    let mut found = Vec::new();
    for (of, direction) in directions.iter().enumerate().filter(|(_, d)| !d.rows.is_empty()) {
        let (directed, all) = lasting(rounds, of, direction);
        acked.entry(direction.at).or_default()[usize::from(direction.near)] += all;
        found.push(directed);
    }
    found.retain(|directed| {
        let Direction { at, near, .. } = directions[directed.of];
        2 * acked[&at][usize::from(near)] > acked[&at].iter().sum()
    });
    found
}

/// With the packets of all of its rounds.
fn lasting(rounds: &Rounds<'_>, of: usize, direction: &Direction) -> (Directed, u64) {
    let rows = Vec::with_capacity(direction.rows.len());
    let mut found = Directed { of, rows, acked: 0, begin_ns: i64::MAX, end_ns: i64::MIN, least_us: None };
    let mut all = 0;
    for row in direction.rows.clone() {
        let (start_ns, end_ns) = (rounds.start_ns.or_zero(row), rounds.end_ns.or_zero(row));
        let acked = u64::from(rounds.acked_packets.or_zero(row));
        all += acked;
        if end_ns > start_ns {
            found.rows.push(row);
            found.acked += acked;
            (found.begin_ns, found.end_ns) = (found.begin_ns.min(start_ns), found.end_ns.max(end_ns));
            found.least_us = least(found.least_us, rounds.rtt_min_us.get(row));
        }
    }
    (found, all)
}

/// A flow of these rounds ends before slow start fills a path.
pub fn brief(rounds: &Rounds<'_>, rows: &[usize]) -> bool {
    let trips = |row: &usize| f64::from(rounds.round_trips.get(*row).unwrap_or(1));
    rows.iter().map(trips).sum::<f64>() <= SLOW_START_ROUNDS
}

#[cfg(test)]
mod tests {
    use super::super::Column;
    use super::*;

    #[test]
    fn a_flow_of_few_rows_that_stand_for_many_round_trips_is_not_brief() {
        let rounds = Rounds { round_trips: Column::new(&[1, 9, 10], None), ..Rounds::default() };
        assert!(brief(&rounds, &[0, 1]));
        assert!(!brief(&rounds, &[0, 2]));
    }

    #[test]
    fn the_larger_direction_of_a_path_counts() {
        let counted = |packets: [u32; 2]| {
            let rounds = Rounds { acked_packets: Column::new(&packets, None), ..Rounds::default() };
            let way = |row: usize| Direction { near: row == 0, rows: row..row + 1, ..Direction::default() };
            counting(&rounds, &[way(0), way(1)]).iter().map(|found| found.of).collect::<Vec<_>>()
        };
        assert_eq!(counted([51, 49]), [0]);
        assert_eq!(counted([49, 51]), [1]);
        assert!(counted([50, 50]).is_empty());
    }
}
