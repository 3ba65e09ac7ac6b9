//! Whether a sender waits for its reports: it pauses until one comes and then goes on at once.

/// A packet that leaves so soon after a report was let go by it: see `track::sending::window`.
const PROMPT_NS: i64 = 200_000;
/// A sender waits for its report when nothing leaves for so many of its usual distances between packets.
const PAUSE: i64 = 4;

/// What was sent since the last report.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    first_ns: i64,
    last_ns: i64,
    packets: i64,
    /// When a report came after a pause, and how long that was.
    paused: Option<(i64, i64)>,
}

impl Pace {
    /// A packet leaves; the time (ns) for which it waited for the last report.
    pub fn sent(&mut self, ns: i64) -> i64 {
        let waited = self.paused.take().filter(|(at, _)| ns.saturating_sub(*at) <= PROMPT_NS);
        if self.packets == 0 {
            self.first_ns = ns;
        }
        self.last_ns = ns;
        self.packets += 1;
        waited.map_or(0, |(_, pause_ns)| pause_ns)
    }

    /// A report comes: nothing may have been sent for long before it.
    pub fn report(&mut self, now_ns: i64) {
        let pause_ns = now_ns.saturating_sub(self.last_ns);
        let distance_ns = self.last_ns.saturating_sub(self.first_ns) / (self.packets - 1).max(1);
        let paused = self.packets > 1 && pause_ns > distance_ns.max(PROMPT_NS).saturating_mul(PAUSE);
        *self = Pace { paused: paused.then_some((now_ns, pause_ns - distance_ns)), ..Pace::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_no_clock_has_wrap_nothing() {
        let mut pace = Pace::default();
        pace.sent(-(1 << 62));
        pace.sent(1 << 62);
        pace.report((1 << 62) + 1);
        assert_eq!(pace.sent((1 << 62) + 2), 0);
    }
}
