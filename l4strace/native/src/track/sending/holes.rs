//! Gaps in what one direction sent: packets that come later here, or were lost before this point.

use super::data::Data;

/// A handful of gaps is usual; a hostile capture gets no more than this.
const MOST: usize = 1024;

/// Bytes that were skipped when a later packet came first.
#[derive(Clone, Copy, Debug)]
pub struct Hole {
    start: i64,
    end: i64,
    since_ns: i64,
    /// IP id of the packet that came instead.
    ip_id: u16,
}

/// The gaps that are open.
#[derive(Clone, Debug, Default)]
pub struct Holes {
    open: Vec<Hole>,
}

impl Holes {
    /// `data` came where `start` was expected.
    pub fn open(&mut self, start: i64, data: &Data) {
        self.keep(Hole { start, end: data.start, since_ns: data.ts_ns, ip_id: data.ip_id });
    }

    fn keep(&mut self, hole: Hole) {
        if hole.start < hole.end && self.open.len() < MOST {
            self.open.push(hole);
        }
    }

    /// Takes the packet's bytes out of the hole that they belong to.
    pub fn fill(&mut self, data: &Data) -> Option<Hole> {
        let at = self.open.iter().position(|hole| hole.has(data))?;
        let hole = self.open.swap_remove(at);
        self.keep(Hole { end: data.start, ..hole });
        self.keep(Hole { start: data.end, ..hole });
        Some(hole)
    }

    /// Some of the packet's bytes were skipped.
    pub fn has(&self, data: &Data) -> bool {
        self.open.iter().any(|hole| hole.has(data))
    }

    /// Packets of this size that the open gaps stand for.
    pub fn missing(&self, mss: u32) -> u64 {
        let packets =
            |hole: &Hole| (hole.end - hole.start).max(0).unsigned_abs().div_ceil(u64::from(mss.max(1)));
        self.open.iter().map(packets).sum()
    }

    /// What is acknowledged is missing no longer.
    #[inline]
    pub fn forget_below(&mut self, ack: i64) {
        if !self.open.is_empty() {
            self.open.retain(|h| h.end > ack);
        }
    }
}

impl Hole {
    fn has(&self, data: &Data) -> bool {
        data.start < self.end && data.end > self.start
    }

    /// A hole filled soon, or by a packet whose IP id is older than that of its overtaker, was
    /// reordering; otherwise the first copy was lost before this point and this is the second.
    pub fn came_late(&self, data: &Data, patience_ns: i64) -> bool {
        if self.ip_id != 0 && data.ip_id != 0 {
            let step = data.ip_id.wrapping_sub(self.ip_id) as i16;
            // Ids that count up by few are a counter of this connection; others show nothing.
            if (-512..0).contains(&step) {
                return true;
            }
            if (1..512).contains(&step) {
                return false;
            }
        }
        data.ts_ns - self.since_ns < patience_ns
    }
}
