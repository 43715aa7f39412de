//! The pass that every study shares: over the blocks of a launch on several threads, and within a block over
//! its warps in turns of a bounded number of instructions.
//!
//! Taking turns keeps what a study has to remember about a block small however long its warps run. Threads take
//! blocks as they come, so a fold's sums must not depend on which blocks it saw; then the result is the same at
//! any number of threads.

use super::StudyError;
use super::source::{LaunchPaths, WarpPath};
use crate::source::{SourceError, Step, Upcoming};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use trace_format::isa::MachineKernel;
use trace_format::semantics::{Geometry, Warp};

/// Instructions that a warp runs before the block's next warp has its turn.
pub const TURN: u32 = 1024;

/// What a study gathers over the warps of one launch; each thread has one of its own.
pub trait Fold: Send + Sized {
    /// Static facts of the launch, shared by all threads.
    type Plan: Send + Sync;

    /// The static facts of a launch.
    fn plan(kernel: &MachineKernel, geometry: &Geometry) -> Self::Plan;

    /// A fold that has seen nothing.
    fn new(plan: &Self::Plan) -> Self;

    /// A block begins; its warps stand at the kernel's entry.
    fn begin_block(&mut self, plan: &Self::Plan);

    /// A warp is about to execute an instruction: `state` is what it reads.
    fn before(&mut self, plan: &Self::Plan, warp: usize, next: Upcoming, state: &Warp);

    /// The warp has executed it: `state` is what it left.
    fn after(&mut self, plan: &Self::Plan, warp: usize, step: Step, state: &Warp);

    /// A warp has ended.
    fn end_warp(&mut self, plan: &Self::Plan, warp: usize);

    /// Every warp of the block has had its turn; the block is over once all have ended.
    fn end_turn(&mut self, plan: &Self::Plan);

    /// The first block has been folded, alone: what later blocks are compared with may move into the plan.
    fn settle(&mut self, plan: &mut Self::Plan) {
        let _ = plan;
    }

    /// Takes in what another thread has gathered. Must commute.
    fn merge(&mut self, plan: &Self::Plan, other: Self);
}

/// Folds every warp of a launch; `on_block` hears of every finished block and the instructions it had.
///
/// # Errors
/// When the recording is damaged: kernel, block and warp of the first place found.
pub fn fold_launch<S: LaunchPaths, F: Fold>(
    source: &S,
    threads: usize,
    on_block: &(dyn Fn(u64) + Sync),
) -> Result<(F, F::Plan), StudyError> {
    let mut plan = F::plan(source.kernel(), &source.geometry());
    let mut all = F::new(&plan);
    let blocks = source.blocks();
    if blocks == 0 {
        return Ok((all, plan));
    }
    let mut paths = Vec::new();
    on_block(fold_block(source, &plan, &mut all, &mut paths, 0)?);
    all.settle(&mut plan);
    let threads = (threads.max(1) as u64).min(blocks - 1) as usize;
    let (next, failed) = (AtomicU64::new(1), AtomicBool::new(false));
    let work = |fold: &mut F, paths: &mut Vec<S::Warp>| -> Result<(), StudyError> {
        while !failed.load(Ordering::Relaxed) {
            let block = next.fetch_add(1, Ordering::Relaxed);
            if block >= blocks {
                break;
            }
            let folded = fold_block(source, &plan, fold, paths, block);
            on_block(folded.inspect_err(|_| failed.store(true, Ordering::Relaxed))?);
        }
        Ok(())
    };
    if threads <= 1 {
        work(&mut all, &mut paths)?;
        return Ok((all, plan));
    }
    let one = || {
        let mut fold = F::new(&plan);
        work(&mut fold, &mut Vec::new()).map(|()| fold)
    };
    let folds = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, _>| {
            handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        handles.into_iter().map(join).collect::<Result<Vec<F>, StudyError>>()
    })?;
    for fold in folds {
        all.merge(&plan, fold);
    }
    Ok((all, plan))
}

/// Folds one block, in the memory of the paths of an earlier one; returns its warp instructions.
fn fold_block<S: LaunchPaths, F: Fold>(
    source: &S,
    plan: &F::Plan,
    fold: &mut F,
    paths: &mut Vec<S::Warp>,
    block: u64,
) -> Result<u64, StudyError> {
    let place = |warp: u32| {
        let kernel = source.kernel().name.clone();
        move |why: SourceError| StudyError::Recording { kernel, block, warp, why: why.0 }
    };
    let warps = source.geometry().warps_per_block();
    let mut used = std::mem::take(paths).into_iter();
    for warp in 0..warps {
        paths.push(source.open(block, warp, used.next()).map_err(place(warp))?);
    }
    let mut running: Vec<u32> = (0..warps).collect();
    let mut instructions = 0;
    let mut failure = Ok(());
    fold.begin_block(plan);
    while !running.is_empty() && failure.is_ok() {
        running.retain(|&warp| match turn(&mut paths[warp as usize], plan, fold, warp as usize) {
            Ok((steps, ended)) => {
                instructions += steps;
                !ended
            }
            Err(why) => {
                failure = Err(place(warp)(why));
                false
            }
        });
        fold.end_turn(plan);
    }
    failure.map(|()| instructions)
}

/// Gives one warp its turn; returns its steps and whether it has ended.
#[inline]
fn turn<W: WarpPath, F: Fold>(
    path: &mut W,
    plan: &F::Plan,
    fold: &mut F,
    warp: usize,
) -> Result<(u64, bool), SourceError> {
    for steps in 0..TURN {
        // Without a next instruction, the step tells an end from a failure.
        if let Some(next) = path.peek() {
            fold.before(plan, warp, next, path.state());
        }
        let Some(step) = path.step()? else {
            fold.end_warp(plan, warp);
            return Ok((u64::from(steps), true));
        };
        fold.after(plan, warp, step, path.state());
    }
    Ok((u64::from(TURN), false))
}
