//! Graphs of work: nodes and their dependencies.
//!
//! Nodes are numbered in the order in which they are added; [`Graph::order`] always selects the lowest number
//! whose dependencies are complete, so executions are reproducible.

use crate::error::{Outcome, Status};
use std::collections::{BTreeMap, BTreeSet};

/// Number of a node within its graph.
pub(crate) type NodeId = u32;

/// A node.
#[derive(Clone, PartialEq, Debug)]
pub struct Node<W> {
    /// Its work.
    pub work: W,
    /// Its dependencies.
    pub needs: BTreeSet<NodeId>,
    /// Whether it is skipped (`cudaGraphNodeSetEnabled`).
    pub disabled: bool,
}

/// Work with dependencies.
#[derive(Clone, PartialEq, Debug)]
pub struct Graph<W> {
    nodes: Vec<Option<Node<W>>>,
    /// Flags at its instantiation.
    pub flags: u64,
    /// Addresses of the values that its conditions get when it is launched.
    pub conditions: Vec<(u64, u32)>,
    /// Objects of the program that live as long as it does, and how often each is retained.
    pub objects: BTreeMap<u64, u32>,
}

impl<W> Default for Graph<W> {
    fn default() -> Graph<W> {
        Graph { nodes: Vec::new(), flags: 0, conditions: Vec::new(), objects: BTreeMap::new() }
    }
}

impl<W> Graph<W> {
    /// Adds a node.
    ///
    /// # Errors
    /// `INVALID_VALUE` when it needs a node that the graph does not have.
    pub fn add(&mut self, work: W, needs: impl IntoIterator<Item = NodeId>) -> Outcome<NodeId> {
        let needs: BTreeSet<NodeId> = needs.into_iter().collect();
        if needs.iter().any(|&n| self.node(n).is_err()) {
            return Err(Status::INVALID_VALUE);
        }
        self.nodes.push(Some(Node { work, needs, disabled: false }));
        Ok(self.nodes.len() as NodeId - 1)
    }

    /// A node.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is none of this number.
    pub fn node(&self, id: NodeId) -> Outcome<&Node<W>> {
        self.nodes.get(id as usize).and_then(Option::as_ref).ok_or(Status::INVALID_VALUE)
    }

    /// A node, to change.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is none of this number.
    pub fn node_mut(&mut self, id: NodeId) -> Outcome<&mut Node<W>> {
        self.nodes.get_mut(id as usize).and_then(Option::as_mut).ok_or(Status::INVALID_VALUE)
    }

    /// All nodes.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node<W>)> {
        self.nodes.iter().enumerate().filter_map(|(id, node)| node.as_ref().map(|node| (id as NodeId, node)))
    }

    /// Nodes that need nothing.
    pub fn roots(&self) -> impl Iterator<Item = NodeId> {
        self.nodes().filter(|(_, node)| node.needs.is_empty()).map(|(id, _)| id)
    }

    /// Nodes that nothing needs.
    #[must_use]
    pub fn leaves(&self) -> BTreeSet<NodeId> {
        let mut leaves: BTreeSet<NodeId> = self.nodes().map(|(id, _)| id).collect();
        for (_, node) in self.nodes() {
            leaves.retain(|id| !node.needs.contains(id));
        }
        leaves
    }

    /// Dependencies as pairs: first the dependency, then the dependent node.
    pub fn edges(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        self.nodes().flat_map(|(id, node)| node.needs.iter().map(move |&need| (need, id)))
    }

    /// Makes `to` need `from`.
    ///
    /// # Errors
    /// `INVALID_VALUE` for unknown nodes, or when `from` needs `to` itself.
    pub fn connect(&mut self, from: NodeId, to: NodeId) -> Outcome {
        self.node(from)?;
        if from == to || self.reaches(to, from) {
            return Err(Status::INVALID_VALUE);
        }
        self.node_mut(to)?.needs.insert(from);
        Ok(())
    }

    /// Whether `to` has to wait for `from`.
    fn reaches(&self, from: NodeId, to: NodeId) -> bool {
        let mut seen = BTreeSet::new();
        let mut stack = vec![to];
        while let Some(id) = stack.pop() {
            if id == from {
                return true;
            }
            if seen.insert(id)
                && let Ok(node) = self.node(id)
            {
                stack.extend(&node.needs);
            }
        }
        false
    }

    /// Removes a dependency.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is no such dependency.
    pub fn disconnect(&mut self, from: NodeId, to: NodeId) -> Outcome {
        if self.node_mut(to)?.needs.remove(&from) { Ok(()) } else { Err(Status::INVALID_VALUE) }
    }

    /// Removes a node with its dependencies.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is none of this number.
    pub fn remove(&mut self, id: NodeId) -> Outcome {
        self.node(id)?;
        self.nodes[id as usize] = None;
        for node in self.nodes.iter_mut().flatten() {
            node.needs.remove(&id);
        }
        Ok(())
    }

    /// The nodes in the order of execution.
    #[must_use]
    pub fn order(&self) -> Vec<NodeId> {
        let mut waiting: Vec<usize> =
            self.nodes.iter().map(|node| node.as_ref().map_or(0, |n| n.needs.len())).collect();
        let mut needed_by: Vec<Vec<NodeId>> = vec![Vec::new(); self.nodes.len()];
        for (from, to) in self.edges() {
            needed_by[from as usize].push(to);
        }
        let mut ready: BTreeSet<NodeId> = self.roots().collect();
        let mut order = Vec::new();
        while let Some(id) = ready.pop_first() {
            order.push(id);
            for &next in &needed_by[id as usize] {
                waiting[next as usize] -= 1;
                if waiting[next as usize] == 0 {
                    ready.insert(next);
                }
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::work::{Graph, Work};

    fn diamond() -> Graph {
        let mut graph = Graph::default();
        let top = graph.add(Work::Empty, []).unwrap();
        let left = graph.add(Work::Empty, [top]).unwrap();
        let right = graph.add(Work::Empty, [top]).unwrap();
        graph.add(Work::Empty, [right, left]).unwrap();
        graph
    }

    #[test]
    fn dependencies_come_first() {
        let mut graph = diamond();
        assert_eq!(graph.order(), [0, 1, 2, 3]);
        graph.connect(2, 1).unwrap();
        assert_eq!(graph.order(), [0, 2, 1, 3]);
        assert_eq!(graph.leaves(), BTreeSet::from([3]));
        assert_eq!(graph.edges().count(), 5);
    }

    #[test]
    fn cycles_and_strangers_are_refused() {
        let mut graph = diamond();
        assert_eq!(graph.connect(3, 0), Err(Status::INVALID_VALUE));
        assert_eq!(graph.connect(1, 1), Err(Status::INVALID_VALUE));
        assert_eq!(graph.add(Work::Empty, [9]), Err(Status::INVALID_VALUE));
        graph.remove(1).unwrap();
        assert_eq!(graph.order(), [0, 2, 3]);
        assert_eq!(graph.connect(1, 3), Err(Status::INVALID_VALUE));
    }
}
