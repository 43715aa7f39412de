//! The fat binary container: a header, then entries of one image each.
//!
//! All numbers are little-endian. Offsets within an entry count from the entry's start; its payload begins
//! where its header says, never at a fixed place.

use super::image::{
    Compression, FatbinError, Image, ImageKind, MAX_IMAGE_BYTES, Origin, check_contents, contents_bytes,
};
use super::payload::{self, Stored};

/// First word of a container.
pub const CONTAINER_MAGIC: u32 = 0xBA55_ED50;
/// Container versions that are known.
const CONTAINER_VERSION: u16 = 1;
/// Smallest container header.
const CONTAINER_HEADER_BYTES: u64 = 16;
/// Smallest entry header.
const ENTRY_HEADER_BYTES: u32 = 64;

const KIND_PTX: u16 = 1;
const KIND_ELF: u16 = 2;

const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;

/// A window into the file whose reads are checked.
struct Window<'b> {
    bytes: &'b [u8],
    /// Offset of the window in the file.
    base: u64,
}

impl<'b> Window<'b> {
    fn damaged(&self, at: u64, what: impl Into<String>) -> FatbinError {
        FatbinError::Damaged { at: self.base + at, what: what.into() }
    }

    fn slice(&self, at: u64, length: u64, what: &str) -> Result<&'b [u8], FatbinError> {
        let part = usize::try_from(at).ok().zip(usize::try_from(length).ok());
        part.and_then(|(at, length)| self.bytes.get(at..at.checked_add(length)?))
            .ok_or_else(|| self.damaged(at, format!("{what} of {length} bytes runs off the end")))
    }

    fn number<const N: usize>(&self, at: u64, what: &str) -> Result<[u8; N], FatbinError> {
        let bytes = self.slice(at, N as u64, what)?;
        bytes.try_into().map_err(|_| self.damaged(at, what))
    }

    fn u16(&self, at: u64) -> Result<u16, FatbinError> {
        self.number(at, "a fat binary header").map(u16::from_le_bytes)
    }

    fn u32(&self, at: u64) -> Result<u32, FatbinError> {
        self.number(at, "a fat binary header").map(u32::from_le_bytes)
    }

    fn u64(&self, at: u64) -> Result<u64, FatbinError> {
        self.number(at, "a fat binary header").map(u64::from_le_bytes)
    }
}

/// The images of the container at the start of `bytes`, which is at `base` in the file, and its length.
///
/// # Errors
/// When the container is damaged or of an unknown version.
pub fn entries(bytes: &[u8], base: u64) -> Result<(Vec<Image>, usize), FatbinError> {
    let all = Window { bytes, base };
    if all.u32(0)? != CONTAINER_MAGIC {
        return Err(all.damaged(0, "a fat binary container without its magic number"));
    }
    let version = all.u16(4)?;
    if version != CONTAINER_VERSION {
        let what = format!("a fat binary container of version {version}");
        return Err(FatbinError::Unsupported { at: base, what });
    }
    let (start, length) = (u64::from(all.u16(6)?), all.u64(8)?);
    // With less the next container would be this one again.
    if start < CONTAINER_HEADER_BYTES {
        return Err(all.damaged(6, format!("a fat binary container whose header has {start} bytes")));
    }
    let end = start
        .checked_add(length)
        .filter(|&end| end <= bytes.len() as u64)
        .ok_or_else(|| all.damaged(8, format!("a fat binary container of {length} bytes is cut off")))?;
    let mut images = Vec::new();
    let (mut at, mut room) = (start, MAX_IMAGE_BYTES);
    while at < end {
        let (image, size) = entry(&all, at, end, &mut room)?;
        images.extend(image);
        at += size;
    }
    Ok((images, end as usize))
}

/// One entry (`None` for a kind that is not known, such as link-time intermediates) and its size. Its contents take some of
/// the room that there is for those of a container.
fn entry(all: &Window<'_>, at: u64, end: u64, room: &mut u64) -> Result<(Option<Image>, u64), FatbinError> {
    let (kind, header) = (all.u16(at)?, all.u32(at + 4)?);
    let padded = all.u64(at + 8)?;
    if header < ENTRY_HEADER_BYTES {
        return Err(all.damaged(at + 4, format!("an entry whose header has {header} bytes")));
    }
    let size =
        u64::from(header).checked_add(padded).filter(|&size| size > 0 && size <= end - at).ok_or_else(
            || all.damaged(at + 8, format!("an entry of {padded} bytes that runs off its container")),
        )?;
    let kind = match kind {
        KIND_PTX => ImageKind::Ptx,
        KIND_ELF => ImageKind::Cubin,
        _ => return Ok((None, size)),
    };
    let flags = all.u64(at + 0x28)?;
    let compression = match (flags & FLAG_LZ4 != 0, flags & FLAG_ZSTD != 0) {
        (false, false) => Compression::None,
        (true, false) => Compression::Lz4,
        (false, true) => Compression::Zstd,
        (true, true) => return Err(all.damaged(at + 0x28, "an entry with two compressions")),
    };
    let compressed = u64::from(all.u32(at + 0x10)?);
    let stored_bytes = if compression == Compression::None { padded } else { compressed };
    if stored_bytes > padded {
        return Err(all.damaged(at + 0x10, "an entry whose compressed size exceeds its room"));
    }
    let stored = Stored {
        bytes: all.slice(at + u64::from(header), stored_bytes, "an entry")?,
        compression,
        uncompressed_bytes: all.u64(at + 0x38)?,
    };
    *room = room.checked_sub(stored.uncompressed_bytes).ok_or_else(|| {
        let bytes = stored.uncompressed_bytes;
        all.damaged(at + 0x38, format!("an entry of {bytes} bytes, more than its container may have"))
    })?;
    let mut contents = payload::unpack(&stored).map_err(|what| all.damaged(at + u64::from(header), what))?;
    if kind == ImageKind::Ptx {
        let text = contents.iter().position(|&b| b == 0).unwrap_or(contents.len());
        contents.truncate(text);
    }
    let image = Image {
        kind,
        arch: all.u32(at + 0x1c)?,
        version: (all.u16(at + 0x1a)?, all.u16(at + 0x18)?),
        flags,
        compression,
        origin: Origin::File,
        container: 0,
        name: text(all, at, header, all.u32(at + 0x20)?, all.u32(at + 0x24)?)?,
        options: options(all, at, header, kind)?,
        stored_bytes,
        contents,
    };
    Ok((Some(image), size))
}

/// A string inside an entry's header, offset from the entry's start.
fn text(
    all: &Window<'_>,
    entry: u64,
    header: u32,
    offset: u32,
    length: u32,
) -> Result<Option<String>, FatbinError> {
    if offset == 0 || length == 0 {
        return Ok(None);
    }
    if u64::from(offset) + u64::from(length) > u64::from(header) {
        return Err(all.damaged(entry + u64::from(offset), "a name outside its entry's header"));
    }
    let bytes = all.slice(entry + u64::from(offset), u64::from(length), "a name")?;
    let shown = String::from_utf8_lossy(bytes);
    Ok(Some(shown.trim_end_matches('\0').to_owned()))
}

/// The options block of a PTX entry: offset of the string, its length, the string.
fn options(
    all: &Window<'_>,
    entry: u64,
    header: u32,
    kind: ImageKind,
) -> Result<Option<String>, FatbinError> {
    let block = all.u32(entry + 0x14)?;
    if kind != ImageKind::Ptx
        || block < ENTRY_HEADER_BYTES
        || block.checked_add(8).is_none_or(|end| end > header)
    {
        return Ok(None);
    }
    let at = entry + u64::from(block);
    let (offset, length) = (all.u32(at)?, all.u32(at + 4)?);
    Ok(text(all, entry, header, offset, length)?.filter(|options| !options.trim().is_empty()))
}

/// The images of consecutive containers (with zero padding between them) that start at `base` in the file;
/// `first` numbers the first of them.
pub(super) fn containers(
    bytes: &[u8],
    base: u64,
    origin: Origin,
    mut first: usize,
) -> Result<Vec<Image>, FatbinError> {
    let mut images = Vec::new();
    let mut at = 0;
    let mut held = 0;
    while let Some(skipped) = bytes.get(at..).and_then(|rest| rest.iter().position(|&b| b != 0)) {
        at = (at + skipped) & !7;
        let (mut found, length) = entries(&bytes[at..], base + at as u64)?;
        for image in &mut found {
            (image.origin, image.container) = (origin, first);
        }
        held += contents_bytes(&found);
        check_contents(held, bytes, base + at as u64)?;
        images.append(&mut found);
        first += 1;
        at += length;
    }
    Ok(images)
}
