//! Runs all blocks of a launch: in order, or in parallel with the same results.
//!
//! The first block runs alone and shows which allocations are written. From then on `super::crew` runs blocks
//! on several threads, until one of them performs an operation that could depend on their order; that block
//! is finished here, alone, and the worker pool continues after it. If blocks read memory that other blocks
//! write, or wait for each other, `super::turns` runs the rest.

use super::block::{Block, Progress};
use super::crew::{self, Ending};
use super::executable::{Executable, Prepared, Worker};
use super::fault::{FaultKind, Location};
use super::interface::{InOrder, Launch, LaunchError, Observer, Options, Stats};
use super::run::{BlockTrouble, Done, Pending, Run};
use super::tolerated::Sites;
use super::trouble::Trouble;
use crate::check::Checker;
use crate::memory::GlobalMemory;
use crate::record::sampled::SampledSink;
use crate::record::trace::TraceSink;
use crate::record::{BlockSink, LaunchSink, Unrecorded};
use crate::view::access::Refusal;
use crate::view::global::{Direct, Touches};

/// Checks that a kernel and its launch are well formed, as [`launch`] does first.
///
/// # Errors
/// When they are not.
pub fn check(launch: &Launch<'_>) -> Result<(), LaunchError> {
    Executable::new(launch, &Prepared::of(launch.kernel, false)?).map(drop)
}

/// Runs a kernel on device memory. Blocks are passed to `sink` in ascending order.
///
/// # Errors
/// When the kernel or the launch is malformed, the kernel faults, or the sink fails. Memory then holds what
/// the kernel had written so far.
pub fn launch<L: Execute>(
    memory: &mut GlobalMemory,
    launch: &Launch<'_>,
    options: &Options,
    sink: &mut L,
    observer: &dyn Observer,
) -> Result<Stats, LaunchError> {
    let prepared = Prepared::of(launch.kernel, options.trap_zero_division)?;
    L::execute(memory, (launch, &prepared), options, sink, observer)
}

/// Runs a kernel like [`launch`], with the result of an earlier preparation. `prepared` must be made from the
/// same kernel with the same options.
///
/// # Errors
/// As [`launch`].
pub fn launch_prepared<L: Execute>(
    memory: &mut GlobalMemory,
    (launch, prepared): (&Launch<'_>, &Prepared),
    options: &Options,
    sink: &mut L,
    observer: &dyn Observer,
) -> Result<Stats, LaunchError> {
    if !prepared.fits(launch.kernel, options) {
        let what = format!("kernel {} was not prepared for this launch", launch.kernel.name);
        return Err(LaunchError::Malformed(what));
    }
    L::execute(memory, (launch, prepared), options, sink, observer)
}

/// Runs a kernel like [`launch`], block after block, with a checker. Findings do not stop the kernel: invalid
/// accesses are skipped.
///
/// # Errors
/// When the kernel or the launch is malformed or the kernel faults.
pub fn launch_checked(
    memory: &mut GlobalMemory,
    launch: &Launch<'_>,
    options: &Options,
    checker: &mut Checker,
    observer: &dyn Observer,
) -> Result<Stats, LaunchError> {
    checker.start_launch(launch.kernel);
    let guards = options.trap_zero_division || checker.wants_divisions();
    let prepared = Prepared::of(launch.kernel, guards)?;
    run_launch(memory, (launch, &prepared), options, &mut Unrecorded, observer, Some(checker))
}

/// A sink that launches can be recorded to: the executor is compiled for each of them here, once, and not again in
/// every program that launches kernels.
pub trait Execute: LaunchSink + Sized {
    /// Runs a prepared kernel.
    ///
    /// # Errors
    /// As [`launch`].
    fn execute(
        memory: &mut GlobalMemory,
        what: (&Launch<'_>, &Prepared),
        options: &Options,
        sink: &mut Self,
        observer: &dyn Observer,
    ) -> Result<Stats, LaunchError>;
}

macro_rules! execute {
    ($($sink:ty),+) => {$(
        impl Execute for $sink {
            fn execute(
                memory: &mut GlobalMemory,
                what: (&Launch<'_>, &Prepared),
                options: &Options,
                sink: &mut Self,
                observer: &dyn Observer,
            ) -> Result<Stats, LaunchError> {
                run_launch(memory, what, options, sink, observer, None)
            }
        }
    )+};
}

execute!(Unrecorded, TraceSink<'_>, SampledSink<'_>);

fn run_launch<L: LaunchSink>(
    memory: &mut GlobalMemory,
    (launch, prepared): (&Launch<'_>, &Prepared),
    options: &Options,
    sink: &mut L,
    observer: &dyn Observer,
    checker: Option<&mut Checker>,
) -> Result<Stats, LaunchError> {
    let mut executable = Executable::new(launch, prepared)?;
    executable.objects = memory.shared_objects();
    executable.host = observer.host();
    executable.print_left = options.max_print_bytes.into();
    executable.interleave = options.interleave.max(1);
    executable.lenient = options.lenient;
    executable.sms = options.sms.max(1);
    let stats = Stats::default();
    let tolerated = Sites::default();
    let mut run =
        Run { executable: &executable, options: *options, sink, observer, stats, checker, tolerated };
    let outcome = run.all(memory);
    let stats = run.stats;
    let told = run.tolerated.told((executable.kernel, &executable.geometry), memory);
    if !told.is_empty() {
        observer.tolerated(&told);
    }
    outcome.map_err(|trouble| trouble.complete(&executable, memory))?;
    Ok(stats)
}

impl<L: LaunchSink> Run<'_, L> {
    fn all(&mut self, memory: &mut GlobalMemory) -> Result<(), BlockTrouble> {
        let blocks = self.executable.geometry.blocks();
        if self.checker.is_some() {
            self.stats.in_order = Some(InOrder::Single);
            return self.in_order::<true>(memory, None);
        }
        if self.options.threads <= 1 || blocks <= 1 {
            self.stats.in_order = Some(InOrder::Single);
        } else if self.executable.may_communicate {
            self.stats.in_order = Some(InOrder::Communicates);
        }
        let mut touched = Touches::new(memory.slots());
        let mut pending = None;
        while self.stats.blocks < blocks {
            if self.stats.in_order.is_some() {
                return self.in_order::<false>(memory, pending);
            }
            let (seen, stuck) = self.alone(memory, pending.take())?;
            if stuck.is_some() {
                self.stats.in_order = Some(InOrder::Waits);
                pending = stuck;
                continue;
            }
            touched.add(&seen);
            if seen.iter().any(|(_, t)| t.read && t.written) {
                self.stats.in_order = Some(InOrder::SharedMemory);
            } else if self.stats.in_order.is_none() && self.stats.blocks < blocks {
                pending = self.side_by_side(memory, &mut touched)?;
            }
        }
        Ok(())
    }

    /// Runs the next block in place, from its start or from its state in the worker pool. The block is
    /// returned when it waits for other blocks.
    fn alone(
        &mut self,
        memory: &mut GlobalMemory,
        pending: Option<Pending<L>>,
    ) -> Result<(Touches, Option<Pending<L>>), BlockTrouble> {
        let executable = self.executable;
        let number = self.stats.blocks;
        let (mut block, sink) = match pending {
            Some(pending) => pending,
            None => {
                let mut sink = self.sink.block_sink();
                let mut block = Box::new(Block::new(executable));
                block.start(executable, number);
                sink.begin(number);
                (block, sink)
            }
        };
        let view = Direct::new(memory, executable.code.insts.len());
        let mut worker = Worker::new(executable, view, sink);
        if !self.finish_alone(&mut block, &mut worker)? {
            return Ok((Touches::default(), Some((block, worker.sink))));
        }
        self.finish(Done::of(&mut block), number, &mut worker.sink)?;
        let mut touched = worker.memory.take_touched();
        touched.spread(worker.memory.memory());
        Ok((touched, None))
    }

    /// Runs a block to its end in place; false when it waits for other blocks.
    fn finish_alone(
        &mut self,
        block: &mut Block,
        worker: &mut Worker<'_, Direct<'_>, L::Block>,
    ) -> Result<bool, BlockTrouble> {
        let number = block.shared.linear;
        loop {
            match self.turn(block, worker, u64::MAX, true, 0) {
                Ok(Progress::Finished) => return Ok(true),
                Ok(Progress::Stuck) => return Ok(false),
                Ok(Progress::Share | Progress::Spinning) => {}
                Err(trouble) => return Err(BlockTrouble { trouble, block: number }),
            }
        }
    }

    /// Runs a block for a while in place; `oldest` when all earlier blocks are finished, `others` are the warp
    /// instructions of unfinished blocks besides it.
    pub(super) fn turn<const CHECKED: bool>(
        &mut self,
        block: &mut Block,
        worker: &mut Worker<'_, Direct<'_, CHECKED>, L::Block>,
        share: u64,
        oldest: bool,
        others: u64,
    ) -> Result<Progress, Trouble> {
        let before = self.stats.warp_instructions.saturating_add(others);
        let limit = self.options.max_instructions.saturating_sub(before);
        let sink = &mut *self.sink;
        let mut exhausted = false;
        let outcome = block.run(worker, share, &mut |worker, instructions| {
            if instructions > limit {
                exhausted = true;
                return Err(Trouble::Cancelled);
            }
            if oldest && worker.sink.is_full() {
                sink.submit(&mut worker.sink, false).map_err(Trouble::Sink)?;
            }
            Ok(())
        });
        if oldest || outcome.is_err() {
            self.show(&mut block.shared.printed);
            self.tolerated.add(&mut block.shared.tolerated);
        }
        if exhausted {
            let kind = FaultKind::InstructionLimit(self.options.max_instructions);
            return Err(Trouble::fault(kind, block.place()));
        }
        outcome
    }

    /// Passes on a block's output, after that of all earlier blocks.
    fn show(&self, printed: &mut Vec<u8>) {
        if !printed.is_empty() {
            self.observer.printed(printed);
            printed.clear();
        }
    }

    /// Records that the next block is finished.
    pub(super) fn finish(
        &mut self,
        mut done: Done,
        block: u64,
        sink: &mut L::Block,
    ) -> Result<(), BlockTrouble> {
        self.show(&mut done.printed);
        self.tolerated.add(&mut done.tolerated);
        self.stats.blocks += 1;
        self.stats.warp_instructions += done.instructions;
        self.stats.thread_instructions += done.thread_instructions;
        let submitted = self.sink.submit(sink, true);
        submitted.map_err(|e| BlockTrouble { trouble: Trouble::Sink(e), block })?;
        if self.stats.blocks.is_multiple_of(16) {
            self.observer.progress(&self.stats);
        }
        Ok(())
    }

    /// Runs blocks on several threads until all are finished or one must continue alone.
    fn side_by_side(
        &mut self,
        memory: &mut GlobalMemory,
        touched: &mut Touches,
    ) -> Result<Option<Pending<L>>, BlockTrouble> {
        let lent = memory.lend(touched.iter().filter(|(_, t)| t.written).map(|(id, _)| id));
        let (lent, ending) = crew::run(self, memory, lent);
        memory.take_back(lent);
        self.observer.progress(&self.stats);
        match ending {
            Ending::Finished => Ok(None),
            Ending::Alone { block, sink, mut effects, refusal } => {
                effects.apply(memory);
                match refusal {
                    Refusal::NewlyWritten(id) => {
                        touched.write(id);
                        touched.spread(memory);
                    }
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
        let executable = self.executable;
        let number = self.stats.blocks;
        let mut again = Run {
            executable,
            options: self.options,
            sink: &mut Unrecorded,
            observer: self.observer,
            stats: self.stats,
            checker: None,
            tolerated: Sites::default(),
        };
        let mut block = Block::new(executable);
        block.start(executable, number);
        let view = Direct::new(memory, executable.code.insts.len());
        let mut worker = Worker::new(executable, view, Unrecorded);
        again.finish_alone(&mut block, &mut worker).err().unwrap_or_else(|| {
            let kind = FaultKind::InstructionLimit(self.options.max_instructions);
            BlockTrouble {
                trouble: Trouble::fault(kind, Location { pc: 0, warp: 0, lane: None }),
                block: number,
            }
        })
    }
}
