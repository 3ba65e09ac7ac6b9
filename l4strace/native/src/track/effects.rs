//! What each packet did: conversations followed once more, packet by packet, for a second pass over a capture.

use std::collections::HashMap;

use super::conversation::direction::Direction;
use super::conversation::flow::Flow;
use super::conversation::strays::Followed;
use super::rounds::rows::Rows;
use crate::numbered::Place;
use crate::packet::{flag, Packet};

/// Conversations from which on the quietest without data are forgotten down to half of them, as tracking does.
const FOLD_AT: usize = 1 << 16;

/// What a packet turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    New,
    Retransmit,
    OutOfOrder,
    /// The capture shows it twice.
    Copy,
    /// A keep-alive, which repeats the last byte.
    Probe,
    /// Far outside of what the conversation has in flight.
    Stray,
}

impl Seen {
    pub fn name(self) -> &'static str {
        match self {
            Seen::New => "new",
            Seen::Retransmit => "retransmit",
            Seen::OutOfOrder => "out of order",
            Seen::Copy => "copy",
            Seen::Probe => "probe",
            Seen::Stray => "stray",
        }
    }
}

/// What one packet did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effect {
    /// None for a packet without payload, unless it is a copy or stray.
    pub seen: Option<Seen>,
    /// The window that it offers, scaled.
    pub window: Option<u64>,
    /// By how much it moved what is known of the other direction, if it acknowledges.
    pub acked: Option<Acked>,
}

/// By how much one ACK moved what is known of the direction that it acknowledges: these sum up to the
/// direction's totals.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    pub bytes: i64,
    pub rtt_ns: Option<i64>,
    /// Steps of the CE count's bounds and best value: an option may take back what ACE allowed.
    pub ce: Option<[i64; 3]>,
    /// Step of ACE against the ACK before, modulo 8.
    pub ace_step: Option<u8>,
    /// Steps of the option's counters (see `CEB`), where the ACK carries them.
    pub counters: [Option<i64>; 3],
    /// Outstanding after it; none without the data in the capture.
    pub inflight: Option<(u64, u32)>,
}

/// Conversations by number, as far as the packets so far show them.
#[derive(Default)]
pub struct Effects {
    flows: HashMap<u32, Box<Flow>>,
    rounds: Rows,
    fold_at: usize,
}

impl Effects {
    /// Follows the next packet, where its conversation has it. What it did is only worked out where it is `asked`.
    pub fn of(&mut self, p: &Packet, at: &Place, asked: bool) -> Effect {
        let (number, side) = (at.flow, usize::from(!at.forward));
        let known = |flow: &Flow| if asked { Known::both(flow, side) } else { Default::default() };
        if self.flows.len() >= self.fold_at.max(FOLD_AT) {
            self.fold();
        }
        let flow = self.flows.entry(number).or_insert_with(|| Box::new(Flow::new(number, number.into(), p)));
        let mut before = known(flow);
        if at.begins && flow.is_stray(p, side) {
            flow.after_gap(p, side, &mut self.rounds);
        } else if flow.packet(p, side, &mut self.rounds) == Followed::Elsewhere {
            // Another connection on its ports, which the capture does not show begin.
            let held = flow.take_held();
            **flow = Flow::new(number, number.into(), p);
            before = known(flow);
            flow.all(&held, &mut self.rounds);
        }
        if !asked {
            return Effect::default();
        }
        let syn = p.flags & flag::SYN != 0;
        Effect {
            seen: before[0].seen(p, &Known::of(&flow.dirs[side])),
            window: flow.shift[side].filter(|_| !syn).map(|shift| u64::from(p.window) << shift),
            acked: p.has(flag::ACK).then(|| before[1].acked(p, &flow.dirs[side ^ 1])),
        }
    }

    /// Drops the rounds so far, so that memory does not grow with packets.
    pub fn forget_rounds(&mut self) {
        self.rounds.clear();
        self.flows.values_mut().for_each(|flow| flow.forget_rounds());
    }

    #[cold]
    fn fold(&mut self) {
        let bare = self.flows.iter().filter(|(_, flow)| flow.is_bare());
        let mut bare: Vec<(i64, u32)> = bare.map(|(number, flow)| (flow.last_ns, *number)).collect();
        let many = bare.len().saturating_sub(FOLD_AT / 2);
        if many > 0 {
            bare.select_nth_unstable(many - 1);
            bare.iter().take(many).for_each(|(_, number)| drop(self.flows.remove(number)));
        }
        self.fold_at = 2 * self.flows.len();
    }
}

/// What is known of a direction at one moment.
#[derive(Default)]
struct Known {
    packets: u64,
    retransmits: u64,
    out_of_order: u64,
    duplicates: u64,
    max: Option<i64>,
    acked_bytes: i64,
    rtt: (u64, i64),
    ce: [i64; 3],
    naive: i64,
    counters: [Option<i64>; 3],
}

impl Known {
    /// Of the direction of `side`, and of the other one.
    fn both(flow: &Flow, side: usize) -> [Self; 2] {
        [side, side ^ 1].map(|side| Known::of(&flow.dirs[side]))
    }

    fn of(dir: &Direction) -> Self {
        let (totals, ce, sender) = (&dir.totals, &dir.feedback.ce, dir.sender.as_ref());
        Known {
            packets: totals.packets(),
            retransmits: totals.retransmits,
            out_of_order: totals.out_of_order,
            duplicates: totals.duplicates,
            max: sender.map(|s| s.segments.max),
            acked_bytes: dir.acked_bytes() as i64,
            rtt: sender.map_or((0, 0), |s| (s.rtt().samples, s.rtt().sum_ns)),
            ce: [ce.lo, ce.hi, ce.best].map(|count| count as i64),
            naive: ce.naive as i64,
            counters: dir.feedback.bytes.as_ref().map_or([None; 3], |bytes| bytes.total),
        }
    }

    fn seen(&self, p: &Packet, now: &Known) -> Option<Seen> {
        if now.duplicates > self.duplicates {
            return Some(Seen::Copy);
        }
        if now.packets == self.packets {
            return Some(Seen::Stray);
        }
        if p.payload_len == 0 {
            return None;
        }
        Some(match () {
            () if now.retransmits > self.retransmits => Seen::Retransmit,
            () if now.out_of_order > self.out_of_order => Seen::OutOfOrder,
            () if now.max > self.max => Seen::New,
            () => Seen::Probe,
        })
    }

    fn acked(&self, p: &Packet, dir: &Direction) -> Acked {
        let now = Known::of(dir);
        let started = dir.feedback.ce.started();
        let step = |i: usize| Some(now.counters[i]? - self.counters[i].unwrap_or(0));
        Acked {
            bytes: now.acked_bytes - self.acked_bytes,
            rtt_ns: (now.rtt.0 > self.rtt.0).then(|| now.rtt.1 - self.rtt.1),
            ce: started.then(|| [0, 1, 2].map(|i| now.ce[i] - self.ce[i])),
            ace_step: started.then(|| ((now.naive - self.naive) & 7) as u8),
            counters: if p.accecn.is_some() { [0, 1, 2].map(step) } else { [None; 3] },
            inflight: dir
                .sender
                .as_ref()
                .map(|s| (s.segments.inflight_bytes(), s.segments.inflight_packets())),
        }
    }
}

#[cfg(test)]
mod tests;
