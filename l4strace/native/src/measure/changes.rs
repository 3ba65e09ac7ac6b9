//! When the capacity of one path changed, from its slots.
//!
//! A capacity is shown by slots that were *busy*: marks were fed back, or even the fastest packet waited
//! 2 ms or 1.5 packets. It fell when busy slots deliver, and packet trains reach, clearly less for half a
//! second or more after the queue that a full flight leaves at a lower rate; it rose when slots deliver
//! more, which no path does beyond its capacity. A sender that backs off empties the queue, so its low
//! slots are not busy. It also fell when less is delivered while the queue grows, however soon the
//! senders back off. Measured on 550 emulated runs: 111 of 115 falls to 0.6 of the capacity or less are
//! found, and no change in the 404 runs without one.

use super::capacity::quantile;
use super::falls::{below_use, fell, lasts_below};
use super::full::{last, queued, used, whole, FELL, LASTING, RECENT, ROSE};
use super::slots::Slot;
use super::surges::surged;

/// A level that lasts less is the way from one level to the next. By eye.
const SETTLED_NS: i64 = 1_000_000_000;

/// A first level that lasts less before a rise is slow start and what follows it. By eye.
const START_NS: i64 = 2_000_000_000;

/// Largest spread (quantiles 0.2 to 0.8) of busy slots, in parts of their median, that show a capacity: a
/// ramp spreads wider. By eye; before a rise less, as slow start rises too.
pub const FLAT: f64 = 0.4;
pub const FLAT_BEFORE_RISE: f64 = 0.25;

/// A level moves by less than a tenth within `LASTING` slots: only near it is it measured anew.
const NEAR: f64 = 0.9;

/// A slot above the old capacity by its noise. By eye.
const ABOVE: f64 = 1.1;

/// What a phase of a path begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Capacity,
    Marking,
    BaseRtt,
}

impl What {
    /// As in `phases.changed`.
    pub fn name(self) -> &'static str {
        match self {
            What::Capacity => "capacity",
            What::Marking => "marking",
            What::BaseRtt => "base RTT",
        }
    }
}

/// The slot that begins a phase, and the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    pub first: usize,
    pub at_ns: i64,
    pub what: What,
    /// Capacity that its first slots show.
    pub shown_bps: Option<f64>,
}

/// Capacity that the busy ones of `slots` show; None where they show none.
pub fn shown(slots: &[Slot]) -> Option<f64> {
    let busy = slots.iter().rev().filter(|slot| slot.busy).take(RECENT);
    level(busy.map(|slot| slot.delivered_bps).collect(), FLAT)
}

/// Capacity that the rates of busy slots show.
fn level(mut busy_bps: Vec<f64>, flat: f64) -> Option<f64> {
    if busy_bps.len() < LASTING {
        return None;
    }
    let mut at = |share: f64| {
        let place = (share * busy_bps.len() as f64) as usize;
        *busy_bps.select_nth_unstable_by(place, f64::total_cmp).1
    };
    let (low, middle, high) = (at(0.2), at(0.5), at(0.8));
    (high - low <= flat * middle).then_some(high)
}

/// Falls and rises of the capacity, without steps on the way from one level to the next.
pub fn capacity_changes(slots: &[Slot]) -> Vec<Change> {
    let mut found: Vec<Change> = Vec::new();
    for change in Search::new(slots).steps() {
        if found.last().is_none_or(|before| change.at_ns - before.at_ns >= SETTLED_NS) {
            found.push(change);
        }
    }
    found
}

/// A walk over the slots of a path, from one level of its capacity to the next.
struct Search<'a> {
    slots: &'a [Slot],
    /// Rates of the busy slots, and how many there were before each slot.
    busy_bps: Vec<f64>,
    busy_before: Vec<usize>,
    /// First slot of the present level, and the one that the walk has come to.
    first: usize,
    index: usize,
    /// Rates between which the level is not measured anew in each slot.
    least_bps: f64,
    most_bps: f64,
    /// Level after the last fall.
    fallen_bps: Option<f64>,
}

/// The slots around the one that the walk has come to.
struct Around<'a> {
    begin: usize,
    past: &'a [Slot],
    /// The slot that may hold a change, and as many as a new level must last.
    now: &'a [Slot],
    /// As many again.
    later: &'a [Slot],
    lowest_bps: f64,
    highest_bps: f64,
    /// The new slots deliver clearly less than those before.
    less: bool,
}

/// A level that new slots are held against, and the part of it that they must stay below.
#[derive(Clone, Copy)]
struct Reference {
    bps: Option<f64>,
    below: f64,
}

/// A fall, and what a queue that grew shows of the new level.
struct Fall {
    surge_bps: Option<f64>,
}

impl<'a> Search<'a> {
    fn new(slots: &'a [Slot]) -> Self {
        let busy = slots.iter().filter(|slot| slot.busy);
        let count = |before: &mut usize, slot: &Slot| {
            let now = *before;
            *before += usize::from(slot.busy);
            Some(now)
        };
        Search {
            slots,
            busy_bps: busy.map(|slot| slot.delivered_bps).collect(),
            busy_before: slots.iter().scan(0, count).collect(),
            first: 0,
            index: 1,
            least_bps: 0.0,
            most_bps: f64::INFINITY,
            fallen_bps: None,
        }
    }

    fn steps(mut self) -> Vec<Change> {
        let mut found = Vec::new();
        while self.index + LASTING < self.slots.len() {
            found.extend(self.step());
            self.index += 1;
        }
        found
    }

    fn step(&mut self) -> Option<Change> {
        let (lowest, highest) = range(&self.slots[self.index + 1..][..LASTING]);
        let alike = lowest < ROSE * self.least_bps && highest > FELL * self.most_bps;
        if alike && !self.index.is_multiple_of(LASTING) {
            return None;
        }
        let around = self.around(lowest, highest);
        let shown = level(self.recent_bps(around.begin).to_vec(), FLAT);
        if let Some(bps) = shown.filter(|bps| goes_on(*bps, &around)) {
            self.stay_near(Some(bps));
            return None;
        }
        let reference = self.reference(shown, &around);
        self.stay_near(reference.bps);
        if let Some(fall) = fall(reference, &around) {
            return Some(self.fallen(&fall, reference, &around));
        }
        let bps = reference.bps.filter(|bps| self.rises(*bps, &around))?;
        self.risen(bps)
    }

    fn around(&self, lowest_bps: f64, highest_bps: f64) -> Around<'a> {
        let (slots, index) = (self.slots, self.index);
        let begin = self.first.max(index.saturating_sub(2 * RECENT));
        let past = &slots[begin..index];
        let later = &slots[index + 1 + LASTING..];
        Around {
            begin,
            past,
            now: &slots[index..][..1 + LASTING],
            later: &later[..later.len().min(LASTING)],
            lowest_bps,
            highest_bps,
            less: highest_bps <= range(last(past)).1 / ROSE,
        }
    }

    /// Rates of the busy slots since `begin`.
    fn recent_bps(&self, begin: usize) -> &[f64] {
        let until = self.busy_before[self.index];
        &self.busy_bps[self.busy_before[begin].max(until.saturating_sub(RECENT))..until]
    }

    fn stay_near(&mut self, level_bps: Option<f64>) {
        (self.least_bps, self.most_bps) = match level_bps {
            Some(bps) if bps > 0.0 => (bps * NEAR, bps / NEAR),
            _ => (0.0, f64::INFINITY),
        };
    }

    /// Where busy slots show no level, what was delivered before a standing queue, or after a fall.
    fn reference(&self, shown_bps: Option<f64>, around: &Around<'_>) -> Reference {
        if shown_bps.is_none() && below_use(around.past, around.now) {
            let below = if whole(&around.now[1..]) { 1.0 / ROSE } else { FELL };
            return Reference { bps: Some(used(around.past)), below };
        }
        Reference { bps: shown_bps.or(self.fallen_bps), below: FELL }
    }

    /// Notes a fall; the next level begins after the slot that holds it.
    fn fallen(&mut self, fall: &Fall, reference: Reference, around: &Around<'_>) -> Change {
        let old = reference.bps.filter(|bps| fall.surge_bps.is_none() && *bps > 0.0);
        let old_bps = old.unwrap_or_else(|| used(around.past));
        let surge = fall.surge_bps.filter(|bps| *bps > 0.0);
        let mut now = around.now;
        // The fall lies in the slot after, where that delivered more than those behind it.
        if now[1].delivered_bps > ROSE * surge.unwrap_or_else(|| used(&now[2..])) {
            self.index += 1;
            now = &now[1..];
        }
        let at_ns = moment(&now[0], old_bps, surge.unwrap_or_else(|| mean(&now[1..])));
        self.index += 1;
        self.first = self.index;
        let rates = || now[1..].iter().map(|slot| slot.delivered_bps).collect();
        self.fallen_bps = Some(surge.unwrap_or_else(|| quantile(rates(), 0.5)));
        Change { first: self.first, at_ns, what: What::Capacity, shown_bps: fall.surge_bps }
    }

    /// More is delivered than at a level that was sure.
    fn rises(&self, level_bps: f64, around: &Around<'_>) -> bool {
        let calm =
            || level(self.recent_bps(around.begin).to_vec(), FLAT_BEFORE_RISE).is_some_and(|bps| bps > 0.0);
        let sure = || self.fallen_bps == Some(level_bps) || self.first > 0 || (calm() && queued(around.past));
        around.lowest_bps >= ROSE * level_bps
            && sure()
            && outlasts(&self.slots[self.index + 1..], ROSE * level_bps)
    }

    /// Notes a rise, if it is none of slow start.
    fn risen(&mut self, level_bps: f64) -> Option<Change> {
        // Growth from the first slot above the old level to this one was never below it.
        let above = |slot: &&Slot| slot.delivered_bps > ABOVE * level_bps;
        let growing = self.slots[self.first + 1..=self.index].iter().rev().take_while(above).count();
        let begin = self.index + 1 - growing;
        let start_ns = self.slots[begin].start_ns;
        let settled = self.first > 0 || start_ns - self.slots[0].start_ns >= START_NS;
        (self.first, self.fallen_bps) = (begin, None);
        self.index += 1;
        settled.then_some(Change { first: begin, at_ns: start_ns, what: What::Capacity, shown_bps: None })
    }
}

/// The new slots are as most slots are.
fn goes_on(level_bps: f64, around: &Around<'_>) -> bool {
    !around.less && FELL * level_bps < around.highest_bps && around.lowest_bps < ROSE * level_bps
}

/// A fall that the new level, its queue or what was lost shows.
fn fall(reference: Reference, around: &Around<'_>) -> Option<Fall> {
    let Around { past, now, later, .. } = around;
    let plain = match reference.bps {
        Some(bps) => around.highest_bps <= reference.below * bps && fell(past, now, bps, later),
        None => lasts_below(past, now, later),
    };
    if plain {
        return Some(Fall { surge_bps: None });
    }
    let surge_bps = surged(past, now).filter(|_| around.less && around.highest_bps <= used(past) / ROSE);
    surge_bps.is_some().then_some(Fall { surge_bps })
}

fn range(slots: &[Slot]) -> (f64, f64) {
    let rates = || slots.iter().map(|slot| slot.delivered_bps);
    (rates().fold(f64::INFINITY, f64::min), rates().fold(f64::NEG_INFINITY, f64::max))
}

fn mean(slots: &[Slot]) -> f64 {
    slots.iter().map(|slot| slot.delivered_bps).sum::<f64>() / slots.len() as f64
}

/// When in `slot` the rate fell: the bits that it delivered at the two levels show it.
fn moment(slot: &Slot, old_bps: f64, new_bps: f64) -> i64 {
    let fallen = old_bps - new_bps;
    let part = if fallen == 0.0 { 0.0 } else { (slot.delivered_bps - new_bps) / fallen };
    (slot.start_ns as f64 + part.clamp(0.0, 1.0) * (slot.end_ns - slot.start_ns) as f64) as i64
}

/// At least `level_bps` is delivered from the first of `slots` on, for a round trip or more.
///
/// The slots of a round share what it delivered evenly: where one flow ends and another goes on, the sum
/// of both may exceed what the path carries, for as long as a round lasts.
fn outlasts(slots: &[Slot], level_bps: f64) -> bool {
    let first = slots[..LASTING].iter();
    let trips = first.filter_map(|slot| Some(slot.base_us? + slot.queue_us.unwrap_or(0.0)));
    let trip_us = trips.reduce(f64::min).unwrap_or(0.0);
    let until = slots[0].start_ns as f64 + 1000.0 * trip_us;
    if until > slots[slots.len() - 1].end_ns as f64 {
        return false;
    }
    slots.iter().take_while(|slot| (slot.start_ns as f64) < until).all(|slot| slot.delivered_bps >= level_bps)
}

#[cfg(test)]
mod tests;
