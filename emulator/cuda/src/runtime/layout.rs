//! Structures of CUDA 13's runtime headers that functions take and fill.

use crate::error::{Outcome, Status};
use crate::memory::array;
use emulator::texture::{ChannelFormat, ChannelKind};
use std::ffi::c_void;

/// `cudaMemcpyDefault`: the addresses say where they are.
pub(crate) const DEFAULT: u32 = 4;

/// `cudaChannelFormatDesc`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ChannelDesc {
    /// Bits of the channels, 0 for absent ones.
    pub bits: [i32; 4],
    /// Kind of all of them.
    pub kind: u32,
}

/// `cudaExtent`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    /// Elements or bytes.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Slices.
    pub depth: usize,
}

/// `cudaPos`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    /// Elements or bytes.
    pub x: usize,
    /// Rows.
    pub y: usize,
    /// Slices.
    pub z: usize,
}

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pitched {
    /// First byte.
    pub pointer: *mut c_void,
    /// Bytes from row to row.
    pub pitch: usize,
    /// Width of a row.
    pub width: usize,
    /// Rows of a slice.
    pub height: usize,
}

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyParams {
    /// Array to read, if any.
    pub from_array: u64,
    /// Position in it, or offset from the pointer.
    pub from_position: Position,
    /// Memory to read.
    pub from: Pitched,
    /// Array to write, if any.
    pub to_array: u64,
    /// Position in it, or offset from the pointer.
    pub to_position: Position,
    /// Memory to write.
    pub to: Pitched,
    /// How much.
    pub extent: Extent,
    /// Direction.
    pub kind: u32,
}

/// `cudaMemcpy3DPeerParms`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerCopyParams {
    from_array: u64,
    from_position: Position,
    from: Pitched,
    from_device: i32,
    to_array: u64,
    to_position: Position,
    to: Pitched,
    to_device: i32,
    extent: Extent,
}

impl PeerCopyParams {
    /// The same copy on the only device.
    ///
    /// # Errors
    /// `INVALID_DEVICE` when it names another.
    pub(crate) fn here(&self) -> Outcome<CopyParams> {
        if self.from_device != 0 || self.to_device != 0 {
            return Err(Status::INVALID_DEVICE);
        }
        Ok(CopyParams {
            from_array: self.from_array,
            from_position: self.from_position,
            from: self.from,
            to_array: self.to_array,
            to_position: self.to_position,
            to: self.to,
            extent: self.extent,
            kind: DEFAULT,
        })
    }
}

/// `cudaTextureDesc`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TextureDesc {
    /// Address mode of each dimension.
    pub address: [u32; 3],
    /// Filter within a level.
    pub filter: u32,
    /// 0 for elements, 1 for fractions.
    pub read_mode: u32,
    /// Whether colours are converted.
    pub srgb: i32,
    /// Colour beyond the edge.
    pub border: [f32; 4],
    /// Whether coordinates are fractions.
    pub normalized_coords: i32,
    /// Greatest ratio of anisotropic filtering.
    pub max_anisotropy: u32,
    /// Filter between levels.
    pub mip_filter: u32,
    /// Added to the level of detail.
    pub mip_bias: f32,
    /// Least level of detail.
    pub mip_min: f32,
    /// Greatest level of detail.
    pub mip_max: f32,
    /// Whether optimisations of trilinear filtering are switched off.
    pub no_trilinear_optimization: i32,
    /// Whether cubes are filtered across their edges.
    pub seamless_cubemap: i32,
}

/// `cudaResourceDesc`: the kind of resource, then the fields of that kind.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceDesc {
    /// One of the constants.
    pub kind: u32,
    /// Array, mipmapped array or address.
    pub what: u64,
    /// Format of linear memory.
    pub format: ChannelDesc,
    /// Bytes of one row, or texels of each of several.
    pub width: u64,
    /// Rows.
    pub height: u64,
    /// Bytes from row to row.
    pub pitch: u64,
    /// Not used by any kind.
    pub rest: [u64; 9],
    /// Not used yet by CUDA.
    pub flags: u32,
}

impl ResourceDesc {
    /// An array.
    pub(crate) const ARRAY: u32 = 0;
    /// A mipmapped array.
    pub(crate) const MIPMAPPED: u32 = 1;
    /// Memory as one row.
    pub(crate) const LINEAR: u32 = 2;
    /// Memory as rows.
    pub(crate) const PITCHED: u32 = 3;

    /// A description with zeros in the fields that its kind does not use.
    #[must_use]
    pub(crate) fn new(kind: u32, what: u64) -> ResourceDesc {
        let format = ChannelDesc { bits: [0; 4], kind: 0 };
        ResourceDesc { kind, what, format, width: 0, height: 0, pitch: 0, rest: [0; 9], flags: 0 }
    }
}

/// `cudaResourceViewDesc`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceViewDesc {
    /// Format of the view, 0 for none.
    pub format: u32,
    extent: [u64; 3],
    levels: [u32; 2],
    layers: [u32; 2],
    reserved: [u32; 16],
}

/// `cudaMemLocation`.
pub(crate) use crate::memory::location::Location;

const _: () = assert!(size_of::<ChannelDesc>() == 20 && size_of::<Pitched>() == 32);
const _: () = assert!(size_of::<CopyParams>() == 160 && size_of::<PeerCopyParams>() == 168);
const _: () = assert!(size_of::<TextureDesc>() == 72 && size_of::<ResourceDesc>() == 144);
const _: () = assert!(size_of::<ResourceViewDesc>() == 112 && size_of::<Location>() == 8);

impl ChannelDesc {
    /// The format that it describes.
    ///
    /// # Errors
    /// `INVALID_CHANNEL_DESCRIPTOR` when hardware has no such format.
    pub(crate) fn format(&self) -> Outcome<ChannelFormat> {
        let bad = Status::INVALID_CHANNEL_DESCRIPTOR;
        let channels = self.bits.iter().take_while(|&&b| b != 0).count();
        let alike = self.bits[..channels].iter().all(|&b| b == self.bits[0]);
        if !alike || self.bits[channels..].iter().any(|&b| b != 0) {
            return Err(bad);
        }
        let kind = match self.kind {
            0 => ChannelKind::Signed,
            1 => ChannelKind::Unsigned,
            2 => ChannelKind::Float,
            3.. => return Err(bad),
        };
        let bits = u8::try_from(self.bits[0]).map_err(|_| bad)?;
        ChannelFormat::new(kind, bits, channels as u8).map_err(|_| bad)
    }

    /// The description of a format.
    #[must_use]
    pub(crate) fn of(format: ChannelFormat) -> ChannelDesc {
        let mut bits = [0; 4];
        bits[..usize::from(format.channels())].fill(i32::from(format.bits()));
        let kind = match format.kind() {
            ChannelKind::Signed => 0,
            ChannelKind::Unsigned => 1,
            ChannelKind::Float => 2,
        };
        ChannelDesc { bits, kind }
    }
}

impl From<Extent> for [usize; 3] {
    fn from(e: Extent) -> [usize; 3] {
        [e.width, e.height, e.depth]
    }
}

impl From<[usize; 3]> for Extent {
    fn from([width, height, depth]: [usize; 3]) -> Extent {
        Extent { width, height, depth }
    }
}

/// Checks the flags of an array; sparse arrays and others are not supported.
///
/// # Errors
/// `NOT_SUPPORTED` for other flags.
pub(crate) fn array_flags(flags: u32) -> Outcome<u32> {
    let known = array::LAYERED | array::SURFACE_LOAD_STORE | array::CUBEMAP | array::TEXTURE_GATHER;
    if flags & !known == 0 { Ok(flags) } else { Err(Status::NOT_SUPPORTED) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channel_descriptions_are_formats() {
        let desc = |bits, kind| ChannelDesc { bits, kind };
        let float4 = desc([32; 4], 2);
        assert_eq!(float4.format().map(|f| (f.bits(), f.channels())), Ok((32, 4)));
        assert_eq!(float4.format().map(ChannelDesc::of), Ok(float4));
        for bad in [desc([8, 8, 8, 0], 1), desc([8, 16, 0, 0], 1), desc([8, 0, 8, 0], 1), desc([0; 4], 1)] {
            assert_eq!(bad.format(), Err(Status::INVALID_CHANNEL_DESCRIPTOR), "{bad:?}");
        }
        assert!(desc([8, 0, 0, 0], 2).format().is_err() && desc([32, 0, 0, 0], 3).format().is_err());
    }
}
