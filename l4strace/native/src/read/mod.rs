//! Files, pipes and compressed streams -> decoded TCP packets, at streaming cost and in bounded memory.
//!
//! ```ignore
//! let mut stream = read::open(&Input::from("run.pcap.xz"))?;
//! stream.for_each(|packets| tracker.packets(packets))?;
//! let (info, stats) = (stream.info(), stream.stats());
//! ```

mod chunks;
mod decoder;
mod error;
mod fragments;
mod info;
mod input;
mod lines;
pub(crate) mod pcap;
pub(crate) mod pcapng;
pub(crate) mod record;
mod resolution;
mod source;
mod stream;
pub(crate) mod window;

pub use chunks::Chunks;
pub use decoder::{Decoder, Next};
pub use error::ReadError;
pub use info::{Kind, SourceInfo};
pub use input::Input;
pub use lines::{Lines, Step};
pub use source::{reason, Source};
pub use stream::{open, PacketStream};

/// How far reading has come, in bytes of the file as stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub read: u64,
    /// 0 for a pipe.
    pub total: u64,
}
