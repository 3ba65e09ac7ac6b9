//! The smallest RTT of a while, as tcp_min_rtt keeps it.

/// Half of the span over which the smallest RTT is remembered (schema: 300 s).
const MIN_HALF_NS: i64 = 150_000_000_000;

/// Smallest value of the last 150 to 300 s.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowedMin {
    since_ns: i64,
    now: Option<i64>,
    before: Option<i64>,
}

impl WindowedMin {
    #[inline(always)]
    pub fn add(&mut self, ns: i64, at_ns: i64) {
        if at_ns - self.since_ns > MIN_HALF_NS {
            (self.before, self.now, self.since_ns) = (self.now, None, at_ns);
        }
        self.now = Some(self.now.map_or(ns, |m| m.min(ns)));
    }

    pub fn get(&self) -> Option<i64> {
        match (self.now, self.before) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}
