//! The emulator's command line, which records workloads.

use super::assembler::Assembler;
use super::program;
use super::workloads::{Recording, Workloads};
use crate::store::Key;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use warplab_host::input;

/// Name of the command.
const EMU: &str = if cfg!(windows) { "emu.exe" } else { "emu" };

/// A program `emu`, identified by its content.
#[derive(Clone, Debug)]
pub struct Recorder {
    program: PathBuf,
    content: String,
    /// Where machine code is recorded that it makes of the PTX.
    assembler: Option<Assembler>,
}

impl Recorder {
    /// The named program, or `emu` beside this program or on the search path.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn find(named: Option<&Path>) -> Result<Recorder, String> {
        let beside = std::env::current_exe().ok().map(|own| own.with_file_name(EMU));
        let program = program::find(named, beside, EMU).ok_or(
            "recording needs `emu`, which is neither beside this program nor on the search path; name it with --emu",
        )?;
        let content = input::read(&program, input::IMAGE_BYTES)
            .map_err(|why| format!("{}: {why}", program.display()))?;
        Ok(Recorder { content: Key::default().with(&content).text(), program, assembler: None })
    }

    /// The recorder of the machine code that an assembler makes of the workloads' PTX.
    #[must_use]
    pub fn of_machine_code(self, assembler: Assembler) -> Recorder {
        Recorder { assembler: Some(assembler), ..self }
    }

    /// Key of a recording: the recorder, the workload's files and the options.
    ///
    /// # Errors
    /// The workload is not known, or a file of it cannot be read.
    pub fn key(&self, recording: &Recording, workloads: &Workloads) -> Result<String, String> {
        let key = workloads.find(&recording.workload)?.key(Key::default().with(self.content.as_bytes()))?;
        let key = self.assembler.iter().fold(key, |key, assembler| assembler.key(key));
        let arguments = recording.arguments();
        Ok(arguments.iter().fold(key, |key, word| key.with(word.as_bytes())).text())
    }

    /// Records into a file, unless it is there.
    pub(super) fn record(
        &self,
        recording: &Recording,
        workloads: &Workloads,
        path: &Path,
        threads: usize,
    ) -> Result<(), String> {
        if path.is_file() {
            return Ok(());
        }
        let workload = workloads.find(&recording.workload)?;
        let mut command = Command::new(&self.program);
        command.arg("record").arg(&workload.ptx).arg("--launch").arg(&workload.manifest);
        let cubin = path.with_extension("cubin");
        if let Some(assembler) = &self.assembler {
            assembler.assemble(recording, workload, &cubin)?;
            // ptxas has taken the other options.
            command.args(["--size", &recording.size, "--code", "sass", "--cubin"]).arg(&cubin);
        } else {
            command.args(recording.arguments());
        }
        command.arg("--threads").arg(threads.to_string()).arg("-o").arg(path);
        let done = command.stdin(Stdio::null()).output();
        if self.assembler.is_some() {
            // The recording has the code; a file that stays behind does no harm.
            let _ = std::fs::remove_file(&cubin);
        }
        let done = done.map_err(|why| format!("cannot run {}: {why}", self.program.display()))?;
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        // The first error says why; the rest is advice for whoever typed the command.
        let said = said.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or(said.trim());
        Err(format!("emu record {} {}: {said}", recording.workload, recording.arguments().join(" ")))
    }
}
