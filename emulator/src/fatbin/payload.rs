//! Decompression of fat binary entries.

use super::image::{Compression, MAX_IMAGE_BYTES};
use std::io::Read as _;

/// An entry's contents as they are in the file.
pub(super) struct Stored<'b> {
    pub bytes: &'b [u8],
    pub compression: Compression,
    /// What the entry says; 0 when it is not compressed.
    pub uncompressed_bytes: u64,
}

/// Upper bound of the decompressed size per byte of an LZ4 block.
const MOST_PER_LZ4_BYTE: usize = 256;

/// The contents, or the error.
pub(super) fn unpack(stored: &Stored<'_>) -> Result<Vec<u8>, String> {
    let expected = stored.uncompressed_bytes as usize;
    let contents = match stored.compression {
        Compression::None => return Ok(stored.bytes.to_vec()),
        // The declared size is allocated, so refuse sizes that no block of this length can have.
        Compression::Lz4 if expected > stored.bytes.len().saturating_mul(MOST_PER_LZ4_BYTE) => {
            return Err(format!("an entry of {} bytes that claims to hold {expected}", stored.bytes.len()));
        }
        Compression::Lz4 => lz4_flex::block::decompress(stored.bytes, expected)
            .map_err(|e| format!("an entry that is no LZ4 block ({e})"))?,
        Compression::Zstd => {
            let mut contents = Vec::new();
            zstd::Decoder::new(stored.bytes)
                .and_then(|decoder| {
                    decoder
                        .take(stored.uncompressed_bytes.saturating_add(1).min(MAX_IMAGE_BYTES))
                        .read_to_end(&mut contents)
                })
                .map_err(|e| format!("an entry that is no zstd frame ({e})"))?;
            contents
        }
    };
    if contents.len() != expected {
        return Err(format!("an entry that holds {} bytes instead of {expected}", contents.len()));
    }
    Ok(contents)
}
