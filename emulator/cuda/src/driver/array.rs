//! Arrays, texture and surface objects.

use super::{In, Out, functions};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::memory::array::{Array, CUBEMAP, LAYERED, Texels, address_mode, filter, shape};
use crate::tell::tell;
use emulator::texture::{ChannelFormat, ChannelKind, Object, ReadMode, Sampler};

/// CUDA's `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrayDescriptor {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) format: u32,
    pub(super) channels: u32,
}

/// CUDA's `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array3Descriptor {
    pub(super) extent: [usize; 3],
    pub(super) format: u32,
    pub(super) channels: u32,
    pub(super) flags: u32,
}

/// CUDA's `CUDA_RESOURCE_DESC`: its kind, the kind's fields, flags.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ResourceDescriptor {
    kind: u32,
    /// An array's handle, or an address.
    place: u64,
    format: u32,
    channels: u32,
    /// Bytes of linear memory, or width, height and pitch.
    sizes: [usize; 3],
    reserved: [u64; 11],
    flags: u32,
}

/// CUDA's `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextureDescriptor {
    address: [u32; 3],
    filter: u32,
    flags: u32,
    anisotropy: u32,
    mip_filter: u32,
    mip_bias: f32,
    mip_min: f32,
    mip_max: f32,
    border: [f32; 4],
    reserved: [i32; 12],
}

const _: () = assert!(size_of::<ArrayDescriptor>() == 24 && size_of::<Array3Descriptor>() == 40);
const _: () = assert!(size_of::<ResourceDescriptor>() == 144 && size_of::<TextureDescriptor>() == 104);

/// Kinds of resources.
const ARRAY: u32 = 0;
const MIPMAPPED: u32 = 1;
const LINEAR: u32 = 2;
const PITCHED: u32 = 3;

/// Flags of texture descriptors.
const READ_AS_INTEGER: u32 = 1;
const NORMALIZED_COORDINATES: u32 = 2;
const SRGB: u32 = 0x10;

fn channel_format(number: u32, channels: u32) -> Outcome<ChannelFormat> {
    let (kind, bits) = match number {
        1 => (ChannelKind::Unsigned, 8),
        2 => (ChannelKind::Unsigned, 16),
        3 => (ChannelKind::Unsigned, 32),
        8 => (ChannelKind::Signed, 8),
        9 => (ChannelKind::Signed, 16),
        10 => (ChannelKind::Signed, 32),
        0x10 => (ChannelKind::Float, 16),
        0x20 => (ChannelKind::Float, 32),
        other => {
            tell(&format!(
                "arrays and textures of format {other:#x} are not supported; plain integers and floats are"
            ));
            return Err(Status::NOT_SUPPORTED);
        }
    };
    let channels = u8::try_from(channels).map_err(|_| Status::INVALID_VALUE)?;
    ChannelFormat::new(kind, bits, channels).map_err(|_| Status::INVALID_VALUE)
}

fn format_number(format: ChannelFormat) -> u32 {
    match (format.kind(), format.bits()) {
        (ChannelKind::Unsigned, 8) => 1,
        (ChannelKind::Unsigned, 16) => 2,
        (ChannelKind::Unsigned, _) => 3,
        (ChannelKind::Signed, 8) => 8,
        (ChannelKind::Signed, 16) => 9,
        (ChannelKind::Signed, _) => 10,
        (ChannelKind::Float, 16) => 0x10,
        (ChannelKind::Float, _) => 0x20,
    }
}

fn create(
    to: Out<u64>,
    extent: [usize; 3],
    levels: u32,
    (format, channels): (u32, u32),
    flags: u32,
) -> Outcome {
    if !to.wanted() {
        return Err(Status::INVALID_VALUE);
    }
    let (shape, format) = (shape(extent, levels, flags)?, channel_format(format, channels)?);
    to.set(gpu()?.memory.create_array(shape, format, flags)?)
}

fn describe(array: &Array) -> Array3Descriptor {
    let format = array.resource.format;
    Array3Descriptor {
        extent: array.extent(),
        format: format_number(format),
        channels: format.channels().into(),
        flags: array.flags,
    }
}

impl ResourceDescriptor {
    fn texels(&self) -> Outcome<Texels> {
        let format = || channel_format(self.format, self.channels);
        let number = |n: usize| u32::try_from(n).map_err(|_| Status::INVALID_VALUE);
        match self.kind {
            ARRAY | MIPMAPPED => Ok(Texels::Array(self.place)),
            LINEAR => {
                Ok(Texels::Linear { address: self.place, bytes: self.sizes[0] as u64, format: format()? })
            }
            PITCHED => Ok(Texels::Pitched {
                address: self.place,
                width: number(self.sizes[0])?,
                height: number(self.sizes[1])?,
                pitch: self.sizes[2] as u64,
                format: format()?,
            }),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    fn of(texels: Texels, mipmapped: bool) -> ResourceDescriptor {
        let with = |kind, place, format: ChannelFormat, sizes| ResourceDescriptor {
            kind,
            place,
            format: format_number(format),
            channels: format.channels().into(),
            sizes,
            ..ResourceDescriptor::default()
        };
        match texels {
            Texels::Array(place) => {
                let kind = if mipmapped { MIPMAPPED } else { ARRAY };
                ResourceDescriptor { kind, place, ..ResourceDescriptor::default() }
            }
            Texels::Linear { address, bytes, format } => {
                with(LINEAR, address, format, [bytes as usize, 0, 0])
            }
            Texels::Pitched { address, width, height, pitch, format } => {
                with(PITCHED, address, format, [width as usize, height as usize, pitch as usize])
            }
        }
    }
}

impl TextureDescriptor {
    fn sampler(&self, format: ChannelFormat) -> Outcome<Sampler> {
        let mut address = [address_mode(0)?; 3];
        for (to, from) in address.iter_mut().zip(self.address) {
            *to = address_mode(from)?;
        }
        let as_fraction = self.flags & READ_AS_INTEGER == 0 && format.normalizes();
        Ok(Sampler {
            address,
            filter: filter(self.filter)?,
            normalized_coords: self.flags & NORMALIZED_COORDINATES != 0,
            read_mode: if as_fraction { ReadMode::NormalizedFloat } else { ReadMode::Element },
            srgb: self.flags & SRGB != 0,
            border: self.border,
            mip_filter: filter(self.mip_filter)?,
            mip_bias: self.mip_bias,
            mip_min: self.mip_min,
            mip_max: self.mip_max,
        })
    }

    fn of(s: &Sampler) -> TextureDescriptor {
        let flag = |set: bool, bit| if set { bit } else { 0 };
        TextureDescriptor {
            address: s.address.map(|mode| mode as u32),
            filter: s.filter as u32,
            flags: flag(s.read_mode == ReadMode::Element, READ_AS_INTEGER)
                | flag(s.normalized_coords, NORMALIZED_COORDINATES)
                | flag(s.srgb, SRGB),
            anisotropy: 0,
            mip_filter: s.mip_filter as u32,
            mip_bias: s.mip_bias,
            mip_min: s.mip_min,
            mip_max: s.mip_max,
            border: s.border,
            reserved: [0; 12],
        }
    }
}

/// Descriptor of the resource of an object.
fn resource_of(to: Out<ResourceDescriptor>, object: u64) -> Outcome {
    let gpu = gpu()?;
    let (texels, found) = gpu.memory.object(object)?;
    let mipmapped = match found {
        Object::Texture(texture) => texture.resource.levels.len() > 1,
        _ => false,
    };
    to.set(ResourceDescriptor::of(texels, mipmapped))
}

functions! {
    "cuArrayCreate_v2" 3020 Context array_create(array: Out<u64>, descriptor: In<ArrayDescriptor>) {
        let d = descriptor.get()?;
        create(array, [d.width, d.height, 0], 1, (d.format, d.channels), 0)
    }

    "cuArray3DCreate_v2" 3020 Context array_3d_create(array: Out<u64>, descriptor: In<Array3Descriptor>) {
        let d = descriptor.get()?;
        create(array, d.extent, 1, (d.format, d.channels), d.flags)
    }

    "cuMipmappedArrayCreate" 5000 Context mipmapped_array_create(
        array: Out<u64>, descriptor: In<Array3Descriptor>, levels: u32,
    ) {
        let d = descriptor.get()?;
        // The number of levels is limited by the extent.
        let dimensions = if d.flags & (LAYERED | CUBEMAP) == 0 { 3 } else { 2 };
        let most = d.extent[..dimensions].iter().max().map_or(1, |&n| usize::BITS - n.leading_zeros());
        create(array, d.extent, levels.min(most), (d.format, d.channels), d.flags)
    }

    "cuMipmappedArrayGetLevel" 5000 Context mipmapped_array_get_level(level: Out<u64>, array: u64, number: u32) {
        level.set(gpu()?.memory.array_level(array, number)?)
    }

    "cuMipmappedArrayDestroy" 5000 Context mipmapped_array_destroy(array: u64) { gpu()?.memory.destroy_array(array) }

    "cuArrayDestroy" 2000 Context array_destroy(array: u64) { gpu()?.memory.destroy_array(array) }

    "cuArrayGetDescriptor_v2" 3020 Context array_get_descriptor(to: Out<ArrayDescriptor>, array: u64) {
        let Array3Descriptor { extent: [width, height, _], format, channels, .. } =
            describe(gpu()?.memory.arrays.arrays.get(array)?);
        to.set(ArrayDescriptor { width, height, format, channels })
    }

    "cuArray3DGetDescriptor_v2" 3020 Context array_3d_get_descriptor(to: Out<Array3Descriptor>, array: u64) {
        to.set(describe(gpu()?.memory.arrays.arrays.get(array)?))
    }

    "cuTexObjectCreate" 5000 Context tex_object_create(
        object: Out<u64>, resource: In<ResourceDescriptor>, texture: In<TextureDescriptor>, view: In<u32>,
    ) {
        if view.given() && view.get()? != 0 {
            tell("textures cannot have other formats or parts than their resource");
            return Err(Status::NOT_SUPPORTED);
        }
        let (texels, texture) = (resource.get()?.texels()?, texture.get()?);
        let mut gpu = gpu()?;
        let format = match texels {
            Texels::Array(array) => gpu.memory.arrays.arrays.get(array)?.resource.format,
            Texels::Linear { format, .. } | Texels::Pitched { format, .. } => format,
        };
        object.set(gpu.memory.create_texture(texels, texture.sampler(format)?)?)
    }

    "cuTexObjectDestroy" 5000 Context tex_object_destroy(object: u64) { gpu()?.memory.destroy_object(object) }

    "cuTexObjectGetResourceDesc" 5000 Context tex_object_get_resource_desc(
        to: Out<ResourceDescriptor>, object: u64,
    ) {
        resource_of(to, object)
    }

    "cuTexObjectGetTextureDesc" 5000 Context tex_object_get_texture_desc(
        to: Out<TextureDescriptor>, object: u64,
    ) {
        match gpu()?.memory.object(object)?.1 {
            Object::Texture(texture) => to.set(TextureDescriptor::of(&texture.sampler)),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    "cuSurfObjectCreate" 5000 Context surf_object_create(object: Out<u64>, resource: In<ResourceDescriptor>) {
        match resource.get()?.texels()? {
            Texels::Array(array) => object.set(gpu()?.memory.create_surface(array)?),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    "cuSurfObjectDestroy" 5000 Context surf_object_destroy(object: u64) { gpu()?.memory.destroy_object(object) }

    "cuSurfObjectGetResourceDesc" 5000 Context surf_object_get_resource_desc(
        to: Out<ResourceDescriptor>, object: u64,
    ) {
        resource_of(to, object)
    }
}
