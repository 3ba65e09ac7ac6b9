//! Whole conversations by hand: the hard cases.

use super::testing::{packet, A, B};
use super::*;
use crate::packet::{ecn, flag, Sack};

mod attacks;
mod merged;
mod predicted;

const MS: i64 = 1_000_000;

/// A conversation under construction: client ISN 1000, server ISN 5000, RTT 20 ms seen at the client.
struct Talk {
    tracker: Tracker,
    frame: u64,
    said: Vec<Packet>,
}

impl Talk {
    fn new() -> Self {
        Talk { tracker: Tracker::default(), frame: 0, said: Vec::new() }
    }

    fn say(&mut self, from: u8, ms: i64, flags: u16, ace: u8, p: Packet) -> &mut Self {
        self.frame += 1;
        let (key, version) = (packet(from).key, 4);
        let flags = flags | (u16::from(ace) << 6);
        let p = Packet { frame: self.frame, ts_ns: ms * MS, key, ip_version: version, flags, ..p };
        self.said.push(p);
        self.tracker.packets(&[p]);
        self
    }

    /// AccECN handshake with ECT(1) on the SYN, without timestamps.
    fn accecn() -> Self {
        let mut talk = Talk::new();
        let (syn, synack) = (flag::SYN, flag::SYN | flag::ACK);
        let options = Packet { mss: Some(1460), wscale: Some(7), sack_permitted: true, ..Packet::default() };
        talk.say(A, 0, syn, 7, Packet { seq: 1000, ip_ecn: ecn::ECT1, ..options });
        talk.say(B, 20, synack, 3, Packet { seq: 5000, ack: 1001, ..options });
        talk.say(A, 20, flag::ACK, 2, Packet { seq: 1001, ack: 5001, ..Packet::default() });
        talk
    }

    /// Data packet `n` (from 0) of the client, 1000 bytes.
    fn data(&mut self, ms: i64, n: u32) -> &mut Self {
        let p = Packet {
            seq: 1001 + 1000 * n,
            ack: 5001,
            payload_len: 1000,
            ip_ecn: ecn::ECT1,
            ..Packet::default()
        };
        self.say(A, ms, flag::ACK, 5, p)
    }

    /// ACK of the server for the first `n` data packets.
    fn ack(&mut self, ms: i64, n: u32, ace: u8) -> &mut Self {
        let p = Packet { seq: 5001, ack: 1001 + 1000 * n, window: 500, ..Packet::default() };
        self.say(B, ms, flag::ACK, ace, p)
    }

    fn end(&mut self) -> &Flow {
        self.tracker.finish();
        self.compare_with_general();
        &self.tracker.flows[0]
    }

    fn fed_back(&mut self) -> (u64, u64, u64, u64) {
        let ce = self.end().dirs[0].feedback.ce;
        (ce.lo, ce.hi, ce.best, ce.naive)
    }
}

#[test]
fn marks_are_counted_across_the_wrap() {
    let mut talk = Talk::accecn();
    for n in 0..20 {
        talk.data(30 + i64::from(n), n).ack(50 + i64::from(n), n + 1, ((5 + n + 1) & 7) as u8);
    }
    assert_eq!(talk.fed_back(), (20, 20, 20, 20));
}

#[test]
fn reordered_acks_are_ignored_where_the_naive_sum_runs_away() {
    // Eleven marks; every pair of ACKs arrives swapped, which the plain sum takes for wraps.
    let mut talk = Talk::accecn();
    (0..22).for_each(|n| {
        talk.data(30, n);
    });
    for pair in 0..11u32 {
        let ace = |marks: u32| ((5 + marks) & 7) as u8;
        talk.ack(50 + i64::from(pair), 2 * pair + 2, ace(pair + 1));
        talk.ack(50 + i64::from(pair), 2 * pair + 1, ace(pair));
    }
    let (lo, hi, best, naive) = talk.fed_back();
    assert_eq!((lo, hi, best), (11, 11, 11));
    // Up by 1, then by 2 ten times, and each time back by 1, which is 7 modulo 8.
    assert_eq!(naive, 1 + 10 * 2 + 11 * 7);
}

#[test]
fn without_a_handshake_ece_that_ends_shows_classic_ecn() {
    // What the ACKs of `step` packets each carry in place of ACE.
    let shown = |aces: &[u8], step: u32| {
        let mut talk = Talk::new();
        for (n, ace) in (0..).zip(aces) {
            for n in n * step..(n + 1) * step {
                let data = Packet { seq: 1001 + 1000 * n, ack: 5001, payload_len: 1000, ..Packet::default() };
                talk.say(A, 30, flag::ACK, 0, data);
            }
            talk.ack(50 + i64::from(n), (n + 1) * step, *ace);
        }
        let flow = talk.end();
        (flow.verdict().0, flow.dirs[1].totals.ece_acks)
    };
    assert_eq!(shown(&[0, 1, 1, 0, 1], 1), (Mode::Classic, 3));
    assert_eq!(shown(&[0, 1, 1, 1], 1).0, Mode::Unknown);
    // Seven marks and more: a counter may have gone once round.
    assert_eq!(shown(&[0, 1, 0], 7).0, Mode::Unknown);
    assert_eq!(shown(&[1, 2, 3, 4], 1).0, Mode::AccEcn);
}

#[test]
fn lost_acks_leave_an_interval_that_holds_the_truth() {
    let mut talk = Talk::accecn();
    (0..30).for_each(|n| {
        talk.data(30, n);
    });
    // 13 marks among 30 packets, reported by one ACK.
    talk.ack(60, 30, (5 + 13) & 7);
    let (lo, hi, ..) = talk.fed_back();
    assert!(lo <= 13 && 13 <= hi, "{lo}..{hi}");
    assert_eq!((lo % 8, hi % 8), (13 % 8, 13 % 8));
}

#[test]
fn marks_that_repeated_acks_without_sack_reported_are_counted() {
    // The snaplen cuts the SACK blocks off: behind a loss twenty ACKs count ten marks, and the next that
    // advances moves the counter by two in sum.
    let fed_back = |missing: u16| {
        let mut talk = Talk::accecn();
        let mut id = 0;
        let mut ack = |talk: &mut Talk, n: u32, marks: u32, step: u16| {
            id += step;
            let (seq, ack) = (5001, 1001 + 1000 * n);
            let p = Packet { seq, ack, ip_id: Some(id), options_cut: true, ..Packet::default() };
            talk.say(B, 50, flag::ACK, ((5 + marks) & 7) as u8, p);
        };
        (0..121).for_each(|n| {
            talk.data(30, n);
        });
        // Marks are known to be rare, and no ACK is missing so far.
        (0..100).for_each(|n| ack(&mut talk, n + 1, 0, 1));
        (1..=20u32).for_each(|n| ack(&mut talk, 100, n.saturating_sub(10), 1 + missing));
        ack(&mut talk, 121, 10, 1);
        let (lo, hi, ..) = talk.fed_back();
        (lo, hi)
    };
    assert_eq!(fed_back(0), (10, 10));
    let (lo, hi) = fed_back(1);
    assert!(lo <= 10 && 10 <= hi, "{lo}..{hi}");
}

#[test]
fn the_first_packet_may_come_late() {
    let mut talk = Talk::accecn();
    talk.data(30, 1).data(31, 0).data(32, 2).ack(52, 3, 5).end();
    let totals = &talk.tracker.flows[0].dirs[0].totals;
    assert_eq!((totals.retransmits, totals.out_of_order), (0, 1));
}

#[test]
fn a_reset_carries_no_counter() {
    let mut talk = Talk::accecn();
    talk.data(30, 0).ack(50, 1, 5);
    talk.say(B, 60, flag::RST | flag::ACK, 0, Packet { seq: 5001, ack: 2001, ..Packet::default() });
    assert_eq!(talk.fed_back(), (0, 0, 0, 0));
    assert_eq!(talk.end().ended.name(), "rst");
}

#[test]
fn the_code_of_the_final_ack_is_no_counter() {
    let mut talk = Talk::accecn();
    talk.data(30, 0).ack(50, 1, 5);
    let flow = talk.end();
    assert_eq!(flow.dirs[1].feedback.ce.hi, 0);
    assert_eq!(flow.handshake.final_ack.map(|a| a.ace), Some(2));
    assert_eq!(flow.dirs[0].carried.ace_first, Some(5));
}

/// A sends a FIN first, then B; A's last ACK has this ACE: on Linux 6.18 000 after close(), the counter after
/// shutdown().
fn closed(ace: u8) -> (u64, u64, u64) {
    let mut talk = Talk::accecn();
    talk.data(30, 0).ack(50, 1, 5);
    let (fin, ack) = (flag::FIN | flag::ACK, flag::ACK);
    talk.say(A, 60, fin, 5, Packet { seq: 2001, ack: 5001, ..Packet::default() });
    talk.say(B, 80, ack, 5, Packet { seq: 5001, ack: 2002, payload_len: 10, ..Packet::default() });
    talk.say(B, 81, fin, 5, Packet { seq: 5011, ack: 2002, ..Packet::default() });
    talk.say(A, 90, ack, ace, Packet { seq: 2002, ack: 5012, ..Packet::default() });
    let ce = talk.end().dirs[1].feedback.ce;
    (ce.lo, ce.best, ce.hi)
}

#[test]
fn a_closed_socket_counts_no_marks_when_it_answers_the_fin() {
    assert_eq!(closed(0), (0, 0, 0));
    assert_eq!(closed(6), (1, 1, 1), "one that is open still");
}

#[test]
fn a_ce_marked_synack_starts_the_count_at_one() {
    let mut talk = Talk::new();
    talk.say(A, 0, flag::SYN, 7, Packet { seq: 1000, ..Packet::default() });
    talk.say(B, 20, flag::SYN | flag::ACK, 2, Packet { seq: 5000, ack: 1001, ..Packet::default() });
    talk.say(A, 20, flag::ACK, 6, Packet { seq: 1001, ack: 5001, ..Packet::default() });
    talk.say(A, 21, flag::ACK, 6, Packet { seq: 1001, ack: 5001, payload_len: 10, ..Packet::default() });
    let ce = talk.end().dirs[1].feedback.ce;
    assert_eq!((ce.lo, ce.hi, ce.best), (1, 1, 1));
}

#[test]
fn a_downgraded_syn_ends_without_ecn() {
    let mut talk = Talk::new();
    for (ms, ace) in [(0, 7), (1000, 7), (2000, 0)] {
        talk.say(A, ms, flag::SYN, ace, Packet { seq: 1000, ..Packet::default() });
    }
    talk.say(B, 2020, flag::SYN | flag::ACK, 0, Packet { seq: 5000, ack: 1001, ..Packet::default() });
    let flow = talk.end();
    assert_eq!(flow.verdict().0, Mode::None);
    assert_eq!((flow.handshake.syn_count, flow.dirs[0].handshake_rtt_ns), (3, None));
}

#[test]
fn crossing_syns_open_one_conversation() {
    let mut talk = Talk::new();
    talk.say(A, 0, flag::SYN, 7, Packet { seq: 1000, ..Packet::default() });
    talk.say(B, 10, flag::SYN, 7, Packet { seq: 5000, ..Packet::default() });
    talk.say(A, 11, flag::SYN | flag::ACK, 2, Packet { seq: 1000, ack: 5001, ..Packet::default() });
    talk.say(B, 21, flag::SYN | flag::ACK, 2, Packet { seq: 5000, ack: 1001, ..Packet::default() });
    talk.say(A, 22, flag::ACK, 2, Packet { seq: 1001, ack: 5001, ..Packet::default() });
    talk.say(B, 32, flag::ACK, 2, Packet { seq: 5001, ack: 1001, ..Packet::default() });
    talk.data(40, 0);
    let flow = talk.end();
    assert!(flow.handshake.simultaneous);
    assert_eq!(flow.verdict().0, Mode::AccEcn);
    assert_eq!((flow.dirs[0].feedback.ce.hi, flow.dirs[1].feedback.ce.hi), (0, 0));
}

#[test]
fn ports_used_again_are_two_conversations() {
    let mut talk = Talk::accecn();
    talk.data(30, 0).ack(50, 1, 6);
    let again = Packet { seq: 700_000, ..Packet::default() };
    talk.say(A, 9000, flag::SYN, 0, again);
    talk.say(B, 9020, flag::SYN | flag::ACK, 0, Packet { seq: 9, ack: 700_001, ..Packet::default() });
    talk.end();
    let modes: Vec<Mode> = talk.tracker.flows.iter().map(|f| f.verdict().0).collect();
    assert_eq!(modes, [Mode::AccEcn, Mode::None]);
}

#[test]
fn mid_stream_accecn_shows_by_its_ae_bit() {
    let mut talk = Talk::new();
    talk.data(0, 0).ack(20, 1, 6);
    assert_eq!(talk.end().verdict().0, Mode::AccEcn);
}

#[test]
fn a_round_ends_when_its_data_comes_back() {
    let mut talk = Talk::accecn();
    for n in 0..10u32 {
        talk.data(30 + i64::from(n), n);
    }
    for n in 0..10u32 {
        talk.ack(50 + i64::from(n), n + 1, 5).data(50 + i64::from(n), 10 + n);
    }
    talk.end();
    let rounds: Vec<_> = talk.tracker.rounds.iter().collect();
    // The first data packet's ACK ends round 0; what was sent until then ends round 1.
    assert_eq!(rounds[0].end_ns, 50 * MS);
    assert_eq!(rounds[1].end_ns, 59 * MS);
    assert_eq!((rounds[1].acked_packets, rounds[1].inflight_max_packets), (9, 10));
    assert_eq!(rounds[1].rtt().map(|r| r.mean_us), Some(20_000.0));
}

#[test]
fn a_window_whose_scale_was_cut_off_limits_nothing() {
    let limits = |options_cut: bool| {
        let mut talk = Talk::new();
        let cut = Packet { options_cut, ..Packet::default() };
        talk.say(A, 0, flag::SYN, 7, Packet { seq: 1000, ..cut });
        talk.say(B, 20, flag::SYN | flag::ACK, 2, Packet { seq: 5000, ack: 1001, ..cut });
        talk.say(A, 20, flag::ACK, 2, Packet { seq: 1001, ack: 5001, ..cut });
        talk.data(30, 0).ack(50, 1, 5).data(51, 1).ack(71, 2, 5).end();
        talk.tracker.rounds.iter().map(|r| (r.limited_by.name(), r.rwnd_bytes)).last()
    };
    assert_eq!(limits(false), Some(("rwnd", Some(500))));
    assert_eq!(limits(true), Some(("app", None)));
}

#[test]
fn rounds_that_were_read_and_dropped_are_not_looked_at_again() {
    let mut talk = Talk::accecn();
    talk.data(30, 0).ack(50, 1, 5);
    assert_eq!(talk.tracker.rounds.len(), 1);
    talk.tracker.forget_rounds();
    // Data right after a round that had drained shows that the window was its limit.
    talk.data(51, 1).ack(71, 2, 5);
    assert_eq!(talk.tracker.rounds.len(), 1);
}

#[test]
fn far_from_the_sender_a_round_still_lasts_a_round_trip() {
    // At the server every ACK follows its data at once; the data that an ACK releases comes 20 ms later.
    let mut talk = Talk::new();
    let stamp = |ms: i64, echo: i64| Some((ms as u32, echo as u32));
    let base = Packet::default();
    talk.say(A, 10, flag::SYN, 7, Packet { seq: 1000, timestamps: stamp(0, 0), ..base });
    let synack = Packet { seq: 5000, ack: 1001, timestamps: stamp(10, 0), ..base };
    talk.say(B, 10, flag::SYN | flag::ACK, 2, synack);
    talk.say(A, 30, flag::ACK, 2, Packet { seq: 1001, ack: 5001, timestamps: stamp(20, 10), ..base });
    for n in 0..8u32 {
        let at = 30 + 20 * i64::from(n / 2);
        let echo = if n < 2 { 10 } else { at - 20 };
        let seq = 1001 + 1000 * n;
        let data = Packet { seq, ack: 5001, payload_len: 1000, timestamps: stamp(at - 10, echo), ..base };
        talk.say(A, at, flag::ACK, 5, data);
        let ack = Packet { seq: 5001, ack: seq + 1000, timestamps: stamp(at, at - 10), ..base };
        talk.say(B, at, flag::ACK, 5, ack);
    }
    talk.end();
    assert_eq!(talk.tracker.flows[0].vantage.name(), "server");
    let lengths: Vec<i64> = talk.tracker.rounds.iter().map(|r| (r.end_ns - r.start_ns) / MS).collect();
    assert_eq!(lengths[..3], [20, 20, 20]);
    assert!(talk.tracker.rounds.iter().all(|r| r.cwnd_packets.get().is_none()));
}

#[test]
fn sacked_data_counts_as_delivered_once() {
    let mut talk = Talk::accecn();
    (0..4).for_each(|n| {
        talk.data(30, n);
    });
    let blocks =
        |right: u32| Sack { count: 1, blocks: [(2001, 1001 + 1000 * right), (0, 0), (0, 0), (0, 0)] };
    for right in [2, 3, 4] {
        let dup = Packet { seq: 5001, ack: 1001, sack: blocks(right), ..Packet::default() };
        talk.say(B, 50, flag::ACK, (5 + right as u8 - 1) & 7, dup);
    }
    talk.data(51, 0).ack(71, 4, 0);
    assert_eq!(talk.fed_back().2, 3);
    let flow = &talk.tracker.flows[0];
    assert_eq!(flow.dirs[0].totals.retransmits, 1);
    assert_eq!(flow.dirs[0].sender.as_ref().map(|s| s.acked_bytes), Some(4000));
}

#[test]
fn packets_seen_twice_count_once() {
    for (id, cut) in [(0, 1), (100, 1), (0, 4)] {
        let mut talk = Talk::accecn();
        let mut id = id;
        for n in 0..40u32 {
            let at = 30 + i64::from(n);
            id += u16::from(id > 0);
            // Once before segmentation offload, once after it, where the packet is cut.
            let base = Packet { ack: 5001, ip_id: Some(id), ip_ecn: ecn::ECT1, ..Packet::default() };
            talk.say(A, at, flag::ACK, 5, Packet { seq: 1001 + 1000 * n, payload_len: 1000, ..base });
            for part in 0..cut {
                let (seq, payload_len) = (1001 + 1000 * n + part * 1000 / cut, 1000 / cut);
                talk.say(A, at, flag::ACK, 5, Packet { seq, payload_len, ..base });
            }
            talk.ack(at + 20, n + 1, 5).ack(at + 20, n + 1, 5);
        }
        talk.end();
        let [data, acks] = talk.tracker.flows[0].dirs.each_ref().map(|dir| &dir.totals);
        assert_eq!((data.data_packets(), data.payload_bytes), (40, 40_000), "id {id}, cut in {cut}");
        assert_eq!((data.retransmits, data.out_of_order), (0, 0), "id {id}, cut in {cut}");
        assert_eq!(data.duplicates, 40 * u64::from(cut));
        assert_eq!(acks.acks, 40);
    }
}

#[test]
fn a_retransmission_after_a_round_trip_is_one() {
    let mut talk = Talk::accecn();
    (0..4).for_each(|n| {
        talk.data(30, n);
    });
    talk.data(80, 0).ack(100, 4, 5);
    talk.end();
    let totals = &talk.tracker.flows[0].dirs[0].totals;
    assert_eq!((totals.data_packets(), totals.retransmits, totals.duplicates), (5, 1, 0));
}
