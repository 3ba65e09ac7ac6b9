//! The network that an address belongs to: see `l4strace/derive/neighbors.py`.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bits of an address that name its network, by IP version.
const PREFIX_4: u32 = 24;
const PREFIX_6: u32 = 64;

/// Names of networks in the order in which they were met.
#[derive(Default)]
pub struct Networks {
    pub names: Vec<Name>,
    numbers: HashMap<Network, u32>,
}

#[derive(Debug, PartialEq)]
pub enum Name {
    Network(String),
    /// No plain address: text, a zone, an address that is mapped. `neighbors.network` knows it.
    Odd(String),
}

#[derive(PartialEq, Eq, Hash)]
enum Network {
    V4(Ipv4Addr),
    V6(Ipv6Addr),
    Odd(String),
}

impl Networks {
    /// The place of an address's network in `names`.
    pub fn number(&mut self, address: &str) -> u32 {
        let (names, network) = (&mut self.names, network(address));
        *self.numbers.entry(network).or_insert_with_key(|network| {
            names.push(network.name());
            names.len() as u32 - 1
        })
    }
}

fn network(address: &str) -> Network {
    match address.parse() {
        Ok(IpAddr::V4(address)) => {
            Network::V4(Ipv4Addr::from_bits(address.to_bits() >> (32 - PREFIX_4) << (32 - PREFIX_4)))
        }
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_none() => {
            Network::V6(Ipv6Addr::from_bits(address.to_bits() >> (128 - PREFIX_6) << (128 - PREFIX_6)))
        }
        _ => Network::Odd(address.to_owned()),
    }
}

impl Network {
    fn name(&self) -> Name {
        match self {
            Network::V4(first) => Name::Network(format!("{first}/{PREFIX_4}")),
            Network::V6(first) => Name::Network(format!("{first}/{PREFIX_6}")),
            Network::Odd(text) => Name::Odd(text.clone()),
        }
    }
}
