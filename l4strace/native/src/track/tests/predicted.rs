//! Header prediction leaves what the general code leaves, in every conversation of these tests.

use super::*;
use crate::packet::AccEcnOption;

impl Talk {
    /// Without prediction the packets leave the same.
    pub fn compare_with_general(&self) {
        let mut general = Tracker::general();
        general.packets(&self.said);
        general.finish();
        let left = |tracker: &Tracker| {
            let rows: Vec<_> = tracker.rounds.iter().collect();
            format!("{:?} {rows:?}", tracker.flows).replace("general: true", "general: false")
        };
        assert_eq!(left(&self.tracker), left(&general));
    }
}

/// Whether the report of the next data packet is predicted, as `change` leaves the packet.
fn stands(talk: &mut Talk, change: impl Fn(&mut Packet)) -> bool {
    let mut next = Packet { seq: 1001 + 1000 * 9, ack: 5001, payload_len: 1000, ..packet(A) };
    next.flags = flag::ACK | 5 << 6;
    change(&mut next);
    talk.tracker.flows[0].report_stands(&next, 0)
}

#[test]
fn what_repeats_the_last_report_is_predicted_and_nothing_else() {
    let mut talk = Talk::accecn();
    (0..9).for_each(|n| {
        talk.data(30 + i64::from(n), n);
    });
    assert!(stands(&mut talk, |_| {}));
    assert!(!stands(&mut talk, |next| next.flags = flag::ACK | 6 << 6), "a mark");
    assert!(!stands(&mut talk, |next| next.ack += 1), "an acknowledgement");
    assert!(!stands(&mut talk, |next| next.accecn = Some(AccEcnOption::default())), "a first option");
    talk.say(B, 60, flag::ACK, 5, Packet { seq: 5001, ack: 9001, payload_len: 100, ..Packet::default() });
    assert!(!stands(&mut talk, |_| {}), "data of both sides");
}

/// Whether the next data of the client (side 0) or the next ACK of the server is predicted, as `change` leaves it.
fn predicted(side: usize, change: fn(&mut Packet)) -> bool {
    let mut talk = Talk::accecn();
    (0..9).for_each(|n| {
        talk.data(30 + i64::from(n), n);
    });
    talk.ack(50, 2, 5);
    let flags = flag::ACK | 5 << 6;
    let mut next = match side {
        0 => Packet { seq: 10_001, ack: 5001, payload_len: 1000, ..packet(A) },
        _ => Packet { seq: 5001, ack: 4001, ..packet(B) },
    };
    (next.ts_ns, next.flags) = (51 * MS, flags);
    change(&mut next);
    talk.tracker.flows[0].predicted(&next, side, &mut talk.tracker.rounds)
}

#[test]
fn what_comes_next_is_predicted_and_nothing_else() {
    for side in [0, 1] {
        assert!(predicted(side, |_| {}), "{side}");
        assert!(!predicted(side, |next| next.flags |= flag::FIN), "{side}");
        assert!(!predicted(side, |next| next.seq -= 1000), "{side}");
        assert!(!predicted(side, |next| next.seq += 1000), "{side}");
        assert!(!predicted(side, |next| next.ts_ns += 2000 * MS), "{side}");
    }
    assert!(!predicted(1, |next| next.ack = 3001), "the same again");
    assert!(!predicted(1, |next| next.ack = 10_002), "more than was sent");
    assert!(!predicted(1, |next| next.sack.count = 1), "SACK");
}
