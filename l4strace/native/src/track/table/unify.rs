//! One number per conversation over several captures.

use std::collections::HashMap;

use crate::packet::{FlowKey, Network};

/// One conversation of one capture, as far as identifying it needs.
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
    if let [members] = captures {
        return vec![alone(members)];
    }
    let mut groups: Vec<Group> = Vec::new();
    let mut index = Index::default();
    for (source, members) in captures.iter().enumerate() {
        for (flow, member) in members.iter().enumerate() {
            match index.find(&groups, source, member) {
                Some(g) => groups[g].add(source, flow, member),
                None => {
                    index.add(member, groups.len());
                    groups.push(Group::new(source, flow, member));
                }
            }
        }
    }
    number(captures, &groups)
}

/// Groups by what may make them the same conversation. Thousands may have the same ports (a flood of
/// SYNs), so none of these lists is searched from its beginning twice by one capture.
#[derive(Default)]
struct Index {
    with_isn: HashMap<(FlowKey, u32), Groups>,
    /// Begun before the capture, so at most one of each capture.
    without_isn: HashMap<FlowKey, Groups>,
    by_key: HashMap<FlowKey, Groups>,
}

#[derive(Default)]
struct Groups {
    list: Vec<usize>,
    /// Of `list`, so many have a member of this source.
    source: usize,
    taken: usize,
}

impl Index {
    fn find(&mut self, groups: &[Group], source: usize, m: &Member) -> Option<usize> {
        // Neither direction nor network: a capture that begins mid-stream may take the server for the
        // client, and a tag or a tunnel may end between two captures.
        let key = m.key.ends();
        let Some(isn) = m.client_isn else { return self.by_key.get(&key)?.fitting(groups, source, m) };
        let same = self.with_isn.get_mut(&(key, isn)).and_then(|list| list.next(groups, source, m));
        let open = self.without_isn.get(&key).and_then(|list| list.fitting(groups, source, m));
        same.into_iter().chain(open).min()
    }

    fn add(&mut self, m: &Member, group: usize) {
        let key = m.key.ends();
        self.by_key.entry(key).or_default().list.push(group);
        match m.client_isn {
            Some(isn) => self.with_isn.entry((key, isn)).or_default().list.push(group),
            None => self.without_isn.entry(key).or_default().list.push(group),
        }
    }
}

impl Groups {
    /// Of groups that fit alike the first that has no member of `source`: those before it have one.
    fn next(&mut self, groups: &[Group], source: usize, m: &Member) -> Option<usize> {
        if self.source != source {
            (self.source, self.taken) = (source, 0);
        }
        while let Some(&g) = self.list.get(self.taken) {
            if groups[g].fits(source, m) {
                return Some(g);
            }
            self.taken += 1;
        }
        None
    }

    fn fitting(&self, groups: &[Group], source: usize, m: &Member) -> Option<usize> {
        let fits = |&g: &usize| groups[g].fits(source, m);
        let here = |&g: &usize| groups[g].network == m.key.network;
        let list = || self.list.iter().copied();
        list().find(|g| here(g) && fits(g)).or_else(|| list().find(fits))
    }
}

struct Group {
    /// By source.
    places: Vec<(usize, usize)>,
    network: Network,
    isn: Option<u32>,
    first_ns: i64,
    last_ns: i64,
}

impl Group {
    fn new(source: usize, flow: usize, m: &Member) -> Self {
        Group {
            places: vec![(source, flow)],
            network: m.key.network,
            isn: m.client_isn,
            first_ns: m.first_ns,
            last_ns: m.last_ns,
        }
    }

    /// The same ISN, or where a capture did not see it, the same time (clocks may differ by seconds).
    fn fits(&self, source: usize, m: &Member) -> bool {
        const SLACK_NS: i64 = 5_000_000_000;
        if self.places.last().is_some_and(|p| p.0 == source) {
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

/// The same where there is one capture, whose conversations are all different.
fn alone(members: &[Member]) -> Vec<u32> {
    let mut order: Vec<(i64, usize)> = members.iter().map(|m| m.first_ns).zip(0..).collect();
    order.sort_unstable();
    let mut numbers = vec![0; members.len()];
    for (&(_, flow), n) in order.iter().zip(0..) {
        numbers[flow] = n;
    }
    numbers
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
    fn a_network_may_end_between_two_captures() {
        let in_vlan = |id: u16, isn| {
            let m = member(1, isn, 0, 9);
            Member { key: FlowKey { network: m.key.network.in_vlan(id), ..m.key }, ..m }
        };
        // With their handshakes, one tagged and one not; without, by the network where both have one.
        let tagged = vec![in_vlan(10, Some(7)), in_vlan(20, Some(8))];
        assert_eq!(unify(&[tagged, vec![in_vlan(0, Some(8))]]), [vec![0, 1], vec![1]]);
        let late = |ids: [u16; 2]| ids.map(|id| in_vlan(id, None)).to_vec();
        assert_eq!(unify(&[late([10, 20]), late([20, 10])]), [vec![0, 1], vec![1, 0]]);
    }

    #[test]
    fn the_conversations_of_one_capture_are_numbered_as_beside_another() {
        let begins = [3, 1, 2, 1, 3, 0];
        let members = || begins.iter().map(|&s| member(1, Some(7), s, 9)).collect();
        assert_eq!(unify(&[members()]), [vec![4, 1, 3, 2, 5, 0]]);
        assert_eq!(unify(&[members()])[0], unify(&[members(), vec![]])[0]);
    }

    #[test]
    fn reused_ports_stay_apart() {
        let near = vec![member(1, Some(7), 0, 9), member(1, Some(8), 20, 29)];
        let far = vec![member(1, Some(8), 20, 29)];
        assert_eq!(unify(&[near, far]), [vec![0, 1], vec![1]]);
    }
}
