//! Rows of a table before the names of their columns are looked up.

use crate::correlate::shape::Shape;
use std::collections::{BTreeMap, BTreeSet};

/// The launches that a figure stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    /// One launch, by its position among the launches of that kernel.
    Launch(usize),
    /// The mean of all launches of the kernel.
    Mean,
}

/// A row of a table before its names are looked up: values in base units.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub program: Option<String>,
    pub process: Option<String>,
    pub kernel: String,
    pub launch: Option<Which>,
    pub shape: Shape,
    /// Compute capability of the GPU, such as `7.5`.
    pub capability: Option<String>,
    pub figures: BTreeMap<String, f64>,
}

/// The rows of a table, and its columns that are not numbers and describe nothing known.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub rows: Vec<Row>,
    pub texts: BTreeSet<String>,
}
