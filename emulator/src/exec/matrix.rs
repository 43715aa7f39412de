//! LDSM and STSM: 8x8 matrices of halves between shared memory and fragments.
//!
//! Lane 8j + r addresses row r of matrix j, 16 bytes. In registers, lane l holds elements 2 (l % 4) and the next of
//! row l / 4 (of column l / 4 when transposed) of each matrix, one matrix per register.

use super::request::blame;
use crate::memory::lanes::{Addresses, Rows};
use crate::view::access::Refusal;
use trace_format::isa::{MatrixCount, Transposed};
use trace_format::semantics::{Row, transpose};

/// Bytes of a row.
const ROW_BYTES: u64 = 16;

/// The byte position of row `r` of matrix `j`.
fn place(bytes: &[u8], at: &Addresses, j: usize, r: usize) -> Result<usize, Refusal> {
    let lane = 8 * j + r;
    let address = at[lane];
    let inside = address.checked_add(ROW_BYTES).is_some_and(|end| end <= bytes.len() as u64);
    if !inside || !address.is_multiple_of(ROW_BYTES) {
        return Err(blame(bytes, at, 1 << lane, ROW_BYTES));
    }
    Ok(address as usize)
}

/// Loads matrices into the first rows of `out`.
///
/// # Errors
/// The first lane whose address is misaligned or outside of `bytes`.
pub(super) fn load(
    bytes: &[u8],
    at: &Addresses,
    count: MatrixCount,
    trans: Transposed,
    out: &mut Rows,
) -> Result<(), Refusal> {
    for (j, fragment) in out.iter_mut().enumerate().take(usize::from(count.get())) {
        for r in 0..8 {
            let from = place(bytes, at, j, r)?;
            for (i, word) in bytes[from..from + ROW_BYTES as usize].chunks_exact(4).enumerate() {
                fragment.0[4 * r + i] = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            }
        }
        if trans.0 {
            *fragment = transpose(fragment);
        }
    }
    Ok(())
}

/// Stores matrices; nothing is written when an address is refused.
///
/// # Errors
/// The first lane whose address is misaligned or outside of `bytes`.
pub(super) fn store(
    bytes: &mut [u8],
    at: &Addresses,
    count: MatrixCount,
    trans: Transposed,
    data: &[&Row; 4],
) -> Result<(), Refusal> {
    let matrices = usize::from(count.get());
    for lane in 0..8 * matrices {
        place(bytes, at, lane / 8, lane % 8)?;
    }
    for (j, fragment) in data.iter().enumerate().take(matrices) {
        let fragment = if trans.0 { transpose(fragment) } else { **fragment };
        for r in 0..8 {
            let to = place(bytes, at, j, r)?;
            let words = &fragment.0[4 * r..4 * r + 4];
            for (bytes, word) in bytes[to..to + ROW_BYTES as usize].chunks_exact_mut(4).zip(words) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
        }
    }
    Ok(())
}
