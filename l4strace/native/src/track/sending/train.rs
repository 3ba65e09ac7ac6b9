//! The fastest stretch of packets: how fast the narrowest link let them through.

/// Events (packets, or ACKs that deliver some) that a stretch spans: few enough for a window of ten
/// packets to hold one, enough for a jitter of single packets to average out.
const SPAN: usize = 8;

/// Follows what arrives, packet by packet or ACK by ACK.
#[derive(Clone, Debug)]
pub struct Trains {
    /// Time and bytes so far of the last events, a ring.
    seen: [(i64, u64); SPAN],
    next: usize,
    bytes: u64,
    /// Bytes and time of the fastest stretch of the round so far; no bytes without one.
    fastest: (u64, u64),
}

/// No time passed since then.
const NEVER_NS: i64 = i64::MAX;

impl Default for Trains {
    fn default() -> Self {
        Trains { seen: [(NEVER_NS, 0); SPAN], next: 0, bytes: 0, fastest: (0, 1) }
    }
}

impl Trains {
    /// `bytes` arrived at `ts_ns`: those after the first event of a stretch crossed in its time.
    #[inline(always)]
    pub fn add(&mut self, ts_ns: i64, bytes: u64) {
        self.bytes += bytes;
        let (then_ns, before) = std::mem::replace(&mut self.seen[self.next % SPAN], (ts_ns, self.bytes));
        self.next = self.next.wrapping_add(1);
        if ts_ns <= then_ns {
            return;
        }
        // Compared crosswise: a division for every packet would show.
        let (bytes, ns) = (self.bytes - before, ts_ns.abs_diff(then_ns));
        if u128::from(bytes) * u128::from(self.fastest.1) > u128::from(self.fastest.0) * u128::from(ns) {
            self.fastest = (bytes, ns);
        }
    }

    /// Bits per second of the fastest stretch of the round so far.
    pub fn fastest_bps(&self) -> Option<f64> {
        let (bytes, ns) = self.fastest;
        (bytes > 0).then(|| bytes as f64 * 8e9 / ns as f64)
    }

    /// A round begins.
    pub fn round(&mut self) {
        self.fastest = (0, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_has_the_rate_of_the_link_whatever_lies_before_it() {
        let mut trains = Trains::default();
        (0..SPAN as i64).for_each(|i| trains.add(i * 10_000_000, 1250));
        assert_eq!(trains.fastest_bps(), None);
        // 1250 bytes every 0.2 ms: 50 Mbit/s.
        (0..2 * SPAN as i64).for_each(|i| trains.add(1_000_000_000 + i * 200_000, 1250));
        assert!((trains.fastest_bps().unwrap() - 50e6).abs() < 1.0);
        trains.round();
        assert_eq!(trains.fastest_bps(), None);
    }

    #[test]
    fn events_at_one_time_are_no_rate() {
        let mut trains = Trains::default();
        (0..20).for_each(|_| trains.add(5, 1000));
        assert_eq!(trains.fastest_bps(), None);
    }
}
