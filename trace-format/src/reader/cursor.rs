//! The cursor that steps one warp through its kernel and regenerates every value: pure instructions with the
//! shared semantics, all other results from the trace.

use super::file::TraceFile;
use super::path::{PathWalk, slice};
use crate::container::TraceError;
use crate::container::frame::{FrameValues, WarpBytes};
use crate::encode::checksum::{Checksums, WarpSums};
use crate::encode::decoder::ValueDecoder;
use crate::encode::pool::Words;
use crate::encode::{CodingError, layout::External};
use crate::isa::space::{NO_ADDRESS, Space};
use crate::isa::{Kind, Need, Pc, TimingSlice};
use crate::semantics::{Code, ExecInst, FULL_MASK, Row, WARP_SIZE, Warp, execute};
use std::sync::Arc;

/// The instruction that a warp executes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Upcoming {
    /// Program counter.
    pub pc: Pc,
    /// Active lanes.
    pub active: u32,
}

/// An executed instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Program counter.
    pub pc: Pc,
    /// Active lanes.
    pub active: u32,
    /// Lanes in which the guard held too.
    pub exec: u32,
}

/// Addresses of a memory instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemAccess {
    /// Address space; generic addresses are not resolved.
    pub space: Space,
    /// Bytes accessed per lane.
    pub bytes_per_lane: u8,
    /// Lanes that accessed memory; the addresses of other lanes are undefined.
    pub mask: u32,
    /// Byte address of every lane.
    pub addresses: [u64; WARP_SIZE],
}

/// Steps one warp from its first instruction to its last.
#[derive(Clone, Debug)]
pub struct WarpCursor {
    walk: PathWalk,
    code: Arc<Code>,
    warp: Warp,
    values: ValueDecoder,
    /// Values of the frame that the current part is in.
    data: Arc<FrameValues>,
    sums: Option<Checksums>,
    /// If set, only instructions in this backward slice (of addresses, barriers and guards) are evaluated.
    slice: Option<Arc<TimingSlice>>,
    /// Whether that slice is of guards alone.
    guards_alone: bool,
    pc: Pc,
    /// One past the last instruction of the current basic block.
    end: Pc,
    active: u32,
    steps: u64,
    mem: MemAccess,
    mem_valid: bool,
    /// Error of the search for the next instruction.
    error: Option<Arc<TraceError>>,
}

/// The word pool of a block within its frame.
struct BlockWords<'a> {
    warps: &'a [WarpBytes],
    words: &'a [u32],
}

impl Words for BlockWords<'_> {
    #[inline]
    fn of_warp(&self, warp: usize) -> &[u32] {
        let range = self.warps.get(warp).map(|w| w.words.start as usize..w.words.end as usize);
        range.and_then(|r| self.words.get(r)).unwrap_or(&[])
    }
}

impl WarpCursor {
    pub(super) fn new(
        file: Arc<TraceFile>,
        launch: u32,
        block: u64,
        warp: u32,
    ) -> Result<WarpCursor, TraceError> {
        if file.header.has_values() {
            WarpCursor::start(file, launch, block, warp, None)
        } else {
            let why = file.header.contents.lack_of_values().unwrap_or_default();
            Err(file.missing(format!("it {why}")))
        }
    }

    pub(super) fn of_slice(
        file: Arc<TraceFile>,
        launch: u32,
        block: u64,
        warp: u32,
    ) -> Result<WarpCursor, TraceError> {
        file.check_warp(launch, block, warp)?;
        let slice = file.slice(launch);
        WarpCursor::start(file, launch, block, warp, Some(slice))
    }

    pub(super) fn of_guards(
        file: Arc<TraceFile>,
        launch: u32,
        block: u64,
        warp: u32,
    ) -> Result<WarpCursor, TraceError> {
        file.check_warp(launch, block, warp)?;
        let slice = file.guards(launch);
        let cursor = WarpCursor::start(file, launch, block, warp, Some(slice))?;
        Ok(WarpCursor { guards_alone: true, sums: None, ..cursor })
    }

    fn start(
        file: Arc<TraceFile>,
        launch: u32,
        block: u64,
        warp: u32,
        slice: Option<Arc<TimingSlice>>,
    ) -> Result<WarpCursor, TraceError> {
        let walk = PathWalk::start(file, launch, block, warp)?;
        let data = values_of(&walk)?;
        let code = walk.file.code(launch)?;
        let state = Warp::new(&code);
        let mem = MemAccess { space: Space::Global, bytes_per_lane: 0, mask: 0, addresses: [0; WARP_SIZE] };
        let mut cursor = WarpCursor {
            walk,
            code,
            warp: state,
            values: ValueDecoder::default(),
            data,
            sums: Some(Checksums::default()),
            slice,
            guards_alone: false,
            pc: Pc(0),
            end: Pc(0),
            active: 0,
            steps: 0,
            mem,
            mem_valid: false,
            error: None,
        };
        cursor.begin(false)?;
        Ok(cursor)
    }

    /// Moves to the first instruction of another warp, reusing this cursor's memory.
    ///
    /// # Errors
    /// As [`super::Trace::warp_cursor`]; the cursor must then not be used.
    pub fn restart(&mut self, launch: u32, block: u64, warp: u32) -> Result<(), TraceError> {
        let same_launch = launch == self.walk.launch;
        let same_indices = same_launch && warp == self.walk.warp;
        if same_launch {
            self.walk.restart(block, warp)?;
        } else {
            self.walk = PathWalk::start(self.walk.file.clone(), launch, block, warp)?;
            self.code = self.walk.file.code(launch)?;
            self.warp.rebind(&self.code);
            let (file, guards_alone) = (&self.walk.file, self.guards_alone);
            let of = |_| if guards_alone { file.guards(launch) } else { file.slice(launch) };
            self.slice = self.slice.as_ref().map(of);
        }
        self.begin(same_indices)
    }

    /// Begins at the walk's warp; `same_indices` if the last one was the same warp of another block of the
    /// launch.
    fn begin(&mut self, same_indices: bool) -> Result<(), TraceError> {
        self.enter_part()?;
        let launch = &self.walk.file.launches[self.walk.launch as usize];
        let geometry = launch.geometry;
        let ctaid = geometry.block_index(launch.grid_block(self.walk.block));
        if same_indices {
            self.warp.restart(&self.code, ctaid);
        } else {
            self.warp.reset(&self.code, &geometry, ctaid, self.walk.warp);
        }
        if let Some(sums) = &mut self.sums {
            sums.reset();
        }
        (self.pc, self.end, self.active, self.steps) = (Pc(0), Pc(0), 0, 0);
        self.mem_valid = false;
        self.error = None;
        self.find_next();
        match self.error.take() {
            Some(error) => Err(unshare(error)),
            None => Ok(()),
        }
    }

    /// Loads the values of the walk's new part.
    fn enter_part(&mut self) -> Result<(), TraceError> {
        self.data = values_of(&self.walk)?;
        self.values.begin(self.walk.warp, self.walk.layout.slots);
        Ok(())
    }

    /// The next instruction; `None` at the warp's end, and when [`WarpCursor::step`] will report an error.
    #[must_use]
    #[inline]
    pub fn peek(&self) -> Option<Upcoming> {
        (self.pc != self.end).then_some(Upcoming { pc: self.pc, active: self.active })
    }

    /// Executes the next instruction; `None` at the warp's end.
    ///
    /// # Errors
    /// The trace is damaged, or at the warp's end its values differ from the recorded ones.
    #[inline]
    pub fn step(&mut self) -> Result<Option<Step>, TraceError> {
        if self.pc == self.end {
            return match self.error.take() {
                Some(error) => Err(unshare(error)),
                None => Ok(None),
            };
        }
        let (pc, active) = (self.pc, self.active);
        let inst = &self.code.insts[pc.index()];
        let exec = self.code.exec_mask(pc, &self.warp, active);
        let need = self.slice.as_ref().map_or(Need::Results, |slice| slice.need(pc));
        self.mem_valid = false;
        if inst.kind != Kind::Pure {
            self.outside(exec, need != Need::Nothing)?;
        } else if need == Need::Results {
            execute(&self.code, inst, &mut self.warp, exec);
        } else if need == Need::Recorded && exec != 0 {
            let (inst, external) = (*inst, self.walk.layout.externals[pc.index()]);
            self.read_results(external, &inst, inst.written_lanes(exec))?;
        }
        if let Some(sums) = &mut self.sums {
            let inst = &self.code.insts[pc.index()];
            if self.walk.layout.imported {
                sums.imported(pc, exec);
            } else {
                sums.timing(pc, inst, &self.warp, exec);
                if self.slice.is_none() {
                    sums.results(pc, inst, &self.warp, exec);
                } else if need != Need::Nothing && self.walk.layout.slice.is_some() {
                    sums.results_in_lanes(pc, inst, &self.warp, exec);
                }
            }
        }
        self.steps += 1;
        self.pc = pc.next();
        if self.pc == self.end {
            self.find_next();
        }
        Ok(Some(Step { pc, active, exec }))
    }

    /// Handles memory instructions and all others whose results are recorded.
    #[inline(never)]
    fn outside(&mut self, exec: u32, needed: bool) -> Result<(), TraceError> {
        let inst = self.code.insts[self.pc.index()];
        // A load to a uniform register is that of the whole warp.
        let exec = inst.written_lanes(exec);
        let space = inst.kind.space().filter(|_| !self.guards_alone);
        if let Some(space) = space {
            self.mem_valid = true;
            self.mem.space = space;
            self.mem.bytes_per_lane = inst.mem_bytes();
            self.mem.mask = exec & inst.address_lanes();
            self.code.addresses(&inst, &self.warp, &mut self.mem.addresses);
        }
        let external = self.walk.layout.externals[self.pc.index()];
        if exec != 0 && external.rows() != 0 {
            if needed {
                self.read_results(external, &inst, exec)?;
            } else {
                let rows = u32::from(external.result_rows());
                (0..rows).try_for_each(|i| self.skip_row((external.slot + i) as usize, exec))?;
            }
            if external.address {
                self.read_addresses(external, exec)?;
            }
        }
        if let Some(sums) = self.sums.as_mut().filter(|_| exec != 0 && space.is_some()) {
            sums.access(self.pc, exec, &self.mem.addresses);
        }
        Ok(())
    }

    /// Reads the destinations that the layout of the current instruction names.
    #[inline]
    fn read_results(&mut self, external: External, inst: &ExecInst, exec: u32) -> Result<(), TraceError> {
        for i in 0..external.results.registers {
            self.read_register(external.slot as usize + usize::from(i), inst.dst + u16::from(i), exec)?;
        }
        for (slot, predicate) in external.predicates() {
            let mut row = Row::ZERO;
            self.read_row(slot, exec, &mut row)?;
            self.warp.write_pred(predicate, row.0[exec.trailing_zeros() as usize], exec);
        }
        Ok(())
    }

    /// Addresses of an access to textures or surfaces, or of an imported one; lanes that touch no memory leave the
    /// access's mask.
    fn read_addresses(&mut self, external: External, exec: u32) -> Result<(), TraceError> {
        let slot = external.slot as usize + usize::from(external.result_rows());
        let (mut low, mut high) = (Row::ZERO, Row::ZERO);
        self.read_row(slot, exec, &mut low)?;
        self.read_row(slot + 1, exec, &mut high)?;
        for l in (0..WARP_SIZE).filter(|l| exec >> l & 1 != 0) {
            let address = u64::from(low.0[l]) | u64::from(high.0[l]) << 32;
            self.mem.addresses[l] = address;
            if address == NO_ADDRESS {
                self.mem.mask &= !(1 << l);
            }
        }
        Ok(())
    }

    /// Reads a row into a register; complete rows, the common case, are decoded in place.
    #[inline]
    fn read_register(&mut self, slot: usize, register: u16, exec: u32) -> Result<(), TraceError> {
        self.reach_row()?;
        let WarpCursor { walk, warp, values, data, .. } = self;
        let result = if exec == FULL_MASK {
            decode(walk, values, data, slot, exec, warp.row_mut(register))
        } else {
            let mut row = Row::ZERO;
            let result = decode(walk, values, data, slot, exec, &mut row);
            warp.write_row(register, &row, exec);
            result
        };
        result.map_err(|e| self.walk.stream_error(self.steps, e))
    }

    fn read_row(&mut self, slot: usize, exec: u32, row: &mut Row) -> Result<(), TraceError> {
        self.reach_row()?;
        let WarpCursor { walk, values, data, .. } = self;
        decode(walk, values, data, slot, exec, row).map_err(|e| self.walk.stream_error(self.steps, e))
    }

    /// Skips a row whose values are not needed.
    fn skip_row(&mut self, slot: usize, exec: u32) -> Result<(), TraceError> {
        self.reach_row()?;
        let bytes = self.walk.bytes();
        let tokens = slice(&self.data.values, &bytes.value_tokens);
        let params = slice(&self.data.values, &bytes.value_params);
        self.values.skip(tokens, params, slot, exec).map_err(|e| self.walk.stream_error(self.steps, e))
    }

    /// Advances to the part that holds the next row.
    #[inline]
    fn reach_row(&mut self) -> Result<(), TraceError> {
        while self.values.rows() >= self.walk.bytes().value_tokens.len() && !self.walk.entry.last {
            self.advance()?;
        }
        Ok(())
    }

    /// Advances to the block's next part, if this one is exhausted.
    #[inline(never)]
    fn advance(&mut self) -> Result<(), TraceError> {
        self.check_used_up()?;
        self.walk.advance()?;
        self.enter_part()
    }

    fn check_used_up(&self) -> Result<(), TraceError> {
        let bytes = self.walk.bytes();
        let tokens = slice(&self.data.values, &bytes.value_tokens);
        let params = slice(&self.data.values, &bytes.value_params);
        let used_up = self.values.is_at_end(tokens, params)
            && self.values.fresh_words() as usize == bytes.words.len()
            && self.walk.is_at_end();
        if used_up { Ok(()) } else { Err(self.walk.mismatch(self.steps, "data is left over in its streams")) }
    }

    /// Finds the block that the warp enters next; an error is kept for the next step.
    fn find_next(&mut self) {
        match self.try_next() {
            Ok(Some((first, end, active))) => {
                (self.pc, self.end, self.active) = (first, end, active);
            }
            Ok(None) => self.end = self.pc,
            Err(error) => {
                self.end = self.pc;
                self.error = Some(Arc::new(error));
            }
        }
    }

    #[inline]
    fn try_next(&mut self) -> Result<Option<(Pc, Pc, u32)>, TraceError> {
        loop {
            match self.walk.next() {
                Ok(Some((block, active))) => {
                    let b = self.walk.layout.block(block);
                    return Ok(Some((b.first, b.end, active)));
                }
                Ok(None) if self.walk.entry.last => return self.check_end().map(|()| None),
                Ok(None) => self.advance()?,
                Err(e) => return Err(self.walk.stream_error(self.steps, e)),
            }
        }
    }

    fn check_end(&self) -> Result<(), TraceError> {
        self.check_used_up()?;
        let Some(sums) = &self.sums else { return Ok(()) };
        let (recorded, found) = (self.walk.bytes().checksums, sums.values());
        // The slice of a trace with values has not all of its results.
        let recorded = match self.slice.is_none() || self.walk.layout.slice.is_some() {
            true => recorded,
            false => WarpSums { results: found.results, ..recorded },
        };
        let what = match recorded == found {
            true => return Ok(()),
            false if recorded.timing == found.timing => "values",
            false => "addresses or lanes",
        };
        Err(self.walk.mismatch(self.steps, format!("the regenerated {what} differ from the recorded ones")))
    }

    /// Registers and predicates: before a step those that the instruction reads, after it its results.
    #[must_use]
    #[inline]
    pub fn warp(&self) -> &Warp {
        &self.warp
    }

    /// Whether every register and predicate holds its value, and not only those that addresses depend on.
    #[must_use]
    pub fn regenerates_values(&self) -> bool {
        self.slice.is_none()
    }

    /// The prepared kernel.
    #[must_use]
    #[inline]
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Memory access of the last step, if it was a memory instruction.
    #[must_use]
    #[inline]
    pub fn mem(&self) -> Option<&MemAccess> {
        self.mem_valid.then_some(&self.mem)
    }

    /// Instructions executed so far.
    #[must_use]
    #[inline]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Launch, block and warp that the cursor steps.
    #[must_use]
    pub fn place(&self) -> crate::container::Place {
        self.walk.place(self.steps)
    }
}

/// Values of the frame that a walk is in.
fn values_of(walk: &PathWalk) -> Result<Arc<FrameValues>, TraceError> {
    walk.file.values(&walk.slot)
}

/// Decodes the next row of a warp; the part holds it, or the warp's last part is damaged.
#[inline]
fn decode(
    walk: &PathWalk,
    values: &mut ValueDecoder,
    data: &FrameValues,
    slot: usize,
    exec: u32,
    row: &mut Row,
) -> Result<(), CodingError> {
    let bytes = walk.bytes();
    let tokens = slice(&data.values, &bytes.value_tokens);
    let params = slice(&data.values, &bytes.value_params);
    let words = BlockWords { warps: walk.block_bytes(), words: &data.words };
    values.decode(&words, tokens, params, slot, exec, &mut row.0)
}

/// The error itself, unless a cloned cursor shares it.
fn unshare(error: Arc<TraceError>) -> TraceError {
    Arc::try_unwrap(error).unwrap_or_else(|shared| TraceError::refused(shared.to_string()))
}
