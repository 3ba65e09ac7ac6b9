//! Classic pcap (draft-ietf-opsawg-pcap): microseconds, nanoseconds, both byte orders, and the
//! modified format of old Linux distributions (magic 0xa1b2cd34), whose record header is longer.

use super::info::SourceInfo;
use super::record::{u32_at, Record, Step, NEEDED};
use crate::packet::Interface;

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

    /// Seconds, fraction, captured and wire length.
    #[inline]
    fn fields(&self, header: &[u8; 16]) -> [u32; 4] {
        let field = |i: usize| u32::from_le_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
        let fields = [field(0), field(4), field(8), field(12)];
        if self.swapped {
            return fields.map(u32::swap_bytes);
        }
        fields
    }

    #[inline]
    fn record(&self, [seconds, fraction, captured_len, wire_len]: [u32; 4]) -> Record {
        Record {
            interface: Interface::default(),
            link_type: self.link_type,
            ts_ns: i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * self.fraction_ns,
            wire_len: wire_len.max(captured_len),
            captured_len,
            data: self.record_header,
            size: (self.record_header + captured_len as usize) as u64,
        }
    }

    #[inline(always)]
    pub fn step(&self, bytes: &[u8]) -> Step {
        if let Some(header) = bytes.first_chunk() {
            let record = self.record(self.fields(header));
            if record.captured_len > 0
                && record.captured_len <= MAX_CAPTURED
                && record.size <= bytes.len() as u64
            {
                return Step::Packet(record);
            }
        }
        self.odd(bytes)
    }

    /// The record is empty, not whole or impossible.
    #[cold]
    fn odd(&self, bytes: &[u8]) -> Step {
        let header = bytes.first_chunk().filter(|_| bytes.len() >= self.record_header);
        let Some(header) = header else { return Step::More(self.record_header) };
        let record = self.record(self.fields(header));
        if record.captured_len > MAX_CAPTURED {
            return Step::Damaged(format!("a record claims {} bytes", record.captured_len));
        }
        let wanted = (record.size as usize).min(NEEDED);
        if bytes.len() < wanted {
            return Step::More(wanted);
        }
        if record.captured_len == 0 && header.iter().all(|&b| b == 0) {
            return Step::Damaged("only zero bytes follow".into());
        }
        Step::Packet(record)
    }
}
