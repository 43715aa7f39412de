//! No two files of a crate import each other, directly or through others, and no two of its top-level
//! modules.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use structure::circles::{circles, describe};
use structure::imports::{Imports, between_rooms, imports};
use structure::tree::Tree;
use structure::{members, workspace};

/// The roots of a crate: its library, and its binaries.
fn roots(member: &Path) -> Vec<PathBuf> {
    let mut roots = vec![member.join("src/lib.rs"), member.join("src/main.rs")];
    if let Ok(entries) = std::fs::read_dir(member.join("src/bin")) {
        for entry in entries {
            let path = entry.expect("the folder can be read").path();
            roots.push(if path.is_dir() { path.join("main.rs") } else { path });
        }
    }
    roots.retain(|r| r.exists());
    roots
}

/// The circles among some imports, in words; empty when there are none.
fn described(imports: &Imports) -> String {
    let mut text = String::new();
    for circle in circles(imports) {
        let imports = describe(&circle, imports, &workspace());
        let _ = writeln!(text, "{} import each other:\n{imports}", circle.len());
    }
    text
}

#[test]
fn files_do_not_import_each_other() {
    let (mut files, mut found) = (0, String::new());
    for crate_root in members().iter().flat_map(|m| roots(m)) {
        let tree = Tree::read(&crate_root);
        files += tree.modules.len();
        found += &described(&imports(&tree));
    }
    assert!(files > 300, "only {files} modules were read");
    assert!(found.is_empty(), "{found}");
}

#[test]
fn rooms_do_not_import_each_other() {
    let mut found = String::new();
    for crate_root in members().iter().flat_map(|m| roots(m)) {
        let imports = imports(&Tree::read(&crate_root));
        found += &described(&between_rooms(&imports, &crate_root));
    }
    assert!(found.is_empty(), "{found}");
}
