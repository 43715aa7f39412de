//! Selections as predication: where a value is selected against the operand that it was computed from, the
//! instruction that computes it is executed under the selection's predicate and leaves the operand elsewhere.

use rustc_hash::FxHashSet;

use super::vir::{Func, Inst, InstId, PSrc, VOp, Val};
use trace_format::isa::{Kind, Op};

/// Rewrites all selections that allow it; the instructions that become unused are removed later.
pub(super) fn run(f: &mut Func) {
    let (uses, _) = f.use_counts();
    for b in f.order.clone() {
        let inside: FxHashSet<InstId> = f.block(b).insts.iter().copied().collect();
        for id in f.block(b).insts.clone() {
            if let Some(guarded) = predicated(f, id, &uses, &inside) {
                f.insts[id.index()] = guarded;
            }
        }
    }
}

/// A selection p ? op(x, …) : x as the instruction op under p with x as its former value.
fn predicated(f: &Func, id: InstId, uses: &[u32], inside: &FxHashSet<InstId>) -> Option<Inst> {
    let select = f.inst(id);
    if select.op != VOp::M(Op::Sel {}) || select.guard != PSrc::TRUE || select.psrc[0].pred.is_none() {
        return None;
    }
    let [a, b] = [select.src[0], select.src[1]];
    if !a.plain() || !b.plain() {
        return None;
    }
    let p = select.psrc[0];
    [(a.v[0], b.v[0], p), (b.v[0], a.v[0], p.negated())].into_iter().find_map(|(value, otherwise, p)| {
        let once = |v: Val, n: u32| v.reg().is_some_and(|r| uses.get(r.index()) == Some(&n));
        let (def, _) = f.def(value).filter(|(def, _)| once(value, 1) && inside.contains(def))?;
        let inst = f.inst(def);
        let widths = inst.op.shape().src;
        let words = widths.iter().all(|&n| n <= 1);
        let from = (0..3).filter(|&i| widths[i] == 1 && inst.src[i].v[0] == otherwise).count() as u32;
        let alone = inst.dsts().count() == 1 && inst.pdsts().count() == 0 && inst.guard == PSrc::TRUE;
        // Nothing else reads x, so that both can share a register.
        let fits = words && from > 0 && once(otherwise, from + 1) && alone;
        (fits && inst.machine().is_some() && inst.op.is_free() && inst.op.kind() == Kind::Pure).then(|| {
            let mut guarded = Inst { guard: p, dst: select.dst, line: select.line, ..inst.clone() };
            guarded.tied[0] = otherwise;
            guarded
        })
    })
}
