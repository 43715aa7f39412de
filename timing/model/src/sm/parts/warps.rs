//! Resident blocks and warps: the slots in use, and the progress of their warps.

use crate::source::WarpStream;
use crate::techniques::WarpView;

/// A warp slot.
#[derive(Debug)]
pub(crate) struct WarpSlot<W> {
    /// The warp's stream while it is resident.
    pub stream: Option<W>,
    /// Block slot.
    pub block_slot: u8,
    /// Linear block index.
    pub block: u32,
    /// Warp within the block.
    pub warp: u32,
    /// Lanes that hold threads.
    pub threads: u32,
    /// Lanes whose threads have not exited.
    pub alive: u32,
    /// Instructions stepped so far.
    pub issued: u64,
    /// Lanes in which the program has written each register; empty without techniques.
    pub written: Vec<u32>,
}

impl<W> Default for WarpSlot<W> {
    fn default() -> WarpSlot<W> {
        WarpSlot {
            stream: None,
            block_slot: 0,
            block: 0,
            warp: 0,
            threads: 0,
            alive: 0,
            issued: 0,
            written: Vec::new(),
        }
    }
}

impl<W: WarpStream> WarpSlot<W> {
    /// The view of the warp that techniques get.
    #[must_use]
    pub(crate) fn view(&self, index: usize) -> WarpView<'_> {
        let mut view = WarpView::new(index, self.rows());
        view.block_slot = usize::from(self.block_slot);
        (view.block, view.warp) = (self.block, self.warp);
        (view.threads, view.alive, view.issued) = (self.threads, self.alive, self.issued);
        view.written = &self.written;
        if let Some(stream) = &self.stream {
            view.preds = stream.preds();
            view.uniforms = stream.uniforms();
        }
        (view.next_pc, view.next_lanes) = self.next().map_or((u32::MAX, 0), |next| (next.pc, next.active));
        view
    }

    /// Registers after the warp's latest step; none in an empty slot.
    #[must_use]
    #[inline]
    pub(crate) fn rows(&self) -> &[crate::source::Row] {
        self.stream.as_ref().map_or(&[], WarpStream::rows)
    }

    /// Notes that the program has written registers in the lanes of `exec`.
    #[inline]
    pub(crate) fn note_written(&mut self, registers: &[u8], exec: u32) {
        for reg in registers {
            if let Some(lanes) = self.written.get_mut(usize::from(*reg)) {
                *lanes |= exec;
            }
        }
    }

    /// The next instruction of the recorded path: its position and the lanes on it.
    #[must_use]
    #[inline]
    pub(crate) fn next(&self) -> Option<crate::source::Upcoming> {
        self.stream.as_ref().and_then(WarpStream::peek)
    }
}

/// A block slot.
#[derive(Clone, Debug, Default)]
struct BlockSlot {
    occupied: bool,
    /// Warp slots of the block.
    warps: u64,
}

/// Blocks and warps of an SM.
#[derive(Debug)]
pub(crate) struct Residents<W> {
    /// By warp slot; none before [`Residents::open`].
    pub slots: Vec<WarpSlot<W>>,
    /// Number of warp slots.
    warps: usize,
    blocks: Vec<BlockSlot>,
    /// Streams of ended warps; new warps reuse their memory.
    spare: Vec<W>,
    /// Slots with a warp.
    resident: u64,
    /// Warps with instructions left.
    live: u64,
    /// Warps that are being set up.
    starting: u64,
    /// Warps that are set up but not yet admitted by techniques.
    unadmitted: u64,
}

impl<W: WarpStream> Residents<W> {
    /// Empty slots, which take no memory before the first warp is placed: small launches leave most SMs empty.
    #[must_use]
    pub(crate) fn new(blocks: usize, warps: usize) -> Residents<W> {
        Residents {
            slots: Vec::new(),
            warps,
            blocks: vec![BlockSlot::default(); blocks],
            spare: Vec::new(),
            resident: 0,
            live: 0,
            starting: 0,
            unadmitted: 0,
        }
    }

    /// Takes the memory of all slots.
    pub(crate) fn open(&mut self) {
        self.slots.resize_with(self.warps, WarpSlot::default);
    }

    /// Number of blocks of `warps_per_block` warps that could be placed now.
    #[must_use]
    pub(crate) fn free_blocks(&self, warps_per_block: u32) -> u32 {
        let free_warps = self.warps as u32 - self.resident.count_ones();
        let free_slots = self.blocks.iter().filter(|block| !block.occupied).count() as u32;
        free_slots.min(free_warps / warps_per_block)
    }

    /// Takes a block slot, if one is free.
    pub(crate) fn take_block(&mut self) -> Option<usize> {
        let slot = self.blocks.iter().position(|block| !block.occupied)?;
        self.blocks[slot] = BlockSlot { occupied: true, warps: 0 };
        Some(slot)
    }

    /// A stream that is not used any more.
    pub(crate) fn take_spare(&mut self) -> Option<W> {
        self.spare.pop()
    }

    /// The first free warp slot; the first of a scheduler (of so many) if it has one.
    #[must_use]
    pub(crate) fn free_warp(&self, of: Option<(u32, u32)>) -> usize {
        let free = !self.resident;
        if let Some((scheduler, schedulers)) = of {
            let own = (scheduler..self.warps as u32).step_by(schedulers as usize);
            if let Some(slot) = own.map(|slot| slot as usize).find(|slot| free >> slot & 1 != 0) {
                return slot;
            }
        }
        free.trailing_zeros() as usize
    }

    /// Places a warp; a warp with instructions starts its setup.
    pub(crate) fn place(&mut self, index: usize, slot: WarpSlot<W>) {
        if self.slots.is_empty() {
            self.open();
        }
        let has_instructions = slot.next().is_some();
        self.blocks[usize::from(slot.block_slot)].warps |= 1 << index;
        self.slots[index] = slot;
        self.resident |= 1 << index;
        if has_instructions {
            self.live |= 1 << index;
            self.starting |= 1 << index;
        }
    }

    /// Ends a warp's setup; techniques decide whether it may begin.
    pub(crate) fn await_admission(&mut self, warp: usize) {
        self.unadmitted |= 1 << warp;
    }

    /// Lets a warp begin.
    pub(crate) fn begin(&mut self, warp: usize) {
        self.unadmitted &= !(1 << warp);
        self.starting &= !(1 << warp);
    }

    /// Ends a warp's path.
    pub(crate) fn end_path(&mut self, warp: usize) {
        self.live &= !(1 << warp);
    }

    /// Frees a warp's slot; returns its block slot, and whether the block has ended with it.
    pub(crate) fn remove(&mut self, warp: usize) -> (usize, bool) {
        let slot = &mut self.slots[warp];
        self.spare.extend(slot.stream.take());
        self.resident &= !(1 << warp);
        let index = usize::from(slot.block_slot);
        let block = &mut self.blocks[index];
        block.warps &= !(1 << warp);
        block.occupied = block.warps != 0;
        (index, !block.occupied)
    }

    /// Warps that occupy slots.
    #[must_use]
    #[inline]
    pub(crate) fn resident(&self) -> u64 {
        self.resident
    }

    /// Warps with instructions left.
    #[must_use]
    #[inline]
    pub(crate) fn live(&self) -> u64 {
        self.live
    }

    /// Warps that are being set up or not yet admitted.
    #[must_use]
    #[inline]
    pub(crate) fn starting(&self) -> u64 {
        self.starting
    }

    /// Warps that are set up and not yet admitted.
    #[must_use]
    #[inline]
    pub(crate) fn unadmitted(&self) -> u64 {
        self.unadmitted
    }

    /// Slots of resident blocks.
    pub(crate) fn block_slots(&self) -> impl Iterator<Item = usize> {
        self.blocks.iter().enumerate().filter(|(_, block)| block.occupied).map(|(slot, _)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{MemAccess, Row, SourceError, Step, Upcoming};
    use trace_format::isa::Pred;

    /// A warp with so many instructions left, whose registers hold its number.
    struct Left {
        instructions: u32,
        rows: [Row; 1],
    }

    impl WarpStream for Left {
        fn peek(&self) -> Option<Upcoming> {
            (self.instructions > 0).then_some(Upcoming { pc: self.instructions, active: 0xFF })
        }

        fn step(&mut self) -> Result<Step, SourceError> {
            unreachable!("residents do not step warps")
        }

        fn finish(&mut self) -> Result<(), SourceError> {
            unreachable!("residents do not finish warps")
        }

        fn rows(&self) -> &[Row] {
            &self.rows
        }

        fn preds(&self) -> &[u32; Pred::ALL] {
            &[0; Pred::ALL]
        }

        fn uniforms(&self) -> &[Row] {
            &[]
        }

        fn mem(&self) -> Option<MemAccess<'_>> {
            None
        }
    }

    fn warp(block_slot: usize, block: u32, warp: u32, instructions: u32) -> WarpSlot<Left> {
        let stream = Some(Left { instructions, rows: [Row::splat(warp)] });
        let written = vec![0xF];
        let block_slot = block_slot as u8;
        WarpSlot { stream, block_slot, block, warp, threads: 0xFF, alive: 0xFF, issued: 7, written }
    }

    /// Places a block of warps with so many instructions each; returns its slot and those of its warps.
    fn place(residents: &mut Residents<Left>, block: u32, instructions: &[u32]) -> (usize, Vec<usize>) {
        let slot = residents.take_block().expect("a block slot");
        let mut warps = Vec::new();
        for (number, left) in instructions.iter().enumerate() {
            let index = residents.free_warp(None);
            residents.place(index, warp(slot, block, number as u32, *left));
            warps.push(index);
        }
        (slot, warps)
    }

    #[test]
    fn blocks_are_limited_by_block_slots_and_by_warp_slots() {
        let mut residents = Residents::new(3, 8);
        assert_eq!([1, 2, 3, 4, 5, 9].map(|warps| residents.free_blocks(warps)), [3, 3, 2, 2, 1, 0]);
        place(&mut residents, 10, &[1, 1, 1]);
        // Five warps and two block slots are left.
        assert_eq!([1, 2, 3, 5, 6].map(|warps| residents.free_blocks(warps)), [2, 2, 1, 1, 0]);
        place(&mut residents, 11, &[1]);
        place(&mut residents, 12, &[1]);
        assert_eq!(residents.free_blocks(1), 0, "three warp slots, no block slot");
        assert_eq!(residents.take_block(), None);
    }

    #[test]
    fn a_warp_takes_a_slot_of_its_scheduler_while_there_is_one() {
        let mut residents = Residents::new(4, 8);
        let of = |residents: &Residents<Left>, scheduler| residents.free_warp(Some((scheduler, 4)));
        assert_eq!([0, 1, 2, 3].map(|scheduler| of(&residents, scheduler)), [0, 1, 2, 3]);
        for (block, scheduler, slot) in [(0, 2, 2), (1, 2, 6), (2, 2, 0), (3, 0, 4)] {
            assert_eq!(of(&residents, scheduler), slot, "block {block}");
            let taken = residents.take_block().expect("a block slot");
            residents.place(slot, warp(taken, block, 0, 1));
        }
    }

    #[test]
    fn a_warp_begins_after_its_setup_and_when_it_is_admitted() {
        let mut residents = Residents::new(2, 8);
        place(&mut residents, 0, &[4, 4, 4]);
        assert_eq!([residents.resident(), residents.live(), residents.starting()], [0b111; 3]);
        residents.begin(1);
        assert_eq!((residents.starting(), residents.unadmitted()), (0b101, 0));
        residents.await_admission(2);
        residents.await_admission(0);
        assert_eq!((residents.starting(), residents.unadmitted()), (0b101, 0b101), "they still start");
        residents.begin(2);
        assert_eq!((residents.starting(), residents.unadmitted()), (0b001, 0b001));
        assert_eq!((residents.resident(), residents.live()), (0b111, 0b111));
    }

    #[test]
    fn a_warp_without_instructions_is_resident_and_never_starts() {
        let mut residents = Residents::new(1, 4);
        place(&mut residents, 0, &[0, 3]);
        assert_eq!((residents.resident(), residents.live(), residents.starting()), (0b11, 0b10, 0b10));
        assert!(residents.slots[0].next().is_none());
        assert_eq!(residents.slots[1].next(), Some(Upcoming { pc: 3, active: 0xFF }));
    }

    #[test]
    fn a_block_ends_with_its_last_warp_and_the_lowest_slots_are_taken_again() {
        let mut residents = Residents::new(2, 4);
        let (first, warps) = place(&mut residents, 5, &[1, 1]);
        let (second, _) = place(&mut residents, 6, &[1, 1]);
        assert_eq!((first, second, warps), (0, 1, vec![0, 1]));
        residents.end_path(0);
        assert_eq!((residents.live(), residents.resident()), (0b1110, 0b1111), "its slot is still taken");
        assert_eq!(residents.remove(0), (first, false));
        assert_eq!(residents.free_blocks(1), 0, "the block slot is still taken");
        residents.end_path(1);
        assert_eq!(residents.remove(1), (first, true));
        assert_eq!((residents.resident(), residents.live()), (0b1100, 0b1100));
        assert_eq!(residents.block_slots().collect::<Vec<_>>(), [second]);
        assert_eq!(residents.free_blocks(2), 1);
        assert_eq!(place(&mut residents, 7, &[1, 1]), (0, vec![0, 1]));
    }

    #[test]
    fn the_stream_of_a_warp_that_has_ended_is_used_again_once() {
        let mut residents = Residents::new(1, 2);
        assert!(residents.take_spare().is_none());
        place(&mut residents, 0, &[0, 0]);
        residents.remove(1);
        assert!(residents.slots[1].rows().is_empty(), "no warp is there");
        let spare = residents.take_spare().expect("the stream of the warp that ended");
        assert_eq!(spare.rows, [Row::splat(1)]);
        assert!(residents.take_spare().is_none());
    }

    #[test]
    fn techniques_see_a_warp_by_its_slot_and_its_place_in_the_grid() {
        let mut residents = Residents::new(4, 8);
        residents.take_block();
        let slot = residents.take_block().expect("a block slot");
        residents.place(6, warp(slot, 90, 3, 1));
        let view = residents.slots[6].view(6);
        assert_eq!((view.slot, view.block_slot, view.block, view.warp), (6, 1, 90, 3));
        assert_eq!((view.threads, view.issued, view.rows), (0xFF, 7, &[Row::splat(3)][..]));
        assert_eq!(view.written, [0xF]);
    }
}
