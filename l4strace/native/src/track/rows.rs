//! The rows of rounds that ended, in blocks: they are not copied when there are more of them, nor when lanes are put
//! together.

use std::iter::Flatten;
use std::slice::Iter;

use super::round::RoundRow;

/// Rows of the first block and of the largest: lanes with few rounds take little, and a large block (1 MB) goes
/// back to the system when it is dropped, which the allocator keeps small ones from.
const FIRST: usize = 16;
const MOST: usize = 1 << 11;
/// Bits of a row's place that are its place in the block.
const BITS: u32 = 16;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    blocks: Vec<Vec<RoundRow>>,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub fn iter(&self) -> Flatten<Iter<'_, Vec<RoundRow>>> {
        self.blocks.iter().flatten()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut RoundRow> {
        self.blocks.iter_mut().flatten()
    }

    pub fn clear(&mut self) {
        self.blocks.clear();
    }

    /// Adds a row; its place, where there is a number for it, is for [`Rows::at`].
    pub(super) fn push(&mut self, row: RoundRow) -> Option<u32> {
        if self.blocks.last().is_none_or(|block| block.len() == block.capacity()) {
            let rows = self.blocks.last().map_or(FIRST, |block| (2 * block.len()).min(MOST));
            self.blocks.push(Vec::with_capacity(rows));
        }
        let number = self.blocks.len() - 1;
        let block = &mut self.blocks[number];
        block.push(row);
        Some(u32::from(u16::try_from(number).ok()?) << BITS | u32::from(u16::try_from(block.len() - 1).ok()?))
    }

    /// The row of this place.
    pub(super) fn at(&mut self, place: u32) -> &mut RoundRow {
        &mut self.blocks[(place >> BITS) as usize][place as usize & ((1 << BITS) - 1)]
    }

    /// Takes over the rows of another lane, whose places are no longer theirs.
    pub(super) fn append(&mut self, mut other: Rows) {
        self.blocks.append(&mut other.blocks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rounds: std::ops::Range<u32>) -> (Rows, Vec<u32>) {
        let mut rows = Rows::default();
        let row = |round| RoundRow { round, ..RoundRow::default() };
        let places = rounds.map(|round| rows.push(row(round)).expect("a place")).collect();
        (rows, places)
    }

    #[test]
    fn a_row_is_found_at_its_place() {
        let (mut rows, places) = rows(0..5 * MOST as u32 + 5);
        assert_eq!(rows.len(), places.len());
        for (round, place) in (0..).zip(places) {
            assert_eq!(rows.at(place).round, round);
        }
    }

    #[test]
    fn rows_of_lanes_follow_each_other() {
        let (mut all, _) = rows(0..100);
        all.append(rows(200..202).0);
        assert!(all.iter().map(|row| row.round).eq((0..100).chain(200..202)));
        assert_eq!(all.len(), 102);
    }
}
