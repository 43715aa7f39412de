//! What one machine instruction operates on, as the study `redundancy` counts it; decided once per instruction.

use crate::studies::setting::{Decoded, Span};
use trace_format::isa::{Inst, Kind, Op};

/// What an instruction operates on.
#[derive(Clone, Copy, Debug)]
pub struct Reads {
    /// Whether it can be redundant at all: it operates on a value, and executing it once would do.
    pub counts: bool,
    sources: [Span; 3],
    preds: u8,
    /// Destination registers that have to agree as well, because sources do not determine them.
    pub result: Span,
    /// Whether the result stands for the operand (special registers).
    pub result_is_operand: bool,
}

impl Reads {
    /// What `inst` operates on.
    pub fn of(inst: &Inst) -> Reads {
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
    pub fn spans(&self) -> &[Span; 3] {
        &self.sources
    }

    /// Predicate operands; an instruction that takes effect in every lane had a true guard in every lane, which
    /// leaves nothing to compare.
    #[inline(always)]
    pub fn preds(&self) -> impl Iterator<Item = u8> + use<> {
        let mut left = self.preds;
        std::iter::from_fn(move || {
            let pred = (left != 0).then(|| left.trailing_zeros() as u8)?;
            left &= left - 1;
            Some(pred)
        })
    }
}
