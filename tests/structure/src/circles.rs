//! Files that import each other in a loop.

use crate::imports::Imports;
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The circles among some imports, each with its files in order.
#[must_use]
pub fn circles(imports: &Imports) -> Vec<BTreeSet<PathBuf>> {
    let graph: DiGraphMap<&Path, ()> = imports.keys().map(|(a, b)| (a.as_path(), b.as_path())).collect();
    let groups = tarjan_scc(&graph).into_iter().filter(|group| group.len() > 1);
    let mut found: Vec<BTreeSet<PathBuf>> =
        groups.map(|group| group.into_iter().map(Path::to_path_buf).collect()).collect();
    found.sort();
    found
}

/// The imports within a circle, one a line, with paths from `root`.
#[must_use]
pub fn describe(circle: &BTreeSet<PathBuf>, imports: &Imports, root: &Path) -> String {
    let short = |path: &PathBuf| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let mut text = String::new();
    for ((from, to), names) in imports {
        if circle.contains(from) && circle.contains(to) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let _ = writeln!(text, "  {} imports {} ({})", short(from), short(to), names.join(", "));
        }
    }
    text
}
