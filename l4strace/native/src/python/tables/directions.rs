//! The `directions` table.

use super::arrow::Columns;
use crate::run::{DirectionView, FlowView};
use crate::track::{CEB, E0B, E1B};

pub fn table(flows: &[FlowView<'_>]) -> Columns {
    let mut dirs: Vec<DirectionView<'_>> = Vec::with_capacity(flows.len() * 2);
    flows.iter().for_each(|flow| dirs.extend(flow.directions()));
    Columns::blocks(&dirs, |t, dirs| {
        t.u16("source", dirs.iter().map(|d| d.flow.source));
        t.u32("flow", dirs.iter().map(|d| d.flow.number));
        t.bool("forward", dirs.iter().map(|d| d.forward));
        counts(t, dirs);
        rtts(t, dirs);
        feedback(t, dirs);
        options(t, dirs);
        span(t, dirs);
    })
}

fn us(ns: Option<i64>) -> Option<f64> {
    ns.map(|ns| ns as f64 / 1e3)
}

fn counts(t: &mut Columns, dirs: &[DirectionView<'_>]) {
    let totals = || dirs.iter().map(|d| &d.dir.totals);
    t.u64("packets", totals().map(|n| n.packets()));
    t.u64("data_packets", totals().map(|n| n.data_packets()));
    t.u64("data_segments", totals().map(|n| n.segments().0));
    t.u64("payload_bytes", totals().map(|n| n.payload_bytes));
    t.u64("acked_bytes", dirs.iter().map(|d| d.dir.acked_bytes()));
    for (i, name) in ["not_ect", "ect1", "ect0", "ce"].into_iter().enumerate() {
        t.u64(name, totals().map(|n| n.ecn()[i]));
    }
    for (i, name) in ["data_not_ect", "data_ect1", "data_ect0", "data_ce"].into_iter().enumerate() {
        t.u64(name, totals().map(|n| n.data_ecn[i]));
    }
    t.u64("ce_segments", totals().map(|n| n.segments().1));
    t.u64("ce_payload_bytes", totals().map(|n| n.ce_payload_bytes));
    t.u64("retransmits", totals().map(|n| n.retransmits));
    t.u64("retransmitted_bytes", totals().map(|n| n.retransmitted_bytes));
    t.u64("lost_before", dirs.iter().map(DirectionView::lost_before));
    t.u64("out_of_order", totals().map(|n| n.out_of_order));
    t.u64("overtaken", dirs.iter().map(|d| d.dir.sender.as_ref().map(|s| s.segments.overtaken)));
    t.u64("duplicates", totals().map(|n| n.duplicates));
    t.u32("max_payload", totals().map(|n| n.max_payload));
    t.u64("super_packets", totals().map(|n| n.super_packets));
    t.u64("outer_inner_differ", totals().map(|n| n.rare().outer_differs));
    t.u64("outer_ce", totals().map(|n| n.rare().outer_ce));
    t.u64("outer_not_ect", totals().map(|n| n.rare().outer_not_ect));
    t.u64("out_of_window", totals().map(|n| n.rare().out_of_window));
}

fn rtts(t: &mut Columns, dirs: &[DirectionView<'_>]) {
    let rtt = |d: &DirectionView<'_>| d.dir.sender.as_ref().map(|s| s.rtt()).filter(|r| r.samples > 0);
    t.f64("rtt_min_us", dirs.iter().map(|d| rtt(d).map(|r| r.min_ns as f64 / 1e3)));
    t.f64("rtt_mean_us", dirs.iter().map(|d| rtt(d).map(|r| r.sum_ns as f64 / r.samples as f64 / 1e3)));
    t.f64("rtt_max_us", dirs.iter().map(|d| rtt(d).map(|r| r.max_ns as f64 / 1e3)));
    t.u64("rtt_samples", dirs.iter().map(|d| rtt(d).map_or(0, |r| r.samples)));
    t.f64("ts_rtt_min_us", dirs.iter().map(|d| us(d.dir.echoes.min_ns)));
    t.f64("spin_rtt_us", dirs.iter().map(|_| None));
}

fn feedback(t: &mut Columns, dirs: &[DirectionView<'_>]) {
    t.u64("ce_fed_back_lo", dirs.iter().map(|d| d.fed_back(|d| d.feedback.ce.lo)));
    t.u64("ce_fed_back_hi", dirs.iter().map(DirectionView::fed_back_hi));
    t.u64("ce_fed_back_best", dirs.iter().map(|d| d.fed_back(|d| d.feedback.ce.best)));
    t.u64("ce_fed_back_naive", dirs.iter().map(|d| d.fed_back(|d| d.feedback.ce.naive)));
    over_udp(t, dirs.len());
    t.u64("ceb_bytes", dirs.iter().map(|d| d.option_bytes(CEB)));
    t.u64("e0b_bytes", dirs.iter().map(|d| d.option_bytes(E0B)));
    t.u64("e1b_bytes", dirs.iter().map(|d| d.option_bytes(E1B)));
}

/// What only transports over UDP report.
fn over_udp(t: &mut Columns, rows: usize) {
    let none = || (0..rows).map(|_| None::<u64>);
    for name in ["reported_packets", "reported_lost", "reports", "reports_hidden"] {
        t.u64(name, none());
    }
    t.f64("report_interval_us", (0..rows).map(|_| None::<f64>));
    t.u64("report_waits", none());
    t.f64("report_wait_us", (0..rows).map(|_| None::<f64>));
    t.i64("l4s_error_ns", (0..rows).map(|_| None::<i64>));
    t.u64("l4s_error_frame", none());
}

fn options(t: &mut Columns, dirs: &[DirectionView<'_>]) {
    let carried = || dirs.iter().map(|d| d.dir.carried.option.as_deref());
    t.u64("accecn_options", carried().map(|o| o.map_or(0, |o| o.packets)));
    t.u8("accecn_kind", carried().map(|o| o.map(|o| o.kind)));
    t.u16("accecn_exid", carried().map(|o| o.and_then(|o| o.exid)));
    t.u64("accecn_first_frame", carried().map(|o| o.map(|o| o.first_frame)));
    t.u64("accecn_last_frame", carried().map(|o| o.map(|o| o.last_frame)));
    t.u64("option_zeroed", carried().map(|o| o.map_or(0, |o| o.zeroed)));
    t.u64("option_implausible", carried().map(|o| o.map_or(0, |o| o.implausible)));
    t.u64("option_contradicts_ace", carried().map(|o| o.map_or(0, |o| o.contradicts)));
    t.u64("option_fault_frame", carried().map(|o| o.and_then(|o| o.fault_frame)));
    let ace = || dirs.iter().map(|d| d.accecn().then_some(&d.dir.carried).filter(|c| c.ace_seen != 0));
    t.u8("ace_first", ace().map(|c| c?.ace_first));
    t.u8("ace_distinct", ace().map(|c| Some(c?.ace_seen.count_ones() as u8)));
    t.u64("ace_zero_run", ace().map(|c| Some(c?.zero_run_max)));
    t.u64("ece_acks", dirs.iter().map(|d| d.classic(d.dir.totals.ece_acks)));
    t.u64("cwr_packets", dirs.iter().map(|d| d.classic(d.dir.totals.cwr_packets)));
}

fn span(t: &mut Columns, dirs: &[DirectionView<'_>]) {
    let totals = || dirs.iter().map(|d| &d.dir.totals);
    t.u64("acks", totals().map(|n| n.acks));
    t.f64("handshake_rtt_us", dirs.iter().map(|d| us(d.dir.handshake_rtt_ns)));
    t.u64("options_cut", totals().map(|n| n.options_cut));
    t.u32("clock_steps", totals().map(|n| n.clock_steps));
    t.i64("clock_ahead_ns", totals().map(|n| n.rare().clock_ahead_ns));
    t.u64("first_frame", totals().map(|n| n.first_frame));
    t.u64("last_frame", totals().map(|n| n.last_frame));
    t.i64("first_ns", totals().map(|n| n.first_ns));
    t.i64("last_ns", totals().map(|n| n.last_ns));
    t.i64("first_ce_ns", totals().map(|n| n.first_ce.map(|c| c.0)));
    t.u64("first_ce_frame", totals().map(|n| n.first_ce.map(|c| c.1)));
    let dscps = || totals().map(|n| (n.packets(), n.dscps.most(n.packets())));
    t.u8("dscp", dscps().map(|(_, (most, _))| most));
    t.u64("other_dscps", dscps().map(|(packets, (_, have_it))| packets.saturating_sub(have_it)));
    // What a sender of TCP decides about ECN is in its handshake.
    t.u32("ecn_runs", dirs.iter().map(|_| None));
    t.u32_lists("first_ecn_runs", dirs.iter().map(|_| None::<[u32; 0]>));
    t.i64("without_ect_since_ns", dirs.iter().map(|_| None));
    t.u64("without_ect_since_frame", dirs.iter().map(|_| None));
    t.u64("without_ect_packets", dirs.iter().map(|_| None));
    t.u32("sender_host", dirs.iter().map(|_| None));
    t.u32_lists("pairs_by_gap", dirs.iter().map(|_| None::<[u32; 0]>));
    t.u32_lists("turns_by_gap", dirs.iter().map(|_| None::<[u32; 0]>));
    t.bool("from_start", dirs.iter().map(|_| None::<bool>));
}
