//! The `rounds` table.

use super::arrow::Columns;
use crate::pair::RoundDelay;
use crate::run::RoundView;
use crate::track::RoundRow;
use crate::workers::{self, Job};

type Part = fn(&mut Columns, &[RoundView<'_>]);

/// Columns in their order; the first three parts hold about as many as the others.
const PARTS: [Part; 5] = [identity, feedback, rtts, window, replay];

/// The table under construction. One thread makes all columns row by row, so that it reads each once; of two, each
/// makes half of them.
pub struct Rounds {
    parts: Vec<(&'static [Part], Columns)>,
}

impl Rounds {
    /// Of so many rows.
    pub fn new(rows: usize, threads: usize) -> Rounds {
        let parts = PARTS.chunks(PARTS.len().div_ceil(threads.max(1)));
        Rounds { parts: parts.map(|parts| (parts, Columns::of_rows(rows).folding())).collect() }
    }

    /// More rows.
    pub fn add(&mut self, rounds: &[RoundView<'_>]) {
        let mut jobs: Vec<Job<'_, ()>> = Vec::new();
        for (parts, columns) in &mut self.parts {
            jobs.push(Box::new(|| {
                columns.add(rounds, |t, rows| parts.iter().for_each(|part| part(t, rows)))
            }));
        }
        workers::all(jobs.len(), jobs);
    }

    pub fn table(mut self) -> Columns {
        if self.parts.iter().all(|(_, columns)| columns.is_empty()) {
            self.add(&[]);
        }
        Columns::joined(self.parts.into_iter().map(|(_, columns)| columns).collect())
    }
}

fn identity(t: &mut Columns, rounds: &[RoundView<'_>]) {
    t.u16("source", rounds.iter().map(|r| r.source));
    t.u32("flow", rounds.iter().map(|r| r.number));
    t.bool("forward", rounds.iter().map(|r| r.row.forward));
    let rows = || rounds.iter().map(|r| r.row);
    t.u32("round", rows().map(|r| r.round));
    t.u32("round_trips", rows().map(|r| r.round_trips));
    t.i64("start_ns", rows().map(|r| r.start_ns));
    t.i64("end_ns", rows().map(|r| r.end_ns));
    t.u64("first_frame", rows().map(|r| r.first_frame));
    t.u64("last_frame", rows().map(|r| r.last_frame));
    t.u32("sent_packets", rows().map(RoundRow::sent_packets));
    t.u64("sent_bytes", rows().map(|r| r.sent_bytes));
    t.u32("ect1", rows().map(|r| r.ecn[1]));
    t.u32("ect0", rows().map(|r| r.ecn[2]));
    t.u32("not_ect", rows().map(|r| r.ecn[0]));
    t.u32("ce", rows().map(|r| r.ecn[3]));
    t.u32("acked_packets", rows().map(|r| r.acked_packets));
    t.u64("acked_bytes", rows().map(|r| r.acked_bytes));
}

fn feedback(t: &mut Columns, rounds: &[RoundView<'_>]) {
    t.u32("ce_lo", rounds.iter().map(|r| r.counted(|r| r.marked.ce.lo)));
    t.u32("ce_hi", rounds.iter().map(|r| r.counted(|r| r.marked.ce.hi)));
    t.u32("ce_best", rounds.iter().map(|r| r.counted(|r| r.marked.ce.best)));
    t.u64("ce_bytes", rounds.iter().map(|r| r.row.ce_bytes.get().map(|bytes| bytes as u64)));
    t.u32("ece_acks", rounds.iter().map(|r| r.classic(|r| r.ece_acks)));
}

fn rtts(t: &mut Columns, rounds: &[RoundView<'_>]) {
    let rows = || rounds.iter().map(|r| r.row);
    t.f64("rtt_min_us", rows().map(|r| r.rtt().map(|s| s.min_us)));
    t.f64("rtt_mean_us", rows().map(|r| r.rtt().map(|s| s.mean_us)));
    t.f64("rtt_max_us", rows().map(|r| r.rtt().map(|s| s.max_us)));
    t.f64("rtt_mdev_us", rows().map(|r| r.rtt().map(|s| s.mdev_us)));
    t.u32("rtt_samples", rows().map(|r| r.rtt_samples));
    t.f64("rtt_prompt_max_us", rows().map(|r| r.rtt_prompt_max_us));
    t.f64("rtt_jitter_us", rows().map(|r| r.rtt_jitter_us));
    t.f64("marked_rtt_min_us", rows().map(|r| r.rare().marked_rtt.map(|m| m.min_us)));
    t.f64("marked_rtt_mean_us", rows().map(|r| r.rare().marked_rtt.map(|m| m.mean_us)));
    t.u32("marked_rtt_samples", rows().map(|r| r.rare().marked_rtt.map_or(0, |m| m.samples)));
    t.f64("sacked_rtt_min_us", rows().map(|r| r.rare().sacked_rtt_min_us));
    t.f64("sacked_rtt_max_us", rows().map(|r| r.rare().sacked_rtt_max_us));
    t.f64("queue_delay_us", rows().map(|r| r.queue_delay_us));
}

fn window(t: &mut Columns, rounds: &[RoundView<'_>]) {
    let rows = || rounds.iter().map(|r| r.row);
    t.u64("inflight_max_bytes", rounds.iter().map(|r| r.of_sender(|r| Some(r.inflight_max_bytes))));
    t.u32("inflight_max_packets", rounds.iter().map(|r| r.of_sender(|r| Some(r.inflight_max_packets))));
    t.f64("cwnd_packets", rounds.iter().map(RoundView::window));
    t.u64("rwnd_bytes", rows().map(|r| r.rwnd_bytes.map(u64::from)));
    t.str("limited_by", rounds.iter().map(|r| Some(r.limited_by().name())));
    t.f64("goodput_bps", rows().map(RoundRow::goodput_bps));
    t.f64("train_bps", rows().map(|r| r.train_bps));
    t.u32("retransmits", rows().map(|r| r.retransmits));
    t.u32("out_of_order", rows().map(|r| r.out_of_order));
    t.u32("burst_bytes", rows().map(|r| r.burst_bytes));
    t.u64("burst_frame", rows().map(|r| (r.burst_bytes > 0).then_some(r.burst_frame)));
    t.bool("slow_start", rounds.iter().map(|r| r.of_sender(|r| Some(r.slow_start))));
}

fn replay(t: &mut Columns, rounds: &[RoundView<'_>]) {
    for (clock, name) in ["alpha", "alpha_25ms"].into_iter().enumerate() {
        for (i, suffix) in ["", "_lo", "_hi"].into_iter().enumerate() {
            t.f64(&format!("{name}{suffix}"), rounds.iter().map(|r| r.alpha(clock, i)));
        }
        let updates = move |r: &RoundRow| r.marked.alphas[clock].updates;
        t.u32(&format!("{name}_updates"), rounds.iter().map(|r| r.accecn(updates)));
    }
    t.f64("srtt_pace_us", rounds.iter().map(|r| r.of_sender(|r| r.srtt_pace_us.get())));
    t.f64("mdev_pace_us", rounds.iter().map(|r| r.of_sender(|r| r.mdev_pace_us.get())));
    t.f64("classic_ecn", rounds.iter().map(|r| r.of_sender(|r| r.marked.classic_ecn.get())));
    t.f64("classic_ecn_buggy", rounds.iter().map(|r| r.of_sender(|r| r.marked.classic_ecn_buggy.get())));
    let bound = |of: fn(&RoundRow) -> Option<[f32; 2]>, end: usize| {
        rounds.iter().map(move |r| r.of_sender(of).map(|ends| f64::from(ends[end])))
    };
    t.f64("classic_ecn_lo", bound(|r| r.marked.classic_ecn_bounds, 0));
    t.f64("classic_ecn_hi", bound(|r| r.marked.classic_ecn_bounds, 1));
    t.f64("classic_ecn_buggy_lo", bound(|r| r.marked.classic_ecn_buggy_bounds, 0));
    t.f64("classic_ecn_buggy_hi", bound(|r| r.marked.classic_ecn_buggy_bounds, 1));
    let delay = |of: fn(RoundDelay) -> f64| rounds.iter().map(move |r| r.delay.copied().map(of));
    t.f64("owd_min_us", delay(|d| d.min_us));
    t.f64("owd_mean_us", delay(|d| d.mean_us));
    t.f64("owd_max_us", delay(|d| d.max_us));
    t.f64("marked_owd_min_us", rounds.iter().map(|r| r.delay.and_then(|d| d.marked_min_us)));
}
