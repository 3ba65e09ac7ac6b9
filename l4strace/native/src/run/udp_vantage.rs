//! Where each capture of a conversation over UDP stood: no handshake shows it, but TTLs and other captures do.

use std::collections::HashMap;

use crate::packet::Tunnel;
use crate::pair::Path;
use crate::track::{UdpFlow, Vantage};

/// TTLs and hop limits with which hosts send (Linux and macOS, Windows, network equipment).
const SENT: [u8; 3] = [64, 128, 255];

/// Numbers of the hosts whose frames captures show, in the order of appearance; each capture has its own.
#[derive(Default)]
pub struct Hosts(HashMap<(u16, [u8; 6]), u32>);

impl Hosts {
    /// That of what a conversation's side sent: its frames came from one station, and no router forwarded them.
    pub fn number(&mut self, source: u16, flow: &UdpFlow, side: usize) -> Option<u32> {
        let dir = &flow.dirs[side];
        let station = dir.station.filter(|_| SENT.contains(&dir.max_ttl) && flow.tunnel == Tunnel::None)?;
        let next = self.0.len() as u32;
        Some(*self.0.entry((source, station)).or_insert(next))
    }
}

/// Captures of each conversation from client to server, as far as they were matched.
pub struct Orders(HashMap<u32, Order>);

#[derive(Clone, Copy)]
struct Order {
    first: u16,
    last: u16,
}

impl Orders {
    pub fn new(paths: &[Path]) -> Self {
        let mut orders = HashMap::new();
        // Forward paths of a conversation follow one another from its client on.
        for path in paths.iter().filter(|path| path.forward) {
            let order = orders.entry(path.flow).or_insert(Order { first: path.near, last: path.far });
            order.last = path.far;
        }
        Orders(orders)
    }

    /// At an end: no router forwarded what that end sent, and no other capture stood nearer to it.
    pub fn vantage(&self, flow: &UdpFlow, number: u32, source: u16) -> Vantage {
        let [to, from] = flow.dirs.map(|dir| (dir.packets > 0).then(|| SENT.contains(&dir.max_ttl)));
        match self.0.get(&number) {
            Some(order) if source == order.first => end(to, Vantage::Client),
            Some(order) if source == order.last => end(from, Vantage::Server),
            Some(_) => Vantage::Middle,
            None => match (to, from) {
                (Some(true), Some(false)) => Vantage::Client,
                (Some(false), Some(true)) => Vantage::Server,
                (Some(false), Some(false)) => Vantage::Middle,
                _ => Vantage::Unknown,
            },
        }
    }
}

fn end(untouched: Option<bool>, at: Vantage) -> Vantage {
    match untouched {
        Some(true) => at,
        Some(false) => Vantage::Middle,
        None => Vantage::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::track::UdpFlows;

    fn vantage(ttls: [u8; 2], paths: &[Path], source: u16) -> Vantage {
        let mut flows = UdpFlows::default();
        for n in 0..16 {
            let mut packet = Packet { ttl: ttls[n % 2], payload_len: 1, ..Packet::default() };
            (packet.key.src_port, packet.key.dst_port) = if n % 2 == 0 { (9, 4) } else { (4, 9) };
            flows.datagram(&packet, b"x");
        }
        let flow = flows.kept().next().expect("a flow");
        Orders::new(paths).vantage(flow, 7, source)
    }

    #[test]
    fn a_ttl_that_no_router_lowered_shows_an_end() {
        assert_eq!(vantage([64, 57], &[], 0), Vantage::Client);
        assert_eq!(vantage([57, 255], &[], 0), Vantage::Server);
        assert_eq!(vantage([57, 120], &[], 0), Vantage::Middle);
        assert_eq!(vantage([64, 128], &[], 0), Vantage::Unknown, "on one link with both");
    }

    #[test]
    fn frames_of_one_station_that_no_router_forwarded_are_one_hosts() {
        let flow = |ttl: u8, stations: [u8; 2], tunnel: Tunnel| {
            let mut flows = UdpFlows::default();
            for n in 0..16 {
                let station = [2, 0, 0, 0, 0, stations[n % 2]];
                let packet = Packet { ttl, station, tunnel, payload_len: 1, ..Packet::default() };
                flows.datagram(&packet, b"x");
            }
            let flow = flows.kept().next().expect("a flow").clone();
            flow
        };
        let mut hosts = Hosts::default();
        let mut number = |source, flow: &UdpFlow| hosts.number(source, flow, 0);
        assert_eq!(number(0, &flow(64, [7, 7], Tunnel::None)), Some(0));
        assert_eq!(number(0, &flow(64, [8, 8], Tunnel::None)), Some(1));
        assert_eq!(number(0, &flow(128, [7, 7], Tunnel::None)), Some(0));
        assert_eq!(number(1, &flow(64, [7, 7], Tunnel::None)), Some(2), "another input");
        assert_eq!(number(0, &flow(64, [7, 8], Tunnel::None)), None, "two stations");
        assert_eq!(number(0, &flow(63, [7, 7], Tunnel::None)), None, "a router's");
        assert_eq!(number(0, &flow(64, [7, 7], Tunnel::Gre)), None, "the tunnel's");
        let mut bare = UdpFlows::default();
        (0..16).for_each(|_| bare.datagram(&Packet { ttl: 64, payload_len: 1, ..Packet::default() }, b"x"));
        assert_eq!(number(0, bare.kept().next().unwrap()), None, "no link layer");
    }

    #[test]
    fn of_two_captures_on_the_links_of_both_ends_each_is_at_one() {
        let path = |near, far| Path { flow: 7, forward: true, near, far, ..Path::default() };
        let both = [path(1, 0)];
        assert_eq!([0, 1].map(|source| vantage([64, 64], &both, source)), [Vantage::Server, Vantage::Client]);
        let three = [path(1, 0), path(0, 2)];
        assert_eq!(vantage([64, 64], &three, 0), Vantage::Middle);
        assert_eq!(vantage([60, 64], &three, 1), Vantage::Middle);
    }
}
