//! The file behind a trace: kernels, launches, index, and frames, which are read and decompressed on demand.

use super::cache::{FrameCache, FrameSlot};
use super::source::{self, Source};
use crate::container::error::ErrorKind;
use crate::container::format::{self, RECORD_HEAD_BYTES, RecordRef, Tag};
use crate::container::frame::{Frame, FrameValues, TABLE_END, section_bytes};
use crate::container::records::{self, FrameEntry};
use crate::container::{Header, LaunchHead, LaunchRecord, TraceError, TransferRecord, WaitRecord};
use crate::encode::layout::StreamLayout;
use crate::isa::{MachineKernel, TimingSlice};
use crate::semantics::{Code, Template};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use warplab_host::text::one_line;

/// A kernel with the data that cursors derive from it.
#[derive(Debug)]
pub(super) struct KernelEntry {
    pub kernel: MachineKernel,
    pub layout: Arc<StreamLayout>,
    pub template: OnceLock<Template>,
    pub slice: OnceLock<Arc<TimingSlice>>,
    pub guards: OnceLock<Arc<TimingSlice>>,
}

/// State that all users of one trace share.
#[derive(Debug)]
pub(crate) struct TraceFile {
    pub path: PathBuf,
    pub source: Source,
    pub header: Header,
    pub kernels: Vec<KernelEntry>,
    pub launches: Vec<Launch>,
    pub transfers: Vec<TransferRecord>,
    pub waits: Vec<WaitRecord>,
    pub frames: Vec<FrameEntry>,
    /// Records other than frames: tag, offset, bytes.
    pub records: Vec<(Tag, u64, u64)>,
    pub incomplete: Option<String>,
    pub cache: FrameCache,
    /// Kernels with the constants of launches that cursors use: kept for every launch, they would fill memory.
    pub code: Mutex<BTreeMap<u32, Weak<Code>>>,
}

/// Escapes line ends and other control characters: texts of a trace are printed, and become lines of other files.
pub(super) fn in_line(text: &mut String) {
    if let Cow::Owned(escaped) = one_line(text) {
        *text = escaped;
    }
}

/// Where the record of a launch is in the file, and the hash of its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub offset: u64,
    pub hash: u64,
}

/// A launch of a trace.
#[derive(Debug)]
pub struct Launch {
    pub(super) head: LaunchHead,
    pub(super) place: Place,
    pub(super) frames: Range<usize>,
    pub(super) blocks_recorded: u64,
    pub(super) warp_instructions: u64,
    pub(super) thread_instructions: u64,
    pub(super) cut: Option<Box<str>>,
}

impl std::ops::Deref for Launch {
    type Target = LaunchHead;

    fn deref(&self) -> &LaunchHead {
        &self.head
    }
}

impl Launch {
    /// Blocks that the trace holds from first to last instruction: all, unless only a sample was recorded or
    /// the recording is incomplete. Cursors use their number among these.
    #[must_use]
    pub fn blocks_recorded(&self) -> u64 {
        self.blocks_recorded
    }

    /// Number in the grid, x fastest, of a recorded block.
    #[must_use]
    pub fn grid_block(&self, recorded: u64) -> u64 {
        self.head.sample.block(recorded, self.geometry.blocks())
    }

    /// Number among the recorded blocks of a block of the grid.
    #[must_use]
    pub fn recorded_block(&self, block: u64) -> Option<u64> {
        let position = self.head.sample.position(block, self.geometry.blocks())?;
        (position < self.blocks_recorded).then_some(position)
    }

    /// Why the launch ended before all of its blocks were recorded, if it did.
    #[must_use]
    pub fn cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }

    /// Whether the trace holds all blocks of the grid.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.blocks_recorded == self.geometry.blocks()
    }

    /// Warp instructions in the trace, including instructions that take effect in no lane.
    #[must_use]
    pub fn warp_instructions(&self) -> u64 {
        self.warp_instructions
    }

    /// Warp instructions times their active lanes.
    #[must_use]
    pub fn thread_instructions(&self) -> u64 {
        self.thread_instructions
    }
}

impl TraceFile {
    pub(crate) fn launch(&self, launch: u32) -> Option<&Launch> {
        self.launches.get(launch as usize)
    }

    pub(crate) fn layout(&self, launch: u32) -> Arc<StreamLayout> {
        self.kernels[self.launches[launch as usize].kernel as usize].layout.clone()
    }

    /// The whole record of a launch, read again from the file.
    pub(crate) fn launch_record(&self, launch: u32) -> Result<LaunchRecord, TraceError> {
        let Launch { head, place, .. } = &self.launches[launch as usize];
        let read = |record: RecordRef<'_>| {
            let same = record.tag == format::LAUNCH && record.is_intact() && record.hash() == place.hash;
            match same {
                true => records::decode::<LaunchRecord>(record.payload),
                false => Err("the file has been changed since it was opened".into()),
            }
        };
        let damaged = |what: String| self.damaged("launch", place.offset, what);
        let read = self.source.record(place.offset, read).map_err(|error| damaged(source::told(&error)))?;
        let gone = || damaged("the file has been truncated since it was opened".into());
        let mut record = read.ok_or_else(gone)?.map_err(damaged)?;
        record.buffers.iter_mut().for_each(|buffer| in_line(&mut buffer.name));
        record.shared_carveout_percent = head.shared_carveout_percent;
        Ok(record)
    }

    pub(crate) fn code(&self, launch: u32) -> Result<Arc<Code>, TraceError> {
        let l = &self.launches[launch as usize];
        let entry = &self.kernels[l.kernel as usize];
        let mut known = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = known.get(&launch).and_then(Weak::upgrade) {
            return Ok(code);
        }
        known.retain(|_, code| code.strong_count() > 0);
        let template = entry.template.get_or_init(|| Template::of(&entry.kernel));
        let code = Arc::new(template.bind(&self.launch_record(launch)?.banks));
        known.insert(launch, Arc::downgrade(&code));
        Ok(code)
    }

    pub(crate) fn slice(&self, launch: u32) -> Arc<TimingSlice> {
        let entry = &self.kernels[self.launches[launch as usize].kernel as usize];
        match &entry.layout.slice {
            Some(slice) => slice.clone(),
            None => entry.slice.get_or_init(|| Arc::new(TimingSlice::of(&entry.kernel))).clone(),
        }
    }

    /// The slice of guards; that of a trace of addresses holds no other values.
    pub(crate) fn guards(&self, launch: u32) -> Arc<TimingSlice> {
        let entry = &self.kernels[self.launches[launch as usize].kernel as usize];
        match &entry.layout.slice {
            Some(slice) => slice.clone(),
            None => entry.guards.get_or_init(|| Arc::new(TimingSlice::of_guards(&entry.kernel))).clone(),
        }
    }

    pub(crate) fn missing(&self, what: String) -> TraceError {
        ErrorKind::Missing { path: self.path.clone(), what }.into()
    }

    pub(crate) fn damaged(&self, section: &'static str, offset: u64, what: impl Into<String>) -> TraceError {
        ErrorKind::Damaged { path: self.path.clone(), section, offset, what: what.into() }.into()
    }

    /// Checks that a warp is in the trace.
    pub(crate) fn check_warp(&self, launch: u32, block: u64, warp: u32) -> Result<(), TraceError> {
        let Some(l) = self.launch(launch) else {
            return Err(self.missing(format!("no launch {launch}; there are {}", self.launches.len())));
        };
        let (blocks, warps) = (l.sampled_blocks(), l.geometry.warps_per_block());
        if block >= blocks {
            let sampled = if l.is_whole() { "" } else { " in the trace" };
            let what = format!("launch {launch} has no block {block}{sampled}; there are {blocks}");
            return Err(self.missing(what));
        }
        if warp >= warps {
            return Err(
                self.missing(format!("blocks of launch {launch} have no warp {warp}; there are {warps}"))
            );
        }
        if block >= l.blocks_recorded {
            let n = l.blocks_recorded;
            return Err(self.missing(format!(
                "block {block} of launch {launch} was not recorded: the recording ended after {n} blocks"
            )));
        }
        Ok(())
    }

    /// Reads a frame, checks its hash and passes its record to `use_it`.
    pub(crate) fn frame<T>(
        &self,
        frame: usize,
        use_it: impl FnOnce(RecordRef<'_>) -> T,
    ) -> Result<T, String> {
        let entry = &self.frames[frame];
        let checked = |record: RecordRef<'_>| {
            (record.tag == format::FRAME && record.is_intact()).then(|| use_it(record))
        };
        let read = self.source.record_of(entry.offset, entry.bytes, checked);
        let used = read.map_err(|error| source::told(&error))?;
        used.flatten().ok_or_else(|| "its bytes do not match its hash".into())
    }

    /// The frame that holds a part of a block of a launch.
    pub(crate) fn frame_of(&self, launch: u32, block: u64, part: u32) -> Option<usize> {
        let range = self.launches[launch as usize].frames.clone();
        let frames = &self.frames[range.clone()];
        let behind = frames.partition_point(|f| (f.head.first_block, f.head.first_part) <= (block, part));
        Some(range.start + behind.checked_sub(1)?)
    }

    /// A decompressed frame, from the cache if it is there.
    pub(crate) fn slot(&self, frame: usize) -> Arc<FrameSlot> {
        let entry = &self.frames[frame];
        self.cache.slot(frame, || {
            let start = self.source.read::<{ RECORD_HEAD_BYTES + TABLE_END }>(entry.offset);
            let sections = start.ok().and_then(|bytes| section_bytes(&bytes[RECORD_HEAD_BYTES..]));
            sections.map_or(0, |s| s.iter().map(|&(_, raw)| raw as usize).sum())
        })
    }

    /// Directory and paths.
    pub(crate) fn unpacked(&self, slot: &FrameSlot) -> Result<Arc<Frame>, TraceError> {
        let entry = &self.frames[slot.number];
        let parsed = slot.frame.get_or_init(|| {
            let warps = self.launches[entry.head.launch as usize].geometry.warps_per_block();
            let parse = |record: RecordRef<'_>| {
                Ok::<_, String>((Frame::parse(record.payload, warps)?, record.hash()))
            };
            let (frame, hash) = self.frame(slot.number, parse)??;
            if frame.head == entry.head {
                Ok((Arc::new(frame), hash))
            } else {
                Err("its head is not the one in the index".into())
            }
        });
        match parsed {
            Ok((frame, _)) => Ok(frame.clone()),
            Err(what) => Err(self.damaged("frame", entry.offset, what.clone())),
        }
    }

    /// Values; the frame has been parsed.
    pub(crate) fn values(&self, slot: &FrameSlot) -> Result<Arc<FrameValues>, TraceError> {
        let entry = &self.frames[slot.number];
        let parsed = slot.values.get_or_init(|| {
            let values = self.frame(slot.number, |record| {
                let same = matches!(slot.frame.get(), Some(Ok((_, hash))) if *hash == record.hash());
                if same {
                    FrameValues::parse(record.payload)
                } else {
                    Err("the file has been changed since it was opened".into())
                }
            })?;
            values.map(Arc::new)
        });
        parsed.clone().map_err(|what| self.damaged("frame", entry.offset, what))
    }
}
