//! Graphs that programs hold: instantiation, updates, launches, and graphs that a capture is building.
//!
//! A capture keeps its graph until it ends; when the program asks for it before, it gets a handle, and
//! [`Gpu::graph`] finds it in the capture.

use crate::error::{Outcome, Status};
use crate::gpu::{Gpu, gpu, submit};
use crate::graph::{Graph, NodeId};
use crate::memory::Purpose;
use crate::node::{graph_of, graph_of_mut};
use crate::user_object::call_all;
use crate::work::{Fill, Work};
use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;

/// Flag of instantiated graphs: what they have allocated is freed when they are launched again.
pub const AUTO_FREE_ON_LAUNCH: u64 = 1;

/// Why an instantiated graph cannot take over another graph's parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UpdateError {
    /// Other nodes or dependencies.
    Topology,
    /// A node of another type.
    NodeType(NodeId),
    /// A node with parameters that cannot be changed.
    Parameters(NodeId),
}

impl Gpu {
    /// A graph; one that a capture is building as it is by now.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is no such graph.
    pub fn graph(&self, graph: u64) -> Outcome<&Graph> {
        if let Some(building) = self.streams.building(graph) {
            return Ok(building);
        }
        if let Some((node, which)) = self.nodes.inside(graph) {
            return graph_of(&self.node(node)?.work, which).ok_or(Status::INVALID_VALUE);
        }
        self.graphs.get(graph)
    }

    /// The same, to change.
    ///
    /// # Errors
    /// As [`Gpu::graph`].
    pub fn graph_mut(&mut self, graph: u64) -> Outcome<&mut Graph> {
        if self.streams.building(graph).is_some() {
            return self.streams.building_mut(graph).ok_or(Status::INVALID_VALUE);
        }
        if let Some((node, which)) = self.nodes.inside(graph) {
            return graph_of_mut(&mut self.node_mut(None, node)?.work, which).ok_or(Status::INVALID_VALUE);
        }
        self.graphs.get_mut(graph)
    }

    /// Makes a graph that can be launched.
    ///
    /// # Errors
    /// When there is no such graph, or it has to be launched by device code.
    pub fn instantiate(&mut self, graph: u64, flags: u64) -> Outcome<u64> {
        const DEVICE_LAUNCH: u64 = 4;
        if flags & !0xF != 0 {
            return Err(Status::INVALID_VALUE);
        }
        if flags & DEVICE_LAUNCH != 0 {
            crate::gpu::tell("graphs that device code launches are not supported");
            return Err(Status::NOT_SUPPORTED);
        }
        let mut graph = self.graph(graph)?.clone();
        graph.flags = flags;
        self.retain_all(&graph);
        Ok(self.executables.insert(graph))
    }

    /// Copies a graph.
    ///
    /// # Errors
    /// When there is no such graph.
    pub fn clone_graph(&mut self, graph: u64) -> Outcome<u64> {
        let copy = self.graph(graph)?.clone();
        self.retain_all(&copy);
        Ok(self.graphs.insert(copy))
    }

    /// Makes a condition of a graph, and returns its handle: the address of its value. With a value for launches, it
    /// gets that whenever the graph is launched.
    ///
    /// # Errors
    /// When there is no such graph, or no room.
    pub fn create_condition(&mut self, graph: u64, at_launch: Option<u32>) -> Outcome<u64> {
        self.graph(graph)?;
        let condition = self.memory.allocate("graph condition", 4, Purpose::Variable, 0)?;
        if let Some(value) = at_launch {
            self.graph_mut(graph)?.conditions.push((condition, value));
        }
        Ok(condition)
    }

    /// Has an instantiated graph take over the parameters of another graph of the same form.
    ///
    /// # Errors
    /// When one of them does not exist; in the value, when their forms differ.
    pub fn update(&mut self, executable: u64, graph: u64) -> Outcome<Result<(), UpdateError>> {
        let mut graph = self.graph(graph)?.clone();
        let executable = self.executables.get_mut(executable)?;
        let comparison = compare(executable, &graph);
        if comparison.is_ok() {
            graph.flags = executable.flags;
            let disabled: Vec<bool> = executable.nodes().map(|(_, n)| n.disabled).collect();
            let numbers: Vec<NodeId> = graph.nodes().map(|(id, _)| id).collect();
            for (number, disabled) in numbers.into_iter().zip(disabled) {
                graph.node_mut(number)?.disabled = disabled;
            }
            *executable = graph;
        }
        Ok(comparison)
    }

    /// The handle of the graph that a stream's capture is building.
    ///
    /// # Errors
    /// When the stream does not exist or does not capture.
    pub fn graph_of_capture(&mut self, stream: u64) -> Outcome<u64> {
        let (_, capture) = self.streams.capture_of(stream)?.ok_or(Status::ILLEGAL_STATE)?;
        if let Some(known) = capture.into {
            return Ok(known);
        }
        let handle = self.graphs.insert(Graph::default());
        self.streams.name_capture(stream, handle)?;
        Ok(handle)
    }

    /// Starts a capture, into a graph of the program's if it gives one, behind nodes of it.
    ///
    /// # Errors
    /// When the stream cannot capture, or graph or nodes do not exist.
    pub fn begin_capture(&mut self, stream: u64, into: Option<(u64, &[u64])>) -> Outcome {
        let into = match into {
            None => None,
            Some((graph, nodes)) => {
                Some((graph, self.graph(graph)?.clone(), self.nodes_of(graph, nodes)?.into_iter().collect()))
            }
        };
        self.streams.begin_capture(stream, into)
    }

    /// Ends a capture and returns the graph.
    ///
    /// # Errors
    /// As [`crate::stream::Streams::end_capture`].
    pub fn end_capture(&mut self, stream: u64) -> Outcome<u64> {
        let captured = self.streams.end_capture(stream)?;
        match captured.into {
            Some(handle) => {
                *self.graph_mut(handle)? = captured.graph;
                Ok(handle)
            }
            None => Ok(self.graphs.insert(captured.graph)),
        }
    }
}

fn compare(old: &Graph, new: &Graph) -> Result<(), UpdateError> {
    if old.nodes().count() != new.nodes().count() {
        return Err(UpdateError::Topology);
    }
    // Nodes correspond in the order in which they were added.
    let place = |graph: &Graph| -> BTreeMap<NodeId, usize> {
        graph.nodes().enumerate().map(|(at, (id, _))| (id, at)).collect()
    };
    let (old_places, new_places) = (place(old), place(new));
    for ((_, a), (id, b)) in old.nodes().zip(new.nodes()) {
        if discriminant(&a.work) != discriminant(&b.work) {
            return Err(UpdateError::NodeType(id));
        }
        let old_needs: BTreeSet<_> = a.needs.iter().map(|n| old_places.get(n)).collect();
        let new_needs: BTreeSet<_> = b.needs.iter().map(|n| new_places.get(n)).collect();
        if old_needs != new_needs {
            return Err(UpdateError::Topology);
        }
        let fixed = matches!(a.work, Work::Allocate { .. } | Work::Free(_));
        if fixed && a.work != b.work {
            return Err(UpdateError::Parameters(id));
        }
    }
    Ok(())
}

impl Gpu {
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

/// Destroys a graph with its nodes; objects of the program that go with it are told.
///
/// # Errors
/// When there is no such graph, or it lies in a node, which it goes with.
pub fn destroy(graph: u64) -> Outcome {
    let ended = {
        let mut gpu = gpu()?;
        if gpu.nodes.inside(graph).is_some() {
            return Err(Status::INVALID_VALUE);
        }
        let gone = gpu.graphs.remove(graph)?;
        gpu.nodes.forget(graph);
        gpu.release_all(&gone)
    };
    call_all(ended)
}

/// Destroys an instantiated graph likewise.
///
/// # Errors
/// When there is no such graph.
pub fn destroy_executable(executable: u64) -> Outcome {
    let ended = {
        let mut gpu = gpu()?;
        let gone = gpu.executables.remove(executable)?;
        gpu.release_all(&gone)
    };
    call_all(ended)
}

/// Launches an instantiated graph in a stream.
///
/// # Errors
/// When there is no such graph, or its work cannot be done.
pub fn launch(executable: u64, stream: u64) -> Outcome {
    let graph = {
        let mut gpu = gpu()?;
        let found = gpu.executables.get(executable)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use emulator::exec::Options;

    #[test]
    fn updates_need_the_same_form() {
        let mut gpu = Gpu::new(&Device::all()[0], Options::default()).expect("there are addresses");
        let graph = gpu.graphs.insert(Graph::default());
        let a = gpu.add_node(graph, &[], Work::Empty).unwrap();
        let b = gpu.add_node(graph, &[a], Work::Record(7)).unwrap();
        let executable = gpu.instantiate(graph, 0).unwrap();
        gpu.set_node(None, b, Work::Record(8)).unwrap();
        assert_eq!(gpu.set_node(None, b, Work::Empty), Err(Status::INVALID_VALUE));
        assert_eq!(gpu.update(executable, graph), Ok(Ok(())));
        assert_eq!(gpu.executables.get(executable).unwrap().node(1).unwrap().work, Work::Record(8));
        let other = gpu.graphs.insert(Graph::default());
        let first = gpu.add_node(other, &[], Work::Empty).unwrap();
        assert_eq!(gpu.update(executable, other), Ok(Err(UpdateError::Topology)));
        assert_eq!(gpu.add_node(other, &[a], Work::Empty), Err(Status::INVALID_VALUE));
        gpu.add_node(other, &[first], Work::Empty).unwrap();
        assert_eq!(gpu.update(executable, other), Ok(Err(UpdateError::NodeType(1))));
        gpu.graphs.remove(graph).unwrap();
        gpu.nodes.forget(graph);
        assert!(gpu.node(a).is_err());
        assert!(gpu.node(first).is_ok());
    }
}
