//! Columns that come into being as their names are first seen.

use std::collections::HashMap;

/// Most columns of one log: a hostile file could name a new one on every line.
const MAX_COLUMNS: usize = 256;

/// Values of one field; turns into text at the first value that is no integer.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    Int(Vec<Option<i64>>),
    Text(Vec<Option<String>>),
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
            Column::Text(values) => values.resize(rows, None),
        }
    }

    fn into_text(self) -> Self {
        match self {
            Column::Int(values) => {
                Column::Text(values.into_iter().map(|v| v.map(|v| v.to_string())).collect())
            }
            text => text,
        }
    }
}

/// Rows under construction. A row is begun, filled by name, and ended; a name set twice keeps the first.
#[derive(Debug, Default)]
pub struct Columns {
    names: HashMap<String, usize>,
    columns: Vec<(String, Column)>,
    rows: usize,
    /// Fields that did not get a column because there were too many.
    pub dropped: u64,
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
        for (_, column) in &mut self.columns {
            match column {
                Column::Int(values) => values.truncate(rows),
                Column::Text(values) => values.truncate(rows),
            }
        }
    }

    pub fn set_int(&mut self, name: &str, value: i64) {
        let rows = self.rows;
        let Some(column) = self.column(name, false) else { return };
        match column {
            Column::Int(values) => push_at(values, rows, value),
            Column::Text(values) => push_at(values, rows, value.to_string()),
        }
    }

    pub fn set_text(&mut self, name: &str, value: &str) {
        let rows = self.rows;
        let Some(column) = self.column(name, true) else { return };
        if let Column::Int(_) = column {
            *column = std::mem::replace(column, Column::Int(Vec::new())).into_text();
        }
        if let Column::Text(values) = column {
            push_at(values, rows, value.to_owned());
        }
    }

    /// All columns, padded to the same length, and empties itself.
    pub fn take(&mut self) -> Vec<(String, Column)> {
        let rows = std::mem::take(&mut self.rows);
        self.names.clear();
        let mut columns = std::mem::take(&mut self.columns);
        columns.iter_mut().for_each(|(_, column)| column.pad(rows));
        columns
    }

    fn column(&mut self, name: &str, text: bool) -> Option<&mut Column> {
        let index = match self.names.get(name) {
            Some(index) => *index,
            None if self.columns.len() == MAX_COLUMNS => {
                self.dropped += 1;
                return None;
            }
            None => {
                let empty = if text { Column::Text(Vec::new()) } else { Column::Int(Vec::new()) };
                self.names.insert(name.to_owned(), self.columns.len());
                self.columns.push((name.to_owned(), empty));
                self.columns.len() - 1
            }
        };
        Some(&mut self.columns[index].1)
    }
}

fn push_at<T>(values: &mut Vec<Option<T>>, row: usize, value: T) {
    if values.len() > row {
        return;
    }
    values.resize_with(row, || None);
    values.push(Some(value));
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
        let text = |v: &str| Some(v.to_owned());
        assert_eq!(
            columns.take(),
            [
                ("a".to_owned(), Column::Text(vec![text("1"), text("x"), None])),
                ("b".to_owned(), Column::Int(vec![None, Some(2), None])),
            ]
        );
        assert_eq!(columns.rows(), 0);
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
