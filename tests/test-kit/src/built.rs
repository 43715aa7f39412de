//! The programs of the build that a test is a part of, and the CUDA toolkit and Python of the machine.
//!
//! The folders that `tools/scripts/cuda-toolkit.sh` and `tools/scripts/python-clients.sh` name in their examples are
//! searched by default. A machine where the scripts ran once needs no variables.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;
use std::{env, fs, io};

/// Programs that tests start, in the folder of the build.
const PROGRAMS: [&str; 5] = ["emu", "timing", "trace", "demo", "cuda/libcuda.so.1"];

/// The folder in which cargo has put the programs of the build that this process is a part of.
///
/// # Errors
/// One of the programs is missing.
pub fn programs() -> Result<PathBuf, String> {
    let here = env::current_exe().map_err(|e| format!("this program has no path: {e}"))?;
    let folder = here.ancestors().find(|folder| folder.join("deps").is_dir()).unwrap_or(&here);
    // `cargo test` leaves the CUDA library among the crates; `cargo build` links it to where the programs find it.
    let (library, built) = (folder.join("libcuda.so"), folder.join("deps/libcuda.so"));
    if changed(&built) > changed(&library) {
        put(&library, |part| fs::hard_link(&built, part))
            .map_err(|e| format!("{}: {e}", library.display()))?;
    }
    match PROGRAMS.iter().find(|program| !folder.join(program).exists()) {
        None => Ok(folder.to_path_buf()),
        Some(program) => Err(format!(
            "there is no {program} in {}\n  help: `cargo build --release` builds it",
            folder.display()
        )),
    }
}

/// When a file was changed; `None`, which is before any time, if it does not exist.
fn changed(file: &Path) -> Option<SystemTime> {
    file.metadata().ok()?.modified().ok()
}

/// Makes a file beside its place and moves it there in one step: threads and processes of tests may make the same file
/// at the same time. What is made has the end of its later name, which compilers look at.
///
/// # Errors
/// It cannot be made or moved.
pub fn put<E: From<io::Error>>(place: &Path, make: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), E> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let part = format!("{}-{}-{name}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let part = place.with_file_name(part);
    let put = make(&part).and_then(|()| Ok(fs::rename(&part, place)?));
    // Where both names are links to one file already, a rename does nothing and leaves the first.
    let _ = fs::remove_file(&part);
    put
}

/// Folder into which the project's scripts install what tests need.
fn cache() -> Option<PathBuf> {
    let told = env::var_os("XDG_CACHE_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    let home = || env::var_os("HOME").map(|h| Path::new(&h).join(".cache"));
    Some(told.or_else(home)?.join("warplab"))
}

/// The CUDA toolkit that `CUDA_HOME` or `CUDA_PATH` name, the one that is installed, or the one of the script.
#[must_use]
pub fn toolkit() -> Option<PathBuf> {
    let told = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let installed = cache().map(|c| c.join("cuda")).into_iter().chain([PathBuf::from("/usr/local/cuda")]);
    told.chain(installed).find(|p| p.join("include/cuda.h").is_file())
}

/// The compiler of the toolkit, or the one on PATH.
#[must_use]
pub fn nvcc() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let folders = toolkit().map(|t| t.join("bin")).into_iter().chain(folders);
    folders.map(|folder| folder.join("nvcc")).find(|p| p.is_file())
}

/// The interpreter that `WARPLAB_PYTHON` names, that of the script's environment, or the usual one.
#[must_use]
pub fn python() -> PathBuf {
    let told = env::var_os("WARPLAB_PYTHON").filter(|v| !v.is_empty()).map(PathBuf::from);
    let made = || cache().map(|c| c.join("python/bin/python3")).filter(|p| p.is_file());
    told.or_else(made).unwrap_or_else(|| "python3".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads that make one file do not take it from each other.
    #[test]
    fn one_file_is_made_by_many_threads() {
        let folder = env::current_exe().expect("the test has a path").with_extension("made");
        fs::create_dir_all(&folder).expect("the folder of the test can be written");
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::write(&from, "made").expect("a file can be written");
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    for _ in 0..500 {
                        put(&to, |part| fs::hard_link(&from, part)).expect("each thread puts its own");
                    }
                });
            }
        });
        assert_eq!(fs::read_to_string(&to).expect("it is there"), "made");
        assert_eq!(fs::read_dir(&folder).expect("it can be read").count(), 2, "nothing else is left");
        fs::remove_dir_all(&folder).expect("the folder can be removed");
    }
}
