//! The test whether a loop certainly continues for some more iterations.

use super::counted::Counted;
use crate::lower::vir::{Blk, Func, Inst, PSrc, Src, VOp, Val};
use trace_format::isa::{BoolOp, Extended, ICmp, Lut, Op, Sign, SourceLine};

/// The value that the counter may not have passed.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    /// The bound moved back by the iterations that must be certain; for "not equal", the distance to the bound.
    value: [Val; 2],
    /// Whether moving it back did not wrap around.
    possible: PSrc,
}

impl Limit {
    /// The limit for that many iterations.
    pub(super) fn of(f: &mut Func, b: Blk, c: &Counted, iterations: i64, line: SourceLine) -> Limit {
        let reach = c.step * iterations;
        let back = words(reach.wrapping_neg());
        if c.cmp == ICmp::Ne {
            return Limit { value: back, possible: PSrc::TRUE };
        }
        let strict = if matches!(c.cmp, ICmp::Lt | ICmp::Le) { ICmp::Lt } else { ICmp::Gt };
        if let Some(bound) = c.number(c.bound) {
            let moved = bound - i128::from(reach);
            let fits = c.number(words(moved as i64)) == Some(moved);
            let possible = if fits { PSrc::TRUE } else { PSrc::FALSE };
            return Limit { value: words(moved as i64), possible };
        }
        let value = add(f, b, c, c.bound, Src::two(back), line);
        Limit { value, possible: compare(f, b, c, strict, c.sign, [value, c.bound], line) }
    }

    /// Whether the loop certainly continues when the counter has a value.
    pub(super) fn holds(self, f: &mut Func, b: Blk, c: &Counted, value: [Val; 2], line: SourceLine) -> PSrc {
        if c.cmp != ICmp::Ne {
            return compare(f, b, c, c.cmp, c.sign, [value, self.value], line);
        }
        // The distance to the bound, signed: beyond the limit it cannot become zero.
        let distance = match c.number(c.bound) {
            Some(0) => value,
            _ => add(f, b, c, value, Src::two(c.bound).negated(), line),
        };
        let cmp = if c.step < 0 { ICmp::Gt } else { ICmp::Lt };
        compare(f, b, c, cmp, Sign::S32, [distance, self.value], line)
    }

    /// A predicate, and whether the limit makes sense.
    pub(super) fn and_possible(self, f: &mut Func, b: Blk, p: PSrc, line: SourceLine) -> PSrc {
        if self.possible == PSrc::TRUE {
            return p;
        }
        let mut inst = Inst::new(VOp::M(Op::Plop3 { lut: Lut(0xC0) }), line);
        inst.psrc = [p, self.possible, PSrc::TRUE];
        predicate(f, b, inst)
    }
}

fn words(x: i64) -> [Val; 2] {
    [Val::Imm(x as u32), Val::Imm((x >> 32) as u32)]
}

fn push(f: &mut Func, b: Blk, inst: Inst) {
    let id = f.add_inst(inst);
    f.block_mut(b).insts.push(id);
}

fn predicate(f: &mut Func, b: Blk, mut inst: Inst) -> PSrc {
    let p = f.new_pred();
    inst.pdst[0] = Some(p);
    push(f, b, inst);
    PSrc::of(p)
}

/// x + y in the counter's width.
fn add(f: &mut Func, b: Blk, c: &Counted, x: [Val; 2], y: Src, line: SourceLine) -> [Val; 2] {
    let (low, high) = (f.new_reg(), f.new_reg());
    if c.wide {
        let mut inst = Inst::new(VOp::Add64, line);
        inst.src = [Src::two(x), y, Src::NONE];
        inst.dst = [Some(low), Some(high), None, None];
        push(f, b, inst);
        return [Val::Reg(low), Val::Reg(high)];
    }
    let mut inst = Inst::new(VOp::M(Op::Iadd3 { x: Extended(false) }), line);
    inst.src = [Src::one(x[0]), Src { neg: y.neg, ..Src::one(y.v[0]) }, Src::RZ];
    inst.dst[0] = Some(low);
    push(f, b, inst);
    [Val::Reg(low), Val::Undef]
}

/// x cmp y in the counter's width.
fn compare(
    f: &mut Func,
    b: Blk,
    c: &Counted,
    cmp: ICmp,
    sign: Sign,
    xy: [[Val; 2]; 2],
    line: SourceLine,
) -> PSrc {
    let word = |word: usize, sign: Sign, ex: bool| {
        let op = Op::Isetp { cmp, sign, bop: BoolOp::And, ex: Extended(ex) };
        let mut inst = Inst::new(VOp::M(op), line);
        (inst.src[0], inst.src[1]) = (xy[0][word].into(), xy[1][word].into());
        inst
    };
    if !c.wide {
        return predicate(f, b, word(0, sign, false));
    }
    let low = predicate(f, b, word(0, Sign::U32, false));
    let mut high = word(1, sign, true);
    high.psrc[1] = low;
    predicate(f, b, high)
}
