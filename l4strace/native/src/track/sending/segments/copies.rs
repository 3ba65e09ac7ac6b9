//! Second sightings of what was sent: from another interface, or from another stage of an offload.

use super::{Segments, COPIED, RETRANSMITTED};
use crate::track::sending::data::{Data, Patience};

impl Segments {
    /// The packet carries what one in flight does, and its header is another one: the first retransmission.
    pub fn is_sent_anew(&self, data: &Data) -> bool {
        let at = self.queue.partition_point(|s| s.end() <= data.start);
        self.queue.get(at).is_some_and(|s| {
            (s.start, s.end()) == (data.start, data.end) && s.print != data.print && !s.is(RETRANSMITTED)
        })
    }

    /// When the capture showed these bytes before, in one packet or in several, so lately that they cannot
    /// be a retransmission; or the same packet by its print, where `certain`, whenever that was.
    pub fn copy_of(&mut self, data: &Data, patience: Patience, certain: bool) -> Option<i64> {
        if let Some(part) = self.parts.as_ref().and_then(|parts| parts.hold(data, patience)) {
            return Some(part);
        }
        let at = self.queue.partition_point(|s| s.end() <= data.start);
        let mut covered = data.start;
        for s in &mut self.queue[at..] {
            if s.start > covered || self.looks == 0 {
                return None;
            }
            self.looks -= 1;
            if s.start == data.start && s.end() == data.end {
                let patience = if s.is(COPIED) { patience.without_queue() } else { patience };
                let same = s.print == data.print && (certain || patience.covers(s.ts_ns, data.ts_ns));
                s.marks |= if same { COPIED } else { 0 };
                return same.then_some(s.ts_ns);
            }
            if !patience.covers(s.ts_ns, data.ts_ns) {
                return None;
            }
            covered = s.end();
            if covered >= data.end {
                return Some(s.ts_ns);
            }
        }
        None
    }
}
