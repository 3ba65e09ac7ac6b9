//! Names that the `stats` table may hold for a capture.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::stats::LOSSES;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(stat_names, m)?)
}

/// Name -> severity (`info`, `loss` or `error`), in the order of the table.
#[pyfunction]
fn stat_names(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let names = PyDict::new(py);
    LOSSES.into_iter().try_for_each(|loss| names.set_item(loss.name(), loss.severity()))?;
    Ok(names)
}
