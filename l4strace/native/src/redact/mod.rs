//! Captures that can be shared: the same records and times, without addresses, payload and names.
//!
//! What is known to be harmless is written; nothing is copied because nobody thought of it. A header
//! that `decode` does not know ends a packet, so what `decode` reads from the copy is what it read from
//! the original, apart from the addresses.

mod capture;
mod checksum;
mod icmp;
mod ip;
mod link;
mod map;
mod pcapng;
mod tcp;
mod tunnel;
mod wireless;

pub use capture::{Counts, Redactor};
pub use map::{Map, KEY};

/// Nested headers beyond this are an attack; `decode` gives up before.
const MAX_HEADERS: u8 = 128;

/// One packet on its way out: what is left of it, and what its innermost IP header stated.
pub struct Frame<'a> {
    map: &'a Map,
    out: &'a mut Vec<u8>,
    headers: u8,
    /// Sum of the mapped addresses, for the checksum of TCP.
    pseudo: u32,
}

/// Appends what of a packet may be shared. `wire` is the packet's length on the wire.
///
/// Returns false for a link type whose addresses nobody knows: nothing is appended.
pub fn frame(map: &Map, link_type: u32, data: &[u8], wire: u32, out: &mut Vec<u8>) -> bool {
    link::link(&mut Frame { map, out, headers: 0, pseudo: 0 }, link_type, data, wire)
}

impl Frame<'_> {
    /// Called once per header; `None` once there are too many.
    fn enter(&mut self) -> Option<()> {
        self.headers += 1;
        (self.headers <= MAX_HEADERS).then_some(())
    }

    fn put(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Bytes without meaning, as many of `size` as the snapshot holds of `data`.
    fn blank(&mut self, data: &[u8], size: usize) {
        self.out.resize(self.out.len() + size.min(data.len()), 0);
    }
}

/// What follows a header: its bytes, and how many there were on the wire.
type Rest<'d> = (&'d [u8], u32);

/// What follows the first `n` bytes, if it was captured.
fn after(data: &[u8], wire: u32, n: usize) -> Option<Rest<'_>> {
    Some((data.get(n..)?, wire.saturating_sub(n as u32)))
}

#[cfg(test)]
mod tests;
