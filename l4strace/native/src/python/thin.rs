//! Thinning for Python: values in, indexes out.

use pyo3::prelude::*;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(thin, m)?)
}

/// Indexes of at most `most` of `values` that keep every peak.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 makes the vector from a list
fn thin(values: Vec<f64>, most: usize) -> Vec<usize> {
    crate::thin::thin(&values, most)
}
