//! Text logs for Python: chunks in, Arrow tables out.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::seam::{caught, native};
use super::tables::{ArrowTable, Columns};
use crate::ktext::{Column, Kind, Reader, Records, Shape, Values};
use crate::read::ReadError;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<LogLines>()?;
    m.add_function(wrap_pyfunction!(records, m)?)
}

/// One row for each line of `text` that is a JSON object, with the columns of `fields`: names and kinds
/// (`int`, `uint`, `float`, `bool`, `str`). And how many lines are no such object or do not fit.
#[pyfunction]
fn records(py: Python<'_>, text: &[u8], fields: Vec<(String, String)>) -> PyResult<(ArrowTable, u64)> {
    let fields: Result<_, _> = fields.into_iter().map(|(name, kind)| Ok((name, known(&kind)?))).collect();
    let fields = fields.map_err(|kind: String| PyValueError::new_err(format!("no such kind: {kind}")))?;
    let found = native(py, || Ok::<_, ReadError>(Records::read(fields, text)))?;
    let (mut table, rows) = (Columns::of_rows(found.rows), found.rows);
    for (name, values) in found.columns {
        match values {
            Values::Int(values) => table.i64(&name, padded(values, rows)),
            Values::Uint(values) => table.u64(&name, padded(values, rows)),
            Values::Float(values) => table.f64(&name, padded(values, rows)),
            Values::Bool(values) => table.bool(&name, padded(values, rows)),
            Values::Text(values) => table.str(&name, padded(values, rows)),
        };
    }
    Ok((table.finish()?, found.unread))
}

fn padded<T: Clone>(values: Vec<Option<T>>, rows: usize) -> impl Iterator<Item = Option<T>> {
    let lacking = rows - values.len();
    values.into_iter().chain(std::iter::repeat_n(None, lacking))
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
#[pyclass(module = "l4strace._native")]
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
                Column::Text(values) => table.str(&name, values.into_iter()),
            };
        }
        table.finish().map(Some)
    }
}
