//! RTT from timestamp echoes (RFC 7323): when a TSval was sent, and when it came back.

use super::queue::Queue;
use crate::track::prefetch::prefetch;

/// TSvals waiting for their echo. One entry a clock tick of the sender, so 128 ms at 1 ms ticks; an
/// older TSval gives no sample.
const MOST: usize = 2048;

/// Ticks that show the rate of a timestamp clock, to a tenth.
const RATE_TICKS: f64 = 10.0;

/// A host's timestamp clock at one moment, and its ticks per nanosecond.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    tsval: u32,
    at_ns: i64,
    rate: f64,
}

impl Reference {
    /// By how much the capture's clock ran ahead of the host's since then, as a packet shows it.
    pub fn ahead_ns(&self, tsval: u32, ts_ns: i64) -> f64 {
        let shown = f64::from(tsval.wrapping_sub(self.tsval) as i32) / self.rate;
        ts_ns.saturating_sub(self.at_ns) as f64 - shown.max(0.0)
    }

    /// The same, where the host's clock stood still for more than half of the time.
    pub fn stood_still_ns(&self, tsval: u32, ts_ns: i64) -> Option<i64> {
        let passed = ts_ns.saturating_sub(self.at_ns) as f64;
        // A silence that is longer than half the timestamp's range shows nothing.
        if self.rate * passed > f64::from(i32::MAX) {
            return None;
        }
        let ahead = self.ahead_ns(tsval, ts_ns);
        (ahead > passed / 2.0).then_some(ahead as i64)
    }
}

/// TSvals that one direction sent.
#[derive(Debug, Default)]
pub struct Echoes {
    sent: Queue<(u32, i64)>,
    first: (u32, i64),
    last: Option<u32>,
    last_ns: i64,
    pub min_ns: Option<i64>,
}

impl Echoes {
    /// The direction sent `tsval`; true when it is newer than all before.
    #[inline(always)]
    pub fn send(&mut self, tsval: u32, ts_ns: i64) -> bool {
        match self.last {
            Some(last) if last == tsval || (tsval.wrapping_sub(last) as i32) < 0 => return false,
            _ => {}
        }
        if self.last.is_none() {
            self.first = (tsval, ts_ns);
        }
        (self.last, self.last_ns) = (Some(tsval), ts_ns);
        if self.sent.len() >= MOST {
            self.sent.take(1);
        }
        self.sent.push((tsval, ts_ns));
        true
    }

    /// The last TSval, where those before show how fast their clock ticks.
    pub fn reference(&self) -> Option<Reference> {
        let tsval = self.last?;
        let ticks = f64::from(tsval.wrapping_sub(self.first.0));
        let elapsed = self.last_ns.saturating_sub(self.first.1);
        let rate = ticks / elapsed as f64;
        (ticks >= RATE_TICKS && elapsed > 0).then_some(Reference { tsval, at_ns: self.last_ns, rate })
    }

    /// No TSval that was sent so far gives a sample.
    pub fn forget(&mut self) {
        self.sent.clear();
    }

    /// The TSvals that come next.
    pub fn prefetch(&self) {
        self.sent.first().into_iter().chain(self.sent.last()).for_each(prefetch);
    }

    pub fn last(&self) -> Option<u32> {
        self.last
    }

    /// The other direction echoed `tsecr`: time since that TSval was first sent, once per TSval.
    #[inline(always)]
    pub fn echoed(&mut self, tsecr: u32, ts_ns: i64) -> Option<i64> {
        let mut rtt = None;
        while let Some(&(tsval, sent_ns)) = self.sent.first() {
            if (tsval.wrapping_sub(tsecr) as i32) > 0 {
                break;
            }
            self.sent.take(1);
            if tsval == tsecr {
                rtt = Some(ts_ns - sent_ns);
            }
        }
        if let Some(ns) = rtt.filter(|&ns| ns >= 0) {
            self.min_ns = Some(self.min_ns.map_or(ns, |m| m.min(ns)));
        }
        rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_runs_ahead_shows_against_the_timestamps() {
        let mut e = Echoes::default();
        const MS: i64 = 1_000_000;
        assert!(e.reference().is_none());
        (0..100).for_each(|ms| {
            e.send(ms as u32, ms * MS);
        });
        let hour = 3_600_000 * MS;
        let clock = e.reference().expect("a rate");
        // The flow was silent for an hour, or the clock was set.
        assert_eq!(clock.stood_still_ns(99 + 3_600_000, 99 * MS + hour), None);
        let ahead = clock.stood_still_ns(104, 99 * MS + hour).expect("set forward");
        assert!((ahead - (hour - 5 * MS)).abs() < MS, "{ahead}");
        // The timestamps may have wrapped.
        assert_eq!(clock.stood_still_ns(104, 99 * MS + 1000 * hour), None);
    }

    #[test]
    fn a_stamp_gives_one_sample_from_its_first_sending() {
        let mut e = Echoes::default();
        assert!(e.send(10, 100));
        assert!(!e.send(10, 150));
        e.send(11, 200);
        assert_eq!(e.echoed(10, 600), Some(500));
        assert_eq!(e.echoed(10, 700), None);
        assert_eq!(e.echoed(11, 800), Some(600));
        assert_eq!(e.min_ns, Some(500));
    }
}
