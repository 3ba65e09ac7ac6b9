//! How flow directions that sent at the same time over the same path divided it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::beside::Datagrams;
use super::numbers::{mean, median};
use super::rounds::{Codepoint, Direction, Limit, Rounds};
use super::start_up::StartUp;
use super::starvation::{paced, shares, starved, steady, Share, Starved, MIN_STARVED_SLOTS, SLOT_NS};
use super::{MIN_ACKED_PACKETS, MIN_ROUNDS};
use crate::prague::build::TARGET_RTT_US;

/// Largest flows of a path over TCP, and over UDP, that are compared pair by pair: pairs grow with the square.
const MAX_FLOWS: usize = 8;

/// Less time beside each other shows slow start, not how the path was divided. By eye.
const MIN_OVERLAP_NS: i64 = 1_000_000_000;

/// A round shorter than a tenth of a slot counts where it begins; so does one that lasts for more than a
/// minute, which holds a pause. By eye.
const SPREAD_NS: std::ops::RangeInclusive<i64> = SLOT_NS / 10..=60 * SLOT_NS;

/// Mean size of a round's packets, in parts of a full one, below which the sender had no more: one with
/// more to send fills its packets. By eye; the last of a write may be smaller.
const PARTIAL: f64 = 0.75;

/// Windows that a sender could have grown by since its last mark or loss, from which something else than
/// the path holds it back. Reno and CUBIC's Reno region add half a packet to one packet a round (RFC 9438
/// section 4.3), so a sender of the path's making has grown by its window long before.
const UNPRESSED: f64 = 3.0;

/// Packets a round up to which the smallest windows alone keep a rate steady: a sender at its minimum of 2
/// packets (RFC 5681 section 3.1) sends these each round.
const SMALL_WINDOW: f64 = 4.0;

/// What the other flow has, in times of the own rate, from which a steady rate is not that of a queue of its
/// own, which gives both the same. By eye.
const LESS: f64 = 2.0;

/// Bytes from which a packet is filled by a transfer, not by one message of an application: by eye, below
/// the 1,220 of IPv6's smallest MTU (RFC 8200 section 5).
const LARGE_PAYLOAD: u32 = 1000;

/// Packets that make a direction worth comparing when marks, losses or a queue pressed it: a flow that
/// starves on a slow link sends no more. By eye: it is two initial windows (RFC 6928).
const FEW_PACKETS: u64 = 20;

/// Least RTT of half of the rounds, in times of the shortest, from which a queue makes rounds few: a queue
/// of seconds leaves a flow ten rounds in a run, without a mark or a loss. By eye.
const LONG_QUEUE: f64 = 2.0;

/// What is known of a direction beside its rounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    pub codepoint: Codepoint,
    pub max_payload: Option<u32>,
    /// Offloads merged none of its packets.
    pub unmerged: bool,
    /// The options of the SYN show the scale of the receive window.
    pub scaled: bool,
}

/// Two directions of one path that sent at the same time, and the bits of both meanwhile. Those over UDP are
/// numbered after the others.
#[derive(Clone, Debug)]
pub struct Pair {
    pub of: usize,
    pub other: usize,
    pub start_ns: i64,
    pub end_ns: i64,
    pub bits: f64,
    pub other_bits: f64,
    /// Share of the rounds in which the application, a rate that is set or the receive window limited the
    /// first; None where that is not known.
    pub held_back: Option<f64>,
    pub starved: Option<Starved>,
}

/// Ordered pairs of the directions of each path.
pub fn pairs(
    rounds: &Rounds<'_>,
    directions: &[Direction],
    known: &[Known],
    datagrams: &[Datagrams],
) -> Vec<Pair> {
    let over_tcp =
        directions.iter().enumerate().map(|(of, direction)| (direction.at, span(rounds, of, direction)));
    let over_udp =
        datagrams.iter().zip(directions.len()..).map(|(sent, of)| (sent.at, span_of_datagrams(sent, of)));
    let (mut paths, beside) = (of_paths(over_tcp), of_paths(over_udp));
    for (at, spans) in beside {
        paths.entry(at).or_default().extend(spans);
    }
    let mut found = Vec::new();
    for spans in paths.into_values() {
        let met = |span: &Span| spans.iter().any(|other| span.beside(other).is_some());
        let flow = |span: &Span| match span.of.checked_sub(directions.len()) {
            None => Flow::new(rounds, *span, &directions[span.of], &known[span.of]),
            Some(of) => Flow::of_datagrams(*span, &datagrams[of]),
        };
        let flows: Vec<Flow> = spans.iter().filter(|span| met(span)).map(flow).collect();
        found.extend(flows.iter().flat_map(|own| flows.iter().filter_map(|other| pair(own, other))));
    }
    found
}

/// The largest of each path, largest first.
fn of_paths(spans: impl Iterator<Item = (u32, Option<Span>)>) -> BTreeMap<u32, Vec<Span>> {
    let mut paths: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
    for (at, span) in spans.filter_map(|(at, span)| Some((at, span?))) {
        paths.entry(at).or_default().push(span);
    }
    for spans in paths.values_mut() {
        spans.sort_by_key(|span| Reverse(span.bytes));
        spans.truncate(MAX_FLOWS);
    }
    paths
}

fn pair(own: &Flow, other: &Flow) -> Option<Pair> {
    let (start_ns, end_ns) = own.span.beside(&other.span)?;
    let slots = shares(&own.slots, &other.slots, start_ns, end_ns);
    let bits = |flow: &Flow| flow.bits_until(end_ns) - flow.bits_until(start_ns);
    let [own_bits, other_bits] = [bits(own), bits(other)];
    // A queue of its own gives a flow a steady rate, too: that of the others.
    let less = LESS * own_bits < other_bits;
    let held_back = |set: fn(&[Share]) -> bool| match less && set(&slots) {
        true => Some(1.0),
        false => mean(slots.iter().filter_map(|slot| Some(slot.own?.held_back()))),
    };
    (!slots.is_empty()).then(|| Pair {
        of: own.span.of,
        other: other.span.of,
        start_ns,
        end_ns,
        bits: own_bits,
        other_bits,
        held_back: own.set.and_then(held_back),
        starved: own.set.and_then(|set| {
            let from_ns = started_ns(own, other, start_ns, end_ns)?;
            starved(&shares(&own.slots, &other.slots, from_ns, end_ns), from_ns, end_ns, set)
        }),
    })
}

/// From when on shares count: a sender that starts has little at first. To the nearest slot; None where that
/// lasts to the end.
fn started_ns(own: &Flow, other: &Flow, start_ns: i64, end_ns: i64) -> Option<i64> {
    let Some(start_up) = &own.start_up else { return Some(start_ns) };
    let bits: f64 = [own, other].map(|flow| flow.bits_until(end_ns) - flow.bits_until(start_ns)).iter().sum();
    let fair_bps = bits / 2.0 * 1e9 / end_ns.saturating_sub(start_ns) as f64;
    let slot = start_up.end_ns(fair_bps)?.saturating_add(SLOT_NS / 2).div_euclid(SLOT_NS);
    Some(start_ns.max(slot * SLOT_NS)).filter(|from_ns| *from_ns < end_ns)
}

/// When a direction sent, and how much.
#[derive(Clone, Copy)]
struct Span {
    of: usize,
    flow: u32,
    bytes: u64,
    start_ns: i64,
    end_ns: i64,
}

impl Span {
    /// Time in which both sent.
    fn beside(&self, other: &Span) -> Option<(i64, i64)> {
        let (start, end) = (self.start_ns.max(other.start_ns), self.end_ns.min(other.end_ns));
        (self.flow != other.flow && end.saturating_sub(start) >= MIN_OVERLAP_NS).then_some((start, end))
    }
}

/// Of a direction worth comparing: a large one, or one that sends little for as long as a starvation needs,
/// if the path holds it.
fn span(rounds: &Rounds<'_>, of: usize, direction: &Direction) -> Option<Span> {
    let rows = || direction.rows.clone();
    let start_ns = rows().map(|row| rounds.start_ns.or_zero(row)).min()?;
    let end_ns = rows().map(|row| rounds.end_ns.or_zero(row)).max()?;
    let acked: u64 = rows().map(|row| u64::from(rounds.acked_packets.or_zero(row))).sum();
    let large = rows().len() >= MIN_ROUNDS && acked >= MIN_ACKED_PACKETS;
    let long = end_ns.saturating_sub(start_ns) >= MIN_STARVED_SLOTS as i64 * SLOT_NS;
    let held = || rows().any(|row| pressed(rounds, row)) || queued(rounds, direction);
    (large || long && acked >= FEW_PACKETS && held()).then(|| Span {
        of,
        flow: rounds.flow.or_zero(direction.rows.start),
        bytes: rows().map(|row| rounds.acked_bytes.or_zero(row)).sum(),
        start_ns,
        end_ns,
    })
}

/// The path showed congestion in the round: a mark fed back or a loss.
fn pressed(rounds: &Rounds<'_>, row: usize) -> bool {
    [rounds.ce_best, rounds.ece_acks, rounds.retransmits].iter().any(|count| count.or_zero(row) > 0)
}

/// Most packets of a direction waited for longer than they travelled.
fn queued(rounds: &Rounds<'_>, direction: &Direction) -> bool {
    let mut least: Vec<f64> = direction.rows.clone().filter_map(|row| rounds.rtt_min_us.get(row)).collect();
    let shortest = least.iter().copied().reduce(f64::min);
    median(&mut least).zip(shortest).is_some_and(|(middle, shortest)| middle >= LONG_QUEUE * shortest)
}

/// Of a large direction over UDP: nothing shows whether the path holds a small one.
fn span_of_datagrams(datagrams: &Datagrams, of: usize) -> Option<Span> {
    let sent = &datagrams.sent;
    let packets: u64 = sent.iter().map(|one| u64::from(one.packets)).sum();
    (sent.len() >= MIN_ROUNDS && packets >= MIN_ACKED_PACKETS).then_some(Span {
        of,
        flow: datagrams.key.1,
        bytes: sent.iter().map(|one| one.bytes).sum(),
        start_ns: sent.first()?.start_ns,
        end_ns: sent.last()?.end_ns,
    })
}

/// What a direction did in a slot.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    pub bits: f64,
    pub rounds: u32,
    /// Windows of its rounds, added up.
    pub packets: f64,
    held: u32,
}

impl Slot {
    /// Share of the rounds in which the sender had less to send.
    pub fn held_back(&self) -> f64 {
        f64::from(self.held) / f64::from(self.rounds)
    }
}

/// A direction that is compared with others.
struct Flow {
    span: Span,
    slots: BTreeMap<i64, Slot>,
    /// Shows of its slots that something else than the path set its rate; None where that may be so whatever
    /// they show, as of a call.
    set: Option<fn(&[Share]) -> bool>,
    /// Its rounds in the order of their ends, each with the bits until then.
    ends: Vec<End>,
    /// None over UDP, whose rounds are not known.
    start_up: Option<StartUp>,
}

/// What a round delivered, or a slot of datagrams.
struct Carried {
    start_ns: i64,
    end_ns: i64,
    bits: f64,
    packets: u32,
    /// The sender had less to send.
    held: bool,
}

struct End {
    start_ns: i64,
    end_ns: i64,
    bits: f64,
    sum: f64,
}

impl Flow {
    fn new(rounds: &Rounds<'_>, span: Span, direction: &Direction, known: &Known) -> Flow {
        let mut growth = Growth::default();
        let carried = direction.rows.clone().map(|row| {
            let next = Some(row + 1).filter(|next| *next < direction.rows.end);
            let stuck = growth.stuck(rounds, row, known);
            Carried {
                start_ns: rounds.start_ns.or_zero(row),
                end_ns: rounds.end_ns.or_zero(row),
                bits: rounds.acked_bytes.or_zero(row) as f64 * 8.0,
                // A round of a paced sender may take less than its round trip.
                packets: rounds.acked_packets.or_zero(row).max(rounds.inflight_max_packets.or_zero(row)),
                held: stuck || held(rounds, row, next, known),
            }
        });
        let mut start_up = StartUp::default();
        for row in direction.rows.clone() {
            let (start_ns, end_ns) = (rounds.start_ns.or_zero(row), rounds.end_ns.or_zero(row));
            start_up.add(start_ns, end_ns, rounds.acked_packets.or_zero(row), pressed(rounds, row));
        }
        let media = direction.rows.clone().any(|row| rounds.limit(row) == Limit::Media);
        Flow { start_up: Some(start_up), ..Flow::of(span, (!media).then_some(steady), carried) }
    }

    fn of_datagrams(span: Span, datagrams: &Datagrams) -> Flow {
        let carried = datagrams.sent.iter().map(|one| Carried {
            start_ns: one.start_ns,
            end_ns: one.end_ns,
            bits: one.bytes as f64 * 8.0,
            packets: one.packets,
            held: one.limit.held(),
        });
        Flow::of(span, datagrams.elastic().then_some(paced), carried)
    }

    fn of(
        span: Span,
        set: Option<fn(&[Share]) -> bool>,
        carried: impl ExactSizeIterator<Item = Carried>,
    ) -> Flow {
        let ends = Vec::with_capacity(carried.len());
        let mut flow = Flow { span, slots: BTreeMap::new(), set, ends, start_up: None };
        carried.for_each(|one| flow.add(&one));
        flow.ends.sort_by_key(|end| end.end_ns);
        let mut sum = 0.0;
        for end in &mut flow.ends {
            sum += end.bits;
            end.sum = sum;
        }
        flow
    }

    /// Adds a round to the slot in which it begins; a long one to each that it touches, with its part. A
    /// round that repairs losses may last for seconds.
    fn add(&mut self, one: &Carried) {
        let Carried { start_ns, end_ns, bits, .. } = *one;
        let length = end_ns.saturating_sub(start_ns);
        let first = start_ns.div_euclid(SLOT_NS);
        let long = SPREAD_NS.contains(&length);
        let last = if long { (end_ns - 1).div_euclid(SLOT_NS) } else { first };
        for number in first..=last {
            let edge = |number: i64| number.saturating_mul(SLOT_NS);
            let inside = end_ns.min(edge(number + 1)).saturating_sub(start_ns.max(edge(number)));
            let slot = self.slots.entry(number).or_default();
            slot.bits += if long { bits * inside as f64 / length as f64 } else { bits };
            slot.rounds += 1;
            slot.packets += f64::from(one.packets);
            slot.held += u32::from(one.held);
        }
        self.ends.push(End { start_ns, end_ns, bits, sum: 0.0 });
    }

    /// Bits up to a moment; those of a round are spread over its length.
    fn bits_until(&self, ns: i64) -> f64 {
        let Some(end) = self.ends.get(self.ends.partition_point(|end| end.end_ns < ns)) else {
            return self.ends.last().map_or(0.0, |end| end.sum);
        };
        let left = (end.end_ns - ns) as f64 / end.end_ns.saturating_sub(end.start_ns) as f64;
        end.sum - end.bits * if left.is_nan() { 0.0 } else { left.clamp(0.0, 1.0) }
    }
}

/// The sender had less to send than it might have; nothing but full packets means it had more.
///
/// A flow that is starved to a window of two or three packets looks like one whose application pauses, but
/// for the size of its packets and the pause: a starved one sends as soon as its last packets are
/// acknowledged. One whose window is a fraction of a packet pauses as well: marks or losses of those few full
/// packets cut it. Without the SYN's options the scale of the receive window is unknown, so it shows nothing.
fn held(rounds: &Rounds<'_>, row: usize, next: Option<usize>, known: &Known) -> bool {
    let (packets, bytes) = (rounds.sent_packets.or_zero(row), rounds.sent_bytes.or_zero(row));
    let room = known.max_payload.map(|size| u64::from(packets) * u64::from(size));
    // Nagle's algorithm (RFC 896) sends what there is as soon as nothing is in flight.
    let partial = known.unmerged && room.is_some_and(|room| (bytes as f64) < PARTIAL * room as f64);
    let more = || {
        let end_ns = rounds.end_ns.or_zero(row);
        let pause = next.map_or(0, |next| rounds.start_ns.or_zero(next).saturating_sub(end_ns));
        let pauses = pause > end_ns.saturating_sub(rounds.start_ns.or_zero(row));
        let large = known.max_payload.is_none_or(|size| size >= LARGE_PAYLOAD);
        let cut = large && f64::from(packets) <= SMALL_WINDOW && pressed(rounds, row);
        room.is_none_or(|room| bytes >= room) && (cut || packets >= 2 && !pauses)
    };
    match rounds.limit(row) {
        Limit::Rwnd => known.scaled || partial,
        Limit::App => partial || !more(),
        Limit::Feedback | Limit::Media => true,
        Limit::Cwnd | Limit::Unknown => partial,
    }
}

/// How far a window could have grown: until now, and until its last mark or loss.
#[derive(Default)]
struct Growth {
    grown: f64,
    at_cut: f64,
}

impl Growth {
    /// Neither marks nor losses cut the window, and yet it does not grow: the source sets the rate.
    ///
    /// This shows where the tracker cannot: a paced source over a long path always has data in flight, and a
    /// capture far from the sender does not see the window.
    fn stuck(&mut self, rounds: &Rounds<'_>, row: usize, known: &Known) -> bool {
        let length_us =
            (rounds.end_ns.or_zero(row).saturating_sub(rounds.start_ns.or_zero(row))) as f64 / 1e3;
        // Prague grows as if its RTT was at least 25 ms.
        let slowed = (length_us / f64::from(TARGET_RTT_US)).powi(2).min(1.0);
        self.grown += if known.codepoint == Codepoint::Ect1 { slowed } else { 1.0 };
        if pressed(rounds, row) {
            self.at_cut = self.grown;
        }
        let window = f64::from(rounds.acked_packets.or_zero(row)).max(SMALL_WINDOW);
        self.grown - self.at_cut > UNPRESSED * window
    }
}
