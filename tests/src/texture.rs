//! A reference for texture fetches: the formulae of the CUDA C++ Programming Guide's appendix "Texture
//! Fetching", one thread at a time, in double precision.
//!
//! It knows nothing of the emulator's texture model. Where the Guide is silent (indices beyond the edge while
//! filtering, rounding of weights) it follows DEVIATIONS.md.

use half::f16;

/// What lies beyond the edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    /// The texture again.
    Wrap,
    /// The texel at the edge.
    Clamp,
    /// The texture mirrored.
    Mirror,
    /// The border colour.
    Border,
}

/// What a channel is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channel {
    /// Unsigned integers of 8 bits.
    U8,
    /// Signed integers of 8 bits.
    S8,
    /// Unsigned integers of 16 bits.
    U16,
    /// Signed integers of 16 bits.
    S16,
    /// Unsigned integers of 32 bits.
    U32,
    /// Signed integers of 32 bits.
    S32,
    /// binary16.
    F16,
    /// binary32.
    F32,
}

impl Channel {
    /// Every kind of channel.
    pub const ALL: [Self; 8] =
        [Self::U8, Self::S8, Self::U16, Self::S16, Self::U32, Self::S32, Self::F16, Self::F32];

    /// Bytes of a channel.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 | Self::F16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
        }
    }

    /// Whether the channel holds a float.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32)
    }
}

/// How a texture is read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct State {
    /// Beyond the edge, by dimension.
    pub edge: [Edge; 3],
    /// Linear filter.
    pub linear: bool,
    /// Normalised coordinates.
    pub normalized: bool,
    /// Integers as fractions.
    pub fraction: bool,
    /// Border colour.
    pub border: [f32; 4],
    /// Linear filter between levels.
    pub mip_linear: bool,
    /// Bias, least and greatest level of detail.
    pub lod: [f32; 3],
}

/// One level of texels, slice by slice, row by row.
#[derive(Clone, PartialEq, Debug)]
pub struct Level {
    /// Width, height, depth.
    pub extent: [usize; 3],
    /// The texels of all layers or faces.
    pub bytes: Vec<u8>,
}

/// A texture's contents.
#[derive(Clone, PartialEq, Debug)]
pub struct Image {
    /// Kind of every channel.
    pub channel: Channel,
    /// Channels per texel.
    pub channels: usize,
    /// Levels, the largest first.
    pub levels: Vec<Level>,
    /// Layers times faces.
    pub slices: usize,
}

/// The integer part, clamped to a range beyond any texture.
fn whole(x: f64) -> i64 {
    x.floor().clamp(-1e12, 1e12) as i64
}

impl Image {
    /// The channels of a texel as a fetch returns them.
    fn channels_at(&self, state: &State, level: usize, slice: usize, at: [usize; 3]) -> [u32; 4] {
        let Level { extent: [w, h, d], bytes } = &self.levels[level];
        let index = ((slice * d + at[2]) * h + at[1]) * w + at[0];
        std::array::from_fn(|c| {
            let n = self.channel.bytes();
            let from = (index * self.channels + c) * n;
            if c < self.channels { self.value(state, &bytes[from..from + n]) } else { self.absent(state, c) }
        })
    }

    fn absent(&self, state: &State, c: usize) -> u32 {
        let one = if self.channel.is_float() || state.fraction { 1f32.to_bits() } else { 1 };
        if c == 3 { one } else { 0 }
    }

    fn value(&self, state: &State, b: &[u8]) -> u32 {
        let two = || [b[0], b[1]];
        let four = || [b[0], b[1], b[2], b[3]];
        if state.fraction && !self.channel.is_float() {
            let v = match self.channel {
                Channel::U8 => f64::from(b[0]) / 255.0,
                Channel::S8 => (f64::from(b[0] as i8) / 127.0).max(-1.0),
                Channel::U16 => f64::from(u16::from_le_bytes(two())) / 65535.0,
                _ => (f64::from(i16::from_le_bytes(two())) / 32767.0).max(-1.0),
            };
            return (v as f32).to_bits();
        }
        match self.channel {
            Channel::U8 => u32::from(b[0]),
            Channel::S8 => i32::from(b[0] as i8) as u32,
            Channel::U16 => u32::from(u16::from_le_bytes(two())),
            Channel::S16 => i32::from(i16::from_le_bytes(two())) as u32,
            Channel::F16 => f16::from_le_bytes(two()).to_f32().to_bits(),
            Channel::U32 | Channel::S32 | Channel::F32 => u32::from_le_bytes(four()),
        }
    }

    /// The channels of the texel at an index that may lie beyond the edge.
    fn texel(&self, state: &State, level: usize, slice: usize, at: [i64; 3], dims: usize) -> [u32; 4] {
        let mut inside = [0; 3];
        for d in 0..dims {
            let n = self.levels[level].extent[d] as i64;
            let edge = match state.edge[d] {
                Edge::Wrap | Edge::Mirror if !state.normalized => Edge::Clamp,
                edge => edge,
            };
            let mut i = at[d];
            match edge {
                Edge::Clamp => i = i.max(0).min(n - 1),
                Edge::Border => {
                    if i < 0 || i >= n {
                        return self.border(state);
                    }
                }
                Edge::Wrap => i = (i % n + n) % n,
                // x becomes frac(x) where floor(x) is even, 1 - frac(x) where it is odd.
                Edge::Mirror => {
                    let (turn, rest) = (i.div_euclid(n), i.rem_euclid(n));
                    i = if turn % 2 == 0 { rest } else { n - 1 - rest };
                }
            }
            inside[d] = i as usize;
        }
        self.channels_at(state, level, slice, inside)
    }

    fn border(&self, state: &State) -> [u32; 4] {
        std::array::from_fn(|c| {
            let colour = state.border[c];
            match self.channel {
                _ if c >= self.channels => self.absent(state, c),
                _ if self.channel.is_float() || state.fraction => colour.to_bits(),
                Channel::S8 | Channel::S16 | Channel::S32 => colour as i32 as u32,
                _ => colour as u32,
            }
        })
    }

    /// tex1D, tex2D, tex3D and their layered forms at one level: `at` holds as many coordinates as dimensions.
    #[must_use]
    pub fn fetch(&self, state: &State, level: usize, slice: usize, at: &[f32]) -> [u32; 4] {
        let wide: Vec<f64> = at.iter().map(|&x| f64::from(x)).collect();
        if state.linear {
            let sum = self.filtered(state, level, slice, &wide);
            return sum.map(|v| (v as f32).to_bits());
        }
        let mut index = [0i64; 3];
        for (d, x) in wide.iter().enumerate() {
            let n = self.levels[level].extent[d] as f64;
            index[d] = whole(if state.normalized { x * n } else { *x });
        }
        self.texel(state, level, slice, index, at.len())
    }

    /// The filtered value: sum over the corners of the cell of their texels times their weights.
    fn filtered(&self, state: &State, level: usize, slice: usize, at: &[f64]) -> [f64; 4] {
        let mut cell = [0i64; 3];
        let mut alpha = [0f64; 3];
        for (d, x) in at.iter().enumerate() {
            let n = self.levels[level].extent[d] as f64;
            let b = (if state.normalized { x * n } else { *x }) - 0.5;
            cell[d] = whole(b);
            // 1.8 fixed point.
            alpha[d] = ((b - b.floor()) * 256.0).round_ties_even() / 256.0;
        }
        let mut sum = [0f64; 4];
        for corner in 0..1usize << at.len() {
            let (mut index, mut weight) = (cell, 1.0);
            for d in 0..at.len() {
                let second = corner >> d & 1 == 1;
                index[d] += i64::from(second);
                weight *= if second { alpha[d] } else { 1.0 - alpha[d] };
            }
            if weight > 0.0 {
                let texel = self.texel(state, level, slice, index, at.len());
                for c in 0..4 {
                    sum[c] += weight * f64::from(f32::from_bits(texel[c]));
                }
            }
        }
        sum
    }

    /// tex1Dfetch and fetches at texel indices: beyond the edge is zero.
    #[must_use]
    pub fn fetch_texel(&self, state: &State, level: usize, slice: usize, at: &[i32]) -> [u32; 4] {
        let mut index = [0; 3];
        for (d, &i) in at.iter().enumerate() {
            if i < 0 || i as usize >= self.levels[level].extent[d] {
                return [0; 4];
            }
            index[d] = i as usize;
        }
        self.channels_at(state, level, slice, index)
    }

    /// tex1DLod and its like.
    #[must_use]
    pub fn fetch_lod(&self, state: &State, lod: f32, slice: usize, at: &[f32]) -> [u32; 4] {
        let last = self.levels.len() - 1;
        let [bias, least, most] = state.lod.map(f64::from);
        let lod = (f64::from(lod) + bias).max(least).min(most).max(0.0).min(last as f64);
        if !state.mip_linear {
            let level = ((lod + 0.5).floor() as usize).min(last);
            return self.fetch(state, level, slice, at);
        }
        let first = lod.floor() as usize;
        let gamma = ((lod - lod.floor()) * 256.0).round_ties_even() / 256.0;
        let wide: Vec<f64> = at.iter().map(|&x| f64::from(x)).collect();
        let one = |level: usize| -> [f64; 4] {
            if state.linear {
                self.filtered(state, level, slice, &wide)
            } else {
                self.fetch(state, level, slice, at).map(|bits| f64::from(f32::from_bits(bits)))
            }
        };
        let (a, b) = (one(first), one((first + 1).min(last)));
        std::array::from_fn(|c| ((a[c] * (1.0 - gamma) + b[c] * gamma) as f32).to_bits())
    }

    /// texCubemap and texCubemapLayered: table "Cubemap Fetch" of the Guide.
    #[must_use]
    pub fn fetch_cube(&self, state: &State, layer: usize, [x, y, z]: [f32; 3]) -> [u32; 4] {
        let state = State { normalized: true, ..*state };
        let (face, m, s, t) = if x.abs() > y.abs() && x.abs() > z.abs() {
            if x >= 0.0 { (0, x, -z, -y) } else { (1, -x, z, -y) }
        } else if y.abs() > x.abs() && y.abs() > z.abs() {
            if y >= 0.0 { (2, y, x, z) } else { (3, -y, x, -z) }
        } else if z >= 0.0 {
            (4, z, x, -y)
        } else {
            (5, -z, -x, -y)
        };
        let at = [s, t].map(|v| (f64::from(v) / f64::from(m) + 1.0) / 2.0);
        if state.linear {
            return self.filtered(&state, 0, 6 * layer + face, &at).map(|v| (v as f32).to_bits());
        }
        let n = self.levels[0].extent[0] as f64;
        let index = at.map(|x| (x * n).floor() as i64);
        self.texel(&state, 0, 6 * layer + face, [index[0], index[1], 0], 2)
    }

    /// tex2Dgather: component `c` of the texels that a bilinear filter reads.
    #[must_use]
    pub fn gather(&self, state: &State, c: usize, at: [f32; 2]) -> [u32; 4] {
        let cell: Vec<i64> = (0..2)
            .map(|d| {
                let n = self.levels[0].extent[d] as f64;
                let x = f64::from(at[d]);
                whole((if state.normalized { x * n } else { x }) - 0.5)
            })
            .collect();
        [(0, 1), (1, 1), (1, 0), (0, 0)]
            .map(|(i, j)| self.texel(state, 0, 0, [cell[0] + i, cell[1] + j, 0], 2)[c])
    }
}
