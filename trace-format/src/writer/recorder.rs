//! Recorder of an emulator thread for one thread block: paths, recorded rows, checksums.
//!
//! The streams are in a [`BlockPart`] that is sent to the writer thread when the block is finished, or
//! earlier if it has grown large; the recorder keeps the encoders' state and receives empty streams back, so
//! that no memory is allocated once buffers have grown to the size of a block.

use crate::container::part::BlockPart;
use crate::encode::checksum::Checksums;
use crate::encode::encoder::ValueEncoder;
use crate::encode::layout::{External, StreamLayout};
use crate::encode::path::PathState;
use crate::isa::{BlockId, Kind, Need, Pc};
use crate::semantics::{ExecInst, Geometry, Row, WARP_SIZE, Warp};
use std::sync::Arc;

/// Number of appended words after which a block is submitted in parts.
const PART_WORDS: usize = 256 << 10;

/// Records one thread block at a time; each emulator thread has one, from [`super::LaunchWriter::recorder`].
#[derive(Clone, Debug)]
pub struct BlockRecorder {
    layout: Arc<StreamLayout>,
    geometry: Geometry,
    pub(crate) part: BlockPart,
    encoder: ValueEncoder,
    paths: Vec<PathState>,
    sums: Vec<Checksums>,
    /// Approximate number of words appended to the part.
    appended: usize,
}

impl BlockRecorder {
    pub(crate) fn new(launch: u32, layout: Arc<StreamLayout>, geometry: Geometry) -> BlockRecorder {
        let part = BlockPart { launch, ..BlockPart::default() };
        let (paths, sums) = (Vec::new(), Vec::new());
        BlockRecorder { layout, geometry, part, encoder: ValueEncoder::default(), paths, sums, appended: 0 }
    }

    /// Starts a block, given by its number among the recorded ones (all of them, x fastest, unless the launch is
    /// sampled), with all of its warps at the kernel's entry.
    pub fn begin(&mut self, block: u64) {
        let warps = self.geometry.warps_per_block();
        self.part.block = block;
        self.part.part = 0;
        self.paths.clear();
        self.paths.extend((0..warps).map(|w| PathState::start(self.geometry.launched_mask(w))));
        self.sums.resize_with(warps as usize, Checksums::default);
        self.sums.iter_mut().for_each(Checksums::reset);
        self.begin_part();
    }

    /// Discards the data recorded for the block since its last submission.
    pub fn forget(&mut self) {
        self.begin_part();
    }

    fn begin_part(&mut self) {
        let warps = self.paths.len();
        self.part.clear(warps);
        self.encoder.begin(warps, self.layout.slots);
        self.appended = 0;
    }

    /// Records that a warp enters a basic block (of the kernel's [`crate::isa::Flow`]) with these active
    /// lanes: before its first instruction and after every branch, call, return, exit or fall into another
    /// block.
    #[inline]
    pub fn enter(&mut self, warp: u32, block: BlockId, active: u32) {
        let b = self.layout.block(block);
        let instructions = u64::from(b.end.0 - b.first.0);
        self.part.warp_instructions += instructions;
        self.part.thread_instructions += instructions * u64::from(active.count_ones());
        let out = &mut self.part.warps[warp as usize];
        let path = &mut self.paths[warp as usize];
        path.encode(&self.layout, block, active, &mut out.path_tokens, &mut out.path_params);
        self.appended += 1;
    }

    /// Records the `i`-th destination register of a load, an atomic, an external special register or a
    /// barrier reduction in the lanes that it took effect in. Must be called for every destination register
    /// other than RZ, in order; with no lanes nothing is recorded.
    #[inline]
    pub fn external(&mut self, warp: u32, pc: Pc, i: usize, row: &Row, exec: u32) {
        if exec != 0 {
            let external = self.layout.externals[pc.index()];
            if i < usize::from(external.results.registers) {
                self.row(warp, external.slot as usize + i, row, exec);
            }
        }
    }

    /// Records all external results of an instruction that accesses no memory once `warp_state` holds them: its
    /// destination registers and predicates; nothing for pure instructions.
    #[inline]
    pub fn externals(&mut self, warp: u32, pc: Pc, inst: &ExecInst, warp_state: &Warp, exec: u32) {
        let external = self.layout.externals[pc.index()];
        // Predicates that a pure instruction has computed are recorded when it retires.
        if exec != 0 && external.rows() != 0 && inst.kind != Kind::Pure {
            self.results(warp, external, inst, warp_state, exec);
        }
    }

    /// Records a memory access once `warp_state` holds its results: what it loaded, its addresses if they do not follow
    /// from registers, and the checksum of its addresses, `at`, which are those before the instruction wrote its
    /// registers. Must be called for every memory instruction with lanes in which it took effect.
    #[inline]
    pub fn access(
        &mut self,
        warp: u32,
        pc: Pc,
        inst: &ExecInst,
        warp_state: &Warp,
        exec: u32,
        at: &[u64; WARP_SIZE],
    ) {
        if exec == 0 {
            return;
        }
        let external = self.layout.externals[pc.index()];
        if external.rows() != 0 {
            self.results(warp, external, inst, warp_state, exec);
        }
        let lanes = inst.written_lanes(exec);
        if external.address {
            self.addresses(warp, external, at, lanes);
        }
        self.sums[warp as usize].access(pc, lanes, at);
    }

    /// Records the destinations that an instruction's layout names.
    #[inline]
    fn results(&mut self, warp: u32, external: External, inst: &ExecInst, warp_state: &Warp, exec: u32) {
        let lanes = inst.written_lanes(exec);
        for i in 0..external.results.registers {
            let slot = external.slot as usize + usize::from(i);
            self.row(warp, slot, warp_state.row(inst.dst + u16::from(i)), lanes);
        }
        for (slot, predicate) in external.predicates() {
            self.row(warp, slot, &Row::splat(warp_state.pred(predicate) & lanes), lanes);
        }
    }

    fn addresses(&mut self, warp: u32, external: External, at: &[u64; WARP_SIZE], exec: u32) {
        let slot = external.slot as usize + usize::from(external.result_rows());
        for (slot, shift) in [(slot, 0), (slot + 1, 32)] {
            let row = Row::from_fn(|l| if exec >> l & 1 != 0 { (at[l] >> shift) as u32 } else { 0 });
            self.row(warp, slot, &row, exec);
        }
    }

    #[inline]
    fn row(&mut self, warp: u32, slot: usize, row: &Row, exec: u32) {
        self.encoder.encode(&mut self.part.warps, warp as usize, slot, &row.0, exec);
        self.appended += 9;
    }

    /// Folds the results of an instruction into the warp's checksums, after they have been written. Must be
    /// called for every executed instruction of any kind, with the lanes in which it took effect.
    #[inline]
    pub fn retire(&mut self, warp: u32, pc: Pc, inst: &ExecInst, warp_state: &Warp, exec: u32) {
        let sums = &mut self.sums[warp as usize];
        sums.timing(pc, inst, warp_state, exec);
        match self.layout.slice.as_ref().map(|slice| slice.need(pc)) {
            None => sums.results(pc, inst, warp_state, exec),
            Some(Need::Nothing) => {}
            Some(need) => {
                sums.results_in_lanes(pc, inst, warp_state, exec);
                if need == Need::Recorded && exec != 0 {
                    let external = self.layout.externals[pc.index()];
                    self.results(warp, external, inst, warp_state, exec);
                }
            }
        }
    }

    /// Records a step of an imported trace: an instruction with the lanes in which it took effect, and for a memory
    /// instruction the byte address of each of these lanes ([`crate::isa::space::NO_ADDRESS`] if it touches no memory).
    pub fn imported(&mut self, warp: u32, pc: Pc, exec: u32, addresses: &[u64; WARP_SIZE]) {
        self.enter(warp, BlockId(pc.0), exec);
        // The reader folds addresses in while it steps, and the step afterwards.
        let external = self.layout.externals[pc.index()];
        if external.address && exec != 0 {
            self.addresses(warp, external, addresses, exec);
            self.sums[warp as usize].access(pc, exec, addresses);
        }
        self.sums[warp as usize].imported(pc, exec);
    }

    /// Whether the block has grown so large that [`super::LaunchWriter::submit_part`] should be called; may
    /// be called between any two instructions, and is deterministic for a block.
    #[must_use]
    #[inline]
    pub fn is_full(&self) -> bool {
        self.appended >= PART_WORDS
    }

    /// Closes the part and swaps in an empty one.
    pub(crate) fn take(&mut self, last: bool, mut empty: BlockPart) -> BlockPart {
        self.part.last = last;
        if last {
            for (part, sum) in self.part.warps.iter_mut().zip(&self.sums) {
                part.checksums = sum.values();
            }
        }
        (empty.launch, empty.block, empty.part) = (self.part.launch, self.part.block, self.part.part + 1);
        let full = std::mem::replace(&mut self.part, empty);
        self.begin_part();
        full
    }
}
