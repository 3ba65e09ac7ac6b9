//! One conversation on several interfaces of a capture: a router's two, a tunnel's and the one beneath (`-i any`).
//! Each shows what the others show, by a clock of its own. So not the time but the order on its interface decides
//! which packet is a copy: what one interface shows for the nth time was sent n times, however late the others show
//! it.

use std::collections::VecDeque;

use super::flow::Flow;
use super::twice::Sight;
use crate::packet::{flag, Interface, Packet};
use crate::track::sending::data::Data;
use crate::track::sending::holes::Holes;

/// Interfaces that are told apart; a host that shows one conversation on more has a bridge of bridges.
const MOST: usize = 8;
/// Repetitions, and reports on one hole, that one interface shows before the others do: a lossy second of a fast path.
const MOST_AGAIN: usize = 1 << 10;

/// The interfaces that showed packets of one conversation, and the state of both sides on each.
#[derive(Debug, Default)]
pub struct Several {
    each: Vec<(Interface, [Way; 2])>,
    again: [VecDeque<Again>; 2],
    reports: [Reports; 2],
}

/// Packets without data of one side that acknowledge nothing new, and the interfaces that showed each, as bits.
#[derive(Debug, Default)]
struct Reports {
    /// What they all acknowledge.
    acked: i64,
    each: VecDeque<(Sight, u8)>,
}

/// What one interface showed of one side.
#[derive(Clone, Debug, Default)]
struct Way {
    /// Where its data goes on.
    next: Option<i64>,
    /// What it skipped.
    holes: Holes,
    /// Highest number of the other side that its packets acknowledge.
    acked: i64,
    syns: u16,
    begun: bool,
    /// Another interface went on after this one had begun: both show the side, in turns. Without that the one took
    /// over from the other.
    takes_turns: bool,
}

/// Bytes that an interface showed once more, and the interfaces that did, as bits.
#[derive(Debug)]
struct Again {
    start: i64,
    end: i64,
    by: u8,
}

impl Several {
    /// The place of an interface, which begins with this packet if it is new.
    fn place(&mut self, interface: Interface) -> Option<usize> {
        if let Some(at) = self.each.iter().position(|(known, _)| *known == interface) {
            return Some(at);
        }
        if self.each.len() == MOST {
            return None;
        }
        self.each.push((interface, Default::default()));
        Some(self.each.len() - 1)
    }

    /// The interface takes turns with others on this side: it is known what of it is a copy.
    pub fn knows(&self, interface: Interface, side: usize) -> bool {
        self.each.iter().any(|(known, ways)| *known == interface && ways[side].takes_turns)
    }

    /// An interface went on: those that had begun by then take turns with it.
    fn goes_on(&mut self, at: usize, side: usize) {
        for (other, (_, ways)) in self.each.iter_mut().enumerate() {
            ways[side].takes_turns |= other != at && ways[side].begun;
        }
    }

    /// The interface shows these bytes for the first time.
    fn is_first(&mut self, at: usize, side: usize, data: &Data) -> bool {
        let way = &mut self.each[at].1[side];
        let next = way.next.unwrap_or(data.start);
        let first = data.start >= next || way.holes.fill(data).is_some();
        if data.start > next {
            way.holes.open(next, data);
        }
        way.next = Some(next.max(data.end));
        first
    }

    /// Others showed this repetition; else it is remembered for them.
    fn is_known_again(&mut self, at: usize, side: usize, data: &Data) -> bool {
        let (own, all) = (1 << at, (1u16 << self.each.len()) - 1);
        let again = &mut self.again[side];
        let mut covered = data.start;
        again.retain_mut(|one| {
            if one.by & own == 0 && covered < data.end && (one.start..one.end).contains(&covered) {
                covered = one.end;
                one.by |= if one.end <= data.end { own } else { 0 };
            }
            u16::from(one.by) != all
        });
        if covered > data.start {
            return true;
        }
        self.note(at, side, data);
        false
    }

    fn note(&mut self, at: usize, side: usize, data: &Data) {
        let again = &mut self.again[side];
        if again.len() == MOST_AGAIN {
            again.pop_front();
        }
        again.push_back(Again { start: data.start, end: data.end, by: 1 << at });
    }
}

impl Reports {
    /// Another interface than `own` (a bit) showed the same packet; else it is remembered for the others.
    fn is_known(&mut self, p: &Packet, acked: i64, own: u8, all: u16) -> bool {
        if acked != self.acked || self.each.len() == MOST_AGAIN {
            self.each.clear();
            self.acked = acked;
        }
        let sight = Sight::of(p);
        let Some(at) = self.each.iter().position(|(seen, by)| by & own == 0 && *seen == sight) else {
            self.each.push_back((sight, own));
            return false;
        };
        self.each[at].1 |= own;
        if u16::from(self.each[at].1) == all {
            self.each.remove(at);
        }
        true
    }
}

impl Flow {
    /// Another interface showed this packet: it counts no more.
    #[inline]
    pub(in crate::track) fn is_copy(&mut self, p: &Packet, side: usize) -> bool {
        let named = p.interface.is_one_of_several() || self.several.is_some();
        named && (self.is_on_several() || p.interface != self.interface || self.repeats(p, side)) && {
            self.is_copy_of_another(p, side)
        }
    }

    /// Several interfaces showed packets.
    #[inline(always)]
    pub(in crate::track) fn is_on_several(&self) -> bool {
        self.several.as_ref().is_some_and(|several| several.each.len() > 1)
    }

    fn repeats(&self, p: &Packet, side: usize) -> bool {
        let dir = &self.dirs[side];
        let sent = |p: &Packet| dir.sender.as_ref().map_or(0, |s| s.segments.max) > dir.space.unwrap(p.seq);
        p.payload_len > 0 && sent(p)
    }

    #[cold]
    fn is_copy_of_another(&mut self, p: &Packet, side: usize) -> bool {
        let mut several = self.several.take().unwrap_or_default();
        if several.each.len() < 2 {
            several.each = vec![(self.interface, [0, 1].map(|side| self.way(side)))];
        }
        let copy = several.place(p.interface).is_some_and(|at| self.is_copy_on(&mut several, at, p, side));
        self.several = Some(several);
        self.dirs[side].totals.duplicates += u64::from(copy);
        copy
    }

    /// What the one interface showed that all packets of the side came on.
    fn way(&self, side: usize) -> Way {
        let segments = self.dirs[side].sender.as_ref().map(|sender| &sender.segments);
        Way {
            next: segments.map(|sent| sent.max),
            holes: segments.map(|sent| sent.holes().clone()).unwrap_or_default(),
            acked: self.dirs[side ^ 1].acked,
            syns: [self.handshake.syn_count, self.handshake.synack_count][side],
            begun: self.dirs[side].totals.packets() > 0,
            takes_turns: false,
        }
    }

    fn is_copy_on(&mut self, several: &mut Several, at: usize, p: &Packet, side: usize) -> bool {
        if p.flags & flag::SYN != 0 {
            return self.is_syn_copy(several, at, p, side);
        }
        let peer = &self.dirs[side ^ 1];
        let way = &mut several.each[at].1[side];
        let acked = way.acked;
        let acks = p.has(flag::ACK) && !peer.is_far_ahead(p.ack);
        let ack = if acks { peer.space.unwrap(p.ack) } else { acked };
        way.acked = acked.max(ack);
        way.begun = true;
        if p.payload_len > 0 {
            return self.is_data_copy(several, at, p, side);
        }
        let knows = way.takes_turns;
        if ack > acked {
            several.goes_on(at, side);
        }
        if !knows || ack > peer.acked {
            return false;
        }
        // Where the interface is behind others, all is known.
        let all = (1u16 << several.each.len()) - 1;
        acked < peer.acked || several.reports[side].is_known(p, peer.acked, 1 << at, all)
    }

    fn is_syn_copy(&self, several: &mut Several, at: usize, p: &Packet, side: usize) -> bool {
        let counted = match (side, p.has(flag::ACK)) {
            (0, false) => self.handshake.syn_count,
            (1, true) => self.handshake.synack_count,
            _ => return false,
        };
        let among = several.each.len() > 1;
        let way = &mut several.each[at].1[side];
        way.syns = way.syns.saturating_add(1);
        let copy = among && way.syns <= counted;
        if copy {
            // Each shows from the start what the other does.
            several.each.iter_mut().flat_map(|(_, ways)| ways).for_each(|way| way.takes_turns = true);
        }
        copy
    }

    fn is_data_copy(&self, several: &mut Several, at: usize, p: &Packet, side: usize) -> bool {
        let dir = &self.dirs[side];
        let Some(segments) = dir.sender.as_ref().map(|sender| &sender.segments) else { return false };
        if dir.is_far_ahead(p.seq) {
            return false;
        }
        let data = Data::of(p, dir.space.unwrap(p.seq), self.mss[side]);
        let repeats = data.end <= segments.max;
        if several.each.len() < 2 {
            several.note(at, side, &data);
            return false;
        }
        let first = several.is_first(at, side, &data);
        if first {
            several.goes_on(at, side);
        }
        if !repeats || !several.each[at].1[side].takes_turns {
            return false;
        }
        let anew = segments.holes().has(&data) || segments.is_sent_anew(&data);
        match (first, anew) {
            (true, true) => several.note(at, side, &data),
            (true, false) => return true,
            (false, _) => return several.is_known_again(at, side, &data),
        }
        false
    }
}
