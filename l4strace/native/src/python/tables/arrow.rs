//! Columns -> Arrow, handed to Python without a copy (https://arrow.apache.org/docs/format/CDataInterface).

use arrow_array::builder::{ArrayBuilder, BooleanBuilder, ListBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::builder::{Int64Builder, UInt32Builder};
use arrow_array::ffi::to_ffi;
use arrow_array::types::{Float64Type, Int64Type, UInt16Type, UInt32Type, UInt64Type, UInt8Type};
use arrow_array::{Array, ArrowPrimitiveType, RecordBatch, StructArray};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Rows that go into every column before the next rows follow: they stay in the cache meanwhile.
const BLOCK: usize = 256;

/// A table under construction: one call per column, in the order of `l4strace.schema`.
///
/// Values may be plain or `Option`s; `None` becomes null.
#[derive(Default)]
pub struct Columns {
    columns: Vec<(String, Box<dyn ArrayBuilder>)>,
    /// The column whose turn it is.
    at: usize,
    /// Rows to make room for.
    rows: usize,
    /// The only columns to make; all where it is empty.
    wanted: Vec<String>,
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
    /// A table whose columns `fill` adds to, rows by rows; where there are none it is called once.
    pub fn blocks<R>(rows: &[R], fill: impl Fn(&mut Columns, &[R])) -> Self {
        let mut columns = Columns::of_rows(rows.len());
        fill(&mut columns, &rows[..rows.len().min(BLOCK)]);
        for block in rows.chunks(BLOCK).skip(1) {
            fill(columns.again(), block);
        }
        columns
    }

    /// A table of so many rows.
    pub fn of_rows(rows: usize) -> Self {
        Columns { rows, ..Columns::default() }
    }

    /// A table of the `wanted` columns alone: others are passed over.
    pub fn of(wanted: &[String]) -> Self {
        Columns { wanted: wanted.to_vec(), ..Columns::default() }
    }

    /// Columns of several tables, which have the same rows.
    pub fn joined(tables: Vec<Columns>) -> Self {
        Columns {
            columns: tables.into_iter().flat_map(|table| table.columns).collect(),
            ..Columns::default()
        }
    }

    /// More rows follow, from the first column on.
    pub fn again(&mut self) -> &mut Self {
        self.at = 0;
        self
    }

    primitive_columns! {
        u8: UInt8Type, u8;
        u16: UInt16Type, u16;
        u32: UInt32Type, u32;
        u64: UInt64Type, u64;
        i64: Int64Type, i64;
        f64: Float64Type, f64;
    }

    pub fn bool<V: Into<Option<bool>>>(&mut self, name: &str, values: impl Iterator<Item = V>) -> &mut Self {
        self.extend(name, BooleanBuilder::with_capacity, values.map(Into::into))
    }

    pub fn str<S: AsRef<str>>(&mut self, name: &str, values: impl Iterator<Item = Option<S>>) -> &mut Self {
        self.extend(name, |rows| StringBuilder::with_capacity(rows, 0), values)
    }

    /// A list per row; an absent one is null.
    pub fn u32_lists<L: IntoIterator<Item = u32>>(
        &mut self,
        name: &str,
        values: impl Iterator<Item = Option<L>>,
    ) -> &mut Self {
        let values = values.map(|list| list.map(|list| list.into_iter().map(Some)));
        self.extend(name, |rows| ListBuilder::with_capacity(UInt32Builder::new(), rows), values)
    }

    /// The same of larger numbers.
    pub fn i64_lists<L: IntoIterator<Item = i64>>(
        &mut self,
        name: &str,
        values: impl Iterator<Item = Option<L>>,
    ) -> &mut Self {
        let values = values.map(|list| list.map(|list| list.into_iter().map(Some)));
        self.extend(name, |rows| ListBuilder::with_capacity(Int64Builder::new(), rows), values)
    }

    /// Adds numbers, a block at a time: one by one each costs ten times as much.
    fn primitive<T: ArrowPrimitiveType>(
        &mut self,
        name: &str,
        mut values: impl Iterator<Item = Option<T::Native>>,
    ) -> &mut Self {
        let Some(builder) = self.column(name, PrimitiveBuilder::<T>::with_capacity) else { return self };
        let (mut numbers, mut present) = ([T::Native::default(); BLOCK], [false; BLOCK]);
        let mut filled = BLOCK;
        while filled == BLOCK {
            filled = 0;
            for ((number, is_present), value) in numbers.iter_mut().zip(&mut present).zip(&mut values) {
                (*number, *is_present) = (value.unwrap_or_default(), value.is_some());
                filled += 1;
            }
            builder.append_values(&numbers[..filled], &present[..filled]);
        }
        self
    }

    /// Adds values of any other kind.
    fn extend<V, B: ArrayBuilder + Extend<V>>(
        &mut self,
        name: &str,
        new: impl Fn(usize) -> B,
        values: impl Iterator<Item = V>,
    ) -> &mut Self {
        if let Some(builder) = self.column(name, new) {
            builder.extend(values);
        }
        self
    }

    /// The column whose turn it is; `None` where it is not wanted.
    fn column<B: ArrayBuilder>(&mut self, name: &str, new: impl Fn(usize) -> B) -> Option<&mut B> {
        if !self.wanted.is_empty() && !self.wanted.iter().any(|wanted| wanted == name) {
            return None;
        }
        if self.at == self.columns.len() {
            self.columns.push((name.to_owned(), Box::new(new(self.rows))));
        }
        let (known, builder) = &mut self.columns[self.at];
        debug_assert_eq!(known, name);
        self.at += 1;
        builder.as_any_mut().downcast_mut()
    }

    /// All columns must have the same length.
    pub fn finish(self) -> PyResult<ArrowTable> {
        let columns = self.columns.into_iter().map(|(name, mut builder)| (name, builder.finish(), true));
        RecordBatch::try_from_iter_with_nullable(columns)
            .map(|batch| ArrowTable { batch })
            .map_err(|e| PyRuntimeError::new_err(e.to_string()))
    }
}

/// Rows that `polars.DataFrame(...)` takes over without a copy.
#[pyclass(frozen, module = "l4strace.core._native")]
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
