//! `track()`: captures in, the tables of the Capture stage out.

use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::room;
use super::seam::{caught, native, Failed};
use super::tables;
use crate::read::Input;
use crate::read::ReadError;
use crate::run::{run_with, Watcher};
use crate::track::{Dissected, Threads, DISSECTED_FIELDS};

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Dissection>()?;
    m.add_function(wrap_pyfunction!(track, m)?)
}

/// What a dissector that has the keys shows of the QUIC packets of one capture, as text with a line for each.
#[pyclass(module = "l4strace.core._native")]
#[derive(Default)]
struct Dissection(Dissected);

#[pymethods]
impl Dissection {
    /// What stands in a line: names of Wireshark, in their order. Tabs part fields, and commas the values of one.
    #[classattr]
    #[allow(non_snake_case)]
    fn FIELDS() -> Vec<&'static str> {
        DISSECTED_FIELDS.to_vec()
    }

    #[new]
    fn new() -> Self {
        Dissection::default()
    }

    fn feed(&mut self, py: Python<'_>, text: &[u8]) -> PyResult<()> {
        let dissected = &mut self.0;
        native(py, || {
            dissected.feed(text);
            Ok::<_, ReadError>(())
        })
    }

    /// Datagrams whose packet numbers are known.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Datagrams that were too many.
    #[getter]
    fn left_out(&self) -> u64 {
        self.0.left_out
    }
}

/// Reads captures once and returns the tables sources, flows, directions, rounds, paths and stats.
///
/// `progress(read, total)` is called at most every [`OFTEN`] with bytes of all files (`total` 0 when unknown);
/// when it returns False, reading ends as if the files ended there. `threads` is how many at most track
/// (default: one for each processor); the tables do not depend on it. `dissected`: of the first captures, as many as it
/// has; they are empty then.
#[pyfunction]
#[pyo3(signature = (paths, progress=None, threads=None, dissected=Vec::new()))]
fn track<'py>(
    py: Python<'py>,
    paths: Vec<String>,
    progress: Option<Py<PyAny>>,
    threads: Option<usize>,
    dissected: Vec<Bound<'py, Dissection>>,
) -> PyResult<Bound<'py, PyDict>> {
    let inputs: Vec<Input> = paths.into_iter().map(Input::Path).collect();
    let threads = threads.map_or_else(Threads::default, Threads::most);
    let mut watcher = Progress { function: progress, last: None, wanted: true };
    let dissected = dissected.iter().map(|one| std::mem::take(&mut one.borrow_mut().0)).collect();
    let mut run = native(py, || run_with(&inputs, dissected, threads, &mut watcher))?;
    let tables = caught(|| tables::all(py, &mut run, threads.most));
    py.detach(|| {
        drop(run);
        room::give_back();
    });
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
