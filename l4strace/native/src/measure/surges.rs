//! A path that delivers less than before although it is full became slower, whoever backs off then.
//!
//! A queue that grows shows it, and so do losses that go on and on. No sender does both: one that sends
//! more fills the path, one that backs off empties its queue.

use super::full::{last, used, whole, FELL, FELL_TRAINS, HELD_BACK, QUEUE_US, ROSE};
use super::slots::Slot;

/// Slots that show what was delivered before, and those after it that may show a surge. By eye.
const SEEN: usize = 3;
const SURGE: usize = 3;

/// Part of the packets that are marked while an L4S queue takes in what a fall leaves. By eye: more than
/// the marks of a sender that keeps up with the path.
pub const FLOOD: f64 = 0.5;

/// Part of the packets that were lost, from which their repair takes rounds so long that slots inside one
/// show no rate of their own. By eye.
const REPAIRED: f64 = 0.25;

/// Losses per packet delivered that a full path makes of senders that do not heed them, slot after slot: a
/// repair is over before, and the noise of a path loses less. By eye, from BBR in lab runs.
const OVERFLOWS: f64 = 0.25;

/// What the path delivers of late, if it is full and that is less than before. The first of `around` may
/// hold the change.
pub fn surged(past: &[Slot], around: &[Slot]) -> Option<f64> {
    if past.len() < SEEN {
        return None;
    }
    let (before, after) = (used(past), &around[1..]);
    let first = || {
        let free = |slot: &&Slot| slot.held_back < HELD_BACK && slot.lost <= REPAIRED * slot.acked;
        after.iter().take(SURGE).filter(free)
    };
    // What a whole round in the queue delivers is exact; a slot may hold the end of the queue.
    let exact = first().filter_map(|slot| slot.full_bps).filter(|bps| *bps > 0.0).reduce(f64::min);
    if exact.is_some_and(|bps| bps <= before / ROSE) {
        return exact;
    }
    let overflows = after.iter().all(|slot| slot.lost >= OVERFLOWS * slot.acked);
    let shown: Vec<Slot> = if overflows {
        after.to_vec()
    } else {
        first().filter(|slot| grew(past, slot, before)).copied().collect()
    };
    let below = if whole(&shown) { 1.0 / ROSE } else { FELL };
    let low = shown.iter().all(|slot| slot.delivered_bps <= below * before);
    shown.iter().map(|slot| slot.delivered_bps).reduce(f64::min).filter(|_| low)
}

/// The queue of `slot` is longer than any of late.
fn grew(past: &[Slot], slot: &Slot, before_bps: f64) -> bool {
    let longest = |of: fn(&Slot) -> Option<f64>| {
        last(past).iter().fold(0.0f64, |longest, slot| longest.max(of(slot).unwrap_or(0.0)))
    };
    let grown = slot.queue_us.unwrap_or(0.0) - longest(|slot| slot.queue_us);
    let flooded = flooded(slot, before_bps);
    let peak = slot.peak_us.unwrap_or(0.0) - longest(|slot| slot.peak_us);
    let grown = if flooded { grown.max(peak) } else { grown };
    grown >= QUEUE_US.max(2.0 * slot.packet_us()).max(slot.noise_us)
}

/// Most packets of the slot were marked, and their trains were slower than what went before. The queue of
/// a slot that a sender floods by itself drains as fast as ever.
fn flooded(slot: &Slot, before_bps: f64) -> bool {
    let train = slot.train_bps.unwrap_or(0.0);
    train > 0.0 && train <= FELL_TRAINS * before_bps && slot.marks >= FLOOD * slot.acked
}

#[cfg(test)]
mod tests {
    use super::super::changes::capacity_changes;
    use super::super::stretches::{slots, Case, Stretch, FULL};
    use super::{surged, Slot, SEEN};

    fn less() -> Stretch {
        FULL.with(|s| (s.delivered_bps, s.train_bps, s.marks) = (20e6, Some(20e6), 0.0))
    }

    /// A round in the queue of a fall, which the sender drains within the slot.
    fn round() -> Stretch {
        less().with(|s| (s.marks, s.full_bps) = (60.0, Some(25e6)))
    }

    fn backed_off() -> Stretch {
        less().times(20).with(|s| (s.delivered_bps, s.train_bps) = (12e6, Some(45e6)))
    }

    fn overflow() -> Stretch {
        let lost = |s: &mut Slot| (s.train_bps, s.lost, s.peak_us, s.queue_us) = (None, 120.0, None, None);
        less().times(20).with(lost)
    }

    fn falls(stretches: &[Stretch]) -> Vec<(usize, Option<f64>)> {
        capacity_changes(&slots(stretches)).iter().map(|c| (c.first, c.shown_bps)).collect()
    }

    /// Lab run s2501-062: one round at 84 of 112 Mbit/s, every packet of it late and marked.
    #[test]
    fn a_whole_round_in_the_queue_shows_what_the_path_carries() {
        assert_eq!(falls(&[FULL.times(30), round(), backed_off()]), [(30, Some(25e6))]);
        let other: [Case; 3] = [
            ("the path carries hardly less", |s| s.full_bps = Some(45e6)),
            ("the application has less to send", |s| s.held_back = 1.0),
            ("a long repair", |s| s.lost = 200.0),
        ];
        for (why, change) in other {
            assert_eq!(falls(&[FULL.times(30), round().with(change), backed_off()]), [], "{why}");
        }
    }

    /// Simulated run s8101-236: BBR at 43 Mbit/s, then 11.5 with as much lost as delivered.
    #[test]
    fn losses_that_go_on_show_a_full_path() {
        assert_eq!(falls(&[FULL.times(30), overflow()]), [(30, Some(20e6))]);
        let after = |own: Stretch| falls(&[FULL.times(30), own, less().times(20)]);
        assert_eq!(after(overflow().with(|s| s.lost = 40.0)), [], "noise loses less");
        assert_eq!(after(overflow().times(4)), [], "a repair is over before");
        assert_eq!(after(overflow().with(|s| s.delivered_bps = 45e6)), [], "as much arrives as before");
    }

    #[test]
    fn what_went_before_must_be_seen() {
        let few = slots(&[FULL.times(SEEN - 1), round(), backed_off()]);
        assert_eq!(surged(&few[..SEEN - 1], &few[SEEN - 1..][..6]), None);
    }
}
