//! Where a warp's path stands in the frames, and the cursor that walks it without values.

use super::TraceFile;
use super::cache::FrameSlot;
use crate::container::TraceError;
use crate::container::error::{ErrorKind, Place};
use crate::container::frame::{Entry, Frame, WarpBytes};
use crate::encode::CodingError;
use crate::encode::path::PathState;
use crate::encode::plan::KernelPlan;
use crate::isa::{BlockId, Pc};
use std::ops::Range;
use std::sync::Arc;

/// A warp, the part of its block that is being read, and its path so far.
#[derive(Clone, Debug)]
pub(super) struct PathWalk {
    pub file: Arc<TraceFile>,
    pub plan: Arc<KernelPlan>,
    pub launch: u32,
    pub block: u64,
    pub warp: u32,
    pub launched: u32,
    warps_per_block: usize,
    pub slot: Arc<FrameSlot>,
    pub entry: Entry,
    /// The entry's first warp in the frame's directory.
    pub first_warp: usize,
    state: PathState,
    token: usize,
    param: usize,
}

pub(super) fn slice<'a>(bytes: &'a [u8], range: &Range<u32>) -> &'a [u8] {
    // Ranges were checked against the section when the frame was parsed.
    bytes.get(range.start as usize..range.end as usize).unwrap_or(&[])
}

impl PathWalk {
    pub fn start(file: Arc<TraceFile>, launch: u32, block: u64, warp: u32) -> Result<PathWalk, TraceError> {
        file.check_warp(launch, block, warp)?;
        let geometry = file.launches[launch as usize].geometry;
        let launched = geometry.launched_mask(warp);
        let warps_per_block = geometry.warps_per_block() as usize;
        let plan = file.plan(launch);
        let (slot, entry, first_warp) = locate(&file, launch, block, 0)?;
        let state = PathState::start(launched);
        Ok(PathWalk {
            file,
            plan,
            launch,
            block,
            warp,
            launched,
            warps_per_block,
            slot,
            entry,
            first_warp,
            state,
            token: 0,
            param: 0,
        })
    }

    fn frame(&self) -> Option<&Frame> {
        self.slot.parsed_frame()
    }

    /// Directory entry of the warp in the current part.
    #[inline]
    pub fn bytes(&self) -> Option<&WarpBytes> {
        self.frame()?.warps.get(self.first_warp + self.warp as usize)
    }

    /// Directory entries of all warps of the block in the current part.
    #[inline]
    pub fn block_bytes(&self) -> &[WarpBytes] {
        let range = self.first_warp..self.first_warp + self.warps_per_block;
        self.frame().and_then(|f| f.warps.get(range)).unwrap_or(&[])
    }

    /// The next block entered within the current part; `None` at the part's end.
    #[inline]
    pub fn next(&mut self) -> Result<Option<(BlockId, u32)>, CodingError> {
        let Some(frame) = self.slot.parsed_frame() else { return Ok(None) };
        let Some(bytes) = frame.warps.get(self.first_warp + self.warp as usize) else { return Ok(None) };
        let tokens = slice(&frame.path, &bytes.path_tokens);
        if self.token == tokens.len() {
            return Ok(None);
        }
        let params = slice(&frame.path, &bytes.path_params);
        let (block, mask) =
            self.state.decode(&self.plan, tokens, params, &mut self.token, &mut self.param)?;
        if mask == 0 || mask & !self.launched != 0 {
            return Err(CodingError::BadMask { mask, launched: self.launched });
        }
        Ok(Some((block, mask)))
    }

    /// Whether tokens and parameters of the current part have all been read.
    pub fn is_at_end(&self) -> bool {
        self.bytes().is_some_and(|b| self.token == b.path_tokens.len() && self.param == b.path_params.len())
    }

    /// Goes on to the block's next part.
    pub fn advance(&mut self) -> Result<(), TraceError> {
        let part = self.entry.part.wrapping_add(1);
        (self.slot, self.entry, self.first_warp) = locate(&self.file, self.launch, self.block, part)?;
        (self.token, self.param) = (0, 0);
        Ok(())
    }

    pub fn place(&self, step: u64) -> Place {
        Place { launch: self.launch, block: self.block, warp: self.warp, step }
    }

    pub fn stream_error(&self, step: u64, source: CodingError) -> TraceError {
        ErrorKind::Stream { path: self.file.path.clone(), place: self.place(step), source }.into()
    }

    pub fn mismatch(&self, step: u64, what: impl Into<String>) -> TraceError {
        ErrorKind::Mismatch { path: self.file.path.clone(), place: self.place(step), what: what.into() }
            .into()
    }
}

/// The frame, entry and first warp of a part of a block.
fn locate(
    file: &TraceFile,
    launch: u32,
    block: u64,
    part: u32,
) -> Result<(Arc<FrameSlot>, Entry, usize), TraceError> {
    let lost = || file.missing(format!("part {part} of block {block} of launch {launch} is in no frame"));
    let number = file.frame_of(launch, block, part).ok_or_else(lost)?;
    let slot = file.slot(number);
    let warps = file.launches[launch as usize].geometry.warps_per_block();
    let (entry, first_warp) = slot.frame(file)?.find(block, part, warps).ok_or_else(lost)?;
    Ok((slot, entry, first_warp))
}

/// A basic block that a warp entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathStep {
    /// The block.
    pub block: BlockId,
    /// Its first instruction.
    pub first: Pc,
    /// One past its last instruction.
    pub end: Pc,
    /// Active lanes.
    pub active: u32,
}

/// Walks the basic blocks of one warp, without values: only the paths of its frame are unpacked.
#[derive(Clone, Debug)]
pub struct PathCursor {
    walk: PathWalk,
    steps: u64,
}

impl PathCursor {
    pub(super) fn new(
        file: Arc<TraceFile>,
        launch: u32,
        block: u64,
        warp: u32,
    ) -> Result<PathCursor, TraceError> {
        Ok(PathCursor { walk: PathWalk::start(file, launch, block, warp)?, steps: 0 })
    }

    /// The next block entered; `None` after the last.
    ///
    /// # Errors
    /// When the path is damaged.
    pub fn step(&mut self) -> Result<Option<PathStep>, TraceError> {
        loop {
            match self.walk.next() {
                Ok(Some((block, active))) => {
                    let b = self.walk.plan.block(block);
                    self.steps += u64::from(b.end.0 - b.first.0);
                    return Ok(Some(PathStep { block, first: b.first, end: b.end, active }));
                }
                Ok(None) if self.walk.entry.last => return Ok(None),
                Ok(None) => self.walk.advance()?,
                Err(e) => return Err(self.walk.stream_error(self.steps, e)),
            }
        }
    }

    /// Warp instructions walked so far.
    #[must_use]
    pub fn warp_instructions(&self) -> u64 {
        self.steps
    }
}
