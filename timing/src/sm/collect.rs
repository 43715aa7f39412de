//! Operand collectors and the arbitration of register banks.
//!
//! An instruction takes a collector at issue and holds it until it leaves for a unit. Its operands queue at
//! their banks; per cycle a bank serves its ports, writes first, and a collector receives its ports' worth.

use super::Sm;
use super::flight::Flights;
use super::machine::Machine;
use super::units::CONTROL;
use crate::program::{MAX_SRC, Path};
use crate::source::LaunchSource;
use crate::stats::{Counters, Stall};
use crate::techniques::{InFlightId, InstView, OperandRead, ReadFrom};
use std::collections::VecDeque;

/// A read that waits at a bank.
#[derive(Clone, Copy, Debug)]
struct Read {
    ready_at: u64,
    slot: u16,
    operand: u8,
    collector: u8,
}

/// An operand that arrives when another instruction's operand does.
#[derive(Clone, Copy, Debug)]
struct Follower {
    leader: InFlightId,
    leader_operand: u8,
    slot: u16,
    operand: u8,
}

/// What the instructions that hold a pool's collectors wait for.
#[derive(Clone, Copy, Debug, Default)]
struct PoolState {
    collecting: u16,
    ready_memory: u16,
    ready_other: u16,
}

/// How instructions find a collector.
#[derive(Clone, Debug)]
enum Organisation {
    /// Units of a scheduler's share and class: `[share][class]` is a mask of units.
    Pools(Vec<[u64; 3]>),
    /// One unit per warp.
    PerWarp,
}

/// An instruction that has its operands and waits for a unit of a class, or for the load/store queue.
#[derive(Clone, Copy, Debug)]
struct Collected {
    slot: u16,
    waits_for: u8,
}

/// What memory instructions wait for, next to the classes of units.
const LOAD_STORE_QUEUE: u8 = 15;

/// Collectors, bank queues and collected instructions of an SM.
#[derive(Clone, Debug)]
pub(super) struct Collectors {
    organisation: Organisation,
    /// Instructions that each unit can still take.
    room: Vec<u8>,
    /// Units with room.
    free: u64,
    ports: u8,
    /// Ports used in the cycle of the second field.
    ports_used: Vec<(u8, u64)>,
    bank_ports: u8,
    banks: Vec<VecDeque<Read>>,
    /// Banks with reads.
    reading: u64,
    writes: Vec<u16>,
    /// Banks with writes.
    writing: u64,
    /// Operands on their way, `MAX_SRC` standing for an instruction without any.
    arriving: VecDeque<(u64, u16, u8)>,
    followers: Vec<Follower>,
    /// Collected instructions by scheduler share, oldest first.
    ready: Vec<Vec<Collected>>,
    /// Share of each warp slot, and of each scheduler.
    share_of: [u8; 64],
    /// Collected instructions that may leave a share in one cycle.
    dispatched_per_share: usize,
    pools: Vec<PoolState>,
    read_latency: u64,
    issue_to_read: u64,
    rotation: u32,
}

impl Collectors {
    /// The collectors of a machine, dedicated per warp where its plan says so.
    pub fn new(machine: &Machine) -> Collectors {
        let config = &machine.config;
        let shares = if config.register_file.sub_core { config.scheduler.count } else { 1 };
        let c = &config.collectors;
        let (organisation, units, room, ports) = match machine.plan.collectors {
            Some(plan) => {
                (Organisation::PerWarp, config.sm.max_warps, plan.instructions_per_warp as u8, plan.ports)
            }
            None => {
                let of = |scheduler| pool_masks(c, scheduler % shares, shares);
                let pools = (0..config.scheduler.count).map(of).collect();
                (Organisation::Pools(pools), c.generic + c.alu + c.sfu + c.mem, 1, c.ports)
            }
        };
        let banks = config.register_file.banks as usize;
        Collectors {
            organisation,
            room: vec![room; units as usize],
            free: if units == 64 { u64::MAX } else { (1 << units) - 1 },
            ports: ports as u8,
            ports_used: vec![(0, u64::MAX); units as usize],
            bank_ports: config.register_file.bank_ports as u8,
            banks: vec![VecDeque::new(); banks],
            reading: 0,
            writes: vec![0; banks],
            writing: 0,
            arriving: VecDeque::new(),
            followers: Vec::new(),
            ready: vec![Vec::new(); shares as usize],
            share_of: std::array::from_fn(|slot| (slot as u32 % shares) as u8),
            dispatched_per_share: c.dispatch_per_scheduler as usize * config.scheduler.count as usize
                / shares as usize,
            pools: vec![PoolState::default(); 64.max(shares as usize * 3)],
            read_latency: u64::from(config.register_file.read_latency_cycles),
            issue_to_read: u64::from(c.issue_to_read_cycles + machine.plan.extra_collect_cycles),
            rotation: 0,
        }
    }

    /// Warps of `mask` (all of one scheduler) whose heads of a class find a collector.
    #[inline]
    pub fn with_room(&self, mask: u64, scheduler: usize, class: usize) -> u64 {
        match &self.organisation {
            Organisation::PerWarp => mask & self.free,
            Organisation::Pools(pools) => {
                let pool = pools[scheduler][class];
                if pool & self.free != 0 { mask } else { 0 }
            }
        }
    }

    /// Why the head of a warp finds no collector.
    pub fn cause(&self, warp: usize, scheduler: usize, class: usize) -> Stall {
        let state = self.pools[self.pool_index(warp, scheduler, class)];
        if state.collecting > 0 {
            Stall::CollectorFull
        } else if state.ready_memory > 0 {
            Stall::MemoryQueueFull
        } else {
            Stall::UnitBusy
        }
    }

    fn pool_index(&self, warp: usize, scheduler: usize, class: usize) -> usize {
        match &self.organisation {
            Organisation::PerWarp => warp,
            Organisation::Pools(pools) => {
                let share = usize::from(self.share_of[scheduler & 63]);
                // Generic collectors are one pool for all classes.
                let class = if pools[scheduler][0] == pools[scheduler][1] { 0 } else { class };
                share * 3 + class
            }
        }
    }

    fn take(&mut self, warp: usize, scheduler: usize, class: usize) -> (u8, u8) {
        let unit = match &self.organisation {
            Organisation::PerWarp => warp as u32,
            Organisation::Pools(pools) => (pools[scheduler][class] & self.free).trailing_zeros(),
        };
        let pool = self.pool_index(warp, scheduler, class);
        self.pools[pool].collecting += 1;
        self.room[unit as usize] -= 1;
        if self.room[unit as usize] == 0 {
            self.free &= !(1 << unit);
        }
        (unit as u8, pool as u8)
    }

    /// Whether banks or collected instructions need attention in the next cycle.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.reading | self.writing != 0 || self.ready.iter().any(|ready| !ready.is_empty())
    }

    /// Cycle of the next operand's arrival.
    pub fn next_arrival(&self) -> Option<u64> {
        self.arriving.front().map(|(cycle, ..)| *cycle)
    }

    /// Queues a write, or a read that no collector waits for, at a bank.
    #[inline]
    pub fn access(&mut self, bank: u8) {
        self.writes[usize::from(bank)] += 1;
        self.writing |= 1 << bank;
    }

    /// Lets an issued instruction collect its operands.
    pub fn collect(
        &mut self,
        flights: &mut Flights,
        slot: u16,
        place: (usize, usize, usize),
        operands: &[OperandRead],
        now: u64,
    ) {
        let (warp, scheduler, class) = place;
        let (unit, pool) = self.take(warp, scheduler, class);
        let flight = &mut flights[slot];
        flight.collector = unit;
        flight.pool = pool;
        let ready_at = now + self.issue_to_read;
        for (index, operand) in operands.iter().enumerate() {
            let index = index as u8;
            match operand.from {
                // What is there before banks would be read costs the instruction no time.
                ReadFrom::Storage(access, _) => {
                    if access.ready_at() > ready_at {
                        flights[slot].missing |= 1 << index;
                        arrive(&mut self.arriving, access.ready_at(), slot, index);
                    }
                }
                ReadFrom::Bank(bank) => {
                    flights[slot].missing |= 1 << index;
                    let read = Read { ready_at, slot, operand: index, collector: unit };
                    self.banks[usize::from(bank)].push_back(read);
                    self.reading |= 1 << bank;
                }
                ReadFrom::BankBehind(bank, access) => {
                    flights[slot].missing |= 1 << index;
                    let ready_at = ready_at + access.waited();
                    let read = Read { ready_at, slot, operand: index, collector: unit };
                    let queue = &mut self.banks[usize::from(bank)];
                    let at = queue.partition_point(|other| other.ready_at <= ready_at);
                    queue.insert(at, read);
                    self.reading |= 1 << bank;
                }
                ReadFrom::With(other, _) => {
                    flights[slot].missing |= 1 << index;
                    flights[slot].together[usize::from(other)] |= 1 << index;
                }
                ReadFrom::After(leader, leader_operand, _) => {
                    if flights.awaits(leader, leader_operand) {
                        flights[slot].missing |= 1 << index;
                        self.followers.push(Follower { leader, leader_operand, slot, operand: index });
                    }
                }
            }
        }
        if flights[slot].missing == 0 {
            arrive(&mut self.arriving, ready_at, slot, MAX_SRC as u8);
        }
    }

    /// Serves the banks for one cycle.
    fn serve_banks(&mut self, now: u64, stats: &mut Counters) {
        if self.reading | self.writing == 0 {
            return;
        }
        let banks = self.banks.len() as u32;
        self.rotation = if self.rotation + 1 >= banks { 0 } else { self.rotation + 1 };
        let busy = self.reading | self.writing;
        // Two passes over the mask start the round at a different bank each cycle.
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

    fn serve_bank(&mut self, bank: usize, now: u64, stats: &mut Counters) {
        let mut ports = self.bank_ports;
        let waiting = self.writes[bank];
        if waiting > 0 {
            let served = waiting.min(u16::from(ports));
            ports -= served as u8;
            self.writes[bank] -= served;
            stats.rf_bank_conflict_cycles += u64::from(waiting - served);
            if waiting == served {
                self.writing &= !(1 << bank);
            }
        }
        let queue = &mut self.banks[bank];
        let mut index = 0;
        while index < queue.len() {
            let read = queue[index];
            if read.ready_at > now {
                break;
            }
            let (used, cycle) = &mut self.ports_used[usize::from(read.collector)];
            if *cycle != now {
                (*used, *cycle) = (0, now);
            }
            if ports == 0 {
                stats.rf_bank_conflict_cycles += 1;
                index += 1;
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
                stats.rf_reads += 1;
                arrive(&mut self.arriving, now + self.read_latency, read.slot, read.operand);
            }
        }
        if queue.is_empty() {
            self.reading &= !(1 << bank);
        }
    }

    /// What the collectors hold, for the report of a stuck machine.
    pub fn describe(&self) -> String {
        let reads: usize = self.banks.iter().map(VecDeque::len).sum();
        let ready: usize = self.ready.iter().map(Vec::len).sum();
        let collecting: u32 = self.pools.iter().map(|pool| u32::from(pool.collecting)).sum();
        format!(
            "  collectors: {collecting} collecting, {ready} collected, {reads} reads queued, {} operands on their way\n",
            self.arriving.len()
        )
    }
}

/// Schedules an operand's arrival, keeping the queue in order of cycles.
#[inline]
fn arrive(arriving: &mut VecDeque<(u64, u16, u8)>, cycle: u64, slot: u16, operand: u8) {
    if arriving.back().is_none_or(|last| last.0 <= cycle) {
        arriving.push_back((cycle, slot, operand));
        return;
    }
    let at = arriving.partition_point(|other| other.0 <= cycle);
    arriving.insert(at, (cycle, slot, operand));
}

/// Units of one share, by class.
fn pool_masks(c: &crate::config::Collectors, share: u32, shares: u32) -> [u64; 3] {
    let range = |first: u32, count: u32| {
        let per = count / shares;
        let start = first + share * per;
        (start..start + per).fold(0u64, |mask, unit| mask | 1 << unit)
    };
    if c.generic > 0 {
        [range(0, c.generic); 3]
    } else {
        [range(0, c.alu), range(c.alu, c.sfu), range(c.alu + c.sfu, c.mem)]
    }
}

impl<S: LaunchSource> Sm<'_, S> {
    /// Operands that arrive in this cycle; instructions that have all of theirs are collected.
    pub(super) fn take_operands(&mut self) {
        while let Some((cycle, slot, operand)) = self.collectors.arriving.front().copied() {
            if cycle > self.now {
                break;
            }
            self.collectors.arriving.pop_front();
            self.operand_arrived(slot, operand);
        }
    }

    fn operand_arrived(&mut self, slot: u16, operand: u8) {
        let id = self.flights.id(slot);
        let flight = &mut self.flights[slot];
        let mut arrived = 0;
        if usize::from(operand) < MAX_SRC {
            arrived = 1u16 << operand | flight.together[usize::from(operand)];
            flight.missing &= !arrived;
        }
        if flight.missing == 0 {
            self.collected(slot);
        }
        if !self.collectors.followers.is_empty() {
            let mut index = 0;
            while index < self.collectors.followers.len() {
                let follower = self.collectors.followers[index];
                if follower.leader == id && arrived >> follower.leader_operand & 1 != 0 {
                    self.collectors.followers.remove(index);
                    self.operand_arrived(follower.slot, follower.operand);
                } else {
                    index += 1;
                }
            }
        }
    }

    fn collected(&mut self, slot: u16) {
        let flight = &self.flights[slot];
        let waited = self.now - flight.issued_at;
        self.stats.counters.collected_instructions += 1;
        self.stats.counters.operand_collection_cycles += waited;
        self.stats.latency.operand_collection.record(waited);
        self.record(|recorder, now| recorder.collected(slot, now));
        let flight = &self.flights[slot];
        let pool = &mut self.collectors.pools[usize::from(flight.pool)];
        pool.collecting -= 1;
        let memory = matches!(self.machine.program.insts[flight.pc as usize].path, Path::Memory(_));
        if memory {
            pool.ready_memory += 1;
        } else {
            pool.ready_other += 1;
        }
        let warp = usize::from(flight.warp);
        let share = usize::from(self.collectors.share_of[warp & 63]);
        let waits_for =
            if memory { LOAD_STORE_QUEUE } else { self.machine.program.insts[flight.pc as usize].unit };
        self.collectors.ready[share].push(Collected { slot, waits_for });
        if flight.collecting != 0 {
            let inst = &self.machine.program.insts[flight.pc as usize];
            self.scoreboard.end_reads(warp, inst, flight.collecting);
        }
    }

    /// Operand-read stage.
    pub(super) fn read_banks(&mut self) {
        let Sm { collectors, stats, now, .. } = self;
        collectors.serve_banks(*now, &mut stats.counters);
    }

    /// Dispatch stage: collected instructions leave for units and for the load/store queue, oldest first.
    pub(super) fn dispatch(&mut self) {
        for share in 0..self.collectors.ready.len() {
            let mut budget = self.collectors.dispatched_per_share;
            let mut index = 0;
            // What one finds taken is taken for those behind it in the same cycle too: they are of one scheduler, or the
            // units are everyone's. Control units are neither.
            let mut taken = 0u16;
            while budget > 0 && index < self.collectors.ready[share].len() {
                let Collected { slot, waits_for } = self.collectors.ready[share][index];
                if taken >> waits_for & 1 != 0 {
                    index += 1;
                } else if self.start(slot) {
                    self.collectors.ready[share].remove(index);
                    budget -= 1;
                } else {
                    taken |= u16::from(usize::from(waits_for) != CONTROL) << waits_for;
                    index += 1;
                }
            }
        }
    }

    /// Starts a collected instruction if its unit or queue takes it, and frees its collector.
    fn start(&mut self, slot: u16) -> bool {
        let flight = &self.flights[slot];
        let (warp, pool_index, unit) =
            (usize::from(flight.warp), usize::from(flight.pool), usize::from(flight.collector));
        let (pc, active, exec) = (flight.pc, flight.active, flight.exec);
        let machine = self.machine;
        let inst = &machine.program.insts[pc as usize];
        let memory = matches!(inst.path, Path::Memory(_));
        let started = if memory { self.start_access(slot, warp) } else { self.execute(slot, warp) };
        if !started {
            return false;
        }
        self.record(|recorder, now| recorder.started(slot, now));
        if self.techniques.hooks().execute && machine.micro_at(pc).is_none() {
            let view = InstView { pc, inst, active, exec, id: self.flights.id(slot) };
            self.ask(|techniques, at, warps| techniques.dispatched(at, &warps[warp].view(warp), &view));
        }
        let pool = &mut self.collectors.pools[pool_index];
        if memory {
            pool.ready_memory -= 1;
        } else {
            pool.ready_other -= 1;
        }
        self.collectors.room[unit] += 1;
        self.collectors.free |= 1 << unit;
        true
    }
}
