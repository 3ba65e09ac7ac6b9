//! Text logs for Python: chunks in, Arrow tables out.

use std::iter::repeat_n;
use std::num::NonZeroI64;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::reading::Block;
use super::seam::{caught, native};
use super::tables::{ArrowTable, Columns};
use crate::read::ReadError;
use crate::text_logs::{Column, Kind, Reader, Records, Samples, Shape, Thinning, Values};

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<LogLines>()?;
    m.add_function(wrap_pyfunction!(records, m)?)?;
    m.add_function(wrap_pyfunction!(samples, m)?)
}

/// Rows that are read before they go to their columns: some 100 kB, which stay in the cache.
const ROWS: usize = 512;

/// One row for each line of `block` that is a JSON object, with those columns of `fields` (names and kinds: `int`,
/// `uint`, `float`, `bool`, `str`) that have a value in some line, or the first where none has. And how many lines
/// are no such object or do not fit.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as Python hands it over
fn records(
    py: Python<'_>,
    block: PyRef<'_, Block>,
    fields: Vec<(String, String)>,
) -> PyResult<(ArrowTable, u64)> {
    let (text, fields) = (block.text(), declared(fields)?);
    let (columns, unread) = native(py, || {
        let mut records = Records::new(fields);
        Ok::<_, ReadError>((columns(&mut records, text, |_| ()), records.unread))
    })?;
    Ok((Columns::joined(columns).finish()?, unread))
}

/// Samples; how many lines do not fit or have no time; how many are samples, and how many of those are thinned; and
/// notes, aggregates, losses and the trailer: what they are, and the line.
type Sampled<'py> = (ArrowTable, u64, u64, u64, Vec<(&'static str, Bound<'py, PyBytes>)>);

/// `tick_ns`, `events` and `watched` of a `Thinning`.
type Thinned = (NonZeroI64, Vec<String>, Vec<String>);

/// The samples of a kernel log among the records of `block`, with columns as of `records`.
#[pyfunction]
#[pyo3(signature = (block, fields, thinning=None))]
#[allow(clippy::needless_pass_by_value)] // as Python hands it over
fn samples<'py>(
    py: Python<'py>,
    block: PyRef<'py, Block>,
    fields: Vec<(String, String)>,
    thinning: Option<Thinned>,
) -> PyResult<Sampled<'py>> {
    let (text, fields) = (block.text(), declared(fields)?);
    let thinning = thinning.map(|(tick_ns, events, watched)| Thinning { tick_ns, events, watched });
    let (columns, unread, samples) = native(py, || {
        let mut records = Records::new(fields);
        let mut samples = Samples::of(&records, thinning);
        let columns = columns(&mut records, text, |records| samples.keep(records));
        Ok::<_, ReadError>((columns, records.unread, samples))
    })?;
    let last = samples.trailer.map(|line| ("trailer", line));
    let others = samples.others.into_iter().chain(last).map(|(kind, line)| (kind, PyBytes::new(py, line)));
    let (others, unread) = (others.collect(), unread + samples.timeless);
    Ok((Columns::joined(columns).finish()?, unread, samples.count, samples.thinned, others))
}

fn declared(fields: Vec<(String, String)>) -> PyResult<Vec<(String, Kind)>> {
    let fields: Result<_, _> = fields.into_iter().map(|(name, kind)| Ok((name, known(&kind)?))).collect();
    fields.map_err(|kind: String| PyValueError::new_err(format!("no such kind: {kind}")))
}

/// Tables of one column each, with the rows of `text` that `choose` leaves.
fn columns<'t>(
    records: &mut Records<'t>,
    text: &'t [u8],
    mut choose: impl FnMut(&mut Records<'t>),
) -> Vec<Columns> {
    let mut rest = text;
    let mut columns: Vec<Option<Columns>> = records.columns.iter().map(|_| None).collect();
    let (mut before, mut expected) = (0, 0);
    while !rest.is_empty() {
        records.some(&mut rest, ROWS);
        choose(records);
        let rows = records.rows;
        if before == 0 {
            // Estimated from the length of the first lines, rounded up.
            expected = rows * (text.len() / (text.len() - rest.len()).max(1) + 1);
        }
        for (column, (name, values)) in columns.iter_mut().zip(&mut records.columns) {
            if values.is_empty() && column.is_none() {
                continue;
            }
            let table = column.get_or_insert_with(|| begun(name, values, before, expected));
            add(table.again(), name, values, rows);
        }
        before += rows;
        records.clear();
    }
    if columns.iter().all(Option::is_none) {
        // One column must carry the number of rows.
        let first = columns.first_mut().zip(records.columns.first());
        first
            .into_iter()
            .for_each(|(column, (name, values))| *column = Some(begun(name, values, before, before)));
    }
    columns.into_iter().flatten().collect()
}

/// A column whose first rows have no value.
fn begun(name: &str, values: &Values, absent: usize, expected: usize) -> Columns {
    let mut column = Columns::of_rows(expected.max(absent));
    match values {
        Values::Int(_) => column.i64(name, repeat_n(None::<i64>, absent)),
        Values::Uint(_) => column.u64(name, repeat_n(None::<u64>, absent)),
        Values::Float(_) => column.f64(name, repeat_n(None::<f64>, absent)),
        Values::Bool(_) => column.bool(name, repeat_n(None::<bool>, absent)),
        Values::Text(_) => column.str(name, repeat_n(None::<&str>, absent)),
    };
    column
}

/// Moves the values of so many rows to their column.
fn add(column: &mut Columns, name: &str, values: &mut Values, rows: usize) {
    match values {
        Values::Int(values) => column.i64(name, padded(values, rows)),
        Values::Uint(values) => column.u64(name, padded(values, rows)),
        Values::Float(values) => column.f64(name, padded(values, rows)),
        Values::Bool(values) => column.bool(name, padded(values, rows)),
        Values::Text(values) => column.str(name, padded(values, rows)),
    };
}

fn padded<T: Clone>(values: &mut Vec<Option<T>>, rows: usize) -> impl Iterator<Item = Option<T>> + '_ {
    let lacking = rows - values.len();
    values.drain(..).chain(repeat_n(None, lacking))
}

fn known(kind: &str) -> Result<Kind, String> {
    Ok(match kind {
        "int" => Kind::Int,
        "uint" => Kind::Uint,
        "float" => Kind::Float,
        "bool" => Kind::Bool,
        "str" => Kind::Text,
        _ => return Err(kind.to_owned()),
    })
}

/// Reads one text log: `shape` is `event` (tracefs, trace-cmd, perf) or `fields` (bare key=value).
#[pyclass(module = "l4strace.core._native")]
struct LogLines(Reader);

#[pymethods]
impl LogLines {
    #[new]
    fn new(shape: &str) -> PyResult<Self> {
        let shape = match shape {
            "event" => Shape::Event,
            "fields" => Shape::Fields,
            _ => return Err(PyValueError::new_err(format!("no such shape: {shape}"))),
        };
        Ok(LogLines(Reader::new(shape)))
    }

    /// Takes a chunk; a table when enough rows have come together.
    fn feed(&mut self, py: Python<'_>, chunk: &[u8]) -> PyResult<Option<ArrowTable>> {
        let reader = &mut self.0;
        native(py, || {
            reader.feed(chunk);
            Ok::<_, ReadError>(())
        })?;
        if self.0.ready() {
            return caught(|| self.table());
        }
        Ok(None)
    }

    /// The rows that are left.
    fn finish(&mut self) -> PyResult<Option<ArrowTable>> {
        caught(|| {
            self.0.finish();
            self.table()
        })
    }

    /// `rows`, `unread`, `first_unread` (line, 0 when none) and `lost`, so far.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.0.counts();
        let out = PyDict::new(py);
        out.set_item("rows", counts.rows)?;
        out.set_item("unread", counts.unread)?;
        out.set_item("first_unread", counts.first_unread)?;
        out.set_item("lost", counts.lost)?;
        Ok(out)
    }
}

impl LogLines {
    fn table(&mut self) -> PyResult<Option<ArrowTable>> {
        let columns = self.0.take();
        if columns.is_empty() {
            return Ok(None);
        }
        let mut table = Columns::default();
        for (name, values) in columns {
            match values {
                Column::Int(values) => table.i64(&name, values.into_iter()),
                Column::Text(values) => table.str(&name, values.iter()),
            };
        }
        table.finish().map(Some)
    }
}
