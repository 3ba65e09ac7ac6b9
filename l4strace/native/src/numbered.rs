//! Packets with what only their conversation shows: flow number, direction, unwrapped numbers.

use crate::packet::{flag, Packet};
use crate::track::{FlowTable, Retrace, SeqSpace};

/// Where a packet stands in its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub flow: u32,
    pub forward: bool,
    /// The conversation begins with it, or goes on after a gap in the capture.
    pub begins: bool,
    /// 0 at the direction's first packet (its SYN where seen).
    pub seq: i64,
    /// On the scale of the other direction's `seq`; `None` without ACK flag.
    pub ack: Option<i64>,
}

/// Gives every packet its place; memory grows with conversations only.
#[derive(Default)]
pub struct Numbering {
    flows: Flows,
    /// Sequence spaces of client [0] and server [1], by flow.
    spaces: Vec<[SeqSpace; 2]>,
}

/// Where the numbers of conversations come from.
enum Flows {
    /// The order in which the capture shows them.
    Alone(FlowTable),
    /// What tracking found.
    Tracked(Retrace),
}

impl Default for Flows {
    fn default() -> Self {
        Flows::Alone(FlowTable::default())
    }
}

impl Numbering {
    /// Numbers as tracking gave them: first frame and number of each conversation.
    pub fn tracked(starts: Vec<(u64, u32)>) -> Self {
        Numbering { flows: Flows::Tracked(Retrace::new(starts)), ..Numbering::default() }
    }

    /// `None` for a conversation that tracking did not keep.
    pub fn place(&mut self, packet: &Packet) -> Option<Place> {
        let at = match &mut self.flows {
            Flows::Alone(table) => table.intern(packet, table.keys.hash(&packet.key)),
            Flows::Tracked(flows) => flows.place(packet)?,
        };
        let flow = at.flow as usize;
        if flow >= self.spaces.len() {
            self.spaces.resize(flow + 1, Default::default());
        }
        let spaces = &mut self.spaces[flow];
        let side = usize::from(!at.forward);
        spaces[side].start(packet.seq, 0);
        let seq = spaces[side].unwrap(packet.seq);
        spaces[side].advance(packet.seq, seq);
        let ack = packet.has(flag::ACK).then(|| place_ack(&mut spaces[side ^ 1], packet));
        Some(Place { flow: at.flow, forward: at.forward, begins: at.new, seq, ack })
    }
}

/// An ACK places a direction that has not shown itself yet; that of a SYN counts one number.
fn place_ack(space: &mut SeqSpace, packet: &Packet) -> i64 {
    space.start(packet.ack, i64::from(packet.has(flag::SYN)));
    let ack = space.unwrap(packet.ack);
    space.advance(packet.ack, ack);
    ack
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowKey;

    fn packet(from_client: bool, flags: u16, seq: u32, ack: u32) -> Packet {
        let key =
            FlowKey { src: [1; 16], dst: [2; 16], src_port: 40000, dst_port: 443, ..FlowKey::default() };
        let key = if from_client { key } else { key.reversed() };
        Packet { key, flags, seq, ack, ..Packet::default() }
    }

    #[test]
    fn numbers_are_relative_to_the_syn_and_do_not_wrap() {
        let mut numbering = Numbering::default();
        let isn = u32::MAX - 2;
        let syn = numbering.place(&packet(true, flag::SYN, isn, 0)).unwrap();
        assert_eq!(syn, Place { flow: 0, forward: true, begins: true, seq: 0, ack: None });
        let synack = numbering.place(&packet(false, flag::SYN | flag::ACK, 7, isn.wrapping_add(1))).unwrap();
        assert_eq!(synack, Place { flow: 0, forward: false, begins: false, seq: 0, ack: Some(1) });
        let data = numbering.place(&packet(true, flag::ACK, isn.wrapping_add(1000), 8)).unwrap();
        assert_eq!((data.seq, data.ack), (1000, Some(1)));
    }

    #[test]
    fn a_capture_that_begins_with_the_answer_keeps_the_scale_of_the_syn() {
        let mut numbering = Numbering::default();
        numbering.place(&packet(false, flag::SYN | flag::ACK, 7, 101));
        assert_eq!(numbering.place(&packet(true, flag::ACK, 101, 8)).unwrap().seq, 1);
    }

    #[test]
    fn the_reset_of_a_closed_port_may_lie_anywhere() {
        let mut numbering = Numbering::default();
        numbering.place(&packet(true, flag::ACK, 100, 8));
        let reset = numbering.place(&packet(true, flag::RST, 50, 0)).unwrap();
        assert_eq!((reset.seq, reset.ack), (-50, None));
    }
}
