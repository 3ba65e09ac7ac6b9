//! Alpha of DCTCP and Prague, replayed from the share of CE (prague_update_alpha, RFC 8257 section 3.3).

use crate::prague::build::{SHIFT_G, TARGET_RTT_US};

const GAIN: f64 = 1.0 / (1 << SHIFT_G) as f64;

/// No update comes sooner once Prague is RTT-independent.
const TARGET_NS: i64 = TARGET_RTT_US as i64 * 1000;

/// The moving average, updated once a period with the share of CE among delivered packets.
///
/// It starts at 1.0, as Prague's published builds from 5.4 to 6.6 do, and stays there until the first
/// CE; builds that start at 0 halve the window on the first CE instead, which is the same reaction.
#[derive(Clone, Copy, Debug)]
pub struct Alpha {
    pub value: f64,
    saw_ce: bool,
}

impl Default for Alpha {
    fn default() -> Self {
        Alpha { value: 1.0, saw_ce: false }
    }
}

impl Alpha {
    /// A period ended in which `acked` packets were delivered, `ce` of them marked. True when that counts.
    fn update(&mut self, acked: u32, ce: u32) -> bool {
        self.saw_ce |= ce > 0;
        let counts = acked > 0 && self.saw_ce;
        if counts {
            let share = (f64::from(ce) / f64::from(acked)).min(1.0);
            self.value += GAIN * (share - self.value);
        }
        counts
    }
}

/// One ACK as Prague's clock sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tick {
    /// Packets that it delivered, and the change of the CE count: best, lo, hi.
    pub acked: u32,
    pub ce: [i64; 3],
    /// Lowest byte not acknowledged, highest byte sent.
    pub una: i64,
    pub max: i64,
    pub now_ns: i64,
    pub slow_start: bool,
}

/// Alpha at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Replayed {
    /// From the best CE count, its lower and its upper bound.
    pub values: [f64; 3],
    /// Updates since the first CE: what is left of the initial alpha is (15/16)^updates.
    pub updates: u32,
}

/// Alpha by the clock of one build: a period is a round trip and, from `transition` rounds after slow start
/// on, at least the target RTT (prague_cong_control with prague_target_rtt_elapsed).
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// As in `Replayed`.
    alphas: [Alpha; 3],
    updates: u32,
    transition: u32,
    rounds: u32,
    acked: u32,
    ce: [i64; 3],
    mark: i64,
    since_ns: i64,
}

impl Clock {
    pub fn new(transition: u32, start: i64) -> Self {
        Clock {
            alphas: Default::default(),
            updates: 0,
            transition,
            rounds: 0,
            acked: 0,
            ce: [0; 3],
            mark: start,
            since_ns: i64::MIN,
        }
    }

    /// True when the ACK ended a period.
    #[inline]
    pub fn tick(&mut self, t: &Tick) -> bool {
        self.acked = self.acked.saturating_add(t.acked);
        if t.ce != [0; 3] {
            self.ce.iter_mut().zip(t.ce).for_each(|(sum, ce)| *sum += ce);
        }
        let paced = !t.slow_start && self.rounds >= self.transition;
        if t.una < self.mark || (paced && t.now_ns.saturating_sub(self.since_ns) < TARGET_NS) {
            return false;
        }
        self.end(t);
        true
    }

    pub fn replayed(&self) -> Replayed {
        Replayed { values: self.alphas.map(|alpha| alpha.value), updates: self.updates }
    }

    fn end(&mut self, t: &Tick) {
        let ce = self.ce.map(|ce| ce.clamp(0, i64::from(u32::MAX)) as u32);
        let [best, lo, hi] = &mut self.alphas;
        if best.update(self.acked, ce[0]) {
            self.updates += 1;
            self.since_ns = t.now_ns;
        }
        lo.update(self.acked, ce[1]);
        hi.update(self.acked, ce[2]);
        self.rounds += u32::from(!t.slow_start);
        (self.acked, self.ce, self.mark) = (0, [0; 3], t.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_at_one_until_the_first_ce_and_then_decays() {
        let mut a = Alpha::default();
        a.update(10, 0);
        assert_eq!(a.value, 1.0);
        a.update(10, 5);
        assert_eq!(a.value, 1.0 - 0.5 / 16.0);
        a.update(10, 0);
        assert!((a.value - (1.0 - 0.5 / 16.0) * 15.0 / 16.0).abs() < 1e-12);
    }

    const MS: i64 = 1_000_000;

    /// An ACK at `ms` for 10 packets, `ce` of them marked, that ends a round trip.
    fn round(clock: &mut Clock, ms: i64, ce: i64) -> bool {
        let (una, now_ns) = (ms * 100, ms * MS);
        clock.tick(&Tick { acked: 10, ce: [ce; 3], una, max: una + 50, now_ns, slow_start: false })
    }

    #[test]
    fn every_round_is_a_period_until_the_transition() {
        let mut clock = Clock::new(2, 0);
        assert!([1, 2].map(|ms| round(&mut clock, ms, 10)).iter().all(|ended| *ended));
        assert_eq!((clock.updates, clock.alphas[0].value), (2, 1.0));
        // From here on, 25 ms pass between two updates, and all rounds between them count.
        assert!(!round(&mut clock, 12, 0) && !round(&mut clock, 22, 0));
        assert!(round(&mut clock, 27, 0));
        assert_eq!((clock.updates, clock.alphas[0].value), (3, 1.0 - GAIN));
    }

    #[test]
    fn slow_start_is_not_paced_and_its_rounds_do_not_count() {
        let mut clock = Clock::new(0, 0);
        for ms in 1..9 {
            let tick = Tick { acked: 1, ce: [1; 3], una: ms, max: ms, now_ns: ms * MS, slow_start: true };
            assert!(clock.tick(&tick));
        }
        assert_eq!(clock.rounds, 0);
        assert!(!round(&mut clock, 9, 0));
    }

    #[test]
    fn bounds_of_the_count_are_bounds_of_alpha() {
        let mut clock = Clock::new(500, 0);
        round(&mut clock, 1, 10);
        let tick = Tick { acked: 10, ce: [2, 1, 9], una: 200, max: 250, now_ns: 2 * MS, slow_start: false };
        clock.tick(&tick);
        let [best, lo, hi] = clock.alphas.map(|alpha| alpha.value);
        assert!(lo < best && best < hi);
    }
}
