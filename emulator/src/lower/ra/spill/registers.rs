//! Spilled registers, kept in local memory or rematerialised where they are read.

use trace_format::isa::{MemWidth, Op, SourceLine};

use super::ends::Ends;
use super::spilled::Spilled;
use crate::lower::vir::{Blk, Func, Inst, InstId, PSrc, Src, Term, VOp, VReg, Val};

/// Source of a reload.
enum Home {
    /// Its slot in local memory.
    Slot(i32),
    /// The instruction that rematerialises it.
    Recipe(Box<Inst>),
}

/// The spilled values, by number.
struct Homes(Vec<Option<Home>>);

impl Homes {
    fn of(&self, v: Val) -> Option<(VReg, &Home)> {
        let r = v.reg()?;
        Some((r, self.0.get(r.index())?.as_ref()?))
    }

    fn slot(&self, r: VReg) -> Option<i32> {
        match self.of(Val::Reg(r)) {
            Some((_, Home::Slot(offset))) => Some(*offset),
            _ => None,
        }
    }

    /// An instruction that reloads a value into a new register.
    fn bring(
        &self,
        f: &mut Func,
        r: VReg,
        line: SourceLine,
        spilled: &mut Spilled,
    ) -> Option<(VReg, InstId)> {
        let (_, home) = self.of(Val::Reg(r))?;
        let mut inst = match home {
            Home::Recipe(inst) => (**inst).clone(),
            Home::Slot(offset) => {
                let mut load = Inst::new(VOp::M(Op::Ldl { width: MemWidth::B32 }), line);
                load.src[0] = Src::RZ;
                load.offset = *offset;
                load
            }
        };
        let fresh = spilled.fresh_register(f);
        inst.dst = [Some(fresh), None, None, None];
        Some((fresh, f.add_inst(inst)))
    }
}

/// Spills registers in one walk over the code; slots begin at `frame_bytes`.
pub(super) fn spill(f: &mut Func, registers: &[VReg], frame_bytes: u32, spilled: &mut Spilled) {
    let mut homes = Homes(Vec::new());
    homes.0.resize_with(f.defs.len(), || None);
    for &r in registers {
        spilled.registers.insert(r.index());
        homes.0[r.index()] = Some(recipe(f, r).map_or_else(
            || {
                spilled.bytes += 4;
                Home::Slot((frame_bytes + spilled.bytes - 4) as i32)
            },
            |inst| Home::Recipe(Box::new(inst)),
        ));
    }
    let mut ends = Ends::default();
    for b in f.order.clone() {
        instructions(f, b, &homes, spilled);
        phis(f, b, &homes, &mut ends, spilled);
    }
    results(f, &homes, &mut ends, spilled);
    ends.append(f);
}

/// Loads before the instructions of a block that read spilled values, stores after those that write them.
fn instructions(f: &mut Func, b: Blk, homes: &Homes, spilled: &mut Spilled) {
    let before = std::mem::take(&mut f.block_mut(b).insts);
    let mut after = Vec::with_capacity(before.len());
    let params = f.subs.iter().filter(|sub| sub.entry == b).flat_map(|sub| sub.params.clone());
    for param in params.collect::<Vec<_>>() {
        let line = f.block(b).line;
        after.extend(homes.slot(param).map(|offset| store(f, line, param, offset)));
    }
    let mut back: Vec<(VReg, VReg)> = Vec::new();
    for id in before {
        let line = f.inst(id).line;
        let mut read = Vec::new();
        f.inst(id).for_each_val(|v| read.extend(homes.of(v).map(|(r, _)| r)));
        back.clear();
        for r in read {
            if back.iter().all(|(old, _)| *old != r)
                && let Some((fresh, inst)) = homes.bring(f, r, line, spilled)
            {
                back.push((r, fresh));
                after.push(inst);
            }
        }
        if !back.is_empty() {
            f.insts[id.index()].map_vals(|v| renamed(v, &back));
        }
        // A rematerialised value is not computed here.
        let written: Vec<VReg> = f.inst(id).dsts().collect();
        let again = |r: &VReg| matches!(homes.of(Val::Reg(*r)), Some((_, Home::Recipe(_))));
        if !written.iter().any(again) {
            after.push(id);
        }
        for r in written {
            after.extend(homes.slot(r).map(|offset| store(f, line, r, offset)));
        }
    }
    f.block_mut(b).insts = after;
}

pub(super) fn renamed(v: Val, names: &[(VReg, VReg)]) -> Val {
    let found = names.iter().find(|(old, _)| v == Val::Reg(*old));
    found.map_or(v, |(_, fresh)| Val::Reg(*fresh))
}

/// Reloads the arguments of a block's phis at the end of its predecessors, which also write the phis in
/// memory.
fn phis(f: &mut Func, b: Blk, homes: &Homes, ends: &mut Ends, spilled: &mut Spilled) {
    let mut list = std::mem::take(&mut f.block_mut(b).phis);
    for (edge, p) in f.block(b).preds.clone().into_iter().enumerate() {
        let line = f.block(p).line;
        let mut back: Vec<(VReg, VReg)> = Vec::new();
        for phi in &mut list {
            let arg = phi.args[edge];
            let slot = homes.slot(phi.dst);
            if arg == Val::Reg(phi.dst) || arg == Val::Undef {
                continue;
            }
            if let Some((r, _)) = homes.of(arg) {
                if back.iter().all(|(old, _)| *old != r)
                    && let Some((fresh, inst)) = homes.bring(f, r, line, spilled)
                {
                    back.push((r, fresh));
                    ends.of(p).bring.push(inst);
                }
                phi.args[edge] = renamed(arg, &back);
            }
            if let Some(offset) = slot {
                let value = phi.args[edge].reg().unwrap_or_else(|| {
                    let (fresh, mov) = constant(f, line, arg, spilled);
                    ends.of(p).bring.push(mov);
                    fresh
                });
                let store = store(f, line, value, offset);
                ends.of(p).pass.push(store);
            }
        }
    }
    list.retain(|phi| homes.slot(phi.dst).is_none());
    f.block_mut(b).phis = list;
}

/// Reloads the results of subroutines where they return.
fn results(f: &mut Func, homes: &Homes, ends: &mut Ends, spilled: &mut Spilled) {
    for s in 0..f.subs.len() {
        let is_end =
            |b: &Blk| f.block(*b).sub.is_some_and(|x| x.index() == s) && f.block(*b).term == Term::Return;
        let Some(b) = f.order.iter().copied().find(is_end) else { continue };
        let line = f.block(b).line;
        let mut back: Vec<(VReg, VReg)> = Vec::new();
        for v in f.subs[s].results.clone() {
            if let Some((r, _)) = homes.of(v)
                && back.iter().all(|(old, _)| *old != r)
                && let Some((fresh, inst)) = homes.bring(f, r, line, spilled)
            {
                back.push((r, fresh));
                ends.of(b).bring.push(inst);
            }
        }
        f.subs[s].results.iter_mut().for_each(|v| *v = renamed(*v, &back));
    }
}

/// The instruction that rematerialises a value, if its operands are known everywhere.
fn recipe(f: &Func, r: VReg) -> Option<Inst> {
    let (id, 0) = f.def(Val::Reg(r))? else { return None };
    let inst = f.inst(id);
    let cheap = match inst.op {
        VOp::FrameAddress => true,
        VOp::M(Op::Mov {}) => inst.src[0].v[0].reg().is_none(),
        VOp::M(op @ Op::S2r { .. }) => op.info().kind == trace_format::isa::Kind::Pure && inst.op.is_free(),
        _ => false,
    };
    (cheap && inst.guard == PSrc::TRUE).then(|| inst.clone())
}

fn store(f: &mut Func, line: SourceLine, r: VReg, offset: i32) -> InstId {
    let mut store = Inst::new(VOp::M(Op::Stl { width: MemWidth::B32 }), line);
    store.src[0] = Src::RZ;
    store.src[1] = Src::one(Val::Reg(r));
    store.offset = offset;
    f.add_inst(store)
}

/// A register that holds a literal or constant.
fn constant(f: &mut Func, line: SourceLine, v: Val, spilled: &mut Spilled) -> (VReg, InstId) {
    let fresh = spilled.fresh_register(f);
    let mut mov = Inst::new(VOp::M(Op::Mov {}), line);
    mov.src[0] = Src::one(v);
    mov.dst[0] = Some(fresh);
    (fresh, f.add_inst(mov))
}
