//! When a sender has had the round trips that it needs to reach its share of a path.

use super::FRAME_BITS;

/// Packets that a sender may have in flight at once (RFC 6928).
pub const INITIAL_WINDOW: f64 = 10.0;

/// Round trips beside those in which the window doubles (RFC 5681 section 3.1): rounds begin with the first
/// packet, so that the first window takes two of them, and what the last one sends arrives a round later.
const MARGIN: f64 = 2.0;

/// Growth of what was delivered in all, over two round trips, below which slow start is over: it makes 4, or
/// 2.25 where ACKs of two packets open the window by one; from the fifth round on a constant window makes 1.7
/// at most.
const RISING: f64 = 2.0;

/// Round trips of a direction until slow start is over: by a mark or a loss, or as it grows no further.
#[derive(Default)]
pub struct StartUp {
    rounds: Vec<Rise>,
    /// Begin of the first round that did not rise.
    over_ns: Option<i64>,
}

struct Rise {
    start_ns: i64,
    end_ns: i64,
    /// Packets delivered until then.
    packets: f64,
}

impl StartUp {
    /// Of rounds in their order.
    pub fn add(&mut self, start_ns: i64, end_ns: i64, packets: u32, pressed: bool) {
        if self.over_ns.is_some() {
            return;
        }
        let before = self.rounds.last().map_or(0.0, |last| last.packets);
        let packets = before + f64::from(packets);
        let then = self.rounds.len().checked_sub(2).map(|at| self.rounds[at].packets);
        let flat = then.is_some_and(|then| packets < RISING * then);
        self.over_ns = (pressed || flat).then_some(start_ns);
        self.rounds.push(Rise { start_ns, end_ns, packets });
    }

    /// When it is over for a share of `fair_bps`; None where it is not.
    pub fn end_ns(&self, fair_bps: f64) -> Option<i64> {
        let enough = |(at, round): &(usize, &Rise)| (at + 1) as f64 >= round.needed(fair_bps);
        let reached = self.rounds.iter().enumerate().find(enough).map(|(_, round)| round.end_ns);
        reached.into_iter().chain(self.over_ns).min()
    }
}

impl Rise {
    /// Round trips as long as this one until the window holds `fair_bps`.
    fn needed(&self, fair_bps: f64) -> f64 {
        let seconds = self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9;
        let window = fair_bps * seconds / FRAME_BITS;
        (window / INITIAL_WINDOW).max(1.0).log2() + MARGIN
    }
}

#[cfg(test)]
mod tests {
    use super::StartUp;

    const MS: i64 = 1_000_000;

    /// Rounds of 400 ms.
    fn of(packets: &[u32], pressed: Option<usize>) -> StartUp {
        let mut found = StartUp::default();
        for (at, packets) in packets.iter().enumerate() {
            let start_ns = 400 * MS * at as i64;
            found.add(start_ns, start_ns + 400 * MS, *packets, pressed == Some(at));
        }
        found
    }

    #[test]
    fn a_window_that_doubles_takes_the_logarithm_of_its_share() {
        // 100 Mbit/s are 3,300 packets: 8.4 doublings and two rounds.
        let doubling: Vec<u32> = (0..12).map(|at| 10 << at).collect();
        assert_eq!(of(&doubling, None).end_ns(100e6), Some(4400 * MS));
        assert_eq!(of(&doubling[..10], None).end_ns(100e6), None);
        // 0.3 Mbit/s are the initial window.
        assert_eq!(of(&doubling, None).end_ns(300e3), Some(800 * MS));
    }

    #[test]
    fn marks_losses_and_a_window_that_grows_no_further_end_it() {
        assert_eq!(of(&[10, 20, 40, 80], Some(2)).end_ns(100e6), Some(800 * MS));
        assert_eq!(of(&[10, 15, 22, 33, 50], None).end_ns(100e6), None, "an ACK for two packets");
        assert_eq!(of(&[10, 10, 10, 10, 10], None).end_ns(100e6), Some(1600 * MS));
    }
}
