//! The smallest RTT of a while, as tcp_min_rtt keeps it.

/// Half of the span over which the smallest RTT is remembered (schema: 300 s).
const MIN_HALF_NS: i64 = 150_000_000_000;

/// Smallest value of the last 150 to 300 s.
#[derive(Clone, Copy, Debug)]
pub struct WindowedMin {
    since_ns: i64,
    now: i64,
    before: i64,
}

/// More than any value.
const NONE: i64 = i64::MAX;

impl Default for WindowedMin {
    fn default() -> Self {
        WindowedMin { since_ns: 0, now: NONE, before: NONE }
    }
}

impl WindowedMin {
    #[inline(always)]
    pub fn add(&mut self, ns: i64, at_ns: i64) {
        if at_ns - self.since_ns > MIN_HALF_NS {
            (self.before, self.now, self.since_ns) = (self.now, NONE, at_ns);
        }
        self.now = self.now.min(ns);
    }

    pub fn get(&self) -> Option<i64> {
        Some(self.now.min(self.before)).filter(|&least| least < NONE)
    }
}
