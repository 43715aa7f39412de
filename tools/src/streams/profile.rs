//! How often a warp runs each line of a kernel's PTX, and the loops that the lines are in.

use super::graph::Loops;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::container::TraceError;
use trace_format::isa::{BlockId, Kind, MachineKernel};
use trace_format::reader::Trace;

/// A loop of the PTX.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LoopId(pub usize);

/// Executions of the blocks of a kernel in one launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Executions {
    /// Of each block: warps that entered it.
    pub blocks: Vec<u64>,
    /// Of each loop in [`Loops`]' order: times that it was entered from outside.
    entries: Vec<u64>,
}

/// Counts the blocks that the warps of a launch entered, over its recorded blocks.
///
/// # Errors
/// The trace is damaged.
pub fn executions(trace: &Trace, launch: u32) -> Result<Executions, TraceError> {
    let kernel = trace.kernel_of(launch);
    let flow = kernel.flow();
    let loops = loops(kernel);
    let mut blocks = vec![0; flow.blocks().len()];
    let mut entries = vec![0; loops.loops.len()];
    let headers: BTreeMap<usize, usize> =
        loops.loops.iter().enumerate().map(|(i, l)| (l.header, i)).collect();
    let record = &trace.launches()[launch as usize];
    let warps = record.geometry.warps_per_block();
    for block in 0..record.blocks_recorded() {
        for warp in 0..warps {
            let mut path = trace.path_cursor(launch, block, warp)?;
            let mut before: Option<usize> = None;
            while let Some(step) = path.step()? {
                let at = step.block.0 as usize;
                blocks[at] += 1;
                if let Some(&found) = headers.get(&at)
                    && before.is_none_or(|b| !loops.loops[found].inside[b])
                {
                    entries[found] += 1;
                }
                before = Some(at);
            }
        }
    }
    Ok(Executions { blocks, entries })
}

fn loops(kernel: &MachineKernel) -> Loops {
    let flow = kernel.flow();
    let next = |b: usize| flow.successors(BlockId(b as u32)).iter().map(|s| s.0 as usize).collect();
    let successors: Vec<Vec<usize>> = (0..flow.blocks().len()).map(next).collect();
    let roots: Vec<usize> = std::iter::once(0)
        .chain(kernel.functions.iter().map(|(pc, _)| flow.block_of(*pc).0 as usize))
        .collect();
    Loops::of(&successors, &roots)
}

/// What is known of a line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Line {
    /// The loop that it is in.
    pub inside: Option<LoopId>,
    /// Warp executions.
    pub runs: f64,
    /// Of its slow paths.
    pub calls: f64,
}

/// A loop with its executions.
#[derive(Clone, PartialEq, Debug)]
pub struct LineLoop {
    /// Lines of its first and last instruction.
    pub lines: (u32, u32),
    /// The loop around it.
    pub parent: Option<LoopId>,
    /// Iterations of warps.
    pub iterations: f64,
    /// Entries of warps.
    pub entries: f64,
    /// Lines of branches back to its begin.
    pub(super) latches: BTreeSet<u32>,
}

/// Lines and loops of a kernel's PTX with the executions of one launch.
#[derive(Clone, Debug)]
pub struct Profile {
    lines: BTreeMap<u32, Line>,
    /// Loops; a [`LoopId`] indexes this list.
    pub loops: Vec<LineLoop>,
    /// Number of instructions of each line in code that repeats none.
    pub(super) sizes: BTreeMap<(u32, super::Weight), usize>,
}

impl Profile {
    /// From a launch that was recorded with `--keep-branches`.
    ///
    /// # Errors
    /// The trace is damaged.
    pub fn of(trace: &Trace, launch: u32) -> Result<Profile, TraceError> {
        let kernel = trace.kernel_of(launch);
        Ok(Profile::new(kernel, &executions(trace, launch)?))
    }

    fn new(kernel: &MachineKernel, ran: &Executions) -> Profile {
        let flow = kernel.flow();
        let found = loops(kernel);
        let line_of = |pc: usize| kernel.lines.get(pc).map_or(0, |line| line.code.line);
        // Subroutines have lines of their callers.
        let main_end = kernel.functions.iter().map(|(pc, _)| pc.index()).min().unwrap_or(kernel.insts.len());
        let mut places: BTreeMap<u32, Vec<(Option<usize>, u64)>> = BTreeMap::new();
        let mut calls: BTreeMap<u32, u64> = BTreeMap::new();
        let mut sizes = BTreeMap::new();
        for (number, block) in flow.blocks().iter().enumerate().filter(|(_, b)| b.first.index() < main_end) {
            let runs = ran.blocks[number];
            let slow = kernel.insts[block.end.index() - 1].kind() == Kind::Call;
            let mut seen = BTreeSet::new();
            for pc in block.first.index()..block.end.index() {
                let line = line_of(pc);
                if line == 0 {
                    continue;
                }
                *sizes.entry((line, super::Weight::of(&kernel.insts[pc].op.mnemonic()))).or_insert(0) += 1;
                if slow {
                    calls.insert(line, runs);
                } else if seen.insert(line) {
                    places.entry(line).or_default().push((found.innermost[number], runs));
                }
            }
        }
        // A line is in the loop and runs as often as the most frequent of its blocks: the others are slow paths, or
        // parts that were moved out. Of lines in several loops (inlined functions) nothing is known.
        let line = |(line, places): (u32, Vec<(Option<usize>, u64)>)| {
            let most = places.iter().max_by_key(|place| place.1)?;
            let nested = |inner: Option<usize>| {
                let mut at = most.0;
                while at != inner && at.is_some() {
                    at = at.and_then(|l| found.loops[l].parent);
                }
                at == inner
            };
            let known = places.iter().all(|place| nested(place.0));
            let calls = calls.get(&line).copied().unwrap_or(0) as f64;
            known.then_some((line, Line { inside: most.0.map(LoopId), runs: most.1 as f64, calls }))
        };
        let lines: BTreeMap<u32, Line> = places.into_iter().filter_map(line).collect();
        let describe = |(number, l): (usize, &super::graph::Loop)| {
            let of_block = |b: usize| {
                let block = flow.block(BlockId(b as u32));
                (block.first.index()..block.end.index()).map(line_of).filter(|line| *line > 0)
            };
            let inside: BTreeSet<u32> =
                (0..l.inside.len()).filter(|b| l.inside[*b]).flat_map(of_block).collect();
            let last = |b: &usize| line_of(flow.block(BlockId(*b as u32)).end.index() - 1);
            LineLoop {
                lines: (inside.first().copied().unwrap_or(0), inside.last().copied().unwrap_or(0)),
                parent: l.parent.map(LoopId),
                iterations: ran.blocks[l.header] as f64,
                entries: ran.entries[number] as f64,
                latches: l.latches.iter().map(last).collect(),
            }
        };
        Profile { lines, loops: found.loops.iter().enumerate().map(describe).collect(), sizes }
    }

    pub(super) fn line(&self, line: u32) -> Option<&Line> {
        self.lines.get(&line)
    }

    /// Whether a loop is `around` or inside it; everything is inside none.
    pub(super) fn is_within(&self, inner: Option<LoopId>, around: Option<LoopId>) -> bool {
        let mut at = inner;
        while at != around {
            match at {
                Some(l) => at = self.loops[l.0].parent,
                None => return false,
            }
        }
        true
    }

    /// The loop directly inside `around` that holds `inner`.
    pub(super) fn child(&self, inner: LoopId, around: Option<LoopId>) -> LoopId {
        let mut at = inner;
        while self.loops[at.0].parent != around {
            match self.loops[at.0].parent {
                Some(parent) => at = parent,
                None => break,
            }
        }
        at
    }

    /// Depth of a loop, 0 for those in no other.
    #[must_use]
    pub fn depth(&self, l: LoopId) -> usize {
        let mut depth = 0;
        let mut at = self.loops[l.0].parent;
        while let Some(parent) = at {
            depth += 1;
            at = self.loops[parent.0].parent;
        }
        depth
    }
}
