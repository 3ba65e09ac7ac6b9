//! What identifies the bottleneck of each direction: its own rounds, those of its path, its neighbors.

use std::collections::{BTreeMap, BTreeSet};

use super::first::{begun, Begun, Firsts};
use super::neighbors::{Beside, Slots};
use super::own::{own, whole, Losses, Own, Whole};
use super::phases::{self, Phase};
use super::rates::Seconds;
use super::rating::{carried, Rating};
use super::rounds::{Codepoint, Direction, Rounds};
use super::waits::{directed, start, Directed, Known};
use super::{slot_width, MIN_STEADY_PACKETS};

/// A stretch of a path: its number and the phase; None outside of all phases.
pub type Stretch = (u32, Option<u32>);

/// A direction with enough rounds after its start.
#[derive(Clone, Debug, Default)]
pub struct Features {
    pub of: usize,
    pub codepoint: Codepoint,
    pub base_us: Option<f64>,
    pub floor_us: Option<f64>,
    pub own: Own,
    pub whole: Whole,
    /// Rounds of all flows of the path with its codepoint that waited far beyond the border unmarked.
    pub far_unmarked: u32,
    /// Tenths of its time with marks, if it sends ECT(0): the most of any of its path.
    pub ect0_parts: Option<u32>,
    pub path: Path,
    pub begun: Option<Begun>,
    pub beside: Beside,
}

/// All flows of a path.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// After their start.
    pub losses: Losses,
    pub queue_max_us: Option<f64>,
    /// When it was that long.
    pub peak_ns: i64,
    pub marks: i64,
    pub lost: u64,
    pub far_unmarked: u32,
    /// Marks of ECT(0) packets, and their marked share over that of ECT(1) packets: of all, or after the start
    /// of each flow where that is more.
    pub ect0_marks: i64,
    pub ect0_ratio: Option<f64>,
}

/// Everything that a pass over the rounds of a run looks at.
pub struct Run<'a> {
    pub rounds: &'a Rounds<'a>,
    pub directions: &'a [Direction],
    pub known: &'a [Known],
    pub phases: &'a [Phase],
}

impl Run<'_> {
    /// Of all directions in order; `only`: rounds of these stretches count, all where it is None.
    pub fn features(&self, only: Option<&BTreeSet<Stretch>>) -> Vec<Features> {
        let mut paths: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (of, direction) in self.directions.iter().enumerate() {
            let asked = only.is_none_or(|only| {
                only.range((direction.at, None)..).next().is_some_and(|(at, _)| *at == direction.at)
            });
            if direction.near && !direction.rows.is_empty() && asked {
                paths.entry(direction.at).or_default().push(of);
            }
        }
        let mut found: Vec<Features> =
            paths.into_iter().flat_map(|(at, ofs)| self.of_path(at, &ofs, only)).collect();
        found.sort_by_key(|features| features.of);
        found
    }

    fn phase(&self, at: u32, ns: i64) -> Option<u32> {
        phases::at(self.phases, at, ns).map(|phase| phase.phase)
    }

    /// Its rounds are made twice, and those of one direction at a time: of a busy path they are many.
    fn of_path(&self, at: u32, ofs: &[usize], only: Option<&BTreeSet<Stretch>>) -> Vec<Features> {
        let asked = |phase| only.is_none_or(|only| only.contains(&(at, phase)));
        let (mut steady, mut all) = (Seconds::default(), Seconds::default());
        for of in ofs {
            let rows = self.rounds.singles(&self.directions[*of]);
            for (i, row) in rows.iter().copied().enumerate() {
                let (start_ns, bytes) =
                    (self.rounds.start_ns.or_zero(row), self.rounds.acked_bytes.or_zero(row));
                if i >= start(rows.len()) {
                    steady.add(start_ns, bytes);
                }
                if only.is_none() || asked(self.phase(at, start_ns)) {
                    all.add(start_ns, bytes);
                }
            }
        }
        let made = |of: usize| {
            let phase = |ns| self.phase(at, ns);
            let mut made = directed(self.rounds, of, &self.directions[of], &self.known[of], phase);
            made.rounds.retain(|round| asked(round.phase));
            made
        };
        let own_phases = self.phases.partition_point(|phase| phase.at < at)..;
        let own_phases = self.phases[own_phases].iter().take_while(|phase| phase.at == at).cloned();
        let carried_bps = carried(&own_phases.collect::<Vec<_>>());
        let capacity_bps = ofs.first().and_then(|of| self.known[*of].capacity_bps);
        let rating = |bps: Option<f64>| Rating {
            rate_bps: super::numbers::most(bps, capacity_bps),
            carried_bps: carried_bps.clone(),
        };
        features(ofs, made, &rating(steady.rate_bps()), &rating(all.rate_bps()))
    }
}

/// Of the directions of one path, as `made`; `steady` is its rate after the start of each, `all` that of all rounds.
fn features(ofs: &[usize], made: impl Fn(usize) -> Directed, steady: &Rating, all: &Rating) -> Vec<Features> {
    let (mut path, mut wholes, mut lossy) = (Path::default(), Vec::new(), Vec::new());
    let (mut found, mut firsts, mut width) = (Vec::<Features>::new(), Firsts::default(), 0f64);
    for of in ofs {
        let direction = made(*of);
        if direction.rounds.is_empty() {
            continue;
        }
        path.add(&direction);
        firsts.add(&direction);
        lossy.extend(direction.steady().iter().filter(|round| round.retransmits > 0).copied());
        let whole = whole(&direction, all);
        wholes.push((direction.codepoint, whole.clone()));
        let Some(own) = own(&direction, steady) else { continue };
        firsts.suit(&direction);
        if own.acked >= MIN_STEADY_PACKETS {
            width = width.max(slot_width(direction.steady()));
        }
        let (Directed { codepoint, base_us, floor_us, .. }, of) = (direction, *of);
        found.push(Features { of, codepoint, base_us, floor_us, own, whole, ..Features::default() });
    }
    path.losses = Losses::of(lossy.iter());
    path.count(&wholes, &found);
    let (earliest, mut slots) = (firsts.earliest(), Slots::default());
    for one in &mut found {
        let direction = made(one.of);
        one.begun = earliest.as_ref().and_then(|earliest| begun(&direction, all, earliest));
        if one.own.acked >= MIN_STEADY_PACKETS {
            slots.add(&direction, steady, width);
        }
    }
    let mut beside: BTreeMap<usize, Beside> =
        slots.neighbors().into_iter().map(|one| (one.of, one)).collect();
    let far = |codepoint| {
        let same = wholes.iter().filter(|(other, _)| *other == codepoint);
        same.map(|(_, whole)| whole.far_unmarked).sum()
    };
    let ect0 = found.iter().filter(|one| one.codepoint == Codepoint::Ect0);
    let ect0_parts = ect0.map(|one| one.own.marked_parts).max();
    for one in &mut found {
        one.far_unmarked = far(one.codepoint);
        one.ect0_parts = ect0_parts;
        one.path = path.clone();
        one.beside = beside.remove(&one.of).unwrap_or_default();
    }
    found
}

impl Path {
    /// Adds the rounds of a direction.
    fn add(&mut self, direction: &Directed) {
        for round in &direction.rounds {
            self.lost += u64::from(round.retransmits);
            // What a buffer drops leaves no RTT but those that SACK shows.
            let highest = super::numbers::most(round.queue_us.get(), round.sacked_us.get());
            if highest >= self.queue_max_us {
                (self.queue_max_us, self.peak_ns) = (highest, round.start_ns);
            }
        }
    }

    /// Adds up what its directions carried, and compares those of each codepoint.
    fn count(&mut self, wholes: &[(Codepoint, Whole)], judged: &[Features]) {
        self.marks = wholes.iter().map(|(_, whole)| whole.marks).sum();
        self.far_unmarked = wholes.iter().map(|(_, whole)| whole.far_unmarked).sum();
        let counted = |codepoint| {
            let same = wholes.iter().filter(move |(other, _)| *other == codepoint);
            same.fold((0, 0), |sum, (_, whole)| (sum.0 + whole.marks, sum.1 + whole.acked))
        };
        let steady = |codepoint| {
            let same = judged.iter().filter(move |one| one.codepoint == codepoint);
            same.fold((0, 0), |sum, one| (sum.0 + one.own.marks, sum.1 + one.own.acked))
        };
        let ratio = |ect0: (i64, u64), ect1: (i64, u64)| {
            let [ect0, ect1] = [ect0, ect1].map(|(marks, acked)| marks as f64 / acked as f64);
            (ect1 > 0.0).then(|| ect0 / ect1).filter(|ratio| !ratio.is_nan())
        };
        self.ect0_marks = counted(Codepoint::Ect0).0;
        // Slow start of one flow may be marked more often than all that comes after it.
        self.ect0_ratio = super::numbers::most(
            ratio(counted(Codepoint::Ect0), counted(Codepoint::Ect1)),
            ratio(steady(Codepoint::Ect0), steady(Codepoint::Ect1)),
        );
    }
}

#[cfg(test)]
mod tests;
