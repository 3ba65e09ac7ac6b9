//! The `udp_round_trips` table.

use super::arrow::Columns;
use crate::run::UdpView;
use crate::track::{Controlled, RoundRow};

/// One round of a direction, whose smallest RTT is `least_us`; at the receiver, the sender's state does not show.
struct Trip<'a> {
    view: &'a UdpView<'a>,
    row: &'a RoundRow,
    least_us: f64,
    at_receiver: bool,
}

impl Trip<'_> {
    fn of_sender<T>(&self, value: impl Fn(&RoundRow) -> Option<T>) -> Option<T> {
        (!self.at_receiver).then(|| value(self.row)).flatten()
    }

    /// State of UDP Prague, as its packets replay it.
    fn controlled(&self) -> Option<Controlled> {
        self.of_sender(|row| row.rare().controlled)
    }

    fn queue_us(&self) -> Option<f64> {
        self.of_sender(|row| row.rtt().map(|rtt| (rtt.mean_us - self.least_us).max(0.0)))
    }
}

pub fn table(flows: &[UdpView<'_>]) -> Columns {
    let mut trips: Vec<Trip<'_>> = Vec::new();
    for view in flows {
        for (side, forward) in [true, false].into_iter().enumerate() {
            let Some(sending) = view.flow.sending(side).filter(|sending| sending.counts.is_reported()) else {
                continue;
            };
            let least_us = sending.counts.rtt_min_ns().map_or(0.0, |ns| ns as f64 / 1e3);
            let at_receiver = view.vantage.at_receiver(forward);
            trips.extend(sending.rows.iter().map(|row| Trip { view, row, least_us, at_receiver }));
        }
    }
    trips.sort_by_key(|trip| (trip.view.source, trip.view.number, !trip.row.forward, trip.row.round));
    Columns::blocks(&trips, |t, trips| {
        t.u16("source", trips.iter().map(|trip| trip.view.source));
        t.u32("flow", trips.iter().map(|trip| trip.view.number));
        let rows = || trips.iter().map(|trip| trip.row);
        t.bool("forward", rows().map(|r| r.forward));
        t.u32("round", rows().map(|r| r.round));
        t.u32("round_trips", rows().map(|r| r.round_trips));
        t.i64("start_ns", rows().map(|r| r.start_ns));
        t.i64("end_ns", rows().map(|r| r.end_ns));
        t.u64("first_frame", rows().map(|r| r.first_frame));
        t.u64("last_frame", rows().map(|r| r.last_frame));
        t.u32("sent_packets", rows().map(|r| r.sent_packets()));
        t.u64("sent_bytes", rows().map(|r| r.sent_bytes));
        t.u32("reported_packets", rows().map(|r| r.acked_packets));
        t.u64("reported_bytes", rows().map(|r| r.acked_bytes));
        t.u32("reported_ce", rows().map(|r| r.marked.ce.best));
        t.u32("reported_lost", rows().map(|r| r.retransmits));
        t.f64("goodput_bps", rows().map(|r| r.goodput_bps()));
        t.f64("rtt_min_us", trips.iter().map(|trip| trip.of_sender(|r| Some(r.rtt()?.min_us))));
        t.f64("rtt_mean_us", trips.iter().map(|trip| trip.of_sender(|r| Some(r.rtt()?.mean_us))));
        t.f64("rtt_max_us", trips.iter().map(|trip| trip.of_sender(|r| Some(r.rtt()?.max_us))));
        t.f64(
            "marked_rtt_min_us",
            trips.iter().map(|trip| trip.of_sender(|r| Some(r.rare().marked_rtt?.min_us))),
        );
        t.f64("queue_delay_us", trips.iter().map(Trip::queue_us));
        t.u64("inflight_max_bytes", trips.iter().map(|trip| trip.of_sender(|r| Some(r.inflight_max_bytes))));
        t.u32(
            "inflight_max_packets",
            trips.iter().map(|trip| trip.of_sender(|r| Some(r.inflight_max_packets))),
        );
        let controlled = || trips.iter().map(Trip::controlled);
        t.f64("alpha", controlled().map(|state| Some(f64::from(state?.alpha))));
        t.u32("window_packets", controlled().map(|state| Some(state?.window)));
        t.f64("pacing_bps", controlled().map(|state| Some(f64::from(state?.rate_bps))));
        t.u32("reductions", controlled().map(|state| Some(state?.reductions)));
        t.u32("empty_reductions", controlled().map(|state| Some(state?.by_nothing)));
    })
}
