//! When the base RTT of a path moved.

use super::changes::{Change, What};
use super::slots::Slot;

/// Slots before and after a step (a second or 20 rounds). By eye.
const WINDOW: usize = 10;

/// Round trips that they must last, too: a longer one gives its delay to all its slots. By eye.
const WINDOW_TRIPS: f64 = 4.0;

/// Smallest step: 2 ms and a tenth of the base RTT. By eye.
pub const STEP_US: f64 = 2000.0;
const STEP_PART: f64 = 0.1;

/// Largest spread of the floor on each side, in parts of the step: a queue moves more. By eye.
const STEP_SPREAD: f64 = 0.25;

/// Steps of the smallest RTT that hold on both sides, as a route change makes them.
///
/// The rate may not move with it: a window that fills a queue raises the RTT as evenly.
pub fn base_rtt_changes(slots: &[Slot]) -> Vec<Change> {
    let Some(first) = slots.first() else { return Vec::new() };
    let (known, base_us) = (known(slots), first.base_us.unwrap_or(0.0));
    let mut found = Vec::new();
    let mut index = WINDOW;
    while index + WINDOW < slots.len() {
        if known[index - 1] >= WINDOW && known[index + WINDOW] >= WINDOW {
            let before = floors(&slots[index - WINDOW..index]);
            let after = floors(&slots[index + 1..][..WINDOW]);
            let trip_us = base_us + before.1.max(after.1);
            if stepped(before, after, base_us) && lasts(&slots[index], trip_us) {
                found.push(Change {
                    first: index + 1,
                    at_ns: slots[index].start_ns,
                    what: What::BaseRtt,
                    shown_bps: None,
                });
                index += WINDOW;
            }
        }
        index += 1;
    }
    found
}

/// The window holds round trips enough of the longer side.
fn lasts(slot: &Slot, trip_us: f64) -> bool {
    WINDOW as f64 * ((slot.end_ns - slot.start_ns) as f64 / 1000.0) >= WINDOW_TRIPS * trip_us
}

/// How many slots in a row, up to each one, show a floor that no mark disturbs.
fn known(slots: &[Slot]) -> Vec<usize> {
    let count = |length: &mut usize, slot: &Slot| {
        *length = if slot.floor_us.is_some() && slot.marks == 0.0 { *length + 1 } else { 0 };
        Some(*length)
    };
    slots.iter().scan(0, count).collect()
}

/// The smallest and the largest floor.
fn floors(slots: &[Slot]) -> (f64, f64) {
    let floors = || slots.iter().map(|slot| slot.floor_us.unwrap_or(0.0));
    (floors().fold(f64::INFINITY, f64::min), floors().fold(f64::NEG_INFINITY, f64::max))
}

fn stepped(before: (f64, f64), after: (f64, f64), base_us: f64) -> bool {
    // A step is larger than what either side spreads over: one lies above the other.
    let step = (after.0 - before.1).max(before.0 - after.1);
    let spread = (before.1 - before.0).max(after.1 - after.0);
    step >= STEP_US.max(STEP_PART * base_us) && spread <= STEP_SPREAD * step
}

#[cfg(test)]
mod tests {
    use super::super::stretches::{slots, Stretch, FULL, WIDTH_NS};
    use super::{base_rtt_changes, Slot, What};

    fn calm() -> Stretch {
        FULL.times(30).with(|s| s.marks = 0.0)
    }

    fn longer() -> Stretch {
        calm().with(|s| s.floor_us = Some(30_000.0))
    }

    #[test]
    fn a_step_of_the_smallest_rtt_is_a_change_of_route() {
        for stretches in [[calm(), longer()], [longer(), calm()]] {
            let found = base_rtt_changes(&slots(&stretches));
            assert_eq!(found.iter().map(|c| c.what).collect::<Vec<_>>(), [What::BaseRtt]);
            assert!((found[0].at_ns - 30 * WIDTH_NS).abs() <= WIDTH_NS);
        }
    }

    #[test]
    fn a_queue_that_moves_or_is_marked_is_no_route() {
        let mut moving = vec![calm()];
        moving.extend((0..30).map(|n| {
            let floor_us = 20_000.0 + 1000.0 * f64::from(n % 10);
            calm().times(1).with(|s: &mut Slot| s.floor_us = Some(floor_us))
        }));
        assert_eq!(base_rtt_changes(&slots(&moving)), []);
        assert_eq!(base_rtt_changes(&slots(&[calm(), longer().with(|s| s.marks = 1.0)])), []);
    }

    /// Lab run s1401-132: slow start left 1.6 s of queue, ten slots of one round.
    #[test]
    fn a_round_as_long_as_the_window_shows_no_route() {
        let deep = longer().with(|s| s.floor_us = Some(1_600_000.0));
        assert_eq!(base_rtt_changes(&slots(&[calm(), deep])), []);
    }
}
