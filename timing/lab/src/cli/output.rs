//! Printing and writing files: a closed pipe is no error, and a file is either complete or absent.

use super::error::CliError;
use crate::config::GpuConfig;
use crate::provenance::KEY;
use crate::replay::Replay;
use crate::store::Store;
use crate::traces;
pub(super) use crate::traces::label;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use warplab_host::console;
use warplab_host::destination::Destination;
use warplab_host::input;
use xxhash_rust::xxh3::xxh3_64;

/// Prints to stdout; a closed pipe is no error.
pub(super) fn print(text: &str) -> Result<(), CliError> {
    console::print(text).map_err(|error| CliError(format!("cannot write to stdout: {error}")))
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

/// As [`check_folder`], for a folder with a page: one that is there must be ours.
pub(super) fn check_page(folder: &Path) -> Result<(), CliError> {
    check_folder(folder)?;
    report::check_folder(folder).map_err(|why| CliError(why.to_string()))
}

/// Writes a file under a temporary name and renames it; `-` means stdout.
pub(super) fn write_file(path: &Path, text: &str) -> Result<(), CliError> {
    if is_stdout(Some(path)) {
        return console::print_data(text)
            .map_err(|error| CliError(format!("cannot write to stdout: {error}")));
    }
    write_with(path, |out| out.write_all(text.as_bytes()))
}

/// Writes a value as JSON, piece by piece unless it goes to stdout.
pub(super) fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), CliError> {
    if is_stdout(Some(path)) {
        return print(&(serde_json::to_string_pretty(value)? + "\n"));
    }
    write_with(path, |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        out.write_all(b"\n")
    })
}

/// Writes a file piece by piece under a temporary name and renames it.
pub(super) fn write_with(
    path: &Path,
    write: impl FnOnce(&mut std::io::BufWriter<&std::fs::File>) -> std::io::Result<()>,
) -> Result<(), CliError> {
    destination(path)?.write(write).map_err(|error| cannot_write(path, &error))
}

/// Writes a CSV file, and beside it what produced it. Standard output and devices get the table alone.
pub(super) fn write_table(path: &Path, csv: &str, by: &Value) -> Result<(), CliError> {
    write_file(path, csv)?;
    write_sidecar(path, xxh3_64(csv.as_bytes()), csv.len() as u64, by)
}

/// Writes beside a file of this size and hash what produced it; nothing beside standard output and devices.
pub(super) fn write_sidecar(path: &Path, hash: u64, bytes: u64, by: &Value) -> Result<(), CliError> {
    if is_stdout(Some(path)) || Destination::of(path).is_device() {
        return Ok(());
    }
    write_file(&report::sidecar(path), &report::sidecar_text(path, bytes, hash, by))
}

/// What produced a CSV file, from the file beside it; none if there is no such file, or if it belongs to another table.
pub(super) fn produced_by(path: &Path, csv: &str) -> Option<Value> {
    let text = input::read_text(&report::sidecar(path), input::RESULT_BYTES).ok()?;
    let mut value: Value = serde_json::from_str(&text).ok()?;
    let hash = format!("{:016x}", xxh3_64(csv.as_bytes()));
    (value["file"]["hash"].as_str() == Some(&hash)).then(|| value[KEY].take())
}

/// Opens a trace and prints what of it is used; errors name the file.
pub(super) fn open_trace(path: &Path) -> Result<trace_format::reader::Trace, CliError> {
    let (trace, notes) = traces::open(path).map_err(CliError)?;
    notes.iter().for_each(|note| warplab_host::say!("{note}"));
    Ok(trace)
}

/// Warns of kept results that were damaged.
pub(super) fn warn_of_damage(store: &Store) {
    store.damaged().iter().for_each(|what| warplab_host::say!("warning: {what}"));
}

/// Warns of kernels with more registers per thread than a GPU has.
pub(super) fn warn_of_registers(path: &Path, replay: &Replay, config: &GpuConfig) {
    for warning in replay.register_warnings(config) {
        warplab_host::say!("warning: {}: {warning}", path.display());
    }
}
