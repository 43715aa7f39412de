//! Branches through registers and on divergence, and results of barriers that are taken elsewhere.

use super::super::args::Args;
use super::super::code::{Aside, Code, EVERY_LANE, Place, Refusal, TEMPORARIES, guard_of, moved};
use super::super::control;
use super::parts::compared;
use crate::services::ARGUMENT_BYTES;
use sass::{INSTRUCTION_BYTES, Instruction, Value};
use trace_format::isa::{
    BarMode, ICmp, Inst, MemWidth, Op, Pred, PredSrc, Reg, Sign, Src, UniformReg, VoteMode,
};

/// A branch to the address in a register pair: the lanes of each target, one after the other. The compiler lists the targets.
pub(super) fn branch(code: &Code<'_>, word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let targets = code.branches.iter().find(|branch| branch.address == word.address);
    let targets = &targets.ok_or("the cubin does not list its targets")?.targets;
    let operand = args.take()?;
    let register = match operand.value {
        Value::Register(number) => Src::reg(Reg(number)),
        Value::Uniform(number) => Src::uniform(UniformReg(number)),
        _ => return Err("its target is not in a register".into()),
    };
    // The place behind it is added and subtracted again, so that the register has the address within the function.
    let own = (word.address + INSTRUCTION_BYTES as u64) as i64;
    match args.take()?.value {
        Value::Target(0) => {}
        Value::Target(address) if address as i64 == -own => {}
        Value::Integer(offset) if offset == -own => {}
        other => return Err(format!("its target is relative to {other:?}")),
    }
    let mut targets = targets.clone();
    targets.sort_unstable();
    targets.dedup();
    let borrowed = args.borrow(0);
    let mut aside = Aside { insts: vec![borrowed.keep()], ..Aside::default() };
    let mut jumps = Vec::new();
    for target in &targets {
        aside.insts.push(borrowed.compare(register, Src::imm(*target as u32)));
        jumps.push(aside.insts.len());
        aside.insts.push(borrowed.jump());
    }
    aside.insts.push(Inst::new(Op::Bpt {}));
    for (jump, target) in jumps.into_iter().zip(&targets) {
        aside.local.push((jump, aside.insts.len()));
        aside.insts.push(borrowed.put_back());
        let mut bra = Inst::new(Op::Bra {});
        bra.target = code.place(*target)?;
        aside.insts.push(bra);
    }
    Ok(Place::Aside(aside))
}

/// The lanes that are here, as a mask.
fn lanes_here(to: Reg) -> Inst {
    let mut ballot = Inst::new(Op::Vote { mode: VoteMode::Ballot }).srcs([EVERY_LANE]).dst(to);
    ballot.psrc[0] = PredSrc::TRUE;
    ballot
}

/// `R2UR P, URZ, R`: whether lanes have masks of others than themselves. The branch on convergence behind it is taken where
/// they have not, that on divergence where they have; both are guarded by `!P`. What hardware compares is not known. Here
/// the code for converged lanes runs only if each lane's mask is that of the lanes that are there, which is never wrong.
pub(super) fn comparison_of_masks(code: &Code<'_>, at: usize, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let pred = args.pred_dst().ok_or("its predicate is missing")?;
    args.skip(1);
    let masks = args.src()?;
    let guards = |word: &Instruction| !word.guard.uniform && word.guard.predicate == pred.0;
    let names = |word: &&Instruction| {
        guards(word) || word.operands.iter().any(|of| of.value == Value::Predicate(pred.0))
    };
    let reader = code.words[at + 1..].iter().map_while(|word| word.as_ref().ok()).find(names);
    let reader = reader.filter(|word| word.guard.negated && guards(word));
    let diverges = match reader {
        Some(word) if word.has("DIV") => true,
        Some(word) if word.has("CONV") => false,
        _ => return Err("its predicate is known before a branch on convergence or divergence alone".into()),
    };
    let here = args.temporary(0);
    let (cmp, mode) = if diverges { (ICmp::Eq, VoteMode::All) } else { (ICmp::Ne, VoteMode::Any) };
    let compare = compared(pred, cmp, Sign::U32, masks, Src::reg(here));
    let mut all = Inst::new(Op::Vote { mode }).srcs([EVERY_LANE]);
    (all.pdst[0], all.psrc[0]) = (pred, PredSrc { pred, not: false });
    Ok(Aside::of([lanes_here(here), compare, all]))
}

/// `WARPSYNC.EXCLUSIVE`: the lanes of each mask go on without the others.
pub(super) fn exclusive(code: &Code<'_>, args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("EXCLUSIVE");
    let masks = args.src()?;
    let first = code.layout.free_uniform.ok_or("all uniform registers are in use")?;
    let borrowed = args.borrow(0);
    let mut read = Inst::new(Op::R2ur {}).srcs([masks]);
    read.udst = first;
    // The lanes with the first one's mask leave, the others look again.
    let insts = [
        borrowed.keep(),
        read,
        borrowed.compare(masks, Src::uniform(first)),
        borrowed.jump(),
        Inst::new(Op::Bra {}),
        borrowed.put_back(),
        Inst::new(Op::Warpsync {}).srcs([masks]),
    ];
    Ok(Place::Aside(Aside { local: vec![(3, 5), (4, 1)], ..Aside::returning(insts) }))
}

/// A return with a guard and a predicate of its own, of the lanes for which both hold.
pub(super) fn conditional_return(
    code: &Code<'_>,
    at: usize,
    word: &Instruction,
    args: &mut Args<'_>,
) -> Result<Place, Refusal> {
    let guard = guard_of(word);
    let stay = Inst::new(Op::Bra {}).guarded(PredSrc { not: !guard.not, ..guard });
    let leave = control::translate(code, at, word, args)?.ok_or("it is no return")?;
    let aside = Aside::returning([stay, leave]);
    Ok(Place::Aside(Aside { local: vec![(0, 2)], guards_itself: true, ..aside }))
}

/// Where in local memory the result of a barrier is kept that is taken elsewhere: behind the registers that asides save, and the
/// arguments of functions of the system.
const BARRIER_RESULT: u32 = if SAVED_BYTES > ARGUMENT_BYTES { SAVED_BYTES } else { ARGUMENT_BYTES };
const SAVED_BYTES: u32 = 4 * TEMPORARIES as u32;

/// Instructions of which one reads or writes that place.
fn with_result(insts: Vec<Inst>) -> Place {
    Place::Aside(Aside { local_bytes: BARRIER_RESULT + 4, ..Aside::returning(insts) })
}

/// A reduction at a barrier whose result is kept until an instruction takes it.
pub(super) fn kept_result(code: &Code<'_>, at: usize, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let (borrowed, result) = (args.borrow(0), args.temporary(1));
    let mut barrier = control::bar(code, at, args)?;
    let store = Inst::new(Op::Stl { width: MemWidth::B32 }).srcs([Src::RZ, Src::reg(result)]);
    let store = Inst { offset: BARRIER_RESULT as i32, ..store };
    if (barrier.op == Op::Bar { mode: BarMode::RedPopc }) {
        barrier.dst = result;
        return Ok(with_result(vec![barrier, store]));
    }
    barrier.pdst[0] = borrowed.pred;
    let mut chosen = Inst::new(Op::Sel {}).srcs([Src::imm(1), Src::RZ]).dst(result);
    chosen.psrc[0] = borrowed.holds();
    Ok(with_result(vec![borrowed.keep(), barrier, chosen, borrowed.put_back(), store]))
}

/// Takes the result of a barrier that is kept.
pub(super) fn taken_result(args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("RESULT");
    let kept = args.temporary(0);
    let load = Inst::new(Op::Ldl { width: MemWidth::B32 }).srcs([Src::RZ]).dst(kept);
    let mut insts = vec![Inst { offset: BARRIER_RESULT as i32, ..load }];
    while let Some(operand) = args.peek() {
        args.skip(1);
        match operand.value {
            Value::Register(sass::RZ) => {}
            Value::Register(number) => insts.push(moved(Src::reg(kept), Reg(number))),
            Value::Predicate(number) => {
                insts.push(compared(Pred(number), ICmp::Ne, Sign::U32, Src::reg(kept), Src::RZ));
            }
            _ => return Err("the place of its result is not known".into()),
        }
    }
    Ok(with_result(insts))
}
