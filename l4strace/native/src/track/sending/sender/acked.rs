//! What ACKs deliver.

use super::Sender;
use crate::track::sending::segments::{Delivered, Plain};
use crate::track::sending::window::Acked;

impl Sender {
    /// An acknowledgement of this direction, with its SACK blocks.
    pub fn ack(&mut self, ack: i64, blocks: &[(i64, i64)], ts_ns: i64, mss: u32) -> Delivered {
        let mut got = self.segments.ack(ack, ts_ns, mss);
        if !blocks.is_empty() {
            self.segments.sack(blocks, &mut got);
        }
        self.delivered(&got, ts_ns);
        got
    }

    /// The same for one without, that is plain.
    #[inline(always)]
    pub fn ack_plain(&mut self, ack: i64, plain: &Plain, ts_ns: i64) -> Delivered {
        let got = self.segments.take_plain(ack, plain, ts_ns);
        self.delivered(&got, ts_ns);
        got
    }

    #[inline(always)]
    fn delivered(&mut self, got: &Delivered, ts_ns: i64) {
        self.acked_bytes += got.bytes;
        self.round.acked_bytes += got.bytes;
        self.round.acked_packets = self.round.acked_packets.saturating_add(got.packets);
        if got.bytes > 0 {
            self.acked_trains.add(ts_ns, got.bytes);
        }
        if self.segments.una >= self.segments.max {
            self.round.drained = true;
            self.drained_ns = ts_ns;
        }
        if got.packets > 0 {
            self.window.acked(&Acked {
                ts_ns,
                packets: got.packets,
                in_flight: self.segments.inflight_packets(),
                rtt_ns: got.rtt_ns,
                una: self.segments.una,
                slow_start: self.slow_start && !self.saw_ce,
            });
        }
        let sacked_ns = got.sacked_sent_ns.map(|sent_ns| ts_ns - sent_ns);
        sacked_ns.into_iter().for_each(|ns| self.round.sacked_rtt(ns));
        // tcp_clean_rtx_queue: what SACK reports gives the sample, before what the ACK covers.
        let kernel_ns = sacked_ns.or(got.rtt_ns).or(got.filled_ns);
        if kernel_ns != got.rtt_ns {
            self.kernel_least.get_or_insert(self.smallest);
        }
        if let Some(ns) = got.rtt_ns.filter(|&ns| ns >= 0) {
            self.round.rtt(ns, ts_ns, got.packets);
            self.smallest.add(ns, ts_ns);
        }
        if let Some(ns) = kernel_ns.filter(|&ns| ns >= 0) {
            self.kernel_least.iter_mut().for_each(|least| least.add(ns, ts_ns));
            self.replay.on_rtt(ns as u64 / 1000);
        }
    }
}
