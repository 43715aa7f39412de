//! Integers: carries, changed terms, pairs, signs and predicates.

use super::super::args::Args;
use super::super::arithmetic;
use super::super::code::{Aside, Code, Place, Refusal, moved};
use super::parts::{
    and, answers_second, compared, in_register, lop3, permuted, push_by_lanes, read_uniform, shifted,
};
use sass::{Instruction, Operand as Theirs, PT, Value};
use trace_format::isa::{
    BoolOp, Extended, ICmp, Inst, IntTy, Lut, Max, Op, Operand, Pred, PredSrc, PrmtMode, Reg, Sign,
    SpecialReg, Src, UniformReg,
};

/// A shifted sum with a carry into its lower word.
pub(super) fn lea(args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("X");
    let mut sum = Inst::new(Op::Iadd3Carries { x: Extended(true) });
    args.dst(&mut sum)?;
    args.pred_dsts(&mut sum);
    let term = args.src()?;
    sum.src[1] = args.src()?;
    // The other term is complemented by the row as well.
    if term.neg {
        return Err("a negated term with a carry is not known of it".into());
    }
    let shift = args.integer()?;
    sum.psrc[..2].copy_from_slice(&[args.maybe_pred_src().unwrap_or(PredSrc::FALSE), PredSrc::FALSE]);
    let shifted = shifted(term, shift as u32).dst(args.temporary(0));
    (sum.src[0], sum.src[2]) = (Src::reg(shifted.dst), Src::RZ);
    Ok(Aside::of([shifted, sum]))
}

/// The upper word of a product and a pair, with a carry in or out: that of the 64-bit sum.
pub(super) fn high_with_carry(args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("HI");
    let (x, sign) = (Extended(args.has("X")), arithmetic::sign(args));
    let mut upper = Inst::new(Op::Mov {});
    args.dst(&mut upper)?;
    let mut sum = Inst::new(Op::ImadWideCarry { sign, x });
    let carry = args.pred_dst().unwrap_or(Pred::PT);
    args.srcs::<3>(&mut sum)?;
    sum.psrc[0] = if x.0 { args.pred_src() } else { PredSrc::FALSE };
    sum.dst = args.temporary(0);
    upper.src[0] = Src::reg(args.temporary(1));
    let of_lanes = !carry.is_uniform() && upper.udst.is_zero();
    if of_lanes && !args.is_guard(carry) {
        sum.pdst[0] = carry;
        return Ok(Aside::of([sum, upper]));
    }
    // The last instruction writes the guard. A uniform result is the sum that all lanes have.
    let borrowed = args.borrow(2);
    sum.pdst[0] = borrowed.pred;
    let mut insts = vec![borrowed.keep(), sum];
    if of_lanes {
        insts.push(upper);
    } else if !upper.udst.is_zero() {
        insts.push(read_uniform(args.temporary(1), upper.udst));
    }
    insts.extend(borrowed.answer(carry, args.temporary(3)));
    Ok(Aside::of(insts))
}

/// The low bits of a word, whose number counts modulo 32.
pub(super) fn wrapped_extension(args: &mut Args<'_>) -> Result<Place, Refusal> {
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

/// Whether a pair gets a clock.
pub(super) fn clock(word: &Instruction) -> Option<[SpecialReg; 2]> {
    let Value::Name(name) = word.operands.get(1).filter(|_| !word.has("32"))?.value else { return None };
    match name {
        "SR_CLOCKLO" => Some([SpecialReg::ClockLo, SpecialReg::ClockHi]),
        "SR_GLOBALTIMERLO" => Some([SpecialReg::GlobalTimerLo, SpecialReg::GlobalTimerHi]),
        _ => None,
    }
}

/// Both halves of a clock.
pub(super) fn whole_clock(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let mut low = Inst::new(Op::Nop {});
    args.dst(&mut low)?;
    args.skip(1);
    let [lower, upper] = clock(word).ok_or("it names no clock")?;
    low.op = Op::S2r { sr: lower };
    Ok(Aside::of([
        low,
        Inst { op: Op::S2r { sr: upper }, dst: low.dst.nth(1), udst: low.udst.nth(1), ..low },
    ]))
}

/// A literal of 64 bits in a pair.
pub(super) fn wide_move(args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("64");
    let mut low = Inst::new(Op::Mov {});
    args.dst(&mut low)?;
    let Value::Wide(literal) = args.take()?.value else { return Err("its source is no literal".into()) };
    let mut high = Inst { dst: low.dst.nth(1), udst: low.udst.nth(1), ..low };
    (low.src[0], high.src[0]) = (Src::imm(literal as u32), Src::imm((literal >> 32) as u32));
    Ok(Aside::of([low, high]))
}

/// An instruction that reads a literal as a pair of registers: where ours would extend it to another number, the pair is made
/// before it.
pub(in super::super) fn with_literal_pair(
    word: &Instruction,
    mut inst: Inst,
    args: &Args<'_>,
) -> Result<Place, Refusal> {
    let theirs = word.operands.iter().find_map(|operand| match operand.value {
        Value::Integer(value) => Some([value as u32, (value >> 32) as u32]),
        _ => None,
    });
    let pairs = inst.info().src_regs;
    let ours = |(i, source): (usize, &Src)| match source.operand {
        Operand::Imm(value) if pairs[i] == 2 => Some((i, inst.op.literal_pair(value))),
        _ => None,
    };
    let (Some(theirs), Some((i, ours))) = (theirs, inst.src.iter().enumerate().find_map(ours)) else {
        return Ok(Place::Here(inst));
    };
    if ours == theirs {
        return Ok(Place::Here(inst));
    }
    if inst.writes_uniform() {
        // There are no uniform registers to spare: the words of the pair are chosen one by one.
        if !matches!(inst.op, Op::SelPair {}) {
            return Err("a literal of more than 32 bits is not known of it".into());
        }
        let word_of = |source: Src, number: u8| match source.operand {
            Operand::Imm(_) => Src::imm(theirs[usize::from(number)]),
            Operand::Uniform(first) => Src::uniform(first.nth(number)),
            _ => source,
        };
        let words = [0, 1].map(|number| Inst {
            op: Op::Sel {},
            udst: inst.udst.nth(number),
            src: inst.src.map(|source| word_of(source, number)),
            ..inst
        });
        return Ok(Aside::of(words));
    }
    let (low, high) = (args.temporary(0), args.temporary(1));
    inst.src[i].operand = Operand::Reg(low);
    Ok(Aside::of([moved(Src::imm(theirs[0]), low), moved(Src::imm(theirs[1]), high), inst]))
}

/// What a dot product adds to is subtracted from it.
pub(super) fn dot_product_less(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let Some(mut product) = arithmetic::translate(word, args)? else { return Err("it is no product".into()) };
    if !product.udst.is_zero() {
        return Err("a uniform result is not known of it".into());
    }
    let term = std::mem::replace(&mut product.src[2], Src::RZ);
    let result = std::mem::replace(&mut product.dst, args.temporary(0));
    let sum = Inst::new(Op::Iadd3 { x: Extended(false) }).srcs([Src::reg(product.dst), term, Src::RZ]);
    Ok(Aside::of([product, sum.dst(result)]))
}

/// A sum of pairs whose carry is wanted.
pub(super) fn pair_with_carry(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("64");
    let x = Extended(args.has("X"));
    let mut low = Inst::new(Op::Iadd3Carries { x });
    args.dst(&mut low)?;
    args.pred_dsts(&mut low);
    let (dst, udst) = (low.dst.nth(1), low.udst.nth(1));
    let mut high = Inst { op: Op::Iadd3Carries { x: Extended(true) }, dst, udst, ..low };
    high.src[2] = Src::RZ;
    low.src[2] = Src::RZ;
    for place in 0..2 {
        let operand = args.take()?;
        (low.src[place], high.src[place]) = match operand.value {
            Value::Integer(value) => (Src::imm(value as u32), Src::imm((value >> 32) as u32)),
            Value::Register(number) => (Src::reg(Reg(number)), Src::reg(Reg(number).nth(1))),
            Value::Uniform(number) => {
                let first = args.uniform(number);
                if first.is_zero() {
                    (Src::RZ, Src::RZ)
                } else {
                    (Src::uniform(first), Src::uniform(first.nth(1)))
                }
            }
            _ => return Err("an operand is of a kind that is not known of it".into()),
        };
        let changed = operand.negate || operand.complement;
        (low.src[place].neg, high.src[place].neg) = (changed, changed);
    }
    if word.mnemonic.ends_with('3') && args.src()? != Src::RZ {
        return Err("three pairs are not known of it".into());
    }
    let carry = if x.0 { args.maybe_pred_src() } else { None };
    if x.0 && args.maybe_pred_src().is_some_and(|second| second != PredSrc::FALSE) {
        return Err("a second carry is not known of it".into());
    }
    low.psrc[..2].copy_from_slice(&[carry.unwrap_or(PredSrc::FALSE), PredSrc::FALSE]);
    let (answer, result) = (low.pdst[0], low.udst);
    let of_lanes = !answer.is_uniform() && result.is_zero();
    if of_lanes && answer != Pred::PT && !args.is_guard(answer) {
        high.psrc[..2].copy_from_slice(&[PredSrc { pred: answer, not: false }, PredSrc::FALSE]);
        return Ok(Aside::of([low, high]));
    }
    // The carry between the words has no place of its own, or is the guard of both. A uniform result is the sum that all lanes
    // have.
    let borrowed = args.borrow(0);
    (low.pdst[0], high.pdst[0]) = (borrowed.pred, borrowed.pred);
    high.psrc[..2].copy_from_slice(&[borrowed.holds(), PredSrc::FALSE]);
    let mut insts = vec![borrowed.keep()];
    if of_lanes {
        insts.extend([low, high]);
    } else {
        for (inst, to) in [(&mut low, args.temporary(2)), (&mut high, args.temporary(3))] {
            (inst.udst, inst.dst) = (UniformReg::URZ, to);
        }
        insts.extend([low, high]);
        if !result.is_zero() {
            insts.extend([read_uniform(low.dst, result), read_uniform(high.dst, result.nth(1))]);
        }
    }
    insts.extend(borrowed.answer(answer, args.temporary(1)));
    Ok(Aside::of(insts))
}

/// A sum that ends at the smallest and the largest number.
pub(super) fn saturated_sum(args: &mut Args<'_>) -> Result<Place, Refusal> {
    args.has("ISAT");
    let parts: [(&str, (IntTy, &[u32])); 4] = [
        ("S16x2", (IntTy::S16, PARTS[0].2)),
        ("16x2", (IntTy::U16, PARTS[1].2)),
        ("S8x4", (IntTy::S8, PARTS[2].2)),
        ("U8x4", (IntTy::U8, PARTS[3].2)),
    ];
    if let Some(parts) = args.pick(&parts) {
        return saturated_parts(parts, args);
    }
    if args.has("32") {
        return saturated_unsigned_sum(args);
    }
    args.has("S32");
    let borrowed = args.borrow(0);
    let [whole, overflow, bound] = [1, 2, 3].map(|number| args.temporary(number));
    let mut chosen = Inst::new(Op::Sel {});
    args.dst(&mut chosen)?;
    let terms = [args.src()?, args.src()?];
    let (difference, terms) = in_order(terms)?;
    let mut insts = vec![borrowed.keep()];
    let [a, b] = [(terms[0], 4), (terms[1], 5)]
        .map(|(term, at)| in_register(Src { neg: false, ..term }, args.temporary(at), &mut insts));
    let sum = Inst::new(Op::Iadd3 { x: Extended(false) })
        .srcs([a, Src { neg: difference, ..b }, Src::RZ])
        .dst(whole);
    // A sum overflows where its sign is that of neither term; a difference where the signs of its terms differ, and its own is
    // that of the second.
    let signs = lop3(if difference { 0x18 } else { 0x42 }, [a, b, Src::reg(whole)], overflow);
    let sign = |source: Src| compared(borrowed.pred, ICmp::Lt, Sign::S32, source, Src::RZ);
    let largest = Inst::new(Op::Mov {}).srcs([Src::imm(i32::MAX as u32)]).dst(bound);
    let mut smallest = Inst::new(Op::Sel {}).srcs([Src::imm(1 << 31), Src::reg(bound)]).dst(bound);
    smallest.psrc[0] = borrowed.holds();
    chosen.psrc[0] = borrowed.holds();
    insts.extend([sum, signs, largest, sign(a), smallest, sign(Src::reg(overflow))]);
    push_by_lanes(chosen.srcs([Src::reg(bound), Src::reg(whole)]), whole, &mut insts);
    insts.push(borrowed.put_back());
    Ok(Aside::of(insts))
}

/// The sum of two terms without a sign, at most the largest number.
fn saturated_unsigned_sum(args: &mut Args<'_>) -> Result<Place, Refusal> {
    let borrowed = args.borrow(0);
    let whole = args.temporary(1);
    let mut chosen = Inst::new(Op::Sel {});
    args.dst(&mut chosen)?;
    let terms = [args.src()?, args.src()?];
    if terms.iter().any(|term| term.neg) {
        return Err("a saturated difference without a sign is not known of it".into());
    }
    let mut insts = vec![borrowed.keep()];
    let [a, b] =
        [(terms[0], 4), (terms[1], 5)].map(|(term, at)| in_register(term, args.temporary(at), &mut insts));
    insts.push(Inst::new(Op::Iadd3 { x: Extended(false) }).srcs([a, b, Src::RZ]).dst(whole));
    // A sum that is less than a term has lost its carry.
    insts.push(compared(borrowed.pred, ICmp::Lt, Sign::U32, Src::reg(whole), a));
    chosen.psrc[0] = borrowed.holds();
    push_by_lanes(chosen.srcs([Src::imm(u32::MAX), Src::reg(whole)]), whole, &mut insts);
    insts.push(borrowed.put_back());
    Ok(Aside::of(insts))
}

/// The sums or the differences of the parts of two words, each within the range of its type.
fn saturated_parts((ty, selectors): (IntTy, &[u32]), args: &mut Args<'_>) -> Result<Place, Refusal> {
    let mut all = Inst::new(Op::Prmt { mode: PrmtMode::Index });
    args.dst(&mut all)?;
    let terms = [args.src()?, args.src()?];
    let mut insts = Vec::new();
    let other = args.temporary(4);
    let sources = [(terms[0], 5), (terms[1], 6)]
        .map(|(term, at)| in_register(Src { neg: false, ..term }, args.temporary(at), &mut insts));
    let mut parts = Vec::new();
    for (number, selector) in (0..).zip(selectors) {
        let part = args.temporary(number);
        insts.push(permuted(sources[0], *selector, part));
        insts.push(permuted(sources[1], *selector, other));
        let of = |reg: Reg, term: Src| Src { neg: term.neg, ..Src::reg(reg) };
        let sum = [of(part, terms[0]), of(other, terms[1]), Src::RZ];
        insts.push(Inst::new(Op::Iadd3 { x: Extended(false) }).srcs(sum).dst(part));
        insts.push(Inst::new(Op::I2i { dst: ty, src: Sign::S32 }).srcs([Src::reg(part)]).dst(part));
        parts.push(part);
    }
    join(parts, all, &mut insts);
    Ok(Aside::of(insts))
}

/// The sums or the differences of the parts of two words, whose highest bits are given.
pub(super) fn sum_of_parts(highest: u32, args: &mut Args<'_>) -> Result<Place, Refusal> {
    for parts in ["16x2", "S16x2", "U8x4", "S8x4"] {
        args.has(parts);
    }
    let [low, upper] = [0, 1].map(|number| args.temporary(number));
    let mut joined = Inst::new(Op::Lop3 { lut: Lut(0x3C) });
    args.dst(&mut joined)?;
    let terms = [args.src()?, args.src()?];
    let (difference, terms) = in_order(terms)?;
    let mut insts = Vec::new();
    let [a, b] = [(terms[0], 4), (terms[1], 5)]
        .map(|(term, at)| in_register(Src { neg: false, ..term }, args.temporary(at), &mut insts));
    // Without the highest bits nothing is carried into the next part, and with that of the first nothing is borrowed from it.
    let first = match difference {
        true => lop3(0xFC, [a, Src::imm(highest), Src::RZ], low),
        false => and(a, !highest, low),
    };
    let second = Src { neg: difference, ..Src::reg(upper) };
    insts.extend([
        first,
        and(b, !highest, upper),
        Inst::new(Op::Iadd3 { x: Extended(false) }).srcs([Src::reg(low), second, Src::RZ]).dst(low),
        // The highest bits: their sum, and their difference, which is that of the complement.
        lop3(if difference { 0x82 } else { 0x28 }, [a, b, Src::imm(highest)], upper),
    ]);
    push_by_lanes(joined.srcs([Src::reg(low), Src::reg(upper), Src::RZ]), low, &mut insts);
    Ok(Aside::of(insts))
}

/// Whether one of two terms is subtracted, which then comes second.
fn in_order(terms: [Src; 2]) -> Result<(bool, [Src; 2]), Refusal> {
    match terms.map(|term| term.neg) {
        [false, false] => Ok((false, terms)),
        [false, true] => Ok((true, terms)),
        [true, false] => Ok((true, [terms[1], terms[0]])),
        [true, true] => Err("two negated terms are not known of it".into()),
    }
}

/// Selectors of the halves or the bytes of a word, each with its sign or with zeros from the other source of the permutation.
const PARTS: [(&str, Sign, &[u32]); 4] = [
    ("S16x2", Sign::S32, &[0x9910, 0xBB32]),
    ("U16x2", Sign::U32, &[0x4410, 0x4432]),
    ("S8x4", Sign::S32, &[0x8880, 0x9991, 0xAAA2, 0xBBB3]),
    ("U8x4", Sign::U32, &[0x4440, 0x4441, 0x4442, 0x4443]),
];

/// Whether an instruction acts on each part of its sources.
pub(super) fn has_parts(word: &Instruction) -> bool {
    PARTS.iter().any(|(name, ..)| word.has(name))
}

/// The smallest or the largest of each part of two or three words; of `VIADDMNMX`, of the parts' sum and the third word's.
pub(super) fn minimum_of_parts(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let kinds = PARTS.map(|(name, sign, selectors)| (name, (sign, selectors)));
    let (sign, selectors) = args.pick(&kinds).ok_or("its parts are not known")?;
    let mut all = Inst::new(Op::Prmt { mode: PrmtMode::Index });
    args.dst(&mut all)?;
    let adds = word.mnemonic == "VIADDMNMX";
    let count = if word.mnemonic == "VIMNMX" { 2 } else { 3 };
    let sources: Vec<Src> = (0..count).map(|_| args.src()).collect::<Result<_, _>>()?;
    let compared = if adds { 2 } else { 0 };
    if sources[compared..].iter().any(|source| source.neg) {
        return Err("a negated part is not known of it".into());
    }
    let max = Max(arithmetic::is_max(args)?);
    let positive = args.has("RELU");
    let other = args.temporary(4);
    let mut insts = Vec::new();
    let negated: Vec<bool> = sources.iter().map(|source| source.neg).collect();
    let sources: Vec<Src> = (5..)
        .zip(sources)
        .map(|(at, source)| in_register(Src { neg: false, ..source }, args.temporary(at), &mut insts))
        .collect();
    let mut parts = Vec::new();
    for (number, selector) in (0..).zip(selectors) {
        let part = args.temporary(number);
        insts.push(permuted(sources[0], *selector, part));
        let mut compared = &sources[1..];
        if adds {
            // The sum keeps the width of its parts.
            let term = |reg: Reg, neg: bool| Src { neg, ..Src::reg(reg) };
            let terms = [term(part, negated[0]), term(other, negated[1]), Src::RZ];
            insts.push(permuted(sources[1], *selector, other));
            insts.push(Inst::new(Op::Iadd3 { x: Extended(false) }).srcs(terms).dst(part));
            insts.push(permuted(Src::reg(part), selectors[0], part));
            compared = &sources[2..];
        }
        for source in compared {
            insts.push(permuted(*source, *selector, other));
            insts.push(Inst::new(Op::Imnmx { sign, max }).srcs([Src::reg(part), Src::reg(other)]).dst(part));
        }
        if positive {
            let op = Op::Imnmx { sign: Sign::S32, max: Max(true) };
            insts.push(Inst::new(op).srcs([Src::reg(part), Src::RZ]).dst(part));
        }
        parts.push(part);
    }
    join(parts, all, &mut insts);
    Ok(Aside::of(insts))
}

/// Puts two halves or four bytes, each in a register, together.
fn join(mut parts: Vec<Reg>, all: Inst, insts: &mut Vec<Inst>) {
    let joined = |low: Reg, selector: u32, high: Reg| [Src::reg(low), Src::imm(selector), Src::reg(high)];
    if let &[a, b, c, d] = &parts[..] {
        let pair = Inst::new(Op::Prmt { mode: PrmtMode::Index });
        insts.extend([pair.srcs(joined(a, 0x40, b)).dst(a), pair.srcs(joined(c, 0x40, d)).dst(c)]);
        parts = vec![a, c];
    }
    insts.push(all.srcs(joined(parts[0], 0x5410, parts[1])));
}

/// Whether a shifted term or the other one is subtracted, and the carry of that is wanted.
pub(super) fn subtracts(word: &Instruction) -> bool {
    let lower = !word.has("HI") && !word.has("X");
    // The carry is behind the result, the terms behind the carry.
    lower && answers_second(word) && word.operands.iter().skip(2).take(2).any(|operand| operand.negate)
}

/// The difference of a term and a shifted one, with the carry of a subtraction. Either may be negated.
pub(super) fn shifted_and_subtracted(args: &mut Args<'_>) -> Result<Place, Refusal> {
    let mut sum = Inst::new(Op::Iadd3Carries { x: Extended(false) });
    args.dst(&mut sum)?;
    args.pred_dsts(&mut sum);
    let [term, other] = [args.src()?, args.src()?];
    let mut shifted = shifted(Src { neg: false, ..term }, args.integer()? as u32);
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
    sum = sum.srcs([Src { neg: term.neg, ..place }, other, Src::RZ]);
    Ok(Aside::of([shifted, sum]))
}

/// Whether a term of a shifted sum is complemented: where it says so, or is negated and the carry of the upper word is wanted.
pub(super) fn complements(word: &Instruction) -> bool {
    let carries = word.has("HI") && !word.has("X") && answers_second(word);
    word.operands.iter().any(|operand| operand.complement || (carries && operand.negate))
}

/// The upper word of a shifted pair, and a complement: the upper word of a difference, whose carry is that of the lower one.
pub(super) fn lea_of_complement(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let Some(mut sum) = arithmetic::translate(word, args)? else { return Err("it is no sum".into()) };
    // The row negates where the instruction complements.
    let source = Src { neg: false, ..sum.src[1] };
    let uniform = sum.pdst.iter().any(|pred| pred.is_uniform()) || !sum.udst.is_zero();
    let again = [sum.src[0], sum.src[2]].iter().any(|other| other.operand == source.operand);
    let term = match source.operand {
        Operand::Uniform(term) => Some(term),
        _ => None,
    };
    if sum.src[0].neg || sum.src[2].neg || (uniform && (again || term.is_none())) {
        return Err("a complement in this place is not known of it".into());
    }
    if let (true, Some(term)) = (uniform, term) {
        // There are no uniform registers to spare: the term is complemented where it is, and again behind the sum.
        let mut complement = lop3(0x0F, [source, Src::RZ, Src::RZ], Reg::RZ);
        complement.udst = term;
        sum.src[1] = source;
        let restored = if sum.udst == term { Vec::new() } else { vec![complement] };
        return Ok(Aside::of([vec![complement, sum], restored].concat()));
    }
    let complement = lop3(0x0F, [source, Src::RZ, Src::RZ], args.temporary(0));
    sum.src[1] = Src::reg(complement.dst);
    Ok(Aside::of([complement, sum]))
}

/// The smaller or the larger of pairs.
pub(super) fn minimum_of_pairs(args: &mut Args<'_>) -> Result<Place, Refusal> {
    let sign = args.pick(&[("S64", Sign::S32), ("U64", Sign::U32)]).ok_or("its type is not known")?;
    for _ in 0..2 {
        args.no_pred_dst("its predicate is not known")?;
    }
    let mut result = Inst::new(Op::SelPair {});
    args.dst(&mut result)?;
    let sources = [args.src()?, args.src()?];
    let max = arithmetic::is_max(args)?;
    let other = args.maybe_pred_src();
    if other.is_some_and(|pred| pred != PredSrc::FALSE) {
        return Err("its second predicate is not known".into());
    }
    let cmp = if max { ICmp::Gt } else { ICmp::Lt };
    let borrowed = args.borrow(0);
    let mut compare = Inst::new(Op::IsetpPair { cmp, sign, bop: BoolOp::And }).srcs(sources);
    (compare.pdst[0], compare.psrc[0]) = (borrowed.pred, PredSrc::TRUE);
    result.psrc[0] = borrowed.holds();
    let mut insts = vec![borrowed.keep(), compare];
    push_by_lanes(result.srcs(sources), args.temporary(2), &mut insts);
    insts.push(borrowed.put_back());
    Ok(Aside::of(insts))
}

/// Whether the addend of a product of 64 bits is negated or complemented.
pub(super) fn has_changed_addend(word: &Instruction) -> bool {
    let addend =
        |operand: &&Theirs| !matches!(operand.value, Value::Predicate(_) | Value::UniformPredicate(_));
    word.operands.iter().rfind(addend).is_some_and(|operand| operand.negate || operand.complement)
}

/// A product of 64 bits and an addend whose complement is added: with one more where it is negated, and with the carry otherwise.
pub(super) fn changed_addend(args: &mut Args<'_>) -> Result<Place, Refusal> {
    let (x, sign) = (args.has("X"), arithmetic::sign(args));
    let upper = !args.has("WIDE") && args.has("HI");
    let mut sum = Inst::new(Op::ImadWideCarry { sign, x: Extended(true) });
    args.dst(&mut sum)?;
    let (result, shared) = (sum.dst, std::mem::replace(&mut sum.udst, UniformReg::URZ));
    let carry = args.pred_dst().unwrap_or(Pred::PT);
    args.srcs::<3>(&mut sum)?;
    sum.psrc[0] = if x { args.pred_src() } else { PredSrc::TRUE };
    let pair = [0, 1].map(|number| match sum.src[2].operand {
        Operand::Reg(reg) => Ok(Src::reg(reg.nth(number))),
        Operand::Uniform(reg) => Ok(Src::uniform(reg.nth(number))),
        _ => Err("an addend of this kind cannot be negated here"),
    });
    let mut insts = Vec::new();
    for (number, source) in (0..).zip(pair) {
        insts.push(lop3(0x0F, [source?, Src::RZ, Src::RZ], args.temporary(number)));
    }
    sum.src[2] = Src::reg(args.temporary(0));
    let is_uniform = carry.is_uniform() || !shared.is_zero();
    if upper || is_uniform {
        sum.dst = args.temporary(2);
    }
    if !is_uniform {
        sum.pdst[0] = carry;
        insts.push(sum);
        if upper {
            insts.push(moved(Src::reg(sum.dst.nth(1)), result));
        }
        return Ok(Aside::of(insts));
    }
    // All lanes have the same sum: it goes to where uniform instructions find it.
    let borrowed = args.borrow(4);
    sum.pdst[0] = borrowed.pred;
    insts.extend([borrowed.keep(), sum]);
    if !shared.is_zero() {
        let words = if upper { &[1][..] } else { &[0, 1] };
        let read = |(to, from): (u8, &u8)| read_uniform(sum.dst.nth(*from), shared.nth(to));
        insts.extend((0..).zip(words).map(read));
    }
    insts.extend(borrowed.answer(carry, args.temporary(5)));
    Ok(Aside::of(insts))
}

/// The parts of a register behind its lowest byte.
pub(super) const BYTES: [&str; 3] = ["B1", "B2", "B3"];

/// Predicates from a byte of a register.
pub(super) fn predicates_of_byte(args: &mut Args<'_>) -> Result<Place, Refusal> {
    arithmetic::predicates(args)?;
    let (register, part) = args.part()?;
    let number = BYTES.iter().position(|byte| *byte == part).ok_or("which byte it reads is not known")?;
    let byte = args.temporary(0);
    // The byte, and three of zero.
    let moved = permuted(register, 0x4441 + number as u32, byte);
    let set = Inst::new(Op::R2p {}).srcs([Src::reg(byte), args.src()?]);
    Ok(Aside::of([moved, set]))
}

/// The uniform predicates that a mask names in the bits of a word, and the other bits of a source.
pub(super) fn packed_predicates(args: &mut Args<'_>) -> Result<Place, Refusal> {
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

/// Functions of the signs of three registers: the function of the registers themselves has the sign that is wanted.
pub(super) fn signs(code: &Code<'_>, args: &mut Args<'_>) -> Result<Place, Refusal> {
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
        insts.extend([combined, compared(pred, ICmp::Lt, Sign::S32, word, Src::RZ)]);
    }
    Ok(Aside::of(insts))
}
