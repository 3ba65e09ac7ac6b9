//! RTTs of a whole direction.

/// Their number, sum and extremes.
#[derive(Clone, Copy, Debug, Default)]
pub struct RttTotals {
    pub min_ns: i64,
    pub max_ns: i64,
    pub sum_ns: i64,
    pub samples: u64,
}

impl RttTotals {
    #[inline(always)]
    pub fn add(&mut self, ns: i64) {
        if self.samples == 0 {
            (self.min_ns, self.max_ns) = (ns, ns);
        }
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.samples += 1;
    }
}
