//! What all rounds of each direction show, for Python.

use pyo3::prelude::*;

use super::responses::named;
use super::tables::{ArrowTable, Columns};
use crate::measure::brief::Brief;
use crate::measure::rounds::{Key, Rounds};

pub fn table(keys: &[Key], rounds: &Rounds<'_>, found: &[Brief]) -> PyResult<ArrowTable> {
    let mut t = Columns::of_rows(found.len());
    named(&mut t, keys, found.iter().map(|b| b.of));
    t.i64("start_ns", found.iter().map(|b| b.start_ns));
    t.i64("end_ns", found.iter().map(|b| b.end_ns));
    t.u32("bursts", found.iter().map(|b| b.bursts));
    t.f64("burst_bytes", found.iter().map(|b| b.burst_bytes));
    t.u32("burst_max_bytes", found.iter().map(|b| b.burst_max_bytes));
    t.u64("burst_frame", found.iter().map(|b| b.burst_frame));
    t.f64("by_window", found.iter().map(|b| b.by_window));
    t.f64("with_holes", found.iter().map(|b| b.with_holes));
    t.u32("echoed", found.iter().map(|b| b.echoed));
    t.f64("echo_went_on", found.iter().map(|b| b.echo_went_on));
    t.bool("ce_bytes_known", found.iter().map(|b| Some(b.ce_bytes_known)));
    let marks = || found.iter().map(|b| b.first_mark);
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
