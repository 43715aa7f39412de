//! Handles of graph nodes, which programs hold apart from their graph.
//!
//! An instantiated graph keeps the numbers of the graph that it was made of, so that a node's handle names its
//! copy there too.

use crate::error::{Outcome, Status};
use crate::gpu::Gpu;
use crate::graph::{Graph, Node, NodeId};
use crate::handles::{Handles, Kind};
use crate::work::Work;
use std::collections::BTreeMap;

/// The handles that have been given out.
#[derive(Debug)]
pub struct Nodes {
    handles: Handles<(u64, NodeId)>,
    known: BTreeMap<(u64, NodeId), u64>,
}

impl Default for Nodes {
    fn default() -> Nodes {
        Nodes { handles: Handles::new(Kind::Node), known: BTreeMap::new() }
    }
}

impl Nodes {
    /// The handle of a graph's node.
    pub fn handle(&mut self, graph: u64, node: NodeId) -> u64 {
        let handles = &mut self.handles;
        *self.known.entry((graph, node)).or_insert_with(|| handles.insert((graph, node)))
    }

    /// Graph and number of a node.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn get(&self, node: u64) -> Outcome<(u64, NodeId)> {
        self.handles.get(node).copied()
    }

    /// Ends the handles of a graph's nodes.
    pub fn forget(&mut self, graph: u64) {
        let gone: Vec<(u64, NodeId)> =
            self.known.range((graph, 0)..=(graph, NodeId::MAX)).map(|(k, _)| *k).collect();
        for place in gone {
            self.forget_one(place);
        }
    }

    fn forget_one(&mut self, place: (u64, NodeId)) {
        if let Some(handle) = self.known.remove(&place) {
            let _ = self.handles.remove(handle);
        }
    }

    /// Ends all handles.
    pub fn clear(&mut self) {
        self.handles.clear();
        self.known.clear();
    }
}

impl Gpu {
    /// Numbers of nodes that all belong to a graph.
    ///
    /// # Errors
    /// `INVALID_VALUE` when one does not.
    pub fn nodes_of(&self, graph: u64, nodes: &[u64]) -> Outcome<Vec<NodeId>> {
        let number = |&node: &u64| match self.nodes.get(node)? {
            (of, id) if of == graph => Ok(id),
            _ => Err(Status::INVALID_VALUE),
        };
        nodes.iter().map(number).collect()
    }

    /// Adds a node to a graph behind others.
    ///
    /// # Errors
    /// When there is no such graph, or the others belong to another.
    pub fn add_node(&mut self, graph: u64, needs: &[u64], work: Work) -> Outcome<u64> {
        let needs = self.nodes_of(graph, needs)?;
        let id = self.graph_mut(graph)?.add(work, needs)?;
        Ok(self.nodes.handle(graph, id))
    }

    /// A node of a graph.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn node(&self, node: u64) -> Outcome<&Node> {
        let (graph, id) = self.nodes.get(node)?;
        self.graph(graph)?.node(id)
    }

    /// A node's work, to change: in its graph, or in an instantiated graph that was made of it.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn node_mut(&mut self, executable: Option<u64>, node: u64) -> Outcome<&mut Node> {
        let (graph, id) = self.nodes.get(node)?;
        let found: &mut Graph = match executable {
            Some(executable) => self.executables.get_mut(executable)?,
            None => self.graph_mut(graph)?,
        };
        found.node_mut(id)
    }

    /// Gives a node other work of the same kind.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the node does something else.
    pub fn set_node(&mut self, executable: Option<u64>, node: u64, work: Work) -> Outcome {
        let found = self.node_mut(executable, node)?;
        if std::mem::discriminant(&found.work) != std::mem::discriminant(&work) {
            return Err(Status::INVALID_VALUE);
        }
        found.work = work;
        Ok(())
    }

    /// Takes a node out of its graph.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn remove_node(&mut self, node: u64) -> Outcome {
        let (graph, id) = self.nodes.get(node)?;
        self.graph_mut(graph)?.remove(id)?;
        self.nodes.forget_one((graph, id));
        Ok(())
    }

    /// Destroys a graph with its nodes.
    ///
    /// # Errors
    /// When there is no such graph.
    pub fn destroy_graph(&mut self, graph: u64) -> Outcome {
        self.graphs.remove(graph)?;
        self.nodes.forget(graph);
        Ok(())
    }
}
