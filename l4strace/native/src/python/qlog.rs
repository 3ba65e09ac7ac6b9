//! qlogs for Python: chunks in, samples, datagrams and traces out as Arrow tables.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::seam::{caught, native};
use super::tables::{ArrowTable, Columns};
use crate::read::ReadError;
use crate::text_logs::qlog::{json, Datagram, Piece, Pieces, Qlog, Sample};

/// Kind of a piece, and its text where that is JSON.
type Copied<'py> = (&'static str, Option<Bound<'py, PyBytes>>);

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<QlogReader>()?;
    m.add_class::<QlogPieces>()
}

/// Reads one qlog, whatever its form.
#[pyclass(module = "l4strace.core._native")]
#[derive(Default)]
struct QlogReader(Qlog);

#[pymethods]
impl QlogReader {
    #[new]
    fn new() -> Self {
        QlogReader::default()
    }

    /// Takes a chunk; samples when enough have come together.
    fn feed(&mut self, py: Python<'_>, chunk: &[u8]) -> PyResult<Option<ArrowTable>> {
        let reader = &mut self.0;
        native(py, || {
            reader.feed(chunk);
            Ok::<_, ReadError>(())
        })?;
        if self.0.ready() {
            return caught(|| samples(&self.0.take())).map(Some);
        }
        Ok(None)
    }

    /// The samples that are left.
    fn finish(&mut self) -> PyResult<ArrowTable> {
        caught(|| {
            self.0.finish();
            samples(&self.0.take())
        })
    }

    /// One row per connection: its header, its ends, and datagrams by codepoint.
    fn traces(&self) -> PyResult<ArrowTable> {
        caught(|| {
            let rows: Vec<_> = self.0.traces().collect();
            let mut table = Columns::of_rows(rows.len());
            table
                .u32("trace", 0..rows.len() as u32)
                .str("title", rows.iter().map(|(trace, ..)| trace.title.as_deref()))
                .str("vantage", rows.iter().map(|(trace, ..)| trace.vantage.as_deref()))
                .i64("reference_ns", rows.iter().map(|(trace, ..)| trace.reference_ns))
                .str("wall_clock", rows.iter().map(|(trace, ..)| trace.wall_clock.as_deref()));
            for (name, end) in [("local", 0), ("remote", 1)] {
                let ends = rows.iter().map(|(_, ends, _)| if end == 0 { &ends.local } else { &ends.remote });
                table
                    .str(name, ends.clone().map(|end| end.as_ref().map(|(host, _)| host)))
                    .u16(&format!("{name}_port"), ends.map(|end| end.as_ref().map(|&(_, port)| port)));
            }
            for (side, way) in ["received", "sent"].into_iter().enumerate() {
                for (at, codepoint) in ["not_ect", "ect1", "ect0", "ce"].into_iter().enumerate() {
                    table.u64(&format!("{way}_{codepoint}"), rows.iter().map(|row| row.2[side][at]));
                }
            }
            table.finish()
        })
    }

    /// The first datagrams of the log, or its packets where it has no datagrams.
    fn datagrams(&self) -> PyResult<ArrowTable> {
        let fill = |table: &mut Columns, rows: &[Datagram]| {
            table
                .u32("trace", rows.iter().map(|row| row.trace))
                .i64("time_ns", rows.iter().map(|row| row.time_ns))
                .bool("sent", rows.iter().map(|row| row.sent))
                .bool("packet", rows.iter().map(|row| row.packet))
                .u32("bytes", rows.iter().map(|row| row.bytes));
        };
        caught(|| Columns::blocks(self.0.datagrams(), fill).finish())
    }

    /// `events`, `unread`, `traces_left_out` and `whole`, so far.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.0.counts();
        let out = PyDict::new(py);
        out.set_item("events", counts.events)?;
        out.set_item("unread", counts.unread)?;
        out.set_item("traces_left_out", counts.traces_left_out)?;
        out.set_item("whole", counts.whole)?;
        Ok(out)
    }
}

fn samples(rows: &[Sample]) -> PyResult<ArrowTable> {
    let fill = |table: &mut Columns, rows: &[Sample]| {
        table
            .u32("trace", rows.iter().map(|row| row.trace))
            .i64("time_ns", rows.iter().map(|row| row.time_ns))
            .str("event", rows.iter().map(|row| Some(row.event)))
            .u64("cwnd_bytes", rows.iter().map(|row| row.cwnd_bytes))
            .u64("ssthresh_bytes", rows.iter().map(|row| row.ssthresh_bytes))
            .u64("in_flight_bytes", rows.iter().map(|row| row.in_flight_bytes))
            .u64("packets_in_flight", rows.iter().map(|row| row.packets_in_flight))
            .u64("packet_bytes", rows.iter().map(|row| row.packet_bytes))
            .f64("srtt_us", rows.iter().map(|row| row.srtt_us))
            .f64("mdev_us", rows.iter().map(|row| row.mdev_us))
            .f64("min_rtt_us", rows.iter().map(|row| row.min_rtt_us))
            .f64("latest_rtt_us", rows.iter().map(|row| row.latest_rtt_us))
            .f64("pacing_rate_bps", rows.iter().map(|row| row.pacing_rate_bps))
            .u64("delivered", rows.iter().map(|row| row.delivered))
            .u64("delivered_ect1", rows.iter().map(|row| row.ect1))
            .u64("delivered_ect0", rows.iter().map(|row| row.ect0))
            .u64("delivered_ce", rows.iter().map(|row| row.ce))
            .u64("lost", rows.iter().map(|row| row.lost))
            .f64("alpha", rows.iter().map(|row| row.alpha))
            .str("ecn_state", rows.iter().map(|row| row.ecn_state.as_deref()))
            .str("ecn_trigger", rows.iter().map(|row| row.ecn_trigger.as_deref()));
    };
    Columns::blocks(rows, fill).finish()
}

/// Splits a qlog into its headers, events and records.
#[pyclass(module = "l4strace.core._native")]
#[derive(Default)]
struct QlogPieces(Pieces);

#[pymethods]
impl QlogPieces {
    #[new]
    fn new() -> Self {
        QlogPieces::default()
    }

    /// The pieces that a chunk completes: `header`, `event` or `record`, and the JSON of each.
    fn feed<'py>(&mut self, py: Python<'py>, chunk: &[u8]) -> PyResult<Vec<Copied<'py>>> {
        caught(|| {
            let mut found = Vec::new();
            self.0.feed(chunk, &mut |piece| {
                let (kind, text) = match piece {
                    Piece::Header(text) => ("header", text),
                    Piece::Event(text) => ("event", text),
                    Piece::Record(text) => ("record", text),
                };
                found.push((kind, json(text).map(|_| PyBytes::new(py, text))));
            });
            Ok(found)
        })
    }

    /// False when a bracket is still open.
    fn finish(&mut self) -> bool {
        self.0.finish()
    }

    /// Pieces that were too long or broke off.
    #[getter]
    fn unread(&self) -> u64 {
        self.0.unread
    }
}
