//! Memory of textures and surfaces: arrays, mipmapped arrays, cubes, linear and pitched memory, all of them
//! row-major in device memory.
//!
//! An array's levels follow each other without gaps; within a level, slices or layers follow rows. Hardware has arrays
//! of two and three dimensions in blocks: [`Tiles`] gives the address of a texel there, which is what is recorded.

use super::format::ChannelFormat;
use super::tiles::Tiles;
use super::{ObjectError, refuse};

/// Largest extent of any dimension, texels (2^27, CUDA's limit for linear memory).
const MAX_EXTENT: u64 = 1 << 27;
/// Bytes that a resource may span.
const MAX_BYTES: u64 = 1 << 40;

/// What kind of array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ArrayKind {
    /// One dimension.
    D1,
    /// Two dimensions.
    D2,
    /// Three dimensions.
    D3,
    /// Layers of one dimension.
    Layered1,
    /// Layers of two dimensions.
    Layered2,
    /// Six square faces.
    Cube,
    /// Layers of six square faces.
    LayeredCube,
}

impl ArrayKind {
    /// Dimensions of one layer or face.
    #[must_use]
    pub const fn dimensions(self) -> usize {
        match self {
            ArrayKind::D1 | ArrayKind::Layered1 => 1,
            ArrayKind::D3 => 3,
            _ => 2,
        }
    }
}

/// What a resource is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ResourceKind {
    /// Memory as one row of texels.
    Linear,
    /// Memory as rows at a pitch.
    Pitched,
    /// An array.
    Array(ArrayKind),
}

/// The shape of an array, mipmapped if it has more than one level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ArrayShape {
    /// Kind.
    pub kind: ArrayKind,
    /// Width in texels, at least 1.
    pub width: u32,
    /// Height in texels; 1 where the kind has no second dimension.
    pub height: u32,
    /// Depth in texels; 1 where the kind has no third dimension.
    pub depth: u32,
    /// Layers; 1 where the kind has none. For cubes the faces are not counted.
    pub layers: u32,
    /// Mipmap levels, at least 1.
    pub levels: u32,
}

impl ArrayShape {
    /// Checks the shape.
    ///
    /// # Errors
    /// A sentence that names the impossible part.
    pub fn check(&self) -> Result<(), ObjectError> {
        let ArrayShape { kind, width, height, depth, layers, levels } = *self;
        let extents = [width, height, depth, layers];
        if extents.contains(&0) || levels == 0 {
            return refuse("width, height, depth, layers and levels are at least 1");
        }
        let dimensions = kind.dimensions();
        if (dimensions < 2 && height > 1) || (dimensions < 3 && depth > 1) {
            return refuse(format!("{} has {dimensions} dimensions", describe(kind)));
        }
        let layered = matches!(kind, ArrayKind::Layered1 | ArrayKind::Layered2 | ArrayKind::LayeredCube);
        if layers > 1 && !layered {
            return refuse(format!("{} has no layers", describe(kind)));
        }
        if matches!(kind, ArrayKind::Cube | ArrayKind::LayeredCube) && width != height {
            return refuse(format!("the faces of a cube are square, not {width} by {height}"));
        }
        let most = width.max(height).max(depth);
        let possible = 32 - most.leading_zeros();
        if levels > possible {
            return refuse(format!("an extent of {most} has at most {possible} mipmap levels, not {levels}"));
        }
        if extents.iter().any(|&e| u64::from(e) > MAX_EXTENT) || self.bytes_of(16).is_none() {
            return refuse("the array is too large");
        }
        Ok(())
    }

    /// Slices of a level: layers, or faces of a cube.
    fn slices(&self) -> u64 {
        match self.kind {
            ArrayKind::Cube | ArrayKind::LayeredCube => 6 * u64::from(self.layers),
            _ => u64::from(self.layers),
        }
    }

    fn extent(&self, level: u32) -> [u32; 3] {
        [self.width, self.height, self.depth].map(|e| (e >> level.min(31)).max(1))
    }

    fn bytes_of(&self, texel: u64) -> Option<u64> {
        let mut sum = 0u64;
        for level in 0..self.levels {
            let texels =
                self.extent(level).iter().try_fold(self.slices(), |n, &e| n.checked_mul(u64::from(e)))?;
            sum = sum.checked_add(texels.checked_mul(texel)?)?;
        }
        (sum <= MAX_BYTES).then_some(sum)
    }

    /// Device memory that the array takes, bytes.
    ///
    /// # Errors
    /// When the shape is impossible.
    pub fn bytes(&self, format: ChannelFormat) -> Result<u64, ObjectError> {
        self.check()?;
        self.bytes_of(format.texel_bytes()).ok_or_else(|| ObjectError("the array is too large".into()))
    }

    /// Device memory that hardware gives the array, with whole blocks: at least [`ArrayShape::bytes`].
    ///
    /// # Errors
    /// When the shape is impossible.
    pub fn tiled_bytes(&self, format: ChannelFormat) -> Result<u64, ObjectError> {
        let bytes = self.bytes(format)?;
        let tiled: u64 =
            (0..self.levels).filter_map(|level| self.tiles(0, level, format)).map(|t| t.slice_bytes()).sum();
        Ok(bytes.max(tiled * self.slices()))
    }

    /// The blocks of a level that begins at an address; arrays of one dimension have none.
    fn tiles(&self, base: u64, level: u32, format: ChannelFormat) -> Option<Tiles> {
        let [width, height, depth] = self.extent(level);
        let width_bytes = u64::from(width) * format.texel_bytes();
        (self.kind.dimensions() > 1).then(|| Tiles::new(base, width_bytes, height, depth))
    }
}

const fn describe(kind: ArrayKind) -> &'static str {
    match kind {
        ArrayKind::D1 => "a one-dimensional array",
        ArrayKind::D2 => "a two-dimensional array",
        ArrayKind::D3 => "a three-dimensional array",
        ArrayKind::Layered1 => "an array of one-dimensional layers",
        ArrayKind::Layered2 => "an array of two-dimensional layers",
        ArrayKind::Cube => "a cube",
        ArrayKind::LayeredCube => "an array of cubes",
    }
}

/// One mipmap level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level {
    /// Device address of its first texel.
    pub base: u64,
    /// Width, height and depth in texels, 1 where there is no such dimension.
    pub extent: [u32; 3],
    /// Distance of rows in bytes.
    pub row_bytes: u64,
    /// Distance of slices (of depth, layers or faces) in bytes.
    pub slice_bytes: u64,
    /// Where hardware has the texels, if not in rows.
    pub tiles: Option<Tiles>,
}

impl Level {
    /// The address that hardware gives a byte of a texel: bytes along x, a row, and a slice of depth, layer or face.
    #[must_use]
    #[inline]
    pub fn recorded(&self, x_bytes: u64, y: u64, z: u64, slice: u64) -> u64 {
        match &self.tiles {
            Some(tiles) => tiles.address(x_bytes, y, z, slice),
            None => self.base + x_bytes + y * self.row_bytes + (z + slice) * self.slice_bytes,
        }
    }
}

/// Texels in device memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resource {
    /// Format of the texels.
    pub format: ChannelFormat,
    /// What it is.
    pub kind: ResourceKind,
    /// Layers times faces, 1 where there are none.
    pub slices: u32,
    /// Mipmap levels, at least one.
    pub levels: Vec<Level>,
}

impl Resource {
    /// Linear memory of `bytes` bytes.
    ///
    /// # Errors
    /// When it holds no texel, too many, or is not aligned to them.
    pub fn linear(base: u64, bytes: u64, format: ChannelFormat) -> Result<Resource, ObjectError> {
        let width = bytes / format.texel_bytes();
        aligned(base, format)?;
        if width == 0 || width > MAX_EXTENT {
            return refuse(format!("linear memory of {width} texels; 1 to {MAX_EXTENT} are possible"));
        }
        let extent = [width as u32, 1, 1];
        let level = Level { base, extent, row_bytes: bytes, slice_bytes: bytes, tiles: None };
        Ok(Resource { format, kind: ResourceKind::Linear, slices: 1, levels: vec![level] })
    }

    /// Rows of `width` texels at a distance of `pitch_bytes`.
    ///
    /// # Errors
    /// When it holds no texel, or rows overlap or are not aligned to texels.
    pub fn pitched(
        base: u64,
        width: u32,
        height: u32,
        pitch_bytes: u64,
        format: ChannelFormat,
    ) -> Result<Resource, ObjectError> {
        let texel = format.texel_bytes();
        aligned(base, format)?;
        if width == 0 || height == 0 || u64::from(width.max(height)) > MAX_EXTENT {
            return refuse(format!("{width} by {height} texels; 1 to {MAX_EXTENT} each are possible"));
        }
        if pitch_bytes < u64::from(width) * texel || !pitch_bytes.is_multiple_of(texel) {
            return refuse(format!(
                "a pitch of {pitch_bytes} bytes is no multiple of {texel} from {} on, as rows of {width} texels need",
                u64::from(width) * texel
            ));
        }
        let slice_bytes = pitch_bytes.checked_mul(u64::from(height)).filter(|&b| b <= MAX_BYTES);
        let Some(slice_bytes) = slice_bytes else { return refuse("the rows span too much memory") };
        let extent = [width, height, 1];
        let level = Level { base, extent, row_bytes: pitch_bytes, slice_bytes, tiles: None };
        Ok(Resource { format, kind: ResourceKind::Pitched, slices: 1, levels: vec![level] })
    }

    /// An array whose [`ArrayShape::bytes`] begin at `base`; recorded addresses are in its [`ArrayShape::tiled_bytes`].
    ///
    /// # Errors
    /// When the shape is impossible or the address not aligned to texels.
    pub fn array(base: u64, shape: &ArrayShape, format: ChannelFormat) -> Result<Resource, ObjectError> {
        shape.check()?;
        aligned(base, format)?;
        let mut levels = Vec::new();
        let (mut at, mut blocks_at) = (base, base);
        for level in 0..shape.levels {
            let extent = shape.extent(level);
            let tiles = shape.tiles(blocks_at, level, format);
            blocks_at += tiles.map_or(0, |tiles| tiles.slice_bytes() * shape.slices());
            let row_bytes = u64::from(extent[0]) * format.texel_bytes();
            let slice_bytes = row_bytes * u64::from(extent[1]);
            levels.push(Level { base: at, extent, row_bytes, slice_bytes, tiles });
            at += slice_bytes * u64::from(extent[2]) * shape.slices();
        }
        let slices = shape.slices() as u32;
        Ok(Resource { format, kind: ResourceKind::Array(shape.kind), slices, levels })
    }

    /// Layers as `txq.array_size` counts them.
    #[must_use]
    pub const fn layers(&self) -> u32 {
        match self.kind {
            ResourceKind::Array(ArrayKind::Cube | ArrayKind::LayeredCube) => self.slices / 6,
            _ => self.slices,
        }
    }

    /// What the resource is, for messages.
    #[must_use]
    pub const fn describe(&self) -> &'static str {
        match self.kind {
            ResourceKind::Linear => "linear memory",
            ResourceKind::Pitched => "pitched memory",
            ResourceKind::Array(kind) => describe(kind),
        }
    }
}

fn aligned(base: u64, format: ChannelFormat) -> Result<(), ObjectError> {
    let texel = format.texel_bytes();
    if base.is_multiple_of(texel) {
        Ok(())
    } else {
        refuse(format!("the address {base:#x} is no multiple of the texel's {texel} bytes"))
    }
}
