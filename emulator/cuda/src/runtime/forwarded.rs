//! Functions of the runtime API that equal functions of the driver API: the same arguments, structures and
//! codes.

use super::done;
use crate::driver::{
    In, Out, Stream, Text, capture, context, graph, ipc, launch, memory, module, node, pool, stream,
};
use crate::error::Status;
use crate::gpu::any_gpu;
use crate::memory::location::Location;
use std::ffi::c_void;

/// Calls a driver function as the runtime does: with the primary context current, if there is no other.
pub(super) fn forwarded(call: impl FnOnce() -> Status) -> Status {
    if let Err(status) = any_gpu() {
        return done(Err(status));
    }
    crate::current::adopt();
    match call() {
        Status::SUCCESS => done(Ok(())),
        status => done(Err(status)),
    }
}

macro_rules! same {
    ($($export:literal $name:ident($($arg:ident: $type:ty),* $(,)?) $driver:path;)*) => {$(
        #[doc = concat!("`", $export, "`, whose name begins after `warplab_`.")]
        #[unsafe(export_name = $export)]
        pub(crate) extern "C" fn $name($($arg: $type),*) -> Status {
            forwarded(|| $driver($($arg),*))
        }
    )*};
}

same! {
    "warplab_cudaDeviceSetLimit" set_limit(limit: u32, value: usize) context::set_limit;
    "warplab_cudaDeviceGetLimit" get_limit(value: Out<usize>, limit: u32) context::get_limit;
    "warplab_cudaDeviceSetCacheConfig" set_cache_config(preference: u32) context::set_cache_config;
    "warplab_cudaDeviceGetCacheConfig" get_cache_config(preference: Out<u32>) context::get_cache_config;
    "warplab_cudaDeviceSetSharedMemConfig" set_shared_mem_config(config: u32) context::set_shared_mem_config;
    "warplab_cudaDeviceGetSharedMemConfig" get_shared_mem_config(config: Out<u32>)
        context::get_shared_mem_config;
    "warplab_cudaDeviceGetStreamPriorityRange" get_stream_priority_range(least: Out<i32>, greatest: Out<i32>)
        context::get_stream_priority_range;

 "warplab_cudaIpcGetMemHandle" ipc_get_mem_handle(handle: Out<ipc::IpcHandle>, address: u64) ipc::ipc_get_mem_handle;
    "warplab_cudaIpcOpenMemHandle" ipc_open_mem_handle(address: Out<u64>, handle: ipc::IpcHandle, flags: u32)
        ipc::ipc_open_mem_handle;
    "warplab_cudaIpcCloseMemHandle" ipc_close_mem_handle(address: u64) ipc::ipc_close_mem_handle;
    "warplab_cudaIpcGetEventHandle" ipc_get_event_handle(handle: Out<ipc::IpcHandle>, event: u64)
        ipc::ipc_get_event_handle;
    "warplab_cudaIpcOpenEventHandle" ipc_open_event_handle(event: Out<u64>, handle: ipc::IpcHandle)
        ipc::ipc_open_event_handle;

    "warplab_cudaDeviceGetDefaultMemPool" device_get_default_mem_pool(pool: Out<u64>, device: i32)
        pool::device_get_default_mem_pool;
    "warplab_cudaDeviceGetMemPool" device_get_mem_pool(pool: Out<u64>, device: i32) pool::device_get_mem_pool;
    "warplab_cudaDeviceSetMemPool" device_set_mem_pool(device: i32, pool: u64) pool::device_set_mem_pool;
    "warplab_cudaMemGetDefaultMemPool"
        mem_get_default_mem_pool(pool: Out<u64>, location: In<Location>, kind: u32)
        pool::mem_get_default_mem_pool;
    "warplab_cudaMemGetMemPool" mem_get_mem_pool(pool: Out<u64>, location: In<Location>, kind: u32)
        pool::mem_get_mem_pool;
    "warplab_cudaMemSetMemPool" mem_set_mem_pool(location: In<Location>, kind: u32, pool: u64)
        pool::mem_set_mem_pool;
    "warplab_cudaMemPoolCreate" mem_pool_create(pool: Out<u64>, properties: In<pool::PoolProperties>)
        pool::mem_pool_create;
    "warplab_cudaMemPoolDestroy" mem_pool_destroy(pool: u64) pool::mem_pool_destroy;
    "warplab_cudaMemPoolTrimTo" mem_pool_trim_to(pool: u64, bytes: usize) pool::mem_pool_trim_to;
    "warplab_cudaMemPoolSetAttribute" mem_pool_set_attribute(pool: u64, number: u32, value: In<u8>)
        pool::mem_pool_set_attribute;
    "warplab_cudaMemPoolGetAttribute" mem_pool_get_attribute(pool: u64, number: u32, value: Out<u8>)
        pool::mem_pool_get_attribute;
    "warplab_cudaMemPoolSetAccess" mem_pool_set_access(pool: u64, access: In<pool::Access>, count: usize)
        pool::mem_pool_set_access;
    "warplab_cudaMemPoolGetAccess"
        mem_pool_get_access(flags: Out<u32>, pool: u64, location: In<Location>) pool::mem_pool_get_access;
    "warplab_cudaMallocAsync" malloc_async(pointer: Out<u64>, bytes: usize, stream: Stream)
        pool::mem_alloc_async;
    "warplab_cudaMallocFromPoolAsync"
        malloc_from_pool_async(pointer: Out<u64>, bytes: usize, pool: u64, stream: Stream)
        pool::mem_alloc_from_pool_async;

    "warplab_cudaLibraryLoadData"
        library_load_data(
            library: Out<u64>, image: *const u8, options: In<u32>, values: In<usize>, count: u32,
            library_options: In<u32>, library_values: In<usize>, library_count: u32,
        )
        module::library_load_data;
    "warplab_cudaLibraryLoadFromFile"
        library_load_from_file(
            library: Out<u64>, path: Text, options: In<u32>, values: In<usize>, count: u32,
            library_options: In<u32>, library_values: In<usize>, library_count: u32,
        )
        module::library_load_from_file;
    "warplab_cudaLibraryUnload" library_unload(library: u64) module::library_unload;
    "warplab_cudaLibraryGetKernel" library_get_kernel(kernel: Out<u64>, library: u64, name: Text)
        module::library_get_kernel;
    "warplab_cudaLibraryGetKernelCount" library_get_kernel_count(count: Out<u32>, library: u64)
        module::library_get_kernel_count;
    "warplab_cudaLibraryEnumerateKernels" library_enumerate_kernels(kernels: Out<u64>, room: u32, library: u64)
        module::library_enumerate_kernels;
    "warplab_cudaLibraryGetGlobal"
        library_get_global(address: Out<u64>, bytes: Out<usize>, library: u64, name: Text)
        module::library_get_global;
    "warplab_cudaLibraryGetManaged"
        library_get_managed(address: Out<u64>, bytes: Out<usize>, library: u64, name: Text)
        module::library_get_managed;

    "warplab_cudaLaunchHostFunc_v2"
        launch_host_func_v2(stream: Stream, function: usize, user_data: *mut c_void, wait: u32)
        launch::launch_host_func_v2;
    "warplab_cudaStreamSetAttribute" stream_set_attribute(stream: Stream, number: u32, value: In<[u64; 8]>)
        stream::stream_set_attribute;
    "warplab_cudaStreamCopyAttributes" stream_copy_attributes(to: Stream, from: Stream)
        stream::stream_copy_attributes;
    "warplab_cudaStreamGetAttribute" stream_get_attribute(stream: Stream, number: u32, value: Out<[u64; 8]>)
        stream::stream_get_attribute;

    "warplab_cudaThreadExchangeStreamCaptureMode" thread_exchange_stream_capture_mode(mode: Out<u32>)
        capture::thread_exchange_stream_capture_mode;
    "warplab_cudaStreamBeginCapture" stream_begin_capture(stream: Stream, mode: u32)
        capture::stream_begin_capture;
    "warplab_cudaStreamBeginCaptureToGraph"
        stream_begin_capture_to_graph(
            stream: Stream, graph: u64, nodes: In<u64>, edges: In<u64>, count: usize, mode: u32,
        )
        capture::stream_begin_capture_to_graph;
    "warplab_cudaStreamEndCapture" stream_end_capture(stream: Stream, graph: Out<u64>)
        capture::stream_end_capture;
    "warplab_cudaStreamIsCapturing" stream_is_capturing(stream: Stream, status: Out<u32>)
        capture::stream_is_capturing;
    "warplab_cudaStreamGetCaptureInfo"
        stream_get_capture_info(
            stream: Stream, status: Out<u32>, id: Out<u64>, graph: Out<u64>, nodes: Out<*const u64>,
            edges: Out<*const u64>, count: Out<usize>,
        )
        capture::stream_get_capture_info_v3;
    "warplab_cudaStreamUpdateCaptureDependencies"
        stream_update_capture_dependencies(
            stream: Stream, nodes: In<u64>, edges: In<u64>, count: usize, flags: u32,
        )
        capture::stream_update_capture_dependencies_v2;

    "warplab_cudaGraphCreate" graph_create(graph: Out<u64>, flags: u32) graph::graph_create;
    "warplab_cudaGraphDestroy" graph_destroy(graph: u64) graph::graph_destroy;
    "warplab_cudaGraphAddEmptyNode"
        graph_add_empty_node(node: Out<u64>, graph: u64, needs: In<u64>, count: usize)
        graph::graph_add_empty_node;
    "warplab_cudaGraphAddHostNode"
        graph_add_host_node(
            node: Out<u64>, graph: u64, needs: In<u64>, count: usize, params: In<graph::HostParams>,
        )
        graph::graph_add_host_node;
    "warplab_cudaGraphAddChildGraphNode"
        graph_add_child_graph_node(node: Out<u64>, graph: u64, needs: In<u64>, count: usize, child: u64)
        graph::graph_add_child_graph_node;
    "warplab_cudaGraphAddEventRecordNode"
        graph_add_event_record_node(node: Out<u64>, graph: u64, needs: In<u64>, count: usize, event: u64)
        graph::graph_add_event_record_node;
    "warplab_cudaGraphAddEventWaitNode"
        graph_add_event_wait_node(node: Out<u64>, graph: u64, needs: In<u64>, count: usize, event: u64)
        graph::graph_add_event_wait_node;
    "warplab_cudaGraphHostNodeSetParams" graph_host_node_set_params(node: u64, params: In<graph::HostParams>)
        graph::graph_host_node_set_params;
    "warplab_cudaGraphExecHostNodeSetParams"
        graph_exec_host_node_set_params(executable: u64, node: u64, params: In<graph::HostParams>)
        graph::graph_exec_host_node_set_params;
    "warplab_cudaGraphGetNodes" graph_get_nodes(graph: u64, nodes: Out<u64>, count: Out<usize>)
        graph::graph_get_nodes;
    "warplab_cudaGraphGetRootNodes" graph_get_root_nodes(graph: u64, nodes: Out<u64>, count: Out<usize>)
        graph::graph_get_root_nodes;
    "warplab_cudaGraphGetEdges"
        graph_get_edges(graph: u64, from: Out<u64>, to: Out<u64>, data: Out<u64>, count: Out<usize>)
        graph::graph_get_edges_v2;
    "warplab_cudaGraphNodeGetDependencies"
        graph_node_get_dependencies(node: u64, nodes: Out<u64>, data: Out<u64>, count: Out<usize>)
        graph::graph_node_get_dependencies_v2;
    "warplab_cudaGraphNodeGetDependentNodes"
        graph_node_get_dependent_nodes(node: u64, nodes: Out<u64>, data: Out<u64>, count: Out<usize>)
        graph::graph_node_get_dependent_nodes_v2;
    "warplab_cudaGraphAddDependencies"
        graph_add_dependencies(graph: u64, from: In<u64>, to: In<u64>, data: In<u64>, count: usize)
        graph::graph_add_dependencies_v2;
    "warplab_cudaGraphRemoveDependencies"
        graph_remove_dependencies(graph: u64, from: In<u64>, to: In<u64>, data: In<u64>, count: usize)
        graph::graph_remove_dependencies_v2;
    "warplab_cudaGraphInstantiate" graph_instantiate(executable: Out<u64>, graph: u64, flags: u64)
        graph::graph_instantiate_with_flags;
    "warplab_cudaGraphInstantiateWithFlags"
        graph_instantiate_with_flags(executable: Out<u64>, graph: u64, flags: u64)
        graph::graph_instantiate_with_flags;
    "warplab_cudaGraphInstantiateWithParams"
        graph_instantiate_with_params(executable: Out<u64>, graph: u64, params: Out<[u64; 4]>)
        graph::graph_instantiate_with_params;
    "warplab_cudaGraphExecUpdate" graph_exec_update(executable: u64, graph: u64, result: Out<[u64; 3]>)
        graph::graph_exec_update;
    "warplab_cudaGraphUpload" graph_upload(executable: u64, stream: Stream) graph::graph_upload;
    "warplab_cudaGraphLaunch" graph_launch(executable: u64, stream: Stream) graph::graph_launch;
    "warplab_cudaGraphExecDestroy" graph_exec_destroy(executable: u64) graph::graph_exec_destroy;
    "warplab_cudaGraphClone" graph_clone(clone: Out<u64>, graph: u64) graph::graph_clone;
    "warplab_cudaGraphNodeFindInClone" graph_node_find_in_clone(found: Out<u64>, node: u64, clone: u64)
        graph::graph_node_find_in_clone;
    "warplab_cudaGraphDestroyNode" graph_destroy_node(node: u64) graph::graph_destroy_node;
    "warplab_cudaGraphNodeGetType" graph_node_get_type(node: u64, kind: Out<u32>) graph::graph_node_get_type;
    "warplab_cudaGraphNodeSetEnabled" graph_node_set_enabled(executable: u64, node: u64, enabled: u32)
        graph::graph_node_set_enabled;
    "warplab_cudaGraphNodeGetEnabled" graph_node_get_enabled(executable: u64, node: u64, enabled: Out<u32>)
        graph::graph_node_get_enabled;
    "warplab_cudaGraphMemsetNodeGetParams"
        graph_memset_node_get_params(node: u64, params: Out<graph::MemsetParams>)
        graph::graph_memset_node_get_params;
    "warplab_cudaGraphHostNodeGetParams" graph_host_node_get_params(node: u64, params: Out<graph::HostParams>)
        graph::graph_host_node_get_params;
    "warplab_cudaGraphKernelNodeGetAttribute"
        graph_kernel_node_get_attribute(node: u64, number: u32, value: Out<[u32; 16]>)
        node::graph_kernel_node_get_attribute;
    "warplab_cudaGraphKernelNodeSetAttribute"
        graph_kernel_node_set_attribute(node: u64, number: u32, value: In<[u32; 16]>)
        node::graph_kernel_node_set_attribute;
    "warplab_cudaGraphKernelNodeCopyAttributes" graph_kernel_node_copy_attributes(to: u64, from: u64)
        node::graph_kernel_node_copy_attributes;
    "warplab_cudaGraphAddMemAllocNode"
        graph_add_mem_alloc_node(
            node: Out<u64>, graph: u64, needs: In<u64>, count: usize, params: Out<node::AllocateParams>,
        )
        node::graph_add_mem_alloc_node;
    "warplab_cudaGraphMemAllocNodeGetParams"
        graph_mem_alloc_node_get_params(node: u64, params: Out<node::AllocateParams>)
        node::graph_mem_alloc_node_get_params;
    "warplab_cudaGraphAddMemFreeNode"
        graph_add_mem_free_node(node: Out<u64>, graph: u64, needs: In<u64>, count: usize, address: u64)
        node::graph_add_mem_free_node;
    "warplab_cudaGraphMemFreeNodeGetParams" graph_mem_free_node_get_params(node: u64, address: Out<u64>)
        node::graph_mem_free_node_get_params;
    "warplab_cudaMemRangeGetAttribute"
        mem_range_get_attribute(data: Out<i32>, bytes: usize, number: u32, address: u64, count: usize)
        memory::mem_range_get_attribute;
    "warplab_cudaMemRangeGetAttributes"
        mem_range_get_attributes(
            data: In<Out<i32>>, bytes: In<usize>, numbers: In<u32>, how_many: usize, address: u64, count: usize
        )
        memory::mem_range_get_attributes;
    "warplab_cudaDeviceGetGraphMemAttribute"
        device_get_graph_mem_attribute(device: i32, number: u32, value: Out<u64>)
        node::device_get_graph_mem_attribute;
    "warplab_cudaDeviceSetGraphMemAttribute"
        device_set_graph_mem_attribute(device: i32, number: u32, value: In<u64>)
        node::device_set_graph_mem_attribute;
    "warplab_cudaDeviceGraphMemTrim" device_graph_mem_trim(device: i32) node::device_graph_mem_trim;
    "warplab_cudaGraphChildGraphNodeGetGraph" graph_child_graph_node_get_graph(node: u64, graph: Out<u64>)
        node::graph_child_graph_node_get_graph;
    "warplab_cudaGraphExecChildGraphNodeSetParams"
        graph_exec_child_graph_node_set_params(executable: u64, node: u64, graph: u64)
        node::graph_exec_child_graph_node_set_params;
    "warplab_cudaGraphEventRecordNodeGetEvent" graph_event_record_node_get_event(node: u64, event: Out<u64>)
        node::graph_event_record_node_get_event;
    "warplab_cudaGraphEventRecordNodeSetEvent" graph_event_record_node_set_event(node: u64, event: u64)
        node::graph_event_record_node_set_event;
    "warplab_cudaGraphExecEventRecordNodeSetEvent"
        graph_exec_event_record_node_set_event(executable: u64, node: u64, event: u64)
        node::graph_exec_event_record_node_set_event;
    "warplab_cudaGraphEventWaitNodeGetEvent" graph_event_wait_node_get_event(node: u64, event: Out<u64>)
        node::graph_event_wait_node_get_event;
    "warplab_cudaGraphEventWaitNodeSetEvent" graph_event_wait_node_set_event(node: u64, event: u64)
        node::graph_event_wait_node_set_event;
    "warplab_cudaGraphExecEventWaitNodeSetEvent"
        graph_exec_event_wait_node_set_event(executable: u64, node: u64, event: u64)
        node::graph_exec_event_wait_node_set_event;
    "warplab_cudaGraphConditionalHandleCreate_v2"
        graph_conditional_handle_create(condition: Out<u64>, graph: u64, context: u64, value: u32, flags: u32)
        node::graph_conditional_handle_create;
    "warplab_cudaGraphExecGetFlags" graph_exec_get_flags(executable: u64, flags: Out<u64>)
        node::graph_exec_get_flags;
    "warplab_cudaGraphGetId" graph_get_id(graph: u64, id: Out<u32>) node::graph_get_id;
    "warplab_cudaGraphExecGetId" graph_exec_get_id(executable: u64, id: Out<u32>) node::graph_exec_get_id;
    "warplab_cudaGraphNodeGetLocalId" graph_node_get_local_id(node: u64, id: Out<u32>)
        node::graph_node_get_local_id;
    "warplab_cudaGraphNodeGetToolsId" graph_node_get_tools_id(node: u64, id: Out<u64>)
        node::graph_node_get_tools_id;
    "warplab_cudaGraphNodeGetContainingGraph" graph_node_get_containing_graph(node: u64, graph: Out<u64>)
        node::graph_node_get_containing_graph;
    "warplab_cudaGraphDebugDotPrint" graph_debug_dot_print(graph: u64, path: Text, flags: u32)
        node::graph_debug_dot_print;
    "warplab_cudaUserObjectCreate"
        user_object_create(object: Out<u64>, pointer: *mut c_void, end: usize, count: u32, flags: u32)
        node::user_object_create;
    "warplab_cudaUserObjectRetain" user_object_retain(object: u64, count: u32) node::user_object_retain;
    "warplab_cudaUserObjectRelease" user_object_release(object: u64, count: u32) node::user_object_release;
    "warplab_cudaGraphRetainUserObject"
        graph_retain_user_object(graph: u64, object: u64, count: u32, flags: u32)
        node::graph_retain_user_object;
    "warplab_cudaGraphReleaseUserObject" graph_release_user_object(graph: u64, object: u64, count: u32)
        node::graph_release_user_object;
}

/// `cudaGraphConditionalHandleCreate`.
#[unsafe(export_name = "warplab_cudaGraphConditionalHandleCreate")]
pub(crate) extern "C" fn conditional_handle_create(
    condition: Out<u64>,
    graph: u64,
    value: u32,
    flags: u32,
) -> Status {
    graph_conditional_handle_create(condition, graph, 0, value, flags)
}
