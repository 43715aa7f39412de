//! Miss status holding registers: outstanding lines, their sectors in flight, and the accesses that wait for
//! them.
//!
//! Waiters live in one slab of linked nodes, so that a steady state allocates nothing.

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    pending: u8,
    waiters: u32,
    first: u32,
    last: u32,
}

/// Reason for which an access could not be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// No register is free.
    Registers,
    /// The line's register has no entry for another waiter.
    Merges,
}

/// A file of miss status holding registers with waiters of type `W`.
#[derive(Clone, Debug)]
pub(crate) struct Mshrs<W> {
    capacity: usize,
    merges: u32,
    lines: Vec<u64>,
    entries: Vec<Entry>,
    nodes: Vec<(W, u32)>,
    free: Vec<u32>,
}

impl<W: Copy> Mshrs<W> {
    /// `capacity` registers of `merges` waiters each.
    #[must_use]
    pub(crate) fn new(capacity: u32, merges: u32) -> Mshrs<W> {
        Mshrs {
            capacity: capacity as usize,
            merges,
            lines: Vec::with_capacity(capacity as usize),
            entries: Vec::with_capacity(capacity as usize),
            nodes: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Outstanding lines.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether nothing is outstanding.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    #[inline]
    fn find(&self, line: u64) -> Option<usize> {
        self.lines.iter().position(|held| *held == line)
    }

    /// Whether a line is outstanding.
    #[must_use]
    pub(crate) fn holds(&self, line: u64) -> bool {
        self.find(line).is_some()
    }

    /// Sectors of a line already in flight.
    #[cfg(test)]
    fn pending(&self, line: u64) -> u8 {
        self.find(line).map_or(0, |index| self.entries[index].pending)
    }

    /// Whether a waiter for these sectors would be accepted, and which of them have to be requested.
    ///
    /// # Errors
    /// The full resource.
    pub(crate) fn check(&self, line: u64, sectors: u8) -> Result<u8, Full> {
        match self.find(line) {
            None if self.lines.len() == self.capacity => Err(Full::Registers),
            None => Ok(sectors),
            Some(index) if self.entries[index].waiters == self.merges => Err(Full::Merges),
            Some(index) => Ok(sectors & !self.entries[index].pending),
        }
    }

    /// Records a waiter that [`Mshrs::check`] has accepted, and marks its sectors as in flight.
    pub(crate) fn add(&mut self, line: u64, sectors: u8, waiter: W) {
        let node = match self.free.pop() {
            Some(node) => {
                self.nodes[node as usize] = (waiter, NONE);
                node
            }
            None => {
                self.nodes.push((waiter, NONE));
                self.nodes.len() as u32 - 1
            }
        };
        match self.find(line) {
            Some(index) => {
                let entry = &mut self.entries[index];
                self.nodes[entry.last as usize].1 = node;
                entry.last = node;
                entry.waiters += 1;
                entry.pending |= sectors;
            }
            None => {
                self.lines.push(line);
                self.entries.push(Entry { pending: sectors, waiters: 1, first: node, last: node });
            }
        }
    }

    /// Accepts arrived sectors. When no sector of the line is pending, its waiters are passed to `wake` in
    /// order of arrival, and the register is free.
    pub(crate) fn fill(&mut self, line: u64, sectors: u8, mut wake: impl FnMut(W)) {
        let Some(index) = self.find(line) else { return };
        self.entries[index].pending &= !sectors;
        if self.entries[index].pending != 0 {
            return;
        }
        let mut node = self.entries[index].first;
        while node != NONE {
            let (waiter, next) = self.nodes[node as usize];
            wake(waiter);
            self.free.push(node);
            node = next;
        }
        self.lines.swap_remove(index);
        self.entries.swap_remove(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_miss_on_a_line_merges_and_wakes_in_order() {
        let mut mshrs: Mshrs<u32> = Mshrs::new(2, 3);
        assert_eq!(mshrs.check(7, 0b01), Ok(0b01));
        mshrs.add(7, 0b01, 100);
        assert_eq!(mshrs.check(7, 0b01), Ok(0));
        mshrs.add(7, 0b01, 101);
        assert_eq!(mshrs.check(7, 0b11), Ok(0b10));
        mshrs.add(7, 0b11, 102);
        assert_eq!(mshrs.check(7, 0b01), Err(Full::Merges));
        let mut woken = Vec::new();
        mshrs.fill(7, 0b01, |w| woken.push(w));
        assert!(woken.is_empty());
        mshrs.fill(7, 0b10, |w| woken.push(w));
        assert_eq!(woken, [100, 101, 102]);
        assert!(mshrs.is_empty());
    }

    #[test]
    fn registers_run_out_and_come_back() {
        let mut mshrs: Mshrs<u32> = Mshrs::new(2, 1);
        mshrs.add(1, 1, 0);
        mshrs.add(2, 1, 0);
        assert_eq!(mshrs.check(3, 1), Err(Full::Registers));
        mshrs.fill(1, 1, |_| {});
        assert_eq!(mshrs.check(3, 1), Ok(1));
        assert_eq!(mshrs.len(), 1);
        assert_eq!(mshrs.pending(2), 1);
    }
}
