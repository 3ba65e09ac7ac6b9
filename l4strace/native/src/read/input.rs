//! Where a capture or a log lies: in a file, on standard input, or in memory.

use std::fs;
use std::sync::Arc;

/// One input by name.
#[derive(Clone, Debug)]
pub enum Input {
    /// `-` is standard input.
    Path(String),
    /// Bytes at hand, as tests and fuzz targets have them; any name will do.
    Memory(String, Arc<[u8]>),
}

impl Input {
    pub fn name(&self) -> &str {
        match self {
            Input::Path(name) | Input::Memory(name, _) => name,
        }
    }

    /// Bytes as stored; 0 where nobody knows before the end (a pipe, a file that cannot be read).
    pub fn size(&self) -> u64 {
        match self {
            Input::Path(path) => fs::metadata(path).map_or(0, |metadata| metadata.len()),
            Input::Memory(_, bytes) => bytes.len() as u64,
        }
    }

    /// A pipe cannot be read a second time.
    pub fn is_readable_again(&self) -> bool {
        match self {
            Input::Path(path) => fs::metadata(path).is_ok_and(|metadata| metadata.is_file()),
            Input::Memory(..) => true,
        }
    }
}

impl From<&str> for Input {
    fn from(path: &str) -> Self {
        Input::Path(path.to_owned())
    }
}
