//! Packets made by hand for the unit tests of tracking.

use crate::packet::{flag, FlowKey, Packet};

pub const A: u8 = 1;
pub const B: u8 = 2;

/// A packet from host A (client, port 40000) to host B (server, port 443), or back.
pub fn packet(from: u8) -> Packet {
    let mut key = FlowKey { src_port: 40000, dst_port: 443, ..FlowKey::default() };
    (key.src[15], key.dst[15]) = (A, B);
    Packet { key: if from == A { key } else { key.reversed() }, ip_version: 4, ..Packet::default() }
}

/// Packet `n` of the conversation on a port: a handshake, then data and its ACK in turns. Every third
/// conversation has its ports again, without a SYN, for another one.
pub fn turn(n: u32, port: u16, frame: u64) -> Packet {
    let (syn, ack) = (flag::SYN, flag::ACK);
    let again = if port.is_multiple_of(3) && n > 30 { 1_000_000_000 } else { 0 };
    let p = Packet { frame, ts_ns: frame as i64 * 20_000, ..Packet::default() };
    let sent = 1001 + 1000 * (n / 2) + again;
    let (from, p) = match n {
        0 => (A, Packet { flags: syn, seq: 1000, ..p }),
        1 => (B, Packet { flags: syn | ack, seq: 5000, ack: 1001, ..p }),
        n if n % 2 == 0 => (A, Packet { flags: ack, seq: sent, ack: 5001 + again, payload_len: 1000, ..p }),
        _ => (B, Packet { flags: ack, seq: 5001 + again, ack: sent + 1000, ..p }),
    };
    let mut key = packet(from).key;
    *(if from == A { &mut key.src_port } else { &mut key.dst_port }) = port;
    Packet { key, ..p }
}
