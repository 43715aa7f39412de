//! What the regression tests share: starting the programs of the build, compiling CUDA programs, and running them on
//! both paths, from PTX and from machine code.
//!
//! A program in `programs` checks itself: it prints a line `PASS` and ends with 0, or prints `FAIL` with the first wrong
//! value and ends with 1.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use test_kit::{Tool, skipped};

/// The code of a program that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// PTX, translated by Warplab.
    Ptx,
    /// Machine code that ptxas made.
    Sass,
}

impl Code {
    /// Its name on the command line (`emu run --code`).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Code::Ptx => "ptx",
            Code::Sass => "sass",
        }
    }
}

/// A command that starts a program of the build: `emu`, `timing`, `trace` or `demo`.
///
/// # Panics
/// If the program was not built.
#[must_use]
pub fn program(name: &str) -> Command {
    let mut command = Command::new(built().join(name));
    command.stdin(Stdio::null());
    command
}

/// The folder of the programs of the build.
fn built() -> PathBuf {
    test_kit::programs().unwrap_or_else(|missing| panic!("{missing}"))
}

/// Path of an input in `programs`.
#[must_use]
pub fn input(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name)
}

/// What a finished command printed, standard error after standard output.
#[must_use]
pub fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs a command to its end.
///
/// # Panics
/// If it cannot be started.
pub fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"))
}

/// Runs a command that has to succeed, and returns what it printed.
///
/// # Panics
/// If it ends with another exit code than 0.
pub fn succeeds(command: &mut Command) -> String {
    let output = run(command);
    assert!(output.status.success(), "{command:?} ends with {}\n{}", output.status, text(&output));
    text(&output)
}

/// Runs a command that has to fail with an exit code, and returns what it printed.
///
/// # Panics
/// If it ends with another exit code, or with a signal.
pub fn fails(command: &mut Command, code: i32) -> String {
    let output = run(command);
    assert_eq!(output.status.code(), Some(code), "{command:?}\n{}", text(&output));
    text(&output)
}

/// Compiles `programs/NAME.cu` for a target such as `sm_75`, with PTX and machine code, once for each target and flags. None
/// without nvcc: then the test is skipped, which it says.
///
/// # Panics
/// If nvcc refuses the program.
pub fn compile(name: &str, target: &str, flags: &[&str]) -> Option<PathBuf> {
    static COMPILING: Mutex<()> = Mutex::new(());
    let Some(nvcc) = test_kit::nvcc() else {
        skipped(Tool::Nvcc, "no nvcc; tools/scripts/cuda-toolkit.sh installs it");
        return None;
    };
    let _one = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = built().join("regressions");
    std::fs::create_dir_all(&folder).expect("the folder for tests can be written");
    let tag: String = flags.concat().chars().filter(char::is_ascii_alphanumeric).collect();
    let to = folder.join(format!("{name}-{target}{tag}"));
    let source = input(&format!("{name}.cu"));
    let changed = |file: &Path| file.metadata().and_then(|m| m.modified()).ok();
    if changed(&to) > changed(&source) {
        return Some(to);
    }
    let mut command = Command::new(nvcc);
    command.args(["-arch", target, "-cudart", "shared"]).args(flags);
    command.args(test_kit::toolkit().map(|t| format!("-I{}", t.join("include/cccl").display())));
    let made = test_kit::put(&to, |part| {
        succeeds(command.arg("-o").arg(part).arg(source));
        std::io::Result::Ok(())
    });
    made.expect("the program can be put in place");
    Some(to)
}

/// Runs `programs/NAME.cu` for a target; it has to pass.
///
/// # Panics
/// If it doesn't.
pub fn passes(name: &str, target: &str, code: Code) {
    passes_with(name, target, code, &[]);
}

/// The same, compiled with flags.
///
/// # Panics
/// If it doesn't pass.
pub fn passes_with(name: &str, target: &str, code: Code, flags: &[&str]) {
    let Some(app) = compile(name, target, flags) else { return };
    let said = succeeds(program("emu").args(["run", "--code", code.name(), "--"]).arg(app));
    assert!(said.lines().any(|line| line.starts_with("PASS")), "{name} {target} {}:\n{said}", code.name());
}

/// Records `programs/NAME.cu` for a target into a folder; it has to pass, and the recording has to be sound. Returns the
/// recording; none without nvcc.
///
/// # Panics
/// If the program fails or `trace verify` finds a fault.
pub fn records(name: &str, target: &str, code: Code, flags: &[&str], folder: &Path) -> Option<PathBuf> {
    let app = compile(name, target, &[])?;
    let trace = folder.join(format!("{name}-{target}-{}.wtrace", code.name()));
    let mut command = program("emu");
    command.args(["record", "--code", code.name()]).args(flags).arg("-o").arg(&trace).arg("--").arg(app);
    let said = succeeds(&mut command);
    assert!(said.lines().any(|line| line.starts_with("PASS")), "{name} {target} {}:\n{said}", code.name());
    succeeds(program("trace").args([OsStr::new("verify"), trace.as_os_str()]));
    Some(trace)
}
