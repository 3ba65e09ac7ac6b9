//! Columns of a polars DataFrame that Python hands over, through Arrow's C stream.

use std::ffi::CStr;
use std::fmt::Display;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt32Type, UInt64Type, UInt8Type};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::DataType;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::measure::{Bits, Column};

const STREAM: &CStr = c"arrow_array_stream";

/// Rows of one DataFrame; a column is read by its name, as exactly the type that it has.
pub struct Given {
    batches: Vec<RecordBatch>,
}

impl<'py> FromPyObject<'_, 'py> for Given {
    type Error = PyErr;

    fn extract(table: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let stream = table.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let stream = stream.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: a capsule of this name holds such a stream (Arrow's PyCapsule interface), and the
        // reader leaves an empty one behind, so that the capsule releases nothing twice.
        let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) }.map_err(refused)?;
        let schema = reader.schema();
        let mut batches = reader.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        if batches.is_empty() {
            batches.push(RecordBatch::new_empty(schema));
        }
        Ok(Given { batches })
    }
}

macro_rules! primitives {
    ($($name:ident: $arrow:ty, $rust:ty;)*) => {$(
        pub fn $name(&self, name: &str) -> PyResult<Vec<Option<$rust>>> {
            self.column::<$arrow>(name)
        }
    )*};
}

impl Given {
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    primitives! {
        u8: UInt8Type, u8;
        u32: UInt32Type, u32;
        i64: Int64Type, i64;
        f64: Float64Type, f64;
    }

    /// Whole numbers of any width; 0 where one is not present.
    pub fn counts(&self, name: &str) -> PyResult<Vec<u64>> {
        let kind =
            self.batches.first().and_then(|batch| Some(batch.column_by_name(name)?.data_type().clone()));
        Ok(match kind {
            Some(DataType::UInt32) => counted(self.u32(name)?, u64::from),
            Some(DataType::Int64) => counted(self.i64(name)?, |value| value.max(0) as u64),
            _ => counted(self.column::<UInt64Type>(name)?, |value| value),
        })
    }

    pub fn bool(&self, name: &str) -> PyResult<Vec<Option<bool>>> {
        self.collected(|batch| Some(batch.column_by_name(name)?.as_boolean_opt()?.iter()), name, "Boolean")
    }

    /// Every column, in order: all are numbers with a fraction.
    pub fn floats(&self) -> PyResult<Vec<Vec<Option<f64>>>> {
        let names = self.batches.first().map(RecordBatch::schema);
        let names = names.iter().flat_map(|schema| schema.fields().iter());
        names.map(|field| self.f64(field.name())).collect()
    }

    /// A column as it lies in memory; the table is in one chunk, as `rechunk` leaves it.
    pub fn whole<T: ArrowPrimitiveType>(&self, name: &str) -> PyResult<Column<'_, T::Native>> {
        let column = self.chunk()?.column_by_name(name).and_then(|column| column.as_primitive_opt::<T>());
        let column = column.ok_or_else(|| missing(name, T::DATA_TYPE))?;
        let present = column.nulls().map(|bits| Bits { bytes: bits.validity(), offset: bits.offset() });
        Ok(Column::new(column.values(), present))
    }

    /// The same; where there is no such column, nothing is present.
    pub fn known<T: ArrowPrimitiveType>(&self, name: &str) -> PyResult<Column<'_, T::Native>> {
        let is_there = self.chunk()?.column_by_name(name).is_some();
        if is_there {
            self.whole::<T>(name)
        } else {
            Ok(Column::default())
        }
    }

    /// Whether each row of a column is true; null is not.
    pub fn flags<'a>(&'a self, name: &str) -> PyResult<Vec<bool>> {
        let present = |batch: &'a RecordBatch| {
            let column = batch.column_by_name(name)?.as_boolean_opt()?;
            Some(column.iter().map(|value| value.unwrap_or(false)))
        };
        self.collected(present, name, "Boolean")
    }

    /// A column of texts, as polars lays them out.
    pub fn texts<'a>(&'a self, name: &str) -> PyResult<impl Iterator<Item = Option<&'a str>>> {
        let column = |batch: &'a RecordBatch| batch.column_by_name(name)?.as_string_view_opt();
        let found: Option<Vec<_>> = self.batches.iter().map(column).collect();
        Ok(found.ok_or_else(|| missing(name, "Utf8View"))?.into_iter().flat_map(|part| part.iter()))
    }

    fn chunk(&self) -> PyResult<&RecordBatch> {
        match &self.batches[..] {
            [batch] => Ok(batch),
            _ => Err(PyValueError::new_err("the table is in several chunks")),
        }
    }

    fn column<T: ArrowPrimitiveType>(&self, name: &str) -> PyResult<Vec<Option<T::Native>>> {
        self.collected(
            |batch| Some(batch.column_by_name(name)?.as_primitive_opt::<T>()?.iter()),
            name,
            T::DATA_TYPE,
        )
    }

    fn collected<'a, I: Iterator>(
        &'a self,
        values: impl Fn(&'a RecordBatch) -> Option<I>,
        name: &str,
        kind: impl Display,
    ) -> PyResult<Vec<I::Item>> {
        let mut all = Vec::with_capacity(self.rows());
        for batch in &self.batches {
            all.extend(values(batch).ok_or_else(|| missing(name, &kind))?);
        }
        Ok(all)
    }
}

fn counted<T>(values: Vec<Option<T>>, count: impl Fn(T) -> u64) -> Vec<u64> {
    values.into_iter().map(|value| value.map_or(0, &count)).collect()
}

fn missing(name: &str, kind: impl Display) -> PyErr {
    PyValueError::new_err(format!("the column {name} is missing or not {kind}"))
}

fn refused(error: arrow_schema::ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
