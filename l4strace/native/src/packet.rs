//! The one value that decoding hands to tracking: a TCP packet with everything that L4S needs.

/// IP ECN codepoints as they stand on the wire (RFC 3168 section 5, RFC 9331 section 2).
pub mod ecn {
    pub const NOT_ECT: u8 = 0;
    pub const ECT1: u8 = 1;
    pub const ECT0: u8 = 2;
    pub const CE: u8 = 3;
}

/// TCP flag bits; AE is the former NS bit (RFC 9768 section 3.1).
pub mod flag {
    pub const FIN: u16 = 0x001;
    pub const SYN: u16 = 0x002;
    pub const RST: u16 = 0x004;
    pub const PSH: u16 = 0x008;
    pub const ACK: u16 = 0x010;
    pub const URG: u16 = 0x020;
    pub const ECE: u16 = 0x040;
    pub const CWR: u16 = 0x080;
    pub const AE: u16 = 0x100;
}

/// An IPv4 address is kept as an IPv4-mapped IPv6 one, so that a flow key has one shape.
pub type Address = [u8; 16];

/// The network that a packet's addresses belong to: its VLAN, or that of a VXLAN or Geneve tunnel.
///
/// Two networks may use the same addresses. Labels that differ by direction (MPLS, GRE key, GTP TEID)
/// are not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Network(u32);

const VNI: u32 = 1 << 31;

impl Network {
    /// Inside one VLAN more; id 0 is a priority tag only (IEEE 802.1Q clause 9.6). A tag inside a virtual
    /// network changes nothing: RFC 7348 section 6.1.
    pub fn in_vlan(self, id: u16) -> Self {
        if self.0 & VNI != 0 {
            return self;
        }
        // Of more than two tags the innermost two count.
        Network((self.0 << 12 | u32::from(id & 0xfff)) & 0xff_ffff)
    }

    /// A network of 24-bit number (RFC 7348 section 5, RFC 8926 section 3.4), whatever carries it.
    pub fn virtual_network(id: u32) -> Self {
        Network(VNI | (id & 0xff_ffff))
    }

    /// Distinct for every network.
    pub fn number(self) -> u32 {
        self.0
    }

    pub fn is_plain(self) -> bool {
        self == Network::default()
    }

    /// `vlan 10`, `vlan 100.10` (outer tag first) or `vni 7`; `None` without any.
    pub fn name(self) -> Option<String> {
        let (outer, inner) = (self.0 >> 12 & 0xfff, self.0 & 0xfff);
        match self.0 {
            0 => None,
            n if n & VNI != 0 => Some(format!("vni {}", n & 0xff_ffff)),
            _ if outer == 0 => Some(format!("vlan {inner}")),
            _ => Some(format!("vlan {outer}.{inner}")),
        }
    }
}

/// The interface of a capture that showed a packet: its number in a pcapng file, or the index that the host gave it
/// (`-i any`). The default is that of a file with one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interface {
    /// From 1; 0 in a file with one.
    number: u32,
    /// 0 where the host gave none.
    index: u32,
}

impl Interface {
    /// The `number`th of a file's interface blocks.
    pub fn numbered(number: u32) -> Self {
        Interface { number: number.saturating_add(1), index: 0 }
    }

    /// Of those that one interface of the file stands for, the one of this index.
    pub fn with_index(self, index: u32) -> Self {
        Interface { index, ..self }
    }

    /// The file may have others.
    #[inline]
    pub fn is_one_of_several(self) -> bool {
        self != Interface::default()
    }

    /// As Wireshark numbers it (`frame.interface_id`, `sll.ifindex`).
    pub fn name(self) -> String {
        match self.index {
            0 => format!("interface {}", self.number.saturating_sub(1)),
            index => format!("interface index {index}"),
        }
    }
}

/// Who talks to whom, in the direction of this packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct FlowKey {
    pub src: Address,
    pub dst: Address,
    pub src_port: u16,
    pub dst_port: u16,
    pub network: Network,
}

impl FlowKey {
    pub fn reversed(&self) -> Self {
        FlowKey {
            src: self.dst,
            dst: self.src,
            src_port: self.dst_port,
            dst_port: self.src_port,
            network: self.network,
        }
    }

    /// `==` without a branch, for keys that are the same as a rule.
    #[inline(always)]
    pub fn is(&self, other: &Self) -> bool {
        self.words().iter().zip(other.words()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
    }

    /// All of the key, as it lies in memory: to read it takes five loads.
    #[inline(always)]
    pub fn words(&self) -> [u64; 5] {
        let word = |a: &Address, i: usize| u64::from_le_bytes(a[8 * i..8 * i + 8].try_into().unwrap());
        let rest =
            u64::from(self.src_port) | u64::from(self.dst_port) << 16 | u64::from(self.network.0) << 32;
        [word(&self.src, 0), word(&self.src, 1), word(&self.dst, 0), word(&self.dst, 1), rest]
    }

    /// The same for both directions and in every network.
    pub fn ends(&self) -> Self {
        let plain = FlowKey { network: Network::default(), ..*self };
        if (plain.src, plain.src_port) <= (plain.dst, plain.dst_port) {
            plain
        } else {
            plain.reversed()
        }
    }
}

/// The AccECN option (RFC 9768 section 3.2.3) as found; a field that was left out is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccEcnOption {
    /// 172 (order 0), 174 (order 1) or 254 (experimental).
    pub kind: u8,
    /// 0xACC0, 0xACC1 or 0xACCE when `kind` is 254.
    pub exid: Option<u16>,
    /// The option's length byte.
    pub length: u8,
    /// 24-bit wire values.
    pub e0b: Option<u32>,
    pub ceb: Option<u32>,
    pub e1b: Option<u32>,
}

/// At most four SACK blocks fit beside nothing else (RFC 2018 section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    pub count: u8,
    pub blocks: [(u32, u32); 4],
}

/// What the outermost of the headers around the inner IP packet was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Tunnel {
    #[default]
    None,
    Gre,
    Vxlan,
    Geneve,
    IpInIp,
    Gtp,
}

/// One decoded TCP packet. Sequence numbers are raw; tracking unwraps them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// 1-based number of the packet in its file, as Wireshark counts (non-TCP packets count too).
    pub frame: u64,
    /// Byte offset of the packet's record in the (decompressed) file.
    pub offset: u64,
    /// Nanoseconds since the Unix epoch.
    pub ts_ns: i64,
    pub interface: Interface,
    /// Link-layer address of the station that sent the frame, over UDP; zeros where the link has none.
    pub station: [u8; 6],
    pub captured_len: u32,
    pub wire_len: u32,
    pub key: FlowKey,
    pub ip_version: u8,
    /// TTL or hop limit.
    pub ttl: u8,
    pub dscp: u8,
    /// Codepoint of the innermost IP header: the one the flow's endpoints see.
    pub ip_ecn: u8,
    /// Codepoint of the outermost IP header when the packet was tunnelled.
    pub outer_ecn: Option<u8>,
    pub tunnel: Tunnel,
    /// IPv4 identification; `None` for IPv6 without a fragment header.
    pub ip_id: Option<u16>,
    /// Twelve bits: AE and the classic eight, reserved bits above.
    pub flags: u16,
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    /// From the IP length field, so a short snaplen does not matter.
    pub payload_len: u32,
    pub mss: Option<u16>,
    pub wscale: Option<u8>,
    pub sack_permitted: bool,
    pub timestamps: Option<(u32, u32)>,
    pub accecn: Option<AccEcnOption>,
    pub sack: Sack,
    /// The TCP header was cut by the snaplen: options may be missing.
    pub options_cut: bool,
}

impl Packet {
    /// ACE, the three-bit counter or handshake code (RFC 9768 section 3.2.2): AE, CWR, ECE.
    pub fn ace(&self) -> u8 {
        ((self.flags >> 6) & 7) as u8
    }

    pub fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_names() {
        let plain = Network::default();
        assert_eq!(plain.name(), None);
        assert_eq!(plain.in_vlan(0).name(), None);
        assert_eq!(plain.in_vlan(10).name().as_deref(), Some("vlan 10"));
        assert_eq!(plain.in_vlan(100).in_vlan(10).name().as_deref(), Some("vlan 100.10"));
        let vni = Network::virtual_network(7);
        assert_eq!(vni.in_vlan(10).name().as_deref(), Some("vni 7"));
        assert_ne!(Network::virtual_network(0), plain);
    }

    #[test]
    fn interfaces_have_names() {
        assert_eq!(Interface::default().name(), "interface 0");
        assert_eq!(Interface::numbered(2).name(), "interface 2");
        assert_eq!(Interface::numbered(2).with_index(7).name(), "interface index 7");
        assert_ne!(Interface::numbered(2).with_index(7), Interface::default().with_index(7));
        assert_ne!(Interface::numbered(0), Interface::default());
        // Hosts with many containers count on.
        assert_eq!(Interface::default().with_index(70_000).name(), "interface index 70000");
        assert_ne!(Interface::default().with_index(2), Interface::default().with_index(65_538));
        assert_eq!(Interface::numbered(70_000).name(), "interface 70000");
    }

    #[test]
    fn ace_is_ae_cwr_ece() {
        let ace = |flags| Packet { flags, ..Packet::default() }.ace();
        assert_eq!(ace(flag::AE), 4);
        assert_eq!(ace(flag::CWR), 2);
        assert_eq!(ace(flag::ECE | flag::SYN), 1);
        assert_eq!(ace(flag::AE | flag::CWR | flag::ECE), 7);
    }
}
