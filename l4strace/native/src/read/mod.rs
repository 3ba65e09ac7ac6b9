//! Files, pipes and compressed streams -> decoded TCP packets, at streaming cost and in bounded memory.
//!
//! ```ignore
//! let mut stream = read::open("run.pcap.xz")?;
//! while let Some(packet) = stream.next()? { tracker.packet(packet) }
//! let (info, stats) = (stream.info(), stream.stats());
//! ```

mod error;
mod info;
mod stats;

pub use error::ReadError;
pub use info::{Kind, SourceInfo};
pub use stats::{Loss, StatRow, Stats};

use crate::packet::Packet;

/// How far reading has come, in bytes of the file as stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub read: u64,
    /// 0 for a pipe.
    pub total: u64,
}

/// The TCP packets of one input, one after another.
pub struct PacketStream {
    info: SourceInfo,
    stats: Stats,
}

/// Opens a capture; `-` is standard input. Fails with one line if it cannot be read or is no capture.
pub fn open(path: &str) -> Result<PacketStream, ReadError> {
    Err(ReadError::new(path, "reading is not built in yet"))
}

impl PacketStream {
    /// The next TCP packet, valid until the next call; `None` at the end. What is not TCP is counted.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<&Packet>, ReadError> {
        Ok(None)
    }

    /// Hands every remaining packet to `sink`; the fastest way through.
    pub fn for_each(&mut self, mut sink: impl FnMut(&Packet)) -> Result<(), ReadError> {
        while let Some(packet) = self.next()? {
            sink(packet);
        }
        Ok(())
    }

    /// Complete once `next` has returned `None`; until then what is known so far.
    pub fn info(&self) -> &SourceInfo {
        &self.info
    }

    /// Complete once `next` has returned `None`.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    pub fn progress(&self) -> Progress {
        Progress::default()
    }
}
