//! A set of registers. The only bit set of this code on a hot path: the scoreboard tests one per instruction and
//! cycle, so it has a fixed size and is copied. Sets of other indices are `fixedbitset`'s.

/// A set of registers R0..R254.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegSet([u64; 4]);

impl RegSet {
    /// Adds a register.
    #[inline]
    pub fn insert(&mut self, reg: u8) {
        self.0[usize::from(reg >> 6)] |= 1 << (reg & 63);
    }

    /// Adds every register of another set.
    #[inline]
    pub fn insert_all(&mut self, other: &RegSet) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine |= theirs;
        }
    }

    /// Removes every register of another set.
    #[inline]
    pub fn remove_all(&mut self, other: &RegSet) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine &= !theirs;
        }
    }

    /// Whether the two sets share a register.
    #[inline]
    #[must_use]
    pub fn meets(&self, other: &RegSet) -> bool {
        self.0.iter().zip(other.0).fold(0, |common, (a, b)| common | a & b) != 0
    }

    /// Whether a register is in the set.
    #[must_use]
    #[inline]
    pub const fn contains(&self, reg: u8) -> bool {
        self.0[(reg >> 6) as usize] >> (reg & 63) & 1 != 0
    }

    /// Registers in the set.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// Removes a register.
    #[inline]
    pub fn remove(&mut self, reg: u8) {
        self.0[usize::from(reg >> 6)] &= !(1 << (reg & 63));
    }

    /// The registers of this set that are not in another.
    #[must_use]
    #[inline]
    pub fn without(mut self, other: &RegSet) -> RegSet {
        self.remove_all(other);
        self
    }

    /// The registers in the set, ascending.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        self.0.into_iter().zip([0u8, 64, 128, 192]).flat_map(|(mut word, base)| {
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros() as u8)?;
                word &= word - 1;
                Some(base + bit)
            })
        })
    }
}
