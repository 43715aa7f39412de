//! Copies to shared memory, atomics that say that they were done, and generic addresses of 32 bits.

use super::super::args::Args;
use super::super::code::{Aside, Place, Refusal, constant, guard_of, moved};
use super::super::memory::{self, WIDTHS};
use super::parts::{and, compared, lop3};
use sass::{Instruction, PT, Value};
use trace_format::isa::space::{LOCAL_WINDOW_HI, SHARED_WINDOW_HI};
use trace_format::isa::{
    Extended, ICmp, Inst, Lut, Max, MemOrder, MemWidth, Op, Pred, PredSrc, ReadOnly, Scale, Sign, Src,
    UniformReg, Wrap,
};

/// A copy from global to shared memory, which has ended when the next instruction begins. Where its predicate does not hold,
/// zeros are stored. With `ZFILL` the address is that of the data plus the number of bytes at their end that become zeros.
pub(super) fn copy(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
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
    let registers = || (0..width.regs()).map(|n| data.nth(n));
    let mut insts: Vec<Inst> = registers().map(|reg| moved(Src::RZ, reg)).collect();
    let bytes = 4 * u32::from(width.regs());
    let zeros = args.temporary(6);
    if fills {
        let mut sum = |a: Src, b: Src| insts.push(Inst::new(Op::IaddPair {}).srcs([a, b]).dst(address));
        sum(load.src[0], Src::imm(load.offset as u32));
        if !load.base.is_zero() {
            sum(Src::reg(address), Src::uniform(load.base));
            load.base = UniformReg::URZ;
        }
        insts.push(and(Src::reg(address), bytes - 1, zeros));
        insts.push(and(Src::reg(address), !(bytes - 1), address));
        (load.src[0], load.offset) = (Src::reg(address), 0);
    }
    // Where the guard holds, and the predicate of the copy.
    let guard = guard_of(word);
    let unguarded = guard == PredSrc::TRUE;
    let borrowed = args.borrow(8);
    let only_where_copied = if unguarded || copied == PredSrc::TRUE {
        load.guarded(if unguarded { copied } else { guard })
    } else {
        let mut both = Inst::new(Op::Plop3 { lut: Lut(0xC0) });
        both.pdst[0] = borrowed.pred;
        both.psrc = [guard, copied, PredSrc::TRUE];
        insts.extend([borrowed.keep(), both]);
        load.guarded(borrowed.holds())
    };
    let with_guard = |inst: Inst| if unguarded { inst } else { inst.guarded(guard) };
    insts.push(only_where_copied);
    if !unguarded && copied != PredSrc::TRUE {
        insts.push(borrowed.put_back());
    }
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
            insts.push(lop3(0xC0, [Src::reg(reg), Src::reg(mask), Src::RZ], reg));
        }
    }
    insts.push(with_guard(store));
    Ok(Place::Aside(Aside { guards_itself: true, ..Aside::returning(insts) }))
}

/// The predicate that says whether an atomic on a generic address was done, if it writes one: code for shared memory follows
/// where it was not.
pub(super) fn answers(word: &Instruction) -> Option<Pred> {
    match word.operands.first()?.value {
        Value::Predicate(number) if number != PT => Some(Pred(number)),
        _ => None,
    }
}

/// An atomic on a generic address that says that it was done: ours has done it in any memory.
pub(super) fn answered_atomic(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let atomic = memory::atomic(word, args, true)?;
    Ok(Aside::of([atomic, constant(answers(word).unwrap_or(Pred::PT), true)]))
}

/// A compare-and-swap in shared memory that says by a predicate whether it has stored.
pub(super) fn swapped(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    let pred = answers(word).ok_or("its predicate is missing")?;
    let mut swap = memory::swap(word, args)?;
    let done = args.temporary(0);
    swap.dst = done;
    Ok(Aside::of([swap, compared(pred, ICmp::Ne, Sign::U32, Src::reg(done), Src::RZ)]))
}

/// Whether a generic address is in a window.
pub(super) fn space(args: &mut Args<'_>) -> Result<Place, Refusal> {
    let windows = [
        ("S", (ICmp::Eq, SHARED_WINDOW_HI)),
        // The shared memory of a cluster, which is one block.
        ("D", (ICmp::Eq, SHARED_WINDOW_HI)),
        ("L", (ICmp::Eq, LOCAL_WINDOW_HI)),
        // Every window is above global memory.
        ("G", (ICmp::Lt, SHARED_WINDOW_HI)),
    ];
    let (cmp, window) = args.pick(&windows).ok_or("the space that it asks for is not known")?;
    let pred = args.pred_dst().ok_or("its predicate is missing")?;
    let mut result = Inst::new(Op::Nop {});
    args.dst(&mut result)?;
    if !result.dst.is_zero() {
        return Err("a result in a register is not known of it".into());
    }
    let address = args.address()?;
    let (whole, high) = (args.temporary(0), args.temporary(1));
    let mut insts = Vec::new();
    let mut sum = |a: Src, b: Src| insts.push(Inst::new(Op::IaddPair {}).srcs([a, b]).dst(whole));
    sum(Src::reg(address.register), Src::imm(address.offset as u32));
    if !address.base.is_zero() {
        sum(Src::reg(whole), Src::uniform(address.base));
    }
    insts.push(compared(pred, cmp, Sign::U32, Src::reg(high), Src::imm(window)));
    Ok(Aside::of(insts))
}

/// A generic access whose address has 32 bits: they are extended to a pair before.
pub(super) fn narrow(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
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
