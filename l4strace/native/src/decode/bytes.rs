//! Checked big-endian reads.

use crate::stats::Loss;

#[inline(always)]
pub fn be16(data: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([data[at], data[at + 1]])
}

#[inline(always)]
pub fn be24(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([0, data[at], data[at + 1], data[at + 2]])
}

#[inline(always)]
pub fn be32(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]])
}

/// The first `N` bytes, or the snapshot ends before them.
#[inline]
pub fn head<const N: usize>(data: &[u8]) -> Result<&[u8; N], Loss> {
    data.first_chunk().ok_or(Loss::HeadersCut)
}

/// What follows the first `n` bytes; `wire` shrinks by as much.
#[inline]
pub fn after(data: &[u8], wire: u32, n: usize) -> Result<(&[u8], u32), Loss> {
    match (data.get(n..), wire.checked_sub(n as u32)) {
        (Some(rest), Some(wire)) => Ok((rest, wire)),
        (None, Some(_)) => Err(Loss::HeadersCut),
        (_, None) => Err(Loss::BadLengths),
    }
}
