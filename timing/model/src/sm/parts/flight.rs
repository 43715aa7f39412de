//! Instructions in flight: a slab of records from issue to writeback, named by slot and generation.

use crate::source::MemAccess;
use crate::techniques::InFlightId;
use trace_format::isa::space::Space;

/// One instruction in flight.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
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
    /// Whether it has its result, and perhaps waits for the result bus.
    pub completed: bool,
    /// Whether a unit of a technique computes it beside the lanes: its results do not take the result bus.
    pub aside: bool,
    generation: u16,
}

/// The addresses of a memory instruction, kept until techniques have been asked about it.
#[derive(Clone, Debug)]
pub(crate) struct KeptAccess {
    space: Space,
    bytes: u8,
    addresses: [u64; 32],
    mask: u32,
}

impl KeptAccess {
    /// The access restricted to some lanes.
    #[must_use]
    pub(crate) fn view(&self, lanes: u32) -> MemAccess<'_> {
        let KeptAccess { space, bytes, addresses, mask } = self;
        MemAccess::new(*space, *bytes, addresses, mask & lanes)
    }
}

/// All instructions in flight of an SM.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flights {
    slots: Vec<Flight>,
    /// Addresses kept for the `access` hooks of techniques, by slot; empty without such hooks.
    kept: Vec<Option<Box<KeptAccess>>>,
    free: Vec<u16>,
    /// Number of instructions in flight by warp, and the warps that have any.
    of_warp: Vec<u16>,
    busy_warps: u64,
}

impl Flights {
    /// An empty slab for a number of warps.
    #[must_use]
    pub(crate) fn new(warps: usize) -> Flights {
        Flights { of_warp: vec![0; warps], ..Flights::default() }
    }

    /// Takes a slot for an instruction of a warp.
    #[inline]
    pub(crate) fn begin(&mut self, pc: u32, warp: u8, now: u64) -> u16 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Flight {
                pc: 0,
                warp: 0,
                active: 0,
                exec: 0,
                issued_at: 0,
                completed: false,
                aside: false,
                generation: 0,
            });
            (self.slots.len() - 1) as u16
        });
        let flight = &mut self.slots[usize::from(slot)];
        flight.pc = pc;
        flight.warp = warp;
        flight.issued_at = now;
        flight.completed = false;
        flight.aside = false;
        slot
    }

    /// Frees a slot.
    #[inline]
    pub(crate) fn end(&mut self, slot: u16) {
        let flight = &mut self.slots[usize::from(slot)];
        flight.generation = flight.generation.wrapping_add(1);
        self.free.push(slot);
    }

    /// Name of the instruction in a slot.
    #[must_use]
    #[inline]
    pub(crate) fn id(&self, slot: u16) -> InFlightId {
        InFlightId::new(slot, self.slots[usize::from(slot)].generation)
    }

    /// Whether the named instruction is still in flight.
    #[must_use]
    pub(crate) fn is_in_flight(&self, id: InFlightId) -> bool {
        let held = |flight: &Flight| flight.generation == id.generation();
        self.slots.get(usize::from(id.slot())).is_some_and(held) && !self.free.contains(&id.slot())
    }

    /// Whether the named instruction is in flight and has yet to complete.
    #[must_use]
    pub(crate) fn is_awaited(&self, id: InFlightId) -> bool {
        self.is_in_flight(id) && !self.slots[usize::from(id.slot())].completed
    }

    /// Keeps the addresses of an instruction until techniques have been asked about them.
    pub(crate) fn keep_access(&mut self, slot: u16, access: Option<MemAccess<'_>>) {
        let slot = usize::from(slot);
        if self.kept.len() <= slot {
            self.kept.resize_with(slot + 1, || None);
        }
        self.kept[slot] = access.map(|access| {
            let MemAccess { space, bytes, addresses, mask, .. } = access;
            Box::new(KeptAccess { space, bytes, addresses: *addresses, mask })
        });
    }

    /// Takes the addresses kept for the `access` hooks.
    pub(crate) fn take_access(&mut self, slot: u16) -> Option<Box<KeptAccess>> {
        self.kept.get_mut(usize::from(slot))?.take()
    }

    /// Instructions in flight.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Counts an instruction of a warp that enters the pipeline.
    #[inline]
    pub(crate) fn enter(&mut self, warp: usize) {
        self.of_warp[warp] += 1;
        self.busy_warps |= 1 << warp;
    }

    /// Counts an instruction of a warp that leaves the pipeline.
    #[inline]
    pub(crate) fn leave(&mut self, warp: usize) {
        self.of_warp[warp] -= 1;
        self.busy_warps &= !(u64::from(self.of_warp[warp] == 0) << warp);
    }

    /// Warps with instructions in flight.
    #[must_use]
    #[inline]
    pub(crate) fn busy_warps(&self) -> u64 {
        self.busy_warps
    }

    /// Instructions of a warp in flight.
    #[must_use]
    pub(crate) fn of_warp(&self, warp: usize) -> u16 {
        self.of_warp[warp]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_used_again_under_another_name() {
        let mut flights = Flights::new(4);
        let (first, second) = (flights.begin(10, 3, 100), flights.begin(11, 2, 101));
        assert_eq!((first, second, flights.len()), (0, 1, 2));
        let name = flights.id(first);
        assert!(flights.is_in_flight(name));
        flights.end(first);
        assert!(!flights.is_in_flight(name));
        assert!(!flights.is_in_flight(flights.id(first)), "the slot is free");
        assert_eq!(flights.len(), 1);

        assert_eq!(flights.begin(12, 1, 105), first);
        let flight = &flights[first];
        assert_eq!((flight.pc, flight.warp, flight.issued_at), (12, 1, 105));
        assert_ne!(flights.id(first), name);
        assert!(flights.is_in_flight(flights.id(first)) && !flights.is_in_flight(name));
        assert_eq!((flights[second].pc, flights.len()), (11, 2));
        assert!(!flights.is_in_flight(InFlightId::NONE));
        assert!(flights.is_awaited(flights.id(first)));
        flights[first].completed = true;
        assert!(!flights.is_awaited(flights.id(first)), "it waits for the result bus");
    }

    #[test]
    fn the_slot_that_became_free_last_is_taken_first() {
        let mut flights = Flights::new(1);
        assert_eq!([0, 1, 2].map(|pc| flights.begin(pc, 0, 0)), [0, 1, 2]);
        flights.end(0);
        flights.end(2);
        assert_eq!([3, 4, 5].map(|pc| flights.begin(pc, 0, 0)), [2, 0, 3]);
    }

    #[test]
    fn a_warp_is_busy_from_its_first_instruction_to_its_last() {
        let mut flights = Flights::new(64);
        flights.enter(63);
        flights.enter(63);
        flights.enter(5);
        assert_eq!((flights.busy_warps(), flights.of_warp(63), flights.of_warp(5)), (1 << 63 | 1 << 5, 2, 1));
        flights.leave(63);
        flights.leave(5);
        assert_eq!((flights.busy_warps(), flights.of_warp(63)), (1 << 63, 1));
        flights.leave(63);
        assert_eq!((flights.busy_warps(), flights.of_warp(63)), (0, 0));
    }

    #[test]
    fn the_addresses_of_an_instruction_are_taken_once_and_in_the_lanes_that_are_asked_for() {
        let mut flights = Flights::new(1);
        let slots = [0, 1, 2].map(|pc| flights.begin(pc, 0, 0));
        assert!(flights.take_access(slots[2]).is_none(), "none was kept");
        let addresses: [u64; 32] = std::array::from_fn(|lane| 0x1000 + 8 * lane as u64);
        let access = MemAccess::new(Space::Global, 8, &addresses, 0xF0F0);
        flights.keep_access(slots[1], Some(access));
        let kept = flights.take_access(slots[1]).expect("the addresses");
        assert!(flights.take_access(slots[1]).is_none());
        let all = kept.view(u32::MAX);
        assert_eq!((all.space, all.bytes, all.mask, all.addresses[31]), (Space::Global, 8, 0xF0F0, 0x10F8));
        assert_eq!(kept.view(0xFF).mask, 0xF0);

        flights.keep_access(slots[1], Some(access));
        flights.keep_access(slots[1], None);
        assert!(flights.take_access(slots[1]).is_none(), "an instruction without access comes after it");
    }
}
