//! Moving a warp's data between rows and bytes.
//!
//! A [`Survey`] checks all lane addresses at once: bounds, alignment, and whether they are equal or
//! consecutive. Equal and consecutive addresses, most of what kernels do, then become one access; the rest
//! goes lane by lane in ascending order, so that of several lanes that write one place the highest wins.

use trace_format::isa::MemWidth;
use trace_format::semantics::{FULL_MASK, Row, WARP_SIZE};

/// Byte addresses of all lanes.
pub(crate) type Addresses = [u64; WARP_SIZE];
/// The rows of the widest access.
pub(crate) type Rows = [Row; 4];

/// Properties of a warp's addresses, relative to the start of the accessed memory.
#[derive(Clone, Copy, Debug)]
pub struct Survey {
    /// Whether every access lies inside.
    pub inside: bool,
    /// Whether every address is a multiple of the width, as far as the start of the memory is.
    pub aligned: bool,
    /// Whether all lanes have the same address.
    pub uniform: bool,
    /// Whether each lane's address follows its predecessor's at the distance of the width.
    pub linear: bool,
}

/// Gives lanes outside of `exec`, which is not empty, the address of the first lane in it.
#[inline(always)]
pub(crate) fn fill_idle(at: &mut Addresses, exec: u32) {
    if exec != FULL_MASK {
        let first = at[exec.trailing_zeros() as usize & 31];
        for (l, address) in at.iter_mut().enumerate() {
            *address = if exec >> l & 1 != 0 { *address } else { first };
        }
    }
}

/// Surveys accesses of `width` bytes to `len` bytes of memory that start at `base`. All lanes count.
#[inline(always)]
#[must_use]
pub(crate) fn survey(at: &Addresses, base: u64, len: u64, width: u64) -> Survey {
    // All tests are folded with "or", so that the loop is nothing but vector operations.
    let first = at[0].wrapping_sub(base);
    let limit = len.wrapping_sub(width);
    let (mut bits, mut beyond, mut differ, mut jump) = (0u64, 0u64, 0u64, 0u64);
    for (l, address) in at.iter().enumerate() {
        let relative = address.wrapping_sub(base);
        bits |= relative;
        beyond |= limit.wrapping_sub(relative);
        differ |= relative ^ first;
        jump |= relative ^ first.wrapping_add(l as u64 * width);
    }
    // Lengths stay far below 2^63: a set sign bit means "before the start" or "past the end".
    let inside = len >= width && (beyond | bits) >> 63 == 0;
    Survey { inside, aligned: (bits | base) & (width - 1) == 0, uniform: differ == 0, linear: jump == 0 }
}

/// Memory that lanes load from: plain bytes, or those of an allocation that others may access too.
pub(crate) trait Bytes {
    /// `N` bytes from an offset on; zeros when they are not all inside.
    fn word<const N: usize>(&self, at: usize) -> [u8; N];

    /// Loads 32 words from an offset on, if they are all inside.
    fn row(&self, at: usize, out: &mut Row);
}

/// Memory that lanes store to.
pub(crate) trait BytesMut: Bytes {
    /// Stores `N` bytes from an offset on, if they are all inside.
    fn put<const N: usize>(&mut self, at: usize, value: [u8; N]);

    /// Stores 32 words from an offset on, if they are all inside.
    fn put_row(&mut self, at: usize, row: &Row);
}

impl Bytes for [u8] {
    #[inline(always)]
    fn word<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut out = [0; N];
        if let Some(from) = self.get(at..).and_then(|rest| rest.get(..N)) {
            out.copy_from_slice(from);
        }
        out
    }

    #[inline(always)]
    fn row(&self, at: usize, out: &mut Row) {
        if let Some(from) = self.get(at..).and_then(|b| b.first_chunk::<{ 4 * WARP_SIZE }>()) {
            for l in 0..WARP_SIZE {
                out.0[l] =
                    u32::from_le_bytes([from[4 * l], from[4 * l + 1], from[4 * l + 2], from[4 * l + 3]]);
            }
        }
    }
}

impl BytesMut for [u8] {
    #[inline(always)]
    fn put<const N: usize>(&mut self, at: usize, value: [u8; N]) {
        if let Some(to) = self.get_mut(at..).and_then(|rest| rest.get_mut(..N)) {
            to.copy_from_slice(&value);
        }
    }

    #[inline(always)]
    fn put_row(&mut self, at: usize, row: &Row) {
        if let Some(to) = self.get_mut(at..).and_then(|b| b.first_chunk_mut::<{ 4 * WARP_SIZE }>()) {
            for l in 0..WARP_SIZE {
                to[4 * l..4 * l + 4].copy_from_slice(&row.0[l].to_le_bytes());
            }
        }
    }
}

/// Loads `width` per lane at `at - base` into as many rows as the width has registers. The addresses of all
/// lanes have passed `survey`.
#[inline(always)]
pub(crate) fn load<B: Bytes + ?Sized>(
    bytes: &B,
    base: u64,
    at: &Addresses,
    width: MemWidth,
    survey: Survey,
    out: &mut Rows,
) {
    let offset = |l: usize| at[l].wrapping_sub(base) as usize;
    match width {
        MemWidth::B32 if survey.uniform => out[0] = Row::splat(u32::from_le_bytes(bytes.word(offset(0)))),
        MemWidth::B32 if survey.linear => bytes.row(offset(0), &mut out[0]),
        MemWidth::B32 => {
            for l in 0..WARP_SIZE {
                out[0].0[l] = u32::from_le_bytes(bytes.word(offset(l)));
            }
        }
        MemWidth::U8 => {
            for l in 0..WARP_SIZE {
                out[0].0[l] = u32::from(bytes.word::<1>(offset(l))[0]);
            }
        }
        MemWidth::S8 => {
            for l in 0..WARP_SIZE {
                out[0].0[l] = i32::from(bytes.word::<1>(offset(l))[0] as i8) as u32;
            }
        }
        MemWidth::U16 => {
            for l in 0..WARP_SIZE {
                out[0].0[l] = u32::from(u16::from_le_bytes(bytes.word(offset(l))));
            }
        }
        MemWidth::S16 => {
            for l in 0..WARP_SIZE {
                out[0].0[l] = i32::from(i16::from_le_bytes(bytes.word(offset(l)))) as u32;
            }
        }
        MemWidth::B64 => {
            for l in 0..WARP_SIZE {
                let v = u64::from_le_bytes(bytes.word(offset(l)));
                out[0].0[l] = v as u32;
                out[1].0[l] = (v >> 32) as u32;
            }
        }
        MemWidth::B128 => {
            for l in 0..WARP_SIZE {
                let v = u128::from_le_bytes(bytes.word(offset(l)));
                out[0].0[l] = v as u32;
                out[1].0[l] = (v >> 32) as u32;
                out[2].0[l] = (v >> 64) as u32;
                out[3].0[l] = (v >> 96) as u32;
            }
        }
    }
}

/// Stores `width` per lane of `exec` at `at - base`, ascending by lane. The addresses of all lanes have passed
/// `survey`.
#[inline(always)]
pub(crate) fn store<B: BytesMut + ?Sized>(
    bytes: &mut B,
    base: u64,
    at: &Addresses,
    exec: u32,
    width: MemWidth,
    survey: Survey,
    data: &[&Row; 4],
) {
    let offset = |l: usize| at[l].wrapping_sub(base) as usize;
    if width == MemWidth::B32 && survey.linear && exec == FULL_MASK {
        bytes.put_row(offset(0), data[0]);
        return;
    }
    let mut lanes = exec;
    while lanes != 0 {
        let l = lanes.trailing_zeros() as usize;
        lanes &= lanes - 1;
        let w = |i: usize| data[i].0[l];
        match width {
            MemWidth::U8 | MemWidth::S8 => bytes.put(offset(l), [w(0) as u8]),
            MemWidth::U16 | MemWidth::S16 => bytes.put(offset(l), (w(0) as u16).to_le_bytes()),
            MemWidth::B32 => bytes.put(offset(l), w(0).to_le_bytes()),
            MemWidth::B64 => bytes.put(offset(l), (u64::from(w(0)) | u64::from(w(1)) << 32).to_le_bytes()),
            MemWidth::B128 => {
                let (low, high) =
                    (u64::from(w(0)) | u64::from(w(1)) << 32, u64::from(w(2)) | u64::from(w(3)) << 32);
                bytes.put(offset(l), (u128::from(low) | u128::from(high) << 64).to_le_bytes());
            }
        }
    }
}

/// Active lanes, ascending.
pub(crate) fn lanes_of(mut exec: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = exec.trailing_zeros();
        exec &= exec.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}
