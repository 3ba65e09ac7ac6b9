//! Features of bottlenecks for Python: what is known of directions in, one row a direction out.

use std::collections::BTreeSet;

use arrow_array::types::{Float64Type, UInt32Type};
use pyo3::prelude::*;

use super::given::Given;
use super::tables::{ArrowTable, Columns};
use crate::measure::features::{Features, Stretch};
use crate::measure::neighbors::{Beside, Neighbors};
use crate::measure::rounds::Codepoint;
use crate::measure::waits::Known;

/// Of each direction.
pub fn known(table: &Given) -> PyResult<Vec<Known>> {
    let codepoints: Vec<Codepoint> = table.texts("marked_as")?.map(Codepoint::named).collect();
    let (began, mangled) = (table.flags("began")?, table.flags("mangled")?);
    let in_order = table.flags("in_order")?;
    let option_mss = table.whole::<UInt32Type>("option_mss")?;
    let [base, floor, rise, owd_base, owd_floor, owd_low, capacity, noise] = [
        table.whole::<Float64Type>("base_us")?,
        table.whole::<Float64Type>("floor_us")?,
        table.whole::<Float64Type>("floor_rise_us")?,
        table.whole::<Float64Type>("owd_base_us")?,
        table.whole::<Float64Type>("owd_floor_us")?,
        table.whole::<Float64Type>("owd_low_us")?,
        table.whole::<Float64Type>("capacity_bps")?,
        table.whole::<Float64Type>("noise_us")?,
    ];
    let row = |(of, codepoint)| Known {
        codepoint,
        began: began[of],
        mangled: mangled[of],
        option_mss: option_mss.get(of),
        base_us: base.get(of),
        floor_us: floor.get(of),
        rise_us: rise.get(of),
        owd_base_us: owd_base.get(of),
        owd_floor_us: owd_floor.get(of),
        owd_low_us: owd_low.get(of),
        in_order: in_order[of],
        capacity_bps: capacity.get(of),
        noise_us: noise.or_zero(of),
    };
    Ok(codepoints.into_iter().enumerate().map(row).collect())
}

pub fn stretches(table: &Given) -> PyResult<BTreeSet<Stretch>> {
    let (at, phase) = (table.whole::<UInt32Type>("at")?, table.whole::<UInt32Type>("phase")?);
    Ok((0..at.len()).map(|row| (at.or_zero(row), phase.get(row))).collect())
}

pub fn table(found: &[Features]) -> PyResult<ArrowTable> {
    let mut t = Columns::default();
    t.u32("of", found.iter().map(|f| f.of as u32));
    own(&mut t, found);
    whole(&mut t, found);
    path(&mut t, found);
    t.u32("first_slots", found.iter().map(|f| f.begun.as_ref().map(|b| b.slots)));
    t.u32("first_met", found.iter().map(|f| f.begun.as_ref().map(|b| b.met)));
    t.u32("first_passed", found.iter().map(|f| f.begun.as_ref().map(|b| b.passed)));
    t.f64("first_apart_us", found.iter().map(|f| f.begun.as_ref().map(|b| b.apart_us)));
    class(&mut t, "scalable", found, |c| c.scalable.as_ref());
    class(&mut t, "classic", found, |c| c.classic.as_ref());
    t.finish()
}

fn own(t: &mut Columns, found: &[Features]) {
    let own = || found.iter().map(|f| &f.own);
    t.f64("base_us", found.iter().map(|f| f.base_us));
    t.f64("floor_us", found.iter().map(|f| f.floor_us));
    t.u32("rounds", own().map(|o| o.rounds));
    t.u64("acked", own().map(|o| o.acked));
    t.i64("marks", own().map(|o| o.marks));
    t.f64("seconds", own().map(|o| o.seconds));
    t.f64("rate_bps", own().map(|o| o.rate_bps));
    t.f64("mark_limit_us", own().map(|o| o.mark_limit_us));
    t.f64("queue_delay_us", own().map(|o| o.queue_delay_us));
    t.f64("queue_high_us", own().map(|o| o.queue_high_us));
    t.f64("marking_delay_us", own().map(|o| o.marking_delay_us));
    t.f64("stepped", own().map(|o| o.stepped));
    t.bool("flat", own().map(|o| o.flat));
    t.u32("ect0_parts", found.iter().map(|f| f.ect0_parts));
    t.bool("classic_feedback", own().map(|o| o.classic_feedback));
    t.u64("lost", own().map(|o| o.losses.lost));
    t.u32("lost_rounds", own().map(|o| o.losses.rounds));
    t.f64("lost_low_us", own().map(|o| o.losses.low_us));
    t.f64("lost_us", own().map(|o| o.losses.middle_us));
    t.f64("lost_high_us", own().map(|o| o.losses.high_us));
    t.f64("top_us", own().map(|o| o.top_us));
}

fn whole(t: &mut Columns, found: &[Features]) {
    let whole = || found.iter().map(|f| &f.whole);
    t.u64("high_acked", whole().map(|w| w.high_acked));
    t.i64("high_marks", whole().map(|w| w.high_marks));
    t.u32("high_unmarked", whole().map(|w| w.high_unmarked));
    t.f64("queue_max_us", whole().map(|w| w.queue_max_us));
    t.i64("all_marks", whole().map(|w| w.marks));
    t.f64("first_marking_us", whole().map(|w| w.first_marking_us));
    t.u32("far_unmarked", found.iter().map(|f| f.far_unmarked));
    let met = |f: &Features| (f.whole.first_ns..=f.whole.last_ns).contains(&f.path.peak_ns);
    t.bool("met_peak", found.iter().map(met));
}

fn path(t: &mut Columns, found: &[Features]) {
    let path = || found.iter().map(|f| &f.path);
    t.i64("ect0_marks", path().map(|p| p.ect0_marks));
    t.f64("ect0_ratio", path().map(|p| p.ect0_ratio));
    t.u32("path_far_unmarked", path().map(|p| p.far_unmarked));
    t.u32("path_lost_rounds", path().map(|p| p.losses.rounds));
    t.f64("path_lost_low_us", path().map(|p| p.losses.low_us));
    t.f64("path_lost_us", path().map(|p| p.losses.middle_us));
    t.f64("path_lost_high_us", path().map(|p| p.losses.high_us));
    t.u64("path_lost", path().map(|p| p.losses.lost));
    t.f64("path_queued_losses", path().map(|p| p.losses.queued));
    t.f64("path_max_us", path().map(|p| p.queue_max_us));
    t.i64("path_marks", path().map(|p| p.marks));
    t.u64("path_losses", path().map(|p| p.lost));
}

fn class(t: &mut Columns, class: &str, found: &[Features], of: fn(&Beside) -> Option<&Neighbors>) {
    let name = |name: &str| format!("{class}_{name}");
    let rows = || found.iter().map(|f| of(&f.beside));
    t.i64(&name("slots"), rows().map(|n| n.map(|n| n.slots)));
    t.f64(&name("queue_us"), rows().map(|n| n.and_then(|n| n.queue_us)));
    t.f64(&name("own_queue_us"), rows().map(|n| n.and_then(|n| n.own_queue_us)));
    t.f64(&name("least_us"), rows().map(|n| n.and_then(|n| n.least_us)));
    t.f64(&name("corr"), rows().map(|n| n.and_then(|n| n.corr)));
    t.f64(&name("gap"), rows().map(|n| n.and_then(|n| n.gap)));
    t.i64(&name("marks"), rows().map(|n| n.map(|n| n.marks)));
    t.i64(&name("marked_slots"), rows().map(|n| n.map(|n| n.marked_slots)));
    t.i64(&name("ect0"), rows().map(|n| n.map(|n| n.ect0)));
    t.f64(&name("mark_delay_us"), rows().map(|n| n.and_then(|n| n.mark_delay_us)));
    t.f64(&name("within"), rows().map(|n| n.and_then(|n| n.within)));
    t.f64(&name("apart"), rows().map(|n| n.and_then(|n| n.apart)));
    t.i64(&name("waiting"), rows().map(|n| n.map(|n| n.waiting)));
    t.f64(&name("uneven"), rows().map(|n| n.and_then(|n| n.uneven)));
    t.f64(&name("unlike"), rows().map(|n| n.and_then(|n| n.unlike)));
}
