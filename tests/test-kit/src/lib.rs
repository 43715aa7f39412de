//! Shared by tests of several crates: programs of the build and tools of the machine, skipping if a tool is missing,
//! waiting for processes that may hang, and numbers that follow from a seed.
//!
//! No result of a test depends on the speed of the computer. A test that waits for a process has a watchdog
//! instead: a bound so far away that only a hang reaches it.

mod built;
mod random;

pub use built::{nvcc, programs, put, python, toolkit};
pub use random::Random;

use std::io::Write;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Names the tools without which a test fails instead of being skipped: `WARPLAB_REQUIRE=nvcc,python`.
pub const REQUIRE: &str = "WARPLAB_REQUIRE";

/// What a test may need that is not part of the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// A C or C++ compiler.
    Compiler,
    /// A CUDA toolkit: nvcc, ptxas, headers and libraries; `tools/scripts/cuda-toolkit.sh` installs it.
    Nvcc,
    /// Python with the packages of `tools/scripts/python-clients.sh`.
    Python,
    /// Chromium.
    Chromium,
    /// Slurm: slurmctld, slurmd, their commands and munged, and root to run them.
    Slurm,
    /// Accounting for Slurm: slurmdbd and MariaDB.
    Slurmdbd,
    /// PyCUDA, which no script installs.
    PyCuda,
    /// Something that the system forbids, such as mounting or fixing addresses.
    System,
}

impl Tool {
    /// Every tool.
    pub const ALL: [Tool; 8] = [
        Tool::Compiler,
        Tool::Nvcc,
        Tool::Python,
        Tool::Chromium,
        Tool::Slurm,
        Tool::Slurmdbd,
        Tool::PyCuda,
        Tool::System,
    ];

    /// Its name in [`REQUIRE`].
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Tool::Compiler => "cc",
            Tool::Nvcc => "nvcc",
            Tool::Python => "python",
            Tool::Chromium => "chromium",
            Tool::Slurm => "slurm",
            Tool::Slurmdbd => "slurmdbd",
            Tool::PyCuda => "pycuda",
            Tool::System => "system",
        }
    }
}

/// The tools of a list such as `nvcc,python`.
///
/// # Errors
/// A name that no tool has, with those that there are.
pub fn required(list: &str) -> Result<Vec<Tool>, String> {
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    let find = |name: &str| {
        let known = Tool::ALL.map(Tool::name).join(", ");
        let found = Tool::ALL.into_iter().find(|tool| tool.name() == name);
        found.ok_or_else(|| format!("{REQUIRE}: there is no tool `{name}`; there are {known}"))
    };
    names.map(find).collect()
}

/// Says why a test does not run, past the harness, which shows nothing of tests that end well.
///
/// # Panics
/// If [`REQUIRE`] names the tool that is missing: then the test fails.
pub fn skipped(tool: Tool, why: &str) {
    let list = std::env::var(REQUIRE).unwrap_or_default();
    let required = required(&list).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert!(!required.contains(&tool), "{why}; {REQUIRE}={list} says that {} is there", tool.name());
    let thread = std::thread::current();
    let _ = writeln!(std::io::stderr(), "{}: skipped: {why}", thread.name().unwrap_or("a test"));
}

/// How long a watchdog waits: no test takes a hundredth of it, on any machine.
const PATIENCE: Duration = Duration::from_secs(20 * 60);

/// Ends the test process if it is still there after 20 minutes; dropping it calls the watchdog off.
#[derive(Debug)]
pub struct Watchdog {
    // Its end wakes the watching thread.
    _alive: Sender<()>,
}

impl Watchdog {
    /// Watches until it is dropped; `what` is named if it hangs.
    #[must_use]
    pub fn over(what: impl Into<String>) -> Watchdog {
        let (alive, ended) = channel();
        let what = what.into();
        std::thread::spawn(move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let _ = writeln!(std::io::stderr(), "{what} hangs: no end after {PATIENCE:?}");
                std::process::abort();
            }
        });
        Watchdog { _alive: alive }
    }
}

/// How a child ended.
///
/// # Panics
/// If it hangs; then it is killed.
pub fn end_of(child: &mut Child, what: &str) -> ExitStatus {
    let since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("the child can be waited for") {
            return status;
        }
        if since.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("{what} hangs: no end after {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn lists_of_tools_are_read() {
        assert_eq!(required(""), Ok(vec![]));
        assert_eq!(required(" nvcc, python ,"), Ok(vec![Tool::Nvcc, Tool::Python]));
        assert!(required("nvcc,nvc").expect_err("unknown").contains("`nvc`; there are cc, nvcc"));
    }

    /// In processes of their own, since the variable is the process's.
    #[test]
    fn a_skipped_test_fails_only_where_its_tool_is_required() {
        let run = |list: &str| {
            let mut again = Command::new(std::env::current_exe().expect("the test has a path"));
            again.args(["--exact", "tests::skips_for_nvcc", "--ignored"]).env(REQUIRE, list);
            again.output().expect("the test starts")
        };
        for (list, passes) in [("", true), ("python,chromium", true), ("python,nvcc", false), ("nvc", false)]
        {
            let output = run(list);
            assert_eq!(output.status.success(), passes, "{list}");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(said.contains("skipped: no nvcc"), passes, "{list}: {said}");
        }
    }

    #[test]
    #[ignore = "the test above runs it"]
    fn skips_for_nvcc() {
        skipped(Tool::Nvcc, "no nvcc");
    }

    #[test]
    fn the_end_of_a_child_is_waited_for() {
        let mut child = Command::new("sh").args(["-c", "exit 7"]).spawn().expect("sh starts");
        assert_eq!(end_of(&mut child, "sh").code(), Some(7));
        drop(Watchdog::over("nothing"));
    }
}
