//! Several captures of the same flows: from tracked captures to matched ones.

use pyo3::prelude::*;

use super::arrow::{ArrowTable, Columns};
use super::errors::input_error;
use super::track_tables::Capture;
use crate::pair::{Facts, Halves, Input, Pairer, Pairing, Path, Rounds, Span};
use crate::track::{Flow, Initiator};

/// Buffers (256 KiB each) between two looks at signals.
const STEPS: u32 = 32;

/// Matches the captures packet by packet, puts all their stamps on the clock of the first, and
/// returns the paths; none when no conversation was seen twice.
pub fn pair(py: Python<'_>, captures: &mut [Capture], numbers: &[Vec<u32>]) -> PyResult<Vec<Path>> {
    if captures.len() < 2 {
        return Ok(Vec::new());
    }
    let inputs = captures.iter().zip(numbers).map(|(capture, numbers)| input(capture, numbers)).collect();
    let pairer = py.detach(|| Pairer::new(inputs)).map_err(|e| input_error(py, &e))?;
    let Some(mut pairer) = pairer else { return Ok(Vec::new()) };
    let mut more = true;
    while more {
        py.check_signals()?;
        let steps = py.detach(|| (0..STEPS).try_fold(true, |more, _| Ok(more && pairer.step()?)));
        more = steps.map_err(|e| input_error(py, &e))?;
    }
    let Pairing { clocks, paths, delays } = py.detach(|| pairer.finish());
    for ((capture, clock), delays) in captures.iter_mut().zip(clocks).zip(delays) {
        capture.clock = clock;
        capture.delays = delays;
        shift(capture, clock.ns);
    }
    Ok(paths)
}

/// Takes `ns` off every stamp that a table shows.
fn shift(capture: &mut Capture, ns: i64) {
    let stamps = [capture.info.first_ns.as_mut(), capture.info.last_ns.as_mut()];
    stamps.into_iter().flatten().for_each(|stamp| *stamp -= ns);
    for flow in &mut capture.tracker.flows {
        flow.first_ns -= ns;
        flow.last_ns -= ns;
        for totals in flow.dirs.iter_mut().map(|dir| &mut dir.totals) {
            totals.first_ns -= ns;
            totals.last_ns -= ns;
            if let Some((stamp, _)) = &mut totals.first_ce {
                *stamp -= ns;
            }
        }
    }
    for round in &mut capture.tracker.rounds {
        round.start_ns -= ns;
        round.end_ns -= ns;
    }
}

fn input(capture: &Capture, numbers: &[u32]) -> Input {
    let tracker = &capture.tracker;
    let facts = tracker.flows.iter().zip(numbers).map(|(flow, &number)| facts(capture, flow, number));
    Input {
        path: capture.info.path.clone(),
        span: Span {
            first_ns: capture.info.first_ns.unwrap_or_default(),
            last_ns: capture.info.last_ns.unwrap_or_default(),
        },
        facts: facts.collect(),
        rounds: Rounds::new(tracker.rounds.iter().map(|r| (r.flow, r.forward, r.start_ns, r.end_ns))),
    }
}

fn facts(capture: &Capture, flow: &Flow, number: u32) -> Facts {
    let syn = capture.tracker.table.initiator(flow.id) == Initiator::Syn;
    let [to_server_ns, to_client_ns] = flow.halves();
    Facts {
        number,
        syn_ns: syn.then_some(flow.first_ns),
        halves: Halves { to_server_ns, to_client_ns },
        max_payload: [0, 1].map(|side| flow.dirs[side].totals.max_payload),
        offloaded: [0, 1].map(|side| flow.dirs[side].totals.super_packets > 0),
        segment: [0, 1].map(|side| flow.segment(side)),
    }
}

/// Codepoints by number, as columns name them.
const CODEPOINTS: [&str; 4] = ["not_ect", "ect1", "ect0", "ce"];

/// The `paths` table; without rows when nothing was matched.
pub fn path_table(paths: &[Path]) -> PyResult<ArrowTable> {
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
    t.u64("lost", rows().map(|p| p.lost));
    t.u64("appeared", rows().map(|p| p.appeared));
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
    t.i64("clock_offset_ns", rows().map(|p| p.clock_offset_ns));
    t.finish()
}
