//! `emu extract`: lists the device code of a file and writes it to files.
//!
//! JSON: a list of objects with `container`, `kind` (`ptx`, `cubin`), `arch`, `version`, `flags`,
//! `compression` (`none`, `lz4`, `zstd`), `origin` (`registered`, `unreferenced`, `relocatable`, `file`),
//! `stored_bytes`, `bytes`, `name`, `options`, `kernels`, and `file` when it was written.

use super::args::Extract;
use super::error::CliError;
use crate::fatbin::{self, Compression, Image, ImageKind, Origin};
use crate::session::SessionError;
use comfy_table::{CellAlignment, Table};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use warplab_host::console;
use warplab_host::destination::Destination;
use warplab_host::input;
use warplab_host::tables;

/// Maximum number of kernel names in a line of the list.
const SHOWN_KERNELS: usize = 3;

/// Lists the device code of a file and writes it out.
///
/// # Errors
/// The file cannot be read or is damaged, holds no device code (or no PTX if that is requested), or the
/// folder cannot be written.
pub(super) fn extract(args: &Extract) -> Result<(), CliError> {
    let shown = args.file.display().to_string();
    let bytes = input::read(&args.file, input::IMAGE_BYTES)
        .map_err(|e| SessionError::Read { path: shown.clone(), what: e.to_string() })?;
    let images = fatbin::open(&bytes).map_err(|e| CliError::Usage(format!("{shown}: {e}")))?;
    let wanted: Vec<&Image> = images.iter().filter(|i| !args.ptx || i.kind == ImageKind::Ptx).collect();
    if wanted.is_empty() {
        return Err(CliError::Usage(nothing_inside(&shown, &images)));
    }
    let files = match &args.output {
        Some(folder) => write_all(folder, &args.file, &wanted)?,
        None => Vec::new(),
    };
    let mut out = console::out(args.json);
    if args.json {
        let list: Vec<Value> =
            wanted.iter().enumerate().map(|(i, image)| to_json(image, files.get(i))).collect();
        writeln!(out, "{:#}", Value::Array(list))?;
    } else {
        writeln!(out, "{}", table(&wanted))?;
        for file in &files {
            writeln!(out, "wrote {}", file.display())?;
        }
        if images.iter().all(Image::is_empty) {
            writeln!(out, "note: there is no device code but what nvcc links into every executable")?;
        } else if !images.iter().any(|i| i.kind == ImageKind::Ptx) {
            writeln!(out, "note: {}", no_ptx(&images))?;
        }
    }
    out.flush()?;
    Ok(())
}

/// The reason for which there is nothing to extract, and the remedy.
fn nothing_inside(file: &str, images: &[Image]) -> String {
    if images.is_empty() {
        return format!(
            "{file} holds no device code\n  help: it was not compiled by nvcc, or its kernels are in a library \
             that it loads"
        );
    }
    format!("{file}: {}", no_ptx(images))
}

/// The message for a file with only machine code.
fn no_ptx(images: &[Image]) -> String {
    let arch = images.iter().map(|i| i.arch).max().unwrap_or(75);
    format!(
        "there is machine code for sm_{arch} but no PTX, which emu runs\n  help: compile with `nvcc \
         -arch=sm_{arch}` or add `-gencode arch=compute_{arch},code=compute_{arch}`, which puts the PTX in"
    )
}

/// Writes the images under descriptive names; each appears when it is complete.
fn write_all(folder: &Path, source: &Path, images: &[&Image]) -> Result<Vec<PathBuf>, CliError> {
    let cannot =
        |path: &Path, e: std::io::Error| CliError::Usage(format!("cannot write {}: {e}", path.display()));
    std::fs::create_dir_all(folder).map_err(|e| cannot(folder, e))?;
    let stem = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut files: Vec<PathBuf> = Vec::new();
    for image in images {
        let extension = match image.kind {
            ImageKind::Ptx => "ptx",
            ImageKind::Cubin => "cubin",
        };
        let base = format!("{stem}.{}.sm_{}", image.container, image.arch);
        let names = std::iter::once(format!("{base}.{extension}"))
            .chain((2..).map(|n| format!("{base}-{n}.{extension}")));
        let Some(path) = names.map(|name| folder.join(name)).find(|path| !files.contains(path)) else {
            continue;
        };
        let written = Destination::within(&path).write(|out| out.write_all(&image.contents));
        written.map_err(|e| cannot(&path, e))?;
        files.push(path);
    }
    Ok(files)
}

fn kind(image: &Image) -> &'static str {
    match image.kind {
        ImageKind::Ptx => "ptx",
        ImageKind::Cubin => "cubin",
    }
}

fn compression(image: &Image) -> &'static str {
    match image.compression {
        Compression::None => "none",
        Compression::Lz4 => "lz4",
        Compression::Zstd => "zstd",
    }
}

fn origin(image: &Image) -> &'static str {
    match image.origin {
        Origin::Registered => "registered",
        Origin::Unreferenced => "unreferenced",
        Origin::Relocatable => "relocatable",
        Origin::File => "file",
    }
}

fn table(images: &[&Image]) -> Table {
    let mut table = tables::table();
    table.set_header([
        "container",
        "kind",
        "target",
        "version",
        "stored",
        "bytes",
        "packing",
        "flags",
        "origin",
        "kernels",
    ]);
    for image in images {
        let kernels = image.kernels();
        let more = kernels.len().saturating_sub(SHOWN_KERNELS);
        let mut names = kernels.iter().take(SHOWN_KERNELS).cloned().collect::<Vec<_>>().join(", ");
        if more > 0 {
            names += &format!(", and {more} more");
        }
        let version = format!("{}.{}", image.version.0, image.version.1);
        table.add_row([
            image.container.to_string(),
            kind(image).into(),
            format!("sm_{}", image.arch),
            if image.version == (0, 0) { "–".into() } else { version },
            image.stored_bytes.to_string(),
            image.contents.len().to_string(),
            compression(image).into(),
            format!("{:#x}", image.flags),
            origin(image).into(),
            if names.is_empty() { "–".into() } else { names },
        ]);
    }
    for column in [0, 4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn to_json(image: &Image, file: Option<&PathBuf>) -> Value {
    let mut value = json!({
        "container": image.container,
        "kind": image.kind,
        "arch": image.arch,
        "version": format!("{}.{}", image.version.0, image.version.1),
        "flags": image.flags,
        "compression": image.compression,
        "origin": image.origin,
        "stored_bytes": image.stored_bytes,
        "bytes": image.contents.len(),
        "name": image.name,
        "options": image.options,
        "kernels": image.kernels(),
    });
    if let Some(file) = file {
        value["file"] = json!(file.display().to_string());
    }
    value
}
