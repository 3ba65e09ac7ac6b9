//! Columns as Arrow lays them out, looked at without a copy.

/// Values of a column, and a bit for each that is set where the value is present.
#[derive(Clone, Copy)]
pub struct Column<'a, T> {
    values: &'a [T],
    present: Option<Bits<'a>>,
}

#[derive(Clone, Copy)]
pub struct Bits<'a> {
    pub bytes: &'a [u8],
    pub offset: usize,
}

impl Bits<'_> {
    #[inline]
    fn is_set(&self, at: usize) -> bool {
        let at = at + self.offset;
        self.bytes.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1)
    }
}

/// Nothing is present.
impl<T> Default for Column<'_, T> {
    fn default() -> Self {
        Column { values: &[], present: None }
    }
}

impl<'a, T: Copy> Column<'a, T> {
    pub fn new(values: &'a [T], present: Option<Bits<'a>>) -> Self {
        Column { values, present }
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// None where the value is not present.
    #[inline]
    pub fn get(&self, at: usize) -> Option<T> {
        let value = *self.values.get(at)?;
        self.present.is_none_or(|bits| bits.is_set(at)).then_some(value)
    }
}

impl<T: Copy + Default> Column<'_, T> {
    /// 0 where the value is not present.
    #[inline]
    pub fn or_zero(&self, at: usize) -> T {
        self.get(at).unwrap_or_default()
    }
}
