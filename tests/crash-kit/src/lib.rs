//! Kills recordings at random moments, and checks that the remaining trace can be read and holds every launch
//! whose end had been reported to the program.
//!
//! Tests of several crates use it, and `crash` (in the crate `tests`) does so for a given time.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use trace_format::reader::Trace;
use trace_format::validate::{Progress, validate};
use warplab_host::destination::{Destination, Identity};

/// A program that prints a line after it has waited for each launch.
const GUEST: &str = include_str!("guest.c");

/// Contents of the file before a recording replaces it.
const HEADER_BYTES: u64 = 256;

/// When to kill a program: after this many lines and a delay.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Lines that it prints before.
    pub lines: u64,
    /// Time from the last of them.
    pub then: Duration,
}

/// Compiles the program against the libraries in a folder; `None` without a C compiler.
///
/// # Panics
/// When it cannot be compiled.
#[must_use]
pub fn guest(libraries: &Path, folder: &Path) -> Option<PathBuf> {
    let (source, program) = (folder.join("guest.c"), folder.join("guest"));
    std::fs::write(&source, GUEST).expect("the folder can be written");
    let mut cc = Command::new("cc");
    cc.arg("-O1").arg("-o").arg(&program).arg(&source).arg("-L").arg(libraries).arg("-l:libcuda.so.1");
    let compiled = cc.output().ok()?;
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    Some(program)
}

/// Runs a program and kills it; returns how many lines it has printed.
///
/// # Panics
/// When it cannot be started.
pub fn kill(mut command: Command, moment: Moment) -> u64 {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let stdout = child.stdout.take().expect("its output is a pipe");
    let mut lines = BufReader::new(stdout).lines();
    let mut printed = 0;
    while printed < moment.lines && lines.next().is_some_and(|line| line.is_ok()) {
        printed += 1;
    }
    std::thread::sleep(moment.then);
    // It may have ended already.
    let _ = child.kill();
    printed += lines.map_while(Result::ok).count() as u64;
    let _ = child.wait();
    printed
}

/// Waits for a started program, and returns its exit status and output.
///
/// # Panics
/// When it cannot be waited for.
#[must_use]
pub fn ended(child: Child) -> (ExitStatus, String) {
    let output = child.wait_with_output().expect("it can be waited for");
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Checks the files that a killed recording leaves: the complete trace, or the unfinished one beside the
/// older one. Returns the trace's path, or `None` if the recording was killed before it began.
///
/// # Errors
/// The missing part.
pub fn left(output: &Path, older: Option<&Identity>, launches: u64) -> Result<Option<PathBuf>, String> {
    let there = Identity::of(output);
    let unfinished = Destination::of(output).unfinished();
    let (path, whole) = match (there.as_ref(), &unfinished[..]) {
        (there, [path]) if there == older => (path.clone(), false),
        (there, []) if there.is_some() && there != older => (output.to_path_buf(), true),
        (there, []) if there == older && launches == 0 => return Ok(None),
        (there, all) => {
            let same = there == older;
            return Err(format!(
                "{launches} launches were done; the older trace is there: {same}, and {all:?}"
            ));
        }
    };
    let tell = |what: String| format!("{}: {what}", path.display());
    let trace = match Trace::open(&path) {
        Ok(trace) => trace,
        Err(_) if launches == 0 && path.metadata().is_ok_and(|found| found.len() < HEADER_BYTES) => {
            return Ok(None);
        }
        Err(error) => return Err(tell(error.to_string())),
    };
    let held = trace.launches().iter().take_while(|launch| launch.is_whole()).count() as u64;
    if held < launches {
        return Err(tell(format!("{launches} launches were done, {held} are there")));
    }
    // One that was killed between its last byte and its renaming is whole under its unfinished name.
    if let (true, Some(cut)) = (whole, trace.incomplete()) {
        return Err(tell(format!("it has its name and is not whole: {cut}")));
    }
    let report = validate(&path, 1, &Progress::default()).map_err(|error| tell(error.to_string()))?;
    // That it was cut off is the only thing that may be wrong with it.
    if report.problem_count > u64::from(!whole) {
        return Err(tell(format!("{:?}", report.problems)));
    }
    Ok(Some(path))
}

/// Looks at a finished trace.
///
/// # Errors
/// What is wrong with it.
pub fn finished(path: &Path, launches: u64) -> Result<(), String> {
    let tell = |what: String| format!("{}: {what}", path.display());
    let report = validate(path, 1, &Progress::default()).map_err(|error| tell(error.to_string()))?;
    let trace = Trace::open(path).map_err(|error| tell(error.to_string()))?;
    if !report.is_sound() || trace.launches().len() as u64 != launches {
        return Err(tell(format!("{} launches, {:?}", trace.launches().len(), report.problems)));
    }
    Ok(())
}

/// A program that may write no file longer than 16 KiB, as on a full disk.
#[must_use]
pub fn short_of_space(program: &Path) -> Command {
    let mut command = Command::new("bash");
    command.args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$@\"", "bash"]).arg(program);
    command
}
