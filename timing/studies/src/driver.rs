//! The pass that all studies share: several threads process the blocks of a launch, and within a block warps
//! alternate in turns of a bounded number of instructions.
//!
//! Turns bound the state that a study keeps for a block, however long its warps run. A turn ends at a
//! barrier, and a warp that waits there gets no turn, so that the memory accesses of a block come in a
//! possible order. Threads take the next free block, so a fold's sums must not depend on the choice of its
//! blocks; then the result is the same for any number of threads.

use super::error::StudyError;
use super::sample::Seen;
use super::setting::{At, Decoded, Fact, Setting};
use super::source::{LaunchPaths, WarpPath};
use super::total::Total;
use super::values::Level;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use warplab_model::source::SourceError;

/// Instructions that a warp runs before the block's next warp has its turn.
pub(crate) const TURN: u32 = 1024;

/// Counting state of a study over the warps of one launch; each thread has its own.
pub trait Fold: Send + Sized {
    /// Static facts of the launch for this study, shared by all threads.
    type Statics: Send + Sync;

    /// The static facts of a launch.
    fn statics(setting: &Setting<'_>) -> Self::Statics;

    /// An empty fold.
    fn new(setting: &Setting<'_>, statics: &Self::Statics) -> Self;

    /// Called when a block begins, with its number among the recorded blocks; its warps are at the kernel's
    /// entry.
    fn begin_block(&mut self, setting: &Setting<'_>, statics: &Self::Statics, block: u64) {
        let _ = (setting, statics, block);
    }

    /// Called before a warp executes an instruction: `at.state` holds the values that it reads.
    #[inline(always)]
    fn before(&mut self, statics: &Self::Statics, at: &mut At<'_>) {
        let _ = (statics, at);
    }

    /// Called after the warp has executed it: `at.state` holds the results.
    #[inline(always)]
    fn after(&mut self, statics: &Self::Statics, at: &mut At<'_>) {
        let _ = (statics, at);
    }

    /// Called when a warp has ended.
    fn end_warp(&mut self, setting: &Setting<'_>, statics: &Self::Statics, warp: usize) {
        let _ = (setting, statics, warp);
    }

    /// Called when every warp of the block has had its turn.
    fn end_turn(&mut self, setting: &Setting<'_>, statics: &Self::Statics) {
        let _ = (setting, statics);
    }

    /// Called when every warp of the block has ended.
    fn end_block(&mut self, setting: &Setting<'_>, statics: &Self::Statics) {
        let _ = (setting, statics);
    }

    /// Called after the first block, which runs alone: data for comparison with later blocks may move into
    /// the static facts.
    fn settle(&mut self, statics: &mut Self::Statics) {
        let _ = statics;
    }

    /// Adds another thread's fold. Must be commutative.
    fn merge(&mut self, other: Self);

    /// The result: the counts of every instruction in order, and optionally a curve. `totals` holds the
    /// pass's common counts, `earlier` the digests of earlier launches of the same kernel.
    fn finish(
        self,
        setting: &Setting<'_>,
        statics: &Self::Statics,
        totals: &[Total],
        earlier: &mut Seen,
    ) -> Outcome;
}

/// Result of a fold for a launch.
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

/// The static facts of a launch, before any warp is read.
#[must_use]
pub(crate) fn setting<S: LaunchPaths>(source: &S, first: bool, chosen: u32) -> Setting<'_> {
    let (kernel, geometry) = (source.kernel(), source.geometry());
    Setting {
        kernel,
        geometry,
        banks: source.banks(),
        blocks: source.blocks(),
        warp_instructions: source.warp_instructions(),
        insts: kernel.insts.iter().map(Decoded::of).collect(),
        registers: usize::from(kernel.regs_per_thread).max(1),
        level: Level::detect(),
        launched: (0..geometry.warps_per_block()).map(|w| geometry.launched_mask(w)).collect(),
        first,
        chosen,
    }
}

/// Result of a pass over a launch.
#[derive(Debug)]
pub(crate) struct Folded<F: Fold> {
    /// The merged fold.
    pub fold: F,
    /// Static facts.
    pub statics: F::Statics,
    /// Counts that all studies share, by instruction.
    pub totals: Vec<Total>,
}

impl<F: Fold> Folded<F> {
    /// The result.
    pub(crate) fn outcome(self, setting: &Setting<'_>, earlier: &mut Seen) -> Outcome {
        self.fold.finish(setting, &self.statics, &self.totals, earlier)
    }
}

/// Folds every warp of a launch; `on_block` is called for every finished block with its number of
/// instructions.
///
/// # Errors
/// The recording is damaged; the error names kernel, block and warp.
pub(crate) fn fold_launch<S: LaunchPaths, F: Fold>(
    source: &S,
    setting: &Setting<'_>,
    threads: usize,
    on_block: &(dyn Fn(u64) + Sync),
) -> Result<Folded<F>, StudyError> {
    let mut statics = F::statics(setting);
    let mut fold = F::new(setting, &statics);
    let mut pass = BlockPass::new(source, setting);
    let blocks = source.blocks();
    if blocks == 0 {
        return Ok(Folded { fold, statics, totals: pass.totals });
    }
    on_block(pass.fold(&statics, &mut fold, 0)?);
    fold.settle(&mut statics);
    let threads = (threads.max(1) as u64).min(blocks - 1) as usize;
    let (next, failed) = (AtomicU64::new(1), AtomicBool::new(false));
    let work = |fold: &mut F, pass: &mut BlockPass<'_, S>| -> Result<(), StudyError> {
        while !failed.load(Ordering::Relaxed) {
            let block = next.fetch_add(1, Ordering::Relaxed);
            if block >= blocks {
                break;
            }
            let folded = pass.fold(&statics, fold, block);
            on_block(folded.inspect_err(|_| failed.store(true, Ordering::Relaxed))?);
        }
        Ok(())
    };
    if threads <= 1 {
        work(&mut fold, &mut pass)?;
        return Ok(Folded { fold, statics, totals: pass.totals });
    }
    let one = || {
        let (mut fold, mut pass) = (F::new(setting, &statics), BlockPass::new(source, setting));
        work(&mut fold, &mut pass).map(|()| (fold, pass.totals))
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|why| StudyError::Threads(why.to_string()))?;
    let folds =
        pool.broadcast(|_| one()).into_iter().collect::<Result<Vec<(F, Vec<Total>)>, StudyError>>()?;
    let mut totals = pass.totals;
    for (other, counted) in folds {
        fold.merge(other);
        totals.iter_mut().zip(&counted).for_each(|(total, other)| total.add(other));
    }
    Ok(Folded { fold, statics, totals })
}

/// How a turn ended.
enum Ended {
    Turn,
    Barrier,
    Warp,
}

/// One thread's pass over blocks; its buffers are reused.
struct BlockPass<'a, S: LaunchPaths> {
    source: &'a S,
    setting: &'a Setting<'a>,
    paths: Vec<S::Warp>,
    facts: Vec<Fact>,
    /// Instructions that each warp has executed in the block.
    clocks: Vec<u32>,
    totals: Vec<Total>,
    running: Vec<bool>,
    waiting: Vec<bool>,
}

impl<'a, S: LaunchPaths> BlockPass<'a, S> {
    fn new(source: &'a S, setting: &'a Setting<'a>) -> BlockPass<'a, S> {
        BlockPass {
            source,
            setting,
            paths: Vec::new(),
            facts: vec![Fact::default(); setting.warps() * setting.registers],
            clocks: vec![0; setting.warps()],
            totals: vec![Total::default(); setting.insts.len()],
            running: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// Opens every warp of a block at its beginning.
    fn open(&mut self, block: u64) -> Result<(), StudyError> {
        for warp in 0..self.setting.warps() {
            let opened = match self.paths.get_mut(warp) {
                Some(path) => self.source.reopen(path, block, warp as u32),
                None => self.source.open(block, warp as u32).map(|path| self.paths.push(path)),
            };
            opened.map_err(|why| self.failed(block, warp, why))?;
        }
        self.facts.iter_mut().for_each(Fact::forget);
        self.clocks.fill(0);
        for (flags, value) in [(&mut self.running, true), (&mut self.waiting, false)] {
            flags.clear();
            flags.resize(self.setting.warps(), value);
        }
        Ok(())
    }

    fn failed(&self, block: u64, warp: usize, why: SourceError) -> StudyError {
        let kernel = self.source.kernel().name.clone();
        StudyError::Recording { kernel, block, warp: warp as u32, why: why.0 }
    }

    /// Folds one block; returns its warp instructions.
    fn fold<F: Fold>(&mut self, statics: &F::Statics, fold: &mut F, block: u64) -> Result<u64, StudyError> {
        self.open(block)?;
        fold.begin_block(self.setting, statics, block);
        let mut instructions = 0;
        while self.running.contains(&true) {
            if (0..self.running.len()).all(|w| !self.running[w] || self.waiting[w]) {
                self.waiting.fill(false);
            }
            for warp in 0..self.running.len() {
                if !self.running[warp] || self.waiting[warp] {
                    continue;
                }
                let turn = self.turn(statics, fold, warp);
                let (steps, ended) = turn.map_err(|why| self.failed(block, warp, why))?;
                instructions += steps;
                match ended {
                    Ended::Turn => {}
                    Ended::Barrier => self.waiting[warp] = true,
                    Ended::Warp => {
                        self.running[warp] = false;
                        fold.end_warp(self.setting, statics, warp);
                    }
                }
            }
            fold.end_turn(self.setting, statics);
        }
        fold.end_block(self.setting, statics);
        Ok(instructions)
    }

    /// Runs one turn of a warp; returns its steps and how the turn ended.
    #[inline]
    fn turn<F: Fold>(
        &mut self,
        statics: &F::Statics,
        fold: &mut F,
        warp: usize,
    ) -> Result<(u64, Ended), SourceError> {
        let setting = self.setting;
        let path = &mut self.paths[warp];
        let facts = &mut self.facts[warp * setting.registers..][..setting.registers];
        let launched = setting.launched[warp];
        let before = self.clocks[warp];
        for step in 0..TURN {
            let Some(next) = path.peek() else {
                // The step distinguishes the end from an error.
                path.step()?;
                return Ok((u64::from(step), Ended::Warp));
            };
            let (pc, active, state) = (next.pc, next.active, path.state());
            let inst = &setting.insts[pc as usize];
            let (exec, mem) = (inst.guarded_lanes(active, state), None);
            let clock = before.wrapping_add(step + 1);
            self.totals[pc as usize].count(inst, launched, active, exec);
            fold.before(
                statics,
                &mut At {
                    setting,
                    inst,
                    pc,
                    warp,
                    step,
                    clock,
                    launched,
                    active,
                    exec,
                    state,
                    mem,
                    runs: None,
                    facts,
                },
            );
            if path.step()?.is_none() {
                return Ok((u64::from(step), Ended::Warp));
            }
            if exec != 0 {
                inst.writes.iter().for_each(|reg| facts[reg].forget());
            }
            let state = path.state();
            // Passed by reference, so that studies that do not use it need no copy.
            let access = path.mem();
            let mem = access.as_ref();
            fold.after(
                statics,
                &mut At {
                    setting,
                    inst,
                    pc,
                    warp,
                    step,
                    clock,
                    launched,
                    active,
                    exec,
                    state,
                    mem,
                    runs: None,
                    facts,
                },
            );
            if inst.waits && exec != 0 {
                self.clocks[warp] = clock;
                return Ok((u64::from(step) + 1, Ended::Barrier));
            }
        }
        self.clocks[warp] = before.wrapping_add(TURN);
        Ok((u64::from(TURN), Ended::Turn))
    }
}
