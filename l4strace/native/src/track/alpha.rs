//! Alpha of DCTCP and Prague, replayed from the share of CE (reference section 4.1).

/// Gain 1/16 (PRAGUE_SHIFT_G 4).
const GAIN: f64 = 1.0 / 16.0;

/// The moving average, updated once a period with the share of CE among delivered packets.
///
/// It starts at 1.0, as Prague's published builds from 5.4 to 6.6 do, and stays there until the first
/// CE; builds that start at 0 halve the window on the first CE instead, which is the same reaction.
#[derive(Clone, Copy, Debug)]
pub struct Alpha {
    pub value: f64,
    saw_ce: bool,
    acked: u64,
    ce: u64,
    since_ns: i64,
}

impl Default for Alpha {
    fn default() -> Self {
        Alpha { value: 1.0, saw_ce: false, acked: 0, ce: 0, since_ns: i64::MIN }
    }
}

impl Alpha {
    /// A round ended: update, unless the last update is less than `period_ns` ago.
    pub fn round(&mut self, acked: u32, ce: u32, now_ns: i64, period_ns: i64) {
        self.acked += u64::from(acked);
        self.ce += u64::from(ce);
        self.saw_ce |= ce > 0;
        if self.acked == 0 || now_ns.saturating_sub(self.since_ns) < period_ns {
            return;
        }
        if self.saw_ce {
            let share = (self.ce as f64 / self.acked as f64).min(1.0);
            self.value += GAIN * (share - self.value);
        }
        (self.acked, self.ce, self.since_ns) = (0, 0, now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_at_one_until_the_first_ce_and_then_decays() {
        let mut a = Alpha::default();
        a.round(10, 0, 0, 0);
        assert_eq!(a.value, 1.0);
        a.round(10, 5, 1, 0);
        assert_eq!(a.value, 1.0 - 0.5 / 16.0);
        a.round(10, 0, 2, 0);
        assert!((a.value - (1.0 - 0.5 / 16.0) * 15.0 / 16.0).abs() < 1e-12);
    }

    #[test]
    fn a_longer_period_takes_rounds_together() {
        let mut a = Alpha::default();
        a.round(10, 10, 0, 25);
        let first = a.value;
        a.round(10, 0, 10, 25);
        assert_eq!(a.value, first);
        a.round(10, 10, 30, 25);
        assert!((a.value - (first + (0.5 - first) / 16.0)).abs() < 1e-12);
    }
}
