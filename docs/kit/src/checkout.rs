//! The checkout whose pages these are, the programs that were built of it, and copies of it in which pages are run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Programs that pages run.
const PROGRAMS: [&str; 5] = ["emu", "timing", "trace", "demo", "cuda/libcuda.so.1"];

/// The folder of the checkout.
#[must_use]
pub fn root() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::canonicalize(&folder).unwrap_or(folder)
}

/// The folder in which cargo has put the programs of the build that this process is a part of.
///
/// # Errors
/// One of the programs is not there.
pub fn programs() -> Result<PathBuf, String> {
    let here = env::current_exe().map_err(|e| format!("this program has no path: {e}"))?;
    let folder = here.ancestors().find(|folder| folder.join("deps").is_dir()).unwrap_or(&here);
    match PROGRAMS.iter().find(|program| !folder.join(program).exists()) {
        None => Ok(folder.to_path_buf()),
        Some(program) => Err(format!(
            "there is no {program} in {}\n  help: `cargo build --release` builds it",
            folder.display()
        )),
    }
}

/// Copies the files of the checkout that git does not ignore into a folder, as a clean clone has them.
///
/// # Errors
/// The checkout is not git's, or a file cannot be copied.
pub fn copy_to(folder: &Path) -> Result<(), String> {
    let root = root();
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(&root)
        .output()
        .map_err(|e| format!("git: {e}"))?;
    if !listed.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&listed.stderr)));
    }
    for name in String::from_utf8_lossy(&listed.stdout).split_terminator('\0') {
        copy(&root.join(name), &folder.join(name)).map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    // A file that was removed and not committed yet is not there.
    if from.exists() { fs::copy(from, to).map(drop) } else { Ok(()) }
}
