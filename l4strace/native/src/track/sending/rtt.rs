//! RTTs of a whole direction.

/// Their number, sum and extremes.
#[derive(Clone, Copy, Debug)]
pub struct RttTotals {
    pub min_ns: i64,
    pub max_ns: i64,
    pub sum_ns: i64,
    pub samples: u64,
}

impl Default for RttTotals {
    fn default() -> Self {
        RttTotals { min_ns: i64::MAX, max_ns: i64::MIN, sum_ns: 0, samples: 0 }
    }
}

impl RttTotals {
    /// With the samples of both.
    pub fn and(&self, other: &Self) -> Self {
        RttTotals {
            min_ns: self.min_ns.min(other.min_ns),
            max_ns: self.max_ns.max(other.max_ns),
            sum_ns: self.sum_ns.saturating_add(other.sum_ns),
            samples: self.samples + other.samples,
        }
    }

    #[inline(always)]
    pub fn add(&mut self, ns: i64) {
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.samples += 1;
    }
}
