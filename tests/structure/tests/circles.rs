//! No two files of a crate import each other, directly or through others, and no two of its rooms.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use structure::circles::{circles, describe};
use structure::imports::{Imports, between_rooms, imports};
use structure::tree::Tree;
use structure::{members, workspace};

/// Circles that are left. This list may only shrink: a circle that is opened is taken off, none is added.
const KNOWN_FILES: &[&[&str]] = &[
    &[
        "tools/src/bin/trace/dump.rs",
        "tools/src/bin/trace/info.rs",
        "tools/src/bin/trace/main.rs",
        "tools/src/bin/trace/verify.rs",
    ],
    &[
        "tools/src/bin/demo/console.rs",
        "tools/src/bin/demo/main.rs",
        "tools/src/bin/demo/measure.rs",
        "tools/src/bin/demo/page/method.rs",
        "tools/src/bin/demo/page/mod.rs",
        "tools/src/bin/demo/page/overview.rs",
        "tools/src/bin/demo/page/ran.rs",
        "tools/src/bin/demo/page/redundancy.rs",
        "tools/src/bin/demo/record.rs",
        "tools/src/bin/demo/workloads.rs",
    ],
    &[
        "tests/src/coverage/arith.rs",
        "tests/src/coverage/matrix.rs",
        "tests/src/coverage/memory.rs",
        "tests/src/coverage/mod.rs",
        "tests/src/coverage/sync.rs",
        "tests/src/coverage/texture.rs",
    ],
    &[
        "tests/src/oracle/block.rs",
        "tests/src/oracle/layout.rs",
        "tests/src/oracle/matrix.rs",
        "tests/src/oracle/memory.rs",
        "tests/src/oracle/mod.rs",
        "tests/src/oracle/thread.rs",
        "tests/src/oracle/transfer.rs",
        "tests/src/oracle/warp.rs",
    ],
    &["tests/src/oracle/convert.rs", "tests/src/oracle/half.rs", "tests/src/oracle/pure.rs"],
    &[
        "tests/src/oracle/generate/carried.rs",
        "tests/src/oracle/generate/code.rs",
        "tests/src/oracle/generate/float.rs",
        "tests/src/oracle/generate/functions.rs",
        "tests/src/oracle/generate/integer.rs",
        "tests/src/oracle/generate/matrix.rs",
        "tests/src/oracle/generate/memory.rs",
        "tests/src/oracle/generate/plan.rs",
        "tests/src/oracle/generate/print.rs",
    ],
];
/// The same of rooms: the files and folders right below the root of a crate.
const KNOWN_ROOMS: &[&[&str]] = &[];

/// The roots of a crate: its library, and its binaries.
fn roots(member: &std::path::Path) -> Vec<PathBuf> {
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

/// What is wrong with the circles among some imports: new ones, and known ones that are no longer what they were.
fn problems(found: &[(BTreeSet<String>, String)], known: &[&[&str]]) -> String {
    let mut problems = String::new();
    for (names, description) in found {
        if !known.iter().any(|k| names.iter().all(|n| k.contains(&n.as_str()))) {
            let _ = writeln!(problems, "{} import each other:\n{description}", names.len());
        }
    }
    for known in known {
        let known: BTreeSet<String> = known.iter().map(|&f| f.to_owned()).collect();
        if !found.iter().any(|(names, _)| *names == known) {
            let _ = writeln!(
                problems,
                "this known circle is gone or smaller; list what is left of it: {known:?}"
            );
        }
    }
    problems
}

fn named(imports: &Imports) -> Vec<(BTreeSet<String>, String)> {
    let root = workspace();
    let short = |f: &PathBuf| f.strip_prefix(&root).unwrap_or(f).display().to_string();
    let described = |c: &BTreeSet<PathBuf>| (c.iter().map(short).collect(), describe(c, imports, &root));
    circles(imports).iter().map(described).collect()
}

#[test]
fn files_do_not_import_each_other() {
    let (mut files, mut found) = (0, Vec::new());
    for crate_root in members().iter().flat_map(|m| roots(m)) {
        let tree = Tree::read(&crate_root);
        files += tree.modules.len();
        found.extend(named(&imports(&tree)));
    }
    assert!(files > 300, "only {files} modules were read");
    let problems = problems(&found, KNOWN_FILES);
    assert!(problems.is_empty(), "{problems}");
}

#[test]
fn rooms_do_not_import_each_other() {
    let mut found = Vec::new();
    for crate_root in members().iter().flat_map(|m| roots(m)) {
        let imports = imports(&Tree::read(&crate_root));
        found.extend(named(&between_rooms(&imports, &crate_root)));
    }
    let problems = problems(&found, KNOWN_ROOMS);
    assert!(problems.is_empty(), "{problems}");
}
