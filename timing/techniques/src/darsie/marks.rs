//! The compiler's marks: which instructions compute the same in every warp of a block (DARSIE, section 4.2).
//!
//! A register is definitely redundant if it depends on block indices, dimensions, constants and parameters alone,
//! conditionally redundant if it also depends on thread indices that repeat in every warp, and a vector otherwise. Of
//! several definitions that reach a source, and of several sources, the weakest counts. Loads have the mark of their
//! addresses. Where the sides of a branch meet, what they may have written is no stronger than the branch: warps that
//! have gone different ways, or around a loop a different number of times, do not have the same there. In between the
//! hardware sees to it that only warps on one path share. The paper's kernels have no functions: here instructions of
//! functions that are not inlined stay unmarked, and what a function may write is a vector behind its calls.
//!
//! Machine code of NVIDIA has registers and predicates of the whole warp, which the paper's does not. A value in them has a
//! mark like any other, so that what is computed from it may be redundant.

use trace_format::isa::space::Space;
use trace_format::isa::{BlockId, Flow, Inst, Kind, Lanes, MemOrder, Op, SpecialReg};
use warplab_analysis::reaching::{Callees, VARS, Var, may_keep, read, written};
use warplab_technique::program::Program;

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

/// What is known of registers and predicates at a place, by the number of a [`Var`].
#[derive(Clone, PartialEq, Eq)]
struct Known([Mark; VARS]);

impl Known {
    fn of(&self, var: Var) -> Mark {
        self.0[var.index()]
    }

    fn meet(&mut self, other: &Known) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            changed |= *theirs > *mine;
            *mine = (*mine).max(*theirs);
        }
        changed
    }

    /// Makes marks no stronger than another one.
    fn weaken(&mut self, written: &[Var], mark: Mark) {
        for var in written {
            let known = &mut self.0[var.index()];
            *known = (*known).max(mark);
        }
    }
}

/// The marks of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    /// Of its results: the weakest of its operands, guard included.
    pub results: Mark,
    /// Of its guard; of a branch, of all that decides where lanes go.
    pub guard: Mark,
}

/// Where the sides of a branch meet, and what they may have written.
struct Meeting {
    /// The branch.
    branch: u32,
    at: BlockId,
    written: Vec<Var>,
}

/// The marks of a kernel's instructions.
pub(super) fn marks(program: &Program) -> Vec<Marks> {
    let kernel = &program.kernel;
    let flow = kernel.flow();
    let functions = Callees::of(kernel, &flow);
    let meetings: Vec<Meeting> = (0..flow.blocks().len() as u32)
        .filter_map(|id| meeting(program, &flow, &functions.writes, id))
        .collect();
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
fn meeting(program: &Program, flow: &Flow, by_functions: &[Var], block: u32) -> Option<Meeting> {
    let block = BlockId(block);
    let branch = flow.block(block).end.0 - 1;
    let inst = &program.kernel.insts[branch as usize];
    let at = flow.post_dominator(block)?;
    if inst.kind() != Kind::Branch || inst.is_unguarded() {
        return None;
    }
    let mut all = Vec::new();
    for block in controlled_by(flow, block) {
        let range = flow.block(block);
        for inst in &program.kernel.insts[range.first.index()..range.end.index()] {
            all.extend(written(inst));
            if inst.kind() == Kind::Call {
                all.extend(by_functions);
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    Some(Meeting { branch, at, written: all })
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
    let first = |own: &bool| Known([if *own { Mark::Definite } else { Mark::Vector }; VARS]);
    let mut before: Vec<Known> = functions.own.iter().map(first).collect();
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
                known.weaken(&functions.writes, Mark::Vector);
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
    let guard = known.of(Var::pred(inst.guard.pred.0));
    let operands = read(inst).map(|var| known.of(var)).fold(Mark::Definite, Mark::max);
    let mark = operands.max(own_mark(inst));
    let keeps = may_keep(inst);
    for var in written(inst) {
        let old = &mut known.0[var.index()];
        // Where the guard is false the old value stays.
        *old = if keeps { mark.max(*old) } else { mark };
    }
    Marks { results: mark, guard: if inst.kind() == Kind::Branch { operands } else { guard } }
}

/// The mark of an instruction whose operands are the same in every warp.
fn own_mark(inst: &Inst) -> Mark {
    match inst.kind() {
        // The value of a lane: the first one, in a warp that shares.
        Kind::Pure if matches!(inst.op, Op::R2ur {}) => Mark::Definite,
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
    use crate::testing::{Builder, by_hand, r};
    use trace_format::isa::Src;

    fn marks_of(b: &mut Builder) -> Vec<Mark> {
        let config = crate::testing::config(&[]);
        let kernel = by_hand(b.exit(), 1, 64).kernel;
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

    fn marks_of_listing(text: &str) -> Vec<Marks> {
        let config = crate::testing::config(&[]);
        marks(&Program::new(&warplab_analysis::listing::kernel(text), &config).expect("a kernel"))
    }

    fn results(text: &str) -> Vec<Mark> {
        marks_of_listing(text).iter().map(|marks| marks.results).collect()
    }

    #[test]
    fn operands_in_uniform_registers_carry_marks() {
        // The block's index, a constant, their sum; the thread's index through the warp's register; a loaded word, likewise.
        let marks = results(
            "s2r.ctaid u0\nmov u1 c\niadd u2 u0 u1\niadd r1 u2 5\ns2r r2\nr2ur u3 r2\niadd r3 u2 u3\nlds r4 r1 u3\n\
             vote r5\nr2ur u4 r5\niadd r6 r1 u4\nlds r7 r1 u4\nexit",
        );
        let expected =
            [Definite, Definite, Definite, Definite, ByX, ByX, ByX, ByX, Vector, Vector, Vector, Vector];
        assert_eq!(marks[..12], expected);
    }

    #[test]
    fn a_uniform_predicate_guards_with_the_mark_of_what_it_compares() {
        let marks = marks_of_listing(
            "mov u0 c\nisetp.lt up0 u0 3\n@up0 mov u1 4\nvote r0\nr2ur u2 r0\nisetp.lt up1 u2 3\n@up1 mov u1 5\n\
             iadd r1 u1 1\nexit",
        );
        assert_eq!((marks[2].guard, marks[2].results, marks[6].guard), (Definite, Definite, Vector));
        assert_eq!(marks[7].results, Vector, "u1 may hold what the warps' own predicate decides");
    }

    #[test]
    fn where_sides_of_a_branch_with_two_predicates_meet_the_weaker_one_counts() {
        let text = "vote r0\nmov r3 c\nisetp.lt p1 r0 7\nisetp.lt p0 r3 7\nmov u1 1\nmov r1 1\n@p0 braif p1 9\nmov u1 2\n\
                    mov r1 2\niadd r2 r1 u1\nexit";
        let marks = marks_of_listing(text);
        assert_eq!((marks[6].guard, marks[9].results), (Vector, Vector));
        assert_eq!(results(&text.replace("@p0 braif p1 9", "@p0 bra 9"))[9], Definite);
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
