//! One round trip of one direction: sums while it runs, a row when it ends.

use crate::maybe::Maybe;
use crate::track::prefetch::prefetch;
use crate::track::sending::alpha::Replayed;
use crate::track::sending::rtt::RttTotals;

/// One row of the `rounds` table; columns as declared in `l4strace/schema/capture.py`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoundRow {
    pub flow: u32,
    pub forward: bool,
    pub round: u32,
    /// Rounds that the row stands for: see [`crate::track::rounds::thin`]; none where the row is free.
    pub round_trips: u32,
    pub start_ns: i64,
    pub end_ns: i64,
    pub first_frame: u64,
    pub last_frame: u64,
    pub sent_bytes: u64,
    /// By codepoint: Not-ECT, ECT(1), ECT(0), CE.
    pub ecn: [u32; 4],
    pub acked_packets: u32,
    pub acked_bytes: u64,
    /// Whole, and exact up to 2^53.
    pub ce_bytes: Maybe,
    /// Of classic ECN, as [`Marked::ce`] of AccECN; which of the two holds is known when the flow ends.
    pub ece_acks: u32,
    /// Of no sample, where there are none.
    pub rtts: RttSummary,
    pub rtt_samples: u32,
    /// Largest sample of an ACK that the receiver did not hold back.
    pub rtt_prompt_max_us: Maybe,
    /// Mean step from one sample to the next.
    pub rtt_jitter_us: Maybe,
    pub queue_delay_us: Maybe,
    pub inflight_max_bytes: u64,
    pub inflight_max_packets: u32,
    pub cwnd_packets: Maybe,
    pub rwnd_bytes: Option<u32>,
    pub limited_by: Limit,
    pub train_bps: Maybe,
    pub retransmits: u32,
    pub out_of_order: u32,
    pub burst_bytes: u32,
    /// 0 without a burst.
    pub burst_frame: u64,
    pub slow_start: bool,
    pub srtt_pace_us: Maybe,
    pub mdev_pace_us: Maybe,
    pub marked: Marked,
    pub rare: Option<Box<Rare>>,
}

/// What marks move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Marked {
    /// Those of the round.
    pub ce: CeRange,
    /// Alpha as builds up to 2022 update it, and as builds from 5.15 on do.
    pub alphas: [Replayed; 2],
    pub classic_ecn: Maybe,
    pub classic_ecn_buggy: Maybe,
    /// Least and largest score that the packets allow.
    pub classic_ecn_bounds: Option<[f32; 2]>,
    pub classic_ecn_buggy_bounds: Option<[f32; 2]>,
}

/// What few rounds have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rare {
    /// Samples of ACKs that report a mark.
    pub marked_rtt: Option<MarkedRtt>,
    /// RTTs of packets that SACK reported.
    pub sacked_rtt_min_us: Maybe,
    pub sacked_rtt_max_us: Maybe,
    /// Of UDP Prague.
    pub controlled: Option<Controlled>,
}

impl RoundRow {
    pub fn sent_packets(&self) -> u32 {
        self.ecn.iter().sum()
    }

    pub fn rtt(&self) -> Option<RttSummary> {
        (self.rtt_samples > 0).then_some(self.rtts)
    }

    pub fn rare(&self) -> Rare {
        self.rare.as_deref().copied().unwrap_or_default()
    }

    pub fn goodput_bps(&self) -> Option<f64> {
        let ns = self.end_ns - self.start_ns;
        (ns > 0).then(|| self.acked_bytes as f64 * 8e9 / ns as f64)
    }
}

/// State of UDP Prague's controller, and reductions by alpha/2 since the start; those by nothing are among them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Controlled {
    pub alpha: f32,
    pub window: u32,
    pub rate_bps: f32,
    pub reductions: u32,
    pub by_nothing: u32,
}

/// CE packets fed back in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CeRange {
    pub lo: u32,
    pub hi: u32,
    pub best: u32,
}

/// RTT samples of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RttSummary {
    pub min_us: f64,
    pub mean_us: f64,
    pub max_us: f64,
    pub mdev_us: f64,
}

/// RTT samples of the ACKs of a round that report marks: what the marked packets waited.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MarkedRtt {
    pub min_us: f64,
    pub mean_us: f64,
    pub samples: u32,
}

/// What kept the sender from sending more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    Cwnd,
    Rwnd,
    App,
    /// It waited for the next report.
    Feedback,
    /// Media may set the rate, whatever is in flight.
    Media,
    #[default]
    Unknown,
}

impl Limit {
    pub fn name(self) -> &'static str {
        match self {
            Limit::Cwnd => "cwnd",
            Limit::Rwnd => "rwnd",
            Limit::App => "app",
            Limit::Feedback => "feedback",
            Limit::Media => "media",
            Limit::Unknown => "unknown",
        }
    }
}

/// An ACK of one packet that comes so long after the one before may have waited for a second packet: Linux
/// waits for 40 ms (TCP_DELACK_MIN), of which the way back may take off some.
const MAY_WAIT_NS: i64 = 35_000_000;

/// Samples kept for the mean deviation of a round; further ones only enter min, mean and max.
const MOST_SAMPLES: usize = 4096;

/// The sums of the round that runs.
#[derive(Clone, Debug, Default)]
pub struct Round {
    pub open: bool,
    pub start_ns: i64,
    pub first_frame: u64,
    /// The round has come back when everything below this is acknowledged.
    pub mark: i64,
    pub sent_bytes: u64,
    pub ecn: [u32; 4],
    pub acked_packets: u32,
    pub acked_bytes: u64,
    pub ce: [i64; 3],
    pub ce_bytes: Option<u64>,
    pub ece_acks: u32,
    pub inflight_max_bytes: u64,
    pub inflight_max_packets: u32,
    pub drained: bool,
    pub rwnd_min: Option<u32>,
    pub retransmits: u32,
    pub out_of_order: u32,
    rtts_us: Vec<f32>,
    pub rtts: RttTotals,
    prompt_max_ns: Option<i64>,
    /// When the last sample of the direction came.
    answered_ns: Option<i64>,
    /// The last sample of the direction, and the sum of the steps between samples of this round.
    rtt_last_ns: Option<i64>,
    rtt_steps_ns: i64,
    rtt_step_count: u32,
    marked_min_ns: i64,
    marked_sum_ns: i64,
    marked_samples: u32,
    /// Smallest and largest sample of SACK.
    pub sacked_ns: Option<(i64, i64)>,
}

impl Round {
    pub fn begin(&mut self, now_ns: i64, frame: u64, mark: i64, rwnd_min: Option<u32>) {
        let mut rtts_us = std::mem::take(&mut self.rtts_us);
        rtts_us.clear();
        let (rtt_last_ns, answered_ns) = (self.rtt_last_ns, self.answered_ns);
        *self = Round {
            open: true,
            start_ns: now_ns,
            first_frame: frame,
            mark,
            rwnd_min,
            rtts_us,
            rtt_last_ns,
            answered_ns,
            ..Round::default()
        };
    }

    /// A sample of the ACK that came at `now_ns` for so many `packets`.
    #[inline(always)]
    pub fn rtt(&mut self, ns: i64, now_ns: i64, packets: u32) {
        let before = self.answered_ns.replace(now_ns);
        if packets > 1 || before.is_some_and(|then| now_ns - then < MAY_WAIT_NS) {
            self.prompt_max_ns = Some(self.prompt_max_ns.map_or(ns, |most| most.max(ns)));
        }
        self.rtts.add(ns);
        if let Some(last) = self.rtt_last_ns.replace(ns) {
            self.rtt_steps_ns = self.rtt_steps_ns.saturating_add((ns - last).abs());
            self.rtt_step_count += 1;
        }
        if self.rtts_us.len() < MOST_SAMPLES {
            self.rtts_us.push(ns as f32 / 1e3);
        }
    }

    /// The same sample, of an ACK that reports a mark.
    pub fn marked_rtt(&mut self, ns: i64) {
        self.marked_min_ns = if self.marked_samples == 0 { ns } else { self.marked_min_ns.min(ns) };
        self.marked_sum_ns = self.marked_sum_ns.saturating_add(ns);
        self.marked_samples += 1;
    }

    /// The newest packet that an ACK reports by SACK: its time shows a queue that overflows, or the way
    /// of a packet that overtook others.
    pub fn sacked_rtt(&mut self, ns: i64) {
        let (least, most) = self.sacked_ns.unwrap_or((ns, ns));
        self.sacked_ns = Some((least.min(ns), most.max(ns)));
    }

    /// Where the next RTT sample goes.
    pub fn prefetch(&self) {
        self.rtts_us.last().into_iter().for_each(prefetch);
    }

    pub fn offered(&mut self, rwnd: u32) {
        self.rwnd_min = Some(self.rwnd_min.map_or(rwnd, |r| r.min(rwnd)));
    }

    pub fn rtt_prompt_max_us(&self) -> Option<f64> {
        self.prompt_max_ns.map(|ns| ns as f64 / 1e3)
    }

    pub fn sent_packets(&self) -> u32 {
        self.ecn.iter().sum()
    }

    /// The round carried nothing worth a row.
    pub fn is_empty(&self) -> bool {
        self.sent_packets() == 0 && self.acked_packets == 0 && self.acked_bytes == 0
    }

    /// What is to be known of the samples, if there are some.
    pub fn rtt_summary(&self) -> RttSummary {
        let RttTotals { min_ns, max_ns, sum_ns, samples } = self.rtts;
        if samples == 0 {
            return RttSummary::default();
        }
        let mean_us = sum_ns as f64 / samples as f64 / 1e3;
        let spread: f64 = self.rtts_us.iter().map(|&r| (f64::from(r) - mean_us).abs()).sum();
        RttSummary {
            min_us: min_ns as f64 / 1e3,
            mean_us,
            max_us: max_ns as f64 / 1e3,
            mdev_us: spread / self.rtts_us.len() as f64,
        }
    }

    pub fn rtt_jitter_us(&self) -> Option<f64> {
        let steps = self.rtt_step_count;
        (steps > 0).then(|| self.rtt_steps_ns as f64 / f64::from(steps) / 1e3)
    }

    fn marked_summary(&self) -> Option<MarkedRtt> {
        let samples = self.marked_samples;
        (samples > 0).then(|| MarkedRtt {
            min_us: self.marked_min_ns as f64 / 1e3,
            mean_us: self.marked_sum_ns as f64 / f64::from(samples) / 1e3,
            samples,
        })
    }

    /// What few rounds have, if this one does.
    pub fn rare(&self, controlled: Option<Controlled>) -> Option<Box<Rare>> {
        let is_rare = self.marked_samples > 0 || self.sacked_ns.is_some() || controlled.is_some();
        is_rare.then(|| {
            Box::new(Rare {
                marked_rtt: self.marked_summary(),
                sacked_rtt_min_us: self.sacked_ns.map(|(least, _)| least as f64 / 1e3).into(),
                sacked_rtt_max_us: self.sacked_ns.map(|(_, most)| most as f64 / 1e3).into(),
                controlled,
            })
        })
    }

    pub fn ce_range(&self) -> CeRange {
        let count = |i: usize| self.ce[i].clamp(0, i64::from(u32::MAX)) as u32;
        CeRange { lo: count(0), hi: count(1).max(count(0)), best: count(2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_row_is_narrow() {
        assert!(size_of::<RoundRow>() <= 360, "{}", size_of::<RoundRow>());
    }

    #[test]
    fn an_ack_of_one_packet_after_a_pause_may_have_been_held_back() {
        let mut round = Round::default();
        round.rtt(60 * MS, 0, 1);
        assert_eq!(round.rtt_prompt_max_us(), None, "nothing came before");
        round.rtt(12 * MS, 10 * MS, 1);
        assert_eq!(round.rtt_prompt_max_us(), Some(12_000.0));
        round.begin(20 * MS, 1, 0, None);
        round.rtt(52 * MS, 60 * MS, 1);
        assert_eq!(round.rtt_prompt_max_us(), None, "50 ms after the last one of the round before");
        round.rtt(20 * MS, 120 * MS, 2);
        assert_eq!(round.rtt_prompt_max_us(), Some(20_000.0), "of two packets");
        assert_eq!(round.rtt_summary().max_us, 52_000.0);
    }
}
