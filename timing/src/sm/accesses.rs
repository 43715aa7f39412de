//! Splits a stepped memory instruction into its accesses: lanes to shared memory, and lanes to each cache
//! line.
//!
//! This is done once per instruction: at issue, or after the `access` hooks if a technique has one. The
//! load/store unit then only walks the result.

use super::machine::Machine;
use super::parts::load_store::{MemOp, Route};
use crate::config::Coalescing;
use crate::memory::coalesce::{coalesce_into, collisions, different_addresses};
use crate::memory::shared::{self, Patterns};
use crate::program::MemoryKind;
use crate::source::MemAccess;
use crate::stats::Counters;
use trace_format::isa::space::Space;

/// Where a memory instruction executes, with the patterns of the SM's shared memory.
pub(super) struct Split<'s> {
    pub(super) machine: &'s Machine,
    pub(super) sm: usize,
    pub(super) warp: usize,
    pub(super) pc: u32,
    pub(super) patterns: &'s mut Patterns,
}

/// Determines the lanes that access shared memory and the lines of the others, and counts the accesses.
#[inline]
pub(super) fn work_out(
    mut split: Split<'_>,
    op: &mut MemOp,
    access: Option<MemAccess<'_>>,
    counters: &mut Counters,
) {
    let Split { machine, sm, warp, .. } = split;
    let kind = op.kind;
    if let Some(access) = access {
        match access.space {
            Space::Shared => op.shared_cycles = split.shared_cycles(&access, kind),
            Space::Const => {
                let rules = machine.config.load_store.coalescing;
                coalesce_into(&access, rules, false, &mut op.accesses);
                let load_store = &machine.config.load_store;
                let further = u32::from(access.bytes.div_ceil(4).max(1)) - 1;
                op.constants = different_addresses(&access);
                op.constant_cycles =
                    load_store.constant_address_cycles + further * load_store.constant_word_cycles;
            }
            Space::Global | Space::Surface => global_access(machine, &access, kind, op),
            Space::Texture => {
                op.route = Route::Texture;
                coalesce_into(&access, Coalescing::Sectors, false, &mut op.accesses);
            }
            Space::Local => {
                let addresses =
                    std::array::from_fn(|lane| machine.local_address(sm, warp, lane, access.addresses[lane]));
                // A wide local access takes one pass per word.
                let access = MemAccess::new(Space::Global, access.bytes, &addresses, access.mask);
                global_access(machine, &access, kind, op);
                op.route = if machine.config.l1.caches_local { Route::Cached } else { Route::Bypass };
                op.local = true;
            }
            Space::Generic => split.generic_access(&access, kind, op),
        }
    }
    match kind {
        MemoryKind::Load(Space::Shared)
        | MemoryKind::Store(Space::Shared)
        | MemoryKind::Atomic(Space::Shared) => {}
        MemoryKind::Load(Space::Const) => counters.constant_accesses += 1,
        MemoryKind::Load(_) => counters.global_loads += 1,
        MemoryKind::Store(_) => counters.global_stores += 1,
        MemoryKind::Atomic(_) => {
            counters.global_atomics += 1;
            counters.atomic_conflict_lanes += u64::from(op.collisions.saturating_sub(1));
        }
    }
    if !matches!(kind, MemoryKind::Load(Space::Const)) {
        let accesses = op.accesses.as_slice();
        counters.coalesced_accesses += accesses.len() as u64;
        counters.coalesced_sectors += accesses.iter().map(|a| u64::from(a.sectors.count_ones())).sum::<u64>();
    }
    if op.shared_cycles > 0 {
        counters.shared_accesses += 1;
        counters.shared_bank_conflict_cycles += u64::from(op.shared_cycles) - 1;
    }
}

fn global_access(machine: &Machine, access: &MemAccess<'_>, kind: MemoryKind, op: &mut MemOp) {
    let config = &machine.config;
    op.route = if config.l1.bypass_global { Route::Bypass } else { Route::Cached };
    let cached_load = matches!(kind, MemoryKind::Load(_)) && op.route == Route::Cached;
    coalesce_into(access, config.load_store.coalescing, cached_load, &mut op.accesses);
    if matches!(kind, MemoryKind::Atomic(_)) {
        op.collisions = collisions(access);
    }
}

impl Split<'_> {
    /// Cycles that shared memory is occupied.
    fn shared_cycles(&mut self, access: &MemAccess<'_>, kind: MemoryKind) -> u32 {
        if access.mask == 0 {
            return 1;
        }
        let config = &self.machine.config.shared_memory;
        let cycles = self.patterns.access_cycles(self.pc, access, config);
        match kind {
            MemoryKind::Load(_) => shared::merged_cycles(cycles, access, config),
            MemoryKind::Atomic(_) => cycles + config.atomic_cycles * u32::from(collisions(access)),
            _ => cycles,
        }
    }

    /// Generic addresses: the address decides the memory of each lane.
    fn generic_access(&mut self, access: &MemAccess<'_>, kind: MemoryKind, op: &mut MemOp) {
        let Split { machine, sm, warp, .. } = *self;
        let mut addresses = [0u64; 32];
        let (mut shared, mut global, mut local) = (0u32, 0u32, 0u32);
        for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
            let (space, address) = Space::of_generic(access.addresses[lane]);
            addresses[lane] = address;
            match space {
                Space::Shared => shared |= 1 << lane,
                Space::Local => {
                    local |= 1 << lane;
                    addresses[lane] = machine.local_address(sm, warp, lane, address);
                }
                _ => global |= 1 << lane,
            }
        }
        let part = |mask| MemAccess::new(Space::Global, access.bytes, &addresses, mask);
        if shared != 0 {
            op.shared_cycles = self.shared_cycles(&part(shared), kind);
        }
        if global | local != 0 {
            global_access(machine, &part(global | local), kind, op);
        }
    }
}
