//! The fastest stretch of packets: how fast the narrowest link let them through.

/// Events (packets, or ACKs that deliver some) that a stretch spans: few enough for a window of ten
/// packets to hold one, enough for a jitter of single packets to average out.
const SPAN: usize = 8;

/// Follows what arrives, packet by packet or ACK by ACK.
#[derive(Debug, Default)]
pub struct Trains {
    /// Time and bytes so far of the last events, a ring.
    seen: [(i64, u64); SPAN],
    events: usize,
    bytes: u64,
    /// Bits per second of the fastest stretch of the round so far; 0 without one.
    pub fastest_bps: f64,
}

impl Trains {
    /// `bytes` arrived at `ts_ns`: those after the first event of a stretch crossed in its time.
    #[inline]
    pub fn add(&mut self, ts_ns: i64, bytes: u64) {
        self.bytes += bytes;
        let slot = &mut self.seen[self.events % SPAN];
        let (then_ns, before) = *slot;
        *slot = (ts_ns, self.bytes);
        self.events += 1;
        let ns = ts_ns - then_ns;
        if self.events > SPAN && ns > 0 {
            self.fastest_bps = self.fastest_bps.max((self.bytes - before) as f64 * 8e9 / ns as f64);
        }
    }

    /// A round begins.
    pub fn round(&mut self) {
        self.fastest_bps = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_has_the_rate_of_the_link_whatever_lies_before_it() {
        let mut trains = Trains::default();
        (0..SPAN as i64).for_each(|i| trains.add(i * 10_000_000, 1250));
        assert_eq!(trains.fastest_bps, 0.0);
        // 1250 bytes every 0.2 ms: 50 Mbit/s.
        (0..2 * SPAN as i64).for_each(|i| trains.add(1_000_000_000 + i * 200_000, 1250));
        assert!((trains.fastest_bps - 50e6).abs() < 1.0, "{}", trains.fastest_bps);
        trains.round();
        assert_eq!(trains.fastest_bps, 0.0);
    }

    #[test]
    fn events_at_one_time_are_no_rate() {
        let mut trains = Trains::default();
        (0..20).for_each(|_| trains.add(5, 1000));
        assert_eq!(trains.fastest_bps, 0.0);
    }
}
