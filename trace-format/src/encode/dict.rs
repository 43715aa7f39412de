//! Where a block last put a word into its pool: a direct-mapped table that is emptied by starting a new epoch.
//!
//! It only proposes positions; whoever asks compares the words there. Entries of earlier epochs are never
//! returned, so what a block finds depends on that block alone.

const LOG_ENTRIES: u32 = 15;

/// The table.
#[derive(Clone, Debug)]
pub struct WordDict {
    /// Epoch in the upper half, position in the lower.
    entries: Box<[u64; 1 << LOG_ENTRIES]>,
    epoch: u32,
}

impl Default for WordDict {
    fn default() -> Self {
        let entries = vec![0; 1 << LOG_ENTRIES].into_boxed_slice();
        let Ok(entries) = entries.try_into() else { unreachable!("the slice has the array's length") };
        WordDict { entries, epoch: 1 }
    }
}

#[inline]
const fn slot(word: u32) -> usize {
    (word.wrapping_mul(0x9E37_79B1) >> (32 - LOG_ENTRIES)) as usize
}

impl WordDict {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.entries.fill(0);
            self.epoch = 1;
        }
    }

    /// Notes that a word stands at a position.
    #[inline]
    pub fn insert(&mut self, word: u32, position: u32) {
        self.entries[slot(word)] = u64::from(self.epoch) << 32 | u64::from(position);
    }

    /// Where the word may stand.
    #[inline]
    #[must_use]
    pub fn find(&self, word: u32) -> Option<u32> {
        let entry = self.entries[slot(word)];
        ((entry >> 32) as u32 == self.epoch).then_some(entry as u32)
    }
}
