//! Finds what tests of the CUDA libraries need: the libraries, a CUDA toolkit, a Python interpreter.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

#[allow(unused_imports, reason = "each test file uses its part")]
pub(crate) use test_kit::{Tool, nvcc, python, skipped, toolkit};

/// A folder of the given name with the libraries that were built with this test, as programs look for them.
///
/// Cargo puts what a test depends on beside it and only `cargo build` copies it further up, so that the folder that
/// users have may be older or not there.
pub(crate) fn libraries(name: &str) -> PathBuf {
    static MADE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let test = std::env::current_exe().expect("the test has a path");
    let built = test.ancestors().nth(2).expect("it lies in the profile's folder").join("cuda");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if !made.insert(folder.clone()) {
        return folder;
    }
    std::fs::create_dir_all(folder.join("bin")).expect("the folder for tests can be written");
    let companions =
        ["libcudart.so.13", "libcudart.so.12", "bin/ptxas", "bin/nvcc"].map(|n| (n, built.join(n)));
    for (name, from) in companions.into_iter().chain([("libcuda.so.1", test.with_file_name("libcuda.so"))]) {
        assert!(from.is_file(), "{} is built with this test", from.display());
        // A copy, since a library looks for others beside its real path.
        test_kit::put(&folder.join(name), |part| std::fs::copy(&from, part).map(|_| ()))
            .expect("libraries can be put in place");
    }
    // The build leaves the driver's other name as a link; a link of ours leads to the copy.
    let other = "libcuda.so";
    if built.join(other).is_symlink() {
        test_kit::put(&folder.join(other), |part| std::os::unix::fs::symlink("libcuda.so.1", part))
            .expect("links can be put in place");
    }
    folder
}
