//! UDP Prague: what its acknowledgements report, packet by packet or in blocks.

use super::counts::Report;
use super::message::{Ack, Block, Data, Message};
use super::replay::Replay;
use super::sending::{Sending, MOST_REPORTED};
use super::{larger, receiver_of};
use crate::packet::{ecn, Packet};
use crate::track::handshake::vantage::Vantage;

/// A block counts the time since an arrival in 1,024 us.
const HELD_NS: i64 = 1_024_000;
/// The largest value; longer times wrap, which nothing shows.
const LONGEST_HELD: u16 = 0x1fff;

/// One conversation.
#[derive(Clone, Debug)]
pub(super) struct Prague {
    pub sides: [Sending; 2],
    acks: [Acks; 2],
    replays: [Replay; 2],
}

impl Default for Prague {
    fn default() -> Self {
        Prague { sides: Sending::pair(), acks: Default::default(), replays: Default::default() }
    }
}

/// What acknowledgements of one side's data showed last.
#[derive(Clone, Copy, Debug, Default)]
struct Acks {
    last: Option<Ack>,
    /// When that was captured.
    ns: i64,
    /// Smallest round trip from here to the sender of the data and back: from an acknowledgement to data that echoes it.
    half_ns: Option<i64>,
}

impl Prague {
    pub fn take(&mut self, packet: &Packet, message: &Message, side: usize) {
        match message {
            Message::Data(data) => self.data(packet, data, side),
            Message::Ack(ack) => self.ack(packet, ack, side ^ 1),
            Message::Block(block) => self.block(packet, block, side ^ 1),
        }
    }

    /// Takes the server for the client.
    pub fn turn(&mut self) {
        self.sides.swap(0, 1);
        self.acks.swap(0, 1);
        self.replays.swap(0, 1);
    }

    fn data(&mut self, packet: &Packet, data: &Data, side: usize) {
        let acks = &mut self.acks[side];
        if let Some(ack) = acks.last.filter(|_| data.echoed != 0) {
            // The echo goes on while the sender holds it: what is left of the time is the way.
            let held_ns = i64::from(data.echoed.wrapping_sub(ack.stamp) as i32) * 1000;
            let ns = packet.ts_ns.saturating_sub(acks.ns) - held_ns;
            if ns >= 0 {
                acks.half_ns = Some(acks.half_ns.map_or(ns, |least| least.min(ns)));
            }
        }
        self.look_around(side);
        self.replays[side].send(packet, data);
        self.sides[side].send(packet, 0, data.number, 32);
    }

    fn ack(&mut self, packet: &Packet, ack: &Ack, data: usize) {
        let (sending, acks) = (&mut self.sides[data], &mut self.acks[data]);
        if !sending.may_be(0, ack.number, 32) {
            return;
        }
        // In a capture from the first packet on, the counters began at 0.
        let begun = if sending.is_from_start() { Some(Ack::default()) } else { None };
        let before = acks.last.or(begun).unwrap_or(*ack);
        let steps = [(ack.received, before.received), (ack.ce, before.ce), (ack.lost, before.lost)];
        let [received, ce, lost] = steps.map(|(now, then)| i64::from(now.wrapping_sub(then) as i32));
        // An older acknowledgement: neither counter falls (PragueCC::ACKReceived).
        if received < 0 || ce < 0 {
            return;
        }
        (acks.last, acks.ns) = (Some(*ack), packet.ts_ns);
        sending.controlled = self.replays[data].ack(packet, ack);
        sending.counters(packet, ack.number, [received, ce, lost]);
        if ack.error {
            sending.error(packet);
        }
    }

    fn block(&mut self, packet: &Packet, block: &Block, data: usize) {
        let sending = &mut self.sides[data];
        let Some(last) = block.count.checked_sub(1) else { return };
        let known = usize::from(block.count).min(block.reports.len() / 2).min(MOST_REPORTED);
        if !sending.may_be(0, block.begin.wrapping_add(u32::from(last)), 32) {
            return;
        }
        sending.report(packet);
        sending.covers(0, block.begin.wrapping_add(u32::from(last)), 32);
        let (mut error, mut answered) = (false, false);
        for (wire, report) in (0..).zip(block.reports.chunks_exact(2).take(known)) {
            let report = u16::from_be_bytes([report[0], report[1]]);
            let one = Report::new(report, HELD_NS, LONGEST_HELD);
            error |= one.received && one.ecn & ecn::ECT1 == 0;
            if let Some(rtt_ns) = sending.reported(packet, 0, (block.begin.wrapping_add(wire), 32), &one) {
                self.replays[data].rtt(rtt_ns);
                answered = true;
            }
        }
        // The sender looks at the counts of no other block.
        if answered {
            sending.controlled = self.replays[data].block(packet, &sending.counts);
        }
        sending.end_report(packet);
        if error {
            sending.error(packet);
        }
    }

    fn look_around(&mut self, side: usize) {
        let halves = self.halves(side);
        self.sides[side].far_ns = match Vantage::from_halves(halves[0], halves[1]) {
            Vantage::Server | Vantage::Middle => halves[1],
            Vantage::Client | Vantage::Unknown => None,
        };
    }

    /// Smallest round trips from here to the receiver of a side's data, and to its sender.
    fn halves(&self, side: usize) -> [Option<i64>; 2] {
        [self.sides[side].counts.rtt_min_ns(), self.acks[side].half_ns]
    }

    /// By the side that sends more data.
    pub fn vantage(&self) -> Vantage {
        let side = larger(&self.sides);
        if self.sides[side].is_at_receiver() {
            return receiver_of(side);
        }
        let [to_receiver, to_sender] = self.halves(side);
        if side == 0 {
            Vantage::from_halves(to_receiver, to_sender)
        } else {
            Vantage::from_halves(to_sender, to_receiver)
        }
    }
}
