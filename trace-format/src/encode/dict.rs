//! Last position of each word in a block's pool: a small set-associative table, cleared by starting a new
//! epoch.
//!
//! It only proposes positions; the caller compares the words there. Entries of earlier epochs are never
//! returned, so the result for a block depends only on that block.

const LOG_SETS: u32 = 13;
/// Ways of a set; the oldest entry is evicted.
const WAYS: usize = 4;

/// The table. An entry holds epoch (16 bits), tag of the word (16 bits) and position (32 bits).
#[derive(Clone, Debug)]
pub(crate) struct WordDict {
    sets: Vec<[u64; WAYS]>,
    epoch: u16,
}

impl Default for WordDict {
    fn default() -> Self {
        WordDict { sets: vec![[0; WAYS]; 1 << LOG_SETS], epoch: 1 }
    }
}

impl WordDict {
    /// Clears the table.
    pub(crate) fn clear(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.sets.fill([0; WAYS]);
            self.epoch = 1;
        }
    }

    /// Set and upper half of the entries of a word.
    #[inline]
    fn key(&self, word: u32) -> (usize, u32) {
        let hash = word.wrapping_mul(0x9E37_79B1);
        ((hash >> (32 - LOG_SETS)) as usize, u32::from(self.epoch) << 16 | (hash & 0xFFFF))
    }

    /// Records the position of a word.
    #[inline]
    pub(crate) fn insert(&mut self, word: u32, position: u32) {
        let (set, key) = self.key(word);
        if let Some(set) = self.sets.get_mut(set) {
            let [a, b, c, _] = *set;
            *set = [u64::from(key) << 32 | u64::from(position), a, b, c];
        }
    }

    /// Possible positions of the word, the latest first.
    #[inline]
    pub(crate) fn find(&self, word: u32) -> impl Iterator<Item = u32> + '_ {
        let (set, key) = self.key(word);
        let set = self.sets.get(set).unwrap_or(&[0; WAYS]);
        set.iter().filter(move |&&entry| (entry >> 32) as u32 == key).map(|&entry| entry as u32)
    }
}
