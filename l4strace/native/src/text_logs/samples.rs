//! Which records of a kernel log are samples, and which of those are kept (`l4strace/ingest/logs/thin.py`).

use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZeroI64;

use super::records::{Records, Values};

/// Other records that the importer needs; of trailers, the last.
const OTHERS: [&str; 3] = ["note", "aggregate", "lost"];
const TRAILER: &str = "trailer";
/// How many of each kind are kept of one text, so that many of one kind do not displace another.
const MOST_OTHERS: usize = 10_000;

/// What stays of samples that come with every ACK: the first of a socket in a tick, and each that shows a change.
#[derive(Clone, Debug)]
pub struct Thinning {
    pub tick_ns: NonZeroI64,
    /// Events that are thinned.
    pub events: Vec<String>,
    /// Columns whose changes stay.
    pub watched: Vec<String>,
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
enum Cell<'t> {
    Int(i64),
    Uint(u64),
    Float(f64),
    Bool(bool),
    Text(Cow<'t, str>),
}

/// Event and socket, which a log names by its address in the kernel, by its ports, or by both.
type Key<'t> = (Option<Cow<'t, str>>, Option<Cow<'t, str>>, Ports);
type Ports = [Option<i64>; 2];

/// What the last sample of an event and socket had.
struct Seen<'t> {
    key: Key<'t>,
    /// Its event is one of those that are thinned.
    thinned: bool,
    tick: Option<i64>,
    watched: Vec<Option<Cell<'t>>>,
}

/// Looks through the records of one text, part by part.
pub struct Samples<'t> {
    kind: Option<usize>,
    time: Option<usize>,
    of: [Option<usize>; 2],
    ports: [Option<usize>; 2],
    watched: Vec<usize>,
    thinning: Option<Thinning>,
    seen: Vec<Seen<'t>>,
    places: HashMap<Key<'t>, usize>,
    /// Place of the last sample, which is mostly that of the next one.
    last: usize,
    /// Records that are samples.
    pub count: u64,
    /// Those of them that were left out to keep fewer.
    pub thinned: u64,
    /// Samples without a time, which are left out.
    pub timeless: u64,
    /// Notes, aggregates and losses, with their lines.
    pub others: Vec<(&'static str, &'t [u8])>,
    counts: [usize; OTHERS.len()],
    pub trailer: Option<&'t [u8]>,
}

impl<'t> Samples<'t> {
    /// `records` has the columns `type`, `ts_ns`, `event` and `sk`; what they lack is null in all rows.
    pub fn of(records: &Records<'t>, thinning: Option<Thinning>) -> Self {
        let at = |name: &str| records.columns.iter().position(|(known, _)| known == name);
        let watched = thinning.iter().flat_map(|thinning| &thinning.watched);
        Samples {
            kind: at("type"),
            time: at("ts_ns"),
            of: ["event", "sk"].map(at),
            ports: ["sport", "dport"].map(at),
            watched: watched.filter_map(|name| at(name)).collect(),
            thinning,
            seen: Vec::new(),
            places: HashMap::new(),
            last: 0,
            count: 0,
            thinned: 0,
            timeless: 0,
            others: Vec::new(),
            counts: [0; OTHERS.len()],
            trailer: None,
        }
    }

    /// Takes out of `records` all rows that are no samples, have no time or are thinned.
    pub fn keep(&mut self, records: &mut Records<'t>) {
        let kept: Vec<bool> = (0..records.rows).map(|row| self.is_kept(records, row)).collect();
        if kept.contains(&false) {
            records.keep(&kept);
        }
    }

    fn is_kept(&mut self, records: &Records<'t>, row: usize) -> bool {
        let Some(kind) = text(records, self.kind, row) else { return false };
        if kind != "sample" {
            self.other(kind, records.lines[row]);
            return false;
        }
        self.count += 1;
        let Some(Cell::Int(ts_ns)) = self.time.and_then(|at| cell(&records.columns[at].1, row)) else {
            self.timeless += 1;
            return false;
        };
        let shows = self.shows(records, row, ts_ns);
        self.thinned += u64::from(!shows);
        shows
    }

    fn other(&mut self, kind: &str, line: &'t [u8]) {
        if kind == TRAILER {
            self.trailer = Some(line);
        }
        for (name, count) in OTHERS.into_iter().zip(&mut self.counts) {
            if name == kind && *count < MOST_OTHERS {
                *count += 1;
                self.others.push((name, line));
            }
        }
    }

    /// The sample says more than the one before.
    fn shows(&mut self, records: &Records<'t>, row: usize, ts_ns: i64) -> bool {
        let Some(tick_ns) = self.thinning.as_ref().map(|thinning| thinning.tick_ns) else { return true };
        let [event, socket] = self.of;
        let ports = self.ports.map(|at| int(records, at, row));
        let place = self.place(text(records, event, row), text(records, socket, row), ports);
        let seen = &mut self.seen[place];
        if !seen.thinned {
            return true;
        }
        let tick = Some(ts_ns.div_euclid(tick_ns.get()));
        let mut shows = std::mem::replace(&mut seen.tick, tick) != tick;
        for (before, &at) in seen.watched.iter_mut().zip(&self.watched) {
            let now = cell(&records.columns[at].1, row);
            if *before != now {
                (*before, shows) = (now, true);
            }
        }
        shows
    }

    /// Where in `seen` the samples of an event and socket are.
    fn place(&mut self, event: Option<&Cow<'t, str>>, socket: Option<&Cow<'t, str>>, ports: Ports) -> usize {
        let last = self
            .seen
            .get(self.last)
            .map(|Seen { key: (event, socket, ports), .. }| (event.as_ref(), socket.as_ref(), *ports));
        if last != Some((event, socket, ports)) {
            let key = (event.cloned(), socket.cloned(), ports);
            let next = self.seen.len();
            self.last = *self.places.entry(key.clone()).or_insert(next);
            if self.last == next {
                let thinned = self.is_thinned(key.0.as_deref());
                let watched = vec![None; self.watched.len()];
                self.seen.push(Seen { key, thinned, tick: None, watched });
            }
        }
        self.last
    }

    fn is_thinned(&self, event: Option<&str>) -> bool {
        let events = self.thinning.as_ref().map_or(&[][..], |thinning| &thinning.events);
        event.is_none_or(|event| events.iter().any(|thinned| thinned == event))
    }
}

fn text<'r, 't>(records: &'r Records<'t>, at: Option<usize>, row: usize) -> Option<&'r Cow<'t, str>> {
    match &records.columns[at?].1 {
        Values::Text(values) => values.get(row)?.as_ref(),
        _ => None,
    }
}

fn int(records: &Records, at: Option<usize>, row: usize) -> Option<i64> {
    match &records.columns[at?].1 {
        Values::Int(values) => *values.get(row)?,
        _ => None,
    }
}

fn cell<'t>(values: &Values<'t>, row: usize) -> Option<Cell<'t>> {
    match values {
        Values::Int(values) => Some(Cell::Int((*values.get(row)?)?)),
        Values::Uint(values) => Some(Cell::Uint((*values.get(row)?)?)),
        Values::Float(values) => Some(Cell::Float((*values.get(row)?)?)),
        Values::Bool(values) => Some(Cell::Bool((*values.get(row)?)?)),
        Values::Text(values) => Some(Cell::Text(values.get(row)?.clone()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    const LOG: &str = r#"
        {"type": "sample", "ts_ns": 1, "event": "ack", "sk": "a", "alpha": 5}
        {"type": "sample", "ts_ns": 2, "event": "ack", "sk": "a", "alpha": 5}
        {"type": "sample", "ts_ns": 2, "event": "ack", "sk": "b", "alpha": 5}
        {"type": "sample", "ts_ns": 3, "event": "cwr", "sk": "a", "alpha": 5}
        {"type": "sample", "ts_ns": 4, "event": "ack", "sk": "a", "alpha": 6}
        {"type": "note", "text": "x"}
        {"type": "sample", "event": "ack", "sk": "a"}
        {"type": "sample", "ts_ns": 9, "event": "ack", "sk": "a", "alpha": 6}
        {"type": "sample", "ts_ns": 10, "event": "ack", "sk": "a", "alpha": 6}
        {"type": "sample", "ts_ns": 11, "event": "ack", "sk": "a"}
        {"ts_ns": 12}
        {"type": "sample", "ts_ns": 12, "event": "cwr", "sk": "a"}"#;

    /// Times of the samples that are kept, and what was counted.
    fn kept(thinning: Option<Thinning>) -> (Vec<Option<i64>>, Samples<'static>) {
        let names = ["type", "event", "sk"].map(|name| (name.to_owned(), Kind::Text));
        let numbers = ["ts_ns", "alpha"].map(|name| (name.to_owned(), Kind::Int));
        let mut records = Records::read([names.to_vec(), numbers.to_vec()].concat(), LOG.as_bytes());
        let mut samples = Samples::of(&records, thinning);
        samples.keep(&mut records);
        let Values::Int(times) = &records.columns[3].1 else { panic!("times are numbers") };
        assert_eq!(times.len(), records.rows);
        (times.clone(), samples)
    }

    #[test]
    fn samples_with_a_time_stay_and_other_records_are_named() {
        let (times, samples) = kept(None);
        assert!(times.into_iter().flatten().eq([1, 2, 2, 3, 4, 9, 10, 11, 12]));
        assert_eq!((samples.count, samples.thinned), (10, 0));
        let (kind, line) = &samples.others[0];
        assert_eq!((*kind, samples.others.len()), ("note", 1));
        assert!(line.ends_with(br#"{"type": "note", "text": "x"}"#));
    }

    #[test]
    fn of_a_socket_the_first_of_a_tick_stays_and_what_shows_a_change() {
        let (events, watched) = (vec!["ack".to_owned()], vec!["alpha".to_owned(), "absent".to_owned()]);
        let (times, samples) =
            kept(Some(Thinning { tick_ns: NonZeroI64::new(10).unwrap(), events, watched }));
        assert!(times.into_iter().flatten().eq([1, 2, 3, 4, 10, 11, 12]));
        assert_eq!((samples.count, samples.thinned), (10, 2));
    }
}
