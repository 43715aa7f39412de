//! Handles of graph nodes, which programs hold apart from their graph.
//!
//! An instantiated graph keeps the numbers of its original, so that a node's handle names its copy there too.

use super::graph::NodeId;
use crate::error::Outcome;
use crate::handles::{Handles, Kind};
use std::collections::BTreeMap;

/// All handles in use.
#[derive(Debug)]
pub struct Nodes {
    handles: Handles<(u64, NodeId)>,
    known: BTreeMap<(u64, NodeId), u64>,
    /// Handles of the graphs inside nodes: the node, and which of its graphs.
    pub(super) inside: BTreeMap<u64, (u64, usize)>,
    /// Kernel parameters that programs have queried; valid as long as the node exists.
    pub(crate) shown: BTreeMap<u64, Shown>,
    /// Handles of the graphs of conditional nodes; valid as long.
    shown_graphs: BTreeMap<u64, Box<[u64]>>,
}

/// A kernel's parameters, and pointers to them.
#[derive(Debug)]
pub(crate) struct Shown {
    /// Kept for the pointers into it.
    pub(crate) _params: Box<[u8]>,
    /// Kept since programs dereference them.
    pub(crate) _pointers: Box<[usize]>,
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

    pub(super) fn forget_one(&mut self, place: (u64, NodeId)) {
        if let Some(handle) = self.known.remove(&place) {
            let _ = self.handles.remove(handle);
            self.shown.remove(&handle);
            self.shown_graphs.remove(&handle);
            self.inside.retain(|_, (node, _)| *node != handle);
        }
    }

    /// Stores the handles of a node's graphs; valid for programs as long as the node exists.
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
