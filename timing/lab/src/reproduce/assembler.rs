//! NVIDIA's assembler, which makes machine code of the workloads' PTX.

use super::program;
use super::workloads::{Recording, Workload};
use crate::store::Key;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Name of the program.
const PTXAS: &str = if cfg!(windows) { "ptxas.exe" } else { "ptxas" };

/// A program `ptxas`, and the target that it assembles for.
#[derive(Clone, Debug)]
pub struct Assembler {
    program: PathBuf,
    /// What it says of its version.
    version: String,
    target: String,
}

impl Assembler {
    /// The named program, or `ptxas` of `$CUDA_HOME` or on the search path, for a target such as `sm_75`.
    ///
    /// # Errors
    /// There is none, or it does not run.
    pub fn find(named: Option<&Path>, target: &str) -> Result<Assembler, String> {
        let of_toolkit = std::env::var_os("CUDA_HOME").map(|home| Path::new(&home).join("bin").join(PTXAS));
        let program = program::find(named, of_toolkit, PTXAS).ok_or(
            "--code sass needs NVIDIA's `ptxas`, which is neither in $CUDA_HOME/bin nor on the search path; name it with --ptxas \
             (tools/scripts/cuda-toolkit.sh installs it)",
        )?;
        let said = Command::new(&program).arg("--version").stdin(Stdio::null()).output();
        let said = said.map_err(|why| format!("cannot run {}: {why}", program.display()))?;
        if !said.status.success() {
            return Err(format!("{} --version failed: it is no ptxas", program.display()));
        }
        let version = String::from_utf8_lossy(&said.stdout).into_owned();
        Ok(Assembler { program, version, target: target.to_owned() })
    }

    /// The target.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// A key with what the machine code depends on beside the PTX and the options.
    pub(super) fn key(&self, key: Key) -> Key {
        key.with(self.version.as_bytes()).with(self.target.as_bytes())
    }

    /// Assembles the PTX of a workload into a file.
    ///
    /// # Errors
    /// The recording asks for what only our compiler has, or `ptxas` refuses the PTX.
    pub(super) fn assemble(
        &self,
        recording: &Recording,
        workload: &Workload,
        cubin: &Path,
    ) -> Result<(), String> {
        if let Some(order) = &recording.schedule {
            return Err(format!(
                "the order of instructions `{order}` is one of our compiler's; ptxas has its own"
            ));
        }
        let mut command = Command::new(&self.program);
        command.arg(format!("-arch={}", self.target)).arg(&workload.ptx).arg("-o").arg(cubin);
        if let Some(registers) = recording.maxregs {
            command.arg(format!("-maxrregcount={registers}"));
        }
        let done = command.stdin(Stdio::null()).output();
        let done = done.map_err(|why| format!("cannot run {}: {why}", self.program.display()))?;
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        Err(format!("ptxas -arch={} {}: {}", self.target, workload.ptx.display(), said.trim()))
    }
}
