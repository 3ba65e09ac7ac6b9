//! `track()`: captures in, the tables of the Capture stage out.

use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::room;
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
/// `progress(read, total)` is called at most every [`OFTEN`] with bytes of all files (`total` 0 when unknown);
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
    let mut watcher = Progress { function: progress, last: None, wanted: true };
    let mut run = native(py, || run(&inputs, threads, &mut watcher))?;
    let tables = caught(|| tables::all(py, &mut run, threads.most));
    py.detach(|| room::drop_all(run));
    tables
}

/// Time between two calls of Python: each waits for its lock, which another thread may hold for 5 ms.
const OFTEN: Duration = Duration::from_millis(50);

/// Reports to a caller how far reading has come; an exception of the caller, or Ctrl-C, is passed on.
struct Progress {
    function: Option<Py<PyAny>>,
    /// When Python was called last.
    last: Option<Instant>,
    /// The caller has not said that it wants no more.
    wanted: bool,
}

impl Progress {
    fn due(&mut self) -> bool {
        let due = self.last.is_none_or(|last| last.elapsed() >= OFTEN);
        if due {
            self.last = Some(Instant::now());
        }
        due
    }
}

impl Watcher for Progress {
    type Error = Failed;

    /// False when the caller wants to stop.
    fn progress(&mut self, read: u64, total: u64) -> Result<bool, Failed> {
        if self.wanted && self.due() {
            self.wanted = Python::attach(|py| {
                py.check_signals()?;
                let Some(function) = &self.function else { return Ok::<_, Failed>(true) };
                let answer = function.call1(py, (read, total))?;
                Ok(answer.is_none(py) || answer.is_truthy(py)?)
            })?;
        }
        Ok(self.wanted)
    }

    fn pause(&mut self) -> Result<(), Failed> {
        if self.due() {
            Python::attach(|py| py.check_signals())?;
        }
        Ok(())
    }
}
