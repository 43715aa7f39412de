//! A map from numbers to small values in one open-addressed table, for lookups at every memory access.
//! Clearing keeps its capacity, except after an unusually large block.

/// No key.
const EMPTY: u64 = u64::MAX;
/// Capacity of an empty map.
const LEAST: usize = 64;
/// Maximum capacity kept by clearing.
const KEPT: usize = 1 << 12;

/// A map from numbers below 2^64 - 1.
#[derive(Clone, Debug)]
pub(super) struct OpenMap<V> {
    places: Vec<(u64, V)>,
    len: usize,
}

impl<V: Copy + Default> Default for OpenMap<V> {
    fn default() -> Self {
        OpenMap { places: vec![(EMPTY, V::default()); LEAST], len: 0 }
    }
}

impl<V: Copy + Default> OpenMap<V> {
    /// Number of keys.
    #[must_use]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Removes all keys.
    pub(super) fn clear(&mut self) {
        if self.len > 0 {
            self.places.truncate(KEPT);
            self.places.fill((EMPTY, V::default()));
            self.len = 0;
        }
    }

    /// Home position of a key: the upper bits of a product depend on all bits of the key.
    #[inline(always)]
    fn home(&self, key: u64) -> usize {
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 32) as usize & (self.places.len() - 1)
    }

    /// Position of a key, or the free position where it would be inserted.
    #[inline(always)]
    fn place(&self, key: u64) -> usize {
        let mut at = self.home(key);
        while self.places[at].0 != key && self.places[at].0 != EMPTY {
            at = (at + 1) & (self.places.len() - 1);
        }
        at
    }

    /// The value of a key.
    #[must_use]
    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<V> {
        let (found, value) = self.places[self.place(key)];
        (found == key).then_some(value)
    }

    /// Sets the value of a key and returns the previous one.
    #[inline]
    pub(super) fn insert(&mut self, key: u64, value: V) -> Option<V> {
        let at = self.place(key);
        let (found, before) = std::mem::replace(&mut self.places[at], (key, value));
        if found == key {
            return Some(before);
        }
        self.len += 1;
        if 2 * self.len > self.places.len() {
            self.rebuild(2 * self.places.len(), |_, _| true);
        }
        None
    }

    /// Removes a key.
    pub(super) fn remove(&mut self, key: u64) {
        let mut hole = self.place(key);
        if self.places[hole].0 != key {
            return;
        }
        // Following entries move up unless that would put them before their home.
        let last = self.places.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & last;
            let (other, _) = self.places[at];
            if other == EMPTY {
                break;
            }
            let from_home = at.wrapping_sub(self.home(other)) & last;
            if from_home >= at.wrapping_sub(hole) & last {
                self.places[hole] = self.places[at];
                hole = at;
            }
        }
        self.places[hole].0 = EMPTY;
        self.len -= 1;
    }

    /// Keeps the entries for which a condition is true.
    pub(super) fn retain(&mut self, keep: impl FnMut(u64, V) -> bool) {
        self.rebuild(self.places.len(), keep);
    }

    /// Keys and values in unspecified order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, V)> {
        self.places.iter().copied().filter(|(key, _)| *key != EMPTY)
    }

    #[inline(never)]
    fn rebuild(&mut self, places: usize, mut keep: impl FnMut(u64, V) -> bool) {
        let old = std::mem::replace(&mut self.places, vec![(EMPTY, V::default()); places]);
        self.len = 0;
        for (key, value) in old.into_iter().filter(|(key, _)| *key != EMPTY) {
            if keep(key, value) {
                let at = self.place(key);
                self.places[at] = (key, value);
                self.len += 1;
            }
        }
    }
}

impl OpenMap<u64> {
    /// Adds to the count of a key; an absent key counts 0.
    #[inline]
    pub(super) fn add(&mut self, key: u64, count: u64) {
        let at = self.place(key);
        if self.places[at].0 == key {
            self.places[at].1 += count;
        } else {
            self.insert(key, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0u8..8, 0u64..90, any::<u32>()), 0..600)) {
            let (mut map, mut model) = (OpenMap::default(), BTreeMap::new());
            for (step, number, value) in steps {
                // Far apart, near one another, and with equal lower bits.
                let key = [number, number << 40, number * 64][value as usize % 3];
                match step {
                    0..=4 => prop_assert_eq!(map.insert(key, value), model.insert(key, value)),
                    5..=6 => {
                        map.remove(key);
                        model.remove(&key);
                    }
                    _ if number == 0 => {
                        map.clear();
                        model.clear();
                    }
                    _ => {
                        map.retain(|key, value| !(key ^ u64::from(value)).is_multiple_of(5));
                        model.retain(|key, value| !(key ^ u64::from(*value)).is_multiple_of(5));
                    }
                }
                prop_assert_eq!(map.get(key), model.get(&key).copied());
                prop_assert_eq!(map.len(), model.len());
            }
            let all: BTreeMap<u64, u32> = map.iter().collect();
            prop_assert_eq!(all, model);
        }
    }
}
