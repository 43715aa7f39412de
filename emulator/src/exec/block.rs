//! A running thread block: its warps, shared memory and barriers, and the round robin of its warps.
//!
//! A warp runs until it waits at a barrier, ends, or has executed its turn of [`super::Options::interleave`]
//! instructions; the order is fixed, so that a block is deterministic. When no lane can continue,
//! [`super::fault::FaultKind::Deadlock`] lists the waiting lanes.

use super::barrier::{Barriers, Outcome};
use super::executable::{Executable, SPIN_LIMIT, Worker};
use super::fault::{FaultKind, Location, Waiting};
use super::paths::{NEVER, Paths, Wait};
use super::spin::{self, Spin};
use super::state::{BlockShared, WarpState};
use super::trouble::{Stop, Trouble};
use super::warp;
use crate::memory::GlobalMemory;
use crate::record::BlockSink;
use crate::view::global::GlobalView;
use crate::view::local::LocalMemory;
use std::collections::BTreeMap;
use trace_format::isa::{BarMode, Op, Pc};
use trace_format::semantics::{FULL_MASK, Row, Warp};

/// Warp instructions after which diverged lanes of a warp get a turn.
const LANES_SHARE: u64 = 8 << 10;
/// Called between the turns of warps, with the instructions that the block has executed.
pub(crate) type Pause<'f, 'p, V, S> = &'f mut dyn FnMut(&mut Worker<'p, V, S>, u64) -> Result<(), Trouble>;

/// A block and its state.
#[derive(Debug)]
pub(crate) struct Block {
    pub shared: BlockShared,
    warps: Vec<WarpState>,
    live: u32,
    /// Warp instructions executed so far.
    pub instructions: u64,
    /// Warp whose turn it is.
    turn: usize,
    /// Whether a warp has run in this round.
    progress: bool,
    /// Whether one of them did more than spin.
    fruitful: bool,
}

/// Progress of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    /// All threads have exited.
    Finished,
    /// It has executed its share of instructions.
    Share,
    /// Every warp waits; runnable warps poll memory until others change it.
    Spinning,
    /// As `Spinning`, and it is proven that the block makes no progress unless another block changes memory.
    Stuck,
}

impl Block {
    /// Empty state for a block of this program.
    pub(super) fn new(executable: &Executable<'_>) -> Block {
        let warp = |w: u32| {
            let mut regs = Warp::new(&executable.code);
            regs.reset(&executable.code, &executable.geometry, [0; 3], w);
            let (paths, local) = (Paths::new(), LocalMemory::default());
            WarpState {
                regs,
                paths,
                local,
                instructions: 0,
                resume: NEVER,
                turn_start: 0,
                lanes_start: 0,
                stale: 0,
                has_read: false,
                has_changed: false,
                turn_end: 0,
                spin: Spin::NEW,
            }
        };
        Block {
            shared: BlockShared {
                memory: Vec::new(),
                barriers: Barriers::new(),
                linear: 0,
                index: [0; 3],
                rows: [Row::ZERO; 4],
                thread_instructions: 0,
                printed: Vec::new(),
                errors: BTreeMap::new(),
                tolerated: Vec::new(),
            },
            warps: (0..executable.geometry.warps_per_block()).map(warp).collect(),
            live: 0,
            instructions: 0,
            turn: 0,
            progress: false,
            fruitful: false,
        }
    }

    /// Resets the state to the block with a linear index, at its first instruction.
    pub(super) fn start(&mut self, executable: &Executable<'_>, linear: u64) {
        let geometry = &executable.geometry;
        self.shared.linear = linear;
        self.shared.index = geometry.block_index(linear);
        self.shared.memory.clear();
        self.shared.memory.resize(executable.shared_bytes as usize, 0);
        self.shared.barriers.reset();
        self.shared.thread_instructions = 0;
        self.shared.printed.clear();
        self.shared.errors.clear();
        self.shared.tolerated.clear();
        for (w, warp) in self.warps.iter_mut().enumerate() {
            warp.regs.restart(&executable.code, self.shared.index);
            warp.paths.reset(geometry.launched_mask(w as u32));
            warp.local.reset(executable.kernel.local_bytes);
            (warp.instructions, warp.resume, warp.turn_start, warp.stale) = (0, NEVER, 0, 0);
            (warp.lanes_start, warp.has_read) = (0, false);
            (warp.spin, warp.has_changed) = (Spin::NEW, false);
        }
        self.live = geometry.threads_per_block();
        (self.instructions, self.turn, self.progress, self.fruitful) = (0, 0, false, false);
    }

    /// Runs until the block is finished or about `share` more warp instructions are executed. `pause` is
    /// called between the turns of warps. After [`Trouble::Order`] the block can continue as if it had not
    /// been interrupted.
    pub(super) fn run<'p, V: GlobalView, S: BlockSink>(
        &mut self,
        worker: &mut Worker<'p, V, S>,
        share: u64,
        pause: Pause<'_, 'p, V, S>,
    ) -> Result<Progress, Trouble> {
        let limit = self.instructions.saturating_add(share);
        loop {
            while self.turn < self.warps.len() {
                if self.warps[self.turn].paths.current().mask != 0 {
                    self.turn_of_warp(worker)?;
                    self.progress = true;
                    pause(worker, self.instructions)?;
                }
                self.turn += 1;
            }
            self.turn = 0;
            let fruitful = std::mem::take(&mut self.fruitful);
            if !std::mem::take(&mut self.progress) {
                if self.live == 0 {
                    return Ok(Progress::Finished);
                }
                if !self.break_up() {
                    return Err(self.deadlock(worker.executable));
                }
            } else if !fruitful {
                match self.is_stuck(worker.changes) {
                    false => return Ok(Progress::Spinning),
                    true if !self.break_up() => return Ok(Progress::Stuck),
                    true => {}
                }
            }
            if self.instructions >= limit {
                return Ok(Progress::Share);
            }
        }
    }

    /// Runs the turn of the next warp.
    fn turn_of_warp<V: GlobalView, S: BlockSink>(
        &mut self,
        worker: &mut Worker<'_, V, S>,
    ) -> Result<(), Trouble> {
        let warp = &mut self.warps[self.turn];
        let (before, live) = (warp.instructions, warp.paths.live());
        if warp.resume == NEVER {
            warp.turn_start = before;
        }
        let lanes_end = warp.lanes_start + LANES_SHARE;
        let limit = warp.turn_start.saturating_add(worker.executable.interleave).min(lanes_end);
        let stop = warp::run(worker, &mut self.shared, warp, self.turn as u32, limit);
        self.live -= (live & !warp.paths.live()).count_ones();
        self.instructions += warp.instructions - before;
        let stop = stop?;
        if stop == Stop::Share && warp.spin.is_spinning() {
            warp.spin_on(worker.executable, worker.changes);
        } else {
            self.fruitful = true;
            if stop == Stop::Idle || warp.instructions >= lanes_end {
                warp.spin.stop();
                if stop == Stop::Share {
                    warp.take_turns(worker.executable.has_locks);
                }
                (warp.lanes_start, warp.has_read) = (warp.instructions, false);
            }
        }
        while self.shared.barriers.active != 0 {
            let live_of = |w: usize| self.warps.get(w).map_or(0, |warp| warp.paths.live());
            let Some(outcome) = self.shared.barriers.complete(self.live, live_of) else { break };
            self.release(worker, outcome);
        }
        Ok(())
    }

    /// A representative place of the block, for faults without a causing instruction.
    pub(super) fn place(&self) -> Location {
        let running = self.warps.iter().position(|w| w.paths.current().mask != 0).unwrap_or(0);
        let path = self.warps.get(running).map(|w| *w.paths.current());
        let lane = path.filter(|p| p.mask != 0).map(|p| p.mask.trailing_zeros() as u8);
        Location { pc: path.map_or(0, |p| p.pc), warp: running as u32, lane }
    }

    /// Releases the lanes at a completed barrier, with the result of its reduction.
    fn release<V: GlobalView, S: BlockSink>(&mut self, worker: &mut Worker<'_, V, S>, outcome: Outcome) {
        if let Some((checker, _)) = worker.memory.watch() {
            let waits = |w: &WarpState| {
                w.paths.waiting().any(|p| matches!(p.wait, Wait::Barrier { id, .. } if id == outcome.id))
            };
            let waiting = self.warps.iter().enumerate().filter(|(_, w)| waits(w)).map(|(i, _)| i as u32);
            checker.complete(self.shared.linear, outcome.id, waiting);
        }
        for (w, warp) in self.warps.iter_mut().enumerate() {
            let WarpState { regs, paths, instructions, .. } = warp;
            for path in paths.waiting() {
                match path.wait {
                    Wait::Barrier { id, at } if id == outcome.id && path.pc == at => {
                        deliver(worker, regs, w as u32, at, path.mask, outcome);
                        *instructions += 1;
                        self.instructions += 1;
                        self.shared.thread_instructions += u64::from(path.mask.count_ones());
                    }
                    _ => {}
                }
            }
            paths.release(|wait| matches!(wait, Wait::Barrier { id, .. } if *id == outcome.id));
        }
    }

    /// Before the block counts as deadlocked: continues lanes of a blocked warp that wait for reconvergence.
    /// False when there are none.
    fn break_up(&mut self) -> bool {
        self.warps.iter_mut().any(|w| w.paths.current().mask == 0 && w.paths.break_up())
    }

    /// Whether every warp that can run is proven to spin until memory changes.
    fn is_stuck(&self, changes: u64) -> bool {
        self.warps.iter().all(|w| w.paths.current().mask == 0 || w.spin.is_proven(changes))
    }

    /// Whether a stuck block may make progress: a value that it has read has changed. The values of its lanes
    /// are not compared in full, so that it should get a turn periodically in any case.
    pub(super) fn may_go_on(&self, memory: &GlobalMemory) -> bool {
        self.warps.iter().any(|w| w.paths.current().mask != 0 && w.spin.is_over(memory))
    }

    /// Whether a warp waits for memory that others than the block may change.
    pub(super) fn polls_memory(&self) -> bool {
        self.warps.iter().any(|w| w.paths.current().mask != 0 && w.spin.polls_memory())
    }

    fn deadlock(&self, executable: &Executable<'_>) -> Trouble {
        let waiting = self.waiting(executable, None);
        let place = first_place(&waiting);
        Trouble::fault(FaultKind::Deadlock { waiting, blocks: None }, place)
    }

    /// The waiting lanes and what they wait for.
    pub(super) fn waiting(&self, executable: &Executable<'_>, memory: Option<&GlobalMemory>) -> Vec<Waiting> {
        let mut waiting = Vec::new();
        let block = self.shared.index;
        for (w, warp) in self.warps.iter().enumerate() {
            if warp.paths.current().mask != 0 {
                waiting.extend(warp.spin.waiting(executable, memory, block, w as u32));
            }
            let mut note = |lanes, pc: u32, for_what| {
                let ptx_line = executable.kernel.lines.get(pc as usize).map_or(0, |l| l.code.line);
                waiting.push(Waiting { block, warp: w as u32, lanes, pc: Pc(pc), ptx_line, for_what });
            };
            for path in warp.paths.waiting() {
                match path.wait {
                    Wait::Barrier { id, at } => {
                        let live_of = |w: usize| self.warps.get(w).map_or(0, |warp| warp.paths.live());
                        let (arrived, expected) = self.shared.barriers.state(id, self.live, live_of);
                        let text = format!("barrier {id} ({arrived} of {expected} threads have arrived)");
                        note(path.mask, at, text);
                    }
                    Wait::WarpSync { members, at } | Wait::Collective { members, at } => {
                        note(path.mask, at, format!("lanes {members:#010x} of the warp"));
                    }
                    Wait::Converge { register, members, at } => {
                        note(path.mask, at, format!("lanes {members:#010x} of B{register} to converge"));
                    }
                    Wait::Ready => {}
                }
            }
            for m in warp.paths.meetings() {
                let text = format!("lanes {:#010x} of the warp to reconverge", m.pending);
                note(m.arrived, m.pc, text);
            }
        }
        waiting
    }
}

/// Location of the first waiting lanes.
pub(crate) fn first_place(waiting: &[Waiting]) -> Location {
    waiting.first().map_or(Location { pc: 0, warp: 0, lane: None }, |w| Location {
        pc: w.pc.0,
        warp: w.warp,
        lane: Some(w.lanes.trailing_zeros() as u8),
    })
}

impl WarpState {
    /// Ends a turn of polling: other lanes get a turn, and after some turns without progress the lanes that
    /// wait for the spinning ones at a reconvergence point.
    fn spin_on(&mut self, executable: &Executable<'_>, changes: u64) {
        let WarpState { regs, paths, spin, instructions, .. } = self;
        (self.lanes_start, self.has_read) = (*instructions, false);
        spin.end_turn(changes, || spin::state(executable, regs, paths, *instructions));
        let hopeless = spin.is_hopeless(executable.has_locks) || spin.is_proven(changes);
        if hopeless && paths.overtake() {
            spin.start_over();
        } else {
            paths.rotate();
        }
    }

    /// Switches to other diverged lanes after the running ones have executed their share. In a kernel with locks, lanes
    /// that have polled memory for [`SPIN_LIMIT`] instructions may wait for lanes that wait for them at a reconvergence
    /// point.
    fn take_turns(&mut self, has_locks: bool) {
        self.stale = if self.has_read { self.stale + self.instructions - self.lanes_start } else { 0 };
        if has_locks && self.stale > SPIN_LIMIT && self.paths.overtake() {
            self.stale = 0;
        } else {
            self.paths.rotate();
        }
    }
}

/// Executes a completed barrier reduction for its lanes.
fn deliver<V, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    regs: &mut Warp,
    warp: u32,
    at: u32,
    lanes: u32,
    outcome: Outcome,
) {
    let inst = &worker.executable.code.insts[at as usize];
    let Op::Bar { mode } = inst.op else { return };
    let predicate = match mode {
        BarMode::Sync | BarMode::Arrive => return,
        BarMode::RedAnd => outcome.all,
        BarMode::RedPopc | BarMode::RedOr => outcome.any,
    };
    worker.sink.enter(warp, worker.executable.blocks[at as usize].id, lanes);
    if inst.dst_rows > 0 {
        regs.write_row(inst.dst, &Row::splat(outcome.true_count), lanes);
    }
    regs.write_pred(inst.pdst[0], if predicate { FULL_MASK } else { 0 }, lanes);
    worker.sink.externals(warp, Pc(at), inst, regs, lanes);
    worker.sink.retire(warp, Pc(at), inst, regs, lanes);
}
