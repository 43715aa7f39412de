//! Copies: of bytes, rectangles and boxes, between memory and arrays. The addresses tell host from device
//! memory, so most functions differ in name only.

use super::{In, Stream, functions};
use crate::error::{Outcome, Status};
use crate::memory::copy::{Copy, Endpoint};
use crate::running::perform::submit;
use crate::running::waiting::synchronize_with;
use crate::streams::beside::What;
use crate::streams::work::Work;

/// CUDA's memory types.
const HOST: u32 = 1;
const DEVICE: u32 = 2;
const ARRAY: u32 = 3;
const UNIFIED: u32 = 4;

/// One side of CUDA's `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side2 {
    x: usize,
    y: usize,
    kind: u32,
    host: u64,
    device: u64,
    array: u64,
    pitch: usize,
}

/// CUDA's `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy2 {
    from: Side2,
    to: Side2,
    width: usize,
    height: usize,
}

/// One side of CUDA's `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Side3 {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) z: usize,
    pub(super) lod: usize,
    pub(super) kind: u32,
    pub(super) host: u64,
    pub(super) device: u64,
    pub(super) array: u64,
    /// Nothing, or the context in copies between peers.
    pub(super) context: u64,
    pub(super) pitch: usize,
    pub(super) height: usize,
}

/// CUDA's `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Copy3 {
    pub(super) from: Side3,
    pub(super) to: Side3,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) depth: usize,
}

const _: () = assert!(size_of::<Copy2>() == 128 && size_of::<Copy3>() == 200);

impl From<Side2> for Side3 {
    fn from(s: Side2) -> Side3 {
        let Side2 { x, y, kind, host, device, array, pitch } = s;
        Side3 { x, y, kind, host, device, array, pitch, ..Side3::default() }
    }
}

impl From<Copy2> for Copy3 {
    fn from(c: Copy2) -> Copy3 {
        Copy3 { from: c.from.into(), to: c.to.into(), width: c.width, height: c.height, depth: 1 }
    }
}

impl Side3 {
    fn place(&self, [width, height, depth]: [u64; 3]) -> Outcome<Endpoint> {
        let [x, y, z] = [self.x as u64, self.y as u64, self.z as u64];
        let base = match self.kind {
            ARRAY => return Ok(Endpoint::Array { array: self.array, origin: [x, y, z] }),
            HOST => self.host,
            DEVICE | UNIFIED => self.device,
            _ => return Err(Status::INVALID_VALUE),
        };
        let pitch = if self.pitch == 0 { width } else { self.pitch as u64 };
        let rows = if self.height == 0 { height } else { self.height as u64 };
        let too_narrow = (height > 1 || depth > 1) && pitch < x.saturating_add(width);
        if too_narrow || (depth > 1 && rows < height) {
            return Err(Status::INVALID_VALUE);
        }
        let offset = (|| {
            let slice = z.checked_mul(pitch.checked_mul(rows)?)?;
            base.checked_add(x)?.checked_add(y.checked_mul(pitch)?)?.checked_add(slice)
        })();
        Ok(Endpoint::Linear { address: offset.ok_or(Status::INVALID_VALUE)?, pitch, height: rows })
    }

    /// The side that describes an endpoint.
    fn of(place: &Endpoint) -> Side3 {
        match *place {
            Endpoint::Linear { address, pitch, height } => Side3 {
                kind: UNIFIED,
                device: address,
                pitch: pitch as usize,
                height: height as usize,
                ..Side3::default()
            },
            Endpoint::Array { array, origin: [x, y, z] } => {
                let [x, y, z] = [x as usize, y as usize, z as usize];
                Side3 { kind: ARRAY, array, x, y, z, ..Side3::default() }
            }
        }
    }
}

impl Copy3 {
    pub(super) fn copy(&self) -> Outcome<Copy> {
        let extent = [self.width as u64, self.height as u64, self.depth as u64];
        Ok(Copy { to: self.to.place(extent)?, from: self.from.place(extent)?, extent })
    }

    pub(super) fn of(copy: &Copy) -> Copy3 {
        let [width, height, depth] = copy.extent.map(|n| n as usize);
        Copy3 { from: Side3::of(&copy.from), to: Side3::of(&copy.to), width, height, depth }
    }
}

/// Copies and waits.
fn now(copy: Copy) -> Outcome {
    submit(0, Work::Copy(copy))?;
    synchronize_with(What::Stream(0))
}

fn bytes(to: u64, from: u64, count: usize) -> Outcome {
    now(Copy::linear(to, from, count as u64))
}

fn bytes_async(to: u64, from: u64, count: usize, stream: Stream) -> Outcome {
    submit(stream.handle(), Work::Copy(Copy::linear(to, from, count as u64)))
}

/// Bytes of a one-dimensional array.
fn array(array: u64, offset: usize) -> Endpoint {
    Endpoint::Array { array, origin: [offset as u64, 0, 0] }
}

fn linear(address: u64, bytes: usize) -> Endpoint {
    Endpoint::Linear { address, pitch: bytes as u64, height: 1 }
}

fn row(to: Endpoint, from: Endpoint, bytes: usize) -> Copy {
    Copy { to, from, extent: [bytes as u64, 1, 1] }
}

fn box_async(copy: Copy3, stream: Stream) -> Outcome {
    submit(stream.handle(), Work::Copy(copy.copy()?))
}

functions! {
    "cuMemcpy" / "cuMemcpy_ptds" 4000 Context memcpy(to: u64, from: u64, count: usize) {
        bytes(to, from, count)
    }
    "cuMemcpyPeer" / "cuMemcpyPeer_ptds" 4000 Context memcpy_peer(
        to: u64, _to_context: u64, from: u64, _from_context: u64, count: usize,
    ) {
        bytes(to, from, count)
    }
    "cuMemcpyHtoD_v2" / "cuMemcpyHtoD_v2_ptds" 3020 Context memcpy_htod(to: u64, from: u64, count: usize) {
        bytes(to, from, count)
    }
    "cuMemcpyDtoH_v2" / "cuMemcpyDtoH_v2_ptds" 3020 Context memcpy_dtoh(to: u64, from: u64, count: usize) {
        bytes(to, from, count)
    }
    "cuMemcpyDtoD_v2" / "cuMemcpyDtoD_v2_ptds" 3020 Context memcpy_dtod(to: u64, from: u64, count: usize) {
        bytes(to, from, count)
    }
    "cuMemcpyDtoA_v2" / "cuMemcpyDtoA_v2_ptds" 3020 Context memcpy_dtoa(
        to: u64, offset: usize, from: u64, count: usize,
    ) {
        now(row(array(to, offset), linear(from, count), count))
    }
    "cuMemcpyAtoD_v2" / "cuMemcpyAtoD_v2_ptds" 3020 Context memcpy_atod(
        to: u64, from: u64, offset: usize, count: usize,
    ) {
        now(row(linear(to, count), array(from, offset), count))
    }
    "cuMemcpyHtoA_v2" / "cuMemcpyHtoA_v2_ptds" 3020 Context memcpy_htoa(
        to: u64, offset: usize, from: u64, count: usize,
    ) {
        now(row(array(to, offset), linear(from, count), count))
    }
    "cuMemcpyAtoH_v2" / "cuMemcpyAtoH_v2_ptds" 3020 Context memcpy_atoh(
        to: u64, from: u64, offset: usize, count: usize,
    ) {
        now(row(linear(to, count), array(from, offset), count))
    }
    "cuMemcpyAtoA_v2" / "cuMemcpyAtoA_v2_ptds" 3020 Context memcpy_atoa(
        to: u64, to_offset: usize, from: u64, from_offset: usize, count: usize,
    ) {
        now(row(array(to, to_offset), array(from, from_offset), count))
    }
    "cuMemcpy2D_v2" / "cuMemcpy2D_v2_ptds" 3020 Context memcpy_2d(copy: In<Copy2>) {
        now(Copy3::from(copy.get()?).copy()?)
    }
    "cuMemcpy2DUnaligned_v2" / "cuMemcpy2DUnaligned_v2_ptds" 3020 Context memcpy_2d_unaligned(copy: In<Copy2>) {
        now(Copy3::from(copy.get()?).copy()?)
    }
    "cuMemcpy3D_v2" / "cuMemcpy3D_v2_ptds" 3020 Context memcpy_3d(copy: In<Copy3>) {
        now(copy.get()?.copy()?)
    }
    "cuMemcpy3DPeer" / "cuMemcpy3DPeer_ptds" 4000 Context memcpy_3d_peer(copy: In<Copy3>) {
        now(copy.get()?.copy()?)
    }
    "cuMemcpyAsync" / "cuMemcpyAsync_ptsz" 4000 Context memcpy_async(
        to: u64, from: u64, count: usize, stream: Stream,
    ) {
        bytes_async(to, from, count, stream)
    }
    "cuMemcpyPeerAsync" / "cuMemcpyPeerAsync_ptsz" 4000 Context memcpy_peer_async(
        to: u64, _to_context: u64, from: u64, _from_context: u64, count: usize, stream: Stream,
    ) {
        bytes_async(to, from, count, stream)
    }
    "cuMemcpyHtoDAsync_v2" / "cuMemcpyHtoDAsync_v2_ptsz" 3020 Context memcpy_htod_async(
        to: u64, from: u64, count: usize, stream: Stream,
    ) {
        bytes_async(to, from, count, stream)
    }
    "cuMemcpyDtoHAsync_v2" / "cuMemcpyDtoHAsync_v2_ptsz" 3020 Context memcpy_dtoh_async(
        to: u64, from: u64, count: usize, stream: Stream,
    ) {
        bytes_async(to, from, count, stream)
    }
    "cuMemcpyDtoDAsync_v2" / "cuMemcpyDtoDAsync_v2_ptsz" 3020 Context memcpy_dtod_async(
        to: u64, from: u64, count: usize, stream: Stream,
    ) {
        bytes_async(to, from, count, stream)
    }
    "cuMemcpyHtoAAsync_v2" / "cuMemcpyHtoAAsync_v2_ptsz" 3020 Context memcpy_htoa_async(
        to: u64, offset: usize, from: u64, count: usize, stream: Stream,
    ) {
        submit(stream.handle(), Work::Copy(row(array(to, offset), linear(from, count), count)))
    }
    "cuMemcpyAtoHAsync_v2" / "cuMemcpyAtoHAsync_v2_ptsz" 3020 Context memcpy_atoh_async(
        to: u64, from: u64, offset: usize, count: usize, stream: Stream,
    ) {
        submit(stream.handle(), Work::Copy(row(linear(to, count), array(from, offset), count)))
    }
    "cuMemcpy2DAsync_v2" / "cuMemcpy2DAsync_v2_ptsz" 3020 Context memcpy_2d_async(
        copy: In<Copy2>, stream: Stream,
    ) {
        box_async(copy.get()?.into(), stream)
    }
    "cuMemcpy3DAsync_v2" / "cuMemcpy3DAsync_v2_ptsz" 3020 Context memcpy_3d_async(
        copy: In<Copy3>, stream: Stream,
    ) {
        box_async(copy.get()?, stream)
    }
    "cuMemcpy3DPeerAsync" / "cuMemcpy3DPeerAsync_ptsz" 4000 Context memcpy_3d_peer_async(
        copy: In<Copy3>, stream: Stream,
    ) {
        box_async(copy.get()?, stream)
    }
}
