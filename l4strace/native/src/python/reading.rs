//! Files as Python sees them: header walk, decode, decompressed chunks, and writing zstd and gzip.

use std::fs::File;
use std::io::{self, Write};

use flate2::write::GzEncoder;
use flate2::Compression;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::errors::input_error;
use crate::read::{self, ReadError, Source};

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Chunks>()?;
    m.add_function(wrap_pyfunction!(walk, m)?)?;
    m.add_function(wrap_pyfunction!(decode, m)?)?;
    m.add_function(wrap_pyfunction!(read_text, m)?)?;
    m.add_function(wrap_pyfunction!(gzip, m)?)?;
    m.add_function(wrap_pyfunction!(compress_zst, m)?)
}

/// Steps over the records of a capture: (records, bytes read). The unit of the benchmark.
#[pyfunction]
fn walk(py: Python<'_>, path: &str) -> PyResult<(u64, u64)> {
    let walked = py.detach(|| {
        let mut stream = read::open(path)?;
        stream.walk()?;
        Ok((stream.info().records, stream.info().bytes))
    });
    walked.map_err(|e| input_error(py, &e))
}

/// Decodes a capture and drops every packet: the number of TCP packets.
#[pyfunction]
fn decode(py: Python<'_>, path: &str) -> PyResult<u64> {
    let decoded = py.detach(|| {
        let mut stream = read::open(path)?;
        let mut packets = 0;
        stream.for_each(|batch| packets += batch.iter().filter(|p| p.frame > 0).count() as u64)?;
        Ok(packets)
    });
    decoded.map_err(|e| input_error(py, &e))
}

/// Chunks of a file, decompressed where it is gz, xz or zst; `-` is standard input.
#[pyfunction]
fn read_text(py: Python<'_>, path: &str) -> PyResult<Chunks> {
    let source = py.detach(|| Source::open(path)).map_err(|e| input_error(py, &e))?;
    Ok(Chunks { source, error: None, buffer: vec![0; 256 * 1024], ended: false })
}

/// Iterator of bytes. A file that breaks off ends the iteration and says so in `error`.
#[pyclass(module = "l4strace._native")]
struct Chunks {
    source: Source,
    error: Option<String>,
    buffer: Vec<u8>,
    ended: bool,
}

#[pymethods]
impl Chunks {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        if self.ended {
            return None;
        }
        let (source, buffer) = (&mut self.source, &mut self.buffer);
        match py.detach(|| source.read(buffer)) {
            Ok(0) => self.ended = true,
            Ok(n) => return Some(PyBytes::new(py, &self.buffer[..n])),
            Err(error) => {
                self.error = Some(read::reason(&error));
                self.ended = true;
            }
        }
        None
    }

    /// `gz`, `xz`, `zst` or None.
    #[getter]
    fn compression(&self) -> Option<&'static str> {
        self.source.compression
    }

    /// Bytes read so far, before decompression.
    #[getter]
    fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    /// Why the input broke off, once iteration has ended; None when it was read to its end.
    #[getter]
    fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }
}

/// Writes `source` as zstd to `target`: (bytes in, bytes out).
#[pyfunction]
#[pyo3(signature = (source, target, level=3))]
fn compress_zst(py: Python<'_>, source: &str, target: &str, level: i32) -> PyResult<(u64, u64)> {
    let written = py.detach(|| {
        let said = |path: &str, e: io::Error| ReadError::new(path, read::reason(&e));
        let mut input = File::open(source).map_err(|e| said(source, e))?;
        let output = File::create(target).map_err(|e| said(target, e))?;
        let mut encoder = zstd::Encoder::new(output, level).map_err(|e| said(target, e))?;
        let read = io::copy(&mut input, &mut encoder).map_err(|e| said(target, e))?;
        let output = encoder.finish().map_err(|e| said(target, e))?;
        let size = output.metadata().map_err(|e| said(target, e))?.len();
        Ok((read, size))
    });
    written.map_err(|e| input_error(py, &e))
}

/// Text as gzip (no name, no time: the same text gives the same bytes).
#[pyfunction]
fn gzip<'py>(py: Python<'py>, text: &str, level: u32) -> PyResult<Bound<'py, PyBytes>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(text.as_bytes())?;
    Ok(PyBytes::new(py, &encoder.finish()?))
}
