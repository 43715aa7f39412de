//! Where a file is: device and inode, and paths with links resolved.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// Device and inode.
pub(crate) type Place = (u64, u64);

/// Device and inode, if the system has them.
#[cfg(unix)]
pub(crate) fn place(found: &Metadata) -> Option<Place> {
    use std::os::unix::fs::MetadataExt;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
pub(crate) fn place(_: &Metadata) -> Option<Place> {
    None
}

/// The path with links resolved, of a file that need not exist.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    match (path.parent().and_then(|folder| folder.canonicalize().ok()), path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// Whether an open file is the one at a path.
pub(crate) fn is_same(file: &File, path: &Path) -> bool {
    let of = |found: io::Result<Metadata>| found.map(|found| place(&found)).ok();
    of(file.metadata()).is_some_and(|own| of(path.symlink_metadata()) == Some(own))
}

/// Whether a path is the process's standard output, so that nothing else may be printed there.
#[cfg(unix)]
pub(crate) fn is_stdout(path: &Path) -> bool {
    use std::io::IsTerminal;
    use std::os::unix::fs::FileTypeExt;
    let Some(stdout) = stream(&io::stdout()) else { return false };
    // Outputs to /dev/null cannot mix.
    let mixes = !stdout.file_type().is_char_device() || io::stdout().is_terminal();
    mixes && path.metadata().is_ok_and(|file| place(&file) == place(&stdout))
}

#[cfg(not(unix))]
pub(crate) fn is_stdout(_: &Path) -> bool {
    false
}

/// The file of a standard stream.
#[cfg(unix)]
pub(crate) fn stream(stream: &impl std::os::fd::AsFd) -> Option<Metadata> {
    File::from(stream.as_fd().try_clone_to_owned().ok()?).metadata().ok()
}

/// Standard output and standard error, as far as they are regular files, with their names.
#[cfg(unix)]
pub(crate) fn standard_streams() -> Vec<(&'static str, Metadata)> {
    let both = [("standard output", stream(&io::stdout())), ("standard error", stream(&io::stderr()))];
    both.into_iter().filter_map(|(name, found)| Some((name, found.filter(Metadata::is_file)?))).collect()
}

#[cfg(not(unix))]
pub(crate) fn standard_streams() -> Vec<(&'static str, Metadata)> {
    Vec::new()
}
