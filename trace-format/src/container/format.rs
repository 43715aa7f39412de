//! Byte layout of a `.wtrace` file, all numbers little-endian.
//!
//! A 16-byte preamble ([`MAGIC`], format version, zero) is followed by records and a 32-byte footer. A record
//! is a 24-byte head (tag, zero, payload length, XXH3-64 of the 16 bytes before it and the payload) and its
//! payload. Tags are four letters; a reader skips unknown records whose first letter is lower-case and
//! refuses others. The records: one `META`; each `KERN` and `LNCH` before its use; the control bits of a kernel,
//! `ctrl`, behind its `KERN`; the preferences of a launch, `pref`, behind its `LNCH`, if it has any; the `FRAM`s of a launch behind
//! these, and a `CUTL` behind them when the launch ended early; `XFER`s (copies and fills) and `wait`s (synchronisations) between launches; one `INDX`, to which
//! the footer (its offset, the file's length, the XXH3-64 of both, [`END_MAGIC`]) points. A file without a valid
//! footer is incomplete and is read by walking its records.

use std::cell::RefCell;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// First eight bytes of every trace.
pub const MAGIC: [u8; 8] = *b"\x89WTRACE\n";
/// Last eight bytes of every finished trace.
pub const END_MAGIC: [u8; 8] = *b"WTRCEND\n";
/// Version that this build writes and reads.
pub const FORMAT_VERSION: u32 = 7;
/// Bytes before the first record.
pub const PREAMBLE_BYTES: usize = 16;
/// Bytes of a record's head.
pub const RECORD_HEAD_BYTES: usize = 24;
/// Bytes of the footer.
pub const FOOTER_BYTES: usize = 32;
/// Largest section before compression; writers do not exceed it, and readers refuse larger ones.
pub const MAX_SECTION_BYTES: usize = 256 << 20;

/// Kind of a record.
pub type Tag = [u8; 4];
/// The trace's header: [`super::Header`].
pub const META: Tag = *b"META";
/// A machine kernel.
pub const KERNEL: Tag = *b"KERN";
/// A launch: [`super::LaunchRecord`].
pub const LAUNCH: Tag = *b"LNCH";
/// Preferences of the launch before it: `super::records::Preferences`; readers that do not know them skip them.
pub const PREFERENCES: Tag = *b"pref";
/// A run of thread blocks: `super::frame`.
pub const FRAME: Tag = *b"FRAM";
/// Control bits of the kernel before it; readers that do not know them skip them.
pub const CONTROL: Tag = *b"ctrl";
/// Copies and fills since the launch before: a list of [`super::TransferRecord`].
pub const TRANSFERS: Tag = *b"XFER";
/// Waits between launches; readers that do not know them skip them.
pub const WAITS: Tag = *b"wait";
/// The launch before it ended early: [`super::CutRecord`].
pub const CUT: Tag = *b"CUTL";
/// The index: `super::records::Index`.
pub const INDEX: Tag = *b"INDX";

/// The first bytes of a file.
#[must_use]
pub fn preamble() -> [u8; PREAMBLE_BYTES] {
    let mut bytes = [0; PREAMBLE_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes
}

/// Head of a record with this payload.
#[must_use]
pub fn record_head(tag: Tag, payload: &[u8]) -> [u8; RECORD_HEAD_BYTES] {
    let mut head = [0; RECORD_HEAD_BYTES];
    head[..4].copy_from_slice(&tag);
    head[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    let hash = record_hash(&head, payload);
    head[16..].copy_from_slice(&hash.to_le_bytes());
    head
}

fn record_hash(head: &[u8], payload: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(&head[..16]);
    hash.update(payload);
    hash.digest()
}

/// A record within a file.
#[derive(Clone, Copy, Debug)]
pub struct RecordRef<'a> {
    /// Kind.
    pub tag: Tag,
    /// Payload, unchecked until [`RecordRef::is_intact`].
    pub payload: &'a [u8],
    head: &'a [u8],
}

impl<'a> RecordRef<'a> {
    /// The record at a byte offset, when head and payload lie within the file.
    #[must_use]
    pub fn at(file: &'a [u8], offset: u64) -> Option<RecordRef<'a>> {
        let rest = file.get(usize::try_from(offset).ok()?..)?;
        let head = rest.get(..RECORD_HEAD_BYTES)?;
        let len = usize::try_from(word64(head, 8)?).ok()?;
        let payload = rest[RECORD_HEAD_BYTES..].get(..len)?;
        Some(RecordRef { tag: *head.first_chunk()?, payload, head })
    }

    /// Whether the hash matches the bytes.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.hash() == record_hash(self.head, self.payload)
    }

    /// The hash that the head gives.
    #[must_use]
    pub fn hash(&self) -> u64 {
        word64(self.head, 16).unwrap_or(0)
    }

    /// Bytes of head and payload.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (RECORD_HEAD_BYTES + self.payload.len()) as u64
    }
}

/// The footer of a file of this length, whose index record stands at an offset.
#[must_use]
pub fn footer(index_offset: u64, file_bytes: u64) -> [u8; FOOTER_BYTES] {
    let mut bytes = [0; FOOTER_BYTES];
    bytes[..8].copy_from_slice(&index_offset.to_le_bytes());
    bytes[8..16].copy_from_slice(&file_bytes.to_le_bytes());
    let hash = xxh3_64(&bytes[..16]);
    bytes[16..24].copy_from_slice(&hash.to_le_bytes());
    bytes[24..].copy_from_slice(&END_MAGIC);
    bytes
}

/// Offset of the index record, when these last bytes of a file of this length are a valid footer.
#[must_use]
pub fn index_offset(footer: &[u8; FOOTER_BYTES], file_bytes: u64) -> Option<u64> {
    let valid = footer[24..] == END_MAGIC
        && word64(footer, 16)? == xxh3_64(&footer[..16])
        && word64(footer, 8)? == file_bytes;
    if valid { word64(footer, 0) } else { None }
}

/// A 64-bit number at a byte offset.
#[must_use]
pub fn word64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// A 32-bit number at a byte offset.
#[must_use]
pub fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Compresses with one reusable context.
pub struct Packer {
    zstd: zstd::bulk::Compressor<'static>,
    scratch: Vec<u8>,
}

impl Packer {
    /// A packer at a zstd level.
    ///
    /// # Errors
    /// zstd cannot allocate its context or refuses the level.
    pub fn new(level: i32) -> std::io::Result<Packer> {
        Ok(Packer { zstd: zstd::bulk::Compressor::new(level)?, scratch: Vec::new() })
    }

    /// Appends the bytes, compressed when that makes them shorter, and returns how many were appended.
    ///
    /// # Errors
    /// zstd fails.
    pub fn pack(&mut self, raw: &[u8], out: &mut Vec<u8>) -> std::io::Result<usize> {
        self.scratch.clear();
        self.scratch.reserve(zstd::zstd_safe::compress_bound(raw.len()));
        let packed = self.zstd.compress_to_buffer(raw, &mut self.scratch)?;
        let shorter = if packed < raw.len() { &self.scratch[..] } else { raw };
        out.extend_from_slice(shorter);
        Ok(shorter.len())
    }
}

/// A decompressor that creates its context at first use.
#[derive(Default)]
struct Unpacker(Option<zstd::bulk::Decompressor<'static>>);

impl Unpacker {
    fn decompress(&mut self, stored: &[u8], capacity: usize) -> std::io::Result<Vec<u8>> {
        let zstd = match self.0.take() {
            Some(zstd) => zstd,
            None => zstd::bulk::Decompressor::new()?,
        };
        self.0.insert(zstd).decompress(stored, capacity)
    }
}

thread_local! {
    static UNPACKER: RefCell<Unpacker> = RefCell::default();
}

/// The inverse of [`Packer::pack`], given the length before packing.
///
/// # Errors
/// The section is damaged; the error describes how.
pub fn unpack(stored: &[u8], raw_bytes: usize) -> Result<Vec<u8>, String> {
    if raw_bytes > MAX_SECTION_BYTES {
        return Err(format!("a section of {raw_bytes} bytes is larger than any that is written"));
    }
    if stored.len() == raw_bytes {
        return Ok(stored.to_vec());
    }
    if stored.len() > raw_bytes {
        return Err(format!("{} stored bytes for {raw_bytes}", stored.len()));
    }
    // At the end of a process the storage of its thread may be gone.
    let raw = UNPACKER
        .try_with(|unpacker| unpacker.borrow_mut().decompress(stored, raw_bytes))
        .unwrap_or_else(|_| Unpacker::default().decompress(stored, raw_bytes));
    let raw = raw.map_err(|e| format!("zstd: {e}"))?;
    if raw.len() == raw_bytes { Ok(raw) } else { Err(format!("{} bytes instead of {raw_bytes}", raw.len())) }
}
