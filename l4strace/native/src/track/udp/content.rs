//! Which transport a conversation is, by what its datagrams hold and never by its ports.

use super::feedback::Message;
use super::prague::Prague;
use super::quic::Quic;
use super::rtp::Rtp;
use crate::packet::Packet;

/// What runs over UDP; names as in the `transport` column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    #[default]
    Udp,
    Quic,
    Rtp,
    UdpPrague,
}

impl Transport {
    /// Of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Transport::Udp, Transport::Quic, Transport::Rtp, Transport::UdpPrague]
            .into_iter()
            .find(|one| one.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Transport::Udp => "udp",
            Transport::Quic => "quic",
            Transport::Rtp => "rtp",
            Transport::UdpPrague => "udp-prague",
        }
    }
}

/// Datagrams of a conversation that are looked at: a call begins with hundreds of its checks for a path (RFC 8445).
const LOOKED_AT: u16 = 4096;
/// First bits of a QUIC packet whose header is short (RFC 9000 section 17.3).
const SHORT_HEADER: u8 = 1;

/// What the datagrams of both directions showed.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    looked: u16,
    pub quic: Quic,
    rtp: [Rtp; 2],
    prague: [Prague; 2],
}

impl Content {
    #[inline]
    pub fn look(&mut self, payload: &[u8], message: Option<&Message>, packet: &Packet, side: usize) {
        let Some(&first) = payload.first() else { return };
        // The first two bits part RTP from QUIC (RFC 9443 section 3).
        let kind = first >> 6;
        if kind == SHORT_HEADER {
            self.quic.spin[side].add(first, packet.ts_ns);
        }
        if self.looked == LOOKED_AT {
            return;
        }
        self.looked += 1;
        match kind {
            0 => self.prague[side].look(message, payload.len() == packet.payload_len as usize),
            2 => self.rtp[side].look(payload, packet.payload_len),
            _ => self.quic.look(payload, side),
        }
    }

    /// Takes each side for the other.
    pub fn turn(&mut self) {
        self.quic.turn();
        self.rtp.swap(0, 1);
        self.prague.swap(0, 1);
    }

    /// A side sends as much as its congestion control allows.
    pub fn is_bulk(&self, side: usize) -> bool {
        self.prague[side].is_bulk()
    }

    /// `packets` of each direction.
    pub fn transport(&self, packets: [u64; 2]) -> Transport {
        if self.quic.is_shown() {
            return Transport::Quic;
        }
        if Prague::is_shown(&self.prague, packets) {
            return Transport::UdpPrague;
        }
        if self.rtp.iter().any(Rtp::is_shown) {
            return Transport::Rtp;
        }
        Transport::Udp
    }
}
