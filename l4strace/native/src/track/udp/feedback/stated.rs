//! What single datagrams state in clear: their numbers, and what they report of the other direction's.

use super::counts::Report;
use super::message::{Block, Message};
use super::numbers;
use super::rtcp::{self, Found};
use crate::packet::{ecn, Packet};
use crate::track::udp::rtp::Header;
use crate::track::udp::Transport;

/// Numbers do not wrap here; `None` where the transport states none, or the capture cut it off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    pub number: Option<i64>,
    /// The highest number that it reports on.
    pub reported: Option<i64>,
    /// Packets with CE that no report before it counted, as far as the capture holds it.
    pub ce: Option<u32>,
}

/// Reads the datagrams of one conversation in their order.
#[derive(Clone, Debug)]
pub struct Statements {
    transport: Transport,
    /// By the side that sends the data.
    sides: [Side; 2],
}

/// One side's data so far, and the reports on it.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    /// The one source of RTP whose numbers are read.
    source: Option<u32>,
    last: Option<i64>,
    reported: Option<i64>,
    /// The highest number whose word in a report was read.
    read: Option<i64>,
    /// Packets with CE as the last acknowledgement counts them.
    counted: Option<u32>,
}

impl Statements {
    pub fn new(transport: Transport) -> Self {
        Statements { transport, sides: Default::default() }
    }

    /// What a datagram of the client (side 0) or the server states.
    pub fn of(&mut self, packet: &Packet, payload: &[u8], side: usize) -> Stated {
        match self.transport {
            Transport::UdpPrague => self.of_prague(packet, payload, side),
            Transport::Rtp => self.of_rtp(packet, payload, side),
            Transport::Quic | Transport::Udp => Stated::default(),
        }
    }

    fn of_prague(&mut self, packet: &Packet, payload: &[u8], side: usize) -> Stated {
        match Message::parse(payload, packet.payload_len) {
            Some(Message::Data(data)) => self.sides[side].sends(data.number, 32),
            Some(Message::Ack(ack)) => self.sides[side ^ 1].counter(ack.number, ack.ce),
            Some(Message::Block(Block { begin, count, reports })) => {
                self.sides[side ^ 1].reports((begin, 32), count, reports)
            }
            None => Stated::default(),
        }
    }

    fn of_rtp(&mut self, packet: &Packet, payload: &[u8], side: usize) -> Stated {
        match Header::of(payload) {
            Some(Header::Packet { source, number }) => {
                let data = &mut self.sides[side];
                if *data.source.get_or_insert(source) == source {
                    data.sends(u32::from(number), 16)
                } else {
                    Stated::default()
                }
            }
            Some(Header::Control) => self.of_rtcp(packet, payload, side ^ 1),
            None => Stated::default(),
        }
    }

    fn of_rtcp(&mut self, packet: &Packet, payload: &[u8], data: usize) -> Stated {
        let Some(Found::Report(bytes)) = rtcp::find(payload, packet.payload_len) else {
            return Stated::default();
        };
        let data = &mut self.sides[data];
        let own = rtcp::sources(bytes).find(|one| *data.source.get_or_insert(one.ssrc) == one.ssrc);
        own.map_or_else(Stated::default, |one| {
            data.reports((u32::from(one.begin), 16), one.count, one.reports)
        })
    }
}

impl Side {
    fn sends(&mut self, wire: u32, bits: u32) -> Stated {
        let number = numbers::unwrap(self.last, wire, bits);
        self.last = Some(number);
        Stated { number: Some(number), ..Stated::default() }
    }

    /// An acknowledgement that counts all CE so far; an older one counts less.
    fn counter(&mut self, wire: u32, ce: u32) -> Stated {
        let number = numbers::unwrap(self.last.or(self.reported), wire, 32);
        let more = self.counted.map(|before| ce.wrapping_sub(before));
        let newer = more.is_none_or(|more| more as i32 >= 0);
        if newer {
            self.counted = Some(ce);
        }
        self.reported = self.reported.max(Some(number));
        Stated { reported: Some(number), ce: more.filter(|_| newer), ..Stated::default() }
    }

    /// One word of each packet from a number on, of which the capture may hold fewer; the next report may repeat them.
    fn reports(&mut self, (begin, bits): (u32, u32), count: u16, words: &[u8]) -> Stated {
        let Some(after) = count.checked_sub(1) else { return Stated::default() };
        let first = numbers::unwrap(self.last.or(self.reported), begin, bits);
        let last = first + i64::from(after);
        let words = words.chunks_exact(2).map(|word| u16::from_be_bytes([word[0], word[1]]));
        let (mut ce, mut read) = (0, self.read);
        for (number, word) in (first..).zip(words).filter(|(number, _)| Some(*number) > self.read) {
            let one = Report::new(word, 0, 0);
            ce += u32::from(one.received && one.ecn == ecn::CE);
            read = Some(number);
        }
        self.read = read;
        self.reported = self.reported.max(Some(last));
        Stated { reported: Some(last), ce: Some(ce), ..Stated::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(payload: &[u8]) -> Packet {
        Packet { payload_len: payload.len() as u32, ..Packet::default() }
    }

    fn read(all: &mut Statements, payload: &[u8], side: usize) -> Stated {
        all.of(&datagram(payload), payload, side)
    }

    fn data(number: u32) -> Vec<u8> {
        [&[1][..], &[0; 8], &number.to_be_bytes(), &[0; 20]].concat()
    }

    fn ack(number: u32, ce: u32) -> Vec<u8> {
        let fields = [number, 0, 0, 0, ce, 0].map(u32::to_be_bytes).concat();
        [&[17][..], &fields, &[0]].concat()
    }

    fn number(n: i64) -> Stated {
        Stated { number: Some(n), ..Stated::default() }
    }

    fn report(reported: i64, ce: Option<u32>) -> Stated {
        Stated { number: None, reported: Some(reported), ce }
    }

    #[test]
    fn acknowledgements_count_marks_since_the_one_before() {
        let mut all = Statements::new(Transport::UdpPrague);
        assert_eq!(read(&mut all, &data(7), 0), number(7));
        let acks = [ack(5, 3), ack(7, 5), ack(6, 4), ack(8, 5)];
        let found = acks.map(|ack| read(&mut all, &ack, 1));
        assert_eq!(found, [report(5, None), report(7, Some(2)), report(6, None), report(8, Some(0))]);
    }

    #[test]
    fn a_block_counts_marks_of_packets_that_none_before_it_reported() {
        let mut all = Statements::new(Transport::UdpPrague);
        let block = |begin: u32, words: &[u16], held: usize| {
            let words: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            let count = (words.len() / 2) as u16;
            let whole = [&[18][..], &begin.to_be_bytes(), &count.to_be_bytes(), &words].concat();
            (Packet { payload_len: whole.len() as u32, ..Packet::default() }, whole[..7 + 2 * held].to_vec())
        };
        let mut read = |(packet, payload): (Packet, Vec<u8>)| all.of(&packet, &payload, 1);
        let (ce, ect1, lost) = (0xe000, 0xa000, 0);
        assert_eq!(read(block(1, &[ect1, ce, lost], 3)), report(3, Some(1)));
        assert_eq!(read(block(2, &[ce, ce, ce, ect1], 4)), report(5, Some(1)));
        assert_eq!(read(block(6, &[ce, ce], 1)), report(7, Some(1)), "cut off");
        assert_eq!(read(block(6, &[ce, ce], 2)), report(7, Some(1)), "repeated");
    }

    #[test]
    fn numbers_of_rtp_do_not_wrap_and_are_of_one_source() {
        let mut all = Statements::new(Transport::Rtp);
        let rtp = |n: u16, source: u8| [&[0x80, 98][..], &n.to_be_bytes(), &[0; 7], &[source]].concat();
        let found = [rtp(65_535, 7), rtp(0, 7), rtp(9, 8)].map(|one| read(&mut all, &one, 0));
        assert_eq!(found, [number(65_535), number(65_536), Stated::default()]);
    }

    #[test]
    fn what_is_encrypted_states_nothing() {
        let mut all = Statements::new(Transport::Quic);
        assert_eq!(read(&mut all, &data(7), 0), Stated::default());
    }
}
