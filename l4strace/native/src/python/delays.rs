//! Delays, noise and waits of directions, and spikes of paths, for Python.

use arrow_array::types::{Float64Type, Int64Type};
use pyo3::prelude::*;

use super::given::Given;
use super::responses::named;
use super::seam::native;
use super::tables::{ArrowTable, Columns};
use crate::measure::delays::{self, Way};
use crate::measure::floors::{self, Late};
use crate::measure::noise::spreads;
use crate::measure::queue_waits::waits;
use crate::measure::rounds::{asked, Direction, Key, Rounds};
use crate::measure::spikes::{self, Spike};

pub fn floors(rounds: &Rounds<'_>, directions: &[Direction], known: &Given) -> PyResult<ArrowTable> {
    let found = floors::floors(rounds, directions, &known.flags("doubt")?);
    let mut t = Columns::default();
    t.u32("of", found.iter().map(|f| f.of));
    t.f64("floor_us", found.iter().map(|f| f.floor_us));
    t.f64("floor_rise_us", found.iter().map(|f| f.floor_rise_us));
    t.f64("usual_us", found.iter().map(|f| f.usual_us));
    t.i64("lasted", found.iter().map(|f| f.lasted));
    t.finish()
}

pub fn one_way(rounds: &Rounds<'_>, directions: &[Direction], known: &Given) -> PyResult<ArrowTable> {
    let (base, late) = (known.whole::<Float64Type>("base_us")?, known.whole::<Int64Type>("late_packets")?);
    let late = |(of, overtakes)| Late { base_us: base.get(of), packets: late.or_zero(of) as f64, overtakes };
    let known: Vec<Late> = known.flags("overtakes")?.into_iter().enumerate().map(late).collect();
    let found = floors::one_way(rounds, directions, &known);
    let mut t = Columns::default();
    t.u32("of", found.iter().map(|f| f.of));
    t.f64("owd_floor_us", found.iter().map(|f| f.floor_us));
    t.f64("owd_low_us", found.iter().map(|f| f.low_us));
    t.f64("owd_marked_us", found.iter().map(|f| f.marked_us));
    t.finish()
}

pub fn delays(rounds: &Rounds<'_>, directions: &[Direction], known: &Given) -> PyResult<ArrowTable> {
    let ways = ways(known)?;
    let bases = delays::bases(rounds, directions, &ways);
    let mut t = Columns::default();
    for (of, direction) in directions.iter().enumerate() {
        let rows: Vec<usize> = delays::counted(rounds, direction).collect();
        let found = delays::delays(rounds, &rows, &ways[of], bases[of]);
        t.again();
        t.u32("of", rows.iter().map(|_| of as u32));
        t.f64("base_us", rows.iter().map(|_| bases[of]));
        t.f64("delay_us", found.iter().map(|d| d.us));
        t.bool("one_way", found.iter().map(|d| d.one_way));
    }
    t.finish()
}

pub fn spikes(
    py: Python<'_>,
    rounds: &Rounds<'_>,
    directions: &[Direction],
    known: &Given,
) -> PyResult<ArrowTable> {
    let ways = ways(known)?;
    let found = native(py, || Ok::<_, PyErr>(spikes::spikes(rounds, directions, &ways)))?;
    let hit = |s: &Spike| s.hit.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let mut t = Columns::default();
    t.u32("of", found.iter().map(|s| s.of as u32));
    t.i64("start_ns", found.iter().map(|s| s.start_ns));
    t.i64("end_ns", found.iter().map(|s| s.end_ns));
    t.f64("height_us", found.iter().map(|s| s.height_us));
    t.bool("one_way", found.iter().map(|s| s.one_way));
    t.f64("usual_us", found.iter().map(|s| s.usual_us));
    t.u32("rounds", found.iter().map(|s| s.rounds));
    t.u32("flows", found.iter().map(|s| s.hit.len() as u32));
    t.str("hit", found.iter().map(|s| Some(hit(s))));
    t.u64("lost", found.iter().map(|s| s.lost));
    t.bool("bursty", found.iter().map(|s| s.bursty));
    t.u32("culprit", found.iter().map(|s| s.starter.map(|c| c.flow)));
    t.bool("grew", found.iter().map(|s| s.starter.is_some_and(|c| c.grew)));
    t.u32("peak_packets", found.iter().map(|s| s.starter.and_then(|c| c.peak_packets)));
    t.u64("flight_packets", found.iter().map(|s| s.flight_packets));
    t.u64("first_frame", found.iter().map(|s| s.first_frame));
    t.u64("last_frame", found.iter().map(|s| s.last_frame));
    t.finish()
}

pub fn noise(py: Python<'_>, rounds: &Rounds<'_>, directions: &[Direction]) -> PyResult<ArrowTable> {
    let found = native(py, || Ok::<_, PyErr>(spreads(rounds, directions)))?;
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

pub fn queue_waits(
    rounds: &Rounds<'_>,
    keys: &[Key],
    directions: &[Direction],
    of: Vec<Key>,
) -> PyResult<ArrowTable> {
    let found = waits(rounds, directions, &asked(keys, of));
    let mut t = Columns::default();
    named(&mut t, keys, found.iter().map(|w| w.of));
    t.f64("timed_us", found.iter().map(|w| w.timed_us));
    t.f64("packets_us", found.iter().map(|w| w.packets_us));
    t.f64("low_us", found.iter().map(|w| w.low_us));
    t.f64("in_flight", found.iter().map(|w| w.in_flight));
    t.u64("empty_packets", found.iter().map(|w| w.empty_packets));
    t.u64("empty_marked", found.iter().map(|w| w.empty_marked));
    t.finish()
}

/// Of each direction.
fn ways(table: &Given) -> PyResult<Vec<Way>> {
    let (floor, owd_base) =
        (table.whole::<Float64Type>("floor_us")?, table.whole::<Float64Type>("owd_base_us")?);
    let (overtakes, merged) = (table.flags("overtakes")?, table.flags("merged")?);
    let way = |of| Way {
        floor_us: floor.get(of),
        owd_base_us: owd_base.get(of),
        overtakes: overtakes[of],
        merged: merged[of],
    };
    Ok((0..table.rows()).map(way).collect())
}
