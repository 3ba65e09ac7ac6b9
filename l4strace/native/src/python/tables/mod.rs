//! Tables as Arrow, column by column as `l4strace/schema/capture.py` declares them.

mod arrow;
mod directions;
mod flows;
mod packets;
mod paths;
mod rounds;
mod sources;

use pyo3::prelude::*;
use pyo3::types::PyDict;

pub use arrow::{ArrowTable, Columns};

use crate::packet::Tunnel;
use crate::run::Run;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<ArrowTable>()?;
    packets::register(m)
}

/// The tables of the Capture stage.
pub fn all<'py>(py: Python<'py>, run: &Run) -> PyResult<Bound<'py, PyDict>> {
    let flows = run.flows();
    let tables = PyDict::new(py);
    tables.set_item("sources", sources::table(&run.captures)?)?;
    tables.set_item("flows", flows::table(&flows)?)?;
    tables.set_item("directions", directions::table(&flows)?)?;
    tables.set_item("rounds", rounds::table(&run.rounds(&flows))?)?;
    tables.set_item("paths", paths::table(&run.paths)?)?;
    tables.set_item("stats", sources::stats(&run.captures)?)?;
    Ok(tables)
}

/// As in the `tunnel` column.
fn tunnel_name(tunnel: Tunnel) -> Option<&'static str> {
    match tunnel {
        Tunnel::None => None,
        Tunnel::Gre => Some("gre"),
        Tunnel::Vxlan => Some("vxlan"),
        Tunnel::Geneve => Some("geneve"),
        Tunnel::IpInIp => Some("ipip"),
        Tunnel::Gtp => Some("gtp"),
    }
}
