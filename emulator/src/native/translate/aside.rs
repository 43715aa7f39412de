//! Instructions that our table can express only in several: branches through a register, copies from global to shared memory,
//! and accesses with an operand or a result that their row does not have.

use super::args::Args;
use super::code::{Aside, Code, Place, Refusal, temporary};
use super::memory::{self, WIDTHS};
use sass::{INSTRUCTION_BYTES, Instruction, PT, Value};
use trace_format::isa::{
    BoolOp, Extended, ICmp, Inst, Lut, MemOrder, MemWidth, Op, Pred, PredSrc, ReadOnly, Reg, Scale, Sign, Src,
    UniformReg,
};

/// Translates an instruction of this file; none if it is another.
pub(super) fn translate(
    code: &Code<'_>,
    word: &Instruction,
    args: &mut Args<'_>,
) -> Result<Option<Place>, Refusal> {
    match word.mnemonic {
        "BRX" | "BRXU" => branch(code, word, args).map(Some),
        "LDGSTS" => copy(args).map(Some),
        "ATOM" if answers(word).is_some() => answered_atomic(word, args).map(Some),
        "LD" | "ST" if memory::is_narrow(word) => narrow(word, args).map(Some),
        _ => Ok(None),
    }
}

/// A branch to the address in a register pair: the lanes of each target, one after the other. The compiler lists the targets.
fn branch(code: &Code<'_>, word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
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
    // P0 is kept in a register, and put back before the code goes on.
    let (kept, p0) = (temporary(0), Pred(0));
    let everything = Src::imm(0x7F);
    let mut keep = Inst::new(Op::P2r {}).srcs([Src::RZ, everything]);
    keep.dst = kept;
    let mut aside = Aside { insts: vec![keep], ..Aside::default() };
    let mut jumps = Vec::new();
    for target in &targets {
        let op = Op::Isetp { cmp: ICmp::Eq, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
        let mut compare = Inst::new(op).srcs([register, Src::imm(*target as u32)]);
        compare.pdst[0] = p0;
        compare.psrc[0] = PredSrc::TRUE;
        aside.insts.push(compare);
        jumps.push(aside.insts.len());
        aside.insts.push(Inst::new(Op::Bra {}).guarded(PredSrc { pred: p0, not: false }));
    }
    aside.insts.push(Inst::new(Op::Bpt {}));
    for (jump, target) in jumps.into_iter().zip(&targets) {
        aside.local.push((jump, aside.insts.len()));
        aside.insts.push(Inst::new(Op::R2p {}).srcs([Src::reg(kept), Src::imm(1)]));
        let mut bra = Inst::new(Op::Bra {});
        bra.target = code.place(*target)?;
        aside.insts.push(bra);
    }
    Ok(Place::Aside(aside))
}

/// A copy from global to shared memory, which has ended when the next instruction begins.
fn copy(args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("BYPASS");
    args.has("ACCESS");
    let zeros = args.has("ZFILL");
    let width = args.pick(&WIDTHS).unwrap_or(MemWidth::B32);
    let data = temporary(0);
    let mut store = Inst::new(Op::Sts { width, scale: Scale::X1 });
    memory::address(&mut store, args, memory::Form::Narrow)?;
    store.src[1] = Src::reg(data);
    let order = MemOrder::Weak;
    let mut load = Inst::new(Op::Ldg { width, order, ro: ReadOnly(false) });
    load.dst = data;
    memory::address(&mut load, args, memory::Form::Wide)?;
    let fill = args.maybe_pred_src();
    let mut insts = Vec::new();
    if zeros || fill.is_some_and(|pred| pred != PredSrc::TRUE) {
        // Where the predicate holds, the bytes are copied; elsewhere they are zeros.
        let pred = fill.ok_or("its predicate is missing")?;
        return Ok(filled(load, store, pred, width));
    }
    insts.extend([load, store]);
    Ok(Aside::of(insts))
}

/// A copy of bytes or, where a predicate does not hold, of zeros.
fn filled(load: Inst, store: Inst, pred: PredSrc, width: MemWidth) -> Place {
    let data = temporary(0);
    let words = width.regs();
    let mut insts = Vec::new();
    // The address without lanes that copy nothing is never used: only the result is chosen.
    insts.push(load);
    for word in 0..words {
        let mut choose = Inst::new(Op::Sel {}).srcs([Src::reg(data.nth(word)), Src::RZ]);
        choose.dst = data.nth(word);
        choose.psrc[0] = pred;
        insts.push(choose);
    }
    insts.push(store);
    Aside::of(insts)
}

/// The predicate that says whether an atomic on a generic address was done, if it writes one: code for shared memory follows
/// where it was not.
fn answers(word: &Instruction) -> Option<Pred> {
    match word.operands.first()?.value {
        Value::Predicate(number) if number != PT => Some(Pred(number)),
        _ => None,
    }
}

/// An atomic on a generic address that says that it was done: ours has done it in any memory.
fn answered_atomic(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let atomic = memory::atomic(word, args, true)?;
    let mut done = Inst::new(Op::Plop3Both { lut: Lut(0xFF), second: Lut(0) });
    done.pdst[0] = answers(word).unwrap_or(Pred::PT);
    done.psrc = [PredSrc::TRUE; 3];
    Ok(Aside::of([atomic, done]))
}

/// A generic access whose address has 32 bits: they are extended to a pair before.
fn narrow(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let (order, width) = (memory::order(args), memory::width(args));
    let loads = word.mnemonic == "LD";
    let op = if loads { Op::Ld { width, order } } else { Op::St { width, order } };
    let mut access = if loads {
        memory::load(op, args, memory::Form::Extended)?
    } else {
        memory::store(op, args, memory::Form::Extended)?
    };
    let (low, high) = (temporary(0), temporary(1));
    let mut first = Inst::new(Op::Mov {}).srcs([access.src[0]]);
    first.dst = low;
    let mut second = Inst::new(Op::Mov {}).srcs([Src::RZ]);
    second.dst = high;
    access.src[0] = Src::reg(low);
    Ok(Aside::of([first, second, access]))
}
