//! Rates of each path slot by slot.
//!
//! A slot (100 ms or two rounds, and 40 packets) holds two rates: what all flows delivered, and the
//! median train of the flow with the fastest ones.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::beside::Bytes;
use super::counting::{brief, counting, Directed};
use super::numbers::{least, median, most, Sum};
use super::rounds::{Direction, Limit, Rounds};
use super::{slot_width, MIN_ACKED_PACKETS};

/// Packets that a slot spans: the edges of rounds then move its rate by a few percent. By eye.
const SLOT_PACKETS: f64 = 40.0;

/// Slots of a path: 27 minutes of the shortest. Longer runs have longer slots.
const MOST_SLOTS: f64 = 16384.0;

/// More in flight than 1.1 times the window: by eye, above one packet beyond a small window.
const OVERRUN: f64 = 1.1;

/// Packets of a marked round from which its train spans eight deliveries (`track/sending/train.rs`).
pub const PROBE_PACKETS: u32 = 8;

/// Packets up to which a round may be one train, the mean wait of them over its length (half of it if
/// all left at once), and the mean step from one RTT to the next over that of even arrivals, which
/// jitter exceeds. By eye: the first packet often belongs to the round before, and schedulers release
/// some packets together.
const ONE_TRAIN: u32 = 3 * PROBE_PACKETS;
const GROWTH: RangeInclusive<f64> = 0.3..=0.8;
const UNEVEN: f64 = 1.5;

/// Wait of the fastest packet of a round, and the part of its packets that are marked, from which the
/// path was full all along: the step of DualPI2 (sch_dualpi2.c), and most. Jitter marks nothing.
const FULL_US: f64 = 1000.0;
const FULL_MARKS: f64 = 0.5;

/// A round that lasts for so many of its largest RTTs repairs losses one by one, as without SACK (RFC 6582): its
/// RTTs are those of its begin. With SACK it lasts for two, one for the packets and one for their repair.
const STALLED: f64 = 2.5;

/// What the rounds of a path carried in one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slot {
    /// Number of the path.
    pub at: u32,
    pub slot: i64,
    pub start_ns: i64,
    pub end_ns: i64,
    /// Data in it.
    pub first_ns: i64,
    pub last_ns: i64,
    /// How many have rounds in it.
    pub flows: u32,
    pub delivered_bps: f64,
    /// The part of it over UDP, of which some may be lost beyond a capture at the sender.
    pub beside_bps: f64,
    pub train_bps: Option<f64>,
    /// Fastest train of a round whose packets waited for each other, as marks or their RTTs show.
    pub probe_bps: Option<f64>,
    /// Packets.
    pub marks: f64,
    pub acked: f64,
    /// Retransmissions.
    pub lost: f64,
    /// Smallest RTT.
    pub least_us: Option<f64>,
    /// What even the fastest packet of one of the flows waited, above the smallest RTT of that flow; at
    /// the receiver this and the next three are not known.
    pub queue_us: Option<f64>,
    /// The same of all flows.
    pub floor_us: Option<f64>,
    /// Largest mean RTT of a round above it.
    pub peak_us: Option<f64>,
    /// Smallest RTT of the path.
    pub base_us: Option<f64>,
    /// Share of the time in which applications or receivers limited the flows: nothing was in flight, too, or
    /// a flow ends before slow start fills a path.
    pub held_back: f64,
    /// What all flows delivered while a round lasted whose packets all waited and were mostly marked; of
    /// several the one whose fastest packet waited longest.
    pub full_bps: Option<f64>,
    /// What the noise of the path adds to a delay.
    pub noise_us: f64,
    /// The path itself limited what was delivered in the slot.
    pub busy: bool,
}

/// Sums that become values of a slot.
#[derive(Clone, Copy, Default)]
struct Sums {
    bytes: Sum,
    marks: Sum,
    acked: Sum,
    lost: Sum,
    held: Sum,
    weight: Sum,
}

/// Slots of all paths that carried enough, by path and slot; `beside` is what went over UDP on each.
pub fn slots(rounds: &Rounds<'_>, directions: &[Direction], beside: &BTreeMap<u32, Bytes>) -> Vec<Slot> {
    let mut paths: BTreeMap<u32, Vec<Directed>> = BTreeMap::new();
    for directed in counting(rounds, directions) {
        paths.entry(directions[directed.of].at).or_default().push(directed);
    }
    let mut found = Vec::new();
    for (at, directed) in paths {
        let acked = directed.iter().map(|directed| directed.acked).sum();
        if acked >= MIN_ACKED_PACKETS {
            let path = Path { rounds, directions, beside: beside.get(&at) };
            found.extend(path.slots(at, directed, acked));
        }
    }
    found
}

/// What a round adds to the slots that it touches.
struct Seen {
    start_ns: i64,
    end_ns: i64,
    bytes: f64,
    acked: u32,
    lost: u32,
    least_us: Option<f64>,
    held: bool,
    marks: f64,
    train_bps: Option<f64>,
    probe_bps: Option<f64>,
    queue_us: Option<f64>,
    peak_us: Option<f64>,
}

/// The round of a slot in which the path was full for longest, and what all flows delivered meanwhile.
#[derive(Clone, Copy)]
pub(super) struct Full {
    wait_us: f64,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    bytes: f64,
}

/// The rounds of one path.
struct Path<'a> {
    rounds: &'a Rounds<'a>,
    directions: &'a [Direction],
    beside: Option<&'a Bytes>,
}

impl Path<'_> {
    fn slots(&self, at: u32, mut directed: Vec<Directed>, acked: u64) -> Vec<Slot> {
        let rounds = self.rounds;
        directed.retain(|directed| !directed.rows.is_empty());
        let Some(near) = directed.first().map(|first| self.directions[first.of].near) else {
            return Vec::new();
        };
        let smallest = directed.iter().fold(None, |smallest, directed| least(smallest, directed.least_us));
        let start_ns = directed.iter().map(|directed| directed.begin_ns).min().unwrap_or(0);
        let end_ns = directed.iter().map(|directed| directed.end_ns).max().unwrap_or(0);
        let width = self.width(&directed, (end_ns - start_ns) as f64, acked);
        let (begin, end) = (start_ns.div_euclid(width), (end_ns - 1).div_euclid(width));
        let mut slots = vec![Slot::default(); usize::try_from(end - begin + 1).unwrap_or(0)];
        let mut sums = vec![Sums::default(); slots.len()];
        let mut full = vec![None; slots.len()];
        let flow = |directed: &Directed| directed.rows.first().and_then(|row| rounds.flow.get(*row));
        directed.sort_by_key(flow);
        for same in directed.chunk_by(|a, b| flow(a) == flow(b)) {
            let mut of_flow = Vec::new();
            for Directed { of, rows, least_us, .. } in same {
                let base = least_us.filter(|_| self.directions[*of].near);
                let brief = brief(rounds, rows);
                for (i, row) in rows.iter().enumerate() {
                    let mut seen = self.seen(*row, i.checked_sub(1).map(|before| rows[before]), base);
                    seen.held |= brief;
                    let touched = touched(seen.start_ns, seen.end_ns, width);
                    // A round that one or two slots hold.
                    if touched.end() - touched.start() <= 1 {
                        let most = &mut full[(touched.end() - begin) as usize];
                        *most = longer(*most, full_round(&seen));
                    }
                    for number in touched {
                        let slot = (number - begin) as usize;
                        let span = (number * width, (number + 1) * width);
                        add(&mut slots[slot], &mut sums[slot], span, &seen);
                        of_flow.push((number, seen.train_bps, seen.queue_us));
                    }
                }
            }
            add_flow(&mut slots, begin, of_flow);
        }
        self.delivered(&directed, &mut full, width, begin);
        for (i, (slot, sums)) in slots.iter_mut().zip(sums).enumerate() {
            slot.full_bps = full[i].map(|full| full.bytes * 8e9 / (full.end_ns - full.start_ns) as f64);
            slot.at = at;
            slot.slot = begin + i as i64;
            slot.start_ns = slot.slot * width;
            slot.end_ns = (slot.slot + 1) * width;
            slot.delivered_bps = sums.bytes.total * 8e9 / width as f64;
            (slot.marks, slot.acked, slot.lost) = (sums.marks.total, sums.acked.total, sums.lost.total);
            slot.base_us = smallest.filter(|_| near);
            let life_ns = slot.end_ns.min(end_ns) - slot.start_ns.max(start_ns);
            // Nothing in flight: at least so long, where several flows send at once.
            let idle = (life_ns as f64 - sums.weight.total).max(0.0);
            slot.held_back = (sums.held.total + idle) / (sums.weight.total + idle);
        }
        if let Some(beside) = self.beside {
            beside.join(&mut slots, &full, near);
        }
        slots.retain(|slot| slot.flows > 0);
        slots
    }

    /// Length of the path's slots, of which all rounds last for `life` (ns).
    fn width(&self, directed: &[Directed], life: f64, acked: u64) -> i64 {
        let rows = directed.iter().flat_map(|directed| &directed.rows);
        let trip =
            |row: &usize| Some(self.length(*row) as f64 / f64::from(self.rounds.round_trips.get(*row)?));
        let packets = SLOT_PACKETS * (life / acked as f64);
        slot_width(rows.filter_map(trip)).max(packets).max(life / MOST_SLOTS) as i64
    }

    fn length(&self, row: usize) -> i64 {
        self.rounds.end_ns.or_zero(row) - self.rounds.start_ns.or_zero(row)
    }

    /// `before` is the round before, `base` the smallest RTT of the direction where its RTTs hold queue.
    fn seen(&self, row: usize, before: Option<usize>, base: Option<f64>) -> Seen {
        let rounds = self.rounds;
        let (start_ns, end_ns) = (rounds.start_ns.or_zero(row), rounds.end_ns.or_zero(row));
        let (acked, lost) = (rounds.acked_packets.or_zero(row), rounds.retransmits.or_zero(row));
        let least_us = rounds.rtt_min_us.get(row);
        let slowest_us = || rounds.rtt_max_us.get(row).unwrap_or(0.0);
        let stalled = lost > 0 && (end_ns - start_ns) as f64 > STALLED * 1000.0 * slowest_us();
        let waits = |rtt: Option<f64>| Some(rtt? - base?).filter(|_| !stalled);
        let marks = rounds.ce_best.get(row).or_else(|| Some(u32::from(rounds.ece_acks.get(row)? > 0)));
        let marks = f64::from(marks.unwrap_or_else(|| rounds.ce.or_zero(row)));
        // The ACK that closes a hole acknowledges at once what arrived behind it: no rate of the path.
        let repaired = lost > 0 || before.is_some_and(|row| rounds.retransmits.or_zero(row) > 0);
        let mut seen = Seen {
            start_ns,
            end_ns,
            bytes: rounds.acked_bytes.or_zero(row) as f64,
            acked,
            lost,
            least_us,
            held: self.held(row),
            marks,
            train_bps: rounds.train_bps.get(row).filter(|_| !repaired),
            probe_bps: None,
            queue_us: waits(least_us),
            peak_us: waits(rounds.rtt_mean_us.get(row)),
        };
        let probe = acked >= PROBE_PACKETS && (marks > 0.0 || self.waited(row, &seen) == Some(true));
        seen.probe_bps = seen.train_bps.filter(|_| probe);
        seen
    }

    /// Counts what all flows delivered in the full round of each slot.
    fn delivered(&self, directed: &[Directed], full: &mut [Option<Full>], width: i64, begin: i64) {
        if full.iter().all(Option::is_none) {
            return;
        }
        for row in directed.iter().flat_map(|directed| &directed.rows) {
            let (start, end) = (self.rounds.start_ns.or_zero(*row), self.rounds.end_ns.or_zero(*row));
            let bytes = self.rounds.acked_bytes.or_zero(*row) as f64 / (end - start) as f64;
            let touched = touched(start, end, width);
            // A full round that ends in the next slot may begin in this one.
            for number in *touched.start()..=touched.end() + 1 {
                if let Some(Some(full)) = full.get_mut((number - begin) as usize) {
                    full.bytes += bytes * (end.min(full.end_ns) - start.max(full.start_ns)).max(0) as f64;
                }
            }
        }
    }

    /// More in flight than the window offered: its scale is not known (the SYN was cut or missed).
    fn held(&self, row: usize) -> bool {
        let rounds = self.rounds;
        let window = rounds.inflight_max_bytes.get(row).zip(rounds.rwnd_bytes.get(row));
        let overrun = window.is_some_and(|(flight, rwnd)| flight as f64 > OVERRUN * rwnd as f64);
        match rounds.limit(row) {
            Limit::App | Limit::Feedback | Limit::Media => true,
            Limit::Rwnd => !overrun,
            Limit::Cwnd | Limit::Unknown => false,
        }
    }

    /// The round is one train, sent at once, whose packets waited for each other.
    fn waited(&self, row: usize, seen: &Seen) -> Option<bool> {
        let rounds = self.rounds;
        let packets = rounds.acked_packets.get(row)?;
        let train_us = rounds.acked_bytes.get(row)? as f64 * 8e6 / seen.train_bps?;
        let (first, mean) = (seen.queue_us?, seen.peak_us?);
        let even = rounds.rtt_jitter_us.get(row)? * f64::from(packets) <= UNEVEN * train_us;
        let grown = (mean - first) / train_us;
        Some(packets <= ONE_TRAIN && even && first <= train_us / 2.0 && GROWTH.contains(&grown))
    }
}

fn touched(start_ns: i64, end_ns: i64, width: i64) -> RangeInclusive<i64> {
    let first = start_ns.div_euclid(width);
    // A division takes long, and most rounds lie in one slot.
    first..=if end_ns <= (first + 1) * width { first } else { (end_ns - 1).div_euclid(width) }
}

/// A round whose packets all waited and were mostly marked, and whose rate no repair blurs.
fn full_round(seen: &Seen) -> Option<Full> {
    let wait_us = seen.queue_us.filter(|wait| *wait >= FULL_US)?;
    let marked = seen.acked >= PROBE_PACKETS && seen.marks >= FULL_MARKS * f64::from(seen.acked);
    let Seen { start_ns, end_ns, .. } = *seen;
    (marked && !seen.held && seen.train_bps.is_some()).then_some(Full {
        wait_us,
        start_ns,
        end_ns,
        bytes: 0.0,
    })
}

/// Adds the part of a round that lies in a slot.
fn add(slot: &mut Slot, sums: &mut Sums, (from_ns, to_ns): (i64, i64), seen: &Seen) {
    let length = (seen.end_ns - seen.start_ns) as f64;
    let (begin, end) = (seen.start_ns.max(from_ns), seen.end_ns.min(to_ns));
    let part = (end - begin) as f64 / length;
    let new = sums.weight.total == 0.0;
    slot.first_ns = if new { begin } else { slot.first_ns.min(begin) };
    slot.last_ns = if new { end } else { slot.last_ns.max(end) };
    slot.least_us = least(slot.least_us, seen.least_us);
    slot.peak_us = most(slot.peak_us, seen.peak_us);
    slot.probe_bps = most(slot.probe_bps, seen.probe_bps);
    sums.bytes += seen.bytes * part;
    sums.marks += seen.marks * part;
    sums.acked += f64::from(seen.acked) * part;
    sums.lost += f64::from(seen.lost) * part;
    let weight = part * length;
    sums.weight += weight;
    sums.held += if seen.held { weight } else { 0.0 };
}

fn longer(one: Option<Full>, other: Option<Full>) -> Option<Full> {
    let (Some(a), Some(b)) = (one, other) else { return one.or(other) };
    Some(if b.wait_us > a.wait_us { b } else { a })
}

/// Adds what one flow shows in each of its slots: its median train, and its shortest wait.
fn add_flow(slots: &mut [Slot], begin: i64, mut parts: Vec<(i64, Option<f64>, Option<f64>)>) {
    parts.sort_by_key(|(number, ..)| *number);
    let mut trains = Vec::new();
    for part in parts.chunk_by(|a, b| a.0 == b.0) {
        let slot = &mut slots[(part[0].0 - begin) as usize];
        trains.clear();
        trains.extend(part.iter().filter_map(|(_, train_bps, _)| *train_bps));
        let waited = part.iter().fold(None, |waited, (.., queue_us)| least(waited, *queue_us));
        slot.flows += 1;
        slot.train_bps = most(slot.train_bps, median(&mut trains));
        slot.queue_us = most(slot.queue_us, waited);
        slot.floor_us = least(slot.floor_us, waited);
    }
}
