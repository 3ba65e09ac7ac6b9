//! Kernel logs that come as text: lines of `key=value` fields, or of one JSON object, become columns.
//!
//! Only the shape is read here; what a field means, and in which unit, is the importer's business.

pub mod columns;
pub mod event;
pub mod fields;
mod plain;
pub mod qlog;
pub mod reader;
pub mod records;
pub mod samples;
pub mod texts;

pub use columns::{Column, Columns};
pub use reader::{Counts, Reader, Shape};
pub use records::{Kind, Records, Values};
pub use samples::{Samples, Thinning};
pub use texts::Texts;
