//! A structure with entries, banks, ports and latency: register file caches, tables, queues, collectors' entries.
//!
//! Accesses queue at the ports of their bank in order of request. A port serves one access per cycle; the
//! result is available after the latency. The technique itself holds the contents.

/// Declaration of a technique's structure. Its counters carry its name: `NAME_reads`, `NAME_writes`,
/// `NAME_wait_cycles`, `NAME_entry_cycles`, `NAME_powered_kib_ns`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct StorageInfo {
    /// Name.
    pub name: &'static str,
    /// Description, as in "reads of the renaming table".
    pub doc: &'static str,
    /// Energy component of its accesses.
    pub component: &'static str,
    /// Price of an access if the energy table has none for `NAME_reads` and `NAME_writes`.
    pub price: Option<crate::Price>,
}

impl StorageInfo {
    /// A structure whose accesses have no price of their own.
    #[must_use]
    pub const fn new(name: &'static str, doc: &'static str, component: &'static str) -> StorageInfo {
        StorageInfo { name, doc, component, price: None }
    }

    /// With the price of an access for energy tables that have none.
    #[must_use]
    pub const fn with_price(self, price: crate::Price) -> StorageInfo {
        StorageInfo { price: Some(price), ..self }
    }
}

/// Size and speed of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shape {
    /// Banks, which are accessed independently; one per warp if each warp has its own.
    pub banks: u32,
    /// Entries of each bank.
    pub entries: u32,
    /// Bits of an entry, tags and state included.
    pub entry_bits: u32,
    /// Accesses that a bank serves per cycle: reads, and writes unless these have their own ports.
    pub ports: u32,
    /// Writes that a bank serves per cycle on separate ports; 0 if writes use the ports of reads.
    pub write_ports: u32,
    /// Cycles from the access to the result; 0 if the structure is part of the stage that accesses it.
    pub latency_cycles: u32,
}

impl Shape {
    /// Banks of some entries of some bits, each with one port for reads and writes; the structure is part of the stage
    /// that accesses it.
    ///
    /// ```
    /// use warplab_technique::Shape;
    /// let shape = Shape::new(64, 6, 1024).with_ports(3, 1).with_latency(2);
    /// assert_eq!((shape.banks, shape.ports, shape.write_ports, shape.latency_cycles), (64, 3, 1, 2));
    /// ```
    #[must_use]
    pub const fn new(banks: u32, entries: u32, entry_bits: u32) -> Shape {
        Shape { banks, entries, entry_bits, ports: 1, write_ports: 0, latency_cycles: 0 }
    }

    /// With another number of banks.
    #[must_use]
    pub const fn with_banks(self, banks: u32) -> Shape {
        Shape { banks, ..self }
    }

    /// With these ports of a bank for reads, and for writes; without ports for writes these use those for reads.
    #[must_use]
    pub const fn with_ports(self, ports: u32, write_ports: u32) -> Shape {
        Shape { ports, write_ports, ..self }
    }

    /// With a number of cycles from the access to the result.
    #[must_use]
    pub const fn with_latency(self, latency_cycles: u32) -> Shape {
        Shape { latency_cycles, ..self }
    }
}

/// An access: the cycle at which its result is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    ready_at: u64,
    waited: u64,
}

impl Access {
    /// SM cycle at which the value has been read or written.
    #[must_use]
    #[inline]
    pub fn ready_at(self) -> u64 {
        self.ready_at
    }

    /// Cycles for which it waited for a port.
    #[must_use]
    #[inline]
    pub fn waited(self) -> u64 {
        self.waited
    }

    /// The access delayed by this many cycles, for logic after the structure.
    #[must_use]
    pub fn after(self, cycles: u32) -> Access {
        Access { ready_at: self.ready_at + u64::from(cycles), ..self }
    }
}

/// One structure of an SM.
#[derive(Clone, Debug)]
pub struct Storage {
    shape: Shape,
    /// Cycle from which each port is free, bank by bank.
    free_at: Vec<u64>,
    write_free_at: Vec<u64>,
    /// Entries in use by bank.
    used: Vec<u32>,
    all_used: u64,
    accounted: u64,
    reads: u64,
    writes: u64,
    wait_cycles: u64,
    entry_cycles: u64,
}

impl Storage {
    /// An empty structure.
    #[must_use]
    pub fn new(shape: Shape) -> Storage {
        Storage {
            shape,
            free_at: vec![0; (shape.banks * shape.ports.max(1)) as usize],
            write_free_at: vec![0; (shape.banks * shape.write_ports) as usize],
            used: vec![0; shape.banks as usize],
            all_used: 0,
            accounted: 0,
            reads: 0,
            writes: 0,
            wait_cycles: 0,
            entry_cycles: 0,
        }
    }

    /// Its size and speed.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Bits of the whole structure.
    #[must_use]
    pub fn bits(&self) -> u64 {
        u64::from(self.shape.banks) * u64::from(self.shape.entries) * u64::from(self.shape.entry_bits)
    }

    /// Reads from a bank.
    #[inline]
    pub fn read(&mut self, now: u64, bank: usize) -> Access {
        self.reads += 1;
        let (start, wait) = begin(&mut self.free_at, self.shape.ports.max(1), now, bank);
        self.access(start, wait)
    }

    /// Writes to a bank.
    #[inline]
    pub fn write(&mut self, now: u64, bank: usize) -> Access {
        self.writes += 1;
        let (start, wait) = match self.shape.write_ports {
            0 => begin(&mut self.free_at, self.shape.ports.max(1), now, bank),
            ports => begin(&mut self.write_free_at, ports, now, bank),
        };
        self.access(start, wait)
    }

    #[inline]
    fn access(&mut self, start: u64, waited: u64) -> Access {
        self.wait_cycles += waited;
        Access { ready_at: start + u64::from(self.shape.latency_cycles), waited }
    }

    /// Cycle from which a port of a bank is free.
    #[must_use]
    pub fn free_at(&self, bank: usize) -> u64 {
        let ports = self.shape.ports.max(1) as usize;
        self.free_at[bank * ports..(bank + 1) * ports].iter().copied().min().unwrap_or(0)
    }

    /// Entries of a bank that are not in use.
    #[must_use]
    #[inline]
    pub fn room(&self, bank: usize) -> u32 {
        self.shape.entries.saturating_sub(self.used[bank])
    }

    /// Entries of a bank that are in use.
    #[must_use]
    #[inline]
    pub fn used(&self, bank: usize) -> u32 {
        self.used[bank]
    }

    /// Allocates an entry of a bank; false if none is free.
    #[inline]
    pub fn take(&mut self, now: u64, bank: usize) -> bool {
        if self.room(bank) == 0 {
            return false;
        }
        self.account(now);
        self.used[bank] += 1;
        self.all_used += 1;
        true
    }

    /// Frees entries of a bank.
    ///
    /// # Panics
    /// If fewer are in use.
    #[inline]
    pub fn give_back(&mut self, now: u64, bank: usize, entries: u32) {
        self.account(now);
        self.used[bank] = self.used[bank].checked_sub(entries).expect("entries given back were taken");
        self.all_used -= u64::from(entries);
    }

    /// Sets the number of entries of a bank in use, for techniques that count entries themselves.
    #[inline]
    pub fn set_used(&mut self, now: u64, bank: usize, entries: u32) {
        self.account(now);
        self.all_used += u64::from(entries);
        self.all_used -= u64::from(std::mem::replace(&mut self.used[bank], entries));
    }

    #[inline]
    fn account(&mut self, now: u64) {
        let passed = now.saturating_sub(self.accounted);
        self.accounted += passed;
        self.entry_cycles += self.all_used * passed;
    }

    /// Reads, writes, cycles that accesses waited for a port, and entries in use summed over cycles.
    #[must_use]
    pub fn counts(&self) -> [u64; 4] {
        [self.reads, self.writes, self.wait_cycles, self.entry_cycles]
    }
}

/// Takes the port of a bank that is free first; returns the start of the access and its wait in cycles.
#[inline]
fn begin(free_at: &mut [u64], ports: u32, now: u64, bank: usize) -> (u64, u64) {
    let ports = ports as usize;
    let bank = &mut free_at[bank * ports..(bank + 1) * ports];
    // Among ports that are free now any will do, because time does not go back.
    if let Some(port) = bank.iter_mut().find(|port| **port <= now) {
        *port = now + 1;
        return (now, 0);
    }
    let port = bank.iter_mut().min().expect("a bank has a port");
    let start = *port;
    *port = start + 1;
    (start, start - now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHAPE: Shape =
        Shape { banks: 2, entries: 3, entry_bits: 1024, ports: 1, write_ports: 0, latency_cycles: 2 };

    #[test]
    fn accesses_queue_at_their_bank() {
        let mut storage = Storage::new(SHAPE);
        let at = |access: Access| access.ready_at();
        assert_eq!(at(storage.read(10, 0)), 12);
        assert_eq!(at(storage.write(10, 0)), 13, "the port is taken for one cycle");
        assert_eq!(at(storage.read(10, 1)), 12, "the other bank is free");
        assert_eq!(at(storage.read(12, 0)), 14);
        assert_eq!(storage.counts(), [3, 1, 1, 0]);
        assert_eq!(storage.bits(), 2 * 3 * 1024);
    }

    #[test]
    fn entries_are_bounded_and_their_time_is_counted() {
        let mut storage = Storage::new(SHAPE);
        assert!([5, 5, 7].into_iter().all(|now| storage.take(now, 1)));
        assert!(!storage.take(8, 1));
        assert_eq!((storage.room(1), storage.room(0)), (0, 3));
        storage.give_back(10, 1, 2);
        storage.give_back(20, 1, 1);
        assert_eq!(storage.counts()[3], 2 * 2 + 3 * 3 + 10);
    }

    #[test]
    fn writes_with_ports_of_their_own_leave_reads_alone() {
        let mut storage = Storage::new(Shape { write_ports: 1, ..SHAPE });
        let at = |access: Access| (access.ready_at(), access.waited());
        assert_eq!(at(storage.write(10, 0)), (12, 0));
        assert_eq!(at(storage.read(10, 0)), (12, 0));
        assert_eq!(at(storage.write(10, 0)), (13, 1));
    }

    proptest! {
        /// No bank serves more accesses in a cycle than it has ports, and none is served before its request.
        #[test]
        fn ports_are_never_exceeded(ports in 1u32..4, asked in prop::collection::vec((0u64..40, 0usize..2), 1..80)) {
            let mut storage = Storage::new(Shape { ports, latency_cycles: 0, ..SHAPE });
            let mut asked = asked;
            asked.sort_unstable();
            let mut served = std::collections::BTreeMap::new();
            for (now, bank) in asked {
                let at = storage.read(now, bank).ready_at();
                prop_assert!(at >= now);
                let count = served.entry((at, bank)).or_insert(0);
                *count += 1;
                prop_assert!(*count <= ports);
            }
        }
    }
}
