//! Opening a trace: by its index if it is complete, otherwise by walking its records.

use super::cache::FrameCache;
use super::file::{KernelEntry, Launch, Place, TraceFile, in_line};
use super::source::{Source, told};
use crate::container::error::ErrorKind;
use crate::container::format::{
    self, FOOTER_BYTES, PREAMBLE_BYTES, RECORD_HEAD_BYTES, RecordRef, Tag, word32,
};
use crate::container::frame::FrameHead;
use crate::container::records::{self, FrameEntry, Index, LaunchHead, Preferences};
use crate::container::sanity::check_kernel;
use crate::container::{CutRecord, Header, LaunchRecord, TraceError, TransferRecord, WaitRecord};
use crate::isa::{MachineKernel, table_hash};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

impl TraceFile {
    pub(super) fn open(path: &Path) -> Result<TraceFile, TraceError> {
        let source = Source::open(path)?;
        let failed = |error| TraceError::io(path, "read", error);
        check_preamble(path, &source.read(0).map_err(failed)?)?;
        let (index, incomplete) = match by_index(&source).map_err(failed)? {
            Ok(index) => (index, None),
            Err(why) => walk(&source, &why).map_err(failed)?,
        };
        let mut opened = TraceFile {
            path: path.to_path_buf(),
            source,
            header: Header::default(),
            kernels: Vec::new(),
            launches: Vec::new(),
            transfers: Vec::new(),
            waits: Vec::new(),
            frames: index.frames,
            records: Vec::new(),
            incomplete,
            cache: FrameCache::default(),
            code: Mutex::default(),
        };
        opened.read_records(&index.records)?;
        opened.assign_frames()?;
        Ok(opened)
    }

    fn read_records(&mut self, records: &[(Tag, u64)]) -> Result<(), TraceError> {
        let mut header = None;
        // These fill memory when there are many: neither grows beyond what it holds.
        self.records.reserve_exact(records.len());
        self.launches.reserve_exact(records.iter().filter(|(tag, _)| *tag == format::LAUNCH).count());
        for &(tag, offset) in records {
            let damaged = |section, what: String| self.damaged(section, offset, what);
            let checked =
                |r: RecordRef<'_>| (r.tag == tag && r.is_intact()).then(|| (r.payload.to_vec(), r.hash()));
            let record = self.source.record(offset, checked).map_err(|e| damaged("record", told(&e)))?;
            let Some((payload, hash)) = record.flatten() else {
                return Err(damaged("record", "its bytes do not match its hash".into()));
            };
            let bytes = (RECORD_HEAD_BYTES + payload.len()) as u64;
            match tag {
                format::META => {
                    let mut meta = records::decode::<Header>(&payload).map_err(|e| damaged("header", e))?;
                    in_line(&mut meta.tool);
                    self.check_table(&meta, offset)?;
                    header = Some(meta);
                }
                format::KERNEL => {
                    let Some(Header { contents, .. }) = header else {
                        return Err(damaged("kernel", "it comes before the header".into()));
                    };
                    let mut kernel: MachineKernel =
                        records::decode(&payload).map_err(|e| damaged("kernel", e))?;
                    texts_in_line(&mut kernel);
                    check_kernel(&kernel).map_err(|e| damaged("kernel", e))?;
                    let layout = Arc::new(contents.layout(&kernel));
                    self.kernels.push(KernelEntry {
                        kernel,
                        layout,
                        template: OnceLock::new(),
                        slice: OnceLock::new(),
                        guards: OnceLock::new(),
                    });
                }
                format::CONTROL => {
                    let control = records::decode(&payload).map_err(|e| damaged("control bits", e))?;
                    let attached = match self.kernels.last_mut() {
                        Some(KernelEntry { kernel, .. }) => {
                            kernel.control = control;
                            kernel.check()
                        }
                        None => Err("they come before the first kernel".into()),
                    };
                    attached.map_err(|e| self.damaged("control bits", offset, e))?;
                }
                format::LAUNCH => {
                    let launch: LaunchRecord = records::decode(&payload).map_err(|e| damaged("launch", e))?;
                    launch.check().map_err(|e| damaged("launch", e))?;
                    if launch.kernel as usize >= self.kernels.len() {
                        return Err(damaged("launch", format!("it names unknown kernel {}", launch.kernel)));
                    }
                    self.launches.push(Launch::new((&launch).into(), Place { offset, hash }));
                }
                format::PREFERENCES => {
                    let found: Preferences =
                        records::decode(&payload).map_err(|e| damaged("preferences", e))?;
                    let attached = match self.launches.last_mut() {
                        Some(Launch { head, .. }) => {
                            head.shared_carveout_percent = found.shared_carveout_percent;
                            found.check()
                        }
                        None => Err("they come before the first launch".into()),
                    };
                    attached.map_err(|e| self.damaged("preferences", offset, e))?;
                }
                format::WAITS => {
                    let waits: Vec<WaitRecord> =
                        records::decode(&payload).map_err(|e| damaged("waits", e))?;
                    self.waits.extend(waits);
                }
                format::TRANSFERS => {
                    let transfers: Vec<TransferRecord> =
                        records::decode(&payload).map_err(|e| damaged("transfers", e))?;
                    let sound = transfers.iter().try_for_each(TransferRecord::check);
                    sound.map_err(|e| damaged("transfers", e))?;
                    self.transfers.extend(transfers);
                }
                format::CUT => {
                    let mut cut: CutRecord = records::decode(&payload).map_err(|e| damaged("cut", e))?;
                    in_line(&mut cut.why);
                    let number = cut.launch as usize;
                    if number + 1 != self.launches.len() {
                        return Err(damaged(
                            "cut",
                            format!("it ends launch {number}, which is not the previous one"),
                        ));
                    }
                    self.launches[number].cut = Some(cut.why.into());
                }
                _ if tag[0].is_ascii_lowercase() => {}
                _ => {
                    let name = String::from_utf8_lossy(&tag).into_owned();
                    let what = format!("{name:?} is a kind of record that this build does not know");
                    return Err(damaged("record", what));
                }
            }
            self.records.push((tag, offset, bytes));
        }
        self.header = header.ok_or_else(|| self.damaged("header", PREAMBLE_BYTES as u64, "it is missing"))?;
        Ok(())
    }

    /// Kernels can only be decoded with the opcode table that they were encoded with.
    fn check_table(&self, header: &Header, offset: u64) -> Result<(), TraceError> {
        let (found, supported) = (header.isa, table_hash());
        if found == supported {
            return Ok(());
        }
        let (path, tool) = (self.path.clone(), header.tool.clone());
        Err(ErrorKind::OpcodeTable { path, offset, tool, found, supported }.into())
    }

    /// Assigns frames to launches and checks that they are consecutive.
    fn assign_frames(&mut self) -> Result<(), TraceError> {
        let mut at = 0;
        for number in 0..self.launches.len() {
            let start = at;
            let (mut next, mut warp_instructions, mut thread_instructions) = (0u64, 0u64, 0u64);
            while let Some(frame) = self.frames.get(at).filter(|f| f.head.launch as usize == number) {
                let fits = frame.head.first_block == next && (frame.head.first_part == 0 || at > start);
                if !fits {
                    let what = format!("it begins with block {}, not {next}", frame.head.first_block);
                    return Err(self.damaged("index", frame.offset, what));
                }
                next = next.saturating_add(u64::from(frame.head.blocks_ended));
                warp_instructions = warp_instructions.saturating_add(frame.head.warp_instructions);
                thread_instructions = thread_instructions.saturating_add(frame.head.thread_instructions);
                at += 1;
            }
            let launch = &mut self.launches[number];
            launch.frames = start..at;
            launch.blocks_recorded = next;
            (launch.warp_instructions, launch.thread_instructions) = (warp_instructions, thread_instructions);
            let blocks = launch.sampled_blocks();
            if next > blocks || (next < blocks && self.incomplete.is_none() && launch.cut.is_none()) {
                let what =
                    format!("launch {number} has {blocks} recorded blocks, but {next} are in its frames");
                return Err(self.damaged("index", 0, what));
            }
        }
        match self.frames.get(at) {
            None => Ok(()),
            Some(frame) => Err(self.damaged("index", frame.offset, "a frame belongs to no earlier launch")),
        }
    }
}

impl Launch {
    fn new(head: LaunchHead, place: Place) -> Launch {
        Launch {
            head,
            place,
            frames: 0..0,
            blocks_recorded: 0,
            warp_instructions: 0,
            thread_instructions: 0,
            cut: None,
        }
    }
}

fn check_preamble(path: &Path, file: &[u8; PREAMBLE_BYTES]) -> Result<(), TraceError> {
    let preamble = format::preamble();
    let found = word32(file, 8).unwrap_or(0);
    if file[..8] != preamble[..8] {
        Err(ErrorKind::NotATrace(path.to_path_buf()).into())
    } else if found != format::FORMAT_VERSION {
        let supported = format::FORMAT_VERSION;
        Err(ErrorKind::Version { path: path.to_path_buf(), found, supported }.into())
    } else if file[12..PREAMBLE_BYTES] != preamble[12..] {
        Err(ErrorKind::NotATrace(path.to_path_buf()).into())
    } else {
        Ok(())
    }
}

/// The index that the footer points to, or the reason for its absence.
fn by_index(file: &Source) -> io::Result<Result<Index, String>> {
    let footer = match file.bytes().checked_sub(FOOTER_BYTES as u64) {
        Some(offset) => format::index_offset(&file.read(offset)?, file.bytes()),
        None => None,
    };
    let Some(offset) = footer else { return Ok(Err("it has no valid footer".into())) };
    let index = file.record(offset, |r| {
        let intact = r.tag == format::INDEX && r.is_intact();
        intact.then(|| records::decode(r.payload).map_err(|e| format!("its index is damaged: {e}")))
    })?;
    Ok(index.flatten().unwrap_or_else(|| Err("its index is damaged".into())))
}

/// Walks the records up to the last complete one, and describes the missing rest.
fn walk(file: &Source, why: &str) -> io::Result<(Index, Option<String>)> {
    let mut index = Index::default();
    let mut offset = PREAMBLE_BYTES as u64;
    let look = |r: RecordRef<'_>| r.is_intact().then(|| (r.tag, r.bytes(), FrameHead::of(r.payload)));
    while let Some((tag, bytes, head)) = file.record(offset, look)?.flatten() {
        match (tag, head) {
            (format::INDEX, _) => {
                let text = format!("{why}; all frames were found without it");
                return Ok((index, Some(text)));
            }
            (format::FRAME, Some(head)) => index.frames.push(FrameEntry { offset, bytes, head }),
            (format::FRAME, None) => break,
            (tag, _) => index.records.push((tag, offset)),
        }
        offset += bytes;
    }
    let (frames, bytes) = (index.frames.len(), file.bytes());
    let text =
        format!("{why}: it was cut off or damaged; readable up to byte {offset} of {bytes}, {frames} frames");
    Ok((index, Some(text)))
}

fn texts_in_line(kernel: &mut MachineKernel) {
    in_line(&mut kernel.name);
    kernel.functions.iter_mut().for_each(|(_, name)| in_line(name));
    kernel.traps.iter_mut().for_each(|(_, what)| in_line(what));
    for file in &mut kernel.files {
        in_line(&mut file.name);
        // Source lines may have tabs.
        let lines = file.lines.iter_mut().map(|(_, line)| line);
        lines.filter(|line| line.chars().any(|c| c != '\t' && c.is_control())).for_each(in_line);
    }
}
