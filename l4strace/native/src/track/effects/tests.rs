//! What packets do sums up to what tracking counts.

use super::*;
use crate::numbered::Numbering;
use crate::packet::{ecn, AccEcnOption, Sack};
use crate::track::testing::{packet, A, B};
use crate::track::Tracker;

const MS: i64 = 1_000_000;

/// A client (ISN 1000) that sends to a server (ISN 5000) 20 ms away.
#[derive(Default)]
struct Talk {
    packets: Vec<Packet>,
}

impl Talk {
    fn say(&mut self, from: u8, ms: i64, p: Packet) -> &mut Self {
        let frame = self.packets.len() as u64 + 1;
        self.packets.push(Packet { frame, ts_ns: ms * MS, key: packet(from).key, ip_version: 4, ..p });
        self
    }

    fn accecn() -> Self {
        let mut talk = Talk::default();
        let options = Packet { mss: Some(1460), wscale: Some(7), sack_permitted: true, ..Packet::default() };
        talk.say(A, 0, Packet { seq: 1000, flags: flag::SYN | 7 << 6, ..options });
        talk.say(B, 20, Packet { seq: 5000, ack: 1001, flags: flag::SYN | flag::ACK | 3 << 6, ..options });
        talk.say(A, 20, Packet { seq: 1001, ack: 5001, flags: flag::ACK | 2 << 6, ..Packet::default() });
        talk
    }

    fn data(&mut self, ms: i64, n: u32) -> &mut Self {
        let flags = flag::ACK | 5 << 6;
        let sent = Packet { seq: 1001 + 1000 * n, ack: 5001, flags, payload_len: 1000, ..Packet::default() };
        self.say(A, ms, Packet { ip_ecn: ecn::ECT1, ip_id: Some(self.packets.len() as u16), ..sent })
    }

    fn ack(&mut self, ms: i64, n: u32, ace: u16, more: Packet) -> &mut Self {
        let flags = flag::ACK | ace << 6;
        self.say(B, ms, Packet { seq: 5001, ack: 1001 + 1000 * n, flags, window: 500, ..more })
    }

    /// The effects, and the totals of tracking with which their sums agree.
    fn effects(&self) -> (Vec<Effect>, Tracker) {
        let mut tracker = Tracker::default();
        tracker.packets(&self.packets);
        tracker.finish();
        let (mut effects, mut numbering) = (Effects::default(), Numbering::tracked(tracker.starts()));
        let mut of = |p: &Packet| effects.of(p, &numbering.place(p).unwrap(), true);
        (self.packets.iter().map(&mut of).collect(), tracker)
    }
}

#[test]
fn steps_sum_up_to_the_totals_of_the_direction() {
    let mut talk = Talk::accecn();
    for n in 0..12 {
        talk.data(30, n);
    }
    let option =
        |ceb| AccEcnOption { kind: 174, length: 11, e0b: Some(1), ceb: Some(ceb), e1b: Some(1), exid: None };
    talk.ack(50, 2, 6, Packet { accecn: Some(option(1000)), ..Packet::default() });
    let sack = Sack { count: 1, blocks: [(4001, 6001), (0, 0), (0, 0), (0, 0)] };
    talk.ack(51, 2, 7, Packet { sack, accecn: Some(option(2000)), ..Packet::default() });
    talk.data(52, 2).ack(72, 5, 0, Packet { accecn: Some(option(3000)), ..Packet::default() });
    talk.ack(73, 12, 1, Packet::default());
    let (done, tracker) = talk.effects();
    let dir = &tracker.flows[0].dirs[0];
    let acked: Vec<Acked> = done.iter().filter_map(|one| one.acked).collect();
    assert_eq!(acked.iter().map(|one| one.bytes).sum::<i64>(), dir.acked_bytes() as i64);
    let ce = |i: usize| acked.iter().filter_map(|one| one.ce).map(|ce| ce[i]).sum::<i64>();
    let count = dir.feedback.ce;
    assert_eq!([ce(0), ce(1), ce(2)], [count.lo, count.hi, count.best].map(|n| n as i64));
    let ceb = acked.iter().filter_map(|one| one.counters[1]).sum::<i64>();
    assert_eq!((ceb, dir.feedback.bytes.as_ref().unwrap().total[1]), (3000, Some(3000)));
    let rtts: Vec<i64> = acked.iter().filter_map(|one| one.rtt_ns).collect();
    assert_eq!(rtts.len() as u64, dir.sender.as_ref().unwrap().rtt().samples);
    assert_eq!(rtts[0], 20 * MS);
}

#[test]
fn each_packet_is_named_for_what_it_is() {
    let mut talk = Talk::accecn();
    talk.data(30, 0).data(31, 1).ack(50, 0, 5, Packet::default()).data(60, 0);
    talk.ack(80, 2, 5, Packet::default());
    talk.say(A, 90, Packet { seq: 3000, ack: 5001, flags: flag::ACK, payload_len: 1, ..Packet::default() });
    talk.say(B, 91, Packet { seq: 900_000_000, ack: 3001, flags: flag::ACK, ..Packet::default() });
    let (done, _) = talk.effects();
    let seen: Vec<Option<Seen>> = done.iter().skip(3).map(|one| one.seen).collect();
    let (new, again) = (Some(Seen::New), Some(Seen::Retransmit));
    assert_eq!(seen, [new, new, None, again, None, Some(Seen::Probe), Some(Seen::Stray)]);
    assert_eq!(done[5].window, Some(500 << 7));
    assert_eq!(done[4].acked.unwrap().inflight, None);
}

#[test]
fn another_connection_on_the_ports_begins_from_nothing() {
    let mut talk = Talk::default();
    let sent =
        |at: u32, n: u32| Packet { seq: at + 1000 * n, ack: at, payload_len: 1000, ..Packet::default() };
    let told = |at: u32, n: u32, ace: u32| {
        let flags = flag::ACK | ((5 + ace) as u16 & 7) << 6;
        Packet { seq: at, ack: at + 1000 * n, flags, ..Packet::default() }
    };
    for n in 0..20 {
        talk.say(A, 10 * i64::from(n), Packet { flags: flag::ACK | 5 << 6, ..sent(1000, n) });
        talk.say(B, 10 * i64::from(n) + 5, told(1000, n + 1, n));
    }
    let later = 3_000_000_000;
    for n in 0..5 {
        talk.say(A, 300 + 10 * i64::from(n), Packet { flags: flag::ACK | 5 << 6, ..sent(later, n) });
        talk.say(B, 305 + 10 * i64::from(n), told(later, n + 1, 0));
    }
    let (done, tracker) = talk.effects();
    assert_eq!(tracker.flows.len(), 2);
    let acked: Vec<Acked> = done[40..].iter().skip(1).step_by(2).filter_map(|one| one.acked).collect();
    assert_eq!(acked.iter().map(|one| one.bytes).collect::<Vec<_>>(), [1000; 5]);
    assert!(acked.iter().all(|one| one.ce == Some([0; 3]) && one.ace_step == Some(0)));
    let seen: Vec<Option<Seen>> = done[40..].iter().map(|one| one.seen).collect();
    assert_eq!(seen[..3], [Some(Seen::New), None, Some(Seen::New)]);
}

/// What is out of place in the end, and nothing else, is stray.
fn agree(talk: &Talk) -> Vec<Option<Seen>> {
    let (done, tracker) = talk.effects();
    let seen: Vec<Option<Seen>> = done.iter().map(|one| one.seen).collect();
    let directions = || tracker.flows.iter().flat_map(|flow| &flow.dirs);
    let count = |what: Seen| seen.iter().filter(|seen| **seen == Some(what)).count() as u64;
    assert_eq!(count(Seen::Stray), directions().map(|dir| dir.totals.rare().out_of_window).sum::<u64>());
    assert_eq!(count(Seen::Retransmit), directions().map(|dir| dir.totals.retransmits).sum::<u64>());
    let acked = done.iter().filter_map(|one| one.acked).map(|acked| acked.bytes).sum::<i64>();
    assert_eq!(acked, directions().map(|dir| dir.acked_bytes() as i64).sum::<i64>());
    seen
}

#[test]
fn packets_that_waited_after_a_gap_are_what_tracking_counts_them_for() {
    let mut talk = Talk::accecn();
    talk.data(30, 0).data(31, 1).ack(50, 2, 5, Packet::default());
    // 200 MB are missing.
    for n in 0..4 {
        talk.data(60 + n, 200_000 + n as u32);
    }
    talk.ack(90, 200_004, 5, Packet::default());
    let seen = agree(&talk);
    assert_eq!(seen[6..], [Some(Seen::New), Some(Seen::New), Some(Seen::New), Some(Seen::New), None]);
}

#[test]
fn packets_that_waited_in_vain_are_stray() {
    let mut talk = Talk::accecn();
    talk.data(30, 0).data(60, 200_000).data(61, 200_001).data(62, 1).ack(80, 2, 5, Packet::default());
    let seen = agree(&talk);
    assert_eq!(seen[4..7], [Some(Seen::Stray), Some(Seen::Stray), Some(Seen::New)]);
}

#[test]
fn a_flood_of_handshakes_costs_a_young_conversation_nothing() {
    let (mut effects, talk) = (Effects::default(), Talk::accecn());
    let at = |flow, forward| Place { flow, forward, begins: false, seq: 0, ack: None };
    for p in &talk.packets {
        effects.of(p, &at(0, p.key == packet(A).key), true);
    }
    for number in 1..FOLD_AT as u32 + 10 {
        effects.of(&Packet { flags: flag::SYN, ts_ns: -1, ..packet(A) }, &at(number, true), true);
    }
    assert!(effects.flows.len() < FOLD_AT);
    let ack = Packet { seq: 5001, ack: 1001, flags: flag::ACK | 5 << 6, window: 500, ..packet(B) };
    assert_eq!(effects.of(&ack, &at(0, false), true).window, Some(500 << 7));
}
