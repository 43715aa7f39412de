//! Where a block last put a word into its pool: a small set-associative table that is emptied by starting a
//! new epoch.
//!
//! It only proposes positions; whoever asks compares the words there. Entries of earlier epochs are never
//! returned, so what a block finds depends on that block alone.

const LOG_SETS: u32 = 13;
/// Words that share a set; the oldest makes room.
const WAYS: usize = 4;

/// The table. An entry holds epoch (16 bits), tag of the word (16 bits) and position (32 bits).
#[derive(Clone, Debug)]
pub struct WordDict {
    sets: Vec<[u64; WAYS]>,
    epoch: u16,
}

impl Default for WordDict {
    fn default() -> Self {
        WordDict { sets: vec![[0; WAYS]; 1 << LOG_SETS], epoch: 1 }
    }
}

impl WordDict {
    /// Forgets everything.
    pub fn clear(&mut self) {
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

    /// Notes that a word stands at a position.
    #[inline]
    pub fn insert(&mut self, word: u32, position: u32) {
        let (set, key) = self.key(word);
        if let Some(set) = self.sets.get_mut(set) {
            let [a, b, c, _] = *set;
            *set = [u64::from(key) << 32 | u64::from(position), a, b, c];
        }
    }

    /// Where the word may stand, the latest place first.
    #[inline]
    pub fn find(&self, word: u32) -> impl Iterator<Item = u32> + '_ {
        let (set, key) = self.key(word);
        let set = self.sets.get(set).unwrap_or(&[0; WAYS]);
        set.iter().filter(move |&&entry| (entry >> 32) as u32 == key).map(|&entry| entry as u32)
    }
}
