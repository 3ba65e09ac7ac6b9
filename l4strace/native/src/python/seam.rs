//! How native work is called from Python: without the interpreter's lock, and with every failure as an
//! exception. Nothing that happens here may end the process or escape `except Exception`.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::read::ReadError;

pyo3::create_exception!(
    _native,
    InternalError,
    PyRuntimeError,
    "A bug of the native part (a Rust panic): one line, with file and line of the source."
);

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    panic::set_hook(Box::new(note));
    m.add("InternalError", m.py().get_type::<InternalError>())?;
    m.add_function(wrap_pyfunction!(_panic, m)?)
}

/// Panics as a bug would; for the test that this becomes an `InternalError`.
#[pyfunction]
fn _panic(py: Python<'_>, message: &str) -> PyResult<()> {
    native(py, || -> Result<(), ReadError> { panic!("{message}") })
}

/// Why native work did not come to its end.
pub enum Failed {
    Input(ReadError),
    /// The caller's own exception, or Ctrl-C.
    Python(PyErr),
}

impl From<ReadError> for Failed {
    fn from(error: ReadError) -> Self {
        Failed::Input(error)
    }
}

impl From<PyErr> for Failed {
    fn from(error: PyErr) -> Self {
        Failed::Python(error)
    }
}

/// Runs native work while other Python threads go on.
pub fn native<T: Send, E: Into<Failed> + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    let done = caught(|| Ok(py.detach(work)))?;
    done.map_err(|error| match error.into() {
        Failed::Input(error) => input_error(py, &error),
        Failed::Python(error) => error,
    })
}

/// Runs work that a bug may end: a panic becomes an `InternalError`.
pub fn caught<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    // What a panic left behind is dropped with the object that it belongs to.
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(internal_error(&*payload)))
}

/// `l4strace.errors.InputError`, with exit code 3 on the command line.
fn input_error(py: Python<'_>, error: &ReadError) -> PyErr {
    let class = py.import("l4strace.errors").and_then(|module| module.getattr("InputError"));
    match class.and_then(|class| class.call1((error.to_string(),))) {
        Ok(value) => PyErr::from_value(value),
        Err(import) => import,
    }
}

/// Where the last panic arose, on whatever thread: that of a helper ends the work of its caller.
static PLACE: Mutex<Option<String>> = Mutex::new(None);

fn place() -> MutexGuard<'static, Option<String>> {
    PLACE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Instead of Rust's lines on stderr: the exception has it all.
fn note(info: &PanicHookInfo<'_>) {
    let found = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
    *place() = found;
}

fn internal_error(payload: &(dyn Any + Send)) -> PyErr {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
    let place = place().take().unwrap_or_else(|| "an unknown place".into());
    InternalError::new_err(format!("{} at {place}", text.replace('\n', " ")))
}
