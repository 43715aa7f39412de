//! One streaming multiprocessor: [`Sm::tick`] is the list of its stages, each in a file of its own.
//!
//! Stages run from the back of the pipeline to its front, so that an instruction moves by at most one stage
//! per cycle. Warp sets are 64-bit masks over warp slots, kept up to date where something changes, so that a
//! cycle costs what happens in it. An SM only exchanges packets with the rest of the machine; [`crate::engine`]
//! runs SMs in parallel between exchanges.

pub mod banks;
mod barrier;
mod blocks;
mod collect;
mod data_caches;
mod flight;
mod front;
mod global;
mod issue;
mod load_store;
pub mod machine;
mod observe;
mod scoreboard;
mod small_caches;
#[cfg(test)]
mod tests;
mod units;
mod wheel;
mod write_back;

pub use machine::{Machine, Shape};

use crate::error::ReplayError;
use crate::memory::{Credit, Reply, Request};
use crate::sched::WarpScheduler;
use crate::source::LaunchSource;
use crate::stats::{Stall, Stats};
use crate::techniques::{EarlyLoad, Effects, Stack};
use blocks::{BlockSlot, WarpSlot};
use collect::Collectors;
use flight::Flights;
use front::Front;
use load_store::AccessFollower;
use load_store::LoadStore;
use scoreboard::Scoreboard;
use std::collections::VecDeque;
use units::Units;
use wheel::{Event, Wheel};
use write_back::WriteBack;

pub use load_store::SmCaches;

/// Sets of warp slots, one bit each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WarpMasks {
    /// A warp occupies the slot.
    resident: u64,
    /// The warp has instructions left.
    live: u64,
    /// The I-buffer's head holds a decoded instruction.
    decoded: u64,
    /// The head waits for a register or predicate.
    hazard: u64,
    /// … of which at least one comes from memory.
    memory_hazard: u64,
    /// Waiting at a barrier.
    barrier: u64,
    /// Waiting at a fence.
    fence: u64,
    /// Waiting for a branch.
    branch: u64,
    /// Being set up.
    starting: u64,
    /// Instructions in flight or requests outstanding.
    holding: u64,
    /// May fetch.
    fetch: u64,
    /// … but a technique held them back when they were last asked about.
    fetch_held: u64,
    /// Ready, but held back by a technique; only under the two-level policy, which puts others in their place.
    held: u64,
    /// Set up, but not let begin by a technique.
    unadmitted: u64,
    /// Waiting for an I-cache line.
    icache: u64,
    /// Heads by collector pool.
    pool: [u64; 3],
    /// Heads that need no collector.
    control: u64,
}

impl WarpMasks {
    /// Warps of which nothing but a free collector or unit is missing.
    #[inline]
    fn ready(&self) -> u64 {
        self.decoded & !(self.hazard | self.barrier | self.fence | self.branch | self.starting)
    }
}

/// A streaming multiprocessor that replays blocks of one kernel.
pub struct Sm<'a, S: LaunchSource> {
    /// Its number.
    pub id: usize,
    /// What it has counted.
    pub stats: Stats,
    /// Packets for each slice of the machine.
    pub outbox: Vec<Vec<Request>>,
    machine: &'a Machine,
    source: &'a S,
    now: u64,
    masks: WarpMasks,
    of_scheduler: Vec<u64>,
    warps: Vec<WarpSlot<S::Warp<'a>>>,
    blocks: Vec<BlockSlot>,
    /// Streams of warps that have ended, whose memory new ones use.
    spare: Vec<S::Warp<'a>>,
    front: Front,
    schedulers: Vec<WarpScheduler>,
    scoreboard: Scoreboard,
    flights: Flights,
    collectors: Collectors,
    units: Units,
    load_store: LoadStore,
    write_back: WriteBack,
    wheel: Wheel,
    due: Vec<Event>,
    /// Packets on their way, by arrival, and those that the epoch before has sent.
    replies: VecDeque<Reply>,
    credits: VecDeque<Credit>,
    new_replies: Vec<Reply>,
    new_credits: Vec<Credit>,
    /// Blocks to set up when the SM runs.
    new_blocks: Vec<u32>,
    /// What [`Sm::next_event`] said when the SM last ran, or what has come since.
    wake_at: u64,
    techniques: Stack,
    effects: Effects,
    /// Early loads of techniques that have not been looked up, and those in flight by slot.
    early: VecDeque<EarlyLoad>,
    early_flights: Vec<(u16, EarlyLoad)>,
    /// Memory instructions that complete after another one.
    access_followers: Vec<AccessFollower>,
    /// The technique that held a warp back last, and its cause.
    held_by: [(u8, u8); 64],
    last_issue: u64,
    ended_at: u64,
    every_cycle: bool,
    error: Option<ReplayError>,
    observer: observe::Observer,
}

impl<'a, S: LaunchSource> Sm<'a, S> {
    /// An empty SM at a cycle, with the caches that an earlier kernel left behind.
    pub fn new(
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
        Sm {
            id,
            stats: Stats::default(),
            outbox: vec![Vec::new(); slices],
            machine,
            source,
            now,
            masks: WarpMasks::default(),
            of_scheduler,
            warps: (0..warps).map(|_| WarpSlot::default()).collect(),
            blocks: (0..machine.blocks_per_sm).map(|_| BlockSlot::default()).collect(),
            spare: Vec::new(),
            front: Front::new(config),
            schedulers: vec![WarpScheduler::new(config); schedulers],
            scoreboard: Scoreboard::new(warps),
            flights: Flights::new(!techniques.is_empty()),
            collectors: Collectors::new(machine),
            units: Units::new(config),
            load_store: LoadStore::new(machine, caches),
            write_back: WriteBack::new(config),
            wheel: Wheel::new(now),
            due: Vec::new(),
            replies: VecDeque::new(),
            credits: VecDeque::new(),
            new_replies: Vec::new(),
            new_credits: Vec::new(),
            new_blocks: Vec::new(),
            wake_at: u64::MAX,
            techniques,
            effects: Effects::default(),
            early: VecDeque::new(),
            early_flights: Vec::new(),
            access_followers: Vec::new(),
            held_by: [(0, 0); 64],
            last_issue: now,
            ended_at: now,
            every_cycle: false,
            error: None,
            observer: observe::Observer::default(),
        }
    }

    /// The caches, for the next kernel.
    #[must_use]
    pub fn into_caches(self) -> SmCaches {
        self.load_store.into_caches()
    }

    /// One cycle: the stages in order, from writeback to fetch.
    fn tick(&mut self) {
        // Results and packets that arrive in this cycle come first: later stages may use what they free.
        self.take_events();
        self.take_replies();
        // Results leave the bus for the register file; their writes precede reads at the banks.
        self.write_back_results();
        // The load/store unit works on the access at its head, and the SM's port sends what missed.
        self.run_load_store();
        if !self.early.is_empty() {
            self.run_early_loads();
        }
        self.send_requests();
        // Collected instructions leave for the units before collectors take new ones and operands.
        self.dispatch();
        self.read_banks();
        // Techniques have a stage of their own, and say which of the warps that have been set up may begin.
        if self.techniques.hooks().tick {
            self.ask(|techniques, at, _| techniques.tick(at));
        }
        if self.masks.unadmitted != 0 {
            self.admit_warps();
        }
        // Issue sees what the stages above have freed; fetch refills what issue has taken.
        self.issue();
        self.fetch();
        self.retire_blocks();
        self.observe_barriers();
    }

    /// Runs every cycle below `until`, skipping those in which nothing can happen.
    ///
    /// # Errors
    /// A technique's mismatch or a damaged recording; the SM is of no further use.
    pub fn run(&mut self, until: u64) -> Result<(), ReplayError> {
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
        self.wake_at = self.next_event();
        Ok(())
    }

    /// Takes in what has come between two epochs: packets, by arrival and then by sender, and blocks.
    fn take_in(&mut self) -> Result<(), ReplayError> {
        if !self.new_replies.is_empty() {
            self.replies.extend(self.new_replies.drain(..));
            self.replies.make_contiguous().sort_by_key(|reply| reply.arrival);
        }
        if !self.new_credits.is_empty() {
            self.credits.extend(self.new_credits.drain(..));
            self.credits.make_contiguous().sort_by_key(|credit| credit.arrival);
        }
        if !self.new_blocks.is_empty() {
            for block in std::mem::take(&mut self.new_blocks) {
                self.set_up(block)?;
            }
        }
        Ok(())
    }

    /// Earliest cycle in which something can happen, as far as is known between two epochs.
    #[must_use]
    pub fn wake_at(&self) -> u64 {
        self.wake_at
    }

    /// Whether cycles in which nothing can happen are run through all the same; the result is the same.
    pub fn look_at_every_cycle(&mut self, every_cycle: bool) {
        self.every_cycle = every_cycle;
    }

    /// Cycle that the SM will look at next.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Cycle of the latest issue, for the watchdog.
    #[must_use]
    pub fn last_issue(&self) -> u64 {
        self.last_issue
    }

    /// Earliest cycle, from now on, in which something can happen; `u64::MAX` when only packets can wake it.
    #[must_use]
    pub fn next_event(&self) -> u64 {
        let ready = self.masks.ready();
        let busy = self.masks.fetch | self.masks.unadmitted != 0
            || !self.early.is_empty()
            || self.collectors.is_active()
            || self.write_back.is_active()
            || self.load_store.is_active(self.now, !self.credits.is_empty())
            || ready != 0 && (0..self.schedulers.len()).any(|s| self.candidates(s) != 0)
            || self.schedulers_will_change();
        if busy {
            return self.now;
        }
        let mut next = u64::MAX;
        let mut consider = |cycle: Option<u64>| next = next.min(cycle.unwrap_or(u64::MAX));
        consider(self.wheel.next());
        consider(self.replies.front().map(|reply| reply.arrival.max(self.load_store.reply_port_free_at())));
        consider(self.credits.front().map(|credit| credit.arrival));
        consider(self.front.next_decoded());
        consider(self.collectors.next_arrival());
        consider(self.load_store.next_event());
        consider(self.units.next_control_free(self.control_waiters(), self.now));
        if self.techniques.hooks().tick || self.techniques.hooks().companion {
            consider(self.techniques.next_event(self.now));
        }
        next.max(self.now)
    }

    /// Attributes cycles in which nothing happens.
    fn idle(&mut self, cycles: u64) {
        self.count_residency(cycles);
        let width = u64::from(self.machine.config.scheduler.issue_width);
        for scheduler in 0..self.schedulers.len() {
            let cause = self.stall_cause(scheduler);
            self.count_slots(scheduler, 0, width, cause, cycles);
            if cause == Stall::Technique {
                let own = self.of_scheduler[scheduler] & self.masks.resident;
                self.count_held(self.holder_among(own), width * cycles);
            }
        }
    }

    /// Cycle after the one in which the latest block ended.
    #[must_use]
    pub fn ended_at(&self) -> u64 {
        self.ended_at
    }

    /// Closes the books at the kernel's end, which lies behind the SM's last block: cycles beyond it are taken
    /// out again, cycles up to it are attributed.
    pub fn finish(&mut self, end: u64) {
        let slots = self.schedulers.len() as u64 * u64::from(self.machine.config.scheduler.issue_width);
        if end > self.now {
            self.stats.stalls.add(Stall::NoWarp, slots * (end - self.now));
        } else {
            self.stats.stalls.remove(Stall::NoWarp, slots * (self.now - end));
        }
    }

    /// Closes the books of the techniques.
    ///
    /// # Errors
    /// The technique whose accounts do not balance.
    pub fn close_accounts(&mut self) -> Result<(), ReplayError> {
        self.stats.techniques = self.techniques.stats();
        self.stats.counters.checked_values =
            self.stats.techniques.iter().map(|technique| technique.ledger.checked).sum();
        self.techniques.check_accounts(&self.machine.program.name)
    }

    fn count_residency(&mut self, cycles: u64) {
        let resident = u64::from(self.masks.resident.count_ones());
        self.stats.counters.resident_warp_cycles += resident * cycles;
        self.stats.counters.active_sm_cycles += u64::from(resident > 0) * cycles;
    }

    /// Puts replies and credits on their way to this SM.
    pub fn deliver(&mut self, replies: &mut Vec<Reply>, credits: &mut Vec<Credit>) {
        let arrivals =
            replies.iter().map(|reply| reply.arrival).chain(credits.iter().map(|credit| credit.arrival));
        self.wake_at = arrivals.min().map_or(self.wake_at, |arrival| arrival.min(self.wake_at));
        self.new_replies.append(replies);
        self.new_credits.append(credits);
    }

    fn take_events(&mut self) {
        let mut due = std::mem::take(&mut self.due);
        self.wheel.advance(self.now, &mut due);
        for event in due.drain(..) {
            match event {
                Event::Complete(slot) => self.complete(slot),
                Event::BranchResolved(warp) => self.masks.branch &= !(1 << warp),
                Event::BarrierLeft(warp) => self.masks.barrier &= !(1 << warp),
                Event::WarpReady(warp) if self.techniques.hooks().admission => {
                    self.masks.unadmitted |= 1 << warp;
                }
                Event::WarpReady(warp) => {
                    self.masks.starting &= !(1 << warp);
                    self.refresh_fetch(usize::from(warp));
                }
            }
        }
        self.due = due;
        self.take_decoded();
        self.take_operands();
    }

    /// Records the first error; the run stops at the end of the cycle.
    pub(crate) fn fail(&mut self, error: ReplayError) {
        self.error.get_or_insert(error);
    }

    /// Whether no block is resident and no packet of this SM is outstanding.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.masks.resident == 0
            && self.new_blocks.is_empty()
            && self.early.is_empty()
            && self.load_store.is_drained()
            && self.replies.is_empty()
            && self.new_replies.is_empty()
    }

    /// What every component holds, for the report of a stuck machine.
    #[must_use]
    pub fn describe(&self) -> String {
        let m = &self.masks;
        let mut text = format!(
            "SM {} at cycle {}: resident {:#x}, live {:#x}, decoded {:#x}, hazard {:#x} (memory {:#x}), barrier {:#x}, \
             fence {:#x}, branch {:#x}, fetch {:#x}, I-cache {:#x}\n",
            self.id,
            self.now,
            m.resident,
            m.live,
            m.decoded,
            m.hazard,
            m.memory_hazard,
            m.barrier,
            m.fence,
            m.branch,
            m.fetch,
            m.icache
        );
        text += &format!("  in flight: {} instructions\n", self.flights.len());
        text += &self.front.describe(m.resident);
        text += &self.collectors.describe();
        text += &self.units.describe(self.now);
        text += &self.load_store.describe();
        text += &self.write_back.describe();
        text += &format!(
            "  replies on their way: {}, credits: {}\n",
            self.replies.len() + self.new_replies.len(),
            self.credits.len() + self.new_credits.len()
        );
        text += &format!("  events to come: {}\n", self.wheel.describe());
        text += &self.describe_blocks();
        text += &self.describe_warps();
        text += &self.techniques.describe();
        text
    }
}
