//! What a memory instruction does, as far as its code and its warp's registers tell.

use super::super::WarpView;
use trace_format::isa::space::Space;
use trace_format::isa::{Inst, MemOrder, Op, Operand, Scope};

/// Whether a fence orders the warp with other blocks.
pub(super) fn passes_other_blocks(inst: &Inst) -> bool {
    !matches!(inst.op, Op::Membar { scope: Scope::Cta })
}

/// Whether a memory instruction makes other blocks' stores visible.
pub(super) fn acquires(inst: &Inst) -> bool {
    inst.info().memory.is_some_and(|memory| matches!(memory.order, MemOrder::Acquire | MemOrder::AcqRel))
}

/// Lanes of an access that fall into global memory.
pub(super) fn global_lanes(space: Space, addresses: &[u64; 32], lanes: u32) -> u32 {
    if space == Space::Global {
        return lanes;
    }
    let is_global = |lane: &u32| Space::of_generic(addresses[*lane as usize]).0 == Space::Global;
    (0..32).filter(|lane| lanes >> lane & 1 != 0).filter(is_global).fold(0, |all, lane| all | 1 << lane)
}

/// The addresses of an instruction that has not been stepped; none if they do not come from registers.
pub(super) fn addresses(warp: &WarpView<'_>, inst: &Inst) -> Option<[u64; 32]> {
    let Operand::Reg(reg) = inst.src[0].operand else { return None };
    if !inst.base.is_zero() {
        return None;
    }
    let word = |offset: usize, lane: usize| {
        let row = (!reg.is_zero()).then(|| warp.rows.get(reg.index() + offset)).flatten();
        row.map_or(0, |row| u64::from(row.0[lane]))
    };
    let offset = i64::from(inst.offset) as u64;
    Some(std::array::from_fn(|lane| (word(0, lane) | word(1, lane) << 32).wrapping_add(offset)))
}
