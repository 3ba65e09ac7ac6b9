//! Whether flows that begin find the queue that another one waits in: see
//! `l4strace/derive/first_packets.py`.

use std::collections::BTreeMap;
use std::ops::Range;

use super::column::{runs, Column};
use super::numbers::{least, most};
use super::{packet_us, slot_width, APART_PACKETS, APART_US};

/// Rounds in the order of their direction and of `round`.
pub struct Rounds<'a> {
    pub of: Column<'a, u32>,
    pub at: Column<'a, u32>,
    pub round: Column<'a, u32>,
    pub start_ns: Column<'a, i64>,
    pub end_ns: Column<'a, i64>,
    pub rtt_min_us: Column<'a, f64>,
    pub floor_us: Column<'a, f64>,
    pub rate_bps: Column<'a, f64>,
    pub noise_us: Column<'a, f64>,
}

/// One row of `first_packets.begun_beside`.
#[derive(Clone, Debug, PartialEq)]
pub struct Begun {
    pub of: u32,
    pub slots: u32,
    pub met: u32,
    pub passed: u32,
    pub apart_us: f64,
}

/// The first packet of a flow that began in a slot, and how much longer than the smallest RTT of the
/// path it took.
#[derive(Clone, Copy)]
struct First {
    of: u32,
    waited_us: f64,
}

/// A direction in one slot.
#[derive(Default)]
struct Wait {
    least_us: Option<f64>,
    margin_us: f64,
    noise_us: Option<f64>,
}

/// Directions of ``long`` that waited while others began. `began` are those whose handshake was seen; a
/// path counts where more than ``most`` of them are.
pub fn begun(rounds: &Rounds<'_>, began: &[bool], long: &[bool], most: usize) -> Vec<Begun> {
    let mut paths: BTreeMap<u32, Vec<(u32, Range<usize>)>> = BTreeMap::new();
    for (of, rows) in runs(rounds.of) {
        paths.entry(rounds.at.or_zero(rows.start)).or_default().push((of, rows));
    }
    let mut found = Vec::new();
    for directions in paths.into_values() {
        let first = |(of, rows): &(u32, Range<usize>)| {
            let first = rows.clone().find(|row| rounds.round.get(*row) == Some(0));
            Some((*of, first?, rounds.rtt_min_us.get(first?)?)).filter(|_| began[*of as usize])
        };
        let firsts: Vec<(u32, usize, f64)> = directions.iter().filter_map(first).collect();
        if firsts.len() <= most {
            continue;
        }
        let rows = directions.iter().flat_map(|(_, rows)| rows.clone());
        let smallest = rows.fold(None, |smallest, row| least(smallest, rounds.floor_us.get(row)));
        let long: Vec<_> = directions.into_iter().filter(|(of, _)| long[*of as usize]).collect();
        if let Some(smallest) = smallest.filter(|_| !long.is_empty()) {
            found.extend(beside(rounds, &firsts, smallest, &long));
        }
    }
    found
}

/// Long directions of one path beside the first packets of all, of which each has its round and RTT.
fn beside(
    rounds: &Rounds<'_>,
    firsts: &[(u32, usize, f64)],
    smallest_us: f64,
    long: &[(u32, Range<usize>)],
) -> Vec<Begun> {
    let width = slot_width(rounds.start_ns, rounds.end_ns, long.iter().map(|(_, rows)| rows.clone()));
    let slot = |row: usize| (rounds.end_ns.or_zero(row) as f64 / width).floor() as i64;
    let mut earliest: BTreeMap<i64, First> = BTreeMap::new();
    for (of, row, rtt_us) in firsts {
        let first = First { of: *of, waited_us: rtt_us - smallest_us };
        let known = earliest.entry(slot(*row)).or_insert(first);
        if first.waited_us < known.waited_us {
            *known = first;
        }
    }
    long.iter()
        .filter_map(|(of, rows)| of_direction(*of, &waits(rounds, rows.clone(), &slot, &earliest), &earliest))
        .collect()
}

/// Shortest wait of a direction in the rounds of a slot and those beside them, where a flow began.
fn waits(
    rounds: &Rounds<'_>,
    rows: Range<usize>,
    slot: &dyn Fn(usize) -> i64,
    earliest: &BTreeMap<i64, First>,
) -> BTreeMap<i64, Wait> {
    let mut found: BTreeMap<i64, Wait> = BTreeMap::new();
    for row in rows.clone() {
        let slot = slot(row);
        if !earliest.contains_key(&slot) {
            continue;
        }
        let beside = row.saturating_sub(1).max(rows.start)..(row + 2).min(rows.end);
        let rtt = beside.fold(None, |rtt, row| least(rtt, rounds.rtt_min_us.get(row)));
        let waited = rtt.zip(rounds.floor_us.get(row)).map(|(rtt, floor)| rtt - floor);
        let wait = found.entry(slot).or_default();
        wait.least_us = least(wait.least_us, waited);
        wait.margin_us =
            wait.margin_us.max(APART_US.max(APART_PACKETS * packet_us(rounds.rate_bps.get(row))));
        wait.noise_us = most(wait.noise_us, rounds.noise_us.get(row));
    }
    found
}

/// None where the direction never waited beyond the noise while another one began.
fn of_direction(of: u32, waits: &BTreeMap<i64, Wait>, earliest: &BTreeMap<i64, First>) -> Option<Begun> {
    let mut found = Begun { of, slots: 0, met: 0, passed: 0, apart_us: 0.0 };
    let (mut own, mut begun) = (Span::default(), Span::default());
    for (slot, wait) in waits {
        let (first, Some(least_us)) = (earliest[slot], wait.least_us) else { continue };
        let beyond = wait.margin_us.max(wait.noise_us.unwrap_or(0.0));
        if first.of == of || least_us <= beyond {
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
