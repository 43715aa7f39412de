//! Reading traces: [`Trace`] is the open file with its kernels and launches, [`WarpCursor`] steps one warp
//! and regenerates every value, [`PathCursor`] walks the basic blocks of one warp without values.
//!
//! A trace may be shared by threads; cursors own what they need and may move between threads. Decompressed
//! frames are shared by the cursors that use them and kept in a cache of bounded size (`cache`).

mod cache;
mod cursor;
mod file;
mod open;
mod path;
pub(crate) mod source;

pub use cursor::{MemAccess, Step, Upcoming, WarpCursor};
pub use file::Launch;
pub use path::{PathCursor, PathStep};

use crate::container::format::Tag;
use crate::container::records::FrameEntry;
use crate::container::{Header, LaunchRecord, TraceError, TransferRecord, WaitRecord};
use crate::isa::MachineKernel;
use crate::semantics::Code;
use file::TraceFile;
use source::Source;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// An open trace; clones share it.
#[derive(Clone, Debug)]
pub struct Trace {
    file: Arc<TraceFile>,
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

    /// XXH3 of the file's bytes, those that are replayed: the open file is read, whatever is at its path by now.
    ///
    /// # Errors
    /// The file cannot be read, or has been written since it was opened.
    pub fn hash(&self) -> io::Result<u64> {
        self.file.source.hash()
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

    /// Everything that was recorded of a launch, with its constants and allocations, which are read from the file.
    ///
    /// # Errors
    /// The file has changed since it was opened, or cannot be read.
    ///
    /// # Panics
    /// When there is no such launch.
    pub fn launch_record(&self, launch: u32) -> Result<LaunchRecord, TraceError> {
        self.file.launch_record(launch)
    }

    /// The kernel of a launch prepared with the launch's constants; made once as long as it is used.
    ///
    /// # Errors
    /// As [`Trace::launch_record`].
    ///
    /// # Panics
    /// When there is no such launch.
    pub fn code(&self, launch: u32) -> Result<Arc<Code>, TraceError> {
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
    pub fn slice_cursor(&self, launch: u32, block: u64, warp: u32) -> Result<WarpCursor, TraceError> {
        WarpCursor::of_slice(self.file.clone(), launch, block, warp)
    }

    /// A cursor before the first instruction of a warp that regenerates guards alone: the steps are those of
    /// [`Trace::warp_cursor`], other registers and predicates are undefined, there are no memory accesses, and no
    /// checksum is compared.
    ///
    /// # Errors
    /// When the trace has no such warp, or the warp's frame is damaged.
    pub fn guard_cursor(&self, launch: u32, block: u64, warp: u32) -> Result<WarpCursor, TraceError> {
        WarpCursor::of_guards(self.file.clone(), launch, block, warp)
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

    /// The error for a place whose paths and values contradict each other.
    pub(crate) fn unsound(&self, place: &str, what: &str) -> TraceError {
        self.file.missing(format!("{place}: {what}"))
    }

    pub(crate) fn source(&self) -> &Source {
        &self.file.source
    }
}
