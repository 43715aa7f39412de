//! Resident blocks and warps: the slots in use, and the progress of their warps.

use crate::source::WarpStream;
use crate::techniques::WarpView;

/// A warp slot.
#[derive(Debug)]
pub struct WarpSlot<W> {
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
    /// Instructions stepped so far.
    pub issued: u64,
}

impl<W> Default for WarpSlot<W> {
    fn default() -> WarpSlot<W> {
        WarpSlot { stream: None, block_slot: 0, block: 0, warp: 0, threads: 0, issued: 0 }
    }
}

impl<W: WarpStream> WarpSlot<W> {
    /// The view of the warp that techniques get.
    #[must_use]
    pub fn view(&self, index: usize) -> WarpView<'_> {
        WarpView {
            slot: index,
            block_slot: usize::from(self.block_slot),
            block: self.block,
            warp: self.warp,
            threads: self.threads,
            issued: self.issued,
            rows: self.rows(),
        }
    }

    /// Registers after the warp's latest step; none in an empty slot.
    #[must_use]
    #[inline]
    pub fn rows(&self) -> &[crate::source::Row] {
        self.stream.as_ref().map_or(&[], WarpStream::rows)
    }

    /// The next instruction of the recorded path: its position and the lanes on it.
    #[must_use]
    #[inline]
    pub fn next(&self) -> Option<crate::source::Upcoming> {
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
pub struct Residents<W> {
    /// By warp slot.
    pub slots: Vec<WarpSlot<W>>,
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
    /// Empty slots.
    #[must_use]
    pub fn new(blocks: usize, warps: usize) -> Residents<W> {
        Residents {
            slots: (0..warps).map(|_| WarpSlot::default()).collect(),
            blocks: vec![BlockSlot::default(); blocks],
            spare: Vec::new(),
            resident: 0,
            live: 0,
            starting: 0,
            unadmitted: 0,
        }
    }

    /// Number of blocks of `warps_per_block` warps that could be placed now.
    #[must_use]
    pub fn free_blocks(&self, warps_per_block: u32) -> u32 {
        let free_warps = self.slots.len() as u32 - self.resident.count_ones();
        let free_slots = self.blocks.iter().filter(|block| !block.occupied).count() as u32;
        free_slots.min(free_warps / warps_per_block)
    }

    /// Takes a block slot, if one is free.
    pub fn take_block(&mut self) -> Option<usize> {
        let slot = self.blocks.iter().position(|block| !block.occupied)?;
        self.blocks[slot] = BlockSlot { occupied: true, warps: 0 };
        Some(slot)
    }

    /// A stream that is not used any more.
    pub fn take_spare(&mut self) -> Option<W> {
        self.spare.pop()
    }

    /// The first free warp slot.
    #[must_use]
    pub fn free_warp(&self) -> usize {
        (!self.resident).trailing_zeros() as usize
    }

    /// Places a warp; a warp with instructions starts its setup.
    pub fn place(&mut self, index: usize, slot: WarpSlot<W>) {
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
    pub fn await_admission(&mut self, warp: usize) {
        self.unadmitted |= 1 << warp;
    }

    /// Lets a warp begin.
    pub fn begin(&mut self, warp: usize) {
        self.unadmitted &= !(1 << warp);
        self.starting &= !(1 << warp);
    }

    /// Ends a warp's path.
    pub fn end_path(&mut self, warp: usize) {
        self.live &= !(1 << warp);
    }

    /// Frees a warp's slot; returns its block slot, and whether the block has ended with it.
    pub fn remove(&mut self, warp: usize) -> (usize, bool) {
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
    pub fn resident(&self) -> u64 {
        self.resident
    }

    /// Warps with instructions left.
    #[must_use]
    #[inline]
    pub fn live(&self) -> u64 {
        self.live
    }

    /// Warps that are being set up or not yet admitted.
    #[must_use]
    #[inline]
    pub fn starting(&self) -> u64 {
        self.starting
    }

    /// Warps that are set up and not yet admitted.
    #[must_use]
    #[inline]
    pub fn unadmitted(&self) -> u64 {
        self.unadmitted
    }

    /// Slots of resident blocks.
    pub fn block_slots(&self) -> impl Iterator<Item = usize> {
        self.blocks.iter().enumerate().filter(|(_, block)| block.occupied).map(|(slot, _)| slot)
    }
}
