//! Kinds of files by their extension, and where a file of another kind than is expected belongs.

use std::path::Path;

/// Extensions with what such a file is and which command takes it.
const KINDS: [(&str, &str); 9] = [
    ("ptx", "it is PTX, which `emu run` and `emu record` take"),
    (
        "cu",
        "it is CUDA source; `nvcc -ptx` makes PTX of it, and `emu record -- ./app` records the compiled program",
    ),
    (
        "toml",
        "it is a launch manifest, which `emu run` and `emu record` take, or a configuration for --config",
    ),
    (
        "wtrace",
        "it is a recording, which `timing replay` and `trace info` read; `timing replay FILE --json` writes a result",
    ),
    ("traceg", "it is a trace of Accel-Sim, which `timing import-trace` reads"),
    ("json", "it is a result, which `timing compare` and `timing rerun` read"),
    ("csv", "it is a table; --json writes a result that has all figures"),
    ("parquet", "it is a table; --json writes a result that has all figures"),
    ("html", "it is a page; its figures are in data.json beside it"),
];

/// Where a file belongs, if its extension says that it is of another kind than the expected one.
///
/// ```
/// # use warplab_host::kinds::elsewhere;
/// assert_eq!(elsewhere("a.ptx".as_ref(), "wtrace"), Some("it is PTX, which `emu run` and `emu record` take"));
/// assert_eq!(elsewhere("a.ptx".as_ref(), "ptx"), None);
/// assert_eq!(elsewhere("a".as_ref(), "ptx"), None);
/// ```
#[must_use]
pub fn elsewhere(path: &Path, expected: &str) -> Option<&'static str> {
    let kind = path.extension()?.to_str()?.to_lowercase();
    KINDS.iter().find(|(name, _)| *name == kind && kind != expected).map(|(_, hint)| *hint)
}
