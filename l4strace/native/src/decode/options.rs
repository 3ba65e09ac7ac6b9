//! TCP options: MSS, window scale (RFC 7323), SACK (RFC 2018), timestamps, AccECN (RFC 9768).

use super::bytes::{be16, be24, be32};
use crate::packet::{AccEcnOption, Packet, Sack};

pub const END: u8 = 0;
pub const NOP: u8 = 1;
pub const MSS: u8 = 2;
pub const WINDOW_SCALE: u8 = 3;
pub const SACK_PERMITTED: u8 = 4;
pub const SACK: u8 = 5;
pub const TIMESTAMPS: u8 = 8;
/// RFC 9768 section 3.2.3: order 0 begins with EE0B, order 1 with EE1B.
pub const ACCECN_ORDER_0: u8 = 172;
pub const ACCECN_ORDER_1: u8 = 174;
/// RFC 4727 and 6994: an experiment identifier follows.
pub const EXPERIMENT: u8 = 254;

/// Timestamps alone, aligned as RFC 7323 appendix A recommends: what most data segments carry.
const ALIGNED_TIMESTAMPS: [u8; 4] = [NOP, NOP, TIMESTAMPS, 10];

/// Reads all options into `packet`; false when a length in them is impossible.
#[inline(always)]
pub(super) fn options(packet: &mut Packet, data: &[u8]) -> bool {
    if data.len() >= 12 && data[..4] == ALIGNED_TIMESTAMPS {
        packet.timestamps = Some((be32(data, 4), be32(data, 8)));
        return data.len() == 12 || behind_timestamps(packet, &data[12..]);
    }
    each(packet, data)
}

/// Behind timestamps, the AccECN option with all counters and one byte of padding is what most segments carry.
#[inline(always)]
fn behind_timestamps(packet: &mut Packet, data: &[u8]) -> bool {
    match data {
        &[kind @ (ACCECN_ORDER_0 | ACCECN_ORDER_1), length @ 11, ref body @ .., NOP] if body.len() == 9 => {
            packet.accecn = Some(accecn(kind, None, length, body));
            true
        }
        _ => each(packet, data),
    }
}

fn each(packet: &mut Packet, data: &[u8]) -> bool {
    let mut at = 0;
    while at < data.len() {
        match data[at] {
            END => return true,
            NOP => at += 1,
            kind => {
                let Some(&length) = data.get(at + 1) else { return false };
                let Some(body) = data.get(at + 2..at + usize::from(length)) else { return false };
                one(packet, kind, length, body);
                at += usize::from(length);
            }
        }
    }
    true
}

/// `body` is the option without kind and length. An option of the wrong length is ignored.
#[inline]
fn one(packet: &mut Packet, kind: u8, length: u8, body: &[u8]) {
    match (kind, body.len()) {
        (TIMESTAMPS, 8) => packet.timestamps = Some((be32(body, 0), be32(body, 4))),
        (SACK, 8 | 16 | 24 | 32) => packet.sack = sack(body),
        (ACCECN_ORDER_0 | ACCECN_ORDER_1, _) => packet.accecn = Some(accecn(kind, None, length, body)),
        (EXPERIMENT, 2..) => {
            let exid = be16(body, 0);
            if matches!(exid, 0xacc0 | 0xacc1 | 0xacce) {
                packet.accecn = Some(accecn(kind, Some(exid), length, &body[2..]));
            }
        }
        (MSS, 2) => packet.mss = Some(be16(body, 0)),
        (WINDOW_SCALE, 1) => packet.wscale = Some(body[0]),
        (SACK_PERMITTED, 0) => packet.sack_permitted = true,
        _ => {}
    }
}

fn sack(body: &[u8]) -> Sack {
    let mut sack = Sack { count: (body.len() / 8) as u8, ..Sack::default() };
    for (block, edges) in sack.blocks.iter_mut().zip(body.chunks_exact(8)) {
        *block = (be32(edges, 0), be32(edges, 4));
    }
    sack
}

/// Up to three 24-bit counters; trailing ones may be left out (RFC 9768 section 3.2.3).
fn accecn(kind: u8, exid: Option<u16>, length: u8, body: &[u8]) -> AccEcnOption {
    let counter = |i: usize| (body.len() >= 3 * i + 3).then(|| be24(body, 3 * i));
    let (first, middle, last) = (counter(0), counter(1), counter(2));
    let order_1 = kind == ACCECN_ORDER_1 || exid == Some(0xacc1);
    let (e0b, e1b) = if order_1 { (last, first) } else { (first, last) };
    AccEcnOption { kind, exid, length, e0b, ceb: middle, e1b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_behind_timestamps_is_read_as_any_other() {
        let option = [172, 11, 0, 0, 1, 0, 2, 0, 3, 0, 0, NOP];
        for (at, value) in (0..12).flat_map(|at| [0, 1, 2, 8, 10, 11, 12, 174].map(|value| (at, value))) {
            let mut bytes = option;
            bytes[at] = value;
            let (mut short, mut long) = (Packet::default(), Packet::default());
            assert_eq!(behind_timestamps(&mut short, &bytes), each(&mut long, &bytes), "{bytes:?}");
            assert_eq!(short, long, "{bytes:?}");
        }
    }
}
