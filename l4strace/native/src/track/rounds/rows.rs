//! The rows of rounds that ended, in blocks: they are not copied when there are more of them.

use std::collections::BTreeMap;

use super::round::RoundRow;

/// Rows of the first block and of the largest: captures with few rounds take little, and a large block (1.4 MB) goes
/// back to the system when it is dropped, which the allocator keeps small ones from.
const FIRST: usize = 16;
const MOST: usize = 1 << 12;
/// Bits of a row's place that are its place in the block.
const BITS: u32 = 16;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    blocks: Vec<Vec<RoundRow>>,
    /// Block and place of rows that others have taken up: the next ones go there.
    free: Vec<(u32, u32)>,
    live: usize,
}

/// Direction of a flow.
pub(in crate::track) type Of = (u32, bool);

impl Rows {
    #[inline]
    pub fn len(&self) -> usize {
        self.live
    }

    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = &RoundRow> {
        self.blocks.iter().flatten().filter(|row| row.round_trips > 0)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut RoundRow> {
        self.blocks.iter_mut().flatten().filter(|row| row.round_trips > 0)
    }

    pub fn clear(&mut self) {
        self.blocks.clear();
        self.free.clear();
        self.live = 0;
    }

    /// Adds a row; its place, where there is a number for it, is for [`Rows::at`].
    pub(in crate::track) fn push(&mut self, row: RoundRow) -> Option<u32> {
        self.live += 1;
        if let Some(place) = self.free.pop() {
            *self.row_mut(place) = row;
            return numbered(place);
        }
        if self.blocks.last().is_none_or(|block| block.len() == block.capacity()) {
            let rows = self.blocks.last().map_or(FIRST, |block| (2 * block.len()).min(MOST));
            self.blocks.push(Vec::with_capacity(rows));
        }
        let number = self.blocks.len() - 1;
        let block = &mut self.blocks[number];
        block.push(row);
        numbered((number as u32, block.len() as u32 - 1))
    }

    /// The rows, to be taken one by one.
    pub fn leaving(self) -> Leaving {
        let live = |block: &Vec<RoundRow>| block.iter().filter(|row| row.round_trips > 0).count();
        Leaving { left: self.blocks.iter().map(live).collect(), blocks: self.blocks }
    }

    /// Rows with their blocks and places.
    pub fn placed(&self) -> impl Iterator<Item = ((u32, u32), &RoundRow)> {
        let blocks = (0..).zip(&self.blocks);
        let all = blocks.flat_map(|(b, block)| (0..).zip(block).map(move |(i, row)| ((b, i), row)));
        all.filter(|(_, row)| row.round_trips > 0)
    }

    /// Places of the rows of each direction, in the order of its rounds.
    pub(in crate::track) fn by_direction(&self) -> BTreeMap<Of, Vec<(u32, u32)>> {
        let mut found: BTreeMap<Of, Vec<(u32, u32)>> = BTreeMap::new();
        for (place, row) in self.placed() {
            found.entry((row.flow, row.forward)).or_default().push(place);
        }
        for places in found.values_mut() {
            places.sort_unstable_by_key(|&place| self.row(place).round);
        }
        found
    }

    pub(in crate::track) fn row(&self, (block, place): (u32, u32)) -> &RoundRow {
        &self.blocks[block as usize][place as usize]
    }

    pub(in crate::track) fn row_mut(&mut self, (block, place): (u32, u32)) -> &mut RoundRow {
        &mut self.blocks[block as usize][place as usize]
    }

    /// Takes a row out; its place is free.
    pub(in crate::track) fn take(&mut self, place: (u32, u32)) -> RoundRow {
        self.free.push(place);
        self.live -= 1;
        std::mem::take(self.row_mut(place))
    }

    /// The row of this place.
    pub(in crate::track) fn at(&mut self, place: u32) -> &mut RoundRow {
        &mut self.blocks[(place >> BITS) as usize][place as usize & ((1 << BITS) - 1)]
    }
}

/// Rows on their way into a table: a block goes once all of its rows did.
pub struct Leaving {
    blocks: Vec<Vec<RoundRow>>,
    /// Rows of each block that are still here.
    left: Vec<usize>,
}

impl Leaving {
    pub fn row(&self, (block, place): (u32, u32)) -> &RoundRow {
        &self.blocks[block as usize][place as usize]
    }

    /// The row of this place is needed no more.
    pub fn leave(&mut self, (block, _): (u32, u32)) {
        let left = &mut self.left[block as usize];
        *left -= 1;
        if *left == 0 {
            self.blocks[block as usize] = Vec::new();
        }
    }
}

/// A row's block and place as one number.
fn numbered((block, place): (u32, u32)) -> Option<u32> {
    Some(u32::from(u16::try_from(block).ok()?) << BITS | u32::from(u16::try_from(place).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rounds: std::ops::Range<u32>) -> (Rows, Vec<u32>) {
        let mut rows = Rows::default();
        let row = |round| RoundRow { round, round_trips: 1, ..RoundRow::default() };
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
    fn a_block_goes_with_its_last_row() {
        let (mut rows, _) = rows(0..2 * FIRST as u32);
        rows.take((0, 3));
        let places: Vec<_> = rows.placed().map(|(place, _)| place).collect();
        let mut leaving = rows.leaving();
        for place in places.into_iter().filter(|&(block, _)| block == 0) {
            assert_ne!(leaving.blocks[0].capacity(), 0);
            leaving.leave(place);
        }
        assert_eq!(leaving.blocks[0].capacity(), 0);
        assert_eq!(leaving.row((1, 0)).round, FIRST as u32);
    }
}
