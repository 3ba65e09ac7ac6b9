//! Classic pcap (draft-ietf-opsawg-pcap): microseconds, nanoseconds, both byte orders, and the
//! modified format of old Linux distributions (magic 0xa1b2cd34), whose record header is longer.

use super::info::SourceInfo;
use super::record::{u32_at, Record, Step, NEEDED};

pub const HEADER: usize = 24;

/// No snapshot is larger: libpcap's MAXIMUM_SNAPLEN for buses is 128 MiB.
const MAX_CAPTURED: u32 = 128 << 20;

#[derive(Clone, Debug)]
pub struct Pcap {
    pub swapped: bool,
    record_header: usize,
    fraction_ns: i64,
    link_type: u32,
}

/// Byte order, resolution and record header of a magic number, read as little-endian.
fn magic(value: u32) -> Option<(bool, i64, usize)> {
    match value {
        0xa1b2_c3d4 => Some((false, 1000, 16)),
        0xd4c3_b2a1 => Some((true, 1000, 16)),
        0xa1b2_3c4d => Some((false, 1, 16)),
        0x4d3c_b2a1 => Some((true, 1, 16)),
        0xa1b2_cd34 => Some((false, 1000, 24)),
        0x34cd_b2a1 => Some((true, 1000, 24)),
        _ => None,
    }
}

/// Whether the first four bytes are those of this format.
pub fn is_pcap(start: &[u8]) -> bool {
    start.len() >= 4 && magic(u32_at(start, 0, false)).is_some()
}

impl Pcap {
    /// From the first [`HEADER`] bytes, whose magic has been checked.
    pub fn new(header: &[u8], info: &mut SourceInfo) -> Option<Self> {
        let (swapped, fraction_ns, record_header) = magic(u32_at(header, 0, false))?;
        // The upper bits hold the length of a frame check sequence, which the IP length cuts off.
        let link_type = u32_at(header, 20, swapped) & 0x03ff_ffff;
        let snaplen = u32_at(header, 16, swapped);
        info.link_types.push(link_type);
        info.snaplen = (snaplen > 0 && snaplen < i32::MAX as u32).then_some(snaplen);
        info.resolution_ns = fraction_ns as u32;
        Some(Pcap { swapped, record_header, fraction_ns, link_type })
    }

    #[inline]
    pub fn step(&self, bytes: &[u8]) -> Step {
        // Of known length, so that its fields are read without a look at the bounds.
        let header = bytes.first_chunk::<16>().filter(|_| bytes.len() >= self.record_header);
        let Some(header) = header else { return Step::More(self.record_header) };
        let captured_len = u32_at(header, 8, self.swapped);
        let size = self.record_header + captured_len as usize;
        if captured_len > MAX_CAPTURED {
            return Step::Damaged(format!("a record claims {captured_len} bytes"));
        }
        if bytes.len() < size.min(NEEDED) {
            return Step::More(size.min(NEEDED));
        }
        if captured_len == 0 && header.iter().all(|&b| b == 0) {
            return Step::Damaged("only zero bytes follow".into());
        }
        let seconds = i64::from(u32_at(header, 0, self.swapped));
        let fraction = i64::from(u32_at(header, 4, self.swapped));
        Step::Packet(Record {
            link_type: self.link_type,
            ts_ns: seconds * 1_000_000_000 + fraction * self.fraction_ns,
            wire_len: u32_at(header, 12, self.swapped).max(captured_len),
            captured_len,
            data: self.record_header,
            size: size as u64,
        })
    }
}
