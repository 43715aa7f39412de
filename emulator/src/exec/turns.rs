//! Runs blocks one after the other, and in turns if they wait for each other.
//!
//! A block runs until it is finished or polls memory; then the next one starts, or, when all have started,
//! the waiting ones run round robin. All blocks that fit a device at once can therefore wait for each other,
//! in any number and order. If all of them are proven to wait for a change of memory that no block can make,
//! that is a deadlock.

use super::block::{Block, Progress, first_place};
use super::executable::{Executable, Worker};
use super::fault::{FaultKind, Waiting};
use super::interface::Stuck;
use super::run::{BlockTrouble, Done, Pending, Run};
use super::trouble::Trouble;
use crate::memory::GlobalMemory;
use crate::record::{BlockSink, LaunchSink};
use crate::view::global::{Direct, GlobalView};
use std::collections::{BTreeMap, VecDeque};

/// Warp instructions of a block after which others get a turn even if it does not seem to wait for them.
const BLOCK_SHARE: u64 = 4 << 20;
/// Maximum number of blocks that wait for each other: more than the largest device holds (about 5000).
pub(super) const MAX_RESIDENT: usize = 8192;
/// Maximum memory for their registers and shared memory in bytes, beyond the first [`MIN_RESIDENT`].
const RESIDENT_BYTES: u64 = 8 << 30;
/// Number of blocks that may wait for each other regardless of their memory.
const MIN_RESIDENT: usize = 256;
/// Maximum number of warp instructions of blocks after the oldest unfinished one, because their recordings
/// are kept until it is finished. They continue anyway if it waits for them.
const MAX_AHEAD: u64 = 256 << 20;
/// Maximum number of turns that a waiting block skips while its polled value has not changed.
const MAX_PASSES: u32 = 64;
/// Consecutive turns without progress, of any block, before code outside of the launch is called.
const VAIN_TURNS: usize = 4096;
/// Maximum number of lanes in the report of a deadlock.
const MAX_WAITING: usize = 64;

/// A block that has had a turn.
struct Waiter<L: LaunchSink> {
    pending: Pending<L>,
    /// Consecutive turns without progress.
    vain: u32,
    /// Turns that it skips unless its polled value changes.
    passes: u32,
}

/// Blocks that have started.
struct Turns<L: LaunchSink> {
    waiting: VecDeque<Waiter<L>>,
    /// Finished, but not the oldest.
    done: BTreeMap<u64, (Done, L::Block)>,
    spare_blocks: Vec<Block>,
    spare_sinks: Vec<L::Block>,
    started: u64,
    /// Maximum number of blocks at a time.
    room: usize,
    /// Consecutive turns with a block proven to be stuck, and the number of memory changes at the first of
    /// them.
    stuck: (usize, u64),
    /// Warp instructions of blocks that are not committed.
    ahead: u64,
    /// Consecutive turns without progress or skipped.
    idle: usize,
    /// Whether the last turn has finished its block.
    finished: bool,
}

impl<L: LaunchSink> Turns<L> {
    /// Whether another block should start before the started ones get further turns.
    fn may_start(&self) -> bool {
        self.waiting.len() < self.room && (self.ahead <= MAX_AHEAD || self.idle > self.waiting.len())
    }

    /// The block that runs next; none if it skips its turn.
    fn next(&mut self, memory: &GlobalMemory) -> Option<Waiter<L>> {
        // The block that waited last often waits for the one that has just finished.
        let finished = std::mem::take(&mut self.finished);
        if finished && self.waiting.back().is_some_and(|w| w.pending.0.may_go_on(memory)) {
            return self.waiting.pop_back();
        }
        let mut next = self.waiting.pop_front()?;
        if next.passes > 0 && !next.pending.0.may_go_on(memory) {
            next.passes -= 1;
            self.waiting.push_back(next);
            return None;
        }
        Some(next)
    }

    /// Records the result of a turn; `changes` is the number of memory changes after it.
    fn take_note(&mut self, progress: Progress, changes: u64) {
        self.finished = progress == Progress::Finished;
        match progress {
            Progress::Stuck => {
                if self.stuck.1 != changes {
                    self.stuck = (0, changes);
                }
                self.stuck.0 += 1;
                self.idle += 1;
            }
            Progress::Spinning => (self.stuck.0, self.idle) = (0, self.idle + 1),
            Progress::Finished | Progress::Share => (self.stuck.0, self.idle) = (0, 0),
        }
    }
}

/// Number of blocks of this kernel that may wait for each other at a time.
fn room(executable: &Executable<'_>) -> usize {
    let warps = u64::from(executable.geometry.warps_per_block());
    let rows = executable.code.initial_rows().len() as u64 + 24;
    let per_block = warps * (rows * 128 + u64::from(executable.kernel.local_bytes) * 32)
        + u64::from(executable.shared_bytes);
    usize::try_from(RESIDENT_BYTES / per_block.max(1))
        .unwrap_or(MAX_RESIDENT)
        .clamp(MIN_RESIDENT, MAX_RESIDENT)
}

impl<L: LaunchSink> Run<'_, L> {
    /// Runs all remaining blocks in place, the first from its interrupted state.
    pub(super) fn in_order<const CHECKED: bool>(
        &mut self,
        memory: &mut GlobalMemory,
        pending: Option<Pending<L>>,
    ) -> Result<(), BlockTrouble> {
        let executable = self.executable;
        let blocks = executable.geometry.blocks();
        let view = Direct::<CHECKED>::with_checker(memory, executable.code.insts.len(), self.checker.take());
        let mut worker = Worker::new(executable, view, self.sink.block_sink());
        let mut turns = Turns {
            started: self.stats.blocks + u64::from(pending.is_some()),
            ahead: pending.as_ref().map_or(0, |(block, _)| block.instructions),
            waiting: VecDeque::from_iter(pending.map(|pending| Waiter { pending, vain: 0, passes: 0 })),
            done: BTreeMap::new(),
            spare_blocks: Vec::new(),
            spare_sinks: Vec::new(),
            room: room(executable),
            stuck: (0, 0),
            idle: 0,
            finished: false,
        };
        while self.stats.blocks < blocks {
            let next = if turns.started < blocks && (turns.waiting.is_empty() || turns.may_start()) {
                Some(Waiter { pending: self.start(&mut turns), vain: 0, passes: 0 })
            } else {
                turns.next(worker.memory.memory())
            };
            let Some(next) = next else { continue };
            self.take_turn(&mut turns, next, &mut worker)?;
            let all_started = turns.started == blocks || turns.waiting.len() >= turns.room;
            let stuck = turns.stuck.0 > turns.waiting.len() && all_started;
            let in_vain = turns.idle > VAIN_TURNS.max(8 * turns.waiting.len()) && all_started;
            if stuck || in_vain {
                let goes_on = self.asks_outside(&mut turns, &mut worker, stuck);
                if stuck && !goes_on {
                    return Err(self.deadlock(&turns, &worker));
                }
            }
        }
        self.observer.progress(&self.stats);
        Ok(())
    }

    /// The next block, at its start.
    fn start(&mut self, turns: &mut Turns<L>) -> Pending<L> {
        let executable = self.executable;
        let mut block = Box::new(turns.spare_blocks.pop().unwrap_or_else(|| Block::new(executable)));
        let mut sink = turns.spare_sinks.pop().unwrap_or_else(|| self.sink.block_sink());
        block.start(executable, turns.started);
        sink.begin(turns.started);
        turns.started += 1;
        (block, sink)
    }

    /// Runs a block until it is finished or waits.
    fn take_turn<const CHECKED: bool>(
        &mut self,
        turns: &mut Turns<L>,
        next: Waiter<L>,
        worker: &mut Worker<'_, Direct<'_, CHECKED>, L::Block>,
    ) -> Result<(), BlockTrouble> {
        let Waiter { pending: (mut block, mut sink), vain, .. } = next;
        let number = block.shared.linear;
        let oldest = number == self.stats.blocks;
        if !oldest && turns.ahead > MAX_AHEAD && turns.idle <= turns.waiting.len() {
            turns.idle += 1;
            turns.waiting.push_back(Waiter { pending: (block, sink), vain, passes: 0 });
            return Ok(());
        }
        let before = block.instructions;
        let share = if self.executable.may_communicate { BLOCK_SHARE } else { u64::MAX };
        let progress = loop {
            std::mem::swap(&mut worker.sink, &mut sink);
            let progress = self.turn(&mut block, worker, share, oldest, turns.ahead - before);
            std::mem::swap(&mut worker.sink, &mut sink);
            // Blocks of kernels without communication are only interrupted when waiting is proven, as in
            // parallel runs.
            if self.executable.may_communicate || !matches!(progress, Ok(Progress::Spinning)) {
                break progress;
            }
        };
        let progress = progress.map_err(|trouble| BlockTrouble { trouble, block: number })?;
        turns.ahead += block.instructions - before;
        turns.take_note(progress, worker.changes);
        if progress != Progress::Finished {
            let vain = if progress == Progress::Share { 0 } else { vain.saturating_add(1) };
            turns.waiting.push_back(Waiter { pending: (block, sink), vain, passes: vain.min(MAX_PASSES) });
            return Ok(());
        }
        if let Some((checker, _)) = worker.memory.watch() {
            checker.end_block(number);
        }
        turns.done.insert(number, (Done::of(&mut block), sink));
        turns.spare_blocks.push(*block);
        while let Some((done, mut sink)) = turns.done.remove(&self.stats.blocks) {
            turns.ahead = turns.ahead.saturating_sub(done.instructions);
            self.finish(done, self.stats.blocks, &mut sink)?;
            turns.spare_sinks.push(sink);
        }
        Ok(())
    }

    /// Lets blocks retry if memory may have changed from outside of the launch.
    fn asks_outside<const CHECKED: bool>(
        &self,
        turns: &mut Turns<L>,
        worker: &mut Worker<'_, Direct<'_, CHECKED>, L::Block>,
        proven: bool,
    ) -> bool {
        turns.idle = 0;
        if !turns.waiting.iter().any(|w| w.pending.0.polls_memory()) {
            return false;
        }
        let blocks = &turns.waiting;
        let is_over = |memory: &GlobalMemory| blocks.iter().any(|w| w.pending.0.may_go_on(memory));
        let stuck = Stuck { proven, is_over: &is_over };
        if !worker.memory.change(|memory| self.observer.waits(memory, &stuck)) {
            return false;
        }
        worker.changes += 1;
        turns.stuck = (0, worker.changes);
        turns.waiting.iter_mut().for_each(|w| w.passes = 0);
        true
    }

    /// All blocks wait for a change of memory that no block can make.
    fn deadlock<const CHECKED: bool>(
        &self,
        turns: &Turns<L>,
        worker: &Worker<'_, Direct<'_, CHECKED>, L::Block>,
    ) -> BlockTrouble {
        let memory = worker.memory.memory();
        let all = turns
            .waiting
            .iter()
            .map(|w| &w.pending)
            .flat_map(|(block, _)| block.waiting(self.executable, Some(memory)));
        let mut waiting: Vec<Waiting> = all.take(MAX_WAITING).collect();
        waiting.sort_by_key(|w| (w.block[2], w.block[1], w.block[0], w.warp));
        let block =
            turns.waiting.iter().map(|w| &w.pending).map(|(block, _)| block.shared.linear).min().unwrap_or(0);
        let left = self.executable.geometry.blocks() - turns.started;
        let place = first_place(&waiting);
        let kind = FaultKind::Deadlock { blocks: Some((turns.waiting.len() as u64, left)), waiting };
        BlockTrouble { trouble: Trouble::fault(kind, place), block }
    }
}
