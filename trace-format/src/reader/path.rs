//! Position of a warp's path in the frames, and the cursor that walks it without values.

use super::cache::FrameSlot;
use super::file::TraceFile;
use crate::container::TraceError;
use crate::container::error::{ErrorKind, Place};
use crate::container::frame::{Entry, Frame, WarpBytes};
use crate::encode::CodingError;
use crate::encode::checksum::WarpSums;
use crate::encode::layout::StreamLayout;
use crate::encode::path::PathState;
use crate::isa::{BlockId, Pc};
use std::ops::Range;
use std::sync::Arc;

/// A warp, the part of its block that is being read, and its path so far.
#[derive(Clone, Debug)]
pub(super) struct PathWalk {
    pub file: Arc<TraceFile>,
    pub layout: Arc<StreamLayout>,
    pub launch: u32,
    pub block: u64,
    pub warp: u32,
    pub launched: u32,
    warps_per_block: usize,
    pub slot: Arc<FrameSlot>,
    frame: Arc<Frame>,
    pub entry: Entry,
    /// The entry's first warp in the frame's directory.
    first_warp: usize,
    state: PathState,
    token: usize,
    param: usize,
}

#[inline]
pub(super) fn slice<'a>(bytes: &'a [u8], range: &Range<u32>) -> &'a [u8] {
    // Ranges were checked against the section when the frame was parsed.
    bytes.get(range.start as usize..range.end as usize).unwrap_or(&[])
}

/// Directory entry of a warp that a damaged frame does not have.
static NO_BYTES: WarpBytes = WarpBytes {
    path_tokens: 0..0,
    path_params: 0..0,
    value_tokens: 0..0,
    value_params: 0..0,
    words: 0..0,
    checksums: WarpSums { results: 0, timing: 0 },
};

impl PathWalk {
    pub(super) fn start(
        file: Arc<TraceFile>,
        launch: u32,
        block: u64,
        warp: u32,
    ) -> Result<PathWalk, TraceError> {
        file.check_warp(launch, block, warp)?;
        let geometry = file.launches[launch as usize].geometry;
        let launched = geometry.launched_mask(warp);
        let warps_per_block = geometry.warps_per_block() as usize;
        let layout = file.layout(launch);
        let Part { slot, frame, entry, first_warp } = locate(&file, launch, block, 0)?;
        let state = PathState::start(launched);
        Ok(PathWalk {
            file,
            layout,
            launch,
            block,
            warp,
            launched,
            warps_per_block,
            slot,
            frame,
            entry,
            first_warp,
            state,
            token: 0,
            param: 0,
        })
    }

    /// Moves to the beginning of a warp of the same launch; its block is usually in the same frame.
    pub(super) fn restart(&mut self, block: u64, warp: u32) -> Result<(), TraceError> {
        self.file.check_warp(self.launch, block, warp)?;
        match self.frame.find(block, 0, self.warps_per_block as u32) {
            Some((entry, first_warp)) => (self.entry, self.first_warp) = (entry, first_warp),
            None => self.enter(locate(&self.file, self.launch, block, 0)?),
        }
        self.block = block;
        if warp != self.warp {
            self.warp = warp;
            self.launched = self.file.launches[self.launch as usize].geometry.launched_mask(warp);
        }
        self.state = PathState::start(self.launched);
        (self.token, self.param) = (0, 0);
        Ok(())
    }

    fn enter(&mut self, part: Part) {
        (self.slot, self.frame) = (part.slot, part.frame);
        (self.entry, self.first_warp) = (part.entry, part.first_warp);
    }

    /// Directory entry of the warp in the current part.
    #[inline]
    pub(super) fn bytes(&self) -> &WarpBytes {
        self.frame.warps.get(self.first_warp + self.warp as usize).unwrap_or(&NO_BYTES)
    }

    /// Directory entries of all warps of the block in the current part.
    #[inline]
    pub(super) fn block_bytes(&self) -> &[WarpBytes] {
        self.frame.warps.get(self.first_warp..self.first_warp + self.warps_per_block).unwrap_or(&[])
    }

    /// The next block entered within the current part; `None` at the part's end.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(BlockId, u32)>, CodingError> {
        let bytes = self.frame.warps.get(self.first_warp + self.warp as usize).unwrap_or(&NO_BYTES);
        let tokens = slice(&self.frame.path, &bytes.path_tokens);
        if self.token == tokens.len() {
            return Ok(None);
        }
        let params = slice(&self.frame.path, &bytes.path_params);
        let (block, mask) =
            self.state.decode(&self.layout, tokens, params, &mut self.token, &mut self.param)?;
        if mask == 0 && !self.layout.imported || mask & !self.launched != 0 {
            return Err(CodingError::BadMask { mask, launched: self.launched });
        }
        Ok(Some((block, mask)))
    }

    /// Whether tokens and parameters of the current part have all been read.
    pub(super) fn is_at_end(&self) -> bool {
        let bytes = self.bytes();
        self.token == bytes.path_tokens.len() && self.param == bytes.path_params.len()
    }

    /// Advances to the block's next part.
    pub(super) fn advance(&mut self) -> Result<(), TraceError> {
        let part = self.entry.part.wrapping_add(1);
        self.enter(locate(&self.file, self.launch, self.block, part)?);
        (self.token, self.param) = (0, 0);
        Ok(())
    }

    pub(super) fn place(&self, step: u64) -> Place {
        Place { launch: self.launch, block: self.block, warp: self.warp, step }
    }

    pub(super) fn stream_error(&self, step: u64, source: CodingError) -> TraceError {
        ErrorKind::Stream { path: self.file.path.clone(), place: self.place(step), source }.into()
    }

    pub(super) fn mismatch(&self, step: u64, what: impl Into<String>) -> TraceError {
        ErrorKind::Mismatch { path: self.file.path.clone(), place: self.place(step), what: what.into() }
            .into()
    }
}

/// Position of a part of a block.
struct Part {
    slot: Arc<FrameSlot>,
    frame: Arc<Frame>,
    entry: Entry,
    first_warp: usize,
}

fn locate(file: &TraceFile, launch: u32, block: u64, part: u32) -> Result<Part, TraceError> {
    let lost = || file.missing(format!("part {part} of block {block} of launch {launch} is in no frame"));
    let number = file.frame_of(launch, block, part).ok_or_else(lost)?;
    let slot = file.slot(number);
    let warps = file.launches[launch as usize].geometry.warps_per_block();
    let frame = file.unpacked(&slot)?;
    let (entry, first_warp) = frame.find(block, part, warps).ok_or_else(lost)?;
    Ok(Part { slot, frame, entry, first_warp })
}

/// A basic block that a warp entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
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

/// Walks the basic blocks of one warp, without values: only the paths of its frame are decompressed.
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
    /// The path is damaged.
    pub fn step(&mut self) -> Result<Option<PathStep>, TraceError> {
        loop {
            match self.walk.next() {
                Ok(Some((block, active))) => {
                    let b = self.walk.layout.block(block);
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
