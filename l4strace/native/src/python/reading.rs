//! Files as Python sees them: header walk, decode, decompressed chunks, and gzip of text.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::seam::{caught, native};
use crate::packet::Packet;
use crate::read::{self, Input, ReadError, Step};
use crate::write;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Chunks>()?;
    m.add_class::<Lines>()?;
    m.add_class::<Block>()?;
    m.add_function(wrap_pyfunction!(walk, m)?)?;
    m.add_function(wrap_pyfunction!(decode, m)?)?;
    m.add_function(wrap_pyfunction!(read_text, m)?)?;
    m.add_function(wrap_pyfunction!(gzip, m)?)
}

/// Steps over the records of a capture: (records, bytes read). The unit of the benchmark.
#[pyfunction]
fn walk(py: Python<'_>, path: &str) -> PyResult<(u64, u64)> {
    native(py, || {
        let mut stream = read::open(&Input::from(path))?;
        stream.walk()?;
        Ok::<_, ReadError>((stream.info().records, stream.info().bytes))
    })
}

/// Decodes a capture and drops every packet: the number of TCP packets.
#[pyfunction]
fn decode(py: Python<'_>, path: &str) -> PyResult<u64> {
    native(py, || {
        let mut stream = read::open(&Input::from(path))?;
        let mut packets = 0;
        stream.for_each(|batch: &[Packet]| packets += batch.iter().filter(|p| p.frame > 0).count() as u64)?;
        Ok::<_, ReadError>(packets)
    })
}

/// Chunks of a file, decompressed where it is gz, xz or zst; `-` is standard input.
#[pyfunction]
fn read_text(py: Python<'_>, path: &str) -> PyResult<Chunks> {
    native(py, || read::Chunks::open(&Input::from(path))).map(Chunks)
}

/// Iterator of bytes. A file that breaks off ends the iteration and sets `error`.
#[pyclass(module = "l4strace.core._native")]
struct Chunks(read::Chunks);

#[pymethods]
impl Chunks {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let chunks = &mut self.0;
        let piece = native(py, || Ok::<_, ReadError>(chunks.next()))?;
        Ok(piece.map(|piece| PyBytes::new(py, piece)))
    }

    /// `gz`, `xz`, `zst` or None.
    #[getter]
    fn compression(&self) -> Option<&'static str> {
        self.0.compression()
    }

    /// Bytes read so far, before decompression.
    #[getter]
    fn bytes_read(&self) -> u64 {
        self.0.bytes_read()
    }

    /// Why the input broke off, once iteration has ended; None when it was read to its end.
    #[getter]
    fn error(&self) -> Option<&str> {
        self.0.error.as_deref()
    }
}

/// Iterator of blocks of whole lines, one for every `least` bytes that are read; lines that have not ended after
/// `longest` bytes are left out and counted in `long`. A file that breaks off ends the iteration and sets `error`.
#[pyclass(module = "l4strace.core._native")]
struct Lines {
    lines: read::Lines,
    buffers: Buffers,
}

#[pymethods]
impl Lines {
    #[new]
    fn new(py: Python<'_>, path: &str, least: usize, longest: usize) -> PyResult<Self> {
        let lines = native(py, || read::Lines::open(&Input::from(path), least, longest))?;
        Ok(Lines { lines, buffers: Buffers::default() })
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Block>> {
        loop {
            let lines = &mut self.lines;
            let some = || (0..STEPS).map(|_| lines.step()).find(|step| *step != Step::More);
            match native(py, || Ok::<_, ReadError>({ some }()))? {
                Some(Step::Block) => break,
                Some(_) => return Ok(None),
                None => py.check_signals()?,
            }
        }
        let text = self.lines.block(self.buffers.take());
        Ok(Some(Block { text, from: 0, buffers: self.buffers.clone() }))
    }

    #[getter]
    fn long(&self) -> u64 {
        self.lines.long
    }

    /// As of [`Chunks`].
    #[getter]
    fn compression(&self) -> Option<&'static str> {
        self.lines.chunks.compression()
    }

    #[getter]
    fn bytes_read(&self) -> u64 {
        self.lines.chunks.bytes_read()
    }

    #[getter]
    fn error(&self) -> Option<&str> {
        self.lines.chunks.error.as_deref()
    }
}

/// Pieces of some 256 kB that are read before a look at signals: a line may have no end.
const STEPS: usize = 64;

/// Buffers that no block holds any more: a new one costs more to get than to fill.
#[derive(Clone, Default)]
struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

impl Buffers {
    fn take(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn give_back(&self, buffer: Vec<u8>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }
}

/// Some lines.
#[pyclass(module = "l4strace.core._native")]
pub struct Block {
    text: Vec<u8>,
    /// Where what is left of them begins.
    from: usize,
    buffers: Buffers,
}

impl Block {
    pub fn text(&self) -> &[u8] {
        &self.text[self.from..]
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.buffers.give_back(std::mem::take(&mut self.text));
    }
}

#[pymethods]
impl Block {
    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.text())
    }

    /// Takes the first line out, and returns it without its end.
    fn first_line<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let text = &self.text[self.from..];
        let length = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
        let line = PyBytes::new(py, &text[..length]);
        self.from = self.text.len().min(self.from + length + 1);
        line
    }
}

/// Text as gzip (no name, no time: the same text gives the same bytes).
#[pyfunction]
fn gzip<'py>(py: Python<'py>, text: &str, level: u32) -> PyResult<Bound<'py, PyBytes>> {
    caught(|| Ok(PyBytes::new(py, &write::gzip(text, level)?)))
}
