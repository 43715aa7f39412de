//! Reading traces: [`Trace`] is the open file with its kernels and launches, [`WarpCursor`] steps one warp
//! and regenerates every value, [`PathCursor`] walks the basic blocks of one warp without values.
//!
//! A trace may be shared by threads; cursors own what they need and may move between threads. Decompressed
//! frames are shared by the cursors that use them and kept in a cache of bounded size (`cache`).

mod cache;
mod cursor;
mod open;
mod path;
pub(crate) mod source;

pub use cursor::{MemAccess, Step, Upcoming, WarpCursor};
pub use path::{PathCursor, PathStep};

use crate::container::error::ErrorKind;
use crate::container::format::{self, RECORD_HEAD_BYTES, RecordRef, Tag};
use crate::container::frame::{TABLE_END, section_bytes};
use crate::container::records::FrameEntry;
use crate::container::{Header, LaunchRecord, TraceError, TransferRecord, WaitRecord};
use crate::encode::plan::KernelPlan;
use crate::isa::{MachineKernel, PlaceSlice};
use crate::semantics::{Code, Template};
use cache::{FrameCache, FrameSlot};
use source::Source;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// An open trace; clones share it.
#[derive(Clone, Debug)]
pub struct Trace {
    file: Arc<TraceFile>,
}

/// A kernel with the data that cursors derive from it.
#[derive(Debug)]
struct KernelEntry {
    kernel: MachineKernel,
    plan: Arc<KernelPlan>,
    template: OnceLock<Template>,
    places: OnceLock<Arc<PlaceSlice>>,
}

/// State that all users of one trace share.
#[derive(Debug)]
pub(crate) struct TraceFile {
    path: PathBuf,
    source: Source,
    header: Header,
    kernels: Vec<KernelEntry>,
    launches: Vec<Launch>,
    transfers: Vec<TransferRecord>,
    waits: Vec<WaitRecord>,
    frames: Vec<FrameEntry>,
    /// Records other than frames: tag, offset, bytes.
    records: Vec<(Tag, u64, u64)>,
    incomplete: Option<String>,
    cache: FrameCache,
}

/// A launch of a trace.
#[derive(Debug)]
pub struct Launch {
    record: LaunchRecord,
    frames: Range<usize>,
    blocks_recorded: u64,
    warp_instructions: u64,
    thread_instructions: u64,
    cut: Option<String>,
    code: OnceLock<Arc<Code>>,
}

impl std::ops::Deref for Launch {
    type Target = LaunchRecord;

    fn deref(&self) -> &LaunchRecord {
        &self.record
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
        self.record.sample.block(recorded, self.geometry.blocks())
    }

    /// Number among the recorded blocks of a block of the grid.
    #[must_use]
    pub fn recorded_block(&self, block: u64) -> Option<u64> {
        let position = self.record.sample.position(block, self.geometry.blocks())?;
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

impl Trace {
    /// Opens a trace and reads its header, kernels, launches and index. An incomplete file is opened up to
    /// its last complete frame, see [`Trace::incomplete`]. If a file changes while it is open, reading the
    /// changed frames gives errors.
    ///
    /// # Errors
    /// The file cannot be read, is no trace, has another version, or has damaged records that are needed.
    pub fn open(path: impl AsRef<Path>) -> Result<Trace, TraceError> {
        Ok(Trace { file: Arc::new(TraceFile::open(path.as_ref())?) })
    }

    /// The file that was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Size of the file in bytes.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.file.source.bytes()
    }

    /// Header of the trace.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.file.header
    }

    /// The reason for which the trace is incomplete, if it is.
    #[must_use]
    pub fn incomplete(&self) -> Option<&str> {
        self.file.incomplete.as_deref()
    }

    /// Number of kernels.
    #[must_use]
    pub fn kernel_count(&self) -> usize {
        self.file.kernels.len()
    }

    /// A kernel by its index, as launches name it.
    ///
    /// # Panics
    /// If there is no such kernel; the kernels that launches name exist.
    #[must_use]
    pub fn kernel(&self, index: u32) -> &MachineKernel {
        &self.file.kernels[index as usize].kernel
    }

    /// Launches in the order in which they ran.
    #[must_use]
    pub fn launches(&self) -> &[Launch] {
        &self.file.launches
    }

    /// Copies and fills in the order in which they took place.
    #[must_use]
    pub fn transfers(&self) -> &[TransferRecord] {
        &self.file.transfers
    }

    /// Synchronisations of a stream or the program, in order; none in traces of older builds, which did not
    /// record them.
    #[must_use]
    pub fn waits(&self) -> &[WaitRecord] {
        &self.file.waits
    }

    /// Note about launches that hold only some of their blocks; `None` if all are complete.
    #[must_use]
    pub fn partial(&self) -> Option<String> {
        let partial = || self.launches().iter().filter(|l| !l.is_whole());
        let (recorded, all) = partial().fold((0u64, 0u64), |(recorded, all), l| {
            (recorded.saturating_add(l.blocks_recorded), all.saturating_add(l.geometry.blocks()))
        });
        let count = partial().count();
        let cut = partial().filter(|l| l.cut.is_some()).count();
        let ended = if cut > 0 { format!(" ({cut} ended early)") } else { String::new() };
        (count > 0).then(|| {
            format!(
                "{count} of {} launches hold {recorded} of their {all} blocks{ended}",
                self.launches().len()
            )
        })
    }

    /// The kernel of a launch.
    ///
    /// # Panics
    /// When there is no such launch.
    #[must_use]
    pub fn kernel_of(&self, launch: u32) -> &MachineKernel {
        self.kernel(self.launches()[launch as usize].kernel)
    }

    /// The kernel of a launch prepared with the launch's constants; made once.
    ///
    /// # Panics
    /// When there is no such launch.
    #[must_use]
    pub fn code(&self, launch: u32) -> Arc<Code> {
        self.file.code(launch)
    }

    /// A cursor before the first instruction of a warp, checking the warp's checksum at its end.
    ///
    /// # Errors
    /// When the trace has no such warp or no values, or the warp's frame is damaged.
    pub fn warp_cursor(&self, launch: u32, block: u64, warp: u32) -> Result<WarpCursor, TraceError> {
        WarpCursor::new(self.file.clone(), launch, block, warp)
    }

    /// A cursor before the first instruction of a warp that regenerates only the backward slice of addresses,
    /// barriers and guards: [`WarpCursor::mem`] and the steps are those of [`Trace::warp_cursor`], other
    /// registers and predicates are undefined. It checks the checksum of traces of addresses, which is over
    /// these values, but not that of other traces, which is over all values.
    ///
    /// # Errors
    /// When the trace has no such warp, or the warp's frame is damaged.
    pub fn place_cursor(&self, launch: u32, block: u64, warp: u32) -> Result<WarpCursor, TraceError> {
        WarpCursor::of_places(self.file.clone(), launch, block, warp)
    }

    /// A cursor over the basic blocks that a warp enters.
    ///
    /// # Errors
    /// When the trace has no such warp, or the warp's frame is damaged.
    pub fn path_cursor(&self, launch: u32, block: u64, warp: u32) -> Result<PathCursor, TraceError> {
        PathCursor::new(self.file.clone(), launch, block, warp)
    }

    /// Sets the number of bytes of decompressed frames kept besides those in use by cursors. A reader that
    /// reads every block once and in order needs few, and is faster with few, because their memory is reused.
    pub fn keep_unpacked(&self, bytes: usize) {
        self.file.cache.keep(bytes);
    }

    /// Frames in file order.
    #[must_use]
    pub fn frames(&self) -> &[FrameEntry] {
        &self.file.frames
    }

    /// Records other than frames in file order: tag, offset and bytes.
    #[must_use]
    pub fn records(&self) -> &[(Tag, u64, u64)] {
        &self.file.records
    }

    /// Payload of a frame, after its hash has been checked.
    ///
    /// # Errors
    /// When the frame is damaged.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn frame_payload(&self, frame: usize) -> Result<Vec<u8>, TraceError> {
        let payload = self.file.frame(frame, |record| record.payload.to_vec());
        payload.map_err(|what| self.file.damaged("frame", self.file.frames[frame].offset, what))
    }

    pub(crate) fn source(&self) -> &Source {
        &self.file.source
    }
}

impl TraceFile {
    pub(crate) fn launch(&self, launch: u32) -> Option<&Launch> {
        self.launches.get(launch as usize)
    }

    fn plan(&self, launch: u32) -> Arc<KernelPlan> {
        self.kernels[self.launches[launch as usize].record.kernel as usize].plan.clone()
    }

    fn code(&self, launch: u32) -> Arc<Code> {
        let l = &self.launches[launch as usize];
        let entry = &self.kernels[l.record.kernel as usize];
        let template = || entry.template.get_or_init(|| Template::of(&entry.kernel));
        l.code.get_or_init(|| Arc::new(template().bind(&l.record.banks))).clone()
    }

    fn places(&self, launch: u32) -> Arc<PlaceSlice> {
        let entry = &self.kernels[self.launches[launch as usize].record.kernel as usize];
        match &entry.plan.slice {
            Some(slice) => slice.clone(),
            None => entry.places.get_or_init(|| Arc::new(PlaceSlice::of(&entry.kernel))).clone(),
        }
    }

    fn missing(&self, what: String) -> TraceError {
        ErrorKind::Missing { path: self.path.clone(), what }.into()
    }

    fn damaged(&self, section: &'static str, offset: u64, what: impl Into<String>) -> TraceError {
        ErrorKind::Damaged { path: self.path.clone(), section, offset, what: what.into() }.into()
    }

    /// Checks that a warp is in the trace.
    fn check_warp(&self, launch: u32, block: u64, warp: u32) -> Result<(), TraceError> {
        let Some(l) = self.launch(launch) else {
            return Err(self.missing(format!("no launch {launch}; there are {}", self.launches.len())));
        };
        let (blocks, warps) = (l.record.sampled_blocks(), l.geometry.warps_per_block());
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
    fn frame<T>(&self, frame: usize, use_it: impl FnOnce(RecordRef<'_>) -> T) -> Result<T, String> {
        let entry = &self.frames[frame];
        let checked = |record: RecordRef<'_>| {
            (record.tag == format::FRAME && record.is_intact()).then(|| use_it(record))
        };
        let read = self.source.record_of(entry.offset, entry.bytes, checked);
        let used = read.map_err(|error| source::told(&error))?;
        used.flatten().ok_or_else(|| "its bytes do not match its hash".into())
    }

    /// The frame that holds a part of a block of a launch.
    fn frame_of(&self, launch: u32, block: u64, part: u32) -> Option<usize> {
        let range = self.launches[launch as usize].frames.clone();
        let frames = &self.frames[range.clone()];
        let behind = frames.partition_point(|f| (f.head.first_block, f.head.first_part) <= (block, part));
        Some(range.start + behind.checked_sub(1)?)
    }

    /// A decompressed frame, from the cache if it is there.
    fn slot(&self, frame: usize) -> Arc<FrameSlot> {
        let entry = &self.frames[frame];
        self.cache.slot(frame, || {
            let start = self.source.read::<{ RECORD_HEAD_BYTES + TABLE_END }>(entry.offset);
            let sections = start.ok().and_then(|bytes| section_bytes(&bytes[RECORD_HEAD_BYTES..]));
            sections.map_or(0, |s| s.iter().map(|&(_, raw)| raw as usize).sum())
        })
    }
}
