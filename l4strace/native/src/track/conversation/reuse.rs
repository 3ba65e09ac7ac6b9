//! Which conversation a packet belongs to when its ports were used more than once.

use super::strays::{Followed, Held};
use crate::packet::Packet;
use crate::track::Tracker;

impl Tracker {
    #[inline(always)]
    pub(in crate::track) fn follow(&mut self, p: &Packet, mut flow: u32, side: usize) {
        // Known to be 0 or 1 from here on, so that no index by it is checked.
        let side = side & 1;
        let mut known = &mut self.flows[flow as usize];
        if known.successor.is_some() {
            flow = self.latest(flow);
            known = &mut self.flows[flow as usize];
        }
        match known.packet(p, side, &mut self.rounds) {
            Followed::Here => {}
            Followed::AfterGap(frame) => self.resumed.push((frame, flow)),
            Followed::Elsewhere => self.restart(flow),
        }
        if self.rounds.len() >= self.thin_at {
            self.thin();
        }
    }

    /// The conversation that has the ports of `flow` now; packets may have been numbered before it began.
    #[cold]
    fn latest(&mut self, flow: u32) -> u32 {
        let mut latest = flow;
        while let Some(next) = self.flows[latest as usize].successor {
            latest = next;
        }
        self.flows[flow as usize].successor = Some(latest);
        latest
    }

    /// What `flow` holds belongs to another connection on its ports: the one before it, where only a SYN came
    /// between (injected, or refused: RFC 5961 section 4), or a new one.
    #[cold]
    fn restart(&mut self, flow: u32) {
        let held = self.flows[flow as usize].take_held();
        let Some((first, side)) = held.first() else { return };
        if let Some(before) = self.before(flow, &held) {
            self.table.resume(before, flow);
            self.flows[flow as usize].successor = Some(before);
            self.resumed.push((first.frame, before));
            return self.flows[before as usize].all(&held, &mut self.rounds);
        }
        let at = self.table.restart(flow, first, *side);
        self.flows[flow as usize].successor = Some(at.flow);
        let mut new = self.begun(at.flow, first);
        new.all(&held, &mut self.rounds);
        self.flows.push(new);
    }

    /// The conversation that had the ports of `flow` before, if the held packets go on with it.
    fn before(&self, flow: u32, held: &Held) -> Option<u32> {
        let before = self.table.before(flow)?;
        let known = &self.flows[before as usize];
        (known.successor.is_none() && known.fits(held)).then_some(before)
    }

    /// First frame and number of every conversation, for [`crate::track::Retrace`]; one that went on after a SYN on
    /// its ports, or after a gap in the capture, begins again.
    pub fn starts(&self) -> Vec<(u64, u32)> {
        let starts = self.flows.iter().map(|flow| (flow.first_frame, flow.id));
        starts.chain(self.resumed.iter().copied()).collect()
    }
}
