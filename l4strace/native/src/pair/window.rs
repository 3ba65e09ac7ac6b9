//! Packets of one capture that the other has not shown yet, forgotten after a while.

use std::collections::{HashMap, VecDeque};

use super::key::Sighting;

/// More packets than this may not wait: some 30 MB of memory.
const MOST: usize = 1 << 17;

/// So many packets with one key are compared by IP id; of more, the oldest counts as the one meant.
const TWINS: usize = 64;

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

/// Unmatched packets by key, oldest first.
#[derive(Debug, Default)]
pub struct Window {
    by_key: HashMap<u64, VecDeque<Waiting>>,
    /// (timestamp, key, frame); entries whose packet was matched meanwhile are stale.
    order: VecDeque<(i64, u64, u64)>,
}

impl Window {
    pub fn push(&mut self, key: u64, waiting: Waiting) {
        self.order.push_back((waiting.seen.ts_ns, key, waiting.seen.frame));
        self.by_key.entry(key).or_default().push_back(waiting);
    }

    /// Takes the packet with this key: that with the same IP id, or else the oldest; none at all where the
    /// path `keeps_ids` and each has another id, as a lost packet has that was retransmitted.
    ///
    /// The flag: several packets have the key, and no IP id shows which one this is.
    pub fn take(&mut self, key: u64, ip_id: u16, keeps_ids: bool) -> Taken {
        let Some(list) = self.by_key.get_mut(&key) else { return Taken::Nothing };
        let at = list.iter().take(TWINS).position(|w| w.seen.ip_id == ip_id);
        if at.is_none() && keeps_ids && ip_id != 0 && list.iter().all(|w| w.seen.ip_id != 0) {
            return Taken::OtherId;
        }
        let ambiguous = list.len() > 1 && (at.is_none() || ip_id == 0);
        let found = list.remove(at.unwrap_or(0));
        if list.is_empty() {
            self.by_key.remove(&key);
        }
        found.map_or(Taken::Nothing, |waiting| Taken::Found(waiting, ambiguous))
    }

    /// Gives up packets stamped before `horizon_ns`, and the oldest when there are too many.
    pub fn expire(&mut self, horizon_ns: i64, mut lost: impl FnMut(Waiting)) {
        while let Some(&(ts_ns, key, frame)) = self.order.front() {
            if ts_ns >= horizon_ns && self.order.len() <= MOST {
                return;
            }
            self.order.pop_front();
            if let Some(waiting) = self.drop_frame(key, frame) {
                lost(waiting);
            }
        }
    }

    fn drop_frame(&mut self, key: u64, frame: u64) -> Option<Waiting> {
        let list = self.by_key.get_mut(&key)?;
        // Older packets of the key are gone already: this one is the first, or was matched.
        if list.front()?.seen.frame != frame {
            return None;
        }
        let found = list.pop_front();
        if list.is_empty() {
            self.by_key.remove(&key);
        }
        found
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
