//! The thin seam to Python: no logic here, only conversion.

use pyo3::prelude::*;

mod arrow;
mod errors;
mod following;
mod ktext;
mod packets;
mod pairing;
mod prague;
mod reading;
mod track;
mod track_directions;
mod track_rounds;
mod track_tables;

#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<arrow::ArrowTable>()?;
    following::register(m)?;
    ktext::register(m)?;
    packets::register(m)?;
    prague::register(m)?;
    reading::register(m)?;
    track::register(m)?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))
}
