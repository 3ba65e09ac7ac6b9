//! Segments by hand.

use super::*;
use crate::track::sending::data::Patience;

const MS: i64 = 1_000_000;

fn data(start: i64, ts_ms: i64) -> Data {
    Data { start, end: start + 100, ts_ns: ts_ms * MS, ip_id: 0, print: 0, weight: 1 }
}

fn sent(n: i64) -> Segments {
    let mut s = Segments::new(0);
    for i in 0..n {
        s.send(&data(i * 100, i), MS);
    }
    s
}

#[test]
fn rtt_is_that_of_the_newest_segment() {
    let mut s = sent(3);
    let got = s.ack(200, 11 * MS, 100);
    assert_eq!(
        got,
        Delivered { bytes: 200, packets: 2, rtt_ns: Some(10 * MS), shortest: 100, ..Delivered::default() }
    );
    assert_eq!(s.inflight_bytes(), 100);
    assert_eq!(s.inflight_packets(), 1);
}

#[test]
fn sack_names_the_newest_packet_that_it_reports_first() {
    let mut s = sent(4);
    let mut sacked = |blocks: &[(i64, i64)]| {
        let mut got = Delivered::default();
        s.sack(blocks, &mut got);
        got.sacked_sent_ns
    };
    assert_eq!(sacked(&[(100, 300)]), Some(2 * MS));
    assert_eq!(sacked(&[(100, 300)]), None);
    assert_eq!(sacked(&[(100, 400)]), Some(3 * MS));
    let mut s = sent(2);
    s.send(&data(100, 50), MS);
    let mut got = Delivered::default();
    s.sack(&[(100, 200)], &mut got);
    assert_eq!(got.sacked_sent_ns, None);
}

#[test]
fn karn_no_rtt_from_a_retransmission() {
    let mut s = sent(2);
    assert_eq!(s.send(&data(0, 50), MS), Sent::Retransmit);
    assert_eq!(s.ack(100, 60 * MS, 100).rtt_ns, None);
    assert_eq!(s.ack(200, 61 * MS, 100).rtt_ns, Some(60 * MS));
}

#[test]
fn karn_no_rtt_from_data_that_was_sacked_before() {
    let mut s = sent(3);
    let mut got = Delivered::default();
    s.sack(&[(100, 300)], &mut got);
    assert_eq!((got.bytes, got.packets), (200, 2));
    assert_eq!(s.inflight_packets(), 1);
    s.send(&data(0, 50), MS);
    let got = s.ack(300, 60 * MS, 100);
    assert_eq!((got.bytes, got.packets, got.rtt_ns), (100, 1, None));
    assert_eq!(s.inflight_bytes(), 0);
}

#[test]
fn a_filled_hole_shows_how_late_its_packet_came() {
    let filled = |again: bool| {
        let mut s = sent(3);
        s.sack(&[(100, 300)], &mut Delivered::default());
        if again {
            s.send(&data(0, 50), MS);
        }
        s.ack(300, 60 * MS, 100).filled_ns
    };
    assert_eq!(filled(false), Some(60 * MS));
    // Karn: which of the two copies filled it is not known.
    assert_eq!(filled(true), None);
    assert_eq!(sent(3).ack(300, 60 * MS, 100).filled_ns, None);
}

#[test]
fn growing_sack_blocks_count_once() {
    let mut s = sent(6);
    let mut total = 0;
    for right in [200, 300, 300, 500] {
        let mut got = Delivered::default();
        s.sack(&[(100, right)], &mut got);
        total += got.packets;
    }
    assert_eq!(total, 4);
}

#[test]
fn a_hole_filled_soon_is_reordering_and_late_is_retransmission() {
    let mut s = sent(1);
    s.send(&data(200, 1), 5 * MS);
    assert_eq!(s.send(&data(100, 2), 5 * MS), Sent::OutOfOrder);
    s.send(&data(400, 3), 5 * MS);
    assert_eq!(s.send(&data(300, 30), 5 * MS), Sent::Retransmit);
}

#[test]
fn a_hole_behind_acknowledged_data_is_one_too() {
    // At the receiver: each packet is acknowledged before the next comes.
    let mut s = sent(1);
    s.ack(100, MS, 100);
    s.send(&data(200, 2), 5 * MS);
    assert_eq!(s.send(&data(100, 4), 5 * MS), Sent::OutOfOrder);
    s.ack(300, 5 * MS, 100);
    // Lost before this point: the only copy seen here comes a round trip late.
    s.send(&data(400, 6), 5 * MS);
    assert_eq!(s.send(&data(300, 16), 5 * MS), Sent::Retransmit);
    s.ack(500, 17 * MS, 100);
    assert_eq!((s.inflight_packets(), s.inflight_bytes()), (0, 0));
}

#[test]
fn an_older_ip_id_is_reordering_however_late() {
    let mut s = sent(1);
    s.send(&Data { ip_id: 11, ..data(200, 1) }, MS);
    assert_eq!(s.send(&Data { ip_id: 10, ..data(100, 20) }, MS), Sent::OutOfOrder);
    s.send(&Data { ip_id: 13, ..data(400, 21) }, MS);
    assert_eq!(s.send(&Data { ip_id: 14, ..data(300, 21) }, MS), Sent::Retransmit);
}

#[test]
fn the_same_packet_twice_is_a_duplicate() {
    const PATIENCE: Patience = Patience { ns: MS, apart_ns: 0 };
    let mut s = Segments::new(0);
    s.send(&Data { print: 7, ..data(0, 0) }, MS);
    // Where other packets have other prints, this is the same one, however late it comes.
    assert_eq!(s.copy_of(&Data { print: 7, ..data(0, 90) }, PATIENCE, true), Some(0));
    assert_eq!(s.copy_of(&Data { print: 7, ..data(0, 90) }, PATIENCE, false), None);
    assert_eq!(s.copy_of(&Data { print: 8, ..data(0, 0) }, PATIENCE, false), None);
    // Else the time decides, and how the bytes are cut does not matter.
    s.send(&data(100, 10), MS);
    s.send(&data(200, 10), MS);
    let mut is_copy = |data: &Data, apart_ms: i64| {
        s.copy_of(data, Patience { ns: MS, apart_ns: apart_ms * MS }, false).is_some()
    };
    assert!(is_copy(&Data { end: 300, ..data(100, 10) }, 0));
    assert!(is_copy(&Data { start: 150, ..data(100, 10) }, 0));
    assert!(!is_copy(&data(100, 12), 0));
    assert!(!is_copy(&Data { end: 301, ..data(100, 10) }, 0));
    // A second clock is behind, or a queue lies between the two sightings: once.
    assert!(!is_copy(&data(100, 5), 0));
    assert!(is_copy(&data(100, 5), -5));
    assert!(!is_copy(&data(100, 30), 20));
    assert!(!is_copy(&data(200, 32), 20));
    assert!(is_copy(&data(200, 30), 20));
    assert!(!is_copy(&data(200, 30), 20));
    // The second sighting of a retransmission is no second retransmission.
    assert_eq!(s.send(&data(200, 50), MS), Sent::Retransmit);
    assert_eq!(s.copy_of(&data(200, 70), Patience { apart_ns: 20 * MS, ..PATIENCE }, false), Some(50 * MS));
    assert_eq!(s.copy_of(&data(200, 50), PATIENCE, false), Some(50 * MS));
}

#[test]
fn a_super_packet_is_retransmitted_in_parts() {
    let mut s = Segments::new(0);
    let patience = Patience { ns: 9 * MS, apart_ns: 0 };
    s.send(&Data { start: 0, end: 900, ts_ns: 0, ip_id: 7, print: 7, weight: 9 }, MS);
    for (n, start) in (0..900).step_by(200).enumerate() {
        let part = Data {
            end: (start + 200).min(900),
            ip_id: 20 + n as u16,
            print: 20 + n as u16,
            ..data(start, 50)
        };
        assert!(s.copy_of(&part, patience, false).is_none(), "the first sighting of {start}");
        assert_eq!(s.send(&part, 9 * MS), Sent::Retransmit);
        assert!(s.copy_of(&part, patience, false).is_some(), "the second sighting of {start}");
        assert!(
            s.copy_of(&Data { end: start + 100, ..part }, patience, false).is_some(),
            "cut by segmentation"
        );
        assert!(s.copy_of(&Data { ip_id: 9, print: 9, ..part }, patience, false).is_none());
        assert!(s.copy_of(&Data { ts_ns: 60 * MS, ..part }, patience, false).is_none());
    }
}

#[test]
fn a_super_packet_is_acknowledged_in_parts() {
    let mut s = Segments::new(0);
    s.send(&Data { start: 0, end: 1000, ts_ns: 0, ip_id: 0, print: 0, weight: 10 }, MS);
    let got = s.ack(300, MS, 100);
    assert_eq!((got.bytes, got.packets, s.inflight_packets()), (300, 3, 7));
    assert_eq!(s.ack(1000, 9 * MS, 100).rtt_ns, Some(9 * MS));
}

#[test]
fn what_the_capture_missed_counts_as_full_packets() {
    let mut s = sent(2);
    let got = s.ack(1000, 9 * MS, 100);
    assert_eq!((got.bytes, got.packets), (1000, 10));
}

#[test]
fn without_acks_memory_stays_bounded() {
    let mut s = Segments::new(0);
    for i in 0..(MOST as i64 + 10) {
        s.send(&data(i * 100, i), MS);
    }
    assert_eq!(s.queue.len(), MOST);
}

#[test]
fn a_packet_reported_after_later_ones_was_overtaken_unless_it_was_sent_twice() {
    let mut s = sent(8);
    let mut got = Delivered::default();
    // 200..300 comes before 0..200; 400..500 was lost.
    s.sack(&[(200, 300)], &mut got);
    assert_eq!(s.overtaken, 0);
    s.sack(&[(100, 300)], &mut got);
    assert_eq!(s.overtaken, 1);
    s.ack(400, 20 * MS, 100);
    assert_eq!(s.overtaken, 2, "0..100 came last, 300..400 in its turn");
    s.sack(&[(500, 700)], &mut got);
    s.send(&data(400, 50), MS);
    s.ack(800, 60 * MS, 100);
    assert_eq!(s.overtaken, 2);
}

#[test]
fn a_lost_ack_is_no_reordering() {
    let mut s = sent(4);
    let mut got = Delivered::default();
    // The ACK that first reported 100..200 was lost.
    s.sack(&[(100, 300)], &mut got);
    s.sack(&[(100, 400)], &mut got);
    assert_eq!(s.overtaken, 0);
}

#[test]
fn a_super_packet_that_sack_reports_in_parts_is_not_late() {
    let mut s = Segments::new(0);
    let mut got = Delivered::default();
    // Three super-packets of four; of the first one the first packet is lost.
    for i in 0..3 {
        s.send(&Data { end: i * 400 + 400, weight: 4, ..data(i * 400, i) }, MS);
    }
    for right in [300, 600, 900, 1100, 1200] {
        s.sack(&[(100, right)], &mut got);
    }
    assert_eq!(got.packets, 8, "both that are whole, once the part that was missing is reported");
    s.send(&data(0, 50), MS);
    s.ack(1200, 60 * MS, 100);
    assert_eq!(s.overtaken, 0);
}

#[test]
fn what_fills_holes_of_the_time_before_the_capture_is_not_late() {
    let mut s = sent(2);
    let mut got = Delivered::default();
    // 300..500 was sent before; 0..200 and what follows may have been, too.
    s.sack(&[(300, 500)], &mut got);
    for i in 2..8 {
        s.send(&data(i * 100, 20 + i), MS);
    }
    s.sack(&[(300, 500)], &mut got);
    s.ack(100, 40 * MS, 100);
    s.ack(500, 41 * MS, 100);
    assert_eq!(s.overtaken, 0);
    s.sack(&[(600, 700)], &mut got);
    s.ack(700, 42 * MS, 100);
    assert_eq!(s.overtaken, 1, "500..600 is younger");
}
