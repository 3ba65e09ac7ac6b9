//! One number per conversation over several captures.

use std::collections::HashMap;

use crate::packet::FlowKey;

/// One conversation of one capture, as far as telling it from others needs.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    pub key: FlowKey,
    pub client_isn: Option<u32>,
    pub first_ns: i64,
    pub last_ns: i64,
}

/// Numbers the conversations of all captures by first packet; the same conversation in two captures
/// gets one number. Returns, per capture, the number of each of its conversations.
pub fn unify(captures: &[Vec<Member>]) -> Vec<Vec<u32>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut by_key: HashMap<FlowKey, Vec<usize>> = HashMap::new();
    for (source, members) in captures.iter().enumerate() {
        for (flow, member) in members.iter().enumerate() {
            let near = by_key.entry(canonical(&member.key)).or_default();
            match near.iter().copied().find(|&g| groups[g].fits(source, member)) {
                Some(g) => groups[g].add(source, flow, member),
                None => {
                    near.push(groups.len());
                    groups.push(Group::new(source, flow, member));
                }
            }
        }
    }
    number(captures, &groups)
}

struct Group {
    places: Vec<(usize, usize)>,
    isn: Option<u32>,
    first_ns: i64,
    last_ns: i64,
}

impl Group {
    fn new(source: usize, flow: usize, m: &Member) -> Self {
        Group { places: vec![(source, flow)], isn: m.client_isn, first_ns: m.first_ns, last_ns: m.last_ns }
    }

    /// The same ISN, or where a capture did not see it, the same time (clocks may differ by seconds).
    fn fits(&self, source: usize, m: &Member) -> bool {
        const SLACK_NS: i64 = 5_000_000_000;
        if self.places.iter().any(|p| p.0 == source) {
            return false;
        }
        match (self.isn, m.client_isn) {
            (Some(a), Some(b)) => a == b,
            _ => m.first_ns <= self.last_ns + SLACK_NS && self.first_ns <= m.last_ns + SLACK_NS,
        }
    }

    fn add(&mut self, source: usize, flow: usize, m: &Member) {
        self.places.push((source, flow));
        self.isn = self.isn.or(m.client_isn);
        self.first_ns = self.first_ns.min(m.first_ns);
        self.last_ns = self.last_ns.max(m.last_ns);
    }
}

fn number(captures: &[Vec<Member>], groups: &[Group]) -> Vec<Vec<u32>> {
    let mut order: Vec<usize> = (0..groups.len()).collect();
    // Of conversations that begin in the same instant, the one found first comes first.
    order.sort_by_key(|&g| (groups[g].first_ns, groups[g].places[0]));
    let mut numbers: Vec<Vec<u32>> = captures.iter().map(|c| vec![0; c.len()]).collect();
    for (n, g) in order.into_iter().enumerate() {
        for &(source, flow) in &groups[g].places {
            numbers[source][flow] = n as u32;
        }
    }
    numbers
}

/// The same for both directions, since a capture that begins mid-stream may take the server for the client.
fn canonical(key: &FlowKey) -> FlowKey {
    let back = key.reversed();
    if (key.src, key.src_port) <= (back.src, back.src_port) {
        *key
    } else {
        back
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::testing::{packet, A};

    fn member(port: u16, isn: Option<u32>, first_s: i64, last_s: i64) -> Member {
        let mut key = packet(A).key;
        key.src_port = port;
        Member { key, client_isn: isn, first_ns: first_s * 1_000_000_000, last_ns: last_s * 1_000_000_000 }
    }

    #[test]
    fn the_same_conversation_in_two_captures_has_one_number() {
        let near = vec![member(1, Some(7), 0, 9), member(2, Some(8), 1, 9)];
        let far = vec![member(2, Some(8), 1, 9), member(3, None, 2, 3)];
        assert_eq!(unify(&[near, far]), [vec![0, 1], vec![1, 2]]);
    }

    #[test]
    fn reused_ports_stay_apart() {
        let near = vec![member(1, Some(7), 0, 9), member(1, Some(8), 20, 29)];
        let far = vec![member(1, Some(8), 20, 29)];
        assert_eq!(unify(&[near, far]), [vec![0, 1], vec![1]]);
    }
}
