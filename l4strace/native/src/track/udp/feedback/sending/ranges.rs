//! Packets that are acknowledged by ranges of numbers, as QUIC's are.

use super::super::numbers::{Fate, Sent};
use super::Sending;
use crate::packet::Packet;
use crate::track::udp::dissected::Acked;

/// A packet is lost when so many later ones were acknowledged (RFC 9002 section 6.1.1).
const REORDERED: i64 = 3;
/// Marks that one acknowledgement may add.
const MOST_MARKS: u64 = 1 << 20;

impl Sending {
    /// A packet that nothing waits for: it only acknowledges others.
    pub(in crate::track::udp::feedback) fn send_aside(&mut self, packet: &Packet, number: i64) {
        let sent =
            Sent { ns: packet.ts_ns, serial: self.counts.sent, bytes: packet.payload_len, fate: Fate::Aside };
        if let Some(numbers) = self.numbers(0) {
            numbers.sent(number, sent);
        }
    }

    /// An acknowledgement by ranges of numbers, with counts for the whole connection or without.
    pub(in crate::track::udp::feedback) fn acknowledged(
        &mut self,
        packet: &Packet,
        ack: &Acked<'_>,
        held_ns: i64,
    ) {
        let Some(&(_, largest)) = ack.ranges.first() else { return };
        if !self.known(0).is_some_and(|numbers| numbers.may_be(largest)) {
            return;
        }
        self.report(packet);
        let ce = self.counted(ack.ecn);
        let Some((_, numbers)) = self.sources.first_mut() else { return };
        let (newest, begin) = (numbers.get(largest).copied(), numbers.begin());
        numbers.reported_up_to(largest);
        let (mut packets, mut bytes, mut found, mut covered) = (0, 0, 0, self.covered);
        for &(low, high) in ack.ranges {
            for number in low.max(begin)..=high {
                let Some(sent) = numbers.get(number).filter(|sent| sent.fate != Fate::Received) else {
                    continue;
                };
                found += i64::from(sent.fate == Fate::Lost);
                covered = covered.max(if sent.fate == Fate::Unseen { 0 } else { sent.serial + 1 });
                packets += 1;
                bytes += u64::from(sent.bytes);
                sent.fate = Fate::Received;
            }
        }
        let lost = numbers.lost_before(largest - REORDERED + 1);
        self.covered = covered;
        self.counts.received += u64::from(packets);
        self.counts.ce += ce;
        self.counts.lost = self.counts.lost.saturating_add(i64::from(lost) - found);
        self.round.ce.iter_mut().for_each(|sum| *sum += ce as i64);
        self.round.retransmits = self.round.retransmits.saturating_add(lost);
        self.arrived(packet.ts_ns, packets, bytes);
        self.trains.add(packet.ts_ns, bytes);
        if let Some(sent) = newest.filter(|sent| sent.fate == Fate::Sent) {
            let rtt_ns = packet.ts_ns - sent.ns;
            self.sample((rtt_ns - held_ns).max(rtt_ns.min(0)), packet.ts_ns, packets, ce > 0);
        }
        self.end_report(packet);
    }

    /// Marks that no acknowledgement before counted. Counts of an older one are lower (RFC 9000 section 13.4.2.1).
    fn counted(&mut self, ecn: Option<[u64; 3]>) -> u64 {
        let before = self.counts.reported_ecn.unwrap_or_default();
        let Some(now) = ecn.filter(|now| now.iter().zip(before).all(|(now, before)| *now >= before)) else {
            return 0;
        };
        self.counts.reported_ecn = Some(now);
        (now[2] - before[2]).min(MOST_MARKS)
    }
}
