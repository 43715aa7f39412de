//! The last writer of each byte of a block's memory, and whether the byte has been read since.
//!
//! Bytes are tracked in words of four: nearly always all four have one writer, which takes one entry; the
//! bytes of words written in parts are in a separate list. Beyond [`MOST_PAGES`] pages the oldest page is
//! dropped, and its unread bytes are reported.

use crate::open_map::OpenMap;

/// Words of a page.
const PAGE: u64 = 64;
/// Maximum number of tracked pages: 8 MiB of memory.
const MOST_PAGES: usize = 1 << 15;

/// A word of memory: the instruction that stored it, and a bit per byte that has not been read.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    pc: u32,
    unread: u8,
    /// The bytes have different writers, which are in the list.
    split: bool,
}

#[derive(Clone, Debug)]
struct Page {
    number: u64,
    words: [Word; PAGE as usize],
}

/// Fate of stored bytes; reported with the instruction that stored them and their number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// Overwritten before being read.
    Overwritten,
    /// Unknown, because their page was dropped.
    GivenUp,
}

/// Memory of a block.
#[derive(Clone, Debug)]
pub(super) struct Bytes {
    /// Position of each page in the list.
    places: OpenMap<u32>,
    pages: Vec<Page>,
    most_pages: usize,
    /// The page to drop next.
    oldest: usize,
    split: OpenMap<[u32; 4]>,
    /// The page used last, with its position.
    last: (u64, u32),
}

/// No page.
const NONE: (u64, u32) = (u64::MAX, 0);

impl Default for Bytes {
    fn default() -> Self {
        Bytes::new(MOST_PAGES)
    }
}

impl Bytes {
    fn new(most_pages: usize) -> Bytes {
        let (places, split) = (OpenMap::default(), OpenMap::default());
        Bytes { places, pages: Vec::new(), most_pages, oldest: 0, split, last: NONE }
    }

    /// Drops all pages.
    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.pages.clear();
        self.split.clear();
        (self.oldest, self.last) = (0, NONE);
    }

    /// Whether nothing has been stored.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    #[inline]
    fn page(&mut self, number: u64) -> Option<&mut Page> {
        if self.last.0 != number {
            self.last = (number, self.places.get(number)?);
        }
        Some(&mut self.pages[self.last.1 as usize])
    }

    /// The position of a page, which is created if needed.
    #[inline]
    fn place_or_new(&mut self, number: u64, fate: &mut impl FnMut(Fate, u32, u32)) -> usize {
        if self.last.0 != number {
            let place = self.places.get(number).unwrap_or_else(|| self.enter(number, fate));
            self.last = (number, place);
        }
        self.last.1 as usize
    }

    #[inline(never)]
    fn enter(&mut self, number: u64, fate: &mut impl FnMut(Fate, u32, u32)) -> u32 {
        let page = Page { number, words: [Word::default(); PAGE as usize] };
        let place = if self.pages.len() < self.most_pages {
            self.pages.push(page);
            self.pages.len() - 1
        } else {
            let place = self.oldest;
            self.oldest = (place + 1) % self.most_pages;
            let old = std::mem::replace(&mut self.pages[place], page);
            self.places.remove(old.number);
            self.unread_of(&old, |pc| fate(Fate::GivenUp, pc, 1));
            for word in (0..PAGE).filter(|word| old.words[*word as usize].split) {
                self.split.remove(old.number * PAGE + word);
            }
            place
        };
        self.places.insert(number, place as u32);
        place as u32
    }

    /// Marks bytes `from..to` as read.
    #[inline]
    pub(super) fn read(&mut self, from: u64, to: u64) {
        let (mut word, end) = (from / 4, to / 4);
        if !from.is_multiple_of(4) || !to.is_multiple_of(4) {
            return self.read_parts(from, to);
        }
        while word < end {
            let inside = (word % PAGE) as usize;
            let here = (PAGE - word % PAGE).min(end - word);
            if let Some(page) = self.page(word / PAGE) {
                page.words[inside..inside + here as usize].iter_mut().for_each(|word| word.unread = 0);
            }
            word += here;
        }
    }

    #[inline(never)]
    fn read_parts(&mut self, from: u64, to: u64) {
        for (word, mask) in words_of(from, to) {
            if let Some(page) = self.page(word / PAGE) {
                page.words[(word % PAGE) as usize].unread &= !mask;
            }
        }
    }

    /// Stores bytes `from..to`; unread bytes that are overwritten are reported to `fate`.
    #[inline]
    pub(super) fn write(&mut self, from: u64, to: u64, pc: u32, mut fate: impl FnMut(Fate, u32, u32)) {
        for (at, mask) in words_of(from, to) {
            let place = self.place_or_new(at / PAGE, &mut fate);
            let word = &mut self.pages[place].words[(at % PAGE) as usize];
            let dead = word.unread & mask;
            if mask == 0b1111 && !word.split {
                if dead != 0 {
                    fate(Fate::Overwritten, word.pc, dead.count_ones());
                }
                *word = Word { pc, unread: mask, split: false };
                continue;
            }
            let old = std::mem::replace(word, Word { pc, unread: word.unread | mask, split: true });
            let mut writers = self.split.get(at).unwrap_or([old.pc; 4]);
            for (byte, writer) in writers.iter_mut().enumerate() {
                if dead >> byte & 1 != 0 {
                    fate(Fate::Overwritten, *writer, 1);
                }
                if mask >> byte & 1 != 0 {
                    *writer = pc;
                }
            }
            self.split.insert(at, writers);
        }
    }

    /// Calls `each` with the writer of every byte that has not been read since it was stored.
    pub(super) fn unread(&self, mut each: impl FnMut(u32)) {
        self.pages.iter().for_each(|page| self.unread_of(page, &mut each));
    }

    fn unread_of(&self, page: &Page, mut each: impl FnMut(u32)) {
        for (i, word) in (0..).zip(&page.words).filter(|(_, word)| word.unread != 0) {
            let writers = self.split.get(page.number * PAGE + i).filter(|_| word.split);
            for byte in (0..4).filter(|byte| word.unread >> byte & 1 != 0) {
                each(writers.map_or(word.pc, |writers| writers[byte]));
            }
        }
    }
}

/// The words that bytes lie in, each with a bit per byte.
#[inline]
fn words_of(from: u64, to: u64) -> impl Iterator<Item = (u64, u8)> {
    let (mut at, mut left) = (from, to.wrapping_sub(from));
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
    use std::collections::BTreeMap;

    #[test]
    fn bytes_know_their_writers() {
        let mut memory = Bytes::default();
        let mut dead: Vec<(Fate, u32, u32)> = Vec::new();
        memory.write(8, 12, 1, |fate, pc, n| dead.push((fate, pc, n)));
        memory.write(9, 10, 2, |fate, pc, n| dead.push((fate, pc, n)));
        memory.read(8, 9);
        memory.write(6, 10, 3, |fate, pc, n| dead.push((fate, pc, n)));
        assert_eq!(dead, [(Fate::Overwritten, 1, 1), (Fate::Overwritten, 2, 1)], "a byte of each of two");
        let mut unread = Vec::new();
        memory.unread(|pc| unread.push(pc));
        unread.sort_unstable();
        assert_eq!(unread, [1, 1, 3, 3, 3, 3]);
        // Words 62 to 66 lie in two pages.
        for word in 60..70 {
            memory.write(4 * word, 4 * word + 4, word as u32, |_, _, _| panic!("nothing was there"));
        }
        memory.read(4 * 62, 4 * 67);
        let mut left = Vec::new();
        memory.unread(|pc| left.extend((pc >= 60).then_some(pc)));
        left.sort_unstable();
        left.dedup();
        assert_eq!(left, [60, 61, 67, 68, 69]);
    }

    #[test]
    fn every_byte_of_too_many_pages_is_read_overwritten_lost_or_given_up() {
        let mut memory = Bytes::new(4);
        let mut model: BTreeMap<u64, u32> = BTreeMap::new();
        let (mut stored, mut read, mut fates) = (0u64, 0u64, [0u64; 2]);
        let mut numbers = test_kit::Random::new(1);
        let mut random = |below: u64| numbers.below(below);
        let (mut entered, mut pages): (Vec<u64>, usize) = (Vec::new(), 0);
        for step in 0..4000 {
            let from = random(10) * 256 + random(256);
            let to = from + 1 + random(9);
            if random(3) == 0 {
                memory.read(from, to);
                (from..to).for_each(|byte| read += u64::from(model.remove(&byte).is_some()));
                continue;
            }
            stored += to - from;
            memory.write(from, to, step, |fate, _, count| fates[fate as usize] += u64::from(count));
            for byte in from..to {
                let page = byte / 256;
                if !entered.contains(&page) {
                    pages += 1;
                    if entered.len() == 4 {
                        let old = entered.remove(0);
                        model.retain(|byte, _| byte / 256 != old);
                    }
                    entered.push(page);
                }
                model.insert(byte, step);
            }
        }
        let mut left = BTreeMap::<u32, u64>::new();
        memory.unread(|pc| *left.entry(pc).or_default() += 1);
        let mut expected = BTreeMap::<u32, u64>::new();
        model.values().for_each(|pc| *expected.entry(*pc).or_default() += 1);
        assert_eq!(left, expected);
        assert!(pages > 100 && fates[1] > 0 && memory.split.len() <= 4 * 64);
        assert_eq!(stored, read + fates[0] + fates[1] + left.values().sum::<u64>());
    }
}
