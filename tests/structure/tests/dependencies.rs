//! Every dependency of a manifest is named in the sources that it is for.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use structure::{manifest, members, workspace};

/// Adds all names in the Rust files of a folder or of a file, and in files elsewhere that are modules of it
/// (`#[path = "..."]`); comments do not count.
fn names(place: &Path, into: &mut BTreeSet<String>) {
    if let Ok(entries) = std::fs::read_dir(place) {
        for entry in entries {
            names(&entry.expect("the folder can be read").path(), into);
        }
    } else if place.extension().is_some_and(|e| e == "rs")
        && let Ok(text) = std::fs::read_to_string(place)
    {
        let tokens = text.parse().unwrap_or_else(|e| panic!("{}: {e}", place.display()));
        add(tokens, into);
        for rest in text.split("#[path = \"").skip(1) {
            let elsewhere = rest.split('"').next().unwrap_or_default();
            names(&place.with_file_name(elsewhere), into);
        }
    }
}

fn add(tokens: TokenStream, into: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => drop(into.insert(ident.to_string())),
            TokenTree::Group(group) => add(group.stream(), into),
            _ => {}
        }
    }
}

/// The dependencies in a table of a manifest that no file in these places names.
fn unused(member: &Path, manifest: &toml::Table, table: &str, places: &[&str]) -> Vec<String> {
    let Some(dependencies) = manifest.get(table).and_then(toml::Value::as_table) else { return Vec::new() };
    let mut known = BTreeSet::new();
    for place in places {
        names(&member.join(place), &mut known);
    }
    dependencies.keys().filter(|d| !known.contains(&d.replace('-', "_"))).cloned().collect()
}

#[test]
fn dependencies_are_used() {
    let (root, mut problems, mut checked) = (workspace(), String::new(), 0);
    for member in members() {
        let manifest = manifest(&member);
        let tables = [
            ("dependencies", &["src"][..]),
            ("build-dependencies", &["build.rs"]),
            ("dev-dependencies", &["src", "tests", "benches", "examples"]),
        ];
        for (table, places) in tables {
            checked += manifest.get(table).and_then(toml::Value::as_table).map_or(0, toml::Table::len);
            for dependency in unused(&member, &manifest, table, places) {
                let member = member.strip_prefix(&root).unwrap_or(&member).display();
                let _ = writeln!(problems, "{member}: {dependency} of [{table}] is not used");
            }
        }
    }
    assert!(checked > 100, "only {checked} dependencies were looked at");
    assert!(problems.is_empty(), "{problems}");
}
