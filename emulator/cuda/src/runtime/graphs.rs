//! Graphs: making, changing, instantiating and launching them.

use super::copies::{box_copy, check, params_of};
use super::execution::{Dim3, launch_of};
use super::layout::CopyParams;
use super::memory::inside;
use super::registration::{host_of, kernel_of};
use super::{done, store};
use crate::driver::node::{AllocateParams, ConditionalParams, add_conditional, child};
use crate::driver::{In, Out};
use crate::error::{Outcome, Status};
use crate::gpu::{gpu, tell};
use crate::graph::{Graph, NodeId};
use crate::graphs::{self, UpdateError};
use crate::work::{Copy, Fill, HostCall, HostFunction, Work};
use std::ffi::c_void;

/// `cudaKernelNodeParams`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelParams {
    function: *const c_void,
    grid: Dim3,
    block: Dim3,
    shared_bytes: u32,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
}

/// `cudaMemsetParams`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FillParams {
    address: u64,
    pitch: u64,
    value: u32,
    element: u32,
    width: u64,
    height: u64,
}

/// `cudaHostNodeParams`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HostParams {
    function: usize,
    user_data: *mut c_void,
}

/// `cudaGraphNodeParams`: the type, then what its type needs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NodeParams {
    kind: u32,
    reserved: [u32; 3],
    value: [u64; 29],
    reserved2: u64,
}

/// `cudaGraphExecUpdateResultInfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct UpdateResult {
    result: u32,
    node: u64,
    from_node: u64,
}

/// `cudaGraphInstantiateParams`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InstantiateParams {
    flags: u64,
    upload_stream: u64,
    node: u64,
    result: u32,
}

const _: () = assert!(size_of::<KernelParams>() == 56 && size_of::<FillParams>() == 40);
const _: () = assert!(size_of::<HostParams>() == 16);
const _: () = assert!(size_of::<NodeParams>() == 256 && size_of::<UpdateResult>() == 24);
const _: () = assert!(size_of::<InstantiateParams>() == 32);

/// The handles that a program passes with their number.
///
/// # Safety
/// There are as many as the number says.
pub(super) unsafe fn handles<'a>(nodes: *const u64, count: usize) -> Outcome<&'a [u64]> {
    match count {
        0 => Ok(&[]),
        _ if nodes.is_null() => Err(Status::INVALID_VALUE),
        // SAFETY: as the caller promises.
        _ => Ok(unsafe { std::slice::from_raw_parts(nodes, count) }),
    }
}

/// Writes handles, as many as there is room for; without room, their number. What is left of the room is zeroed.
///
/// # Safety
/// `to` is null or has room for `count` handles, `count` may be written.
pub(super) unsafe fn list(to: *mut u64, count: *mut usize, found: &[u64]) -> Outcome {
    // SAFETY: as the caller promises.
    let Some(room) = (unsafe { count.as_mut() }) else { return Err(Status::INVALID_VALUE) };
    if !to.is_null() {
        for i in 0..*room {
            // SAFETY: as the caller promises.
            unsafe { to.add(i).write(found.get(i).copied().unwrap_or(0)) };
        }
        if *room < found.len() {
            return Ok(());
        }
    }
    *room = found.len();
    Ok(())
}

/// `cudaGraphCreate`.
///
/// # Safety
/// `graph` may be written.
#[unsafe(export_name = "warplab_cudaGraphCreate")]
pub unsafe extern "C" fn create(graph: *mut u64, flags: u32) -> Status {
    if flags != 0 {
        return done(Err(Status::INVALID_VALUE));
    }
    let made = gpu().map(|mut gpu| gpu.graphs.insert(Graph::default()));
    // SAFETY: as the caller promises.
    done(made.and_then(|made| unsafe { store(graph, made) }))
}

/// `cudaGraphDestroy`.
#[unsafe(export_name = "warplab_cudaGraphDestroy")]
pub extern "C" fn destroy(graph: u64) -> Status {
    done(graphs::destroy(graph))
}

/// Adds a node and hands out its handle.
///
/// # Safety
/// `node` may be written, and there are `count` dependencies.
unsafe fn add(node: *mut u64, graph: u64, (needs, count): (*const u64, usize), work: Work) -> Outcome {
    // SAFETY: as the caller promises.
    unsafe {
        let needs = handles(needs, count)?;
        if node.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let made = gpu()?.add_node(graph, needs, work)?;
        store(node, made)
    }
}

unsafe fn kernel_work(params: *const KernelParams) -> Outcome<Work> {
    // SAFETY: the callers' callers promise that they are some.
    unsafe {
        let p = params.as_ref().ok_or(Status::INVALID_VALUE)?;
        if !p.extra.is_null() {
            tell("graph nodes with packed kernel arguments (`extra`) are not supported");
            return Err(Status::NOT_SUPPORTED);
        }
        let kernel = kernel_of(p.function)?;
        launch_of(kernel, (p.grid, p.block), p.params, p.shared_bytes as usize, false).map(Work::Launch)
    }
}

fn fill_work(params: Option<&FillParams>) -> Outcome<Work> {
    let &FillParams { address, pitch, value, element, width, height } =
        params.ok_or(Status::INVALID_VALUE)?;
    if !matches!(element, 1 | 2 | 4) {
        return Err(Status::INVALID_VALUE);
    }
    Ok(Work::Fill(Fill { address, pitch, value, element, width, height }))
}

fn host_work(params: Option<&HostParams>) -> Outcome<Work> {
    let &HostParams { function, user_data } = params.ok_or(Status::INVALID_VALUE)?;
    if function == 0 {
        return Err(Status::INVALID_VALUE);
    }
    Ok(Work::Host(HostCall { function: HostFunction::Plain(function), user_data }))
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

fn event_work(event: u64, make: fn(u64) -> Work) -> Outcome<Work> {
    gpu()?.streams.events.get(event)?;
    Ok(make(event))
}

/// An exported function that adds a node with some parameters.
macro_rules! adders {
    ($($export:literal $name:ident($($arg:ident: $type:ty),*) $work:expr;)*) => {$(
        #[doc = concat!("`", $export, "`, whose name begins after `warplab_`.")]
        ///
        /// # Safety
        /// `node` may be written, there are `count` dependencies, and the parameters are as CUDA wants them.
        #[unsafe(export_name = $export)]
        pub unsafe extern "C" fn $name(
            node: *mut u64, graph: u64, needs: *const u64, count: usize, $($arg: $type),*
        ) -> Status {
            #[allow(unused_unsafe, reason = "not all follow pointers")]
            // SAFETY: as the caller promises.
            done(unsafe { $work }.and_then(|work: Work| unsafe { add(node, graph, (needs, count), work) }))
        }
    )*};
}

adders! {
    "warplab_cudaGraphAddEmptyNode" add_empty() Ok(Work::Empty);
    "warplab_cudaGraphAddKernelNode" add_kernel(params: *const KernelParams) kernel_work(params);
    "warplab_cudaGraphAddMemsetNode" add_memset(params: *const FillParams) fill_work(params.as_ref());
    "warplab_cudaGraphAddHostNode" add_host(params: *const HostParams) host_work(params.as_ref());
    "warplab_cudaGraphAddMemcpyNode" add_memcpy(params: *const CopyParams) copy_work(params.as_ref());
    "warplab_cudaGraphAddMemcpyNode1D" add_memcpy_1d(to: u64, from: u64, bytes: usize, kind: u32)
        linear(to, from, bytes, kind);
    "warplab_cudaGraphAddMemcpyNodeToSymbol"
        add_memcpy_to_symbol(symbol: *const c_void, from: u64, bytes: usize, offset: usize, kind: u32)
        inside(symbol, offset, bytes).and_then(|to| linear(to, from, bytes, kind));
    "warplab_cudaGraphAddMemcpyNodeFromSymbol"
        add_memcpy_from_symbol(to: u64, symbol: *const c_void, bytes: usize, offset: usize, kind: u32)
        inside(symbol, offset, bytes).and_then(|from| linear(to, from, bytes, kind));
    "warplab_cudaGraphAddChildGraphNode" add_child(inner: u64) child(inner);
    "warplab_cudaGraphAddEventRecordNode" add_event_record(event: u64) event_work(event, Work::Record);
    "warplab_cudaGraphAddEventWaitNode" add_event_wait(event: u64) event_work(event, Work::Wait);
}

/// Types of nodes whose parameters tell something back when they are added.
const ALLOCATE: u32 = 10;
const CONDITIONAL: u32 = 13;

/// The work that `cudaGraphNodeParams` describe; those of a type are those of its own function, in what is used here.
///
/// # Safety
/// The value is that of its type.
unsafe fn any_work(params: &mut NodeParams) -> Outcome<Work> {
    let value: *mut c_void = params.value.as_mut_ptr().cast();
    // SAFETY: the value has room for the largest type and is aligned for all.
    unsafe {
        match params.kind {
            0 => kernel_work(value.cast()),
            // The flags and a context come before the copy.
            1 => copy_work(value.byte_add(16).cast::<CopyParams>().as_ref()),
            2 => fill_work(value.cast::<FillParams>().as_ref()),
            3 => host_work(value.cast::<HostParams>().as_ref()),
            4 => child(params.value[0]),
            5 => Ok(Work::Empty),
            6 => event_work(params.value[0], Work::Wait),
            7 => event_work(params.value[0], Work::Record),
            11 => Ok(Work::Free(params.value[0])),
            _ => Err(Status::NOT_SUPPORTED),
        }
    }
}

/// `cudaGraphAddNode`.
///
/// # Safety
/// `node` may be written, there are `count` dependencies, `params` are of the type that they say.
#[unsafe(export_name = "warplab_cudaGraphAddNode")]
pub unsafe extern "C" fn add_node(
    node: *mut u64,
    graph: u64,
    needs: *const u64,
    _edges: *const c_void,
    count: usize,
    params: *mut NodeParams,
) -> Status {
    // SAFETY: as the caller promises.
    let added = unsafe {
        params.as_mut().ok_or(Status::INVALID_VALUE).and_then(|params| {
            let value = params.value.as_mut_ptr();
            match params.kind {
                // The same in both APIs.
                CONDITIONAL => add_conditional(
                    Out(node),
                    (graph, In(needs), count),
                    Out(value.cast::<ConditionalParams>()),
                ),
                ALLOCATE => {
                    let params = value.cast::<AllocateParams>().as_mut().ok_or(Status::INVALID_VALUE)?;
                    add(node, graph, (needs, count), params.work()?)
                }
                _ => add(node, graph, (needs, count), any_work(params)?),
            }
        })
    };
    done(added)
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
        pub unsafe extern "C" fn $graph_name(node: u64, $($arg: $type),*) -> Status {
            #[allow(unused_unsafe, reason = "not all follow pointers")]
            // SAFETY: as the caller promises.
            done(unsafe { $work }.and_then(|work: Work| gpu()?.set_node(None, node, work)))
        }

        #[doc = concat!("`", $of_executable, "`, whose name begins after `warplab_`.")]
        ///
        /// # Safety
        /// The parameters are as CUDA wants them.
        #[unsafe(export_name = $of_executable)]
        pub unsafe extern "C" fn $executable_name(executable: u64, node: u64, $($arg: $type),*) -> Status {
            #[allow(unused_unsafe, reason = "not all follow pointers")]
            // SAFETY: as the caller promises.
            done(unsafe { $work }.and_then(|work: Work| gpu()?.set_node(Some(executable), node, work)))
        }
    )*};
}

setters! {
    "warplab_cudaGraphKernelNodeSetParams" set_kernel
        "warplab_cudaGraphExecKernelNodeSetParams" set_executable_kernel
        (params: *const KernelParams) kernel_work(params);
    "warplab_cudaGraphMemsetNodeSetParams" set_memset
        "warplab_cudaGraphExecMemsetNodeSetParams" set_executable_memset
        (params: *const FillParams) fill_work(params.as_ref());
    "warplab_cudaGraphHostNodeSetParams" set_host
        "warplab_cudaGraphExecHostNodeSetParams" set_executable_host
        (params: *const HostParams) host_work(params.as_ref());
    "warplab_cudaGraphMemcpyNodeSetParams" set_memcpy
        "warplab_cudaGraphExecMemcpyNodeSetParams" set_executable_memcpy
        (params: *const CopyParams) copy_work(params.as_ref());
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
        params.as_ref().ok_or(Status::INVALID_VALUE).and_then(|params| any_work(&mut { *params }));
}

/// `cudaGraphKernelNodeGetParams`.
///
/// # Safety
/// `params` may be written.
#[unsafe(export_name = "warplab_cudaGraphKernelNodeGetParams")]
pub unsafe extern "C" fn get_kernel(node: u64, params: *mut KernelParams) -> Status {
    let get = || -> Outcome<KernelParams> {
        let mut gpu = gpu()?;
        let pointers = gpu.show_params(node)?;
        let Work::Launch(launch) = gpu.node(node)?.work.clone() else { return Err(Status::INVALID_VALUE) };
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
pub unsafe extern "C" fn get_memcpy(node: u64, params: *mut CopyParams) -> Status {
    let get = || match gpu()?.node(node)?.work {
        Work::Copy(copy) => Ok(copy),
        _ => Err(Status::INVALID_VALUE),
    };
    // SAFETY: as the caller promises.
    done(get().and_then(|copy| params_of(&copy)).and_then(|found| unsafe { store(params, found) }))
}

/// `cudaGraphInstantiateWithFlags`.
///
/// # Safety
/// `executable` may be written.
#[unsafe(export_name = "warplab_cudaGraphInstantiateWithFlags")]
pub unsafe extern "C" fn instantiate_with_flags(executable: *mut u64, graph: u64, flags: u64) -> Status {
    let made = gpu().and_then(|mut gpu| gpu.instantiate(graph, flags));
    // SAFETY: as the caller promises.
    done(made.and_then(|made| unsafe { store(executable, made) }))
}

/// `cudaGraphInstantiate`.
///
/// # Safety
/// As [`instantiate_with_flags`].
#[unsafe(export_name = "warplab_cudaGraphInstantiate")]
pub unsafe extern "C" fn instantiate(executable: *mut u64, graph: u64, flags: u64) -> Status {
    // SAFETY: as the caller promises.
    unsafe { instantiate_with_flags(executable, graph, flags) }
}

/// `cudaGraphInstantiateWithParams`.
///
/// # Safety
/// `executable` and `params` may be written.
#[unsafe(export_name = "warplab_cudaGraphInstantiateWithParams")]
pub unsafe extern "C" fn instantiate_with_params(
    executable: *mut u64,
    graph: u64,
    params: *mut InstantiateParams,
) -> Status {
    // SAFETY: as the caller promises.
    let Some(params) = (unsafe { params.as_mut() }) else { return done(Err(Status::INVALID_VALUE)) };
    // SAFETY: as the caller promises.
    let status = unsafe { instantiate_with_flags(executable, graph, params.flags) };
    params.result = u32::from(status != Status::SUCCESS);
    params.node = 0;
    status
}

/// `cudaGraphExecDestroy`.
#[unsafe(export_name = "warplab_cudaGraphExecDestroy")]
pub extern "C" fn exec_destroy(executable: u64) -> Status {
    done(graphs::destroy_executable(executable))
}

/// `cudaGraphLaunch`.
#[unsafe(export_name = "warplab_cudaGraphLaunch")]
pub extern "C" fn launch(executable: u64, stream: u64) -> Status {
    done(graphs::launch(executable, stream))
}

/// `cudaGraphUpload`: there is nothing to prepare.
#[unsafe(export_name = "warplab_cudaGraphUpload")]
pub extern "C" fn upload(executable: u64, _stream: u64) -> Status {
    done(gpu().and_then(|gpu| gpu.executables.get(executable).map(drop)))
}

/// `cudaGraphExecUpdate`.
///
/// # Safety
/// `info` may be written.
#[unsafe(export_name = "warplab_cudaGraphExecUpdate")]
pub unsafe extern "C" fn exec_update(executable: u64, graph: u64, info: *mut UpdateResult) -> Status {
    let update = || -> Outcome {
        let mut gpu = gpu()?;
        let updated = gpu.update(executable, graph)?;
        let (result, node) = match updated {
            Ok(()) => (0, None),
            Err(UpdateError::Topology) => (2, None),
            Err(UpdateError::NodeType(node)) => (3, Some(node)),
            Err(UpdateError::Parameters(node)) => (5, Some(node)),
        };
        let node = node.map_or(0, |number| gpu.nodes.handle(graph, number));
        // SAFETY: as the caller promises.
        unsafe { store(info, UpdateResult { result, node, from_node: 0 })? };
        updated.map_err(|_| Status::GRAPH_EXEC_UPDATE_FAILURE)
    };
    done(update())
}

fn node_list(graph: u64, pick: impl Fn(&Graph) -> Vec<NodeId>) -> Outcome<Vec<u64>> {
    let mut gpu = gpu()?;
    let numbers = pick(gpu.graph(graph)?);
    Ok(numbers.into_iter().map(|number| gpu.nodes.handle(graph, number)).collect())
}

/// `cudaGraphGetNodes`.
///
/// # Safety
/// `nodes` is null or has room for `count` nodes; `count` may be written.
#[unsafe(export_name = "warplab_cudaGraphGetNodes")]
pub unsafe extern "C" fn get_nodes(graph: u64, nodes: *mut u64, count: *mut usize) -> Status {
    let found = node_list(graph, |g| g.nodes().map(|(id, _)| id).collect());
    // SAFETY: as the caller promises.
    done(found.and_then(|found| unsafe { list(nodes, count, &found) }))
}

/// `cudaGraphGetRootNodes`.
///
/// # Safety
/// As [`get_nodes`].
#[unsafe(export_name = "warplab_cudaGraphGetRootNodes")]
pub unsafe extern "C" fn get_root_nodes(graph: u64, nodes: *mut u64, count: *mut usize) -> Status {
    let found = node_list(graph, |g| g.roots().collect());
    // SAFETY: as the caller promises.
    done(found.and_then(|found| unsafe { list(nodes, count, &found) }))
}

/// `cudaGraphGetEdges`.
///
/// # Safety
/// Both lists are null or have room for `count` nodes; `count` may be written; there are no edge data.
#[unsafe(export_name = "warplab_cudaGraphGetEdges")]
pub unsafe extern "C" fn get_edges(
    graph: u64,
    from: *mut u64,
    to: *mut u64,
    edges: *mut u64,
    count: *mut usize,
) -> Status {
    let get = || -> Outcome {
        let sources = node_list(graph, |g| g.edges().map(|(a, _)| a).collect())?;
        let targets = node_list(graph, |g| g.edges().map(|(_, b)| b).collect())?;
        // SAFETY: as the caller promises; each of them gets the same room.
        unsafe {
            let mut room = count.as_ref().copied().ok_or(Status::INVALID_VALUE)?;
            let data = vec![0; sources.len()];
            if !edges.is_null() {
                list(edges, &raw mut room, &data)?;
                room = *count;
            }
            list(from, &raw mut room, &sources)?;
            list(to, count, &targets)
        }
    };
    done(get())
}

/// The nodes next to one.
unsafe fn neighbours(
    node: u64,
    to: *mut u64,
    count: *mut usize,
    pick: impl Fn(&Graph, NodeId) -> Vec<NodeId>,
) -> Outcome {
    let (graph, number) = gpu()?.nodes.get(node)?;
    let found = node_list(graph, |g| pick(g, number))?;
    // SAFETY: the callers' callers promise it.
    unsafe { list(to, count, &found) }
}

/// `cudaGraphNodeGetDependencies`.
///
/// # Safety
/// `nodes` is null or has room for `count` nodes; `count` may be written.
#[unsafe(export_name = "warplab_cudaGraphNodeGetDependencies")]
pub unsafe extern "C" fn node_get_dependencies(
    node: u64,
    nodes: *mut u64,
    _edges: *mut c_void,
    count: *mut usize,
) -> Status {
    let pick = |g: &Graph, id| g.edges().filter(|e| e.1 == id).map(|e| e.0).collect();
    // SAFETY: as the caller promises.
    done(unsafe { neighbours(node, nodes, count, pick) })
}

/// `cudaGraphNodeGetDependentNodes`.
///
/// # Safety
/// As [`node_get_dependencies`].
#[unsafe(export_name = "warplab_cudaGraphNodeGetDependentNodes")]
pub unsafe extern "C" fn node_get_dependent_nodes(
    node: u64,
    nodes: *mut u64,
    _edges: *mut c_void,
    count: *mut usize,
) -> Status {
    let pick = |g: &Graph, id| g.edges().filter(|e| e.0 == id).map(|e| e.1).collect();
    // SAFETY: as the caller promises.
    done(unsafe { neighbours(node, nodes, count, pick) })
}

unsafe fn pairs(
    graph: u64,
    (from, to, count): (*const u64, *const u64, usize),
    act: impl Fn(&mut Graph, NodeId, NodeId) -> Outcome,
) -> Outcome {
    // SAFETY: the callers' callers promise it.
    let (from, to) = unsafe { (handles(from, count)?, handles(to, count)?) };
    let mut gpu = gpu()?;
    for (&from, &to) in from.iter().zip(to) {
        let ((a, from), (b, to)) = (gpu.nodes.get(from)?, gpu.nodes.get(to)?);
        if a != graph || b != graph {
            return Err(Status::INVALID_VALUE);
        }
        act(gpu.graph_mut(graph)?, from, to)?;
    }
    Ok(())
}

/// `cudaGraphAddDependencies`.
///
/// # Safety
/// Both lists have `count` nodes.
#[unsafe(export_name = "warplab_cudaGraphAddDependencies")]
pub unsafe extern "C" fn add_dependencies(
    graph: u64,
    from: *const u64,
    to: *const u64,
    _edges: *const c_void,
    count: usize,
) -> Status {
    // SAFETY: as the caller promises.
    done(unsafe { pairs(graph, (from, to, count), Graph::connect) })
}

/// `cudaGraphRemoveDependencies`.
///
/// # Safety
/// Both lists have `count` nodes.
#[unsafe(export_name = "warplab_cudaGraphRemoveDependencies")]
pub unsafe extern "C" fn remove_dependencies(
    graph: u64,
    from: *const u64,
    to: *const u64,
    _edges: *const c_void,
    count: usize,
) -> Status {
    // SAFETY: as the caller promises.
    done(unsafe { pairs(graph, (from, to, count), Graph::disconnect) })
}

/// Sizes and offsets of the structures of this file, under their names in CUDA's headers.
#[must_use]
pub fn sizes() -> [(&'static str, usize); 12] {
    use std::mem::offset_of;
    [
        ("cudaKernelNodeParams", size_of::<KernelParams>()),
        ("cudaMemsetParams", size_of::<FillParams>()),
        ("cudaHostNodeParams", size_of::<HostParams>()),
        ("cudaMemAllocNodeParams", size_of::<AllocateParams>()),
        ("cudaGraphNodeParams", size_of::<NodeParams>()),
        ("cudaGraphExecUpdateResultInfo", size_of::<UpdateResult>()),
        ("cudaGraphInstantiateParams", size_of::<InstantiateParams>()),
        ("cudaKernelNodeParams.kernelParams", offset_of!(KernelParams, params)),
        ("cudaMemAllocNodeParams.bytesize", offset_of!(AllocateParams, bytes)),
        ("cudaMemAllocNodeParams.dptr", offset_of!(AllocateParams, address)),
        ("cudaGraphNodeParams.kernel", offset_of!(NodeParams, value)),
        ("cudaMemsetParams.width", offset_of!(FillParams, width)),
    ]
}
