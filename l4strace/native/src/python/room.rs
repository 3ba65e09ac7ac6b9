//! Memory that goes back to the system once its owner is gone.

/// Drops `all`, which was in many pieces. The allocator keeps small ones for itself, and what others allocate next
/// (polars has an allocator of its own) would come on top of them.
pub fn drop_all<T>(all: T) {
    drop(all);
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> i32;
        }
        // SAFETY: it takes any number, and frees no memory that is in use (malloc_trim(3)).
        unsafe { malloc_trim(0) };
    }
}
