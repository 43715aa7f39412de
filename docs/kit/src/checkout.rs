//! The checkout whose pages these are, the programs that were built of it, and copies of it in which pages are run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

pub use test_kit::programs;

/// The folder of the checkout.
#[must_use]
pub fn root() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::canonicalize(&folder).unwrap_or(folder)
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

/// Gives a copy of the checkout the crates that are built already, so that cargo builds only what a page changes there.
/// Crates are links to the same files, which cargo and rustc replace and never change; notes of cargo are copies.
///
/// # Errors
/// A file cannot be copied.
pub fn share_build(folder: &Path) -> Result<(), String> {
    let programs = programs()?;
    for part in [".fingerprint", "build", "deps"] {
        let to = folder.join("target/release").join(part);
        share(&programs.join(part), &to).map_err(|e| format!("{}: {e}", to.display()))?;
    }
    Ok(())
}

/// Copies a folder of cargo's. Programs and objects in `deps` are left out: they are linked again.
fn share(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        let kind = path.extension().and_then(OsStr::to_str);
        if entry.file_type()?.is_dir() {
            share(&path, &to)?;
        } else if matches!(kind, Some("rlib" | "rmeta" | "so")) {
            fs::hard_link(&path, &to).or_else(|_| copy(&path, &to))?;
        } else if from.file_name() != Some(OsStr::new("deps")) || kind == Some("d") {
            copy(&path, &to)?;
        }
    }
    Ok(())
}

/// Copies a file with its time of change, by which cargo knows whether a crate has to be built again.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    // A file that was removed and not committed yet is not there.
    let Ok(metadata) = from.metadata() else { return Ok(()) };
    fs::copy(from, to)?;
    fs::File::options()
        .append(true)
        .open(to)
        .and_then(|file| file.set_modified(metadata.modified()?))
        .or_else(|e| {
            // A file that nobody may write keeps the time of its copy.
            if e.kind() == io::ErrorKind::PermissionDenied { Ok(()) } else { Err(e) }
        })
}

/// The pages of the book that are run, in the book's order: those of the tutorial together, since a page uses what an earlier one
/// has made, and every other one alone. A chapter that includes a page of the checkout stands for that page.
///
/// # Errors
/// The book's list of chapters, or a chapter, cannot be read.
pub fn book() -> Result<Vec<Vec<String>>, String> {
    let read = |path: &str| fs::read_to_string(root().join(path)).map_err(|e| format!("{path}: {e}"));
    let summary = read("docs/src/SUMMARY.md")?;
    let chapters = summary.lines().filter_map(|line| line.split_once("](")?.1.strip_suffix(')'));
    let mut pages = vec![Vec::new()];
    for chapter in chapters {
        let path = format!("docs/src/{chapter}");
        let text = read(&path)?;
        let included = text.lines().filter_map(|line| line.strip_prefix("{{page ")?.strip_suffix("}}"));
        if chapter.starts_with("tutorial/") {
            pages[0].push(path.clone());
        } else {
            pages.push(vec![path.clone()]);
        }
        pages.extend(included.map(|page| vec![page.to_owned()]));
    }
    Ok(pages)
}
