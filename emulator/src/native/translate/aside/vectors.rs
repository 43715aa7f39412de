//! Accesses that are several of ours: atomics on vectors, whose elements are modified one after the other, and loads and
//! stores of 256 bits.

use super::super::args::Args;
use super::super::code::{Aside, Place, Refusal, moved};
use super::super::memory::{self, Form, VECTORS};
use sass::{Instruction, Value};
use trace_format::isa::{Address, Inst, MemWidth, Op, Operand, PredSrc, ReadOnly, Reg, Src};

/// Whether an atomic is on a vector.
pub(super) fn is_vector(word: &Instruction) -> bool {
    VECTORS.iter().any(|(name, _)| word.has(name))
}

/// An atomic on a vector, with a result or without.
pub(super) fn atomic(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let (element, count) = args.pick(&VECTORS).ok_or("its vector is not known")?;
    let whole = match word.mnemonic {
        "REDG" => memory::reduction(args)?,
        "ATOMG" => memory::atomic(word, args, false)?,
        _ => return Err("its operation on vectors is not known".into()),
    };
    let result = whole.dst;
    let mut insts = Vec::new();
    // All results come after all reads.
    let through = !result.is_zero();
    for number in 0..count {
        let mut one = whole;
        one.offset += i32::from(number) * i32::from(element.bytes());
        one.src[1] = nth(whole.src[1], number)?;
        if through {
            one.dst = args.temporary(number);
        }
        insts.push(one);
    }
    if through {
        insts.extend((0..count).map(|number| moved(Src::reg(args.temporary(number)), result.nth(number))));
    }
    Ok(Aside::of(insts))
}

/// The word of a source that is so many registers behind its first.
fn nth(source: Src, number: u8) -> Result<Src, Refusal> {
    match source.operand {
        Operand::Reg(reg) => Ok(Src::reg(reg.nth(number))),
        _ => Err("a vector that is not in registers is not known of it".into()),
    }
}

/// A load or store of 256 bits, which are in two vectors of four registers. A mask names the words that are moved; those
/// of each vector are in its first registers.
pub(super) fn wide(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    for hint in ["256", "ENL2", "EFL2", "ELL2"] {
        args.has(hint);
    }
    let loads = word.mnemonic == "LDG";
    let order = memory::order(args);
    let of = |width| match loads {
        true => Op::Ldg { width, order, ro: ReadOnly(word.has("CONSTANT")) },
        false => Op::Stg { width, order },
    };
    args.has("CONSTANT");
    let mut whole = Inst::new(of(MemWidth::B32));
    let vectors = if loads {
        let (mut low, mut high) = (whole, whole);
        args.dst(&mut high)?;
        args.dst(&mut low)?;
        memory::address(&mut whole, args, Form::Wide)?;
        [low.dst, high.dst]
    } else {
        memory::address(&mut whole, args, Form::Wide)?;
        [register(args)?, register(args)?]
    };
    let mask = match args.peek().map(|operand| operand.value) {
        Some(Value::Integer(mask)) => {
            args.skip(1);
            mask
        }
        _ => 0xff,
    };
    if args.maybe_pred_src().is_some_and(|pred| pred != PredSrc::TRUE) {
        return Err("its predicate is not known".into());
    }
    if !whole.op.info().memory.is_some_and(|access| matches!(access.address, Address::Wide)) {
        return Err("an address of 32 bits is not known of it".into());
    }
    let mut insts = Vec::new();
    if loads
        && let Operand::Reg(address) = whole.src[0].operand
        && !address.is_zero()
    {
        // The first words may be loaded into the registers of the address.
        let kept = [args.temporary(0), args.temporary(1)];
        insts.extend([moved(Src::reg(address), kept[0]), moved(Src::reg(address.nth(1)), kept[1])]);
        whole.src[0] = Src::reg(kept[0]);
    }
    for (half, vector) in vectors.into_iter().enumerate() {
        let words: Vec<i32> = (0..4).filter(|word| mask >> (4 * half as i32 + word) & 1 != 0).collect();
        let mut access = |width, word: i32, number: u8| {
            let mut one = Inst { op: of(width), ..whole };
            one.offset += 4 * (4 * half as i32 + word);
            match loads {
                true => one.dst = vector.nth(number),
                false => one.src[1] = Src::reg(vector.nth(number)),
            }
            insts.push(one);
        };
        if words.len() == 4 {
            access(MemWidth::B128, 0, 0);
        } else {
            words.iter().enumerate().for_each(|(number, word)| access(MemWidth::B32, *word, number as u8));
        }
    }
    Ok(Aside::of(insts))
}

/// Takes a source that is a register.
fn register(args: &mut Args<'_>) -> Result<Reg, Refusal> {
    match args.src()?.operand {
        Operand::Reg(reg) => Ok(reg),
        _ => Err("a vector that is not in registers is not known of it".into()),
    }
}
