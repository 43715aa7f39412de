//! Kills recordings for a given time, and checks the files that they leave.

use clap::Parser;
use crash_kit::{Moment, ended, finished, guest, kill, left};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;
use test_kit::Random;
use tests::trying::{Span, options};
use warplab_host::destination::{Destination, Identity};

/// Has `emu` record a program that launches and waits, kills it at a random moment, and checks that its trace can be read
/// and holds every launch that the program had waited for; now and then lets recordings end, alone and several into one
/// file.
#[derive(Parser, Debug)]
#[command(
    name = "crash",
    after_help = "Examples:\n  crash --minutes 60 --out /tmp/crashed\n  crash --seed 4711 --count 1 --out /tmp/crashed\n\n\
                  It takes a C compiler, and `emu` with the CUDA libraries beside it, as `cargo build` leaves them. The exit \
                  code is 1 if a trace was not as it should be; it stays in the folder."
)]
struct Options {
    #[command(flatten)]
    span: Span,
    /// Where recordings go
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// The `emu` to record with [default: beside this program]
    #[arg(long, value_name = "FILE")]
    emu: Option<PathBuf>,
}

/// What recordings are made with.
struct Tools {
    emu: PathBuf,
    guest: PathBuf,
    trace: PathBuf,
}

impl Tools {
    fn recording(&self, launches: u64, blocks: u64) -> Command {
        let mut command = Command::new(&self.emu);
        command.arg("record").arg("-o").arg(&self.trace).arg("--").arg(&self.guest);
        command.args([launches, blocks].map(|n| n.to_string()));
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// Records to the end, and checks that the trace is there.
    fn record(&self, launches: u64) -> Result<(), String> {
        let child = self.recording(launches, 4).spawn().map_err(|error| error.to_string())?;
        let (status, said) = ended(child);
        if !status.success() {
            return Err(format!("{status}: {said}"));
        }
        finished(&self.trace, launches)
    }

    /// One round; whether the recording was killed before it was complete.
    fn round(&self, seed: u64) -> Result<bool, String> {
        let mut random = Random::new(seed);
        let older = Identity::of(&self.trace);
        let (launches, blocks) = (1 + random.below(200), 1 + random.below(64));
        let then = Duration::from_micros(random.below(4) * random.below(5000));
        let moment = Moment { lines: random.below(launches + 1), then };
        let printed = kill(self.recording(launches, blocks), moment);
        let found = left(&self.trace, older.as_ref(), printed);
        let found =
            found.map_err(|what| format!("{launches} launches of {blocks} blocks, {moment:?}: {what}"))?;
        let unfinished = found.filter(|path| *path != self.trace);
        match random.below(4) {
            0 => self.record(1 + random.below(20))?,
            1 => {
                let children = [7, 8].map(|launches| self.recording(launches, 2).spawn());
                for child in children {
                    let (status, said) = ended(child.map_err(|error| error.to_string())?);
                    if !status.success() {
                        return Err(format!("beside another: {status}: {said}"));
                    }
                }
                self.look_at_all(&[7, 8])?;
            }
            _ => {
                for path in Destination::of(&self.trace).unfinished() {
                    std::fs::remove_file(path).map_err(|error| error.to_string())?;
                }
            }
        }
        Ok(unfinished.is_some())
    }

    /// Checks the traces that recordings into one file have left, and leaves one.
    fn look_at_all(&self, launches: &[u64]) -> Result<(), String> {
        let folder = self.trace.parent().unwrap_or(Path::new("."));
        let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
        let traces: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "wtrace"))
            .collect();
        if traces.len() > launches.len() {
            return Err(format!("{traces:?}"));
        }
        for path in traces {
            if !launches.iter().any(|&launches| finished(&path, launches).is_ok()) {
                return Err(format!("{} is of none of the recordings", path.display()));
            }
            if path != self.trace {
                std::fs::remove_file(path).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }
}

fn tools(options: &Options) -> Result<Tools, String> {
    let beside = std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("emu");
    let emu = options.emu.clone().unwrap_or(beside);
    let libraries = emu.parent().unwrap_or(Path::new(".")).join("cuda");
    std::fs::create_dir_all(&options.out).map_err(|error| format!("{}: {error}", options.out.display()))?;
    let guest = guest(&libraries, &options.out).ok_or("there is no C compiler `cc`")?;
    let guest = std::path::absolute(guest).map_err(|error| error.to_string())?;
    Ok(Tools { emu, guest, trace: options.out.join("t.wtrace") })
}

fn main() -> ExitCode {
    let options: Options = match options() {
        Ok(options) => options,
        Err(code) => return code,
    };
    let tools = match tools(&options) {
        Ok(tools) => tools,
        Err(what) => {
            eprintln!("error: {what}");
            return ExitCode::FAILURE;
        }
    };
    let (mut rounds, mut unfinished) = (0u64, 0u64);
    for seed in options.span.seeds() {
        match tools.round(seed) {
            Ok(killed) => (rounds, unfinished) = (rounds + 1, unfinished + u64::from(killed)),
            Err(what) => {
                eprintln!("seed {seed}: {what}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{rounds} recordings, {unfinished} of them killed before their end: every launch is there");
    ExitCode::SUCCESS
}
