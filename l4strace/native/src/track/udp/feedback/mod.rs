//! What the receiver of data over UDP reports of it, where that stands in clear: UDP Prague, RTP with RFC 8888,
//! and QUIC whose keys are given.

mod counts;
mod keyed;
mod message;
mod numbers;
mod pace;
mod prague;
mod replay;
mod rtcp;
mod rtp;
mod sending;
mod sizes;
mod stated;

pub use counts::Counts;
pub use sending::Sending;
pub use stated::{Stated, Statements};

use keyed::Keyed;
pub(super) use message::Message;
use prague::Prague;
use rtp::Rtp;

use super::content::Transport;
use super::dissected::{Acked, Shown};
use crate::packet::Packet;
use crate::track::handshake::vantage::Vantage;

/// First two bits of RTP and RTCP, which no message of UDP Prague has (RFC 9443 section 3).
const RTP: u8 = 2;

/// Reads the feedback of one conversation from its first message on; what is no such message costs a look.
#[derive(Clone, Debug, Default)]
pub struct Feedback {
    prague: Option<Box<Prague>>,
    rtp: Option<Box<Rtp>>,
    keyed: Option<Box<Keyed>>,
}

impl Feedback {
    #[inline]
    pub fn take(&mut self, packet: &Packet, payload: &[u8], message: Option<&Message>, side: usize) {
        if let Some(message) = message {
            self.prague.get_or_insert_default().take(packet, message, side);
        } else if payload.first().is_some_and(|first| first >> 6 == RTP) {
            self.rtp.get_or_insert_default().take(packet, payload, side);
        }
    }

    /// Takes what a dissector shows of a datagram.
    pub fn decrypted<'d>(
        &mut self,
        packet: &Packet,
        shown: &Shown,
        acks: impl Iterator<Item = Acked<'d>>,
        side: usize,
    ) {
        self.keyed.get_or_insert_default().take(packet, shown, acks, side);
    }

    /// What each side sent as this transport in so many `packets`, and what was reported of it.
    pub fn sending(&self, transport: Transport, packets: [u64; 2]) -> Option<&[Sending; 2]> {
        match transport {
            Transport::UdpPrague => self.prague.as_ref().map(|prague| &prague.sides),
            Transport::Rtp => self.rtp.as_ref().map(|rtp| &rtp.sides),
            Transport::Quic => {
                self.keyed.as_ref().filter(|keyed| keyed.is_read(packets)).map(|keyed| &keyed.sides)
            }
            Transport::Udp => None,
        }
    }

    /// Most packets of a side, as they were decrypted, are full.
    pub fn is_bulk(&self, side: usize) -> bool {
        self.keyed.as_ref().is_some_and(|keyed| keyed.is_bulk(side))
    }

    /// Where the capture stands, where echoed timestamps or both sides' acknowledgements show it.
    pub fn vantage(&self, transport: Transport) -> Vantage {
        let shown = match transport {
            Transport::UdpPrague => self.prague.as_ref().map(|prague| prague.vantage()),
            Transport::Rtp => self.rtp.as_ref().map(|rtp| rtp.vantage()),
            Transport::Quic => self.keyed.as_ref().map(|keyed| keyed.vantage()),
            Transport::Udp => None,
        };
        shown.unwrap_or_default()
    }

    /// Takes the server for the client and the client for the server.
    pub fn turn(&mut self) {
        if let Some(prague) = &mut self.prague {
            prague.turn();
        }
        if let Some(rtp) = &mut self.rtp {
            rtp.sides.swap(0, 1);
        }
        if let Some(keyed) = &mut self.keyed {
            keyed.turn();
        }
        self.sides().for_each(Sending::turn);
    }

    /// All that may have rows, whatever the transport turns out to be.
    pub fn sides(&mut self) -> impl Iterator<Item = &mut Sending> {
        let prague = self.prague.iter_mut().flat_map(|prague| &mut prague.sides);
        let rtp = self.rtp.iter_mut().flat_map(|rtp| &mut rtp.sides);
        let keyed = self.keyed.iter_mut().flat_map(|keyed| &mut keyed.sides);
        prague.chain(rtp).chain(keyed)
    }
}

/// The side that sends more data.
fn larger(sides: &[Sending; 2]) -> usize {
    usize::from(sides[1].counts.sent > sides[0].counts.sent)
}

fn receiver_of(side: usize) -> Vantage {
    [Vantage::Server, Vantage::Client][side]
}

#[cfg(test)]
mod tests;
