//! The `sources` and `stats` tables.

use pyo3::prelude::*;

use super::arrow::{ArrowTable, Columns};
use crate::decode::link;
use crate::run::Capture;
use crate::stats::StatRow;

pub fn table(captures: &[Capture]) -> PyResult<ArrowTable> {
    let infos = || captures.iter().map(|c| &c.info);
    let mut t = Columns::default();
    t.u16("source", (0..captures.len()).map(|i| i as u16));
    t.str("path", infos().map(|i| Some(i.path.as_str())));
    t.str("kind", infos().map(|i| Some(i.kind.name())));
    t.str("compression", infos().map(|i| i.compression));
    t.str("link_types", infos().map(|i| Some(link_types(&i.link_types))));
    t.u32("snaplen", infos().map(|i| i.snaplen));
    t.u32("resolution_ns", infos().map(|i| i.resolution_ns));
    t.u64("records", infos().map(|i| i.records));
    t.u64("tcp_packets", infos().map(|i| i.tcp_packets));
    t.u64("udp_packets", infos().map(|i| i.udp_packets));
    t.u64("bytes", infos().map(|i| i.bytes));
    t.i64("first_ns", infos().map(|i| i.first_ns));
    t.i64("last_ns", infos().map(|i| i.last_ns));
    t.bool("complete", infos().map(|i| i.complete));
    t.str("clock", infos().map(|_| Some("realtime")));
    t.i64("clock_offset_ns", captures.iter().map(|c| c.clock.ns.saturating_neg()));
    t.i64("clock_residual_ns", captures.iter().map(|c| c.clock.uncertainty_ns));
    let apart = || captures.iter().map(|c| c.apart.as_ref());
    t.str("interface_behind", apart().map(|a| Some(a?.behind.name())));
    t.str("interface_ahead", apart().map(|a| Some(a?.ahead.name())));
    t.i64("interfaces_apart_lo_ns", apart().map(|a| Some(a?.least_ns)));
    t.i64("interfaces_apart_hi_ns", apart().map(|a| Some(a?.most_ns)));
    t.u64("interfaces_compared", apart().map(|a| Some(a?.packets)));
    t.str("sha256", infos().map(|_| None::<&str>));
    t.str("comment", infos().map(|i| i.comment.as_deref()));
    t.finish()
}

/// Link types as libpcap names them.
fn link_types(types: &[u32]) -> String {
    types.iter().map(|&t| link::name(t)).collect::<Vec<_>>().join(",")
}

pub fn stats(captures: &[Capture]) -> PyResult<ArrowTable> {
    let of = |(source, capture): (usize, &Capture)| {
        capture.stats().into_iter().map(move |row| (source as u16, row)).collect::<Vec<_>>()
    };
    let rows: Vec<(u16, StatRow)> = captures.iter().enumerate().flat_map(of).collect();
    let mut t = Columns::default();
    t.u16("source", rows.iter().map(|r| r.0));
    t.str("name", rows.iter().map(|r| Some(r.1.name)));
    t.u64("count", rows.iter().map(|r| r.1.count));
    t.str("severity", rows.iter().map(|r| Some(r.1.severity)));
    t.str("detail", rows.iter().map(|r| r.1.detail.as_deref()));
    t.finish()
}
