//! Sampler state: interpretation of coordinates, address modes, filtering and read modes.

use super::format::{ChannelFormat, ChannelKind};
use super::{ObjectError, refuse};

/// What coordinates beyond the edge mean (CUDA C++ Programming Guide, "Texture Fetching").
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AddressMode {
    /// The texture repeats; with coordinates in texels, as `Clamp`.
    Wrap,
    /// The nearest texel at the edge.
    Clamp,
    /// The texture repeats, every other time mirrored; with coordinates in texels, as `Clamp`.
    Mirror,
    /// The border colour.
    Border,
}

/// How texels are picked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Filter {
    /// The texel that holds the point.
    Point,
    /// The weighted mean of the texels around the point.
    Linear,
}

/// How channels are returned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReadMode {
    /// As they are; binary16 becomes binary32.
    Element,
    /// Integers of 8 and 16 bits as fractions of their range.
    NormalizedFloat,
}

/// Sampler state of a texture.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampler {
    /// Address mode of each dimension.
    pub address: [AddressMode; 3],
    /// Filter within a mipmap level.
    pub filter: Filter,
    /// Whether a coordinate of 1 is the whole width instead of one texel.
    pub normalized_coords: bool,
    /// How channels are returned.
    pub read_mode: ReadMode,
    /// Whether the first three channels are converted from sRGB when they are read as fractions of 8 bits.
    pub srgb: bool,
    /// What `AddressMode::Border` returns, by channel.
    pub border: [f32; 4],
    /// Filter between mipmap levels.
    pub mip_filter: Filter,
    /// Added to the level of detail.
    pub mip_bias: f32,
    /// Least level of detail.
    pub mip_min: f32,
    /// Greatest level of detail.
    pub mip_max: f32,
}

impl Default for Sampler {
    /// The state of an all-zero `cudaTextureDesc`, except that the greatest level of detail is not limited:
    /// wrapping, point-filtered, coordinates in texels, elements as they are.
    fn default() -> Sampler {
        Sampler {
            address: [AddressMode::Wrap; 3],
            filter: Filter::Point,
            normalized_coords: false,
            read_mode: ReadMode::Element,
            srgb: false,
            border: [0.0; 4],
            mip_filter: Filter::Point,
            mip_bias: 0.0,
            mip_min: 0.0,
            mip_max: f32::MAX,
        }
    }
}

impl Sampler {
    /// Checks the state against the format and the number of mipmap levels that it is used with.
    ///
    /// # Errors
    /// A sentence that names the incompatible parts.
    pub fn check(&self, format: ChannelFormat, levels: usize) -> Result<(), ObjectError> {
        let real = format.kind() == ChannelKind::Float || self.read_mode == ReadMode::NormalizedFloat;
        if self.read_mode == ReadMode::NormalizedFloat
            && format.kind() != ChannelKind::Float
            && !format.normalizes()
        {
            return refuse(format!("{format} cannot be read as a fraction: that takes 8 or 16 bits"));
        }
        if (self.filter == Filter::Linear || (self.mip_filter == Filter::Linear && levels > 1)) && !real {
            return refuse(format!(
                "linear filtering needs floats, but {format} is read as integers; read it as a normalized float"
            ));
        }
        let srgb_fits = format.kind() == ChannelKind::Unsigned && format.bits() == 8 && real;
        if self.srgb && !srgb_fits {
            return refuse(format!("sRGB needs u8 channels read as normalized floats, not {format}"));
        }
        if levels > 1 && !self.normalized_coords {
            return refuse("a mipmapped texture needs normalized coordinates");
        }
        if [self.mip_bias, self.mip_min, self.mip_max].iter().any(|v| v.is_nan()) {
            return refuse("a bound or bias of the level of detail is not a number");
        }
        Ok(())
    }

    /// The address mode of dimension `d` in effect for coordinates that are normalised or not.
    pub(crate) fn mode(&self, d: usize, normalized: bool) -> AddressMode {
        match self.address[d] {
            AddressMode::Wrap | AddressMode::Mirror if !normalized => AddressMode::Clamp,
            mode => mode,
        }
    }
}
