//! What identifies the bottleneck of each direction: its own rounds, those of its path, its neighbors.

use std::collections::{BTreeMap, BTreeSet};

use super::first::{begun, Begun};
use super::neighbors::{neighbors, Beside};
use super::own::{own, whole, Losses, Own, Whole};
use super::phases::{self, Phase};
use super::rates::Seconds;
use super::rating::{carried, Rating};
use super::rounds::{Codepoint, Direction, Rounds};
use super::waits::{directed, Directed, Known};
use super::MIN_STEADY_PACKETS;

/// A stretch of a path: its number and the phase; None outside of all phases.
pub type Stretch = (u32, Option<u32>);

/// A direction with enough rounds after its start.
#[derive(Clone, Debug, Default)]
pub struct Features {
    pub of: usize,
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
    /// Marks of ECT(0) packets, and their marked share over that of ECT(1) packets.
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

    fn of_path(&self, at: u32, ofs: &[usize], only: Option<&BTreeSet<Stretch>>) -> Vec<Features> {
        let (mut steady, mut all) = (Seconds::default(), Seconds::default());
        let made = |of: &usize| {
            let (direction, known) = (&self.directions[*of], &self.known[*of]);
            let mut made = directed(self.rounds, *of, direction, known, |ns| self.phase(at, ns));
            made.steady().iter().for_each(|round| steady.add(round.start_ns, round.acked_bytes));
            if let Some(only) = only {
                made.rounds.retain(|round| only.contains(&(at, round.phase)));
            }
            made.rounds.iter().for_each(|round| all.add(round.start_ns, round.acked_bytes));
            Some(made).filter(|made| !made.rounds.is_empty())
        };
        let directions: Vec<Directed> = ofs.iter().filter_map(made).collect();
        let own_phases = self.phases.partition_point(|phase| phase.at < at)..;
        let own_phases = self.phases[own_phases].iter().take_while(|phase| phase.at == at).cloned();
        let carried_bps = carried(&own_phases.collect::<Vec<_>>());
        let capacity_bps = ofs.first().and_then(|of| self.known[*of].capacity_bps);
        let rating = |bps: Option<f64>| Rating {
            rate_bps: super::numbers::most(bps, capacity_bps),
            carried_bps: carried_bps.clone(),
        };
        features(&directions, &rating(steady.rate_bps()), &rating(all.rate_bps()))
    }
}

/// Of the directions of one path; `steady` is its rate after the start of each, `all` that of all rounds.
fn features(directions: &[Directed], steady: &Rating, all: &Rating) -> Vec<Features> {
    // One direction at a time: the rounds of one stay in the cache, those of a path do not.
    let (mut path, mut wholes, mut owns, mut lossy) = (Path::default(), Vec::new(), Vec::new(), Vec::new());
    for direction in directions {
        wholes.push(whole(direction, all));
        owns.push(own(direction, steady));
        path.add(direction);
        lossy.extend(direction.steady().iter().filter(|round| round.retransmits > 0));
    }
    path.losses = Losses::of(lossy.into_iter());
    path.count(directions, &wholes);
    let judged: Vec<&Directed> = directions
        .iter()
        .zip(&owns)
        .filter(|(_, own)| own.is_some())
        .map(|(direction, _)| direction)
        .collect();
    let mut began = begun(directions, &judged, all).into_iter();
    let full = |own: &Option<Own>| own.as_ref().is_some_and(|own| own.acked >= MIN_STEADY_PACKETS);
    let compared: Vec<&Directed> =
        directions.iter().zip(&owns).filter(|(_, own)| full(own)).map(|(direction, _)| direction).collect();
    let mut beside: BTreeMap<usize, Beside> =
        neighbors(&compared, steady).into_iter().map(|one| (one.of, one)).collect();
    let far = |codepoint| {
        let same = directions.iter().zip(&wholes).filter(|(direction, _)| direction.codepoint == codepoint);
        same.map(|(_, whole)| whole.far_unmarked).sum()
    };
    let parts = directions.iter().zip(&owns).filter(|(direction, _)| direction.codepoint == Codepoint::Ect0);
    let ect0_parts = parts.filter_map(|(_, own)| Some(own.as_ref()?.marked_parts)).max();
    let mut found = Vec::new();
    for ((direction, own), whole) in directions.iter().zip(owns).zip(wholes.clone()) {
        let Some(own) = own else { continue };
        found.push(Features {
            of: direction.of,
            base_us: direction.base_us,
            floor_us: direction.floor_us,
            own,
            whole,
            far_unmarked: far(direction.codepoint),
            ect0_parts,
            path: path.clone(),
            begun: began.next().flatten(),
            beside: beside.remove(&direction.of).unwrap_or_default(),
        });
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
    fn count(&mut self, directions: &[Directed], wholes: &[Whole]) {
        self.marks = wholes.iter().map(|whole| whole.marks).sum();
        self.far_unmarked = wholes.iter().map(|whole| whole.far_unmarked).sum();
        let share = |codepoint| {
            let same = || directions.iter().zip(wholes).filter(move |(d, _)| d.codepoint == codepoint);
            let marks: i64 = same().map(|(_, whole)| whole.marks).sum();
            (marks, marks as f64 / same().map(|(_, whole)| whole.acked).sum::<u64>() as f64)
        };
        let ((ect0_marks, ect0), (_, ect1)) = (share(Codepoint::Ect0), share(Codepoint::Ect1));
        self.ect0_marks = ect0_marks;
        self.ect0_ratio = (ect1 > 0.0).then(|| ect0 / ect1).filter(|ratio| !ratio.is_nan());
    }
}

#[cfg(test)]
mod tests;
