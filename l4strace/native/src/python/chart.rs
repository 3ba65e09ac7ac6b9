//! Charts for Python: columns in, lists out.

use std::collections::BTreeMap;

use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use pyo3::prelude::*;

use super::given::Given;
use super::measure::keys;
use super::seam::native;
use super::tables::{ArrowTable, Columns};
use crate::chart::{Slots, Totals};
use crate::measure::numbers::weighted_quantiles;
use crate::measure::rounds::{Key, Rounds};

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(quantiles, m)?)?;
    m.add_function(wrap_pyfunction!(totals, m)?)?;
    m.add_function(wrap_pyfunction!(path_slots, m)?)?;
    m.add_function(wrap_pyfunction!(per_interval, m)?)
}

/// Of each of `shares`: the `value` below which that part of the `weight` lies; none without a weight.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 makes the vector from a list
fn quantiles(py: Python<'_>, rows: Given, shares: Vec<f64>) -> PyResult<Vec<f64>> {
    let (values, weights) = (rows.whole::<Float64Type>("value")?, rows.whole::<Float64Type>("weight")?);
    let weighted = (0..rows.rows()).filter_map(|row| values.get(row).zip(weights.get(row)));
    let weighted = weighted.filter(|(_, weight)| *weight > 0.0).collect();
    native(py, || Ok::<_, PyErr>(weighted_quantiles(weighted, &shares)))
}

/// Sums of `columns` over intervals by where a row `ended`, and the number of the first interval.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 makes the vector from a list
fn per_interval(rows: Given, interval: f64, columns: Vec<String>) -> PyResult<(i64, Vec<Vec<u64>>)> {
    let ended = rows.whole::<Float64Type>("ended")?;
    let slots = Slots::of((0..rows.rows()).map(|row| ended.or_zero(row)), interval);
    let sums = columns.iter().map(|name| Ok(slots.sums(rows.counts(name)?.into_iter())));
    Ok((slots.first, sums.collect::<PyResult<_>>()?))
}

/// What the rounds of each direction add up to.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 makes the table
fn totals(py: Python<'_>, rounds: Given) -> PyResult<ArrowTable> {
    let keys: Vec<Key> = keys(&rounds)?.collect();
    let (mut rows, mut next) = (BTreeMap::<Key, Vec<usize>>::new(), 0);
    // Those of a direction mostly stand together.
    for own in keys.chunk_by(|a, b| a == b) {
        rows.entry(own[0]).or_default().extend(next..next + own.len());
        next += own.len();
    }
    let rounds = counted(&rounds)?;
    let of = |(key, rows)| (key, Totals::of(&rounds, rows));
    let found = native(py, || Ok::<_, PyErr>(rows.into_iter().map(of).collect::<Vec<_>>()))?;
    let mut t = Columns::default();
    t.u16("source", found.iter().map(|(key, _)| key.0));
    t.u32("flow", found.iter().map(|(key, _)| key.1));
    t.bool("forward", found.iter().map(|(key, _)| key.2));
    t.i64("start_ns", found.iter().map(|(_, all)| all.start_ns));
    t.i64("end_ns", found.iter().map(|(_, all)| all.end_ns));
    t.u64("acked_packets", found.iter().map(|(_, all)| all.acked_packets));
    t.u64("acked_bytes", found.iter().map(|(_, all)| all.acked_bytes));
    t.u64("retransmits", found.iter().map(|(_, all)| all.retransmits));
    t.u64("marks", found.iter().map(|(_, all)| all.marks));
    t.u32("begins", found.iter().map(|(_, all)| all.begins));
    t.finish()
}

/// Sums over intervals (s) since `origin_ns` by where the rounds of a path (`own`) ended, and the number of the first:
/// acknowledged bytes and packets, marks, retransmissions.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 makes the table
fn path_slots(rounds: Given, origin_ns: i64, interval: f64) -> PyResult<(i64, Vec<Vec<u64>>)> {
    let own: Vec<usize> =
        (0..).zip(rounds.flags("own")?).filter_map(|(row, own)| own.then_some(row)).collect();
    let rounds = counted(&rounds)?;
    // As polars divides by a number.
    let ended = |row: &usize| (rounds.end_ns.or_zero(*row) - origin_ns) as f64 * (1.0 / 1e9);
    let slots = Slots::of(own.iter().map(ended), interval);
    let sums = |of: &dyn Fn(usize) -> u64| slots.sums(own.iter().map(|row| of(*row)));
    let found = vec![
        sums(&|row| rounds.acked_bytes.or_zero(row)),
        sums(&|row| u64::from(rounds.acked_packets.or_zero(row))),
        sums(&|row| u64::from(rounds.marks(row))),
        sums(&|row| u64::from(rounds.retransmits.or_zero(row))),
    ];
    Ok((slots.first, found))
}

/// Of the columns that panels add up.
fn counted(given: &Given) -> PyResult<Rounds<'_>> {
    Ok(Rounds {
        start_ns: given.known::<Int64Type>("start_ns")?,
        end_ns: given.whole::<Int64Type>("end_ns")?,
        acked_packets: given.whole::<UInt32Type>("acked_packets")?,
        acked_bytes: given.whole::<UInt64Type>("acked_bytes")?,
        retransmits: given.whole::<UInt32Type>("retransmits")?,
        ce_best: given.whole::<UInt32Type>("ce_best")?,
        ece_acks: given.whole::<UInt32Type>("ece_acks")?,
        ce: given.whole::<UInt32Type>("ce")?,
        ..Rounds::default()
    })
}
