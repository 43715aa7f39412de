//! Every file of a crate's tests belongs to a test program: a file that no `mod` names would never run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use structure::tree::Tree;
use structure::{manifest, members};

/// The Rust files of a folder and of those below it.
fn sources(folder: &Path, into: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.insert(path.canonicalize().expect("the file is there"));
        }
    }
}

/// The roots of a crate's test programs, from its manifest: the named ones, or each file where Cargo looks for them.
fn programs(member: &Path) -> Vec<PathBuf> {
    let manifest = manifest(member);
    if manifest["package"].get("autotests").and_then(toml::Value::as_bool) == Some(false) {
        let named = manifest.get("test").and_then(toml::Value::as_array).into_iter().flatten();
        return named.map(|test| member.join(test["path"].as_str().expect("a path"))).collect();
    }
    let Ok(entries) = std::fs::read_dir(member.join("tests")) else { return Vec::new() };
    let found = entries.map(|entry| entry.expect("the folder can be read").path());
    found.filter(|path| path.extension().is_some_and(|e| e == "rs")).collect()
}

#[test]
fn every_file_of_the_tests_belongs_to_a_program() {
    let (mut files, mut lost) = (0, Vec::new());
    for member in members() {
        let roots = programs(&member);
        let (mut there, mut read) = (BTreeSet::new(), BTreeSet::new());
        sources(&member.join("tests"), &mut there);
        for root in &roots {
            let modules = Tree::read(root).modules.into_iter().map(|module| module.file);
            read.extend(modules.map(|file| file.canonicalize().expect("the file is there")));
        }
        files += there.len();
        lost.extend(there.difference(&read).map(|file| file.display().to_string()));
    }
    assert!(files > 130, "only {files} files were found");
    assert!(lost.is_empty(), "no program holds\n{}", lost.join("\n"));
}
