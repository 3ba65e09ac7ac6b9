//! What rules ask of all rounds of a direction: see `l4strace/derive/overall.py`.

use std::cmp::Reverse;

use super::numbers::median;
use super::rounds::{Direction, Limit, Rounds};

/// Rounds before and after the first marked one that are compared with it: the window follows its target
/// by one packet per ACK (prague_update_cwnd), so a reduction takes the round after the feedback.
const BESIDE: usize = 2;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overall {
    pub of: usize,
    pub start_ns: Option<i64>,
    pub end_ns: Option<i64>,
    /// Rounds with bursts; of their bytes the median, and the most with its frame.
    pub bursts: u32,
    pub burst_bytes: Option<f64>,
    pub burst_max_bytes: Option<u32>,
    pub burst_frame: Option<u64>,
    /// Part of the rounds that the window limits.
    pub by_window: f64,
    /// Part of the rounds with retransmissions in which SACK reports holes.
    pub with_holes: Option<f64>,
    /// Rounds with ECE; of these but for the first, the part in which no ACK lacks it.
    pub echoed: u32,
    pub echo_went_on: Option<f64>,
    /// AccECN options show the CE bytes of one or more rounds.
    pub ce_bytes_known: bool,
    pub first_mark: Option<FirstMark>,
}

/// The first round with marks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstMark {
    pub row: usize,
    /// Over UDP: what is in flight is the window of UDP Prague.
    pub windowed: bool,
    /// Packets in flight some rounds before, in it and some rounds later.
    pub before: Option<u32>,
    pub inflight: Option<u32>,
    pub later: Option<u32>,
}

/// Of each direction with rounds.
pub fn overall(rounds: &Rounds<'_>, directions: &[Direction]) -> Vec<Overall> {
    let there = directions.iter().enumerate().filter(|(_, direction)| !direction.rows.is_empty());
    there.map(|(of, direction)| of_direction(rounds, of, direction)).collect()
}

fn of_direction(rounds: &Rounds<'_>, of: usize, direction: &Direction) -> Overall {
    let rows = || direction.rows.clone();
    let bursts = || rows().filter_map(|row| Some((rounds.burst_bytes.get(row)?, row)));
    let longest = bursts().min_by_key(|(bytes, _)| Reverse(*bytes));
    let mut bytes: Vec<f64> = bursts().map(|(bytes, _)| f64::from(bytes)).collect();
    let repeats = |row: &usize| rounds.retransmits.or_zero(*row) > 0;
    let echoed = || rows().filter(|row| rounds.ece_acks.or_zero(*row) > 0);
    let went_on = |row| Some(rounds.ece_acks.or_zero(row) >= rounds.rtt_samples.get(row)?);
    let reported = |row: usize| rounds.sacked_rtt_max_us.get(row).is_some();
    Overall {
        of,
        start_ns: rows().filter_map(|row| rounds.start_ns.get(row)).min(),
        end_ns: rows().filter_map(|row| rounds.end_ns.get(row)).max(),
        bursts: bytes.len() as u32,
        burst_bytes: median(&mut bytes),
        burst_max_bytes: longest.map(|(bytes, _)| bytes),
        burst_frame: longest.and_then(|(_, row)| rounds.burst_frame.get(row)),
        by_window: part(rows().map(|row| rounds.limit(row) == Limit::Cwnd)).unwrap_or_default(),
        with_holes: part(rows().filter(repeats).map(reported)),
        echoed: echoed().count() as u32,
        echo_went_on: part(echoed().skip(1).filter_map(went_on)),
        ce_bytes_known: rows().any(|row| rounds.ce_bytes.get(row).is_some()),
        first_mark: first_mark(rounds, direction),
    }
}

/// Part of these that is true; none of none.
fn part(all: impl Iterator<Item = bool>) -> Option<f64> {
    let (yes, count) = all.fold((0, 0), |(yes, count), one| (yes + u32::from(one), count + 1));
    (count > 0).then(|| f64::from(yes) / f64::from(count))
}

fn first_mark(rounds: &Rounds<'_>, direction: &Direction) -> Option<FirstMark> {
    let rows = &direction.rows;
    let row = rows.clone().find(|row| rounds.ce_best.or_zero(*row) > 0)?;
    let inflight = |row: Option<usize>| {
        row.filter(|row| rows.contains(row)).and_then(|row| rounds.inflight_max_packets.get(row))
    };
    Some(FirstMark {
        row,
        windowed: matches!(rounds.limit(row), Limit::Cwnd | Limit::Feedback),
        before: inflight(row.checked_sub(BESIDE)),
        inflight: inflight(Some(row)),
        later: inflight(Some(row + BESIDE)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Bits, Column};
    use super::*;

    const APP_LIMITED: usize = 3;
    const BY_FEEDBACK: usize = 5;

    /// Seven rounds of the second of two directions.
    fn found(of: &Rounds<'_>) -> Overall {
        let mut limits = [Limit::Cwnd; 7];
        (limits[APP_LIMITED], limits[BY_FEEDBACK]) = (Limit::App, Limit::Feedback);
        let rounds = Rounds { limits: &limits, ..*of };
        let mut found =
            overall(&rounds, &[0..0, 0..7].map(|rows| Direction { rows, ..Direction::default() }));
        assert_eq!((found.len(), found[0].of), (1, 1), "the first has no rounds");
        found.remove(0)
    }

    #[test]
    fn bursts_are_those_of_rounds_that_have_one() {
        let present = Bits { bytes: &[0b0101_1110], offset: 0 };
        let bytes = Column::new(&[9000, 2000, 1000, 3000, 3000, 9000, 1000], Some(present));
        let frames = Column::new(&[1, 2, 3, 4, 5, 6, 7], None);
        let overall = found(&Rounds { burst_bytes: bytes, burst_frame: frames, ..Rounds::default() });
        assert_eq!((overall.bursts, overall.burst_bytes), (5, Some(2000.0)));
        assert_eq!((overall.burst_max_bytes, overall.burst_frame), (Some(3000), Some(4)), "the first of two");
    }

    #[test]
    fn the_time_of_all_rounds() {
        let (starts, ends) = ([3, 1, 2, 4, 5, 6, 7], [4, 2, 9, 5, 6, 7, 8]);
        let (start_ns, end_ns) = (Column::new(&starts, None), Column::new(&ends, None));
        let overall = found(&Rounds { start_ns, end_ns, ..Rounds::default() });
        assert_eq!((overall.start_ns, overall.end_ns), (Some(1), Some(9)));
    }

    #[test]
    fn shares_are_of_the_rounds_that_they_are_about() {
        let times = Column::new(&[1.0; 7], Some(Bits { bytes: &[0b0001_0001], offset: 0 }));
        let repeated = Column::new(&[0, 0, 0, 1, 2, 1, 1], None);
        let overall = found(&Rounds { retransmits: repeated, sacked_rtt_max_us: times, ..Rounds::default() });
        assert_eq!((overall.by_window, overall.with_holes), (5.0 / 7.0, Some(0.25)));
        assert_eq!(found(&Rounds::default()).with_holes, None, "nothing was retransmitted");
        let ece_acks = Column::new(&[0, 1, 9, 5, 8, 0, 9], None);
        let rtt_samples = Column::new(&[9; 7], Some(Bits { bytes: &[0b0111_0111], offset: 0 }));
        let overall = found(&Rounds { ece_acks, rtt_samples, ..Rounds::default() });
        assert_eq!((overall.echoed, overall.echo_went_on), (5, Some(2.0 / 3.0)), "of those with samples");
    }

    #[test]
    fn ce_bytes_are_known_where_they_are_0() {
        let shown = |present: &[u8]| {
            let ce_bytes = Column::new(&[0; 7], Some(Bits { bytes: present, offset: 0 }));
            found(&Rounds { ce_bytes, ..Rounds::default() }).ce_bytes_known
        };
        assert_eq!([shown(&[0]), shown(&[0b0100_0000])], [false, true]);
    }

    #[test]
    fn the_window_at_the_first_mark_and_two_rounds_from_it() {
        let marked = |ce: &[u32], windows: &[u32]| {
            let (ce_best, windows) = (Column::new(ce, None), Column::new(windows, None));
            found(&Rounds { ce_best, inflight_max_packets: windows, ..Rounds::default() }).first_mark
        };
        let windows = [10, 11, 12, 13, 14, 15, 16, 99];
        let mark = |row, windowed, before, inflight, later| {
            Some(FirstMark { row, windowed, before, inflight: Some(inflight), later })
        };
        assert_eq!(marked(&[0, 0, 0, 1, 1, 0, 0], &windows), mark(3, false, Some(11), 13, Some(15)));
        assert_eq!(marked(&[0, 1, 0, 0, 0, 0, 0], &windows), mark(1, true, None, 11, Some(13)));
        assert_eq!(marked(&[0, 0, 0, 0, 0, 1, 0], &windows), mark(5, true, Some(13), 15, None));
        assert_eq!(marked(&[0; 7], &windows), None);
    }
}
