//! Queues and expansion units: from tuples to addresses and predicate bits of each warp (DAC, sections 4.1 to 4.3).
//!
//! An entry of the affine tuple queue is expanded for one block after the other and free when all have it. Within a
//! block entries keep their order; a block whose queues are full or which has not passed a barrier lets others go first.

use super::declare::Params;
use super::lanes::Comparison;
use crate::{Cx, EarlyLoad, Price, Shape, Storage, StorageInfo};
use std::collections::{HashMap, VecDeque};

/// The structures, priced as in table 1.
pub(super) const STORAGE: &[StorageInfo] = &[
    StorageInfo::new("affine_tuples", "the affine tuple queue", "technique_storage")
        .with_price(Price::new(5.3, "DAC table 1, ATQ")),
    StorageInfo::new("warp_addresses", "the per-warp address queues", "technique_storage")
        .with_price(Price::new(3.4, "DAC table 1, PWAQ")),
    StorageInfo::new("warp_predicates", "the per-warp predicate queues", "technique_storage").with_price(
        Price::new(3.4, "DAC table 1 as PWAQ, which is twice as large; its own value is unreadable"),
    ),
];

/// Lines of an access: 128-byte aligned addresses with one bit for each 32-byte sector below.
#[derive(Clone, Copy, Debug)]
struct Lines {
    lines: [u64; 64],
    count: u8,
}

impl Lines {
    const NONE: Lines = Lines { lines: [0; 64], count: 0 };

    /// Becomes the lines of `bytes` per lane at these addresses.
    fn set(&mut self, addresses: &[u64; 32], exec: u32, bytes: u64) {
        self.count = 0;
        for lane in (0..32).filter(|lane| exec >> lane & 1 != 0) {
            let first = addresses[lane] / 32;
            let last = (addresses[lane].wrapping_add(bytes.max(1) - 1) / 32).max(first);
            for sector in first..=last.min(first + 7) {
                self.add(sector / 4 * 128, 1 << (sector % 4));
            }
        }
    }

    fn add(&mut self, line: u64, sector: u64) {
        let count = usize::from(self.count);
        if count > 0 && self.lines[count - 1] & !127 == line {
            self.lines[count - 1] |= sector;
            return;
        }
        match self.lines[..count].iter().position(|held| *held & !127 == line) {
            Some(at) => self.lines[at] |= sector,
            None if count < self.lines.len() => {
                self.lines[count] = line | sector;
                self.count += 1;
            }
            None => {}
        }
    }

    fn get(&self, at: u8) -> (u64, u8) {
        let line = self.lines[usize::from(at)];
        (line & !127, (line & 15) as u8)
    }
}

/// The lines of all accesses that are being expanded or have not ended, so that queues hold numbers alone.
#[derive(Clone, Debug, Default)]
struct LineLists {
    lists: Vec<Lines>,
    free: Vec<u32>,
}

impl LineLists {
    /// A list, to be filled.
    fn add(&mut self) -> (u32, &mut Lines) {
        let at = self.free.pop().unwrap_or(self.lists.len() as u32);
        if at as usize == self.lists.len() {
            self.lists.push(Lines::NONE);
        }
        (at, &mut self.lists[at as usize])
    }

    fn release(&mut self, at: u32) {
        self.free.push(at);
    }
}

/// A warp address record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub pc: u32,
    /// Its list of lines.
    lines: u32,
    /// Entries of the warp's queue that it takes.
    entries: u32,
    complete: bool,
    /// Early loads that have not arrived.
    pending: u8,
    /// Lines that are locked, one bit each.
    locked: u64,
}

/// Queues of a warp.
#[derive(Clone, Debug, Default)]
struct Queues {
    block: usize,
    addresses: VecDeque<Record>,
    /// Number of the first of them.
    first: u32,
    used: u32,
    predicates: u32,
    /// Predicates that the warp has passed before they were expanded.
    owed: u32,
    /// Predicates that have reached the warp's registers.
    delivered: u64,
    /// Predicates expanded for the affine warp.
    expanded: u64,
}

/// An address entry for a warp, or a barrier.
#[derive(Clone, Copy, Debug)]
struct Task {
    entry: u16,
    /// Number of the barrier in its block, if it is one.
    barrier: Option<u32>,
    slot: u8,
    pc: u32,
    /// The list of the access's lines; a barrier has none.
    lines: u32,
    next: u8,
    early: bool,
    /// Whether the block's starting address is still to be computed.
    starts: bool,
}

/// A predicate entry for a block.
#[derive(Clone, Debug)]
struct Bits {
    entry: u16,
    warps: Vec<(u8, Comparison)>,
    next: usize,
    dequeued: bool,
    /// Comparisons made for the next warp.
    compared: u8,
}

/// Entries of a block that are being expanded.
#[derive(Clone, Debug, Default)]
struct Block {
    addresses: VecDeque<Task>,
    predicates: VecDeque<Bits>,
    /// Barriers that all of its warps have reached.
    passed: u32,
}

/// Counts of the expansion units.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    pub address_operations: u64,
    pub predicate_operations: u64,
    pub scalar_predicates: u64,
    pub end_predicates: u64,
    pub lane_predicates: u64,
    pub early_loads: u64,
    pub locked_lines: u64,
    pub refused_locks: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Expansion {
    pub tuples: Storage,
    pub addresses: Storage,
    pub predicates: Storage,
    pub work: Work,
    blocks: Vec<Block>,
    warps: Vec<Queues>,
    lists: LineLists,
    /// Blocks for which each entry is still to be expanded.
    entries: Vec<u32>,
    in_use: u32,
    limits: (u32, u32, u32),
    turns: (usize, usize),
    /// A block whose next predicate needs the SIMT lanes.
    pub wants_lanes: Option<usize>,
    /// Warps that hold each locked line.
    locks: HashMap<u64, u32>,
    /// Blocks of which the address and the predicate unit may have something to do: something has changed since they
    /// found nothing.
    active: (u64, u64),
    instant: bool,
}

impl Expansion {
    pub(super) fn new(params: &Params) -> Expansion {
        let shape = |entries: u32, bits: u32| Storage::new(Shape::new(1, entries, bits).with_ports(2, 1));
        Expansion {
            tuples: shape(params.tuple_entries, 131),
            addresses: shape(params.address_entries, 65),
            predicates: shape(params.predicate_entries, 32),
            work: Work::default(),
            blocks: Vec::new(),
            warps: Vec::new(),
            lists: LineLists::default(),
            entries: Vec::new(),
            in_use: 0,
            limits: (0, 0, 0),
            turns: (0, 0),
            wants_lanes: None,
            locks: HashMap::new(),
            active: (0, 0),
            instant: params.ideal,
        }
    }

    /// Divides the queues among the warps that an SM holds at once.
    pub(super) fn prepare(&mut self, params: &Params, blocks: usize, slots: usize, warps: u32) {
        let each = |entries: u32| if params.ideal { u32::MAX } else { (entries / warps.max(1)).max(1) };
        let tuples = if params.ideal { u32::MAX } else { params.tuple_entries };
        self.limits = (tuples, each(params.address_entries), each(params.predicate_entries));
        self.blocks = vec![Block::default(); blocks];
        self.warps = vec![Queues::default(); slots];
        self.active = (0, 0);
        self.lists = LineLists::default();
        self.entries.clear();
        self.in_use = 0;
    }

    pub(super) fn begin_block(&mut self, block: usize) {
        self.blocks[block] = Block::default();
    }

    pub(super) fn begin_warp(&mut self, block: usize, slot: usize) {
        self.warps[slot] = Queues { block, first: self.warps[slot].first, ..Queues::default() };
    }

    /// Whether the tuple queue has an entry.
    pub(super) fn has_room(&self) -> bool {
        self.in_use < self.limits.0
    }

    /// Whether a warp's predicate queue has an entry.
    pub(super) fn takes_predicate(&self, slot: usize) -> bool {
        let queues = &self.warps[slot];
        queues.owed > 0 || queues.predicates < self.limits.2
    }

    /// Takes an entry for so many parts; none is taken for no part.
    pub(super) fn enqueue(&mut self, now: u64, parts: u32) -> u16 {
        let at = self.entries.iter().position(|left| *left == 0).unwrap_or_else(|| {
            self.entries.push(0);
            self.entries.len() - 1
        });
        self.tuples.write(now, 0);
        if parts > 0 {
            self.entries[at] = parts;
            self.in_use += 1;
            self.tuples.set_used(now, 0, self.in_use);
        }
        at as u16
    }

    pub(super) fn push_address(
        &mut self,
        entry: u16,
        (block, slot): (usize, usize),
        pc: u32,
        (addresses, exec, bytes): (&[u64; 32], u32, u64),
        (early, starts): (bool, bool),
    ) {
        let (lines, list) = self.lists.add();
        list.set(addresses, exec, bytes);
        let task = Task { entry, barrier: None, slot: slot as u8, pc, lines, next: 0, early, starts };
        self.blocks[block].addresses.push_back(task);
        self.active.0 |= 1 << block;
    }

    pub(super) fn push_barrier(&mut self, entry: u16, block: usize, number: u32) {
        let barrier = Some(number);
        let task = Task { entry, barrier, slot: 0, pc: 0, lines: 0, next: 0, early: false, starts: false };
        self.blocks[block].addresses.push_back(task);
        self.active.0 |= 1 << block;
    }

    pub(super) fn push_predicate(
        &mut self,
        entry: u16,
        block: usize,
        warps: Vec<(u8, Comparison)>,
        dequeued: bool,
    ) {
        self.blocks[block].predicates.push_back(Bits { entry, warps, next: 0, dequeued, compared: 0 });
        self.active.1 |= 1 << block;
    }

    fn done(&mut self, now: u64, entry: u16) {
        let left = &mut self.entries[usize::from(entry)];
        *left -= 1;
        if *left == 0 {
            self.in_use -= 1;
            self.tuples.read(now, 0);
            self.tuples.set_used(now, 0, self.in_use);
        }
    }

    /// Whether a unit may have something to do.
    pub(super) fn is_active(&self) -> bool {
        self.active != (0, 0)
    }

    /// One operation of each unit.
    pub(super) fn run(&mut self, cx: &mut Cx<'_>) {
        while self.is_active() {
            self.expand_address(cx);
            self.expand_predicate(cx);
            if !self.instant {
                return;
            }
        }
    }

    /// The address unit: one line, or a block's starting address.
    fn expand_address(&mut self, cx: &mut Cx<'_>) {
        while let Some(block) = next_of(self.active.0, self.turns.0) {
            while let Some(Task { entry, barrier: Some(number), .. }) = self.blocks[block].addresses.front() {
                let (entry, number) = (*entry, *number);
                if self.blocks[block].passed < number {
                    break;
                }
                self.blocks[block].addresses.pop_front();
                self.done(cx.cycle, entry);
            }
            if self.expand_line(cx, block) {
                self.turns.0 = block;
                return;
            }
            self.active.0 &= !(1 << block);
        }
    }

    fn expand_line(&mut self, cx: &mut Cx<'_>, block: usize) -> bool {
        let Some(Task { entry, barrier: None, slot, pc, lines, next, early, starts }) =
            self.blocks[block].addresses.front_mut()
        else {
            return false;
        };
        if std::mem::replace(starts, false) {
            self.work.address_operations += 1;
            return true;
        }
        let queues = &mut self.warps[usize::from(*slot)];
        // A record of more lines than the queue has entries goes on as the first one in it.
        let alone = *next > 0 && queues.addresses.len() == 1;
        if queues.used >= self.limits.1 && !alone {
            return false;
        }
        self.work.address_operations += 1;
        self.addresses.write(cx.cycle, 0);
        let of_access = &self.lists.lists[*lines as usize];
        if *next == 0 {
            let record =
                Record { pc: *pc, lines: *lines, entries: 0, complete: false, pending: 0, locked: 0 };
            queues.addresses.push_back(record);
        }
        let number = queues.first.wrapping_add(queues.addresses.len() as u32 - 1);
        if let Some(record) = queues.addresses.back_mut() {
            if queues.used < self.limits.1 {
                record.entries += 1;
                queues.used += 1;
            }
            if *early {
                let (line, sectors) = of_access.get(*next);
                record.pending += 1;
                self.work.early_loads += 1;
                let tag = u32::from(*slot) << 26 | u32::from(*next) << 20 | number & 0xF_FFFF;
                cx.load_early(EarlyLoad::new(line, sectors, tag).locked());
            }
            *next += 1;
            record.complete = *next >= of_access.count;
            if record.complete {
                cx.wake(usize::from(*slot));
                let entry = *entry;
                self.blocks[block].addresses.pop_front();
                self.done(cx.cycle, entry);
            }
        }
        true
    }

    /// An early load has arrived.
    pub(super) fn loaded(&mut self, cx: &mut Cx<'_>, tag: u32, locked: bool) {
        let (slot, at, number) = ((tag >> 26) as usize, tag >> 20 & 63, tag & 0xF_FFFF);
        let queues = &mut self.warps[slot];
        let index = number.wrapping_sub(queues.first) & 0xF_FFFF;
        let Some(record) = queues.addresses.get_mut(index as usize) else { return };
        record.pending -= 1;
        if record.pending == 0 {
            cx.wake(slot);
        }
        if locked {
            record.locked |= 1 << at;
            let (line, _) = self.lists.lists[record.lines as usize].get(at as u8);
            *self.locks.entry(line).or_insert(0) += 1;
            self.work.locked_lines += 1;
        } else {
            self.work.refused_locks += 1;
        }
    }

    /// The predicate unit: one comparison.
    fn expand_predicate(&mut self, cx: &mut Cx<'_>) {
        while let Some(block) = next_of(self.active.1, self.turns.1) {
            if self.compare(cx, block) {
                self.turns.1 = block;
                return;
            }
            self.active.1 &= !(1 << block);
        }
    }

    fn compare(&mut self, cx: &mut Cx<'_>, block: usize) -> bool {
        let Some(mut bits) = self.blocks[block].predicates.pop_front() else { return false };
        let moved = self.advance(cx, block, &mut bits);
        if bits.next == bits.warps.len() {
            self.done(cx.cycle, bits.entry);
        } else {
            self.blocks[block].predicates.push_front(bits);
        }
        moved
    }

    fn advance(&mut self, cx: &mut Cx<'_>, block: usize, bits: &mut Bits) -> bool {
        let scalar = bits.warps.iter().all(|(_, comparison)| *comparison == Comparison::Scalar);
        let has_room = |queues: &Self, slot: u8| !bits.dequeued || queues.takes_predicate(usize::from(slot));
        if scalar {
            // One comparison for all threads of the block.
            if !bits.warps[bits.next..].iter().all(|(slot, _)| has_room(self, *slot)) {
                return false;
            }
            self.work.predicate_operations += 1;
            self.work.scalar_predicates += bits.warps.len() as u64;
            for at in bits.next..bits.warps.len() {
                self.deliver(cx, bits.warps[at].0, bits.dequeued);
            }
            bits.next = bits.warps.len();
            return true;
        }
        let Some((slot, comparison)) = bits.warps.get(bits.next).copied() else { return true };
        let needed = match comparison {
            Comparison::All => 3,
            _ => 2,
        };
        if bits.compared < 2 {
            bits.compared += 1;
            self.work.predicate_operations += 1;
            if bits.compared < 2 {
                return true;
            }
        }
        if bits.compared < needed {
            // The first and the last lane differ: the SIMT lanes compare all.
            let news = self.wants_lanes.is_none();
            self.wants_lanes.get_or_insert(block);
            return news;
        }
        if !has_room(self, slot) {
            return false;
        }
        *(if needed == 3 { &mut self.work.lane_predicates } else { &mut self.work.end_predicates }) += 1;
        self.deliver(cx, slot, bits.dequeued);
        bits.next += 1;
        bits.compared = 0;
        true
    }

    /// The SIMT lanes have compared all lanes for the block that wanted it.
    pub(super) fn compared(&mut self) {
        if let Some(block) = self.wants_lanes.take() {
            if let Some(bits) = self.blocks[block].predicates.front_mut() {
                bits.compared = 3;
            }
            self.active.1 = u64::MAX >> (64 - self.blocks.len().clamp(1, 64));
        }
    }

    fn deliver(&mut self, cx: &mut Cx<'_>, slot: u8, dequeued: bool) {
        let queues = &mut self.warps[usize::from(slot)];
        queues.expanded += 1;
        if !dequeued {
            return;
        }
        self.predicates.write(cx.cycle, 0);
        if queues.owed > 0 {
            queues.owed -= 1;
            queues.delivered += 1;
            cx.wake(usize::from(slot));
        } else {
            queues.predicates += 1;
        }
    }

    /// A warp passes a predicate computation of the other stream.
    pub(super) fn dequeue_predicate(&mut self, now: u64, slot: usize) {
        let queues = &mut self.warps[slot];
        if queues.predicates > 0 {
            queues.predicates -= 1;
            queues.delivered += 1;
            self.predicates.read(now, 0);
        } else {
            queues.owed += 1;
        }
        self.active.1 |= 1 << queues.block;
    }

    /// Predicates that have reached a warp's registers.
    pub(super) fn delivered(&self, slot: usize) -> u64 {
        self.warps[slot].delivered
    }

    /// Predicates of a warp that the affine warp may use.
    pub(super) fn expanded(&self, slot: usize) -> u64 {
        self.warps[slot].expanded
    }

    /// Whether a warp's next address is there, and what was loaded early.
    pub(super) fn address(&self, slot: usize) -> Option<bool> {
        let record = self.warps[slot].addresses.front().filter(|record| record.complete)?;
        Some(record.pending == 0)
    }

    /// A warp takes its next address.
    pub(super) fn dequeue_address(&mut self, slot: usize) -> Option<Record> {
        let queues = &mut self.warps[slot];
        let record = queues.addresses.pop_front()?;
        queues.first = queues.first.wrapping_add(1);
        queues.used -= record.entries;
        self.active.0 |= 1 << queues.block;
        Some(record)
    }

    /// The sectors of a line that a record has loaded, one bit each.
    pub(super) fn sectors(&self, record: &Record, line: u64) -> u8 {
        let lines = &self.lists.lists[record.lines as usize];
        (0..lines.count).map(|at| lines.get(at)).find(|held| held.0 == line).map_or(0, |held| held.1)
    }

    /// A warp has accessed what a record has locked; its record ends.
    pub(super) fn unlock(&mut self, cx: &mut Cx<'_>, record: &Record) {
        self.lists.release(record.lines);
        let mut locked = record.locked;
        while locked != 0 {
            let (line, _) = self.lists.lists[record.lines as usize].get(locked.trailing_zeros() as u8);
            locked &= locked - 1;
            let Some(holders) = self.locks.get_mut(&line) else { continue };
            *holders -= 1;
            if *holders == 0 {
                self.locks.remove(&line);
                cx.unlock(line);
            }
        }
    }

    /// The first line of a warp's next address, for faults.
    #[cfg(test)]
    pub(super) fn first_line(&mut self, slot: usize) -> &mut u64 {
        let lines = self.first_address(slot).lines;
        &mut self.lists.lists[lines as usize].lines[0]
    }

    /// A warp's next address, for faults.
    #[cfg(test)]
    pub(super) fn first_address(&mut self, slot: usize) -> &mut Record {
        self.warps[slot].addresses.front_mut().expect("an address")
    }

    /// All warps of a block have reached so many barriers.
    pub(super) fn pass_barriers(&mut self, block: usize, number: u32) {
        self.blocks[block].passed = self.blocks[block].passed.max(number);
        self.active.0 |= 1 << block;
    }

    /// A warp has ended: nobody takes what is left for it.
    pub(super) fn end_warp(&mut self, cx: &mut Cx<'_>, block: usize, slot: usize) {
        let mut entries = Vec::new();
        self.blocks[block].addresses.retain(|task| {
            let ends = task.barrier.is_none() && usize::from(task.slot) == slot;
            if ends {
                entries.push(task.entry);
                // Of one that has begun, the record has the list.
                if task.next == 0 {
                    self.lists.release(task.lines);
                }
            }
            !ends
        });
        for bits in &mut self.blocks[block].predicates {
            let before = bits.warps[..bits.next].iter().filter(|(of, _)| usize::from(*of) == slot).count();
            if bits.warps.get(bits.next).is_some_and(|(of, _)| usize::from(*of) == slot) {
                bits.compared = 0;
            }
            bits.warps.retain(|(of, _)| usize::from(*of) != slot);
            bits.next -= before;
        }
        self.blocks[block].predicates.retain(|bits| {
            if bits.next == bits.warps.len() {
                entries.push(bits.entry);
                return false;
            }
            true
        });
        if self.wants_lanes == Some(block) {
            self.wants_lanes = None;
        }
        for entry in entries {
            self.done(cx.cycle, entry);
        }
        while let Some(record) = self.dequeue_address(slot) {
            self.unlock(cx, &record);
        }
        self.active.0 |= 1 << block;
        self.active.1 = u64::MAX >> (64 - self.blocks.len().clamp(1, 64));
    }

    /// A block has ended.
    pub(super) fn end_block(&mut self, now: u64, block: usize) {
        let ended = std::mem::take(&mut self.blocks[block]);
        for task in ended.addresses {
            if task.barrier.is_none() && task.next == 0 {
                self.lists.release(task.lines);
            }
            self.done(now, task.entry);
        }
        for bits in ended.predicates {
            self.done(now, bits.entry);
        }
    }

    /// The bits of address and predicate records in use, for the watchdog's report.
    pub(super) fn describe(&self) -> String {
        let addresses: usize = self.warps.iter().map(|queues| queues.addresses.len()).sum();
        let predicates: u32 = self.warps.iter().map(|queues| queues.predicates).sum();
        format!("{} tuples, {addresses} addresses and {predicates} predicates in the queues", self.in_use)
    }
}

/// The first member of a set from `from` on, in a circle.
fn next_of(set: u64, from: usize) -> Option<usize> {
    let later = set & u64::MAX << from;
    let chosen = if later != 0 { later } else { set };
    (chosen != 0).then(|| chosen.trailing_zeros() as usize)
}
