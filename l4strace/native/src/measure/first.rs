//! Whether flows that begin find the queue that another one waits in.
//!
//! Waits of a long direction count from its own smallest RTT, those of the others from the smallest of the
//! path: neither a longer nor a shorter path then passes for a queue.

use std::collections::BTreeMap;

use super::numbers::least;
use super::rating::Rating;
use super::waits::Directed;
use super::{packet_us, slot_of, slot_width, APART_PACKETS, APART_US};

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

/// Of each of the `long` directions of one path, what it saw of all that began; None where it never waited
/// then. A path counts where more than a few begin.
pub fn begun(directions: &[Directed], long: &[&Directed], rating: &Rating) -> Vec<Option<Begun>> {
    let first = |direction: &Directed| {
        let round = direction.rounds.first().filter(|round| round.round == 0 && direction.began)?;
        Some((direction.of, round.end_ns, round.rtt_min_us.get()?))
    };
    let firsts: Vec<(usize, i64, f64)> = directions.iter().filter_map(first).collect();
    let smallest = directions.iter().filter_map(|direction| direction.floor_us).reduce(f64::min);
    let Some(smallest_us) = smallest.filter(|_| firsts.len() > MIN_FIRST) else {
        return vec![None; long.len()];
    };
    let width = slot_width(long.iter().map(|direction| &direction.rounds[..]));
    let mut earliest: BTreeMap<i64, First> = BTreeMap::new();
    for (of, end_ns, rtt_us) in firsts {
        let first = First { of, waited_us: rtt_us - smallest_us };
        let known = earliest.entry(slot_of(end_ns, width)).or_insert(first);
        if first.waited_us < known.waited_us {
            *known = first;
        }
    }
    long.iter().map(|direction| of_direction(direction, rating, width, &earliest)).collect()
}

/// Shortest wait of a direction in the rounds of a slot and those beside them, where a flow began.
fn waits(
    direction: &Directed,
    rating: &Rating,
    width_ns: f64,
    earliest: &BTreeMap<i64, First>,
) -> BTreeMap<i64, Wait> {
    let rounds = &direction.rounds;
    let mut found: BTreeMap<i64, Wait> = BTreeMap::new();
    let (mut last, mut counts) = (None, false);
    for (i, round) in rounds.iter().enumerate() {
        let slot = slot_of(round.end_ns, width_ns);
        if last != Some(slot) {
            (last, counts) = (Some(slot), earliest.contains_key(&slot));
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
fn of_direction(
    direction: &Directed,
    rating: &Rating,
    width_ns: f64,
    earliest: &BTreeMap<i64, First>,
) -> Option<Begun> {
    let mut found = Begun::default();
    let (mut own, mut begun) = (Span::default(), Span::default());
    for (slot, wait) in waits(direction, rating, width_ns, earliest) {
        let (first, Some(least_us)) = (earliest[&slot], wait.least_us) else { continue };
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
