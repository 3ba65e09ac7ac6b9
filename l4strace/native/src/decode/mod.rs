//! One captured frame -> one TCP packet or UDP datagram, through whatever is wrapped around it.
//!
//! Every length is checked against the bytes at hand; what is neither is named by a [`Loss`].

mod bytes;
mod datagram;
mod ip;
pub mod link;
pub mod options;
mod plain;
mod tcp;
pub mod tunnel;
mod udp;
pub mod wireless;

use crate::packet::{Network, Packet, Tunnel};
use crate::stats::Loss;

pub use udp::Payload;

/// Where a fragment lies in the payload of its IP packet, which begins with the TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    pub id: u32,
    pub offset: u32,
    pub len: u32,
    pub is_last: bool,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The packet is filled in.
    Tcp,
    /// The packet is filled in, but some lengths in it contradict each other.
    OddTcp(Loss),
    /// Part of a TCP packet. Addresses and codepoint are filled in; the rest in the first fragment only,
    /// where `payload_len` is that of the fragment.
    Part(Fragment),
    /// A UDP datagram: the packet is filled in but for what only TCP has. Of one in fragments this is the first,
    /// and the length that of the whole.
    Udp(Payload),
    /// Neither, or it cannot be decoded; the packet's flow fields are meaningless.
    Not(Loss),
}

/// Decodes the frame `data`, of which the wire carried `wire_len` bytes, into `packet`.
///
/// Fills everything but `frame`, `offset`, `ts_ns`, `captured_len` and `wire_len`, which it keeps, and the interface's
/// number in the file.
#[inline(always)]
pub fn frame(link_type: u32, data: &[u8], wire_len: u32, packet: &mut Packet) -> Outcome {
    if link_type == link::ETHERNET && plain::plain(data, wire_len, packet) {
        return Outcome::Tcp;
    }
    other(link_type, data, wire_len, packet)
}

/// What is no plain segment of TCP.
#[inline(never)]
fn other(link_type: u32, data: &[u8], wire_len: u32, packet: &mut Packet) -> Outcome {
    match datagram::plain(link_type, data, wire_len, packet) {
        Some(payload) => Outcome::Udp(payload),
        None => walk(link_type, data, wire_len, packet),
    }
}

/// What [`frame`] keeps of a packet.
#[inline(always)]
fn kept(packet: &Packet) -> Packet {
    let Packet { frame, offset, ts_ns, interface, captured_len, wire_len, .. } = *packet;
    Packet { frame, offset, ts_ns, interface, captured_len, wire_len, ..Packet::default() }
}

/// From header to header, whatever they are.
#[inline(never)]
fn walk(link_type: u32, data: &[u8], wire_len: u32, packet: &mut Packet) -> Outcome {
    *packet = kept(packet);
    let mut layers = Layers {
        packet,
        station: [0; 6],
        ip_headers: 0,
        steps: 0,
        odd: None,
        fragment: None,
        datagram: None,
    };
    let reached = link::link(&mut layers, link_type, data, wire_len);
    if let (Ok(()), Some(datagram)) = (reached, layers.datagram) {
        layers.packet.station = layers.station;
        return Outcome::Udp(datagram.payload(data));
    }
    match (reached, layers.fragment) {
        (Ok(()) | Err(Loss::IpFragments), Some(fragment)) => Outcome::Part(fragment),
        (Ok(()), None) => layers.odd.map_or(Outcome::Tcp, Outcome::OddTcp),
        (Err(loss), _) => Outcome::Not(loss),
    }
}

/// Nested headers beyond this are an attack, not a network.
const MAX_STEPS: u8 = 24;

/// What the walk down the headers has gathered.
struct Layers<'p> {
    packet: &'p mut Packet,
    station: [u8; 6],
    ip_headers: u8,
    steps: u8,
    odd: Option<Loss>,
    /// Set by the innermost IP header.
    fragment: Option<Fragment>,
    /// Set by a UDP header that nothing known follows.
    datagram: Option<udp::Datagram>,
}

impl Layers<'_> {
    /// What follows is the copy of a packet that a switch or access point sent elsewhere: what carries the copy is
    /// no part of its path.
    fn mirrored(&mut self) {
        self.packet.tunnel = Tunnel::None;
        self.packet.key.network = Network::default();
        self.packet.outer_ecn = None;
        self.ip_headers = 0;
        self.odd = None;
    }

    /// Called once per header, so that a packet made of headers only cannot recurse for long.
    #[inline]
    fn step(&mut self) -> Decoded {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(Loss::Opaque);
        }
        Ok(())
    }
}

/// `Ok` when a header of TCP or UDP was reached and read.
type Decoded = Result<(), Loss>;
