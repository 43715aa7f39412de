//! The prefetch buffer beside L1: lines that techniques prefetched and no load has used yet. Fully associative; the line
//! that came first leaves first.
//!
//! A load that misses in L1 and finds its sectors here takes the line out, into L1. A prefetch that a load waits for
//! fills L1 as any miss does. Stores and atomics remove their line, as L1 has it for stores that evict.

use crate::techniques::Prefetched;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct Entry {
    line: u64,
    sectors: u8,
    tag: u32,
}

/// A requested line.
#[derive(Clone, Copy, Debug)]
struct Pending {
    entry: Entry,
    /// Whether a load waits for it.
    wanted: bool,
    /// Whether a store or atomic has changed it since.
    stale: bool,
}

/// The buffer of an SM.
#[derive(Clone, Debug, Default)]
pub(crate) struct PrefetchBuffer {
    lines: usize,
    /// Held lines, oldest first.
    held: VecDeque<Entry>,
    pending: Vec<Pending>,
    /// What has become of prefetches, by tag, since techniques were last told.
    fates: Vec<(u32, Prefetched)>,
}

impl PrefetchBuffer {
    /// An empty buffer of so many lines; none if no technique asked for one.
    #[must_use]
    pub(crate) fn new(lines: u32) -> PrefetchBuffer {
        PrefetchBuffer { lines: lines as usize, ..PrefetchBuffer::default() }
    }

    /// Whether there is a buffer.
    #[must_use]
    #[inline]
    pub(crate) fn exists(&self) -> bool {
        self.lines > 0
    }

    /// Whether a line is held or on its way.
    #[must_use]
    pub(crate) fn knows(&self, line: u64) -> bool {
        self.held.iter().any(|entry| entry.line == line) || self.is_pending(line)
    }

    fn is_pending(&self, line: u64) -> bool {
        self.pending.iter().any(|pending| pending.entry.line == line)
    }

    /// Notes what has become of a prefetch that was not requested.
    pub(crate) fn note(&mut self, tag: u32, fate: Prefetched) {
        self.fates.push((tag, fate));
    }

    /// Notes that sectors of a line were requested.
    pub(crate) fn request(&mut self, line: u64, sectors: u8, tag: u32) {
        self.pending.push(Pending { entry: Entry { line, sectors, tag }, wanted: false, stale: false });
    }

    /// Whether the buffer holds these sectors of a line.
    #[must_use]
    pub(crate) fn holds(&self, line: u64, sectors: u8) -> bool {
        self.held.iter().any(|entry| entry.line == line && sectors & !entry.sectors == 0)
    }

    /// Takes a line out for a load; returns its sectors.
    pub(crate) fn take(&mut self, line: u64) -> u8 {
        let Some(at) = self.held.iter().position(|entry| entry.line == line) else { return 0 };
        let Some(entry) = self.held.remove(at) else { return 0 };
        self.fates.push((entry.tag, Prefetched::Used));
        entry.sectors
    }

    /// A load waits for a line that is on its way.
    pub(crate) fn want(&mut self, line: u64) {
        if let Some(pending) = self.pending.iter_mut().find(|pending| pending.entry.line == line) {
            pending.wanted = true;
        }
    }

    /// A line has arrived. Returns whether it goes to L1: nothing prefetched it, or a load waits for it.
    pub(crate) fn arrive(&mut self, line: u64) -> bool {
        let Some(at) = self.pending.iter().position(|pending| pending.entry.line == line) else {
            return true;
        };
        let Pending { entry, wanted, stale } = self.pending.swap_remove(at);
        if wanted {
            self.fates.push((entry.tag, Prefetched::Late));
            return true;
        }
        if stale {
            self.fates.push((entry.tag, Prefetched::Overwritten));
            return false;
        }
        if self.held.len() == self.lines
            && let Some(oldest) = self.held.pop_front()
        {
            self.fates.push((oldest.tag, Prefetched::Evicted));
        }
        self.held.push_back(entry);
        self.fates.push((entry.tag, Prefetched::Arrived));
        false
    }

    /// A store or an atomic changes a line.
    pub(crate) fn change(&mut self, line: u64) {
        if let Some(at) = self.held.iter().position(|entry| entry.line == line)
            && let Some(entry) = self.held.remove(at)
        {
            self.fates.push((entry.tag, Prefetched::Overwritten));
        }
        for pending in self.pending.iter_mut().filter(|pending| pending.entry.line == line) {
            pending.stale = true;
        }
    }

    /// Whether techniques have to be told of fates.
    #[must_use]
    #[inline]
    pub(crate) fn has_fates(&self) -> bool {
        !self.fates.is_empty()
    }

    /// The fates since the last call.
    pub(crate) fn take_fates(&mut self) -> Vec<(u32, Prefetched)> {
        std::mem::take(&mut self.fates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A buffer of two lines into which these have arrived; a line is its own tag.
    fn with(lines: &[u64]) -> PrefetchBuffer {
        let mut buffer = PrefetchBuffer::new(2);
        for line in lines {
            buffer.request(*line, 0b1111, *line as u32);
            assert!(buffer.knows(*line) && !buffer.holds(*line, 1));
            assert!(!buffer.arrive(*line));
        }
        buffer
    }

    #[test]
    fn a_full_buffer_drops_its_oldest_line() {
        let mut buffer = with(&[1, 2, 3]);
        let evicted: Vec<u32> = buffer
            .take_fates()
            .into_iter()
            .filter(|(_, fate)| *fate == Prefetched::Evicted)
            .map(|(tag, _)| tag)
            .collect();
        assert_eq!(evicted, [1]);
        assert!(!buffer.holds(1, 1) && buffer.holds(2, 0b1111) && buffer.holds(3, 1));
    }

    #[test]
    fn a_line_is_used_once() {
        let mut buffer = with(&[1, 2]);
        buffer.take_fates();
        assert_eq!((buffer.take(2), buffer.take(2)), (0b1111, 0));
        assert_eq!(buffer.take_fates(), [(2, Prefetched::Used)]);
        assert!(!buffer.knows(2) && buffer.knows(1));
    }

    #[test]
    fn a_line_that_a_load_waits_for_goes_to_l1() {
        let mut buffer = with(&[]);
        buffer.request(7, 0b1111, 9);
        buffer.want(7);
        assert!(buffer.arrive(7), "to L1");
        assert_eq!(buffer.take_fates(), [(9, Prefetched::Late)]);
        assert!(!buffer.knows(7));
        assert!(buffer.arrive(8), "nothing prefetched it");
    }

    #[test]
    fn a_changed_line_is_never_used() {
        let mut buffer = with(&[1]);
        buffer.request(2, 0b1111, 2);
        buffer.take_fates();
        buffer.change(1);
        buffer.change(2);
        assert!(!buffer.arrive(2) && !buffer.knows(1) && !buffer.knows(2));
        assert_eq!(buffer.take_fates(), [(1, Prefetched::Overwritten), (2, Prefetched::Overwritten)]);
    }

    #[test]
    fn only_sectors_that_were_prefetched_are_held() {
        let mut buffer = PrefetchBuffer::new(2);
        buffer.request(1, 0b0011, 1);
        buffer.arrive(1);
        assert!(buffer.holds(1, 0b0010) && !buffer.holds(1, 0b0110));
    }
}
