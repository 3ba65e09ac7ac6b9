//! Tracked captures as Arrow tables, column by column as `l4strace/schema/capture.py` declares them.

use std::net::{IpAddr, Ipv6Addr};

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::arrow::{ArrowTable, Columns};
use super::packets::tunnel_name;
use super::pairing::path_table;
use super::track_directions::direction_table;
use super::track_rounds::round_table;
use crate::decode::link;
use crate::packet::Address;
use crate::pair::{Offset, Path, RoundDelay};
use crate::read::{SourceInfo, StatRow};
use crate::track::{reflected, Flow, Initiator, Member, Mode, Tracker};

/// What one capture gave.
pub struct Capture {
    pub info: SourceInfo,
    pub losses: Vec<StatRow>,
    pub tracker: Tracker,
    /// Clock against that of the first capture: already taken off all stamps.
    pub clock: Offset,
    /// One-way delays by row of the tracker's rounds; empty when the capture was not paired.
    pub delays: Vec<Option<RoundDelay>>,
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
pub struct FlowView<'a> {
    pub source: u16,
    pub number: u32,
    pub capture: &'a Capture,
    pub flow: &'a Flow,
    pub mode: Mode,
    pub reason: String,
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
    Columns::blocks(flows, |t, flows| {
        flow_identity(t, flows);
        flow_handshake(t, flows);
        flow_options(t, flows);
        t.str("vantage", flows.iter().map(|v| Some(v.flow.vantage.name())));
        t.str("tunnel", flows.iter().map(|v| tunnel_name(v.flow.tunnel)));
        t.str("ended", flows.iter().map(|v| Some(v.flow.ended.name())));
        t.i64("first_ns", flows.iter().map(|v| v.flow.first_ns));
        t.i64("last_ns", flows.iter().map(|v| v.flow.last_ns));
    })
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
