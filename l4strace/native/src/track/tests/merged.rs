//! Super-packets of an offload: what they stand for on the wire.

use super::*;

#[test]
fn marks_and_retransmissions_of_super_packets_are_counted_as_on_the_wire() {
    let mut talk = Talk::accecn();
    let merged = |n: u32, ip_ecn| Packet {
        seq: 1001 + 14_600 * n,
        ack: 5001,
        payload_len: 14_600,
        ip_ecn,
        ..Packet::default()
    };
    (0..4).for_each(|n| {
        talk.say(A, 30, flag::ACK, 5, merged(n, if n == 1 { ecn::CE } else { ecn::ECT1 }));
    });
    talk.say(A, 80, flag::ACK, 5, merged(0, ecn::NOT_ECT));
    let totals = &talk.end().dirs[0].totals;
    assert_eq!((totals.data_packets(), totals.super_packets), (5, 5));
    assert_eq!((totals.segments(), totals.retransmits), ((50, 10), 10));
    let rounds: u32 = talk.tracker.rounds.iter().map(|round| round.retransmits).sum();
    assert_eq!(rounds, 10);
}
