//! What logs show beside rounds, for Python.

use std::collections::{BTreeMap, HashMap};

use arrow_array::types::{Float64Type, Int64Type, UInt32Type};
use pyo3::prelude::*;

use super::given::Given;
use super::measure::keys;
use super::responses::named;
use super::tables::{ArrowTable, Columns};
use crate::measure;
use crate::measure::logged::{Compared, Log, Logged};
use crate::measure::rounds::{Key, Limit};

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(logged, m)?)
}

/// What logs show beside the rounds of each direction; `samples` are in the order of time.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 makes the tables
fn logged(rounds: Given, samples: Given) -> PyResult<ArrowTable> {
    let mut logs: HashMap<(u32, bool), Log> = HashMap::new();
    let (ts_ns, flow) = (samples.whole::<Int64Type>("ts_ns")?, samples.whole::<UInt32Type>("flow")?);
    let count = samples.whole::<UInt32Type>("delivered_ce")?;
    let (window, alpha) = (samples.whole::<UInt32Type>("snd_cwnd")?, samples.whole::<Float64Type>("alpha")?);
    for (row, forward) in samples.flags("forward")?.into_iter().enumerate() {
        let (log, ns) = (logs.entry((flow.or_zero(row), forward)).or_default(), ts_ns.or_zero(row));
        log.delivered_ce.extend(count.get(row).map(|count| (ns, f64::from(count))));
        log.windows
            .extend(window.get(row).filter(|window| *window > 0).map(|window| (ns, f64::from(window))));
        log.alphas.extend(alpha.get(row).filter(|alpha| *alpha > 0.0).map(|alpha| (ns, alpha)));
    }
    let shown = Compared {
        start_ns: rounds.whole::<Int64Type>("start_ns")?,
        end_ns: rounds.whole::<Int64Type>("end_ns")?,
        marks: [rounds.whole::<UInt32Type>("ce_lo")?, rounds.whole::<UInt32Type>("ce_hi")?],
        in_flight: rounds.known::<UInt32Type>("inflight_max_packets")?,
        limits: rounds.texts("limited_by")?.map(Limit::named).collect(),
        alpha: rounds.known::<Float64Type>("alpha")?,
        alphas: [rounds.known::<Float64Type>("alpha_lo")?, rounds.known::<Float64Type>("alpha_hi")?],
    };
    let mut directions: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    keys(&rounds)?.enumerate().for_each(|(row, key)| directions.entry(key).or_default().push(row));
    let of_log = |(key, rows): (&Key, &Vec<usize>)| {
        let log = logs.get(&(key.1, key.2));
        log.map(|log| measure::logged::logged(log, &shown, rows)).unwrap_or_default()
    };
    let found: Vec<Logged> = directions.iter().map(of_log).collect();
    let keys: Vec<Key> = directions.into_keys().collect();
    let mut t = Columns::default();
    named(&mut t, &keys, 0..keys.len());
    t.u32("samples", found.iter().map(|l| l.samples));
    t.i64("delivered_ce", found.iter().map(|l| l.delivered_ce));
    t.i64("low", found.iter().map(|l| l.marks[0]));
    t.i64("high", found.iter().map(|l| l.marks[1]));
    t.u32("most", found.iter().map(|l| l.most));
    t.u32("limited", found.iter().map(|l| l.limited));
    t.f64("error", found.iter().map(|l| l.error));
    t.f64("in_flight", found.iter().map(|l| l.in_flight));
    t.f64("window", found.iter().map(|l| l.window));
    t.u32("replayed", found.iter().map(|l| l.replayed));
    t.f64("ratio", found.iter().map(|l| l.ratio));
    t.finish()
}
