//! What rounds show of their paths, for Python: tables in, tables out.

use arrow_array::types::{Float64Type, Int64Type, UInt32Type};
use pyo3::prelude::*;

use super::given::Given;
use super::seam::native;
use super::tables::{ArrowTable, Columns};
use crate::measure::networks::{Name, Networks};
use crate::measure::{delays, floors};

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(path_networks, m)?)?;
    m.add_function(wrap_pyfunction!(path_delays, m)?)?;
    m.add_function(wrap_pyfunction!(path_floors, m)?)
}

/// Of each row the numbers `near` and `far` of the networks of `client` and `server`; the name of each
/// number, and whether it is an address of which only `company.network` knows the network.
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

/// The largest delay of each round, and which kind it is.
#[pyfunction]
fn path_delays(py: Python<'_>, rounds: Given) -> PyResult<ArrowTable> {
    let rounds = delays::Rounds {
        of: rounds.whole::<UInt32Type>("of")?,
        acked_packets: rounds.whole::<UInt32Type>("acked_packets")?,
        sent_packets: rounds.whole::<UInt32Type>("sent_packets")?,
        retransmits: rounds.whole::<UInt32Type>("retransmits")?,
        rtt_samples: rounds.whole::<UInt32Type>("rtt_samples")?,
        rtt_min_us: rounds.whole::<Float64Type>("rtt_min_us")?,
        rtt_mean_us: rounds.whole::<Float64Type>("rtt_mean_us")?,
        rtt_max_us: rounds.whole::<Float64Type>("rtt_max_us")?,
        rtt_prompt_max_us: rounds.whole::<Float64Type>("rtt_prompt_max_us")?,
        sacked_rtt_min_us: rounds.whole::<Float64Type>("sacked_rtt_min_us")?,
        sacked_rtt_max_us: rounds.whole::<Float64Type>("sacked_rtt_max_us")?,
        owd_min_us: rounds.whole::<Float64Type>("owd_min_us")?,
        owd_mean_us: rounds.whole::<Float64Type>("owd_mean_us")?,
        owd_max_us: rounds.whole::<Float64Type>("owd_max_us")?,
        base_us: rounds.whole::<Float64Type>("base_us")?,
        owd_base_us: rounds.whole::<Float64Type>("owd_base_us")?,
        overtakes: rounds.flags("overtakes")?,
        merged: rounds.flags("merged")?,
    };
    let found = native(py, || Ok::<_, PyErr>(delays::delays(&rounds)))?;
    let mut t = Columns::default();
    t.f64("delay_us", found.iter().map(|d| d.us));
    t.bool("one_way", found.iter().map(|d| d.one_way));
    t.finish()
}

/// The smallest RTT of each direction, and how its rounds lie above it.
#[pyfunction]
fn path_floors(py: Python<'_>, rounds: Given, low: f64, many: usize) -> PyResult<ArrowTable> {
    let rounds = floors::Rounds {
        of: rounds.whole::<UInt32Type>("of")?,
        rtt_min_us: rounds.whole::<Float64Type>("rtt_min_us")?,
        start_ns: rounds.whole::<Int64Type>("start_ns")?,
        end_ns: rounds.whole::<Int64Type>("end_ns")?,
    };
    let found = native(py, || Ok::<_, PyErr>(floors::floors(&rounds, low, many)))?;
    let mut t = Columns::default();
    t.u32("of", found.iter().map(|f| f.of));
    t.f64("floor_us", found.iter().map(|f| f.floor_us));
    t.f64("floor_rise_us", found.iter().map(|f| f.floor_rise_us));
    t.f64("usual_us", found.iter().map(|f| f.usual_us));
    t.u32("rounds", found.iter().map(|f| f.rounds));
    t.i64("lasted", found.iter().map(|f| f.lasted));
    t.finish()
}
