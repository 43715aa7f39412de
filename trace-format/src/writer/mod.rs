//! Writing traces while the program runs: [`TraceWriter`] for the file, [`LaunchWriter`] for one launch,
//! [`BlockRecorder`] for the blocks that one emulator thread executes.
//!
//! Emulator threads submit finished blocks in any order; the writer's own thread (`sequencer`) sorts them
//! into block order, compresses and writes them. A thread waits while too many bytes are on
//! their way to the file, so that memory is bounded (`progress`). The file has a temporary name (`X.part`, see
//! [`warplab_host::destination`]) and gets its final name when it is complete; an aborted recording can be
//! opened under the temporary name up to its last complete frame. Every record is written to the file system
//! when it is complete, so that a killed process loses no record for which it has waited
//! ([`TraceWriter::settle`]).
//!
//! ```no_run
//! # use trace_format::writer::{TraceWriter, WriterOptions};
//! # use trace_format::container::LaunchRecord;
//! # fn record(kernel: &trace_format::isa::MachineKernel, launch: LaunchRecord, blocks: u64)
//! # -> Result<(), trace_format::container::TraceError> {
//! let mut writer = TraceWriter::create("app.wtrace".as_ref(), &WriterOptions::default())?;
//! let kernel = writer.kernel(kernel)?;
//! let run = writer.launch(LaunchRecord { kernel, ..launch })?;
//! let mut recorder = run.recorder(); // one per thread
//! for block in 0..blocks {
//!     recorder.begin(block);
//!     // execute the block: recorder.enter(..), recorder.externals(..) or recorder.access(..), recorder.retire(..)
//!     run.submit(&mut recorder)?;
//! }
//! run.finish()?;
//! let summary = writer.finish()?;
//! # Ok(())
//! # }
//! ```

mod options;
mod progress;
mod recorder;
mod sequencer;
mod summary;

pub use options::WriterOptions;
pub use recorder::BlockRecorder;
pub use summary::WriteSummary;

use crate::container::format::Tag;
use crate::container::part::BlockPart;
use crate::container::records::Preferences;
use crate::container::{Contents, LaunchRecord, TraceError, TransferRecord, WaitRecord, format};
use crate::encode::layout::StreamLayout;
use crate::encode::pool::MAX_WARPS_PER_BLOCK;
use crate::isa::MachineKernel;
use crossbeam::channel::{Receiver, Sender, unbounded};
use progress::{Progress, Turn};
use sequencer::{Message, Sent, Sequencer};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use warplab_host::destination::{Destination, Identity};

/// A trace file being written.
#[derive(Debug)]
pub struct TraceWriter {
    part_path: PathBuf,
    contents: Contents,
    kernels: Vec<(MachineKernel, Arc<StreamLayout>)>,
    launches: u32,
    messages: Option<Sender<Sent>>,
    /// Emptied parts on their way back to the recorders.
    empties: Receiver<BlockPart>,
    progress: Arc<Progress>,
    thread: Option<JoinHandle<()>>,
}

/// Ends a recording from another thread, possibly during a launch, when the program ends.
#[derive(Clone, Debug)]
pub struct Finisher {
    messages: Sender<Sent>,
    progress: Arc<Progress>,
}

impl Finisher {
    /// Completes the file with the finished blocks, renames it, and returns its name. A launch in progress is
    /// ended with the reason `why`; its recorders' next calls fail.
    ///
    /// # Errors
    /// The file could not be written completely, or the recording has already ended.
    pub fn finish(&self, why: &str) -> Result<(WriteSummary, PathBuf), TraceError> {
        if self.messages.send((Message::Finish { cut: Some(why.into()) }, 0)).is_err() {
            return Err(self.progress.failure());
        }
        self.progress.wait_for_end()
    }
}

impl TraceWriter {
    /// Starts a trace; the file gets its name, and replaces an older file, when [`TraceWriter::finish`]
    /// succeeds.
    ///
    /// # Errors
    /// The temporary file beside it cannot be written.
    pub fn create(path: &Path, options: &WriterOptions) -> Result<TraceWriter, TraceError> {
        TraceWriter::replacing(&Destination::of(path), Identity::of(path), options)
    }

    /// As [`TraceWriter::create`], but the finished trace replaces only a file with this identity.
    ///
    /// # Errors
    /// As [`TraceWriter::create`].
    pub fn replacing(
        destination: &Destination,
        replaces: Option<Identity>,
        options: &WriterOptions,
    ) -> Result<TraceWriter, TraceError> {
        let draft = destination.create().map_err(|e| TraceError::io(destination.path(), "create", e))?;
        let part_path = draft.part().to_path_buf();
        let (messages, inbox) = unbounded();
        let (outbox, empties) = unbounded();
        let progress = Arc::new(Progress::new(options.window_bytes));
        let sequencer = Sequencer::new(draft, replaces, options, outbox, progress.clone());
        let sequencer = sequencer.inspect_err(|_| {
            // Nothing is in it yet.
            if !destination.is_device() {
                let _ = std::fs::remove_file(&part_path);
            }
        })?;
        let thread = std::thread::Builder::new()
            .name("trace-writer".into())
            .spawn(move || sequencer.run(&inbox))
            .map_err(|e| TraceError::io(&part_path, "start a thread for", e))?;
        let mut writer = TraceWriter {
            part_path,
            contents: options.header.contents,
            kernels: Vec::new(),
            launches: 0,
            messages: Some(messages),
            empties,
            progress,
            thread: Some(thread),
        };
        writer.record(format::META, &options.header)?;
        Ok(writer)
    }

    /// Stores a kernel, if it is not stored yet, and returns its index.
    ///
    /// # Errors
    /// The kernel is malformed or the file cannot be written.
    pub fn kernel(&mut self, kernel: &MachineKernel) -> Result<u32, TraceError> {
        if let Some(known) = self.kernels.iter().position(|(k, _)| k == kernel) {
            return Ok(known as u32);
        }
        crate::container::sanity::check_kernel(kernel).map_err(TraceError::refused)?;
        self.record(format::KERNEL, kernel)?;
        if !kernel.control.is_empty() {
            self.record(format::CONTROL, &kernel.control)?;
        }
        self.kernels.push((kernel.clone(), Arc::new(self.contents.layout(kernel))));
        Ok(self.kernels.len() as u32 - 1)
    }

    /// Starts a launch; the one before it has been finished.
    ///
    /// # Errors
    /// The launch is impossible, names an unknown kernel, or the file cannot be written.
    pub fn launch(&mut self, launch: LaunchRecord) -> Result<LaunchWriter<'_>, TraceError> {
        launch.check().map_err(TraceError::refused)?;
        let Some((_, layout)) = self.kernels.get(launch.kernel as usize) else {
            return Err(TraceError::refused(format!("launch of unknown kernel {}", launch.kernel)));
        };
        let layout = layout.clone();
        debug_assert!(launch.geometry.warps_per_block() <= MAX_WARPS_PER_BLOCK);
        let number = self.launches;
        self.record(format::LAUNCH, &launch)?;
        if let Some(preferences) = Preferences::of(&launch) {
            self.record(format::PREFERENCES, &preferences)?;
        }
        self.launches += 1;
        Ok(LaunchWriter { writer: self, number, layout, record: launch })
    }

    fn record<T: Serialize + ?Sized>(&mut self, tag: Tag, value: &T) -> Result<(), TraceError> {
        let raw = postcard::to_stdvec(value).map_err(|e| TraceError::refused(e.to_string()))?;
        let bytes = raw.len() + size_of::<Message>();
        self.progress.reserve(Turn::Record, bytes)?;
        self.send(Message::Record { tag, raw }, bytes)
    }

    /// Sends a message for which so many bytes are reserved.
    fn send(&self, message: Message, bytes: usize) -> Result<(), TraceError> {
        let sent = self.messages.as_ref().is_some_and(|m| m.send((message, bytes)).is_ok());
        if sent { Ok(()) } else { Err(self.progress.failure()) }
    }

    /// Stores copies and fills since the previous launch.
    ///
    /// # Errors
    /// One is larger than an address space, or the file cannot be written.
    pub fn transfers(&mut self, transfers: &[TransferRecord]) -> Result<(), TraceError> {
        transfers.iter().try_for_each(TransferRecord::check).map_err(TraceError::refused)?;
        if transfers.is_empty() { Ok(()) } else { self.record(format::TRANSFERS, transfers) }
    }

    /// Stores synchronisations of streams or the program since the last launch.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn waits(&mut self, waits: &[WaitRecord]) -> Result<(), TraceError> {
        if waits.is_empty() { Ok(()) } else { self.record(format::WAITS, waits) }
    }

    /// A handle that ends the recording from another thread.
    #[must_use]
    pub fn finisher(&self) -> Option<Finisher> {
        self.messages.clone().map(|messages| Finisher { messages, progress: Arc::clone(&self.progress) })
    }

    /// Temporary name of the file; the final name if that is a device.
    #[must_use]
    pub fn part_path(&self) -> &Path {
        &self.part_path
    }

    /// Waits until all submitted data have been written to the file system, where they survive the process.
    ///
    /// # Errors
    /// When the recording has failed.
    pub fn settle(&self) -> Result<(), TraceError> {
        let ticket = self.progress.ask();
        self.send(Message::Settle { ticket }, 0)?;
        self.progress.wait_for_settled(ticket)
    }

    /// Completes the file and renames it.
    ///
    /// # Errors
    /// The file could not be written completely; the written part keeps its temporary name.
    pub fn finish(self) -> Result<WriteSummary, TraceError> {
        self.finish_as().map(|(summary, _)| summary)
    }

    /// As [`TraceWriter::finish`], and returns the file's name, which differs from the requested one if
    /// another writer has written that file meanwhile.
    ///
    /// # Errors
    /// As [`TraceWriter::finish`].
    pub fn finish_as(mut self) -> Result<(WriteSummary, PathBuf), TraceError> {
        self.send(Message::Finish { cut: None }, 0)?;
        self.join();
        self.progress.wait_for_end()
    }

    fn join(&mut self) {
        self.messages = None;
        if let Some(thread) = self.thread.take() {
            // A panicking thread has already printed its message; the progress holds the failure.
            drop(thread.join());
        }
    }
}

impl Drop for TraceWriter {
    /// Without [`TraceWriter::finish`], complete frames are still written under the temporary name.
    fn drop(&mut self) {
        if self.thread.is_some() {
            // If the thread has already stopped, there is nothing left to write.
            drop(self.send(Message::BreakOff, 0));
            self.join();
        }
    }
}

/// One launch of a trace being written; shared by the threads that execute its blocks.
#[derive(Debug)]
pub struct LaunchWriter<'w> {
    writer: &'w TraceWriter,
    number: u32,
    layout: Arc<StreamLayout>,
    record: LaunchRecord,
}

impl LaunchWriter<'_> {
    /// A recorder for one thread's blocks of this launch.
    #[must_use]
    pub fn recorder(&self) -> BlockRecorder {
        BlockRecorder::new(self.number, self.layout.clone(), self.record.geometry)
    }

    /// The launch as it was stored.
    #[must_use]
    pub fn record(&self) -> &LaunchRecord {
        &self.record
    }

    /// Number of the launch within the trace.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Submits a finished block. Waits while too many bytes are on their way to the file, most of them of blocks
    /// that wait for older ones, so each thread must take blocks in ascending order.
    ///
    /// # Errors
    /// When the recording has failed, e.g. because the disk is full.
    pub fn submit(&self, recorder: &mut BlockRecorder) -> Result<(), TraceError> {
        self.hand_over(recorder, true)
    }

    /// Submits the recorded part of a block, to bound memory; the block continues. Except for the block's
    /// first part, it waits until all older blocks are finished.
    ///
    /// # Errors
    /// As [`LaunchWriter::submit`].
    pub fn submit_part(&self, recorder: &mut BlockRecorder) -> Result<(), TraceError> {
        self.hand_over(recorder, false)
    }

    fn hand_over(&self, recorder: &mut BlockRecorder, last: bool) -> Result<(), TraceError> {
        let (block, part) = (recorder.part.block, recorder.part.part);
        if recorder.part.launch != self.number || block >= self.record.sampled_blocks() {
            return Err(TraceError::refused(format!("block {block} is not of launch {}", self.number)));
        }
        let bytes = recorder.part.bytes();
        self.writer.progress.reserve(Turn::Part { block, part }, bytes)?;
        let empty = self.writer.empties.try_recv().unwrap_or_default();
        self.writer.send(Message::Part(recorder.take(last, empty)), bytes)
    }

    /// Ends the launch after all of its blocks have been submitted.
    ///
    /// # Errors
    /// When the recording has failed. Blocks that were never submitted fail the next call or
    /// [`TraceWriter::finish`].
    pub fn finish(self) -> Result<(), TraceError> {
        let blocks = self.record.sampled_blocks();
        self.writer.send(Message::EndLaunch { launch: self.number, blocks }, 0)
    }

    /// Ends the launch although blocks are missing, and records the reason. Recorders of the launch must not
    /// be used afterwards.
    ///
    /// # Errors
    /// When the recording has failed.
    pub fn cut(self, why: &str) -> Result<(), TraceError> {
        self.writer.send(Message::CutLaunch { launch: self.number, why: why.into() }, 0)
    }
}
