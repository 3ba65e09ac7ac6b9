//! Timestamp units of a pcapng interface (if_tsresol).

/// How many nanoseconds a tick is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Ticks of so many nanoseconds.
    Times(u64),
    /// So many ticks in a nanosecond.
    Per(u64),
    /// 2^n ticks in a second.
    Binary(u32),
}

impl Default for Resolution {
    /// Microseconds, where the option is absent.
    fn default() -> Self {
        Resolution::Times(1000)
    }
}

impl Resolution {
    /// The high bit of the option means that the rest is a power of two rather than of ten.
    pub fn from_code(code: u8) -> Self {
        match (code & 0x80 != 0, u32::from(code & 0x7f)) {
            (true, power) => Resolution::Binary(power.min(63)),
            (false, power @ 0..=9) => Resolution::Times(10u64.pow(9 - power)),
            (false, power) => Resolution::Per(10u64.saturating_pow(power - 9)),
        }
    }

    /// Whole nanoseconds; hostile values wrap.
    #[inline]
    pub fn ns(self, ticks: u64) -> i64 {
        match self {
            Resolution::Times(ns) => ticks.wrapping_mul(ns) as i64,
            Resolution::Per(ticks_per_ns) => (ticks / ticks_per_ns) as i64,
            Resolution::Binary(power) => ((u128::from(ticks) * 1_000_000_000) >> power) as i64,
        }
    }

    /// For people: at least 1.
    pub fn coarse_ns(self) -> u32 {
        match self {
            Resolution::Times(ns) => ns as u32,
            Resolution::Per(_) => 1,
            Resolution::Binary(power) => (1_000_000_000u64 >> power).max(1) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_and_two() {
        assert_eq!(Resolution::from_code(6).ns(1_500_000), 1_500_000_000);
        assert_eq!(Resolution::from_code(9).ns(7), 7);
        assert_eq!(Resolution::from_code(12).ns(7_999), 7);
        assert_eq!(Resolution::from_code(0).ns(3), 3_000_000_000);
        assert_eq!(Resolution::from_code(0x80 | 10).ns(1024), 1_000_000_000);
        assert_eq!(Resolution::from_code(0xff).ns(u64::MAX).signum(), 1);
    }
}
