//! Lines of one JSON object each -> columns that were declared beforehand.
//!
//! A value must have its column's kind; a line with another one is left out and counted, as is one that is
//! no object. Fields that nobody declared are skipped. Of a field that stands twice the last value counts.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use memchr::memchr;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::Deserializer;

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers of 64 bits, with sign or without.
    Int,
    Uint,
    Float,
    Bool,
    /// Strings; other values as the JSON that stands there.
    Text,
}

/// The values of one column so far; rows behind its end have none.
#[derive(Debug, PartialEq)]
pub enum Values<'t> {
    Int(Vec<Option<i64>>),
    Uint(Vec<Option<u64>>),
    Float(Vec<Option<f64>>),
    Bool(Vec<Option<bool>>),
    Text(Vec<Option<Cow<'t, str>>>),
}

impl<'t> Values<'t> {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Int => Values::Int(Vec::new()),
            Kind::Uint => Values::Uint(Vec::new()),
            Kind::Float => Values::Float(Vec::new()),
            Kind::Bool => Values::Bool(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Values::Int(values) => values.len(),
            Values::Uint(values) => values.len(),
            Values::Float(values) => values.len(),
            Values::Bool(values) => values.len(),
            Values::Text(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows that are not among `kept` go.
    fn keep(&mut self, kept: &[bool]) {
        match self {
            Values::Int(values) => only(values, kept),
            Values::Uint(values) => only(values, kept),
            Values::Float(values) => only(values, kept),
            Values::Bool(values) => only(values, kept),
            Values::Text(values) => only(values, kept),
        }
    }

    /// Sets null in a row.
    pub(super) fn put_null(&mut self, row: usize) {
        match self {
            Values::Int(values) => put(values, row, None),
            Values::Uint(values) => put(values, row, None),
            Values::Float(values) => put(values, row, None),
            Values::Bool(values) => put(values, row, None),
            Values::Text(values) => put(values, row, None),
        }
    }

    fn truncate(&mut self, rows: usize) {
        match self {
            Values::Int(values) => values.truncate(rows),
            Values::Uint(values) => values.truncate(rows),
            Values::Float(values) => values.truncate(rows),
            Values::Bool(values) => values.truncate(rows),
            Values::Text(values) => values.truncate(rows),
        }
    }
}

/// The rows of a text.
pub struct Records<'t> {
    pub columns: Vec<(String, Values<'t>)>,
    pub rows: usize,
    /// Of each row.
    pub lines: Vec<&'t [u8]>,
    /// Lines that are no objects, or have a value of another kind; blank ones are none.
    pub unread: u64,
    index: HashMap<Vec<u8>, usize>,
    /// By column, the bytes before its value in the last line that had it: the quoted name, the colon, blanks.
    pub(super) before: Vec<&'t [u8]>,
    /// By column, the two that were last looked for after it: lines repeat the order of their fields, some of which
    /// not every line has.
    after: Vec<[usize; 2]>,
    /// The column that was asked for last.
    last: usize,
}

impl<'t> Records<'t> {
    pub fn new(fields: Vec<(String, Kind)>) -> Self {
        let index =
            fields.iter().enumerate().map(|(at, (name, _))| (name.clone().into_bytes(), at)).collect();
        let before = vec![[].as_slice(); fields.len()];
        let after = (1..=fields.len()).map(|next| [next; 2]).collect();
        let columns = fields.into_iter().map(|(name, kind)| (name, Values::new(kind))).collect();
        Records { columns, rows: 0, lines: Vec::new(), unread: 0, index, before, after, last: 0 }
    }

    /// Reads all lines of `text`.
    pub fn read(fields: Vec<(String, Kind)>, mut text: &'t [u8]) -> Self {
        let mut records = Records::new(fields);
        records.some(&mut text, usize::MAX);
        records
    }

    /// Reads lines until there are so many rows, or none is left.
    pub fn some(&mut self, text: &mut &'t [u8], rows: usize) {
        while self.rows < rows && !text.is_empty() {
            let end = memchr(b'\n', text);
            let (line, rest) = text.split_at(end.unwrap_or(text.len()));
            *text = rest.get(1..).unwrap_or_default();
            if !line.trim_ascii().is_empty() {
                self.take(line);
            }
        }
    }

    pub(super) fn take(&mut self, line: &'t [u8]) {
        if self.plain(line) {
            self.row(line);
        } else {
            self.undo();
            self.parse(line);
        }
    }

    /// The line as the JSON parser reads it.
    pub(super) fn parse(&mut self, line: &'t [u8]) {
        let mut source = Deserializer::from_slice(line);
        if Row(self).deserialize(&mut source).and_then(|()| source.end()).is_ok() {
            self.row(line);
        } else {
            self.unread += 1;
            self.undo();
        }
    }

    fn row(&mut self, line: &'t [u8]) {
        self.rows += 1;
        self.lines.push(line);
    }

    /// Leaves only those rows.
    pub(super) fn keep(&mut self, kept: &[bool]) {
        only(&mut self.lines, kept);
        self.columns.iter_mut().for_each(|(_, values)| values.keep(kept));
        self.rows = kept.iter().filter(|&&kept| kept).count();
    }

    /// Makes room for other rows, once the values are taken.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.lines.clear();
    }

    /// Takes back what was set in the row that is not finished.
    fn undo(&mut self) {
        let rows = self.rows;
        self.columns.iter_mut().for_each(|(_, values)| values.truncate(rows));
    }

    /// The column whose turn it is where `text` begins as before its last value, and the length of that.
    #[inline]
    pub(super) fn guessed(&mut self, text: &[u8]) -> Option<(usize, usize)> {
        let guesses = *self.after.get(self.last)?;
        let begins =
            |at: &usize| self.before.get(*at).is_some_and(|it| !it.is_empty() && text.starts_with(it));
        let at = guesses.into_iter().find(begins)?;
        self.last = at;
        Some((at, self.before[at].len()))
    }

    /// The column of a field, if it was declared.
    pub(super) fn find(&mut self, name: &[u8]) -> Option<usize> {
        let [guess, _] = self.after.get(self.last).copied().unwrap_or_default();
        let at = match self.columns.get(guess) {
            Some((known, _)) if known.as_bytes() == name => guess,
            _ => *self.index.get(name)?,
        };
        if let Some(after) = self.after.get_mut(self.last).filter(|after| after[0] != at) {
            *after = [at, after[0]];
        }
        self.last = at;
        Some(at)
    }
}

fn only<T>(values: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    values.retain(|_| kept.next() == Some(&true));
}

/// Bytes that stand for themselves between quotes, and are ASCII.
const PLAIN: [bool; 256] = {
    let (mut plain, mut byte) = ([false; 256], 0x20);
    while byte < 0x80 {
        plain[byte] = byte != b'"' as usize && byte != b'\\' as usize;
        byte += 1;
    }
    plain
};

#[inline]
pub(super) fn is_plain(byte: u8) -> bool {
    PLAIN[usize::from(byte)]
}

/// One line.
struct Row<'r, 't>(&'r mut Records<'t>);

impl<'t> DeserializeSeed<'t> for Row<'_, 't> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'t>>(self, line: D) -> Result<(), D::Error> {
        line.deserialize_map(self)
    }
}

impl<'t> Visitor<'t> for Row<'_, 't> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut fields: A) -> Result<(), A::Error> {
        let Row(records) = self;
        while let Some(found) = fields.next_key_seed(Name(records))? {
            match found {
                Some(at) => fields.next_value_seed(Cell(&mut records.columns[at].1, records.rows))?,
                None => fields.next_value::<IgnoredAny>().map(|_| ())?,
            }
        }
        Ok(())
    }
}

/// The name of a field: its column.
struct Name<'r, 't>(&'r mut Records<'t>);

impl<'t> DeserializeSeed<'t> for Name<'_, 't> {
    type Value = Option<usize>;

    fn deserialize<D: serde::Deserializer<'t>>(self, name: D) -> Result<Self::Value, D::Error> {
        name.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_, '_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.find(name.as_bytes()))
    }
}

/// The value of a column in one row.
struct Cell<'r, 't>(&'r mut Values<'t>, usize);

impl<'t> DeserializeSeed<'t> for Cell<'_, 't> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'t>>(self, value: D) -> Result<(), D::Error> {
        let Cell(values, row) = self;
        match values {
            Values::Int(values) => put(values, row, Option::deserialize(value)?),
            Values::Uint(values) => put(values, row, Option::deserialize(value)?),
            Values::Float(values) => put(values, row, Option::deserialize(value)?),
            Values::Bool(values) => put(values, row, Option::deserialize(value)?),
            Values::Text(values) => {
                put(values, row, text(<&RawValue>::deserialize(value)?.get()).map_err(D::Error::custom)?);
            }
        }
        Ok(())
    }
}

fn text(json: &str) -> serde_json::Result<Option<Cow<'_, str>>> {
    Ok(match json.strip_prefix('"') {
        Some(_) if json.contains('\\') => Some(Cow::Owned(serde_json::from_str::<Lossy>(json)?.0)),
        Some(rest) => Some(Cow::Borrowed(&rest[..rest.len() - 1])),
        None if json == "null" => None,
        None => Some(Cow::Borrowed(json)),
    })
}

/// A string whose halves of surrogates, which JSON may have and UTF-8 may not, are replaced.
struct Lossy(String);

impl<'t> Deserialize<'t> for Lossy {
    fn deserialize<D: serde::Deserializer<'t>>(string: D) -> Result<Self, D::Error> {
        string.deserialize_bytes(Bytes)
    }
}

struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Lossy;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Lossy, E> {
        Ok(Lossy(String::from_utf8_lossy(bytes).into_owned()))
    }
}

pub(super) fn put<T: Clone>(values: &mut Vec<Option<T>>, row: usize, value: Option<T>) {
    // As a rule there is nothing to fill up, nor to take back.
    if values.len() != row {
        values.resize(row, None);
    }
    values.push(value);
}

#[cfg(test)]
mod tests;
