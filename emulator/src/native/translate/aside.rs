//! Instructions that our table can express only in several: branches through a register, copies from global to shared memory,
//! and accesses with an operand or a result that their row does not have.

use super::args::{Args, EVERY_LANE};
use super::arithmetic;
use super::code::{Aside, Code, Place, Refusal, constant, moved};
use super::control;
use super::float;
use super::half::{self, UPPER_NEGATED};
use super::memory::{self, WIDTHS};
use sass::{INSTRUCTION_BYTES, Instruction, Operand as Theirs, PT, Value};
use trace_format::isa::{
    BarMode, BoolOp, Extended, FloatTy, Halves, High, ICmp, Inst, Lut, Max, MemOrder, MemWidth, Op, Operand,
    PackRnd, Pred, PredSrc, PrmtMode, ReadOnly, Reg, Relu, SatFinite, Scale, Sign, Src, UniformReg, VoteMode,
    Wide, Wrap,
};

/// Translates an instruction of this file; none if it is another.
pub(super) fn translate(
    code: &Code<'_>,
    at: usize,
    word: &Instruction,
    args: &mut Args<'_>,
) -> Result<Option<Place>, Refusal> {
    match word.mnemonic {
        "BRA" if is_divergence_test(word) => divergence_test(code, args).map(Some),
        "BRX" | "BRXU" => branch(code, word, args).map(Some),
        "LEA" | "ULEA" if word.has("X") && !word.has("HI") => lea(args).map(Some),
        "IMAD" if word.has("HI") && (word.has("X") || answers_second(word)) => {
            high_with_carry(args).map(Some)
        }
        "HADD2" | "HMUL2" | "HFMA2"
            if word.operands.iter().any(|operand| operand.suffix == UPPER_NEGATED) =>
        {
            upper_negated(word, args).map(Some)
        }
        "IMAD" | "UIMAD" if word.has("WIDE") && has_changed_addend(word) => {
            changed_addend(word, args).map(Some)
        }
        "HSET2" | "HSETP2"
            if word.operands.iter().any(|operand| matches!(operand.suffix, "H0_H0" | "H1_H1")) =>
        {
            compared_halves(word, args).map(Some)
        }
        "LEA" | "ULEA" if subtracts(word) => shifted_and_subtracted(args).map(Some),
        "BAR" if word.has("RED") && control::taker(code, at).is_none() => {
            kept_result(code, at, args).map(Some)
        }
        "B2R" if word.has("RESULT") && !control::is_result(code, at) => taken_result(args).map(Some),
        "HADD2" if word.operands.iter().any(|operand| operand.suffix == "F32") => {
            converted_half(args).map(Some)
        }
        "I2F"
            if (word.has("U64") || word.has("S64"))
                && word.operands.iter().any(|operand| matches!(operand.value, Value::Integer(_))) =>
        {
            wide_literal(word, args).map(Some)
        }
        "R2P" if word.operands.iter().any(|operand| BYTES.contains(&operand.suffix)) => {
            predicates_of_byte(args).map(Some)
        }
        "MOV" | "UMOV" if word.operands.iter().any(|operand| matches!(operand.value, Value::Wide(_))) => {
            wide_move(args).map(Some)
        }
        "UP2UR" => packed_predicates(args).map(Some),
        "SGXT" | "USGXT" if word.has("W") => wrapped_extension(args).map(Some),
        "PLOP3" | "UPLOP3" if word.operands.iter().any(|operand| operand.suffix == "SIGN") => {
            signs(code, args).map(Some)
        }
        "LDGSTS" => copy(word, args).map(Some),
        "ATOM" if answers(word).is_some() => answered_atomic(word, args).map(Some),
        "LD" | "ST" if memory::is_narrow(word) => narrow(word, args).map(Some),
        _ => Ok(None),
    }
}

/// P0, whose value is kept in a register, and put back before the code goes on.
struct Borrowed(Reg);

impl Borrowed {
    fn keep(&self) -> Inst {
        Inst { dst: self.0, ..Inst::new(Op::P2r {}).srcs([Src::RZ, Src::imm(0x7F)]) }
    }

    fn put_back(&self) -> Inst {
        Inst::new(Op::R2p {}).srcs([Src::reg(self.0), Src::imm(1)])
    }

    /// It is whether two words are equal.
    fn compare(a: Src, b: Src) -> Inst {
        let op = Op::Isetp { cmp: ICmp::Eq, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
        let mut compare = Inst::new(op).srcs([a, b]);
        (compare.pdst[0], compare.psrc[0]) = (Pred(0), PredSrc::TRUE);
        compare
    }

    /// A branch if it holds.
    fn jump() -> Inst {
        Inst::new(Op::Bra {}).guarded(PredSrc { pred: Pred(0), not: false })
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
    let borrowed = Borrowed(args.temporary(0));
    let mut aside = Aside { insts: vec![borrowed.keep()], ..Aside::default() };
    let mut jumps = Vec::new();
    for target in &targets {
        aside.insts.push(Borrowed::compare(register, Src::imm(*target as u32)));
        jumps.push(aside.insts.len());
        aside.insts.push(Borrowed::jump());
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

/// Whether a branch leaves if the lanes have come apart, whichever these are; others name the lanes.
fn is_divergence_test(word: &Instruction) -> bool {
    word.has("DIV") && matches!(word.operands.first(), Some(Theirs { value: Value::Target(_), .. }))
}

/// A branch to code that waits for the lanes that an instruction needs, unless all of the warp are here.
fn divergence_test(code: &Code<'_>, args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("DIV");
    let Value::Target(address) = args.take()?.value else { return Err("its target is no address".into()) };
    let (borrowed, here) = (Borrowed(args.temporary(0)), args.temporary(1));
    let mut ballot = Inst::new(Op::Vote { mode: VoteMode::Ballot }).srcs([EVERY_LANE]);
    (ballot.dst, ballot.psrc[0]) = (here, PredSrc::TRUE);
    let compare = Borrowed::compare(Src::reg(here), EVERY_LANE);
    let mut leave = Inst::new(Op::Bra {});
    leave.target = code.place(address)?;
    let back = borrowed.put_back();
    let insts = vec![borrowed.keep(), ballot, compare, Borrowed::jump(), back, leave, back];
    Ok(Place::Aside(Aside { insts, local: vec![(3, 6)], returns: true, ..Aside::default() }))
}

/// A shifted sum with a carry into its lower word.
fn lea(args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("X");
    let mut sum = Inst::new(Op::Iadd3Carries { x: Extended(true) });
    args.dst(&mut sum)?;
    args.pred_dsts(&mut sum);
    let term = args.src()?;
    sum.src[1] = args.src()?;
    if term.neg || sum.src[1].neg {
        return Err("a negated term with a carry is not known of it".into());
    }
    let shift = args.integer()?;
    sum.psrc[..2].copy_from_slice(&[args.maybe_pred_src().unwrap_or(PredSrc::FALSE), PredSrc::FALSE]);
    let op = Op::ShfL { wide: Wide(false), wrap: Wrap(false), high: High(false) };
    let mut shifted = Inst::new(op).srcs([term, Src::imm(shift as u32), Src::RZ]);
    shifted.dst = args.temporary(0);
    (sum.src[0], sum.src[2]) = (Src::reg(shifted.dst), Src::RZ);
    Ok(Aside::of([shifted, sum]))
}

/// The upper word of a product and a pair, with a carry in or out: that of the 64-bit sum.
fn high_with_carry(args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("HI");
    let (x, sign) = (Extended(args.has("X")), arithmetic::sign(args));
    let mut upper = Inst::new(Op::Mov {});
    args.dst(&mut upper)?;
    if !upper.udst.is_zero() {
        return Err("a uniform result with a carry is not known of it".into());
    }
    let mut sum = Inst::new(Op::ImadWideCarry { sign, x });
    sum.pdst[0] = args.pred_dst().unwrap_or(Pred::PT);
    args.srcs::<3>(&mut sum)?;
    sum.psrc[0] = if x.0 { args.pred_src() } else { PredSrc::FALSE };
    if sum.src[2].neg {
        return Err("a negated addend of 64 bits is not known".into());
    }
    sum.dst = args.temporary(0);
    upper.src[0] = Src::reg(args.temporary(1));
    Ok(Aside::of([sum, upper]))
}

/// The low bits of a word, whose number counts modulo 32.
fn wrapped_extension(args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("W");
    let mut extension = Inst::new(Op::Sgxt { sign: arithmetic::sign(args) });
    args.dst(&mut extension)?;
    args.srcs::<2>(&mut extension)?;
    if let Operand::Imm(length) = extension.src[1].operand {
        extension.src[1] = Src::imm(length & 31);
        return Ok(Place::Here(extension));
    }
    let length = and(extension.src[1], 31, args.temporary(0));
    extension.src[1] = Src::reg(args.temporary(0));
    Ok(Aside::of([length, extension]))
}

/// A conversion from a literal of 64 bits, which has the upper half alone.
fn wide_literal(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let Some(mut convert) = float::translate(word, args)? else { return Err("it is no conversion".into()) };
    let [low, high] = [args.temporary(0), args.temporary(1)];
    let upper = std::mem::replace(&mut convert.src[0], Src::reg(low));
    Ok(Aside::of([moved(Src::RZ, low), moved(upper, high), convert]))
}

/// A literal of 64 bits in a pair.
fn wide_move(args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("64");
    let mut low = Inst::new(Op::Mov {});
    args.dst(&mut low)?;
    let Value::Wide(literal) = args.take()?.value else { return Err("its source is no literal".into()) };
    let mut high = Inst { dst: low.dst.nth(1), udst: low.udst.nth(1), ..low };
    (low.src[0], high.src[0]) = (Src::imm(literal as u32), Src::imm((literal >> 32) as u32));
    Ok(Aside::of([low, high]))
}

/// Arithmetic on halves with sources whose upper half changes its sign.
fn upper_negated(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let Some(mut whole) = half::translate(word, args)? else {
        return Err("it is no arithmetic on halves".into());
    };
    // The result is the first operand; halves have no pairs of literals beside a register of this kind.
    let mut insts = Vec::new();
    for (place, operand) in word.operands.iter().skip(1).take(3).enumerate() {
        if operand.suffix != UPPER_NEGATED {
            continue;
        }
        let Some(source) = whole.src.get_mut(place) else { return Err("its sources are not known".into()) };
        if source.abs || source.neg {
            return Err("a sign beside that of the upper half is not known of it".into());
        }
        let mut changed = Inst::new(Op::Lop3 { lut: Lut(0x3C) }).srcs([*source, Src::imm(1 << 31), Src::RZ]);
        changed.dst = args.temporary(place as u8);
        *source = Src::reg(changed.dst);
        insts.push(changed);
    }
    insts.push(whole);
    Ok(Aside::of(insts))
}

/// A comparison with one half of a source, which is put into both places.
fn compared_halves(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let (mut compare, halves) = half::compared(word, args)?;
    let mut insts = Vec::new();
    for (place, half) in halves.into_iter().enumerate() {
        let selector = match half {
            Halves::Both => continue,
            Halves::Low => 0x1010,
            Halves::High => 0x3232,
        };
        let source = Src { neg: false, abs: false, ..compare.src[place] };
        let op = Op::Prmt { mode: PrmtMode::Index };
        let mut both = Inst::new(op).srcs([source, Src::imm(selector), Src::RZ]);
        both.dst = args.temporary(place as u8);
        compare.src[place].operand = Operand::Reg(both.dst);
        insts.push(both);
    }
    insts.push(compare);
    Ok(Aside::of(insts))
}

/// Whether a shifted term is subtracted, and the carry of that is wanted.
fn subtracts(word: &Instruction) -> bool {
    let carries = |operand: &Theirs| match operand.value {
        Value::Predicate(number) | Value::UniformPredicate(number) => number != PT,
        _ => false,
    };
    let lower = !word.has("HI") && !word.has("X");
    // The carry is behind the result, the term behind the carry.
    lower
        && word.operands.get(1).is_some_and(carries)
        && word.operands.get(2).is_some_and(|operand| operand.negate)
}

/// The difference of a term and a shifted one, with the carry of a subtraction.
fn shifted_and_subtracted(args: &mut Args<'_>) -> Result<Place, Refusal> {
    let mut sum = Inst::new(Op::Iadd3Carries { x: Extended(false) });
    args.dst(&mut sum)?;
    args.pred_dsts(&mut sum);
    let [term, other] = [args.src()?, args.src()?];
    let shift = Src::imm(args.integer()? as u32);
    let op = Op::ShfL { wide: Wide(false), wrap: Wrap(false), high: High(false) };
    let mut shifted = Inst::new(op).srcs([Src { neg: false, ..term }, shift, Src::RZ]);
    // A uniform instruction reads uniform registers: the result's, unless the other term is there.
    let uniform = sum.pdst.iter().any(|pred| pred.is_uniform());
    let place = if uniform {
        let result = Src::uniform(sum.udst);
        if sum.udst.is_zero() || other.operand == result.operand {
            return Err("the shifted term has no place".into());
        }
        shifted.udst = sum.udst;
        result
    } else {
        shifted.dst = args.temporary(0);
        Src::reg(shifted.dst)
    };
    sum.psrc[..2].fill(PredSrc::FALSE);
    sum = sum.srcs([Src { neg: true, ..place }, other, Src::RZ]);
    Ok(Aside::of([shifted, sum]))
}

/// Whether the addend of a product of 64 bits is negated or complemented.
fn has_changed_addend(word: &Instruction) -> bool {
    let addend =
        |operand: &&Theirs| !matches!(operand.value, Value::Predicate(_) | Value::UniformPredicate(_));
    word.operands.iter().rfind(addend).is_some_and(|operand| operand.negate || operand.complement)
}

/// A product of 64 bits and an addend whose complement is added: with one more where it is negated, and with the carry otherwise.
fn changed_addend(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let (x, sign) = (args.has("X"), arithmetic::sign(args));
    args.has("WIDE");
    let mut sum = Inst::new(Op::ImadWideCarry { sign, x: Extended(true) });
    args.dst(&mut sum)?;
    sum.pdst[0] = args.pred_dst().unwrap_or(Pred::PT);
    args.srcs::<3>(&mut sum)?;
    sum.psrc[0] = if x { args.pred_src() } else { PredSrc::TRUE };
    let pair = [0, 1].map(|number| match sum.src[2].operand {
        Operand::Reg(reg) => Ok(Src::reg(reg.nth(number))),
        Operand::Uniform(reg) => Ok(Src::uniform(reg.nth(number))),
        _ => Err("an addend of this kind cannot be negated here"),
    });
    let [low, high] = [pair[0].clone()?, pair[1].clone()?];
    // A uniform instruction reads uniform registers: the result's, which nothing else may read.
    let uniform = !sum.udst.is_zero();
    let reads_result =
        |src: &Src| matches!(src.operand, Operand::Uniform(reg) if reg.0 | 1 == sum.udst.0 | 1);
    if uniform && sum.src[..2].iter().any(reads_result) {
        return Err(format!("the changed addend of `{word}` has no place"));
    }
    let mut insts = Vec::new();
    for (number, source) in [low, high].into_iter().enumerate() {
        let mut complement = Inst::new(Op::Lop3 { lut: Lut(0x0F) }).srcs([source, Src::RZ, Src::RZ]);
        if uniform {
            complement.udst = sum.udst.nth(number as u8);
        } else {
            complement.dst = args.temporary(number as u8);
        }
        insts.push(complement);
    }
    sum.src[2] = if uniform { Src::uniform(sum.udst) } else { Src::reg(args.temporary(0)) };
    insts.push(sum);
    Ok(Aside::of(insts))
}

/// Where in local memory the result of a barrier is kept that is taken elsewhere: behind what asides and functions of the system
/// keep there.
const BARRIER_RESULT: i32 = 40;

/// A reduction at a barrier whose result is kept until an instruction takes it.
fn kept_result(code: &Code<'_>, at: usize, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let (borrowed, result) = (Borrowed(args.temporary(0)), args.temporary(1));
    let mut barrier = control::bar(code, at, args)?;
    let mut insts = vec![borrowed.keep()];
    if (barrier.op == Op::Bar { mode: BarMode::RedPopc }) {
        barrier.dst = result;
        insts.push(barrier);
    } else {
        barrier.pdst[0] = Pred(0);
        let mut chosen = Inst::new(Op::Sel {}).srcs([Src::imm(1), Src::RZ]);
        (chosen.dst, chosen.psrc[0]) = (result, PredSrc { pred: Pred(0), not: false });
        insts.extend([barrier, chosen, borrowed.put_back()]);
    }
    let store = Inst::new(Op::Stl { width: MemWidth::B32 }).srcs([Src::RZ, Src::reg(result)]);
    insts.push(Inst { offset: BARRIER_RESULT, ..store });
    Ok(Place::Aside(Aside { local_bytes: BARRIER_RESULT as u32 + 4, ..Aside::returning(insts) }))
}

/// Takes the result of a barrier that is kept.
fn taken_result(args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("RESULT");
    let kept = args.temporary(0);
    let load = Inst {
        dst: kept,
        offset: BARRIER_RESULT,
        ..Inst::new(Op::Ldl { width: MemWidth::B32 }).srcs([Src::RZ])
    };
    let mut insts = vec![load];
    while let Some(operand) = args.peek() {
        args.skip(1);
        match operand.value {
            Value::Register(sass::RZ) => {}
            Value::Register(number) => insts.push(moved(Src::reg(kept), Reg(number))),
            Value::Predicate(number) => {
                let op = Op::Isetp { cmp: ICmp::Ne, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
                let mut compare = Inst::new(op).srcs([Src::reg(kept), Src::RZ]);
                (compare.pdst[0], compare.psrc[0]) = (Pred(number), PredSrc::TRUE);
                insts.push(compare);
            }
            _ => return Err("the place of its result is not known".into()),
        }
    }
    Ok(Place::Aside(Aside { local_bytes: BARRIER_RESULT as u32 + 4, ..Aside::returning(insts) }))
}

/// A number in single precision as a half, in both halves of the result: the sum of it and a negative zero. ptxas uses it
/// where it rounds towards zero.
fn converted_half(args: &mut Args<'_>) -> Result<Place, Refusal> {
    let op = Op::F2fp { dst: FloatTy::F16, rnd: PackRnd::Zero, relu: Relu(false), fin: SatFinite(false) };
    let mut pack = Inst::new(op);
    args.dst(&mut pack)?;
    let number = match [args.part()?, args.part()?] {
        [(number, "F32"), (zero, _)] | [(zero, _), (number, "F32")]
            if zero.operand == Operand::Reg(Reg::RZ) && zero.neg =>
        {
            number
        }
        _ => return Err("a sum with a number in single precision is not known".into()),
    };
    if matches!(number.operand, Operand::Reg(_)) {
        return Ok(Place::Here(pack.srcs([number, number])));
    }
    let plain = moved(Src { neg: false, abs: false, ..number }, pack.dst);
    let number = Src { operand: Operand::Reg(pack.dst), ..number };
    Ok(Aside::of([plain, pack.srcs([number, number])]))
}

/// The parts of a register behind its lowest byte.
const BYTES: [&str; 3] = ["B1", "B2", "B3"];

/// Predicates from a byte of a register.
fn predicates_of_byte(args: &mut Args<'_>) -> Result<Place, Refusal> {
    arithmetic::predicates(args)?;
    let (register, part) = args.part()?;
    let number = BYTES.iter().position(|byte| *byte == part).ok_or("which byte it reads is not known")?;
    let byte = args.temporary(0);
    // The byte, and three of zero.
    let selector = Src::imm(0x4441 + number as u32);
    let op = Op::Prmt { mode: PrmtMode::Index };
    let moved = Inst { dst: byte, ..Inst::new(op).srcs([register, selector, Src::RZ]) };
    let set = Inst::new(Op::R2p {}).srcs([Src::reg(byte), args.src()?]);
    Ok(Aside::of([moved, set]))
}

/// The uniform predicates that a mask names in the bits of a word, and the other bits of a source.
fn packed_predicates(args: &mut Args<'_>) -> Result<Place, Refusal> {
    let mut rest = Inst::new(Op::Lop3 { lut: Lut(0xC0) });
    args.dst(&mut rest)?;
    if !matches!(args.take()?, Theirs { value: Value::Name("UPR"), suffix: "", .. }) {
        return Err("only UP0 to UP6 in the lowest byte are known of it".into());
    }
    let source = args.src()?;
    let mask = args.integer()? as u32;
    let mut insts = vec![rest.srcs([source, Src::imm(!mask), Src::RZ])];
    for number in (0..PT).filter(|number| mask >> number & 1 == 1) {
        let word = Src::uniform(rest.udst);
        let set = Inst { udst: rest.udst, ..Inst::new(Op::Lop3 { lut: Lut(0xFC) }) };
        let set = set.srcs([word, Src::imm(1 << number), Src::RZ]);
        insts.push(set.guarded(PredSrc { pred: Pred::uniform(number), not: false }));
    }
    Ok(Aside::of(insts))
}

/// to = source & mask.
fn and(source: Src, mask: u32, to: Reg) -> Inst {
    let mut inst = Inst::new(Op::Lop3 { lut: Lut(0xC0) }).srcs([source, Src::imm(mask), Src::RZ]);
    inst.dst = to;
    inst
}

/// Functions of the signs of three registers: the function of the registers themselves has the sign that is wanted.
fn signs(code: &Code<'_>, args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("LUT");
    let mut results = Inst::new(Op::Nop {});
    args.pred_dsts(&mut results);
    let mut sources = [Src::RZ; 3];
    for source in &mut sources {
        let part;
        (*source, part) = args.part()?;
        if !matches!(part, "SIGN" | "") || source.neg {
            return Err("one of its sources is of a kind that is not known of it".into());
        }
    }
    let mut insts = Vec::new();
    for (at, pred) in results.pdst.into_iter().enumerate() {
        let lut = Lut(args.integer()? as u8);
        if pred == Pred::PT {
            continue;
        }
        let mut combined = Inst::new(Op::Lop3 { lut }).srcs(sources);
        let word = if pred.is_uniform() {
            combined.udst = code.layout.free_uniform.ok_or("all uniform registers are in use")?;
            Src::uniform(combined.udst)
        } else {
            combined.dst = args.temporary(at as u8);
            Src::reg(combined.dst)
        };
        let op = Op::Isetp { cmp: ICmp::Lt, sign: Sign::S32, bop: BoolOp::And, ex: Extended(false) };
        let mut sign = Inst::new(op).srcs([word, Src::RZ]);
        sign.pdst[0] = pred;
        sign.psrc[0] = PredSrc::TRUE;
        insts.extend([combined, sign]);
    }
    Ok(Aside::of(insts))
}

/// A copy from global to shared memory, which has ended when the next instruction begins. Where its predicate does not hold,
/// zeros are stored. With `ZFILL` the address is that of the data plus the number of bytes at their end that become zeros.
fn copy(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("BYPASS");
    args.has("ACCESS");
    let fills = args.has("ZFILL");
    let width = args.pick(&WIDTHS).unwrap_or(MemWidth::B32);
    let (data, address) = (args.temporary(0), args.temporary(4));
    let mut store = Inst::new(Op::Sts { width, scale: Scale::X1 });
    memory::address(&mut store, args, memory::Form::Narrow)?;
    store.src[1] = Src::reg(data);
    let mut load = Inst::new(Op::Ldg { width, order: MemOrder::Weak, ro: ReadOnly(false) });
    load.dst = data;
    memory::address(&mut load, args, memory::Form::Wide)?;
    let copied = args.pred_src();
    if copied == PredSrc::TRUE && !fills {
        return Ok(Aside::of([load, store]));
    }
    if word.guard.predicate != PT || word.guard.negated {
        return Err("a guard and zeros are not known of it".into());
    }
    let registers = || (0..width.regs()).map(|n| data.nth(n));
    let mut insts: Vec<Inst> = registers().map(|reg| moved(Src::RZ, reg)).collect();
    let bytes = 4 * u32::from(width.regs());
    let zeros = args.temporary(6);
    if fills {
        if !load.base.is_zero() {
            return Err("a uniform base and zeros are not known of it".into());
        }
        let mut whole = Inst::new(Op::IaddPair {}).srcs([load.src[0], Src::imm(load.offset as u32)]);
        whole.dst = address;
        insts.push(whole);
        insts.push(and(Src::reg(address), bytes - 1, zeros));
        insts.push(and(Src::reg(address), !(bytes - 1), address));
        (load.src[0], load.offset) = (Src::reg(address), 0);
    }
    insts.push(load.guarded(copied));
    if fills {
        // 8 * (bytes - zeros), the bits that remain, of which each word takes its part.
        let scaled = Inst::new(Op::Imad {}).srcs([Src::reg(zeros), Src::imm(8u32.wrapping_neg()), Src::RZ]);
        insts.push(Inst { dst: zeros, ..scaled });
        for (number, reg) in registers().enumerate() {
            let (bits, mask) = (args.temporary(7), args.temporary(7));
            let left = Src::imm(8 * (bytes - 4 * number as u32));
            let sum = Inst::new(Op::Iadd3 { x: Extended(false) }).srcs([Src::reg(zeros), left, Src::RZ]);
            insts.push(Inst { dst: bits, ..sum });
            let op = Op::Imnmx { sign: Sign::S32, max: Max(true) };
            insts.push(Inst { dst: bits, ..Inst::new(op).srcs([Src::reg(bits), Src::RZ]) });
            let ones = Inst::new(Op::Bmsk { wrap: Wrap(false) }).srcs([Src::RZ, Src::reg(bits)]);
            insts.push(Inst { dst: mask, ..ones });
            let kept = Inst::new(Op::Lop3 { lut: Lut(0xC0) }).srcs([Src::reg(reg), Src::reg(mask), Src::RZ]);
            insts.push(Inst { dst: reg, ..kept });
        }
    }
    insts.push(store);
    Ok(Aside::of(insts))
}

/// Whether the operand behind the result is a predicate that is written.
fn answers_second(word: &Instruction) -> bool {
    matches!(word.operands.get(1), Some(operand) if matches!(operand.value, Value::Predicate(number) if number != PT))
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
    Ok(Aside::of([atomic, constant(answers(word).unwrap_or(Pred::PT), true)]))
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
    let (low, high) = (args.temporary(0), args.temporary(1));
    let address = std::mem::replace(&mut access.src[0], Src::reg(low));
    Ok(Aside::of([moved(address, low), moved(Src::RZ, high), access]))
}
