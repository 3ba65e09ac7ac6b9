//! Chunks of a qlog in, its headers and events out, each as one JSON text.

use memchr::memchr2;
use serde_json::Value;

/// A longer event or header is damage: it is not read, but counted.
const MAX_PIECE: usize = 1 << 20;
/// Traces of one contained log: the header of each has all that stands before it.
pub const MOST_TRACES: usize = 1 << 10;
/// Brackets that are remembered: events lie in at most four.
const LEVELS: usize = 8;
/// What begins a record of JSON-SEQ (RFC 7464).
const RECORD: u8 = 0x1E;
const EVENTS: &[u8] = b"events";

/// What a qlog consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// All that stands before the events of a trace, its brackets closed.
    Header(&'a [u8]),
    /// One event of a contained log.
    Event(&'a [u8]),
    /// A record of a sequential log: a header or an event.
    Record(&'a [u8]),
}

/// The value of a piece, where it is JSON.
pub fn json(text: &[u8]) -> Option<Value> {
    serde_json::from_slice(text).ok()
}

/// Splits a log, of which only one piece at a time is held.
#[derive(Default)]
pub struct Pieces {
    held: Vec<u8>,
    /// What `held` was before the events began.
    head: Vec<u8>,
    /// `held` was too long and is empty.
    long: bool,
    depth: u32,
    /// What closes each of the outer brackets.
    closers: Vec<u8>,
    in_text: bool,
    escaped: bool,
    /// The text that ended last, as far as it is short enough for a name to look at.
    name: Vec<u8>,
    /// A colon followed that text.
    named: bool,
    /// Depth of the array of events that is open.
    events: Option<u32>,
    /// Such arrays so far.
    traces: usize,
    /// The record that is open had such an array.
    contained: bool,
    /// A line ended within the record that is open.
    broken: bool,
    /// Each record has been a line so far.
    lines: bool,
    /// Pieces that were too long or broke off.
    pub unread: u64,
}

impl Pieces {
    pub fn feed(&mut self, chunk: &[u8], take: &mut impl FnMut(Piece<'_>)) {
        let mut at = 0;
        while at < chunk.len() {
            if self.in_text {
                at += self.text(&chunk[at..]);
            } else {
                self.byte(chunk[at], take);
                at += 1;
            }
        }
    }

    /// False when a piece or a bracket was still open.
    pub fn finish(&mut self) -> bool {
        let whole = self.depth == 0;
        if !whole && (!self.held.is_empty() || self.long) && (self.events.is_some() || !self.contained) {
            self.unread += 1;
        }
        self.reset();
        whole
    }

    /// Goes on in a text, to its end if that is there; how many bytes that takes.
    fn text(&mut self, rest: &[u8]) -> usize {
        if self.escaped {
            self.escaped = false;
            self.hold(&rest[..1]);
            return 1;
        }
        let end = memchr2(b'"', b'\\', rest);
        let until = end.map_or(rest.len(), |end| end + 1);
        if self.name.len() <= EVENTS.len() {
            let room = EVENTS.len() + 1 - self.name.len();
            self.name.extend_from_slice(&rest[..end.unwrap_or(until).min(room)]);
        }
        match end.map(|end| rest[end]) {
            Some(b'"') => self.in_text = false,
            Some(_) => self.escaped = true,
            None => {}
        }
        self.hold(&rest[..until]);
        until
    }

    fn byte(&mut self, byte: u8, take: &mut impl FnMut(Piece<'_>)) {
        match byte {
            RECORD => self.torn(),
            b'\n' if self.lines && !self.contained && self.depth > 0 => self.torn(),
            b'"' => {
                self.hold_inside(byte);
                self.in_text = true;
                self.name.clear();
                self.named = false;
            }
            b':' => {
                self.named = true;
                self.hold_inside(byte);
            }
            b'{' | b'[' => self.open(byte, take),
            b'}' | b']' => self.close(byte, take),
            byte if byte.is_ascii_whitespace() => self.blank(byte),
            byte => {
                self.named = false;
                self.hold_inside(byte);
            }
        }
    }

    fn blank(&mut self, byte: u8) {
        self.broken |= byte == b'\n' && self.depth > 0;
        if !self.between() {
            self.hold(b" ");
        }
    }

    /// Outside of every piece, where commas and blanks stand.
    fn between(&self) -> bool {
        self.depth == self.events.unwrap_or(0)
    }

    fn hold_inside(&mut self, byte: u8) {
        if !self.between() {
            self.hold(&[byte]);
        }
    }

    fn hold(&mut self, bytes: &[u8]) {
        if self.between() {
            return;
        }
        self.long |= self.held.len() + bytes.len() > MAX_PIECE;
        if self.long {
            self.held.clear();
        } else {
            self.held.extend_from_slice(bytes);
        }
    }

    fn open(&mut self, byte: u8, take: &mut impl FnMut(Piece<'_>)) {
        let begins = byte == b'[' && self.named && self.name == EVENTS && self.events.is_none();
        // At the top, or in one of the traces.
        let begins = begins && (self.depth == 1 || self.depth == 3);
        self.named = false;
        if self.closers.len() < LEVELS && self.closers.len() == self.depth as usize {
            self.closers.push(if byte == b'{' { b'}' } else { b']' });
        }
        self.depth = self.depth.saturating_add(1);
        self.hold(&[byte]);
        if begins {
            self.header(take);
        }
    }

    fn header(&mut self, take: &mut impl FnMut(Piece<'_>)) {
        self.traces += 1;
        if self.long || self.traces > MOST_TRACES {
            self.unread += 1;
        } else {
            let mut whole = self.held.clone();
            whole.extend(self.closers.iter().rev());
            take(Piece::Header(&whole));
        }
        self.head = std::mem::take(&mut self.held);
        self.long = false;
        self.contained = true;
        self.events = Some(self.depth);
    }

    fn close(&mut self, byte: u8, take: &mut impl FnMut(Piece<'_>)) {
        self.named = false;
        if self.depth == 0 {
            return;
        }
        if self.events == Some(self.depth) {
            // What follows the events of a trace may be another trace.
            self.events = None;
            self.held = std::mem::take(&mut self.head);
        }
        self.hold(&[byte]);
        self.depth -= 1;
        self.closers.truncate(self.depth as usize);
        if self.between() {
            self.end(take);
        }
    }

    /// A piece has ended.
    fn end(&mut self, take: &mut impl FnMut(Piece<'_>)) {
        if self.long || (self.events.is_some() && self.traces > MOST_TRACES) {
            self.unread += 1;
        } else if self.events.is_some() {
            take(Piece::Event(&self.held));
        } else if !self.contained {
            take(Piece::Record(&self.held));
            self.lines = !self.broken;
        }
        if self.events.is_none() {
            self.contained = false;
            self.broken = false;
        }
        self.held.clear();
        self.long = false;
    }

    /// Another record begins before this one has ended.
    fn torn(&mut self) {
        self.unread += u64::from(self.depth > 0);
        self.reset();
    }

    fn reset(&mut self) {
        *self = Pieces { unread: self.unread, lines: self.lines, ..Pieces::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str, size: usize) -> (Vec<String>, bool, u64) {
        let (mut pieces, mut found) = (Pieces::default(), Vec::new());
        let mut take = |piece: Piece<'_>| {
            let (kind, text) = match piece {
                Piece::Header(text) => ("h", text),
                Piece::Event(text) => ("e", text),
                Piece::Record(text) => ("r", text),
            };
            found.push(format!("{kind} {}", String::from_utf8_lossy(text)));
        };
        text.as_bytes().chunks(size).for_each(|chunk| pieces.feed(chunk, &mut take));
        let whole = pieces.finish();
        (found, whole, pieces.unread)
    }

    #[test]
    fn contained_logs_have_headers_and_events() {
        let text = r#"{"v":"events","traces":[{"a":1, "events": [[1,"x]\"",{}], {"b":[2]}]},{"c":"d","events":[{}]}]}"#;
        for size in [1, 2, 7, text.len()] {
            let (found, whole, unread) = pieces(text, size);
            let first = r#"{"v":"events","traces":[{"a":1, "events": []}]}"#;
            let second = r#"{"v":"events","traces":[{"a":1, "events": []},{"c":"d","events":[]}]}"#;
            assert_eq!(found[0], format!("h {first}"));
            assert_eq!(found[1..3], [r#"e [1,"x]\"",{}]"#, r#"e {"b":[2]}"#]);
            assert_eq!(found[3..], [format!("h {second}"), "e {}".to_owned()]);
            assert!(whole);
            assert_eq!(unread, 0);
        }
    }

    #[test]
    fn records_of_a_sequence_end_at_the_next() {
        let text = "\x1e{\"a\":1}\n\x1e{\"torn\":[1,\n\x1e{\"events\":1}\n\x1e{\"last\":";
        let (found, whole, unread) = pieces(text, 3);
        assert_eq!(found, ["r {\"a\":1}", "r {\"events\":1}"]);
        assert!(!whole);
        assert_eq!(unread, 2);
    }

    #[test]
    fn a_torn_line_ends_with_the_line() {
        let (found, whole, unread) = pieces("{\"a\":1}\n{\"b\":[\n{\"c\":1}\n", 100);
        assert_eq!(found, ["r {\"a\":1}", "r {\"c\":1}"]);
        assert!(whole);
        assert_eq!(unread, 1);
    }

    #[test]
    fn a_torn_line_in_the_middle_costs_itself_alone() {
        let (found, whole, unread) = pieces("{\"a\":1}\n{\"b\":1}\n{\"c\":[\n{\"d\":1}\n", 100);
        assert_eq!(found, ["r {\"a\":1}", "r {\"b\":1}", "r {\"d\":1}"]);
        assert!(whole);
        assert_eq!(unread, 1);
    }

    #[test]
    fn traces_beyond_the_most_are_counted_and_left_out() {
        let traces = vec![r#"{"events":[{"a":1}]}"#; MOST_TRACES + 3].join(",");
        let (found, whole, unread) = pieces(&format!(r#"{{"traces":[{traces}]}}"#), 1 << 12);
        assert_eq!(found.len(), 2 * MOST_TRACES);
        assert!(whole);
        assert_eq!(unread, 2 * 3);
    }

    #[test]
    fn a_log_without_its_end_has_all_whole_events() {
        let (found, whole, unread) = pieces(r#"{"traces":[{"events":[{"a":1},{"b":2"#, 100);
        assert_eq!(found, [r#"h {"traces":[{"events":[]}]}"#, r#"e {"a":1}"#]);
        assert!(!whole);
        assert_eq!(unread, 1);
        assert!(!pieces(r#"{"traces":[{"events":[{"a":1}"#, 100).1);
        assert_eq!(pieces(r#"{"traces":[{"events":[{"a":1}"#, 100).2, 0);
    }

    #[test]
    fn long_and_deep_pieces_are_counted_and_left_out() {
        let long = format!("{{\"a\":\"{}\"}}\n{{\"b\":1}}", "x".repeat(MAX_PIECE));
        let (found, _, unread) = pieces(&long, 1 << 16);
        assert_eq!(found, ["r {\"b\":1}"]);
        assert_eq!(unread, 1);
        let deep = "[".repeat(3 * MAX_PIECE);
        let (found, whole, unread) = pieces(&deep, 1 << 16);
        assert!(found.is_empty() && !whole);
        assert_eq!(unread, 1);
    }

    #[test]
    fn stray_closers_are_passed_over() {
        assert_eq!(pieces("]}]{\"a\":1}", 100).0, ["r {\"a\":1}"]);
    }
}
