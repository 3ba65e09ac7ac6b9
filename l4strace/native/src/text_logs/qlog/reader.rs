//! A whole qlog: one sample where its events change something.

use serde_json::Value;

use super::connection::{Connection, Datagram, Ends, Sample};
use super::event;
use super::header::Trace;
use super::pieces::{json, Piece, Pieces, MOST_TRACES};

/// Rows of one batch.
const BATCH: usize = 1 << 14;
/// Datagrams that are kept to find the log's place in a capture.
const MOST_DATAGRAMS: usize = 60_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub events: u64,
    pub unread: u64,
    /// Traces that were left out because there are too many.
    pub traces_left_out: u64,
    /// Every bracket was closed.
    pub whole: bool,
}

/// Reads a log chunk by chunk.
#[derive(Default)]
pub struct Qlog {
    pieces: Pieces,
    connections: Vec<Connection>,
    samples: Vec<Sample>,
    datagrams: Vec<Datagram>,
    counts: Counts,
}

impl Qlog {
    pub fn feed(&mut self, chunk: &[u8]) {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.feed(chunk, &mut |piece| self.piece(piece));
        self.pieces = pieces;
    }

    pub fn finish(&mut self) {
        self.counts.whole = self.pieces.finish();
        self.counts.unread += std::mem::take(&mut self.pieces.unread);
    }

    pub fn ready(&self) -> bool {
        self.samples.len() >= BATCH
    }

    pub fn take(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.samples)
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    pub fn datagrams(&self) -> &[Datagram] {
        &self.datagrams
    }

    /// Of each connection its header, its ends, and what was received and sent by codepoint (Not-ECT, ECT(1), ECT(0),
    /// CE).
    pub fn traces(&self) -> impl Iterator<Item = (&Trace, &Ends, [[u64; 4]; 2])> {
        self.connections.iter().map(|one| (&one.trace, &one.ends, one.by_codepoint()))
    }

    fn piece(&mut self, piece: Piece<'_>) {
        let (Piece::Header(text) | Piece::Event(text) | Piece::Record(text)) = piece;
        let Some(json) = json(text) else {
            self.counts.unread += 1;
            return;
        };
        match piece {
            Piece::Header(_) => self.begin(Trace::of(&json)),
            Piece::Record(_) if is_header(&json) => self.begin(Trace::of(&json)),
            _ => self.event(json),
        }
    }

    fn begin(&mut self, trace: Trace) {
        if self.connections.len() < MOST_TRACES {
            self.connections.push(Connection::new(trace));
        } else {
            self.counts.traces_left_out += 1;
        }
    }

    fn event(&mut self, json: Value) {
        if self.connections.is_empty() {
            self.begin(Trace::default());
        }
        let number = self.connections.len() as u32 - 1;
        let left_out = self.counts.traces_left_out > 0;
        let Some(one) = self.connections.last_mut().filter(|_| !left_out) else {
            self.counts.unread += 1;
            return;
        };
        let Some(event) = event::read(json, &one.trace) else {
            self.counts.unread += 1;
            return;
        };
        let Some(time_ns) = one.time(event.time) else {
            self.counts.unread += 1;
            return;
        };
        self.counts.events += 1;
        (one.now.trace, one.now.time_ns) = (number, time_ns);
        let Qlog { samples, datagrams, .. } = self;
        let kept = datagrams.len() < MOST_DATAGRAMS;
        one.take(&event, &mut |seen| {
            if kept {
                datagrams.push(Datagram { trace: number, time_ns, ..seen });
            }
        });
        if let Some(kind) = one.changed(&event) {
            samples.push(Sample { event: kind, ..one.now.clone() });
        }
    }
}

fn is_header(json: &Value) -> bool {
    json.get("time").is_none()
        && ["trace", "qlog_version", "qlog_format", "file_schema", "common_fields"]
            .iter()
            .any(|key| json.get(key).is_some())
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
