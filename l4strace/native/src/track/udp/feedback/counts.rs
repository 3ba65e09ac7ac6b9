//! What was sent in one direction and what was reported of it.

use crate::packet::{ecn, Packet};
use crate::track::sending::rtt::RttTotals;

/// Sums of one direction; names as in the `directions` table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub sent: u64,
    pub received: u64,
    pub lost: i64,
    pub ce: u64,
    /// Reports that encryption hides.
    pub hidden: u64,
    pub acked_bytes: u64,
    pub reports: u64,
    /// Time (ns) from one report to the next, of so many of them together.
    pub apart_ns: i64,
    pub steps: i64,
    pub last_report_ns: i64,
    pub rtt: RttTotals,
    pub out_of_order: u64,
    /// Time in which the sender waited for a report, and how often it did.
    pub waited_ns: i64,
    pub waits: u64,
    /// Packets with ECT(0), ECT(1) and CE: as QUIC's receiver counts them for the whole connection (RFC 9000 section
    /// 19.3.2), or as reports on each packet have it.
    pub reported_ecn: Option<[u64; 3]>,
    /// The receiver reported a packet with neither ECT(1) nor CE: when, and in which frame.
    pub error: Option<(i64, u64)>,
}

impl Counts {
    pub fn rtt_min_ns(&self) -> Option<i64> {
        (self.rtt.samples > 0).then_some(self.rtt.min_ns)
    }

    /// Mean time (ns) between reports.
    pub fn interval_ns(&self) -> Option<i64> {
        self.apart_ns.checked_div(self.steps)
    }

    /// Something of what was sent was reported in clear.
    pub fn is_reported(&self) -> bool {
        self.sent > 0 && self.received > 0
    }

    /// One more packet that arrived with this codepoint.
    pub(super) fn codepoint(&mut self, arrived: u8) {
        let [ect0, ect1, ce] = self.reported_ecn.get_or_insert_default();
        match arrived {
            ecn::ECT0 => *ect0 += 1,
            ecn::ECT1 => *ect1 += 1,
            ecn::CE => *ce += 1,
            _ => {}
        }
    }

    pub(super) fn report(&mut self, packet: &Packet) {
        // A clock that was set back shows nothing of the time between two reports.
        let apart_ns = packet.ts_ns.saturating_sub(self.last_report_ns);
        if self.reports > 0 && apart_ns >= 0 {
            self.apart_ns = self.apart_ns.saturating_add(apart_ns);
            self.steps += 1;
        }
        self.reports += 1;
        self.last_report_ns = packet.ts_ns;
    }
}

/// What a report says of one packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub received: bool,
    pub ecn: u8,
    /// Time from its arrival to the report.
    pub held_ns: Option<i64>,
}

impl Report {
    /// One bit, two of ECN, 13 of time (RFC 8888 section 3.1); from `longest` on they are no time.
    pub fn new(report: u16, unit_ns: i64, longest: u16) -> Self {
        let held = report & 0x1fff;
        Report {
            received: report & 0x8000 != 0,
            ecn: (report >> 13 & 3) as u8,
            held_ns: (held < longest).then(|| i64::from(held) * unit_ns),
        }
    }
}
