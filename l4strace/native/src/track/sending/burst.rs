//! Back-to-back bursts: packets closer than one tenth of their fair spacing (RFC 9331 section 4.3,
//! the limit on bursts).

/// A gap shorter than this share of the fair spacing continues a burst.
const CLOSE: f64 = 0.1;

/// Follows the gaps between data packets of one direction.
#[derive(Clone, Debug, Default)]
pub struct Bursts {
    last_ns: i64,
    bytes: u32,
    frame: u64,
    /// Largest burst of the round so far and the frame that began it.
    pub largest: u32,
    pub largest_frame: u64,
    /// ns a byte takes at the rate of the last round; 0 when not known.
    ns_per_byte: f64,
}

impl Bursts {
    #[inline(always)]
    pub fn send(&mut self, ts_ns: i64, len: u32, frame: u64) {
        let close = ((ts_ns - self.last_ns) as f64) < CLOSE * self.ns_per_byte * f64::from(len);
        if close {
            self.bytes = self.bytes.saturating_add(len);
        } else {
            (self.bytes, self.frame) = (len, frame);
        }
        self.last_ns = ts_ns;
        if self.bytes > self.largest {
            (self.largest, self.largest_frame) = (self.bytes, self.frame);
        }
    }

    /// A round ended: its rate gives the fair spacing of the next.
    pub fn round(&mut self, bytes: u64, ns: i64) {
        if bytes > 0 && ns > 0 {
            self.ns_per_byte = ns as f64 / bytes as f64;
        }
        (self.largest, self.largest_frame) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_at_fair_spacing_are_no_burst() {
        let mut b = Bursts::default();
        b.round(1000, 1_000_000); // 1 us a byte
        (0..10).for_each(|i| b.send(i * 100_000, 100, i as u64));
        assert_eq!(b.largest, 100);
    }

    #[test]
    fn close_packets_add_up() {
        let mut b = Bursts::default();
        b.round(1000, 1_000_000);
        b.send(0, 100, 1);
        for i in 0..4 {
            b.send(1_000_000 + i * 1_000, 100, 2 + i as u64);
        }
        assert_eq!((b.largest, b.largest_frame), (400, 2));
    }
}
