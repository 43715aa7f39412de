//! The compiler pass of RegMutex (section 4.3.1): where a warp holds its extended set, which register holds
//! each value, and the acquires, releases and moves in between.
//!
//! A point of the code is *extended* where more registers are live than the base set has. A value keeps its
//! register while it is live, except where an extended stretch ends: there a value may move to a register of
//! the base set. [`pieces`](super::pieces) finds the parts of live ranges between such moves, and gives each
//! a register. Liveness, registers and moves are those of a lane on its own path, so they hold for diverged
//! lanes too.

use super::live::Live;
use super::pieces::{self, Points};
use trace_format::isa::Kind;
use warplab_technique::program::{MAX_DST, MAX_SRC, Path, Program, RegSet, Renaming};

/// A micro-operation of the pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The warp acquires its extended set.
    Acquire,
    /// The lanes release their extended set.
    Release,
    /// A value moves to another register.
    Move { from: u8, to: u8 },
}

/// The result of the pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    /// The registers of every instruction's operands.
    pub renamed: Vec<Renaming>,
    /// Micro-operations with the instruction that each precedes, in order.
    pub steps: Vec<(u32, Step)>,
}

/// Compiles a kernel for a base set of `base` of `all` registers; `None` if its values do not fit these sets.
pub(super) fn compile(program: &Program, live: &Live, base: u32, all: u32) -> Option<Code> {
    let is_barrier = |pc: usize| program.insts[pc].path == Path::Barrier;
    let mut extended: Vec<bool> = (0..program.insts.len()).map(|pc| live.pressure(pc) > base).collect();
    if (0..extended.len()).any(|pc| extended[pc] && is_barrier(pc)) {
        return None;
    }
    loop {
        let points = Points { program, live, extended: &extended, base, all };
        let pieces = pieces::find(&points);
        match pieces.color(&points) {
            Ok(colors) => return Some(emit(&points, &pieces, &colors)),
            Err(failed) => {
                // A value that finds no register of the base set keeps the extended set for as long as it is live.
                let mut grown = false;
                for pc in failed {
                    let pc = pc as usize;
                    grown |= !is_barrier(pc) && !std::mem::replace(&mut extended[pc], !is_barrier(pc));
                }
                if !grown {
                    return None;
                }
            }
        }
    }
}

/// Writes the code that the registers of the pieces make necessary.
fn emit(points: &Points<'_>, pieces: &pieces::Pieces, colors: &[u8]) -> Code {
    let Points { program, live, extended, .. } = *points;
    let mut code = Code::default();
    for (pc, inst) in program.insts.iter().enumerate() {
        let mut renaming = Renaming { sources: [0; MAX_SRC], destinations: [0; MAX_DST] };
        for (to, reg) in renaming.sources.iter_mut().zip(inst.sources()) {
            *to = colors[pieces.before(pc, *reg)];
        }
        for (k, to) in renaming.destinations.iter_mut().enumerate().take(inst.destinations().len()) {
            *to = colors[pieces.result(pc, k)];
        }
        code.renamed.push(renaming);
    }
    let hoisted = hoisted_acquires(points);
    let may_hold = |pc: u32| extended[pc as usize] || hoisted[pc as usize];
    for pc in 0..program.insts.len() {
        let at = pc as u32;
        let first_of_block = !live.previous[pc].is_empty() || pc == 0 || !live.next[pc - 1].contains(&at);
        let before: &[u32] = if first_of_block { &live.previous[pc] } else { &[at - 1] };
        let inst = &program.insts[pc].inst;
        if extended[pc] {
            if before.iter().any(|from| !may_hold(*from)) || pc == 0 {
                code.steps.push((at, Step::Acquire));
            }
        } else if before.iter().any(|from| may_hold(*from))
            && !(inst.kind() == Kind::Exit && inst.is_unguarded())
        {
            if points.is_split(at) {
                moves(points, pieces, colors, at, before[0], &mut code.steps);
            }
            code.steps.push((at, Step::Release));
        }
        if hoisted[pc] {
            code.steps.push((at, Step::Acquire));
        }
    }
    code
}

/// The last instructions of blocks before which an acquire is executed for the following block: it is not
/// repeated for the edges that come from extended blocks, such as a loop's back edge.
fn hoisted_acquires(points: &Points<'_>) -> Vec<bool> {
    let Points { program, live, extended, .. } = *points;
    let mut hoisted = vec![false; extended.len()];
    let entries = live.previous.iter().enumerate().skip(1);
    for (_, previous) in entries.filter(|(pc, _)| extended[*pc]) {
        let without: Vec<u32> = previous.iter().copied().filter(|from| !extended[*from as usize]).collect();
        let waits = without.iter().any(|from| program.insts[*from as usize].path == Path::Barrier);
        if without.len() < previous.len() && !waits {
            without.iter().for_each(|from| hoisted[*from as usize] = true);
        }
    }
    hoisted
}

/// Moves of the values that are live before `at` from the registers that they have after `from`.
fn moves(
    points: &Points<'_>,
    pieces: &pieces::Pieces,
    colors: &[u8],
    at: u32,
    from: u32,
    steps: &mut Vec<(u32, Step)>,
) {
    let live = points.live.before[at as usize];
    let mut waiting: Vec<(u8, u8)> = Vec::new();
    let mut taken = RegSet::default();
    for reg in live.iter() {
        let source = colors[pieces.after(points, from as usize, reg)];
        let target = colors[pieces.before(at as usize, reg)];
        taken.insert(source);
        taken.insert(target);
        if source != target {
            waiting.push((source, target));
        }
    }
    while !waiting.is_empty() {
        let free = |(_, to): &(u8, u8)| waiting.iter().all(|(from, _)| from != to);
        let position = waiting.iter().position(free);
        let (from, to) = match position {
            Some(position) => waiting.swap_remove(position),
            None => {
                // A cycle of moves goes through a register that no value has.
                let spare = (0..points.all as u8).find(|reg| !taken.contains(*reg));
                let spare = spare.expect("fewer values are live than the base set has registers");
                let (from, to) = waiting[0];
                waiting[0] = (spare, to);
                (from, spare)
            }
        };
        steps.push((at, Step::Move { from, to }));
    }
}
