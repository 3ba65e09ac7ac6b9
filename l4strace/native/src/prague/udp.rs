//! UDP Prague's controller, computed as its sender does (`prague_cc.cpp` of L4STeam/udp_prague): times in us, rates in
//! bytes a second, the window in millionths of a byte. Its integers wrap where they do there.

/// Window and rate grow as those of a flow with this RTT at least.
const REF_RTT_US: i32 = 25_000;
const ALPHA_SHIFT: u32 = 4;
const PROB_SHIFT: u32 = 20;
const MAX_PROB: i64 = 1 << PROB_SHIFT;
/// Virtual RTTs after a reduction in which it grows by one packet each: seven, and one more for each 15.36 Mbit/s.
const MIN_STEP: u64 = 7;
const RATE_STEP: u64 = 1_920_000;
/// Behind these it grows by so much queue (us) a virtual RTT.
const QUEUE_GROWTH_US: u64 = 1000;
const MIN_WINDOW: u64 = 2;
const MIN_PACKET: u64 = 150;
const MAX_PACKET: u64 = 1400;
/// Packets may leave so much (%) faster than the rate.
const RATE_OFFSET: u64 = 3;
const MIN_RATE: u64 = 12_500;
const MAX_RATE: u64 = 12_500_000_000;
/// Below this RTT it controls the rate and not the window.
const LEAST_RTT_US: i32 = 2000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Init,
    Avoidance,
    Loss,
    Cwr,
}

/// What the receiver had counted, as an acknowledgement reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub received: i32,
    pub ce: i32,
    pub lost: i32,
}

/// What one acknowledgement made the sender do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Done {
    #[default]
    Nothing,
    /// A reduction by alpha/2, to which marks led: how much of the window or rate.
    Marked { by: u64 },
    /// One by half, to which a loss led.
    Lost,
}

/// The state of `PragueCC`, with its names.
#[derive(Clone, Debug)]
pub struct Controller {
    max_packet: u64,
    srtt: i32,
    vrtt: i32,
    state: State,
    by_rate: bool,
    alpha: i64,
    rate: u64,
    window: u64,
    packet: u64,
    packet_window: u64,
    rtts_to_growth: i32,
    counted: Counted,
    alpha_ts: i32,
    alpha_at: Counted,
    alpha_sent: i32,
    cwr_ts: i32,
    cwr_sent: i32,
    loss_ts: i32,
    loss_sent: i32,
    loss_lost: i32,
    lost_window: u64,
    lost_rate: u64,
    lost_rtts: i32,
    loss_by_rate: bool,
    newest: i32,
}

impl Controller {
    /// At its start, `now`.
    pub fn new(now: i32) -> Self {
        let mut made = Controller {
            max_packet: MAX_PACKET,
            srtt: 0,
            vrtt: 0,
            state: State::Init,
            by_rate: false,
            alpha: 0,
            rate: MIN_RATE,
            window: 10 * MAX_PACKET * 1_000_000,
            packet: MAX_PACKET,
            packet_window: MIN_WINDOW,
            rtts_to_growth: (MIN_RATE / RATE_STEP + MIN_STEP) as i32,
            counted: Counted::default(),
            alpha_ts: now,
            alpha_at: Counted::default(),
            alpha_sent: 0,
            cwr_ts: 0,
            cwr_sent: 0,
            loss_ts: 0,
            loss_sent: 0,
            loss_lost: 0,
            lost_window: 0,
            lost_rate: 0,
            lost_rtts: 0,
            loss_by_rate: false,
            newest: 0,
        };
        made.packet = made.sized(REF_RTT_US);
        made.packet_window = (made.window / 1_000_000).div_ceil(made.packet).max(MIN_WINDOW);
        made
    }

    /// Alpha, 0 to 1.
    pub fn alpha(&self) -> f64 {
        self.alpha as f64 / MAX_PROB as f64
    }

    /// Packets that may be in flight.
    pub fn packet_window(&self) -> u64 {
        self.packet_window
    }

    /// Pacing rate (byte/s), around which the sender moves by 3 %.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// A packet leaves: no other than a full one shows the largest size (option `-m`).
    pub fn sends(&mut self, bytes: u64) {
        if bytes > self.max_packet || (self.packet == self.max_packet && bytes < self.packet) {
            self.max_packet = bytes.max(MIN_PACKET);
            self.packet = self.packet.min(self.max_packet);
        }
    }

    /// No acknowledgement for a second while the window was full (`ResetCCInfo`).
    pub fn reset(&mut self, now: i32) {
        self.state = State::Init;
        self.by_rate = false;
        self.alpha_ts = now;
        self.alpha = 0;
        self.rate = MIN_RATE;
        self.window = self.max_packet * 1_000_000;
        self.packet = self.max_packet;
        self.packet_window = MIN_WINDOW;
        self.rtts_to_growth = (self.rate / RATE_STEP + MIN_STEP) as i32;
        self.lost_rtts = 0;
    }

    /// The timestamp of an acknowledgement and the echo in it (`PacketReceived`).
    pub fn packet_received(&mut self, now: i32, stamp: i32, echoed: i32) {
        if self.state == State::Init || self.newest.wrapping_sub(stamp) <= 0 {
            self.newest = stamp;
            self.rtt(now.wrapping_sub(echoed));
        }
    }

    /// One RTT; block acknowledgements give several (`RFC8888Received`).
    pub fn rtt(&mut self, rtt: i32) {
        self.srtt = match self.state {
            State::Init => rtt,
            _ => self.srtt.wrapping_add(rtt.wrapping_sub(self.srtt) >> 3),
        };
        self.vrtt = self.srtt.max(REF_RTT_US);
    }

    /// Counters of an acknowledgement, when so many packets were sent (`ACKReceived`).
    pub fn ack(&mut self, now: i32, counted: Counted, sent: i32) -> Done {
        let before = self.counted;
        if before.received.wrapping_sub(counted.received) > 0 || before.ce.wrapping_sub(counted.ce) > 0 {
            return Done::Nothing;
        }
        let srtt = self.srtt.max(1) as u64;
        if self.state == State::Init {
            self.window = srtt.wrapping_mul(self.rate);
            self.state = State::Avoidance;
        }
        self.choose_mode(srtt);
        let covered = counted.received.wrapping_add(counted.lost);
        self.update_alpha(now, &counted, covered, sent);
        self.undo_loss(&counted);
        let passed = |since: i32, ts: i32, vrtt: i32| {
            covered.wrapping_sub(since) > 0 && now.wrapping_sub(ts).wrapping_sub(vrtt) >= 0
        };
        if self.state == State::Loss && passed(self.loss_sent, self.loss_ts, self.vrtt) {
            self.state = State::Avoidance;
        }
        let mut done = Done::Nothing;
        if self.state != State::Loss && before.lost.wrapping_sub(counted.lost) < 0 {
            self.reduce_for_loss(now, sent);
            done = Done::Lost;
        }
        let unmarked =
            counted.received.wrapping_sub(before.received).wrapping_sub(counted.ce.wrapping_sub(before.ce));
        if self.state != State::Loss && unmarked > 0 {
            self.grow(unmarked as u64, srtt);
        }
        if self.state == State::Cwr && passed(self.cwr_sent, self.cwr_ts, self.vrtt) {
            self.state = State::Avoidance;
        }
        if self.state == State::Avoidance && before.ce.wrapping_sub(counted.ce) < 0 {
            done = self.reduce_for_marks(now, sent);
        }
        self.settle(srtt);
        self.counted = counted;
        done
    }

    /// Window or rate; on the way from one to the other the rate stays.
    fn choose_mode(&mut self, srtt: u64) {
        let interval = self.packet * 1_000_000 / self.rate.max(1);
        let by_rate = srtt <= LEAST_RTT_US as u64 || srtt <= interval;
        if self.by_rate && !by_rate {
            self.window = srtt.wrapping_mul(self.rate);
        }
        self.by_rate = by_rate;
    }

    /// Once a window and a virtual RTT have passed.
    fn update_alpha(&mut self, now: i32, counted: &Counted, covered: i32, sent: i32) {
        let due = now.wrapping_sub(self.alpha_ts).wrapping_sub(self.vrtt) >= 0;
        if covered.wrapping_sub(self.alpha_sent) <= 0 || !due {
            return;
        }
        let received = i64::from(counted.received.wrapping_sub(self.alpha_at.received));
        let ce = i64::from(counted.ce.wrapping_sub(self.alpha_at.ce));
        // A packet that was only lost divides by zero there.
        let share = (ce << PROB_SHIFT).checked_div(received).unwrap_or(0);
        self.alpha = (self.alpha + ((share - self.alpha) >> ALPHA_SHIFT)).min(MAX_PROB);
        (self.alpha_ts, self.alpha_at, self.alpha_sent) = (now, *counted, sent);
        self.rtts_to_growth = (self.rtts_to_growth - 1).max(0);
    }

    /// What was lost came late.
    fn undo_loss(&mut self, counted: &Counted) {
        let reduced = self.lost_window > 0 || self.lost_rate > 0;
        if !reduced || self.loss_lost.wrapping_sub(counted.lost) < 0 {
            return;
        }
        self.by_rate = self.loss_by_rate;
        if self.by_rate {
            self.rate = self.rate.wrapping_add(std::mem::take(&mut self.lost_rate));
        } else {
            self.window = self.window.wrapping_add(std::mem::take(&mut self.lost_window));
        }
        self.rtts_to_growth = self.rtts_to_growth.wrapping_sub(std::mem::take(&mut self.lost_rtts)).max(0);
        self.state = State::Avoidance;
    }

    fn reduce_for_loss(&mut self, now: i32, sent: i32) {
        let (vrtt, reference) = (self.vrtt.max(1) as u64, REF_RTT_US as u64);
        let rtts = (self.rate / 2 / self.max_packet).wrapping_mul(reference) / vrtt;
        let rtts = (rtts.wrapping_mul(reference) / 1_000_000) as i32;
        self.lost_rtts = self.lost_rtts.wrapping_add(rtts.wrapping_sub(self.rtts_to_growth)).min(rtts);
        self.rtts_to_growth = rtts;
        if self.by_rate {
            self.lost_rate = self.rate / 2;
            self.rate -= self.lost_rate;
        } else {
            self.lost_window = self.window / 2;
            self.window -= self.lost_window;
        }
        self.state = State::Loss;
        self.loss_by_rate = self.by_rate;
        (self.loss_ts, self.loss_sent, self.loss_lost) = (now, sent, self.counted.lost);
    }

    /// By one packet a virtual RTT, or by 1 ms of queue once long enough nothing reduced it.
    fn grow(&mut self, unmarked: u64, srtt: u64) {
        let queue = saturated(u128::from(self.rate) * u128::from(QUEUE_GROWTH_US)) / 1_000_000;
        let waits = queue < self.max_packet || self.rtts_to_growth > 0;
        let step = if waits { self.max_packet } else { queue };
        let vrtt = self.vrtt.max(1) as u64;
        if self.by_rate {
            let divisor = saturated(u128::from(self.packet) * 1_000_000);
            let scale = rounded(saturated(u128::from(self.rate) * u128::from(vrtt)), divisor);
            let grown = rounded(saturated(u128::from(unmarked.wrapping_mul(step)) * 1_000_000), vrtt);
            self.rate = self.rate.wrapping_add(rounded(grown, scale));
        } else {
            let divisor = saturated(u128::from(vrtt) * u128::from(vrtt));
            let scale = rounded(srtt.wrapping_mul(1_000_000).wrapping_mul(srtt), divisor);
            let acked = unmarked.wrapping_mul(self.packet).wrapping_mul(scale).wrapping_mul(1_000_000);
            let grown = rounded(acked, self.window);
            self.window = self.window.wrapping_add(saturated(u128::from(grown) * u128::from(step)));
        }
    }

    fn reduce_for_marks(&mut self, now: i32, sent: i32) -> Done {
        self.rtts_to_growth = (self.rate / RATE_STEP + MIN_STEP) as i32;
        let of = if self.by_rate { self.rate } else { self.window };
        // The product wraps at 2^64, as it does there.
        let by = of.wrapping_mul(self.alpha as u64) >> (PROB_SHIFT + 1);
        if self.by_rate {
            self.rate = of.wrapping_sub(by);
        } else {
            self.window = of.wrapping_sub(by);
        }
        self.state = State::Cwr;
        (self.cwr_ts, self.cwr_sent) = (now, sent);
        Done::Marked { by }
    }

    /// What follows from window and rate.
    fn settle(&mut self, srtt: u64) {
        if !self.by_rate {
            self.rate = self.window / srtt;
        }
        self.rate = self.rate.clamp(MIN_RATE, MAX_RATE);
        self.window = self.rate.wrapping_mul(srtt).max(1);
        self.packet = self.sized(self.vrtt);
        let ahead = self.window.wrapping_mul(100 + RATE_OFFSET) / 100_000_000;
        self.packet_window = (ahead / self.packet + 1).max(MIN_WINDOW);
    }

    /// Two packets a virtual RTT at least.
    fn sized(&self, vrtt: i32) -> u64 {
        let bytes = self.rate.wrapping_mul(vrtt.max(0) as u64) / 1_000_000 / MIN_WINDOW;
        bytes.max(MIN_PACKET).min(self.max_packet)
    }
}

fn saturated(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// `div_64_64_round`.
fn rounded(value: u64, divisor: u64) -> u64 {
    if divisor == 0 {
        return u64::MAX;
    }
    saturated((u128::from(value) + u128::from(divisor / 2)) / u128::from(divisor))
}

#[cfg(test)]
mod tests;
