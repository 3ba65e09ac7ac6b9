//! What the rounds of directions show, for Python: all of them, those of a stretch of time, that of a moment.

use std::collections::HashMap;

use arrow_array::types::Int64Type;
use pyo3::prelude::*;

use super::given::Given;
use super::measure::keys;
use super::responses::named;
use super::tables::{ArrowTable, Columns};
use crate::measure::rounds::{asked, numbered, Direction, Key, Rounds};
use crate::measure::{during, overall};

pub fn overall(rounds: &Rounds<'_>, keys: &[Key], directions: &[Direction]) -> PyResult<ArrowTable> {
    let found = overall::overall(rounds, directions);
    let mut t = Columns::of_rows(found.len());
    named(&mut t, keys, found.iter().map(|o| o.of));
    t.i64("start_ns", found.iter().map(|o| o.start_ns));
    t.i64("end_ns", found.iter().map(|o| o.end_ns));
    t.u32("bursts", found.iter().map(|o| o.bursts));
    t.f64("burst_bytes", found.iter().map(|o| o.burst_bytes));
    t.u32("burst_max_bytes", found.iter().map(|o| o.burst_max_bytes));
    t.u64("burst_frame", found.iter().map(|o| o.burst_frame));
    t.f64("by_window", found.iter().map(|o| o.by_window));
    t.f64("with_holes", found.iter().map(|o| o.with_holes));
    t.u32("echoed", found.iter().map(|o| o.echoed));
    t.f64("echo_went_on", found.iter().map(|o| o.echo_went_on));
    t.bool("ce_bytes_known", found.iter().map(|o| Some(o.ce_bytes_known)));
    let marks = || found.iter().map(|o| o.first_mark);
    t.i64("mark_start_ns", marks().map(|m| rounds.start_ns.get(m?.row)));
    t.i64("mark_end_ns", marks().map(|m| rounds.end_ns.get(m?.row)));
    t.u64("mark_first_frame", marks().map(|m| rounds.first_frame.get(m?.row)));
    t.u64("mark_last_frame", marks().map(|m| rounds.last_frame.get(m?.row)));
    t.bool("mark_windowed", marks().map(|m| Some(m?.windowed)));
    t.u32("mark_before", marks().map(|m| m?.before));
    t.u32("mark_inflight", marks().map(|m| m?.inflight));
    t.u32("mark_later", marks().map(|m| m?.later));
    t.finish()
}

pub fn during(
    rounds: &Rounds<'_>,
    keys: &[Key],
    directions: &[Direction],
    of: Vec<Key>,
    time_ns: (i64, i64),
) -> PyResult<ArrowTable> {
    let found = during::during(rounds, directions, &asked(keys, of), time_ns);
    let mut t = Columns::default();
    named(&mut t, keys, found.iter().map(|d| d.of));
    t.u64("carried_bytes", found.iter().map(|d| d.carried_bytes));
    t.i64("exit_ns", found.iter().map(|d| d.exit_ns));
    t.u32("exit_packets", found.iter().map(|d| d.exit_packets));
    t.f64("spread", found.iter().map(|d| d.spread));
    t.finish()
}

pub fn begun(
    rounds: &Rounds<'_>,
    known: &[Key],
    directions: &[Direction],
    moments: &Given,
) -> PyResult<ArrowTable> {
    let ts_ns = moments.whole::<Int64Type>("ts_ns")?;
    let mut begun = HashMap::new();
    let row = |(at, of): (usize, Option<u32>)| {
        let of = of? as usize;
        begun.entry(of).or_insert_with(|| rounds.begun(&directions[of]))(ts_ns.get(at)?)
    };
    let found: Vec<Option<usize>> = numbered(known, keys(moments)?).enumerate().map(row).collect();
    let mut t = Columns::of_rows(found.len());
    t.u32("round", found.iter().map(|row| rounds.round.get((*row)?)));
    t.i64("end_ns", found.iter().map(|row| rounds.end_ns.get((*row)?)));
    t.f64("queue_delay_us", found.iter().map(|row| rounds.queue_delay_us.get((*row)?)));
    t.finish()
}
