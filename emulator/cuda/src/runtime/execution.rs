//! Launches.

use super::registration::kernel_of;
use super::{done, store};
use crate::error::{Outcome, Status};
use crate::gpu::{gpu, submit};
use crate::launch;
use crate::work::{Launch, Work};
use std::cell::RefCell;
use std::ffi::c_void;

/// CUDA's `dim3`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Dim3 {
    /// Width.
    pub x: u32,
    /// Height.
    pub y: u32,
    /// Depth.
    pub z: u32,
}

impl From<Dim3> for [u32; 3] {
    fn from(d: Dim3) -> [u32; 3] {
        [d.x, d.y, d.z]
    }
}

thread_local! {
    /// Configurations between `<<<` and the launch.
    static PUSHED: RefCell<Vec<(Dim3, Dim3, usize, u64)>> = const { RefCell::new(Vec::new()) };
}

/// `__cudaPushCallConfiguration`.
#[unsafe(export_name = "warplab___cudaPushCallConfiguration")]
pub extern "C" fn push_call_configuration(grid: Dim3, block: Dim3, shared: usize, stream: u64) -> u32 {
    PUSHED.with_borrow_mut(|pushed| pushed.push((grid, block, shared, stream)));
    0
}

/// `__cudaPopCallConfiguration`.
///
/// # Safety
/// All pointers may be written.
#[unsafe(export_name = "warplab___cudaPopCallConfiguration")]
pub unsafe extern "C" fn pop_call_configuration(
    grid: *mut Dim3,
    block: *mut Dim3,
    shared: *mut usize,
    stream: *mut u64,
) -> Status {
    let pop = || -> Outcome {
        let popped = PUSHED.with_borrow_mut(Vec::pop).ok_or(Status::MISSING_CONFIGURATION)?;
        // SAFETY: as the caller promises.
        unsafe {
            store(grid, popped.0)?;
            store(block, popped.1)?;
            store(shared, popped.2)?;
            store(stream, popped.3)
        }
    };
    done(pop())
}

/// Gathers the parameters that an array of pointers points to.
///
/// # Safety
/// `args` has a pointer to every parameter.
unsafe fn gather(kernel: u64, args: *mut *mut c_void) -> Outcome<Vec<u8>> {
    let gpu = gpu()?;
    let kernel = &gpu.kernels.get(kernel)?.lowered.kernel;
    let mut params = vec![0; kernel.param_bytes as usize];
    for (i, param) in kernel.params.iter().enumerate() {
        // SAFETY: as the caller promises.
        let bytes = unsafe { std::slice::from_raw_parts((*args.add(i)).cast::<u8>(), param.size as usize) };
        params[param.offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    Ok(params)
}

/// A checked launch.
///
/// # Safety
/// `args` has a pointer to every parameter.
pub(super) unsafe fn launch_of(
    kernel: u64,
    (grid, block): (Dim3, Dim3),
    args: *mut *mut c_void,
    shared: usize,
    cooperative: bool,
) -> Outcome<Launch> {
    // SAFETY: as the caller promises.
    let params = unsafe { gather(kernel, args) }?;
    let shared_bytes = u32::try_from(shared).map_err(|_| Status::INVALID_VALUE)?;
    let launch = Launch { kernel, grid: grid.into(), block: block.into(), shared_bytes, params, cooperative };
    let gpu = gpu()?;
    launch::check(&gpu, gpu.kernels.get(kernel)?, &launch)?;
    drop(gpu);
    Ok(launch)
}

unsafe fn launch_kernel(
    kernel: u64,
    shape: (Dim3, Dim3),
    args: *mut *mut c_void,
    shared: usize,
    stream: u64,
    cooperative: bool,
) -> Outcome {
    // SAFETY: as the caller promises.
    let launch = unsafe { launch_of(kernel, shape, args, shared, cooperative) }?;
    submit(stream, Work::Launch(launch))
}

/// `__cudaLaunchKernel`.
///
/// # Safety
/// `args` has a pointer to every parameter of the kernel.
#[unsafe(export_name = "warplab___cudaLaunchKernel")]
pub unsafe extern "C" fn launch_handle(
    kernel: u64,
    grid: Dim3,
    block: Dim3,
    args: *mut *mut c_void,
    shared: usize,
    stream: u64,
) -> Status {
    // SAFETY: as the caller promises.
    done(unsafe { launch_kernel(kernel, (grid, block), args, shared, stream, false) })
}

/// `cudaLaunchKernel`.
///
/// # Safety
/// `args` has a pointer to every parameter of the kernel.
#[unsafe(export_name = "warplab_cudaLaunchKernel")]
pub unsafe extern "C" fn launch_host_function(
    function: *const c_void,
    grid: Dim3,
    block: Dim3,
    args: *mut *mut c_void,
    shared: usize,
    stream: u64,
) -> Status {
    // SAFETY: as the caller promises.
    let launched = kernel_of(function)
        .and_then(|kernel| unsafe { launch_kernel(kernel, (grid, block), args, shared, stream, false) });
    done(launched)
}

/// CUDA's `cudaLaunchAttribute`: its number and 64 bytes of value.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LaunchAttribute {
    id: u32,
    padding: u32,
    value: [u32; 16],
}

/// CUDA's `cudaLaunchConfig_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig {
    grid: Dim3,
    block: Dim3,
    dynamic_shared_bytes: usize,
    stream: u64,
    attributes: *const LaunchAttribute,
    attribute_count: u32,
}

const _: () = assert!(size_of::<LaunchConfig>() == 56 && size_of::<LaunchAttribute>() == 72);

const ATTRIBUTE_COOPERATIVE: u32 = 2;
const ATTRIBUTE_CLUSTER: u32 = 4;

/// `cudaLaunchKernelExC`.
///
/// # Safety
/// `config` is one, `args` has a pointer to every parameter of the kernel.
#[unsafe(export_name = "warplab_cudaLaunchKernelExC")]
pub unsafe extern "C" fn launch_kernel_ex(
    config: *const LaunchConfig,
    function: *const c_void,
    args: *mut *mut c_void,
) -> Status {
    // SAFETY: as the caller promises.
    let Some(config) = (unsafe { config.as_ref() }) else { return done(Err(Status::INVALID_VALUE)) };
    let attributes = match config.attribute_count {
        0 => &[][..],
        // SAFETY: as the caller promises.
        n => unsafe { std::slice::from_raw_parts(config.attributes, n as usize) },
    };
    let is_set =
        |id, test: &dyn Fn(&[u32; 16]) -> bool| attributes.iter().any(|a| a.id == id && test(&a.value));
    if is_set(ATTRIBUTE_CLUSTER, &|v| v[..3].iter().product::<u32>() > 1) {
        return done(Err(Status::NOT_SUPPORTED));
    }
    let cooperative = is_set(ATTRIBUTE_COOPERATIVE, &|v| v[0] != 0);
    let shape = (config.grid, config.block);
    // SAFETY: as the caller promises.
    let launched = kernel_of(function).and_then(|kernel| unsafe {
        launch_kernel(kernel, shape, args, config.dynamic_shared_bytes, config.stream, cooperative)
    });
    done(launched)
}

/// `cudaLaunchCooperativeKernel`.
///
/// # Safety
/// `args` has a pointer to every parameter of the kernel.
#[unsafe(export_name = "warplab_cudaLaunchCooperativeKernel")]
pub unsafe extern "C" fn launch_cooperative_kernel(
    function: *const c_void,
    grid: Dim3,
    block: Dim3,
    args: *mut *mut c_void,
    shared: usize,
    stream: u64,
) -> Status {
    // SAFETY: as the caller promises.
    let launched = kernel_of(function)
        .and_then(|kernel| unsafe { launch_kernel(kernel, (grid, block), args, shared, stream, true) });
    done(launched)
}
