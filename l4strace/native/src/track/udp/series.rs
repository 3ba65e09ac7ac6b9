//! What a direction carried over time, in slots whose number is bounded.

use crate::packet::Packet;

/// Shortest slot: half of the shortest that rates of a path are compared in (`measure/slots.rs`).
const SHORTEST_NS: i64 = 50_000_000;

/// Slots with traffic that are kept; beyond these, slots become twice as long.
const MOST: usize = 4096;

/// One slot with traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// Of the slots since 1970.
    number: i64,
    pub packets: u32,
    pub bytes: u64,
    /// By codepoint: Not-ECT, ECT(1), ECT(0), CE.
    pub ecn: [u32; 4],
    pub first_frame: u64,
    pub last_frame: u64,
}

/// The slots of one direction, in the order of time.
#[derive(Clone, Debug)]
pub struct Series {
    width_ns: i64,
    slots: Vec<Slot>,
    /// The end of the last of them.
    end_ns: i64,
}

impl Default for Series {
    fn default() -> Self {
        Series { width_ns: SHORTEST_NS, slots: Vec::new(), end_ns: i64::MIN }
    }
}

impl Series {
    #[inline]
    pub fn add(&mut self, p: &Packet) {
        // A timestamp that runs back counts where the capture is.
        if p.ts_ns >= self.end_ns {
            self.begin(p);
        }
        if let Some(last) = self.slots.last_mut() {
            last.add(p);
        }
    }

    #[cold]
    fn begin(&mut self, p: &Packet) {
        let number = p.ts_ns.div_euclid(self.width_ns);
        self.slots.push(Slot { number, first_frame: p.frame, ..Slot::default() });
        if self.slots.len() > MOST {
            self.widen();
        }
        let last = self.slots.last().map_or(number, |slot| slot.number);
        self.end_ns = last.saturating_add(1).saturating_mul(self.width_ns);
    }

    fn widen(&mut self) {
        self.width_ns *= 2;
        self.slots.iter_mut().for_each(|slot| slot.number = slot.number.div_euclid(2));
        self.slots.dedup_by(|next, kept| {
            let same = next.number == kept.number;
            if same {
                kept.join(next);
            }
            same
        });
    }

    /// Begin, end and what was carried, of slots with traffic; `shift_ns` is subtracted from all times.
    pub fn slots(&self, shift_ns: i64) -> impl Iterator<Item = (i64, i64, &Slot)> {
        self.slots.iter().map(move |slot| {
            let begin = slot.number.saturating_mul(self.width_ns).saturating_sub(shift_ns);
            (begin, begin.saturating_add(self.width_ns), slot)
        })
    }
}

impl Slot {
    fn add(&mut self, p: &Packet) {
        self.packets = self.packets.saturating_add(1);
        self.bytes += u64::from(p.payload_len);
        let sum = &mut self.ecn[usize::from(p.ip_ecn & 3)];
        *sum = sum.saturating_add(1);
        self.last_frame = p.frame;
    }

    fn join(&mut self, next: &Slot) {
        self.packets = self.packets.saturating_add(next.packets);
        self.bytes += next.bytes;
        self.ecn.iter_mut().zip(next.ecn).for_each(|(sum, more)| *sum = sum.saturating_add(more));
        self.last_frame = next.last_frame;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::ecn;

    #[test]
    fn slots_hold_what_was_carried_however_many_there_are() {
        let mut series = Series::default();
        for n in 0..10_000 {
            let ts_ns = n * SHORTEST_NS + 7;
            series.add(&Packet { ts_ns, payload_len: 100, ip_ecn: ecn::CE, frame: 1, ..Packet::default() });
        }
        assert!(series.slots.len() <= MOST);
        let slots: Vec<_> = series.slots(0).collect();
        assert_eq!(slots.iter().map(|(_, _, slot)| slot.bytes).sum::<u64>(), 1_000_000);
        assert!(slots.windows(2).all(|pair| pair[0].1 == pair[1].0), "no gap and no overlap");
        assert_eq!(series.slots(5).next().map(|slot| slot.0), Some(-5));
    }

    #[test]
    fn silence_costs_nothing_and_a_clock_that_runs_back_loses_nothing() {
        let mut series = Series::default();
        for ts_ns in [0, 1_000_000_000_000, 3] {
            series.add(&Packet { ts_ns, payload_len: 10, ..Packet::default() });
        }
        assert_eq!(
            series.slots(0).map(|(begin, _, slot)| (begin, slot.packets)).collect::<Vec<_>>(),
            [(0, 1), (1_000_000_000_000, 2)]
        );
    }
}
