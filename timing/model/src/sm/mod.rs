//! One streaming multiprocessor: [`Sm::tick`] is the list of its stages, each in a file of its own.
//!
//! Stages run from the back of the pipeline to its front, so that an instruction moves by at most one stage
//! per cycle. Warp sets are 64-bit masks over warp slots, updated at each change, so that the cost of a cycle
//! depends on what happens in it. An SM only exchanges packets with the rest of the machine;
//! [`crate::engine`] runs SMs in parallel between exchanges.

mod accesses;
pub(crate) mod machine;
mod parts;
mod stages;
#[cfg(test)]
mod tests;

pub(crate) use machine::{Machine, Shape};
pub(crate) use parts::load_store::SmCaches;

use crate::error::ReplayError;
use crate::memory::shared::Patterns;
use crate::memory::{Credit, Reply, Request};
use crate::sched::WarpScheduler;
use crate::source::LaunchSource;
use crate::stats::{Stall, Stats};
use crate::techniques::{Effects, OperandRead, Stack};
use parts::barriers::Barriers;
use parts::collectors::Collected;
use parts::dependences::Dependences;
use parts::early::EarlyLoads;
use parts::first_level::CodePath;
use parts::flight::Flights;
use parts::followers::Followers;
use parts::front::Front;
use parts::load_store::LoadStore;
use parts::memory_port::MemoryPort;
use parts::observer::Observer;
use parts::operands::Operands;
use parts::scoreboard::Scoreboard;
use parts::scouts::ScoutsOf;
use parts::units::Units;
use parts::warps::Residents;
use parts::wheel::{Event, Wheel};
use parts::write_back::ResultBus;

/// A streaming multiprocessor that replays blocks of one kernel.
pub(crate) struct Sm<'a, S: LaunchSource> {
    /// Index of the SM.
    pub id: usize,
    /// Statistics so far.
    pub stats: Stats,
    /// Outgoing packets, by L2 slice.
    pub outbox: Vec<Vec<Request>>,
    /// Slices that have outgoing packets.
    pub sent_to: Vec<u16>,
    machine: &'a Machine,
    source: &'a S,
    now: u64,
    /// Warp slots of each scheduler.
    of_scheduler: Vec<u64>,
    residents: Residents<S::Warp<'a>>,
    /// Streams ahead of the warps, if a technique needs them.
    scouts: ScoutsOf<S::Warp<'a>>,
    front: Front<'a>,
    code: CodePath,
    schedulers: Vec<WarpScheduler>,
    /// Whether the kernel has control bits that the machine uses.
    has_control_bits: bool,
    /// Whether techniques take part, for which a scoreboard stands behind control bits.
    has_techniques: bool,
    has_uniform_registers: bool,
    /// Whether the scheduling policy has an active set.
    has_active_sets: bool,
    scoreboard: Scoreboard,
    /// The control bits of instructions that have them.
    dependences: Dependences,
    barriers: Barriers,
    flights: Flights,
    /// Where issued instructions get their operands.
    reads: Operands,
    units: Units,
    load_store: LoadStore<'a>,
    /// The patterns of shared-memory instructions.
    patterns: Patterns,
    port: MemoryPort,
    bus: ResultBus,
    wheel: Wheel,
    /// The operands of the instruction that techniques are asked about.
    operands: Vec<OperandRead>,
    /// Events and collected instructions of a cycle; empty between stages.
    due: Vec<Event>,
    collected: Vec<Collected>,
    /// Blocks to set up when the SM runs.
    new_blocks: Vec<u32>,
    /// Scheduler of the first warp of the next block, if they take turns.
    next_first: u32,
    /// Result of [`Sm::next_event`] after the last run, or the arrival of an earlier packet or block.
    sleeps_until: u64,
    /// The same, but the end of the last run if work is blocked.
    wake_at: u64,
    techniques: Stack,
    effects: Effects,
    early: EarlyLoads,
    followers: Followers,
    /// Ready warps that a technique stalls; only under the two-level policy, which replaces them in the
    /// active set.
    held: u64,
    /// The last technique that stalled each warp, and its cause.
    held_by: [(u8, u8); 64],
    /// Warps that techniques stall until they wake them.
    asleep: u64,
    /// By scheduler: the cycle whose slot is half taken by the instruction that issued before.
    half_taken: Vec<u64>,
    last_issue: u64,
    ended_at: u64,
    every_cycle: bool,
    error: Option<ReplayError>,
    observer: Observer,
}

impl<'a, S: LaunchSource> Sm<'a, S> {
    /// An empty SM at a cycle, with the cache contents that an earlier kernel left.
    pub(crate) fn new(
        id: usize,
        machine: &'a Machine,
        source: &'a S,
        techniques: Stack,
        caches: SmCaches,
        now: u64,
    ) -> Sm<'a, S> {
        let config = &machine.config;
        let warps = config.sm.max_warps as usize;
        let schedulers = config.scheduler.count as usize;
        let of_scheduler = (0..schedulers)
            .map(|s| (s..warps).step_by(schedulers).fold(0u64, |mask, warp| mask | 1 << warp))
            .collect();
        let slices = (config.dram.channels * config.l2.slices_per_channel) as usize;
        let blocks = machine.blocks_per_sm as usize;
        let SmCaches { l1, texture, code, constants, second_level } = caches;
        let scheduler = WarpScheduler::new(config);
        let mut residents = Residents::new(blocks, warps);
        // Techniques look at all slots.
        if !techniques.is_empty() {
            residents.open();
        }
        Sm {
            id,
            stats: Stats::default(),
            outbox: vec![Vec::new(); slices],
            sent_to: Vec::new(),
            machine,
            source,
            now,
            of_scheduler,
            residents,
            scouts: ScoutsOf::new(warps),
            front: Front::new(machine),
            code: CodePath::new(config, code, machine.last_code_line()),
            has_control_bits: machine.program.insts.iter().any(|inst| inst.control.is_some()),
            has_techniques: !techniques.is_empty(),
            has_uniform_registers: machine.program.kernel.uniform_registers > 0,
            has_active_sets: scheduler.has_active_set(),
            schedulers: vec![scheduler; schedulers],
            scoreboard: Scoreboard::new(warps),
            dependences: Dependences::new(warps, config.sub_core.yield_cycles),
            barriers: Barriers::new(blocks, warps),
            flights: Flights::new(warps),
            reads: Operands::new(config, &machine.plan, !techniques.is_empty()),
            units: Units::new(config),
            load_store: LoadStore::new(config, machine.l1_ways, l1, texture, constants)
                .with_prefetch_buffer(machine.plan.prefetch_buffer_lines),
            patterns: Patterns::new(),
            port: MemoryPort::new(id, config, machine.net_clock, second_level),
            bus: ResultBus::new(config),
            wheel: Wheel::new(now),
            operands: Vec::new(),
            due: Vec::new(),
            collected: Vec::new(),
            new_blocks: Vec::new(),
            next_first: 0,
            sleeps_until: u64::MAX,
            wake_at: u64::MAX,
            techniques,
            effects: Effects::default(),
            early: EarlyLoads::default(),
            followers: Followers::default(),
            held: 0,
            held_by: [(0, 0); 64],
            asleep: 0,
            half_taken: vec![u64::MAX; schedulers],
            last_issue: now,
            ended_at: now,
            every_cycle: false,
            error: None,
            observer: Observer::default(),
        }
    }

    /// The caches, for the next kernel.
    #[must_use]
    pub(crate) fn into_caches(self) -> SmCaches {
        self.load_store.into_caches(self.code.into_tags(), self.port.into_second_level())
    }

    /// One cycle: the stages in order, from writeback to fetch.
    fn tick(&mut self) {
        self.dependences.advance(self.now);
        self.reads.advance(self.now);
        // Due events come first: later stages may use the resources that they free.
        self.take_events();
        self.decode();
        self.receive_operands();
        self.take_replies();
        // Results leave the bus for the register file; their writes precede reads at the banks.
        self.write_back_results();
        // The load/store unit works on the access at its head, and the SM's port sends what missed.
        self.run_load_store();
        self.send_requests();
        // Collected instructions leave for the units before collectors take new ones and operands.
        self.dispatch();
        self.read_banks();
        // Techniques have their own stage, and decide which new warps may begin.
        self.run_techniques();
        // Issue uses resources that the stages above have freed; fetch refills the I-buffers.
        self.issue();
        self.fetch();
        self.retire_blocks();
        self.observe_barriers();
    }

    /// Runs every cycle below `until`, skipping those in which nothing can happen.
    ///
    /// # Errors
    /// A technique's mismatch or a damaged recording; the SM must not be used afterwards.
    pub(crate) fn run(&mut self, until: u64) -> Result<(), ReplayError> {
        self.take_in()?;
        while self.now < until {
            self.take_sample();
            let next = self.next_event();
            if next > self.now && !self.every_cycle {
                let next = self.before_sample(next.min(until));
                self.idle(next - self.now);
                self.now = next;
                continue;
            }
            self.count_residency(1);
            self.tick();
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            self.now += 1;
        }
        self.sleeps_until = self.next_event();
        self.wake_at = if self.is_blocked() { self.now } else { self.sleeps_until };
        Ok(())
    }

    /// Attributes the cycles before `cycle` that the SM slept through, before it accepts what has arrived since.
    pub(crate) fn sleep_until(&mut self, cycle: u64) {
        while self.now < cycle {
            self.take_sample();
            let next = self.before_sample(cycle);
            self.idle(next - self.now);
            self.now = next;
        }
    }

    /// Accepts the packets and blocks that arrived between two epochs.
    fn take_in(&mut self) -> Result<(), ReplayError> {
        self.port.take_in();
        for block in std::mem::take(&mut self.new_blocks) {
            self.set_up(block)?;
        }
        Ok(())
    }

    /// Earliest cycle in which something can happen or work is blocked, as known between two epochs.
    #[must_use]
    pub(crate) fn wake_at(&self) -> u64 {
        self.wake_at
    }

    /// Cycle before which nothing can happen, as known between two epochs.
    #[must_use]
    pub(crate) fn sleeps_until(&self) -> u64 {
        self.sleeps_until
    }

    /// Whether an instruction waits for a unit or for the load/store unit, or that unit for the port.
    fn is_blocked(&self) -> bool {
        self.reads.has_ready() || self.load_store.is_refused() && !self.port.awaits_credit()
    }

    /// Sets whether idle cycles are simulated too; the result is the same.
    pub(crate) fn look_at_every_cycle(&mut self, every_cycle: bool) {
        self.every_cycle = every_cycle;
    }

    /// Cycle of the latest issue, for the watchdog.
    #[must_use]
    pub(crate) fn last_issue(&self) -> u64 {
        self.last_issue
    }

    /// Earliest cycle, from now on, in which something can happen; `u64::MAX` when only packets can wake it.
    #[must_use]
    pub(crate) fn next_event(&self) -> u64 {
        let busy = self.front.may_fetch() | self.residents.unadmitted() != 0
            || !self.early.is_empty()
            || self.reads.is_reading()
            || self.bus.is_active()
            || self.load_store.is_active(self.now)
            || self.port.is_active(self.now)
            || self.ready() != 0 && (0..self.schedulers.len()).any(|s| self.candidates(s) != 0)
            || self.schedulers_will_change()
            || self.held != 0 && self.held_may_issue();
        if busy {
            return self.now;
        }
        let mut next = u64::MAX;
        let mut consider = |cycle: Option<u64>| next = next.min(cycle.unwrap_or(u64::MAX));
        consider(self.wheel.next());
        consider(self.port.next_event());
        consider(self.code.next_event());
        consider(self.front.next_decoded());
        consider(self.dependences.next_event());
        consider(self.reads.next_room());
        consider(self.reads.next_arrival());
        consider(self.reads.next_departure(|warp, leaves_for| self.takes_from(warp, leaves_for)));
        consider(self.load_store.next_event());
        consider(self.units.next_control_free(self.control_waiters(), self.now));
        if self.hooks().tick || self.hooks().companion {
            consider(self.techniques.next_event(self.now));
        }
        next.max(self.now)
    }

    /// Attributes cycles in which nothing happens.
    fn idle(&mut self, cycles: u64) {
        self.count_residency(cycles);
        self.observe_waits(cycles);
        if self.load_store.is_refused() {
            self.stats.counters.l1_stall_cycles += cycles;
        }
        let width = u64::from(self.machine.config.scheduler.issue_width);
        for scheduler in 0..self.schedulers.len() {
            let cause = self.stall_cause(scheduler);
            self.count_slots(scheduler, 0, width, cause, cycles);
            if cause == Stall::Technique {
                let own = self.of_scheduler[scheduler] & self.residents.resident();
                self.count_held(self.holder_among(own), width * cycles);
            }
        }
    }

    /// Cycle after the one in which the latest block ended.
    #[must_use]
    pub(crate) fn ended_at(&self) -> u64 {
        self.ended_at
    }

    /// Completes the statistics at the kernel's end, `end`: counts of cycles after it are removed, and cycles
    /// up to it are attributed.
    pub(crate) fn finish(&mut self, end: u64) {
        let slots = self.schedulers.len() as u64 * u64::from(self.machine.config.scheduler.issue_width);
        if end > self.now {
            self.stats.stalls.add(Stall::NoWarp, slots * (end - self.now));
        } else {
            self.stats.stalls.remove(Stall::NoWarp, slots * (self.now - end));
        }
    }

    /// Checks the accounts of the techniques.
    ///
    /// # Errors
    /// A technique's accounts do not balance.
    pub(crate) fn close_accounts(&mut self) -> Result<(), ReplayError> {
        self.stats.techniques = self.techniques.stats();
        self.stats.counters.rf_powered_register_cycles = self.techniques.powered_register_cycles();
        self.stats.counters.checked_values =
            self.stats.techniques.iter().map(|technique| technique.ledger.checked).sum();
        self.techniques.check_accounts(&self.machine.program.name)
    }

    fn count_residency(&mut self, cycles: u64) {
        let resident = u64::from(self.residents.resident().count_ones());
        self.stats.counters.resident_warp_cycles += resident * cycles;
        self.stats.counters.active_sm_cycles += u64::from(resident > 0) * cycles;
    }

    /// Delivers replies and credits to this SM.
    pub(crate) fn deliver(&mut self, replies: &mut Vec<Reply>, credits: &mut Vec<Credit>) {
        if let Some(arrival) = self.port.deliver(replies, credits) {
            self.wake_at = self.wake_at.min(arrival);
            self.sleeps_until = self.sleeps_until.min(arrival);
        }
    }

    /// Records the first error; the run stops at the end of the cycle.
    pub(crate) fn fail(&mut self, error: ReplayError) {
        self.error.get_or_insert(error);
    }

    /// Whether no block is resident and no packet of this SM is outstanding.
    #[must_use]
    pub(crate) fn is_idle(&self) -> bool {
        self.residents.resident() == 0
            && self.new_blocks.is_empty()
            && self.early.is_empty()
            && self.load_store.is_drained()
            && self.code.is_drained()
            && self.port.is_drained()
    }

    /// State of every component, for the watchdog's report.
    #[must_use]
    pub(crate) fn describe(&self) -> String {
        let mut text = format!(
            "SM {} at cycle {}: resident {:#x}, live {:#x}, decoded {:#x}, hazard {:#x} (memory {:#x}), barrier {:#x}, \
             fence {:#x}, branch {:#x}, fetch {:#x}, I-cache {:#x}\n",
            self.id,
            self.now,
            self.residents.resident(),
            self.residents.live(),
            self.front.decoded(),
            self.scoreboard.held() | self.dependences.held(),
            self.scoreboard.held_by_memory() | self.dependences.held_by_memory(),
            self.barriers.held(),
            self.load_store.fenced(),
            self.front.awaits_branch(),
            self.front.may_fetch(),
            self.front.awaits_code()
        );
        text += &format!("  in flight: {} instructions\n", self.flights.len());
        text += &self.front.describe(self.residents.resident());
        text += &format!("  I-cache misses: {}\n", self.code.misses());
        text += &self.reads.describe();
        text += &self.units.describe(self.now);
        text += &self.load_store.describe();
        text += &self.port.describe();
        text += &self.bus.describe();
        text += &format!("  events to come: {}\n", self.wheel.describe());
        text += &self.describe_blocks();
        text += &self.describe_warps();
        text += &self.techniques.describe();
        text
    }
}
