//! Predicate rules: comparisons combined with another predicate, and tests for zero done by the logic
//! operation itself.

use super::Combiner;
use crate::lower::fold::inverted;
use crate::lower::truth;
use crate::lower::vir::{InstId, PSrc, VOp, VPred, Val};
use trace_format::isa::{BoolOp, Extended, FCmp, ICmp, Op};

impl Combiner<'_> {
    /// Tries the rules on one instruction.
    pub(super) fn predicate_rules(&mut self, id: InstId) -> bool {
        if !self.is_plain(id) {
            return false;
        }
        match self.f.inst(id).op {
            VOp::M(Op::Plop3 { .. }) => self.comparison_into_logic(id),
            VOp::M(Op::Isetp { cmp: ICmp::Eq | ICmp::Ne, bop: BoolOp::And, ex: Extended(false), .. }) => {
                self.test_of_logic(id)
            }
            _ => false,
        }
    }

    /// p op q, with p a comparison used only here, becomes the comparison combined with q.
    fn comparison_into_logic(&mut self, id: InstId) -> bool {
        let inst = self.f.inst(id);
        let VOp::M(Op::Plop3 { lut }) = inst.op else { return false };
        if inst.pdst[1].is_some() {
            return false;
        }
        let (table, vars) = truth::reduce_preds(lut.0, inst.psrc);
        let [Some(a), Some(b), None] = vars else { return false };
        let Some((bop, not_a, not_b)) = two_input(table) else { return false };
        for (p, not_p, q, not_q) in [(b, not_b, a, not_a), (a, not_a, b, not_b)] {
            let Some(def) = self.lone_comparison(p) else { continue };
            if !self.no_deeper(id, def) {
                continue;
            }
            let mut compare = self.f.inst(def).clone();
            // An exclusive or takes the complement anywhere.
            let (not_p, not_q) = if bop == BoolOp::Xor { (false, not_p != not_q) } else { (not_p, not_q) };
            let Some(op) = with_bool(compare.op, not_p, bop) else { continue };
            compare.op = op;
            compare.psrc[0] = PSrc { pred: Some(q), not: not_q };
            compare.line = self.f.inst(id).line;
            compare.pdst = [self.f.inst(id).pdst[0], None];
            compare.dst = [None; 4];
            self.f.insts[id.index()] = compare;
            self.f.note_defs(id);
            return true;
        }
        false
    }

    /// The uncombined comparison that defines a predicate used only once.
    fn lone_comparison(&self, p: VPred) -> Option<InstId> {
        let (def, k) = self.f.pdef(p)?;
        let inst = self.f.inst(def);
        let plain = match inst.op {
            VOp::M(Op::Isetp { bop, .. } | Op::Fsetp { bop, .. } | Op::Dsetp { bop, .. }) => {
                bop == BoolOp::And && inst.psrc[0] == PSrc::TRUE
            }
            _ => false,
        };
        let once = self.pusers.get(p.index()).is_some_and(|&n| n == 1);
        (plain && once && k == 0 && inst.pdst[1].is_none() && self.is_plain(def)).then_some(def)
    }

    /// A test of a bitwise function for zero becomes that function's own predicate result.
    fn test_of_logic(&mut self, id: InstId) -> bool {
        let inst = self.f.inst(id);
        let VOp::M(Op::Isetp { cmp, .. }) = inst.op else { return false };
        let (v, zero) = (inst.src[0].v[0], inst.src[1].v[0]);
        if zero != Val::ZERO || inst.psrc[0] != PSrc::TRUE || inst.pdst[1].is_some() || !inst.src[0].plain() {
            return false;
        }
        let Some((def, Op::Lop3 { .. })) = self.definition(v) else { return false };
        let Some(p) = inst.pdst[0] else { return false };
        if self.f.inst(def).pdst[0].is_some() || self.block(def) != self.block(id) {
            return false;
        }
        let nonzero = self.f.new_pred();
        self.f.insts[def.index()].pdst[0] = Some(nonzero);
        self.f.note_defs(def);
        self.f.preplace(p, PSrc { pred: Some(nonzero), not: cmp == ICmp::Eq });
        // The comparison computes something that nobody reads any more.
        let unused = self.f.new_pred();
        self.f.insts[id.index()].pdst[0] = Some(unused);
        self.f.note_defs(id);
        true
    }
}

/// A truth table of two inputs as a boolean operation on possibly complemented inputs.
fn two_input(table: u8) -> Option<(BoolOp, bool, bool)> {
    let at = |a: u8, b: u8| table >> (a << 2 | b << 1) & 1 != 0;
    let cells = [at(0, 0), at(0, 1), at(1, 0), at(1, 1)];
    let find = |v: bool| cells.iter().position(|&c| c == v);
    match cells.iter().filter(|&&c| c).count() {
        1 => find(true).map(|i| (BoolOp::And, i & 2 == 0, i & 1 == 0)),
        3 => find(false).map(|i| (BoolOp::Or, i & 2 != 0, i & 1 != 0)),
        2 if cells[1] && cells[2] => Some((BoolOp::Xor, false, false)),
        2 if cells[0] && cells[3] => Some((BoolOp::Xor, false, true)),
        _ => None,
    }
}

/// The comparison, or its opposite, combined by a boolean operation.
fn with_bool(op: VOp, invert: bool, bop: BoolOp) -> Option<VOp> {
    let VOp::M(op) = op else { return None };
    Some(VOp::M(match op {
        Op::Isetp { cmp, sign, ex, .. } => {
            // The low half of an extended comparison was made for this comparison, not for its opposite.
            if invert && ex.0 {
                return None;
            }
            Op::Isetp { cmp: if invert { inverted(cmp) } else { cmp }, sign, bop, ex }
        }
        Op::Fsetp { cmp, ftz, .. } => {
            Op::Fsetp { cmp: if invert { float_inverted(cmp) } else { cmp }, ftz, bop }
        }
        Op::Dsetp { cmp, .. } => Op::Dsetp { cmp: if invert { float_inverted(cmp) } else { cmp }, bop },
        _ => return None,
    }))
}

/// The comparison that holds exactly where the given one does not, NaN included.
const fn float_inverted(cmp: FCmp) -> FCmp {
    match cmp {
        FCmp::Lt => FCmp::Geu,
        FCmp::Geu => FCmp::Lt,
        FCmp::Eq => FCmp::Neu,
        FCmp::Neu => FCmp::Eq,
        FCmp::Le => FCmp::Gtu,
        FCmp::Gtu => FCmp::Le,
        FCmp::Gt => FCmp::Leu,
        FCmp::Leu => FCmp::Gt,
        FCmp::Ne => FCmp::Equ,
        FCmp::Equ => FCmp::Ne,
        FCmp::Ge => FCmp::Ltu,
        FCmp::Ltu => FCmp::Ge,
        FCmp::Num => FCmp::Nan,
        FCmp::Nan => FCmp::Num,
    }
}
