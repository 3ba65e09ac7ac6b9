//! UDP Prague by its messages and their sequence numbers.

use super::feedback::Message;

/// Messages that fit; one in so many may not.
const FIT: u32 = 6;
const ODD_ONE_IN: u32 = 4;
/// Numbers that one may skip.
const NEAR: u32 = 64;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prague {
    last: Option<u32>,
    data: u32,
    bulk: u32,
    acks: u32,
    odd: u32,
}

impl Prague {
    /// A datagram, what message it is if it is one, and whether the capture holds all of it.
    pub fn look(&mut self, message: Option<&Message>, is_whole: bool) {
        match message {
            Some(Message::Data(data)) => {
                let number = data.number;
                let follows = self.last.is_none_or(|last| number.wrapping_sub(last).wrapping_sub(1) < NEAR);
                self.last = Some(number);
                self.data += u32::from(follows);
                self.bulk += u32::from(follows && data.bulk);
                self.odd += u32::from(!follows);
            }
            Some(Message::Ack(_) | Message::Block(_)) => self.acks += 1,
            // What the snapshot length cut off cannot contradict.
            None => self.odd += u32::from(is_whole),
        }
    }

    /// Most of what was sent is data of a transfer, as much as the path takes; frames come at their own rate.
    pub fn is_bulk(&self) -> bool {
        2 * self.bulk > self.data.max(self.acks)
    }

    /// Data one way and acknowledgements the other, as far as both were captured.
    pub fn is_shown(sides: &[Prague; 2], packets: [u64; 2]) -> bool {
        let fits = |side: &Prague, messages: u32| messages >= FIT && messages / ODD_ONE_IN >= side.odd;
        [(0, 1), (1, 0)].into_iter().any(|(data, acks)| {
            let sent = fits(&sides[data], sides[data].data);
            let answered = fits(&sides[acks], sides[acks].acks);
            (sent || packets[data] == 0) && (answered || packets[acks] == 0)
        })
    }
}
