//! Files as Python sees them: header walk, decode, decompressed chunks, and gzip of text.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::seam::{caught, native};
use crate::read::{self, Input, ReadError};
use crate::write;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Chunks>()?;
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
        stream.for_each(|batch| packets += batch.iter().filter(|p| p.frame > 0).count() as u64)?;
        Ok::<_, ReadError>(packets)
    })
}

/// Chunks of a file, decompressed where it is gz, xz or zst; `-` is standard input.
#[pyfunction]
fn read_text(py: Python<'_>, path: &str) -> PyResult<Chunks> {
    native(py, || read::Chunks::open(&Input::from(path))).map(Chunks)
}

/// Iterator of bytes. A file that breaks off ends the iteration and sets `error`.
#[pyclass(module = "l4strace._native")]
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

/// Text as gzip (no name, no time: the same text gives the same bytes).
#[pyfunction]
fn gzip<'py>(py: Python<'py>, text: &str, level: u32) -> PyResult<Bound<'py, PyBytes>> {
    caught(|| Ok(PyBytes::new(py, &write::gzip(text, level)?)))
}
