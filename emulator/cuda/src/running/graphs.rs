//! Launches and destroys graphs.

use super::perform::{perform, submit};
use crate::error::{Outcome, Status};
use crate::gpu::{Gpu, gpu};
use crate::memory::Purpose;
use crate::memory::copy::Fill;
use crate::streams::graphs::AUTO_FREE_ON_LAUNCH;
use crate::streams::node::Shown;
use crate::streams::work::{Graph, HostCall, Work, graph_of};

/// Calls the destructors of objects without references; the GPU's lock must be free.
///
/// # Errors
/// None that is the program's fault.
pub(crate) fn call_all(ended: Vec<HostCall>) -> Outcome {
    ended.into_iter().try_for_each(|call| perform(&Work::Host(call)))
}

impl Gpu {
    /// Makes a condition of a graph, and returns its handle: the address of its value. With a value for launches, it
    /// gets that whenever the graph is launched.
    ///
    /// # Errors
    /// When there is no such graph, or no room.
    pub fn create_condition(&mut self, graph: u64, at_launch: Option<u32>) -> Outcome<u64> {
        self.streams.graph(graph)?;
        let condition = self.memory.allocate("graph condition", 4, Purpose::Variable, 0)?;
        if let Some(value) = at_launch {
            self.streams.graph_mut(graph)?.conditions.push((condition, value));
        }
        Ok(condition)
    }

    /// Address of pointers to the parameters of a node's kernel; valid until the next call for it, or until
    /// the node is destroyed.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the node launches no kernel.
    pub fn show_params(&mut self, node: u64) -> Outcome<usize> {
        let Work::Launch(launch) = &self.streams.node(node)?.work else { return Err(Status::INVALID_VALUE) };
        let params: Box<[u8]> = launch.params.clone().into();
        let kernel = &self.modules.kernels.get(launch.kernel)?.lowered.kernel;
        let start = params.as_ptr() as usize;
        let pointers: Box<[usize]> = kernel.params.iter().map(|p| start + p.offset as usize).collect();
        let at = pointers.as_ptr() as usize;
        self.streams.nodes.shown.insert(node, Shown { _params: params, _pointers: pointers });
        Ok(at)
    }

    /// Gives the conditions of a graph, and of the graphs inside it, their values for a launch.
    fn set_conditions(&mut self, graph: &Graph) -> Outcome {
        for &(condition, value) in &graph.conditions {
            self.memory.fill(&Fill {
                address: condition,
                pitch: 4,
                value,
                element: 4,
                width: 1,
                height: 1,
            })?;
        }
        for (_, node) in graph.nodes() {
            for which in 0.. {
                let Some(inner) = graph_of(&node.work, which) else { break };
                self.set_conditions(inner)?;
            }
        }
        Ok(())
    }
}

/// Destroys a graph with its nodes; calls the destructors of user objects that it retained.
///
/// # Errors
/// When there is no such graph, or it belongs to a node, which destroys it.
pub(crate) fn destroy(graph: u64) -> Outcome {
    let ended = {
        let mut gpu = gpu()?;
        if gpu.streams.nodes.inside(graph).is_some() {
            return Err(Status::INVALID_VALUE);
        }
        let gone = gpu.streams.graphs.remove(graph)?;
        gpu.streams.nodes.forget(graph);
        gpu.streams.release_all(&gone)
    };
    call_all(ended)
}

/// Destroys an instantiated graph likewise.
///
/// # Errors
/// When there is no such graph.
pub(crate) fn destroy_executable(executable: u64) -> Outcome {
    let ended = {
        let mut gpu = gpu()?;
        let gone = gpu.streams.executables.remove(executable)?;
        gpu.streams.release_all(&gone)
    };
    call_all(ended)
}

/// Launches an instantiated graph in a stream.
///
/// # Errors
/// When there is no such graph, or its work cannot be done.
pub(crate) fn launch(executable: u64, stream: u64) -> Outcome {
    let graph = {
        let mut gpu = gpu()?;
        let found = gpu.streams.executables.get(executable)?;
        let (graph, auto_free) = (found.clone(), found.flags & AUTO_FREE_ON_LAUNCH != 0);
        gpu.set_conditions(&graph)?;
        for (_, node) in graph.nodes() {
            if let Work::Allocate { address, .. } = node.work
                && auto_free
                && gpu.memory.region(address).is_some()
            {
                gpu.memory.set_aside(address)?;
            }
        }
        graph
    };
    submit(stream, Work::Child(Box::new(graph)))
}
