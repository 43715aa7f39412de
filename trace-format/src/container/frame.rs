//! Frames: runs of thread blocks (or of parts of large ones) in launch order, each stream kind packed on its
//! own, with a directory that assigns bytes to warps.
//!
//! Payload: the head, a table of stored and raw lengths of the seven sections, then the sections: directory,
//! path (tokens of all warps, then parameters), values (likewise), and the four byte planes of the word
//! pools. Blocks are numbered among the recorded ones of their launch ([`super::Sample`]), which are all unless
//! the launch says otherwise. The directory holds, column by column, per entry: block minus first block, part, whether the block
//! ends; per warp of every entry: its five lengths and its two checksums.

use super::format::{MAX_SECTION_BYTES, Packer, unpack, word32, word64};
use super::part::BlockPart;
use crate::encode::checksum::WarpSums;
use crate::encode::planes::{self, PLANES};
use crate::encode::pool::MAX_WORDS_PER_WARP;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Bytes of a frame's head.
pub(crate) const FRAME_HEAD_BYTES: usize = 40;
/// Sections of a frame.
pub const SECTIONS: usize = 3 + PLANES;
const TABLE_BYTES: usize = SECTIONS * 8;
/// Bytes of a frame's head and table.
pub(crate) const TABLE_END: usize = FRAME_HEAD_BYTES + TABLE_BYTES;
const DIRECTORY: usize = 0;
const PATH: usize = 1;
const VALUES: usize = 2;
const FIRST_PLANE: usize = 3;
const ENTRY_COLUMNS: usize = 3;
const WARP_COLUMNS: usize = 7;

/// Summary of a frame, readable without decompressing it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FrameHead {
    /// Launch that all entries belong to.
    pub launch: u32,
    /// Number of blocks or parts of blocks.
    pub entries: u32,
    /// Block of the first entry.
    pub first_block: u64,
    /// Its part.
    pub first_part: u32,
    /// Blocks that end in this frame.
    pub blocks_ended: u32,
    /// Warp instructions of the entries.
    pub warp_instructions: u64,
    /// Thread instructions (active lanes) of the entries.
    pub thread_instructions: u64,
}

impl FrameHead {
    fn to_bytes(self) -> [u8; FRAME_HEAD_BYTES] {
        let mut bytes = [0; FRAME_HEAD_BYTES];
        bytes[0..4].copy_from_slice(&self.launch.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.entries.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.first_block.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.first_part.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.blocks_ended.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.warp_instructions.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.thread_instructions.to_le_bytes());
        bytes
    }

    /// The head at the start of a frame's payload.
    #[must_use]
    pub fn of(payload: &[u8]) -> Option<FrameHead> {
        Some(FrameHead {
            launch: word32(payload, 0)?,
            entries: word32(payload, 4)?,
            first_block: word64(payload, 8)?,
            first_part: word32(payload, 16)?,
            blocks_ended: word32(payload, 20)?,
            warp_instructions: word64(payload, 24)?,
            thread_instructions: word64(payload, 32)?,
        })
    }
}

/// Collects blocks into a frame; its buffers are reused from frame to frame.
#[derive(Default)]
pub(crate) struct FrameBuilder {
    head: FrameHead,
    entry_columns: [Vec<u32>; ENTRY_COLUMNS],
    warp_columns: [Vec<u32>; WARP_COLUMNS],
    path_tokens: Vec<u8>,
    path_params: Vec<u8>,
    value_tokens: Vec<u8>,
    value_params: Vec<u8>,
    words: Vec<u32>,
    scratch: Vec<u8>,
}

impl FrameBuilder {
    pub(crate) fn is_empty(&self) -> bool {
        self.head.entries == 0
    }

    /// Bytes of the streams collected so far, before packing.
    pub(crate) fn raw_bytes(&self) -> usize {
        self.path_tokens.len()
            + self.path_params.len()
            + self.value_tokens.len()
            + self.value_params.len()
            + 4 * self.words.len()
            + 4 * WARP_COLUMNS * self.warp_columns[0].len()
    }

    /// Appends the next block or part.
    pub(crate) fn push(&mut self, part: &BlockPart) {
        if self.is_empty() {
            self.head.launch = part.launch;
            self.head.first_block = part.block;
            self.head.first_part = part.part;
        }
        self.head.entries += 1;
        self.head.blocks_ended += u32::from(part.last);
        self.head.warp_instructions += part.warp_instructions;
        self.head.thread_instructions += part.thread_instructions;
        let entry = [(part.block - self.head.first_block) as u32, part.part, u32::from(part.last)];
        self.entry_columns.iter_mut().zip(entry).for_each(|(column, v)| column.push(v));
        for w in &part.warps {
            let lens =
                [w.path_tokens.len(), w.path_params.len(), w.values.tokens.len(), w.values.params.len()];
            let row = [lens[0] as u32, lens[1] as u32, lens[2] as u32, lens[3] as u32];
            let WarpSums { results, timing } = w.checksums;
            let more = [w.values.words.len() as u32, results, timing.into()];
            self.warp_columns
                .iter_mut()
                .zip(row.into_iter().chain(more))
                .for_each(|(column, v)| column.push(v));
            self.path_tokens.extend_from_slice(&w.path_tokens);
            self.path_params.extend_from_slice(&w.path_params);
            self.value_tokens.extend_from_slice(&w.values.tokens);
            self.value_params.extend_from_slice(&w.values.params);
            self.words.extend_from_slice(&w.values.words);
        }
    }

    /// Appends the frame's payload to `out` and empties the builder. The outer error is zstd's; the inner one
    /// is the reason for which the frame cannot be written.
    pub(crate) fn finish(&mut self, packer: &mut Packer, out: &mut Vec<u8>) -> std::io::Result<FrameHead> {
        let head = self.head;
        out.extend_from_slice(&head.to_bytes());
        let table = out.len();
        out.resize(table + TABLE_BYTES, 0);
        for section in 0..SECTIONS {
            self.section(section);
            if self.scratch.len() > MAX_SECTION_BYTES {
                return Err(std::io::Error::other(format!(
                    "block {} of launch {} fills {} bytes of one section; it has to be submitted in parts",
                    head.first_block,
                    head.launch,
                    self.scratch.len()
                )));
            }
            let stored = packer.pack(&self.scratch, out)?;
            let at = table + 8 * section;
            out[at..at + 4].copy_from_slice(&(stored as u32).to_le_bytes());
            out[at + 4..at + 8].copy_from_slice(&(self.scratch.len() as u32).to_le_bytes());
        }
        self.clear();
        Ok(head)
    }

    /// Writes a section into the scratch buffer.
    fn section(&mut self, section: usize) {
        self.scratch.clear();
        match section {
            DIRECTORY => {
                let columns = self.entry_columns.iter().chain(&self.warp_columns);
                self.scratch.extend(columns.flatten().flat_map(|v| v.to_le_bytes()));
            }
            PATH => {
                self.scratch.extend_from_slice(&self.path_tokens);
                self.scratch.extend_from_slice(&self.path_params);
            }
            VALUES => {
                self.scratch.extend_from_slice(&self.value_tokens);
                self.scratch.extend_from_slice(&self.value_params);
            }
            plane => planes::split(&self.words, plane - FIRST_PLANE, &mut self.scratch),
        }
    }

    fn clear(&mut self) {
        self.head = FrameHead::default();
        self.entry_columns.iter_mut().chain(&mut self.warp_columns).for_each(Vec::clear);
        for bytes in
            [&mut self.path_tokens, &mut self.path_params, &mut self.value_tokens, &mut self.value_params]
        {
            bytes.clear();
        }
        self.words.clear();
    }
}

/// One block, or part of one, within a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// Linear block index.
    pub block: u64,
    /// Part of the block.
    pub part: u32,
    /// Whether the block ends with it.
    pub last: bool,
}

/// Byte ranges of a warp in a frame's streams.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WarpBytes {
    /// Path tokens, in the unpacked path section.
    pub path_tokens: Range<u32>,
    /// Path parameters, likewise.
    pub path_params: Range<u32>,
    /// Value tokens, in the unpacked values section.
    pub value_tokens: Range<u32>,
    /// Value parameters, likewise.
    pub value_params: Range<u32>,
    /// Words, in the frame's pool.
    pub words: Range<u32>,
    /// Checksums of the warp when its block ends here; 0 otherwise.
    pub checksums: WarpSums,
}

/// The directory and paths of an unpacked frame.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// The head.
    pub head: FrameHead,
    /// Blocks and parts in order.
    pub entries: Vec<Entry>,
    /// Warps of every entry in order.
    pub warps: Vec<WarpBytes>,
    /// Path tokens and parameters of all warps.
    pub path: Vec<u8>,
}

/// The values of an unpacked frame.
#[derive(Clone, Debug)]
pub(crate) struct FrameValues {
    /// Value tokens and parameters of all warps.
    pub values: Vec<u8>,
    /// Word pools of all warps.
    pub words: Vec<u32>,
}

/// Bytes of the sections of a frame: stored, and before packing.
#[must_use]
pub fn section_bytes(payload: &[u8]) -> Option<[(u32, u32); SECTIONS]> {
    let mut table = [(0, 0); SECTIONS];
    for (i, entry) in table.iter_mut().enumerate() {
        let at = FRAME_HEAD_BYTES + 8 * i;
        *entry = (word32(payload, at)?, word32(payload, at + 4)?);
    }
    Some(table)
}

fn section(payload: &[u8], wanted: usize) -> Result<Vec<u8>, String> {
    let table = section_bytes(payload).ok_or("it is too short for its section table")?;
    let stored = |i: usize| table[i].0 as usize;
    let start = FRAME_HEAD_BYTES + TABLE_BYTES + (0..wanted).map(stored).sum::<usize>();
    let total = FRAME_HEAD_BYTES + TABLE_BYTES + (0..SECTIONS).map(stored).sum::<usize>();
    if total != payload.len() {
        return Err(format!("sections of {total} bytes in a payload of {}", payload.len()));
    }
    unpack(&payload[start..start + stored(wanted)], table[wanted].1 as usize)
        .map_err(|e| format!("section {wanted}: {e}"))
}

/// Ranges of one stream of all warps, which is contiguous in its section.
fn ranges(lens: &[u32], start: &mut u64) -> Vec<Range<u32>> {
    lens.iter()
        .map(|&len| {
            let from = *start;
            *start += u64::from(len);
            // Totals are compared with a section's length, so a wrapped range is never used.
            from as u32..*start as u32
        })
        .collect()
}

impl Frame {
    /// Decompresses directory and paths of a frame of a launch with a number of warps per block.
    ///
    /// # Errors
    /// The frame is damaged; the error describes how.
    pub(crate) fn parse(payload: &[u8], warps_per_block: u32) -> Result<Frame, String> {
        let head = FrameHead::of(payload).ok_or("it is too short for its head")?;
        let directory = section(payload, DIRECTORY)?;
        let path = section(payload, PATH)?;
        let entries = head.entries as usize;
        let warps = entries.checked_mul(warps_per_block as usize).ok_or("it has too many warps")?;
        let words = entries
            .checked_mul(ENTRY_COLUMNS)
            .and_then(|e| warps.checked_mul(WARP_COLUMNS).and_then(|w| w.checked_add(e)));
        if entries == 0 || words.and_then(|w| w.checked_mul(4)) != Some(directory.len()) {
            return Err(format!("a directory of {} bytes for {entries} blocks", directory.len()));
        }
        let all: Vec<u32> =
            directory.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
        let (entry_columns, warp_columns) = all.split_at(entries * ENTRY_COLUMNS);
        let entries = parse_entries(&head, entry_columns)?;
        let column = |i: usize| &warp_columns[i * warps..(i + 1) * warps];
        let (mut path_end, mut value_end, mut word_end) = (0, 0, 0);
        let path_tokens = ranges(column(0), &mut path_end);
        let path_params = ranges(column(1), &mut path_end);
        let value_tokens = ranges(column(2), &mut value_end);
        let value_params = ranges(column(3), &mut value_end);
        let word_ranges = ranges(column(4), &mut word_end);
        let table = section_bytes(payload).ok_or("it is too short for its section table")?;
        let planes_fit = table[FIRST_PLANE..].iter().all(|&(_, raw)| u64::from(raw) == word_end);
        if path_end != path.len() as u64 || value_end != u64::from(table[VALUES].1) || !planes_fit {
            return Err("the directory's lengths do not add up to those of the sections".into());
        }
        if column(4).iter().any(|&n| n as usize > MAX_WORDS_PER_WARP) {
            return Err("a warp has more words than positions can name".into());
        }
        let warps = (0..warps)
            .map(|w| WarpBytes {
                path_tokens: path_tokens[w].clone(),
                path_params: path_params[w].clone(),
                value_tokens: value_tokens[w].clone(),
                value_params: value_params[w].clone(),
                words: word_ranges[w].clone(),
                checksums: WarpSums { results: column(5)[w], timing: column(6)[w] as u16 },
            })
            .collect();
        Ok(Frame { head, entries, warps, path })
    }

    /// The entry of a part of a block, and its first warp in [`Frame::warps`].
    #[must_use]
    pub(crate) fn find(&self, block: u64, part: u32, warps_per_block: u32) -> Option<(Entry, usize)> {
        // Most blocks have one part; then the position follows from the number.
        let guess = block.checked_sub(self.head.first_block)? as usize;
        let found = self.entries.get(guess).is_some_and(|e| (e.block, e.part) == (block, part));
        let search = || self.entries.binary_search_by_key(&(block, part), |e| (e.block, e.part)).ok();
        let at = if found { guess } else { search()? };
        Some((self.entries[at], at * warps_per_block as usize))
    }
}

fn parse_entries(head: &FrameHead, columns: &[u32]) -> Result<Vec<Entry>, String> {
    let n = head.entries as usize;
    let entries: Vec<Entry> = (0..n)
        .map(|i| Entry {
            block: head.first_block.saturating_add(u64::from(columns[i])),
            part: columns[n + i],
            last: columns[2 * n + i] != 0,
        })
        .collect();
    let first_fits = entries[0].block == head.first_block && entries[0].part == head.first_part;
    let in_order = entries.windows(2).all(|e| {
        let next = if e[0].last {
            (e[0].block.saturating_add(1), 0)
        } else {
            (e[0].block, e[0].part.wrapping_add(1))
        };
        (e[1].block, e[1].part) == next
    });
    let ended = entries.iter().filter(|e| e.last).count();
    if first_fits && in_order && ended == head.blocks_ended as usize {
        Ok(entries)
    } else {
        Err("the directory's blocks do not follow one another".into())
    }
}

impl FrameValues {
    /// Decompresses the values of a frame whose directory [`Frame::parse`] has checked.
    ///
    /// # Errors
    /// The frame is damaged; the error describes how.
    pub(crate) fn parse(payload: &[u8]) -> Result<FrameValues, String> {
        let values = section(payload, VALUES)?;
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| section(payload, FIRST_PLANE + i));
        let (a, b, c, d) = (a?, b?, c?, d?);
        Ok(FrameValues { values, words: planes::join([&a, &b, &c, &d]) })
    }
}
