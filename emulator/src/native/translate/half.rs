//! Arithmetic on pairs of halves, with the halves that an operand names.

use super::args::Args;
use super::code::Refusal;
use super::float::comparison;
use sass::{Instruction, RZ, Value};
use trace_format::isa::{BoolFloat, Ftz, HalfTy, Halves, Inst, Op, Operand, Relu, Sat, Src};

/// The part of a register whose halves change places, and the lower one its sign; it has to be changed before. ptxas uses it for
/// constants: `0xFFFF8000` is that of `0x0000FFFF`.
pub(super) const EXCHANGED: &str = "H0_NH1";

/// Translates an instruction of this file; none if it is another.
pub(super) fn translate(word: &Instruction, args: &mut Args<'_>) -> Result<Option<Inst>, Refusal> {
    match word.mnemonic {
        "HADD2" | "HMUL2" | "HFMA2" | "HSET2" | "HSETP2" => of_halves(word, args).map(Some),
        _ => Ok(None),
    }
}

fn of_halves(word: &Instruction, args: &mut Args<'_>) -> Result<Inst, Refusal> {
    if let "HSET2" | "HSETP2" = word.mnemonic {
        return match compared(word, args)? {
            (inst, [Halves::Both, Halves::Both]) => Ok(inst),
            _ => Err("one half of a source is not known of it".into()),
        };
    }
    let ty = half_type(args);
    arithmetic(word, ty, args)
}

pub(super) fn half_type(args: &mut Args<'_>) -> HalfTy {
    if args.has("BF16_V2") { HalfTy::Bf16 } else { HalfTy::F16 }
}

/// A comparison of both halves of its sources, and the halves that it is of, which have to be put into both places before.
pub(super) fn compared(word: &Instruction, args: &mut Args<'_>) -> Result<(Inst, [Halves; 2]), Refusal> {
    let ty = half_type(args);
    let bf = BoolFloat(args.has("BF"));
    let (cmp, bop, ftz) = comparison(args)?;
    let mut inst = Inst::new(Op::Nop {});
    if word.mnemonic == "HSET2" {
        inst.op = Op::Hset2 { ty, cmp, ftz, bop, bf };
        args.dst(&mut inst)?;
    } else {
        inst.op = Op::Hsetp2 { ty, cmp, ftz, bop };
        args.pred_dsts(&mut inst);
    }
    let mut halves = [Halves::Both; 2];
    for (place, part) in halves.iter_mut().enumerate() {
        (inst.src[place], *part) = source(args)?;
    }
    inst.psrc[0] = args.pred_src();
    Ok((inst, halves))
}

/// A source, which may be two literals, with its halves.
pub(super) fn source(args: &mut Args<'_>) -> Result<(Src, Halves), Refusal> {
    let first = args.peek().ok_or("an operand is missing")?;
    if let Value::Half(upper) | Value::BFloat16(upper) = first.value {
        args.skip(1);
        let (Value::Half(lower) | Value::BFloat16(lower)) = args.take()?.value else {
            return Err("one of a pair of literals is missing".into());
        };
        return Ok((Src::imm(u32::from(upper) << 16 | u32::from(lower)), Halves::Both));
    }
    let (src, part) = args.part()?;
    let halves = match part {
        "" | "H1_H0" | EXCHANGED => Halves::Both,
        "H0_H0" | "H1_H1" if is_zero(src) => Halves::Both,
        "H0_H0" => Halves::Low,
        "H1_H1" => Halves::High,
        _ => return Err(format!("the part .{part} of a register is not known of it")),
    };
    Ok((src, halves))
}

fn arithmetic(word: &Instruction, ty: HalfTy, args: &mut Args<'_>) -> Result<Inst, Refusal> {
    args.has("MMA");
    let single = args.has("F32");
    let (ftz, sat, relu) = (Ftz(args.has("FTZ")), Sat(args.has("SAT")), Relu(args.has("RELU")));
    let mut inst = Inst::new(Op::Nop {});
    args.dst(&mut inst)?;
    let mut halves = [Halves::Both; 3];
    let count = if word.mnemonic == "HFMA2" { 3 } else { 2 };
    for (place, part) in halves.iter_mut().enumerate().take(count) {
        (inst.src[place], *part) = source(args)?;
    }
    let [a, b, c] = halves;
    let plain = halves == [Halves::Both; 3];
    inst.op = match word.mnemonic {
        "HADD2" if single => Op::HaddSingle { ty, ftz, sat, a, b },
        _ if single => return Err("a result in single precision is not known of it".into()),
        "HADD2" if plain => Op::Hadd2 { ty, ftz, sat },
        "HADD2" => Op::Hadd2Parts { ty, ftz, sat, a, b },
        "HMUL2" if plain && !inst.src.iter().any(|src| src.abs) => Op::Hmul2 { ty, ftz, sat },
        "HMUL2" => Op::Hmul2Parts { ty, ftz, sat, a, b },
        _ if is_zero(inst.src[0])
            && is_zero(inst.src[1])
            && inst.src[0].neg != inst.src[1].neg
            && matches!(inst.src[2].operand, Operand::Imm(_)) =>
        {
            // The sum of a negative zero and a literal is the literal: the move of a constant, whatever it would be as a
            // number. With a positive zero it is a sum, of which a NaN is the canonical one.
            let literal = inst.src[2];
            let mut moved = Inst::new(Op::Mov {}).srcs([literal]);
            (moved.dst, moved.udst) = (inst.dst, inst.udst);
            return Ok(moved);
        }
        _ if plain => Op::Hfma2 { ty, ftz, sat, relu },
        _ => Op::Hfma2Parts { ty, ftz, sat, relu, a, b, c },
    };
    Ok(inst)
}

fn is_zero(src: Src) -> bool {
    matches!(src.operand, Operand::Reg(reg) if reg.0 == RZ)
}
