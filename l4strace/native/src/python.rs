//! The thin seam to Python: no logic here, only conversion.

use pyo3::prelude::*;

mod beside;
mod chart;
mod coexistence;
mod delays;
mod directions;
mod features;
mod follower;
mod given;
mod logged;
mod measure;
mod paths;
mod phases;
mod prague;
mod qlog;
mod reading;
mod redact;
mod responses;
mod room;
mod seam;
mod stats;
mod tables;
mod text_logs;
mod thin;
mod track;

#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    seam::register(m)?;
    chart::register(m)?;
    follower::register(m)?;
    logged::register(m)?;
    text_logs::register(m)?;
    measure::register(m)?;
    paths::register(m)?;
    prague::register(m)?;
    qlog::register(m)?;
    reading::register(m)?;
    redact::register(m)?;
    responses::register(m)?;
    room::register(m)?;
    stats::register(m)?;
    tables::register(m)?;
    thin::register(m)?;
    track::register(m)?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))
}
