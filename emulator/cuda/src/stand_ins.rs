//! The list of libraries that stand in for NVIDIA's beside this one, and their functions without an implementation.
//!
//! The build script makes both ([`build.rs`](../build.rs)): `libnvidia-ml.so.1` is implemented in `nvml`, `libcupti.so` in
//! `cupti`, `libcudnn.so` in `cudnn`.

use std::path::{Path, PathBuf};

#[allow(non_snake_case, reason = "names of the APIs")]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/stand_ins.rs"));
}

/// A library's name without its version: `libx.so`.
fn unversioned(library: &str) -> &str {
    library.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

/// The stand-in for a library that the program wants to load, in the folder of this one; of several versions the one that
/// the name has, else the last. Programs name some of these libraries by their full path or in an `RPATH`, which the loader
/// searches before `LD_LIBRARY_PATH`.
#[must_use]
pub(crate) fn stand_in(wanted: &Path, folder: &Path) -> Option<PathBuf> {
    let name = wanted.file_name()?.to_str()?;
    let of_its_kind = |library: &str| {
        let rest = name.strip_prefix(unversioned(library));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let has_version = |library: &str| {
        let rest = name.strip_prefix(library);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let all = generated::LIBRARIES;
    let versioned = all.into_iter().find(|library| has_version(library));
    let found = versioned.or_else(|| all.into_iter().rfind(|library| of_its_kind(library)))?;
    let path = folder.join(found);
    // Both lead to the same library where the program names ours.
    (path != wanted && path.is_file()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_and_without_versions_find_their_stand_in() {
        let folder = tempfile::tempdir().expect("a folder");
        for library in generated::LIBRARIES {
            std::fs::write(folder.path().join(library), "").expect("a file");
        }
        let found = |wanted: &str| {
            let path = stand_in(Path::new(wanted), folder.path())?;
            Some(path.file_name()?.to_str()?.to_owned())
        };
        assert_eq!(found("libcupti.so.12").as_deref(), Some("libcupti.so.12"));
        assert_eq!(found("/opt/cuda/lib/libcupti.so.13").as_deref(), Some("libcupti.so.13"));
        assert_eq!(found("/opt/cuda/lib/libcupti.so.2026.2.0").as_deref(), Some("libcupti.so.13"));
        assert_eq!(found("libcupti.so").as_deref(), Some("libcupti.so.13"));
        assert_eq!(found("libnvidia-ml.so.1").as_deref(), Some("libnvidia-ml.so.1"));
        for other in ["libcuptix.so.13", "libcupti_static.so", "libc.so.6", "libnvidia-ml.sox"] {
            assert_eq!(found(other), None, "{other}");
        }
        let own = folder.path().join("libcupti.so.13");
        assert_eq!(stand_in(&own, folder.path()), None);
    }
}
