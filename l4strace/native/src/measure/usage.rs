//! How well a phase used its path: the way up to the capacity, and the time below it.
//!
//! Slots in which applications or receivers limited the flows count for nothing.

use super::full::{HELD_BACK, QUEUE_US};
use super::slots::Slot;

/// Parts of the capacity between which flows grow: by eye, above control traffic, and below the noise of
/// slots and the 69 % that one reduction of the fallback leaves.
const BEGUN: f64 = 0.05;
pub const FULL: f64 = 0.8;

/// Part of the capacity below which a slot is wasted: by eye, below the 69 % that one reduction of the
/// fallback leaves (prague_classic_ecn_fallback).
const LOW: f64 = 0.6;

/// Round trips in which slow start reaches 10,000 packets (RFC 6928). Flows that never fill their path are
/// judged from then on, against the most that they reach; those that are over by then are not.
pub const SLOW_START_ROUNDS: f64 = 10.0;

/// As in the table `phases`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    pub ramp_ns: Option<i64>,
    pub low_ns: i64,
    pub low_share: Option<f64>,
}

/// `shown`: whether the path was ever busy, so that the flows filled it.
pub fn usage(slots: &[Slot], capacity_bps: f64, shown: bool) -> Usage {
    let full = slots.iter().position(|slot| slot.delivered_bps >= FULL * capacity_bps);
    let begin = full.unwrap_or(0);
    let begin = if shown { begin } else { begin.min(slow_start(slots)) };
    let after = slots[..slots.len() - 1].get(begin..).unwrap_or_default();
    // Without a queue delay (at the receiver) a low slot may be a path that became slower.
    let judged = || after.iter().filter(|slot| slot.held_back < HELD_BACK && slot.queue_us.is_some());
    let low = || judged().filter(|slot| low(slot, capacity_bps));
    let count = judged().count();
    Usage {
        ramp_ns: full.and_then(|full| ramp_ns(&slots[..=full], capacity_bps)),
        low_ns: low().map(|slot| slot.end_ns - slot.start_ns).sum(),
        low_share: (count > 0).then(|| low().count() as f64 / count as f64),
    }
}

/// Number of slots in which slow start could have filled the path.
fn slow_start(slots: &[Slot]) -> usize {
    let rtt_us = slots.iter().filter_map(|slot| slot.least_us).reduce(f64::min).unwrap_or(0.0);
    let end_ns = slots[0].first_ns as f64 + SLOW_START_ROUNDS * 1000.0 * rtt_us;
    slots.iter().filter(|slot| (slot.start_ns as f64) < end_ns).count()
}

/// The path was not nearly full, and no queue stood that would show it slower than thought.
fn low(slot: &Slot, capacity_bps: f64) -> bool {
    let empty = slot.queue_us.unwrap_or(0.0) < QUEUE_US.max(slot.noise_us);
    empty && slot.delivered_bps < LOW * capacity_bps
}

/// Time from the first data to a full path; None where something else held the flows back.
fn ramp_ns(slots: &[Slot], capacity_bps: f64) -> Option<i64> {
    let begun = slots.iter().position(|slot| slot.delivered_bps >= BEGUN * capacity_bps)?;
    let (first, grown) = slots[begun..].split_first()?;
    let last = grown.last().unwrap_or(first);
    let whole = last.slot - first.slot == grown.len() as i64;
    let free = grown.iter().all(|slot| slot.held_back < HELD_BACK);
    (whole && free).then_some(last.start_ns - first.start_ns)
}

#[cfg(test)]
mod tests {
    use super::super::stretches::{slots, Stretch, FULL, WIDTH_NS};
    use super::{usage, Slot};

    fn ramp(change: fn(&mut Slot)) -> Vec<Stretch> {
        let step = |n| FULL.with(|s| s.delivered_bps = 50e6 * f64::from(n) / 40.0).with(change);
        (1..=40).map(step).collect()
    }

    fn filled(mut stretches: Vec<Stretch>, more: &[Stretch]) -> Vec<Slot> {
        stretches.push(FULL.times(20));
        stretches.extend(more);
        slots(&stretches)
    }

    fn low() -> Stretch {
        FULL.times(40).with(|s| s.delivered_bps = 20e6)
    }

    /// From 5 % (slot 2 of 40) to 80 % (slot 32).
    #[test]
    fn the_way_to_80_percent_is_timed() {
        let ramp_ns = |change| usage(&filled(ramp(change), &[]), 50e6, true).ramp_ns;
        assert_eq!(ramp_ns(|_| ()), Some(30 * WIDTH_NS));
        assert_eq!(ramp_ns(|s| s.held_back = 1.0), None, "the application holds it back");
    }

    #[test]
    fn low_time_is_counted_after_the_ramp() {
        let found = usage(&filled(ramp(|_| ()), &[low(), FULL.times(20)]), 50e6, true);
        assert_eq!(found.low_ns, 40 * WIDTH_NS);
    }

    #[test]
    fn low_time_with_a_queue_or_held_back_or_seen_at_the_receiver_is_none() {
        let low_ns = |change: fn(&mut Slot)| {
            usage(&slots(&[FULL.times(20), low().with(change), FULL.times(20)]), 50e6, true).low_ns
        };
        assert_eq!(low_ns(|s| s.queue_us = Some(5000.0)), 0);
        assert_eq!(low_ns(|s| s.held_back = 1.0), 0);
        assert_eq!(low_ns(|s| s.queue_us = None), 0);
        // Simulated run s8104-092: 9 ms of jitter on a path that its flow never fills.
        let jitter = |s: &mut Slot| (s.queue_us, s.noise_us) = (Some(5000.0), 9000.0);
        assert_eq!(low_ns(jitter), 40 * WIDTH_NS, "what jitter adds is no queue");
    }

    /// They reach 50 Mbit/s and grow by one packet a round trip: slow start would take ten (1 s).
    #[test]
    fn flows_that_never_fill_the_path_are_judged_from_the_end_of_slow_start() {
        let growing = slots(&ramp(|s| s.least_us = Some(100_000.0)));
        assert_eq!(usage(&growing, 50e6, true).low_ns, 0);
        let found = usage(&growing, 50e6, false);
        assert_eq!(found.low_ns, (23 - 10) * WIDTH_NS);
        assert_eq!(found.low_share, Some(13.0 / 29.0));
    }
}
