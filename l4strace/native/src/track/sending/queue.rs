//! A queue in one slice.

use std::ops::{Deref, DerefMut};

/// What is taken from the front stays before the slice until its room is needed: to take is to count, and nothing
/// wraps, as it does in a `VecDeque`.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    items: Vec<T>,
    taken: usize,
}

impl<T> Queue<T> {
    #[inline(always)]
    pub fn push(&mut self, item: T) {
        if self.items.len() == self.items.capacity() {
            self.make_room();
        }
        self.items.push(item);
    }

    // These two ask for less than their likes of the slice, which checks its bounds first.

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.items.len() - self.taken
    }

    #[inline(always)]
    pub fn first(&self) -> Option<&T> {
        self.items.get(self.taken)
    }

    /// Closes up where that moves no more than was taken; else the slice grows.
    #[cold]
    fn make_room(&mut self) {
        if self.taken >= self.len() {
            self.items.drain(..self.taken);
            self.taken = 0;
        }
    }

    pub fn insert(&mut self, at: usize, item: T) {
        self.items.insert(self.taken + at, item);
    }

    /// Takes the first so many, which are there.
    #[inline(always)]
    pub fn take(&mut self, number: usize) {
        debug_assert!(number <= self.len());
        self.taken += number;
    }

    pub fn clear(&mut self) {
        self.items.clear();
        self.taken = 0;
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Queue { items: Vec::new(), taken: 0 }
    }
}

impl<T> Deref for Queue<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.items[self.taken..]
    }
}

impl<T> DerefMut for Queue<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items[self.taken..]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[test]
    fn what_comes_out_is_what_went_in() {
        let (mut queue, mut other) = (Queue::default(), VecDeque::new());
        for n in 0..1000u32 {
            (0..n % 7).for_each(|_| queue.push(n));
            (0..n % 7).for_each(|_| other.push_back(n));
            if n % 5 == 0 {
                queue.insert(other.len() / 2, n);
                other.insert(other.len() / 2, n);
            }
            let taken = (n as usize % 8).min(other.len());
            queue.take(taken);
            other.drain(..taken);
            assert!(queue.iter().eq(&other));
        }
        assert!(queue.items.capacity() < 4 * 1024, "{}", queue.items.capacity());
    }

    #[test]
    fn a_queue_that_does_not_grow_takes_no_more_room() {
        let mut queue = Queue::default();
        (0..10).for_each(|n| queue.push(n));
        for n in 10..10_000 {
            queue.take(1);
            queue.push(n);
        }
        assert!(queue.iter().copied().eq(9_990..10_000) && queue.items.capacity() <= 32);
    }
}
