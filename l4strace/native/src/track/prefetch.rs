//! Hints to the cache, for captures with so many flows that their state does not fit in it.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks for every line of a value.
#[inline]
pub fn prefetch<T>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<u8>();
    for offset in (0..std::mem::size_of::<T>()).step_by(LINE) {
        line(start.wrapping_add(offset));
    }
}

#[inline]
fn line(address: *const u8) {
    // SAFETY: a prefetch reads nothing that the program can see and cannot fault.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
