//! `track()`: captures in, the tables of the Capture stage out.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::seam::{caught, native, Failed};
use super::tables;
use crate::read::Input;
use crate::run::{run, Watcher};
use crate::track::Threads;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(track, m)?)
}

/// Reads captures once and returns the tables sources, flows, directions, rounds, paths and stats.
///
/// `progress(read, total)` is called now and then with bytes of all files (`total` 0 when unknown);
/// when it returns False, reading ends as if the files ended there. `threads` is how many at most track
/// (default: one for each processor); the tables do not depend on it.
#[pyfunction]
#[pyo3(signature = (paths, progress=None, threads=None))]
fn track<'py>(
    py: Python<'py>,
    paths: Vec<String>,
    progress: Option<Py<PyAny>>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let inputs: Vec<Input> = paths.into_iter().map(Input::Path).collect();
    let threads = threads.map_or_else(Threads::default, Threads::most);
    let run = native(py, || run(&inputs, threads, &mut Progress(progress)))?;
    caught(|| tables::all(py, &run))
}

/// Reports to a caller how far reading has come; an exception of the caller, or Ctrl-C, is passed on.
struct Progress(Option<Py<PyAny>>);

impl Watcher for Progress {
    type Error = Failed;

    /// False when the caller wants to stop.
    fn progress(&mut self, read: u64, total: u64) -> Result<bool, Failed> {
        self.pause()?;
        let Some(function) = &self.0 else { return Ok(true) };
        Python::attach(|py| {
            let answer = function.call1(py, (read, total))?;
            Ok(answer.is_none(py) || answer.is_truthy(py)?)
        })
    }

    fn pause(&mut self) -> Result<(), Failed> {
        Ok(Python::attach(|py| py.check_signals())?)
    }
}
