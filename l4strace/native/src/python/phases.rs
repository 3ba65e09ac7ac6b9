//! Phases of paths for Python.

use arrow_array::types::{Int64Type, UInt32Type};
use pyo3::prelude::*;

use super::given::Given;
use super::tables::{ArrowTable, Columns};
use crate::measure::phases::{at, Phase};

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
