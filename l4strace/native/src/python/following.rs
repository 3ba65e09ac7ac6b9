//! `Follower`: a capture that still grows, tracked piece by piece.

use std::fs::File;
use std::io::Read;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::errors::input_error;
use super::track_tables::{self, Capture};
use crate::pair::Offset;
use crate::read::{self, Decoder, ReadError, SourceInfo};
use crate::track::Tracker;

/// Bytes read at once.
const PIECE: u64 = 1 << 22;
/// As many as tell the format of a file.
const START: usize = 24;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Follower>()
}

/// A plain pcap or pcapng file that something else is writing.
#[pyclass(module = "l4strace._native")]
pub struct Follower {
    path: String,
    file: File,
    decoder: Option<Decoder>,
    /// Read but not yet a whole record.
    held: Vec<u8>,
    /// Bytes to come that the decoder does not want to see.
    skip: u64,
    ended: bool,
    capture: Capture,
}

#[pymethods]
impl Follower {
    #[new]
    fn new(py: Python<'_>, path: &str) -> PyResult<Self> {
        let said = |e: std::io::Error| input_error(py, &ReadError::new(path, read::reason(&e)));
        let file = File::open(path).map_err(said)?;
        let capture = Capture {
            info: SourceInfo { path: path.to_owned(), ..SourceInfo::default() },
            losses: Vec::new(),
            tracker: Tracker::default(),
            clock: Offset::default(),
            delays: Vec::new(),
        };
        let path = path.to_owned();
        Ok(Follower { path, file, decoder: None, held: Vec::new(), skip: 0, ended: false, capture })
    }

    /// Tracks what was added since the last call. The tables are those of `track`; `rounds` holds only
    /// the rounds that ended since the last call, so that memory does not grow with time.
    fn poll<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        py.detach(|| self.read_on()).map_err(|e| input_error(py, &e))?;
        self.capture.tracker.flush();
        if let Some(decoder) = &self.decoder {
            self.capture.info = decoder.info.clone();
            self.capture.info.path.clone_from(&self.path);
            self.capture.losses = decoder.stats.rows();
        }
        let flows = self.capture.tracker.flows.len() as u32;
        let numbers = [(0..flows).collect::<Vec<u32>>()];
        let tables = track_tables::tables(py, std::slice::from_ref(&self.capture), &numbers, &[]);
        self.capture.tracker.forget_rounds();
        tables
    }
}

impl Follower {
    fn read_on(&mut self) -> Result<(), ReadError> {
        while !self.ended {
            let before = self.held.len();
            let file = &mut self.file;
            let got = file.take(PIECE).read_to_end(&mut self.held);
            let got = got.map_err(|e| ReadError::new(&self.path, read::reason(&e)))?;
            let skipped = self.skip.min(got as u64);
            self.held.drain(before..before + skipped as usize);
            self.skip -= skipped;
            self.consume()?;
            if got == 0 {
                break;
            }
        }
        Ok(())
    }

    fn consume(&mut self) -> Result<(), ReadError> {
        if self.decoder.is_none() {
            if self.held.len() < START {
                return Ok(());
            }
            let decoder = Decoder::new(&self.held[..START]);
            self.decoder = Some(decoder.map_err(|why| ReadError::new(&self.path, why))?);
        }
        let Some(decoder) = &mut self.decoder else { return Ok(()) };
        let tracker = &mut self.capture.tracker;
        let (done, wanted) = decoder.feed(&self.held, &mut |packets| tracker.packets(packets));
        let here = done.min(self.held.len() as u64);
        self.held.drain(..here as usize);
        self.skip += done - here;
        self.ended = wanted.is_none();
        Ok(())
    }
}
