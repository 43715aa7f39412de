//! Study `redundancy`: dynamic warp instructions that need to be executed only once per warp, per thread
//! block or per grid, and the shape of the block-redundant ones' operands (DARSIE, ASPLOS '20, Figures 1 and
//! 2).
//!
//! This file decides which instructions are redundant; [`super::instances`] matches instructions across
//! warps, [`super::values`] compares rows, `redundancy/define.rs` has the definitions that `--explain`
//! prints.

mod define;
mod instruction;

use super::StudyError;
use super::driver::{Fold, Folded, Outcome, add_counts, fold_launch, setting};
use super::instances::{InstanceRef, Instances, MAX_OPEN};
use super::sample::Seen;
use super::setting::{At, Setting, Span};
use super::source::LaunchPaths;
use super::total::Total;
use super::values::{Digest, Shape, Words, pair_is_affine};
use instruction::Reads;
use trace_format::semantics::WARP_SIZE;

pub(crate) use define::{
    AFFINE, BLOCK_REDUNDANT, Counts, DIVERGED, GIVEN_UP, GRID_GIVEN_UP, GRID_REDUNDANT, NOT_COUNTED, STUDY,
    UNIFORM, UNSTRUCTURED, WARP_INSTRUCTIONS, WARP_REDUNDANT,
};

/// Maximum number of instances compared across the blocks of a launch; later ones are dropped and counted.
const MAX_GRID_INSTANCES: usize = 1 << 22;

/// Counts of dynamic warp instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// All warp instructions.
    pub warp_instructions: u64,
    /// Instructions that did not take effect in every launched lane of their warp.
    pub diverged: u64,
    /// Instructions without operands, and atomics; diverged ones excluded.
    pub not_counted: u64,
    /// Instructions with operands that are uniform in their warp.
    pub warp_redundant: u64,
    /// Instructions with the same operands in every warp of the block, by the operands' shape: uniform,
    /// affine, unstructured.
    pub block_redundant: [u64; 3],
    /// Instructions with the same operands in every warp of the grid.
    pub grid_redundant: u64,
    /// Instructions whose instance was dropped because too many would have been open: perhaps redundant in
    /// their block.
    pub given_up: u64,
    /// Block-redundant ones that were not compared across blocks because there were too many: perhaps redundant
    /// in the grid.
    pub grid_given_up: u64,
}

impl Tally {
    /// Block-redundant instructions of every shape.
    #[must_use]
    pub fn block_redundant_total(&self) -> u64 {
        self.block_redundant.iter().sum()
    }
}

/// Counts the redundant instructions of one launch.
///
/// # Errors
/// The recording is damaged.
pub fn of_launch<S: LaunchPaths>(
    source: &S,
    threads: usize,
    on_block: &(dyn Fn(u64) + Sync),
) -> Result<Tally, StudyError> {
    let setting = setting(source, true, u32::MAX);
    let folded: Folded<Redundancy> = fold_launch(source, &setting, threads, on_block)?;
    let outcome = folded.outcome(&setting, &mut Seen::default());
    let sum = STUDY.sum(&outcome.counts);
    Ok(Tally {
        warp_instructions: sum[WARP_INSTRUCTIONS],
        diverged: sum[DIVERGED],
        not_counted: sum[NOT_COUNTED],
        warp_redundant: sum[WARP_REDUNDANT],
        block_redundant: [UNIFORM, AFFINE, UNSTRUCTURED].map(|shape| sum[shape]),
        grid_redundant: sum[GRID_REDUNDANT],
        given_up: sum[GIVEN_UP],
        grid_given_up: sum[GRID_GIVEN_UP],
    })
}

/// Static facts of a launch.
#[derive(Debug)]
pub(crate) struct Statics {
    reads: Vec<Reads>,
    /// Number of lanes of the last warp, if it is partial and the block also has full warps.
    common: Option<usize>,
    /// Redundant instances of the first block, by program counter, numbers ascending.
    grid: Vec<Vec<GridInstance>>,
    settled: bool,
}

/// A redundant instance of the first block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GridInstance {
    number: u32,
    operands: Operands,
}

/// Digests of an instance's operands in one warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Operands {
    /// Digest over the lanes that all warps have.
    common: Digest,
    /// Digest over the lanes that a partial last warp lacks; the default if all warps have the same lanes.
    rest: Digest,
}

/// State of an open instance.
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

/// Number of blocks that confirmed an instance of the first block.
#[derive(Clone, Debug, Default)]
struct Confirmed {
    /// Position of the next instance in the current block.
    next: usize,
    blocks: Vec<u64>,
}

/// State of an instruction between the calls before and after its step.
#[derive(Clone, Copy, Debug)]
struct Pending {
    place: Option<InstanceRef>,
    /// Whether the instance may still be redundant.
    open: bool,
    shape: Shape,
    operands: Operands,
}

/// Counts and state of one thread.
#[derive(Debug)]
pub(crate) struct Redundancy {
    counts: Vec<Counts>,
    instances: Instances<Note>,
    pending: Option<Pending>,
    /// The first block's redundant instances, until they move into the static facts.
    first: Vec<Vec<GridInstance>>,
    first_count: usize,
    confirmed: Vec<Confirmed>,
}

impl Fold for Redundancy {
    type Statics = Statics;

    fn statics(setting: &Setting<'_>) -> Statics {
        let last = setting.launched.last().map_or(0, |mask| mask.count_ones() as usize);
        Statics {
            reads: setting.kernel.insts.iter().map(Reads::of).collect(),
            common: (setting.warps() > 1 && last < WARP_SIZE).then_some(last),
            grid: Vec::new(),
            settled: false,
        }
    }

    fn new(setting: &Setting<'_>, statics: &Statics) -> Redundancy {
        let pcs = statics.reads.len();
        let confirm = |grid: &Vec<GridInstance>| Confirmed { next: 0, blocks: vec![0; grid.len()] };
        Redundancy {
            counts: vec![Counts::default(); pcs],
            instances: Instances::new(pcs, setting.warps(), MAX_OPEN),
            pending: None,
            first: vec![Vec::new(); if statics.settled { 0 } else { pcs }],
            first_count: 0,
            confirmed: statics.grid.iter().map(confirm).collect(),
        }
    }

    fn begin_block(&mut self, _: &Setting<'_>, _: &Statics, _: u64) {
        self.instances.begin();
        self.confirmed.iter_mut().for_each(|c| c.next = 0);
    }

    #[inline]
    fn before(&mut self, statics: &Statics, at: &mut At<'_>) {
        self.pending = None;
        let reads = &statics.reads[at.pc as usize];
        if !reads.counts {
            return;
        }
        if at.effective() != at.launched {
            if let Some((_, instance)) = self.instances.arrive(at.pc, at.warp) {
                instance.note.differs = true;
            }
            return;
        }
        let shape = shape_of_sources(reads, at);
        let arrived = self.instances.arrive(at.pc, at.warp);
        let (place, open) = match arrived {
            Some((place, instance)) => (Some(place), !instance.note.differs),
            None => (None, false),
        };
        let operands = if open { digest_of_sources(statics, reads, at) } else { Operands::default() };
        let pending = Pending { place, open, shape, operands };
        if reads.result.is_empty() {
            self.arrived(statics, at, pending, shape);
        } else {
            self.pending = Some(pending);
        }
    }

    #[inline]
    fn after(&mut self, statics: &Statics, at: &mut At<'_>) {
        let Some(mut pending) = self.pending.take() else { return };
        let reads = &statics.reads[at.pc as usize];
        let mut result_shape = Shape::Uniform;
        for reg in reads.result.iter() {
            result_shape = result_shape.max(at.shape(reg));
            if pending.open {
                pending.operands = with_row(statics, pending.operands, at, reg);
            }
        }
        let in_warp = pending.shape.max(result_shape);
        if reads.result_is_operand {
            pending.shape = in_warp;
        }
        self.arrived(statics, at, pending, in_warp);
    }

    fn end_warp(&mut self, _: &Setting<'_>, _: &Statics, warp: usize) {
        self.instances.end_warp(warp);
    }

    fn end_turn(&mut self, setting: &Setting<'_>, statics: &Statics) {
        let Redundancy { counts, instances, first, first_count, confirmed, .. } = self;
        let warps = setting.warps() as u64;
        let mut given_up = Vec::new();
        let complete = |pc: u32, number: u32, note: &Note| {
            let counts = &mut counts[pc as usize];
            if note.differs {
                return;
            }
            if warps > 1 {
                counts[BLOCK_REDUNDANT] += warps;
                counts[[UNIFORM, AFFINE, UNSTRUCTURED][note.shape as usize]] += warps;
            }
            if !statics.settled {
                if *first_count < MAX_GRID_INSTANCES {
                    *first_count += 1;
                    first[pc as usize].push(GridInstance { number, operands: note.operands });
                } else {
                    counts[GRID_GIVEN_UP] += warps;
                }
                return;
            }
            let (known, confirmed) = (&statics.grid[pc as usize], &mut confirmed[pc as usize]);
            while known.get(confirmed.next).is_some_and(|k| k.number < number) {
                confirmed.next += 1;
            }
            if known.get(confirmed.next).is_some_and(|k| k.number == number && k.operands == note.operands) {
                confirmed.blocks[confirmed.next] += 1;
            }
        };
        instances.end_turn(complete, |pc, executions| given_up.push((pc, executions)));
        for (pc, executions) in given_up {
            self.counts[pc as usize][GIVEN_UP] += executions;
        }
    }

    fn settle(&mut self, statics: &mut Statics) {
        statics.grid = std::mem::take(&mut self.first);
        statics.settled = true;
        let confirm = |grid: &Vec<GridInstance>| Confirmed { next: 0, blocks: vec![0; grid.len()] };
        self.confirmed = statics.grid.iter().map(confirm).collect();
    }

    fn merge(&mut self, other: Redundancy) {
        add_counts(&mut self.counts, &other.counts);
        for (mine, theirs) in self.confirmed.iter_mut().zip(other.confirmed) {
            for (mine, theirs) in mine.blocks.iter_mut().zip(theirs.blocks) {
                *mine += theirs;
            }
        }
    }

    fn finish(mut self, setting: &Setting<'_>, statics: &Statics, totals: &[Total], _: &mut Seen) -> Outcome {
        for ((counts, total), reads) in self.counts.iter_mut().zip(totals).zip(&statics.reads) {
            counts[WARP_INSTRUCTIONS] = total.executed();
            counts[DIVERGED] = total.diverged();
            counts[NOT_COUNTED] = if reads.counts { 0 } else { total.executed() - total.diverged() };
        }
        let warps = setting.blocks * setting.warps() as u64;
        let everywhere = |count: &&u64| **count + 1 == setting.blocks;
        for (counts, confirmed) in self.counts.iter_mut().zip(&self.confirmed).filter(|_| warps > 1) {
            counts[GRID_REDUNDANT] = confirmed.blocks.iter().filter(everywhere).count() as u64 * warps;
        }
        Outcome::of(self.counts)
    }
}

impl Redundancy {
    /// Adds an instruction with known operands.
    #[inline]
    fn arrived(&mut self, statics: &Statics, at: &At<'_>, pending: Pending, shape_in_warp: Shape) {
        if shape_in_warp == Shape::Uniform && at.launched & (at.launched - 1) != 0 {
            self.counts[at.pc as usize][WARP_REDUNDANT] += 1;
        }
        let Some(place) = pending.place else {
            self.counts[at.pc as usize][GIVEN_UP] += 1;
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
        if statics.common.is_some() && at.launched == u32::MAX {
            if !note.rest_seen {
                note.operands.rest = pending.operands.rest;
                note.rest_seen = true;
            } else if note.operands.rest != pending.operands.rest {
                note.differs = true;
            }
        }
    }
}

#[inline]
fn shape_of_sources(reads: &Reads, at: &mut At<'_>) -> Shape {
    let mut all = Shape::Uniform;
    for span in reads.spans() {
        all = all.max(shape_of_span(*span, at));
    }
    for pred in reads.preds() {
        let mask = at.state.pred(pred) & at.launched;
        if mask != 0 && mask != at.launched {
            all = Shape::Unstructured;
        }
    }
    all
}

/// Shape of an operand: of its word, or of a pair as one 64-bit integer.
#[inline(always)]
pub(super) fn shape_of_span(span: Span, at: &mut At<'_>) -> Shape {
    match span.count {
        0 => Shape::Uniform,
        1 => at.shape(usize::from(span.first)),
        _ => shape_of_pairs(span, at),
    }
}

#[inline(never)]
fn shape_of_pairs(span: Span, at: &mut At<'_>) -> Shape {
    let mut all = Shape::Uniform;
    let mut words = span.iter();
    while let Some(low) = words.next() {
        let mut shape = at.shape(low);
        if let Some(high) = words.next() {
            let high_shape = at.shape(high);
            // A carry into the upper word makes that word irregular although the pair is affine.
            let carries = shape == Shape::Affine && high_shape == Shape::Unstructured;
            shape = if carries && pair_is_affine(&at.row(low).0, &at.row(high).0, at.lanes()) {
                Shape::Affine
            } else {
                shape.max(high_shape)
            };
        }
        all = all.max(shape);
    }
    all
}

#[inline]
fn digest_of_sources(statics: &Statics, reads: &Reads, at: &mut At<'_>) -> Operands {
    let mut all = Operands::default();
    for span in reads.spans() {
        for reg in span.iter() {
            all = with_row(statics, all, at, reg);
        }
    }
    let common = statics.common.map_or(at.launched, |lanes| (1 << lanes) - 1);
    for pred in reads.preds() {
        let mask = at.state.pred(pred);
        all.common = all.common.then(Digest::of_mask(mask & common));
        all.rest = all.rest.then(Digest::of_mask(mask & !common & at.launched));
    }
    all
}

/// Operands with one more row.
#[inline]
fn with_row(statics: &Statics, so_far: Operands, at: &mut At<'_>, reg: usize) -> Operands {
    match statics.common {
        Some(lanes) => with_parts(lanes, so_far, at, reg),
        None => Operands { common: so_far.common.then(at.digest(reg)), rest: so_far.rest },
    }
}

#[inline(never)]
fn with_parts(lanes: usize, so_far: Operands, at: &At<'_>, reg: usize) -> Operands {
    let row: &Words = &at.row(reg).0;
    Operands {
        common: so_far.common.then(Digest::of_lanes(row, 0, lanes)),
        rest: so_far.rest.then(Digest::of_lanes(row, lanes, WARP_SIZE)),
    }
}
