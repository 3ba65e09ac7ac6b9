//! Thinning for Python: values in, indexes out.

use pyo3::prelude::*;

use super::given::Given;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(thin, m)?)?;
    m.add_function(wrap_pyfunction!(thinned, m)?)
}

/// Columns where none is null, of at most `most` rows that keep every peak of the last.
#[pyfunction]
fn thinned(rows: Given, most: usize) -> PyResult<Vec<Vec<f64>>> {
    let columns = rows.floats()?;
    let present = |row: &usize| columns.iter().all(|column| column[*row].is_some());
    let whole: Vec<usize> = (0..rows.rows()).filter(present).collect();
    let value = |column: &Vec<Option<f64>>, row: usize| column[row].unwrap_or_default();
    let last: Vec<f64> = columns
        .last()
        .map(|column| whole.iter().map(|&row| value(column, row)).collect())
        .unwrap_or_default();
    let kept: Vec<usize> = crate::thin::thin(&last, most).into_iter().map(|at| whole[at]).collect();
    Ok(columns.iter().map(|column| kept.iter().map(|&row| value(column, row)).collect()).collect())
}

/// Indexes of at most `most` of `values` that keep every peak.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 makes the vector from a list
fn thin(values: Vec<f64>, most: usize) -> Vec<usize> {
    crate::thin::thin(&values, most)
}
