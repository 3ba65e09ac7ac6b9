//! Counters of what could not be read or used, for the `stats` table: nothing is dropped in silence.

/// One kind of loss or oddity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Loss {
    /// The input ends inside a record or block.
    TruncatedFile,
    /// The file's structure is broken; what follows could not be read.
    DamagedFile,
    /// Packets that the capturing kernel or interface dropped (pcapng statistics blocks).
    CaptureDrops,
    /// Link types that are not decoded.
    UnknownLinkType,
    /// ARP, LLDP and the like.
    NotIp,
    /// ICMP and the like.
    NotTcp,
    /// Fragments of packets that could not be put together.
    IpFragments,
    /// Length fields that contradict each other.
    BadLengths,
    /// Length fields that contradict IP's own, of packets that were used as IP states.
    OddLengths,
    /// Cut by the snapshot length before the end of the fixed TCP header.
    HeadersCut,
    /// Packets whose block has no timestamp (pcapng simple packet blocks).
    NoTimestamp,
    /// Timestamps before 1970 or after 2116, which are taken for the nearest of the two.
    BadTimestamps,
    /// Encrypted or otherwise unreadable inner packet (ESP, unknown tunnel payload).
    Opaque,
    /// Timestamps of one flow direction that do not follow each other: the clock was set.
    ClockSteps,
    /// Packets that the capture holds twice, from two interfaces or two stages of an offload: counted once.
    SeenTwice,
    /// Packets far outside of what their conversation had in flight: left out.
    OutOfWindow,
    /// Conversations without data that were too many to be kept.
    FlowsFolded,
    /// Datagrams of UDP conversations that are too short to be kept: DNS, scans.
    UdpShort,
}

/// All of them, in the order of the table.
pub const LOSSES: [Loss; 18] = [
    Loss::TruncatedFile,
    Loss::DamagedFile,
    Loss::CaptureDrops,
    Loss::UnknownLinkType,
    Loss::NotIp,
    Loss::NotTcp,
    Loss::IpFragments,
    Loss::BadLengths,
    Loss::OddLengths,
    Loss::HeadersCut,
    Loss::NoTimestamp,
    Loss::BadTimestamps,
    Loss::Opaque,
    Loss::ClockSteps,
    Loss::SeenTwice,
    Loss::OutOfWindow,
    Loss::FlowsFolded,
    Loss::UdpShort,
];

impl Loss {
    pub fn name(self) -> &'static str {
        match self {
            Loss::TruncatedFile => "truncated_file",
            Loss::DamagedFile => "damaged_file",
            Loss::CaptureDrops => "capture_drops",
            Loss::UnknownLinkType => "unknown_link_type",
            Loss::NotIp => "not_ip",
            Loss::NotTcp => "not_tcp",
            Loss::IpFragments => "ip_fragments",
            Loss::BadLengths => "bad_lengths",
            Loss::OddLengths => "odd_lengths",
            Loss::HeadersCut => "headers_cut",
            Loss::NoTimestamp => "no_timestamp",
            Loss::BadTimestamps => "bad_timestamps",
            Loss::Opaque => "opaque",
            Loss::ClockSteps => "clock_steps",
            Loss::SeenTwice => "seen_twice",
            Loss::OutOfWindow => "out_of_window",
            Loss::FlowsFolded => "flows_folded",
            Loss::UdpShort => "udp_short",
        }
    }

    /// `info`, `loss` or `error`, as in the `stats` table.
    pub fn severity(self) -> &'static str {
        match self {
            Loss::NotIp | Loss::NotTcp | Loss::SeenTwice | Loss::UdpShort => "info",
            Loss::TruncatedFile
            | Loss::DamagedFile
            | Loss::BadLengths
            | Loss::OddLengths
            | Loss::BadTimestamps => "error",
            _ => "loss",
        }
    }
}

/// How often each loss happened, and where first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    counts: [u64; LOSSES.len()],
    first_frame: [u64; LOSSES.len()],
    details: Vec<(u8, String)>,
}

/// One row of `stats`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatRow {
    pub name: &'static str,
    pub count: u64,
    pub severity: &'static str,
    pub detail: Option<String>,
}

impl Stats {
    pub fn count(&mut self, loss: Loss, frame: u64) {
        let i = loss as usize;
        if self.counts[i] == 0 {
            self.first_frame[i] = frame;
        }
        self.counts[i] += 1;
    }

    /// Adds a number that the file itself states, such as interface drops.
    pub fn add(&mut self, loss: Loss, count: u64) {
        let i = loss as usize;
        self.counts[i] = self.counts[i].saturating_add(count);
    }

    /// Replaces a number that the file states as a running total.
    pub fn set(&mut self, loss: Loss, count: u64) {
        self.counts[loss as usize] = count;
    }

    /// Explains a loss beyond its first frame; only the first text is kept.
    pub fn explain(&mut self, loss: Loss, detail: impl FnOnce() -> String) {
        if !self.details.iter().any(|(i, _)| *i == loss as u8) {
            self.details.push((loss as u8, detail()));
        }
    }

    pub fn get(&self, loss: Loss) -> u64 {
        self.counts[loss as usize]
    }

    /// Rows of the losses that happened.
    pub fn rows(&self) -> Vec<StatRow> {
        LOSSES.into_iter().filter(|&l| self.get(l) > 0).map(|l| self.row(l)).collect()
    }

    fn row(&self, loss: Loss) -> StatRow {
        let i = loss as usize;
        let said = self.details.iter().find(|(k, _)| *k == loss as u8).map(|(_, text)| text.clone());
        let first = (self.first_frame[i] > 0).then(|| format!("First in frame {}.", self.first_frame[i]));
        StatRow {
            name: loss.name(),
            count: self.counts[i],
            severity: loss.severity(),
            detail: said.or(first),
        }
    }
}
