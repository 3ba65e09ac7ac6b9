//! Files, pipes and compressed streams -> decoded packets, at streaming cost and in bounded memory.
//!
//! ```ignore
//! let mut stream = read::open(&Input::from("run.pcap.xz"))?;
//! stream.for_each(|packets: &[Packet]| tracker.packets(packets))?;
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

use crate::packet::Packet;

pub use chunks::Chunks;
pub use decoder::{Decoder, Next};
pub use error::ReadError;
pub use info::{Kind, SourceInfo};
pub use input::Input;
pub use lines::{Lines, Step};
pub use source::{reason, Source};
pub use stream::{open, PacketStream};

/// Takes what is decoded, in the order of the capture but for TCP packets, which come a few at once.
pub trait Sink {
    fn packets(&mut self, packets: &[Packet]);

    /// A UDP datagram, and what the capture holds of its payload.
    fn datagram(&mut self, packet: &Packet, payload: &[u8]) {
        let _ = (packet, payload);
    }
}

/// Takes TCP packets alone.
impl<F: FnMut(&[Packet])> Sink for F {
    #[inline]
    fn packets(&mut self, packets: &[Packet]) {
        self(packets);
    }
}

/// How far reading has come, in bytes of the file as stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub read: u64,
    /// 0 for a pipe.
    pub total: u64,
}
