//! The thin seam to Python: no logic here, only conversion.

use pyo3::prelude::*;

mod prague;

#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    prague::register(m)?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))
}
