//! Hints to the processor that memory will be needed soon.

const LINE: usize = 64;

/// Asks for the cache lines of `value`.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<u8>();
    for line in 0..size_of::<T>().div_ceil(LINE) {
        prefetch_line(start.wrapping_add(line * LINE));
    }
    // A value that begins within a line ends in one more.
    prefetch_line(start.wrapping_add(size_of::<T>() - 1));
}

#[inline(always)]
fn prefetch_line(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        // SAFETY: a hint, which reads nothing. It pays: plain loads in its place fill the reorder
        // buffer, and only a few of them overlap.
        unsafe { _mm_prefetch(at.cast(), _MM_HINT_T0) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
