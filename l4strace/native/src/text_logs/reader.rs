//! Chunks of a text log in, batches of columns out.

use std::borrow::Cow;

use memchr::memchr;

use super::columns::{Column, Columns};
use super::event::{self, Line};
use super::fields::set_fields;

/// A line longer than this is damage: it is not read, but counted.
const MAX_LINE: usize = 1 << 20;
/// Rows of one batch: a row takes 16 bytes in each of up to 256 columns, and its texts.
const BATCH: usize = 1 << 14;

/// How one line becomes a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// tracefs, trace-cmd report, perf script.
    Event,
    /// Nothing but `key=value` fields: what a bpftrace script prints.
    Fields,
}

/// What was read apart from rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub rows: u64,
    /// Lines that hold text but no row; comments do not count.
    pub unread: u64,
    /// Number of the first such line, from 1.
    pub first_unread: u64,
    /// Events lost before the log was written, as the log reports.
    pub lost: u64,
}

pub struct Reader {
    shape: Shape,
    columns: Columns,
    partial: Vec<u8>,
    /// The line that has not ended is too long already.
    long: bool,
    line: u64,
    counts: Counts,
}

impl Reader {
    pub fn new(shape: Shape) -> Self {
        Reader {
            shape,
            columns: Columns::default(),
            partial: Vec::new(),
            long: false,
            line: 0,
            counts: Counts::default(),
        }
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// True when `feed` left enough rows for a batch.
    pub fn ready(&self) -> bool {
        self.columns.rows() >= BATCH
    }

    pub fn take(&mut self) -> Vec<(String, Column)> {
        self.columns.take()
    }

    pub fn feed(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while let Some(end) = memchr(b'\n', rest) {
            let (line, tail) = (&rest[..end], &rest[end + 1..]);
            if self.partial.is_empty() && !self.long {
                self.line(line);
            } else {
                self.hold(line);
                self.end_held();
            }
            rest = tail;
        }
        self.hold(rest);
    }

    /// Keeps a piece of a line that may go on.
    fn hold(&mut self, piece: &[u8]) {
        self.long |= self.partial.len() + piece.len() > MAX_LINE;
        if self.long {
            self.partial.clear();
        } else {
            self.partial.extend_from_slice(piece);
        }
    }

    fn end_held(&mut self) {
        let held = std::mem::take(&mut self.partial);
        if std::mem::take(&mut self.long) {
            self.line += 1;
            self.count_unread();
        } else {
            self.line(&held);
        }
    }

    /// The last line may lack its end.
    pub fn finish(&mut self) {
        if self.long || !self.partial.is_empty() {
            self.end_held();
        }
    }

    fn line(&mut self, bytes: &[u8]) {
        self.line += 1;
        if bytes.len() > MAX_LINE {
            return self.count_unread();
        }
        // The check alone is several times faster than the repair.
        let text = std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
        let line = text.trim_end();
        let read = match self.shape {
            Shape::Event => event::read_line(line, &mut self.columns),
            Shape::Fields if set_fields(line, &mut self.columns) > 0 => {
                self.columns.end_row();
                Line::Event
            }
            Shape::Fields => Line::Other,
        };
        match read {
            Line::Event => self.counts.rows += 1,
            Line::Printed => {}
            Line::Other => self.unread(line),
        }
    }

    fn unread(&mut self, line: &str) {
        if let Some(lost) = event::lost_events(line).or_else(|| event::overwritten(line)) {
            self.counts.lost = self.counts.lost.saturating_add(lost);
        } else if !line.is_empty() && !line.starts_with('#') {
            self.count_unread();
        }
    }

    fn count_unread(&mut self) {
        self.counts.unread += 1;
        if self.counts.first_unread == 0 {
            self.counts.first_unread = self.line;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "# entries-in-buffer/entries-written: 2/9   #P:1\n\
        x-1 [000] 1.500000: ack: a=1\nnoise\n\nx-1 [000] 2.500000: ack: a=2";

    #[test]
    fn chunk_borders_do_not_matter() {
        let mut whole = Reader::new(Shape::Event);
        whole.feed(LOG.as_bytes());
        whole.finish();
        let mut split = Reader::new(Shape::Event);
        LOG.as_bytes().chunks(3).for_each(|chunk| split.feed(chunk));
        split.finish();
        assert_eq!(whole.counts(), Counts { rows: 2, unread: 1, first_unread: 3, lost: 7 });
        assert_eq!(split.counts(), whole.counts());
        assert_eq!(split.take(), whole.take());
    }

    #[test]
    fn damage_is_survived() {
        let mut reader = Reader::new(Shape::Fields);
        reader.feed(&vec![b'a'; 3 * MAX_LINE]);
        reader.feed(b"\n\xff\xfe=1 a=1\n");
        reader.finish();
        assert_eq!(reader.counts().rows, 1);
    }

    #[test]
    fn a_line_that_is_too_long_counts_as_unread_wherever_chunks_end() {
        let row = "x-1 [000] 1.500000: ack: a=1";
        let long = format!("{row}{}", "1".repeat(MAX_LINE));
        let text = format!("{row}\n{long}\n{row}\n{long}");
        for shape in [Shape::Event, Shape::Fields] {
            for size in [text.len(), MAX_LINE, 1 << 16, 1000] {
                let mut reader = Reader::new(shape);
                text.as_bytes().chunks(size).for_each(|chunk| reader.feed(chunk));
                reader.finish();
                let counts = Counts { rows: 2, unread: 2, first_unread: 2, lost: 0 };
                assert_eq!(reader.counts(), counts, "{shape:?} {size}");
            }
        }
    }
}
