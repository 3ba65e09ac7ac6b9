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
    /// A period ended in which `acked` packets were delivered, `ce` of them marked.
    pub fn update(&mut self, acked: u32, ce: u32) {
        self.saw_ce |= ce > 0;
        if acked > 0 && self.saw_ce {
            let share = (f64::from(ce) / f64::from(acked)).min(1.0);
            self.value += GAIN * (share - self.value);
        }
    }
}

/// Alpha with the target RTT: a period ends with the first ACK that completes a round trip at least
/// 25 ms after the last update (prague_cong_control with prague_target_rtt_elapsed).
#[derive(Clone, Copy, Debug, Default)]
pub struct TargetAlpha {
    pub alpha: Alpha,
    acked: u32,
    ce: u32,
    mark: i64,
    since_ns: i64,
}

impl TargetAlpha {
    /// One ACK: what it delivered, and the marks it reported. `una` and `max` bound what is in flight.
    /// True when the ACK ended a period.
    #[inline]
    pub fn ack(&mut self, acked: u32, ce: u32, una: i64, max: i64, now_ns: i64) -> bool {
        self.acked = self.acked.saturating_add(acked);
        self.ce = self.ce.saturating_add(ce);
        let ended = una >= self.mark && now_ns - self.since_ns >= TARGET_NS;
        if ended {
            self.alpha.update(self.acked, self.ce);
            (self.acked, self.ce, self.mark, self.since_ns) = (0, 0, max, now_ns);
        }
        ended
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

    #[test]
    fn the_target_rtt_takes_acks_together() {
        const MS: i64 = 1_000_000;
        let mut a = TargetAlpha::default();
        a.ack(10, 10, 100, 200, 30 * MS);
        assert_eq!(a.alpha.value, 1.0);
        a.ack(10, 0, 200, 300, 40 * MS);
        a.ack(10, 0, 250, 350, 56 * MS);
        assert_eq!(a.alpha.value, 1.0 - 1.0 / 16.0);
    }
}
