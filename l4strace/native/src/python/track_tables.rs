//! Tracked captures as Arrow tables, column by column as `l4strace/schema/capture.py` declares them.

use std::net::{IpAddr, Ipv6Addr};

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::arrow::{ArrowTable, Columns};
use super::packets::tunnel_name;
use super::pairing::path_table;
use crate::decode::link;
use crate::packet::Address;
use crate::pair::{Offset, Path};
use crate::read::{SourceInfo, StatRow};
use crate::track::{reflected, Direction, Flow, Initiator, Member, Mode, RoundRow, Tracker, CEB, E0B, E1B};

/// What one capture gave.
pub struct Capture {
    pub info: SourceInfo,
    pub losses: Vec<StatRow>,
    pub tracker: Tracker,
    /// Clock against that of the first capture: already taken off all stamps.
    pub clock: Offset,
    /// One-way delays by row of the tracker's rounds; empty when the capture was not paired.
    pub delays: Vec<Option<[f64; 3]>>,
}

impl Capture {
    /// Its conversations, for numbering them over all captures.
    pub fn members(&self) -> Vec<Member> {
        let member = |flow: &Flow| Member {
            key: *self.tracker.table.key(flow.id),
            client_isn: self.tracker.table.client_isn(flow.id),
            first_ns: flow.first_ns,
            last_ns: flow.last_ns,
        };
        self.tracker.flows.iter().map(member).collect()
    }
}

/// One conversation with what its row needs besides itself.
struct FlowView<'a> {
    source: u16,
    number: u32,
    capture: &'a Capture,
    flow: &'a Flow,
    mode: Mode,
    reason: String,
}

pub fn tables<'py>(
    py: Python<'py>,
    captures: &[Capture],
    numbers: &[Vec<u32>],
    paths: &[Path],
) -> PyResult<Bound<'py, PyDict>> {
    let mut flows: Vec<FlowView<'_>> = Vec::new();
    for (source, capture) in captures.iter().enumerate() {
        for flow in &capture.tracker.flows {
            let (mode, reason) = flow.verdict();
            let number = numbers[source][flow.id as usize];
            flows.push(FlowView { source: source as u16, number, capture, flow, mode, reason });
        }
    }
    flows.sort_by_key(|v| (v.source, v.number));
    let tables = PyDict::new(py);
    tables.set_item("sources", sources(captures)?)?;
    tables.set_item("flows", flow_table(&flows)?)?;
    tables.set_item("directions", direction_table(&flows)?)?;
    tables.set_item("rounds", round_table(captures, numbers, &flows)?)?;
    tables.set_item("paths", path_table(paths)?)?;
    tables.set_item("stats", stats(captures)?)?;
    Ok(tables)
}

fn sources(captures: &[Capture]) -> PyResult<ArrowTable> {
    let infos = || captures.iter().map(|c| &c.info);
    let mut t = Columns::default();
    t.u16("source", (0..captures.len()).map(|i| i as u16));
    t.str("path", infos().map(|i| Some(i.path.as_str())));
    t.str("kind", infos().map(|i| Some(i.kind.name())));
    t.str("compression", infos().map(|i| i.compression));
    t.str("link_types", infos().map(|i| Some(link_types(&i.link_types))));
    t.u32("snaplen", infos().map(|i| i.snaplen));
    t.u32("resolution_ns", infos().map(|i| i.resolution_ns));
    t.u64("records", infos().map(|i| i.records));
    t.u64("tcp_packets", infos().map(|i| i.tcp_packets));
    t.u64("bytes", infos().map(|i| i.bytes));
    t.i64("first_ns", infos().map(|i| i.first_ns));
    t.i64("last_ns", infos().map(|i| i.last_ns));
    t.bool("complete", infos().map(|i| i.complete));
    t.str("clock", infos().map(|_| Some("realtime")));
    t.i64("clock_offset_ns", captures.iter().map(|c| -c.clock.ns));
    t.i64("clock_residual_ns", captures.iter().map(|c| c.clock.uncertainty_ns));
    t.str("sha256", infos().map(|_| None::<&str>));
    t.str("comment", infos().map(|i| i.comment.as_deref()));
    t.finish()
}

/// Link types as libpcap names them.
fn link_types(types: &[u32]) -> String {
    types.iter().map(|&t| link::name(t)).collect::<Vec<_>>().join(",")
}

fn stats(captures: &[Capture]) -> PyResult<ArrowTable> {
    let mut rows: Vec<(u16, StatRow)> = Vec::new();
    for (source, capture) in captures.iter().enumerate() {
        rows.extend(capture.losses.iter().map(|row| (source as u16, row.clone())));
        rows.extend(clock_steps(capture).map(|row| (source as u16, row)));
    }
    let mut t = Columns::default();
    t.u16("source", rows.iter().map(|r| r.0));
    t.str("name", rows.iter().map(|r| Some(r.1.name)));
    t.u64("count", rows.iter().map(|r| r.1.count));
    t.str("severity", rows.iter().map(|r| Some(r.1.severity)));
    t.str("detail", rows.iter().map(|r| r.1.detail.as_deref()));
    t.finish()
}

fn clock_steps(capture: &Capture) -> Option<StatRow> {
    let flows = capture.tracker.flows.iter();
    let count = flows.flat_map(|f| &f.dirs).map(|d| u64::from(d.totals.clock_steps)).sum();
    let detail = Some("Stamps of one flow direction ran back by more than 1 ms.".to_owned());
    (count > 0).then_some(StatRow { name: "clock_steps", count, severity: "loss", detail })
}

fn address(raw: &Address) -> String {
    match Ipv6Addr::from(*raw).to_canonical() {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => v6.to_string(),
    }
}

fn flow_table(flows: &[FlowView<'_>]) -> PyResult<ArrowTable> {
    let mut t = Columns::default();
    flow_identity(&mut t, flows);
    flow_handshake(&mut t, flows);
    flow_options(&mut t, flows);
    t.str("vantage", flows.iter().map(|v| Some(v.flow.vantage.name())));
    t.str("tunnel", flows.iter().map(|v| tunnel_name(v.flow.tunnel)));
    t.str("ended", flows.iter().map(|v| Some(v.flow.ended.name())));
    t.i64("first_ns", flows.iter().map(|v| v.flow.first_ns));
    t.i64("last_ns", flows.iter().map(|v| v.flow.last_ns));
    t.finish()
}

fn flow_identity(t: &mut Columns, flows: &[FlowView<'_>]) {
    let key = |v: &FlowView<'_>| *v.capture.tracker.table.key(v.flow.id);
    t.u16("source", flows.iter().map(|v| v.source));
    t.u32("flow", flows.iter().map(|v| v.number));
    t.str("client", flows.iter().map(|v| Some(address(&key(v).src))));
    t.u16("client_port", flows.iter().map(|v| key(v).src_port));
    t.str("server", flows.iter().map(|v| Some(address(&key(v).dst))));
    t.u16("server_port", flows.iter().map(|v| key(v).dst_port));
    let initiator = |v: &FlowView<'_>| match v.capture.tracker.table.initiator(v.flow.id) {
        Initiator::Syn => "syn",
        Initiator::SynAck => "synack",
        Initiator::Port => "port",
    };
    t.str("initiator", flows.iter().map(|v| Some(initiator(v))));
}

fn flow_handshake(t: &mut Columns, flows: &[FlowView<'_>]) {
    let hand = || flows.iter().map(|v| &*v.flow.handshake);
    let accecn = |v: &FlowView<'_>| v.mode == Mode::AccEcn;
    t.str("handshake", hand().map(|h| Some(h.state())));
    t.str("mode", flows.iter().map(|v| Some(v.mode.name())));
    t.str("mode_reason", flows.iter().map(|v| Some(v.reason.as_str())));
    t.u16("syn_count", hand().map(|h| h.syn_count));
    t.u16("synack_count", hand().map(|h| h.synack_count));
    t.bool("simultaneous_open", hand().map(|h| h.simultaneous));
    t.u8("syn_ace", hand().map(|h| h.syn.map(|s| s.ace)));
    t.u8("syn_ecn", hand().map(|h| h.syn.map(|s| s.ecn)));
    t.u8("syn_retry_ace", hand().map(|h| h.retry.map(|s| s.ace)));
    t.u8("synack_ace", hand().map(|h| h.decisive_synack().map(|s| s.ace)));
    t.u8("synack_ecn", hand().map(|h| h.decisive_synack().map(|s| s.ecn)));
    let code = |v: &FlowView<'_>, shown: Option<u8>| shown.filter(|_| accecn(v)).and_then(reflected);
    let synack = |v: &FlowView<'_>| v.flow.handshake.decisive_synack().map(|s| s.ace);
    let answer = |v: &FlowView<'_>| v.flow.handshake.final_ack.map(|s| s.ace);
    t.u8("syn_arrived_ecn", flows.iter().map(|v| code(v, synack(v))));
    t.u8("final_ack_ace", hand().map(|h| h.final_ack.map(|s| s.ace)));
    t.u8("synack_arrived_ecn", flows.iter().map(|v| code(v, answer(v))));
    t.u64("syn_frame", hand().map(|h| h.syn.map(|s| s.frame)));
    t.u64("synack_frame", hand().map(|h| h.decisive_synack().map(|s| s.frame)));
    t.u64("final_ack_frame", hand().map(|h| h.final_ack.map(|s| s.frame)));
}

fn flow_options(t: &mut Columns, flows: &[FlowView<'_>]) {
    let hand = || flows.iter().map(|v| &*v.flow.handshake);
    t.u16("mss_client", hand().map(|h| h.mss[0]));
    t.u16("mss_server", hand().map(|h| h.mss[1]));
    t.u8("wscale_client", hand().map(|h| h.wscale[0]));
    t.u8("wscale_server", hand().map(|h| h.wscale[1]));
    // Null where the handshake was not seen: then nothing says whether SACK is allowed.
    t.bool(
        "sack_permitted",
        hand().map(|h| {
            (h.syn.is_some() && h.synack.is_some()).then_some(h.sack_permitted[0] && h.sack_permitted[1])
        }),
    );
    t.bool("timestamps", flows.iter().map(|v| v.flow.timestamps));
}

/// One direction with what its row needs besides itself.
struct DirectionView<'a> {
    flow: &'a FlowView<'a>,
    forward: bool,
    dir: &'a Direction,
}

impl DirectionView<'_> {
    fn accecn(&self) -> bool {
        self.flow.mode == Mode::AccEcn
    }

    /// The count fed back, where AccECN carried one.
    fn fed_back(&self, count: impl Fn(&Direction) -> u64) -> Option<u64> {
        (self.accecn() && self.dir.feedback.ce.started()).then(|| count(self.dir))
    }

    fn rtt_us(&self, ns: impl Fn(&Direction) -> Option<i64>) -> Option<f64> {
        ns(self.dir).map(|ns| ns as f64 / 1e3)
    }

    fn classic(&self, count: u64) -> Option<u64> {
        (self.flow.mode != Mode::AccEcn).then_some(count)
    }
}

fn direction_table(flows: &[FlowView<'_>]) -> PyResult<ArrowTable> {
    let mut dirs: Vec<DirectionView<'_>> = Vec::with_capacity(flows.len() * 2);
    for flow in flows {
        for (forward, dir) in [(true, &flow.flow.dirs[0]), (false, &flow.flow.dirs[1])] {
            if dir.totals.packets > 0 {
                dirs.push(DirectionView { flow, forward, dir });
            }
        }
    }
    let mut t = Columns::default();
    t.u16("source", dirs.iter().map(|d| d.flow.source));
    t.u32("flow", dirs.iter().map(|d| d.flow.number));
    t.bool("forward", dirs.iter().map(|d| d.forward));
    direction_counts(&mut t, &dirs);
    direction_rtts(&mut t, &dirs);
    direction_feedback(&mut t, &dirs);
    direction_options(&mut t, &dirs);
    direction_span(&mut t, &dirs);
    t.finish()
}

fn direction_counts(t: &mut Columns, dirs: &[DirectionView<'_>]) {
    let totals = || dirs.iter().map(|d| &d.dir.totals);
    t.u64("packets", totals().map(|n| n.packets));
    t.u64("data_packets", totals().map(|n| n.data_packets));
    t.u64("payload_bytes", totals().map(|n| n.payload_bytes));
    // Without the data in the capture the acknowledgements still tell; their scale begins at the SYN.
    let acked = |d: &DirectionView<'_>| match &d.dir.sender {
        Some(sender) => sender.acked_bytes,
        None => (d.dir.acked - 1).max(0) as u64,
    };
    t.u64("acked_bytes", dirs.iter().map(acked));
    for (i, name) in ["not_ect", "ect1", "ect0", "ce"].into_iter().enumerate() {
        t.u64(name, totals().map(|n| n.ecn[i]));
    }
    for (i, name) in ["data_not_ect", "data_ect1", "data_ect0", "data_ce"].into_iter().enumerate() {
        t.u64(name, totals().map(|n| n.data_ecn[i]));
    }
    t.u64("ce_payload_bytes", totals().map(|n| n.ce_payload_bytes));
    t.u64("retransmits", totals().map(|n| n.retransmits));
    t.u64("retransmitted_bytes", totals().map(|n| n.retransmitted_bytes));
    t.u64("out_of_order", totals().map(|n| n.out_of_order));
    t.u64("duplicates", totals().map(|n| n.duplicates));
    t.u32("max_payload", totals().map(|n| n.max_payload));
    t.u64("super_packets", totals().map(|n| n.super_packets));
    t.u64("outer_inner_differ", totals().map(|n| n.outer_inner_differ));
}

fn direction_rtts(t: &mut Columns, dirs: &[DirectionView<'_>]) {
    let rtt = |d: &DirectionView<'_>| d.dir.sender.as_ref().map(|s| s.rtt).filter(|r| r.samples > 0);
    t.f64("rtt_min_us", dirs.iter().map(|d| rtt(d).map(|r| r.min_ns as f64 / 1e3)));
    t.f64("rtt_mean_us", dirs.iter().map(|d| rtt(d).map(|r| r.sum_ns as f64 / r.samples as f64 / 1e3)));
    t.f64("rtt_max_us", dirs.iter().map(|d| rtt(d).map(|r| r.max_ns as f64 / 1e3)));
    t.u64("rtt_samples", dirs.iter().map(|d| rtt(d).map_or(0, |r| r.samples)));
    t.f64("ts_rtt_min_us", dirs.iter().map(|d| d.rtt_us(|d| d.echoes.min_ns)));
}

fn direction_feedback(t: &mut Columns, dirs: &[DirectionView<'_>]) {
    t.u64("ce_fed_back_lo", dirs.iter().map(|d| d.fed_back(|d| d.feedback.ce.lo)));
    let open = |d: &DirectionView<'_>| d.flow.flow.unreported(usize::from(!d.forward));
    t.u64("ce_fed_back_hi", dirs.iter().map(|d| Some(d.fed_back(|d| d.feedback.ce.hi)? + open(d))));
    t.u64("ce_fed_back_best", dirs.iter().map(|d| d.fed_back(|d| d.feedback.ce.best)));
    t.u64("ce_fed_back_naive", dirs.iter().map(|d| d.fed_back(|d| d.feedback.ce.naive)));
    let bytes = |d: &DirectionView<'_>, i: usize| {
        d.dir.feedback.bytes.as_ref().and_then(|b| b.total[i]).and_then(|n| u64::try_from(n).ok())
    };
    t.u64("ceb_bytes", dirs.iter().map(|d| bytes(d, CEB)));
    t.u64("e0b_bytes", dirs.iter().map(|d| bytes(d, E0B)));
    t.u64("e1b_bytes", dirs.iter().map(|d| bytes(d, E1B)));
}

fn direction_options(t: &mut Columns, dirs: &[DirectionView<'_>]) {
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
    let ace =
        |d: &DirectionView<'_>| d.accecn().then_some(&d.dir.carried).filter(|c| c.ace_seen != 0).cloned();
    t.u8("ace_first", dirs.iter().map(|d| ace(d).and_then(|c| c.ace_first)));
    t.u8("ace_distinct", dirs.iter().map(|d| ace(d).map(|c| c.ace_seen.count_ones() as u8)));
    t.u64("ace_zero_run", dirs.iter().map(|d| ace(d).map(|c| c.zero_run_max)));
    t.u64("ece_acks", dirs.iter().map(|d| d.classic(d.dir.totals.ece_acks)));
    t.u64("cwr_packets", dirs.iter().map(|d| d.classic(d.dir.totals.cwr_packets)));
}

fn direction_span(t: &mut Columns, dirs: &[DirectionView<'_>]) {
    let totals = || dirs.iter().map(|d| &d.dir.totals);
    t.u64("acks", totals().map(|n| n.acks));
    t.f64("handshake_rtt_us", dirs.iter().map(|d| d.rtt_us(|d| d.handshake_rtt_ns)));
    t.u64("options_cut", totals().map(|n| n.options_cut));
    t.u32("clock_steps", totals().map(|n| n.clock_steps));
    t.u64("first_frame", totals().map(|n| n.first_frame));
    t.u64("last_frame", totals().map(|n| n.last_frame));
    t.i64("first_ns", totals().map(|n| n.first_ns));
    t.i64("last_ns", totals().map(|n| n.last_ns));
    t.i64("first_ce_ns", totals().map(|n| n.first_ce.map(|c| c.0)));
    t.u64("first_ce_frame", totals().map(|n| n.first_ce.map(|c| c.1)));
}

/// One round with what its row needs besides itself.
struct RoundView<'a> {
    source: u16,
    number: u32,
    mode: Mode,
    delay: Option<[f64; 3]>,
    row: &'a RoundRow,
}

impl RoundView<'_> {
    fn accecn<T>(&self, value: impl Fn(&RoundRow) -> T) -> Option<T> {
        (self.mode == Mode::AccEcn).then(|| value(self.row))
    }
}

fn round_table(captures: &[Capture], numbers: &[Vec<u32>], flows: &[FlowView<'_>]) -> PyResult<ArrowTable> {
    let mut modes: Vec<Vec<Mode>> = numbers.iter().map(|n| vec![Mode::Unknown; n.len()]).collect();
    for v in flows {
        modes[usize::from(v.source)][v.flow.id as usize] = v.mode;
    }
    let mut rounds: Vec<RoundView<'_>> = Vec::new();
    for (source, capture) in captures.iter().enumerate() {
        rounds.extend(capture.tracker.rounds.iter().enumerate().map(|(i, row)| RoundView {
            source: source as u16,
            delay: capture.delays.get(i).copied().flatten(),
            number: numbers[source][row.flow as usize],
            mode: modes[source][row.flow as usize],
            row,
        }));
    }
    rounds.sort_by_key(|r| (r.source, r.number, !r.row.forward, r.row.round));
    let mut t = Columns::default();
    round_identity(&mut t, &rounds);
    round_feedback(&mut t, &rounds);
    round_rtts(&mut t, &rounds);
    round_window(&mut t, &rounds);
    round_replay(&mut t, &rounds);
    t.finish()
}

fn round_identity(t: &mut Columns, rounds: &[RoundView<'_>]) {
    t.u16("source", rounds.iter().map(|r| r.source));
    t.u32("flow", rounds.iter().map(|r| r.number));
    t.bool("forward", rounds.iter().map(|r| r.row.forward));
    let rows = || rounds.iter().map(|r| r.row);
    t.u32("round", rows().map(|r| r.round));
    t.i64("start_ns", rows().map(|r| r.start_ns));
    t.i64("end_ns", rows().map(|r| r.end_ns));
    t.u64("first_frame", rows().map(|r| r.first_frame));
    t.u64("last_frame", rows().map(|r| r.last_frame));
    t.u32("sent_packets", rows().map(|r| r.sent_packets));
    t.u64("sent_bytes", rows().map(|r| r.sent_bytes));
    t.u32("ect1", rows().map(|r| r.ecn[1]));
    t.u32("ect0", rows().map(|r| r.ecn[2]));
    t.u32("not_ect", rows().map(|r| r.ecn[0]));
    t.u32("ce", rows().map(|r| r.ecn[3]));
    t.u32("acked_packets", rows().map(|r| r.acked_packets));
    t.u64("acked_bytes", rows().map(|r| r.acked_bytes));
}

fn round_feedback(t: &mut Columns, rounds: &[RoundView<'_>]) {
    t.u32("ce_lo", rounds.iter().map(|r| r.accecn(|r| r.ce.lo)));
    t.u32("ce_hi", rounds.iter().map(|r| r.accecn(|r| r.ce.hi)));
    t.u32("ce_best", rounds.iter().map(|r| r.accecn(|r| r.ce.best)));
    t.u64("ce_bytes", rounds.iter().map(|r| r.row.ce_bytes));
    let classic = |r: &RoundView<'_>| (r.mode != Mode::AccEcn).then_some(r.row.ece_acks);
    t.u32("ece_acks", rounds.iter().map(classic));
}

fn round_rtts(t: &mut Columns, rounds: &[RoundView<'_>]) {
    let rows = || rounds.iter().map(|r| r.row);
    t.f64("rtt_min_us", rows().map(|r| r.rtt.map(|s| s.min_us)));
    t.f64("rtt_mean_us", rows().map(|r| r.rtt.map(|s| s.mean_us)));
    t.f64("rtt_max_us", rows().map(|r| r.rtt.map(|s| s.max_us)));
    t.f64("rtt_mdev_us", rows().map(|r| r.rtt.map(|s| s.mdev_us)));
    t.u32("rtt_samples", rows().map(|r| r.rtt_samples));
    t.f64("queue_delay_us", rows().map(|r| r.queue_delay_us));
}

fn round_window(t: &mut Columns, rounds: &[RoundView<'_>]) {
    let rows = || rounds.iter().map(|r| r.row);
    t.u64("inflight_max_bytes", rows().map(|r| r.inflight_max_bytes));
    t.u32("inflight_max_packets", rows().map(|r| r.inflight_max_packets));
    t.f64("cwnd_packets", rows().map(|r| r.cwnd_packets));
    t.u64("rwnd_bytes", rows().map(|r| r.rwnd_bytes));
    t.str("limited_by", rows().map(|r| Some(r.limited_by.name())));
    t.f64("goodput_bps", rows().map(|r| r.goodput_bps));
    t.u32("retransmits", rows().map(|r| r.retransmits));
    t.u32("out_of_order", rows().map(|r| r.out_of_order));
    t.u32("burst_bytes", rows().map(|r| r.burst_bytes));
    t.u64("burst_frame", rows().map(|r| r.burst_frame));
    t.bool("slow_start", rows().map(|r| r.slow_start));
}

fn round_replay(t: &mut Columns, rounds: &[RoundView<'_>]) {
    for (i, name) in ["alpha", "alpha_lo", "alpha_hi", "alpha_25ms"].into_iter().enumerate() {
        t.f64(name, rounds.iter().map(|r| r.accecn(|r| r.alpha[i])));
    }
    let rows = || rounds.iter().map(|r| r.row);
    t.f64("srtt_pace_us", rows().map(|r| r.srtt_pace_us));
    t.f64("mdev_pace_us", rows().map(|r| r.mdev_pace_us));
    t.f64("classic_ecn", rows().map(|r| r.classic_ecn));
    t.f64("classic_ecn_buggy", rows().map(|r| r.classic_ecn_buggy));
    for (i, name) in ["owd_min_us", "owd_mean_us", "owd_max_us"].into_iter().enumerate() {
        t.f64(name, rounds.iter().map(|r| r.delay.map(|d| d[i])));
    }
}
