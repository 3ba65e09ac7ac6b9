//! Per-packet work of l4strace: decode, tracking and replay. Everything but `python` is plain Rust.

pub mod acks;
pub mod chart;
pub mod datagrams;
pub mod decode;
pub mod digest;
pub mod evidence_packets;
pub mod followed;
pub mod maybe;
pub mod measure;
pub mod numbered;
pub mod packet;
pub mod pair;
pub mod prague;
pub mod read;
pub mod redact;
pub mod run;
pub mod stats;
pub mod text_logs;
pub mod thin;
pub mod track;
pub mod workers;
pub mod write;

#[cfg(feature = "python")]
mod python;
