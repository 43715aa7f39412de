//! Loops over the values that lanes have, one after the other: ptxas makes them where an instruction takes a uniform register and
//! the value differs between lanes, as a texture's handle may.
//!
//! `R2UR P, UR, R` puts the first lane's value into UR, and says which lanes have another; `BRA.U.ANY` goes back while any lane is left.

use super::super::args::Args;
use super::super::code::{Aside, Code, EVERY_LANE, Place, Refusal};
use super::parts::any_lane;
use sass::{Instruction, Operand, PT, Value};
use trace_format::isa::{
    BoolOp, Extended, ICmp, Inst, Op, PredSrc, ShiftAmount, Sign, SpecialReg, Src, VoteMode,
};

/// Whether a register is read into a uniform one, and a predicate says in which lanes it differs.
pub(super) fn broadcasts(word: &Instruction) -> bool {
    let uniform =
        |operand: &Operand| matches!(operand.value, Value::Uniform(number) if number != word.uniform_zero);
    word.operands.get(1).is_some_and(uniform)
}

/// The first lane's value in a uniform register, and whether a lane has another; with `OR`, or one of the values before.
pub(super) fn broadcast(args: &mut Args<'_>) -> Result<Place, Refusal> {
    let combined = args.has("OR");
    let pred = args.pred_dst().ok_or("its predicate is missing")?;
    let mut read = Inst::new(Op::R2ur {});
    args.dst(&mut read)?;
    let source = args.src()?;
    read.src[0] = source;
    let bop = if combined { BoolOp::Or } else { BoolOp::And };
    let op = Op::Isetp { cmp: ICmp::Ne, sign: Sign::U32, bop, ex: Extended(false) };
    let mut differs = Inst::new(op).srcs([source, Src::uniform(read.udst)]);
    differs.pdst[0] = pred;
    differs.psrc[0] = if combined { PredSrc { pred, not: false } } else { PredSrc::TRUE };
    Ok(Aside::of([read, differs]))
}

/// One of the active lanes: the first, as a predicate and as a number.
pub(super) fn elect(args: &mut Args<'_>) -> Result<Place, Refusal> {
    let pred = args.pred_dst().ok_or("its predicate is missing")?;
    let mut number = Inst::new(Op::R2ur {});
    args.dst(&mut number)?;
    if args.pred_src() != PredSrc::TRUE {
        return Err("lanes that are left out are not known of it".into());
    }
    let [here, lowest, own] = [0, 1, 2].map(|number| args.temporary(number));
    let mut ballot = Inst::new(Op::Vote { mode: VoteMode::Ballot }).srcs([EVERY_LANE]).dst(here);
    ballot.psrc[0] = PredSrc::TRUE;
    // The place of the lowest one is that of the highest one in the reverse order, counted from the other end.
    let reversed = Inst::new(Op::Brev {}).srcs([Src::reg(here)]).dst(lowest);
    let shift =
        Inst::new(Op::Flo { sign: Sign::U32, sh: ShiftAmount(true) }).srcs([Src::reg(lowest)]).dst(lowest);
    let lane = Inst::new(Op::S2r { sr: SpecialReg::LaneId }).dst(own);
    let op = Op::Isetp { cmp: ICmp::Eq, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
    let mut first = Inst::new(op).srcs([Src::reg(own), Src::reg(lowest)]);
    (first.pdst[0], first.psrc[0]) = (pred, PredSrc::TRUE);
    number.src[0] = Src::reg(lowest);
    let mut insts = vec![ballot, reversed, shift, lane, first];
    if !number.udst.is_zero() {
        insts.push(number);
    }
    Ok(Aside::of(insts))
}

/// Whether all lanes take a branch if the guard holds in any of them.
pub(super) fn is_any(word: &Instruction) -> bool {
    word.mnemonic == "BRA" && word.has("ANY") && !word.guard.uniform && word.guard.predicate != PT
}

/// A branch that all lanes take if the guard holds in any of them.
pub(super) fn any(code: &Code<'_>, guard: PredSrc, args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("U");
    args.has("ANY");
    let Value::Target(address) = args.take()?.value else { return Err("its target is no address".into()) };
    let borrowed = args.borrow(0);
    let vote = any_lane(guard, borrowed.pred);
    let stay = Inst::new(Op::Bra {}).guarded(PredSrc { not: true, ..borrowed.holds() });
    let mut leave = Inst::new(Op::Bra {});
    leave.target = code.place(address)?;
    let back = borrowed.put_back();
    let insts = vec![borrowed.keep(), vote, stay, back, leave, back];
    Ok(Place::Aside(Aside {
        insts,
        local: vec![(2, 5)],
        returns: true,
        guards_itself: true,
        ..Aside::default()
    }))
}
