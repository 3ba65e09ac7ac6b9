//! When a sender reduces its window, and the slow-start threshold that its last reduction left.

use crate::prague::filter::INFINITE_SSTHRESH;

/// MIN_CWND of tcp_prague.c: the window does not fall below two packets.
const MIN_CWND: u32 = 2;

/// A mark makes the kernel enter CWR, a loss Recovery, once a round trip. The window then sinks by one
/// packet per ACK and takes the threshold with it (prague_update_cwnd): the first packet that may leave
/// again fills what is left of the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reductions {
    /// The round has had its reduction.
    done: bool,
    /// Number of the round of the last one.
    round: Option<u32>,
    /// Least that a data packet left in flight since then, as long as the window follows the reduction.
    lowest: Option<u32>,
}

impl Reductions {
    /// A mark or a loss in round `number`: the threshold that the last reduction left, if it makes a new one.
    pub fn begin(&mut self, number: u32, in_flight: u32) -> Option<u32> {
        if std::mem::replace(&mut self.done, true) {
            return None;
        }
        let low = self.lowest.take().unwrap_or(in_flight).max(MIN_CWND);
        let first = self.round.replace(number).is_none();
        Some(if first { INFINITE_SSTHRESH } else { low })
    }

    /// A data packet left in round `number`, with so many in flight.
    #[inline]
    pub fn sent(&mut self, number: u32, in_flight: u32) {
        if self.round.is_some_and(|round| number <= round + 1) {
            self.lowest = Some(self.lowest.map_or(in_flight, |low| low.min(in_flight)));
        }
    }

    /// Slow start ended in round `number` at this window although nothing was marked or lost: builds up to 2022
    /// leave frac_cwnd behind in slow start, and the window follows it down (prague_update_cwnd).
    pub fn end_slow_start(&mut self, number: u32, window: u32) {
        if self.round.is_none() {
            (self.round, self.lowest) = (Some(number), Some(window));
        }
    }

    pub fn end_round(&mut self) {
        self.done = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_what_the_last_reduction_left() {
        let mut reductions = Reductions::default();
        assert_eq!(reductions.begin(3, 40), Some(INFINITE_SSTHRESH));
        assert_eq!(reductions.begin(3, 40), None, "once a round trip");
        for in_flight in [30, 25, 26, 27] {
            reductions.sent(4, in_flight);
        }
        reductions.sent(9, 12);
        reductions.end_round();
        assert_eq!(reductions.begin(10, 31), Some(25));
    }

    #[test]
    fn slow_start_may_end_without_a_reduction() {
        let mut reductions = Reductions::default();
        reductions.end_slow_start(3, 11);
        reductions.end_slow_start(4, 36);
        assert_eq!(reductions.begin(35, 36), Some(11));
    }

    #[test]
    fn a_window_does_not_fall_below_two_packets() {
        let mut reductions = Reductions::default();
        reductions.begin(3, 2);
        reductions.sent(3, 1);
        reductions.end_round();
        assert_eq!(reductions.begin(4, 1), Some(MIN_CWND));
    }
}
