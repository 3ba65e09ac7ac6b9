//! Hashes of keys that are mixed already: strangers choose the packets, so a random number is mixed in.

use std::hash::{BuildHasher, Hasher, RandomState};

use crate::digest::mix;

/// Makes hashers with one random number.
#[derive(Clone, Debug)]
pub struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        Seeded(RandomState::new().build_hasher().finish())
    }
}

impl BuildHasher for Seeded {
    type Hasher = Mixed;

    #[inline]
    fn build_hasher(&self) -> Mixed {
        Mixed(self.0)
    }
}

/// Of 64-bit keys.
pub struct Mixed(u64);

impl Hasher for Mixed {
    #[inline]
    fn write_u64(&mut self, key: u64) {
        self.0 = mix(self.0, key);
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_agree_and_seeds_do_not() {
        let (one, other) = (Seeded::default(), Seeded::default());
        assert_eq!(one.hash_one(7u64), one.hash_one(7u64));
        assert_ne!(one.hash_one(7u64), one.hash_one(8u64));
        assert_ne!(one.hash_one(7u64), other.hash_one(7u64));
    }
}
