//! The `paths` table.

use pyo3::prelude::*;

use super::arrow::{ArrowTable, Columns};
use crate::pair::Path;

/// Codepoints by number, as columns name them.
const CODEPOINTS: [&str; 4] = ["not_ect", "ect1", "ect0", "ce"];

/// The `paths` table; without rows when nothing was matched.
pub fn table(paths: &[Path]) -> PyResult<ArrowTable> {
    let seen = |p: &&Path| p.matched + p.lost + p.appeared > 0;
    let mut paths: Vec<&Path> = paths.iter().filter(seen).collect();
    paths.sort_by_key(|p| (p.flow, !p.forward, p.near, p.far));
    let rows = || paths.iter();
    let mut t = Columns::default();
    t.u32("flow", rows().map(|p| p.flow));
    t.bool("forward", rows().map(|p| p.forward));
    t.u16("near", rows().map(|p| p.near));
    t.u16("far", rows().map(|p| p.far));
    t.u64("matched", rows().map(|p| p.matched));
    t.u64("lost", rows().map(|p| (!p.in_part).then_some(p.lost)));
    t.u64("appeared", rows().map(|p| (!p.in_part).then_some(p.appeared)));
    // In the order of the declared columns: Not-ECT, ECT(1), ECT(0), CE.
    for (near, left_as) in CODEPOINTS.into_iter().enumerate() {
        for (far, arrived_as) in CODEPOINTS.into_iter().enumerate() {
            t.u64(&format!("{left_as}_to_{arrived_as}"), rows().map(|p| p.codepoints[near][far]));
        }
    }
    t.u64("ace_changed", rows().map(|p| p.ace_changed));
    t.u64("option_stripped", rows().map(|p| p.option_stripped));
    t.u64("option_changed", rows().map(|p| p.option_changed));
    t.u64("dscp_changed", rows().map(|p| p.dscp_changed));
    t.u64("first_change_frame_near", rows().map(|p| p.first_change.map(|f| f.0)));
    t.u64("first_change_frame_far", rows().map(|p| p.first_change.map(|f| f.1)));
    t.i64("owd_min_ns", rows().map(|p| p.owd_min_ns));
    let above = |share| rows().map(move |p: &&Path| p.above_us(&p.owd, share));
    t.f64("owd_median_us", above(0.5));
    t.f64("owd_p99_us", above(0.99));
    t.f64("owd_max_us", above(1.0));
    let marked = |share| rows().map(move |p: &&Path| p.above_us(&p.marked_owd, share));
    t.f64("marked_owd_p10_us", marked(0.1));
    t.f64("marked_owd_median_us", marked(0.5));
    t.u64("long_bursts", rows().map(|p| p.bursts.long));
    t.u64("burst_heads_marked", rows().map(|p| p.bursts.heads_marked));
    t.u64("burst_tails", rows().map(|p| p.bursts.tails));
    t.u64("burst_tails_marked", rows().map(|p| p.bursts.tails_marked));
    t.u64("burst_tail_frame", rows().map(|p| p.bursts.first_frame));
    t.i64("clock_offset_ns", rows().map(|p| p.clock_offset_ns));
    t.finish()
}
