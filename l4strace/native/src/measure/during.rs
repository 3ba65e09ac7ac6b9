//! What a direction did from one moment to another.

use std::collections::BTreeMap;

use super::numbers::quantile;
use super::rounds::{Direction, Rounds};

/// Time (ns) over which a rate is taken: several round trips of most paths.
pub const SLICE_NS: i64 = 500_000_000;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct During {
    pub of: usize,
    /// Acknowledged bytes of the rounds that begin in the time.
    pub carried_bytes: u64,
    /// Exit of slow start: start of the first of them after it, and its packets in flight.
    pub exit_ns: Option<i64>,
    pub exit_packets: Option<u32>,
    /// Spread of the rate, from the 10th to the 90th percentile, by its median.
    pub spread: Option<f64>,
}

/// Of each of the `asked` directions that has rounds in the time.
pub fn during(
    rounds: &Rounds<'_>,
    directions: &[Direction],
    asked: &[usize],
    (begin_ns, end_ns): (i64, i64),
) -> Vec<During> {
    let of_direction = |of: usize| {
        let begins =
            |row: &usize| rounds.start_ns.get(*row).is_some_and(|ns| (begin_ns..=end_ns).contains(&ns));
        let rows: Vec<usize> = directions[of].rows.clone().filter(begins).collect();
        let exit = rows.iter().copied().find(|row| rounds.slow_start[*row] == Some(false));
        (!rows.is_empty()).then(|| During {
            of,
            carried_bytes: rows.iter().map(|row| rounds.acked_bytes.or_zero(*row)).sum(),
            exit_ns: exit.and_then(|row| rounds.start_ns.get(row)),
            exit_packets: exit.and_then(|row| rounds.inflight_max_packets.get(row)),
            spread: spread(rounds, &rows, begin_ns, end_ns),
        })
    };
    asked.iter().copied().filter_map(of_direction).collect()
}

/// Of the rates in slices, without the first: it is the start of the flow.
fn spread(rounds: &Rounds<'_>, rows: &[usize], begin_ns: i64, end_ns: i64) -> Option<f64> {
    let mut slices: BTreeMap<i64, (u64, i64)> = BTreeMap::new();
    for row in rows.iter().copied().filter(|row| rounds.end_ns.or_zero(*row) <= end_ns) {
        let slice =
            slices.entry(rounds.start_ns.or_zero(row).saturating_sub(begin_ns) / SLICE_NS).or_default();
        slice.0 += rounds.acked_bytes.or_zero(row);
        slice.1 += rounds.length_ns(row);
    }
    let rates = slices.values().skip(1).map(|(bytes, ns)| *bytes as f64 / *ns as f64);
    let mut rates: Vec<f64> = rates.collect();
    let [low, usual, high] = [0.1, 0.5, 0.9].map(|share| quantile(&mut rates, share));
    Some((high? - low?) / usual.filter(|usual| *usual > 0.0)?)
}

#[cfg(test)]
mod tests {
    use super::super::Column;
    use super::*;

    /// Ten rounds of a quarter of a second: the first two are the start, and what follows grows.
    #[test]
    fn rounds_in_the_time_count() {
        let starts: Vec<i64> = (0..10).map(|round| round * SLICE_NS / 2).collect();
        let ends: Vec<i64> = starts.iter().map(|start| start + SLICE_NS / 2).collect();
        let rounds = Rounds {
            start_ns: Column::new(&starts, None),
            end_ns: Column::new(&ends, None),
            acked_bytes: Column::new(&[1, 1, 96, 96, 128, 128, 128, 128, 160, 288], None),
            inflight_max_packets: Column::new(&[10, 20, 30, 40, 40, 40, 40, 40, 40, 40], None),
            slow_start: &[None, Some(true), Some(false), None, None, None, None, None, None, None],
            ..Rounds::default()
        };
        let of = |begin_ns, end_ns| {
            let directions = [Direction { rows: 0..10, ..Direction::default() }, Direction::default()];
            during(&rounds, &directions, &[0, 1], (begin_ns, end_ns))
        };
        let rate = |bytes: f64| bytes / SLICE_NS as f64;
        let all = During {
            of: 0,
            carried_bytes: 1154,
            exit_ns: Some(SLICE_NS),
            exit_packets: Some(30),
            spread: Some((rate(448.0) - rate(192.0)) / rate(256.0)),
        };
        assert_eq!(of(0, ends[9]), [all]);
        assert_eq!(of(0, ends[9] - 1)[0].spread, Some(0.5), "without the last, which ends later");
        let [late] = &of(starts[3], starts[3])[..] else { panic!("one round begins there") };
        assert_eq!((late.carried_bytes, late.exit_ns, late.spread), (96, None, None));
        assert_eq!(of(-2, -1), []);
    }
}
