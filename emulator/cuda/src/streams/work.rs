//! Work of a stream or a graph: kernels, copies, fills, calls of the host.
//!
//! Work is data. A stream that captures keeps it as a node of a graph; otherwise it is executed at once:
//! programs cannot distinguish completion in the order of submission from asynchronous execution.

use super::graph;
use crate::memory::copy::{Copy, Fill};
use std::ffi::c_void;

/// A graph of work.
pub(crate) type Graph = graph::Graph<Work>;
/// A node of a graph.
pub(crate) type Node = graph::Node<Work>;

/// A kernel with the arguments of its launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    /// Handle of the kernel.
    pub kernel: u64,
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub shared_bytes: u32,
    /// The parameters, each at its offset.
    pub params: Vec<u8>,
    /// Attributes of the launch.
    pub attributes: LaunchAttributes,
}

/// Attributes of a launch, as far as they matter here.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LaunchAttributes {
    /// Whether all blocks have to be resident at once.
    pub cooperative: bool,
    /// Preferred shared memory in percent of the SM's largest; none without a preference.
    pub carveout: Option<u8>,
}

/// A function of the program that is called in the order of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostCall {
    /// The function; the kind says how it is called.
    pub function: HostFunction,
    /// Its argument.
    pub user_data: *mut c_void,
}

// SAFETY: the pointer is the program's; it is passed back to the program, which allows a call from any
// thread, and is never dereferenced here.
unsafe impl Send for HostCall {}
// SAFETY: see above.
unsafe impl Sync for HostCall {}

/// The two kinds of host functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostFunction {
    /// Of `LaunchHostFunc` and graph nodes: address of a `extern "C" fn(*mut c_void)`.
    Plain(usize),
    /// Of `StreamAddCallback`: address of a `extern "C" fn(u64, u32, *mut c_void)`, and the stream.
    Callback(usize, u64),
}

/// How a condition's value selects a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The first graph when it is not zero, else the second, if there is one.
    If,
    /// The first graph as long as it is not zero.
    While,
    /// The graph of this number, if there is one.
    Switch,
}

/// Graphs of which at most one is executed, by the condition that device code has set.
#[derive(Clone, PartialEq, Debug)]
pub struct Conditional {
    /// Address of the condition's value, 4 bytes, which is its handle too.
    pub condition: u64,
    /// How it selects.
    pub choice: Choice,
    /// The graphs.
    pub bodies: Vec<Graph>,
}

/// A piece of work.
#[derive(Clone, PartialEq, Debug)]
pub enum Work {
    /// Nothing; a point for dependencies.
    Empty,
    /// A kernel.
    Launch(Launch),
    /// A copy.
    Copy(Copy),
    /// A fill.
    Fill(Fill),
    /// A call of the host program.
    Host(HostCall),
    /// Marks an event as reached.
    Record(u64),
    /// Waits for an event.
    Wait(u64),
    /// Backs reserved addresses with memory (a graph's allocation node).
    Allocate {
        /// First byte, reserved when the node was made.
        address: u64,
        /// Length.
        bytes: u64,
    },
    /// Frees such memory.
    Free(u64),
    /// All of another graph.
    Child(Box<Graph>),
    /// Graphs that a value in memory chooses from.
    Conditional(Box<Conditional>),
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
