//! Operands of a machine instruction as the study `redundancy` counts them; computed once per instruction.

use crate::setting::{Decoded, Span};
use trace_format::isa::{Inst, Kind, Op};

/// Operands of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reads {
    /// Whether it can be redundant: it has operands, and executing it once would suffice.
    pub counts: bool,
    sources: [Span; 3],
    preds: u8,
    /// Destination registers that must be equal too, because sources do not determine them.
    pub result: Span,
    /// Whether the result counts as the operand (special registers).
    pub result_is_operand: bool,
}

impl Reads {
    /// Operands of `inst`.
    pub(super) fn of(inst: &Inst) -> Reads {
        let decoded = Decoded::of(inst);
        let counts = match decoded.kind {
            Kind::External if matches!(inst.op, Op::Syscall { .. }) => false,
            Kind::Pure | Kind::External | Kind::Load(_) | Kind::Store(_) => true,
            Kind::Branch | Kind::Call | Kind::Return | Kind::Exit => !inst.is_unguarded(),
            Kind::Atomic(_) | Kind::Reduction(_) => false,
            Kind::Barrier | Kind::Fence | Kind::Sync | Kind::Trap => false,
        };
        let compared = decoded.special || matches!(decoded.kind, Kind::Load(_) | Kind::External);
        Reads {
            counts,
            sources: decoded.sources,
            preds: decoded.preds,
            result: if compared { decoded.writes } else { Span::default() },
            result_is_operand: decoded.special,
        }
    }

    /// Register operands, some of them empty.
    #[inline(always)]
    pub(super) fn spans(&self) -> &[Span; 3] {
        &self.sources
    }

    /// Predicate operands; the guard is not among them, because it is true in every lane of an instruction
    /// that takes effect in every lane.
    #[inline(always)]
    pub(super) fn preds(&self) -> impl Iterator<Item = u8> + use<> {
        let mut left = self.preds;
        std::iter::from_fn(move || {
            let pred = (left != 0).then(|| left.trailing_zeros() as u8)?;
            left &= left - 1;
            Some(pred)
        })
    }
}
