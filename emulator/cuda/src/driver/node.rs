//! Nodes of graphs: parameters and results of each type, nodes of any type, conditions, and user objects that
//! graphs retain.

use super::copy::Copy3;
use super::graph::{HostParams, KernelParams, KernelParams2, MemsetParams, add, child_work, kind};
use super::launch::{ATTRIBUTE_CARVEOUT, ATTRIBUTE_COOPERATIVE, CARVEOUT_DEFAULT, carveout};
use super::pool::PoolProperties;
use super::{In, Out, Text, device, functions};
use crate::error::{Outcome, Status};
use crate::gpu::{Gpu, gpu};
use crate::running::graphs::call_all;
use crate::streams::work::{Choice, Conditional, Graph, Work};
use std::ffi::c_void;
use std::fmt::Write as _;
use std::io::Write as _;
use warplab_host::destination::Destination;

/// CUDA's `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllocateParams {
    pub(crate) pool: PoolProperties,
    pub(crate) access: In<u8>,
    pub(crate) access_count: usize,
    pub(crate) bytes: usize,
    pub(crate) address: u64,
}

/// CUDA's `CUgraphNodeParams` and `cudaGraphNodeParams`: the type, then its parameters.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeParams {
    pub(crate) kind: u32,
    reserved: [u32; 3],
    pub(crate) value: [u64; 29],
    reserved2: u64,
}

/// CUDA's `CUDA_CONDITIONAL_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConditionalParams {
    condition: u64,
    choice: u32,
    count: u32,
    graphs: *const u64,
    context: u64,
}

const _: () = assert!(size_of::<AllocateParams>() == 120 && size_of::<NodeParams>() == 256);
const _: () = assert!(size_of::<ConditionalParams>() == 32);

/// Types of nodes whose parameters receive results when they are added.
const ALLOCATE: u32 = 10;
const CONDITIONAL: u32 = 13;

impl AllocateParams {
    /// Work that allocates; its address is chosen now and stored here.
    pub(crate) fn work(&mut self) -> Outcome<Work> {
        if self.bytes == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let bytes = self.bytes as u64;
        self.address = gpu()?.memory.reserve(bytes)?;
        Ok(Work::Allocate { address: self.address, bytes })
    }

    fn of(address: u64, bytes: u64) -> AllocateParams {
        let pool = PoolProperties::on_device();
        AllocateParams { pool, access: In::none(), access_count: 0, bytes: bytes as usize, address }
    }
}

fn event(event: u64, make: fn(u64) -> Work) -> Outcome<Work> {
    gpu()?.streams.events.get(event)?;
    Ok(make(event))
}

impl ConditionalParams {
    /// A node whose graphs are empty yet.
    pub(crate) fn work(&self) -> Outcome<Work> {
        let (choice, most) = match self.choice {
            0 => (Choice::If, 2),
            1 => (Choice::While, 1),
            2 => (Choice::Switch, u32::MAX),
            _ => return Err(Status::INVALID_VALUE),
        };
        if self.count == 0 || self.count > most {
            return Err(Status::INVALID_VALUE);
        }
        if gpu()?.memory.region(self.condition).is_none() {
            return Err(Status::INVALID_VALUE);
        }
        let bodies = vec![Graph::default(); self.count as usize];
        Ok(Work::Conditional(Box::new(Conditional { condition: self.condition, choice, bodies })))
    }
}

/// Adds a conditional node and returns the handles of its graphs.
fn add_conditional(
    node: Out<u64>,
    (graph, needs, count): (u64, In<u64>, usize),
    params: Out<ConditionalParams>,
) -> Outcome {
    let mut given = params.before()?;
    add(node, graph, needs, count, given.work()?)?;
    let mut gpu = gpu()?;
    let node = node.before()?;
    let graphs = (0..given.count as usize).map(|which| gpu.streams.graph_inside(node, which));
    let graphs = graphs.collect::<Outcome<Vec<u64>>>()?;
    given.graphs = gpu.streams.nodes.show_graphs(node, graphs);
    params.set(given)
}

impl NodeParams {
    /// The parameters of its type; the buffer is large enough for every type.
    pub(crate) fn value<T>(&mut self) -> Out<T> {
        Out(self.value.as_mut_ptr().cast())
    }

    /// The work that these describe.
    fn work(&mut self) -> Outcome<Work> {
        match self.kind {
            0 => self.value::<KernelParams2>().before()?.work(),
            1 => {
                // Flags and a context come first.
                // SAFETY: there is room for all types.
                let copy: Copy3 = unsafe { self.value.as_ptr().add(2).cast::<Copy3>().read_unaligned() };
                Ok(Work::Copy(copy.copy()?))
            }
            _ => self.shared_work(),
        }
    }

    /// The work of the types whose parameters are the same in both APIs.
    pub(crate) fn shared_work(&mut self) -> Outcome<Work> {
        match self.kind {
            2 => self.value::<MemsetParams>().before()?.work(),
            3 => self.value::<HostParams>().before()?.work(),
            4 => child_work(self.value[0]),
            5 => Ok(Work::Empty),
            6 => event(self.value[0], Work::Wait),
            7 => event(self.value[0], Work::Record),
            11 => Ok(Work::Free(self.value[0])),
            _ => Err(Status::NOT_SUPPORTED),
        }
    }
}

/// Adds a node of any type; types without results are added as the work that `work` returns.
pub(crate) fn add_any(
    node: Out<u64>,
    graph: u64,
    (needs, count): (In<u64>, usize),
    params: Out<NodeParams>,
    work: impl FnOnce(&mut NodeParams) -> Outcome<Work>,
) -> Outcome {
    let mut given = params.before()?;
    match given.kind {
        CONDITIONAL => add_conditional(node, (graph, needs, count), given.value())?,
        ALLOCATE => {
            let mut inner: AllocateParams = given.value().before()?;
            add(node, graph, needs, count, inner.work()?)?;
            given.value().set(inner)?;
        }
        _ => return add(node, graph, needs, count, work(&mut given)?),
    }
    params.set(given)
}

/// The event of a node that records it or waits for it.
fn event_of(node: u64, records: bool, to: Out<u64>) -> Outcome {
    match gpu()?.streams.node(node)?.work {
        Work::Record(event) if records => to.set(event),
        Work::Wait(event) if !records => to.set(event),
        _ => Err(Status::INVALID_VALUE),
    }
}

fn kernel_params(node: u64) -> Outcome<KernelParams> {
    let mut gpu = gpu()?;
    let args = gpu.show_params(node)?;
    match &gpu.streams.node(node)?.work {
        Work::Launch(launch) => Ok(KernelParams::of(launch, args)),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// Attributes of launches: an access policy, whether blocks are resident together, priority.
const ATTRIBUTES: [u32; 4] = [1, ATTRIBUTE_COOPERATIVE, 8, ATTRIBUTE_CARVEOUT];

fn attribute(node: u64, number: u32, to: Out<[u32; 16]>) -> Outcome {
    let gpu = gpu()?;
    let Work::Launch(launch) = &gpu.streams.node(node)?.work else { return Err(Status::INVALID_VALUE) };
    let mut value = [0; 16];
    match number {
        ATTRIBUTE_COOPERATIVE => value[0] = u32::from(launch.attributes.cooperative),
        ATTRIBUTE_CARVEOUT => value[0] = launch.attributes.carveout.map_or(CARVEOUT_DEFAULT, u32::from),
        _ if ATTRIBUTES.contains(&number) => {}
        _ => return Err(Status::INVALID_VALUE),
    }
    to.set(value)
}

fn set_attribute(node: u64, number: u32, value: In<[u32; 16]>) -> Outcome {
    let value = value.get()?;
    let mut gpu = gpu()?;
    match &mut gpu.streams.node_mut(None, node)?.work {
        Work::Launch(launch) if number == ATTRIBUTE_COOPERATIVE => {
            launch.attributes.cooperative = value[0] != 0;
        }
        Work::Launch(launch) if number == ATTRIBUTE_CARVEOUT => {
            launch.attributes.carveout = carveout(value[0])?;
        }
        // The others are hints.
        Work::Launch(_) if ATTRIBUTES.contains(&number) => {}
        _ => return Err(Status::INVALID_VALUE),
    }
    Ok(())
}

fn copy_attributes(to: u64, from: u64) -> Outcome {
    let mut gpu = gpu()?;
    let Work::Launch(from) = &gpu.streams.node(from)?.work else { return Err(Status::INVALID_VALUE) };
    let attributes = from.attributes;
    let Work::Launch(to) = &mut gpu.streams.node_mut(None, to)?.work else {
        return Err(Status::INVALID_VALUE);
    };
    to.attributes = attributes;
    Ok(())
}

/// A graph in the language of Graphviz.
fn dot(gpu: &Gpu, graph: &Graph) -> String {
    const NAMES: [&str; 12] = [
        "KERNEL",
        "MEMCPY",
        "MEMSET",
        "HOST",
        "GRAPH",
        "EMPTY",
        "EVENT_WAIT",
        "EVENT_RECORD",
        "",
        "",
        "MEM_ALLOC",
        "MEM_FREE",
    ];
    let mut text = String::from("digraph dot {\n");
    for (id, node) in graph.nodes() {
        let kind = NAMES.get(kind(&node.work) as usize).copied().unwrap_or("CONDITIONAL");
        let kernel = match &node.work {
            Work::Launch(launch) => gpu.modules.kernels.get(launch.kernel).ok(),
            _ => None,
        };
        let name = kernel.map_or(String::new(), |k| format!("\\n{}", k.lowered.kernel.name));
        let _ = writeln!(text, "  node_{id} [label=\"{id}\\n{kind}{name}\"];");
    }
    for (from, to) in graph.edges() {
        let _ = writeln!(text, "  node_{from} -> node_{to};");
    }
    text + "}\n"
}

functions! {
    "cuGraphKernelNodeGetParams" 10000 Context graph_kernel_node_get_params(
        node: u64, params: Out<KernelParams>,
    ) {
        params.set(kernel_params(node)?)
    }

    "cuGraphKernelNodeGetParams_v2" 12000 Context graph_kernel_node_get_params_v2(
        node: u64, params: Out<KernelParams2>,
    ) {
        params.set(KernelParams2::of(kernel_params(node)?))
    }

    "cuGraphKernelNodeGetAttribute" 11000 Context graph_kernel_node_get_attribute(
        node: u64, number: u32, value: Out<[u32; 16]>,
    ) {
        attribute(node, number, value)
    }

    "cuGraphKernelNodeSetAttribute" 11000 Context graph_kernel_node_set_attribute(
        node: u64, number: u32, value: In<[u32; 16]>,
    ) {
        set_attribute(node, number, value)
    }

    "cuGraphKernelNodeCopyAttributes" 11000 Context graph_kernel_node_copy_attributes(to: u64, from: u64) {
        copy_attributes(to, from)
    }

    "cuGraphAddMemAllocNode" 11040 Context graph_add_mem_alloc_node(
        node: Out<u64>, graph: u64, needs: In<u64>, count: usize, params: Out<AllocateParams>,
    ) {
        let mut given = params.before()?;
        add(node, graph, needs, count, given.work()?)?;
        params.set(given)
    }

    "cuGraphMemAllocNodeGetParams" 11040 Context graph_mem_alloc_node_get_params(
        node: u64, params: Out<AllocateParams>,
    ) {
        match gpu()?.streams.node(node)?.work {
            Work::Allocate { address, bytes } => params.set(AllocateParams::of(address, bytes)),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    "cuGraphAddMemFreeNode" 11040 Context graph_add_mem_free_node(
        node: Out<u64>, graph: u64, needs: In<u64>, count: usize, address: u64,
    ) {
        add(node, graph, needs, count, Work::Free(address))
    }

    "cuGraphMemFreeNodeGetParams" 11040 Context graph_mem_free_node_get_params(node: u64, to: Out<u64>) {
        match gpu()?.streams.node(node)?.work {
            Work::Free(address) => to.set(address),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    "cuDeviceGetGraphMemAttribute" 11040 Init device_get_graph_mem_attribute(
        ordinal: i32, number: u32, to: Out<u64>,
    ) {
        device(ordinal)?;
        let (held, most) = gpu()?.memory.graph_bytes();
        // Bytes used by graphs and reserved for them, now and at most; both are equal.
        match number {
            0 | 2 => to.set(held),
            1 | 3 => to.set(most),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    "cuDeviceSetGraphMemAttribute" 11040 Init device_set_graph_mem_attribute(
        ordinal: i32, number: u32, value: In<u64>,
    ) {
        device(ordinal)?;
        // The high-water marks can be reset to the current values.
        if !matches!(number, 1 | 3) || value.get()? != 0 {
            return Err(Status::INVALID_VALUE);
        }
        gpu()?.memory.forget_most_graph_bytes();
        Ok(())
    }

    "cuDeviceGraphMemTrim" 11040 Init device_graph_mem_trim(ordinal: i32) {
        device(ordinal)?;
        gpu()?.memory.trim_graph_bytes();
        Ok(())
    }

    "cuGraphChildGraphNodeGetGraph" 10000 Context graph_child_graph_node_get_graph(node: u64, graph: Out<u64>) {
        let mut gpu = gpu()?;
        match gpu.streams.node(node)?.work {
            Work::Child(_) => graph.set(gpu.streams.graph_inside(node, 0)?),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    "cuGraphExecChildGraphNodeSetParams" 11010 Context graph_exec_child_graph_node_set_params(
        executable: u64, node: u64, graph: u64,
    ) {
        let work = child_work(graph)?;
        gpu()?.streams.set_node(Some(executable), node, work)
    }

    "cuGraphEventRecordNodeGetEvent" 11010 Context graph_event_record_node_get_event(node: u64, to: Out<u64>) {
        event_of(node, true, to)
    }

    "cuGraphEventRecordNodeSetEvent" 11010 Context graph_event_record_node_set_event(node: u64, id: u64) {
        let work = event(id, Work::Record)?;
        gpu()?.streams.set_node(None, node, work)
    }

    "cuGraphExecEventRecordNodeSetEvent" 11010 Context graph_exec_event_record_node_set_event(
        executable: u64, node: u64, id: u64,
    ) {
        let work = event(id, Work::Record)?;
        gpu()?.streams.set_node(Some(executable), node, work)
    }

    "cuGraphEventWaitNodeGetEvent" 11010 Context graph_event_wait_node_get_event(node: u64, to: Out<u64>) {
        event_of(node, false, to)
    }

    "cuGraphEventWaitNodeSetEvent" 11010 Context graph_event_wait_node_set_event(node: u64, id: u64) {
        let work = event(id, Work::Wait)?;
        gpu()?.streams.set_node(None, node, work)
    }

    "cuGraphExecEventWaitNodeSetEvent" 11010 Context graph_exec_event_wait_node_set_event(
        executable: u64, node: u64, id: u64,
    ) {
        let work = event(id, Work::Wait)?;
        gpu()?.streams.set_node(Some(executable), node, work)
    }

    "cuGraphAddNode" 12020 Context graph_add_node(
        node: Out<u64>, graph: u64, needs: In<u64>, count: usize, params: Out<NodeParams>,
    ) {
        add_any(node, graph, (needs, count), params, NodeParams::work)
    }

    "cuGraphAddNode_v2" 12030 Context graph_add_node_v2(
        node: Out<u64>, graph: u64, needs: In<u64>, _edges: In<u64>, count: usize, params: Out<NodeParams>,
    ) {
        add_any(node, graph, (needs, count), params, NodeParams::work)
    }

    "cuGraphNodeSetParams" 12020 Context graph_node_set_params(node: u64, params: In<NodeParams>) {
        let work = params.get()?.work()?;
        gpu()?.streams.set_node(None, node, work)
    }

    "cuGraphExecNodeSetParams" 12020 Context graph_exec_node_set_params(
        executable: u64, node: u64, params: In<NodeParams>,
    ) {
        let work = params.get()?.work()?;
        gpu()?.streams.set_node(Some(executable), node, work)
    }

    "cuGraphConditionalHandleCreate" 12030 Context graph_conditional_handle_create(
        condition: Out<u64>, graph: u64, _context: u64, value: u32, flags: u32,
    ) {
        if flags > 1 || !condition.wanted() {
            return Err(Status::INVALID_VALUE);
        }
        condition.set(gpu()?.create_condition(graph, (flags == 1).then_some(value))?)
    }

    "cuGraphExecGetFlags" 12000 Context graph_exec_get_flags(executable: u64, flags: Out<u64>) {
        flags.set(gpu()?.streams.executables.get(executable)?.flags)
    }

    "cuGraphGetId" 13010 Context graph_get_id(graph: u64, id: Out<u32>) {
        gpu()?.streams.graph(graph)?;
        // The lower half of a handle is the index of its object.
        id.set(graph as u32)
    }

    "cuGraphExecGetId" 13010 Context graph_exec_get_id(executable: u64, id: Out<u32>) {
        gpu()?.streams.executables.get(executable)?;
        id.set(executable as u32)
    }

    "cuGraphNodeGetLocalId" 13010 Context graph_node_get_local_id(node: u64, id: Out<u32>) {
        id.set(gpu()?.streams.nodes.get(node)?.1)
    }

    "cuGraphNodeGetToolsId" 13010 Context graph_node_get_tools_id(node: u64, id: Out<u64>) {
        gpu()?.streams.nodes.get(node)?;
        id.set(node)
    }

    "cuGraphNodeGetContainingGraph" 13010 Context graph_node_get_containing_graph(node: u64, graph: Out<u64>) {
        graph.set(gpu()?.streams.nodes.get(node)?.0)
    }

    "cuGraphDebugDotPrint" 11030 Context graph_debug_dot_print(graph: u64, path: Text, _flags: u32) {
        let path = path.get()?;
        let text = {
            let gpu = gpu()?;
            dot(&gpu, gpu.streams.graph(graph)?)
        };
        let written = Destination::of(path.as_ref()).write(|out| out.write_all(text.as_bytes()));
        written.map_err(|_| Status::OPERATING_SYSTEM)
    }

    "cuUserObjectCreate" 11030 Context user_object_create(
        object: Out<u64>, pointer: *mut c_void, end: usize, count: u32, flags: u32,
    ) {
        // The program must pass the flag that the function may be called at any time.
        if flags != 1 || !object.wanted() {
            return Err(Status::INVALID_VALUE);
        }
        object.set(gpu()?.streams.create_object(pointer, end, count)?)
    }

    "cuUserObjectRetain" 11030 Context user_object_retain(object: u64, count: u32) {
        gpu()?.streams.retain_object(object, count)
    }

    "cuUserObjectRelease" 11030 Context user_object_release(object: u64, count: u32) {
        let ended = gpu()?.streams.release_object(object, count)?;
        call_all(ended.into_iter().collect())
    }

    "cuGraphRetainUserObject" 11030 Context graph_retain_user_object(
        graph: u64, object: u64, count: u32, flags: u32,
    ) {
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        gpu()?.streams.retain_in_graph(graph, (object, count), flags == 1)
    }

    "cuGraphReleaseUserObject" 11030 Context graph_release_user_object(graph: u64, object: u64, count: u32) {
        let ended = gpu()?.streams.release_in_graph(graph, object, count)?;
        call_all(ended.into_iter().collect())
    }
}
