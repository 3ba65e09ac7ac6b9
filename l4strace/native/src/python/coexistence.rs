//! Coexistence for Python: what is known of directions in, one row an ordered pair out.

use arrow_array::types::UInt32Type;
use pyo3::prelude::*;

use super::given::Given;
use super::responses::named;
use super::tables::{ArrowTable, Columns};
use crate::measure::coexistence::{Known, Pair};
use crate::measure::rounds::{Codepoint, Key};
use crate::measure::starvation::Starved;

/// Of each direction.
pub fn known(table: &Given) -> PyResult<Vec<Known>> {
    let max_payload = table.whole::<UInt32Type>("max_payload")?;
    let (unmerged, scaled) = (table.flags("unmerged")?, table.flags("scaled")?);
    let row = |(of, codepoint)| Known {
        codepoint: Codepoint::named(codepoint),
        max_payload: max_payload.get(of),
        unmerged: unmerged[of],
        scaled: scaled[of],
    };
    Ok(table.texts("marked_as")?.enumerate().map(row).collect())
}

pub fn table(keys: &[Key], found: &[Pair]) -> PyResult<ArrowTable> {
    let seconds = |p: &Pair| (p.end_ns - p.start_ns) as f64 / 1e9;
    let jain = |p: &Pair| (p.bits + p.other_bits).powi(2) / (2.0 * (p.bits.powi(2) + p.other_bits.powi(2)));
    let starved = |of: fn(&Starved) -> f64| found.iter().map(move |p| p.starved.as_ref().map(of));
    let mut t = Columns::default();
    named(&mut t, keys, found.iter().map(|p| p.of));
    t.u32("other_flow", found.iter().map(|p| keys[p.other].1));
    t.i64("start_ns", found.iter().map(|p| p.start_ns));
    t.i64("end_ns", found.iter().map(|p| p.end_ns));
    t.f64("rate_bps", found.iter().map(|p| p.bits / seconds(p)));
    t.f64("other_rate_bps", found.iter().map(|p| p.other_bits / seconds(p)));
    t.f64("share", found.iter().map(|p| p.bits / (p.bits + p.other_bits)));
    t.f64("jain", found.iter().map(jain));
    t.f64("held_back", found.iter().map(|p| p.held_back));
    t.i64("starved_since_ns", found.iter().map(|p| p.starved.as_ref().map(|s| s.since_ns)));
    t.f64("starved_share", starved(|s| s.bits / (s.bits + s.other_bits)));
    t.f64("starved_rate_bps", starved(|s| s.bits / s.seconds));
    t.f64("starved_other_rate_bps", starved(|s| s.other_bits / s.seconds));
    t.finish()
}
