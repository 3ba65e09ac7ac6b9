//! Charts for Python: columns in, lists out.

use arrow_array::types::Float64Type;
use pyo3::prelude::*;

use super::given::Given;
use super::seam::native;
use crate::chart::Slots;
use crate::measure::numbers::weighted_quantiles;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(quantiles, m)?)?;
    m.add_function(wrap_pyfunction!(per_interval, m)?)
}

/// Of each of `shares`: the `value` below which that part of the `weight` lies; none without a weight.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 makes the vector from a list
fn quantiles(py: Python<'_>, rows: Given, shares: Vec<f64>) -> PyResult<Vec<f64>> {
    let (values, weights) = (rows.whole::<Float64Type>("value")?, rows.whole::<Float64Type>("weight")?);
    let weighted = (0..rows.rows()).filter_map(|row| values.get(row).zip(weights.get(row)));
    let weighted = weighted.filter(|(_, weight)| *weight > 0.0).collect();
    native(py, || Ok::<_, PyErr>(weighted_quantiles(weighted, &shares)))
}

/// Sums of `columns` over intervals by where a row `ended`, and the number of the first interval.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 makes the vector from a list
fn per_interval(rows: Given, interval: f64, columns: Vec<String>) -> PyResult<(i64, Vec<Vec<u64>>)> {
    let ended = rows.whole::<Float64Type>("ended")?;
    let slots = Slots::of((0..rows.rows()).map(|row| ended.or_zero(row)), interval);
    let sums = columns.iter().map(|name| Ok(slots.sums(&rows.counts(name)?)));
    Ok((slots.first, sums.collect::<PyResult<_>>()?))
}
