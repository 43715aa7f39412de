//! Programs that a reproduction starts.

use std::path::{Path, PathBuf};

/// The named program, else a usual place that has it, else a file of this name on the search path.
pub(super) fn find(named: Option<&Path>, usual: Option<PathBuf>, name: &str) -> Option<PathBuf> {
    let on_path = || {
        let paths = std::env::var_os("PATH")?;
        std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| path.is_file())
    };
    named.map(Path::to_owned).or_else(|| usual.filter(|path| path.is_file())).or_else(on_path)
}
