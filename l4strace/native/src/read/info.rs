//! What a capture states about itself, for the `sources` table.

/// File format of the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    #[default]
    Pcap,
    Pcapng,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Pcap => "pcap",
            Kind::Pcapng => "pcapng",
        }
    }
}

/// One row of `sources`, apart from what other stages add (clock offset, sha256).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceInfo {
    pub path: String,
    pub kind: Kind,
    /// `gz`, `xz` or `zst`.
    pub compression: Option<&'static str>,
    /// LINKTYPE_ values of all interfaces, in order of appearance, without repetition.
    pub link_types: Vec<u32>,
    /// Largest snapshot length; `None` when unlimited.
    pub snaplen: Option<u32>,
    /// Coarsest timestamp resolution of the interfaces.
    pub resolution_ns: u32,
    pub records: u64,
    pub tcp_packets: u64,
    pub udp_packets: u64,
    /// Bytes read before decompression.
    pub bytes: u64,
    pub first_ns: Option<i64>,
    pub last_ns: Option<i64>,
    /// False when the input ends inside a record, or before its end because it is damaged.
    pub complete: bool,
    /// Section comments of a pcapng file.
    pub comment: Option<String>,
}
