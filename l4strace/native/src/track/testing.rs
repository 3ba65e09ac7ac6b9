//! Packets made by hand for the unit tests of tracking.

use crate::packet::{FlowKey, Packet};

pub const A: u8 = 1;
pub const B: u8 = 2;

/// A packet from host A (client, port 40000) to host B (server, port 443), or back.
pub fn packet(from: u8) -> Packet {
    let mut key = FlowKey { src_port: 40000, dst_port: 443, ..FlowKey::default() };
    (key.src[15], key.dst[15]) = (A, B);
    Packet { key: if from == A { key } else { key.reversed() }, ip_version: 4, ..Packet::default() }
}
