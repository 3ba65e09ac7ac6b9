//! Columns -> Arrow, handed to Python without a copy (https://arrow.apache.org/docs/format/CDataInterface).

use arrow_array::builder::{ArrayBuilder, BooleanBuilder, ListBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::builder::{Int64Builder, UInt32Builder};
use arrow_array::ffi::to_ffi;
use arrow_array::types::{Float64Type, Int64Type, UInt16Type, UInt32Type, UInt64Type, UInt8Type};
use arrow_array::{
    make_array, Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, RecordBatch, StructArray,
};
use arrow_data::transform::MutableArrayData;
use arrow_schema::ArrowError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Rows that go into every column before the next rows follow: they stay in the cache meanwhile.
pub const BLOCK: usize = 256;

/// A table under construction: one call per column, in the order of `l4strace.schema`.
///
/// Values may be plain or `Option`s; `None` becomes null.
#[derive(Default)]
pub struct Columns {
    columns: Vec<Kept>,
    /// The column whose turn it is.
    at: usize,
    /// Rows to make room for.
    rows: usize,
    /// The only columns to make; all where it is empty.
    wanted: Vec<String>,
    /// Numbers that are the same in all rows are kept once, but for the first column, and so are those of columns
    /// beside each other that are the same, as bounds mostly are.
    folds: bool,
}

/// A column under construction.
struct Kept {
    name: String,
    builder: Box<dyn ArrayBuilder>,
    /// Rows for which its only value stands; 0 where it has one for each.
    repeats: usize,
    /// How many columns before it one has the same numbers, and in how many rows: the only place where they are kept.
    like: Option<(usize, usize)>,
}

impl Kept {
    /// Its numbers, if it has one for each row.
    fn whole<T: ArrowPrimitiveType>(&self) -> Option<&PrimitiveBuilder<T>> {
        let builder = self.builder.as_any().downcast_ref()?;
        (self.repeats == 0 && self.like.is_none()).then_some(builder)
    }
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
        columns.add(rows, fill);
        columns
    }

    /// More rows, as `fill` adds them.
    pub fn add<R>(&mut self, rows: &[R], fill: impl Fn(&mut Columns, &[R])) {
        fill(self.again(), &rows[..rows.len().min(BLOCK)]);
        for block in rows.chunks(BLOCK).skip(1) {
            fill(self.again(), block);
        }
    }

    /// A number that all rows share is kept once: see [`ArrowTable::constants`].
    pub fn folding(self) -> Self {
        Columns { folds: true, ..self }
    }

    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
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
        let (rows, folds) = (self.rows, self.folds && self.at > 0);
        let new = |rows| PrimitiveBuilder::<T>::with_capacity(if folds { 1 } else { rows });
        let Some(at) = self.turn(name, new) else { return self };
        let (before, own) = self.columns.split_at_mut(at);
        let Kept { builder, repeats, like, .. } = &mut own[0];
        let Some(builder) = builder.as_any_mut().downcast_mut::<PrimitiveBuilder<T>>() else { return self };
        let beside = || Some(1 + before.last()?.like.map_or(0, |(back, _)| back));
        let back = like.map(|(back, _)| back).or_else(beside).filter(|_| folds);
        let other = back.and_then(|back| Some((back, before[at - back].whole::<T>()?)));
        let (mut numbers, mut present) = ([T::Native::default(); BLOCK], [false; BLOCK]);
        let mut filled = BLOCK;
        while filled == BLOCK {
            filled = 0;
            for ((number, is_present), value) in numbers.iter_mut().zip(&mut present).zip(&mut values) {
                (*number, *is_present) = (value.unwrap_or_default(), value.is_some());
                filled += 1;
            }
            let (numbers, present) = (&numbers[..filled], &present[..filled]);
            let shared = match like {
                Some(_) => stays(builder, other, like, numbers, present, rows),
                None if folds => {
                    let may_be = builder.is_empty() || *repeats > 0;
                    folded(builder, repeats, numbers, present, rows)
                        || may_be && begins(builder, other, like, numbers, present)
                }
                None => false,
            };
            if !shared {
                builder.append_values(numbers, present);
            }
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
        let column = self.turn(name, new).map(|at| &mut self.columns[at].builder);
        if let Some(builder) = column.and_then(|builder| builder.as_any_mut().downcast_mut::<B>()) {
            builder.extend(values);
        }
        self
    }

    /// The column whose turn it is; `None` where it is not wanted.
    fn turn<B: ArrayBuilder>(&mut self, name: &str, new: impl Fn(usize) -> B) -> Option<usize> {
        if !self.wanted.is_empty() && !self.wanted.iter().any(|wanted| wanted == name) {
            return None;
        }
        if self.at == self.columns.len() {
            let builder = Box::new(new(self.rows));
            self.columns.push(Kept { name: name.to_owned(), builder, repeats: 0, like: None });
        }
        debug_assert_eq!(self.columns[self.at].name, name);
        self.at += 1;
        Some(self.at - 1)
    }

    /// All columns must have the same length.
    pub fn finish(self) -> PyResult<ArrowTable> {
        let mut columns: Vec<Finished> = Vec::with_capacity(self.columns.len());
        for mut kept in self.columns {
            let array = match kept.like {
                Some((back, _)) => columns[columns.len() - back].array.clone(),
                None => kept.builder.finish(),
            };
            columns.push(Finished { array, name: kept.name, repeats: kept.repeats });
        }
        Ok(ArrowTable { columns })
    }
}

/// Keeps more values of a column by the `other` one that has the same so far. False where some differ: then `builder`
/// has room for `rows` rows, and those before.
fn stays<T: ArrowPrimitiveType>(
    builder: &mut PrimitiveBuilder<T>,
    other: Option<(usize, &PrimitiveBuilder<T>)>,
    like: &mut Option<(usize, usize)>,
    numbers: &[T::Native],
    present: &[bool],
    rows: usize,
) -> bool {
    let (Some((_, other)), Some((_, done))) = (other, like.as_mut()) else { return false };
    if same(other, *done, numbers, |row| present[row]) {
        *done += numbers.len();
        return true;
    }
    *builder = PrimitiveBuilder::with_capacity(rows.max(*done + numbers.len()));
    builder.append_array(&other.finish_cloned().slice(0, *done));
    *like = None;
    false
}

/// Whether the `other` column has what is in `builder` and these values; then it alone keeps them.
fn begins<T: ArrowPrimitiveType>(
    builder: &mut PrimitiveBuilder<T>,
    other: Option<(usize, &PrimitiveBuilder<T>)>,
    like: &mut Option<(usize, usize)>,
    numbers: &[T::Native],
    present: &[bool],
) -> bool {
    let Some((back, other)) = other else { return false };
    let done = builder.len();
    let is_there = |row| is_present(builder.validity_slice(), row);
    if !same(other, 0, builder.values_slice(), is_there) || !same(other, done, numbers, |row| present[row]) {
        return false;
    }
    *builder = PrimitiveBuilder::new();
    *like = Some((back, done + numbers.len()));
    true
}

/// Whether `column` has these values from row `at` on.
fn same<T: ArrowPrimitiveType>(
    column: &PrimitiveBuilder<T>,
    at: usize,
    numbers: &[T::Native],
    present: impl Fn(usize) -> bool,
) -> bool {
    let Some(own) = column.values_slice().get(at..at + numbers.len()) else { return false };
    let bits = column.validity_slice();
    own.iter()
        .zip(numbers)
        .enumerate()
        .all(|(row, (own, number))| own.is_eq(*number) && is_present(bits, at + row) == present(row))
}

fn is_present(bits: Option<&[u8]>, row: usize) -> bool {
    bits.is_none_or(|bits| bits[row / 8] >> (row % 8) & 1 == 1)
}

/// Keeps more values of a column by the one that all have so far. False where some differ: then `builder` has room for
/// `rows` rows, and those before.
fn folded<T: ArrowPrimitiveType>(
    builder: &mut PrimitiveBuilder<T>,
    repeats: &mut usize,
    numbers: &[T::Native],
    present: &[bool],
    rows: usize,
) -> bool {
    let Some((&number, &is_present)) = numbers.first().zip(present.first()) else { return true };
    if builder.is_empty() {
        builder.append_option(is_present.then_some(number));
    } else if *repeats == 0 {
        return false;
    }
    let only =
        builder.validity_slice().is_none_or(|bits| bits[0] & 1 == 1).then(|| builder.values_slice()[0]);
    let same = |(number, is_present): (&T::Native, &bool)| match only {
        Some(only) => *is_present && number.is_eq(only),
        None => !is_present,
    };
    if numbers.iter().zip(present).all(same) {
        *repeats += numbers.len();
        return true;
    }
    *builder = PrimitiveBuilder::with_capacity(rows.max(*repeats + numbers.len()));
    match only {
        Some(only) => builder.append_value_n(only, *repeats),
        None => builder.append_nulls(*repeats),
    }
    *repeats = 0;
    false
}

/// Rows that `polars.DataFrame(...)` takes over without a copy.
#[pyclass(frozen, module = "l4strace.core._native")]
pub struct ArrowTable {
    columns: Vec<Finished>,
}

#[derive(Clone)]
struct Finished {
    name: String,
    array: ArrayRef,
    /// Rows for which its only value stands; 0 where it has one for each.
    repeats: usize,
}

impl Finished {
    fn rows(&self) -> usize {
        if self.repeats > 0 {
            self.repeats
        } else {
            self.array.len()
        }
    }

    /// A value for each row.
    fn whole(&self) -> Result<ArrayRef, ArrowError> {
        if self.repeats == 0 {
            return Ok(self.array.clone());
        }
        let one = self.array.to_data();
        let mut all = MutableArrayData::new(vec![&one], false, self.repeats);
        for _ in 0..self.repeats {
            all.try_extend(0, 0, 1)?;
        }
        Ok(make_array(all.freeze()))
    }
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
        let columns = self.columns.iter().map(|column| Ok((&column.name, column.whole()?, true)));
        let columns = columns.collect::<Result<Vec<_>, ArrowError>>().map_err(refused)?;
        let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(refused)?;
        let (array, schema) = to_ffi(&StructArray::from(batch).into_data()).map_err(refused)?;
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }

    fn __len__(&self) -> usize {
        self.columns.first().map_or(0, Finished::rows)
    }

    /// One row: columns that hold the same number in every row, kept once. None where there are none.
    fn constants(&self) -> Option<ArrowTable> {
        let same = self.columns.iter().filter(|column| column.repeats > 0);
        let columns: Vec<_> = same.map(|column| Finished { repeats: 0, ..column.clone() }).collect();
        (!columns.is_empty()).then_some(ArrowTable { columns })
    }

    /// The other columns.
    fn varying(&self) -> ArrowTable {
        ArrowTable { columns: self.columns.iter().filter(|column| column.repeats == 0).cloned().collect() }
    }
}

fn refused(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
