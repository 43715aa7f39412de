//! Neighbouring loads from shared memory or a constant bank become one wide load, where the address is
//! provably aligned.

use rustc_hash::{FxHashMap, FxHashSet};

use super::fold::SHL;
use super::vir::{Blk, Def, Func, Inst, InstId, PSrc, Src, VOp, VReg, Val};
use trace_format::isa::{Bank, Extended, Kind, MemWidth, Op, Scale, ShiftBy, space::Space};

/// Merges loads in all blocks.
pub(super) fn run(f: &mut Func) {
    f.resolve_all();
    for b in f.order.clone() {
        merge_block(f, b);
    }
}

/// Base that neighbouring loads share.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Base {
    Shared(Val, Scale),
    Constant(Val, Bank),
}

impl Base {
    /// The base of a plain load of one word, if it may be merged.
    fn of(inst: &Inst) -> Option<Base> {
        match inst.op {
            _ if inst.guard != PSrc::TRUE || inst.strong => None,
            VOp::M(Op::Lds { width: MemWidth::B32, scale }) => Some(Base::Shared(inst.src[0].v[0], scale)),
            VOp::M(Op::Ldc { width: MemWidth::B32, bank }) => Some(Base::Constant(inst.src[0].v[0], bank)),
            _ => None,
        }
    }

    fn load(self, width: MemWidth) -> Op {
        match self {
            Base::Shared(_, scale) => Op::Lds { width, scale },
            Base::Constant(_, bank) => Op::Ldc { width, bank },
        }
    }

    /// Words of the widest load.
    const fn widest(self) -> i32 {
        match self {
            Base::Shared(..) => 4,
            Base::Constant(..) => 2,
        }
    }

    /// A lower bound of the low zero bits of addresses with this base and a zero offset.
    fn zeros(self, f: &Func) -> u32 {
        let (v, shift) = match self {
            Base::Shared(v, scale) => (v, scale.shift()),
            Base::Constant(v, _) => (v, 0),
        };
        (trailing_zeros(f, v, &mut Vec::new()) + shift).min(32)
    }
}

fn merge_block(f: &mut Func, b: Blk) {
    // Runs of loads between which nothing writes shared memory.
    let mut runs: Vec<FxHashMap<Base, Vec<InstId>>> = vec![FxHashMap::default()];
    for &id in &f.block(b).insts {
        let inst = f.inst(id);
        if let Some(base) = Base::of(inst) {
            if let Some(run) = runs.last_mut() {
                run.entry(base).or_default().push(id);
            }
            continue;
        }
        let writes = match inst.op.kind() {
            Kind::Store(s) | Kind::Atomic(s) | Kind::Reduction(s) => {
                matches!(s, Space::Shared | Space::Generic)
            }
            Kind::Barrier | Kind::Fence | Kind::Sync | Kind::Call => true,
            _ => false,
        };
        if writes || inst.strong {
            runs.push(FxHashMap::default());
        }
    }
    runs.retain(|run| run.values().any(|ids| ids.len() > 1));
    if runs.is_empty() {
        return;
    }
    let mut places = Places::of(f, b);
    for run in runs {
        let mut bases: Vec<(Base, Vec<InstId>)> = run.into_iter().filter(|(_, ids)| ids.len() > 1).collect();
        bases.sort_by_key(|(_, ids)| ids[0]);
        for (base, ids) in bases {
            let zeros = base.zeros(f);
            if zeros >= 3 {
                merge_run(f, &mut places, base, &ids, zeros);
            }
        }
    }
    if places.changed {
        f.block_mut(b).insts = places.insts.into_iter().flatten().collect();
    }
}

/// Merges loads of one base whose low `zeros` bits are clear.
fn merge_run(f: &mut Func, places: &mut Places, base: Base, ids: &[InstId], zeros: u32) {
    let mut at: FxHashMap<i32, InstId> = FxHashMap::default();
    for &id in ids {
        // Of several loads of one word only the first is merged.
        at.entry(f.inst(id).offset).or_insert(id);
    }
    let mut offsets: Vec<i32> = at.keys().copied().collect();
    offsets.sort_unstable();
    let mut taken = FxHashSet::default();
    for words in [4, 2] {
        if words > base.widest() || zeros < if words == 4 { 4 } else { 3 } {
            continue;
        }
        for &o in &offsets {
            let window: Vec<InstId> = (0..words).filter_map(|k| at.get(&(o + 4 * k)).copied()).collect();
            let whole = window.len() == words as usize && o % (4 * words) == 0;
            if whole && !window.iter().any(|id| taken.contains(id)) {
                taken.extend(window.iter().copied());
                merge(f, places, base, &window);
            }
        }
    }
}

/// Replaces loads of consecutive words by one, at the place of the first of them in the block.
fn merge(f: &mut Func, places: &mut Places, base: Base, window: &[InstId]) {
    let first = f.inst(window[0]).clone();
    let width = if window.len() == 4 { MemWidth::B128 } else { MemWidth::B64 };
    let mut wide = Inst::new(VOp::M(base.load(width)), first.line);
    wide.src[0] = first.src[0];
    wide.offset = first.offset;
    for (k, id) in window.iter().enumerate() {
        let d: VReg = match f.inst(*id).dst[0] {
            Some(d) => d,
            None => f.new_reg(),
        };
        wide.dst[k] = Some(d);
    }
    let wide = f.add_inst(wide);
    places.replace(window, wide);
}

/// The instructions of a block while some of them are replaced.
struct Places {
    insts: Vec<Option<InstId>>,
    /// Where each of the first ones is.
    at: FxHashMap<InstId, usize>,
    changed: bool,
}

impl Places {
    fn of(f: &Func, b: Blk) -> Places {
        let insts = &f.block(b).insts;
        let at = insts.iter().enumerate().map(|(at, id)| (*id, at)).collect();
        Places { insts: insts.iter().copied().map(Some).collect(), at, changed: false }
    }

    /// Puts an instruction in the place of the first of others.
    fn replace(&mut self, others: &[InstId], by: InstId) {
        let places: Vec<usize> = others.iter().filter_map(|id| self.at.get(id).copied()).collect();
        let Some(&first) = places.iter().min() else { return };
        places.into_iter().for_each(|at| self.insts[at] = None);
        self.insts[first] = Some(by);
        self.changed = true;
    }
}

/// A lower bound of the number of low zero bits of a value. Loops are assumed to preserve the bound of their
/// initial value; the minimum over all values that enter the loop then includes this assumption.
fn trailing_zeros(f: &Func, v: Val, open: &mut Vec<VReg>) -> u32 {
    let r = match v {
        Val::Imm(x) => return x.trailing_zeros(),
        Val::Undef => return 32,
        Val::Const { .. } => return 0,
        Val::Reg(r) => r,
    };
    if open.contains(&r) {
        return 32;
    }
    if open.len() > 24 {
        return 0;
    }
    open.push(r);
    let zeros = match f.defs[r.index()] {
        Def::Phi(b) => {
            let phi = f.block(b).phis.iter().find(|p| p.dst == r);
            phi.map_or(0, |p| p.args.iter().map(|a| trailing_zeros(f, *a, open)).min().unwrap_or(0))
        }
        Def::Inst(id, 0) if f.inst(id).guard == PSrc::TRUE => of_instruction(f, id, open),
        _ => 0,
    };
    open.pop();
    zeros
}

fn of_instruction(f: &Func, id: InstId, open: &mut Vec<VReg>) -> u32 {
    let inst = f.inst(id);
    let VOp::M(op) = inst.op else { return 0 };
    let src = |i: usize| -> Src { inst.src[i] };
    let mut of = |i: usize| trailing_zeros(f, src(i).v[0], open);
    let zeros = match op {
        op if op == SHL => match src(1).v[0].imm() {
            Some(k) => of(0) + k,
            None => of(0),
        },
        Op::Lea { shift: ShiftBy(k) } => (of(0) + u32::from(k)).min(of(1)),
        Op::Imad {} => (of(0) + of(1)).min(of(2)),
        Op::Iadd3 { x: Extended(false) } => of(0).min(of(1)).min(of(2)),
        Op::Lop3 { lut } if lut.0 == 0xC0 => of(0).max(of(1)),
        Op::Sel {} | Op::Imnmx { .. } => of(0).min(of(1)),
        _ => 0,
    };
    zeros.min(32)
}
