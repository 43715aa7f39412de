//! `emu run -- PROGRAM` and `emu record -- PROGRAM`: runs an unmodified CUDA program with our libraries
//! instead of CUDA's.
//!
//! The program replaces this process (exec), so that exit code, signals and terminal are its own; environment
//! variables pass the flags to the libraries. Problems that the executable shows are reported before the
//! start: a statically linked, stripped CUDA runtime, or no PTX.

use super::args::{Record, Run};
use super::compilers;
use super::error::CliError;
use crate::exec::{DEFAULT_INTERLEAVE, DEFAULT_MAX_PRINT_BYTES, Options};
use crate::fatbin::runtime::{Runtime, is_without_loader, runtime};
use crate::fatbin::{self, Image, ImageKind, Origin};
use crate::lower::{DEFAULT_STACK_BYTES, Schedule};
use crate::native::module::{is_known, known_targets};
use crate::record::selection::Selection;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use warplab_host::destination::{Destination, Identity};
use warplab_host::{input, outputs};

/// Environment variable that names the folder with the CUDA libraries.
const LIBRARIES_VARIABLE: &str = "WARPLAB_LIBRARIES";
/// Folders of the libraries, seen from that of `emu`: as cargo builds them, and as they are installed.
const FOLDERS: [&str; 4] = ["cuda", "../lib/warplab", "../lib64/warplab", "../libexec/warplab"];
/// The folder of the libraries among a user's data, for a program that was installed alone.
const USERS_FOLDER: &str = "warplab/cuda";
/// One of the libraries, to check the folder.
const A_LIBRARY: &str = "libcuda.so.1";
/// Environment variables that load it into every program: it replaces statically linked CUDA runtimes, those
/// present at the start and those that the program loads later.
const LOADED: [&str; 2] = ["LD_PRELOAD", "LD_AUDIT"];

/// Refuses an output that the command of the program names too: the program itself, or a file among its arguments.
fn spared(args: &Run, option: &str, output: &Path) -> Result<(), CliError> {
    let program = args.program.first().and_then(|program| find(program));
    let named: Vec<PathBuf> = args.program.iter().skip(1).map(PathBuf::from).chain(program).collect();
    let inputs = named.iter().map(PathBuf::as_path);
    outputs::check(inputs, [(option, output)]).map_err(CliError::Usage)?;
    for path in &named {
        outputs::used(path).map_err(|why| CliError::Usage(why.to_string()))?;
    }
    Ok(())
}

/// Replaces this process by a program; returns only on failure.
///
/// # Errors
/// The libraries or the program are missing, or the program cannot use the libraries.
pub(super) fn run(args: &Run) -> Result<bool, CliError> {
    if let Some(file) = &args.summary {
        spared(args, "--summary", file)?;
    }
    Err(start(command(args)?))
}

/// Runs a program likewise, and records it.
///
/// # Errors
/// As [`run`]; or the flags that select launches are invalid.
pub(super) fn record(args: &Record) -> Result<bool, CliError> {
    let flags = [&args.kernels, &args.launches, &args.every, &args.blocks].map(Option::as_deref);
    let [kernels, launches, every, blocks] = flags;
    Selection::parse(kernels, launches, every, blocks).map_err(CliError::Usage)?;
    let mut command = command(&args.run)?;
    let program = args.run.program.first().map(PathBuf::from).unwrap_or_default();
    let beside = || PathBuf::from(program.file_stem().unwrap_or_default()).with_extension("wtrace");
    let output = args.output.clone().unwrap_or_else(beside);
    let destination = Destination::of(&output);
    let shown = output.display();
    if destination.is_stdout() {
        return Err(CliError::Usage(format!("-o {shown}: the program prints there; name another file")));
    }
    spared(&args.run, "--output", &output)?;
    destination.check().map_err(|e| CliError::Usage(format!("cannot write {shown}: {e}")))?;
    super::error::tell_interrupted(&destination);
    command.env("WARPLAB_RECORD", &output);
    // This process becomes the program; at its end it looks whether there is a trace.
    let expected = std::path::absolute(&output).unwrap_or_else(|_| output.clone());
    command.env("WARPLAB_RECORD_EXPECTED", format!("{}:{}", std::process::id(), expected.display()));
    command.env("WARPLAB_RECORD_ORIGIN", super::origin::of_this_process());
    // This trace replaces that of an earlier run when it is complete.
    set(&mut command, "WARPLAB_RECORD_REPLACES", Identity::of(&output).map(|earlier| earlier.to_string()));
    set(&mut command, "WARPLAB_RECORD_ADDRESSES_ONLY", args.addresses_only.then_some("1"));
    let names = ["KERNELS", "LAUNCHES", "EVERY", "BLOCKS"];
    for (name, value) in names.into_iter().zip(flags) {
        set(&mut command, &format!("WARPLAB_RECORD_{name}"), value);
    }
    Err(start(command))
}

/// Disables address-space randomisation for this process and the program that replaces it, so that traces
/// with addresses of the program's own memory are the same in every run. Some sandboxes forbid it; the
/// libraries print a message if it matters.
fn fix_addresses() {
    // SAFETY: the call only changes the address layout of programs that this process executes later.
    unsafe {
        let now = libc::personality(libc::c_ulong::from(u32::MAX));
        if let Ok(now) = libc::c_ulong::try_from(now) {
            libc::personality(now | libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        }
    }
}

fn start(mut command: Command) -> CliError {
    fix_addresses();
    let error = command.exec();
    let program = Path::new(command.get_program()).display().to_string();
    match error.kind() {
        std::io::ErrorKind::NotFound => CliError::Usage(missing(&program)),
        _ => CliError::Usage(format!("{program} cannot be started: {error}")),
    }
}

/// The message about a program that does not exist: a name without a folder is searched in `PATH` only.
fn missing(program: &str) -> String {
    if program.contains('/') {
        return format!("there is no program {program}; check the path, which begins at the current folder");
    }
    if Path::new(program).is_file() {
        let here = warplab_host::shell::quoted(&format!("./{program}"));
        return format!(
            "there is no program {program} in PATH; for the one in the current folder write {here}: `emu record -- {here}`"
        );
    }
    format!(
        "there is no program {program} in PATH or in the current folder; name it with its folder, as in ./{program}"
    )
}

fn set(command: &mut Command, name: &str, value: Option<impl AsRef<OsStr>>) {
    match value {
        Some(value) => command.env(name, value),
        None => command.env_remove(name),
    };
}

/// The command with its environment.
fn command(args: &Run) -> Result<Command, CliError> {
    let Some((program, arguments)) = args.program.split_first() else {
        return Err(CliError::Usage("no program is named after `--`".into()));
    };
    if let Some(name) = &args.device
        && warplab_gpus::Device::find(name).is_none()
    {
        let known: Vec<&str> =
            warplab_gpus::Device::all().iter().map(|device| device.name.as_str()).collect();
        let what = warplab_host::names::unknown("device", name, &known);
        return Err(CliError::Usage(format!("--device: {what}; or a compute capability, such as sm_75")));
    }
    let libraries = libraries()?;
    if let Some(path) = find(program).filter(|path| path.is_file())
        && let Ok(bytes) = input::read(&path, input::IMAGE_BYTES)
    {
        examine(&path, &bytes).map_err(CliError::Usage)?;
    }
    let mut command = Command::new(program);
    command.args(arguments);
    command.envs(compilers::variables(&libraries));
    let mut before_others = |name: &str, mut paths: OsString| {
        if let Some(others) = std::env::var_os(name).filter(|v| !v.is_empty()) {
            paths.push(":");
            paths.push(others);
        }
        command.env(name, paths);
    };
    for name in LOADED {
        before_others(name, libraries.join(A_LIBRARY).into_os_string());
    }
    before_others("LD_LIBRARY_PATH", libraries.into_os_string());
    // Values that only the environment sets are kept.
    let mut pass = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            command.env(format!("WARPLAB_{name}"), value);
        }
    };
    let changed = |value: u64, usual: u64| (value != usual).then(|| value.to_string());
    pass("DEVICE", args.device.clone());
    pass("CODE", args.kind.map(|kind| kind.name().into()));
    pass("THREADS", args.threads.map(|n| n.to_string()));
    pass("MAX_INSTRUCTIONS", changed(args.max_instructions, Options::default().max_instructions));
    pass("MAX_PRINT_BYTES", changed(args.max_print_bytes, DEFAULT_MAX_PRINT_BYTES));
    pass("STACK_BYTES", changed(args.stack_bytes.into(), DEFAULT_STACK_BYTES.into()));
    pass("HEAP_BYTES", changed(args.heap_bytes, crate::session::DEFAULT_HEAP_BYTES));
    pass("FMAD", (!args.code.fmad).then(|| "0".into()));
    pass("KEEP_BRANCHES", args.code.keep_branches.then(|| "1".into()));
    pass("MAXREGS", args.code.maxregs.map(|n| n.to_string()));
    pass("SCHEDULE", (args.code.schedule != Schedule::default()).then(|| args.code.schedule.name().into()));
    pass("INTERLEAVE", changed(args.interleave, DEFAULT_INTERLEAVE));
    pass("LENIENT", args.lenient.then(|| "1".into()));
    pass("TRAP_ZERO_DIVISION", args.trap_zero_division.then(|| "1".into()));
    let summary = match (&args.summary, args.json) {
        (Some(file), _) => {
            let path = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            OsString::from(format!("json:{}", path.display()))
        }
        (None, true) => "json".into(),
        (None, false) => "text".into(),
    };
    command.env("WARPLAB_SUMMARY", summary);
    Ok(command)
}

/// The folder with the CUDA libraries: the one that the environment names, or one of those near `emu`, wherever
/// that is installed. `emu` may be reached through a link.
fn libraries() -> Result<PathBuf, CliError> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folders = match set(LIBRARIES_VARIABLE) {
        Some(folder) => vec![folder],
        None => {
            let exe = std::env::current_exe()?;
            let data = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")));
            places(&exe, std::fs::canonicalize(&exe).ok().as_deref(), data.as_deref())
        }
    };
    let holds = |folder: &&PathBuf| folder.join(A_LIBRARY).exists();
    if let Some(folder) = folders.iter().find(holds) {
        return Ok(std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone()));
    }
    let tried: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    Err(CliError::Usage(format!(
        "the CUDA libraries are not in {}\n  help: build them with `cargo build --release -p warplab-cuda`, which leaves them \
         in target/release/cuda; `tools/scripts/install.sh` copies them to where emu finds them, or name their folder in \
         {LIBRARIES_VARIABLE}",
        tried.join(", nor in ")
    )))
}

/// Where the libraries may be: around the program as it was called, around the file that this is a link to, and among the
/// user's data.
fn places(exe: &Path, real: Option<&Path>, data: Option<&Path>) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for program in [Some(exe), real].into_iter().flatten() {
        let beside = program.parent().unwrap_or(Path::new(""));
        folders.extend(FOLDERS.map(|folder| match folder.strip_prefix("../") {
            Some(inner) => beside.parent().unwrap_or(beside).join(inner),
            None => beside.join(folder),
        }));
    }
    folders.extend(data.map(|data| data.join(USERS_FOLDER)));
    let mut seen = std::collections::HashSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    folders
}

/// The file of a program's name, as the shell finds it.
fn find(program: &OsStr) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return Some(path.to_path_buf());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(path)).find(|p| p.is_file())
}

/// Reports the reason for which a program cannot use the libraries, as far as its file shows it. Scripts and
/// programs without device code are accepted: they may start others.
fn examine(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if !bytes.starts_with(b"\x7fELF") {
        return Ok(());
    }
    let Ok(images) = fatbin::open(bytes) else { return Ok(()) };
    let own = |i: &&Image| matches!(i.origin, Origin::Registered | Origin::Relocatable) && !i.is_empty();
    let Some(newest) = images.iter().filter(own).map(|i| i.arch).max() else { return Ok(()) };
    let shown = path.display();
    if runtime(path, bytes) == Runtime::Stripped {
        return Err(format!(
            "{shown} has a statically linked CUDA runtime without symbols, which cannot be replaced\n  \
             help: link it with `nvcc -cudart shared`, or do not strip it; nothing else has to change"
        ));
    }
    if is_without_loader(bytes) {
        return Err(format!(
            "{shown} is statically linked, so that no library can be loaded into it\n  help: link it without `-static`"
        ));
    }
    let runs = |i: &Image| i.kind == ImageKind::Ptx || is_known(i) && i.origin == Origin::Registered;
    if !images.iter().filter(own).any(runs) {
        let known = known_targets();
        return Err(format!(
            "{shown} has machine code for sm_{newest} but no PTX; what runs here is PTX, and linked machine code of {known}\n  help: compile it with \
             `nvcc -gencode arch=compute_{newest},code=compute_{newest}`, besides other -gencode flags if you like"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::places;
    use std::path::Path;

    #[test]
    fn libraries_are_looked_for_where_programs_are_built_and_installed() {
        let of = |exe: &str, real: &str| {
            places(Path::new(exe), Some(Path::new(real)), Some(Path::new("/home/u/.local/share")))
        };
        let installed = of("/usr/local/bin/emu", "/usr/local/bin/emu");
        assert_eq!(installed.len(), 5, "{installed:?}");
        assert_eq!(installed[1], Path::new("/usr/local/lib/warplab"));
        let linked = of("/home/u/bin/emu", "/src/target/release/emu");
        assert!(linked.contains(&"/src/target/release/cuda".into()), "{linked:?}");
        assert_eq!(
            linked.last().map(std::path::PathBuf::as_path),
            Some(Path::new("/home/u/.local/share/warplab/cuda"))
        );
    }
}
