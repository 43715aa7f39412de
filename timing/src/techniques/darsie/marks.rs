//! The compiler's marks: which instructions compute the same in every warp of a block (DARSIE, section 4.2).
//!
//! A register is definitely redundant if it depends on block indices, dimensions, constants and parameters alone,
//! conditionally redundant if it also depends on thread indices that repeat in every warp, and a vector otherwise. Of
//! several definitions that reach a source, of several sources, and of the branches that decide whether an instruction is
//! executed, the weakest counts: after warps have gone different ways, a register that each wrote as often as it went
//! around a loop is not the same in all of them. Loads have the mark of their addresses. The analysis assumes that the warps run in lockstep; the hardware sees to it.

use crate::program::Program;
use trace_format::isa::space::Space;
use trace_format::isa::{BlockId, Flow, Inst, Kind, Lanes, MemOrder, Op, SpecialReg};

/// How a value relates to the warps of a block, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// The same in every warp, and in every lane.
    Definite,
    /// The same in every warp if x-indices repeat in each of them.
    ByX,
    /// The same in every warp if x- and y-indices repeat in each of them.
    ByXAndY,
    /// Neither.
    Vector,
}

/// What is known of registers and predicates at a place.
#[derive(Clone, PartialEq, Eq)]
struct Known {
    registers: Vec<Mark>,
    predicates: [Mark; 8],
}

impl Known {
    fn meet(&mut self, other: &Known) -> bool {
        let mine = self.registers.iter_mut().chain(&mut self.predicates);
        let theirs = other.registers.iter().chain(&other.predicates);
        let mut changed = false;
        for (mine, theirs) in mine.zip(theirs) {
            changed |= *theirs > *mine;
            *mine = (*mine).max(*theirs);
        }
        changed
    }
}

/// The marks of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    /// Of its results: the weakest of its operands, guard included.
    pub results: Mark,
    /// Of its guard.
    pub guard: Mark,
}

/// The marks of a kernel's instructions.
pub(super) fn marks(program: &Program) -> Vec<Marks> {
    let kernel = &program.kernel;
    let flow = kernel.flow();
    let blocks = flow.blocks().len();
    let mut control = vec![Mark::Definite; blocks];
    // Marks only become weaker, so that this ends.
    loop {
        let marks = with_control(program, &flow, &control);
        let mut changed = false;
        for block in (0..blocks).map(|block| BlockId(block as u32)) {
            let last = flow.block(block).end.0 - 1;
            let branch = &kernel.insts[last as usize];
            if branch.kind() != Kind::Branch || branch.is_unguarded() {
                continue;
            }
            let mark = marks[last as usize].guard.max(control[block.0 as usize]);
            for controlled in controlled_by(&flow, block) {
                let held = &mut control[controlled.0 as usize];
                changed |= mark > *held;
                *held = (*held).max(mark);
            }
        }
        if !changed {
            return marks;
        }
    }
}

/// Blocks that are executed or not, or once more or not, as the branch at the end of a block decides.
fn controlled_by(flow: &Flow, branch: BlockId) -> Vec<BlockId> {
    let meet = flow.post_dominator(branch);
    let mut controlled = Vec::new();
    for side in flow.successors(branch) {
        let mut at = Some(*side);
        while let Some(block) = at.filter(|block| Some(*block) != meet && !controlled.contains(block)) {
            controlled.push(block);
            at = flow.post_dominator(block);
        }
    }
    controlled
}

/// The marks of a kernel's instructions, with the marks of the branches that decide about each block.
fn with_control(program: &Program, flow: &Flow, control: &[Mark]) -> Vec<Marks> {
    let kernel = &program.kernel;
    let top = Known {
        registers: vec![Mark::Definite; program.registers_per_thread as usize],
        predicates: [Mark::Definite; 8],
    };
    let mut before = vec![top; flow.blocks().len()];
    let unmarked = Marks { results: Mark::Definite, guard: Mark::Definite };
    let mut marks = vec![unmarked; kernel.insts.len()];
    let mut work: Vec<usize> = (0..flow.blocks().len()).rev().collect();
    while let Some(block) = work.pop() {
        let mut known = before[block].clone();
        let range = flow.block(BlockId(block as u32));
        for pc in range.first.0..range.end.0 {
            marks[pc as usize] = step(&kernel.insts[pc as usize], control[block], &mut known);
        }
        for next in flow.successors(BlockId(block as u32)) {
            let next = next.0 as usize;
            if before[next].meet(&known) && !work.contains(&next) {
                work.push(next);
            }
        }
    }
    marks
}

/// The marks of an instruction; its results get theirs.
fn step(inst: &Inst, control: Mark, known: &mut Known) -> Marks {
    let guard = known.predicates[usize::from(inst.guard.pred.0 & 7)];
    let sources = inst.src_regs().map(|reg| known.registers[usize::from(reg.0)]);
    let predicates = inst.src_preds().map(|pred| known.predicates[usize::from(pred.0 & 7)]);
    let operands = sources.chain(predicates).fold(Mark::Definite, Mark::max);
    let mark = operands.max(own_mark(inst)).max(control);
    let guarded = !inst.is_unguarded();
    for reg in inst.dst_regs() {
        let old = &mut known.registers[usize::from(reg.0)];
        // Where the guard is false the old value stays.
        *old = if guarded { mark.max(*old) } else { mark };
    }
    for pred in inst.dst_preds() {
        let old = &mut known.predicates[usize::from(pred.0 & 7)];
        *old = if guarded { mark.max(*old) } else { mark };
    }
    Marks { results: mark, guard }
}

/// The mark of an instruction whose operands are the same in every warp.
fn own_mark(inst: &Inst) -> Mark {
    match inst.kind() {
        Kind::Pure if inst.info().lanes != Lanes::Own => Mark::Vector,
        Kind::Pure => match inst.op {
            Op::S2r { sr } => special_mark(sr),
            _ => Mark::Definite,
        },
        Kind::Load(Space::Global | Space::Shared | Space::Const) if is_plain(inst) => Mark::Definite,
        _ => Mark::Vector,
    }
}

/// Whether a load moves a plain value and need not be seen in an order.
fn is_plain(inst: &Inst) -> bool {
    inst.info().memory.is_some_and(|memory| memory.order == MemOrder::Weak && memory.width().is_some())
}

/// Indices of the block are definitely redundant; section 4.2 considers no other special registers than these and the
/// thread's x-index.
fn special_mark(register: SpecialReg) -> Mark {
    use SpecialReg as S;
    match register {
        S::CtaidX | S::CtaidY | S::CtaidZ => Mark::Definite,
        S::TidX => Mark::ByX,
        S::TidY => Mark::ByXAndY,
        _ => Mark::Vector,
    }
}

/// The strongest mark that a launch's blocks promote to definitely redundant: the x-dimension is a power of two, and at
/// most a warp, in blocks of more than one dimension; as an extension, x and y together in blocks of three.
pub(super) fn promoted(block: [u32; 3], third_dimension: bool) -> Mark {
    let [x, y, z] = block;
    let repeats = |threads: u32| threads.is_power_of_two() && threads <= 32;
    if third_dimension && z > 1 && repeats(x * y) && repeats(x) {
        Mark::ByXAndY
    } else if y * z > 1 && repeats(x) {
        Mark::ByX
    } else {
        Mark::Definite
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Builder, Hand, r};
    use trace_format::isa::Src;

    fn marks_of(b: &mut Builder) -> Vec<Mark> {
        let config = crate::techniques::testing::config(&[]);
        let kernel = Hand::new(b.exit(), 1, 64).kernel;
        let program = Program::new(&kernel, &config).expect("a kernel");
        marks(&program).iter().map(|marks| marks.results).collect()
    }

    use Mark::{ByX, ByXAndY, Definite, Vector};

    #[test]
    fn the_weakest_mark_of_the_sources_counts() {
        let mut b = Builder::default();
        b.special(0, SpecialReg::TidX).special(1, SpecialReg::TidY).special(2, SpecialReg::CtaidX);
        b.special(3, SpecialReg::LaneId);
        b.iadd(4, r(2), Src::imm(4), Src::RZ).iadd(5, r(4), r(0), Src::RZ).iadd(6, r(5), r(1), Src::RZ);
        b.iadd(7, r(6), r(3), Src::RZ);
        assert_eq!(marks_of(&mut b)[..8], [ByX, ByXAndY, Definite, Vector, Definite, ByX, ByXAndY, Vector]);
    }

    #[test]
    fn loads_have_the_mark_of_their_addresses() {
        let mut b = Builder::default();
        b.special(2, SpecialReg::TidX)
            .mov(3, 0)
            .ldg(4, 2, 0)
            .lds(5, 2)
            .special(6, SpecialReg::LaneId)
            .lds(7, 6);
        assert_eq!(marks_of(&mut b)[..6], [ByX, Definite, ByX, ByX, Vector, Vector]);
    }

    #[test]
    fn what_a_loop_changes_has_the_weakest_definition_that_reaches_it() {
        // r1 counts; r2 begins with a constant and becomes a thread index.
        let mut b = Builder::default();
        b.mov(1, 0).mov(2, 0).special(0, SpecialReg::TidX);
        let head = b.here();
        b.iadd(3, r(2), Src::imm(1), Src::RZ).iadd(2, r(0), Src::RZ, Src::RZ);
        b.iadd(1, r(1), Src::imm(1), Src::RZ).branch_below(1, 4, head);
        let marks = marks_of(&mut b);
        assert_eq!((marks[3], marks[4], marks[5]), (ByX, ByX, Definite));
    }

    #[test]
    fn what_warps_do_a_different_number_of_times_is_a_vector() {
        // r1 counts the turns, of which each warp takes its own number; r4 follows from it.
        let mut b = Builder::default();
        b.special(0, SpecialReg::WarpId).mov(1, 0).mov(3, 7);
        let head = b.here();
        b.iadd(1, r(1), Src::imm(1), Src::RZ).iadd(2, r(0), r(1), Src::RZ).branch_below(2, 4, head);
        b.iadd(4, r(1), Src::RZ, Src::RZ).iadd(5, r(3), Src::RZ, Src::RZ);
        let marks = marks_of(&mut b);
        assert_eq!((marks[3], marks[7], marks[8]), (Vector, Vector, Definite));
    }

    #[test]
    fn a_guard_of_some_lanes_keeps_the_old_value_s_mark() {
        let mut b = Builder::default();
        b.special(0, SpecialReg::LaneId).mov(1, 5).below(0, 7).mov(1, 6).guarded().mov(2, 7);
        b.iadd(3, r(1), Src::RZ, Src::RZ);
        assert_eq!(marks_of(&mut b)[2..6], [Vector, Vector, Definite, Vector]);
    }

    #[test]
    fn x_dimensions_that_repeat_in_every_warp_promote() {
        let of = |block, third| promoted(block, third);
        assert_eq!(
            [of([256, 1, 1], false), of([16, 16, 1], false), of([32, 8, 1], false)],
            [Definite, ByX, ByX]
        );
        assert_eq!([of([64, 4, 1], false), of([24, 8, 1], false)], [Definite, Definite]);
        assert_eq!([of([8, 4, 4], false), of([8, 4, 4], true), of([16, 4, 4], true)], [ByX, ByXAndY, ByX]);
    }
}
