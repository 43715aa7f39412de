//! Recording the whole process: one trace of all launches in their order, with the copies and fills between them.
//!
//! Environment variables select what is recorded; `emu record` sets them. The trace begins with the first
//! recorded launch, so processes without launches write nothing; it is completed by
//! [`crate::recording::ending`]. The new trace, when it is complete, replaces only a trace of an earlier run
//! that `emu record` has found. A file that is not that trace, or that another process writes, is kept: the
//! name then contains the number of this process. When the trace cannot be written, a message is printed and
//! the program continues, but ends with an error code. A launch whose end has been reported to the program
//! has been written to the file system.

use crate::memory::copy::{Copy, Endpoint, Fill};
use crate::memory::{Memory, Purpose};
use crate::modules::kernel::Kernel;
use crate::recording::ending::{self, REPLACES_VARIABLE};
use crate::tell::tell;
use emulator::exec::{self, LaunchError, Observer, Options, Stats};
use emulator::lower::Lowered;
use emulator::memory::GlobalMemory;
use emulator::record::{SampledSink, Selection, SinkError, TraceSink};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trace_format::container::{
    BufferNote, Contents, Header, LaunchRecord, Sample, TraceError, TransferKind, TransferRecord, WaitRecord,
};
use trace_format::writer::{LaunchWriter, TraceWriter, WriterOptions};
use warplab_host::destination::{Destination, Identity};

/// Environment variable that names the trace to write.
pub(crate) const RECORD_VARIABLE: &str = "WARPLAB_RECORD";
/// Environment variables with the values of `--kernels`, `--launches`, `--every` and `--blocks`.
pub(crate) const SELECTION_VARIABLES: [&str; 4] =
    ["WARPLAB_RECORD_KERNELS", "WARPLAB_RECORD_LAUNCHES", "WARPLAB_RECORD_EVERY", "WARPLAB_RECORD_BLOCKS"];

/// Environment variable that, when it is set, has only addresses recorded, as `--addresses-only` does.
pub(crate) const ADDRESSES_VARIABLE: &str = "WARPLAB_RECORD_ADDRESSES_ONLY";
/// Environment variable with the command that records, which the trace keeps.
const ORIGIN_VARIABLE: &str = "WARPLAB_RECORD_ORIGIN";

/// Largest number of copies and fills that wait for a launch before they are written.
const MOST_TRANSFERS: usize = 4096;

/// The process's recording.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    /// The file that the trace replaces.
    replaces: Option<Identity>,
    selection: Selection,
    writer: Option<TraceWriter>,
    /// Whether the trace cannot be written, or has ended.
    over: bool,
    /// Whether launches may not be in the file yet.
    unsettled: bool,
    /// Indices of kernels in the trace by the address of their code, which is kept alive so that the address
    /// stays unique.
    kernels: HashMap<usize, (u32, Arc<Lowered>)>,
    transfers: Vec<TransferRecord>,
    waits: Vec<WaitRecord>,
    /// Allocations in the trace's most recent list.
    buffers: Vec<BufferNote>,
    /// Version of the list of allocations at that time.
    stamp: u64,
}

/// How a kernel is launched, beside its shape.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// Its stream.
    pub stream: u64,
    /// Preferred shared memory in percent of the SM's largest; none without a preference.
    pub carveout: Option<u8>,
}

impl Recorder {
    /// The recording requested by the environment.
    #[must_use]
    pub fn from_environment() -> Option<Recorder> {
        let path = std::env::var_os(RECORD_VARIABLE).filter(|p| !p.is_empty())?;
        let [kernels, launches, every, blocks] =
            SELECTION_VARIABLES.map(|name| std::env::var(name).ok().filter(|text| !text.is_empty()));
        let parsed =
            Selection::parse(kernels.as_deref(), launches.as_deref(), every.as_deref(), blocks.as_deref());
        match parsed {
            Ok(selection) => {
                let replaces = std::env::var(REPLACES_VARIABLE).ok().map(|text| Identity::from_text(&text));
                Some(Recorder { replaces, ..Recorder::new(PathBuf::from(path), selection) })
            }
            Err(what) => {
                tell(&format!("nothing is recorded: {what}"));
                None
            }
        }
    }

    /// A recording into a file.
    #[must_use]
    pub fn new(path: PathBuf, selection: Selection) -> Recorder {
        // The program may change its working directory.
        let path = std::path::absolute(&path).unwrap_or(path);
        Recorder {
            path,
            replaces: None,
            selection,
            writer: None,
            over: false,
            unsettled: false,
            kernels: HashMap::new(),
            transfers: Vec::new(),
            waits: Vec::new(),
            buffers: Vec::new(),
            stamp: 0,
        }
    }

    /// Ends the recording and completes the trace; `false` when it could not be written completely.
    #[must_use]
    pub fn finish(mut self) -> bool {
        self.flush();
        ending::complete("the recording ended while it ran") && !self.over
    }

    /// Takes note of a copy after so many launches.
    pub fn copied(&mut self, copy: &Copy, memory: &Memory, stream: u64, launches: u64) {
        let bytes = copy.extent.iter().fold(1, |n: u64, &e| n.saturating_mul(e));
        let ((to, to_device), (from, from_device)) = (side(&copy.to, memory), side(&copy.from, memory));
        let kind = match (from_device, to_device) {
            (false, true) => TransferKind::HostToDevice,
            (true, false) => TransferKind::DeviceToHost,
            (true, true) => TransferKind::DeviceToDevice,
            (false, false) => TransferKind::HostToHost,
        };
        self.transferred(TransferRecord { kind, bytes, to, from, stream, after_launches: launches });
    }

    /// Takes note of a fill after so many launches.
    pub fn filled(&mut self, fill: &Fill, stream: u64, launches: u64) {
        let bytes = u64::from(fill.element).saturating_mul(fill.width).saturating_mul(fill.height);
        let kind = TransferKind::Fill;
        let (to, from) = (fill.address, u64::from(fill.value));
        self.transferred(TransferRecord { kind, bytes, to, from, stream, after_launches: launches });
    }

    /// Notes that a stream, or the program (stream 0), continues only when all earlier launches have ended.
    pub fn waited(&mut self, stream: u64, launches: u64) {
        let wait = WaitRecord { stream, after_launches: launches };
        // It has no effect before the first launch, or twice at the same position.
        if self.over || launches == 0 || self.waits.iter().rev().take(4).any(|other| *other == wait) {
            return;
        }
        self.waits.push(wait);
        if self.waits.len() >= MOST_TRANSFERS {
            self.flush();
        }
    }

    fn transferred(&mut self, transfer: TransferRecord) {
        if self.over || transfer.bytes == 0 {
            return;
        }
        self.transfers.push(transfer);
        if self.transfers.len() >= MOST_TRANSFERS {
            self.flush();
        }
    }

    /// Writes the copies, fills and waits noted so far, if there is a trace yet.
    pub fn flush(&mut self) {
        self.leave_to_parent();
        let Some(writer) = &mut self.writer else { return };
        let written = writer.transfers(&self.transfers).and_then(|()| writer.waits(&self.waits));
        if let Err(error) = written {
            self.give_up(&error);
        }
        self.transfers.clear();
        self.waits.clear();
    }

    /// Waits until the launches recorded so far are in the file, where they outlive the process.
    pub fn settle(&mut self) {
        self.leave_to_parent();
        if std::mem::take(&mut self.unsettled)
            && let Some(writer) = &self.writer
            && let Err(error) = writer.settle()
        {
            self.give_up(&error);
        }
    }

    /// The trace of an earlier run that is still there because nothing has been recorded in its place.
    #[must_use]
    pub fn earlier(&self) -> Option<&Path> {
        let unused = self.writer.is_none() && !self.over && self.replaces.is_some();
        (unused && Identity::of(&self.path) == self.replaces).then_some(&*self.path)
    }

    fn give_up(&mut self, error: &TraceError) {
        let what = error.to_string();
        tell(&format!("nothing more is recorded: {what}"));
        ending::gave_up(what);
        self.over = true;
        self.writer = None;
    }

    /// Detaches a child process from the recording.
    fn leave_to_parent(&mut self) {
        if ending::is_child() && !self.over {
            self.over = true;
            // The writer's thread is the parent's; its file too.
            std::mem::forget(self.writer.take());
        }
    }

    /// Whether a launch is to be recorded.
    pub fn wants(&mut self, number: u64, kernel: &str) -> bool {
        self.leave_to_parent();
        !self.over && self.selection.wants(number, kernel)
    }

    /// Runs and records a launch. A launch that cannot be added to the trace still runs.
    ///
    /// # Errors
    /// As [`exec::launch_prepared`].
    pub fn run(
        &mut self,
        memory: &mut GlobalMemory,
        (launch, kernel, how): (&exec::Launch<'_>, &Kernel, How),
        options: &Options,
        observer: &dyn Observer,
    ) -> Result<Stats, LaunchError> {
        let sample = self.selection.sample();
        let begun = self.begin(memory, launch, kernel, how);
        let what = (launch, &*kernel.prepared);
        let (ended, outcome) = match begun {
            Err(error) => {
                self.give_up(&error);
                let sink = &mut emulator::record::Unrecorded;
                return exec::launch_prepared(memory, what, options, sink, observer);
            }
            Ok(writer) if sample == Sample::All => {
                let mut sink = TraceSink::lenient(writer);
                let outcome = exec::launch_prepared(memory, what, options, &mut sink, observer);
                (end(sink.into_parts(), &outcome), outcome)
            }
            Ok(writer) => {
                let mut sink = SampledSink::lenient(writer);
                let outcome = exec::launch_prepared(memory, what, options, &mut sink, observer);
                (end(sink.into_parts(), &outcome), outcome)
            }
        };
        match ended {
            Ok(()) => {
                ending::recorded();
                self.unsettled = true;
            }
            Err(error) => self.give_up(&error),
        }
        outcome
    }

    /// Starts a launch in the trace, and with the first one the trace.
    fn begin(
        &mut self,
        memory: &GlobalMemory,
        launch: &exec::Launch<'_>,
        kernel: &Kernel,
        how: How,
    ) -> Result<LaunchWriter<'_>, TraceError> {
        if self.writer.is_none() {
            self.writer = Some(start(&self.path, self.replaces.clone())?);
        }
        let Some(writer) = &mut self.writer else { return Err(TraceError::refused("there is no trace")) };
        writer.transfers(&std::mem::take(&mut self.transfers))?;
        writer.waits(&std::mem::take(&mut self.waits))?;
        let address = Arc::as_ptr(&kernel.lowered) as usize;
        let index = match self.kernels.get(&address) {
            Some((index, _)) => *index,
            None => {
                let index = writer.kernel(&kernel.lowered.kernel)?;
                self.kernels.insert(address, (index, Arc::clone(&kernel.lowered)));
                index
            }
        };
        let mut buffers = Vec::new();
        if self.stamp != memory.stamp() {
            self.stamp = memory.stamp();
            let note = |a: &emulator::memory::Allocation| BufferNote {
                name: a.name.clone(),
                address: a.base,
                bytes: a.len,
            };
            buffers.extend(memory.allocations().filter(|a| !a.alias).map(note));
            // Allocations may have been added and freed.
            if buffers == self.buffers {
                buffers.clear();
            } else {
                self.buffers.clone_from(&buffers);
            }
        }
        writer.launch(LaunchRecord {
            kernel: index,
            geometry: launch.geometry,
            dynamic_shared_bytes: launch.dynamic_shared_bytes,
            banks: launch.banks.clone(),
            buffers,
            number: launch.index.into(),
            stream: how.stream,
            sample: self.selection.sample(),
            shared_carveout_percent: how.carveout,
        })
    }
}

/// Ends a launch in the trace: whole, or cut off where it failed.
fn end(
    (writer, failure): (LaunchWriter<'_>, Option<SinkError>),
    outcome: &Result<Stats, LaunchError>,
) -> Result<(), TraceError> {
    match (failure, outcome) {
        (Some(SinkError(why)), _) => Err(TraceError::refused(why)),
        (None, Ok(_)) => writer.finish(),
        (None, Err(error)) => writer.cut(error.to_string().lines().next().unwrap_or_default()),
    }
}

/// The command that records: that of `emu record`, or this program where the variables were set by hand.
fn origin() -> String {
    let said = std::env::var(ORIGIN_VARIABLE).ok().filter(|text| !text.is_empty());
    said.unwrap_or_else(|| {
        let program = std::env::current_exe().ok();
        let name =
            program.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| "a program".into())
    })
}

/// Starts the trace under a name that nobody else writes to.
fn start(wanted: &Path, replaces: Option<Identity>) -> Result<TraceWriter, TraceError> {
    let mut destination = Destination::of(wanted);
    if !destination.is_device() {
        let there = Identity::of(wanted);
        let taken = there.is_some() && there != replaces;
        if taken || destination.is_being_written() {
            destination = destination.aside();
            let (wanted, path) = (wanted.display(), destination.path().display());
            let why = if taken { "is there already" } else { "is being written by another process" };
            tell(&format!("{wanted} {why}; this process records into {path}"));
        }
    }
    let addresses_only = std::env::var_os(ADDRESSES_VARIABLE).is_some_and(|text| !text.is_empty());
    let contents = if addresses_only { Contents::Addresses } else { Contents::Values };
    let tool = Header::recorded(&format!("warplab {}", emulator::VERSION), &origin(), &[]);
    let header = Header { contents, tool, ..Header::default() };
    let options = WriterOptions::default().with_header(header);
    let writer = TraceWriter::replacing(&destination, replaces, &options)?;
    if let Some(finisher) = writer.finisher() {
        let part = (!destination.is_device()).then(|| writer.part_path().to_path_buf());
        ending::recording(finisher, part);
    }
    Ok(writer)
}

/// First address of a side of a copy, and whether it is memory of the GPU. The program's own memory lies elsewhere
/// in each run; its address counts as 0, so that the same run gives the same trace.
fn side(place: &Endpoint, memory: &Memory) -> (u64, bool) {
    match place {
        Endpoint::Linear { address, .. } => {
            let on_device =
                |purpose| !matches!(purpose, Purpose::Host | Purpose::Registered | Purpose::Window);
            match memory.region(*address).map(|r| (r.device_address(*address), r)) {
                Some((shown, region)) if memory.is_at_home(shown) => (shown, on_device(region.purpose)),
                _ => (0, false),
            }
        }
        Endpoint::Array { array, .. } => (*array, true),
    }
}
