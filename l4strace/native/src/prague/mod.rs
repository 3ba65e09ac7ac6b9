//! TCP Prague as the kernel computes it (alpha and the classic-ECN detector), and UDP Prague as its sender does.
//!
//! Integer arithmetic throughout, in the kernel's own widths and order, so that a replay from logged
//! inputs gives the logged bits. Names are those of `net/ipv4/tcp_prague.c` (L4STeam/linux@02573a2
//! for 20 bit, L4STeam/tcp-prague@90aea47 for 24 bit).

pub mod alpha;
pub mod build;
pub mod detector;
pub mod filter;
pub mod log;
pub mod replay;
pub mod udp;

pub use build::Build;
pub use detector::{Carry, Inputs, Step};
pub use filter::RttFilter;
pub use replay::{Paced, PacketReplay, Scores, Ssthresh};
