//! The congestion window from one ACK to the next, bounded by what is in flight.
//!
//! More is never in flight than the window allows, so that every packet sent is a lower bound. It is all that the
//! window allows where an ACK made the sender send at once and then nothing followed for longer than pacing
//! waits: an upper bound, but for the packets that segmentation holds back. Both hold until the window
//! may have grown or shrunk, which only ACKs do.

/// By eye: a kernel answers an ACK within some tens of microseconds, and within a sixteenth of short RTTs. What
/// leaves later waited for pacing or for the application.
const PROMPT_NS: i64 = 200_000;
const PROMPT_PART: i64 = 16;
/// Pacing by one window a smoothed RTT (tcp_update_pacing_rate, prague_update_pacing_rate) waits one RTT / window
/// per packet; a quarter more for what its clock and the RTT differ.
const PACED: (i64, i64) = (5, 4);
/// Packets that follow each other within this are one burst, for all of which pacing waits.
const BURST_NS: i64 = 200_000;
/// tcp_tso_should_defer holds back less than a third of the window (tcp_tso_win_divisor), and less than
/// tcp_tso_autosize makes of 2^-10 s at the paced rate, at least two packets.
const DIVISOR: u32 = 3;
const AUTOSIZE_NS: u64 = 1_000_000_000 >> 10;
const MIN_SEGMENTS: u32 = 2;
/// The window counts as shown where its bounds lie this close to their middle.
const FINE: f64 = 0.03;

/// One ACK that delivers data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    pub ts_ns: i64,
    /// Packets that it delivers, and that are in flight behind it.
    pub packets: u32,
    pub in_flight: u32,
    pub rtt_ns: Option<i64>,
    pub una: i64,
    pub slow_start: bool,
}

/// In packets.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    low: u32,
    /// Infinite while pacing or the application may hold the sender back.
    high: f64,
}

const UNKNOWN: Bounds = Bounds { low: 0, high: f64::INFINITY };

#[derive(Clone, Copy, Debug)]
pub struct Window {
    now: Bounds,
    /// Of the time that the last ACK ended.
    before: Bounds,
    /// Since the last ACK: most in flight, and when data was first sent.
    filled: u32,
    first_ns: Option<i64>,
    acked_ns: i64,
    last_ns: i64,
    burst: u32,
    srtt_ns: i64,
    /// A reduction may last until this is acknowledged.
    shrinks_until: i64,
    /// Until this is acknowledged, a loss hides how much is in flight.
    lossy_until: Option<i64>,
}

impl Default for Window {
    fn default() -> Self {
        Window {
            now: UNKNOWN,
            before: UNKNOWN,
            filled: 0,
            first_ns: None,
            acked_ns: 0,
            last_ns: 0,
            burst: 0,
            srtt_ns: 0,
            shrinks_until: i64::MIN,
            lossy_until: None,
        }
    }
}

impl Window {
    /// New data, of so many packets on the wire, and what is in flight with it.
    #[inline(always)]
    pub fn sent(&mut self, ts_ns: i64, packets: u32, in_flight: u32) {
        self.first_ns.get_or_insert(ts_ns);
        let one_burst = ts_ns.wrapping_sub(self.last_ns) < BURST_NS;
        self.burst = if one_burst { self.burst.saturating_add(packets) } else { packets };
        self.last_ns = ts_ns;
        self.filled = self.filled.max(in_flight);
    }

    /// Data is retransmitted; everything up to `max` was sent.
    pub fn lost(&mut self, max: i64) {
        (self.now, self.lossy_until) = (UNKNOWN, Some(max));
    }

    /// The last ACK reported a mark: a reduction may take a round trip from here.
    pub fn marked(&mut self, max: i64) {
        (self.now.low, self.shrinks_until) = (0, max);
    }

    #[inline(always)]
    pub fn acked(&mut self, ack: &Acked) {
        self.close(ack.ts_ns);
        if let Some(ns) = ack.rtt_ns.filter(|&ns| ns > 0) {
            // tcp_rtt_estimator: 1/8 of the error.
            self.srtt_ns = if self.srtt_ns == 0 { ns } else { self.srtt_ns + (ns - self.srtt_ns) / 8 };
        }
        if ack.una <= self.shrinks_until {
            self.now.low = 0;
        }
        self.lossy_until = self.lossy_until.filter(|&until| ack.una <= until);
        // Slow start grows by what is delivered, congestion avoidance by one packet a window.
        if self.now.high.is_finite() {
            let packets = f64::from(ack.packets);
            self.now.high += if ack.slow_start { packets } else { packets / f64::from(self.filled.max(1)) };
        }
        (self.filled, self.first_ns, self.acked_ns) = (ack.in_flight, None, ack.ts_ns);
    }

    /// The window that held until the last ACK; `None` where the packets do not show it to 3 %.
    pub fn before_ack(&self) -> Option<f64> {
        let (low, high) = (f64::from(self.before.low), self.before.high.floor());
        let middle = (low + high) / 2.0;
        (low > 0.0 && high - middle <= FINE * middle).then_some(middle)
    }

    /// An ACK ends the time since the last one: all that was sent in it is known.
    #[inline(always)]
    fn close(&mut self, now_ns: i64) {
        if self.lossy_until.is_some() {
            self.now = UNKNOWN;
            self.before = UNKNOWN;
            return;
        }
        self.now.low = self.now.low.max(self.filled);
        if self.is_full(now_ns) {
            self.now.high = self.now.high.min(self.full());
        }
        if f64::from(self.now.low) > self.now.high {
            // It grew faster than by one packet a window.
            self.now.high = self.full();
        }
        self.before = self.now;
    }

    /// Data left at once when the last ACK came, and nothing in a time in which pacing would have let more go.
    #[inline(always)]
    fn is_full(&self, now_ns: i64) -> bool {
        let Some(first_ns) = self.first_ns else { return false };
        if self.srtt_ns == 0 {
            return false;
        }
        let prompt = PROMPT_NS.min(self.srtt_ns / PROMPT_PART);
        let silent_ns = now_ns.saturating_sub(self.last_ns);
        let paced_ns = self.srtt_ns.saturating_mul(i64::from(self.burst));
        first_ns.saturating_sub(self.acked_ns) <= prompt
            && silent_ns.saturating_mul(i64::from(self.filled)).saturating_mul(PACED.1)
                > paced_ns.saturating_mul(PACED.0)
    }

    /// What the window allows if all that it lets go has left.
    fn full(&self) -> f64 {
        f64::from(self.filled.saturating_add(self.deferred()))
    }

    /// Packets that the window may still allow and tcp_tso_should_defer holds back.
    fn deferred(&self) -> u32 {
        let rtt_ns = self.srtt_ns.max(1) as u64;
        let autosize = (u64::from(self.filled) * AUTOSIZE_NS / rtt_ns).min(u64::from(u32::MAX)) as u32;
        let third = self.filled.saturating_add(1).div_ceil(DIVISOR);
        autosize.max(MIN_SEGMENTS).min(third) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT_NS: i64 = 10_000_000;

    /// A sender with `cwnd` packets in flight.
    struct Talk {
        window: Window,
        now_ns: i64,
        cwnd: u32,
    }

    impl Talk {
        fn new(cwnd: u32) -> Self {
            let mut talk = Talk { window: Window::default(), now_ns: 0, cwnd };
            talk.window.sent(0, cwnd, cwnd);
            talk.now_ns = RTT_NS;
            talk
        }

        /// An ACK for one packet, 3/4 of an RTT after the last, answered after `wait_ns` with as many packets as fill `in_flight`.
        fn ack(&mut self, wait_ns: i64, in_flight: u32) -> Option<f64> {
            let before = self.cwnd;
            let ack = Acked {
                ts_ns: self.now_ns,
                packets: 1,
                in_flight: before - 1,
                rtt_ns: Some(RTT_NS),
                una: self.now_ns,
                slow_start: false,
            };
            self.window.acked(&ack);
            let shown = self.window.before_ack();
            for packets in before..=in_flight {
                self.window.sent(self.now_ns + wait_ns, 1, packets);
            }
            self.cwnd = in_flight.max(before - 1);
            self.now_ns += RTT_NS * 3 / 4;
            shown
        }
    }

    #[test]
    fn a_prompt_reply_and_silence_after_it_show_a_small_window() {
        let mut talk = Talk::new(2);
        let shown: Vec<_> = (0..4).map(|_| talk.ack(20_000, 2)).collect();
        assert_eq!(shown, [None, Some(2.0), Some(2.0), Some(2.0)]);
    }

    #[test]
    fn segmentation_may_hide_one_packet_of_a_window_of_ten() {
        let mut talk = Talk::new(10);
        let shown: Vec<_> = (0..4).map(|_| talk.ack(20_000, 10)).collect();
        assert_eq!(shown, [None; 4]);
    }

    #[test]
    fn what_segmentation_hides_of_a_large_window_matters_little() {
        let mut talk = Talk::new(40);
        talk.ack(20_000, 40);
        let shown: Vec<_> = (0..3).map(|_| talk.ack(20_000, 40)).collect();
        assert!(shown.iter().flatten().all(|w| (w - 40.0).abs() <= 0.03 * 40.0), "{shown:?}");
        assert!(shown[2].is_some(), "{shown:?}");
    }

    #[test]
    fn pacing_and_an_application_do_not_show_the_window() {
        let mut talk = Talk::new(2);
        let shown: Vec<_> = (0..6).map(|_| talk.ack(2_000_000, 2)).collect();
        assert_eq!(shown, [None; 6]);
    }

    #[test]
    fn a_loss_hides_the_window_until_it_is_repaired() {
        let mut talk = Talk::new(2);
        assert_eq!((0..4).map(|_| talk.ack(20_000, 2)).last(), Some(Some(2.0)));
        talk.window.lost(talk.now_ns);
        let shown: Vec<_> = (0..4).map(|_| talk.ack(20_000, 2)).collect();
        assert_eq!(shown, [None, None, Some(2.0), Some(2.0)]);
    }

    #[test]
    fn after_a_mark_the_window_shrinks() {
        let mut talk = Talk::new(40);
        assert_eq!((0..4).map(|_| talk.ack(20_000, 40)).last(), Some(Some(41.0)));
        talk.window.marked(i64::MAX);
        (0..10).for_each(|_| {
            talk.ack(20_000, 0);
        });
        assert_eq!((0..3).map(|_| talk.ack(20_000, 30)).last(), Some(Some(30.5)));
    }
}
