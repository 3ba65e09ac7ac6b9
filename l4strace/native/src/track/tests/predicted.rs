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
