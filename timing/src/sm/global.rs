//! From a stepped memory instruction to its accesses: which lanes go to shared memory, which to which lines.
//!
//! Done once at issue, when the addresses are known; the load/store unit then only walks the result.

use super::Sm;
use super::flight::{MemOp, Route};
use crate::config::Coalescing;
use crate::memory::coalesce::{LineAccesses, coalesce, collisions};
use crate::memory::shared;
use crate::program::{MemoryKind, Path};
use crate::source::{LaunchSource, MemAccess, WarpStream};
use trace_format::isa::space::Space;

impl<S: LaunchSource> Sm<'_, S> {
    /// Works out the accesses of the memory instruction that a warp has just stepped over.
    pub(super) fn prepare_access(&mut self, warp: usize, slot: u16) {
        let machine = self.machine;
        let inst = &machine.program.insts[self.flights[slot].pc as usize];
        let Path::Memory(kind) = inst.path else { return };
        let mut op = MemOp::default();
        let sm = self.id;
        if let Some(access) = self.warps[warp].stream.as_ref().and_then(WarpStream::mem) {
            match access.space {
                Space::Shared => op.shared_cycles = self.shared_cycles(&access, kind),
                Space::Const => op.accesses = coalesce(&access, machine.config.load_store.coalescing, false),
                Space::Global | Space::Surface => self.global_access(&access, kind, &mut op),
                Space::Texture => {
                    op.route = Route::Texture;
                    op.accesses = coalesce(&access, Coalescing::Sectors, false);
                }
                Space::Local => {
                    let addresses = std::array::from_fn(|lane| {
                        machine.local_address(sm, warp, lane, access.addresses[lane])
                    });
                    // A wide local access is one word per lane and pass.
                    let access = MemAccess { space: Space::Global, addresses: &addresses, ..access };
                    self.global_access(&access, kind, &mut op);
                    op.route = if machine.config.l1.caches_local { Route::Cached } else { Route::Bypass };
                    op.local = true;
                }
                Space::Generic => self.generic_access(warp, &access, kind, &mut op),
            }
        }
        let counters = &mut self.stats.counters;
        match kind {
            MemoryKind::Load(Space::Shared)
            | MemoryKind::Store(Space::Shared)
            | MemoryKind::Atomic(Space::Shared) => {}
            MemoryKind::Load(Space::Const) => counters.constant_accesses += 1,
            MemoryKind::Load(_) => counters.global_loads += 1,
            MemoryKind::Store(_) => counters.global_stores += 1,
            MemoryKind::Atomic(_) => counters.global_atomics += 1,
        }
        if !matches!(kind, MemoryKind::Load(Space::Const)) {
            let accesses = op.accesses.as_slice();
            counters.coalesced_accesses += accesses.len() as u64;
            counters.coalesced_sectors +=
                accesses.iter().map(|a| u64::from(a.sectors.count_ones())).sum::<u64>();
        }
        if op.shared_cycles > 0 {
            counters.shared_accesses += 1;
            counters.shared_bank_conflict_cycles += u64::from(op.shared_cycles) - 1;
        }
        self.flights[slot].mem = op;
    }

    fn shared_cycles(&self, access: &MemAccess<'_>, kind: MemoryKind) -> u32 {
        if access.mask == 0 {
            return 1;
        }
        let config = &self.machine.config.shared_memory;
        let cycles = shared::access_cycles(access, config);
        match kind {
            MemoryKind::Load(_) => shared::merged_cycles(cycles, access, config),
            MemoryKind::Atomic(_) => cycles + config.atomic_cycles * u32::from(collisions(access)),
            _ => cycles,
        }
    }

    fn global_access(&self, access: &MemAccess<'_>, kind: MemoryKind, op: &mut MemOp) {
        let config = &self.machine.config;
        op.route = if config.l1.bypass_global { Route::Bypass } else { Route::Cached };
        let cached_load = matches!(kind, MemoryKind::Load(_)) && op.route == Route::Cached;
        op.accesses = coalesce(access, config.load_store.coalescing, cached_load);
        if matches!(kind, MemoryKind::Atomic(_)) {
            op.collisions = collisions(access);
        }
    }

    /// Generic addresses: each lane goes where its address points.
    fn generic_access(&self, warp: usize, access: &MemAccess<'_>, kind: MemoryKind, op: &mut MemOp) {
        let mut addresses = [0u64; 32];
        let (mut shared, mut global, mut local) = (0u32, 0u32, 0u32);
        for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
            let (space, address) = Space::of_generic(access.addresses[lane]);
            addresses[lane] = address;
            match space {
                Space::Shared => shared |= 1 << lane,
                Space::Local => {
                    local |= 1 << lane;
                    addresses[lane] = self.machine.local_address(self.id, warp, lane, address);
                }
                _ => global |= 1 << lane,
            }
        }
        let part =
            |mask| MemAccess { space: Space::Global, bytes: access.bytes, addresses: &addresses, mask };
        if shared != 0 {
            op.shared_cycles = self.shared_cycles(&part(shared), kind);
        }
        if global | local != 0 {
            self.global_access(&part(global | local), kind, op);
        } else {
            op.accesses = LineAccesses::default();
        }
    }
}
