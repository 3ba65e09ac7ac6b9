//! A direction that sends data: its segments, its rounds and what they show about its window.

use super::alpha::{Clock, Tick};
use super::burst::Bursts;
use super::data::Data;
use super::reduction::Reductions;
use super::rtt::RttTotals;
use super::segments::{Delivered, Segments, Sent};
use super::smallest::WindowedMin;
use super::train::Trains;
use super::window::Window;
use crate::maybe::Maybe;
use crate::packet::Packet;
use crate::prague::build::{RTT_TRANSITION, RTT_TRANSITION_515};
use crate::prague::{Paced, PacketReplay};
use crate::track::feedback::ace::Step;
use crate::track::rounds::round::{CeRange, Limit, Marked, Round, RoundRow};

mod acked;

/// What the flow knows when a round ends, and the sender does not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    pub flow: u32,
    pub forward: bool,
    /// ACE counts CE.
    pub accecn: bool,
    /// The capture stands where the window cannot be seen.
    pub far: bool,
    pub mss: u32,
    /// Last packet of the conversation before the one that ends the round.
    pub last_frame: u64,
}

/// What a round still waits for.
///
/// Near the sender a round has ended when everything sent before it is acknowledged. Further away the
/// ACK has yet to reach the sender, and what it lets go has yet to come here: the first data packet
/// that echoes the ACK's timestamp, or without timestamps the RTT of that half of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    #[default]
    Ack,
    Echo(u32),
    Until(i64),
}

/// Send side of one direction.
#[derive(Debug)]
pub struct Sender {
    pub segments: Segments,
    pub wait: Wait,
    pub round: Round,
    /// Of the rounds before the one that runs.
    rtts_before: RttTotals,
    pub acked_bytes: u64,
    pub window: Window,
    bursts: Bursts,
    /// Of data packets seen here, and of what ACKs deliver: the first shows the path before this
    /// capture, the second the path behind it.
    sent_trains: Trains,
    acked_trains: Trains,
    number: u32,
    /// Rows that its rounds have.
    pub rows: u32,
    smallest: WindowedMin,
    /// tcp_min_rtt: the same with packets that overtook others, which SACK reports. From the first of them on.
    kernel_least: Option<WindowedMin>,
    /// Alpha as builds up to 2022 update it, and as builds from 5.15 on do.
    clocks: [Clock; 2],
    /// Prague's RTT filters and fallback score, fed with the RTTs seen here.
    replay: PacketReplay,
    handshake_us: Option<u32>,
    saw_ce: bool,
    reductions: Reductions,
    slow_start: bool,
    drained_ns: i64,
    inflight_before: u32,
    rwnd: Option<u32>,
}

impl Sender {
    /// `handshake_ns`: RTT of the handshake as seen here, with which the kernel's RTT filters begin (prague_init).
    pub fn new(at: i64, handshake_ns: Option<i64>) -> Self {
        let handshake_us = handshake_ns.and_then(|ns| u32::try_from(ns / 1000).ok());
        Sender {
            segments: Segments::new(at),
            wait: Wait::Ack,
            round: Round::default(),
            rtts_before: RttTotals::default(),
            acked_bytes: 0,
            window: Window::default(),
            bursts: Bursts::default(),
            sent_trains: Trains::default(),
            acked_trains: Trains::default(),
            number: 0,
            rows: 0,
            smallest: WindowedMin::default(),
            kernel_least: None,
            clocks: [RTT_TRANSITION, RTT_TRANSITION_515].map(|rounds| Clock::new(rounds, at)),
            replay: PacketReplay::new(handshake_us),
            handshake_us,
            saw_ce: false,
            reductions: Reductions::default(),
            slow_start: true,
            drained_ns: 0,
            inflight_before: 0,
            rwnd: None,
        }
    }

    /// A data packet; opens a round when none runs.
    #[inline(always)]
    pub fn send(&mut self, data: &Data, ecn: u8, frame: u64, patience_ns: i64) -> Sent {
        let sent = self.segments.send(data, patience_ns);
        self.sent(data, ecn, frame, sent);
        sent
    }

    /// The same for data that begins where all before it ends.
    #[inline(always)]
    pub fn send_next(&mut self, data: &Data, ecn: u8, frame: u64) {
        self.segments.send_next(data);
        self.sent(data, ecn, frame, Sent::New);
    }

    #[inline(always)]
    fn sent(&mut self, data: &Data, ecn: u8, frame: u64, sent: Sent) {
        if !self.round.open {
            self.begin_round(data.ts_ns, frame, data.end);
        }
        let len = (data.end - data.start) as u32;
        let round = &mut self.round;
        round.sent_bytes += u64::from(len);
        round.ecn[usize::from(ecn & 3)] += 1;
        let in_flight = self.segments.inflight_packets();
        round.inflight_max_bytes = round.inflight_max_bytes.max(self.segments.inflight_bytes());
        round.inflight_max_packets = round.inflight_max_packets.max(in_flight);
        if sent == Sent::Retransmit {
            round.retransmits += u32::from(data.weight);
            self.window.lost(self.segments.max);
            self.reduce();
        } else {
            round.out_of_order += u32::from(sent == Sent::OutOfOrder);
            self.window.sent(data.ts_ns, u32::from(data.weight), in_flight);
        }
        self.reductions.sent(self.number, in_flight);
        self.bursts.send(data.ts_ns, len, frame);
        self.sent_trains.add(data.ts_ns, u64::from(len));
    }

    /// Marks that the ACK reported; call once an ACK, after `ack` and before `tick`.
    #[inline]
    pub fn marked(&mut self, got: &Delivered, step: Step) {
        self.round.ce[0] += i64::from(step.lo);
        self.round.ce[1] += i64::from(step.hi);
        self.round.ce[2] += i64::from(step.best);
        if step.best > 0 {
            self.window.marked(self.segments.max);
            self.marked_rtt(got);
            self.saw_ce = true;
            self.reduce();
        }
    }

    /// A mark or a loss may be a reduction, which rescales the detector's filters.
    fn reduce(&mut self) {
        let segments = &self.segments;
        let in_flight = segments.inflight_packets();
        let ssthresh = self.reductions.begin(self.number, in_flight, segments.una, segments.max);
        ssthresh.into_iter().for_each(|ssthresh| self.replay.on_reduction(ssthresh));
    }

    /// The ACK once more, with the change of the CE count that it and its option make: Prague's clock.
    #[inline(always)]
    pub fn tick(&mut self, got: &Delivered, ce: [i64; 3], now_ns: i64) {
        let tick = Tick {
            acked: got.packets,
            ce,
            una: self.segments.una,
            max: self.segments.max,
            now_ns,
            // The first reduction gives slow start its threshold.
            slow_start: self.slow_start && !self.saw_ce,
        };
        let [early, late] = &mut self.clocks;
        let ended = [(early.tick(&tick), Paced::Early), (late.tick(&tick), Paced::Late)];
        for (ended, paced) in ended {
            if ended && self.saw_ce {
                self.detect(paced);
            }
        }
    }

    /// The RTT of an ACK that reports a mark, call it after `ack`.
    pub fn marked_rtt(&mut self, got: &Delivered) {
        if let Some(ns) = got.rtt_ns.filter(|&ns| ns >= 0) {
            self.round.marked_rtt(ns);
        }
    }

    /// The window that the peer offers, scaled.
    #[inline]
    pub fn offered(&mut self, rwnd: u32) {
        self.rwnd = Some(rwnd);
        if self.round.open {
            self.round.offered(rwnd);
        }
    }

    /// The pause before a data packet sent now was too short for an application that had nothing to
    /// send: a small window, all acknowledged at once, looks like one otherwise. Pacing spreads a window
    /// of two over one RTT.
    pub fn went_on(&self, now_ns: i64) -> bool {
        let rtt = self.rtt();
        rtt.samples > 0 && (now_ns - self.drained_ns) * 2 <= rtt.min_ns
    }

    /// Everything sent before the round began is acknowledged.
    #[inline]
    pub fn round_is_acked(&self) -> bool {
        self.round.open && self.segments.una >= self.round.mark
    }

    /// A data packet that shows the round to be over, seen away from the sender.
    #[inline]
    pub fn came_round(&self, tsecr: Option<u32>, now_ns: i64) -> bool {
        match (self.wait, tsecr) {
            (Wait::Ack, _) => false,
            (Wait::Echo(tsval), Some(tsecr)) => tsecr.wrapping_sub(tsval) as i32 >= 0,
            (Wait::Echo(_), None) => true,
            (Wait::Until(ns), _) => now_ns >= ns,
        }
    }

    /// A data packet does not end the round that runs.
    #[inline]
    pub fn goes_on(&self, p: &Packet) -> bool {
        self.round.open && !self.came_round(p.timestamps.map(|t| t.1), p.ts_ns)
    }

    fn begin_round(&mut self, now_ns: i64, frame: u64, mark: i64) {
        self.rtts_before = self.rtt();
        self.round.begin(now_ns, frame, mark, self.rwnd);
    }

    /// All RTTs so far.
    pub fn rtt(&self) -> RttTotals {
        self.rtts_before.and(&self.round.rtts)
    }

    /// Ends the round; the next begins at once if data is outstanding, else with the next data packet.
    pub fn end_round(&mut self, now_ns: i64, frame: u64, context: &Context) -> Option<RoundRow> {
        let row = (!self.round.is_empty()).then(|| self.row(now_ns, context));
        let (acked, ns) = (self.round.acked_bytes, now_ns - self.round.start_ns);
        self.bursts.round(acked, ns);
        self.sent_trains.round();
        self.acked_trains.round();
        self.wait = Wait::Ack;
        if self.segments.inflight_bytes() > 0 {
            self.begin_round(now_ns, frame, self.segments.max);
            self.round.inflight_max_bytes = self.segments.inflight_bytes();
            self.round.inflight_max_packets = self.segments.inflight_packets();
        } else {
            self.round.open = false;
        }
        row
    }

    fn row(&mut self, end_ns: i64, context: &Context) -> RoundRow {
        let limited_by = self.limited_by(context);
        let rtts = self.round.rtt_summary();
        let ce = self.round.ce_range();
        let smallest = self.smallest.get();
        let slow_start = self.still_slow_start(context.accecn && ce.best > 0, limited_by);
        let pace = self.replay.pace_us();
        let trains = if context.far { &self.sent_trains } else { &self.acked_trains };
        let round = &self.round;
        let above = smallest.filter(|_| round.rtts.samples > 0);
        let above = above.map(|least| (rtts.mean_us - least as f64 / 1e3).max(0.0));
        let row = RoundRow {
            flow: context.flow,
            forward: context.forward,
            round: self.number,
            round_trips: 1,
            start_ns: round.start_ns,
            end_ns,
            first_frame: round.first_frame,
            last_frame: round.first_frame.max(context.last_frame),
            sent_bytes: round.sent_bytes,
            ecn: round.ecn,
            acked_packets: round.acked_packets,
            acked_bytes: round.acked_bytes,
            ce_bytes: round.ce_bytes.map(|bytes| bytes as f64).into(),
            ece_acks: round.ece_acks,
            rtts,
            rtt_samples: round.rtts.samples as u32,
            rtt_prompt_max_us: round.rtt_prompt_max_us().into(),
            rtt_jitter_us: round.rtt_jitter_us().into(),
            queue_delay_us: above.into(),
            inflight_max_bytes: round.inflight_max_bytes,
            inflight_max_packets: round.inflight_max_packets,
            cwnd_packets: Maybe::default(), // the next ACK shows it
            rwnd_bytes: round.rwnd_min,
            limited_by,
            train_bps: trains.fastest_bps().into(),
            retransmits: round.retransmits,
            out_of_order: round.out_of_order,
            burst_bytes: self.bursts.largest,
            burst_frame: self.bursts.largest_frame,
            slow_start,
            srtt_pace_us: pace.map(|p| p.0).into(),
            mdev_pace_us: pace.map(|p| p.1).into(),
            marked: self.moved_by_marks(ce),
            rare: round.rare(None),
        };
        self.number += 1;
        row
    }

    /// What marks moved, `ce` of them in this round.
    fn moved_by_marks(&self, ce: CeRange) -> Marked {
        let mut marked =
            Marked { ce, alphas: self.clocks.each_ref().map(Clock::replayed), ..Marked::default() };
        if self.saw_ce {
            let (scores, bounds) = (self.replay.scores(), self.replay.bounds());
            marked.classic_ecn = Some(scores.fixed).into();
            marked.classic_ecn_buggy = Some(scores.buggy).into();
            marked.classic_ecn_bounds = Some(bounds.map(|s| s.fixed as f32));
            marked.classic_ecn_buggy_bounds = Some(bounds.map(|s| s.buggy as f32));
        }
        marked
    }

    /// One step of the fallback's detector, which sleeps until the first mark.
    fn detect(&mut self, paced: Paced) {
        let least = self.kernel_least.unwrap_or(self.smallest).get().map(|ns| (ns / 1000) as u32);
        let min_rtt_us = least.into_iter().chain(self.handshake_us).min();
        self.replay.on_round(min_rtt_us, self.saw_ce, paced);
    }

    fn limited_by(&self, context: &Context) -> Limit {
        let round = &self.round;
        if context.far {
            return Limit::Unknown;
        }
        if round
            .rwnd_min
            .is_some_and(|rwnd| round.inflight_max_bytes + u64::from(context.mss) > u64::from(rwnd))
        {
            return Limit::Rwnd;
        }
        // Everything was acknowledged and nothing more came: the application had nothing to send.
        if round.drained {
            return Limit::App;
        }
        Limit::Cwnd
    }

    /// Slow start ends with the first loss or mark, or when the window no longer grows by half of what
    /// is acknowledged.
    fn still_slow_start(&mut self, marked: bool, limit: Limit) -> bool {
        let round = &self.round;
        let now = round.inflight_max_packets;
        let grown =
            now.saturating_sub(self.inflight_before) * 2 >= round.acked_packets.min(self.inflight_before);
        let reduced = round.retransmits > 0 || round.ece_acks > 0 || marked;
        if self.slow_start && !reduced && limit == Limit::Cwnd && !grown {
            self.slow_start = false;
            self.reductions.end_slow_start(self.number, now);
        }
        self.slow_start &= !reduced;
        self.inflight_before = now;
        self.slow_start
    }
}
