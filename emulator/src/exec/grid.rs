//! Running all blocks of a launch: in order, or side by side with the same outcome.
//!
//! The first block runs alone and shows which allocations are written. From then on `super::crew` runs blocks
//! on several threads, until one of them does something whose outcome could depend on the order; that block
//! is finished here, alone, and the crew goes on behind it, unless blocks turn out to read what blocks write.

use super::block::{Block, Progress};
use super::crew::{self, Ending};
use super::fault::{Fault, FaultKind, Place};
use super::program::{Program, Unit};
use super::warp::Trouble;
use super::{InOrder, Launch, LaunchError, Observer, Options, Stats};
use crate::memory::GlobalMemory;
use crate::memory::view::{Direct, Refusal, Touched};
use crate::record::{BlockSink, LaunchSink, Unrecorded};
use std::collections::{BTreeMap, VecDeque};

/// Warp instructions of a block after which others have their turn, where blocks may wait for one another.
const BLOCK_SHARE: u64 = 1 << 20;
/// Blocks that take turns then.
const MAX_RESIDENT: usize = 256;

/// What running a launch needs throughout.
pub(super) struct Run<'r, L> {
    pub program: &'r Program<'r>,
    pub options: Options,
    pub sink: &'r mut L,
    pub observer: &'r dyn Observer,
    pub stats: Stats,
}

/// Checks that a kernel and its launch are well formed, as [`launch`] does first.
///
/// # Errors
/// When they are not.
pub fn check(launch: &Launch<'_>) -> Result<(), LaunchError> {
    Program::new(launch, false).map(drop)
}

/// Runs a kernel on device memory. Blocks are handed to `sink` in ascending order.
///
/// # Errors
/// When the kernel or the launch is malformed, the kernel faults, or the sink fails. Memory then holds what
/// the kernel had written so far.
pub fn launch<L: LaunchSink>(
    memory: &mut GlobalMemory,
    launch: &Launch<'_>,
    options: &Options,
    sink: &mut L,
    observer: &dyn Observer,
) -> Result<Stats, LaunchError> {
    let mut program = Program::new(launch, options.trap_zero_division)?;
    program.objects = memory.shared_objects();
    program.print_left = options.max_print_bytes.into();
    let mut run = Run { program: &program, options: *options, sink, observer, stats: Stats::default() };
    let outcome = run.all(memory);
    outcome.map_err(|trouble| trouble.complete(&program, memory))?;
    Ok(run.stats)
}

/// A block that has begun, with what follows it.
type Pending<L> = (Box<Block>, <L as LaunchSink>::Block);

/// Trouble with the block that it happened in.
pub(super) struct BlockTrouble {
    pub trouble: Trouble,
    pub block: u64,
}

impl BlockTrouble {
    /// The error for the caller: a fault gets its place in words and the nearest allocation.
    fn complete(self, program: &Program<'_>, memory: &GlobalMemory) -> LaunchError {
        match self.trouble {
            Trouble::Fault(fault) => {
                let (mut kind, place) = *fault;
                if let FaultKind::OutOfBounds { size: None, address, nearest, .. } = &mut kind {
                    *nearest = memory.nearest(*address);
                }
                let index = program.geometry.block_index(self.block);
                let fault = Fault::new(kind, program.kernel, place, index, program.geometry.block);
                LaunchError::Fault(Box::new(fault))
            }
            Trouble::Sink(error) => LaunchError::Sink(error),
            Trouble::Order(refusal) => {
                let what = format!("block order matters to an access that runs in order ({refusal:?})");
                let kind = FaultKind::Unsupported(what);
                let place = Place { pc: 0, warp: 0, lane: None };
                let index = program.geometry.block_index(self.block);
                LaunchError::Fault(Box::new(Fault::new(
                    kind,
                    program.kernel,
                    place,
                    index,
                    program.geometry.block,
                )))
            }
            Trouble::Cancelled => LaunchError::Malformed("the launch was cancelled".into()),
        }
    }
}

impl<L: LaunchSink> Run<'_, L> {
    fn all(&mut self, memory: &mut GlobalMemory) -> Result<(), BlockTrouble> {
        let blocks = self.program.geometry.blocks();
        if self.options.threads <= 1 || blocks <= 1 {
            self.stats.in_order = Some(InOrder::Single);
        } else if self.program.may_communicate {
            self.stats.in_order = Some(InOrder::Communicates);
        }
        let mut touched = vec![Touched::default(); memory.allocations().len()];
        let mut pending = None;
        while self.stats.blocks < blocks {
            if self.stats.in_order.is_some() && pending.is_none() {
                return self.in_order(memory);
            }
            let seen = self.alone(memory, pending.take())?;
            for (all, one) in touched.iter_mut().zip(&seen) {
                all.read |= one.read;
                all.written |= one.written;
            }
            if seen.iter().any(|t| t.read && t.written) {
                self.stats.in_order = Some(InOrder::SharedMemory);
            } else if self.stats.in_order.is_none() && self.stats.blocks < blocks {
                pending = self.side_by_side(memory, &mut touched)?;
            }
        }
        Ok(())
    }

    /// Runs the next block in place, from its start or from where the crew left it.
    fn alone(
        &mut self,
        memory: &mut GlobalMemory,
        pending: Option<Pending<L>>,
    ) -> Result<Vec<Touched>, BlockTrouble> {
        let program = self.program;
        let number = self.stats.blocks;
        let (mut block, sink) = match pending {
            Some(pending) => pending,
            None => {
                let mut sink = self.sink.block_sink();
                let mut block = Box::new(Block::new(program));
                block.start(program, number);
                sink.begin(number);
                (block, sink)
            }
        };
        let view = Direct::new(memory, program.code.insts.len());
        let mut unit = Unit { program, memory: view, sink };
        self.finish_alone(&mut block, &mut unit)?;
        self.finish(&mut block, &mut unit.sink)?;
        Ok(unit.memory.touched().to_vec())
    }

    /// Runs a block to its end in place.
    fn finish_alone(
        &mut self,
        block: &mut Block,
        unit: &mut Unit<'_, Direct<'_>, L::Block>,
    ) -> Result<(), BlockTrouble> {
        let number = block.shared.linear;
        loop {
            match self.turn(block, unit, u64::MAX, true) {
                Ok(Progress::Finished) => return Ok(()),
                Ok(Progress::Share) => {}
                Err(trouble) => return Err(BlockTrouble { trouble, block: number }),
            }
        }
    }

    /// Runs a block for a while in place; `oldest` when all earlier blocks are finished.
    fn turn(
        &mut self,
        block: &mut Block,
        unit: &mut Unit<'_, Direct<'_>, L::Block>,
        share: u64,
        oldest: bool,
    ) -> Result<Progress, Trouble> {
        let limit = self.options.max_instructions.saturating_sub(self.stats.warp_instructions);
        let sink = &mut *self.sink;
        let mut exhausted = false;
        let outcome = block.run(unit, share, &mut |unit, instructions| {
            if instructions > limit {
                exhausted = true;
                return Err(Trouble::Cancelled);
            }
            if oldest && unit.sink.is_full() {
                sink.submit(&mut unit.sink, false).map_err(Trouble::Sink)?;
            }
            Ok(())
        });
        if oldest || outcome.is_err() {
            self.show(block);
        }
        if exhausted {
            let kind = FaultKind::InstructionLimit(self.options.max_instructions);
            return Err(Trouble::fault(kind, block.place()));
        }
        outcome
    }

    /// Hands on what a block has printed, which comes after all that the blocks before it have.
    fn show(&self, block: &mut Block) {
        if !block.shared.printed.is_empty() {
            self.observer.printed(&block.shared.printed);
            block.shared.printed.clear();
        }
    }

    fn finish(&mut self, block: &mut Block, sink: &mut L::Block) -> Result<(), BlockTrouble> {
        self.show(block);
        self.stats.blocks += 1;
        self.stats.warp_instructions += block.instructions;
        self.stats.thread_instructions += block.shared.thread_instructions;
        let submitted = self.sink.submit(sink, true);
        submitted.map_err(|e| BlockTrouble { trouble: Trouble::Sink(e), block: block.shared.linear })?;
        if self.stats.blocks.is_multiple_of(16) {
            self.observer.progress(&self.stats);
        }
        Ok(())
    }

    /// Runs all remaining blocks in place, one after the other; where blocks may wait for one another, those
    /// that take long take turns with those behind them.
    fn in_order(&mut self, memory: &mut GlobalMemory) -> Result<(), BlockTrouble> {
        let program = self.program;
        let blocks = program.geometry.blocks();
        let share = if program.may_communicate { BLOCK_SHARE } else { u64::MAX };
        let view = Direct::new(memory, program.code.insts.len());
        let mut unit = Unit { program, memory: view, sink: self.sink.block_sink() };
        let mut started = self.stats.blocks;
        let mut resident: VecDeque<Pending<L>> = VecDeque::new();
        let mut done: BTreeMap<u64, Pending<L>> = BTreeMap::new();
        let mut spare: Vec<Pending<L>> = Vec::new();
        while self.stats.blocks < blocks {
            // A new block has its turn before those that have had one, as long as there is room.
            if started < blocks && resident.len() < MAX_RESIDENT && (resident.is_empty() || share != u64::MAX)
            {
                let (mut block, mut sink) =
                    spare.pop().unwrap_or_else(|| (Box::new(Block::new(program)), self.sink.block_sink()));
                block.start(program, started);
                sink.begin(started);
                resident.push_front((block, sink));
                started += 1;
            }
            let Some((mut block, mut sink)) = resident.pop_front() else { break };
            let number = block.shared.linear;
            std::mem::swap(&mut unit.sink, &mut sink);
            let oldest = number == self.stats.blocks;
            let progress = self.turn(&mut block, &mut unit, share, oldest);
            let progress = progress.map_err(|trouble| BlockTrouble { trouble, block: number })?;
            std::mem::swap(&mut unit.sink, &mut sink);
            match progress {
                Progress::Share => resident.push_back((block, sink)),
                Progress::Finished => {
                    done.insert(number, (block, sink));
                    while let Some((mut block, mut sink)) = done.remove(&self.stats.blocks) {
                        self.finish(&mut block, &mut sink)?;
                        spare.push((block, sink));
                    }
                }
            }
        }
        self.observer.progress(&self.stats);
        Ok(())
    }

    /// Runs blocks on several threads until all are finished or one has to go on alone.
    fn side_by_side(
        &mut self,
        memory: &mut GlobalMemory,
        touched: &mut [Touched],
    ) -> Result<Option<Pending<L>>, BlockTrouble> {
        let written: Vec<bool> = touched.iter().map(|t| t.written).collect();
        let lent = memory.lend(&written);
        let (lent, ending) = crew::run(self, memory, lent);
        memory.take_back(lent);
        self.observer.progress(&self.stats);
        match ending {
            Ending::Finished => Ok(None),
            Ending::Alone { block, sink, mut effects, refusal } => {
                effects.apply(memory);
                match refusal {
                    Refusal::NewlyWritten(id) => touched[id.0].written = true,
                    _ => self.stats.in_order = Some(InOrder::SharedMemory),
                }
                Ok(Some((block, sink)))
            }
            Ending::Trouble(trouble) => Err(trouble),
            Ending::Exhausted => Err(self.locate_exhaustion(memory)),
        }
    }

    /// Finds where the next block exceeds the limit of instructions, by running it once more.
    fn locate_exhaustion(&mut self, memory: &mut GlobalMemory) -> BlockTrouble {
        let program = self.program;
        let number = self.stats.blocks;
        let mut again = Run {
            program,
            options: self.options,
            sink: &mut Unrecorded,
            observer: self.observer,
            stats: self.stats,
        };
        let mut block = Block::new(program);
        block.start(program, number);
        let view = Direct::new(memory, program.code.insts.len());
        let mut unit = Unit { program, memory: view, sink: Unrecorded };
        again.finish_alone(&mut block, &mut unit).err().unwrap_or_else(|| {
            let kind = FaultKind::InstructionLimit(self.options.max_instructions);
            BlockTrouble {
                trouble: Trouble::fault(kind, Place { pc: 0, warp: 0, lane: None }),
                block: number,
            }
        })
    }
}
