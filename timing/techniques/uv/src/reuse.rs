//! The instruction reuse buffer: the operands and results of the uniform instructions that the SM executed last
//! (UV, section 3.2).

use std::collections::HashMap;

/// Most 32-bit words of operands, and of results, that an entry holds.
pub(super) const MAX_WORDS: usize = 12;

/// Some 32-bit words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Words {
    words: [u32; MAX_WORDS],
    count: u8,
}

impl Words {
    /// Adds a word; those beyond the most are not kept.
    #[inline]
    pub(super) fn push(&mut self, word: u32) {
        if let Some(place) = self.words.get_mut(usize::from(self.count)) {
            *place = word;
            self.count += 1;
        }
    }

    /// The words, in order of addition.
    #[inline]
    pub(super) fn as_slice(&self) -> &[u32] {
        &self.words[..usize::from(self.count)]
    }
}

/// What an instruction computes: its operation and the values of its operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Identity of the operation, literals included.
    pub identity: u32,
    /// Values of registers, predicates and special registers.
    pub operands: Words,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    tag: u32,
    key: Key,
    results: Words,
}

/// What a lookup finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// The results of the same operation on the same operands.
    Hit(Words),
    /// An entry of the instruction, or of another one with the same partial PC, with other operands.
    Differs,
    /// No entry.
    Absent,
}

/// The buffer of an SM.
#[derive(Clone, Debug)]
pub(super) enum ReuseBuffer {
    /// So many entries, the most recently used first; one for a partial PC.
    Entries { room: usize, tag_mask: u32, recent: Vec<Slot> },
    /// As many as it takes, for all operands.
    Endless(HashMap<Key, Words>),
}

/// One entry of the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot(Entry);

impl ReuseBuffer {
    /// An empty buffer whose entries are found by the lower bits of an instruction's index.
    pub(super) fn new(entries: u32, partial_pc_bits: u32) -> ReuseBuffer {
        let room = entries as usize;
        let tag_mask = u32::MAX >> (32 - partial_pc_bits.clamp(1, 32));
        ReuseBuffer::Entries { room, tag_mask, recent: Vec::with_capacity(room) }
    }

    /// An empty buffer without limits.
    pub(super) fn endless() -> ReuseBuffer {
        ReuseBuffer::Endless(HashMap::new())
    }

    /// Looks an instruction up.
    #[inline]
    pub(super) fn find(&self, pc: u32, key: &Key) -> Lookup {
        match self {
            ReuseBuffer::Entries { tag_mask, recent, .. } => {
                match recent.iter().find(|slot| slot.0.tag == pc & tag_mask) {
                    Some(Slot(entry)) if entry.key == *key => Lookup::Hit(entry.results),
                    Some(_) => Lookup::Differs,
                    None => Lookup::Absent,
                }
            }
            ReuseBuffer::Endless(all) => all.get(key).map_or(Lookup::Absent, |results| Lookup::Hit(*results)),
        }
    }

    /// Notes that an instruction's entry was used.
    #[inline]
    pub(super) fn touch(&mut self, pc: u32) {
        if let ReuseBuffer::Entries { tag_mask, recent, .. } = self
            && let Some(place) = recent.iter().position(|slot| slot.0.tag == pc & *tag_mask)
        {
            recent[..=place].rotate_right(1);
        }
    }

    /// Enters an instruction that was executed, in place of its own entry or of the one that was not used for longest.
    #[inline]
    pub(super) fn enter(&mut self, pc: u32, key: Key, results: Words) {
        match self {
            ReuseBuffer::Entries { room, tag_mask, recent } => {
                let tag = pc & *tag_mask;
                let slot = Slot(Entry { tag, key, results });
                match recent.iter().position(|slot| slot.0.tag == tag) {
                    Some(place) => recent[..=place].rotate_right(1),
                    None if recent.len() < *room => recent.insert(0, slot),
                    None => recent.rotate_right(1),
                }
                if let Some(first) = recent.first_mut() {
                    *first = slot;
                }
            }
            ReuseBuffer::Endless(all) => {
                all.insert(key, results);
            }
        }
    }

    /// Number of entries in use.
    pub(super) fn len(&self) -> usize {
        match self {
            ReuseBuffer::Entries { recent, .. } => recent.len(),
            ReuseBuffer::Endless(all) => all.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(identity: u32, operands: &[u32]) -> Key {
        let mut words = Words::default();
        operands.iter().for_each(|word| words.push(*word));
        Key { identity, operands: words }
    }

    fn results(word: u32) -> Words {
        key(0, &[word]).operands
    }

    #[test]
    fn the_entry_not_used_for_longest_makes_room() {
        let mut buffer = ReuseBuffer::new(2, 10);
        buffer.enter(1, key(7, &[1, 2]), results(3));
        buffer.enter(2, key(8, &[4]), results(5));
        buffer.touch(1);
        buffer.enter(3, key(9, &[6]), results(7));
        assert_eq!(buffer.find(1, &key(7, &[1, 2])), Lookup::Hit(results(3)));
        assert_eq!(buffer.find(2, &key(8, &[4])), Lookup::Absent);
        assert_eq!(buffer.find(3, &key(9, &[6])), Lookup::Hit(results(7)));
        assert_eq!(buffer.find(3, &key(9, &[5])), Lookup::Differs);
        assert_eq!(buffer.len(), 2);
    }

    #[test]
    fn instructions_with_the_same_partial_pc_share_an_entry_and_never_results() {
        let mut buffer = ReuseBuffer::new(8, 10);
        buffer.enter(5, key(1, &[1]), results(2));
        assert_eq!(buffer.find(5 + 1024, &key(2, &[1])), Lookup::Differs, "another operation");
        assert_eq!(buffer.find(5 + 1024, &key(1, &[1])), Lookup::Hit(results(2)), "the same operation");
        buffer.enter(5 + 1024, key(2, &[1]), results(3));
        assert_eq!((buffer.len(), buffer.find(5, &key(1, &[1]))), (1, Lookup::Differs));
    }

    proptest! {
        /// A hit is always the latest result of that operation on those operands, and more entries never hit less.
        #[test]
        fn larger_buffers_hit_what_smaller_ones_do(
            room in 1u32..6,
            code in prop::collection::vec((0u32..8, 0u32..3), 1..200),
        ) {
            let mut small = ReuseBuffer::new(room, 10);
            let mut large = ReuseBuffer::new(room + 1, 10);
            let mut endless = ReuseBuffer::endless();
            for (pc, operand) in code {
                let key = key(pc, &[operand]);
                let expected = results(pc * 100 + operand);
                let [a, b, c] = [&small, &large, &endless].map(|buffer| buffer.find(pc, &key));
                for found in [a, b, c] {
                    prop_assert!(!matches!(found, Lookup::Hit(words) if words != expected));
                }
                prop_assert!(!matches!(a, Lookup::Hit(_)) || matches!(b, Lookup::Hit(_)));
                prop_assert!(!matches!(b, Lookup::Hit(_)) || matches!(c, Lookup::Hit(_)));
                for buffer in [&mut small, &mut large, &mut endless] {
                    match buffer.find(pc, &key) {
                        Lookup::Hit(_) => buffer.touch(pc),
                        _ => buffer.enter(pc, key, expected),
                    }
                }
                prop_assert!(small.len() <= room as usize);
            }
        }
    }
}
