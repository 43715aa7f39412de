//! Splits a stepped memory instruction into its accesses: lanes to shared memory, and lanes to each cache
//! line.
//!
//! This is done once per instruction: at issue, or after the `access` hooks if a technique has one. The
//! load/store unit then only walks the result.

use super::machine::Machine;
use super::parts::load_store::{MemOp, Route};
use crate::config::Coalescing;
use crate::memory::coalesce::{bank_cycles, coalesce, coalesce_into, collisions, different_addresses};
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
    let mut counted = Counted::default();
    if let Some(access) = access {
        let bytes = u64::from(access.bytes);
        let mut lanes = access.mask;
        match access.space {
            Space::Shared => {
                op.shared_cycles = split.shared_cycles(&access, kind, &mut counted);
                lanes = 0;
            }
            Space::Const => {
                let rules = machine.config.load_store.coalescing;
                coalesce_into(&access, rules, false, &mut op.accesses);
                let load_store = &machine.config.load_store;
                let further = u32::from(access.bytes.div_ceil(4).max(1)) - 1;
                op.constants = different_addresses(&access);
                op.constant_cycles =
                    load_store.constant_address_cycles + further * load_store.constant_word_cycles;
            }
            Space::Global | Space::Surface => global_access(machine, &access, kind, op, &mut counted),
            Space::Texture => {
                op.route = Route::Texture;
                coalesce_into(&access, Coalescing::Sectors, false, &mut op.accesses);
            }
            Space::Local => {
                let addresses =
                    std::array::from_fn(|lane| machine.local_address(sm, warp, lane, access.addresses[lane]));
                // A wide local access takes one pass per word.
                let access = MemAccess::new(Space::Global, access.bytes, &addresses, access.mask);
                global_access(machine, &access, kind, op, &mut counted);
                op.route = if machine.config.l1.caches_local { Route::Cached } else { Route::Bypass };
                op.local = true;
            }
            Space::Generic => lanes = split.generic_access(&access, kind, op, &mut counted),
        }
        counted.needed_sectors = (u64::from(lanes.count_ones()) * bytes).div_ceil(32);
    }
    count(op, &counted, counters);
}

/// What an instruction's accesses count, besides what the load/store unit needs of them.
#[derive(Default)]
struct Counted {
    /// Whether any lane accesses shared memory.
    shared_lanes: bool,
    /// Cycles of shared memory that lanes in different words of a bank cost.
    bank_conflict_cycles: u32,
    /// Cycles of shared memory that lanes of an atomic at one address cost.
    atomic_conflict_cycles: u32,
    /// Sectors that the lanes' data would fill side by side.
    needed_sectors: u64,
    /// Requests to L2 of an atomic.
    atomic_requests: u64,
}

/// Counts an instruction that accesses memory. As in hardware, one whose guard is false in every lane makes no request.
fn count(op: &MemOp, counted: &Counted, counters: &mut Counters) {
    let accesses = op.accesses.as_slice();
    match op.kind {
        MemoryKind::Load(Space::Shared)
        | MemoryKind::Store(Space::Shared)
        | MemoryKind::Atomic(Space::Shared) => {}
        _ if accesses.is_empty() => {}
        MemoryKind::Load(Space::Const) => counters.constant_accesses += 1,
        MemoryKind::Load(_) => counters.global_loads += 1,
        MemoryKind::Store(_) => counters.global_stores += 1,
        MemoryKind::Atomic(_) => {
            counters.global_atomics += 1;
            counters.global_atomic_requests += counted.atomic_requests;
            counters.atomic_conflict_lanes += u64::from(op.collisions.saturating_sub(1));
        }
    }
    if !matches!(op.kind, MemoryKind::Load(Space::Const)) {
        counters.coalesced_accesses += accesses.len() as u64;
        counters.coalesced_sectors += accesses.iter().map(|a| u64::from(a.sectors.count_ones())).sum::<u64>();
        counters.needed_sectors += counted.needed_sectors;
    }
    if counted.shared_lanes {
        counters.shared_accesses += 1;
        counters.shared_cycles += u64::from(op.shared_cycles);
        counters.shared_bank_conflict_cycles += u64::from(counted.bank_conflict_cycles);
        counters.shared_atomic_conflict_cycles += u64::from(counted.atomic_conflict_cycles);
    }
}

/// Lanes whose atomics at addresses in one line are one request to L2.
const ATOMIC_LANES: [u32; 2] = [0x0000_FFFF, 0xFFFF_0000];

fn global_access(
    machine: &Machine,
    access: &MemAccess<'_>,
    kind: MemoryKind,
    op: &mut MemOp,
    counted: &mut Counted,
) {
    let config = &machine.config;
    op.route = if config.l1.bypass_global { Route::Bypass } else { Route::Cached };
    let cached_load = matches!(kind, MemoryKind::Load(_)) && op.route == Route::Cached;
    coalesce_into(access, config.load_store.coalescing, cached_load, &mut op.accesses);
    if cached_load {
        op.accesses.group_by_tags(config.l1.tag_lines, config.l1.tag_banks);
        if config.l1.word_banks {
            op.bank_cycles = bank_cycles(access, op.accesses.as_slice());
        }
    }
    if matches!(kind, MemoryKind::Atomic(_)) {
        op.collisions = collisions(access);
        for half in ATOMIC_LANES {
            let access = MemAccess::new(access.space, access.bytes, access.addresses, access.mask & half);
            let lines = coalesce(&access, config.load_store.coalescing, false);
            counted.atomic_requests += lines.as_slice().len() as u64;
        }
    }
}

impl Split<'_> {
    /// Cycles that shared memory is occupied.
    fn shared_cycles(&mut self, access: &MemAccess<'_>, kind: MemoryKind, counted: &mut Counted) -> u32 {
        if access.mask == 0 {
            return 1;
        }
        counted.shared_lanes = true;
        let config = &self.machine.config.shared_memory;
        let cycles = self.patterns.access_cycles(self.pc, access, config);
        let needed = shared::passes(access, config);
        let merged = |cycles| match kind {
            MemoryKind::Load(_) => shared::merged_cycles(cycles, access, config),
            _ => cycles,
        };
        counted.bank_conflict_cycles = merged(cycles).saturating_sub(merged(needed));
        let MemoryKind::Atomic(_) = kind else { return merged(cycles) };
        let lanes = u32::from(collisions(access));
        counted.atomic_conflict_cycles = config.atomic_cycles * (lanes - 1);
        cycles + config.atomic_cycles * lanes
    }

    /// Generic addresses: the address decides the memory of each lane. Returns the lanes outside of shared memory.
    fn generic_access(
        &mut self,
        access: &MemAccess<'_>,
        kind: MemoryKind,
        op: &mut MemOp,
        counted: &mut Counted,
    ) -> u32 {
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
            op.shared_cycles = self.shared_cycles(&part(shared), kind, counted);
        }
        if global | local != 0 {
            global_access(machine, &part(global | local), kind, op, counted);
        }
        global | local
    }
}
