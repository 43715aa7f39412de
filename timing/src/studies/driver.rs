//! The pass that all studies share: over the blocks of a launch on several threads, and within a block over its
//! warps in turns of a bounded number of instructions.
//!
//! Taking turns keeps what a study has to remember about a block small however long its warps run. A turn ends at
//! a barrier, and a warp has no turn while it waits there for the others, so that what warps of a block do to
//! memory comes in an order that could have been. Threads take blocks as they come, so a fold's sums must not
//! depend on which blocks it saw; then the result is the same at any number of threads.

use super::StudyError;
use super::sample::Seen;
use super::setting::{At, Decoded, Fact, Setting};
use super::source::{LaunchPaths, WarpPath};
use crate::source::SourceError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Instructions that a warp runs before the block's next warp has its turn.
pub const TURN: u32 = 1024;

/// What a study gathers over the warps of one launch; each thread has one of its own.
pub trait Fold: Send + Sized {
    /// Static facts of the launch that this study alone needs, shared by all threads.
    type Plan: Send + Sync;

    /// The static facts of a launch.
    fn plan(setting: &Setting<'_>) -> Self::Plan;

    /// A fold that has seen nothing.
    fn new(setting: &Setting<'_>, plan: &Self::Plan) -> Self;

    /// A block begins, by its number among those recorded; its warps stand at the kernel's entry.
    fn begin_block(&mut self, setting: &Setting<'_>, plan: &Self::Plan, block: u64) {
        let _ = (setting, plan, block);
    }

    /// A warp is about to execute an instruction: `at.state` is what it reads.
    #[inline(always)]
    fn before(&mut self, plan: &Self::Plan, at: &mut At<'_>) {
        let _ = (plan, at);
    }

    /// The warp has executed it: `at.state` is what it left.
    #[inline(always)]
    fn after(&mut self, plan: &Self::Plan, at: &mut At<'_>) {
        let _ = (plan, at);
    }

    /// A warp has ended.
    fn end_warp(&mut self, setting: &Setting<'_>, plan: &Self::Plan, warp: usize) {
        let _ = (setting, plan, warp);
    }

    /// Every warp of the block has had its turn; the block is over once all have ended.
    fn end_turn(&mut self, setting: &Setting<'_>, plan: &Self::Plan) {
        let _ = (setting, plan);
    }

    /// Every warp of the block has ended.
    fn end_block(&mut self, setting: &Setting<'_>, plan: &Self::Plan) {
        let _ = (setting, plan);
    }

    /// The first block has been folded, alone: what later blocks are compared with may move into the plan.
    fn settle(&mut self, plan: &mut Self::Plan) {
        let _ = plan;
    }

    /// Takes in what another thread has gathered. Must commute.
    fn merge(&mut self, other: Self);

    /// The counts of every instruction, one after another, and what there is besides. `earlier` is what earlier
    /// launches of the same kernel left there.
    fn finish(self, setting: &Setting<'_>, plan: &Self::Plan, earlier: &mut Seen) -> Outcome;
}

/// What a fold found in a launch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// Counts, instruction by instruction.
    pub counts: Vec<u64>,
    /// A curve over the course of one warp.
    pub course: Vec<(f64, f64)>,
}

impl Outcome {
    /// Counts alone.
    #[must_use]
    pub fn of<const N: usize>(counts: Vec<[u64; N]>) -> Outcome {
        Outcome { counts: counts.into_flattened(), ..Outcome::default() }
    }
}

/// Adds the counts of two folds.
pub fn add_counts<const N: usize>(to: &mut [[u64; N]], counts: &[[u64; N]]) {
    for (to, counts) in to.as_flattened_mut().iter_mut().zip(counts.as_flattened()) {
        *to += counts;
    }
}

/// What is known of a launch before anything is read.
#[must_use]
pub fn setting<S: LaunchPaths>(source: &S, first: bool, chosen: u32) -> Setting<'_> {
    let (kernel, geometry) = (source.kernel(), source.geometry());
    Setting {
        kernel,
        geometry,
        banks: source.banks(),
        blocks: source.blocks(),
        warp_instructions: source.warp_instructions(),
        insts: kernel.insts.iter().map(Decoded::of).collect(),
        registers: usize::from(kernel.regs_per_thread).max(1),
        launched: (0..geometry.warps_per_block()).map(|w| geometry.launched_mask(w)).collect(),
        first,
        chosen,
    }
}

/// Folds every warp of a launch; `on_block` hears of every finished block and the instructions it had.
///
/// # Errors
/// When the recording is damaged: kernel, block and warp of the first place found.
pub fn fold_launch<S: LaunchPaths, F: Fold>(
    source: &S,
    setting: &Setting<'_>,
    threads: usize,
    on_block: &(dyn Fn(u64) + Sync),
) -> Result<(F, F::Plan), StudyError> {
    let mut plan = F::plan(setting);
    let mut all = F::new(setting, &plan);
    let blocks = source.blocks();
    if blocks == 0 {
        return Ok((all, plan));
    }
    let mut block = BlockPass::new(source, setting);
    on_block(block.fold(&plan, &mut all, 0)?);
    all.settle(&mut plan);
    let threads = (threads.max(1) as u64).min(blocks - 1) as usize;
    let (next, failed) = (AtomicU64::new(1), AtomicBool::new(false));
    let work = |fold: &mut F, pass: &mut BlockPass<'_, S>| -> Result<(), StudyError> {
        while !failed.load(Ordering::Relaxed) {
            let block = next.fetch_add(1, Ordering::Relaxed);
            if block >= blocks {
                break;
            }
            let folded = pass.fold(&plan, fold, block);
            on_block(folded.inspect_err(|_| failed.store(true, Ordering::Relaxed))?);
        }
        Ok(())
    };
    if threads <= 1 {
        work(&mut all, &mut block)?;
        return Ok((all, plan));
    }
    let one = || {
        let mut fold = F::new(setting, &plan);
        work(&mut fold, &mut BlockPass::new(source, setting)).map(|()| fold)
    };
    let folds = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, _>| {
            handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        handles.into_iter().map(join).collect::<Result<Vec<F>, StudyError>>()
    })?;
    for fold in folds {
        all.merge(fold);
    }
    Ok((all, plan))
}

/// How a turn ended.
enum Ended {
    Turn,
    Barrier,
    Warp,
}

/// One thread's pass over blocks, in the memory of earlier ones.
struct BlockPass<'a, S: LaunchPaths> {
    source: &'a S,
    setting: &'a Setting<'a>,
    paths: Vec<S::Warp>,
    facts: Vec<Fact>,
}

impl<'a, S: LaunchPaths> BlockPass<'a, S> {
    fn new(source: &'a S, setting: &'a Setting<'a>) -> BlockPass<'a, S> {
        let facts = vec![Fact::default(); setting.warps() * setting.registers];
        BlockPass { source, setting, paths: Vec::new(), facts }
    }

    /// Folds one block; returns its warp instructions.
    fn fold<F: Fold>(&mut self, plan: &F::Plan, fold: &mut F, block: u64) -> Result<u64, StudyError> {
        let place = |warp: usize| {
            let (kernel, warp) = (self.source.kernel().name.clone(), warp as u32);
            move |why: SourceError| StudyError::Recording { kernel, block, warp, why: why.0 }
        };
        let mut used = std::mem::take(&mut self.paths).into_iter();
        for warp in 0..self.setting.warps() {
            self.paths.push(self.source.open(block, warp as u32, used.next()).map_err(place(warp))?);
        }
        self.facts.fill(Fact::default());
        fold.begin_block(self.setting, plan, block);
        let (mut running, mut waiting) = (vec![true; self.paths.len()], vec![false; self.paths.len()]);
        let mut instructions = 0;
        while running.contains(&true) {
            if (0..running.len()).all(|w| !running[w] || waiting[w]) {
                waiting.fill(false);
            }
            for warp in 0..running.len() {
                if !running[warp] || waiting[warp] {
                    continue;
                }
                let (steps, ended) = self.turn(plan, fold, warp).map_err(place(warp))?;
                instructions += steps;
                match ended {
                    Ended::Turn => {}
                    Ended::Barrier => waiting[warp] = true,
                    Ended::Warp => {
                        running[warp] = false;
                        fold.end_warp(self.setting, plan, warp);
                    }
                }
            }
            fold.end_turn(self.setting, plan);
        }
        fold.end_block(self.setting, plan);
        Ok(instructions)
    }

    /// Gives one warp its turn; returns its steps and how it ended.
    #[inline]
    fn turn<F: Fold>(
        &mut self,
        plan: &F::Plan,
        fold: &mut F,
        warp: usize,
    ) -> Result<(u64, Ended), SourceError> {
        let setting = self.setting;
        let path = &mut self.paths[warp];
        let facts = &mut self.facts[warp * setting.registers..][..setting.registers];
        let launched = setting.launched[warp];
        for step in 0..TURN {
            // Without a next instruction, the step tells an end from a failure.
            if let Some(next) = path.peek() {
                let (state, inst) = (path.state(), &setting.insts[next.pc as usize]);
                let exec = inst.guarded_lanes(next.active, state);
                let (pc, active, mem) = (next.pc, next.active, None);
                fold.before(
                    plan,
                    &mut At { setting, inst, pc, warp, step, launched, active, exec, state, mem, facts },
                );
            }
            let Some(done) = path.step()? else { return Ok((u64::from(step), Ended::Warp)) };
            let inst = &setting.insts[done.pc as usize];
            if done.exec != 0 {
                inst.writes.iter().for_each(|reg| facts[reg] = Fact::default());
            }
            let (pc, active, exec, state) = (done.pc, done.active, done.exec, path.state());
            // Behind a reference, so that studies of other things do not copy it.
            let access = path.mem();
            let mem = access.as_ref();
            fold.after(
                plan,
                &mut At { setting, inst, pc, warp, step, launched, active, exec, state, mem, facts },
            );
            if inst.waits && exec != 0 {
                return Ok((u64::from(step) + 1, Ended::Barrier));
            }
        }
        Ok((u64::from(TURN), Ended::Turn))
    }
}
