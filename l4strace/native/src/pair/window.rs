//! Packets of one capture that the other has not shown yet, forgotten after a while.

use std::collections::hash_map::{Entry, HashMap};
use std::collections::VecDeque;

use super::hash::Seeded;
use super::key::Sighting;

/// More packets than this may not wait: some 30 MB of memory.
const MOST: usize = 1 << 17;

/// So many packets with one key are compared by IP id; of more, the oldest counts as the one meant.
const TWINS: usize = 64;

/// Stands where no node is.
const NONE: u32 = u32::MAX;

/// A packet that waits for its other sighting.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub seen: Sighting,
    /// Index of the path that the packet belongs to.
    pub path: u32,
}

/// What a window holds of a key.
#[derive(Clone, Copy, Debug)]
pub enum Taken {
    Found(Waiting, bool),
    /// Other packets with the same bytes: ids tell them apart.
    OtherId,
    Nothing,
}

/// Unmatched packets by key, oldest first. Those of one key, as a rule one, are a list of nodes, so that a
/// packet costs no room of its own.
#[derive(Debug, Default)]
pub struct Window {
    lists: HashMap<u64, List, Seeded>,
    nodes: Nodes,
    /// (timestamp, node, its use); entries whose packet was matched meanwhile are stale.
    order: VecDeque<(i64, u32, u64)>,
}

/// The packets of one key.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
    len: u32,
    /// Those without an IP id.
    without_id: u32,
}

#[derive(Debug)]
struct Node {
    waiting: Waiting,
    key: u64,
    next: u32,
    /// Counts packets; 0 while the node is free.
    used: u64,
}

/// Nodes that are used again, so that there are as many as packets ever waited at a time.
#[derive(Debug, Default)]
struct Nodes {
    all: Vec<Node>,
    free: Vec<u32>,
    uses: u64,
}

impl Nodes {
    /// Where the packet is now, and which use of the node that is.
    #[inline]
    fn put(&mut self, key: u64, waiting: Waiting) -> (u32, u64) {
        self.uses += 1;
        let node = Node { waiting, key, next: NONE, used: self.uses };
        let at = if let Some(free) = self.free.pop() {
            self.all[free as usize] = node;
            free
        } else {
            self.all.push(node);
            (self.all.len() - 1) as u32
        };
        (at, self.uses)
    }

    /// Takes a node out of its list, in which it follows `before`.
    #[inline]
    fn take(&mut self, at: u32, before: u32, list: &mut List) -> Waiting {
        let Node { waiting, next, .. } = self.all[at as usize];
        match self.all.get_mut(before as usize) {
            Some(before) => before.next = next,
            None => list.first = next,
        }
        if list.last == at {
            list.last = before;
        }
        list.len -= 1;
        list.without_id -= u32::from(waiting.seen.ip_id == 0);
        self.all[at as usize].used = 0;
        self.free.push(at);
        waiting
    }

    /// The first of some packets of a list that has the id, and the one before it.
    #[inline]
    fn with_id(&self, list: &List, ip_id: u16) -> Option<(u32, u32)> {
        let (mut at, mut before) = (list.first, NONE);
        for _ in 0..TWINS {
            let node = self.all.get(at as usize)?;
            if node.waiting.seen.ip_id == ip_id {
                return Some((at, before));
            }
            (at, before) = (node.next, at);
        }
        None
    }
}

impl Window {
    pub fn push(&mut self, key: u64, waiting: Waiting) {
        let (at, used) = self.nodes.put(key, waiting);
        self.order.push_back((waiting.seen.ts_ns, at, used));
        let without_id = u32::from(waiting.seen.ip_id == 0);
        match self.lists.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(List { first: at, last: at, len: 1, without_id });
            }
            Entry::Occupied(mut entry) => {
                let list = entry.get_mut();
                self.nodes.all[list.last as usize].next = at;
                list.last = at;
                list.len += 1;
                list.without_id += without_id;
            }
        }
    }

    /// Takes the packet with this key: that with the same IP id, or else the oldest; none at all where the
    /// path `keeps_ids` and each has another id, as a lost packet has that was retransmitted.
    ///
    /// The flag: several packets have the key, and no IP id shows which one this is.
    pub fn take(&mut self, key: u64, ip_id: u16, keeps_ids: bool) -> Taken {
        let Entry::Occupied(mut entry) = self.lists.entry(key) else { return Taken::Nothing };
        let list = entry.get_mut();
        let same = self.nodes.with_id(list, ip_id);
        if same.is_none() && keeps_ids && ip_id != 0 && list.without_id == 0 {
            return Taken::OtherId;
        }
        let ambiguous = list.len > 1 && (same.is_none() || ip_id == 0);
        let (at, before) = same.unwrap_or((list.first, NONE));
        let waiting = self.nodes.take(at, before, list);
        if list.len == 0 {
            entry.remove();
        }
        Taken::Found(waiting, ambiguous)
    }

    /// Gives up packets stamped before `horizon_ns`, and the oldest when there are too many.
    pub fn expire(&mut self, horizon_ns: i64, mut lost: impl FnMut(Waiting)) {
        while let Some(&(ts_ns, at, used)) = self.order.front() {
            if ts_ns >= horizon_ns && self.order.len() <= MOST {
                return;
            }
            self.order.pop_front();
            if let Some(waiting) = self.drop(at, used) {
                lost(waiting);
            }
        }
    }

    /// The packet of that use of a node, if it waits still.
    fn drop(&mut self, at: u32, used: u64) -> Option<Waiting> {
        let node = &self.nodes.all[at as usize];
        if node.used != used {
            return None;
        }
        let Entry::Occupied(mut entry) = self.lists.entry(node.key) else { return None };
        // Older packets of the key are gone already: this one is the first.
        let waiting = self.nodes.take(at, NONE, entry.get_mut());
        if entry.get().len == 0 {
            entry.remove();
        }
        Some(waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(frame: u64, ip_id: u16) -> Waiting {
        let seen = Sighting { frame, ts_ns: frame as i64, ip_id, ecn: 0, ace: None, dscp: 0, option: None };
        Waiting { seen, path: 0 }
    }

    fn found(taken: Taken) -> Option<(u64, bool)> {
        match taken {
            Taken::Found(waiting, ambiguous) => Some((waiting.seen.frame, ambiguous)),
            _ => None,
        }
    }

    #[test]
    fn the_ip_id_tells_twins_apart() {
        let mut window = Window::default();
        window.push(7, waiting(1, 100));
        window.push(7, waiting(2, 101));
        let mut take = |ip_id| found(window.take(7, ip_id, false));
        assert_eq!(take(101), Some((2, false)));
        assert_eq!(take(555), Some((1, false)));
        assert_eq!(found(window.take(7, 1, false)), None);
    }

    #[test]
    fn another_id_is_another_packet_where_ids_are_kept() {
        let mut window = Window::default();
        window.push(7, waiting(1, 100));
        // A retransmission of what was lost.
        assert!(matches!(window.take(7, 101, true), Taken::OtherId));
        let mut take = |ip_id| found(window.take(7, ip_id, true));
        assert_eq!(take(0), Some((1, false)), "without an id it may be anyone");
        window.push(7, waiting(2, 100));
        assert_eq!(found(window.take(7, 100, true)), Some((2, false)));
    }

    #[test]
    fn twins_without_an_ip_id_are_ambiguous() {
        let mut window = Window::default();
        (1..=3).for_each(|frame| window.push(7, waiting(frame, 0)));
        let mut take = |ip_id| found(window.take(7, ip_id, false));
        assert_eq!(take(0), Some((1, true)));
        assert_eq!(take(9), Some((2, true)));
        assert_eq!(take(0), Some((3, false)));
    }

    #[test]
    fn many_twins_leave_in_their_order_whichever_is_taken_between() {
        let mut window = Window::default();
        (1..=5).for_each(|frame| window.push(7, waiting(frame, 100 + frame as u16)));
        for (id, frame) in [(105, 5), (103, 3), (101, 1)] {
            assert_eq!(found(window.take(7, id, false)), Some((frame, false)));
        }
        // Nodes of those that left are used again.
        window.push(7, waiting(6, 106));
        window.push(8, waiting(7, 107));
        let mut gone = Vec::new();
        window.expire(100, |w| gone.push(w.seen.frame));
        assert_eq!(gone, [2, 4, 6, 7]);
        assert_eq!((window.nodes.all.len(), window.lists.len()), (5, 0));
    }

    #[test]
    fn what_is_never_seen_again_expires_once() {
        let mut window = Window::default();
        for frame in 1..=3 {
            window.push(frame, waiting(frame, 0));
        }
        window.take(2, 0, false);
        let mut gone = Vec::new();
        window.expire(3, |w| gone.push(w.seen.frame));
        assert_eq!(gone, [1]);
    }
}
