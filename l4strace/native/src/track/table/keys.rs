//! Keys -> directional ids: open addressing, one probe per packet as a rule.

use std::hash::{BuildHasher, Hasher, RandomState};

use crate::packet::FlowKey;
use crate::track::prefetch::prefetch;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    tag: u32,
    /// Number of the entry from 1; 0 is free.
    entry: u32,
}

/// One key and the directional id that its packets have now.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: FlowKey,
    id: u32,
}

/// The ids that packets of each key have now.
pub struct Keys {
    slots: Vec<Slot>,
    entries: Vec<Entry>,
    seed: u64,
    /// Keys that were asked for last, each with its reverse and its own id, by their ports: packets of one
    /// conversation come in runs, and a few take turns.
    recent: [Option<([FlowKey; 2], u32)>; RECENT],
}

/// A power of two.
const RECENT: usize = 8;

/// The same for both directions.
#[inline(always)]
fn place(key: &FlowKey) -> usize {
    usize::from(key.src_port.wrapping_add(key.dst_port)) % RECENT
}

impl Default for Keys {
    fn default() -> Self {
        // A random seed, because the addresses in a capture are chosen by strangers.
        let seed = RandomState::new().build_hasher().finish();
        Keys { slots: vec![Slot::default(); 64], entries: Vec::new(), seed, recent: [None; RECENT] }
    }
}

impl Keys {
    /// From now on packets of `key` have this id.
    pub fn put(&mut self, key: FlowKey, id: u32) {
        self.recent = [None; RECENT];
        if (self.entries.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let hash = self.hash(&key);
        match self.slot(&key, hash) {
            Ok(entry) => self.entries[entry].id = id,
            Err(free) => {
                self.entries.push(Entry { key, id });
                self.slots[free] = Slot { tag: (hash >> 32) as u32, entry: self.entries.len() as u32 };
            }
        }
    }

    /// Asks for the slot of a hash.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        prefetch(&self.slots[hash as usize & (self.slots.len() - 1)]);
    }

    /// Asks for the key that a hash most likely means, once its slot is here.
    #[inline]
    pub fn prefetch_key(&self, hash: u64) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].entry != 0 && self.slots[at].tag != (hash >> 32) as u32 {
            at = (at + 1) & mask;
        }
        if let Some(entry) = self.entries.get((self.slots[at].entry as usize).wrapping_sub(1)) {
            prefetch(entry);
        }
    }

    /// The id of a key that was asked for lately, or of its reverse.
    #[inline(always)]
    pub fn again(&self, key: &FlowKey) -> Option<u32> {
        let (keys, id) = self.recent[place(key)].as_ref()?;
        // One port shows which of the two it can be, as a rule.
        let reverse = u32::from(key.src_port != keys[0].src_port);
        keys[reverse as usize].is(key).then_some(id ^ reverse)
    }

    /// The key was asked for, and has this id.
    #[inline]
    pub fn note(&mut self, key: &FlowKey, id: u32) {
        self.recent[place(key)] = Some(([*key, key.reversed()], id));
    }

    #[inline]
    pub fn find(&self, key: &FlowKey, hash: u64) -> Option<u32> {
        self.slot(key, hash).ok().map(|entry| self.entries[entry].id)
    }

    /// The key's entry, or the free slot where it would stand.
    #[inline]
    fn slot(&self, key: &FlowKey, hash: u64) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.entry == 0 {
                return Err(at);
            }
            if slot.tag == (hash >> 32) as u32 && self.entries[slot.entry as usize - 1].key.is(key) {
                return Ok(slot.entry as usize - 1);
            }
            at = (at + 1) & mask;
        }
    }

    /// Keeps the keys whose id has a new one.
    pub fn keep(&mut self, new: impl Fn(u32) -> Option<u32>) {
        self.recent = [None; RECENT];
        self.entries.retain_mut(|entry| {
            let id = new(entry.id);
            entry.id = id.unwrap_or_default();
            id.is_some()
        });
        self.rehash(self.slots.len());
    }

    fn grow(&mut self) {
        self.rehash(self.slots.len() * 2);
    }

    fn rehash(&mut self, size: usize) {
        self.slots = vec![Slot::default(); size];
        for (entry, number) in self.entries.iter().zip(1..) {
            let hash = self.hash(&entry.key);
            if let Err(free) = self.slot(&entry.key, hash) {
                self.slots[free] = Slot { tag: (hash >> 32) as u32, entry: number };
            }
        }
    }

    #[inline]
    pub fn hash(&self, key: &FlowKey) -> u64 {
        let [src_0, src_1, dst_0, dst_1, rest] = key.words();
        let a = fold(src_0 ^ self.seed, src_1 ^ 0x9e37_79b9_7f4a_7c15);
        let b = fold(dst_0 ^ a, dst_1 ^ 0xc2b2_ae3d_27d4_eb4f);
        fold(b ^ rest, self.seed ^ 0x1656_67b1_9e37_79f9)
    }
}

/// Two words as one, each bit of which depends on all of theirs (the mix of wyhash).
#[inline(always)]
pub fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
