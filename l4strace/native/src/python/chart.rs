//! Charts for Python: columns in, lists out.

use pyo3::prelude::*;

use super::given::Given;
use super::seam::native;
use crate::chart;
use crate::measure::numbers::weighted_quantiles;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(quantiles, m)?)?;
    m.add_function(wrap_pyfunction!(per_interval, m)?)
}

/// Of each of `shares`: the `value` below which that part of the `weight` lies; none without a weight.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 makes the vector from a list
fn quantiles(py: Python<'_>, rows: Given, shares: Vec<f64>) -> PyResult<Vec<f64>> {
    let weighted = rows.f64("value")?.into_iter().zip(rows.f64("weight")?);
    let weighted =
        weighted.filter_map(|(value, weight)| value.zip(weight)).filter(|(_, weight)| *weight > 0.0);
    let weighted = weighted.collect();
    native(py, || Ok::<_, PyErr>(weighted_quantiles(weighted, &shares)))
}

/// Sums of `columns` over intervals by where a row `ended`, and the number of the first interval.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 makes the vector from a list
fn per_interval(rows: Given, interval: f64, columns: Vec<String>) -> PyResult<(i64, Vec<Vec<u64>>)> {
    let ended: Option<Vec<f64>> = rows.f64("ended")?.into_iter().collect();
    let counts = columns.iter().map(|name| rows.counts(name)).collect::<PyResult<Vec<_>>>()?;
    let found = chart::per_interval(&ended.unwrap_or_default(), interval, &counts);
    Ok((found.first, found.sums))
}
