//! Race detection on a block's shared memory.
//!
//! Happens-before with vector clocks, one per warp: barriers, and atomics and volatile accesses to the same
//! address, transfer a warp's clocks to others. Lanes of a warp are ordered by warp-wide `.sync` instructions
//! and barriers. Each byte remembers its last write and two reads.

use fixedbitset::FixedBitSet;
use std::collections::HashMap;

const WARPS: usize = 32;
type Clocks = [u32; WARPS];

/// An access to a byte, packed: clock, program counter, warp, lane, strength. Zero is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Entry(u64);

impl Entry {
    fn new(clock: u32, pc: u32, warp: u32, lane: u32, strong: bool) -> Entry {
        let who = u64::from(warp & 31) << 6 | u64::from(lane & 31) << 1 | u64::from(strong);
        Entry(u64::from(clock) << 35 | u64::from(pc & 0xFF_FFFF) << 11 | who)
    }

    fn clock(self) -> u32 {
        (self.0 >> 35) as u32
    }

    pub(super) fn pc(self) -> u32 {
        (self.0 >> 11) as u32 & 0xFF_FFFF
    }

    pub(super) fn warp(self) -> u32 {
        (self.0 >> 6) as u32 & 31
    }

    pub(super) fn lane(self) -> u32 {
        (self.0 >> 1) as u32 & 31
    }

    fn is_strong(self) -> bool {
        self.0 & 1 != 0
    }

    fn is_same_thread(self, other: Entry) -> bool {
        (self.0 ^ other.0) >> 1 & 0x3FF == 0
    }
}

#[derive(Clone, Copy, Default)]
struct Cell {
    write: Entry,
    reads: [Entry; 2],
}

/// One access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch {
    pub warp: u32,
    pub lane: u32,
    pub pc: u32,
    /// Atomic or volatile: such accesses do not race with each other.
    pub strong: bool,
}

/// State of one block.
pub(super) struct BlockShadow {
    cells: Vec<Cell>,
    /// Bytes of shared memory that have not been written.
    unwritten: FixedBitSet,
    /// Per warp: a mask of lanes per byte of local memory.
    pub local: Vec<Vec<u32>>,
    known: Vec<Clocks>,
    /// The joined clocks of arrivals at each barrier, and the instruction of the first.
    barriers: [Option<(Box<Clocks>, u32)>; 16],
    /// Clocks released at addresses by atomics and volatile stores.
    places: HashMap<u64, Box<Clocks>>,
}

impl BlockShadow {
    /// The state of a new block.
    pub(super) fn new(shared_bytes: usize, warps: usize, local_bytes: usize) -> BlockShadow {
        let mut unwritten = FixedBitSet::with_capacity(shared_bytes);
        unwritten.insert_range(..);
        let known = (0..WARPS).map(|w| std::array::from_fn(|v| u32::from(v == w))).collect();
        BlockShadow {
            cells: vec![Cell::default(); shared_bytes],
            unwritten,
            local: vec![vec![0; local_bytes]; warps],
            known,
            barriers: Default::default(),
            places: HashMap::new(),
        }
    }

    /// Whether a byte has not been written.
    pub(super) fn is_unwritten(&self, byte: usize) -> bool {
        self.unwritten.contains(byte)
    }

    /// Marks a byte as written.
    pub(super) fn note_written(&mut self, byte: usize) {
        if byte < self.unwritten.len() {
            self.unwritten.remove(byte);
        }
    }

    fn tick(&mut self, warp: u32) {
        let w = warp as usize & 31;
        self.known[w][w] = (self.known[w][w] + 1) & 0x1FFF_FFFF;
    }

    fn is_ordered(&self, before: Entry, warp: u32) -> bool {
        before.clock() < self.known[warp as usize & 31][before.warp() as usize]
    }

    fn races(&self, before: Entry, now: Entry) -> bool {
        let strong = before.is_strong() && now.is_strong();
        let harmless = strong || before == Entry(0) || before.is_same_thread(now);
        !harmless && !self.is_ordered(before, now.warp())
    }

    fn entry(&self, t: Touch) -> Entry {
        let w = t.warp as usize & 31;
        Entry::new(self.known[w][w], t.pc, t.warp, t.lane, t.strong)
    }

    /// Records a read of a byte; returns the write with which it races.
    pub(super) fn read(&mut self, byte: usize, t: Touch) -> Option<Entry> {
        let now = self.entry(t);
        let cell = *self.cells.get(byte)?;
        let race = self.races(cell.write, now).then_some(cell.write);
        let free = |e: Entry| e == Entry(0) || e.is_same_thread(now) || self.is_ordered(e, t.warp);
        // Two reads of different warps are most useful: for any writing warp, one of them is from another
        // warp.
        let at = match cell.reads {
            [a, _] if free(a) => 0,
            [_, b] if free(b) => 1,
            [a, _] if a.warp() == t.warp => 0,
            _ => 1,
        };
        self.cells[byte].reads[at] = now;
        race
    }

    /// Records a write of a byte; returns the access with which it races. `is_same` tells whether an earlier
    /// write, also by a lane of the same instruction, wrote the same value: such races are harmless.
    pub(super) fn write(
        &mut self,
        byte: usize,
        t: Touch,
        is_same: impl Fn(Option<u32>) -> bool,
    ) -> Option<Entry> {
        let now = self.entry(t);
        let cell = *self.cells.get(byte)?;
        let together =
            cell.write.clock() == now.clock() && (cell.write.pc(), cell.write.warp()) == (t.pc, t.warp);
        let race = match cell.reads.into_iter().find(|&r| self.races(r, now)) {
            Some(read) => Some(read),
            None if self.races(cell.write, now) => {
                (!is_same(together.then_some(cell.write.lane()))).then_some(cell.write)
            }
            None => None,
        };
        self.cells[byte] = Cell { write: now, reads: [Entry(0); 2] };
        race
    }

    /// A strong access acquires the clocks of an address.
    pub(super) fn acquire(&mut self, place: u64, warp: u32) {
        if let Some(known) = self.places.get(&place) {
            join(&mut self.known[warp as usize & 31], known);
        }
    }

    /// A strong access releases its warp's clocks.
    pub(super) fn release(&mut self, place: u64, warp: u32) {
        self.tick(warp);
        let known = self.known[warp as usize & 31];
        join(self.places.entry(place).or_insert_with(|| Box::new([0; WARPS])), &known);
    }

    /// Lanes of a warp synchronise.
    pub(super) fn sync_warp(&mut self, warp: u32) {
        self.tick(warp);
    }

    /// A warp arrives at a barrier; returns the instruction of an earlier arrival if it differs.
    pub(super) fn arrive(&mut self, id: u8, warp: u32, pc: u32) -> Option<u32> {
        self.tick(warp);
        let known = self.known[warp as usize & 31];
        let (all, first) =
            self.barriers[usize::from(id & 15)].get_or_insert_with(|| (Box::new([0; WARPS]), pc));
        join(all, &known);
        (*first != pc).then_some(*first)
    }

    /// A barrier completes, at which lanes of these warps waited.
    pub(super) fn complete(&mut self, id: u8, warps: impl Iterator<Item = u32>) {
        if let Some((all, _)) = self.barriers[usize::from(id & 15)].take() {
            for w in warps {
                join(&mut self.known[w as usize & 31], &all);
            }
        }
    }
}

fn join(to: &mut Clocks, from: &Clocks) {
    to.iter_mut().zip(from).for_each(|(t, f)| *t = (*t).max(*f));
}
