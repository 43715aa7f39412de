//! Study `redundancy`: which dynamic warp instructions need not have been executed more than once per warp, per
//! thread block or per grid, and what the operands of the block-redundant ones look like (DARSIE, ASPLOS '20,
//! Figures 1 and 2).
//!
//! This file decides what is redundant; [`super::instances`] matches instructions across warps, [`super::values`]
//! compares rows, `redundancy/report.rs` makes tables and charts. The definitions are in [`INFO`], in the words
//! that `--explain` prints.

mod instruction;
mod report;

use super::driver::{Fold, fold_launch};
use super::instances::{Instances, MAX_OPEN, Place};
use super::source::{LaunchPaths, TraceLaunch};
use super::values::{Digest, Shape, Words, pair_is_affine, shape};
use super::{Input, Options, StudyError, StudyInfo, StudyResult, each_launch, incomplete_notes};
use crate::source::{Step, Upcoming};
use instruction::Reads;
use trace_format::isa::MachineKernel;
use trace_format::semantics::{Geometry, WARP_SIZE, Warp};

pub use report::{EXPLAIN, KernelRow};

/// The study's row.
pub const INFO: StudyInfo = StudyInfo {
    name: "redundancy",
    summary: "warp instructions redundant within a warp, a thread block, the grid; uniform, affine, unstructured",
    paper: "DARSIE (ASPLOS 2020), Figures 1 and 2",
    explain: EXPLAIN,
    run,
};

/// Most instances that are compared across the blocks of a launch; later ones are given up, and counted.
const MAX_GRID_INSTANCES: usize = 1 << 22;

/// Counts of dynamic warp instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// All of them.
    pub warp_instructions: u64,
    /// Those that did not take effect in every launched lane of their warp.
    pub diverged: u64,
    /// Those that operate on no value, and atomics; without the diverged ones.
    pub not_counted: u64,
    /// Those whose operands are uniform in their warp.
    pub warp_redundant: u64,
    /// Those whose instance has the same operands in every warp of its block, by the operands' shape: uniform,
    /// affine, unstructured.
    pub block_redundant: [u64; 3],
    /// Those whose instance has the same operands in every warp of the grid.
    pub grid_redundant: u64,
    /// Those whose instance was given up because too many would have been open at once: perhaps redundant in
    /// their block.
    pub given_up: u64,
    /// Block-redundant ones that were not compared across blocks because there were too many: perhaps redundant
    /// in the grid.
    pub grid_given_up: u64,
}

impl Tally {
    /// Adds another launch's counts.
    pub fn add(&mut self, other: &Tally) {
        self.warp_instructions += other.warp_instructions;
        self.diverged += other.diverged;
        self.not_counted += other.not_counted;
        self.warp_redundant += other.warp_redundant;
        for (mine, theirs) in self.block_redundant.iter_mut().zip(other.block_redundant) {
            *mine += theirs;
        }
        self.grid_redundant += other.grid_redundant;
        self.given_up += other.given_up;
        self.grid_given_up += other.grid_given_up;
    }

    /// Block-redundant instructions of every shape.
    #[must_use]
    pub fn block_redundant_total(&self) -> u64 {
        self.block_redundant.iter().sum()
    }
}

/// Counts the redundant instructions of one launch.
///
/// # Errors
/// When the recording is damaged.
pub fn of_launch<S: LaunchPaths>(
    source: &S,
    threads: usize,
    on_block: &(dyn Fn(u64) + Sync),
) -> Result<Tally, StudyError> {
    let (fold, plan): (Redundancy, Plan) = fold_launch(source, threads, on_block)?;
    Ok(fold.total(&plan, source.blocks()))
}

fn run(inputs: &[Input<'_>], options: &Options<'_>) -> Result<StudyResult, StudyError> {
    let mut rows = Vec::new();
    each_launch(inputs, options, |input, launch, on_block| {
        let source = TraceLaunch::new(input.trace, launch);
        let tally = of_launch(&source, options.threads, on_block)?;
        KernelRow::add(
            &mut rows,
            input.label,
            &source.kernel().name,
            source.geometry(),
            source.blocks(),
            &tally,
        );
        Ok(())
    })?;
    let mut result = report::result(&rows);
    result.notes.extend(incomplete_notes(inputs));
    Ok(result)
}

/// Static facts of a launch.
#[derive(Debug)]
struct Plan {
    reads: Vec<Reads>,
    registers: usize,
    /// Launched lanes of each warp, a prefix of its lanes.
    launched: Vec<u32>,
    /// Lanes of the last warp where it is partial and has full warps to be compared with.
    common: Option<usize>,
    /// What the first block's redundant instances were, by program counter, numbers ascending.
    grid: Vec<Vec<GridInstance>>,
    settled: bool,
}

#[derive(Clone, Copy, Debug)]
struct GridInstance {
    number: u32,
    operands: Operands,
}

/// Digests of an instance's operands in one warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Operands {
    /// In the lanes that all warps have.
    common: Digest,
    /// In the lanes that a partial last warp does not have; the default where all warps have the same lanes.
    rest: Digest,
}

/// What is known of an open instance.
#[derive(Clone, Copy, Debug, Default)]
struct Note {
    operands: Operands,
    shape: Shape,
    /// Some warp has set `operands.common`.
    seen: bool,
    /// Some full warp has set `operands.rest`.
    rest_seen: bool,
    /// Some warp diverged or had other operands.
    differs: bool,
}

/// What is known of a register row of a warp, until it is written.
#[derive(Clone, Copy, Debug, Default)]
struct Fact {
    shape: Option<Shape>,
    digest: Option<Digest>,
}

/// How often an instance of the first block was found again.
#[derive(Clone, Debug, Default)]
struct Confirmed {
    /// Position of the instance that the current block comes to next.
    next: usize,
    blocks: Vec<u64>,
}

/// An instruction between its step's beginning and end.
#[derive(Clone, Copy, Debug)]
struct Pending {
    place: Option<Place>,
    /// Whether the instance may still be redundant.
    open: bool,
    shape: Shape,
    operands: Operands,
}

/// What one thread gathers.
#[derive(Debug)]
struct Redundancy {
    tally: Tally,
    instances: Instances<Note>,
    facts: Vec<Fact>,
    pending: Option<Pending>,
    /// The first block's redundant instances, until they move into the plan.
    first: Vec<Vec<GridInstance>>,
    first_count: usize,
    confirmed: Vec<Confirmed>,
}

impl Fold for Redundancy {
    type Plan = Plan;

    fn plan(kernel: &MachineKernel, geometry: &Geometry) -> Plan {
        let launched: Vec<u32> = (0..geometry.warps_per_block()).map(|w| geometry.launched_mask(w)).collect();
        let last = launched.last().map_or(0, |mask| mask.count_ones() as usize);
        Plan {
            reads: kernel.insts.iter().map(Reads::of).collect(),
            registers: usize::from(kernel.regs_per_thread),
            common: (launched.len() > 1 && last < WARP_SIZE).then_some(last),
            launched,
            grid: Vec::new(),
            settled: false,
        }
    }

    fn new(plan: &Plan) -> Redundancy {
        let (pcs, warps) = (plan.reads.len(), plan.launched.len());
        let confirm = |grid: &Vec<GridInstance>| Confirmed { next: 0, blocks: vec![0; grid.len()] };
        Redundancy {
            tally: Tally::default(),
            instances: Instances::new(pcs, warps, MAX_OPEN),
            facts: vec![Fact::default(); warps * plan.registers],
            pending: None,
            first: vec![Vec::new(); if plan.settled { 0 } else { pcs }],
            first_count: 0,
            confirmed: plan.grid.iter().map(confirm).collect(),
        }
    }

    fn begin_block(&mut self, _: &Plan) {
        self.instances.begin();
        self.facts.fill(Fact::default());
        self.confirmed.iter_mut().for_each(|c| c.next = 0);
    }

    #[inline]
    fn before(&mut self, plan: &Plan, warp: usize, next: Upcoming, state: &Warp) {
        self.tally.warp_instructions += 1;
        self.pending = None;
        let reads = &plan.reads[next.pc as usize];
        let launched = plan.launched[warp];
        if reads.effective_lanes(next.active, state) != launched {
            self.tally.diverged += 1;
            if reads.counts
                && let Some((_, instance)) = self.instances.arrive(next.pc, warp)
            {
                instance.note.differs = true;
            }
            return;
        }
        if !reads.counts {
            self.tally.not_counted += 1;
            return;
        }
        let lanes = launched.count_ones() as usize;
        let shape = self.shape_of_sources(plan, reads, warp, state, lanes);
        let arrived = self.instances.arrive(next.pc, warp);
        let (place, open) = match arrived {
            Some((place, instance)) => (Some(place), !instance.note.differs),
            None => (None, false),
        };
        let operands =
            if open { self.digest_of_sources(plan, reads, warp, state) } else { Operands::default() };
        let pending = Pending { place, open, shape, operands };
        if reads.result.is_empty() {
            self.arrived(plan, warp, pending, shape);
        } else {
            self.pending = Some(pending);
        }
    }

    #[inline]
    fn after(&mut self, plan: &Plan, warp: usize, step: Step, state: &Warp) {
        let reads = &plan.reads[step.pc as usize];
        for reg in reads.writes.iter() {
            self.facts[warp * plan.registers + reg] = Fact::default();
        }
        let Some(mut pending) = self.pending.take() else { return };
        let lanes = plan.launched[warp].count_ones() as usize;
        let mut result_shape = Shape::Uniform;
        for reg in reads.result.iter() {
            result_shape = result_shape.max(self.shape_of(plan, warp, reg, state, lanes));
            if pending.open {
                pending.operands = self.with_row(plan, pending.operands, warp, reg, state);
            }
        }
        let in_warp = pending.shape.max(result_shape);
        if reads.result_is_operand {
            pending.shape = in_warp;
        }
        self.arrived(plan, warp, pending, in_warp);
    }

    fn end_warp(&mut self, _: &Plan, warp: usize) {
        self.instances.end_warp(warp);
    }

    fn end_turn(&mut self, plan: &Plan) {
        let Redundancy { tally, instances, first, first_count, confirmed, .. } = self;
        let warps = plan.launched.len() as u64;
        let given_up = instances.end_turn(|pc, number, note| {
            if note.differs {
                return;
            }
            if warps > 1 {
                tally.block_redundant[note.shape as usize] += warps;
            }
            if !plan.settled {
                if *first_count < MAX_GRID_INSTANCES {
                    *first_count += 1;
                    first[pc as usize].push(GridInstance { number, operands: note.operands });
                } else {
                    tally.grid_given_up += warps;
                }
                return;
            }
            let (known, confirmed) = (&plan.grid[pc as usize], &mut confirmed[pc as usize]);
            while known.get(confirmed.next).is_some_and(|k| k.number < number) {
                confirmed.next += 1;
            }
            if known.get(confirmed.next).is_some_and(|k| k.number == number && k.operands == note.operands) {
                confirmed.blocks[confirmed.next] += 1;
            }
        });
        tally.given_up += given_up;
    }

    fn settle(&mut self, plan: &mut Plan) {
        plan.grid = std::mem::take(&mut self.first);
        plan.settled = true;
        let confirm = |grid: &Vec<GridInstance>| Confirmed { next: 0, blocks: vec![0; grid.len()] };
        self.confirmed = plan.grid.iter().map(confirm).collect();
    }

    fn merge(&mut self, _: &Plan, other: Redundancy) {
        self.tally.add(&other.tally);
        for (mine, theirs) in self.confirmed.iter_mut().zip(other.confirmed) {
            for (mine, theirs) in mine.blocks.iter_mut().zip(theirs.blocks) {
                *mine += theirs;
            }
        }
    }
}

impl Redundancy {
    /// Enters an instruction whose operands are known.
    #[inline]
    fn arrived(&mut self, plan: &Plan, warp: usize, pending: Pending, shape_in_warp: Shape) {
        if shape_in_warp == Shape::Uniform && plan.launched[warp] & (plan.launched[warp] - 1) != 0 {
            self.tally.warp_redundant += 1;
        }
        let Some(place) = pending.place else {
            self.tally.given_up += 1;
            return;
        };
        if !pending.open {
            return;
        }
        let note = self.instances.at(place);
        note.shape = note.shape.max(pending.shape);
        if !note.seen {
            note.operands.common = pending.operands.common;
            note.seen = true;
        } else if note.operands.common != pending.operands.common {
            note.differs = true;
        }
        if plan.common.is_some() && plan.launched[warp] == u32::MAX {
            if !note.rest_seen {
                note.operands.rest = pending.operands.rest;
                note.rest_seen = true;
            } else if note.operands.rest != pending.operands.rest {
                note.differs = true;
            }
        }
    }

    #[inline]
    fn shape_of_sources(
        &mut self,
        plan: &Plan,
        reads: &Reads,
        warp: usize,
        state: &Warp,
        lanes: usize,
    ) -> Shape {
        let mut all = Shape::Uniform;
        for span in reads.spans() {
            let mut words = span.iter();
            while let Some(low) = words.next() {
                let mut shape = self.shape_of(plan, warp, low, state, lanes);
                if let Some(high) = words.next() {
                    let high_shape = self.shape_of(plan, warp, high, state, lanes);
                    // A carry into the upper word makes it irregular although the pair is not.
                    let carries = shape == Shape::Affine && high_shape == Shape::Unstructured;
                    shape = if carries && pair_is_affine(words_of(state, low), words_of(state, high), lanes) {
                        Shape::Affine
                    } else {
                        shape.max(high_shape)
                    };
                }
                all = all.max(shape);
            }
        }
        for pred in reads.preds() {
            let mask = state.pred(pred) & plan.launched[warp];
            if mask != 0 && mask != plan.launched[warp] {
                all = Shape::Unstructured;
            }
        }
        all
    }

    #[inline]
    fn digest_of_sources(&mut self, plan: &Plan, reads: &Reads, warp: usize, state: &Warp) -> Operands {
        let mut all = Operands::default();
        for span in reads.spans() {
            for reg in span.iter() {
                all = self.with_row(plan, all, warp, reg, state);
            }
        }
        let common = plan.common.map_or(plan.launched[warp], |lanes| (1 << lanes) - 1);
        for pred in reads.preds() {
            let mask = state.pred(pred);
            all.common = all.common.then(Digest::of_mask(mask & common));
            all.rest = all.rest.then(Digest::of_mask(mask & !common & plan.launched[warp]));
        }
        all
    }

    /// Operands with one more row.
    #[inline]
    fn with_row(&mut self, plan: &Plan, so_far: Operands, warp: usize, reg: usize, state: &Warp) -> Operands {
        let row = words_of(state, reg);
        if let Some(lanes) = plan.common {
            return Operands {
                common: so_far.common.then(Digest::of_lanes(row, 0, lanes)),
                rest: so_far.rest.then(Digest::of_lanes(row, lanes, WARP_SIZE)),
            };
        }
        let lanes = plan.launched[warp].count_ones() as usize;
        let shape = self.shape_of(plan, warp, reg, state, lanes);
        let fact = &mut self.facts[warp * plan.registers + reg];
        let digest = *fact.digest.get_or_insert_with(|| match shape {
            Shape::Unstructured => Digest::of_lanes(row, 0, lanes),
            _ => Digest::of_row(row, shape),
        });
        Operands { common: so_far.common.then(digest), rest: so_far.rest }
    }

    #[inline]
    fn shape_of(&mut self, plan: &Plan, warp: usize, reg: usize, state: &Warp, lanes: usize) -> Shape {
        let fact = &mut self.facts[warp * plan.registers + reg];
        *fact.shape.get_or_insert_with(|| shape(words_of(state, reg), lanes))
    }

    /// The launch's counts, after every block.
    fn total(&self, plan: &Plan, blocks: u64) -> Tally {
        let warps = blocks * plan.launched.len() as u64;
        let everywhere = |count: &&u64| **count + 1 == blocks;
        let instances = self.confirmed.iter().flat_map(|c| &c.blocks).filter(everywhere).count() as u64;
        let grid_redundant = if warps > 1 { instances * warps } else { 0 };
        Tally { grid_redundant, ..self.tally }
    }
}

#[inline(always)]
fn words_of(state: &Warp, reg: usize) -> &Words {
    &state.row(reg as u16).0
}
