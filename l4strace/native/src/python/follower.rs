//! `Follower`: a capture that still grows, tracked piece by piece.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::seam::{caught, native};
use super::tables;
use crate::run;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Follower>()
}

/// A plain pcap or pcapng file that something else is writing.
#[pyclass(module = "l4strace.core._native")]
pub struct Follower(run::Follower);

#[pymethods]
impl Follower {
    #[new]
    fn new(py: Python<'_>, path: &str) -> PyResult<Self> {
        native(py, || run::Follower::open(path)).map(Follower)
    }

    /// Tracks what was added since the last call. The tables are those of `track`; `rounds` holds only
    /// the rounds that ended since the last call, so that memory does not grow with time.
    fn poll<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let follower = &mut self.0;
        let run = native(py, || follower.poll())?;
        // Few rows at a time.
        let tables = caught(|| tables::all(py, run, 1));
        self.0.forget_rounds();
        tables
    }
}
