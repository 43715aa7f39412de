//! Programs in C of the driver API, compiled with the toolkit's `cuda.h` and run on our library.
//!
//! `CUDA_HOME` says where the toolkit is; without it, or without a C compiler, the tests say that they were skipped.

mod kit;

use kit::{libraries, skipped, toolkit};
use std::path::Path;
use std::process::Command;

fn run(name: &str) {
    run_linked_with(name, "-l:libcuda.so.1");
}

fn run_linked_with(name: &str, library: &str) {
    let Some(include) = toolkit().map(|t| t.join("include")) else {
        return skipped("no cuda.h; tools/scripts/cuda-toolkit.sh installs it, CUDA_HOME says where it is");
    };
    let libraries = libraries("cuda");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver").join(format!("{name}.c"));
    let mut compile = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compile.arg("-I").arg(include).arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"));
    compile.arg(source).arg("-o").arg(&out).arg("-L").arg(&libraries).arg(library);
    compile.arg(format!("-Wl,-rpath-link,{}", libraries.display()));
    let compiled = match compile.output() {
        Ok(compiled) => compiled,
        Err(error) => return skipped(&format!("no C compiler: {error}")),
    };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&out).env("LD_LIBRARY_PATH", &libraries).output().expect("the program starts");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success() && said.ends_with("passed\n"),
        "{name}: {}\n{said}\n{}",
        ran.status,
        String::from_utf8_lossy(&ran.stderr)
    );
}

#[test]
fn modules_memory_launches_and_errors() {
    run("basics");
}

#[test]
fn the_runtime_of_cuda_12() {
    run_linked_with("runtime12", "-l:libcudart.so.12");
}

#[test]
fn graphs_linking_and_capture() {
    run("graphs");
}

#[test]
fn arrays_textures_surfaces_and_pools() {
    run("textures");
}

#[test]
fn the_interface_for_embedders() {
    run("embed");
}

#[test]
fn addresses_and_memory_apart() {
    run("mapping");
}
