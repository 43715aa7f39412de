//! Printing and writing files: a closed pipe is no error, and a file is either complete or absent.

use super::error::CliError;
use crate::config::GpuConfig;
use crate::replay::Replay;
use std::io::{ErrorKind, Write};
use std::path::Path;
use warplab_host::destination::Destination;

/// Prints to stdout; a closed pipe is no error.
pub(super) fn print(text: &str) -> Result<(), CliError> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("cannot write to stdout: {error}").into())
        }
        _ => Ok(()),
    }
}

/// Whether a requested file is stdout, under any name.
pub(super) fn is_stdout(path: Option<&Path>) -> bool {
    path.is_some_and(|path| path.as_os_str() == "-" || Destination::of(path).is_stdout())
}

/// Refuses an output file that cannot be written, before the work starts.
pub(super) fn check(path: Option<&Path>) -> Result<(), CliError> {
    match path.filter(|path| !is_stdout(Some(path))) {
        Some(path) => destination(path)?.check().map_err(|error| cannot_write(path, &error)),
        None => Ok(()),
    }
}

/// Refuses a folder that cannot be created because a part of its path is a file, before the work starts.
pub(super) fn check_folder(folder: &Path) -> Result<(), CliError> {
    match folder.ancestors().find(|path| path.exists()).filter(|path| !path.is_dir()) {
        Some(file) => Err(CliError(format!(
            "cannot create the folder {}: {} is a file",
            folder.display(),
            file.display()
        ))),
        None => Ok(()),
    }
}

fn destination(path: &Path) -> Result<Destination, CliError> {
    match path.file_name() {
        Some(_) => Ok(Destination::of(path)),
        None => Err(CliError(format!("{} names no file", path.display()))),
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> CliError {
    CliError(format!("cannot write {}: {error}", path.display()))
}

/// Writes a file under a temporary name and renames it; `-` means stdout.
pub(super) fn write_file(path: &Path, text: &str) -> Result<(), CliError> {
    if is_stdout(Some(path)) {
        return print(text);
    }
    write_with(path, |out| out.write_all(text.as_bytes()))
}

/// Writes a file piece by piece under a temporary name and renames it.
pub(super) fn write_with(
    path: &Path,
    write: impl FnOnce(&mut std::io::BufWriter<&std::fs::File>) -> std::io::Result<()>,
) -> Result<(), CliError> {
    destination(path)?.write(write).map_err(|error| cannot_write(path, &error))
}

/// Opens a trace; errors name the file.
pub(super) fn open_trace(path: &Path) -> Result<trace_format::reader::Trace, CliError> {
    let trace = trace_format::reader::Trace::open(path).map_err(|why| {
        let hint = warplab_host::kinds::elsewhere(path, "wtrace")
            .map_or(String::new(), |hint| format!("\n  help: {hint}"));
        CliError(format!("{why}{hint}"))
    })?;
    if trace.launches().is_empty() || trace.frames().is_empty() {
        let what = if trace.launches().is_empty() { "launch" } else { "warp" };
        let why = trace.incomplete().map_or(String::new(), |why| format!(" ({why})"));
        return Err(CliError(format!(
            "{}: no {what} can be read from it{why}; record the program again with `emu record`",
            path.display()
        )));
    }
    if let Some(why) = trace.incomplete() {
        eprintln!("warning: {}: {why}; only the recorded part is used", path.display());
    }
    if let Some(what) = trace.partial() {
        eprintln!("note: {}: {what}; only these are used", path.display());
    }
    Ok(trace)
}

/// Warns of kernels with more registers per thread than a GPU has.
pub(super) fn warn_of_registers(path: &Path, replay: &Replay, config: &GpuConfig) {
    for warning in replay.register_warnings(config) {
        eprintln!("warning: {}: {warning}", path.display());
    }
}

/// Short name of a trace for tables: its file name without the extension.
pub(super) fn label(path: &Path) -> String {
    path.file_stem().map_or_else(|| path.display().to_string(), |stem| stem.to_string_lossy().into_owned())
}
