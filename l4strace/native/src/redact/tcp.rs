//! The TCP header with the options that `decode` reads; other options become no-operations.

use super::{checksum, Frame};
use crate::decode::options::{
    ACCECN_ORDER_0, ACCECN_ORDER_1, END, EXPERIMENT, MSS, NOP, SACK, SACK_PERMITTED, TIMESTAMPS, WINDOW_SCALE,
};

/// RFC 4727: for experiments. It stands for any option whose length is impossible.
const IMPOSSIBLE: u8 = 253;
/// Three counters of 24 bits (RFC 9768 section 3.2.3).
const COUNTERS: usize = 9;
const PROTOCOL: u32 = 6;
/// Ports and sequence number: an ICMP error of RFC 792 quotes no more.
const LEAST: usize = 8;

/// `length` is what the IP header left for TCP.
pub fn tcp(frame: &mut Frame, data: &[u8], length: u32) -> Option<()> {
    let Some(header) = data.first_chunk::<20>() else {
        frame.put(data.get(..LEAST)?);
        return None;
    };
    let mut header = header.to_vec();
    let size = usize::from(header[12] >> 4) * 4;
    // Checksum and urgent pointer.
    header[16..20].fill(0);
    if size >= 20 {
        options(&mut header, &data[20..size.min(data.len())]);
    }
    // As if the payload, which is gone, had been zero.
    let pseudo = frame.pseudo + PROTOCOL + (length >> 16) + (length & 0xffff);
    let sum = checksum::finish(checksum::sum(pseudo, &header));
    header[16..18].copy_from_slice(&sum);
    frame.put(&header);
    Some(())
}

/// Appends as many bytes as `data` has.
fn options(out: &mut Vec<u8>, data: &[u8]) {
    let all = out.len() + data.len();
    let mut at = 0;
    while at < data.len() && data[at] != END {
        if data[at] == NOP {
            out.push(NOP);
            at += 1;
            continue;
        }
        let body = data.get(at + 1).and_then(|&length| data.get(at + 2..at + usize::from(length)));
        let Some(body) = body else {
            // Lengths that contradict each other still do.
            out.push(IMPOSSIBLE);
            out.extend(data.get(at + 1));
            break;
        };
        one(out, data[at], body);
        at += body.len() + 2;
    }
    out.resize(all, END);
}

/// One option of a possible length.
fn one(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    let kept = match (kind, body.len()) {
        (MSS, 2) | (WINDOW_SCALE, 1) | (SACK_PERMITTED, 0) => body.len(),
        (TIMESTAMPS, 8) | (SACK, 8 | 16 | 24 | 32) => body.len(),
        (ACCECN_ORDER_0 | ACCECN_ORDER_1, n) => n.min(COUNTERS),
        (EXPERIMENT, n @ 2..) if matches!(body[..2], [0xac, 0xc0 | 0xc1 | 0xce]) => n.min(2 + COUNTERS),
        (_, n) => {
            out.resize(out.len() + n + 2, NOP);
            return;
        }
    };
    out.extend([kind, body.len() as u8 + 2]);
    out.extend(&body[..kept]);
    out.resize(out.len() + body.len() - kept, 0);
}
