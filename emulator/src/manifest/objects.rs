//! Textures, surfaces and samplers of a manifest: the buffer that holds the texels, their
//! shape and format, and the sampler state.

use super::error::Place;
use crate::texture::{ArrayShape, ChannelFormat, ObjectError, Resource, Sampler};

/// Layout of the texels of a texture or surface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// One row of so many texels.
    Linear {
        /// Width in texels.
        width: u32,
    },
    /// Rows at a pitch.
    Pitched {
        /// Width in texels.
        width: u32,
        /// Height in texels.
        height: u32,
        /// Distance of rows in bytes.
        pitch_bytes: u64,
    },
    /// An array.
    Array(ArrayShape),
}

/// Use of an object.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Role {
    /// Fetched from with sampler state.
    Texture(Sampler),
    /// Loaded from and stored to.
    Surface,
}

/// A texture or surface.
#[derive(Clone, PartialEq, Debug)]
pub struct ObjectSpec {
    /// Its name: of arguments, and of the module's variable that it is bound to.
    pub name: String,
    /// Index of the buffer that holds the texels.
    pub buffer: usize,
    /// Where in the buffer they begin, bytes.
    pub offset_bytes: u64,
    /// Their shape.
    pub layout: Layout,
    /// Their format.
    pub format: ChannelFormat,
    /// What it is used for.
    pub role: Role,
    /// Where it is declared.
    pub place: Place,
}

impl ObjectSpec {
    /// The resource, when the buffer begins at a device address.
    ///
    /// # Errors
    /// When shape and format are impossible.
    pub fn resource(&self, buffer_base: u64) -> Result<Resource, ObjectError> {
        let base = buffer_base + self.offset_bytes;
        match self.layout {
            Layout::Linear { width } => {
                Resource::linear(base, u64::from(width) * self.format.texel_bytes(), self.format)
            }
            Layout::Pitched { width, height, pitch_bytes } => {
                Resource::pitched(base, width, height, pitch_bytes, self.format)
            }
            Layout::Array(shape) => Resource::array(base, &shape, self.format),
        }
    }

    /// Bytes from the buffer's beginning in which recorded addresses of the texels lie.
    ///
    /// # Errors
    /// When shape and format are impossible.
    pub fn recorded_bytes(&self) -> Result<u64, ObjectError> {
        let bytes = match self.layout {
            Layout::Array(shape) => shape.tiled_bytes(self.format)?,
            Layout::Linear { .. } | Layout::Pitched { .. } => self.bytes()?,
        };
        Ok(self.offset_bytes + bytes)
    }

    /// Bytes of the buffer that the texels take.
    pub(super) fn bytes(&self) -> Result<u64, ObjectError> {
        let texel = self.format.texel_bytes();
        Ok(match self.layout {
            Layout::Linear { width } => u64::from(width) * texel,
            Layout::Pitched { width, height, pitch_bytes } => {
                pitch_bytes.saturating_mul(u64::from(height.max(1)) - 1) + u64::from(width) * texel
            }
            Layout::Array(shape) => shape.bytes(self.format)?,
        })
    }
}

/// Sampler state on its own, for `.samplerref` variables.
#[derive(Clone, PartialEq, Debug)]
pub struct SamplerSpec {
    /// Name of the variable that it is bound to.
    pub name: String,
    /// The state.
    pub sampler: Sampler,
}
