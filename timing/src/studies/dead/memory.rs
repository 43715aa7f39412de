//! Who stored each byte of a block's memory last, and whether anybody has read it since.
//!
//! Bytes are kept by words of four: nearly always all four have one writer, which is one word of knowledge; words
//! that were written in parts have their bytes listed beside.

use crate::studies::sample::Words;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// Words of a page.
const PAGE: usize = 64;

/// A word of memory: the instruction that stored it, from 1, and a bit per byte that has not been read.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    pc: u32,
    unread: u8,
    /// Bytes may have other writers: they are in the list.
    split: bool,
}

/// Memory of a block.
#[derive(Clone, Debug, Default)]
pub struct Bytes {
    pages: HashMap<u64, u32, BuildHasherDefault<Words>>,
    words: Vec<[Word; PAGE]>,
    split: HashMap<u64, [u32; 4], BuildHasherDefault<Words>>,
    /// The page used last, with its number among the pages.
    last: Option<(u64, u32)>,
}

impl Bytes {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.words.clear();
        self.split.clear();
        self.last = None;
    }

    #[inline]
    fn page_of(&mut self, word: u64) -> Option<&mut [Word; PAGE]> {
        let number = word / PAGE as u64;
        let at = match self.last {
            Some((last, at)) if last == number => at,
            _ => *self.pages.get(&scattered(number))?,
        };
        self.last = Some((number, at));
        Some(&mut self.words[at as usize])
    }

    #[inline]
    fn page(&mut self, word: u64) -> Option<&mut Word> {
        self.page_of(word).map(|page| &mut page[(word % PAGE as u64) as usize])
    }

    #[inline]
    fn page_or_new(&mut self, word: u64) -> &mut Word {
        let number = word / PAGE as u64;
        let at = match self.last {
            Some((last, at)) if last == number => at,
            _ => {
                let words = &mut self.words;
                *self.pages.entry(scattered(number)).or_insert_with(|| {
                    words.push([Word::default(); PAGE]);
                    words.len() as u32 - 1
                })
            }
        };
        self.last = Some((number, at));
        &mut self.words[at as usize][(word % PAGE as u64) as usize]
    }

    /// Bytes are read.
    #[inline]
    pub fn read(&mut self, address: u64, bytes: u8) {
        if bytes == 4 && address.is_multiple_of(4) {
            // Most of what is read has been read before.
            if let Some(word) = self.page(address / 4).filter(|word| word.unread != 0) {
                word.unread = 0;
            }
            return;
        }
        for (word, mask) in words_of(address, bytes) {
            if let Some(word) = self.page(word) {
                word.unread &= !mask;
            }
        }
    }

    /// Words that follow one another are read.
    pub fn read_words(&mut self, address: u64, count: u64) {
        if !address.is_multiple_of(4) {
            return (0..count).for_each(|i| self.read(address.wrapping_add(4 * i), 4));
        }
        let (mut at, end) = (address / 4, address / 4 + count);
        while at < end {
            let inside = (at % PAGE as u64) as usize;
            let here = (PAGE - inside).min((end - at) as usize);
            if let Some(page) = self.page_of(at) {
                page[inside..inside + here].iter_mut().for_each(|word| word.unread = 0);
            }
            at += here as u64;
        }
    }

    /// An instruction stores bytes; unread ones that it overwrites are reported with the instruction that stored
    /// them.
    #[inline]
    pub fn write(&mut self, address: u64, bytes: u8, pc: u32, mut overwritten: impl FnMut(u32, u32)) {
        for (at, mask) in words_of(address, bytes) {
            let word = self.page_or_new(at);
            let dead = word.unread & mask;
            if mask == 0b1111 && !word.split {
                if dead != 0 {
                    overwritten(word.pc, dead.count_ones());
                }
                *word = Word { pc, unread: mask, split: false };
                continue;
            }
            let old = *word;
            *word = Word { pc, unread: old.unread | mask, split: true };
            let writers = self.split.entry(scattered(at)).or_insert([old.pc; 4]);
            for (byte, writer) in writers.iter_mut().enumerate() {
                if dead >> byte & 1 != 0 {
                    overwritten(*writer, 1);
                }
                if mask >> byte & 1 != 0 {
                    *writer = pc;
                }
            }
        }
    }

    /// Every byte that has been stored and not read since, by the instruction that stored it.
    pub fn unread(&self, mut each: impl FnMut(u32)) {
        for (&page, &at) in &self.pages {
            for (i, word) in self.words[at as usize].iter().enumerate().filter(|(_, word)| word.unread != 0) {
                let address = gathered(page) * PAGE as u64 + i as u64;
                let writers = self.split.get(&scattered(address)).filter(|_| word.split);
                for byte in (0..4).filter(|byte| word.unread >> byte & 1 != 0) {
                    each(writers.map_or(word.pc, |writers| writers[byte]));
                }
            }
        }
    }
}

const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Neighbouring numbers far apart, for the map; a bijection.
const fn scattered(number: u64) -> u64 {
    number.wrapping_mul(ODD)
}

/// The number back.
const fn gathered(scattered: u64) -> u64 {
    // Newton's iteration for the inverse modulo 2^64.
    let mut inverse = ODD;
    let mut i = 0;
    while i < 6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(ODD.wrapping_mul(inverse)));
        i += 1;
    }
    scattered.wrapping_mul(inverse)
}

/// The words that bytes lie in, each with a bit per byte.
#[inline]
fn words_of(address: u64, bytes: u8) -> impl Iterator<Item = (u64, u8)> {
    let (mut at, mut left) = (address, u64::from(bytes));
    std::iter::from_fn(move || {
        let count = left.min(4 - at % 4);
        let mask = ((1u8 << count) - 1) << (at % 4);
        let item = (at / 4, mask);
        (at, left) = (at.wrapping_add(count), left - count);
        (count > 0).then_some(item)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_know_their_writers() {
        let mut memory = Bytes::default();
        let mut dead: Vec<(u32, u32)> = Vec::new();
        memory.write(8, 4, 1, |pc, n| dead.push((pc, n)));
        memory.write(9, 1, 2, |pc, n| dead.push((pc, n)));
        memory.read(8, 1);
        memory.write(6, 4, 3, |pc, n| dead.push((pc, n)));
        assert_eq!(dead, [(1, 1), (2, 1)], "one byte of the first, one of the second");
        let mut unread = Vec::new();
        memory.unread(|pc| unread.push(pc));
        unread.sort_unstable();
        assert_eq!(unread, [1, 1, 3, 3, 3, 3]);
        assert_eq!(gathered(scattered(12345)), 12345);
        // Words 62 to 66 lie in two pages.
        for word in 60..70 {
            memory.write(4 * word, 4, word as u32, |_, _| panic!("nothing was there"));
        }
        memory.read_words(4 * 62, 5);
        let mut left = Vec::new();
        memory.unread(|pc| left.extend((pc >= 60).then_some(pc)));
        left.sort_unstable();
        left.dedup();
        assert_eq!(left, [60, 61, 67, 68, 69]);
    }
}
