//! Instructions in flight: a slab of records from issue to writeback, named by slot and generation.

use crate::memory::Served;
use crate::memory::coalesce::LineAccesses;
use crate::program::{MAX_DST, MAX_SRC};
use crate::source::{MemAccess, Row};
use crate::techniques::InFlightId;
use trace_format::isa::space::Space;

/// Where a load looks first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Route {
    /// In L1.
    #[default]
    Cached,
    /// In L2.
    Bypass,
    /// In the texture cache.
    Texture,
}

/// Coalesced memory access of an instruction.
#[derive(Clone, Debug, Default)]
pub struct MemOp {
    /// Lines in global or local memory.
    pub accesses: LineAccesses,
    /// Next line to access.
    pub next: u8,
    /// Cycles that the access holds shared memory; 0 when it touches none.
    pub shared_cycles: u32,
    /// Most lanes on one address of an atomic.
    pub collisions: u8,
    /// Which way loads of these lines take.
    pub route: Route,
    /// Whether every lane's address is local.
    pub local: bool,
    /// The unit has begun with it.
    pub begun: bool,
    /// Every line has been accessed.
    pub all_sent: bool,
    /// Replies and fills to wait for.
    pub waiting: u16,
    /// Where the data that came from furthest away were.
    pub served: Served,
    /// Cycle at which the latest hit delivers.
    pub ready_at: u64,
}

impl MemOp {
    /// Begins another access in the same memory.
    pub fn clear(&mut self) {
        let MemOp {
            accesses,
            next,
            shared_cycles,
            collisions,
            route,
            local,
            begun,
            all_sent,
            waiting,
            served,
            ready_at,
        } = self;
        accesses.clear();
        (*next, *shared_cycles, *collisions, *waiting, *ready_at) = (0, 0, 0, 0, 0);
        (*route, *served) = (Route::default(), Served::default());
        (*local, *begun, *all_sent) = (false, false, false);
    }
}

/// One instruction in flight.
#[derive(Clone, Debug)]
pub struct Flight {
    /// Instruction index.
    pub pc: u32,
    /// Warp slot.
    pub warp: u8,
    /// Lanes on the path.
    pub active: u32,
    /// Lanes in which it takes effect.
    pub exec: u32,
    /// Cycle of issue.
    pub issued_at: u64,
    /// Operands that have not arrived, one bit each.
    pub missing: u16,
    /// Operands that had to be collected.
    pub collecting: u16,
    /// Operands that arrive together with the operand of the index.
    pub together: [u16; MAX_SRC],
    /// Collector unit.
    pub collector: u8,
    /// Collector pool, for the attribution of stalls.
    pub pool: u8,
    generation: u16,
}

/// The addresses of a memory instruction, kept until techniques have been asked about it.
#[derive(Clone, Debug)]
pub struct KeptAccess {
    space: Space,
    bytes: u8,
    addresses: [u64; 32],
    mask: u32,
}

impl KeptAccess {
    /// The access in some of its lanes.
    #[must_use]
    pub fn view(&self, lanes: u32) -> MemAccess<'_> {
        let KeptAccess { space, bytes, addresses, mask } = self;
        MemAccess { space: *space, bytes: *bytes, addresses, mask: mask & lanes }
    }
}

/// All instructions in flight of an SM.
#[derive(Clone, Debug, Default)]
pub struct Flights {
    slots: Vec<Flight>,
    /// Accesses of the slots that hold memory instructions; apart, as most do not and these are large.
    accesses: Vec<MemOp>,
    rows: Vec<[Row; MAX_DST]>,
    /// Addresses that techniques have still to be asked about, by slot; empty where none wants to be.
    kept: Vec<Option<Box<KeptAccess>>>,
    free: Vec<u16>,
    keep_rows: bool,
}

impl Flights {
    /// An empty slab; with `keep_rows`, destination rows are kept until writeback.
    #[must_use]
    pub fn new(keep_rows: bool) -> Flights {
        Flights { keep_rows, ..Flights::default() }
    }

    /// Whether destination rows are kept.
    #[must_use]
    #[inline]
    pub fn keeps_rows(&self) -> bool {
        self.keep_rows
    }

    /// Takes a slot for an instruction of a warp.
    #[inline]
    pub fn begin(&mut self, pc: u32, warp: u8, now: u64) -> u16 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Flight {
                pc: 0,
                warp: 0,
                active: 0,
                exec: 0,
                issued_at: 0,
                missing: 0,
                collecting: 0,
                together: [0; MAX_SRC],
                collector: 0,
                pool: 0,
                generation: 0,
            });
            self.accesses.push(MemOp::default());
            if self.keep_rows {
                self.rows.push([Row::ZERO; MAX_DST]);
            }
            (self.slots.len() - 1) as u16
        });
        let flight = &mut self.slots[usize::from(slot)];
        flight.pc = pc;
        flight.warp = warp;
        flight.issued_at = now;
        flight.missing = 0;
        flight.together = [0; MAX_SRC];
        slot
    }

    /// Gives a slot back.
    #[inline]
    pub fn end(&mut self, slot: u16) {
        let flight = &mut self.slots[usize::from(slot)];
        flight.generation = flight.generation.wrapping_add(1);
        self.free.push(slot);
    }

    /// Name of the instruction in a slot.
    #[must_use]
    #[inline]
    pub fn id(&self, slot: u16) -> InFlightId {
        InFlightId::new(slot, self.slots[usize::from(slot)].generation)
    }

    /// Whether the named instruction is still in flight.
    #[must_use]
    pub fn is_in_flight(&self, id: InFlightId) -> bool {
        let held = |flight: &Flight| flight.generation == id.generation();
        self.slots.get(usize::from(id.slot())).is_some_and(held) && !self.free.contains(&id.slot())
    }

    /// Keeps the addresses of an instruction until techniques have been asked about them.
    pub fn keep_access(&mut self, slot: u16, access: Option<MemAccess<'_>>) {
        let slot = usize::from(slot);
        if self.kept.len() <= slot {
            self.kept.resize_with(slot + 1, || None);
        }
        self.kept[slot] = access.map(|access| {
            let MemAccess { space, bytes, addresses, mask } = access;
            Box::new(KeptAccess { space, bytes, addresses: *addresses, mask })
        });
    }

    /// The addresses that techniques have still to be asked about.
    pub fn take_access(&mut self, slot: u16) -> Option<Box<KeptAccess>> {
        self.kept.get_mut(usize::from(slot))?.take()
    }

    /// Whether the named instruction is still in flight and waits for an operand.
    #[must_use]
    pub fn awaits(&self, id: InFlightId, operand: u8) -> bool {
        let flight = &self.slots[usize::from(id.slot())];
        flight.generation == id.generation() && flight.missing >> operand & 1 != 0
    }

    /// Instructions in flight.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Memory access of a slot that holds a memory instruction.
    #[must_use]
    #[inline]
    pub fn mem(&self, slot: u16) -> &MemOp {
        &self.accesses[usize::from(slot)]
    }

    /// The same, to be changed.
    #[inline]
    pub fn mem_mut(&mut self, slot: u16) -> &mut MemOp {
        &mut self.accesses[usize::from(slot)]
    }

    /// Destination rows of a slot.
    #[must_use]
    pub fn rows(&self, slot: u16) -> &[Row; MAX_DST] {
        &self.rows[usize::from(slot)]
    }

    /// Destination rows of a slot, to be filled.
    pub fn rows_mut(&mut self, slot: u16) -> &mut [Row; MAX_DST] {
        &mut self.rows[usize::from(slot)]
    }
}

impl std::ops::Index<u16> for Flights {
    type Output = Flight;
    #[inline]
    fn index(&self, slot: u16) -> &Flight {
        &self.slots[usize::from(slot)]
    }
}

impl std::ops::IndexMut<u16> for Flights {
    #[inline]
    fn index_mut(&mut self, slot: u16) -> &mut Flight {
        &mut self.slots[usize::from(slot)]
    }
}
