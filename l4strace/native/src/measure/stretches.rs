//! Slots of a path as `slots` makes them, a tenth of a second each, for tests.

use super::slots::Slot;

pub const WIDTH_NS: i64 = 100_000_000;

/// A full path of 50 Mbit/s with a few marks.
pub const FULL: Stretch = Stretch {
    count: 1,
    slot: Slot {
        at: 0,
        slot: 0,
        start_ns: 0,
        end_ns: 0,
        first_ns: 0,
        last_ns: 0,
        flows: 1,
        delivered_bps: 50e6,
        beside_bps: 0.0,
        train_bps: Some(50e6),
        probe_bps: None,
        marks: 2.0,
        acked: 400.0,
        lost: 0.0,
        least_us: Some(10_000.0),
        queue_us: Some(0.0),
        floor_us: Some(0.0),
        peak_us: Some(500.0),
        base_us: Some(10_000.0),
        held_back: 0.0,
        full_bps: None,
        noise_us: 0.0,
        busy: false,
    },
};

/// Why slots that are changed so are another case.
pub type Case = (&'static str, fn(&mut Slot));

/// So many slots that are alike.
#[derive(Clone, Copy)]
pub struct Stretch {
    count: usize,
    slot: Slot,
}

impl Stretch {
    pub const fn times(self, count: usize) -> Stretch {
        Stretch { count, ..self }
    }

    pub fn with(mut self, change: impl Fn(&mut Slot)) -> Stretch {
        change(&mut self.slot);
        self
    }
}

/// Slots of `stretches` after each other.
pub fn slots(stretches: &[Stretch]) -> Vec<Slot> {
    let each = stretches.iter().flat_map(|stretch| std::iter::repeat_n(stretch.slot, stretch.count));
    let placed = |(number, slot): (usize, Slot)| {
        let slot_number = number as i64;
        let (start_ns, end_ns) = (slot_number * WIDTH_NS, (slot_number + 1) * WIDTH_NS);
        let slot = Slot { slot: slot_number, start_ns, end_ns, first_ns: start_ns, last_ns: end_ns, ..slot };
        Slot { busy: slot.fills(), ..slot }
    };
    each.enumerate().map(placed).collect()
}
