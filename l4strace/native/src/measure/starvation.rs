//! Whether a flow starves beside another one, from what both got second by second.

use std::collections::{BTreeMap, BTreeSet};

use super::coexistence::Slot;
use super::numbers::{mean, median};
use super::start_up::INITIAL_WINDOW;
use super::{FRAME_BITS, HELD_BACK};

/// Slots to compare shares in: tens of round trips, and short enough to date a starvation.
pub const SLOT_NS: i64 = 1_000_000_000;

/// A fifth of the pair's rate: a quarter of what the other one gets.
pub const STARVED_SHARE: f64 = 0.2;

/// Share from some slot on, and part of the slots after it below `STARVED_SHARE`, from which single slots
/// above that do not end a starvation. By eye.
const CLEAR_SHARE: f64 = 0.15;
const MOSTLY: f64 = 0.8;

/// As many as are averaged (see `smooth`): fewer are one dip.
pub const MIN_STARVED_SLOTS: usize = 3;

/// The first and the last second may hold little: a transfer that is over sooner has not starved. By eye.
const MIN_STARVED_NS: i64 = 2_000_000_000;

/// Relative deviation of the rates of single seconds below which a source sets the rate: by eye, from
/// starved flows of the lab, whose rates vary by 5 % and more.
const STEADY: f64 = 0.02;

/// Packets a round from which a steady rate is not that of the smallest window: that holds 2 (RFC 5681 section
/// 3.1), and a round is no sharper than a packet.
const MORE_THAN_LEAST: f64 = 3.0;

/// Rounds in a slot and whole slots from which that is judged: with 40 rounds the edges of a slot move its
/// rate by 2.5 % at most, and fewer rates are alike by chance.
const STEADY_ROUNDS: f64 = 40.0;
const STEADY_SLOTS: usize = 5;

/// Bits a slot up to which UDP Prague paces at its least rate, with room for the packets that edges of a slot
/// move: 100 kbit/s (PRAGUE_MINRATE in `prague_cc.h` of L4STeam/udp_prague) and a half.
const LEAST_PACED: f64 = 150e3;

/// Bits of the other flow from which it takes something: an initial window is sent whatever the path holds.
const LEAST_TAKEN: f64 = INITIAL_WINDOW * FRAME_BITS;

/// Both flows in one slot; None where one had no rounds.
pub struct Share {
    number: i64,
    pub own: Option<Slot>,
    other: Option<Slot>,
}

impl Share {
    fn bits(&self) -> [f64; 2] {
        [self.own, self.other].map(|slot| slot.map_or(0.0, |slot| slot.bits))
    }

    /// In the last slot one of the two has stopped, so it shows no share.
    fn whole(&self, end_ns: i64) -> bool {
        self.number < end_ns.div_euclid(SLOT_NS)
    }
}

/// Slots between two moments. Only those with data: between two packets may lie years, in a capture that
/// was damaged.
pub fn shares(
    own: &BTreeMap<i64, Slot>,
    other: &BTreeMap<i64, Slot>,
    start_ns: i64,
    end_ns: i64,
) -> Vec<Share> {
    let span = start_ns.div_euclid(SLOT_NS)..=end_ns.div_euclid(SLOT_NS);
    let numbers = [own, other].into_iter().flat_map(|slots| slots.range(span.clone()));
    let numbers: BTreeSet<i64> = numbers.map(|(number, _)| *number).collect();
    let share = |number: i64| {
        let at = |slots: &BTreeMap<i64, Slot>| slots.get(&number).copied();
        Share { number, own: at(own), other: at(other) }
    };
    numbers.into_iter().map(share).filter(|share| share.bits() != [0.0; 2]).collect()
}

/// A starvation that lasts to the end of the overlap: since when, and the bits of both from then on.
#[derive(Clone, Debug)]
pub struct Starved {
    pub since_ns: i64,
    pub bits: f64,
    pub other_bits: f64,
    /// Time that these took.
    pub seconds: f64,
}

/// None without one, nor for a flow that has as much as it asks for, which `set` shows of these slots.
pub fn starved(slots: &[Share], start_ns: i64, end_ns: i64, set: fn(&[Share]) -> bool) -> Option<Starved> {
    let since = since(slots, &smooth(slots, end_ns))?;
    let since_ns = (since * SLOT_NS).max(start_ns);
    let slots = &slots[slots.partition_point(|slot| slot.number < since)..];
    let whole = || slots.iter().filter(|slot| slot.whole(end_ns));
    let end = whole().next_back()?.number + 1;
    let held_back = mean(slots.iter().filter_map(|slot| Some(slot.own?.held_back())));
    let found = Starved {
        since_ns,
        bits: whole().map(|slot| slot.bits()[0]).sum(),
        other_bits: whole().map(|slot| slot.bits()[1]).sum(),
        seconds: (end * SLOT_NS - since_ns) as f64 / 1e9,
    };
    let lasts = slots.len() >= MIN_STARVED_SLOTS && end_ns.saturating_sub(since_ns) >= MIN_STARVED_NS;
    let held = held_back.is_some_and(|share| share >= HELD_BACK);
    (lasts && !held && !set(slots) && found.other_bits >= LEAST_TAKEN).then_some(found)
}

/// Share of the pair in each slot and those beside it, so that one cut does not end a starvation.
fn smooth(slots: &[Share], end_ns: i64) -> Vec<Option<f64>> {
    let share = |at: usize| {
        let near = slots[at.saturating_sub(1)..slots.len().min(at + 2)].iter();
        let sums = near.filter(|slot| slot.whole(end_ns)).map(Share::bits);
        let [own, other] = sums.fold([0.0; 2], |[a, b], [own, other]| [a + own, b + other]);
        slots[at].whole(end_ns).then(|| own / (own + other))
    };
    (0..slots.len()).map(share).collect()
}

/// The slot from which on the share is small, though a few slots may hold more.
fn since(slots: &[Share], shares: &[Option<f64>]) -> Option<i64> {
    let fed = shares.iter().rposition(|share| share.is_some_and(|share| share >= STARVED_SHARE));
    let small = fed.map_or(slots.first()?.number, |fed| slots[fed].number + 1);
    let (mut clear, mut known, mut hungry, mut sums) = (None, 0.0, 0.0, [0.0; 2]);
    for (at, share) in shares.iter().enumerate().rev() {
        let Some(share) = share else { continue };
        let [own, other] = slots[at].bits();
        sums = [sums[0] + own, sums[1] + other];
        known += 1.0;
        if *share < STARVED_SHARE {
            hungry += 1.0;
            if hungry >= MOSTLY * known && sums[0] < CLEAR_SHARE * (sums[0] + sums[1]) {
                clear = Some(slots[at].number);
            }
        }
    }
    Some(clear.map_or(small, |clear| clear.min(small)))
}

/// The rate hardly differs from second to second, whatever the other flow does.
pub fn steady(slots: &[Share]) -> bool {
    let own = || slots.iter().filter_map(|slot| slot.own);
    let rounds = median(&mut own().map(|slot| f64::from(slot.rounds)).collect::<Vec<_>>());
    let window = mean(own().map(|slot| slot.packets / f64::from(slot.rounds)));
    rounds.is_some_and(|rounds| rounds >= STEADY_ROUNDS)
        && window.is_some_and(|packets| packets > MORE_THAN_LEAST)
        && even(slots).is_some()
}

/// The same of slots whose edges cut no round: only the least rate of UDP Prague is steady, too.
pub fn paced(slots: &[Share]) -> bool {
    even(slots).is_some_and(|bits| bits > LEAST_PACED)
}

/// Mean bits of the whole slots, where these are enough and alike.
fn even(slots: &[Share]) -> Option<f64> {
    let inner: Vec<f64> = slots.iter().skip(1).rev().skip(1).map(|slot| slot.bits()[0]).collect();
    let middle = mean(inner.iter().copied()).filter(|_| inner.len() >= STEADY_SLOTS)?;
    let squares: f64 = inner.iter().map(|bits| (bits - middle).powi(2)).sum();
    let deviation = (squares / (inner.len() - 1) as f64).sqrt() / middle;
    (deviation < STEADY).then_some(middle)
}
