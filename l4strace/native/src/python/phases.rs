//! Phases of paths for Python, and what directions did in a stretch of time or at a moment.

use std::collections::HashMap;

use arrow_array::types::{Int64Type, UInt32Type};
use pyo3::prelude::*;

use super::given::Given;
use super::measure::keys;
use super::responses::named;
use super::tables::{ArrowTable, Columns};
use crate::measure::during;
use crate::measure::phases::{at, Phase};
use crate::measure::rounds::{asked, numbered, Direction, Key, Rounds};

/// Phases of all paths, in the order of path and time.
#[pyclass(module = "l4strace._native", frozen)]
pub struct Phases {
    pub phases: Vec<Phase>,
}

#[pymethods]
impl Phases {
    /// The columns of `phases`, with `at` for source and path.
    fn table(&self) -> PyResult<ArrowTable> {
        let rows = || self.phases.iter();
        let mut t = Columns::default();
        t.u32("at", rows().map(|p| p.at));
        t.u32("phase", rows().map(|p| p.phase));
        t.i64("start_ns", rows().map(|p| p.start_ns));
        t.i64("end_ns", rows().map(|p| p.end_ns));
        t.str("changed", rows().map(|p| p.changed.map(|what| what.name())));
        t.f64("capacity_bps", rows().map(|p| p.capacity_bps));
        t.bool("capacity_shown", rows().map(|p| p.capacity_shown));
        t.f64("rate_bps", rows().map(|p| p.rate_bps));
        t.f64("beside_bps", rows().map(|p| p.beside_bps));
        t.f64("busy_share", rows().map(|p| p.busy_share));
        t.f64("base_rtt_us", rows().map(|p| p.base_rtt_us));
        t.u64("marks", rows().map(|p| p.marks));
        t.f64("ce_share", rows().map(|p| p.ce_share));
        t.u64("losses", rows().map(|p| p.losses));
        t.i64("ramp_ns", rows().map(|p| p.usage.ramp_ns));
        t.i64("low_ns", rows().map(|p| p.usage.low_ns));
        t.f64("low_share", rows().map(|p| p.usage.low_share));
        t.finish()
    }

    /// The `phase` of each row by its path `at` and `start_ns`; None before the first.
    fn of(&self, rows: Given) -> PyResult<ArrowTable> {
        let (paths, start_ns) = (rows.whole::<UInt32Type>("at")?, rows.whole::<Int64Type>("start_ns")?);
        let phase = |row| Some(at(&self.phases, paths.get(row)?, start_ns.get(row)?)?.phase);
        let mut t = Columns::default();
        t.u32("phase", (0..paths.len()).map(phase));
        t.finish()
    }
}

pub fn during(
    rounds: &Rounds<'_>,
    keys: &[Key],
    directions: &[Direction],
    of: Vec<Key>,
    time_ns: (i64, i64),
) -> PyResult<ArrowTable> {
    let found = during::during(rounds, directions, &asked(keys, of), time_ns);
    let mut t = Columns::default();
    named(&mut t, keys, found.iter().map(|d| d.of));
    t.u64("carried_bytes", found.iter().map(|d| d.carried_bytes));
    t.i64("grown_ns", found.iter().map(|d| d.grown_ns));
    t.u32("grown_packets", found.iter().map(|d| d.grown_packets));
    t.f64("spread", found.iter().map(|d| d.spread));
    t.finish()
}

pub fn begun(
    rounds: &Rounds<'_>,
    known: &[Key],
    directions: &[Direction],
    moments: &Given,
) -> PyResult<ArrowTable> {
    let ts_ns = moments.whole::<Int64Type>("ts_ns")?;
    let mut begun = HashMap::new();
    let row = |(at, of): (usize, Option<u32>)| {
        let of = of? as usize;
        begun.entry(of).or_insert_with(|| rounds.begun(&directions[of]))(ts_ns.get(at)?)
    };
    let found: Vec<Option<usize>> = numbered(known, keys(moments)?).enumerate().map(row).collect();
    let mut t = Columns::of_rows(found.len());
    t.u32("round", found.iter().map(|row| rounds.round.get((*row)?)));
    t.i64("end_ns", found.iter().map(|row| rounds.end_ns.get((*row)?)));
    t.f64("queue_delay_us", found.iter().map(|row| rounds.queue_delay_us.get((*row)?)));
    t.finish()
}
