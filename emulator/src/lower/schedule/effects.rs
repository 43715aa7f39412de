//! The order of effects: which instructions must stay in the order of the code.

use crate::lower::vir::{Inst, VOp, Val};
use trace_format::isa::{Kind, Op, space::Space};

/// Whether an instruction stays where it was issued.
pub(super) fn is_fixed(inst: &Inst) -> bool {
    is_strong(inst) || (is_ordered(inst) && !matches!(inst.op.kind(), Kind::Load(_)))
}

/// Whether an instruction takes part in the order of effects.
pub(super) fn is_ordered(inst: &Inst) -> bool {
    match inst.op.kind() {
        // Matrix products stay in their block, but nothing in it has to stay on one side of them.
        Kind::Pure => inst.op.crosses_lanes() && !inst.op.is_matrix_product(),
        Kind::Load(Space::Const) => false,
        _ => true,
    }
}

/// Whether nothing ordered may cross an instruction.
fn is_fence(inst: &Inst) -> bool {
    matches!(
        inst.op.kind(),
        Kind::Barrier | Kind::Fence | Kind::Sync | Kind::External | Kind::Call | Kind::Trap
    ) && !matches!(inst.op, VOp::M(Op::Txq { .. }))
        || is_strong(inst)
}

/// Whether a memory access is more than weak, so that others must not pass it.
fn is_strong(inst: &Inst) -> bool {
    use trace_format::isa::MemOrder;
    if inst.strong {
        return true;
    }
    let Some(memory) = inst.machine().and_then(|op| op.info().memory) else { return false };
    let order = memory.order;
    matches!(order, MemOrder::Acquire | MemOrder::Release | MemOrder::AcqRel)
        || (order == MemOrder::Strong && !matches!(inst.op.kind(), Kind::Atomic(_) | Kind::Reduction(_)))
}

/// Effect of an ordered instruction that others may observe.
pub(super) enum Effect {
    /// Nothing ordered may cross it.
    Fence,
    Access(Access),
    /// It involves other lanes.
    Lanes,
}

impl Effect {
    pub(super) fn of(inst: &Inst) -> Effect {
        match access(inst) {
            _ if is_fence(inst) => Effect::Fence,
            Some(access) => Effect::Access(access),
            None => Effect::Lanes,
        }
    }
}

/// Whether two ordered instructions must stay in order.
pub(super) fn conflicts(a: &Effect, b: &Effect) -> bool {
    let (x, y) = match (a, b) {
        (Effect::Fence, _) | (_, Effect::Fence) => return true,
        // Operations across lanes keep their order among themselves.
        (Effect::Lanes, _) | (_, Effect::Lanes) => {
            return matches!((a, b), (Effect::Lanes, Effect::Lanes));
        }
        (Effect::Access(x), Effect::Access(y)) => (x, y),
    };
    if !(x.writes || y.writes) || x.read_only || y.read_only {
        return false;
    }
    // Surfaces and textures are in device memory at unknown addresses.
    if x.space.is_remote() || y.space.is_remote() {
        let in_device_memory = |s: Space| s.is_remote() || matches!(s, Space::Global | Space::Generic);
        return in_device_memory(x.space) && in_device_memory(y.space);
    }
    let generic = x.space == Space::Generic || y.space == Space::Generic;
    if !generic && x.space != y.space {
        return false;
    }
    let same_base = x.base == y.base && x.scale == y.scale;
    let apart = x.offset + i64::from(x.bytes) <= y.offset || y.offset + i64::from(y.bytes) <= x.offset;
    !(same_base && apart)
}

/// A memory access and its address.
pub(super) struct Access {
    space: Space,
    writes: bool,
    read_only: bool,
    base: [Val; 2],
    scale: u32,
    offset: i64,
    bytes: u8,
}

fn access(inst: &Inst) -> Option<Access> {
    let VOp::M(op) = inst.op else { return None };
    let (space, writes) = match op.info().kind {
        Kind::Load(space) => (space, false),
        Kind::Store(space) | Kind::Atomic(space) | Kind::Reduction(space) => (space, true),
        _ => return None,
    };
    let memory = op.info().memory?;
    Some(Access {
        space,
        writes,
        read_only: memory.read_only,
        base: [inst.src[0].v[0], if op.info().src_regs[0] > 1 { inst.src[0].v[1] } else { Val::ZERO }],
        scale: memory.scale().shift(),
        offset: i64::from(inst.offset),
        bytes: memory.bytes(),
    })
}
