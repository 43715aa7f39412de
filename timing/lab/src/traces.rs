//! Opens traces for replays and studies: traces without a launch are refused, and incomplete ones come with notes.

use std::path::Path;
use trace_format::reader::Trace;
use warplab_host::kinds;

/// Opens a trace; the notes say which part of it is used, if it is not complete.
///
/// # Errors
/// The file cannot be read, is no trace, or holds nothing to replay; the error names the file.
pub fn open(path: &Path) -> Result<(Trace, Vec<String>), String> {
    let trace = Trace::open(path).map_err(|why| {
        let hint = kinds::elsewhere(path, "wtrace").map_or(String::new(), |hint| format!("\n  help: {hint}"));
        format!("{why}{hint}")
    })?;
    if trace.launches().is_empty() || trace.frames().is_empty() {
        let what = if trace.launches().is_empty() { "launch" } else { "warp" };
        let why = trace.incomplete().map_or(String::new(), |why| format!(" ({why})"));
        return Err(format!(
            "{}: no {what} can be read from it{why}; record the program again with `emu record`",
            path.display()
        ));
    }
    let mut notes = Vec::new();
    if let Some(why) = trace.incomplete() {
        notes.push(format!("warning: {}: {why}; only the recorded part is used", path.display()));
    }
    if let Some(what) = trace.partial() {
        notes.push(format!("note: {}: {what}; only these are used", path.display()));
    }
    Ok((trace, notes))
}

/// Short name of a trace for tables: its file name without the extension.
#[must_use]
pub fn label(path: &Path) -> String {
    path.file_stem().map_or_else(|| path.display().to_string(), |stem| stem.to_string_lossy().into_owned())
}
