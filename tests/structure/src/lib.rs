//! Reads the sources of the workspace: [`tree`] finds the files of a crate, [`imports`] finds the imports
//! between them, and [`circles`] finds files that import each other in a loop.
//!
//! An import counts from the file that names an item to the file that defines it: re-exports are followed. A file that only
//! re-exports another does not import it. Tests inside a file (`#[cfg(test)]`) do not count.

pub mod circles;
pub mod imports;
pub mod tree;

use std::path::{Path, PathBuf};

/// The folder of the workspace.
#[must_use]
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}

/// The manifest in a folder.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn manifest(folder: &Path) -> toml::Table {
    let text = std::fs::read_to_string(folder.join("Cargo.toml")).expect("the manifest is there");
    text.parse().expect("the manifest is TOML")
}

/// The folders of the workspace's crates, from the members of its manifest.
///
/// # Panics
/// When the manifest cannot be read.
#[must_use]
pub fn members() -> Vec<PathBuf> {
    let root = workspace();
    let manifest = manifest(&root);
    let members = manifest["workspace"]["members"].as_array().expect("members are a list");
    members.iter().map(|m| root.join(m.as_str().expect("a member is a path"))).collect()
}
