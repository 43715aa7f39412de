//! Programs in C of the driver API, compiled with the toolkit's `cuda.h` and run on our library.
//!
//! `CUDA_HOME` says where the toolkit is; without it, or without a C compiler, the tests say that they were skipped.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// Where `cuda.h` is.
fn include() -> Option<PathBuf> {
    let told = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|h| Path::new(&h).join(".cache/cuda"));
    let mut places = told.chain(home).chain([PathBuf::from("/usr/local/cuda")]);
    places.find_map(|p| Some(p.join("include")).filter(|i| i.join("cuda.h").is_file()))
}

/// A folder with the library under the name that programs look for; it lies beside this test.
fn libraries() -> PathBuf {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let test = std::env::current_exe().expect("the test has a path");
        let library = test.with_file_name("libcuda.so");
        assert!(library.is_file(), "{} is built with this test", library.display());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda");
        std::fs::create_dir_all(&folder).expect("the folder for tests can be written");
        let link = folder.join("libcuda.so.1");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&library, &link).expect("a link can be made");
        folder
    });
    FOLDER.clone()
}

fn run(name: &str) {
    let Some(include) = include() else {
        eprintln!("skipped: no cuda.h; set CUDA_HOME to a CUDA toolkit");
        return;
    };
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver").join(format!("{name}.c"));
    let mut compile = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compile.arg("-I").arg(include).arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"));
    compile.arg(source).arg("-o").arg(&out).arg("-L").arg(libraries()).arg("-l:libcuda.so.1");
    let compiled = match compile.output() {
        Ok(compiled) => compiled,
        Err(error) => {
            eprintln!("skipped: no C compiler: {error}");
            return;
        }
    };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&out).env("LD_LIBRARY_PATH", libraries()).output().expect("the program starts");
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
