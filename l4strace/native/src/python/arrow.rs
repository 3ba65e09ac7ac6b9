//! Columns -> Arrow, handed to Python without a copy (https://arrow.apache.org/docs/format/CDataInterface).

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, UInt32Builder};
use arrow_array::ffi::to_ffi;
use arrow_array::types::{Float64Type, Int64Type, UInt16Type, UInt32Type, UInt64Type, UInt8Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, RecordBatch, StringArray,
};
use arrow_array::{RecordBatchOptions, StructArray};
use arrow_schema::{Field, Schema};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A table under construction: one call per column, in the order of `l4strace.schema`.
///
/// Values may be plain or `Option`s; `None` becomes null.
#[derive(Default)]
pub struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

/// Methods that take an iterator over the rows' values.
macro_rules! primitive_columns {
    ($($name:ident: $arrow:ty, $rust:ty;)*) => {$(
        pub fn $name<V: Into<Option<$rust>>>(&mut self, name: &str, values: impl Iterator<Item = V>) -> &mut Self {
            self.primitive::<$arrow>(name, values.map(Into::into))
        }
    )*};
}

impl Columns {
    primitive_columns! {
        u8: UInt8Type, u8;
        u16: UInt16Type, u16;
        u32: UInt32Type, u32;
        u64: UInt64Type, u64;
        i64: Int64Type, i64;
        f64: Float64Type, f64;
    }

    fn primitive<T: ArrowPrimitiveType>(
        &mut self,
        name: &str,
        values: impl Iterator<Item = Option<T::Native>>,
    ) -> &mut Self {
        let array: PrimitiveArray<T> = values.collect();
        self.push(name, Arc::new(array))
    }

    pub fn bool<V: Into<Option<bool>>>(&mut self, name: &str, values: impl Iterator<Item = V>) -> &mut Self {
        let array: BooleanArray = values.map(Into::into).collect();
        self.push(name, Arc::new(array))
    }

    pub fn str<S: AsRef<str>>(&mut self, name: &str, values: impl Iterator<Item = Option<S>>) -> &mut Self {
        let array: StringArray = values.collect();
        self.push(name, Arc::new(array))
    }

    /// A list per row; an absent one is null.
    pub fn u32_lists<L: IntoIterator<Item = u32>>(
        &mut self,
        name: &str,
        values: impl Iterator<Item = Option<L>>,
    ) -> &mut Self {
        let mut builder = ListBuilder::new(UInt32Builder::new());
        for list in values {
            match list {
                Some(list) => builder.append_value(list.into_iter().map(Some)),
                None => builder.append_null(),
            }
        }
        self.push(name, Arc::new(builder.finish()))
    }

    pub fn push(&mut self, name: &str, array: ArrayRef) -> &mut Self {
        self.fields.push(Field::new(name, array.data_type().clone(), true));
        self.arrays.push(array);
        self
    }

    /// All columns must have the same length.
    pub fn finish(self) -> PyResult<ArrowTable> {
        let rows = self.arrays.first().map_or(0, |array| array.len());
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(self.fields)), self.arrays, &options)
            .map(|batch| ArrowTable { batch })
            .map_err(|e| PyRuntimeError::new_err(e.to_string()))
    }
}

/// Rows that `polars.DataFrame(...)` takes over without a copy.
#[pyclass(frozen, module = "l4strace._native")]
pub struct ArrowTable {
    batch: RecordBatch,
}

#[pymethods]
impl ArrowTable {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // A producer may ignore the request and deliver what it has.
        drop(requested_schema);
        let data = StructArray::from(self.batch.clone()).into_data();
        let (array, schema) = to_ffi(&data).map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }
}
