//! Responses to marks for Python: what `Measured` found of laws, builds, cuts and detector, and alphas.

use std::collections::{HashMap, HashSet};

use arrow_array::types::{Float64Type, Int64Type, UInt32Type};
use pyo3::prelude::*;

use super::given::Given;
use super::measure::keys;
use super::tables::{ArrowTable, Columns, BLOCK};
use crate::measure::alphas::{Clocks, Known, Replayed, Shown};
use crate::measure::cuts::Cut;
use crate::measure::detector::{steps, Step};
use crate::measure::laws::{families, Response};
use crate::measure::responding::Pressed;
use crate::measure::rounds::{Direction, Key, Rounds};
use crate::measure::scores::{Scores, Steps};
use crate::measure::windows::ROUNDING;
use crate::measure::{self, Column};

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("ROUNDING", ROUNDING)?;
    m.add_function(wrap_pyfunction!(scores, m)?)?;
    m.add_function(wrap_pyfunction!(alphas, m)?)
}

/// Source, flow and forward of the directions of rows.
pub fn named(t: &mut Columns, keys: &[Key], of: impl Iterator<Item = usize> + Clone) {
    t.u16("source", of.clone().map(|of| keys[of].0));
    t.u32("flow", of.clone().map(|of| keys[of].1));
    t.bool("forward", of.map(|of| keys[of].2));
}

/// A column a law: its family and a number.
pub fn laws(keys: &[Key], found: &[&Response]) -> PyResult<ArrowTable> {
    let mut t = Columns::default();
    named(&mut t, keys, found.iter().map(|r| r.of));
    t.u32("samples", found.iter().map(|r| r.samples as u32));
    t.u32("isolated", found.iter().map(|r| r.isolated as u32));
    t.f64("window_packets", found.iter().map(|r| r.window_packets));
    t.f64("fraction", found.iter().map(|r| r.fraction));
    t.f64("half_alpha", found.iter().map(|r| r.half_alpha));
    t.i64("first_ns", found.iter().map(|r| r.first_ns));
    t.i64("last_ns", found.iter().map(|r| r.last_ns));
    t.f64("asked", found.iter().map(|r| r.asked));
    for (law, family) in families().enumerate() {
        t.f64(&format!("{family} {law}"), found.iter().map(|r| r.log_likelihoods[law]));
    }
    t.finish()
}

pub fn builds(keys: &[Key], found: &[&Shown]) -> PyResult<ArrowTable> {
    let mut t = Columns::default();
    named(&mut t, keys, found.iter().map(|s| s.of));
    t.u32("rounds", found.iter().map(|s| s.rounds));
    t.f64("growth", found.iter().map(|s| s.growth));
    t.f64("squares", found.iter().map(|s| s.squares));
    t.f64("slowed", found.iter().map(|s| s.slowed));
    t.f64("lead", found.iter().map(|s| s.lead));
    t.finish()
}

pub fn pressed(keys: &[Key], found: &[Pressed]) -> PyResult<ArrowTable> {
    let mut t = Columns::default();
    named(&mut t, keys, found.iter().map(|p| p.of));
    t.i64("first_ns", found.iter().map(|p| p.first_ns));
    t.i64("asked_ns", found.iter().map(|p| p.asked_ns));
    t.i64("last_ns", found.iter().map(|p| p.last_ns));
    t.u64("acked", found.iter().map(|p| p.acked));
    t.u64("ce", found.iter().map(|p| p.ce));
    t.f64("before_bps", found.iter().map(|p| p.before_bps));
    t.f64("after_bps", found.iter().map(|p| p.after_bps));
    t.finish()
}

pub fn cuts(keys: &[Key], rounds: &Rounds<'_>, found: &[Cut]) -> PyResult<ArrowTable> {
    let mut t = Columns::of_rows(found.len());
    named(&mut t, keys, found.iter().map(|c| c.of));
    t.u32("round", found.iter().map(|c| rounds.round.get(c.row)));
    t.i64("ts_ns", found.iter().map(|c| rounds.start_ns.get(c.row)));
    t.str("cause", found.iter().map(|c| Some(c.cause)));
    t.f64("cwnd_before", found.iter().map(|c| c.before));
    t.f64("cwnd_after", found.iter().map(|c| c.after));
    t.f64("alpha", found.iter().map(|c| rounds.alphas[0].get(c.row)));
    t.finish()
}

/// A round is a step when it ends. Those of few flow directions are in memory at a time.
pub fn detector(keys: &[Key], rounds: &Rounds<'_>, directions: &[Direction]) -> PyResult<ArrowTable> {
    let ends_ns = |step: &Step| rounds.end_ns.or_zero(step.row);
    let before = |score: Column<'_, f64>, step: &Step| step.before.map_or(Some(0.0), |row| score.get(row));
    let add = |t: &mut Columns, found: &[Step]| {
        named(t, keys, found.iter().map(|s| s.of));
        t.i64("ts_ns", found.iter().map(ends_ns));
        t.f64("mdev_us", found.iter().map(|s| rounds.mdev_pace_us.get(s.row)));
        t.f64("depth_us", found.iter().map(|s| s.depth_us(rounds)));
        t.f64("score_fixed", found.iter().map(|s| before(rounds.classic_ecn, s)));
        t.f64("score_fixed_lo", found.iter().map(|s| before(rounds.classic_ecn_lo, s)));
        t.f64("score_fixed_hi", found.iter().map(|s| before(rounds.classic_ecn_hi, s)));
        t.f64("score_buggy", found.iter().map(|s| before(rounds.classic_ecn_buggy, s)));
    };
    let mut asked: Vec<usize> = (0..directions.len()).filter(|of| directions[*of].prague).collect();
    asked.sort_by_key(|of| (keys[*of].1, keys[*of].2));
    let most = asked.iter().map(|of| directions[*of].rows.len()).sum();
    let mut t = Columns::of_rows(most).folding();
    let mut found: Vec<Step> = Vec::new();
    for same in asked.chunk_by(|a, b| (keys[*a].1, keys[*a].2) == (keys[*b].1, keys[*b].2)) {
        let first = found.len();
        same.iter().for_each(|of| found.extend(steps(rounds, *of, &directions[*of])));
        found[first..].sort_by_key(ends_ns);
        if found.len() >= BLOCK {
            t.add(&found, add);
            found.clear();
        }
    }
    t.add(&found, add);
    t.finish()
}

/// `alpha`, `alpha_lo` and `alpha_hi` of rounds, in their order, by the builds of their directions.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 makes the tables
fn alphas(rounds: Given, builds: Given) -> PyResult<ArrowTable> {
    let flags = |name| builds.flags(name);
    let (late, zero, lo, hi) = (flags("late")?, flags("zero")?, flags("zero_lo")?, flags("zero_hi")?);
    let known = builds.bool("paced")?.into_iter().enumerate().map(|(of, paced)| Known {
        paced,
        late: late[of],
        zero: zero[of],
        zero_lo: lo[of],
        zero_hi: hi[of],
    });
    let known: HashMap<Key, Known> = keys(&builds)?.zip(known).collect();
    let replayed = Replayed {
        alpha: clocks(&rounds, "")?,
        lo: clocks(&rounds, "_lo")?,
        hi: clocks(&rounds, "_hi")?,
        updates: updates(&rounds)?,
    };
    // Rounds of one direction mostly stand together.
    let mut runs: Vec<(Key, Known, usize)> = Vec::new();
    for key in keys(&rounds)? {
        match runs.last_mut() {
            Some((same, _, count)) if *same == key => *count += 1,
            _ => runs.push((key, known.get(&key).copied().unwrap_or_default(), 1)),
        }
    }
    let rows = || runs.iter().flat_map(|(_, known, count)| std::iter::repeat_n(known, *count)).enumerate();
    let mut t = Columns::of_rows(rounds.rows()).folding();
    t.f64("alpha", rows().map(|(row, known)| replayed.likely(row, known)));
    t.f64("alpha_lo", rows().map(|(row, known)| replayed.low(row, known)));
    t.f64("alpha_hi", rows().map(|(row, known)| replayed.high(row, known)));
    t.finish()
}

/// What the replayed steps of these directions show of the score; `steps` are rows of `detector` from packets.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 makes the tables
fn scores(steps: Given, directions: Given) -> PyResult<ArrowTable> {
    let wanted: HashSet<Key> = keys(&directions)?.collect();
    let mut rows: Vec<(Key, Vec<usize>)> = Vec::new();
    for (row, key) in keys(&steps)?.enumerate() {
        match rows.last_mut() {
            Some((last, rows)) if *last == key => rows.push(row),
            _ if wanted.contains(&key) => rows.push((key, vec![row])),
            _ => {}
        }
    }
    let number = |name| steps.whole::<Float64Type>(name);
    let columns = Steps {
        ts_ns: steps.whole::<Int64Type>("ts_ns")?,
        score: number("score_fixed")?,
        bounds: [number("score_fixed_lo")?, number("score_fixed_hi")?],
        mdev_us: number("mdev_us")?,
        depth_us: number("depth_us")?,
    };
    let found: Vec<Scores> = rows.iter().map(|(_, rows)| measure::scores::scores(&columns, rows)).collect();
    let directions: Vec<Key> = rows.into_iter().map(|(key, _)| key).collect();
    let mut t = Columns::default();
    named(&mut t, &directions, 0..directions.len());
    t.f64("time", found.iter().map(|s| s.times[0]));
    t.f64("time_most", found.iter().map(|s| s.times[1]));
    t.u32("crossings", found.iter().map(|s| s.crossings));
    t.f64("least", found.iter().map(|s| s.least));
    t.f64("most", found.iter().map(|s| s.most));
    t.i64("since_ns", found.iter().map(|s| s.since_ns));
    t.f64("mdev_us", found.iter().map(|s| s.mdev_us));
    t.f64("depth_us", found.iter().map(|s| s.depth_us));
    t.finish()
}

/// Columns of alpha by both clocks; `bound` is empty, `_lo` or `_hi`.
pub fn clocks<'a>(rounds: &'a Given, bound: &str) -> PyResult<Clocks<'a>> {
    let column = |clock: &str| rounds.known::<Float64Type>(&format!("{clock}{bound}"));
    Ok([column("alpha")?, column("alpha_25ms")?])
}

pub fn updates(rounds: &Given) -> PyResult<[Column<'_, u32>; 2]> {
    let column = |name| rounds.known::<UInt32Type>(name);
    Ok([column("alpha_updates")?, column("alpha_25ms_updates")?])
}
