//! Counts by trace, kernel and block shape, and their sums over lines, classes and traces.

use super::define::Study;
use super::driver::Outcome;
use super::registry::all;
use super::sample::Seen;
use super::source::LaunchPaths;
use trace_format::isa::space::Space;
use trace_format::isa::{Inst, Kind, LatencyClass, MachineKernel};

/// Counts of all studies in the launches of one kernel with one block shape.
#[derive(Clone, Debug)]
pub struct KernelCounts {
    /// Name of the trace.
    pub trace: String,
    /// Position of the trace among the inputs.
    pub input: usize,
    /// Number of the kernel in its trace.
    pub number: u32,
    /// The kernel.
    pub kernel: MachineKernel,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Launches in the row.
    pub launches: u64,
    /// Blocks of those launches.
    pub blocks: u64,
    /// Counts of every counting entry of the registry, instruction by instruction.
    counts: Vec<Vec<u64>>,
    /// A curve over the course of one warp of the first launch, by counting entry.
    pub course: Vec<Vec<(f64, f64)>>,
    /// Digests of earlier launches.
    pub(super) earlier: Seen,
}

/// The row that a launch belongs to.
pub(super) fn row_of<'a, S: LaunchPaths>(
    rows: &'a mut Vec<KernelCounts>,
    (input, trace): (usize, &str),
    number: u32,
    source: &S,
) -> &'a mut KernelCounts {
    let block = source.geometry().block;
    let same = |row: &KernelCounts| (row.input, row.number, row.block) == (input, number, block);
    let at = rows.iter().position(same).unwrap_or_else(|| {
        rows.push(KernelCounts {
            trace: trace.to_owned(),
            input,
            number,
            kernel: source.kernel().clone(),
            block,
            launches: 0,
            blocks: 0,
            counts: Vec::new(),
            course: Vec::new(),
            earlier: Seen::default(),
        });
        rows.len() - 1
    });
    &mut rows[at]
}

impl KernelCounts {
    /// Adds a launch.
    pub(super) fn add(&mut self, outcomes: &[Option<Outcome>], blocks: u64) {
        if self.counts.len() < outcomes.len() {
            self.counts.resize(outcomes.len(), Vec::new());
            self.course.resize(outcomes.len(), Vec::new());
        }
        for (number, outcome) in outcomes.iter().enumerate() {
            let Some(outcome) = outcome else { continue };
            let study = all().find(|(_, row)| *row == number).map(|(study, _)| study);
            let counts = &mut self.counts[number];
            match study {
                Some(study) if !counts.is_empty() => {
                    let width = study.counters.len();
                    for (to, from) in counts.chunks_exact_mut(width).zip(outcome.counts.chunks_exact(width)) {
                        study.add(to, from);
                    }
                }
                _ => {
                    counts.clone_from(&outcome.counts);
                    self.course[number].clone_from(&outcome.course);
                }
            }
        }
        self.launches += 1;
        self.blocks += blocks;
    }

    /// Counts of a counting entry of the registry, instruction by instruction.
    #[must_use]
    pub fn counts(&self, number: usize) -> &[u64] {
        &self.counts[number]
    }

    /// 1 when y = z = 1, 2 when z = 1, otherwise 3.
    #[must_use]
    pub const fn dimensions(&self) -> u8 {
        match self.block {
            [_, 1, 1] => 1,
            [_, _, 1] => 2,
            _ => 3,
        }
    }

    /// Threads of a block in words.
    #[must_use]
    pub fn block_text(&self) -> String {
        let [x, y, z] = self.block;
        match self.dimensions() {
            1 => format!("{x}"),
            2 => format!("{x}x{y}"),
            _ => format!("{x}x{y}x{z}"),
        }
    }
}

/// Sums by trace, in the order of first appearance.
pub(super) fn traces<'a>(
    study: &Study,
    number: usize,
    rows: impl Iterator<Item = &'a KernelCounts>,
) -> Vec<(&'a str, Vec<u64>)> {
    let mut sums: Vec<(usize, &str, Vec<u64>)> = Vec::new();
    for row in rows {
        let counts = study.sum(row.counts(number));
        match sums.iter_mut().find(|(input, ..)| *input == row.input) {
            Some((.., sum)) => study.add(sum, &counts),
            None => sums.push((row.input, &row.trace, counts)),
        }
    }
    sums.into_iter().map(|(_, trace, sum)| (trace, sum)).collect()
}

/// Sums of a kernel's counts, grouped by `key` of each instruction, in ascending order of the key.
pub(super) fn grouped<K: Ord>(
    study: &Study,
    counts: &[u64],
    key: impl Fn(usize) -> K,
) -> std::collections::BTreeMap<K, Vec<u64>> {
    let mut groups = std::collections::BTreeMap::new();
    for (pc, row) in counts.chunks_exact(study.counters.len()).enumerate() {
        study.add(groups.entry(key(pc)).or_insert_with(|| study.nothing()), row);
    }
    groups
}

/// The class of an instruction in words.
#[must_use]
pub(super) fn class(inst: &Inst) -> &'static str {
    match inst.kind() {
        Kind::Load(space) => match space {
            Space::Global | Space::Generic => "load, global",
            Space::Shared => "load, shared",
            Space::Local => "load, local",
            Space::Const => "load, constant",
            Space::Texture | Space::Surface => "load, texture",
        },
        Kind::Store(space) => match space {
            Space::Shared => "store, shared",
            Space::Local => "store, local",
            Space::Texture | Space::Surface => "store, surface",
            Space::Global | Space::Generic | Space::Const => "store, global",
        },
        Kind::Atomic(_) | Kind::Reduction(_) => "atomic",
        Kind::Branch => "branch",
        Kind::Call | Kind::Return => "call",
        Kind::Exit | Kind::Trap => "exit",
        Kind::Barrier | Kind::Fence | Kind::Sync => "barrier",
        Kind::Pure | Kind::External => match inst.info().latency {
            LatencyClass::IntAdd | LatencyClass::IntMax | LatencyClass::IntMisc => "integer",
            LatencyClass::IntMul => "integer multiply",
            LatencyClass::FpAdd
            | LatencyClass::FpMax
            | LatencyClass::FpMul
            | LatencyClass::FpFma
            | LatencyClass::Half => "float",
            LatencyClass::DpAdd | LatencyClass::DpMax | LatencyClass::DpMul | LatencyClass::DpFma => "double",
            LatencyClass::Sfu => "special function",
            LatencyClass::Convert => "conversion",
            LatencyClass::Shuffle => "across lanes",
            LatencyClass::Tensor => "matrix",
            LatencyClass::Memory | LatencyClass::Control => "other",
        },
    }
}
