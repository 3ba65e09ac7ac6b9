//! RTT from timestamp echoes (RFC 7323): when a TSval was sent, and when it came back.

use std::collections::VecDeque;

use super::prefetch::prefetch;

/// TSvals waiting for their echo. One entry a clock tick of the sender, so 128 ms at 1 ms ticks; an
/// older TSval gives no sample.
const MOST: usize = 2048;

/// TSvals that one direction sent.
#[derive(Debug, Default)]
pub struct Echoes {
    sent: VecDeque<(u32, i64)>,
    last: Option<u32>,
    pub min_ns: Option<i64>,
}

impl Echoes {
    /// The direction sent `tsval`; true when it is newer than all before.
    #[inline]
    pub fn send(&mut self, tsval: u32, ts_ns: i64) -> bool {
        match self.last {
            Some(last) if last == tsval || (tsval.wrapping_sub(last) as i32) < 0 => return false,
            _ => {}
        }
        self.last = Some(tsval);
        if self.sent.len() >= MOST {
            self.sent.pop_front();
        }
        self.sent.push_back((tsval, ts_ns));
        true
    }

    /// The TSvals that come next.
    pub fn prefetch(&self) {
        self.sent.front().into_iter().chain(self.sent.back()).for_each(prefetch);
    }

    pub fn last(&self) -> Option<u32> {
        self.last
    }

    /// The other direction echoed `tsecr`: time since that TSval was first sent, once per TSval.
    #[inline]
    pub fn echoed(&mut self, tsecr: u32, ts_ns: i64) -> Option<i64> {
        let mut rtt = None;
        while let Some(&(tsval, sent_ns)) = self.sent.front() {
            if (tsval.wrapping_sub(tsecr) as i32) > 0 {
                break;
            }
            self.sent.pop_front();
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
