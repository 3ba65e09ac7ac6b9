//! The `acks` table, as far as packets show it.

use super::arrow::Columns;
use crate::followed::Row;
use crate::packet::Packet;
use crate::track::{Acked, CEB, E0B, E1B};

pub fn columns_of(rows: &[Row], source: u16) -> Columns {
    let mut columns = Columns::default();
    columns
        .u16("source", rows.iter().map(|_| source))
        .u64("frame", rows.iter().map(|row| row.packet.frame))
        .i64("ts_ns", rows.iter().map(|row| row.packet.ts_ns))
        .u32("flow", rows.iter().map(|row| row.place.map(|place| place.flow)))
        .bool("forward", rows.iter().map(|row| row.place.map(|place| !place.forward)))
        .u16("tcp_flags", rows.iter().map(|row| row.packet.flags))
        .i64("ack", rows.iter().map(ack))
        .u32("ack_raw", rows.iter().map(|row| row.packet.ack))
        .i64("acked_bytes", values(rows, |acked| Some(acked.bytes)))
        .f64("rtt_us", values(rows, |acked| acked.rtt_ns.map(|ns| ns as f64 / 1e3)))
        .u64("inflight_bytes", values(rows, |acked| acked.inflight.map(|flight| flight.0)))
        .u32("inflight_packets", values(rows, |acked| acked.inflight.map(|flight| flight.1)))
        .u64("window_bytes", rows.iter().map(|row| row.effect.window))
        .i64_lists("sack", rows.iter().map(edges))
        .u8("ace", rows.iter().map(|row| row.packet.ace()))
        .u8("ace_step", values(rows, |acked| acked.ace_step))
        .i64("ce_lo", values(rows, |acked| acked.ce.map(|ce| ce[0])))
        .i64("ce_hi", values(rows, |acked| acked.ce.map(|ce| ce[1])))
        .i64("ce_best", values(rows, |acked| acked.ce.map(|ce| ce[2])))
        .i64("e0b_bytes", values(rows, |acked| acked.counters[E0B]))
        .i64("ceb_bytes", values(rows, |acked| acked.counters[CEB]))
        .i64("e1b_bytes", values(rows, |acked| acked.counters[E1B]));
    columns
}

fn ack(row: &Row) -> Option<i64> {
    row.place?.ack
}

fn values<'a, T: 'a>(
    rows: &'a [Row],
    value: fn(&Acked) -> Option<T>,
) -> impl Iterator<Item = Option<T>> + Clone + 'a {
    rows.iter().map(move |row| row.effect.acked.as_ref().and_then(value))
}

/// SACK edges on the scale of `ack`.
fn edges(row: &Row) -> Option<impl Iterator<Item = i64> + '_> {
    let Packet { sack, ack: raw, .. } = &row.packet;
    let at = ack(row)?;
    let blocks = &sack.blocks[..usize::from(sack.count)];
    let edge = move |edge: u32| at + i64::from(edge.wrapping_sub(*raw) as i32);
    (!blocks.is_empty()).then(|| blocks.iter().flat_map(move |&(left, right)| [edge(left), edge(right)]))
}
