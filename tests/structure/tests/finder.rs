//! The finder of circles on a crate of a few lines.

use std::path::Path;
use structure::circles::circles;
use structure::imports::imports;
use structure::tree::Tree;

/// The circles of a crate with these files, as names of files.
fn found(name: &str, files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    for (file, text) in files {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().expect("a file lies in a folder"))
            .expect("the folder can be made");
        std::fs::write(path, text).expect("the file can be written");
    }
    let tree = Tree::read(&folder.join("lib.rs"));
    let circles = circles(&imports(&tree));
    let name = |f: &std::path::PathBuf| f.strip_prefix(&folder).expect("it lies there").display().to_string();
    circles.iter().map(|c| c.iter().map(name).collect()).collect()
}

#[test]
fn a_circle_through_a_reexport_and_a_path_in_a_macro_is_found() {
    let files = [
        ("lib.rs", "pub mod a; pub mod b;"),
        ("a/mod.rs", "mod inner; pub use inner::Thing;"),
        ("a/inner.rs", "pub struct Thing; fn f() { println!(\"{}\", crate::b::number()); }"),
        ("b.rs", "use super::a::Thing; pub fn number() -> u32 { let _ = Thing; 1 }"),
    ];
    assert_eq!(found("circle", &files), [["a/inner.rs", "b.rs"]]);
}

#[test]
fn reexports_tests_and_other_crates_make_no_circle() {
    let files = [
        ("lib.rs", "pub mod a; pub mod b; pub use a::Thing;"),
        ("a.rs", "use std::fmt; pub struct Thing; #[cfg(test)] mod tests { use crate::b::number; }"),
        ("b.rs", "use crate::Thing; pub fn number() -> u32 { let _ = Thing; 1 }"),
    ];
    assert!(found("line", &files).is_empty());
}

#[test]
fn a_visibility_is_no_import() {
    let files = [
        ("lib.rs", "pub mod a;"),
        ("a/mod.rs", "mod inner; pub fn f() { inner::g(); }"),
        ("a/inner.rs", "pub(in crate::a) fn g() {}"),
    ];
    assert!(found("visibility", &files).is_empty());
}
