//! Graphs: making, changing, instantiating and launching them.

use super::copies::{box_copy, check, params_of};
use super::execution::{Dim3, launch_of};
use super::layout::CopyParams;
use super::memory::inside;
use super::registration::{host_of, kernel_of};
use super::{done, given, store};
use crate::driver::graph::{HostParams, MemsetParams, add};
use crate::driver::node::{AllocateParams, NodeParams, add_any};
use crate::driver::{In, Out};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::memory::copy::Copy;
use crate::streams::work::{LaunchAttributes, Work};
use crate::tell::tell;
use std::ffi::c_void;

/// `cudaKernelNodeParams`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelParams {
    function: *const c_void,
    grid: Dim3,
    block: Dim3,
    shared_bytes: u32,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
}

const _: () = assert!(size_of::<KernelParams>() == 56);

unsafe fn kernel_work(params: *const KernelParams) -> Outcome<Work> {
    // SAFETY: the callers' callers promise that they are some.
    unsafe {
        let p = given(params).ok_or(Status::INVALID_VALUE)?;
        if !p.extra.is_null() {
            tell("graph nodes with packed kernel arguments (`extra`) are not supported");
            return Err(Status::NOT_SUPPORTED);
        }
        let kernel = kernel_of(p.function)?;
        let carveout = gpu()?.preferred_carveout(kernel);
        let attributes = LaunchAttributes { carveout, ..LaunchAttributes::default() };
        launch_of(kernel, (p.grid, p.block), p.params, p.shared_bytes as usize, attributes).map(Work::Launch)
    }
}

fn fill_work(params: Option<&MemsetParams>) -> Outcome<Work> {
    params.ok_or(Status::INVALID_VALUE)?.work()
}

fn copy_work(params: Option<&CopyParams>) -> Outcome<Work> {
    let params = params.ok_or(Status::INVALID_VALUE)?;
    checked(box_copy(params)?, params.kind)
}

fn checked(copy: Copy, kind: u32) -> Outcome<Work> {
    check(&copy, kind)?;
    Ok(Work::Copy(copy))
}

fn linear(to: u64, from: u64, bytes: usize, kind: u32) -> Outcome<Work> {
    checked(Copy::linear(to, from, bytes as u64), kind)
}

/// An exported function that adds a node with some parameters.
macro_rules! adders {
    ($($export:literal $name:ident($($arg:ident: $type:ty),*) $work:expr;)*) => {$(
        #[doc = concat!("`", $export, "`, whose name begins after `warplab_`.")]
        ///
        /// # Safety
        /// `node` may be written, there are `count` dependencies, and the parameters are as CUDA wants them.
        #[unsafe(export_name = $export)]
        pub(crate) unsafe extern "C" fn $name(
            node: *mut u64, graph: u64, needs: *const u64, count: usize, $($arg: $type),*
        ) -> Status {
            #[allow(unused_unsafe, reason = "not all follow pointers")]
            // SAFETY: as the caller promises.
            done(unsafe { $work }.and_then(|work: Work| add(Out(node), graph, In(needs), count, work)))
        }
    )*};
}

adders! {
    "warplab_cudaGraphAddKernelNode" add_kernel(params: *const KernelParams) kernel_work(params);
    "warplab_cudaGraphAddMemsetNode" add_memset(params: *const MemsetParams) fill_work(given(params));
    "warplab_cudaGraphAddMemcpyNode" add_memcpy(params: *const CopyParams) copy_work(given(params));
    "warplab_cudaGraphAddMemcpyNode1D" add_memcpy_1d(to: u64, from: u64, bytes: usize, kind: u32)
        linear(to, from, bytes, kind);
    "warplab_cudaGraphAddMemcpyNodeToSymbol"
        add_memcpy_to_symbol(symbol: *const c_void, from: u64, bytes: usize, offset: usize, kind: u32)
        inside(symbol, offset, bytes).and_then(|to| linear(to, from, bytes, kind));
    "warplab_cudaGraphAddMemcpyNodeFromSymbol"
        add_memcpy_from_symbol(to: u64, symbol: *const c_void, bytes: usize, offset: usize, kind: u32)
        inside(symbol, offset, bytes).and_then(|from| linear(to, from, bytes, kind));
}

/// The work that `cudaGraphNodeParams` describe; in the fields used here, each type has the layout of its own
/// function's parameters.
fn any_work(params: &mut NodeParams) -> Outcome<Work> {
    let value = params.value.as_ptr();
    // SAFETY: the value has room for the largest type and is aligned for all; the program promises its type.
    unsafe {
        match params.kind {
            0 => kernel_work(value.cast()),
            // The flags and a context come before the copy.
            1 => copy_work(given(value.add(2).cast::<CopyParams>())),
            _ => params.shared_work(),
        }
    }
}

/// `cudaGraphAddNode`.
#[unsafe(export_name = "warplab_cudaGraphAddNode")]
pub(crate) extern "C" fn add_node(
    node: Out<u64>,
    graph: u64,
    needs: In<u64>,
    _edges: *const c_void,
    count: usize,
    params: Out<NodeParams>,
) -> Status {
    done(add_any(node, graph, (needs, count), params, any_work))
}

/// Exported functions that change a node of a graph, or of an instantiated one.
macro_rules! setters {
    ($($of_graph:literal $graph_name:ident $of_executable:literal $executable_name:ident
        ($($arg:ident: $type:ty),*) $work:expr;)*) => {$(
        #[doc = concat!("`", $of_graph, "`, whose name begins after `warplab_`.")]
        ///
        /// # Safety
        /// The parameters are as CUDA wants them.
        #[unsafe(export_name = $of_graph)]
        pub(crate) unsafe extern "C" fn $graph_name(node: u64, $($arg: $type),*) -> Status {
            #[allow(unused_unsafe, reason = "not all follow pointers")]
            // SAFETY: as the caller promises.
            done(unsafe { $work }.and_then(|work: Work| gpu()?.streams.set_node(None, node, work)))
        }

        #[doc = concat!("`", $of_executable, "`, whose name begins after `warplab_`.")]
        ///
        /// # Safety
        /// The parameters are as CUDA wants them.
        #[unsafe(export_name = $of_executable)]
        pub(crate) unsafe extern "C" fn $executable_name(executable: u64, node: u64, $($arg: $type),*) -> Status {
            #[allow(unused_unsafe, reason = "not all follow pointers")]
            // SAFETY: as the caller promises.
            done(unsafe { $work }.and_then(|work: Work| gpu()?.streams.set_node(Some(executable), node, work)))
        }
    )*};
}

setters! {
    "warplab_cudaGraphKernelNodeSetParams" set_kernel
        "warplab_cudaGraphExecKernelNodeSetParams" set_executable_kernel
        (params: *const KernelParams) kernel_work(params);
    "warplab_cudaGraphMemsetNodeSetParams" set_memset
        "warplab_cudaGraphExecMemsetNodeSetParams" set_executable_memset
        (params: *const MemsetParams) fill_work(given(params));
    "warplab_cudaGraphMemcpyNodeSetParams" set_memcpy
        "warplab_cudaGraphExecMemcpyNodeSetParams" set_executable_memcpy
        (params: *const CopyParams) copy_work(given(params));
    "warplab_cudaGraphMemcpyNodeSetParams1D" set_memcpy_1d
        "warplab_cudaGraphExecMemcpyNodeSetParams1D" set_executable_memcpy_1d
        (to: u64, from: u64, bytes: usize, kind: u32) linear(to, from, bytes, kind);
    "warplab_cudaGraphMemcpyNodeSetParamsToSymbol" set_memcpy_to_symbol
        "warplab_cudaGraphExecMemcpyNodeSetParamsToSymbol" set_executable_memcpy_to_symbol
        (symbol: *const c_void, from: u64, bytes: usize, offset: usize, kind: u32)
        inside(symbol, offset, bytes).and_then(|to| linear(to, from, bytes, kind));
    "warplab_cudaGraphMemcpyNodeSetParamsFromSymbol" set_memcpy_from_symbol
        "warplab_cudaGraphExecMemcpyNodeSetParamsFromSymbol" set_executable_memcpy_from_symbol
        (to: u64, symbol: *const c_void, bytes: usize, offset: usize, kind: u32)
        inside(symbol, offset, bytes).and_then(|from| linear(to, from, bytes, kind));
    "warplab_cudaGraphNodeSetParams" set_node
        "warplab_cudaGraphExecNodeSetParams" set_executable_node
        (params: *const NodeParams)
        given(params).ok_or(Status::INVALID_VALUE).and_then(|params| any_work(&mut { *params }));
}

/// `cudaGraphKernelNodeGetParams`.
///
/// # Safety
/// `params` may be written.
#[unsafe(export_name = "warplab_cudaGraphKernelNodeGetParams")]
pub(crate) unsafe extern "C" fn get_kernel(node: u64, params: *mut KernelParams) -> Status {
    let get = || -> Outcome<KernelParams> {
        let mut gpu = gpu()?;
        let pointers = gpu.show_params(node)?;
        let Work::Launch(launch) = gpu.streams.node(node)?.work.clone() else {
            return Err(Status::INVALID_VALUE);
        };
        drop(gpu);
        let [grid, block] = [launch.grid, launch.block].map(|[x, y, z]| Dim3 { x, y, z });
        Ok(KernelParams {
            function: host_of(launch.kernel),
            grid,
            block,
            shared_bytes: launch.shared_bytes,
            params: pointers as *mut *mut c_void,
            extra: std::ptr::null_mut(),
        })
    };
    // SAFETY: as the caller promises.
    done(get().and_then(|found| unsafe { store(params, found) }))
}

/// `cudaGraphMemcpyNodeGetParams`.
///
/// # Safety
/// `params` may be written.
#[unsafe(export_name = "warplab_cudaGraphMemcpyNodeGetParams")]
pub(crate) unsafe extern "C" fn get_memcpy(node: u64, params: *mut CopyParams) -> Status {
    let get = || match gpu()?.streams.node(node)?.work {
        Work::Copy(copy) => Ok(copy),
        _ => Err(Status::INVALID_VALUE),
    };
    // SAFETY: as the caller promises.
    done(get().and_then(|copy| params_of(&copy)).and_then(|found| unsafe { store(params, found) }))
}

/// Sizes and offsets of the structures of this file, under their names in CUDA's headers.
#[must_use]
pub(crate) fn sizes() -> [(&'static str, usize); 12] {
    use std::mem::offset_of;
    [
        ("cudaKernelNodeParams", size_of::<KernelParams>()),
        ("cudaMemsetParams", size_of::<MemsetParams>()),
        ("cudaHostNodeParams", size_of::<HostParams>()),
        ("cudaMemAllocNodeParams", size_of::<AllocateParams>()),
        ("cudaGraphNodeParams", size_of::<NodeParams>()),
        // The driver API's functions take them as words.
        ("cudaGraphExecUpdateResultInfo", size_of::<[u64; 3]>()),
        ("cudaGraphInstantiateParams", size_of::<[u64; 4]>()),
        ("cudaKernelNodeParams.kernelParams", offset_of!(KernelParams, params)),
        ("cudaMemAllocNodeParams.bytesize", offset_of!(AllocateParams, bytes)),
        ("cudaMemAllocNodeParams.dptr", offset_of!(AllocateParams, address)),
        ("cudaGraphNodeParams.kernel", offset_of!(NodeParams, value)),
        ("cudaMemsetParams.width", offset_of!(MemsetParams, width)),
    ]
}
