//! The writer's thread: sorts blocks, fills frames, compresses them, writes the file.

use super::options::WriterOptions;
use super::progress::Progress;
use super::summary::WriteSummary;
use crate::container::format::{self, Packer, Tag};
use crate::container::frame::FrameBuilder;
use crate::container::part::BlockPart;
use crate::container::records::{self, FrameEntry, Index};
use crate::container::{CutRecord, TraceError};
use crossbeam::channel::{Receiver, Sender};
use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use warplab_host::destination::{Draft, Identity};

/// Messages of the emulator's threads.
#[derive(Debug)]
pub(super) enum Message {
    /// A record other than a frame, serialised.
    Record { tag: Tag, raw: Vec<u8> },
    /// A block or part.
    Part(BlockPart),
    /// All blocks of a launch have been sent.
    EndLaunch { launch: u32, blocks: u64 },
    /// A launch ends early.
    CutLaunch { launch: u32, why: String },
    /// The holder of this ticket waits until all earlier messages have been written.
    Settle { ticket: u64 },
    /// Write index and footer; a launch in progress is ended for this reason, or is an error without one.
    Finish { cut: Option<String> },
    /// No message follows, and the file gets no index and footer.
    BreakOff,
}

/// A message with the bytes that were reserved for it.
pub(super) type Sent = (Message, usize);

/// The thread's state.
pub(super) struct Sequencer {
    path: PathBuf,
    draft: Draft,
    replaces: Option<Identity>,
    /// Launch that has begun and not ended.
    open: Option<u32>,
    launches: u32,
    offset: u64,
    packer: Packer,
    frame: FrameBuilder,
    frame_bytes: usize,
    payload: Vec<u8>,
    index: Index,
    /// Parts that wait for earlier ones.
    waiting: HashMap<(u64, u32), BlockPart>,
    /// Their bytes.
    held: usize,
    next: (u64, u32),
    empties: Sender<BlockPart>,
    progress: Arc<Progress>,
}

impl Sequencer {
    pub(super) fn new(
        draft: Draft,
        replaces: Option<Identity>,
        options: &WriterOptions,
        empties: Sender<BlockPart>,
        progress: Arc<Progress>,
    ) -> Result<Sequencer, TraceError> {
        let path = draft.part().to_path_buf();
        let packer = Packer::new(options.zstd_level)
            .map_err(|e| TraceError::io(&path, "set up compression for", e))?;
        draft.file().write_all(&format::preamble()).map_err(|e| TraceError::io(&path, "write", e))?;
        Ok(Sequencer {
            path,
            draft,
            replaces,
            open: None,
            launches: 0,
            offset: format::PREAMBLE_BYTES as u64,
            packer,
            frame: FrameBuilder::default(),
            frame_bytes: options.frame_bytes,
            payload: Vec::new(),
            index: Index::default(),
            waiting: HashMap::new(),
            held: 0,
            next: (0, 0),
            empties,
            progress,
        })
    }

    /// Handles messages until the end; an error is stored in the progress for the next caller.
    pub(super) fn run(mut self, inbox: &Receiver<Sent>) {
        let outcome = self.serve(inbox);
        self.progress.stop(outcome);
    }

    fn serve(&mut self, inbox: &Receiver<Sent>) -> Result<(WriteSummary, PathBuf), TraceError> {
        for (message, bytes) in inbox {
            match message {
                Message::Record { tag, raw } => self.record(tag, &raw)?,
                Message::Part(part) => self.part(part)?,
                Message::EndLaunch { launch, blocks } => self.end_launch(launch, blocks)?,
                Message::CutLaunch { launch, why } => self.cut_launch(launch, why)?,
                Message::Settle { ticket } => self.progress.settle(ticket),
                Message::Finish { cut } => return self.finish(cut),
                Message::BreakOff => break,
            }
            self.progress.served(bytes, self.held, self.next.0);
        }
        // Dropped without finish: keep complete blocks.
        self.flush_frame()?;
        Err(TraceError::refused("the recording was aborted"))
    }

    fn record(&mut self, tag: Tag, raw: &[u8]) -> Result<(), TraceError> {
        if tag == format::LAUNCH {
            self.open = Some(self.launches);
            self.launches += 1;
        }
        let payload = records::pack(raw, &mut self.packer).map_err(TraceError::refused)?;
        self.index.records.push((tag, self.offset));
        self.write_record(tag, &payload)
    }

    fn write_record(&mut self, tag: Tag, payload: &[u8]) -> Result<(), TraceError> {
        let head = format::record_head(tag, payload);
        let mut file = self.draft.file();
        file.write_all(&head)
            .and_then(|()| file.write_all(payload))
            .map_err(|e| TraceError::io(&self.path, "write", e))?;
        self.offset += (head.len() + payload.len()) as u64;
        Ok(())
    }

    fn part(&mut self, part: BlockPart) -> Result<(), TraceError> {
        let key = (part.block, part.part);
        if key < self.next || self.waiting.contains_key(&key) {
            return Err(TraceError::refused(format!(
                "part {} of block {} was submitted twice",
                key.1, key.0
            )));
        }
        self.held += part.bytes();
        self.waiting.insert(key, part);
        while let Some(part) = self.waiting.remove(&self.next) {
            self.held -= part.bytes();
            self.frame.push(&part);
            self.next = if part.last { (part.block + 1, 0) } else { (part.block, part.part + 1) };
            // The receiver is dropped only when the recording has ended.
            let _ = self.empties.send(part);
            if self.frame.raw_bytes() >= self.frame_bytes {
                self.flush_frame()?;
            }
        }
        Ok(())
    }

    fn flush_frame(&mut self) -> Result<(), TraceError> {
        if self.frame.is_empty() {
            return Ok(());
        }
        let mut payload = std::mem::take(&mut self.payload);
        payload.clear();
        let head = self
            .frame
            .finish(&mut self.packer, &mut payload)
            .map_err(|e| TraceError::io(&self.path, "pack a frame for", e))?;
        let offset = self.offset;
        self.write_record(format::FRAME, &payload)?;
        self.index.frames.push(FrameEntry { offset, bytes: self.offset - offset, head });
        self.payload = payload;
        Ok(())
    }

    fn end_launch(&mut self, launch: u32, blocks: u64) -> Result<(), TraceError> {
        if self.next != (blocks, 0) || !self.waiting.is_empty() {
            let (block, _) = self.next;
            return Err(TraceError::refused(format!("block {block} of launch {launch} was never submitted")));
        }
        self.close_launch()
    }

    fn close_launch(&mut self) -> Result<(), TraceError> {
        self.flush_frame()?;
        (self.next, self.open) = ((0, 0), None);
        Ok(())
    }

    /// Keeps the consecutive blocks of a launch from the first.
    fn cut_launch(&mut self, launch: u32, why: String) -> Result<(), TraceError> {
        self.waiting.clear();
        self.held = 0;
        let cut = CutRecord { launch, blocks: self.next.0, why };
        self.close_launch()?;
        let raw = postcard::to_stdvec(&cut).map_err(|e| TraceError::refused(e.to_string()))?;
        self.record(format::CUT, &raw)
    }

    fn finish(&mut self, cut: Option<String>) -> Result<(WriteSummary, PathBuf), TraceError> {
        if let (Some(launch), Some(why)) = (self.open, cut) {
            self.cut_launch(launch, why)?;
        }
        if self.next != (0, 0) || !self.waiting.is_empty() {
            return Err(TraceError::refused("the last launch was not finished"));
        }
        let offset = self.offset;
        let payload = records::encode(&self.index, &mut self.packer).map_err(TraceError::refused)?;
        self.write_record(format::INDEX, &payload)?;
        let file_bytes = self.offset + format::FOOTER_BYTES as u64;
        let footer = format::footer(offset, file_bytes);
        self.draft.file().write_all(&footer).map_err(|e| TraceError::io(&self.path, "write", e))?;
        // The name must not be on the disk before the contents are.
        self.draft.sync().map_err(|e| TraceError::io(&self.path, "write", e))?;
        let wanted = self.draft.destination().path();
        let named = self.draft.keep_beside_others(self.replaces.as_ref());
        let named = named.map_err(|e| TraceError::io(wanted, "give the finished trace the name", e))?;
        let heads = self.index.frames.iter().map(|f| f.head);
        let summary =
            heads.fold(WriteSummary { file_bytes, ..WriteSummary::default() }, |sum, head| WriteSummary {
                frames: sum.frames + 1,
                warp_instructions: sum.warp_instructions + head.warp_instructions,
                thread_instructions: sum.thread_instructions + head.thread_instructions,
                ..sum
            });
        Ok((summary, named))
    }
}
