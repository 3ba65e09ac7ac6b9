//! Rows of UDP in the tables `flows` and `directions`: what only TCP has is null there.

use std::collections::HashSet;
use std::net::IpAddr;

use pyo3::prelude::*;

use super::arrow::{ArrowTable, Columns};
use super::flows::address;
use super::tunnel_name;
use crate::datagrams::{Conversation, Datagrams, Only, Seen};
use crate::packet::{Address, FlowKey, Network};
use crate::python::seam::{caught, native};
use crate::read::{self, Input};
use crate::run::{Hosts, UdpView};
use crate::track::{Counts, Limit, RttTotals, Sending, Tally, Transport, UdpSlot};

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(datagrams, m)?)
}

/// Number, transport, client, its port, server and its port.
type Ends = (u32, String, String, u16, String, u16);

/// Datagrams of UDP conversations: `frame`, `flow`, `forward`, `ts_ns`, `bytes` of their payload, `ip_ecn`, and what they
/// state in clear: their `number`, the highest that they report on (`reported`), and how many more CE (`ce`).
///
/// `spans`: times of flows on the capture's own clock, both ends included; `most`: datagrams of each direction in each of
/// them, from the first; `frames`: no others.
#[pyfunction]
#[pyo3(signature = (path, flows, most, spans=Vec::new(), frames=None))]
#[allow(clippy::needless_pass_by_value)] // as Python hands them over
fn datagrams(
    py: Python<'_>,
    path: &str,
    flows: Vec<Ends>,
    most: usize,
    spans: Vec<(u32, i64, i64)>,
    frames: Option<HashSet<u64>>,
) -> PyResult<ArrowTable> {
    let keys: Vec<_> = flows.iter().filter_map(conversation).collect();
    let stream = native(py, || read::open(&Input::from(path)))?;
    let only = Only { most, spans, frames };
    let mut found = Datagrams::new(stream, &keys, only);
    while native(py, || found.batch())? {
        py.check_signals()?;
    }
    let fill = |table: &mut Columns, rows: &[Seen]| {
        table
            .u64("frame", rows.iter().map(|row| row.frame))
            .u64("offset", rows.iter().map(|row| row.offset))
            .u32("captured_len", rows.iter().map(|row| row.captured_len))
            .u32("wire_len", rows.iter().map(|row| row.wire_len))
            .u32("flow", rows.iter().map(|row| row.flow))
            .bool("forward", rows.iter().map(|row| row.forward))
            .i64("ts_ns", rows.iter().map(|row| row.ts_ns))
            .u32("bytes", rows.iter().map(|row| row.bytes))
            .u8("ip_ecn", rows.iter().map(|row| row.ecn))
            .i64("number", rows.iter().map(|row| row.stated.number))
            .i64("reported", rows.iter().map(|row| row.stated.reported))
            .u32("ce", rows.iter().map(|row| row.stated.ce));
    };
    caught(|| Columns::blocks(found.rows(), fill).finish())
}

fn conversation((flow, transport, client, client_port, server, server_port): &Ends) -> Option<Conversation> {
    let (src, dst) = (mapped(client)?, mapped(server)?);
    let key =
        FlowKey { src, dst, src_port: *client_port, dst_port: *server_port, network: Network::default() };
    Some((*flow, key, Transport::named(transport)?))
}

fn mapped(text: &str) -> Option<Address> {
    Some(match text.parse().ok()? {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    })
}

pub fn flows(flows: &[UdpView<'_>]) -> Columns {
    Columns::blocks(flows, |t, flows| {
        t.u16("source", flows.iter().map(|v| v.source));
        t.u32("flow", flows.iter().map(|v| v.number));
        t.str("transport", flows.iter().map(|v| Some(v.flow.transport().name())));
        t.str("version", flows.iter().map(|v| v.flow.version()));
        let key = || flows.iter().map(|v| &v.flow.key);
        t.str("client", key().map(|key| Some(address(&key.src))));
        t.u16("client_port", key().map(|key| key.src_port));
        t.str("server", key().map(|key| Some(address(&key.dst))));
        t.u16("server_port", key().map(|key| key.dst_port));
        t.str("network", key().map(|key| key.network.name()));
        t.str("initiator", flows.iter().map(|_| Some("port")));
        t.str("vantage", flows.iter().map(|v| Some(v.vantage.name())));
        t.str("tunnel", flows.iter().map(|v| tunnel_name(v.flow.tunnel)));
        t.i64("first_ns", flows.iter().map(|v| v.flow.first_ns));
        t.i64("last_ns", flows.iter().map(|v| v.flow.last_ns));
    })
}

/// How a sender tries ECN out, and with which DSCP.
fn ecn_tried(t: &mut Columns, dirs: &[Direction<'_>]) {
    let dscps = || dirs.iter().map(|d| (d.tally.packets, d.tally.dscps.most(d.tally.packets)));
    t.u8("dscp", dscps().map(|(_, most)| most.0));
    t.u64("other_dscps", dscps().map(|(packets, most)| packets.saturating_sub(most.1)));
    let runs = || dirs.iter().map(|d| d.view.flow.runs(usize::from(!d.forward)));
    t.u32("ecn_runs", runs().map(|r| r.count));
    t.u32_lists("first_ecn_runs", runs().map(|r| Some(r.first())));
    let given_up = || dirs.iter().map(|d| d.view.flow.given_up(usize::from(!d.forward)));
    t.i64("without_ect_since_ns", given_up().map(|since| since.map(|s| s.0)));
    t.u64("without_ect_since_frame", given_up().map(|since| since.map(|s| s.1)));
    t.u64("without_ect_packets", runs().map(|r| r.without_ect));
    let classes = || dirs.iter().map(|d| d.view.flow.spacing(usize::from(!d.forward)).classes());
    t.u32("sender_host", dirs.iter().map(|d| d.host));
    t.u32_lists("pairs_by_gap", classes().map(|all| all.map(|all| all.iter().map(|of| of[0]))));
    t.u32_lists("turns_by_gap", classes().map(|all| all.map(|all| all.iter().map(|of| of[1]))));
    let from_start = |d: &Direction<'_>| match d.view.flow.transport() {
        // Its numbers begin at 1.
        Transport::UdpPrague => d.sending.map(Sending::is_from_start),
        Transport::Quic => d.sending.map(|_| d.view.flow.version().is_some()),
        Transport::Rtp | Transport::Udp => None,
    };
    t.bool("from_start", dirs.iter().map(from_start));
}

/// One direction that showed packets.
struct Direction<'a> {
    view: &'a UdpView<'a>,
    forward: bool,
    host: Option<u32>,
    tally: &'a Tally,
    sending: Option<&'a Sending>,
}

impl Direction<'_> {
    /// A count of what carries data: none where the transport's messages only acknowledge.
    fn data(&self, count: u64) -> u64 {
        let carries = self.sending.is_none_or(|sending| sending.counts.sent > 0);
        if carries {
            count
        } else {
            0
        }
    }

    /// Of what the receiver reports in clear.
    fn reported<T>(&self, value: impl Fn(&Counts) -> T) -> Option<T> {
        self.sending.map(|sending| &sending.counts).filter(|counts| counts.is_reported()).map(value)
    }

    /// Of reports, whose content may be encrypted.
    fn reports<T>(&self, value: impl Fn(&Counts) -> T) -> Option<T> {
        self.sending.map(|sending| &sending.counts).filter(|counts| counts.reports > 0).map(value)
    }

    fn rtt<T>(&self, value: impl Fn(&RttTotals) -> T) -> Option<T> {
        self.reported(|counts| counts.rtt).filter(|rtt| rtt.samples > 0).map(|rtt| value(&rtt))
    }
}

pub fn directions(flows: &[UdpView<'_>]) -> Columns {
    let mut dirs: Vec<Direction<'_>> = Vec::with_capacity(flows.len() * 2);
    let mut hosts = Hosts::default();
    for view in flows {
        let sides = [true, false].into_iter().zip(&view.flow.dirs).filter(|(_, dir)| dir.packets > 0);
        dirs.extend(sides.map(|(forward, tally)| Direction {
            view,
            forward,
            host: hosts.number(view.source, view.flow, usize::from(!forward)),
            tally,
            sending: view.flow.sending(usize::from(!forward)),
        }));
    }
    Columns::blocks(&dirs, |t, dirs| {
        t.u16("source", dirs.iter().map(|d| d.view.source));
        t.u32("flow", dirs.iter().map(|d| d.view.number));
        t.bool("forward", dirs.iter().map(|d| d.forward));
        counts(t, dirs);
        feedback(t, dirs);
        ecn_tried(t, dirs);
    })
}

fn counts(t: &mut Columns, dirs: &[Direction<'_>]) {
    let tally = || dirs.iter().map(|d| d.tally);
    t.u64("packets", tally().map(|n| n.packets));
    t.u64("data_packets", dirs.iter().map(|d| d.data(d.tally.data_packets)));
    t.u64("data_segments", dirs.iter().map(|d| d.reported(|_| d.tally.data_packets)));
    t.u64("payload_bytes", dirs.iter().map(|d| d.data(d.tally.payload_bytes)));
    for (i, name) in ["not_ect", "ect1", "ect0", "ce"].into_iter().enumerate() {
        t.u64(name, tally().map(|n| n.ecn[i]));
    }
    for (i, name) in ["data_not_ect", "data_ect1", "data_ect0", "data_ce"].into_iter().enumerate() {
        t.u64(name, dirs.iter().map(|d| d.data(d.tally.data_ecn[i])));
    }
    t.u64("ce_segments", dirs.iter().map(|d| d.reported(|_| d.tally.data_ecn[3])));
    t.u64("ce_payload_bytes", tally().map(|n| n.ce_payload_bytes));
    t.u32("max_payload", tally().map(|n| n.max_payload));
    t.u64("super_packets", tally().map(|n| n.super_packets));
    t.u64("outer_inner_differ", tally().map(|n| n.outer_differs));
    t.u64("outer_ce", tally().map(|n| n.outer_ce));
    t.u64("outer_not_ect", tally().map(|n| n.outer_not_ect));
    t.u64("first_frame", tally().map(|n| n.first_frame));
    t.u64("last_frame", tally().map(|n| n.last_frame));
    t.i64("first_ns", tally().map(|n| n.first_ns));
    t.i64("last_ns", tally().map(|n| n.last_ns));
    t.i64("first_ce_ns", tally().map(|n| n.first_ce.map(|c| c.0)));
    t.u64("first_ce_frame", tally().map(|n| n.first_ce.map(|c| c.1)));
}

fn feedback(t: &mut Columns, dirs: &[Direction<'_>]) {
    let us = |ns: i64| ns as f64 / 1e3;
    t.u64("acked_bytes", dirs.iter().map(|d| d.reported(|n| n.acked_bytes)));
    t.u64("out_of_order", dirs.iter().map(|d| d.reported(|n| n.out_of_order)));
    t.f64("rtt_min_us", dirs.iter().map(|d| d.rtt(|rtt| us(rtt.min_ns))));
    t.f64("rtt_mean_us", dirs.iter().map(|d| d.rtt(|rtt| rtt.sum_ns as f64 / rtt.samples as f64 / 1e3)));
    t.f64("rtt_max_us", dirs.iter().map(|d| d.rtt(|rtt| us(rtt.max_ns))));
    t.u64("rtt_samples", dirs.iter().map(|d| d.reported(|n| n.rtt.samples)));
    let spins = dirs.iter().map(|d| d.view.flow.spin_rtt_us(usize::from(!d.forward)));
    t.f64("spin_rtt_us", spins.map(|rtt| rtt.map(f64::from)));
    t.u64("ce_fed_back_lo", dirs.iter().map(|d| d.reported(|n| n.ce)));
    t.u64("ce_fed_back_hi", dirs.iter().map(|d| d.reported(|_| ()).and(d.sending).map(Sending::most_ce)));
    t.u64("ce_fed_back_best", dirs.iter().map(|d| d.reported(|n| n.ce)));
    t.u64("reported_packets", dirs.iter().map(|d| d.reported(|n| n.received)));
    t.u64("reported_lost", dirs.iter().map(|d| d.reported(|n| n.lost.max(0) as u64)));
    for (i, name) in ["reported_ect0", "reported_ect1"].into_iter().enumerate() {
        let counts = |n: &Counts| n.reported_ecn.map(|ecn| ecn[i]);
        t.u64(name, dirs.iter().map(|d| d.reported(counts).flatten()));
    }
    t.u64("reports", dirs.iter().map(|d| d.reports(|n| n.reports)));
    t.u64("reports_hidden", dirs.iter().map(|d| d.reports(|n| n.hidden)));
    t.f64("report_interval_us", dirs.iter().map(|d| d.reports(Counts::interval_ns).flatten().map(us)));
    t.u64("report_waits", dirs.iter().map(|d| d.reported(|n| n.waits)));
    t.f64("report_wait_us", dirs.iter().map(|d| d.reported(|n| us(n.waited_ns))));
    t.i64("l4s_error_ns", dirs.iter().map(|d| d.reported(|n| n.error.map(|e| e.0)).flatten()));
    t.u64("l4s_error_frame", dirs.iter().map(|d| d.reported(|n| n.error.map(|e| e.1)).flatten()));
}

/// What each direction carried over time: rows as of `rounds`, of which UDP shows no RTT and no window.
pub fn rounds(flows: &[UdpView<'_>]) -> Columns {
    let mut rows: Vec<(&UdpView<'_>, bool, u32, i64, i64, &UdpSlot, Limit)> = Vec::new();
    for view in flows {
        for (side, forward) in [true, false].into_iter().enumerate() {
            let (slots, limit) = (view.flow.slots(side).zip(0..), view.flow.limit(side));
            let row = |((begin, end, slot), round)| (view, forward, round, begin, end, slot, limit);
            rows.extend(slots.map(row));
        }
    }
    Columns::blocks(&rows, |t, rows| {
        t.u16("source", rows.iter().map(|r| r.0.source));
        t.u32("flow", rows.iter().map(|r| r.0.number));
        t.bool("forward", rows.iter().map(|r| r.1));
        t.u32("round", rows.iter().map(|r| r.2));
        t.i64("start_ns", rows.iter().map(|r| r.3));
        t.i64("end_ns", rows.iter().map(|r| r.4));
        let slot = || rows.iter().map(|r| r.5);
        t.u64("first_frame", slot().map(|s| s.first_frame));
        t.u64("last_frame", slot().map(|s| s.last_frame));
        t.u32("sent_packets", slot().map(|s| s.packets));
        t.u64("sent_bytes", slot().map(|s| s.bytes));
        t.str("limited_by", rows.iter().map(|r| Some(r.6.name())));
        for (i, name) in ["not_ect", "ect1", "ect0", "ce"].into_iter().enumerate() {
            t.u32(name, slot().map(|s| s.ecn[i]));
        }
    })
}
