//! Instructions that several translations consist of.

use trace_format::isa::{BoolOp, Extended, ICmp, Inst, Lut, Op, Pred, PredSrc, Reg, Sign, Src};

/// P0, whose value is kept in a register, and put back before the code goes on.
pub(super) struct Borrowed(pub(super) Reg);

impl Borrowed {
    pub(super) fn keep(&self) -> Inst {
        Inst { dst: self.0, ..Inst::new(Op::P2r {}).srcs([Src::RZ, Src::imm(0x7F)]) }
    }

    pub(super) fn put_back(&self) -> Inst {
        Inst::new(Op::R2p {}).srcs([Src::reg(self.0), Src::imm(1)])
    }

    /// It is whether two words are equal.
    pub(super) fn compare(a: Src, b: Src) -> Inst {
        let op = Op::Isetp { cmp: ICmp::Eq, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
        let mut compare = Inst::new(op).srcs([a, b]);
        (compare.pdst[0], compare.psrc[0]) = (Pred(0), PredSrc::TRUE);
        compare
    }

    /// A branch if it holds.
    pub(super) fn jump() -> Inst {
        Inst::new(Op::Bra {}).guarded(PredSrc { pred: Pred(0), not: false })
    }
}

/// to = source & mask.
pub(super) fn and(source: Src, mask: u32, to: Reg) -> Inst {
    let mut inst = Inst::new(Op::Lop3 { lut: Lut(0xC0) }).srcs([source, Src::imm(mask), Src::RZ]);
    inst.dst = to;
    inst
}
