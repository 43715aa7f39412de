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
    /// Handles of the graphs inside nodes: the node, and which of its graphs.
    inside: BTreeMap<u64, (u64, usize)>,
    /// Kernel parameters that programs have been shown, which may be read as long as the node is.
    shown: BTreeMap<u64, Shown>,
    /// Handles of the graphs of conditional nodes, which may be read as long.
    shown_graphs: BTreeMap<u64, Box<[u64]>>,
}

/// A kernel's parameters, and pointers to them.
#[derive(Debug)]
struct Shown {
    /// Kept for the pointers into it.
    _params: Box<[u8]>,
    /// Kept since programs follow them.
    _pointers: Box<[usize]>,
}

impl Default for Nodes {
    fn default() -> Nodes {
        Nodes {
            handles: Handles::new(Kind::Node),
            known: BTreeMap::new(),
            inside: BTreeMap::new(),
            shown: BTreeMap::new(),
            shown_graphs: BTreeMap::new(),
        }
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
            self.shown.remove(&handle);
            self.shown_graphs.remove(&handle);
            self.inside.retain(|_, (node, _)| *node != handle);
        }
    }

    /// Keeps the handles of a node's graphs where programs may read them as long as the node is.
    pub fn show_graphs(&mut self, node: u64, graphs: Vec<u64>) -> *const u64 {
        let graphs = graphs.into_boxed_slice();
        let at = graphs.as_ptr();
        // The slice stays in place when the map moves its box.
        self.shown_graphs.insert(node, graphs);
        at
    }

    /// The node that a graph lies in, and which of its graphs it is.
    #[must_use]
    pub fn inside(&self, graph: u64) -> Option<(u64, usize)> {
        self.inside.get(&graph).copied()
    }

    /// Ends all handles.
    pub fn clear(&mut self) {
        self.handles.clear();
        self.known.clear();
        self.inside.clear();
        self.shown.clear();
        self.shown_graphs.clear();
    }
}

/// The graphs inside a node by number.
pub(crate) fn graph_of(work: &Work, which: usize) -> Option<&Graph> {
    match work {
        Work::Child(child) => (which == 0).then_some(child),
        Work::Conditional(conditional) => conditional.bodies.get(which),
        _ => None,
    }
}

/// The same, to change.
pub(crate) fn graph_of_mut(work: &mut Work, which: usize) -> Option<&mut Graph> {
    match work {
        Work::Child(child) => (which == 0).then_some(child),
        Work::Conditional(conditional) => conditional.bodies.get_mut(which),
        _ => None,
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
        // The handle stands for nothing else.
        let graph = self.graphs.insert(Graph::default());
        self.nodes.inside.insert(graph, (node, which));
        Ok(graph)
    }

    /// Address of pointers to the parameters of a node's kernel; valid until it is asked for again, or the node is no
    /// more.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the node launches no kernel.
    pub fn show_params(&mut self, node: u64) -> Outcome<usize> {
        let Work::Launch(launch) = &self.node(node)?.work else { return Err(Status::INVALID_VALUE) };
        let params: Box<[u8]> = launch.params.clone().into();
        let kernel = &self.kernels.get(launch.kernel)?.lowered.kernel;
        let start = params.as_ptr() as usize;
        let pointers: Box<[usize]> = kernel.params.iter().map(|p| start + p.offset as usize).collect();
        let at = pointers.as_ptr() as usize;
        self.nodes.shown.insert(node, Shown { _params: params, _pointers: pointers });
        Ok(at)
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
}
