//! Whether flows that begin find the queue that another one waits in.
//!
//! Waits of a long direction count from its own smallest RTT, those of the others from the smallest of the
//! path: neither a longer nor a shorter path then passes for a queue.

use std::collections::BTreeMap;

use super::numbers::least;
use super::rating::Rating;
use super::waits::{Directed, Known};
use super::{packet_us, slot_of, APART_PACKETS, APART_US};

/// Slots in which a flow began, from which they show something. By eye.
const MIN_FIRST: usize = 3;

/// What a direction that waited saw of flows that began meanwhile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Begun {
    /// Slots in which every packet of the direction waited beyond the noise and a flow of its path began.
    pub slots: u32,
    /// Those in which the first packet of that flow waited as long as the shortest wait of the direction,
    /// and in which it waited less by more than the noise.
    pub met: u32,
    pub passed: u32,
    /// By how much the waits of the direction vary more than those.
    pub apart_us: f64,
}

/// The first packet of a flow that began in a slot, and how much longer than the smallest RTT of the
/// path it took.
#[derive(Clone, Copy)]
struct First {
    of: usize,
    waited_us: f64,
}

/// A direction in one slot.
#[derive(Default)]
struct Wait {
    least_us: Option<f64>,
    margin_us: f64,
}

/// The flows of a path that began: direction, end of the first round and its RTT.
#[derive(Default)]
pub struct Firsts {
    found: Vec<(usize, i64, f64)>,
    smallest_us: Option<f64>,
}

impl Firsts {
    /// The first round of a direction: its number, its end and its RTT.
    pub fn add(&mut self, of: usize, known: &Known, floor_us: Option<f64>, first: (u32, i64, Option<f64>)) {
        self.smallest_us = least(self.smallest_us, floor_us);
        let (round, end_ns, rtt_us) = first;
        self.found.extend(rtt_us.filter(|_| round == 0 && known.began).map(|rtt_us| (of, end_ns, rtt_us)));
    }

    /// By slot of a length (ns). None where only a few began: such a path does not count.
    pub fn earliest(&self, width_ns: f64) -> Option<Earliest> {
        let smallest_us = self.smallest_us.filter(|_| self.found.len() > MIN_FIRST)?;
        let mut slots: BTreeMap<i64, First> = BTreeMap::new();
        for (of, end_ns, rtt_us) in &self.found {
            let first = First { of: *of, waited_us: rtt_us - smallest_us };
            let known = slots.entry(slot_of(*end_ns, width_ns)).or_insert(first);
            if first.waited_us < known.waited_us {
                *known = first;
            }
        }
        Some(Earliest { slots, width_ns })
    }
}

/// In each slot the first packet that waited least.
pub struct Earliest {
    slots: BTreeMap<i64, First>,
    width_ns: f64,
}

/// Shortest wait of a direction in the rounds of a slot and those beside them, where a flow began.
fn waits(direction: &Directed, rating: &Rating, earliest: &Earliest) -> BTreeMap<i64, Wait> {
    let rounds = &direction.rounds;
    let mut found: BTreeMap<i64, Wait> = BTreeMap::new();
    let (mut last, mut counts) = (None, false);
    for (i, round) in rounds.iter().enumerate() {
        let slot = slot_of(round.end_ns, earliest.width_ns);
        if last != Some(slot) {
            (last, counts) = (Some(slot), earliest.slots.contains_key(&slot));
        }
        if !counts {
            continue;
        }
        let beside = &rounds[i.saturating_sub(1)..(i + 2).min(rounds.len())];
        let rtt = beside.iter().filter_map(|round| round.rtt_min_us.get()).reduce(f64::min);
        let waited = rtt.zip(direction.floor_us).map(|(rtt, floor)| rtt - floor);
        let wait = found.entry(slot).or_default();
        wait.least_us = least(wait.least_us, waited);
        wait.margin_us = APART_US.max(APART_PACKETS * packet_us(rating.rate_bps));
    }
    found
}

/// None where the direction never waited beyond the noise while another one began.
pub fn begun(direction: &Directed, rating: &Rating, earliest: &Earliest) -> Option<Begun> {
    let mut found = Begun::default();
    let (mut own, mut begun) = (Span::default(), Span::default());
    for (slot, wait) in waits(direction, rating, earliest) {
        let (first, Some(least_us)) = (earliest.slots[&slot], wait.least_us) else { continue };
        let beyond = wait.margin_us.max(direction.noise_us);
        if first.of == direction.of || least_us <= beyond {
            continue;
        }
        found.slots += 1;
        found.met += u32::from(first.waited_us >= least_us - wait.margin_us);
        found.passed += u32::from(first.waited_us + beyond < least_us);
        own.add(least_us);
        begun.add(first.waited_us);
    }
    found.apart_us = own.range() - begun.range();
    (found.slots > 0).then_some(found)
}

/// Smallest and largest of some values.
#[derive(Default)]
struct Span {
    ends: Option<(f64, f64)>,
}

impl Span {
    fn add(&mut self, value: f64) {
        let (low, high) = self.ends.unwrap_or((value, value));
        self.ends = Some((low.min(value), high.max(value)));
    }

    fn range(&self) -> f64 {
        self.ends.map_or(0.0, |(low, high)| high - low)
    }
}
