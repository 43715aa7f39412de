//! Operand collectors and the arbitration of register banks.
//!
//! An instruction takes a collector at issue and holds it until it leaves for a unit. Its operands queue at
//! their banks; per cycle a bank serves as many accesses as it has ports, writes first, and a collector
//! receives as many operands as it has ports. A collected instruction is offered to its unit, or to the
//! load/store queue, until that accepts it.

use super::units::CONTROL;
use crate::config::GpuConfig;
use crate::program::MAX_SRC;
use crate::stats::{Counters, Stall};
use crate::techniques::{CollectorPlan, InFlightId, ReadFrom};
use std::collections::VecDeque;

/// A read that waits at a bank.
#[derive(Clone, Copy, Debug)]
struct Read {
    ready_at: u64,
    slot: u16,
    operand: u8,
    collector: u8,
    /// Whether the whole register is read, not one lane of it.
    whole: bool,
}

/// An operand that arrives when another instruction's operand does.
#[derive(Clone, Copy, Debug)]
struct Follower {
    leader: InFlightId,
    leader_operand: u8,
    slot: u16,
    operand: u8,
}

/// An instruction that collects operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collecting {
    /// The instruction in flight.
    pub id: InFlightId,
    /// Its warp slot.
    pub warp: usize,
    /// The scheduler that issues it.
    pub scheduler: usize,
    /// Its collector class: 0 ALU, 1 SFU, 2 memory.
    pub class: usize,
    /// Its destination: a unit class, or [`LOAD_STORE_QUEUE`].
    pub leaves_for: u8,
}

/// An instruction in a collector.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: InFlightId,
    /// Operands that have not arrived, one bit each.
    missing: u16,
    /// Operands that had to be collected.
    collecting: u16,
    /// Whether operands arrive together with others.
    together: bool,
    /// Its collector; of collectors per warp, the warp slot.
    unit: u8,
    /// Index of its pool.
    pool: u8,
    share: u8,
    leaves_for: u8,
}

impl Waiting {
    /// A slot without an instruction.
    const NONE: Waiting = Waiting {
        id: InFlightId::NONE,
        missing: 0,
        collecting: 0,
        together: false,
        unit: 0,
        pool: 0,
        share: 0,
        leaves_for: 0,
    };
}

/// An instruction has all its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Collected {
    /// Slot of the instruction.
    pub slot: u16,
    /// The operands that had to be collected, one bit each.
    pub operands: u16,
}

/// Number of instructions in the collectors of a pool, or of a warp, by what they wait for.
#[derive(Clone, Copy, Debug, Default)]
struct PoolState {
    collecting: u16,
    ready_memory: u16,
    ready_other: u16,
}

impl PoolState {
    /// Number of collected instructions for a destination.
    #[inline]
    fn ready(&mut self, leaves_for: u8) -> &mut u16 {
        if leaves_for == LOAD_STORE_QUEUE { &mut self.ready_memory } else { &mut self.ready_other }
    }

    /// What the instructions wait for.
    fn cause(self) -> Stall {
        if self.collecting > 0 {
            Stall::CollectorFull
        } else if self.ready_memory > 0 {
            Stall::MemoryQueueFull
        } else {
            Stall::UnitBusy
        }
    }
}

/// The collectors that instructions of one scheduler and class use.
#[derive(Clone, Copy, Debug)]
struct Pool {
    /// Mask of the configuration's collectors.
    units: u64,
    /// Index among the pools; schedulers and classes that share collectors have one.
    index: u8,
}

/// An instruction that has its operands and waits for a unit of a class, or for the load/store queue.
#[derive(Clone, Copy, Debug)]
struct Ready {
    slot: u16,
    leaves_for: u8,
}

/// Destination of memory instructions; the other destinations are unit classes.
pub(crate) const LOAD_STORE_QUEUE: u8 = 15;

/// The offers of one cycle: oldest first within each share, up to the dispatch width of a share.
///
/// A unit class that refuses one instruction is busy for younger instructions of the share in the same cycle
/// too, because they have the same scheduler or because the units are shared by all schedulers. Control units
/// are the exception.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offers {
    /// The share that is asked first.
    pub(super) first: usize,
    /// How many shares have been asked before this one.
    pub(super) share: usize,
    pub(super) index: usize,
    /// Instructions that may still leave the share.
    pub(super) budget: usize,
    /// Destinations that have refused one.
    pub(super) taken: u16,
}

impl Offers {
    /// The offers of a cycle from a share on, with so many instructions that may leave each.
    pub(super) fn new(first: usize, budget: usize) -> Offers {
        Offers { first, share: 0, index: 0, budget, taken: 0 }
    }

    /// The share that is asked, of so many.
    #[inline]
    pub(super) fn asked(&self, shares: usize) -> usize {
        let share = self.first + self.share;
        if share >= shares { share - shares } else { share }
    }

    /// Goes on with the next share.
    pub(super) fn next_share(&mut self, budget: usize) {
        *self = Offers { share: self.share + 1, ..Offers::new(self.first, budget) };
    }
}

/// Collectors, bank queues and collected instructions of an SM.
#[derive(Clone, Debug)]
pub(crate) struct Collectors {
    /// By slot of the instruction in flight.
    waiting: Vec<Waiting>,
    /// By slot and operand: the operands that arrive together with it; only valid if [`Waiting::together`].
    together: Vec<[u16; MAX_SRC]>,
    /// Pools by scheduler and class.
    pools: Vec<[Pool; 3]>,
    /// Whether each warp has a collector of its own.
    per_warp: bool,
    /// Instructions that may still enter, by pool.
    places: Vec<u16>,
    /// Free entries of each collector.
    room: Vec<u8>,
    /// Collectors with free entries.
    free: u64,
    ports: u8,
    /// Ports used, with the cycle to which the count belongs.
    ports_used: Vec<(u8, u64)>,
    bank_ports: u8,
    /// Ports of a bank for writes alone.
    bank_write_ports: u8,
    banks: Vec<VecDeque<Read>>,
    /// Banks with reads.
    reading: u64,
    writes: Vec<u16>,
    /// Banks with writes.
    writing: u64,
    /// Operands in flight; `MAX_SRC` stands for an instruction without operands.
    arriving: VecDeque<(u64, u16, u8)>,
    followers: Vec<Follower>,
    /// Collected instructions by scheduler share, oldest first.
    ready: Vec<Vec<Ready>>,
    /// Number of collected instructions.
    ready_count: u32,
    /// Share of each warp slot, and of each scheduler.
    share_of: [u8; 64],
    /// The share that is asked first: that behind the one whose memory instruction was the last to leave (of the last, their
    /// number), so that none keeps the unit that they have in common to itself.
    turn: usize,
    /// Collected instructions that may leave a share in one cycle.
    dispatched_per_share: usize,
    /// By pool, for the attribution of stalls.
    states: Vec<PoolState>,
    /// By warp slot, if each warp has a collector.
    warp_states: Vec<PoolState>,
    read_latency: u64,
    issue_to_read: u64,
    rotation: u32,
}

impl Collectors {
    /// The collectors of a configuration, or one collector per warp, which delays reads by some cycles.
    #[must_use]
    pub(crate) fn new(config: &GpuConfig, per_warp: Option<CollectorPlan>, extra_cycles: u32) -> Collectors {
        let shares = if config.register_file.sub_core { config.scheduler.count } else { 1 };
        let c = &config.collectors;
        let of = |scheduler| pools_of_share(c, scheduler % shares, shares);
        let pools: Vec<[Pool; 3]> = (0..config.scheduler.count).map(of).collect();
        let mut places = vec![0; shares as usize * 3];
        for Pool { units, index } in pools.iter().flatten() {
            places[usize::from(*index)] = units.count_ones() as u16;
        }
        let (units, room, ports) = match per_warp {
            Some(plan) => {
                let warps = config.sm.max_warps;
                if !plan.bounded {
                    places.fill((warps * plan.instructions_per_warp) as u16);
                }
                (warps, plan.instructions_per_warp as u8, plan.ports)
            }
            None => (c.generic + c.alu + c.sfu + c.mem, 1, c.ports),
        };
        let banks = config.register_file.banks as usize;
        Collectors {
            waiting: Vec::new(),
            together: Vec::new(),
            states: vec![PoolState::default(); places.len()],
            warp_states: vec![PoolState::default(); if per_warp.is_some() { units as usize } else { 0 }],
            pools,
            per_warp: per_warp.is_some(),
            places,
            room: vec![room; units as usize],
            free: if units == 64 { u64::MAX } else { (1 << units) - 1 },
            ports: ports as u8,
            ports_used: vec![(0, u64::MAX); units as usize],
            bank_ports: config.register_file.bank_ports as u8,
            bank_write_ports: config.register_file.bank_write_ports as u8,
            banks: vec![VecDeque::new(); banks],
            reading: 0,
            writes: vec![0; banks],
            writing: 0,
            arriving: VecDeque::new(),
            followers: Vec::new(),
            turn: 0,
            ready: vec![Vec::new(); shares as usize],
            ready_count: 0,
            share_of: std::array::from_fn(|slot| (slot as u32 % shares) as u8),
            dispatched_per_share: c.dispatch_per_scheduler as usize * config.scheduler.count as usize
                / shares as usize,
            read_latency: u64::from(config.register_file.read_latency_cycles),
            issue_to_read: u64::from(c.issue_to_read_cycles + extra_cycles),
            rotation: 0,
        }
    }

    /// Warps of `mask` (all of one scheduler) for which a collector of the class is free.
    #[inline]
    pub(crate) fn with_room(&self, mask: u64, scheduler: usize, class: usize) -> u64 {
        if self.places[self.pool(scheduler, class)] == 0 {
            0
        } else if self.per_warp {
            mask & self.free
        } else {
            mask
        }
    }

    /// Stall cause of a warp without a free collector: what the instructions in the collectors wait for.
    #[must_use]
    pub(crate) fn refuses(&self, warp: usize, scheduler: usize, class: usize) -> Stall {
        if self.per_warp && self.free >> warp & 1 == 0 {
            self.warp_states[warp].cause()
        } else {
            self.states[self.pool(scheduler, class)].cause()
        }
    }

    /// Index of the pool of a scheduler and class.
    #[inline]
    fn pool(&self, scheduler: usize, class: usize) -> usize {
        usize::from(self.pools[scheduler][class].index)
    }

    /// Takes a collector and returns it with its pool.
    #[inline]
    fn take(&mut self, warp: usize, scheduler: usize, class: usize) -> (u8, u8) {
        let Pool { units, index } = self.pools[scheduler][class];
        let unit = if self.per_warp { warp as u32 } else { (units & self.free).trailing_zeros() };
        self.places[usize::from(index)] -= 1;
        self.room[unit as usize] -= 1;
        if self.room[unit as usize] == 0 {
            self.free &= !(1 << unit);
        }
        self.change_states(unit as u8, index, |state| state.collecting += 1);
        (unit as u8, index)
    }

    /// Changes the state of a collector's pool, and of its warp.
    #[inline]
    fn change_states(&mut self, unit: u8, pool: u8, change: impl Fn(&mut PoolState)) {
        change(&mut self.states[usize::from(pool)]);
        if self.per_warp {
            change(&mut self.warp_states[usize::from(unit)]);
        }
    }

    /// Whether a bank has accesses.
    #[inline]
    pub(crate) fn is_reading(&self) -> bool {
        self.reading | self.writing != 0
    }

    /// Earliest cycle in which a collected instruction can leave; `free_at` gives that of a destination, for the warp
    /// slots of a share.
    pub(crate) fn next_departure(&self, free_at: impl Fn(usize, u8) -> u64) -> Option<u64> {
        let mut next = None;
        for (share, ready) in self.ready.iter().enumerate() {
            let mut seen = 0u16;
            for Ready { leaves_for, .. } in ready {
                if seen >> leaves_for & 1 == 0 {
                    seen |= 1 << leaves_for;
                    let cycle = free_at(share, *leaves_for);
                    next = Some(next.map_or(cycle, |next: u64| next.min(cycle)));
                }
            }
        }
        next
    }

    /// Cycle of the next operand's arrival.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<u64> {
        self.arriving.front().map(|(cycle, ..)| *cycle)
    }

    /// Queues an access at a bank that no collector waits for: a write, or an additional read.
    #[inline]
    pub(crate) fn access(&mut self, bank: u8) {
        self.writes[usize::from(bank)] += 1;
        self.writing |= 1 << bank;
    }

    /// Puts an issued instruction, for which there must be room, into a collector; returns the operands to
    /// collect, one bit each.
    #[inline]
    pub(crate) fn collect(
        &mut self,
        who: Collecting,
        operands: impl Iterator<Item = ReadFrom>,
        now: u64,
    ) -> u16 {
        let Collecting { id, warp, scheduler, class, leaves_for } = who;
        let (unit, pool) = self.take(warp, scheduler, class);
        let slot = id.slot();
        if usize::from(slot) >= self.waiting.len() {
            self.waiting.resize(usize::from(slot) + 1, Waiting::NONE);
            self.together.resize(usize::from(slot) + 1, [0; MAX_SRC]);
        }
        let ready_at = now + self.issue_to_read;
        let mut missing = 0u16;
        let mut together = false;
        for (index, from) in operands.enumerate() {
            let index = index as u8;
            match from {
                // An operand that is available before the bank read costs no time.
                ReadFrom::Storage(access, _) => {
                    if access.ready_at() > ready_at {
                        missing |= 1 << index;
                        arrive(&mut self.arriving, access.ready_at(), slot, index);
                    }
                }
                ReadFrom::Bank(bank) => {
                    missing |= 1 << index;
                    let whole = Read { ready_at, slot, operand: index, collector: unit, whole: true };
                    self.queue_read(bank, whole);
                }
                ReadFrom::BankBehind(bank, access) => {
                    missing |= 1 << index;
                    let ready_at = ready_at + access.waited();
                    let whole = Read { ready_at, slot, operand: index, collector: unit, whole: true };
                    self.queue_read(bank, whole);
                }
                ReadFrom::Lane(bank, _) => {
                    missing |= 1 << index;
                    let lane = Read { ready_at, slot, operand: index, collector: unit, whole: false };
                    self.queue_read(bank, lane);
                }
                ReadFrom::With(other, _) => {
                    missing |= 1 << index;
                    if !std::mem::replace(&mut together, true) {
                        self.together[usize::from(slot)] = [0; MAX_SRC];
                    }
                    self.together[usize::from(slot)][usize::from(other)] |= 1 << index;
                }
                ReadFrom::After(leader, leader_operand, _) => {
                    if self.awaits(leader, leader_operand) {
                        missing |= 1 << index;
                        self.followers.push(Follower { leader, leader_operand, slot, operand: index });
                    }
                }
            }
        }
        if missing == 0 {
            arrive(&mut self.arriving, ready_at, slot, MAX_SRC as u8);
        }
        self.waiting[usize::from(slot)] = Waiting {
            id,
            missing,
            collecting: missing,
            together,
            unit,
            pool,
            share: self.share_of[warp & 63],
            leaves_for,
        };
        missing
    }

    /// Queues a read at a bank, in order of the cycles from which reads may be served.
    #[inline]
    fn queue_read(&mut self, bank: u8, read: Read) {
        insert_in_order(&mut self.banks[usize::from(bank)], read, |read| read.ready_at);
        self.reading |= 1 << bank;
    }

    /// Whether an instruction waits for an operand.
    fn awaits(&self, id: InFlightId, operand: u8) -> bool {
        let waiting = self.waiting.get(usize::from(id.slot()));
        waiting.is_some_and(|w| w.id == id && w.missing >> operand & 1 != 0)
    }

    /// Takes the operands that arrive in this cycle; appends the instructions whose operands are complete.
    #[inline]
    pub(crate) fn take_operands(&mut self, now: u64, collected: &mut Vec<Collected>) {
        while let Some((cycle, slot, operand)) = self.arriving.front().copied() {
            if cycle > now {
                break;
            }
            self.arriving.pop_front();
            self.operand_arrived(slot, operand, collected);
        }
    }

    fn operand_arrived(&mut self, slot: u16, operand: u8, collected: &mut Vec<Collected>) {
        let waiting = &mut self.waiting[usize::from(slot)];
        let mut arrived = 0;
        if usize::from(operand) < MAX_SRC {
            arrived = 1u16 << operand;
            if waiting.together {
                arrived |= self.together[usize::from(slot)][usize::from(operand)];
            }
            waiting.missing &= !arrived;
        }
        if waiting.missing == 0 {
            let Waiting { collecting, unit, pool, share, leaves_for, .. } = *waiting;
            self.change_states(unit, pool, |state| {
                state.collecting -= 1;
                *state.ready(leaves_for) += 1;
            });
            self.ready[usize::from(share)].push(Ready { slot, leaves_for });
            self.ready_count += 1;
            collected.push(Collected { slot, operands: collecting });
        }
        if !self.followers.is_empty() {
            let id = self.waiting[usize::from(slot)].id;
            let mut index = 0;
            while index < self.followers.len() {
                let follower = self.followers[index];
                if follower.leader == id && arrived >> follower.leader_operand & 1 != 0 {
                    self.followers.remove(index);
                    self.operand_arrived(follower.slot, follower.operand, collected);
                } else {
                    index += 1;
                }
            }
        }
    }

    /// Whether collected instructions wait to leave.
    #[must_use]
    #[inline]
    pub(crate) fn has_ready(&self) -> bool {
        self.ready_count > 0
    }

    /// Begins a cycle's offers of collected instructions.
    #[must_use]
    #[inline]
    pub(crate) fn offers(&self) -> Offers {
        Offers::new(self.turn, self.dispatched_per_share)
    }

    /// The next collected instruction to be offered; the caller answers with [`Collectors::taken`] or
    /// [`Collectors::refused`].
    #[inline]
    pub(crate) fn offer(&self, offers: &mut Offers) -> Option<u16> {
        while offers.share < self.ready.len() {
            let ready = &self.ready[offers.asked(self.ready.len())];
            while offers.budget > 0
                && let Some(Ready { slot, leaves_for }) = ready.get(offers.index).copied()
            {
                if offers.taken >> leaves_for & 1 == 0 {
                    return Some(slot);
                }
                offers.index += 1;
            }
            offers.next_share(self.dispatched_per_share);
        }
        None
    }

    /// The offered instruction has left; its collector entry is free.
    #[inline]
    pub(crate) fn taken(&mut self, offers: &mut Offers) {
        let asked = offers.asked(self.ready.len());
        let Ready { slot, leaves_for } = self.ready[asked].remove(offers.index);
        if leaves_for == LOAD_STORE_QUEUE {
            self.turn = asked + 1;
        }
        offers.budget -= 1;
        self.ready_count -= 1;
        let Waiting { unit, pool, .. } = self.waiting[usize::from(slot)];
        self.change_states(unit, pool, |state| *state.ready(leaves_for) -= 1);
        self.places[usize::from(pool)] += 1;
        self.room[usize::from(unit)] += 1;
        self.free |= 1 << unit;
    }

    /// The destination of the offered instruction has no room in this cycle.
    #[inline]
    pub(crate) fn refused(&mut self, offers: &mut Offers) {
        let Ready { leaves_for, .. } = self.ready[offers.asked(self.ready.len())][offers.index];
        offers.taken |= u16::from(usize::from(leaves_for) != CONTROL) << leaves_for;
        offers.index += 1;
    }

    /// Serves the banks for one cycle.
    #[inline]
    pub(crate) fn serve_banks(&mut self, now: u64, stats: &mut Counters) {
        if self.reading | self.writing == 0 {
            return;
        }
        let banks = self.banks.len() as u32;
        self.rotation = if self.rotation + 1 >= banks { 0 } else { self.rotation + 1 };
        let busy = self.reading | self.writing;
        // Two passes over the mask start at a different bank each cycle.
        let low = (1u64 << self.rotation) - 1;
        for part in [busy & !low, busy & low] {
            let mut part = part;
            while part != 0 {
                let bank = part.trailing_zeros() as usize;
                part &= part - 1;
                self.serve_bank(bank, now, stats);
            }
        }
    }

    #[inline]
    fn serve_bank(&mut self, bank: usize, now: u64, stats: &mut Counters) {
        let mut ports = self.bank_ports;
        let waiting = self.writes[bank];
        if waiting > 0 {
            let of_writes = if self.bank_write_ports > 0 { self.bank_write_ports } else { ports };
            let served = waiting.min(u16::from(of_writes));
            if self.bank_write_ports == 0 {
                ports -= served as u8;
            }
            self.writes[bank] -= served;
            stats.rf_bank_conflict_cycles += u64::from(waiting - served);
            if waiting == served {
                self.writing &= !(1 << bank);
            }
        }
        let queue = &mut self.banks[bank];
        let mut index = 0;
        while let Some(read) = queue.get(index).copied() {
            if read.ready_at > now {
                break;
            }
            let (used, cycle) = &mut self.ports_used[usize::from(read.collector)];
            if *cycle != now {
                (*used, *cycle) = (0, now);
            }
            if ports == 0 {
                // Every other read that is ready waits.
                let later = queue.iter().rev().take_while(|read| read.ready_at > now).count();
                stats.rf_bank_conflict_cycles += (queue.len() - index - later) as u64;
                break;
            } else if *used == self.ports {
                stats.collector_port_conflict_cycles += 1;
                index += 1;
            } else {
                *used += 1;
                ports -= 1;
                if index == 0 {
                    queue.pop_front();
                } else {
                    queue.remove(index);
                }
                stats.rf_reads += u64::from(read.whole);
                arrive(&mut self.arriving, now + self.read_latency, read.slot, read.operand);
            }
        }
        if queue.is_empty() {
            self.reading &= !(1 << bank);
        }
    }

    /// State of the collectors, for the watchdog's report.
    pub(crate) fn describe(&self) -> String {
        let reads: usize = self.banks.iter().map(VecDeque::len).sum();
        let ready: usize = self.ready.iter().map(Vec::len).sum();
        let collecting: u32 = self.states.iter().map(|state| u32::from(state.collecting)).sum();
        format!(
            "  collectors: {collecting} collecting, {ready} collected, {reads} reads queued, {} operands on their way\n",
            self.arriving.len()
        )
    }
}

/// Schedules an operand's arrival.
#[inline]
fn arrive(arriving: &mut VecDeque<(u64, u16, u8)>, cycle: u64, slot: u16, operand: u8) {
    insert_in_order(arriving, (cycle, slot, operand), |arrival| arrival.0);
}

/// Adds an item to a queue that is in order of cycles, behind those of the same cycle.
#[inline]
fn insert_in_order<T>(queue: &mut VecDeque<T>, item: T, cycle: impl Fn(&T) -> u64) {
    if queue.back().is_none_or(|last| cycle(last) <= cycle(&item)) {
        queue.push_back(item);
        return;
    }
    let at = queue.partition_point(|other| cycle(other) <= cycle(&item));
    queue.insert(at, item);
}

/// Collectors of one share, by class. Generic collectors are one pool for all classes.
fn pools_of_share(c: &crate::config::Collectors, share: u32, shares: u32) -> [Pool; 3] {
    let range = |first: u32, count: u32| {
        let per = count / shares;
        let start = first + share * per;
        (start..start + per).fold(0u64, |mask, unit| mask | 1 << unit)
    };
    let first = share as u8 * 3;
    if c.generic > 0 {
        return [Pool { units: range(0, c.generic), index: first }; 3];
    }
    let units = [range(0, c.alu), range(c.alu, c.sfu), range(c.alu + c.sfu, c.mem)];
    std::array::from_fn(|class| Pool { units: units[class], index: first + class as u8 })
}

#[cfg(test)]
mod tests;
