//! Launches.

use super::registration::{kernel_of, refusal};
use super::{done, given, store};
use crate::driver::In;
use crate::driver::launch::{LaunchAttribute, launch_attributes, parameters};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::modules::occupancy;
use crate::running::launch::noted;
use crate::running::perform::submit;
use crate::streams::work::{Launch, LaunchAttributes, Work};
use std::cell::RefCell;
use std::ffi::c_void;
use std::mem::ManuallyDrop;

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

/// A configuration: grid, block, dynamic shared memory, stream.
type Configuration = (Dim3, Dim3, usize, u64);

thread_local! {
    /// Configurations between `<<<` and the launch. They are never dropped: destructors of the program may launch kernels.
    static PUSHED: ManuallyDrop<RefCell<Vec<Configuration>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// `__cudaPushCallConfiguration`.
#[unsafe(export_name = "warplab___cudaPushCallConfiguration")]
pub(crate) extern "C" fn push_call_configuration(grid: Dim3, block: Dim3, shared: usize, stream: u64) -> u32 {
    PUSHED.with(|pushed| pushed.borrow_mut().push((grid, block, shared, stream)));
    0
}

/// `__cudaPopCallConfiguration`.
///
/// # Safety
/// All pointers may be written.
#[unsafe(export_name = "warplab___cudaPopCallConfiguration")]
pub(crate) unsafe extern "C" fn pop_call_configuration(
    grid: *mut Dim3,
    block: *mut Dim3,
    shared: *mut usize,
    stream: *mut u64,
) -> Status {
    let pop = || -> Outcome {
        let popped = PUSHED.with(|pushed| pushed.borrow_mut().pop()).ok_or(Status::MISSING_CONFIGURATION)?;
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

/// A checked launch.
///
/// # Safety
/// `args` has a pointer to every parameter.
pub(super) unsafe fn launch_of(
    kernel: u64,
    (grid, block): (Dim3, Dim3),
    args: *mut *mut c_void,
    shared: usize,
    attributes: LaunchAttributes,
) -> Outcome<Launch> {
    let params = parameters(kernel, In(args.cast()), In::none())?;
    let shared_bytes = u32::try_from(shared).map_err(|_| Status::INVALID_VALUE)?;
    let launch = Launch { kernel, grid: grid.into(), block: block.into(), shared_bytes, params, attributes };
    let gpu = gpu()?;
    occupancy::check(gpu.device, gpu.modules.kernels.get(kernel)?, &launch)?;
    drop(gpu);
    Ok(launch)
}

unsafe fn launch_kernel(
    kernel: u64,
    shape: (Dim3, Dim3),
    args: *mut *mut c_void,
    shared: usize,
    stream: u64,
    attributes: LaunchAttributes,
) -> Outcome {
    // SAFETY: as the caller promises.
    let launch = unsafe { launch_of(kernel, shape, args, shared, attributes) }?;
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
    let launched =
        unsafe { launch_kernel(kernel, (grid, block), args, shared, stream, LaunchAttributes::default()) };
    done(noted(launched.map_err(|status| match status {
        Status::INVALID_RESOURCE_HANDLE => refusal(kernel).unwrap_or(status),
        other => other,
    })))
}

/// `cudaLaunchKernel`.
///
/// # Safety
/// `args` has a pointer to every parameter of the kernel.
#[unsafe(export_name = "warplab_cudaLaunchKernel")]
pub(crate) unsafe extern "C" fn launch_host_function(
    function: *const c_void,
    grid: Dim3,
    block: Dim3,
    args: *mut *mut c_void,
    shared: usize,
    stream: u64,
) -> Status {
    // SAFETY: as the caller promises.
    let launched = kernel_of(function).and_then(|kernel| unsafe {
        launch_kernel(kernel, (grid, block), args, shared, stream, LaunchAttributes::default())
    });
    done(noted(launched))
}

/// CUDA's `cudaLaunchConfig_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchConfig {
    grid: Dim3,
    block: Dim3,
    dynamic_shared_bytes: usize,
    stream: u64,
    attributes: In<LaunchAttribute>,
    attribute_count: u32,
}

const _: () = assert!(size_of::<LaunchConfig>() == 56);

/// `cudaLaunchKernelExC`.
///
/// # Safety
/// `config` is one, `args` has a pointer to every parameter of the kernel.
#[unsafe(export_name = "warplab_cudaLaunchKernelExC")]
pub(crate) unsafe extern "C" fn launch_kernel_ex(
    config: *const LaunchConfig,
    function: *const c_void,
    args: *mut *mut c_void,
) -> Status {
    let launch = || -> Outcome {
        // SAFETY: as the caller promises.
        let config = unsafe { given(config) }.ok_or(Status::INVALID_VALUE)?;
        let attributes = launch_attributes(config.attributes, config.attribute_count)?;
        let (shape, shared) = ((config.grid, config.block), config.dynamic_shared_bytes);
        let kernel = kernel_of(function)?;
        // SAFETY: as the caller promises.
        unsafe { launch_kernel(kernel, shape, args, shared, config.stream, attributes) }
    };
    done(noted(launch()))
}

/// `cudaLaunchCooperativeKernel`.
///
/// # Safety
/// `args` has a pointer to every parameter of the kernel.
#[unsafe(export_name = "warplab_cudaLaunchCooperativeKernel")]
pub(crate) unsafe extern "C" fn launch_cooperative_kernel(
    function: *const c_void,
    grid: Dim3,
    block: Dim3,
    args: *mut *mut c_void,
    shared: usize,
    stream: u64,
) -> Status {
    let attributes = LaunchAttributes { cooperative: true, ..LaunchAttributes::default() };
    // SAFETY: as the caller promises.
    let launched = kernel_of(function)
        .and_then(|kernel| unsafe { launch_kernel(kernel, (grid, block), args, shared, stream, attributes) });
    done(noted(launched))
}
