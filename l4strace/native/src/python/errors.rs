//! Native errors as the exceptions of `l4strace.errors`.

use pyo3::prelude::*;

use crate::read::ReadError;

/// `InputError`, with exit code 3 on the command line.
pub fn input_error(py: Python<'_>, error: &ReadError) -> PyErr {
    let class = py.import("l4strace.errors").and_then(|module| module.getattr("InputError"));
    match class.and_then(|class| class.call1((error.to_string(),))) {
        Ok(value) => PyErr::from_value(value),
        Err(import) => import,
    }
}
