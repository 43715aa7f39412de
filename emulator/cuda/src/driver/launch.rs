//! Launches of kernels and of host functions.

use super::{In, Stream, functions};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::modules::occupancy;
use crate::running::launch::noted;
use crate::running::perform::submit;
use crate::streams::work::{HostCall, HostFunction, Launch, LaunchAttributes, Work};
use std::ffi::c_void;

/// Tags in `extra`: the end; the next entry is the parameters' buffer; the next entry points to its size.
const EXTRA_END: usize = 0;
const EXTRA_BUFFER: usize = 1;
const EXTRA_BYTES: usize = 2;

/// Attributes of launches by number.
pub(super) const ATTRIBUTE_COOPERATIVE: u32 = 2;
const ATTRIBUTE_CLUSTER: u32 = 4;
pub(super) const ATTRIBUTE_CARVEOUT: u32 = 14;
/// The carve-out of a program without a preference, -1.
pub(super) const CARVEOUT_DEFAULT: u32 = u32::MAX;

/// Bytes at the beginning of the address space that the system keeps unmapped.
const NULL_BYTES: usize = 64 << 10;

/// CUDA's `CUlaunchConfig`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchConfig {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    stream: Stream,
    attributes: In<LaunchAttribute>,
    attribute_count: u32,
}

/// CUDA's `CUlaunchAttribute` and `cudaLaunchAttribute`: its number and 64 bytes of value.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchAttribute {
    id: u32,
    padding: u32,
    value: [u32; 16],
}

const _: () = assert!(size_of::<LaunchConfig>() == 56 && size_of::<LaunchAttribute>() == 72);

/// The attributes of a launch; clusters are refused, others are hints that change nothing here.
pub(crate) fn launch_attributes(list: In<LaunchAttribute>, count: u32) -> Outcome<LaunchAttributes> {
    let mut attributes = LaunchAttributes::default();
    for LaunchAttribute { id, value, .. } in list.list(count as usize)? {
        match id {
            ATTRIBUTE_CLUSTER if value[..3].iter().any(|&n| n > 1) => return Err(Status::NOT_SUPPORTED),
            ATTRIBUTE_COOPERATIVE => attributes.cooperative = value[0] != 0,
            ATTRIBUTE_CARVEOUT => attributes.carveout = carveout(value[0])?,
            _ => {}
        }
    }
    Ok(attributes)
}

/// A preferred carve-out in percent, as programs pass it.
pub(super) fn carveout(value: u32) -> Outcome<Option<u8>> {
    match u8::try_from(value) {
        Ok(percent) if percent <= 100 => Ok(Some(percent)),
        _ if value == CARVEOUT_DEFAULT => Ok(None),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// The bytes of a kernel's parameters, from pointers to each or from a buffer with all.
pub(crate) fn parameters(function: u64, args: In<In<u8>>, extra: In<usize>) -> Outcome<Vec<u8>> {
    if extra.given() {
        let (mut buffer, mut bytes) = (In(std::ptr::null()), 0);
        let mut at = extra;
        loop {
            let [mark, value] =
                [at.get()?, if at.get()? == EXTRA_END { 0 } else { In(at.0.wrapping_add(1)).get()? }];
            match mark {
                EXTRA_END => break,
                EXTRA_BUFFER => buffer = In(value as *const u8),
                EXTRA_BYTES => bytes = In(value as *const usize).get()?,
                _ => return Err(Status::INVALID_VALUE),
            }
            at = In(at.0.wrapping_add(2));
        }
        let expected = gpu()?.modules.kernels.get(function)?.lowered.kernel.param_bytes as usize;
        let mut params = buffer.list(bytes.min(expected))?;
        params.resize(expected, 0);
        return Ok(params);
    }
    let gpu = gpu()?;
    let kernel = &gpu.modules.kernels.get(function)?.lowered.kernel;
    let mut params = vec![0; kernel.param_bytes as usize];
    for (param, pointer) in kernel.params.iter().zip(args.list(kernel.params.len())?) {
        // Nothing is ever mapped there. Other addresses are not checked, because launches pass many.
        if (pointer.0 as usize) < NULL_BYTES {
            return Err(Status::INVALID_VALUE);
        }
        let room = &mut params[param.offset as usize..][..param.size as usize];
        // SAFETY: the program promises that every pointer is that of a parameter.
        unsafe { std::ptr::copy_nonoverlapping(pointer.0, room.as_mut_ptr(), room.len()) };
    }
    Ok(params)
}

/// Submits the launch of a call.
fn enqueue_call(stream: Stream, what: Outcome<Launch>) -> Outcome {
    noted(what.and_then(|launch| enqueue(stream, launch)))
}

pub(super) fn enqueue(stream: Stream, what: Launch) -> Outcome {
    {
        let gpu = gpu()?;
        occupancy::check(gpu.device, gpu.modules.kernels.get(what.kernel)?, &what)?;
    }
    submit(stream.handle(), Work::Launch(what))
}

fn host(stream: Stream, function: usize, user_data: *mut c_void) -> Outcome {
    if function == 0 {
        return Err(Status::INVALID_VALUE);
    }
    submit(stream.handle(), Work::Host(HostCall { function: HostFunction::Plain(function), user_data }))
}

functions! {
    "cuLaunchKernel" / "cuLaunchKernel_ptsz" 4000 Context launch_kernel(
        function: u64, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared_bytes: u32,
        stream: Stream, args: In<In<u8>>, extra: In<usize>,
    ) {
        let (grid, block) = ([gx, gy, gz], [bx, by, bz]);
        let attributes = LaunchAttributes::default();
        let launch = |params| Launch { kernel: function, grid, block, shared_bytes, params, attributes };
        enqueue_call(stream, parameters(function, args, extra).map(launch))
    }

    "cuLaunchCooperativeKernel" / "cuLaunchCooperativeKernel_ptsz" 9000 Context launch_cooperative_kernel(
        function: u64, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared_bytes: u32,
        stream: Stream, args: In<In<u8>>,
    ) {
        let (grid, block) = ([gx, gy, gz], [bx, by, bz]);
        let attributes = LaunchAttributes { cooperative: true, ..LaunchAttributes::default() };
        let launch = |params| Launch { kernel: function, grid, block, shared_bytes, params, attributes };
        enqueue_call(stream, parameters(function, args, In(std::ptr::null())).map(launch))
    }

    "cuLaunchKernelEx" / "cuLaunchKernelEx_ptsz" 11060 Context launch_kernel_ex(
        config: In<LaunchConfig>, function: u64, args: In<In<u8>>, extra: In<usize>,
    ) {
        let LaunchConfig { grid, block, shared_bytes, stream, attributes, attribute_count } = config.get()?;
        let attributes = noted(launch_attributes(attributes, attribute_count))?;
        let launch = |params| Launch { kernel: function, grid, block, shared_bytes, params, attributes };
        enqueue_call(stream, parameters(function, args, extra).map(launch))
    }

    "cuLaunchHostFunc" / "cuLaunchHostFunc_ptsz" 10000 Context launch_host_func(
        stream: Stream, function: usize, user_data: *mut c_void,
    ) {
        host(stream, function, user_data)
    }

    "cuLaunchHostFunc_v2" / "cuLaunchHostFunc_v2_ptsz" 13010 Context launch_host_func_v2(
        stream: Stream, function: usize, user_data: *mut c_void, _wait: u32,
    ) {
        host(stream, function, user_data)
    }
}
