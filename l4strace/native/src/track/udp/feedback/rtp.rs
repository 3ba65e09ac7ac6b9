//! RTP: its numbered packets, and what RFC 8888 reports of them.

use super::counts::Report;
use super::rtcp::{self, Found};
use super::sending::{Sending, MOST_REPORTED};
use super::{larger, receiver_of};
use crate::packet::Packet;
use crate::track::handshake::vantage::Vantage;
use crate::track::udp::rtp::Header;

/// The time since an arrival counts in 1/1024 s; the two largest values are none (RFC 8888 section 3.1).
const HELD_NS: i64 = 1_000_000_000 / 1024;
const LONGEST_HELD: u16 = 0x1ffe;

/// One conversation, its RTCP on the same ports (RFC 5761).
#[derive(Clone, Debug)]
pub(super) struct Rtp {
    pub sides: [Sending; 2],
}

impl Default for Rtp {
    fn default() -> Self {
        Rtp { sides: Sending::pair() }
    }
}

impl Rtp {
    pub fn take(&mut self, packet: &Packet, payload: &[u8], side: usize) {
        match Header::of(payload) {
            Some(Header::Control) => self.control(packet, payload, side ^ 1),
            Some(Header::Packet { source, number }) => {
                self.sides[side].send(packet, source, u32::from(number), 16)
            }
            None => {}
        }
    }

    pub fn vantage(&self) -> Vantage {
        let side = larger(&self.sides);
        if self.sides[side].is_at_receiver() {
            receiver_of(side)
        } else {
            Vantage::Unknown
        }
    }

    fn control(&mut self, packet: &Packet, payload: &[u8], data: usize) {
        let sending = &mut self.sides[data];
        match rtcp::find(payload, packet.payload_len) {
            Some(Found::Report(bytes)) => {
                sending.report(packet);
                for source in rtcp::sources(bytes) {
                    of_source(sending, packet, &source);
                }
                sending.end_report(packet);
            }
            Some(Found::Hidden) => sending.hidden(packet),
            None => {}
        }
    }
}

fn of_source(sending: &mut Sending, packet: &Packet, source: &rtcp::Source) {
    let Some(last) = source.count.checked_sub(1) else { return };
    sending.covers(source.ssrc, u32::from(source.begin.wrapping_add(last)), 16);
    let reports = source.reports.chunks_exact(2).take(MOST_REPORTED);
    for (wire, report) in (source.begin..=u16::MAX).chain(0..).zip(reports) {
        let one = Report::new(u16::from_be_bytes([report[0], report[1]]), HELD_NS, LONGEST_HELD);
        let _ = sending.reported(packet, source.ssrc, (u32::from(wire), 16), &one);
    }
}
