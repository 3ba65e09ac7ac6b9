//! Redaction for Python: the address map, redacted captures, and packing what Python redacts.

use std::io;
use std::net::IpAddr;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::seam::native;
use crate::read::{Input, ReadError};
use crate::redact::{Map, Redactor, KEY};
use crate::write;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<AddressMap>()?;
    m.add_class::<RedactedCapture>()?;
    m.add_class::<Packer>()
}

fn map(key: &[u8]) -> PyResult<Map> {
    let key = <&[u8; KEY]>::try_from(key);
    key.map(Map::new).map_err(|_| PyValueError::new_err(format!("a key has {KEY} bytes")))
}

/// Prefix-preserving map of addresses under one key.
#[pyclass(module = "l4strace.core._native")]
struct AddressMap(Map);

#[pymethods]
impl AddressMap {
    #[new]
    fn new(key: &[u8]) -> PyResult<Self> {
        map(key).map(AddressMap)
    }

    /// An IPv4 or IPv6 address mapped; None for any other text.
    fn address(&self, text: &str) -> Option<String> {
        text.parse::<IpAddr>().ok().map(|address| self.0.ip(address).to_string())
    }

    /// The six bytes of an Ethernet address mapped.
    fn mac(&self, address: [u8; 6]) -> [u8; 6] {
        self.0.mac(address)
    }
}

/// Iterator over the bytes of a capture's redacted copy, compressed as the capture is.
#[pyclass(module = "l4strace.core._native")]
struct RedactedCapture(Redactor);

#[pymethods]
impl RedactedCapture {
    #[new]
    fn new(py: Python<'_>, path: &str, key: &[u8]) -> PyResult<Self> {
        let map = map(key)?;
        native(py, || Redactor::open(&Input::from(path), map)).map(RedactedCapture)
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let redactor = &mut self.0;
        let piece = native(py, || redactor.next())?;
        Ok(piece.map(|piece| PyBytes::new(py, &piece)))
    }

    /// (packets, packets of an unknown link type, which are empty in the copy), so far.
    #[getter]
    fn counts(&self) -> (u64, u64) {
        (self.0.counts.packets, self.0.counts.emptied)
    }

    /// (bytes read, size of the input or 0).
    #[getter]
    fn progress(&self) -> (u64, u64) {
        (self.0.bytes_read(), self.0.total())
    }
}

/// Compresses bytes as `gz`, `xz` or `zst`; None leaves them as they are.
#[pyclass(module = "l4strace.core._native")]
struct Packer(Option<write::Packer>);

#[pymethods]
impl Packer {
    #[new]
    fn new(compression: Option<&str>) -> PyResult<Self> {
        write::Packer::new(compression).map(|packer| Packer(Some(packer))).map_err(os_error)
    }

    /// Takes bytes; those that are compressed by now.
    fn add<'py>(&mut self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let packer = self.0.as_mut().ok_or_else(finished)?;
        let taken = native(py, || {
            let taken = packer.add(data).map(|()| packer.take());
            Ok::<_, ReadError>(taken)
        })?;
        taken.map(|taken| PyBytes::new(py, &taken)).map_err(os_error)
    }

    /// The rest; nothing can be added after it. ``cut`` leaves out the mark of a whole file.
    #[pyo3(signature = (cut=false))]
    fn finish<'py>(&mut self, py: Python<'py>, cut: bool) -> PyResult<Bound<'py, PyBytes>> {
        let packer = self.0.take().ok_or_else(finished)?;
        let rest = if cut { packer.cut() } else { packer.finish() };
        rest.map(|rest| PyBytes::new(py, &rest)).map_err(os_error)
    }
}

fn finished() -> PyErr {
    PyValueError::new_err("the packer is finished")
}

fn os_error(error: io::Error) -> PyErr {
    PyOSError::new_err(error.to_string())
}
