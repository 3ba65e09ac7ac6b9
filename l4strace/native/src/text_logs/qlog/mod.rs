//! qlog (draft-ietf-quic-qlog-main-schema and its drafts since 2019) as stacks really write it: contained JSON, JSON-SEQ
//! or a JSON object a line; events as objects or as arrays; files that break off.
//!
//! Memory is bounded whatever the length of a file: one event at a time is held, and what a connection keeps of them is
//! a few numbers.

mod acked;
mod connection;
mod event;
mod header;
mod pieces;
mod reader;
mod value;

pub use connection::{Datagram, Ends, Sample};
pub use header::Trace;
pub use pieces::{json, Piece, Pieces};
pub use reader::{Counts, Qlog};
