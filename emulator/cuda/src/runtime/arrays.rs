//! Arrays, and texture and surface objects.

use super::layout::{ChannelDesc, Extent, Pitched, ResourceDesc, ResourceViewDesc, TextureDesc, array_flags};
use super::{done, given, store};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::memory::Purpose;
use crate::memory::array::{Texels, address_mode, filter, shape};
use crate::tell::tell;
use emulator::texture::{AddressMode, Filter, Object, ReadMode, Sampler};
use std::ffi::c_void;

/// Rows of pitched memory begin at multiples of this.
const PITCH_BYTES: u64 = 512;

/// `cudaCreateChannelDesc`.
#[unsafe(export_name = "warplab_cudaCreateChannelDesc")]
pub(crate) extern "C" fn create_channel_desc(x: i32, y: i32, z: i32, w: i32, kind: u32) -> ChannelDesc {
    ChannelDesc { bits: [x, y, z, w], kind }
}

fn make(desc: *const ChannelDesc, extent: [usize; 3], levels: u32, flags: u32) -> Outcome<u64> {
    // SAFETY: programs pass a description or nothing.
    let desc = unsafe { given(desc) }.ok_or(Status::INVALID_VALUE)?;
    let shape = shape(extent, levels, array_flags(flags)?)?;
    gpu()?.memory.create_array(shape, desc.format()?, flags)
}

/// `cudaMallocArray`.
///
/// # Safety
/// `array` may be written, `desc` is a description.
#[unsafe(export_name = "warplab_cudaMallocArray")]
pub(crate) unsafe extern "C" fn malloc_array(
    array: *mut u64,
    desc: *const ChannelDesc,
    width: usize,
    height: usize,
    flags: u32,
) -> Status {
    // SAFETY: as the caller promises.
    done(make(desc, [width, height, 0], 1, flags).and_then(|made| unsafe { store(array, made) }))
}

/// `cudaMalloc3DArray`.
///
/// # Safety
/// As [`malloc_array`].
#[unsafe(export_name = "warplab_cudaMalloc3DArray")]
pub(crate) unsafe extern "C" fn malloc_3d_array(
    array: *mut u64,
    desc: *const ChannelDesc,
    extent: Extent,
    flags: u32,
) -> Status {
    // SAFETY: as the caller promises.
    done(make(desc, extent.into(), 1, flags).and_then(|made| unsafe { store(array, made) }))
}

/// `cudaMallocMipmappedArray`.
///
/// # Safety
/// As [`malloc_array`].
#[unsafe(export_name = "warplab_cudaMallocMipmappedArray")]
pub(crate) unsafe extern "C" fn malloc_mipmapped_array(
    array: *mut u64,
    desc: *const ChannelDesc,
    extent: Extent,
    levels: u32,
    flags: u32,
) -> Status {
    // The number of levels is limited by the size.
    let largest = extent.width.max(extent.height).max(extent.depth).max(1);
    let levels = levels.clamp(1, largest.ilog2() + 1);
    // SAFETY: as the caller promises.
    done(make(desc, extent.into(), levels, flags).and_then(|made| unsafe { store(array, made) }))
}

/// `cudaGetMipmappedArrayLevel`.
///
/// # Safety
/// `level_array` may be written.
#[unsafe(export_name = "warplab_cudaGetMipmappedArrayLevel")]
pub(crate) unsafe extern "C" fn mipmapped_array_level(
    level_array: *mut u64,
    array: u64,
    level: u32,
) -> Status {
    let found = gpu().and_then(|mut gpu| gpu.memory.array_level(array, level));
    // SAFETY: as the caller promises.
    done(found.and_then(|found| unsafe { store(level_array, found) }))
}

/// `cudaFreeArray`.
#[unsafe(export_name = "warplab_cudaFreeArray")]
pub(crate) extern "C" fn free_array(array: u64) -> Status {
    if array == 0 {
        return done(gpu().map(drop));
    }
    done(gpu().and_then(|mut gpu| gpu.memory.destroy_array(array)))
}

/// `cudaFreeMipmappedArray`.
#[unsafe(export_name = "warplab_cudaFreeMipmappedArray")]
pub(crate) extern "C" fn free_mipmapped_array(array: u64) -> Status {
    free_array(array)
}

/// `cudaArrayGetInfo`.
///
/// # Safety
/// Each pointer is null or may be written.
#[unsafe(export_name = "warplab_cudaArrayGetInfo")]
pub(crate) unsafe extern "C" fn array_get_info(
    desc: *mut ChannelDesc,
    extent: *mut Extent,
    flags: *mut u32,
    array: u64,
) -> Status {
    let get = || -> Outcome {
        let gpu = gpu()?;
        let found = gpu.memory.arrays.arrays.get(array)?;
        // SAFETY: as the caller promises; unrequested results are null.
        unsafe {
            let _ = store(desc, ChannelDesc::of(found.resource.format));
            let _ = store(extent, found.extent().into());
            let _ = store(flags, found.flags);
        }
        Ok(())
    };
    done(get())
}

/// `cudaGetChannelDesc`.
///
/// # Safety
/// `desc` may be written.
#[unsafe(export_name = "warplab_cudaGetChannelDesc")]
pub(crate) unsafe extern "C" fn get_channel_desc(desc: *mut ChannelDesc, array: u64) -> Status {
    let found =
        gpu().and_then(|gpu| Ok(ChannelDesc::of(gpu.memory.arrays.arrays.get(array)?.resource.format)));
    // SAFETY: as the caller promises.
    done(found.and_then(|found| unsafe { store(desc, found) }))
}

fn pitched(width: usize, rows: Option<usize>) -> Outcome<(u64, u64)> {
    let pitch = (width as u64).checked_next_multiple_of(PITCH_BYTES);
    let bytes = pitch.zip(rows).and_then(|(p, rows)| p.checked_mul(rows as u64));
    let (pitch, bytes) = pitch.zip(bytes).ok_or(Status::MEMORY_ALLOCATION)?;
    let address = match bytes {
        0 => 0,
        _ => gpu()?.memory.allocate("cudaMallocPitch", bytes, Purpose::Device, 0)?,
    };
    Ok((address, pitch))
}

/// `cudaMallocPitch`.
///
/// # Safety
/// Both pointers may be written.
#[unsafe(export_name = "warplab_cudaMallocPitch")]
pub(crate) unsafe extern "C" fn malloc_pitch(
    pointer: *mut *mut c_void,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> Status {
    // SAFETY: as the caller promises.
    done(pitched(width, Some(height)).and_then(|(address, bytes)| unsafe {
        store(pitch, bytes as usize)?;
        store(pointer, address as *mut c_void)
    }))
}

/// `cudaMalloc3D`.
///
/// # Safety
/// `pointer` may be written.
#[unsafe(export_name = "warplab_cudaMalloc3D")]
pub(crate) unsafe extern "C" fn malloc_3d(pointer: *mut Pitched, extent: Extent) -> Status {
    let Extent { width, height, depth } = extent;
    let made = pitched(width, height.checked_mul(depth));
    // SAFETY: as the caller promises.
    done(made.and_then(|(address, pitch)| unsafe {
        store(pointer, Pitched { pointer: address as *mut c_void, pitch: pitch as usize, width, height })
    }))
}

fn texels(desc: &ResourceDesc) -> Outcome<Texels> {
    let small = |n: u64| u32::try_from(n).map_err(|_| Status::INVALID_VALUE);
    match desc.kind {
        ResourceDesc::ARRAY | ResourceDesc::MIPMAPPED => Ok(Texels::Array(desc.what)),
        ResourceDesc::LINEAR => {
            Ok(Texels::Linear { address: desc.what, bytes: desc.width, format: desc.format.format()? })
        }
        ResourceDesc::PITCHED => Ok(Texels::Pitched {
            address: desc.what,
            width: small(desc.width)?,
            height: small(desc.height)?,
            pitch: desc.pitch,
            format: desc.format.format()?,
        }),
        _ => Err(Status::INVALID_VALUE),
    }
}

fn sampler(desc: &TextureDesc) -> Outcome<Sampler> {
    let [x, y, z] = desc.address;
    let read_mode = match desc.read_mode {
        0 => ReadMode::Element,
        1 => ReadMode::NormalizedFloat,
        _ => return Err(Status::INVALID_VALUE),
    };
    Ok(Sampler {
        address: [address_mode(x)?, address_mode(y)?, address_mode(z)?],
        filter: filter(desc.filter)?,
        normalized_coords: desc.normalized_coords != 0,
        read_mode,
        srgb: desc.srgb != 0,
        border: desc.border,
        mip_filter: filter(desc.mip_filter)?,
        mip_bias: desc.mip_bias,
        mip_min: desc.mip_min,
        mip_max: desc.mip_max,
    })
}

/// `cudaCreateTextureObject`.
///
/// # Safety
/// `object` may be written; the descriptions are some, or null.
#[unsafe(export_name = "warplab_cudaCreateTextureObject")]
pub(crate) unsafe extern "C" fn create_texture_object(
    object: *mut u64,
    resource: *const ResourceDesc,
    texture: *const TextureDesc,
    view: *const ResourceViewDesc,
) -> Status {
    let create = || -> Outcome {
        // SAFETY: as the caller promises.
        let (resource, texture, seen) = unsafe { (given(resource), given(texture), given(view)) };
        if seen.is_none() && !view.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        if seen.is_some_and(|v| v.format != 0) {
            tell("views of texture resources in other formats are not supported");
            return Err(Status::NOT_SUPPORTED);
        }
        let texels = texels(resource.ok_or(Status::INVALID_VALUE)?)?;
        let texture = texture.ok_or(Status::INVALID_VALUE)?;
        let mut sampler = sampler(texture)?;
        // A texture without mipmaps does not look at the levels' limits, which programs leave at 0.
        if resource.is_some_and(|r| r.kind != ResourceDesc::MIPMAPPED) {
            (sampler.mip_min, sampler.mip_max, sampler.mip_bias) = (0.0, f32::MAX, 0.0);
        }
        let made = gpu()?.memory.create_texture(texels, sampler)?;
        // SAFETY: as the caller promises.
        unsafe { store(object, made) }
    };
    done(create())
}

/// `cudaDestroyTextureObject`.
#[unsafe(export_name = "warplab_cudaDestroyTextureObject")]
pub(crate) extern "C" fn destroy_texture_object(object: u64) -> Status {
    if object == 0 {
        return done(Ok(()));
    }
    done(gpu().and_then(|mut gpu| gpu.memory.destroy_object(object)))
}

/// `cudaCreateSurfaceObject`.
///
/// # Safety
/// `object` may be written; `resource` is a description, or null.
#[unsafe(export_name = "warplab_cudaCreateSurfaceObject")]
pub(crate) unsafe extern "C" fn create_surface_object(
    object: *mut u64,
    resource: *const ResourceDesc,
) -> Status {
    let create = || -> Outcome {
        // SAFETY: as the caller promises.
        let resource = unsafe { given(resource) }.ok_or(Status::INVALID_VALUE)?;
        if resource.kind != ResourceDesc::ARRAY {
            return Err(Status::INVALID_VALUE);
        }
        let made = gpu()?.memory.create_surface(resource.what)?;
        // SAFETY: as the caller promises.
        unsafe { store(object, made) }
    };
    done(create())
}

/// `cudaDestroySurfaceObject`.
#[unsafe(export_name = "warplab_cudaDestroySurfaceObject")]
pub(crate) extern "C" fn destroy_surface_object(object: u64) -> Status {
    destroy_texture_object(object)
}

fn resource_of(object: u64) -> Outcome<ResourceDesc> {
    let gpu = gpu()?;
    Ok(match gpu.memory.object(object)?.0 {
        Texels::Array(array) => {
            let mipmapped = gpu.memory.arrays.arrays.get(array)?.shape.levels > 1;
            ResourceDesc::new(if mipmapped { ResourceDesc::MIPMAPPED } else { ResourceDesc::ARRAY }, array)
        }
        Texels::Linear { address, bytes, format } => ResourceDesc {
            format: ChannelDesc::of(format),
            width: bytes,
            ..ResourceDesc::new(ResourceDesc::LINEAR, address)
        },
        Texels::Pitched { address, width, height, pitch, format } => ResourceDesc {
            format: ChannelDesc::of(format),
            width: width.into(),
            height: height.into(),
            pitch,
            ..ResourceDesc::new(ResourceDesc::PITCHED, address)
        },
    })
}

/// `cudaGetTextureObjectResourceDesc`.
///
/// # Safety
/// `desc` may be written.
#[unsafe(export_name = "warplab_cudaGetTextureObjectResourceDesc")]
pub(crate) unsafe extern "C" fn texture_object_resource_desc(desc: *mut ResourceDesc, object: u64) -> Status {
    // SAFETY: as the caller promises.
    done(resource_of(object).and_then(|found| unsafe { store(desc, found) }))
}

/// `cudaGetSurfaceObjectResourceDesc`.
///
/// # Safety
/// `desc` may be written.
#[unsafe(export_name = "warplab_cudaGetSurfaceObjectResourceDesc")]
pub(crate) unsafe extern "C" fn surface_object_resource_desc(desc: *mut ResourceDesc, object: u64) -> Status {
    // SAFETY: as the caller promises.
    unsafe { texture_object_resource_desc(desc, object) }
}

/// `cudaGetTextureObjectTextureDesc`.
///
/// # Safety
/// `desc` may be written.
#[unsafe(export_name = "warplab_cudaGetTextureObjectTextureDesc")]
pub(crate) unsafe extern "C" fn texture_object_texture_desc(desc: *mut TextureDesc, object: u64) -> Status {
    let get = || -> Outcome<TextureDesc> {
        let gpu = gpu()?;
        let Object::Texture(texture) = gpu.memory.object(object)?.1 else {
            return Err(Status::INVALID_VALUE);
        };
        let s = texture.sampler;
        let mode = |m| match m {
            AddressMode::Wrap => 0,
            AddressMode::Clamp => 1,
            AddressMode::Mirror => 2,
            AddressMode::Border => 3,
        };
        Ok(TextureDesc {
            address: s.address.map(mode),
            filter: u32::from(s.filter == Filter::Linear),
            read_mode: u32::from(s.read_mode == ReadMode::NormalizedFloat),
            srgb: s.srgb.into(),
            border: s.border,
            normalized_coords: s.normalized_coords.into(),
            mip_filter: u32::from(s.mip_filter == Filter::Linear),
            mip_bias: s.mip_bias,
            mip_min: s.mip_min,
            mip_max: if s.mip_max == f32::MAX { 0.0 } else { s.mip_max },
            ..TextureDesc::default()
        })
    };
    // SAFETY: as the caller promises.
    done(get().and_then(|found| unsafe { store(desc, found) }))
}
