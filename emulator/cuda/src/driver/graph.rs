//! Graphs: built by hand, instantiated, changed, launched.

use super::copy::Copy3;
use super::launch::parameters;
use super::{In, Out, Stream, functions};
use crate::error::{Outcome, Status};
use crate::gpu::{Gpu, gpu};
use crate::memory::copy::Fill;
use crate::running;
use crate::streams::graphs::UpdateError;
use crate::streams::work::{Graph, HostCall, HostFunction, Launch, LaunchAttributes, Work};
use std::ffi::c_void;

/// CUDA's `CUDA_KERNEL_NODE_PARAMS_v1`, with which the second version begins.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelParams {
    function: u64,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    args: In<In<u8>>,
    extra: In<usize>,
}

/// CUDA's `CUDA_KERNEL_NODE_PARAMS_v2`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelParams2 {
    first: KernelParams,
    kernel: u64,
    context: u64,
}

/// CUDA's `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemsetParams {
    to: u64,
    pitch: usize,
    value: u32,
    element: u32,
    pub(crate) width: usize,
    height: usize,
}

/// CUDA's `CUDA_HOST_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostParams {
    function: usize,
    user_data: *mut c_void,
}

const _: () = assert!(size_of::<KernelParams>() == 56 && size_of::<KernelParams2>() == 72);
const _: () = assert!(size_of::<MemsetParams>() == 40 && size_of::<HostParams>() == 16);

impl KernelParams {
    /// Those of a launch, with pointers to its parameters at an address.
    pub(super) fn of(launch: &Launch, args: usize) -> KernelParams {
        let &Launch { kernel: function, grid, block, shared_bytes, .. } = launch;
        KernelParams {
            function,
            grid,
            block,
            shared_bytes,
            args: In(args as *const In<u8>),
            extra: In::none(),
        }
    }

    fn work(self) -> Outcome<Work> {
        let params = parameters(self.function, self.args, self.extra)?;
        let KernelParams { function, grid, block, shared_bytes, .. } = self;
        let gpu = gpu()?;
        let attributes =
            LaunchAttributes { carveout: gpu.preferred_carveout(function), ..LaunchAttributes::default() };
        let launch = Launch { kernel: function, grid, block, shared_bytes, params, attributes };
        crate::modules::occupancy::check(gpu.device, gpu.modules.kernels.get(function)?, &launch)?;
        Ok(Work::Launch(launch))
    }
}

impl KernelParams2 {
    pub(super) fn of(first: KernelParams) -> KernelParams2 {
        KernelParams2 { first, kernel: 0, context: 0 }
    }

    pub(crate) fn work(self) -> Outcome<Work> {
        let function = if self.first.function == 0 { self.kernel } else { self.first.function };
        KernelParams { function, ..self.first }.work()
    }
}

impl MemsetParams {
    pub(crate) fn work(self) -> Outcome<Work> {
        let MemsetParams { to, pitch, value, element, width, height } = self;
        if !matches!(element, 1 | 2 | 4) {
            return Err(Status::INVALID_VALUE);
        }
        let (pitch, width, height) = (pitch as u64, width as u64, height as u64);
        Ok(Work::Fill(Fill { address: to, pitch, value, element, width, height }))
    }
}

impl HostParams {
    pub(crate) fn work(self) -> Outcome<Work> {
        if self.function == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let function = HostFunction::Plain(self.function);
        Ok(Work::Host(HostCall { function, user_data: self.user_data }))
    }
}

pub(crate) fn add(to: Out<u64>, graph: u64, needs: In<u64>, count: usize, work: Work) -> Outcome {
    if !to.wanted() {
        return Err(Status::INVALID_VALUE);
    }
    to.set(gpu()?.streams.add_node(graph, &needs.list(count)?, work)?)
}

/// Returns a list: its length if the program passes no buffer, else as many elements as fit.
fn answer(list: &[u64], room: Out<u64>, count: Out<usize>) -> Outcome {
    if room.wanted() {
        let places = count.before()?;
        for i in 0..places {
            room.set_at(i, list.get(i).copied().unwrap_or(0))?;
        }
        return count.set(places.min(list.len()));
    }
    count.set(list.len())
}

fn handles(gpu: &mut Gpu, graph: u64, nodes: Vec<u32>) -> Vec<u64> {
    nodes.into_iter().map(|id| gpu.streams.nodes.handle(graph, id)).collect()
}

fn edges(graph: u64, from: Out<u64>, to: Out<u64>, count: Out<usize>) -> Outcome {
    let mut gpu = gpu()?;
    let (needed, needing): (Vec<u32>, Vec<u32>) = gpu.streams.graph(graph)?.edges().unzip();
    let (needed, needing) = (handles(&mut gpu, graph, needed), handles(&mut gpu, graph, needing));
    if from.wanted() != to.wanted() {
        return Err(Status::INVALID_VALUE);
    }
    if from.wanted() {
        let mut room = count.before()?;
        answer(&needed, from, Out(&raw mut room))?;
    }
    answer(&needing, to, count)
}

/// Nodes that a node needs, or that need it.
fn neighbours(node: u64, needed: bool, room: Out<u64>, count: Out<usize>) -> Outcome {
    let mut gpu = gpu()?;
    let (graph, id) = gpu.streams.nodes.get(node)?;
    let edges = gpu.streams.graph(graph)?.edges();
    let found = edges.filter_map(|(from, to)| match needed {
        true => (to == id).then_some(from),
        false => (from == id).then_some(to),
    });
    let found = found.collect();
    let found = handles(&mut gpu, graph, found);
    answer(&found, room, count)
}

fn connect(graph: u64, from: In<u64>, to: In<u64>, count: usize, connected: bool) -> Outcome {
    let mut gpu = gpu()?;
    let from = gpu.streams.nodes_of(graph, &from.list(count)?)?;
    let to = gpu.streams.nodes_of(graph, &to.list(count)?)?;
    let graph = gpu.streams.graph_mut(graph)?;
    for (from, to) in from.into_iter().zip(to) {
        if connected { graph.connect(from, to)? } else { graph.disconnect(from, to)? }
    }
    Ok(())
}

fn instantiate(to: Out<u64>, graph: u64, flags: u64) -> Outcome {
    if !to.wanted() {
        return Err(Status::INVALID_VALUE);
    }
    to.set(gpu()?.streams.instantiate(graph, flags)?)
}

/// Number of a node's kind in `CUgraphNodeType`.
pub(super) fn kind(work: &Work) -> u32 {
    match work {
        Work::Launch(_) => 0,
        Work::Copy(_) => 1,
        Work::Fill(_) => 2,
        Work::Host(_) => 3,
        Work::Child(_) => 4,
        Work::Empty => 5,
        Work::Wait(_) => 6,
        Work::Record(_) => 7,
        Work::Allocate { .. } => 10,
        Work::Free(_) => 11,
        Work::Conditional(_) => 13,
    }
}

/// A copy of a graph as a node, which may not allocate.
pub(super) fn child_work(graph: u64) -> Outcome<Work> {
    let child = gpu()?.streams.graph(graph)?.clone();
    if child.nodes().any(|(_, n)| matches!(n.work, Work::Allocate { .. } | Work::Free(_))) {
        return Err(Status::NOT_SUPPORTED);
    }
    Ok(Work::Child(Box::new(child)))
}

functions! {
    "cuGraphCreate" 10000 Context graph_create(graph: Out<u64>, flags: u32) {
        if flags != 0 || !graph.wanted() {
            return Err(Status::INVALID_VALUE);
        }
        graph.set(gpu()?.streams.graphs.insert(Graph::default()))
    }

    "cuGraphDestroy" 10000 Context graph_destroy(graph: u64) { running::graphs::destroy(graph) }

    "cuGraphClone" 10000 Context graph_clone(clone: Out<u64>, graph: u64) {
        clone.set(gpu()?.streams.clone_graph(graph)?)
    }

    "cuGraphNodeFindInClone" 10000 Context graph_node_find_in_clone(found: Out<u64>, node: u64, clone: u64) {
        let mut gpu = gpu()?;
        let (_, id) = gpu.streams.nodes.get(node)?;
        gpu.streams.graph(clone)?.node(id)?;
        found.set(gpu.streams.nodes.handle(clone, id))
    }

    "cuGraphAddKernelNode" 10000 Context graph_add_kernel_node(
        node: Out<u64>, graph: u64, needs: In<u64>, count: usize, params: In<KernelParams>,
    ) {
        add(node, graph, needs, count, params.get()?.work()?)
    }

    "cuGraphAddKernelNode_v2" 12000 Context graph_add_kernel_node_v2(
        node: Out<u64>, graph: u64, needs: In<u64>, count: usize, params: In<KernelParams2>,
    ) {
        add(node, graph, needs, count, params.get()?.work()?)
    }

    "cuGraphKernelNodeSetParams" 10000 Context graph_kernel_node_set_params(
        node: u64, params: In<KernelParams>,
    ) {
        let work = params.get()?.work()?;
        gpu()?.streams.set_node(None, node, work)
    }

    "cuGraphKernelNodeSetParams_v2" 12000 Context graph_kernel_node_set_params_v2(
        node: u64, params: In<KernelParams2>,
    ) {
        let work = params.get()?.work()?;
        gpu()?.streams.set_node(None, node, work)
    }

    "cuGraphExecKernelNodeSetParams" 10010 Context graph_exec_kernel_node_set_params(
        executable: u64, node: u64, params: In<KernelParams>,
    ) {
        let work = params.get()?.work()?;
        gpu()?.streams.set_node(Some(executable), node, work)
    }

    "cuGraphExecKernelNodeSetParams_v2" 12000 Context graph_exec_kernel_node_set_params_v2(
        executable: u64, node: u64, params: In<KernelParams2>,
    ) {
        let work = params.get()?.work()?;
        gpu()?.streams.set_node(Some(executable), node, work)
    }

    "cuGraphAddMemcpyNode" 10000 Context graph_add_memcpy_node(
        node: Out<u64>, graph: u64, needs: In<u64>, count: usize, params: In<Copy3>, _context: u64,
    ) {
        add(node, graph, needs, count, Work::Copy(params.get()?.copy()?))
    }

    "cuGraphMemcpyNodeGetParams" 10000 Context graph_memcpy_node_get_params(node: u64, params: Out<Copy3>) {
        match &gpu()?.streams.node(node)?.work {
            Work::Copy(copy) => params.set(Copy3::of(copy)),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    "cuGraphMemcpyNodeSetParams" 10000 Context graph_memcpy_node_set_params(node: u64, params: In<Copy3>) {
        let work = Work::Copy(params.get()?.copy()?);
        gpu()?.streams.set_node(None, node, work)
    }

    "cuGraphExecMemcpyNodeSetParams" 10020 Context graph_exec_memcpy_node_set_params(
        executable: u64, node: u64, params: In<Copy3>, _context: u64,
    ) {
        let work = Work::Copy(params.get()?.copy()?);
        gpu()?.streams.set_node(Some(executable), node, work)
    }

    "cuGraphAddMemsetNode" 10000 Context graph_add_memset_node(
        node: Out<u64>, graph: u64, needs: In<u64>, count: usize, params: In<MemsetParams>, _context: u64,
    ) {
        add(node, graph, needs, count, params.get()?.work()?)
    }

    "cuGraphMemsetNodeSetParams" 10000 Context graph_memset_node_set_params(
        node: u64, params: In<MemsetParams>,
    ) {
        let work = params.get()?.work()?;
        gpu()?.streams.set_node(None, node, work)
    }

    "cuGraphExecMemsetNodeSetParams" 10020 Context graph_exec_memset_node_set_params(
        executable: u64, node: u64, params: In<MemsetParams>, _context: u64,
    ) {
        let work = params.get()?.work()?;
        gpu()?.streams.set_node(Some(executable), node, work)
    }

    "cuGraphMemsetNodeGetParams" 10000 Context graph_memset_node_get_params(
        node: u64, params: Out<MemsetParams>,
    ) {
        match gpu()?.streams.node(node)?.work {
            Work::Fill(Fill { address, pitch, value, element, width, height }) => {
                let (pitch, width, height) = (pitch as usize, width as usize, height as usize);
                params.set(MemsetParams { to: address, pitch, value, element, width, height })
            }
            _ => Err(Status::INVALID_VALUE),
        }
    }

    "cuGraphHostNodeGetParams" 10000 Context graph_host_node_get_params(node: u64, params: Out<HostParams>) {
        match gpu()?.streams.node(node)?.work {
            Work::Host(HostCall { function: HostFunction::Plain(function), user_data }) => {
                params.set(HostParams { function, user_data })
            }
            _ => Err(Status::INVALID_VALUE),
        }
    }

    "cuGraphHostNodeSetParams" 10000 Context graph_host_node_set_params(node: u64, params: In<HostParams>) {
        let work = params.get()?.work()?;
        gpu()?.streams.set_node(None, node, work)
    }

    "cuGraphAddHostNode" 10000 Context graph_add_host_node(
        node: Out<u64>, graph: u64, needs: In<u64>, count: usize, params: In<HostParams>,
    ) {
        add(node, graph, needs, count, params.get()?.work()?)
    }

    "cuGraphExecHostNodeSetParams" 10020 Context graph_exec_host_node_set_params(
        executable: u64, node: u64, params: In<HostParams>,
    ) {
        let work = params.get()?.work()?;
        gpu()?.streams.set_node(Some(executable), node, work)
    }

    "cuGraphAddChildGraphNode" 10000 Context graph_add_child_graph_node(
        node: Out<u64>, graph: u64, needs: In<u64>, count: usize, child: u64,
    ) {
        add(node, graph, needs, count, child_work(child)?)
    }

    "cuGraphAddEmptyNode" 10000 Context graph_add_empty_node(
        node: Out<u64>, graph: u64, needs: In<u64>, count: usize,
    ) {
        add(node, graph, needs, count, Work::Empty)
    }

    "cuGraphAddEventRecordNode" 11010 Context graph_add_event_record_node(
        node: Out<u64>, graph: u64, needs: In<u64>, count: usize, event: u64,
    ) {
        gpu()?.streams.events.get(event)?;
        add(node, graph, needs, count, Work::Record(event))
    }

    "cuGraphAddEventWaitNode" 11010 Context graph_add_event_wait_node(
        node: Out<u64>, graph: u64, needs: In<u64>, count: usize, event: u64,
    ) {
        gpu()?.streams.events.get(event)?;
        add(node, graph, needs, count, Work::Wait(event))
    }

    "cuGraphDestroyNode" 10000 Context graph_destroy_node(node: u64) { gpu()?.streams.remove_node(node) }

    "cuGraphNodeGetType" 10000 Context graph_node_get_type(node: u64, to: Out<u32>) {
        to.set(kind(&gpu()?.streams.node(node)?.work))
    }

    "cuGraphGetNodes" 10000 Context graph_get_nodes(graph: u64, room: Out<u64>, count: Out<usize>) {
        let mut gpu = gpu()?;
        let nodes = gpu.streams.graph(graph)?.nodes().map(|(id, _)| id).collect();
        answer(&handles(&mut gpu, graph, nodes), room, count)
    }

    "cuGraphGetRootNodes" 10000 Context graph_get_root_nodes(graph: u64, room: Out<u64>, count: Out<usize>) {
        let mut gpu = gpu()?;
        let nodes = gpu.streams.graph(graph)?.roots().collect();
        answer(&handles(&mut gpu, graph, nodes), room, count)
    }

    "cuGraphGetEdges" 10000 Context graph_get_edges(
        graph: u64, from: Out<u64>, to: Out<u64>, count: Out<usize>,
    ) {
        edges(graph, from, to, count)
    }

    "cuGraphGetEdges_v2" 12030 Context graph_get_edges_v2(
        graph: u64, from: Out<u64>, to: Out<u64>, data: Out<u64>, count: Out<usize>,
    ) {
        // No dependency has edge data.
        if data.wanted() {
            (0..count.before()?).try_for_each(|i| data.set_at(i, 0))?;
        }
        edges(graph, from, to, count)
    }

    "cuGraphNodeGetDependencies" 10000 Context graph_node_get_dependencies(
        node: u64, room: Out<u64>, count: Out<usize>,
    ) {
        neighbours(node, true, room, count)
    }

    "cuGraphNodeGetDependencies_v2" 12030 Context graph_node_get_dependencies_v2(
        node: u64, room: Out<u64>, _data: Out<u64>, count: Out<usize>,
    ) {
        neighbours(node, true, room, count)
    }

    "cuGraphNodeGetDependentNodes" 10000 Context graph_node_get_dependent_nodes(
        node: u64, room: Out<u64>, count: Out<usize>,
    ) {
        neighbours(node, false, room, count)
    }

    "cuGraphNodeGetDependentNodes_v2" 12030 Context graph_node_get_dependent_nodes_v2(
        node: u64, room: Out<u64>, _data: Out<u64>, count: Out<usize>,
    ) {
        neighbours(node, false, room, count)
    }

    "cuGraphAddDependencies" 10000 Context graph_add_dependencies(
        graph: u64, from: In<u64>, to: In<u64>, count: usize,
    ) {
        connect(graph, from, to, count, true)
    }

    "cuGraphAddDependencies_v2" 12030 Context graph_add_dependencies_v2(
        graph: u64, from: In<u64>, to: In<u64>, _data: In<u64>, count: usize,
    ) {
        connect(graph, from, to, count, true)
    }

    "cuGraphRemoveDependencies" 10000 Context graph_remove_dependencies(
        graph: u64, from: In<u64>, to: In<u64>, count: usize,
    ) {
        connect(graph, from, to, count, false)
    }

    "cuGraphRemoveDependencies_v2" 12030 Context graph_remove_dependencies_v2(
        graph: u64, from: In<u64>, to: In<u64>, _data: In<u64>, count: usize,
    ) {
        connect(graph, from, to, count, false)
    }

    "cuGraphInstantiate_v2" 11000 Context graph_instantiate_v2(
        executable: Out<u64>, graph: u64, bad_node: Out<u64>, _log: usize, _log_bytes: usize,
    ) {
        bad_node.offer(0);
        instantiate(executable, graph, 0)
    }

    "cuGraphInstantiateWithFlags" 11040 Context graph_instantiate_with_flags(
        executable: Out<u64>, graph: u64, flags: u64,
    ) {
        instantiate(executable, graph, flags)
    }

    "cuGraphInstantiateWithParams" / "cuGraphInstantiateWithParams_ptsz" 12000 Context
    graph_instantiate_with_params(executable: Out<u64>, graph: u64, params: Out<[u64; 4]>) {
        let [flags, stream, ..] = params.before()?;
        instantiate(executable, graph, flags)?;
        params.set([flags, stream, 0, 0])
    }

    "cuGraphExecUpdate_v2" 12000 Context graph_exec_update(executable: u64, graph: u64, result: Out<[u64; 3]>) {
        // Results: 1 an error, 2 other topology, 3 a node of another type, 5 a change of fixed parameters.
        let mut gpu = gpu()?;
        let (number, node) = match gpu.streams.update(executable, graph)? {
            Ok(()) => (0, None),
            Err(UpdateError::Topology) => (2, None),
            Err(UpdateError::NodeType(node)) => (3, Some(node)),
            Err(UpdateError::Parameters(node)) => (5, Some(node)),
        };
        result.offer([number, node.map_or(0, |id| gpu.streams.nodes.handle(graph, id)), 0]);
        if number == 0 { Ok(()) } else { Err(Status::GRAPH_EXEC_UPDATE_FAILURE) }
    }

    "cuGraphNodeSetEnabled" 11060 Context graph_node_set_enabled(executable: u64, node: u64, enabled: u32) {
        let mut gpu = gpu()?;
        let node = gpu.streams.node_mut(Some(executable), node)?;
        if !matches!(node.work, Work::Launch(_) | Work::Copy(_) | Work::Fill(_)) {
            return Err(Status::INVALID_VALUE);
        }
        node.disabled = enabled == 0;
        Ok(())
    }

    "cuGraphNodeGetEnabled" 11060 Context graph_node_get_enabled(executable: u64, node: u64, to: Out<u32>) {
        to.set(u32::from(!gpu()?.streams.node_mut(Some(executable), node)?.disabled))
    }

    "cuGraphUpload" / "cuGraphUpload_ptsz" 11010 Context graph_upload(executable: u64, _stream: Stream) {
        gpu()?.streams.executables.get(executable).map(drop)
    }

    "cuGraphLaunch" / "cuGraphLaunch_ptsz" 10000 Context graph_launch(executable: u64, stream: Stream) {
        running::graphs::launch(executable, stream.handle())
    }

    "cuGraphExecDestroy" 10000 Context graph_exec_destroy(executable: u64) {
        running::graphs::destroy_executable(executable)
    }
}
