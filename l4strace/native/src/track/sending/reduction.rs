//! When a sender reduces its window, and the slow-start threshold that its last reduction left.

use crate::prague::filter::INFINITE_SSTHRESH;
use crate::prague::Ssthresh;

/// MIN_CWND of tcp_prague.c: the window does not fall below two packets.
const MIN_CWND: u32 = 2;

/// A mark makes the kernel enter CWR, a loss Recovery, once a round trip. The window then sinks by one
/// packet per ACK and takes the threshold with it (prague_update_cwnd): the first packet that may leave
/// again fills what is left of the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reductions {
    /// The reduction lasts until more than this is acknowledged.
    until: Option<i64>,
    /// Number of the round of the last one.
    round: Option<u32>,
    /// Least that a data packet left in flight since then, as long as the window follows the reduction.
    lowest: Option<u32>,
    /// Most that one did in the round after it: the window has come down by then.
    highest: u32,
    /// No reduction is known, only that slow start ended: some builds leave the threshold infinite.
    assumed: bool,
}

impl Reductions {
    /// A mark or a loss in round `number`: the threshold that the last reduction left, if it makes a new one.
    ///
    /// `una` is acknowledged and `max` sent: a reduction lasts until something beyond what was sent at its start is
    /// acknowledged (TCP_CA_CWR up to high_seq).
    pub fn begin(&mut self, number: u32, in_flight: u32, una: i64, max: i64) -> Option<Ssthresh> {
        if self.until.is_some_and(|until| una <= until) {
            return None;
        }
        self.until = Some(max);
        let low = self.lowest.take().unwrap_or(in_flight).max(MIN_CWND);
        let most = std::mem::take(&mut self.highest).max(low);
        let assumed = std::mem::take(&mut self.assumed);
        if self.round.replace(number).is_none() {
            return Some(Ssthresh {
                best: INFINITE_SSTHRESH,
                least: INFINITE_SSTHRESH,
                most: INFINITE_SSTHRESH,
            });
        }
        Some(Ssthresh { best: low, least: low, most: if assumed { INFINITE_SSTHRESH } else { most } })
    }

    /// A data packet left in round `number`, with so many in flight.
    #[inline(always)]
    pub fn sent(&mut self, number: u32, in_flight: u32) {
        if self.round.is_some_and(|round| number <= round + 1) {
            self.lowest = Some(self.lowest.map_or(in_flight, |low| low.min(in_flight)));
            if self.round != Some(number) {
                self.highest = self.highest.max(in_flight);
            }
        }
    }

    /// Slow start ended in round `number` at this window although nothing was marked or lost: builds up to 2022
    /// leave frac_cwnd behind in slow start, and the window follows it down (prague_update_cwnd).
    pub fn end_slow_start(&mut self, number: u32, window: u32) {
        if self.round.is_none() {
            (self.round, self.lowest, self.assumed) = (Some(number), Some(window), true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reduction at a mark in round `number`, each round of 100 bytes.
    fn bounds(reductions: &mut Reductions, number: u32, in_flight: u32) -> Option<(u32, u32, u32)> {
        let una = i64::from(number) * 100;
        reductions.begin(number, in_flight, una + 1, una + 100).map(|s| (s.best, s.least, s.most))
    }

    const NONE: (u32, u32, u32) = (INFINITE_SSTHRESH, INFINITE_SSTHRESH, INFINITE_SSTHRESH);

    #[test]
    fn the_threshold_is_what_the_last_reduction_left() {
        let mut reductions = Reductions::default();
        assert_eq!(bounds(&mut reductions, 3, 40), Some(NONE));
        reductions.sent(3, 30);
        for in_flight in [25, 26, 27] {
            reductions.sent(4, in_flight);
        }
        reductions.sent(9, 12);
        assert_eq!(bounds(&mut reductions, 10, 31), Some((25, 25, 27)));
    }

    #[test]
    fn a_reduction_lasts_until_more_is_acknowledged_than_was_sent_at_its_start() {
        let mut reductions = Reductions::default();
        assert!(reductions.begin(3, 40, 350, 450).is_some());
        assert_eq!(reductions.begin(3, 40, 360, 460), None);
        assert_eq!(reductions.begin(4, 40, 450, 550), None, "another round, the same round trip");
        assert!(reductions.begin(4, 40, 451, 551).is_some());
    }

    #[test]
    fn the_window_on_its_way_down_is_no_threshold() {
        let mut reductions = Reductions::default();
        bounds(&mut reductions, 3, 40);
        [40, 36, 33].into_iter().for_each(|in_flight| reductions.sent(3, in_flight));
        reductions.sent(4, 31);
        assert_eq!(bounds(&mut reductions, 5, 31), Some((31, 31, 31)));
    }

    #[test]
    fn slow_start_may_end_without_a_reduction() {
        let mut reductions = Reductions::default();
        reductions.end_slow_start(3, 11);
        reductions.end_slow_start(4, 36);
        assert_eq!(bounds(&mut reductions, 35, 36), Some((11, 11, INFINITE_SSTHRESH)));
    }

    #[test]
    fn a_window_does_not_fall_below_two_packets() {
        let mut reductions = Reductions::default();
        bounds(&mut reductions, 3, 2);
        reductions.sent(3, 1);
        assert_eq!(bounds(&mut reductions, 4, 1), Some((MIN_CWND, MIN_CWND, MIN_CWND)));
    }
}
