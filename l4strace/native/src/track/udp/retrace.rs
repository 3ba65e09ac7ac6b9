//! A second pass over a capture: the kept conversations by the same numbers.

use crate::packet::Packet;
use crate::track::table::keys::Keys;

/// Finds the conversation of a datagram again.
#[derive(Default)]
pub struct UdpRetrace {
    keys: Keys,
}

impl UdpRetrace {
    /// `first` is the number of the first of `flows`.
    pub fn new<'f>(flows: impl Iterator<Item = &'f super::UdpFlow>, first: u32) -> Self {
        let mut keys = Keys::default();
        for (flow, number) in flows.zip(first..) {
            keys.put(flow.key.reversed(), 2 * number + 1);
            keys.put(flow.key, 2 * number);
        }
        UdpRetrace { keys }
    }

    /// Number of the datagram's conversation, and whether its client sent it.
    #[inline]
    pub fn place(&mut self, packet: &Packet) -> Option<(u32, bool)> {
        let id = match self.keys.again(&packet.key) {
            Some(id) => id,
            None => {
                let id = self.keys.find(&packet.key, self.keys.hash(&packet.key))?;
                self.keys.note(&packet.key, id);
                id
            }
        };
        Some((id >> 1, id & 1 == 0))
    }
}
