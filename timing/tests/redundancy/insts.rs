//! Instructions for launches that are written by hand.

use trace_format::isa::*;

/// A register as a source.
pub(crate) fn r(reg: u8) -> Src {
    Src::reg(Reg(reg))
}

/// `dst = value`
pub(crate) fn mov(dst: u8, value: u32) -> Inst {
    Inst::new(Op::Mov {}).dst(Reg(dst)).srcs([Src::imm(value)])
}

/// `dst = ` a special register
pub(crate) fn s2r(dst: u8, sr: SpecialReg) -> Inst {
    Inst::new(Op::S2r { sr }).dst(Reg(dst))
}

/// `dst = a + b`
pub(crate) fn add(dst: u8, a: Src, b: Src) -> Inst {
    Inst::new(Op::Iadd3 { x: Extended(false) }).dst(Reg(dst)).srcs([a, b, Src::RZ])
}

/// Loads a word from global memory.
pub(crate) fn ldg(dst: u8, address: u8, offset: i32) -> Inst {
    let op = Op::Ldg { width: MemWidth::B32, order: MemOrder::Weak, ro: ReadOnly(false) };
    Inst { offset, ..Inst::new(op).dst(Reg(dst)).srcs([r(address)]) }
}

/// Stores a word to global memory.
pub(crate) fn stg(address: u8, data: u8) -> Inst {
    Inst::new(Op::Stg { width: MemWidth::B32, order: MemOrder::Weak }).srcs([r(address), r(data)])
}

/// Predicate `dst = a < b`, unsigned.
pub(crate) fn less(dst: u8, a: Src, b: Src) -> Inst {
    let op = Op::Isetp { cmp: ICmp::Lt, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
    let mut inst = Inst::new(op).srcs([a, b]);
    inst.pdst[0] = Pred(dst);
    inst
}

/// The instruction that ends the warp.
pub(crate) fn exit() -> Inst {
    Inst::new(Op::Exit {})
}
