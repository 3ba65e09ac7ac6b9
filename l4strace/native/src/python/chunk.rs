//! Columns of a polars DataFrame that Python hands over, looked at where they lie.

use std::ffi::CStr;
use std::fmt::Display;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::DataType;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::paths::{Bits, Column};

const STREAM: &CStr = c"arrow_array_stream";

/// Rows of one DataFrame that `rechunk` put together.
pub struct Chunk {
    rows: RecordBatch,
}

impl<'py> FromPyObject<'_, 'py> for Chunk {
    type Error = PyErr;

    fn extract(table: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let stream = table.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let stream = stream.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: a capsule of this name holds such a stream (Arrow's PyCapsule interface), and the
        // reader leaves an empty one behind, so that the capsule releases nothing twice.
        let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) }.map_err(refused)?;
        let schema = reader.schema();
        let mut batches = reader.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        match (batches.pop(), batches.len()) {
            (Some(rows), 0) => Ok(Chunk { rows }),
            (None, _) => Ok(Chunk { rows: RecordBatch::new_empty(schema) }),
            _ => Err(PyValueError::new_err("the table is in several chunks")),
        }
    }
}

impl Chunk {
    /// A column of exactly the type that it has.
    pub fn column<T: ArrowPrimitiveType>(&self, name: &str) -> PyResult<Column<'_, T::Native>> {
        let column = self.rows.column_by_name(name).and_then(|column| column.as_primitive_opt::<T>());
        let column = column.ok_or_else(|| missing(name, &T::DATA_TYPE))?;
        let present = column.nulls().map(|bits| Bits { bytes: bits.validity(), offset: bits.offset() });
        Ok(Column::new(column.values(), present))
    }

    /// Whether each row of the column is true; null is not.
    pub fn flags(&self, name: &str) -> PyResult<Vec<bool>> {
        let column = self.rows.column_by_name(name).and_then(|column| column.as_boolean_opt());
        let column = column.ok_or_else(|| missing(name, &DataType::Boolean))?;
        Ok(column.iter().map(|value| value.unwrap_or(false)).collect())
    }
}

fn missing(name: &str, kind: &DataType) -> PyErr {
    refused(format!("the column {name} is missing or not {kind}"))
}

fn refused(reason: impl Display) -> PyErr {
    PyValueError::new_err(reason.to_string())
}
