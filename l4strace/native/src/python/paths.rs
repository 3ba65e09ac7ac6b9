//! What rounds show of their paths, for Python: tables in, tables out.

use pyo3::prelude::*;

use super::given::Given;
use super::tables::{ArrowTable, Columns};
use crate::measure::networks::{Name, Networks};

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(path_networks, m)?)
}

/// Of each row the numbers `near` and `far` of the networks of `client` and `server`; the name of each
/// number, and whether it is an address of which only `neighbors.network` knows the network.
#[pyfunction]
fn path_networks(flows: Given) -> PyResult<(ArrowTable, Vec<(String, bool)>)> {
    let mut known = Networks::default();
    let mut t = Columns::default();
    for (end, address) in [("near", "client"), ("far", "server")] {
        let numbers: Vec<Option<u32>> =
            flows.texts(address)?.map(|text| text.map(|text| known.number(text))).collect();
        t.u32(end, numbers.into_iter());
    }
    let names = known.names.into_iter().map(|name| match name {
        Name::Network(name) => (name, false),
        Name::Odd(address) => (address, true),
    });
    Ok((t.finish()?, names.collect()))
}
