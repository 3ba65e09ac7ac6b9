use super::message::{Ack, Message};
use super::rtcp::{find, sources, Found};
use super::*;
use crate::packet::{ecn, FlowKey};
use crate::track::rounds::round::Limit;
use crate::track::udp::{Dissected, UdpFlow, UdpFlows};

const MS: i64 = 1_000_000;

/// A conversation whose client (side 0) sends data.
#[derive(Default)]
struct Talk {
    flows: UdpFlows,
    frame: u64,
}

impl Talk {
    /// A datagram of `length`, of which the capture holds the payload.
    fn say(&mut self, ms: f64, side: usize, length: u32, payload: &[u8]) {
        self.frame += 1;
        let key = FlowKey { src_port: 50_000, dst_port: 8080, ..FlowKey::default() };
        let packet = Packet {
            frame: self.frame,
            ts_ns: (ms * MS as f64) as i64,
            key: if side == 0 { key } else { key.reversed() },
            ip_version: 4,
            ip_ecn: ecn::ECT1,
            payload_len: length,
            ..Packet::default()
        };
        self.flows.datagram(&packet, payload);
    }

    fn data(&mut self, ms: f64, number: u32, echoed: u32) {
        let stamp = (ms * 1000.0) as u32;
        let fields = [stamp, echoed, number].map(u32::to_be_bytes).concat();
        self.say(ms, 0, 1400, &[&[1][..], &fields].concat());
    }

    fn ack(&mut self, ms: f64, [number, stamp, received, ce, lost]: [u32; 5]) {
        let fields = [number, stamp, 0, received, ce, lost].map(u32::to_be_bytes).concat();
        self.say(ms, 1, 26, &[&[17][..], &fields, &[0]].concat());
    }

    fn block(&mut self, ms: f64, begin: u32, reports: &[u16], held: usize) {
        let count = reports.len() as u16;
        let reports = reports.iter().take(held).flat_map(|report| report.to_be_bytes());
        let payload: Vec<u8> =
            [18].into_iter().chain(begin.to_be_bytes()).chain(count.to_be_bytes()).chain(reports).collect();
        self.say(ms, 1, 7 + 2 * u32::from(count), &payload);
    }

    fn rtp(&mut self, ms: f64, number: u16) {
        let head = [&[0x80, 98][..], &number.to_be_bytes(), &[0, 0, 0, 1, 0, 0, 0, 7]].concat();
        self.say(ms, 0, 1212, &head);
    }

    fn rtcp(&mut self, ms: f64, payload: &[u8]) {
        self.say(ms, 1, payload.len() as u32, payload);
    }

    fn flow(&mut self) -> UdpFlow {
        self.flows.finish();
        self.flows.kept().next().expect("a flow").clone()
    }
}

fn received(ecn: u8, held: u16) -> u16 {
    0x8000 | u16::from(ecn) << 13 | held
}

/// A report of RFC 8888 on source 7.
fn ccfb(begin: u16, reports: &[u16]) -> Vec<u8> {
    let mut body =
        [&[0, 0, 0, 9, 0, 0, 0, 7][..], &begin.to_be_bytes(), &(reports.len() as u16).to_be_bytes()].concat();
    body.extend(reports.iter().flat_map(|report| report.to_be_bytes()));
    body.resize(body.len().next_multiple_of(4) + 4, 0);
    let words = (body.len() / 4) as u16;
    [&[0x8b, 205][..], &words.to_be_bytes(), &body].concat()
}

#[test]
fn each_acknowledgement_counts_and_times_its_packet() {
    let mut talk = Talk::default();
    for n in 1..=20u32 {
        talk.data(f64::from(n), n, 0);
        let acked = n.saturating_sub(5);
        // Packets 8 and 9 do not arrive, and one of them comes after 11.
        if acked > 0 && !(8..10).contains(&acked) {
            let lost = u32::from(acked > 9) + u32::from((10..12).contains(&acked));
            talk.ack(f64::from(n) + 0.5, [acked, n * 1000, acked - lost, acked / 4, lost]);
        }
    }
    let flow = talk.flow();
    let sending = flow.sending(0).expect("UDP Prague");
    let counts = &sending.counts;
    assert_eq!((counts.sent, counts.received, counts.lost, counts.ce, counts.reports), (20, 14, 1, 3, 13));
    assert_eq!((counts.rtt.min_ns, counts.rtt.max_ns), (5 * MS + MS / 2, 5 * MS + MS / 2));
    assert_eq!(sending.most_ce(), 3 + 5, "five packets are not acknowledged yet");
    assert_eq!(sending.rows.iter().map(|row| row.acked_packets).sum::<u32>(), 14);
    assert_eq!(sending.rows.iter().map(|row| row.marked.ce.best).sum::<u32>(), 3);
    assert!(flow.sending(1).is_some_and(|other| other.counts.sent == 0));
}

#[test]
fn only_a_conversation_that_is_kept_ends_its_rounds() {
    let rows = |packets| {
        let mut talk = Talk::default();
        (0..packets).for_each(|n| talk.rtp(f64::from(n), n));
        talk.flows.finish();
        talk.flows.flows[0].sending(0).map_or(0, |sending| sending.rows.len())
    };
    assert_eq!((rows(7), rows(8)), (0, 1));
}

#[test]
fn a_block_without_a_round_trip_is_not_looked_at() {
    let mut talk = Talk::default();
    (1..=20).for_each(|n| talk.data(f64::from(n), n, 0));
    // All of it is reported as lost: the sender learns no round trip, and leaves its controller alone.
    (0..8).for_each(|n| talk.block(30.0 + f64::from(n), 1, &[0; 20], 20));
    assert!(talk.flow().sending(0).is_some_and(|sending| sending.controlled.is_none()));
}

#[test]
fn an_older_acknowledgement_changes_nothing() {
    let mut talk = Talk::default();
    (1..=10).for_each(|n| talk.data(f64::from(n), n, 0));
    talk.ack(12.0, [3, 1, 3, 1, 0]);
    talk.ack(12.1, [2, 1, 2, 1, 0]);
    talk.ack(12.2, [4, 1, 4, 0, 0]);
    talk.ack(12.3, [400, 1, 5, 1, 0]);
    (0..6).for_each(|n| talk.ack(13.0 + f64::from(n), [4 + n, 1, 4 + n, 1, 0]));
    let counts = talk.flow().sending(0).expect("UDP Prague").counts;
    assert_eq!((counts.received, counts.ce, counts.reports), (9, 1, 7), "400 was never sent");
}

#[test]
fn echoed_times_show_where_the_capture_stands() {
    // 10 ms to the receiver and back, 0.1 ms to the sender; then the other way round.
    for (there, here, vantage) in [(10.0, 0.1, Vantage::Client), (0.1, 10.0, Vantage::Server)] {
        let mut talk = Talk::default();
        let (mut ms, mut echoed) = (0.0, 0);
        for n in 1..=20 {
            talk.data(ms, n, echoed);
            let stamp = 7_000 + n * 30_000;
            talk.ack(ms + there, [n, stamp, n, 0, 0]);
            // The sender holds the acknowledgement for 3 ms.
            (ms, echoed) = (ms + there + here + 3.0, stamp + 3_000);
        }
        assert_eq!(talk.flow().vantage(), vantage);
    }
}

#[test]
fn blocks_report_each_packet_with_its_time_and_the_wait_for_it() {
    let mut talk = Talk::default();
    for block in 0..20u32 {
        let ms = f64::from(block) * 25.0;
        (0..10).for_each(|n| talk.data(ms + f64::from(n), block * 10 + n + 1, 0));
        // Each arrives after 10.24 ms and is held until 20.48 ms; the second is marked and the third lost.
        let reports: Vec<u16> =
            (0..10u16).map(|n| [received(if n == 1 { 3 } else { 1 }, 10), 0][usize::from(n == 2)]).collect();
        talk.block(ms + 24.95, block * 10 + 1, &reports, reports.len());
    }
    let flow = talk.flow();
    let counts = flow.sending(0).expect("UDP Prague").counts;
    assert_eq!((counts.received, counts.lost, counts.ce, counts.reports), (180, 20, 20, 20));
    assert_eq!(counts.reported_ecn, Some([0, 160, 20]));
    assert_eq!(counts.rtt.max_ns, 24_950_000 - 10 * 1_024_000);
    assert_eq!(
        (counts.waits, counts.waited_ns / MS),
        (19, 19 * 14 + 18),
        "16 ms, less one distance, but for the last"
    );
    assert_eq!(flow.vantage(), Vantage::Unknown);
}

#[test]
fn what_the_capture_cut_off_may_be_marked() {
    let mut talk = Talk::default();
    (1..=40).for_each(|n| talk.data(f64::from(n), n, 0));
    (0..8u32).for_each(|n| talk.block(50.0 + f64::from(n), 5 * n + 1, &[received(3, 1); 5], 3));
    let sending = talk.flow().sending(0).expect("UDP Prague").clone();
    assert_eq!((sending.counts.ce, sending.most_ce()), (24, 40));
}

#[test]
fn reports_of_rtp_overlap_and_correct_each_other() {
    let mut talk = Talk::default();
    (0..30u16).for_each(|n| talk.rtp(f64::from(n), 65_530u16.wrapping_add(n)));
    talk.rtcp(31.0, &ccfb(65_530, &[received(0, 20), 0, received(3, 18)]));
    talk.rtcp(32.0, &ccfb(65_531, &[received(1, 20), received(3, 19), received(3, 18), received(1, 0x1fff)]));
    let flow = talk.flow();
    let counts = flow.sending(0).expect("RTP").counts;
    assert_eq!((counts.received, counts.lost, counts.ce, counts.reports), (5, 0, 2, 2));
    assert_eq!(counts.reported_ecn, Some([0, 2, 2]), "one arrived as Not-ECT");
    assert_eq!(counts.rtt.samples, 3, "one came late, and one has no time");
}

#[test]
fn encryption_hides_all_but_times() {
    let mut talk = Talk::default();
    (0..30u16).for_each(|n| talk.rtp(f64::from(n), n));
    let mut hidden = ccfb(0, &[received(1, 20); 20]);
    hidden[8..].iter_mut().for_each(|byte| *byte ^= 0x5a);
    hidden.extend([0x80; 14]);
    (0..10).for_each(|n| talk.rtcp(40.0 + f64::from(n) * 20.0, &hidden));
    let counts = talk.flow().sending(0).expect("RTP").counts;
    assert_eq!((counts.reports, counts.hidden, counts.received), (10, 10, 0));
    assert_eq!(counts.interval_ns(), Some(20 * MS));
}

#[test]
fn a_report_is_found_behind_others_and_its_sources_fill_it() {
    let report = ccfb(7, &[received(1, 1); 3]);
    let compound = [&[0x80, 201, 0, 1, 0, 0, 0, 9][..], &report].concat();
    let Some(Found::Report(bytes)) = find(&compound, compound.len() as u32) else { panic!("no report") };
    let found: Vec<_> = sources(bytes).map(|source| (source.ssrc, source.begin, source.count)).collect();
    assert_eq!(found, [(7, 7, 3)]);
    let mut longer = report.clone();
    longer[15] = 9;
    assert_eq!(find(&longer, longer.len() as u32), Some(Found::Hidden), "nine reports do not fit");
    assert!(matches!(find(&report[..20], report.len() as u32), Some(Found::Report(_))), "cut off");
}

#[test]
fn messages_have_exact_lengths() {
    let ack = [&[17][..], &[0; 25]].concat();
    assert_eq!(Message::parse(&ack, 26), Some(Message::Ack(Ack::default())));
    assert_eq!(Message::parse(&ack, 27), None);
    assert_eq!(Message::parse(&ack[..25], 26), None, "cut off");
    assert!(Message::parse(&[18, 0, 0, 0, 1, 0, 2], 11).is_some());
    assert_eq!(Message::parse(&[18, 0, 0, 0, 1, 0, 2], 12), None);
    assert_eq!(Message::parse(&[1; 25], 24), None);
}

#[test]
fn whatever_the_bytes_are_nothing_breaks() {
    let mut seed = 3u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 40) as u32
    };
    for _ in 0..50 {
        let mut talk = Talk::default();
        for _ in 0..400 {
            let kind = [1, 2, 17, 18, 0x80, 0x8b][random() as usize % 6];
            let mut payload: Vec<u8> = (0..random() % 80).map(|_| random() as u8).collect();
            payload.splice(0..0, [kind, [205, 98][random() as usize % 2], 0, (random() % 20) as u8]);
            let length = [26, payload.len() as u32, random() % 2000][random() as usize % 3];
            talk.say(f64::from(random() % 1_000_000), random() as usize % 2, length, &payload);
        }
        talk.flow().shift(i64::MAX);
    }
}

/// QUIC with keys: a long header of each side, then datagrams at times (ms) of a side with what is shown of them.
fn quic(said: &[(f64, usize, u32, &str)]) -> UdpFlow {
    let mut shown = Dissected::default();
    for (line, (.., fields)) in said.iter().enumerate() {
        shown.feed(format!("{}\t0\t\t{}\n", line + 3, fields.replace(' ', "\t")).as_bytes());
    }
    let mut talk = Talk { flows: UdpFlows::with(shown), frame: 0 };
    (0..2).for_each(|side| talk.say(0.0, side, 1200, b"\xc0\0\0\0\x01\0\0"));
    said.iter().for_each(|(ms, side, bytes, _)| talk.say(*ms, *side, *bytes, b"\x40\x01\x02\x03\x04"));
    talk.flow()
}

#[test]
fn acknowledgements_that_keys_open_count_and_time_their_packets() {
    let data = ["7 8", "8 8", "9 8", "10 8", "11 8", "12 8", "13 8", "14 8"];
    let mut said: Vec<_> = data.iter().zip(0..).map(|(data, n)| (f64::from(n), 0, 1200, *data)).collect();
    said.extend([
        // Packet 9 has not arrived; 8 was marked; the receiver held packet 10 for 125 << 3 us.
        (14.0, 1, 40, "0 3 10 125 1 0 0 1 2 0 1"),
        (14.5, 1, 40, "1 2 10 0 1 0 0 1"),
        // The counters of an older acknowledgement, which came late.
        (15.0, 1, 40, "2 3 8 0 0 1   1 0 0"),
        (16.0, 1, 40, "3 3,1 13 0 1 3 0 1 5 0 1"),
        // 9 comes after all, and marked.
        (17.0, 1, 40, "4 3 13 0 0 6   5 0 2"),
        (18.0, 0, 40, "15 2 4 0 0 4"),
    ]);
    let flow = quic(&said);
    let sending = flow.sending(0).expect("keys");
    let counts = &sending.counts;
    assert_eq!((counts.sent, counts.received, counts.lost, counts.ce, counts.reports), (8, 7, 0, 2, 5));
    assert_eq!(counts.reported_ecn, Some([5, 0, 2]));
    // Packet 10 after 11 ms of which the receiver held it for 1 ms, packet 13 after 10 ms.
    assert_eq!((counts.rtt.samples, counts.rtt.min_ns, counts.rtt.max_ns), (2, 10 * MS, 10 * MS));
    assert_eq!(sending.rows.iter().map(|row| row.acked_packets).sum::<u32>(), 7);
    assert_eq!(sending.rows.iter().map(|row| row.retransmits).sum::<u32>(), 1, "9, for a while");
    assert_eq!(sending.rows.iter().map(|row| row.marked.ce.best).sum::<u32>(), 2);
    let other = flow.sending(1).expect("keys");
    assert_eq!((other.counts.sent, other.counts.received), (1, 5), "a PING among acknowledgements");
}

#[test]
fn what_segmentation_offload_hides_is_not_judged() {
    let said: Vec<_> = (0..16).map(|n| (n as f64, n % 2, 1200, if n < 10 { "7 8" } else { "" })).collect();
    assert!(quic(&said).sending(0).is_some());
    let super_packets: Vec<_> =
        said.iter().map(|one| if one.1 == 0 { (one.0, 0, 9000, "") } else { *one }).collect();
    assert!(quic(&super_packets).sending(0).is_none());
}

#[test]
fn keys_show_at_which_end_the_capture_stands() {
    let at = |to_server: f64, to_client: f64| {
        quic(&[
            (0.0, 0, 1200, "1 1"),
            (to_server, 1, 1200, "1 1,2 1 0 0 0"),
            (to_server + to_client, 0, 1200, "2 1,2 1 0 0 0"),
            (2.0 * to_server + to_client, 1, 1200, "2 1,2 2 0 0 0"),
            (2.0 * (to_server + to_client), 0, 1200, "3 1,2 2 0 0 0"),
            (90.0, 0, 1200, "4 1"),
        ])
        .vantage()
    };
    let found = [(20.0, 0.5), (0.5, 20.0), (10.0, 10.0)].map(|(server, client)| at(server, client));
    assert_eq!(found, [Vantage::Client, Vantage::Server, Vantage::Middle]);
}

#[test]
fn small_packets_show_that_the_application_had_no_more_to_send() {
    let limit = |bytes: u32| {
        let data: Vec<_> = (0..30).map(|n| format!("{n} 8")).collect();
        let mut said: Vec<_> = data.iter().map(|data| (0.0, 0, 1200, data.as_str())).collect();
        said[3..].iter_mut().for_each(|one| one.2 = bytes);
        said.push((9.0, 1, 40, "1 2 29 0 0 29"));
        quic(&said).limit(0)
    };
    assert_eq!((limit(1200), limit(1150), limit(300)), (Limit::Cwnd, Limit::Cwnd, Limit::Unknown));
}
