//! The `packets` table in batches: streamed on demand, never kept.

use std::collections::{BTreeSet, HashSet};

use pyo3::prelude::*;

use super::arrow::{ArrowTable, Columns};
use super::tunnel_name;
use crate::acks::Acks;
use crate::evidence_packets::{Found, Lookup, Search};
use crate::followed::{Followed, Row, Stretch};
use crate::numbered::{Numbering, Place};
use crate::packet::Packet;
use crate::python::given::Given;
use crate::python::seam::{caught, native};
use crate::read::{self, Input};
use crate::track::{Effect, Retrace, Seen};

/// Columns for which packets have to be followed.
const FOLLOWED: [&str; 2] = ["seen", "window_bytes"];

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Batches>()?;
    m.add_function(wrap_pyfunction!(packets, m)?)?;
    m.add_function(wrap_pyfunction!(acks, m)?)?;
    m.add_function(wrap_pyfunction!(proving, m)?)?;
    m.add_function(wrap_pyfunction!(first_acks, m)?)
}

/// `frames`, `flow`, `span_ns`, `losses`, `accecn` and `around` of a `Lookup`.
type Wanted = (HashSet<u64>, Option<u32>, Option<(i64, i64)>, bool, bool, usize);

/// `flows`, `span_ns` and `ends_behind` of a `Stretch`.
type OneStretch = (Option<BTreeSet<u32>>, Option<(i64, i64)>, Option<u64>);

/// Packets that lookups want, each with the number of its `lookup` and what changed before it.
///
/// `columns` and `starts` are as for `packets`; the rest is as in `evidence_packets::Search`.
#[pyfunction]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // as Python hands them over
fn proving(
    py: Python<'_>,
    path: &str,
    source: u16,
    starts: Vec<(u64, u32)>,
    columns: Vec<String>,
    lookups: Vec<Wanted>,
    codes: HashSet<u64>,
    offset_ns: i64,
) -> PyResult<ArrowTable> {
    let lookups = lookups.into_iter().map(|(frames, flow, span_ns, losses, accecn, around)| Lookup {
        frames,
        flow,
        span_ns,
        losses,
        accecn,
        around,
    });
    let mut search = Search {
        stream: native(py, || read::open(&Input::from(path)))?,
        numbering: Numbering::tracked(starts),
        lookups: lookups.collect(),
        codes,
        offset_ns,
        found: Vec::new(),
    };
    while native(py, || search.batch())? {
        py.check_signals()?;
    }
    let found = search.found;
    let row = |one: &Found| Row { packet: one.packet, place: one.place, effect: Effect::default() };
    let rows: Vec<Row> = found.iter().map(row).collect();
    caught(|| {
        let mut table = columns_of(&rows, source, &columns);
        table
            .u32("lookup", found.iter().map(|one| one.lookup))
            .u8("ace_before", found.iter().map(|one| one.changes.ace_before))
            .u32("ceb_before", found.iter().map(|one| one.changes.ceb_before))
            .bool("repeats", found.iter().map(|one| one.changes.repeats));
        table.finish()
    })
}

/// When acknowledgement numbers first passed: `flow`, `snd_una` and `packet_ns` of those of `wanted` (`flow` and
/// `snd_una`) that did, in its order.
///
/// `starts` is as for `packets`; `receivers` names the directions whose packets count, `most` how many packets of the
/// capture are read.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as Python hands them over
fn first_acks(
    py: Python<'_>,
    path: &str,
    starts: Vec<(u64, u32)>,
    receivers: Vec<(u32, bool)>,
    wanted: Given,
    most: u64,
) -> PyResult<ArrowTable> {
    let both = wanted.u32("flow")?.into_iter().zip(wanted.u32("snd_una")?);
    let wanted: Vec<(u32, u32)> = both.filter_map(|(flow, ack)| flow.zip(ack)).collect();
    let stream = native(py, || read::open(&Input::from(path)))?;
    let mut acks = Acks::new(stream, Retrace::new(starts), &receivers, &wanted, most);
    while native(py, || acks.batch())? {
        py.check_signals()?;
    }
    let seen = |&(flow, ack): &(u32, u32)| Some((flow, ack, acks.first_ns(flow, ack)?));
    let found: Vec<(u32, u32, i64)> = wanted.iter().filter_map(seen).collect();
    caught(|| {
        let mut table = Columns::of_rows(found.len());
        table
            .u32("flow", found.iter().map(|one| one.0))
            .u32("snd_una", found.iter().map(|one| one.1))
            .i64("packet_ns", found.iter().map(|one| one.2));
        table.finish()
    })
}

/// Batches of the `packets` table of one capture, as an iterator.
///
/// `starts` gives first frame and number of each conversation that tracking kept; without it they are
/// numbered in the order in which the capture shows them. `columns` names those to make; none: all. `stretches` (on the
/// capture's clock) choose among the packets.
#[pyfunction]
#[pyo3(signature = (path, source=0, starts=None, columns=Vec::new(), stretches=vec![(None, None, None)]))]
fn packets(
    py: Python<'_>,
    path: &str,
    source: u16,
    starts: Option<Vec<(u64, u32)>>,
    columns: Vec<String>,
    stretches: Vec<OneStretch>,
) -> PyResult<Batches> {
    let stream = native(py, || read::open(&Input::from(path)))?;
    let numbering = starts.map_or_else(Numbering::default, Numbering::tracked);
    let follow = columns.is_empty() || columns.iter().any(|name| FOLLOWED.contains(&name.as_str()));
    let followed = Followed::new(stream, numbering, follow, wanted(stretches));
    Ok(Batches { followed, table: Box::new(move |rows| columns_of(rows, source, &columns)) })
}

/// Batches of the `acks` table of one capture, as far as packets show it; the rest is as for `packets`.
#[pyfunction]
#[pyo3(signature = (path, source, starts, stretches=vec![(None, None, None)]))]
fn acks(
    py: Python<'_>,
    path: &str,
    source: u16,
    starts: Vec<(u64, u32)>,
    stretches: Vec<OneStretch>,
) -> PyResult<Batches> {
    let stream = native(py, || read::open(&Input::from(path)))?;
    let followed = Followed::new(stream, Numbering::tracked(starts), true, wanted(stretches)).acks();
    Ok(Batches { followed, table: Box::new(move |rows| super::acks::columns_of(rows, source)) })
}

fn wanted(stretches: Vec<OneStretch>) -> Vec<Stretch> {
    let sorted = |flows: BTreeSet<u32>| flows.into_iter().collect();
    let one = |(flows, span_ns, ends_behind): OneStretch| Stretch {
        flows: flows.map(sorted),
        span_ns,
        ends_behind,
    };
    stretches.into_iter().map(one).collect()
}

/// Makes the columns of a table.
type Table = Box<dyn Fn(&[Row]) -> Columns + Send + Sync>;

#[pyclass(module = "l4strace.core._native")]
struct Batches {
    followed: Followed,
    table: Table,
}

#[pymethods]
impl Batches {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// Of packets that are not wanted there are batches without rows: a signal is noticed meanwhile.
    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<ArrowTable>> {
        py.check_signals()?;
        let followed = &mut self.followed;
        match native(py, || followed.batch())? {
            Some(rows) => caught(|| (self.table)(&rows).finish()).map(Some),
            None => Ok(None),
        }
    }

    /// Bytes read so far and in total (0 for a pipe), for a progress bar.
    #[getter]
    fn progress(&self) -> (u64, u64) {
        let progress = self.followed.stream.progress();
        (progress.read, progress.total)
    }
}

fn columns_of(rows: &[Row], source: u16, wanted: &[String]) -> Columns {
    let mut columns = Columns::of(wanted);
    columns.u16("source", rows.iter().map(|_| source));
    record_columns(&mut columns, rows);
    columns
        .u32("flow", places(rows, |place| place.flow))
        .bool("forward", places(rows, |place| place.forward));
    network_columns(&mut columns, rows);
    transport_columns(&mut columns, rows);
    option_columns(&mut columns, rows);
    columns
        .str("seen", rows.iter().map(|row| row.effect.seen.map(Seen::name)))
        .u64("window_bytes", rows.iter().map(|row| row.effect.window));
    columns
}

/// A value of each packet's place; none where its conversation was not kept.
fn places<'a, T: 'a>(
    rows: &'a [Row],
    value: fn(&Place) -> T,
) -> impl Iterator<Item = Option<T>> + Clone + 'a {
    rows.iter().map(move |row| row.place.as_ref().map(value))
}

fn record_columns(columns: &mut Columns, rows: &[Row]) {
    columns
        .u64("frame", rows.iter().map(|row| row.packet.frame))
        .u64("offset", rows.iter().map(|row| row.packet.offset))
        .i64("ts_ns", rows.iter().map(|row| row.packet.ts_ns))
        .u32("captured_len", rows.iter().map(|row| row.packet.captured_len))
        .u32("wire_len", rows.iter().map(|row| row.packet.wire_len));
}

fn network_columns(columns: &mut Columns, rows: &[Row]) {
    columns
        .u8("ip_version", rows.iter().map(|row| row.packet.ip_version))
        .u8("ttl", rows.iter().map(|row| row.packet.ttl))
        .u8("dscp", rows.iter().map(|row| row.packet.dscp))
        .u8("ip_ecn", rows.iter().map(|row| row.packet.ip_ecn))
        .u8("outer_ecn", rows.iter().map(|row| row.packet.outer_ecn))
        .str("tunnel", rows.iter().map(|row| tunnel_name(row.packet.tunnel)))
        .u16("ip_id", rows.iter().map(|row| row.packet.ip_id));
}

fn transport_columns(columns: &mut Columns, rows: &[Row]) {
    columns
        .u16("tcp_flags", rows.iter().map(|row| row.packet.flags))
        .i64("seq", places(rows, |place| place.seq))
        .i64("ack", places(rows, |place| place.ack).map(Option::flatten))
        .u32("seq_raw", rows.iter().map(|row| row.packet.seq))
        .u32("ack_raw", rows.iter().map(|row| row.packet.ack))
        .u32("payload_len", rows.iter().map(|row| row.packet.payload_len))
        .u16("window", rows.iter().map(|row| row.packet.window))
        .u8("ace", rows.iter().map(|row| row.packet.ace()));
}

fn option_columns(columns: &mut Columns, rows: &[Row]) {
    columns
        .u8("accecn_kind", rows.iter().map(|row| row.packet.accecn.map(|o| o.kind)))
        .u16("accecn_exid", rows.iter().map(|row| row.packet.accecn.and_then(|o| o.exid)))
        .u8("accecn_len", rows.iter().map(|row| row.packet.accecn.map(|o| o.length)))
        .u32("e0b", rows.iter().map(|row| row.packet.accecn.and_then(|o| o.e0b)))
        .u32("ceb", rows.iter().map(|row| row.packet.accecn.and_then(|o| o.ceb)))
        .u32("e1b", rows.iter().map(|row| row.packet.accecn.and_then(|o| o.e1b)))
        .u16("mss", rows.iter().map(|row| row.packet.mss))
        .u8("wscale", rows.iter().map(|row| row.packet.wscale))
        .bool("sack_permitted", rows.iter().map(|row| row.packet.sack_permitted))
        .u32("tsval", rows.iter().map(|row| row.packet.timestamps.map(|t| t.0)))
        .u32("tsecr", rows.iter().map(|row| row.packet.timestamps.map(|t| t.1)))
        .u32_lists("sack", rows.iter().map(|row| sack_edges(&row.packet)));
}

fn sack_edges(packet: &Packet) -> Option<impl Iterator<Item = u32> + '_> {
    let blocks = &packet.sack.blocks[..usize::from(packet.sack.count)];
    (!blocks.is_empty()).then(|| blocks.iter().flat_map(|&(left, right)| [left, right]))
}
