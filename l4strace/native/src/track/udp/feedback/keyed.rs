//! QUIC whose keys are given: numbers and acknowledgements as a dissector shows them.

use super::sending::Sending;
use super::sizes::Sizes;
use super::{larger, receiver_of};
use crate::packet::Packet;
use crate::track::handshake::vantage::Vantage;
use crate::track::udp::dissected::{Acked, Shown};

/// RFC 9000 section 18.2, where the handshake does not show another.
const EXPONENT: u8 = 3;
/// Longest delay of an acknowledgement that is believed: 2^14 ms (RFC 9000 section 18.2, max_ack_delay).
const LONGEST_US: u64 = (1 << 14) * 1000;

/// One conversation.
#[derive(Clone, Debug)]
pub(super) struct Keyed {
    pub sides: [Sending; 2],
    sizes: [Sizes; 2],
    /// By the side that acknowledges.
    exponents: [u8; 2],
    /// Datagrams of each side that were decrypted.
    shown: [u64; 2],
}

impl Default for Keyed {
    fn default() -> Self {
        let sizes = <[Sizes; 2]>::default();
        Keyed { sides: Sending::pair(), sizes, exponents: [EXPONENT; 2], shown: [0; 2] }
    }
}

impl Keyed {
    pub fn take<'d>(
        &mut self,
        packet: &Packet,
        shown: &Shown,
        acks: impl Iterator<Item = Acked<'d>>,
        side: usize,
    ) {
        if let Some(exponent) = shown.exponent {
            self.exponents[side] = exponent;
        }
        let Some(number) = shown.number else { return };
        self.shown[side] += 1;
        for ack in acks {
            let delay_us = ack.delay.saturating_mul(1 << self.exponents[side]).min(LONGEST_US);
            self.sides[side ^ 1].acknowledged(packet, &ack, delay_us as i64 * 1000);
        }
        self.sides[side].far_ns = self.far_ns(side);
        if shown.eliciting {
            self.sizes[side].sent(packet.payload_len);
            self.sides[side].send(packet, 0, number as u32, 32);
        } else {
            self.sides[side].send_aside(packet, number);
        }
    }

    /// Whether most datagrams of each side were decrypted; segmentation offload hides where packets end.
    pub fn is_read(&self, packets: [u64; 2]) -> bool {
        self.shown.iter().zip(packets).all(|(shown, packets)| 2 * shown >= packets)
    }

    /// Most packets of a side are full: the application has more to send than leaves.
    pub fn is_bulk(&self, side: usize) -> bool {
        self.sizes[side].are_full()
    }

    /// Takes the server for the client.
    pub fn turn(&mut self) {
        self.sides.swap(0, 1);
        self.sizes.swap(0, 1);
        self.exponents.swap(0, 1);
        self.shown.swap(0, 1);
    }

    /// Smallest round trips from here to the receiver of a side's data, and to its sender.
    fn halves(&self, side: usize) -> [Option<i64>; 2] {
        [side, side ^ 1].map(|side| self.sides[side].counts.rtt_min_ns())
    }

    fn far_ns(&self, side: usize) -> Option<i64> {
        let [to_receiver, to_sender] = self.halves(side);
        match Vantage::from_halves(to_receiver, to_sender) {
            Vantage::Server | Vantage::Middle => to_sender,
            Vantage::Client | Vantage::Unknown => None,
        }
    }

    pub fn vantage(&self) -> Vantage {
        let side = larger(&self.sides);
        let [to_receiver, to_sender] = self.halves(side);
        match Vantage::from_halves(to_receiver, to_sender) {
            Vantage::Client => receiver_of(side ^ 1),
            Vantage::Server => receiver_of(side),
            other => other,
        }
    }
}
