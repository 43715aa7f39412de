//! Graphs that programs hold: instantiation, updates, and graphs that a capture is building.
//!
//! [`crate::running::graphs`] launches them.

use super::graph::NodeId;
use super::stream::Streams;
use super::work::{Graph, Work};
use crate::error::{Outcome, Status};
use crate::tell::tell;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;

/// Flag of instantiated graphs: their allocations are freed when they are launched again.
pub(crate) const AUTO_FREE_ON_LAUNCH: u64 = 1;

/// Why an instantiated graph cannot be updated from another graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UpdateError {
    /// Other nodes or dependencies.
    Topology,
    /// A node of another type.
    NodeType(NodeId),
    /// A node with parameters that cannot be changed.
    Parameters(NodeId),
}

impl Streams {
    /// Instantiates a graph.
    ///
    /// # Errors
    /// When there is no such graph, or it has to be launched by device code.
    pub fn instantiate(&mut self, graph: u64, flags: u64) -> Outcome<u64> {
        const DEVICE_LAUNCH: u64 = 4;
        if flags & !0xF != 0 {
            return Err(Status::INVALID_VALUE);
        }
        if flags & DEVICE_LAUNCH != 0 {
            tell("graphs that device code launches are not supported");
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

    /// Updates the parameters of an instantiated graph from another graph of the same form.
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
        let (_, capture) = self.capture_of(stream)?.ok_or(Status::ILLEGAL_STATE)?;
        if let Some(known) = capture.into {
            return Ok(known);
        }
        let handle = self.graphs.insert(Graph::default());
        self.name_capture(stream, handle)?;
        Ok(handle)
    }

    /// Starts a capture, into the program's graph if it passes one, after nodes of it.
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
        self.start_capture(stream, into)
    }

    /// Ends a capture and returns the graph.
    ///
    /// # Errors
    /// As [`Streams::stop_capture`].
    pub fn end_capture(&mut self, stream: u64) -> Outcome<u64> {
        let captured = self.stop_capture(stream)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_need_the_same_form() {
        let mut streams = Streams::default();
        let graph = streams.graphs.insert(Graph::default());
        let a = streams.add_node(graph, &[], Work::Empty).unwrap();
        let b = streams.add_node(graph, &[a], Work::Record(7)).unwrap();
        let executable = streams.instantiate(graph, 0).unwrap();
        streams.set_node(None, b, Work::Record(8)).unwrap();
        assert_eq!(streams.set_node(None, b, Work::Empty), Err(Status::INVALID_VALUE));
        assert_eq!(streams.update(executable, graph), Ok(Ok(())));
        assert_eq!(streams.executables.get(executable).unwrap().node(1).unwrap().work, Work::Record(8));
        let other = streams.graphs.insert(Graph::default());
        let first = streams.add_node(other, &[], Work::Empty).unwrap();
        assert_eq!(streams.update(executable, other), Ok(Err(UpdateError::Topology)));
        assert_eq!(streams.add_node(other, &[a], Work::Empty), Err(Status::INVALID_VALUE));
        streams.add_node(other, &[first], Work::Empty).unwrap();
        assert_eq!(streams.update(executable, other), Ok(Err(UpdateError::NodeType(1))));
        streams.graphs.remove(graph).unwrap();
        streams.nodes.forget(graph);
        assert!(streams.node(a).is_err());
        assert!(streams.node(first).is_ok());
    }
}
