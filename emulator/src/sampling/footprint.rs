//! From coordinates to texels: address modes, filter weights, cube faces and mipmap levels, as the CUDA C++
//! Programming Guide's appendix on texture fetching defines them.
//!
//! Address modes apply to texel indices, so that filtering across an edge reads the texels that the mode puts
//! there. Filter weights have 8 fractional bits. Everything is computed in binary64, where it is exact for
//! coordinates of binary32 and extents up to 2^27, by operations that every host performs alike.

use crate::texture::resource::Level;
use crate::texture::sampler::{AddressMode, Filter, Sampler};

/// Offset of a texel beyond the border.
pub(super) const OUTSIDE: u64 = u64::MAX;
/// The filter weight that stands for 1.
pub(super) const ONE: u16 = 256;

/// The texels of one mipmap level that a fetch reads: in every dimension one, or two with a weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Footprint {
    /// Address of the layer or face within the level.
    pub base: u64,
    /// Byte offset of the two candidates of every dimension, [`OUTSIDE`] beyond the border.
    pub offset: [[u64; 2]; 3],
    /// Weight of the second candidate in every dimension, of [`ONE`].
    pub weight: [u16; 3],
    /// Texel index of the two candidates of every dimension.
    pub texel: [[u32; 2]; 3],
}

impl Footprint {
    /// Reads nothing.
    pub(super) const NONE: Footprint =
        Footprint { base: 0, offset: [[0; 2]; 3], weight: [0; 3], texel: [[0; 2]; 3] };

    /// Address of tap `t`, whose bit `d` chooses the candidate of dimension `d`; `None` beyond the border.
    pub(super) fn address(&self, t: usize) -> Option<u64> {
        let mut address = self.base;
        for d in 0..3 {
            let offset = self.offset[d][t >> d & 1];
            if offset == OUTSIDE {
                return None;
            }
            address += offset;
        }
        Some(address)
    }

    /// The address that hardware gives the texel of tap `t`, which is not beyond the border, in a slice of a level.
    pub(super) fn recorded(&self, t: usize, level: &Level, slice: u32, texel_bytes: u64) -> u64 {
        let [x, y, z] = std::array::from_fn(|d| u64::from(self.texel[d][t >> d & 1]));
        level.recorded(x * texel_bytes, y, z, slice.into())
    }

    /// Weight of tap `t` among `taps` dimensions' worth of taps, exact.
    pub(super) fn share(&self, t: usize, dimensions: usize) -> f64 {
        (0..dimensions).fold(1.0, |share, d| {
            let second = self.weight[d];
            share * f64::from(if t >> d & 1 != 0 { second } else { ONE - second }) / f64::from(ONE)
        })
    }
}

/// Where in a level a fetch goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Point {
    /// Coordinates in texels, or as fractions of the extent.
    Real([f64; 3]),
    /// Texel indices.
    Texel([i32; 3]),
}

/// What a footprint depends on besides the place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules<'s> {
    pub sampler: &'s Sampler,
    /// Dimensions of the geometry (2 for a cube's faces).
    pub dimensions: usize,
    /// Whether two candidates are wanted in every dimension.
    pub linear: bool,
    /// Whether coordinates are fractions of the extent.
    pub normalized: bool,
}

/// Texels that a fetch at a point of a slice (layer or face) reads, moved by `shift` texels.
pub(super) fn footprint(
    rules: &Rules<'_>,
    level: &Level,
    slice: u32,
    point: Point,
    shift: [i32; 3],
    texel_bytes: u64,
) -> Footprint {
    let mut out = Footprint { base: level.base + u64::from(slice) * level.slice_bytes, ..Footprint::NONE };
    let steps = [texel_bytes, level.row_bytes, level.slice_bytes];
    for d in 0..rules.dimensions {
        let n = f64::from(level.extent[d]);
        let (first, weight, mode) = match point {
            Point::Texel(at) => (f64::from(at[d]), 0, AddressMode::Border),
            Point::Real(at) => {
                let x = if at[d].is_nan() { 0.0 } else { at[d] };
                let x = if rules.normalized { x * n } else { x };
                let x = if rules.linear { x - 0.5 } else { x };
                let weight =
                    if rules.linear { ((x - x.floor()) * f64::from(ONE)).round_ties_even() } else { 0.0 };
                (x.floor(), weight as u16, rules.sampler.mode(d, rules.normalized))
            }
        };
        let first = first + f64::from(shift[d]);
        let mut place = |candidate: usize, i: f64| match index(i, n, mode) {
            Some(i) => {
                out.offset[d][candidate] = i * steps[d];
                out.texel[d][candidate] = i as u32;
            }
            None => out.offset[d][candidate] = OUTSIDE,
        };
        place(0, first);
        if rules.linear {
            place(1, first + 1.0);
        }
        out.weight[d] = weight;
    }
    out
}

/// The texel that an index of any size stands for among `n`.
fn index(i: f64, n: f64, mode: AddressMode) -> Option<u64> {
    let inside = match mode {
        AddressMode::Clamp => i.clamp(0.0, n - 1.0),
        AddressMode::Border if i < 0.0 || i >= n => return None,
        AddressMode::Border => i,
        AddressMode::Wrap => i.rem_euclid(n),
        AddressMode::Mirror => {
            let m = i.rem_euclid(2.0 * n);
            if m < n { m } else { 2.0 * n - 1.0 - m }
        }
    };
    // Infinite coordinates leave no remainder: not a number, which becomes 0.
    Some(inside as u64)
}

/// Face of a cube that a direction meets, and where on it as fractions of its extent.
pub(super) fn face(direction: [f64; 3]) -> (u32, [f64; 3]) {
    let [x, y, z] = direction;
    let [ax, ay, az] = direction.map(f64::abs);
    let (face, s, t, m) = if ax > ay && ax > az {
        if x >= 0.0 { (0, -z, -y, ax) } else { (1, z, -y, ax) }
    } else if ay > az {
        if y >= 0.0 { (2, x, z, ay) } else { (3, x, -z, ay) }
    } else if z >= 0.0 {
        (4, x, -y, az)
    } else {
        (5, -x, -y, az)
    };
    (face, [(s / m + 1.0) / 2.0, (t / m + 1.0) / 2.0, 0.0])
}

/// The mipmap levels that a level of detail picks, and the weight of the second of [`ONE`].
pub(super) fn levels(sampler: &Sampler, lod: f64, count: usize) -> (usize, usize, u16) {
    let last = count - 1;
    let lod = lod + f64::from(sampler.mip_bias);
    let lod = lod.max(f64::from(sampler.mip_min)).min(f64::from(sampler.mip_max));
    let lod = if lod.is_nan() { 0.0 } else { lod.clamp(0.0, last as f64) };
    match sampler.mip_filter {
        Filter::Point => {
            let level = ((lod + 0.5).floor() as usize).min(last);
            (level, level, 0)
        }
        Filter::Linear => {
            let first = lod.floor() as usize;
            let weight = ((lod - lod.floor()) * f64::from(ONE)).round_ties_even() as u16;
            (first, (first + 1).min(last), weight)
        }
    }
}

/// Level of detail of two gradients in texels: the binary logarithm of the longer one's length.
pub(super) fn detail(dx: [f64; 3], dy: [f64; 3]) -> f64 {
    let square = |v: [f64; 3]| v.iter().map(|c| c * c).sum::<f64>();
    log2(square(dx).max(square(dy))) / 2.0
}

/// Binary logarithm to 16 fractional bits, bit by bit, so that it is the same on every host.
fn log2(v: f64) -> f64 {
    if v.is_nan() || v <= f64::MIN_POSITIVE {
        return f64::NEG_INFINITY;
    }
    if v.is_infinite() {
        return v;
    }
    let exponent = (v.to_bits() >> 52) as i32 - 1023;
    let mut mantissa = f64::from_bits((v.to_bits() & ((1 << 52) - 1)) | 1023 << 52);
    let (mut fraction, mut bit) = (0.0, 0.5);
    for _ in 0..16 {
        mantissa *= mantissa;
        if mantissa >= 2.0 {
            mantissa /= 2.0;
            fraction += bit;
        }
        bit /= 2.0;
    }
    f64::from(exponent) + fraction
}
