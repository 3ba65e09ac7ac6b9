//! The `flows` table.

use std::net::{IpAddr, Ipv6Addr};

use super::arrow::Columns;
use super::tunnel_name;
use crate::packet::Address;
use crate::run::FlowView;
use crate::track::Initiator;

pub fn table(flows: &[FlowView<'_>]) -> Columns {
    Columns::blocks(flows, |t, flows| {
        identity(t, flows);
        handshake(t, flows);
        options(t, flows);
        t.str("vantage", flows.iter().map(|v| Some(v.vantage().name())));
        t.str("tunnel", flows.iter().map(|v| tunnel_name(v.flow.tunnel)));
        t.str("ended", flows.iter().map(|v| Some(v.flow.ended.name())));
        t.u64("first_frame", flows.iter().map(|v| v.flow.first_frame));
        t.i64("first_ns", flows.iter().map(|v| v.flow.first_ns));
        t.i64("last_ns", flows.iter().map(|v| v.flow.last_ns));
    })
}

fn identity(t: &mut Columns, flows: &[FlowView<'_>]) {
    let key = |v: &FlowView<'_>| *v.capture.tracker.table.key(v.flow.id);
    t.u16("source", flows.iter().map(|v| v.source));
    t.u32("flow", flows.iter().map(|v| v.number));
    t.str("transport", flows.iter().map(|_| Some("tcp")));
    t.str("version", flows.iter().map(|_| None::<&str>));
    t.str("client", flows.iter().map(|v| Some(address(&key(v).src))));
    t.u16("client_port", flows.iter().map(|v| key(v).src_port));
    t.str("server", flows.iter().map(|v| Some(address(&key(v).dst))));
    t.u16("server_port", flows.iter().map(|v| key(v).dst_port));
    t.str("network", flows.iter().map(|v| key(v).network.name()));
    let initiator = |v: &FlowView<'_>| match v.initiator() {
        Initiator::Syn => "syn",
        Initiator::SynAck => "synack",
        Initiator::Port => "port",
    };
    t.str("initiator", flows.iter().map(|v| Some(initiator(v))));
}

fn handshake(t: &mut Columns, flows: &[FlowView<'_>]) {
    let hand = || flows.iter().map(|v| &*v.flow.handshake);
    t.str("handshake", hand().map(|h| Some(h.state())));
    t.str("mode", flows.iter().map(|v| Some(v.mode.name())));
    t.str("mode_reason", flows.iter().map(|v| Some(v.reason.as_str())));
    t.u16("syn_count", hand().map(|h| h.syn_count));
    t.u16("synack_count", hand().map(|h| h.synack_count));
    t.u32("client_isn", flows.iter().map(|v| v.capture.tracker.table.client_isn(v.flow.id)));
    t.bool("simultaneous_open", hand().map(|h| h.simultaneous));
    t.u8("syn_ace", hand().map(|h| h.syn.map(|s| s.ace)));
    t.u8("syn_ecn", hand().map(|h| h.syn.map(|s| s.ecn)));
    t.u8("syn_retry_ace", hand().map(|h| h.retry.map(|s| s.ace)));
    t.u8("synack_ace", hand().map(|h| h.decisive_synack().map(|s| s.ace)));
    t.u8("synack_ecn", hand().map(|h| h.decisive_synack().map(|s| s.ecn)));
    t.u8("syn_arrived_ecn", flows.iter().map(FlowView::syn_arrived));
    t.u8("final_ack_ace", hand().map(|h| h.final_ack.map(|s| s.ace)));
    t.u8("synack_arrived_ecn", flows.iter().map(FlowView::synack_arrived));
    t.u64("syn_frame", hand().map(|h| h.syn.map(|s| s.frame)));
    t.u64("synack_frame", hand().map(|h| h.decisive_synack().map(|s| s.frame)));
    t.u64("final_ack_frame", hand().map(|h| h.final_ack.map(|s| s.frame)));
}

fn options(t: &mut Columns, flows: &[FlowView<'_>]) {
    let hand = || flows.iter().map(|v| &*v.flow.handshake);
    t.u16("mss_client", hand().map(|h| h.mss[0]));
    t.u16("mss_server", hand().map(|h| h.mss[1]));
    t.u8("wscale_client", hand().map(|h| h.wscale[0]));
    t.u8("wscale_server", hand().map(|h| h.wscale[1]));
    t.bool("sack_permitted", flows.iter().map(FlowView::sack_permitted));
    t.bool("timestamps", flows.iter().map(|v| v.flow.timestamps));
}

pub fn address(raw: &Address) -> String {
    match Ipv6Addr::from(*raw).to_canonical() {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => v6.to_string(),
    }
}
