//! Finds instructions that compute only on scalar data and thread indices: a forward analysis of the
//! registers and predicates that may hold anything else (DAC, section 3).

use crate::setting::across_lanes;
use trace_format::isa::space::Space;
use trace_format::isa::{Inst, Kind, MachineKernel, Pc, RegSpan};
use warplab_technique::program::RegSet;

/// Registers and predicates that may hold other data.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Other {
    regs: RegSet,
    preds: u8,
}

impl Other {
    fn reads(&self, inst: &Inst, sources: usize) -> bool {
        let regs = (0..sources).filter_map(|i| inst.src_span(i)).flat_map(RegSpan::iter);
        regs.into_iter().any(|reg| self.regs.contains(reg.0))
            || inst.src_preds().any(|pred| self.preds >> pred.0 & 1 != 0)
    }

    /// The state after an instruction.
    fn after(mut self, inst: &Inst) -> Other {
        let spoils = self.reads(inst, 3) || brings_other_data(inst);
        for reg in inst.dst_regs() {
            if spoils {
                self.regs.insert(reg.0);
            } else if inst.is_unguarded() {
                self.regs.remove(reg.0);
            }
        }
        for pred in inst.dst_preds() {
            if spoils {
                self.preds |= 1 << pred.0;
            } else if inst.is_unguarded() {
                self.preds &= !(1 << pred.0);
            }
        }
        self
    }

    /// Joins the state of another path; returns whether this changed.
    fn join(&mut self, other: &Other) -> bool {
        let before = *self;
        self.regs.insert_all(&other.regs);
        self.preds |= other.preds;
        *self != before
    }
}

/// Whether results come from memory, another lane or outside, whatever the operands.
fn brings_other_data(inst: &Inst) -> bool {
    match inst.kind() {
        Kind::Load(Space::Const) => false,
        Kind::Load(_) | Kind::Atomic(_) | Kind::External | Kind::Barrier => true,
        _ => across_lanes(inst),
    }
}

/// Whether each instruction of a kernel is potentially affine.
pub(super) fn potentially_affine(kernel: &MachineKernel) -> Vec<bool> {
    let before = other_data(kernel);
    let of = |(inst, before): (&Inst, &Option<Other>)| {
        let computes = match inst.kind() {
            Kind::Pure => !brings_other_data(inst),
            Kind::Load(_) | Kind::Store(_) => true,
            Kind::Branch | Kind::Call | Kind::Return | Kind::Exit => !inst.is_unguarded(),
            _ => false,
        };
        let sources = if inst.kind().is_memory() { 1 } else { 3 };
        computes && before.is_none_or(|before| !before.reads(inst, sources))
    };
    kernel.insts.iter().zip(&before).map(of).collect()
}

/// Registers that may hold other data before each instruction; `None` for unreachable ones.
fn other_data(kernel: &MachineKernel) -> Vec<Option<Other>> {
    let count = kernel.insts.len();
    let is = |kind: Kind| move |&pc: &usize| kernel.insts[pc].kind() == kind;
    let behind_calls: Vec<usize> = (0..count).filter(is(Kind::Call)).map(|pc| pc + 1).collect();
    let mut before: Vec<Option<Other>> = vec![None; count];
    let mut work = vec![0];
    if let Some(first) = before.first_mut() {
        *first = Some(Other::default());
    }
    while let Some(pc) = work.pop() {
        let Some(state) = before.get(pc).copied().flatten() else { continue };
        let inst = &kernel.insts[pc];
        let after = state.after(inst);
        let mut next: Vec<usize> = Vec::new();
        next.extend(inst.jumps_to().map(Pc::index));
        match inst.kind() {
            Kind::Call if inst.jumps_to().is_none() => {
                next.extend(kernel.entries.iter().map(|(_, entry)| entry.index()));
            }
            Kind::Return => next.extend(&behind_calls),
            _ => {}
        }
        let leaves =
            matches!(inst.kind(), Kind::Branch | Kind::Call | Kind::Return | Kind::Exit | Kind::Trap);
        if !leaves || !inst.is_unguarded() {
            next.push(pc + 1);
        }
        for to in next.into_iter().filter(|&to| to < count) {
            let news = match &mut before[to] {
                Some(known) => known.join(&after),
                none => {
                    *none = Some(after);
                    true
                }
            };
            if news {
                work.push(to);
            }
        }
    }
    before
}
