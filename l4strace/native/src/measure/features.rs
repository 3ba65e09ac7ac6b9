//! What identifies the bottleneck of each direction: its own rounds, those of its path, its neighbors.

use std::collections::{BTreeMap, BTreeSet};

use super::first::{begun, Begun, Firsts};
use super::neighbors::{Beside, Slots};
use super::own::{own, whole, Carried, Losses, Own, Whole};
use super::phases::{self, Phase};
use super::rates::Seconds;
use super::rating::{carried, Rating};
use super::rounds::{Codepoint, Direction, Rounds};
use super::waits::{directed, floor_us, marks, one_way, start, Directed, Known};
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

    /// Its rounds are made for one direction at a time: of a busy path they are many.
    fn of_path(&self, at: u32, ofs: &[usize], only: Option<&BTreeSet<Stretch>>) -> Vec<Features> {
        let asked = |phase| only.is_none_or(|only| only.contains(&(at, phase)));
        let (mut steady, mut all, mut ahead) = (Seconds::default(), Seconds::default(), Ahead::default());
        for of in ofs {
            let (rounds, known) = (self.rounds, &self.known[*of]);
            let rows = rounds.singles(&self.directions[*of]);
            let skipped = start(rows.len());
            let mut kept = Vec::with_capacity(rows.len());
            for (i, row) in rows.iter().copied().enumerate() {
                let (start_ns, bytes) = (rounds.start_ns.or_zero(row), rounds.acked_bytes.or_zero(row));
                if i >= skipped {
                    steady.add(start_ns, bytes);
                }
                if only.is_none() || asked(self.phase(at, start_ns)) {
                    all.add(start_ns, bytes);
                    kept.push(Glance {
                        steady: i >= skipped,
                        start_ns,
                        end_ns: rounds.end_ns.or_zero(row),
                        acked_packets: rounds.acked_packets.or_zero(row),
                        marks: marks(rounds, row, known),
                    });
                    if kept.len() == 1 {
                        let first = (rounds.round.or_zero(row), kept[0].end_ns, rounds.rtt_min_us.get(row));
                        let floor_us = floor_us(one_way(rounds, &rows, known), known);
                        ahead.firsts.add(*of, known, floor_us, first);
                    }
                }
            }
            ahead.add(&kept);
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
        features(ofs, made, &ahead, &rating(steady.rate_bps()), &rating(all.rate_bps()))
    }
}

/// What is known of the directions of a path before the rounds of the first are made.
#[derive(Default)]
struct Ahead {
    firsts: Firsts,
    /// Lengths (ns) of slots in which they are compared, and in which flows begin.
    slot_ns: f64,
    first_slot_ns: f64,
}

/// What it takes of a round.
#[derive(Clone, Copy)]
struct Glance {
    steady: bool,
    start_ns: i64,
    end_ns: i64,
    acked_packets: u32,
    marks: Option<i64>,
}

impl Ahead {
    /// Adds the rounds of a direction.
    fn add(&mut self, rounds: &[Glance]) {
        let steady = &rounds[rounds.partition_point(|round| !round.steady)..];
        let carried =
            Carried::of(steady.iter().map(|round| (round.start_ns, round.acked_packets, round.marks)));
        let length = |round: &Glance| (round.end_ns - round.start_ns) as f64;
        if carried.enough() {
            self.first_slot_ns = self.first_slot_ns.max(slot_width(rounds.iter().map(length)));
        }
        if carried.enough() && carried.acked >= MIN_STEADY_PACKETS {
            self.slot_ns = self.slot_ns.max(slot_width(steady.iter().map(length)));
        }
    }
}

/// Of the directions of one path, as `made`; `steady` is its rate after the start of each, `all` that of all rounds.
fn features(
    ofs: &[usize],
    made: impl Fn(usize) -> Directed,
    ahead: &Ahead,
    steady: &Rating,
    all: &Rating,
) -> Vec<Features> {
    let (mut path, mut wholes, mut lossy) = (Path::default(), Vec::new(), Vec::new());
    let (mut found, mut slots) = (Vec::<Features>::new(), Slots::default());
    let earliest = ahead.firsts.earliest(ahead.first_slot_ns);
    for of in ofs {
        let direction = made(*of);
        if direction.rounds.is_empty() {
            continue;
        }
        path.add(&direction);
        lossy.extend(direction.steady().iter().filter(|round| round.retransmits > 0).copied());
        let whole = whole(&direction, all);
        wholes.push((direction.codepoint, whole.clone()));
        let Some(own) = own(&direction, steady) else { continue };
        let begun = earliest.as_ref().and_then(|earliest| begun(&direction, all, earliest));
        if own.acked >= MIN_STEADY_PACKETS {
            slots.add(&direction, steady, ahead.slot_ns);
        }
        let (Directed { codepoint, base_us, floor_us, .. }, of) = (direction, *of);
        found.push(Features { of, codepoint, base_us, floor_us, own, whole, begun, ..Features::default() });
    }
    path.losses = Losses::of(lossy.iter());
    path.count(&wholes, &found);
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
