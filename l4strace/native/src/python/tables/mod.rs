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

pub use arrow::{ArrowTable, Columns, BLOCK};
use rounds::Rounds;

use crate::packet::Tunnel;
use crate::run::Run;
use crate::workers::{self, Job};

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<ArrowTable>()?;
    packets::register(m)?;
    udp::register(m)
}

/// Rows of `flows` and `rounds` below which one thread makes them: with 37,000 a second one gained nothing.
const SMALL: usize = 1 << 16;
/// Rows of `rounds` for which threads are started at a time.
const TAKEN: usize = 1 << 14;

/// The tables of the Capture stage, made on up to so many threads. The rounds of TCP are gone from `run` then.
pub fn all<'py>(py: Python<'py>, run: &mut Run, threads: usize) -> PyResult<Bound<'py, PyDict>> {
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
fn large(run: &mut Run, threads: usize) -> [Columns; 3] {
    let count = run.count_rounds();
    let flows = run.flows();
    let threads = if flows.len() + count < SMALL { 1 } else { threads };
    let jobs: Vec<Job<'_, Columns>> =
        vec![Box::new(|| directions::table(&flows)), Box::new(|| flows::table(&flows))];
    let mut made = workers::all(threads, jobs);
    let [flows, directions] = [made.pop(), made.pop()].map(Option::unwrap_or_default);
    let mut rounds = Rounds::new(count, threads);
    run.take_rounds(TAKEN, |some| rounds.add(some));
    [flows, directions, rounds.table()]
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
