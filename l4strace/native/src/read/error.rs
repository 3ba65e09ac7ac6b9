//! What can go wrong while opening or reading an input, as one line for a person.

use std::fmt;

/// An input that cannot be read or is no capture. A capture that merely ends early is not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    pub path: String,
    pub message: String,
}

impl ReadError {
    pub fn new(path: &str, message: impl Into<String>) -> Self {
        ReadError { path: path.to_owned(), message: message.into() }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.path == "-" { "standard input" } else { &self.path };
        write!(f, "{}: {}", name, self.message)
    }
}

impl std::error::Error for ReadError {}
