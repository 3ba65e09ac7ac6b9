//! Texts of one column, joined in one string.

use std::fmt::{Debug, Display, Write};

#[derive(Clone, Default)]
pub struct Texts {
    text: String,
    /// By row, where its text ends, and whether it has one: it begins where that of the row before ends.
    ends: Vec<(usize, bool)>,
}

impl Texts {
    pub fn with_capacity(rows: usize) -> Self {
        Texts { text: String::new(), ends: Vec::with_capacity(rows) }
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn push(&mut self, value: &str) {
        self.text.push_str(value);
        self.ends.push((self.text.len(), true));
    }

    pub fn push_number(&mut self, value: impl Display) {
        // Writing to a string does not fail.
        let _ = write!(self.text, "{value}");
        self.ends.push((self.text.len(), true));
    }

    /// As many rows: those that are lacking have no text.
    pub fn pad(&mut self, rows: usize) {
        self.ends.resize(rows.max(self.ends.len()), (self.text.len(), false));
    }

    pub fn truncate(&mut self, rows: usize) {
        self.ends.truncate(rows);
        self.text.truncate(self.ends.last().map_or(0, |&(end, _)| end));
    }

    pub fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|&(end, _)| end));
        starts.zip(&self.ends).map(|(start, &(end, present))| present.then(|| &self.text[start..end]))
    }
}

impl PartialEq for Texts {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Debug for Texts {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<const N: usize> From<[Option<&str>; N]> for Texts {
    fn from(values: [Option<&str>; N]) -> Self {
        let mut texts = Texts::default();
        for (row, value) in values.into_iter().enumerate() {
            value.into_iter().for_each(|value| texts.push(value));
            texts.pad(row + 1);
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_text_and_empty_texts_differ() {
        let mut texts = Texts::from([Some("a"), None, Some(""), Some("bc")]);
        texts.push_number(-7);
        texts.pad(6);
        let all = [Some("a"), None, Some(""), Some("bc"), Some("-7"), None];
        assert!(texts.iter().eq(all));
        assert!(texts == Texts::from(all) && texts != Texts::from([Some("a"), None, None, Some("bc")]));
        texts.truncate(2);
        texts.push("d");
        assert_eq!(texts, Texts::from([Some("a"), None, Some("d")]));
    }
}
