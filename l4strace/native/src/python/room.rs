//! Memory that goes back to the system once its owner is gone.

use pyo3::prelude::*;

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(give_back, m)?)
}

/// Gives back what was freed in many pieces. The allocator keeps small ones for itself, and what others allocate next
/// (polars has an allocator of its own) would come on top of them.
#[pyfunction]
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> i32;
        }
        // SAFETY: it takes any number, and frees no memory that is in use (malloc_trim(3)).
        unsafe { malloc_trim(0) };
    }
}
