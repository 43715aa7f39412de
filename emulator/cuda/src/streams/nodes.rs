//! Graphs and their nodes by the handles that programs hold.
//!
//! A capture keeps its graph until it ends. When the program queries it earlier, it gets a handle, and
//! [`Streams::graph`] finds it in the capture.

use super::graph::NodeId;
use super::stream::Streams;
use super::work::{Graph, Node, Work, graph_of, graph_of_mut};
use crate::error::{Outcome, Status};

impl Streams {
    /// A graph, or the current state of a graph that a capture builds.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is no such graph.
    pub fn graph(&self, graph: u64) -> Outcome<&Graph> {
        if let Some(building) = self.building(graph) {
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
    /// As [`Streams::graph`].
    pub fn graph_mut(&mut self, graph: u64) -> Outcome<&mut Graph> {
        if self.building(graph).is_some() {
            return self.building_mut(graph).ok_or(Status::INVALID_VALUE);
        }
        if let Some((node, which)) = self.nodes.inside(graph) {
            return graph_of_mut(&mut self.node_mut(None, node)?.work, which).ok_or(Status::INVALID_VALUE);
        }
        self.graphs.get_mut(graph)
    }

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

    /// Adds a node with dependencies to a graph.
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

    /// A node's work, to change: in its graph, or in an instantiated copy of it.
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

    /// Replaces the work of a node by work of the same kind.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the node's work is of another kind.
    pub fn set_node(&mut self, executable: Option<u64>, node: u64, work: Work) -> Outcome {
        let found = self.node_mut(executable, node)?;
        if std::mem::discriminant(&found.work) != std::mem::discriminant(&work) {
            return Err(Status::INVALID_VALUE);
        }
        found.work = work;
        Ok(())
    }

    /// The handle of a graph inside a node.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the node has no such graph.
    pub fn graph_inside(&mut self, node: u64, which: usize) -> Outcome<u64> {
        graph_of(&self.node(node)?.work, which).ok_or(Status::INVALID_VALUE)?;
        let known = self.nodes.inside.iter().find(|(_, place)| **place == (node, which));
        if let Some((graph, _)) = known {
            return Ok(*graph);
        }
        // The entry only reserves the handle.
        let graph = self.graphs.insert(Graph::default());
        self.nodes.inside.insert(graph, (node, which));
        Ok(graph)
    }

    /// Removes a node from its graph.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn remove_node(&mut self, node: u64) -> Outcome {
        let (graph, id) = self.nodes.get(node)?;
        self.graph_mut(graph)?.remove(id)?;
        self.nodes.forget_one((graph, id));
        Ok(())
    }
}
