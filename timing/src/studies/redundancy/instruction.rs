//! What one machine instruction operates on, as the study `redundancy` counts it; decided once per instruction.

use trace_format::isa::{Inst, Kind, Op, PredSrc, RegSpan};
use trace_format::semantics::Warp;

/// Consecutive registers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    first: u8,
    count: u8,
}

impl Span {
    fn of(span: Option<RegSpan>) -> Span {
        span.map_or(Span::default(), |s| Span { first: s.first.0, count: s.count })
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Their numbers.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let first = usize::from(self.first);
        first..first + usize::from(self.count)
    }
}

/// What an instruction operates on.
#[derive(Clone, Copy, Debug)]
pub struct Reads {
    /// Whether it can be redundant at all: it operates on a value, and executing it once would do.
    pub counts: bool,
    /// A guarded transfer of control: its guard is an operand, not a condition of its taking effect.
    control: bool,
    guard: PredSrc,
    sources: [Span; 3],
    source_count: u8,
    preds: [u8; 4],
    pred_count: u8,
    /// Destination registers that have to agree as well, because sources do not determine them.
    pub result: Span,
    /// Whether the result stands for the operand (special registers).
    pub result_is_operand: bool,
    /// Every destination register.
    pub writes: Span,
}

impl Reads {
    /// What `inst` operates on.
    pub fn of(inst: &Inst) -> Reads {
        let kind = inst.kind();
        let control = matches!(kind, Kind::Branch | Kind::Call | Kind::Return | Kind::Exit);
        let counts = match kind {
            Kind::External if matches!(inst.op, Op::Syscall { .. }) => false,
            Kind::Pure | Kind::External | Kind::Load(_) | Kind::Store(_) => true,
            Kind::Branch | Kind::Call | Kind::Return | Kind::Exit => !inst.is_unguarded(),
            Kind::Atomic(_) | Kind::Reduction(_) => false,
            Kind::Barrier | Kind::Fence | Kind::Sync | Kind::Trap => false,
        };
        let special = matches!(inst.op, Op::S2r { .. });
        let writes = Span::of(inst.dst_span());
        let compared = special || matches!(kind, Kind::Load(_) | Kind::External);
        let mut reads = Reads {
            counts,
            control,
            guard: inst.guard,
            sources: [Span::default(); 3],
            source_count: 0,
            preds: [0; 4],
            pred_count: 0,
            result: if compared { writes } else { Span::default() },
            result_is_operand: special,
            writes,
        };
        for span in (0..3).filter_map(|i| inst.src_span(i)) {
            reads.sources[usize::from(reads.source_count)] = Span::of(Some(span));
            reads.source_count += 1;
        }
        // An instruction that takes effect in every lane had a true guard in every lane: nothing to compare.
        let skipped = usize::from(!control && !inst.guard.pred.is_true());
        for pred in inst.src_preds().skip(skipped) {
            reads.preds[usize::from(reads.pred_count)] = pred.0;
            reads.pred_count += 1;
        }
        reads
    }

    /// Lanes in which the instruction takes effect: those on the path, and for other than control transfers
    /// those of them in which the guard holds.
    #[inline]
    pub fn effective_lanes(&self, active: u32, state: &Warp) -> u32 {
        if self.control || self.guard.pred.is_true() && !self.guard.not {
            return active;
        }
        let holds = state.pred(self.guard.pred.0);
        active & if self.guard.not { !holds } else { holds }
    }

    /// Register operands.
    #[inline]
    pub fn spans(&self) -> impl Iterator<Item = Span> + use<> {
        let (sources, count) = (self.sources, self.source_count);
        sources.into_iter().take(usize::from(count))
    }

    /// Predicate operands.
    #[inline]
    pub fn preds(&self) -> impl Iterator<Item = u8> + use<> {
        let (preds, count) = (self.preds, self.pred_count);
        preds.into_iter().take(usize::from(count))
    }
}
