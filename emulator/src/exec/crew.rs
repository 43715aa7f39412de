//! The worker pool: threads take chunks of consecutive blocks in ascending order, run them on a read-only
//! view of memory, and commit their effects in that order.
//!
//! A chunk commits after all earlier chunks; then its log of writes is applied and its blocks are passed to
//! the recorder. Once all earlier blocks have committed, a block's reads equal those of an in-order run. A
//! block that cannot continue here (see [`crate::view::access::Refusal`]) or has faulted therefore waits for
//! its turn, cancels later blocks, and is returned.

use super::block::{Block, Pause, Progress};
use super::executable::Worker;
use super::interface::{Observer, Stats};
use super::run::{BlockTrouble, Run};
use super::trouble::Trouble;
use crate::memory::GlobalMemory;
use crate::record::{BlockSink, LaunchSink};
use crate::view::access::Refusal;
use crate::view::effects::Effects;
use crate::view::global::Deferred;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Maximum number of blocks in a chunk.
const MAX_CHUNK: u64 = 16;
/// Rounds of spinning for its turn before a thread sleeps.
const SPINS: u32 = 4000;

/// Result of a run of the worker pool.
pub(super) enum Ending<S> {
    /// All blocks are finished.
    Finished,
    /// The next block must continue alone, after these effects have been applied.
    Alone { block: Box<Block>, sink: S, effects: Effects, refusal: Refusal },
    /// The next block is in trouble.
    Trouble(BlockTrouble),
    /// The next block exceeds the limit of instructions.
    Exhausted,
}

/// State that only the committing thread changes.
struct Commit<'c, L: LaunchSink> {
    lent: GlobalMemory,
    sink: &'c mut L,
    stats: Stats,
    ending: Ending<L::Block>,
}

struct Crew<'c, L: LaunchSink> {
    first_block: u64,
    blocks: u64,
    chunk: u64,
    /// Next chunk to take.
    next: AtomicU64,
    /// Next chunk to commit.
    turn: AtomicU64,
    /// The last chunk that counts: a block of it failed, and later chunks are cancelled.
    last: AtomicU64,
    /// Instructions of the committed blocks.
    executed: AtomicU64,
    commit: Mutex<Commit<'c, L>>,
    changed: Condvar,
    observer: &'c dyn Observer,
    max_instructions: u64,
}

/// State of one thread.
struct Hand<S> {
    chunk: u64,
    /// One per block of a chunk.
    sinks: Vec<S>,
    /// Instructions and thread instructions of the finished blocks of the chunk that have not been committed.
    done: Vec<(u64, u64)>,
    /// Blocks of the chunk that have been committed.
    committed: usize,
}

/// The thread has nothing more to do.
struct Quit;

/// Runs the blocks from `run.stats.blocks` on; returns the lent memory and how it ended.
pub(super) fn run<L: LaunchSink>(
    run: &mut Run<'_, L>,
    memory: &GlobalMemory,
    lent: GlobalMemory,
) -> (GlobalMemory, Ending<L::Block>) {
    let (executable, threads) = (run.executable, run.options.threads);
    let (first_block, blocks) = (run.stats.blocks, executable.geometry.blocks());
    let chunk = ((blocks - first_block) / (threads as u64 * 4)).clamp(1, MAX_CHUNK);
    let mut hands = Vec::new();
    for _ in 0..threads {
        let sinks = (0..chunk).map(|_| run.sink.block_sink()).collect();
        let hand = Hand { chunk: 0, sinks, done: Vec::new(), committed: 0 };
        hands.push((hand, run.sink.block_sink()));
    }
    let commit = Commit { lent, sink: &mut *run.sink, stats: run.stats, ending: Ending::Finished };
    let crew = Crew {
        first_block,
        blocks,
        chunk,
        next: AtomicU64::new(0),
        turn: AtomicU64::new(0),
        last: AtomicU64::new(u64::MAX),
        executed: AtomicU64::new(run.stats.warp_instructions),
        commit: Mutex::new(commit),
        changed: Condvar::new(),
        observer: run.observer,
        max_instructions: run.options.max_instructions,
    };
    std::thread::scope(|scope| {
        for (mut hand, sink) in hands {
            let crew = &crew;
            scope.spawn(move || {
                let view = Deferred::new(memory, executable.code.insts.len());
                let mut worker = Worker::new(executable, view, sink);
                let mut block = Some(Box::new(Block::new(executable)));
                while crew.chunk(&mut worker, &mut block, &mut hand).is_ok() {}
            });
        }
    });
    let commit = crew.commit.into_inner().unwrap_or_else(PoisonError::into_inner);
    run.stats = commit.stats;
    (commit.lent, commit.ending)
}

type CrewWorker<'p, L> = Worker<'p, Deferred<'p>, <L as LaunchSink>::Block>;

impl<'c, L: LaunchSink> Crew<'c, L> {
    /// Takes the next chunk, runs and commits it.
    fn chunk(
        &self,
        worker: &mut CrewWorker<'_, L>,
        slot: &mut Option<Box<Block>>,
        hand: &mut Hand<L::Block>,
    ) -> Result<(), Quit> {
        hand.chunk = self.next.fetch_add(1, Ordering::Relaxed);
        let first = self.first_block + hand.chunk * self.chunk;
        if first >= self.blocks || self.is_pointless(hand.chunk) {
            return Err(Quit);
        }
        hand.done.clear();
        hand.committed = 0;
        for number in first..self.blocks.min(first + self.chunk) {
            let Some(block) = slot.as_deref_mut() else { return Err(Quit) };
            let mine = (number - first) as usize;
            std::mem::swap(&mut worker.sink, &mut hand.sinks[mine]);
            let trouble = self.block(worker, block, hand, number);
            std::mem::swap(&mut worker.sink, &mut hand.sinks[mine]);
            if let Err(trouble) = trouble {
                return self.stop(worker, slot, hand, number, trouble);
            }
        }
        let mut commit = self.wait_for_turn(hand.chunk)?;
        self.commit_done(&mut commit, hand)?;
        worker.memory.effects.apply(&mut commit.lent);
        self.observer.progress(&commit.stats);
        self.turn.store(hand.chunk + 1, Ordering::Release);
        drop(commit);
        self.changed.notify_all();
        Ok(())
    }

    /// Runs one block to its end.
    fn block(
        &self,
        worker: &mut CrewWorker<'_, L>,
        block: &mut Block,
        hand: &mut Hand<L::Block>,
        number: u64,
    ) -> Result<(), Halt> {
        block.start(worker.executable, number);
        worker.sink.begin(number);
        let mut exhausted = false;
        let pause: Pause<'_, '_, _, _> = &mut |worker: &mut CrewWorker<'_, L>, instructions| {
            if self.is_pointless(hand.chunk) {
                return Err(Trouble::Cancelled);
            }
            if instructions.saturating_add(self.executed.load(Ordering::Relaxed)) > self.max_instructions {
                exhausted = true;
                return Err(Trouble::Cancelled);
            }
            let full = worker.sink.is_full();
            if full || worker.memory.effects.is_full() {
                let mut commit = self.wait_for_turn(hand.chunk).map_err(|Quit| Trouble::Cancelled)?;
                self.commit_done(&mut commit, hand).map_err(|Quit| Trouble::Cancelled)?;
                worker.memory.effects.apply(&mut commit.lent);
                if full {
                    commit.sink.submit(&mut worker.sink, false).map_err(Trouble::Sink)?;
                }
            }
            Ok(())
        };
        let progress = loop {
            let progress = block.run(worker, u64::MAX, &mut *pause);
            if !matches!(progress, Ok(Progress::Spinning)) {
                break progress;
            }
        };
        match progress {
            // Only a block that runs beside it can help.
            Ok(Progress::Stuck) => Err(Halt::Trouble(Trouble::Order(Refusal::Order))),
            Ok(Progress::Finished | Progress::Share | Progress::Spinning) => {
                hand.done.push((block.instructions, block.shared.thread_instructions));
                Ok(())
            }
            Err(_) if exhausted => Err(Halt::Exhausted),
            Err(Trouble::Cancelled) => Err(Halt::Cancelled),
            Err(trouble) => Err(Halt::Trouble(trouble)),
        }
    }

    /// Handles a block that cannot continue here: cancels later chunks, commits earlier blocks, and returns
    /// the block.
    fn stop(
        &self,
        worker: &mut CrewWorker<'_, L>,
        slot: &mut Option<Box<Block>>,
        hand: &mut Hand<L::Block>,
        number: u64,
        halt: Halt,
    ) -> Result<(), Quit> {
        if matches!(halt, Halt::Cancelled) {
            return Err(Quit);
        }
        {
            let _held = self.lock();
            self.give_up_behind(hand.chunk);
        }
        let mut commit = self.wait_for_turn(hand.chunk)?;
        self.commit_done(&mut commit, hand)?;
        let mine = (number - self.first_block) % self.chunk;
        commit.ending = match halt {
            Halt::Exhausted | Halt::Cancelled => Ending::Exhausted,
            Halt::Trouble(Trouble::Order(refusal)) => match slot.take() {
                Some(block) => Ending::Alone {
                    block,
                    sink: hand.sinks.swap_remove(mine as usize),
                    effects: std::mem::take(&mut worker.memory.effects),
                    refusal,
                },
                None => Ending::Exhausted,
            },
            Halt::Trouble(trouble) => Ending::Trouble(BlockTrouble { trouble, block: number }),
        };
        Err(Quit)
    }

    /// Commits the finished blocks of the chunk whose turn it is.
    fn commit_done(&self, commit: &mut Commit<'_, L>, hand: &mut Hand<L::Block>) -> Result<(), Quit> {
        let chunk = hand.chunk;
        let give_up = || {
            self.give_up_behind(chunk);
            Err(Quit)
        };
        for (instructions, thread_instructions) in hand.done.drain(..) {
            if commit.stats.warp_instructions.saturating_add(instructions) > self.max_instructions {
                commit.ending = Ending::Exhausted;
                return give_up();
            }
            if let Err(error) = commit.sink.submit(&mut hand.sinks[hand.committed], true) {
                let trouble = Trouble::Sink(error);
                commit.ending = Ending::Trouble(BlockTrouble { trouble, block: commit.stats.blocks });
                return give_up();
            }
            hand.committed += 1;
            commit.stats.blocks += 1;
            commit.stats.warp_instructions += instructions;
            commit.stats.thread_instructions += thread_instructions;
        }
        self.executed.store(commit.stats.warp_instructions, Ordering::Relaxed);
        Ok(())
    }

    fn is_pointless(&self, chunk: u64) -> bool {
        chunk > self.last.load(Ordering::Relaxed)
    }

    /// Must be called while the commit is locked, so that no thread that is about to wait misses it.
    fn give_up_behind(&self, chunk: u64) {
        self.last.fetch_min(chunk, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Waits until all chunks before this one are committed.
    fn wait_for_turn(&self, chunk: u64) -> Result<MutexGuard<'_, Commit<'c, L>>, Quit> {
        for _ in 0..SPINS {
            if self.turn.load(Ordering::Acquire) == chunk || self.is_pointless(chunk) {
                break;
            }
            std::hint::spin_loop();
        }
        let mut commit = self.lock();
        loop {
            if self.is_pointless(chunk) {
                return Err(Quit);
            }
            if self.turn.load(Ordering::Acquire) == chunk {
                return Ok(commit);
            }
            commit = self.changed.wait(commit).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Commit<'c, L>> {
        self.commit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reason for which a block stopped before its end.
enum Halt {
    /// An earlier block aborted the launch.
    Cancelled,
    /// It exceeds the limit of instructions.
    Exhausted,
    /// It is in trouble.
    Trouble(Trouble),
}
