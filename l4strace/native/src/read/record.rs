//! What the two file formats have in common: a step from one record to the next.

use crate::packet::Interface;

/// No link layer needs more than this of a packet to be decoded; the rest is skipped, not buffered.
pub const NEEDED: usize = 64 * 1024;

/// Where a packet lies in the bytes that were offered, and what its record states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub link_type: u32,
    pub interface: Interface,
    pub ts_ns: i64,
    pub wire_len: u32,
    /// Bytes of the packet in the file, of which `data` may be fewer.
    pub captured_len: u32,
    /// First byte of the packet, relative to the record.
    pub data: usize,
    /// Size of the whole record.
    pub size: u64,
}

impl Record {
    /// The packet's bytes, as far as decoding needs them.
    #[inline]
    pub fn bytes<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        let end = self.data + self.captured_len as usize;
        record.get(self.data..end).unwrap_or_else(|| record.get(self.data..).unwrap_or_default())
    }
}

/// Result of looking at the start of the remaining bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Packet(Record),
    /// A block of so many bytes without a packet.
    Skip(u64),
    /// At least so many bytes must be there.
    More(usize),
    /// Nothing after this can be trusted; why, as one clause.
    Damaged(String),
}

/// Reads a 32-bit field of a file in either byte order.
#[inline]
pub fn u32_at(data: &[u8], at: usize, swapped: bool) -> u32 {
    let value = u32::from_le_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]]);
    if swapped {
        value.swap_bytes()
    } else {
        value
    }
}

/// Reads a 16-bit field of a file in either byte order.
#[inline]
pub fn u16_at(data: &[u8], at: usize, swapped: bool) -> u16 {
    let value = u16::from_le_bytes([data[at], data[at + 1]]);
    if swapped {
        value.swap_bytes()
    } else {
        value
    }
}
