//! Conversations by their packets' keys.

use super::*;
use crate::track::testing::{packet, A, B};

fn intern(table: &mut FlowTable, p: &Packet) -> Interned {
    table.intern(p, table.keys.hash(&p.key))
}

fn syn(from: u8, seq: u32) -> Packet {
    Packet { flags: flag::SYN, seq, ..packet(from) }
}

#[test]
fn both_directions_are_one_flow() {
    let mut table = FlowTable::default();
    let first = intern(&mut table, &syn(A, 5));
    assert_eq!(first, Interned { flow: 0, forward: true, new: true });
    let back = intern(&mut table, &Packet { flags: flag::SYN | flag::ACK, seq: 9, ack: 6, ..packet(B) });
    assert_eq!(back, Interned { flow: 0, forward: false, new: false });
    assert_eq!(table.initiator(0), Initiator::Syn);
}

#[test]
fn a_syn_with_another_isn_is_a_new_conversation() {
    let mut table = FlowTable::default();
    intern(&mut table, &syn(A, 5));
    assert!(!intern(&mut table, &syn(A, 5)).new);
    intern(&mut table, &Packet { flags: flag::SYN | flag::ACK, seq: 9, ack: 6, ..packet(B) });
    let again = intern(&mut table, &syn(A, 77));
    assert_eq!(again, Interned { flow: 1, forward: true, new: true });
    assert_eq!(intern(&mut table, &Packet { flags: flag::ACK, ..packet(B) }).flow, 1);
}

fn in_vlan(id: u16, p: Packet) -> Packet {
    let key = FlowKey { network: p.key.network.in_vlan(id), ..p.key };
    Packet { key, ..p }
}

#[test]
fn the_same_ends_in_two_networks_are_two_conversations() {
    let mut table = FlowTable::default();
    let data = |seq, ack| Packet { flags: flag::ACK, seq, ack, ..packet(A) };
    assert_eq!(intern(&mut table, &syn(A, 5)).flow, 0);
    assert_eq!(intern(&mut table, &in_vlan(10, syn(A, 1 << 30))).flow, 1);
    assert_eq!(intern(&mut table, &in_vlan(20, data(1 << 29, 1 << 28))).flow, 2);
    assert_eq!(intern(&mut table, &in_vlan(10, data(6, 9))).flow, 1);
    assert_eq!(intern(&mut table, &data(6, 9)).flow, 0);
    assert_ne!(table.key(0), table.key(1));
}

#[test]
fn one_conversation_that_two_networks_show_is_one() {
    let mut table = FlowTable::default();
    intern(&mut table, &syn(A, 5));
    assert_eq!(intern(&mut table, &in_vlan(10, syn(A, 5))).flow, 0);
    // Each direction in a network of its own.
    let synack = Packet { flags: flag::SYN | flag::ACK, seq: 9, ack: 6, ..packet(B) };
    let back = intern(&mut table, &in_vlan(20, synack));
    assert_eq!(back, Interned { flow: 0, forward: false, new: false });
    let data = Packet { flags: flag::ACK, seq: 6, ack: 10, ..packet(A) };
    assert_eq!(intern(&mut table, &in_vlan(30, data)), Interned { flow: 0, forward: true, new: false });
}

#[test]
fn two_syns_crossing_are_one_conversation() {
    let mut table = FlowTable::default();
    intern(&mut table, &syn(A, 5));
    assert_eq!(intern(&mut table, &syn(B, 9)), Interned { flow: 0, forward: false, new: false });
}

#[test]
fn the_lower_port_serves_mid_stream() {
    let mut table = FlowTable::default();
    let from_server = intern(&mut table, &Packet { flags: flag::ACK, ..packet(B) });
    assert!(!from_server.forward);
}

#[test]
fn many_flows_keep_their_numbers() {
    let mut table = FlowTable::default();
    for port in 1000..9000u16 {
        let mut p = syn(A, 1);
        p.key.src_port = port;
        assert_eq!(intern(&mut table, &p).flow, u32::from(port) - 1000);
    }
    let mut p = packet(A);
    p.key.src_port = 1234;
    assert_eq!(intern(&mut table, &p).flow, 234);
}
