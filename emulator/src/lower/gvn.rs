//! Global value numbering: an instruction that computes what a dominating one has computed is removed.

use rustc_hash::FxHashMap;

use super::cfg::Dominance;
use super::vir::{Blk, Func, Inst, InstId, PSrc, Src, VOp, Val};
use trace_format::isa::Op;

/// Key of a computation: instructions with equal keys have the same results.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    op: VOp,
    src: [Src; 3],
    psrc: [PSrc; 3],
    offset: i32,
}

/// The instructions that compute one value, none of which dominates another, by the positions of their blocks
/// in the dominator tree.
#[derive(Default)]
struct Places(Vec<(u32, InstId, Blk)>);

impl Places {
    /// The instruction that dominates a block. Of blocks that come before it in the tree only the last can.
    fn dominating(&self, dominance: &Dominance, b: Blk) -> Option<InstId> {
        let before = self.0.partition_point(|place| place.0 <= dominance.place(b));
        let (_, id, at) = self.0[..before].last()?;
        dominance.dominates(*at, b).then_some(*id)
    }

    fn add(&mut self, dominance: &Dominance, b: Blk, id: InstId) {
        let place = dominance.place(b);
        let at = self.0.partition_point(|other| other.0 <= place);
        self.0.insert(at, (place, id, b));
    }
}

/// Removes repeated computations.
pub(super) fn run(f: &mut Func) {
    f.resolve_all();
    let dominance = Dominance::of(f);
    let mut known: FxHashMap<Key, Places> = FxHashMap::default();
    for &b in &dominance.rpo {
        let mut kept = f.block(b).insts.clone();
        kept.retain(|&id| {
            let mut inst = f.inst(id).clone();
            if !inst.op.is_free() || inst.guard != PSrc::TRUE {
                return true;
            }
            inst.map_vals(|v| f.resolve(v));
            inst.map_psrcs(|p| f.presolve(p));
            let key = key_of(&inst);
            f.insts[id.index()] = inst;
            let places = known.entry(key).or_default();
            match places.dominating(&dominance, b) {
                Some(earlier) if f.block(b).sub.is_none() || earlier != id => {
                    merge(f, earlier, id);
                    false
                }
                _ => {
                    places.add(&dominance, b, id);
                    true
                }
            }
        });
        f.block_mut(b).insts = kept;
    }
    f.resolve_all();
}

/// Replaces all uses by the earlier instruction's results.
fn merge(f: &mut Func, earlier: InstId, later: InstId) {
    let inst = f.inst(later);
    let (dst, pdst) = (inst.dst, inst.pdst);
    for (k, d) in dst.into_iter().enumerate() {
        let Some(d) = d else { continue };
        if f.inst(earlier).dst[k].is_none() {
            let fresh = f.new_reg();
            f.insts[earlier.index()].dst[k] = Some(fresh);
        }
        if let Some(e) = f.inst(earlier).dst[k] {
            f.replace(d, Val::Reg(e));
        }
    }
    for (k, p) in pdst.into_iter().enumerate() {
        let Some(p) = p else { continue };
        if f.inst(earlier).pdst[k].is_none() {
            let fresh = f.new_pred();
            f.insts[earlier.index()].pdst[k] = Some(fresh);
        }
        if let Some(e) = f.inst(earlier).pdst[k] {
            f.preplace(p, PSrc::of(e));
        }
    }
    f.note_defs(earlier);
}

/// The key, with operands of commutative operations in order.
fn key_of(inst: &Inst) -> Key {
    let shape = inst.op.shape();
    let mut src = inst.src;
    for (i, s) in src.iter_mut().enumerate() {
        s.v[shape.src[i] as usize..].fill(Val::Undef);
    }
    let order = |s: &Src| (s.v, s.neg, s.abs);
    match inst.op {
        VOp::M(
            Op::Fadd { .. }
            | Op::Fmul { .. }
            | Op::Ffma { .. }
            | Op::Imad {}
            | Op::ImadWide { .. }
            | Op::ImadHi { .. },
        )
        | VOp::Add64 => src[..2].sort_by_key(order),
        VOp::M(Op::Iadd3 { .. }) => src.sort_by_key(order),
        _ => {}
    }
    Key { op: inst.op, src, psrc: inst.psrc, offset: inst.offset }
}
