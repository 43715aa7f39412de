//! `emu disasm` of NVIDIA's machine code: the kernels of the cubins in a file, with control bits, and with `--ptx` the lines of
//! PTX and CUDA that instructions come from. With `--check-control` their control bits are checked in place of the listing.
//!
//! The libraries of NVIDIA's toolkit are refused, since their licence forbids to disassemble them.

use super::args::Disasm;
use super::error::CliError;
use crate::fatbin::{self, FileKind, Image, ImageKind};
use crate::native::hazards;
use crate::session::SessionError;
use sass::cubin::{Cubin, Function};
use sass::lines::{Lines, Origin};
use std::io::Write;
use std::path::Path;
use warplab_host::console;
use warplab_host::input;

/// A closed library without kernels of its own, which is not read either.
const NVFATBIN: &str = "libnvfatbin";

/// Whether a file is a cubin, or has machine code of NVIDIA's GPUs and no PTX.
pub(super) fn only_machine_code(path: &Path) -> bool {
    match fatbin::kind_of(path) {
        None => return false,
        Some(FileKind::Cubin) => return true,
        Some(FileKind::Other) => {}
    }
    let images = input::read(path, input::IMAGE_BYTES).ok().and_then(|bytes| fatbin::open(&bytes).ok());
    images
        .is_some_and(|images| !images.is_empty() && images.iter().all(|image| image.kind == ImageKind::Cubin))
}

/// Lists the machine code of a file.
///
/// # Errors
/// The file cannot be read, holds no machine code, or such that is not known; there is no kernel of the name.
pub(super) fn list(args: &Disasm) -> Result<(), CliError> {
    let shown = args.ptx.display().to_string();
    let file_name = args.ptx.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let closed = fatbin::closed_library(&file_name).or(file_name.starts_with(NVFATBIN).then_some(NVFATBIN));
    if let Some(library) = closed {
        return Err(CliError::Usage(format!(
            "{shown}: the licence of {library} forbids to disassemble it\n  help: code that you compiled from source is listed"
        )));
    }
    let bytes = input::read(&args.ptx, input::IMAGE_BYTES)
        .map_err(|e| SessionError::Read { path: shown.clone(), what: e.to_string() })?;
    let images = fatbin::open(&bytes).map_err(|e| CliError::Usage(format!("{shown}: {e}")))?;
    let cubins: Vec<&Image> = images.iter().filter(|i| i.kind == ImageKind::Cubin && !i.is_empty()).collect();
    if cubins.is_empty() {
        return Err(CliError::Usage(format!(
            "{shown} holds no machine code\n  help: `nvcc -cubin -arch=sm_80` compiles to machine code, `ptxas -arch=sm_80` assembles PTX"
        )));
    }
    let mut out = console::out(false);
    let mut names = Vec::new();
    let (mut listed, mut hazards) = (0, 0);
    // Code for other targets does not keep that for known ones from being listed.
    let mut refused = Vec::new();
    for image in cubins {
        let cubin = match Cubin::parse(&image.contents) {
            Ok(cubin) => cubin,
            Err(error) => {
                refused.push(format!("{shown}: {error}"));
                continue;
            }
        };
        let lines = if args.ptx_lines { lines_of(image, &shown) } else { Lines::default() };
        for function in &cubin.functions {
            names.push(function.name.clone());
            if args.kernel.as_ref().is_some_and(|kernel| *kernel != function.name) {
                continue;
            }
            if listed > 0 && !args.check_control {
                writeln!(out)?;
            }
            if args.check_control {
                hazards += check_function(&mut out, &cubin, function, &shown)?;
            } else {
                write_function(&mut out, &cubin, function, &lines, &shown)?;
            }
            listed += 1;
        }
    }
    if listed == 0 && !refused.is_empty() {
        return Err(CliError::Usage(refused.join("\n")));
    }
    for why in refused {
        warplab_host::say!("note: {why}");
    }
    if listed == 0 {
        let name = args.kernel.as_deref().unwrap_or_default();
        let guess = warplab_host::names::perhaps(name, names.iter().map(String::as_str).collect::<Vec<_>>());
        return Err(CliError::Usage(format!(
            "there is no kernel `{name}` in {shown}{guess}\n  help: functions of its machine code: {}",
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        )));
    }
    out.flush()?;
    match hazards {
        0 => Ok(()),
        hazards => Err(CliError::Usage(format!(
            "{shown}: {hazards} places in which an instruction may issue before one that it depends on"
        ))),
    }
}

/// Checks the control bits of a function, and prints what is wrong with them; the number of hazards.
fn check_function(
    out: &mut impl Write,
    cubin: &Cubin<'_>,
    function: &Function<'_>,
    file: &str,
) -> Result<usize, CliError> {
    refuse_closed(function, file)?;
    let checked = hazards::check(cubin, function);
    let name = warplab_host::symbols::both(&function.name);
    let kind = if function.is_kernel { "kernel" } else { "function" };
    let unknown = match checked.unknown {
        0 => String::new(),
        unknown => format!(", {unknown} of them left out, since what they access is not known"),
    };
    writeln!(
        out,
        "{kind} {name}: {} instructions{unknown}, {} hazards",
        checked.instructions,
        checked.hazards.len()
    )?;
    let words: Vec<_> = function.instructions().map(Result::ok).collect();
    for hazard in &checked.hazards {
        writeln!(out, "  {hazard}")?;
        for pc in [hazard.producer, hazard.consumer] {
            if let Some(Some(word)) = words.get(pc.index()) {
                writeln!(out, "    {:#06x} {}  {word}", word.address, word.control)?;
            }
        }
    }
    Ok(checked.hazards.len())
}

/// The line tables of a cubin; without them a note says how to get them.
fn lines_of(image: &Image, file: &str) -> Lines {
    match Lines::parse(&image.contents) {
        Ok(lines) => {
            if lines.is_empty() {
                warplab_host::say!(
                    "note: {file}: the machine code has no lines of its source; nvcc and ptxas write them with -lineinfo"
                );
            }
            lines
        }
        Err(why) => {
            warplab_host::say!("note: {file}: lines of the source are left out: {why}");
            Lines::default()
        }
    }
}

/// Where an instruction comes from: `ptx:31, app.cu:8: ld.global.f32 …`.
fn origin_text(lines: &Lines, origin: Origin<'_>) -> String {
    let ptx = origin.ptx.map(|line| format!("ptx:{line}"));
    let source = origin.source.map(|(file, line)| format!("{file}:{line}"));
    let mut text = ptx.into_iter().chain(source).collect::<Vec<_>>().join(", ");
    if let Some(words) = origin.ptx.and_then(|line| lines.ptx_text(line)) {
        text += &format!(": {words}");
    }
    text
}

fn refuse_closed(function: &Function<'_>, file: &str) -> Result<(), CliError> {
    if fatbin::closed_kernel(&function.name).is_some() {
        return Err(CliError::Usage(format!(
            "{file}: kernel {} is of a library of NVIDIA, whose licence forbids to disassemble it",
            function.name
        )));
    }
    Ok(())
}

/// Writes the listing of a function.
fn write_function(
    out: &mut impl Write,
    cubin: &Cubin<'_>,
    function: &Function<'_>,
    lines: &Lines,
    file: &str,
) -> Result<(), CliError> {
    refuse_closed(function, file)?;
    let kind = if function.is_kernel { "kernel" } else { "function" };
    writeln!(out, "{kind} {}", warplab_host::symbols::both(&function.name))?;
    writeln!(out, "  {}, {} instructions, {} registers", cubin.target, function.len(), function.registers)?;
    writeln!(out, "pc     control              instruction")?;
    let mut last = Origin::default();
    for instruction in function.instructions() {
        let instruction = instruction.map_err(|e| CliError::Usage(format!("{file}: {e}")))?;
        let origin = lines.origin(&function.name, instruction.address);
        if origin != last && origin != Origin::default() {
            writeln!(out, "                            // {}", origin_text(lines, origin))?;
            last = origin;
        }
        writeln!(out, "{:#06x} {}  {instruction}", instruction.address, instruction.control)?;
    }
    Ok(())
}
