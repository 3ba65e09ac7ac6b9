//! How long the packets of a direction waited, in all of its rounds: those of its start count, too.

use super::numbers::{median, quantile, weighted_median};
use super::rounds::{Direction, Rounds};

/// Queue delay below which no AQM marks: half of DualPI2's step, as of CoDel's ce_threshold for L4S
/// (RFC 9332 appendix A: 1 ms).
pub const EMPTY_US: f64 = 500.0;

/// Quantile of the rounds' queue delays in place of the smallest, which one odd round decides. By eye.
const LOW: f64 = 0.1;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waits {
    pub of: usize,
    /// Delay that half of the time has, and that half of the packets have: a round of a deep queue holds many
    /// packets for long.
    pub timed_us: Option<f64>,
    pub packets_us: Option<f64>,
    pub low_us: Option<f64>,
    /// Median of the packets in flight.
    pub in_flight: Option<f64>,
    /// Packets that met no queue, and those of them that were marked.
    pub empty_packets: u64,
    pub empty_marked: u64,
}

/// Of each of the `asked` directions that is near the sender and has rounds.
pub fn waits(rounds: &Rounds<'_>, directions: &[Direction], asked: &[usize]) -> Vec<Waits> {
    let of_direction = |of: usize| {
        let rows = || directions[of].rows.clone();
        let waited = || rows().filter_map(|row| Some((row, rounds.queue_delay_us.get(row)?)));
        let packets = |(row, us)| Some((us, f64::from(rounds.acked_packets.get(row)?)));
        let packets: Vec<_> = waited().filter_map(packets).collect();
        let empty = || waited().filter(|(_, us)| *us < EMPTY_US).map(|(row, _)| row);
        let in_flight = rows().filter_map(|row| rounds.inflight_max_packets.get(row));
        Waits {
            of,
            timed_us: weighted_median(waited().map(|(row, us)| (us, rounds.length_ns(row) as f64)).collect()),
            low_us: quantile(&mut packets.iter().map(|(us, _)| *us).collect::<Vec<_>>(), LOW),
            packets_us: weighted_median(packets),
            in_flight: median(&mut in_flight.map(f64::from).collect::<Vec<_>>()),
            empty_packets: empty().map(|row| u64::from(rounds.acked_packets.or_zero(row))).sum(),
            empty_marked: empty().map(|row| u64::from(rounds.ce_best.or_zero(row))).sum(),
        }
    };
    let near = |of: &usize| directions[*of].near && !directions[*of].rows.is_empty();
    asked.iter().copied().filter(near).map(of_direction).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Column;
    use super::*;

    const MS: i64 = 1_000_000;

    /// Three short rounds without a queue, and a long one of many packets behind one.
    #[test]
    fn time_and_packets_count_and_not_rounds() {
        let ends = [10, 20, 30, 130].map(|ms| ms * MS);
        let rounds = Rounds {
            start_ns: Column::new(&[0, 10 * MS, 20 * MS, 30 * MS], None),
            end_ns: Column::new(&ends, None),
            queue_delay_us: Column::new(&[100.0, 200.0, EMPTY_US, 9e3], None),
            acked_packets: Column::new(&[10, 20, 10, 40], None),
            inflight_max_packets: Column::new(&[10, 20, 30, 90], None),
            ce_best: Column::new(&[1, 0, 2, 40], None),
            ..Rounds::default()
        };
        let direction = |near| Direction { near, rows: 0..4, ..Direction::default() };
        let found = waits(&rounds, &[direction(true), direction(false)], &[1, 0]);
        let expected = Waits {
            of: 0,
            timed_us: Some(9e3),
            packets_us: Some(EMPTY_US),
            low_us: Some(100.0),
            in_flight: Some(25.0),
            empty_packets: 30,
            empty_marked: 1,
        };
        assert_eq!(found, [expected], "at the receiver no queue shows");
    }
}
