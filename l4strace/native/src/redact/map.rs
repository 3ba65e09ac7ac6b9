//! Addresses -> addresses that keep common prefixes, as Crypto-PAn has it (Xu et al., "Prefix-preserving
//! IP address anonymization", 2002) with AES-128 as the keyed function.
//!
//! The authors' program pads a prefix with a constant. A prefix that goes on as the constant does is
//! then the same block, and neighboring bits flip together: half an address may stay as it was. Here a
//! one and zeros follow the prefix, so that each prefix has a block of its own.

use aes::cipher::{Block, BlockEncrypt, KeyInit};
use aes::Aes128;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes of a key: 16 for AES, and 16 that become the padding.
pub const KEY: usize = 32;

/// ::ffff:0:0/96, IPv4 in IPv6 sockets (RFC 4291 section 2.5.5.2).
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
/// 64:ff9b::/96, IPv4 behind NAT64 (RFC 6052 section 2.1).
const NAT64: [u8; 12] = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];
/// Prefixes that stay: private (RFC 1918, RFC 4193), link-local (RFC 3927, RFC 4291) and loopback networks, of
/// which each has its own, with the number of their bits.
const KEPT_V4: [(u32, usize); 5] =
    [(0x0a00_0000, 8), (0x7f00_0000, 8), (0xa9fe_0000, 16), (0xac10_0000, 12), (0xc0a8_0000, 16)];
const KEPT_V6: [(u128, usize); 2] = [(0xfc << 120, 7), (0xfe80 << 112, 10)];

/// I/G, the bit of an Ethernet address that makes it a group (IEEE 802 section 8.2.2).
const GROUP_BIT: usize = 7;

/// The map under one key: the same address maps alike in every packet, file and run.
pub struct Map {
    cipher: Aes128,
    pad: u128,
    /// Ethernet addresses are mapped apart from IP addresses that begin with the same bits.
    link_pad: u128,
}

impl Map {
    pub fn new(key: &[u8; KEY]) -> Self {
        let (aes, pad) = key.split_at(16);
        let cipher = Aes128::new_from_slice(aes).expect("half of a key has 16 bytes");
        let encrypt = |bytes: &[u8]| {
            let mut block = Block::<Aes128>::clone_from_slice(bytes);
            cipher.encrypt_block(&mut block);
            u128::from_be_bytes(block.into())
        };
        let pad = encrypt(pad);
        let link_pad = encrypt(&pad.to_be_bytes());
        Map { cipher, pad, link_pad }
    }

    pub fn v4(&self, address: [u8; 4]) -> [u8; 4] {
        let bits = u128::from(u32::from_be_bytes(address)) << 96;
        let kept = KEPT_V4.map(|(prefix, size)| (u128::from(prefix) << 96, size));
        let mapped = bits ^ self.flips::<32>(bits, self.pad) & free(bits, &kept);
        ((mapped >> 96) as u32).to_be_bytes()
    }

    /// An IPv4 address inside maps as it does outside, so that a socket is still the same.
    pub fn v6(&self, address: [u8; 16]) -> [u8; 16] {
        let (prefix, last) = address.split_at(12);
        if prefix == MAPPED || prefix == NAT64 {
            let mut out = address;
            out[12..].copy_from_slice(&self.v4([last[0], last[1], last[2], last[3]]));
            return out;
        }
        let bits = u128::from_be_bytes(address);
        (bits ^ self.flips::<128>(bits, self.pad) & free(bits, &KEPT_V6)).to_be_bytes()
    }

    pub fn ip(&self, address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(v4) => Ipv4Addr::from(self.v4(v4.octets())).into(),
            IpAddr::V6(v6) => Ipv6Addr::from(self.v6(v6.octets())).into(),
        }
    }

    /// Groups stay groups; nobody's address (zero) and everybody's stay.
    pub fn mac(&self, address: [u8; 6]) -> [u8; 6] {
        if address == [0; 6] || address == [0xff; 6] {
            return address;
        }
        let mut wide = [0; 16];
        wide[..6].copy_from_slice(&address);
        let bits = u128::from_be_bytes(wide);
        let group = 1u128 << (127 - GROUP_BIT);
        let mapped = bits ^ self.flips::<48>(bits, self.link_pad) & !group;
        let mut out = [0; 6];
        out.copy_from_slice(&mapped.to_be_bytes()[..6]);
        out
    }

    /// Bit n is flipped by a keyed function of the n bits before it.
    fn flips<const BITS: usize>(&self, bits: u128, pad: u128) -> u128 {
        let mut blocks = [Block::<Aes128>::default(); BITS];
        for (n, block) in blocks.iter_mut().enumerate() {
            let prefix = bits & !(u128::MAX >> n);
            block.copy_from_slice(&((prefix | 1 << (127 - n)) ^ pad).to_be_bytes());
        }
        self.cipher.encrypt_blocks(&mut blocks);
        let flips = blocks.iter().enumerate().map(|(n, block)| u128::from(block[0] >> 7) << (127 - n));
        flips.fold(0, |all, flip| all | flip)
    }
}

/// The bits of an address that may flip. Those that lead to a kept prefix may not, whether the address is in it or
/// not: so no other one is mapped into it, and common prefixes stay common.
fn free(bits: u128, kept: &[(u128, usize)]) -> u128 {
    let fixed = |(prefix, size): &(u128, usize)| ((bits ^ prefix).leading_zeros() as usize + 1).min(*size);
    u128::MAX >> kept.iter().map(fixed).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(text: &str) -> String {
        Map::new(&[9; KEY]).ip(text.parse().unwrap()).to_string()
    }

    #[test]
    fn the_first_bit_of_difference_is_the_same_and_no_two_addresses_meet() {
        let map = Map::new(&[9; KEY]);
        let apart = |one: [u8; 4], other: [u8; 4]| {
            (u32::from_be_bytes(one) ^ u32::from_be_bytes(other)).leading_zeros()
        };
        let addresses: Vec<[u8; 4]> = (0..64u32)
            .map(|n| (0x0a00_0102 ^ n.wrapping_mul(0x9e37_79b9) >> (n % 32)).to_be_bytes())
            .collect();
        for one in &addresses {
            for other in &addresses {
                assert_eq!(apart(map.v4(*one), map.v4(*other)), apart(*one, *other));
            }
        }
    }

    #[test]
    fn private_addresses_stay_private_and_no_other_becomes_one() {
        let map = Map::new(&[9; KEY]);
        let private = |[a, b, ..]: [u8; 4]| match (a, b) {
            (10 | 127, _) => a,
            (169, 254) | (192, 168) => b,
            (172, 16..=31) => 172,
            _ => 0,
        };
        for n in 0..1u32 << 16 {
            let address = (n << 16 | 0x0102).to_be_bytes();
            assert_eq!(private(map.v4(address)), private(address), "{address:?}");
        }
        assert!(mapped("fd00::1").starts_with("fd") || mapped("fd00::1").starts_with("fc"));
        assert!(mapped("fe80::1").parse::<Ipv6Addr>().unwrap().is_unicast_link_local());
        assert_ne!(mapped("10.0.0.1"), "10.0.0.1");
        // Of a public one the bits stay that lead to a private network: here 00 of 10.0.0.0/8.
        let flipped = |text: &str| map.v4(text.parse::<Ipv4Addr>().unwrap().octets())[0] >> 5;
        assert_eq!((flipped("32.0.0.1") >> 1, flipped("64.0.0.1") >> 1), (0, 1));
    }

    #[test]
    fn neighboring_bits_flip_independently() {
        let mut alike = 0;
        for first in 0..=255 {
            let mut key = [3; KEY];
            key[0] = first;
            let flips = u32::from_be_bytes(Map::new(&key).v4([10, 0, 0, 1])) ^ 0x0a00_0001;
            alike += (!(flips ^ flips >> 1) & 0x007f_ffff).count_ones();
        }
        // Of 256 * 23 pairs half, give or take six standard deviations of 38.
        assert!((2944 - 230..2944 + 230).contains(&alike), "{alike}");
    }

    #[test]
    fn ipv4_inside_ipv6_is_the_same_host() {
        let v4 = mapped("128.11.68.132");
        assert_eq!(mapped("::ffff:128.11.68.132"), format!("::ffff:{v4}"));
        let nat64 = mapped("64:ff9b::128.11.68.132").parse::<Ipv6Addr>().unwrap();
        assert_eq!(nat64.octets()[12..], v4.parse::<Ipv4Addr>().unwrap().octets());
        assert!(!mapped("2002:800b:4484::1").contains("800b:4484"));
    }

    #[test]
    fn prefixes_stay_common_and_groups_stay_groups() {
        let map = Map::new(&[9; KEY]);
        let (one, other) = (0x2001_0db8_0000_0001u128 << 64 | 1, 0x2001_0db8_0000_0001u128 << 64 | 2);
        let far = map
            .v6(one.to_be_bytes())
            .iter()
            .zip(map.v6(other.to_be_bytes()))
            .take_while(|(a, b)| **a == *b)
            .count();
        assert_eq!(far, 15);
        assert_eq!(map.mac([0xff; 6]), [0xff; 6]);
        for first in [0x02, 0x33] {
            let out = map.mac([first, 1, 2, 3, 4, 5]);
            assert_eq!(out[0] & 1, first & 1);
            assert_ne!(out, [first, 1, 2, 3, 4, 5]);
        }
    }
}
