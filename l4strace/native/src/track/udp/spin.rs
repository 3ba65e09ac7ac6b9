//! The spin bit of QUIC's short headers: it turns once a round trip, wherever it is seen (RFC 9000 section 17.4).
//!
//! A turn waits for the next packet and for the queue, so that only the shortest of them are near the base RTT. One
//! connection in 16 at least does not spin: its bit stands still, or is random in each packet.

const SPIN: u8 = 0x20;
/// Times between turns that are kept, the first ones, and how many show an RTT at least (by eye).
const MOST: usize = 256;
const ENOUGH: usize = 16;
/// A random bit turns every other packet: the bit spins where turns are at most this part of the packets.
const RARE: u32 = 3;
/// A packet that was overtaken at a turn turns the bit twice more. By eye: no round trip is shorter than this part of
/// the median.
const OVERTAKEN: u32 = 8;

#[derive(Clone, Debug, Default)]
pub(super) struct Spin {
    packets: u32,
    turns: u32,
    bit: u8,
    /// When the bit turned last.
    turned_ns: Option<i64>,
    between_us: Vec<u32>,
}

impl Spin {
    pub fn add(&mut self, first_byte: u8, ts_ns: i64) {
        if self.between_us.len() == MOST {
            return;
        }
        let bit = first_byte & SPIN;
        self.packets = self.packets.saturating_add(1);
        if self.packets > 1 && bit != self.bit {
            self.turn(ts_ns);
        }
        self.bit = bit;
    }

    #[cold]
    fn turn(&mut self, ts_ns: i64) {
        self.turns += 1;
        if let Some(before_ns) = self.turned_ns {
            let us = ts_ns.saturating_sub(before_ns).max(0) / 1000;
            self.between_us.push(u32::try_from(us).unwrap_or(u32::MAX));
        }
        self.turned_ns = Some(ts_ns);
    }

    /// The 10th percentile of the times between turns; none where the bit does not spin, or packets that were
    /// overtaken reach it.
    pub fn base_rtt_us(&self) -> Option<u32> {
        let n = self.between_us.len();
        if n < ENOUGH || self.turns > self.packets / RARE {
            return None;
        }
        let mut sorted = self.between_us.clone();
        sorted.sort_unstable();
        Some(sorted[n / 10]).filter(|&us| us > 0 && us >= sorted[n / 2] / OVERTAKEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `each` packets between turns, of which round trip `n` takes `us(n)`.
    fn of(trips: i64, each: i64, us: impl Fn(i64) -> i64) -> Spin {
        let (mut spin, mut now_us) = (Spin::default(), 0);
        for n in 0..trips {
            let bit = SPIN * (n % 2) as u8;
            (0..each).for_each(|k| spin.add(0x40 | bit, 1000 * (now_us + k * us(n) / each)));
            now_us += us(n);
        }
        spin
    }

    #[test]
    fn the_shortest_tenth_of_the_turns_is_near_the_base_rtt() {
        assert_eq!(of(100, 8, |n| 11_000 + 300 * (n % 20)).base_rtt_us(), Some(11_600));
        assert_eq!(of(10, 8, |_| 11_000).base_rtt_us(), None, "too few turns");
    }

    #[test]
    fn a_bit_that_does_not_spin_shows_nothing() {
        assert_eq!(of(1, 5000, |_| 1_000_000).base_rtt_us(), None);
        // The upper bits of a product stand for random ones.
        let mut random = Spin::default();
        let bit = |n: u64| (n.wrapping_mul(n).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63) as u8 * SPIN;
        (0..4000).for_each(|n| random.add(bit(n), n as i64 * 500_000));
        assert_eq!(random.base_rtt_us(), None);
    }

    #[test]
    fn turns_of_overtaken_packets_are_no_round_trips() {
        let mut spin = of(100, 8, |_| 11_000);
        spin.between_us.iter_mut().step_by(5).for_each(|us| *us = 100);
        assert_eq!(spin.base_rtt_us(), None);
        spin.add(0, i64::MIN);
        spin.add(SPIN, i64::MAX);
        assert!(spin.between_us.len() <= MOST);
    }
}
