//! The smallest RTT of a direction: see `derive/queue_delay.py`.

use std::ops::Range;

use super::column::{runs, Column};
use super::numbers::{median, quantile};

/// Rounds in the order of their direction.
pub struct Rounds<'a> {
    pub of: Column<'a, u32>,
    pub rtt_min_us: Column<'a, f64>,
    pub start_ns: Column<'a, i64>,
    pub end_ns: Column<'a, i64>,
}

/// The floor of a direction, and how its rounds lie above it.
#[derive(Clone, Debug, PartialEq)]
pub struct Floor {
    pub of: u32,
    pub floor_us: Option<f64>,
    pub floor_rise_us: Option<f64>,
    pub usual_us: Option<f64>,
    pub rounds: u32,
    pub lasted: Option<i64>,
}

/// Of each direction: `low` is the quantile that the rise ends at, `many` the rounds that have a usual RTT.
pub fn floors(rounds: &Rounds<'_>, low: f64, many: usize) -> Vec<Floor> {
    let mut values = Vec::new();
    let mut floor = |(of, rows): (u32, Range<usize>)| {
        values.clear();
        values.extend(rows.clone().filter_map(|row| rounds.rtt_min_us.get(row)));
        let floor_us = values.iter().copied().reduce(f64::min);
        let begun = rows.clone().filter_map(|row| rounds.start_ns.get(row)).min();
        let ended = rows.clone().filter_map(|row| rounds.end_ns.get(row)).max();
        Floor {
            of,
            floor_us,
            floor_rise_us: quantile(&mut values, low).zip(floor_us).map(|(low, floor)| low - floor),
            usual_us: if rows.len() >= many { median(&mut values) } else { None },
            rounds: rows.len() as u32,
            lasted: ended.zip(begun).map(|(ended, begun)| ended - begun),
        }
    };
    runs(rounds.of).into_iter().map(&mut floor).collect()
}
