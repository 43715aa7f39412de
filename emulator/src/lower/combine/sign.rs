//! Floating-point modifiers: flipped and cleared signs become part of the operand that reads them.

use super::Combiner;
use crate::lower::truth;
use crate::lower::vir::{InstId, Src, VOp, Val};
use trace_format::isa::{Lut, Op, SourceFormat};

/// What a logic operation does to the sign bit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Flip,
    Clear,
}

impl Combiner<'_> {
    /// Tries the rules on one instruction.
    pub(super) fn sign_rules(&mut self, id: InstId) -> bool {
        let Some(op) = self.f.inst(id).machine() else { return false };
        let (words, sign, takes_abs) = match op.info().format {
            SourceFormat::Half { abs } => (1, 0x8000_8000, abs),
            SourceFormat::Single { abs } => (1, 0x8000_0000, abs),
            SourceFormat::Double { abs } => (2, 0x8000_0000, abs),
            SourceFormat::Bits | SourceFormat::Signed | SourceFormat::Float => return false,
        };
        let mut any = false;
        for i in 0..3 {
            let shape = op.info().src_regs[i] as usize;
            if shape == words {
                any |= self.take_sign(id, i, words, sign, takes_abs);
            }
        }
        any
    }

    fn take_sign(&mut self, id: InstId, i: usize, words: usize, sign: u32, takes_abs: bool) -> bool {
        let s = self.f.inst(id).src[i];
        let top = s.v[words - 1];
        let Some((under, change)) = self.sign_change(top, sign) else { return false };
        let new = match change {
            Change::Flip if s.abs => s,
            Change::Flip => s.negated(),
            Change::Clear if takes_abs => Src { abs: true, ..s },
            Change::Clear => return false,
        };
        let slot = &mut self.f.insts[id.index()].src[i];
        *slot = new;
        slot.v[words - 1] = under;
        true
    }

    /// The operand under a change of the sign bits.
    fn sign_change(&self, v: Val, sign: u32) -> Option<(Val, Change)> {
        let (def, _) = self.f.def(v)?;
        let inst = self.f.inst(def);
        let VOp::M(Op::Lop3 { lut }) = inst.op else { return None };
        if !self.is_plain(def) {
            return None;
        }
        let (table, vars) = truth::reduce_words(lut.0, inst.src.map(|s| (s.v[0], s.neg)));
        match (table, vars) {
            (t, [Some(x), Some(Val::Imm(m)), None]) if t == Lut::A ^ Lut::B && m == sign => {
                Some((x, Change::Flip))
            }
            (t, [Some(x), Some(Val::Imm(m)), None]) if t == Lut::A & Lut::B && m == !sign => {
                Some((x, Change::Clear))
            }
            _ => None,
        }
    }
}
