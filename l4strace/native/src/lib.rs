//! Per-packet work of l4strace: decode, tracking and replay. Everything but `python` is plain Rust.

pub mod packet;

#[cfg(feature = "python")]
mod python;
