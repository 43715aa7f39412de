//! Arithmetic, comparisons and conversions of parts of registers.

use super::super::args::Args;
use super::super::code::{Aside, Place, Refusal, moved};
use super::super::float;
use super::super::half::{self, EXCHANGED};
use super::parts::{in_register, lop3, permuted};
use sass::Instruction;
use trace_format::isa::{
    AccTy, FloatTy, Halves, HmmaTy, Inst, Op, Operand, PackRnd, Reg, Relu, SatFinite, Src,
};

/// A conversion from a literal of 64 bits, which has the upper half alone.
pub(super) fn wide_literal(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let Some(mut convert) = float::translate(word, args)? else { return Err("it is no conversion".into()) };
    let [low, high] = [args.temporary(0), args.temporary(1)];
    let upper = std::mem::replace(&mut convert.src[0], Src::reg(low));
    Ok(Aside::of([moved(Src::RZ, low), moved(upper, high), convert]))
}

/// A conversion of the upper half of a register.
pub(super) fn of_upper_half(args: &mut Args<'_>) -> Result<Place, Refusal> {
    let mut convert = Inst::new(float::to_integer(args));
    args.dst(&mut convert)?;
    let (source, _) = args.part()?;
    convert.src[0] = source;
    let half = permuted(Src { neg: false, abs: false, ..source }, 0x7732, args.temporary(0));
    convert.src[0].operand = Operand::Reg(half.dst);
    Ok(Aside::of([half, convert]))
}

/// Arithmetic on halves with sources whose halves change places, and the lower one, which was the upper one, its sign. A sign
/// of the source is one of both.
pub(super) fn exchanged(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let Some(mut whole) = half::translate(word, args)? else {
        return Err("it is no arithmetic on halves".into());
    };
    // The result is the first operand; halves have no pairs of literals beside a register of this kind.
    let mut insts = Vec::new();
    for (place, operand) in word.operands.iter().skip(1).take(3).enumerate() {
        if operand.suffix != EXCHANGED {
            continue;
        }
        let Some(source) = whole.src.get_mut(place) else { return Err("its sources are not known".into()) };
        if source.abs {
            return Err("a magnitude beside the sign of a half is not known of it".into());
        }
        let to = args.temporary(place as u8);
        insts.push(permuted(Src { neg: false, ..*source }, 0x1032, to));
        insts.push(lop3(0x3C, [Src::reg(to), Src::imm(1 << 15), Src::RZ], to));
        source.operand = Operand::Reg(to);
    }
    insts.push(whole);
    Ok(Aside::of(insts))
}

/// A product of matrices of which some are negated, or taken without their signs.
///
/// A sign of a matrix of halves is refused: ptxas lets it stand for the sign of the upper half alone, which it gives words that it takes
/// for single precision, and does not use it to negate both halves. What silicon does with it is not known.
pub(super) fn signed_product(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let Some(mut product) = float::translate(word, args)? else { return Err("it is no product".into()) };
    // The signs of the numbers in a word: of doubles, in the upper one of two.
    let (single, halves, double) = (Some([1 << 31; 2]), Some([0x8000_8000; 2]), Some([0, 1 << 31]));
    let (factor, sum) = match product.op {
        Op::Dmma { .. } => (double, double),
        Op::Hmma { ty, acc, .. } => {
            let factor = if ty == HmmaTy::Tf32 { single } else { None };
            (factor, if acc == AccTy::F32 { single } else { halves })
        }
        _ => return Err("a sign of a matrix is not known of it".into()),
    };
    let (mut insts, registers) = (Vec::new(), product.info().src_regs);
    for (place, first, signs) in [(2, 0, sum), (0, 4, factor), (1, 8, factor)] {
        let source = &mut product.src[place];
        let (negated, absolute) = (std::mem::take(&mut source.neg), std::mem::take(&mut source.abs));
        if !negated && !absolute {
            continue;
        }
        let Some(signs) = signs else {
            return Err("what silicon does with a sign of a matrix of halves is not known".into());
        };
        let Operand::Reg(from) = source.operand else {
            return Err("a source with a sign is no register".into());
        };
        for number in 0..registers[place] {
            let signs = signs[usize::from(number % 2)];
            // Of a number without its sign: negated, the sign is set.
            let (lut, bits) = match (negated, absolute) {
                (true, false) => (0x3C, signs),
                (true, true) => (0xFC, signs),
                (false, _) => (0xC0, !signs),
            };
            let to = args.temporary(first + number);
            insts.push(lop3(lut, [Src::reg(from.nth(number)), Src::imm(bits), Src::RZ], to));
        }
        *source = Src::reg(args.temporary(first));
    }
    insts.push(product);
    Ok(Aside::of(insts))
}

/// A comparison with one half of a source, which is put into both places.
pub(super) fn compared_halves(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let (mut compare, halves) = half::compared(word, args)?;
    let mut insts = Vec::new();
    for (place, half) in halves.into_iter().enumerate() {
        let selector = match half {
            Halves::Both => continue,
            Halves::Low => 0x1010,
            Halves::High => 0x3232,
        };
        let source = Src { neg: false, abs: false, ..compare.src[place] };
        let to = args.temporary(place as u8);
        let both = permuted(in_register(source, to, &mut insts), selector, to);
        compare.src[place].operand = Operand::Reg(both.dst);
        insts.push(both);
    }
    insts.push(compare);
    Ok(Aside::of(insts))
}

/// A number in single precision as a half, in both halves of the result: the sum of it and a negative zero. ptxas uses it
/// where it rounds towards zero.
pub(super) fn converted_half(args: &mut Args<'_>) -> Result<Place, Refusal> {
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
