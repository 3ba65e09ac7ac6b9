//! Columns that come into being as their names are first seen.

use std::collections::HashMap;

use super::texts::Texts;

/// Most columns of one log: a hostile file could name a new one on every line.
const MAX_COLUMNS: usize = 256;

/// Values of one field; turns into text at the first value that is no integer.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    Int(Vec<Option<i64>>),
    Text(Texts),
}

impl Column {
    pub fn len(&self) -> usize {
        match self {
            Column::Int(values) => values.len(),
            Column::Text(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn pad(&mut self, rows: usize) {
        match self {
            Column::Int(values) => values.resize(rows, None),
            Column::Text(values) => values.pad(rows),
        }
    }

    fn into_text(self) -> Self {
        match self {
            Column::Int(values) => {
                let mut texts = Texts::with_capacity(values.capacity());
                for (row, value) in values.into_iter().enumerate() {
                    value.into_iter().for_each(|value| texts.push_number(value));
                    texts.pad(row + 1);
                }
                Column::Text(texts)
            }
            text => text,
        }
    }
}

/// Rows under construction. A row is begun, filled by name, and ended; a name set twice keeps the first.
#[derive(Debug, Default)]
pub struct Columns {
    names: HashMap<String, usize>,
    columns: Vec<Named>,
    /// The column that was set last: lines repeat the order of their fields.
    last: usize,
    rows: usize,
    /// As many rows as there were last time.
    expected: usize,
    /// Fields that did not get a column because there were too many.
    pub dropped: u64,
}

#[derive(Debug)]
struct Named {
    name: String,
    /// Values are kept as text whatever they look like.
    text: bool,
    /// The column that followed this one last time.
    next: usize,
    values: Column,
}

impl Columns {
    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn end_row(&mut self) {
        self.rows += 1;
    }

    /// Takes back what the unfinished row has set.
    pub fn abandon_row(&mut self) {
        let rows = self.rows;
        for column in &mut self.columns {
            match &mut column.values {
                Column::Int(values) => values.truncate(rows),
                Column::Text(values) => values.truncate(rows),
            }
        }
    }

    pub fn set_int(&mut self, name: &str, value: i64) {
        if let Some(index) = self.find(name).or_else(|| self.add(name, false)) {
            self.put_int(index, value);
        }
    }

    pub fn set_text(&mut self, name: &str, value: &str) {
        if let Some(index) = self.find(name).or_else(|| self.add(name, true)) {
            self.put_text(index, value);
        }
    }

    /// The column of that name, if there is one.
    #[inline]
    pub fn find(&mut self, name: &str) -> Option<usize> {
        let guess = self.columns.get(self.last).map_or(0, |column| column.next);
        if self.columns.get(guess).is_some_and(|column| column.name == name) {
            self.last = guess;
            return Some(guess);
        }
        let index = *self.names.get(name)?;
        self.follow(index);
        Some(index)
    }

    /// A new column; `None` when there are too many.
    pub fn add(&mut self, name: &str, text: bool) -> Option<usize> {
        if self.columns.len() == MAX_COLUMNS {
            self.dropped += 1;
            return None;
        }
        let rows = self.expected;
        let values = if text {
            Column::Text(Texts::with_capacity(rows))
        } else {
            Column::Int(Vec::with_capacity(rows))
        };
        let index = self.columns.len();
        self.names.insert(name.to_owned(), index);
        self.columns.push(Named { name: name.to_owned(), text, next: 0, values });
        self.follow(index);
        Some(index)
    }

    /// Whether the column takes integers as text.
    pub fn is_text(&self, index: usize) -> bool {
        self.columns[index].text
    }

    #[inline]
    pub fn put_int(&mut self, index: usize, value: i64) {
        match &mut self.columns[index].values {
            Column::Int(values) if values.len() <= self.rows => {
                if values.len() < self.rows {
                    values.resize(self.rows, None);
                }
                values.push(Some(value));
            }
            Column::Text(values) if values.len() <= self.rows => {
                values.pad(self.rows);
                values.push_number(value);
            }
            _ => {}
        }
    }

    pub fn put_text(&mut self, index: usize, value: &str) {
        let values = &mut self.columns[index].values;
        if let Column::Int(numbers) = values {
            if numbers.len() > self.rows {
                return; // the row's number stays, and with it the column's kind
            }
            *values = std::mem::replace(values, Column::Int(Vec::new())).into_text();
        }
        match values {
            Column::Text(values) if values.len() <= self.rows => {
                values.pad(self.rows);
                values.push(value);
            }
            _ => {}
        }
    }

    fn follow(&mut self, index: usize) {
        if let Some(before) = self.columns.get_mut(self.last) {
            before.next = index;
        }
        self.last = index;
    }

    /// All columns, padded to the same length, and empties itself.
    pub fn take(&mut self) -> Vec<(String, Column)> {
        let rows = std::mem::take(&mut self.rows);
        self.expected = rows;
        self.names.clear();
        self.last = 0;
        let columns = std::mem::take(&mut self.columns);
        let padded = columns.into_iter().map(|mut column| {
            column.values.pad(rows);
            (column.name, column.values)
        });
        padded.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_padded_and_columns_turn_into_text() {
        let mut columns = Columns::default();
        columns.set_int("a", 1);
        columns.end_row();
        columns.set_text("a", "x");
        columns.set_int("b", 2);
        columns.set_int("b", 3);
        columns.end_row();
        columns.end_row();
        assert_eq!(
            columns.take(),
            [
                ("a".to_owned(), Column::Text([Some("1"), Some("x"), None].into())),
                ("b".to_owned(), Column::Int(vec![None, Some(2), None])),
            ]
        );
        assert_eq!(columns.rows(), 0);
    }

    #[test]
    fn a_second_value_of_a_row_changes_nothing() {
        let mut columns = Columns::default();
        columns.set_int("ts_ns", 1);
        columns.set_text("ts_ns", "abc");
        columns.end_row();
        assert_eq!(columns.take()[0].1, Column::Int(vec![Some(1)]));
    }

    #[test]
    fn an_abandoned_row_leaves_nothing() {
        let mut columns = Columns::default();
        columns.set_int("a", 1);
        columns.abandon_row();
        columns.set_int("a", 2);
        columns.end_row();
        assert_eq!(columns.take()[0].1, Column::Int(vec![Some(2)]));
    }

    #[test]
    fn the_number_of_columns_is_bounded() {
        let mut columns = Columns::default();
        (0..300).for_each(|i| columns.set_int(&i.to_string(), i));
        assert_eq!(columns.dropped, 300 - MAX_COLUMNS as u64);
    }
}
