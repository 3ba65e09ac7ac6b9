//! A direction that sends over UDP: its packets, what is reported of them, and the rounds that this makes.

mod ranges;

use super::counts::{Counts, Report};
use super::numbers::{Amount, Fate, Numbers, Sent};
use super::pace::Pace;
use crate::packet::{ecn, Packet};
use crate::track::rounds::round::{Controlled, Limit, Marked, Round, RoundRow};
use crate::track::rounds::rows::Rows;
use crate::track::rounds::thin::MOST_ROWS;
use crate::track::sending::burst::Bursts;
use crate::track::sending::train::Trains;

/// Sources of one direction that are followed: sound, picture, their repairs.
const MOST_SOURCES: usize = 4;
/// Packets that one report may cover (RFC 8888 section 3.1).
pub(super) const MOST_REPORTED: usize = 16_384;
/// What the times in reports count in.
const COARSE_NS: i64 = 1_024_000;

/// Send side of one direction.
#[derive(Clone, Debug)]
pub struct Sending {
    forward: bool,
    pub counts: Counts,
    pub rows: Rows,
    /// Round trip from here to the sender, where the capture stands away from it.
    pub(super) far_ns: Option<i64>,
    sources: Vec<(u32, Numbers)>,
    from_start: bool,
    /// Reports count time in ms: a shorter round trip is none.
    is_coarse: bool,
    round: Round,
    number: u32,
    /// Packets of the direction that reports cover: all before this one.
    covered: u64,
    ends_ns: Option<i64>,
    last_frame: u64,
    drained_ns: i64,
    ended_row: Option<u32>,
    bursts: Bursts,
    trains: Trains,
    pace: Pace,
    /// What its controller made of the last report, where that is replayed.
    pub(super) controlled: Option<Controlled>,
}

impl Sending {
    pub(super) fn new(forward: bool) -> Self {
        Sending {
            forward,
            counts: Counts::default(),
            rows: Rows::default(),
            far_ns: None,
            sources: Vec::new(),
            from_start: false,
            is_coarse: false,
            round: Round::default(),
            number: 0,
            covered: 0,
            ends_ns: None,
            last_frame: 0,
            drained_ns: 0,
            ended_row: None,
            bursts: Bursts::default(),
            trains: Trains::default(),
            pace: Pace::default(),
            controlled: None,
        }
    }

    pub(super) fn pair() -> [Sending; 2] {
        [true, false].map(Sending::new)
    }

    /// The capture holds its first packet: numbers begin at 1.
    pub fn is_from_start(&self) -> bool {
        self.from_start
    }

    /// Reports come at once, or the path is shorter than their clock can tell: no queue of the path shows.
    pub(super) fn is_at_receiver(&self) -> bool {
        self.is_coarse && self.counts.rtt_min_ns().is_some_and(|ns| ns < 2 * COARSE_NS)
    }

    /// A packet with a number of so many bits.
    pub(super) fn send(&mut self, packet: &Packet, source: u32, wire: u32, bits: u32) {
        if self.ends_ns.is_some_and(|ns| packet.ts_ns >= ns) {
            self.end_round(packet.ts_ns, packet.frame);
        }
        self.settle(packet.ts_ns);
        self.last_frame = packet.frame;
        if self.counts.sent == 0 {
            self.from_start = wire == 1;
        }
        let serial = self.counts.sent;
        self.counts.sent += 1;
        if !self.round.open {
            self.round.begin(packet.ts_ns, packet.frame, self.counts.sent as i64, None);
        }
        let bytes = packet.payload_len;
        let sent = Sent { ns: packet.ts_ns, serial, bytes, fate: Fate::Sent };
        let in_order = self.numbers(source).is_none_or(|numbers| {
            let number = numbers.unwrap(wire, bits);
            numbers.sent(number, sent)
        });
        self.counts.out_of_order += u64::from(!in_order);
        let flying = self.flying();
        let round = &mut self.round;
        round.sent_bytes += u64::from(bytes);
        round.ecn[usize::from(packet.ip_ecn & 3)] += 1;
        round.out_of_order += u32::from(!in_order);
        round.inflight_max_packets = round.inflight_max_packets.max(flying.packets);
        round.inflight_max_bytes = round.inflight_max_bytes.max(flying.bytes);
        self.bursts.send(packet.ts_ns, bytes, packet.frame);
        let waited_ns = self.pace.sent(packet.ts_ns);
        self.counts.waits += u64::from(waited_ns > 0);
        self.counts.waited_ns = self.counts.waited_ns.saturating_add(waited_ns);
    }

    /// Followed numbers of a source; `None` where there are too many sources.
    fn numbers(&mut self, source: u32) -> Option<&mut Numbers> {
        let known = self.sources.iter().position(|(of, _)| *of == source);
        let at = known.unwrap_or(self.sources.len());
        if at == MOST_SOURCES {
            return None;
        }
        if known.is_none() {
            self.sources.push((source, Numbers::default()));
        }
        self.sources.get_mut(at).map(|(_, numbers)| numbers)
    }

    fn known(&mut self, source: u32) -> Option<&mut Numbers> {
        self.sources.iter_mut().find(|(of, _)| *of == source).map(|(_, numbers)| numbers)
    }

    /// Most CE marks that the reports allow: what none covers may be marked too.
    pub fn most_ce(&self) -> u64 {
        let open = if self.counts.ce > 0 { u64::from(self.flying().packets) } else { 0 };
        // Counters have no single reports that could be cut off.
        let numbers = self.sources.iter().filter(|_| self.is_coarse).map(|(_, numbers)| numbers);
        self.counts.ce + numbers.map(Numbers::unread).sum::<u64>() + open
    }

    fn flying(&self) -> Amount {
        self.sources.iter().fold(Amount::default(), |sum, (_, numbers)| Amount {
            packets: sum.packets.saturating_add(numbers.flying.packets),
            bytes: sum.bytes + numbers.flying.bytes,
        })
    }

    /// Whether a report may be on this number; where no data was captured, it may.
    pub(super) fn may_be(&mut self, source: u32, wire: u32, bits: u32) -> bool {
        self.known(source).is_none_or(|numbers| numbers.may_be(numbers.unwrap(wire, bits)))
    }

    /// An acknowledgement of one packet: by how much the counters of what was received, marked and lost rose.
    pub(super) fn counters(&mut self, packet: &Packet, wire: u32, [received, ce, lost]: [i64; 3]) {
        self.report(packet);
        let (received, ce) = (received.clamp(0, i64::from(u32::MAX)), ce.clamp(0, received));
        self.counts.received += received as u64;
        self.counts.ce += ce as u64;
        self.counts.lost = self.counts.lost.saturating_add(lost);
        self.round.ce.iter_mut().for_each(|sum| *sum += ce);
        self.round.retransmits = self.round.retransmits.saturating_add(lost.clamp(0, 1 << 20) as u32);
        let Some(numbers) = self.known(0) else { return };
        let number = numbers.unwrap(wire, 32);
        let passed = numbers.reported_up_to(number);
        let sent = numbers.get(number).filter(|sent| sent.fate == Fate::Sent).map(|sent| {
            sent.fate = Fate::Received;
            *sent
        });
        // Of packets passed over, lost ones are none that arrived.
        let bytes = match u64::from(passed.packets) {
            0 => 0,
            packets => passed.bytes * packets.min(received as u64) / packets,
        };
        self.arrived(packet.ts_ns, received.min(1 << 20) as u32, bytes);
        self.trains.add(packet.ts_ns, bytes);
        if let Some(sent) = sent {
            self.covered = self.covered.max(sent.serial + 1);
            self.sample(packet.ts_ns - sent.ns, packet.ts_ns, received as u32, ce > 0);
        }
        self.end_report(packet);
    }

    fn arrived(&mut self, now_ns: i64, packets: u32, bytes: u64) {
        self.counts.acked_bytes += bytes;
        self.round.acked_packets = self.round.acked_packets.saturating_add(packets);
        self.round.acked_bytes += bytes;
        if packets > 0 && self.flying().packets == 0 {
            (self.round.drained, self.drained_ns) = (true, now_ns);
        }
    }

    fn sample(&mut self, ns: i64, now_ns: i64, packets: u32, marked: bool) {
        if ns < 0 {
            return;
        }
        self.counts.rtt.add(ns);
        self.round.rtt(ns, now_ns, packets);
        if marked {
            self.round.marked_rtt(ns);
        }
    }

    /// A report begins.
    pub(super) fn report(&mut self, packet: &Packet) {
        self.last_frame = packet.frame;
        self.counts.report(packet);
        self.pace.report(packet.ts_ns);
    }

    /// A report whose content is encrypted.
    pub(super) fn hidden(&mut self, packet: &Packet) {
        self.counts.report(packet);
        self.counts.hidden += 1;
    }

    pub(super) fn error(&mut self, packet: &Packet) {
        self.counts.error.get_or_insert((packet.ts_ns, packet.frame));
    }

    /// A report covers everything up to a number; what it says of each follows, as far as the capture holds it.
    pub(super) fn covers(&mut self, source: u32, wire: u32, bits: u32) {
        self.is_coarse = true;
        let Some(numbers) = self.known(source) else { return };
        let number = numbers.unwrap(wire, bits);
        if !numbers.may_be(number) {
            return;
        }
        numbers.reported_up_to(number);
        if let Some(sent) = numbers.get(number).copied().filter(|sent| sent.fate != Fate::Unseen) {
            self.covered = self.covered.max(sent.serial + 1);
        }
    }

    /// What a report says of one packet; the round trip (ns) of one that it newly reports as arrived.
    pub(super) fn reported(
        &mut self,
        packet: &Packet,
        source: u32,
        (wire, bits): (u32, u32),
        report: &Report,
    ) -> Option<i64> {
        let numbers = self.known(source)?;
        let sent = numbers.get(numbers.unwrap(wire, bits))?;
        // A later report may leave out what an earlier one had.
        if sent.fate == Fate::Received || (sent.fate == Fate::Lost && !report.received) {
            return None;
        }
        let was =
            std::mem::replace(&mut sent.fate, if report.received { Fate::Received } else { Fate::Lost });
        let sent = *sent;
        if !report.received {
            self.counts.lost += 1;
            self.round.retransmits += 1;
            return None;
        }
        self.counts.lost -= i64::from(was == Fate::Lost);
        self.received(packet, &sent, was, report)
    }

    fn received(&mut self, packet: &Packet, sent: &Sent, was: Fate, report: &Report) -> Option<i64> {
        let marked = report.ecn == ecn::CE;
        self.counts.received += 1;
        self.counts.ce += u64::from(marked);
        self.counts.codepoint(report.ecn);
        self.round.ce.iter_mut().for_each(|sum| *sum += i64::from(marked));
        self.arrived(packet.ts_ns, 1, u64::from(sent.bytes));
        if was == Fate::Unseen {
            return None;
        }
        self.covered = self.covered.max(sent.serial + 1);
        let rtt_ns = packet.ts_ns - report.held_ns.filter(|_| was == Fate::Sent)? - sent.ns;
        self.sample(rtt_ns, packet.ts_ns, 1, marked);
        Some(rtt_ns)
    }

    /// All of a report is read.
    pub(super) fn end_report(&mut self, packet: &Packet) {
        if !self.round.open || (self.covered as i64) < self.round.mark || self.ends_ns.is_some() {
            return;
        }
        match self.far_ns {
            // What the report lets go has yet to come here.
            Some(ns) => self.ends_ns = Some(packet.ts_ns.saturating_add(ns)),
            None => self.end_round(packet.ts_ns, packet.frame),
        }
    }

    /// Data follows a round that had drained: if it follows at once, the sender had waited for the report.
    fn settle(&mut self, now_ns: i64) {
        let Some(at) = self.ended_row.take_if(|_| !self.round.open) else { return };
        let went_on = self.counts.rtt_min_ns().is_some_and(|rtt| now_ns - self.drained_ns <= rtt / 2);
        if went_on && self.rows.at(at).limited_by == Limit::App {
            // Reports that come packet by packet let the window itself go on.
            self.rows.at(at).limited_by = if self.is_coarse { Limit::Feedback } else { Limit::Cwnd };
        }
    }

    fn end_round(&mut self, now_ns: i64, frame: u64) {
        self.ends_ns = None;
        self.ended_row = None;
        if !self.round.is_empty() {
            let row = self.row(now_ns);
            self.ended_row = self.rows.push(row);
            if self.rows.len() >= MOST_ROWS as usize {
                self.thin(MOST_ROWS);
            }
        }
        self.bursts.round(self.round.acked_bytes, now_ns - self.round.start_ns);
        self.trains.round();
        let flying = self.flying();
        if flying.packets > 0 {
            self.round.begin(now_ns, frame, self.counts.sent as i64, None);
            self.round.inflight_max_packets = flying.packets;
            self.round.inflight_max_bytes = flying.bytes;
        } else {
            self.round.open = false;
        }
    }

    fn row(&mut self, end_ns: i64) -> RoundRow {
        let round = &self.round;
        let limited_by = match (self.far_ns, round.drained) {
            (Some(_), _) => Limit::Unknown,
            (None, true) => Limit::App,
            (None, false) => Limit::Cwnd,
        };
        let row = RoundRow {
            forward: self.forward,
            round: self.number,
            round_trips: 1,
            start_ns: round.start_ns,
            end_ns,
            first_frame: round.first_frame,
            last_frame: round.first_frame.max(self.last_frame),
            sent_bytes: round.sent_bytes,
            ecn: round.ecn,
            acked_packets: round.acked_packets,
            acked_bytes: round.acked_bytes,
            rtts: round.rtt_summary(),
            rtt_samples: round.rtts.samples as u32,
            rtt_prompt_max_us: round.rtt_prompt_max_us().into(),
            rtt_jitter_us: round.rtt_jitter_us().into(),
            inflight_max_bytes: round.inflight_max_bytes,
            inflight_max_packets: round.inflight_max_packets,
            limited_by,
            train_bps: self.trains.fastest_bps().into(),
            retransmits: round.retransmits,
            out_of_order: round.out_of_order,
            burst_bytes: self.bursts.largest,
            burst_frame: self.bursts.largest_frame,
            marked: Marked { ce: round.ce_range(), ..Marked::default() },
            rare: round.rare(self.controlled),
            ..RoundRow::default()
        };
        self.number += 1;
        row
    }

    /// Puts rounds together until half of `most` rows are left, or little more.
    pub(in crate::track::udp) fn thin(&mut self, most: u32) {
        self.ended_row = None;
        self.rows.thin(0, self.forward, most);
    }

    pub(in crate::track::udp) fn finish(&mut self, last_ns: i64, last_frame: u64) {
        if self.round.open {
            self.end_round(last_ns, last_frame);
        }
    }

    /// Its sender is the server and not the client, or the other way round.
    pub(super) fn turn(&mut self) {
        self.forward = !self.forward;
        self.rows.iter_mut().for_each(|row| row.forward = !row.forward);
    }

    pub(in crate::track::udp) fn shift(&mut self, ns: i64) {
        let off = |stamp: &mut i64| *stamp = stamp.saturating_sub(ns);
        let counts = &mut self.counts;
        off(&mut counts.last_report_ns);
        counts.error.iter_mut().for_each(|(stamp, _)| off(stamp));
        for row in self.rows.iter_mut() {
            [&mut row.start_ns, &mut row.end_ns].into_iter().for_each(off);
        }
    }
}
