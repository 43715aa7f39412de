//! Instructions that several translations consist of.

use super::super::code::{EVERY_LANE, moved};
use sass::{Instruction, Operand, PT, Value};
use trace_format::isa::{
    BoolOp, Extended, High, ICmp, Inst, Lut, Op, Operand as Ours, Pred, PredSrc, PrmtMode, Reg, Sign, Src,
    UniformReg, VoteMode, Wide, Wrap,
};

/// A predicate whose value is kept in a register, and put back before the code goes on.
pub(in super::super) struct Borrowed {
    kept: Reg,
    pub(super) pred: Pred,
}

impl Borrowed {
    /// The first predicate that an instruction does not name.
    pub(in super::super) fn of(word: &Instruction, kept: Reg) -> Borrowed {
        let names = |number: u8| {
            let named = |operand: &Operand| operand.value == Value::Predicate(number);
            (!word.guard.uniform && word.guard.predicate == number) || word.operands.iter().any(named)
        };
        let free = (0..PT).find(|&number| !names(number));
        Borrowed { kept, pred: Pred(free.unwrap_or(0)) }
    }

    pub(super) fn keep(&self) -> Inst {
        Inst { dst: self.kept, ..Inst::new(Op::P2r {}).srcs([Src::RZ, Src::imm(0x7F)]) }
    }

    pub(super) fn put_back(&self) -> Inst {
        Inst::new(Op::R2p {}).srcs([Src::reg(self.kept), Src::imm(1 << self.pred.0)])
    }

    /// Puts it back and gives its value to another, which may be the guard: the last instruction writes both.
    fn put_back_as(&self, answer: Pred, to: Reg) -> [Inst; 3] {
        let bit = Src::imm(1 << answer.0);
        let mut chosen = Inst::new(Op::Sel {}).srcs([bit, Src::RZ]).dst(to);
        chosen.psrc[0] = self.holds();
        // (kept & ~bit) | chosen
        let joined = lop3(0xBA, [Src::reg(self.kept), bit, Src::reg(to)], to);
        let both = Src::imm(1 << answer.0 | 1 << self.pred.0);
        [chosen, joined, Inst::new(Op::R2p {}).srcs([Src::reg(to), both])]
    }

    /// Puts it back; its value goes to another predicate, of lanes or a uniform one, if there is one.
    pub(super) fn answer(&self, answer: Pred, to: Reg) -> Vec<Inst> {
        if answer == Pred::PT {
            vec![self.put_back()]
        } else if answer.is_uniform() {
            vec![any_lane(self.holds(), answer), self.put_back()]
        } else {
            self.put_back_as(answer, to).into()
        }
    }

    /// It is whether two words are equal.
    pub(super) fn compare(&self, a: Src, b: Src) -> Inst {
        compared(self.pred, ICmp::Eq, Sign::U32, a, b)
    }

    /// That it holds.
    pub(super) fn holds(&self) -> PredSrc {
        PredSrc { pred: self.pred, not: false }
    }

    /// A branch if it holds.
    pub(super) fn jump(&self) -> Inst {
        Inst::new(Op::Bra {}).guarded(self.holds())
    }
}

/// Whether the operand behind the result is a predicate that is written.
pub(super) fn answers_second(word: &Instruction) -> bool {
    let answers = |operand: &Operand| match operand.value {
        Value::Predicate(number) | Value::UniformPredicate(number) => number != PT,
        _ => false,
    };
    word.operands.get(1).is_some_and(answers)
}

/// pred = a cmp b.
pub(super) fn compared(pred: Pred, cmp: ICmp, sign: Sign, a: Src, b: Src) -> Inst {
    let op = Op::Isetp { cmp, sign, bop: BoolOp::And, ex: Extended(false) };
    let mut compare = Inst::new(op).srcs([a, b]);
    (compare.pdst[0], compare.psrc[0]) = (pred, PredSrc::TRUE);
    compare
}

/// The bytes of a source that a selector names, 4 to 7 for zeros; with its bit 8 a nibble gives the sign of the byte.
pub(super) fn permuted(source: Src, selector: u32, to: Reg) -> Inst {
    let op = Op::Prmt { mode: PrmtMode::Index };
    Inst::new(op).srcs([source, Src::imm(selector), Src::RZ]).dst(to)
}

/// A source that several instructions read, in a register: the others may have a literal of their own.
pub(super) fn in_register(source: Src, to: Reg, insts: &mut Vec<Inst>) -> Src {
    if matches!(source.operand, Ours::Reg(_)) {
        return source;
    }
    insts.push(moved(source, to));
    Src::reg(to)
}

/// source << shift, without a result yet.
pub(super) fn shifted(source: Src, shift: u32) -> Inst {
    let op = Op::ShfL { wide: Wide(false), wrap: Wrap(false), high: High(false) };
    Inst::new(op).srcs([source, Src::imm(shift), Src::RZ])
}

/// to = source & mask.
pub(super) fn and(source: Src, mask: u32, to: Reg) -> Inst {
    lop3(0xC0, [source, Src::imm(mask), Src::RZ], to)
}

/// to = the function of three sources, bit by bit, that a table gives.
pub(super) fn lop3(lut: u8, sources: [Src; 3], to: Reg) -> Inst {
    Inst::new(Op::Lop3 { lut: Lut(lut) }).srcs(sources).dst(to)
}

/// to = whether a predicate holds in any lane that is here. A uniform one so gets what all lanes have.
pub(super) fn any_lane(from: PredSrc, to: Pred) -> Inst {
    let mut vote = Inst::new(Op::Vote { mode: VoteMode::Any }).srcs([EVERY_LANE]);
    (vote.pdst[0], vote.psrc[0]) = (to, from);
    vote
}

/// What all lanes have in a register, in a uniform one.
pub(super) fn read_uniform(from: Reg, to: UniformReg) -> Inst {
    Inst { udst: to, ..Inst::new(Op::R2ur {}).srcs([Src::reg(from)]) }
}

/// Adds an instruction that lanes execute: a uniform result is made in registers from `at` on, and read from there.
pub(super) fn push_by_lanes(mut inst: Inst, at: Reg, insts: &mut Vec<Inst>) {
    let shared = std::mem::replace(&mut inst.udst, UniformReg::URZ);
    if shared.is_zero() {
        insts.push(inst);
        return;
    }
    insts.push(inst.dst(at));
    insts.extend((0..inst.info().dst_regs).map(|number| read_uniform(at.nth(number), shared.nth(number))));
}
