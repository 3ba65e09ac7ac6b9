//! Tables as Arrow, column by column as `l4strace/schema/capture.py` declares them.

mod acks;
mod arrow;
mod directions;
mod flows;
mod packets;
mod paths;
mod rounds;
mod sources;
mod udp;
mod udp_round_trips;

use pyo3::prelude::*;
use pyo3::types::PyDict;

pub use arrow::{ArrowTable, Columns};

use crate::packet::Tunnel;
use crate::run::Run;
use crate::workers;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<ArrowTable>()?;
    packets::register(m)?;
    udp::register(m)
}

/// Rows of `flows` and `rounds` below which one thread makes them: with 37,000 a second one gained nothing.
const SMALL: usize = 1 << 16;

/// The tables of the Capture stage, made on up to so many threads.
pub fn all<'py>(py: Python<'py>, run: &Run, threads: usize) -> PyResult<Bound<'py, PyDict>> {
    let [flows, directions, rounds] = py.detach(|| large(run, threads));
    let tables = PyDict::new(py);
    let datagrams = run.udp_flows();
    tables.set_item("sources", sources::table(&run.captures)?)?;
    tables.set_item("flows", flows.finish()?)?;
    tables.set_item("directions", directions.finish()?)?;
    tables.set_item("udp_flows", udp::flows(&datagrams).finish()?)?;
    tables.set_item("udp_directions", udp::directions(&datagrams).finish()?)?;
    tables.set_item("udp_rounds", udp::rounds(&datagrams).finish()?)?;
    tables.set_item("udp_round_trips", udp_round_trips::table(&datagrams).finish()?)?;
    tables.set_item("rounds", rounds.finish()?)?;
    tables.set_item("paths", paths::table(&run.paths)?)?;
    tables.set_item("stats", sources::stats(&run.captures)?)?;
    Ok(tables)
}

/// `flows`, `directions` and `rounds`.
fn large(run: &Run, threads: usize) -> [Columns; 3] {
    let flows = run.flows();
    let rounds = run.rounds(&flows);
    let threads = if flows.len() + rounds.len() < SMALL { 1 } else { threads };
    // Those of `rounds` first, which mostly take longest.
    let mut jobs = rounds::jobs(&rounds, threads);
    jobs.push(Box::new(|| directions::table(&flows)));
    jobs.push(Box::new(|| flows::table(&flows)));
    let mut made = workers::all(threads, jobs);
    let [flows, directions] = [made.pop(), made.pop()].map(Option::unwrap_or_default);
    [flows, directions, Columns::joined(made)]
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
