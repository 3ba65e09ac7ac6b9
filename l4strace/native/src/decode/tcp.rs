//! The TCP header (RFC 9293 section 3.1).

use super::bytes::{be16, be32, head};
use super::{options, Decoded, Layers};
use crate::stats::Loss;

/// `length` is what the IP header left for TCP; `data` may be cut by the snapshot length.
#[inline]
pub(super) fn tcp(layers: &mut Layers, data: &[u8], length: u32) -> Decoded {
    let tcp = head::<20>(data)?;
    let header_len = usize::from(tcp[12] >> 4) * 4;
    let Some(payload_len) = length.checked_sub(header_len as u32) else { return Err(Loss::BadLengths) };
    if header_len < 20 {
        return Err(Loss::BadLengths);
    }
    let packet = &mut *layers.packet;
    packet.key.src_port = be16(tcp, 0);
    packet.key.dst_port = be16(tcp, 2);
    packet.seq = be32(tcp, 4);
    packet.ack = be32(tcp, 8);
    packet.flags = be16(tcp, 12) & 0x0fff;
    packet.window = be16(tcp, 14);
    packet.payload_len = payload_len;
    let end = header_len.min(data.len());
    packet.options_cut = end < header_len;
    if !options::options(packet, &data[20..end]) && !packet.options_cut {
        layers.odd = Some(Loss::OddLengths);
    }
    Ok(())
}
