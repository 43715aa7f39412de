//! Copies and fills of rectangles and boxes, between memory and arrays.

use super::layout::{CopyParams, DEFAULT, Extent, PeerCopyParams, Pitched, Position};
use super::{done, given};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::memory::copy::{Copy, Endpoint, Fill};
use crate::running::perform::submit;
use crate::running::waiting::synchronize_with;
use crate::streams::beside::What;
use crate::streams::work::Work;
use std::ffi::c_void;

/// Whether a function waits for its work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum When {
    /// It waits; the work is in the legacy stream.
    Now,
    /// It returns at once; the work is in a stream.
    Later(u64),
}

/// Checks a copy and submits it.
pub(super) fn copy(copy: Copy, kind: u32, when: When) -> Outcome {
    check(&copy, kind)?;
    match when {
        When::Now => {
            submit(0, Work::Copy(copy))?;
            synchronize_with(What::Stream(0))
        }
        When::Later(stream) => submit(stream, Work::Copy(copy)),
    }
}

/// Checks direction, pitches and whether boxes lie in their arrays.
pub(super) fn check(copy: &Copy, kind: u32) -> Outcome {
    if kind > DEFAULT {
        return Err(Status::INVALID_MEMCPY_DIRECTION);
    }
    if copy.extent.contains(&0) {
        return Ok(());
    }
    let gpu = gpu()?;
    for (place, on_device) in [(&copy.to, kind == 1 || kind == 3), (&copy.from, kind == 2 || kind == 3)] {
        match *place {
            Endpoint::Array { .. } => gpu.memory.check_box(place, copy.extent)?,
            Endpoint::Linear { address, pitch, .. } => {
                if copy.extent[1] > 1 && pitch < copy.extent[0] {
                    return Err(Status::INVALID_PITCH_VALUE);
                }
                if kind != DEFAULT && !gpu.memory.may_be(address, on_device) {
                    return Err(Status::INVALID_VALUE);
                }
            }
        }
    }
    Ok(())
}

/// Memory with this distance between rows.
fn rows(address: *const c_void, pitch: usize, height: usize) -> Endpoint {
    Endpoint::Linear { address: address as u64, pitch: pitch as u64, height: height as u64 }
}

fn in_array(array: u64, x: usize, y: usize) -> Endpoint {
    Endpoint::Array { array, origin: [x as u64, y as u64, 0] }
}

fn rectangle(to: Endpoint, from: Endpoint, width: usize, height: usize) -> Copy {
    Copy { to, from, extent: [width as u64, height as u64, 1] }
}

/// `cudaMemcpy2D`.
///
/// # Safety
/// What lies outside of device memory is the program's and large enough.
#[unsafe(export_name = "warplab_cudaMemcpy2D")]
pub(crate) unsafe extern "C" fn memcpy_2d(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: u32,
) -> Status {
    let work = rectangle(rows(to, to_pitch, height), rows(from, from_pitch, height), width, height);
    done(copy(work, kind, When::Now))
}

/// `cudaMemcpy2DAsync`.
///
/// # Safety
/// As [`memcpy_2d`].
#[unsafe(export_name = "warplab_cudaMemcpy2DAsync")]
pub(crate) unsafe extern "C" fn memcpy_2d_async(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: u32,
    stream: u64,
) -> Status {
    let work = rectangle(rows(to, to_pitch, height), rows(from, from_pitch, height), width, height);
    done(copy(work, kind, When::Later(stream)))
}

/// `cudaMemcpy2DToArray`.
///
/// # Safety
/// As [`memcpy_2d`].
#[unsafe(export_name = "warplab_cudaMemcpy2DToArray")]
pub(crate) unsafe extern "C" fn memcpy_2d_to_array(
    to: u64,
    x: usize,
    y: usize,
    from: *const c_void,
    pitch: usize,
    width: usize,
    height: usize,
    kind: u32,
) -> Status {
    let work = rectangle(in_array(to, x, y), rows(from, pitch, height), width, height);
    done(copy(work, kind, When::Now))
}

/// `cudaMemcpy2DToArrayAsync`.
///
/// # Safety
/// As [`memcpy_2d`].
#[unsafe(export_name = "warplab_cudaMemcpy2DToArrayAsync")]
#[allow(clippy::too_many_arguments, reason = "CUDA's")]
pub(crate) unsafe extern "C" fn memcpy_2d_to_array_async(
    to: u64,
    x: usize,
    y: usize,
    from: *const c_void,
    pitch: usize,
    width: usize,
    height: usize,
    kind: u32,
    stream: u64,
) -> Status {
    let work = rectangle(in_array(to, x, y), rows(from, pitch, height), width, height);
    done(copy(work, kind, When::Later(stream)))
}

/// `cudaMemcpy2DFromArray`.
///
/// # Safety
/// As [`memcpy_2d`].
#[unsafe(export_name = "warplab_cudaMemcpy2DFromArray")]
pub(crate) unsafe extern "C" fn memcpy_2d_from_array(
    to: *mut c_void,
    pitch: usize,
    from: u64,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    kind: u32,
) -> Status {
    let work = rectangle(rows(to, pitch, height), in_array(from, x, y), width, height);
    done(copy(work, kind, When::Now))
}

/// `cudaMemcpy2DFromArrayAsync`.
///
/// # Safety
/// As [`memcpy_2d`].
#[unsafe(export_name = "warplab_cudaMemcpy2DFromArrayAsync")]
#[allow(clippy::too_many_arguments, reason = "CUDA's")]
pub(crate) unsafe extern "C" fn memcpy_2d_from_array_async(
    to: *mut c_void,
    pitch: usize,
    from: u64,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    kind: u32,
    stream: u64,
) -> Status {
    let work = rectangle(rows(to, pitch, height), in_array(from, x, y), width, height);
    done(copy(work, kind, When::Later(stream)))
}

/// `cudaMemcpy2DArrayToArray`.
#[unsafe(export_name = "warplab_cudaMemcpy2DArrayToArray")]
#[allow(clippy::too_many_arguments, reason = "CUDA's")]
pub(crate) extern "C" fn memcpy_2d_array_to_array(
    to: u64,
    to_x: usize,
    to_y: usize,
    from: u64,
    from_x: usize,
    from_y: usize,
    width: usize,
    height: usize,
    kind: u32,
) -> Status {
    let work = rectangle(in_array(to, to_x, to_y), in_array(from, from_x, from_y), width, height);
    done(copy(work, kind, When::Now))
}

/// A copy between consecutive bytes and an array, row after row from a position in it.
fn wrapped(
    array: u64,
    (x, y): (usize, usize),
    linear: u64,
    bytes: usize,
    to_array: bool,
    (kind, when): (u32, When),
) -> Outcome {
    let row = gpu()?.memory.arrays.arrays.get(array)?.row_bytes() as usize;
    let (mut x, mut y, mut at) = (x, y, 0);
    if bytes > 0 && x >= row {
        return Err(Status::INVALID_VALUE);
    }
    while at < bytes {
        let width = (row - x).min(bytes - at);
        // Whole rows go together.
        let height = if x == 0 { ((bytes - at) / row).max(1) } else { 1 };
        let inside = in_array(array, x, y);
        let outside = rows((linear + at as u64) as *const c_void, width, height);
        let (to, from) = if to_array { (inside, outside) } else { (outside, inside) };
        copy(rectangle(to, from, width, height), kind, when)?;
        (x, y, at) = (0, y + height, at + width * height);
    }
    Ok(())
}

/// `cudaMemcpyToArray`.
///
/// # Safety
/// As [`memcpy_2d`].
#[unsafe(export_name = "warplab_cudaMemcpyToArray")]
pub(crate) unsafe extern "C" fn memcpy_to_array(
    to: u64,
    x: usize,
    y: usize,
    from: *const c_void,
    bytes: usize,
    kind: u32,
) -> Status {
    done(wrapped(to, (x, y), from as u64, bytes, true, (kind, When::Now)))
}

/// `cudaMemcpyToArrayAsync`.
///
/// # Safety
/// As [`memcpy_2d`].
#[unsafe(export_name = "warplab_cudaMemcpyToArrayAsync")]
pub(crate) unsafe extern "C" fn memcpy_to_array_async(
    to: u64,
    x: usize,
    y: usize,
    from: *const c_void,
    bytes: usize,
    kind: u32,
    stream: u64,
) -> Status {
    done(wrapped(to, (x, y), from as u64, bytes, true, (kind, When::Later(stream))))
}

/// `cudaMemcpyFromArray`.
///
/// # Safety
/// As [`memcpy_2d`].
#[unsafe(export_name = "warplab_cudaMemcpyFromArray")]
pub(crate) unsafe extern "C" fn memcpy_from_array(
    to: *mut c_void,
    from: u64,
    x: usize,
    y: usize,
    bytes: usize,
    kind: u32,
) -> Status {
    done(wrapped(from, (x, y), to as u64, bytes, false, (kind, When::Now)))
}

/// `cudaMemcpyFromArrayAsync`.
///
/// # Safety
/// As [`memcpy_2d`].
#[unsafe(export_name = "warplab_cudaMemcpyFromArrayAsync")]
pub(crate) unsafe extern "C" fn memcpy_from_array_async(
    to: *mut c_void,
    from: u64,
    x: usize,
    y: usize,
    bytes: usize,
    kind: u32,
    stream: u64,
) -> Status {
    done(wrapped(from, (x, y), to as u64, bytes, false, (kind, When::Later(stream))))
}

/// The copy that `cudaMemcpy3DParms` describe.
///
/// # Errors
/// `INVALID_VALUE` when a side is both array and memory, or neither, or sizes overflow.
pub(super) fn box_copy(params: &CopyParams) -> Outcome<Copy> {
    let texel = |array: u64| -> Outcome<u64> {
        match array {
            0 => Ok(1),
            array => Ok(gpu()?.memory.arrays.arrays.get(array)?.resource.format.texel_bytes()),
        }
    };
    let (to_texel, from_texel) = (texel(params.to_array)?, texel(params.from_array)?);
    // Two arrays must have texels of equal size.
    if params.to_array != 0 && params.from_array != 0 && to_texel != from_texel {
        return Err(Status::INVALID_VALUE);
    }
    let Extent { width, height, depth } = params.extent;
    let width = (width as u64).checked_mul(to_texel.max(from_texel)).ok_or(Status::INVALID_VALUE)?;
    Ok(Copy {
        to: side(params.to_array, to_texel, params.to_position, &params.to)?,
        from: side(params.from_array, from_texel, params.from_position, &params.from)?,
        extent: [width, height as u64, depth as u64],
    })
}

/// The parameters of a copy.
pub(super) fn params_of(copy: &Copy) -> Outcome<CopyParams> {
    let gpu = gpu()?;
    let nothing = Pitched { pointer: std::ptr::null_mut(), pitch: 0, width: 0, height: 0 };
    let mut texel = 1;
    let mut side = |place: &Endpoint| match *place {
        Endpoint::Linear { address, pitch, height } => {
            let (pitch, height) = (pitch as usize, height as usize);
            Ok((
                0,
                Position::default(),
                Pitched { pointer: address as *mut c_void, pitch, width: pitch, height },
            ))
        }
        Endpoint::Array { array, origin: [x, y, z] } => {
            texel = gpu.memory.arrays.arrays.get(array)?.resource.format.texel_bytes();
            let position = Position { x: (x / texel) as usize, y: y as usize, z: z as usize };
            Ok((array, position, nothing))
        }
    };
    let (to_array, to_position, to) = side(&copy.to)?;
    let (from_array, from_position, from) = side(&copy.from)?;
    let [width, height, depth] = copy.extent.map(|n| n as usize);
    let extent = Extent { width: width / texel as usize, height, depth };
    Ok(CopyParams { from_array, from_position, from, to_array, to_position, to, extent, kind: DEFAULT })
}

fn side(array: u64, texel: u64, at: Position, memory: &Pitched) -> Outcome<Endpoint> {
    let [x, y, z] = [at.x, at.y, at.z].map(|n| n as u64);
    match (array, memory.pointer as u64) {
        (0, 0) => Err(Status::INVALID_VALUE),
        (0, start) => {
            let (pitch, height) = (memory.pitch as u64, memory.height as u64);
            let offset = pitch.checked_mul(height).and_then(|slice| slice.checked_mul(z));
            let offset = offset.and_then(|o| o.checked_add(pitch.checked_mul(y)?)?.checked_add(x));
            let address = offset.and_then(|o| start.checked_add(o)).ok_or(Status::INVALID_VALUE)?;
            Ok(Endpoint::Linear { address, pitch, height })
        }
        (array, 0) => {
            let x = x.checked_mul(texel).ok_or(Status::INVALID_VALUE)?;
            Ok(Endpoint::Array { array, origin: [x, y, z] })
        }
        _ => Err(Status::INVALID_VALUE),
    }
}

fn copy_box(params: Option<&CopyParams>, when: When) -> Outcome {
    let params = params.ok_or(Status::INVALID_VALUE)?;
    copy(box_copy(params)?, params.kind, when)
}

/// `cudaMemcpy3D`.
///
/// # Safety
/// `params` are some; what they name is the program's and large enough.
#[unsafe(export_name = "warplab_cudaMemcpy3D")]
pub(crate) unsafe extern "C" fn memcpy_3d(params: *const CopyParams) -> Status {
    // SAFETY: as the caller promises.
    done(copy_box(unsafe { given(params) }, When::Now))
}

/// `cudaMemcpy3DAsync`.
///
/// # Safety
/// As [`memcpy_3d`].
#[unsafe(export_name = "warplab_cudaMemcpy3DAsync")]
pub(crate) unsafe extern "C" fn memcpy_3d_async(params: *const CopyParams, stream: u64) -> Status {
    // SAFETY: as the caller promises.
    done(copy_box(unsafe { given(params) }, When::Later(stream)))
}

fn copy_peer_box(params: Option<&PeerCopyParams>, when: When) -> Outcome {
    let params = params.ok_or(Status::INVALID_VALUE)?.here()?;
    copy_box(Some(&params), when)
}

/// `cudaMemcpy3DPeer`.
///
/// # Safety
/// As [`memcpy_3d`].
#[unsafe(export_name = "warplab_cudaMemcpy3DPeer")]
pub(crate) unsafe extern "C" fn memcpy_3d_peer(params: *const PeerCopyParams) -> Status {
    // SAFETY: as the caller promises.
    done(copy_peer_box(unsafe { given(params) }, When::Now))
}

/// `cudaMemcpy3DPeerAsync`.
///
/// # Safety
/// As [`memcpy_3d`].
#[unsafe(export_name = "warplab_cudaMemcpy3DPeerAsync")]
pub(crate) unsafe extern "C" fn memcpy_3d_peer_async(params: *const PeerCopyParams, stream: u64) -> Status {
    // SAFETY: as the caller promises.
    done(copy_peer_box(unsafe { given(params) }, When::Later(stream)))
}

fn peers(to: i32, from: i32) -> Outcome {
    if to == 0 && from == 0 { Ok(()) } else { Err(Status::INVALID_DEVICE) }
}

/// `cudaMemcpyPeer`.
///
/// # Safety
/// Both are device memory, or the program's.
#[unsafe(export_name = "warplab_cudaMemcpyPeer")]
pub(crate) unsafe extern "C" fn memcpy_peer(
    to: *mut c_void,
    to_device: i32,
    from: *const c_void,
    from_device: i32,
    bytes: usize,
) -> Status {
    let work = Copy::linear(to as u64, from as u64, bytes as u64);
    done(peers(to_device, from_device).and_then(|()| copy(work, DEFAULT, When::Now)))
}

/// `cudaMemcpyPeerAsync`.
///
/// # Safety
/// As [`memcpy_peer`].
#[unsafe(export_name = "warplab_cudaMemcpyPeerAsync")]
pub(crate) unsafe extern "C" fn memcpy_peer_async(
    to: *mut c_void,
    to_device: i32,
    from: *const c_void,
    from_device: i32,
    bytes: usize,
    stream: u64,
) -> Status {
    let work = Copy::linear(to as u64, from as u64, bytes as u64);
    done(peers(to_device, from_device).and_then(|()| copy(work, DEFAULT, When::Later(stream))))
}

/// A fill of bytes, in every slice of a box.
fn fill(
    start: *mut c_void,
    pitch: usize,
    value: i32,
    extent: [usize; 3],
    slice: u64,
    stream: u64,
) -> Outcome {
    let [width, height, depth] = extent.map(|n| n as u64);
    if width == 0 || height == 0 {
        return Ok(());
    }
    if height > 1 && (pitch as u64) < width {
        return Err(Status::INVALID_PITCH_VALUE);
    }
    for z in 0..depth {
        let address = z.checked_mul(slice).and_then(|o| o.checked_add(start as u64));
        let address = address.ok_or(Status::INVALID_VALUE)?;
        let (pitch, value) = (pitch as u64, value as u32);
        submit(stream, Work::Fill(Fill { address, pitch, value, element: 1, width, height }))?;
    }
    Ok(())
}

/// `cudaMemset2D`.
#[unsafe(export_name = "warplab_cudaMemset2D")]
pub(crate) extern "C" fn memset_2d(
    start: *mut c_void,
    pitch: usize,
    value: i32,
    width: usize,
    height: usize,
) -> Status {
    done(fill(start, pitch, value, [width, height, 1], 0, 0))
}

/// `cudaMemset2DAsync`.
#[unsafe(export_name = "warplab_cudaMemset2DAsync")]
pub(crate) extern "C" fn memset_2d_async(
    start: *mut c_void,
    pitch: usize,
    value: i32,
    width: usize,
    height: usize,
    stream: u64,
) -> Status {
    done(fill(start, pitch, value, [width, height, 1], 0, stream))
}

/// `cudaMemset3D`.
#[unsafe(export_name = "warplab_cudaMemset3D")]
pub(crate) extern "C" fn memset_3d(place: Pitched, value: i32, extent: Extent) -> Status {
    memset_3d_async(place, value, extent, 0)
}

/// `cudaMemset3DAsync`.
#[unsafe(export_name = "warplab_cudaMemset3DAsync")]
pub(crate) extern "C" fn memset_3d_async(place: Pitched, value: i32, extent: Extent, stream: u64) -> Status {
    let slice = (place.pitch as u64).saturating_mul(place.height as u64);
    done(fill(place.pointer, place.pitch, value, extent.into(), slice, stream))
}
