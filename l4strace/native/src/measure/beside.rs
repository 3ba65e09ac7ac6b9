//! What flows over UDP sent beside the rounds of TCP.
//!
//! A capture shows when a datagram left, and no acknowledgment of it. So it counts where that of a TCP
//! segment would: a round trip later. At the sender, what was lost on the way counts too.

use super::rounds::{Key, Limit};
use super::slots::{Full, Slot};

/// What a direction over UDP sent from one moment to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    pub start_ns: i64,
    pub end_ns: i64,
    pub packets: u32,
    pub bytes: u64,
    pub limit: Limit,
}

/// A flow direction over UDP.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Datagrams {
    pub key: Key,
    /// Number of its path.
    pub at: u32,
    /// In the order of time.
    pub sent: Vec<Sent>,
}

impl Datagrams {
    /// Its congestion control sets its rate; that of a call, a game or a tunnel is what it needs, as far as is
    /// known.
    pub fn elastic(&self) -> bool {
        self.sent.iter().all(|sent| sent.limit == Limit::Cwnd)
    }
}

/// Bytes over time: of each moment, how many came until then, and how many come in a nanosecond after it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bytes(Vec<(i64, f64, f64)>);

impl Bytes {
    pub fn of<'a>(sent: impl Iterator<Item = &'a Sent>) -> Bytes {
        let mut steps = Vec::new();
        for one in sent.filter(|one| one.end_ns > one.start_ns) {
            let rate = one.bytes as f64 / one.end_ns.saturating_sub(one.start_ns) as f64;
            steps.extend([(one.start_ns, rate), (one.end_ns, -rate)]);
        }
        steps.sort_by_key(|(ns, _)| *ns);
        let (mut sum, mut rate) = (0.0, 0.0);
        let mut points: Vec<(i64, f64, f64)> = Vec::with_capacity(steps.len());
        for (ns, step) in steps {
            sum += rate * points.last().map_or(0.0, |(last, ..)| ns.saturating_sub(*last) as f64);
            rate = f64::max(rate + step, 0.0);
            points.push((ns, sum, rate));
        }
        Bytes(points)
    }

    fn until(&self, ns: i64) -> f64 {
        let after = self.0.partition_point(|(begin, ..)| *begin <= ns);
        let last = after.checked_sub(1).map(|at| self.0[at]);
        last.map_or(0.0, |(begin, sum, rate)| sum + rate * ns.saturating_sub(begin) as f64)
    }

    fn between(&self, begin_ns: i64, end_ns: i64) -> f64 {
        (self.until(end_ns) - self.until(begin_ns)).max(0.0)
    }

    /// Adds to the slots of a path what these bytes make of their rates, a round trip after they were sent; at
    /// the receiver (not `near`) they have come. `full` are the full rounds of the slots.
    pub(super) fn join(&self, slots: &mut [Slot], full: &[Option<Full>], near: bool) {
        let mut trip_ns = slots.iter().find_map(|slot| trip(slot, near)).unwrap_or(0);
        let mut begin = slots.first().map_or(0, |slot| slot.start_ns.saturating_sub(trip_ns));
        for (slot, full) in slots.iter_mut().zip(full) {
            trip_ns = trip(slot, near).unwrap_or(trip_ns);
            let end = begin.max(slot.end_ns.saturating_sub(trip_ns));
            let per_second = |bytes: f64, length_ns: i64| bytes * 8e9 / length_ns as f64;
            slot.beside_bps = per_second(self.between(begin, end), slot.end_ns - slot.start_ns);
            slot.delivered_bps += slot.beside_bps;
            begin = end;
            if let (Some(bps), Some(full)) = (&mut slot.full_bps, full) {
                let sent =
                    self.between(full.start_ns.saturating_sub(trip_ns), full.end_ns.saturating_sub(trip_ns));
                *bps += per_second(sent, full.end_ns - full.start_ns);
            }
        }
    }
}

/// A round trip (ns) as the slot shows it.
fn trip(slot: &Slot, near: bool) -> Option<i64> {
    if near {
        slot.least_us.map(|us| (us * 1e3) as i64)
    } else {
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::stretches::{slots, FULL, WIDTH_NS};
    use super::{Bytes, Datagrams, Limit, Sent};

    const SECOND_NS: i64 = 1_000_000_000;

    fn sent(start_ns: i64, end_ns: i64, bytes: u64) -> Sent {
        Sent { start_ns, end_ns, bytes, packets: 1, limit: Limit::Unknown }
    }

    #[test]
    fn bytes_of_flows_that_overlap_add_up() {
        let bytes = Bytes::of([sent(0, 100, 1000), sent(50, 150, 500), sent(400, 400, 9)].iter());
        let found = [(0, 50), (50, 100), (100, 150), (150, 900), (-9, 900)].map(|(a, b)| bytes.between(a, b));
        assert_eq!(found.map(f64::round), [500.0, 750.0, 250.0, 0.0, 1500.0]);
        assert_eq!(Bytes::default().between(0, 100), 0.0);
    }

    /// 20 Mbit/s from 0.5 s to 1 s, and a round trip of 10 ms: of the slot from 0.5 s the first 10 ms are without.
    #[test]
    fn they_count_a_round_trip_after_they_were_sent() {
        let bytes = Bytes::of([sent(SECOND_NS / 2, SECOND_NS, 1_250_000)].iter());
        let rates = |near: bool| {
            let mut found = slots(&[FULL.times(12)]);
            bytes.join(&mut found, &[None; 12], near);
            assert!(found.iter().all(|slot| slot.delivered_bps == 50e6 + slot.beside_bps));
            found.iter().map(|slot| (slot.beside_bps / 1e6).round() as i64).collect::<Vec<_>>()
        };
        assert_eq!(rates(true), [0, 0, 0, 0, 0, 18, 20, 20, 20, 20, 2, 0]);
        assert_eq!(rates(false), [0, 0, 0, 0, 0, 20, 20, 20, 20, 20, 0, 0]);
    }

    /// A queue that grows and drains moves bytes from one slot to the next, and loses none.
    #[test]
    fn no_byte_is_lost_between_slots() {
        let bytes = Bytes::of([sent(0, 3 * SECOND_NS, 3_000_000)].iter());
        let queue = FULL.times(5).with(|s| s.least_us = Some(150_000.0));
        let mut found = slots(&[FULL.times(9), queue, FULL.times(26)]);
        bytes.join(&mut found, &[None; 40], true);
        let sum: f64 = found.iter().map(|slot| slot.beside_bps * WIDTH_NS as f64 / 8e9).sum();
        assert!((sum - 3_000_000.0).abs() < 1.0, "{sum}");
    }

    #[test]
    fn only_what_congestion_control_limits_is_elastic() {
        let of = |limit| Datagrams { sent: vec![Sent { limit, ..sent(0, 1, 1) }], ..Datagrams::default() };
        assert!(of(Limit::Cwnd).elastic());
        assert!(!of(Limit::Unknown).elastic());
        assert!(!of(Limit::App).elastic());
    }
}
