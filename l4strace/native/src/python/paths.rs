//! What rounds show of their paths, for Python: tables in, tables out.

use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use pyo3::prelude::*;

use super::given::Given;
use super::seam::native;
use super::tables::{ArrowTable, Columns};
use crate::measure::company::{self, Company, Neighbours};
use crate::measure::networks::{Name, Networks};
use crate::measure::{delays, first, floors, noise, rates};

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(path_networks, m)?)?;
    m.add_function(wrap_pyfunction!(path_noise, m)?)?;
    m.add_function(wrap_pyfunction!(path_company, m)?)?;
    m.add_function(wrap_pyfunction!(path_begun, m)?)?;
    m.add_function(wrap_pyfunction!(path_delays, m)?)?;
    m.add_function(wrap_pyfunction!(path_floors, m)?)?;
    m.add_function(wrap_pyfunction!(path_so_far, m)?)?;
    m.add_function(wrap_pyfunction!(path_rates, m)?)
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

/// How the delays of each direction spread.
#[pyfunction]
fn path_noise(py: Python<'_>, rounds: Given) -> PyResult<ArrowTable> {
    let rounds = noise::Rounds {
        of: rounds.whole::<UInt32Type>("of")?,
        start_ns: rounds.whole::<Int64Type>("start_ns")?,
        end_ns: rounds.whole::<Int64Type>("end_ns")?,
        acked_packets: rounds.whole::<UInt32Type>("acked_packets")?,
        retransmits: rounds.whole::<UInt32Type>("retransmits")?,
        train_bps: rounds.whole::<Float64Type>("train_bps")?,
        rtt_samples: rounds.whole::<UInt32Type>("rtt_samples")?,
        rtt_min_us: rounds.whole::<Float64Type>("rtt_min_us")?,
        rtt_max_us: rounds.whole::<Float64Type>("rtt_max_us")?,
        rtt_jitter_us: rounds.whole::<Float64Type>("rtt_jitter_us")?,
        owd_min_us: rounds.whole::<Float64Type>("owd_min_us")?,
        owd_max_us: rounds.whole::<Float64Type>("owd_max_us")?,
    };
    let found = native(py, || Ok::<_, PyErr>(noise::spreads(&rounds)))?;
    let mut t = Columns::default();
    t.u32("of", found.iter().map(|s| s.of));
    t.u32("rounds", found.iter().map(|s| s.rounds));
    t.f64("rtt_quiet", found.iter().map(|s| s.rtt_quiet));
    t.f64("owd_quiet", found.iter().map(|s| s.owd_quiet));
    t.u32("rtt_full", found.iter().map(|s| s.rtt_full));
    t.u32("owd_full", found.iter().map(|s| s.owd_full));
    t.f64("jumps", found.iter().map(|s| s.jumps));
    t.u32("answered", found.iter().map(|s| s.answered));
    t.f64("stretch", found.iter().map(|s| s.stretch));
    t.f64("period_us", found.iter().map(|s| s.period_us));
    t.f64("answers_us", found.iter().map(|s| s.answers_us));
    t.f64("usual_us", found.iter().map(|s| s.usual_us));
    t.f64("rtt_jitter_us", found.iter().map(|s| s.rtt_jitter_us));
    t.f64("rtt_min_us", found.iter().map(|s| s.rtt_min_us));
    t.f64("train_bps", found.iter().map(|s| s.train_bps));
    t.finish()
}

/// What directions saw of the others of their path: `of`, and the columns of both classes.
#[pyfunction]
fn path_company(py: Python<'_>, rounds: Given) -> PyResult<ArrowTable> {
    let rounds = company::Rounds {
        of: rounds.whole::<UInt32Type>("of")?,
        at: rounds.whole::<UInt32Type>("at")?,
        phase: rounds.whole::<UInt32Type>("phase")?,
        start_ns: rounds.whole::<Int64Type>("start_ns")?,
        end_ns: rounds.whole::<Int64Type>("end_ns")?,
        acked_bytes: rounds.whole::<UInt64Type>("acked_bytes")?,
        marks: rounds.whole::<Int64Type>("marks")?,
        queue_delay_us: rounds.whole::<Float64Type>("queue_delay_us")?,
        marking_us: rounds.whole::<Float64Type>("marking_us")?,
        rate_bps: rounds.whole::<Float64Type>("rate_bps")?,
        rtt_min_us: rounds.whole::<Float64Type>("rtt_min_us")?,
        rtt_max_us: rounds.whole::<Float64Type>("rtt_max_us")?,
        base_us: rounds.whole::<Float64Type>("base_us")?,
        floor_us: rounds.whole::<Float64Type>("floor_us")?,
        high: rounds.flags("high")?,
        held: rounds.flags("held")?,
        ect1: rounds.flags("ect1")?,
        ect0: rounds.flags("ect0")?,
    };
    let found = native(py, || Ok::<_, PyErr>(company::company(&rounds)))?;
    let mut t = Columns::default();
    t.u32("of", found.iter().map(|c| c.of));
    class(&mut t, "scalable", &found, |c| c.scalable.as_ref());
    class(&mut t, "classic", &found, |c| c.classic.as_ref());
    t.finish()
}

fn class(t: &mut Columns, class: &str, found: &[Company], of: fn(&Company) -> Option<&Neighbours>) {
    let name = |name: &str| format!("{class}_{name}");
    let rows = || found.iter().map(of);
    t.i64(&name("slots"), rows().map(|n| n.map(|n| n.slots)));
    t.f64(&name("queue_us"), rows().map(|n| n.and_then(|n| n.queue_us)));
    t.f64(&name("own_queue_us"), rows().map(|n| n.and_then(|n| n.own_queue_us)));
    t.f64(&name("least_us"), rows().map(|n| n.and_then(|n| n.least_us)));
    t.f64(&name("corr"), rows().map(|n| n.and_then(|n| n.corr)));
    t.f64(&name("gap"), rows().map(|n| n.and_then(|n| n.gap)));
    t.i64(&name("marks"), rows().map(|n| n.map(|n| n.marks)));
    t.i64(&name("marked_slots"), rows().map(|n| n.map(|n| n.marked_slots)));
    t.i64(&name("high"), rows().map(|n| n.map(|n| n.high)));
    t.i64(&name("high_unmarked"), rows().map(|n| n.map(|n| n.high_unmarked)));
    t.i64(&name("ect0"), rows().map(|n| n.map(|n| n.ect0)));
    t.i64(&name("own_marked"), rows().map(|n| n.map(|n| n.own_marked)));
    t.f64(&name("mark_delay_us"), rows().map(|n| n.and_then(|n| n.mark_delay_us)));
    t.f64(&name("stepped"), rows().map(|n| n.and_then(|n| n.stepped)));
    t.f64(&name("within"), rows().map(|n| n.and_then(|n| n.within)));
    t.f64(&name("apart"), rows().map(|n| n.and_then(|n| n.apart)));
    t.i64(&name("waiting"), rows().map(|n| n.map(|n| n.waiting)));
    t.f64(&name("uneven"), rows().map(|n| n.and_then(|n| n.uneven)));
    t.f64(&name("unlike"), rows().map(|n| n.and_then(|n| n.unlike)));
    t.i64(&name("outrun"), rows().map(|n| n.map(|n| n.outrun)));
    t.i64(&name("outruns"), rows().map(|n| n.map(|n| n.outruns)));
}

/// Directions that waited while others of their path began; `directions` has `began` and `long`.
#[pyfunction]
fn path_begun(py: Python<'_>, rounds: Given, directions: Given, most: usize) -> PyResult<ArrowTable> {
    let rounds = first::Rounds {
        of: rounds.whole::<UInt32Type>("of")?,
        at: rounds.whole::<UInt32Type>("at")?,
        round: rounds.whole::<UInt32Type>("round")?,
        start_ns: rounds.whole::<Int64Type>("start_ns")?,
        end_ns: rounds.whole::<Int64Type>("end_ns")?,
        rtt_min_us: rounds.whole::<Float64Type>("rtt_min_us")?,
        floor_us: rounds.whole::<Float64Type>("floor_us")?,
        rate_bps: rounds.whole::<Float64Type>("rate_bps")?,
        noise_us: rounds.whole::<Float64Type>("noise_us")?,
    };
    let (began, long) = (directions.flags("began")?, directions.flags("long")?);
    let found = native(py, || Ok::<_, PyErr>(first::begun(&rounds, &began, &long, most)))?;
    let mut t = Columns::default();
    t.u32("of", found.iter().map(|f| f.of));
    t.u32("first_slots", found.iter().map(|f| f.slots));
    t.u32("first_met", found.iter().map(|f| f.met));
    t.u32("first_passed", found.iter().map(|f| f.passed));
    t.f64("first_apart_us", found.iter().map(|f| f.apart_us));
    t.finish()
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

/// What each direction showed up to a round.
#[pyfunction]
fn path_so_far(py: Python<'_>, rounds: Given) -> PyResult<ArrowTable> {
    let of = rounds.whole::<UInt32Type>("of")?;
    let marks = rounds.whole::<UInt32Type>("ce_best")?;
    let rtt_us = rounds.whole::<Float64Type>("least")?;
    let found = native(py, || Ok::<_, PyErr>(floors::so_far(of, marks, rtt_us)))?;
    let mut t = Columns::default();
    t.bool("marked", found.iter().map(|f| f.marked));
    t.f64("min_rtt", found.iter().map(|f| f.least_us));
    t.finish()
}

/// Rate of each path.
#[pyfunction]
fn path_rates(py: Python<'_>, rounds: Given, high: f64) -> PyResult<ArrowTable> {
    let at = rounds.whole::<UInt32Type>("at")?;
    let start_ns = rounds.whole::<Int64Type>("start_ns")?;
    let acked_bytes = rounds.whole::<UInt64Type>("acked_bytes")?;
    let found = native(py, || Ok::<_, PyErr>(rates::rates(at, start_ns, acked_bytes, high)))?;
    let mut t = Columns::default();
    t.u32("at", found.keys().copied());
    t.f64("rate_bps", found.values().copied());
    t.finish()
}
