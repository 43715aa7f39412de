//! The compiler's marks: which instructions compute the same in every warp of a block (DARSIE, section 4.2).
//!
//! A register is definitely redundant if it depends on block indices, dimensions, constants and parameters alone,
//! conditionally redundant if it also depends on thread indices that repeat in every warp, and a vector otherwise. Of
//! several definitions that reach a source, and of several sources, the weakest counts. Loads have the mark of their
//! addresses. Where the sides of a branch meet, what they may have written is no stronger than the branch: warps that
//! have gone different ways, or around a loop a different number of times, do not have the same there. In between the
//! hardware sees to it that only warps on one path share. The paper's kernels have no functions: here instructions of
//! functions that are not inlined stay unmarked, and what a function may write is a vector behind its calls.

use crate::analysis::reaching::Callees;
use crate::program::{Program, RegSet};
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

    /// Makes marks no stronger than another one.
    fn weaken(&mut self, written: &Written, mark: Mark) {
        for (reg, known) in self.registers.iter_mut().enumerate() {
            if written.registers.contains(reg as u8) {
                *known = (*known).max(mark);
            }
        }
        for (pred, known) in self.predicates.iter_mut().enumerate() {
            if written.predicates >> pred & 1 != 0 {
                *known = (*known).max(mark);
            }
        }
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

/// Where the sides of a branch meet, and what they may have written.
struct Meeting {
    /// The branch.
    branch: u32,
    at: BlockId,
    written: Written,
}

/// Registers and predicates.
#[derive(Clone, Copy, Default)]
struct Written {
    registers: RegSet,
    predicates: u8,
}

/// What the functions of a kernel may write.
fn written_by(functions: &Callees) -> Written {
    let mut written = Written::default();
    for var in &functions.writes {
        match var.as_reg() {
            Some(reg) => written.registers.insert(reg),
            None => written.predicates |= 1 << (var.index() & 7),
        }
    }
    written
}

/// The marks of a kernel's instructions.
pub(super) fn marks(program: &Program) -> Vec<Marks> {
    let kernel = &program.kernel;
    let flow = kernel.flow();
    let functions = Callees::of(kernel, &flow);
    let by_functions = written_by(&functions);
    let meetings: Vec<Meeting> =
        (0..flow.blocks().len() as u32).filter_map(|id| meeting(program, &flow, &by_functions, id)).collect();
    // The mark of each meeting's branch. Marks only become weaker, so that this ends.
    let mut branches = vec![Mark::Definite; meetings.len()];
    loop {
        let marks = with_branches(program, &flow, &functions, &meetings, &branches);
        let found: Vec<Mark> = meetings.iter().map(|meeting| marks[meeting.branch as usize].guard).collect();
        if found == branches {
            return marks;
        }
        branches = found;
    }
}

/// The meeting of the sides of the conditional branch that ends a block.
fn meeting(program: &Program, flow: &Flow, by_functions: &Written, block: u32) -> Option<Meeting> {
    let block = BlockId(block);
    let branch = flow.block(block).end.0 - 1;
    let inst = &program.kernel.insts[branch as usize];
    let at = flow.post_dominator(block)?;
    if inst.kind() != Kind::Branch || inst.is_unguarded() {
        return None;
    }
    let mut written = Written::default();
    for block in controlled_by(flow, block) {
        let range = flow.block(block);
        for inst in &program.kernel.insts[range.first.index()..range.end.index()] {
            inst.dst_regs().for_each(|reg| written.registers.insert(reg.0));
            inst.dst_preds().for_each(|pred| written.predicates |= 1 << (pred.0 & 7));
            if inst.kind() == Kind::Call {
                by_functions.registers.iter().for_each(|reg| written.registers.insert(reg));
                written.predicates |= by_functions.predicates;
            }
        }
    }
    Some(Meeting { branch, at, written })
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

/// The marks of a kernel's instructions, if branches have these.
fn with_branches(
    program: &Program,
    flow: &Flow,
    functions: &Callees,
    meetings: &[Meeting],
    branches: &[Mark],
) -> Vec<Marks> {
    let kernel = &program.kernel;
    let by_functions = written_by(functions);
    let vector = Known {
        registers: vec![Mark::Vector; program.registers_per_thread as usize],
        predicates: [Mark::Vector; 8],
    };
    let top = Known {
        registers: vec![Mark::Definite; program.registers_per_thread as usize],
        predicates: [Mark::Definite; 8],
    };
    let mut before: Vec<Known> =
        functions.own.iter().map(|own| if *own { top.clone() } else { vector.clone() }).collect();
    let unmarked = Marks { results: Mark::Definite, guard: Mark::Definite };
    let mut marks = vec![unmarked; kernel.insts.len()];
    let mut work: Vec<u32> = (0..flow.blocks().len() as u32).rev().collect();
    while let Some(block) = work.pop().map(BlockId) {
        let mut known = before[block.0 as usize].clone();
        for (meeting, mark) in meetings.iter().zip(branches).filter(|(meeting, _)| meeting.at == block) {
            known.weaken(&meeting.written, *mark);
        }
        let range = flow.block(block);
        for pc in range.first.0..range.end.0 {
            let inst = &kernel.insts[pc as usize];
            marks[pc as usize] = step(inst, &mut known);
            if !functions.own[block.0 as usize] {
                marks[pc as usize].results = Mark::Vector;
            }
            if inst.kind() == Kind::Call {
                known.weaken(&by_functions, Mark::Vector);
            }
        }
        for next in flow.successors(block) {
            if before[next.0 as usize].meet(&known) && !work.contains(&next.0) {
                work.push(next.0);
            }
        }
    }
    marks
}

/// The marks of an instruction; its results get theirs.
fn step(inst: &Inst, known: &mut Known) -> Marks {
    let guard = known.predicates[usize::from(inst.guard.pred.0 & 7)];
    let sources = inst.src_regs().map(|reg| known.registers[usize::from(reg.0)]);
    let predicates = inst.src_preds().map(|pred| known.predicates[usize::from(pred.0 & 7)]);
    let operands = sources.chain(predicates).fold(Mark::Definite, Mark::max);
    let mark = operands.max(own_mark(inst));
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
        assert_eq!((marks[3], marks[7], marks[8]), (Definite, Vector, Definite));
    }

    #[test]
    fn what_functions_write_is_a_vector_and_their_instructions_are_unmarked() {
        let mut b = Builder::default();
        let mut call = Inst::new(Op::Call {});
        call.target = trace_format::isa::Pc(6);
        b.special(0, SpecialReg::WarpId).mov(1, 5).push(call);
        b.iadd(3, r(2), Src::RZ, Src::RZ).iadd(4, r(1), Src::RZ, Src::RZ).push(Inst::new(Op::Exit {}));
        b.iadd(2, r(0), r(1), Src::RZ).iadd(5, r(1), Src::RZ, Src::RZ).push(Inst::new(Op::Ret {}));
        let marks = marks_of(&mut b);
        assert_eq!((marks[3], marks[4]), (Vector, Definite));
        assert_eq!((marks[6], marks[7]), (Vector, Vector));
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
