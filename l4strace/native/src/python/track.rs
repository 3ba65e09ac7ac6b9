//! `track()`: captures in, the tables of the Capture stage out.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::errors::input_error;
use super::pairing;
use super::track_tables::{self, Capture};
use crate::pair::Offset;
use crate::read::{self, ReadError};
use crate::track::{unify, Member, Tracker};

/// Buffers (256 KiB each) between two calls of the progress function.
const REPORT_EVERY: u32 = 32;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(track, m)?)
}

/// Reads captures once and returns the tables sources, flows, directions, rounds, paths and stats.
///
/// `progress(read, total)` is called now and then with bytes of all files (`total` 0 when unknown);
/// when it returns False, reading ends as if the files ended there.
#[pyfunction]
#[pyo3(signature = (paths, progress=None))]
fn track<'py>(
    py: Python<'py>,
    paths: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut meter = Meter::new(&paths, progress);
    let mut captures = Vec::with_capacity(paths.len());
    for path in &paths {
        captures.push(follow(py, path, &mut meter)?);
    }
    let members: Vec<Vec<Member>> = captures.iter().map(Capture::members).collect();
    let numbers = unify(&members);
    let paths = pairing::pair(py, &mut captures, &numbers)?;
    track_tables::tables(py, &captures, &numbers, &paths)
}

fn follow(py: Python<'_>, path: &str, meter: &mut Meter) -> PyResult<Capture> {
    let mut stream = py.detach(|| read::open(path)).map_err(|e| input_error(py, &e))?;
    let mut tracker = Tracker::default();
    loop {
        let more = py.detach(|| -> Result<bool, ReadError> {
            for _ in 0..REPORT_EVERY {
                if !stream.next_batch(&mut |packets| tracker.packets(packets))? {
                    return Ok(false);
                }
            }
            Ok(true)
        });
        let more = more.map_err(|e| input_error(py, &e))?;
        if !meter.report(py, stream.progress().read)? || !more {
            break;
        }
    }
    meter.done += stream.progress().read;
    tracker.finish();
    Ok(Capture {
        info: stream.info().clone(),
        losses: stream.stats().rows(),
        tracker,
        clock: Offset::default(),
        delays: Vec::new(),
    })
}

/// Tells a caller how far reading has come.
struct Meter {
    function: Option<Py<PyAny>>,
    done: u64,
    total: u64,
}

impl Meter {
    fn new(paths: &[String], function: Option<Py<PyAny>>) -> Self {
        let sizes = paths.iter().map(|path| std::fs::metadata(path).map_or(0, |m| m.len()));
        Meter { function, done: 0, total: sizes.sum() }
    }

    /// False when the caller wants to stop; an exception of the caller, or Ctrl-C, is passed on.
    fn report(&self, py: Python<'_>, read: u64) -> PyResult<bool> {
        py.check_signals()?;
        let Some(function) = &self.function else { return Ok(true) };
        let said = function.call1(py, (self.done + read, self.total))?;
        Ok(said.is_none(py) || said.is_truthy(py)?)
    }
}
