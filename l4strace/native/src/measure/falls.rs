//! What shows that a path became slower, beside that less is delivered: a sender that backs off does that
//! too.

use super::capacity::quantile;
use super::changes::{FLAT, FLAT_BEFORE_RISE};
use super::full::{last, used, BUSY_PART, FELL, FELL_TRAINS, LASTING, QUEUE_US, ROSE};
use super::numbers::{least, most};
use super::slots::Slot;
use super::surges::FLOOD;
use super::FRAME_BITS;

/// Part of the queue that a full flight leaves when the rate falls, (old / new - 1) base RTTs, that must
/// be seen: an AQM may drop the rest. By eye.
const TRANSIENT: f64 = 0.25;

/// Part of what a fall leaves in flight that must be seen to wait or to be lost while losses hide the
/// trains: a sender that hears of them sends less meanwhile. By eye.
const DROPPED: f64 = 0.75;

/// Part of the busy slots with a standing queue, where no full path was seen before: such slots deliver
/// what the path carries, while marks alone also come to flows that back off. By eye.
const STANDING_PART: f64 = 0.6;

/// Part of the slots of a new lower level that must be busy or leave no gap: more than of busy ones, as
/// trains that jitter spreads agree with the rate by chance. By eye.
const GAPLESS_PART: f64 = 0.8;

/// From the second of `slots` on the path is slower; the first may hold the change.
pub fn fell(past: &[Slot], slots: &[Slot], level_bps: f64, later: &[Slot]) -> bool {
    let after = &slots[1..];
    let shown = |of: fn(&Slot) -> Option<f64>| -> Vec<f64> {
        after.iter().filter_map(of).filter(|bps| *bps > 0.0).collect()
    };
    let (own, probes) = (shown(|slot| slot.train_bps), shown(|slot| slot.probe_bps));
    // Rounds that repair losses show no train.
    let at_once = !own.is_empty();
    let trains = if at_once { own } else { later.iter().map(|s| s.train_bps.unwrap_or(0.0)).collect() };
    let any = trains.iter().any(|bps| *bps > 0.0);
    let fast = quantile(trains, 0.5).max(quantile(probes, 0.5)) > FELL_TRAINS * level_bps;
    if fast || !full(after) {
        return false;
    }
    // What was in flight leaves at the new rate: the queue grows, whatever marks it gets.
    let peak = slots.iter().fold(None, |peak, slot| most(peak, slot.peak_us));
    let now = quantile(after.iter().map(|slot| slot.delivered_bps).collect(), 0.5).max(1.0);
    let excess = (level_bps / now - 1.0) * base_us(slots);
    let Some(peak_us) = peak else { return pressed(past, after) };
    if peak_us >= QUEUE_US.max(TRANSIENT * excess) {
        return true;
    }
    // Or it was dropped, all of it: fewer losses alone make a sender slow, without a fall.
    let gone_us = peak_us + newly_lost(past, slots) * FRAME_BITS / now * 1e6;
    let needed = if at_once { excess } else { DROPPED * excess };
    any && peak_us >= QUEUE_US && gone_us >= needed
}

/// The path marks a larger part of the packets than before, or most.
///
/// A receiver sees no delay. What holds senders at a lower rate marks more of their packets (their rate
/// falls with the part that is marked), and those of a sender that slows down by itself meet a shorter queue.
fn pressed(past: &[Slot], after: &[Slot]) -> bool {
    let now = marked(after);
    now >= FLOOD || now >= ROSE * marked(last(past))
}

/// Part of the packets.
fn marked(slots: &[Slot]) -> f64 {
    let (marks, acked) =
        slots.iter().fold((0.0, 0.0), |(marks, acked), slot| (marks + slot.marks, acked + slot.acked));
    marks / acked.max(1.0)
}

/// Enough of `slots` are busy, or left no gap.
fn full(slots: &[Slot]) -> bool {
    let part = |of: fn(&Slot) -> bool| slots.iter().filter(|slot| of(slot)).count() as f64;
    let count = slots.len() as f64;
    part(|slot| slot.busy || slot.gapless()) >= GAPLESS_PART * count
        || part(|slot| slot.busy) >= BUSY_PART * count
}

/// Packets lost in `slots`, without what the path lost at that pace before.
fn newly_lost(past: &[Slot], slots: &[Slot]) -> f64 {
    let lost = |slots: &[Slot]| slots.iter().map(|slot| slot.lost).sum::<f64>();
    lost(slots) - slots.len() as f64 * lost(last(past)) / last(past).len() as f64
}

fn base_us(slots: &[Slot]) -> f64 {
    slots.iter().fold(None, |base, slot| least(base, slot.base_us)).unwrap_or(0.0)
}

/// Before, the path carried more than it does now with a standing queue.
///
/// It need not have been full: no path delivers more than it carries. An AQM that holds a queue of two
/// packets lets one wait for a packet and a part of another; jitter is no queue.
pub fn below_use(past: &[Slot], around: &[Slot]) -> bool {
    let standing = around[1..].iter().filter(|slot| slot.busy && slot.waits());
    let standing: Vec<f64> = standing.map(|slot| slot.delivered_bps).collect();
    if past.len() < LASTING || (standing.len() as f64) < STANDING_PART * (around.len() - 1) as f64 {
        return false;
    }
    let (lowest, highest) = ends(&standing);
    highest - lowest <= FLAT_BEFORE_RISE * quantile(standing, 0.5) && highest <= used(past) / ROSE
}

/// A path that was not full is full at far less, for twice as long as a level must last.
///
/// Its queue stands all along, or an AQM dropped the flight of before. A sender that backed off grows
/// again meanwhile, and its bursts still leave at the rate of the path.
pub fn lasts_below(past: &[Slot], around: &[Slot], later: &[Slot]) -> bool {
    let after = || around[1..].iter().chain(later);
    let count = after().count();
    if past.len() < LASTING || count < 2 * LASTING {
        return false;
    }
    let before = used(past);
    let rates: Vec<f64> = after().map(|slot| slot.delivered_bps).collect();
    let (lowest, highest) = ends(&rates);
    let train = after().fold(0.0f64, |train, slot| train.max(slot.train_bps.unwrap_or(0.0)));
    if highest > FELL * before || train > FELL_TRAINS * before {
        return false;
    }
    let enough =
        |of: fn(&Slot) -> bool| after().filter(|slot| of(slot)).count() as f64 >= GAPLESS_PART * count as f64;
    let now = quantile(rates, 0.5).max(1.0);
    if !enough(|slot| slot.busy || slot.waits()) || highest - lowest > FLAT * now {
        return false;
    }
    let dropped_us = newly_lost(past, around) * FRAME_BITS / now * 1e6;
    enough(Slot::waits) || dropped_us >= DROPPED * (before / now - 1.0) * base_us(around)
}

fn ends(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)))
}
