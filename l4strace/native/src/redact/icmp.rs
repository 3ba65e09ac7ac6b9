//! ICMP errors: type, code, MTU and the headers that they quote. Of other messages nothing stays.

use super::{after, checksum, ip, Frame};

const PROTOCOL_V6: u32 = 58;

/// RFC 792; the MTU of "fragmentation needed" is that of RFC 1191.
pub fn v4(frame: &mut Frame, data: &[u8], length: u32) -> Option<()> {
    let header = data.first_chunk::<8>()?;
    let stated = match header[..2] {
        [3, 4] => [0, 0, header[6], header[7]],
        // The octet that a parameter problem points at.
        [12, _] => [header[4], 0, 0, 0],
        [3 | 11, _] => [0; 4],
        _ => return None,
    };
    let (quoted, length) = after(data, length, 8)?;
    error(frame, header, stated, 0, |frame| ip::v4(frame, quoted, length))
}

/// RFC 4443.
pub fn v6(frame: &mut Frame, data: &[u8], length: u32) -> Option<()> {
    let header = data.first_chunk::<8>()?;
    let stated = match header[0] {
        // Packet too big states the MTU, a parameter problem the octet.
        2 | 4 => *header[4..].first_chunk()?,
        1 | 3 => [0; 4],
        _ => return None,
    };
    // As if the payload of what it quotes, which is gone, had been zero.
    let pseudo = frame.pseudo + PROTOCOL_V6 + (length >> 16) + (length & 0xffff);
    let (quoted, length) = after(data, length, 8)?;
    error(frame, header, stated, pseudo, |frame| ip::v6(frame, quoted, length))
}

fn error(
    frame: &mut Frame,
    header: &[u8; 8],
    stated: [u8; 4],
    pseudo: u32,
    quote: impl FnOnce(&mut Frame) -> Option<()>,
) -> Option<()> {
    let start = frame.out.len();
    frame.put(&[header[0], header[1], 0, 0]);
    frame.put(&stated);
    let walked = quote(frame);
    let sum = checksum::finish(checksum::sum(pseudo, &frame.out[start..]));
    frame.out[start + 2..start + 4].copy_from_slice(&sum);
    walked
}
