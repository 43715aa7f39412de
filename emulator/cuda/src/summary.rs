//! Summary of a process, printed when it ends: launches, warp instructions, time, the trace.
//!
//! JSON keys: `launches`, `warp_instructions`, `thread_instructions`, `time_s`, `kernels` (a list in the order of first
//! launches: `kernel`, `launches`, `warp_instructions`, `time_s`), `faults` (a list of texts), `tolerated` (a list of
//! places of loads out of bounds: `kernel`, `pc`, `line`, `loads`, `what`), and after recording
//! `trace`: `file`, `bytes`, `launches`, `warp_instructions`.

use crate::tell::{tell, without_sigpipe};
use emulator::exec::{Stats, Tolerated};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use trace_format::writer::WriteSummary;
use warplab_host::console;
use warplab_host::destination::Destination;
use warplab_host::symbols::{Shortened, signature};
use warplab_host::text::printable;

/// Environment variable that says how to show the summary: `text` or `json` on standard error, `json:FILE` in a file.
const SUMMARY_VARIABLE: &str = "WARPLAB_SUMMARY";

/// Whether `emu` requests a summary.
#[must_use]
pub(crate) fn is_wanted() -> bool {
    std::env::var_os(SUMMARY_VARIABLE).is_some()
}

/// Number of kernels that the text lists; the slowest ones.
const LISTED_KERNELS: usize = 12;

#[derive(Debug)]
struct KernelTally {
    name: String,
    launches: u64,
    warp_instructions: u64,
    time: Duration,
}

/// Counts of launches so far.
#[derive(Debug, Default)]
struct Tally {
    kernels: Vec<KernelTally>,
    thread_instructions: u64,
    faults: Vec<String>,
    tolerated: Vec<Tolerated>,
    trace: Option<(PathBuf, WriteSummary, u64)>,
    shown: bool,
}

static TALLY: Mutex<Tally> = Mutex::new(Tally {
    kernels: Vec::new(),
    thread_instructions: 0,
    faults: Vec::new(),
    tolerated: Vec::new(),
    trace: None,
    shown: false,
});

fn tally() -> MutexGuard<'static, Tally> {
    TALLY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Index of a kernel in the tally, for [`launched`].
pub(crate) fn kernel(name: &str) -> usize {
    let mut tally = tally();
    if let Some(known) = tally.kernels.iter().position(|k| k.name == name) {
        return known;
    }
    let name = name.to_string();
    tally.kernels.push(KernelTally { name, launches: 0, warp_instructions: 0, time: Duration::ZERO });
    tally.kernels.len() - 1
}

/// Counts a launch.
pub(crate) fn launched(kernel: usize, stats: &Stats, time: Duration) {
    let mut tally = tally();
    tally.thread_instructions += stats.thread_instructions;
    if let Some(kernel) = tally.kernels.get_mut(kernel) {
        kernel.launches += 1;
        kernel.warp_instructions += stats.warp_instructions;
        kernel.time += time;
    }
}

/// Adds a failed launch.
pub(crate) fn failed(what: String) {
    tally().faults.push(what);
}

/// Adds tolerated loads out of bounds, and warns once per instruction.
pub(crate) fn tolerated(loads: &[Tolerated]) {
    let mut tally = tally();
    let before = tally.tolerated.len();
    Tolerated::merge(&mut tally.tolerated, loads);
    for new in &tally.tolerated[before..] {
        tell(&format!("warning: {new}"));
    }
}

/// Adds a finished trace with its number of launches.
pub(crate) fn traced(path: PathBuf, written: WriteSummary, launches: u64) {
    tally().trace = Some((path, written, launches));
}

/// Prints the summary once, if it is requested and there were launches; `false` when it is a result and cannot be written.
#[must_use]
pub(crate) fn show() -> bool {
    let wanted = std::env::var(SUMMARY_VARIABLE).unwrap_or_default();
    let mut tally = tally();
    if wanted.is_empty() || std::mem::replace(&mut tally.shown, true) {
        return true;
    }
    let write = || match wanted.split_once(':') {
        None if wanted == "json" => writeln!(std::io::stderr(), "{:#}", tally.to_json()),
        Some(("json", file)) => {
            let text = format!("{:#}\n", tally.to_json());
            Destination::of(file.as_ref()).write(|out| out.write_all(text.as_bytes()))
        }
        _ => {
            console::say_as_is(&printable(&tally.to_text()));
            Ok(())
        }
    };
    let written = without_sigpipe(write);
    if let Err(error) = &written {
        tell(&format!("the summary cannot be written: {error}"));
    }
    written.is_ok()
}

impl Tally {
    fn totals(&self) -> (u64, u64, Duration) {
        self.kernels.iter().fold((0, 0, Duration::ZERO), |(launches, instructions, time), k| {
            (launches + k.launches, instructions + k.warp_instructions, time + k.time)
        })
    }

    fn to_json(&self) -> serde_json::Value {
        let (launches, warp_instructions, time) = self.totals();
        let kernels = self.kernels.iter().filter(|k| k.launches > 0).map(|k| {
            json!({
                "kernel": k.name,
                "launches": k.launches,
                "warp_instructions": k.warp_instructions,
                "time_s": k.time.as_secs_f64(),
            })
        });
        let tolerated = self.tolerated.iter().map(|t| {
            json!({
                "kernel": t.first.kernel,
                "pc": t.first.pc.0,
                "line": t.first.ptx_line,
                "loads": t.loads,
                "what": t.first.kind.to_string(),
            })
        });
        let mut all = json!({
            "launches": launches,
            "warp_instructions": warp_instructions,
            "thread_instructions": self.thread_instructions,
            "time_s": time.as_secs_f64(),
            "kernels": kernels.collect::<Vec<_>>(),
            "faults": self.faults,
            "tolerated": tolerated.collect::<Vec<_>>(),
        });
        if let Some((path, written, launches)) = &self.trace {
            all["trace"] = json!({
                "file": path.display().to_string(),
                "bytes": written.file_bytes,
                "launches": launches,
                "warp_instructions": written.warp_instructions,
            });
        }
        all
    }

    fn to_text(&self) -> String {
        let (launches, instructions, time) = self.totals();
        let line = |launches: u64, instructions: u64, time: Duration, what: &str| {
            let seconds = time.as_secs_f64();
            format!("warplab: {launches:>9} {instructions:>18} {seconds:>10.3} s  {what}\n")
        };
        let mut text =
            format!("warplab: {:>9} {:>18} {:>12}  kernel\n", "launches", "warp instructions", "time");
        let mut kernels: Vec<&KernelTally> = self.kernels.iter().filter(|k| k.launches > 0).collect();
        if kernels.len() > LISTED_KERNELS {
            kernels.sort_by_key(|k| std::cmp::Reverse(k.time));
        }
        let names = Shortened::of(kernels.iter().map(|k| k.name.as_str()));
        for k in kernels.iter().take(LISTED_KERNELS) {
            text += &line(k.launches, k.warp_instructions, k.time, names.get(&k.name));
        }
        let (mut count, mut sum, mut rest) = (0, 0, Duration::ZERO);
        for k in kernels.iter().skip(LISTED_KERNELS) {
            (count, sum, rest) = (count + k.launches, sum + k.warp_instructions, rest + k.time);
        }
        if count > 0 {
            text += &line(count, sum, rest, &format!("{} other kernels", kernels.len() - LISTED_KERNELS));
        }
        if kernels.len() != 1 {
            text += &line(launches, instructions, time, "all");
        }
        if let Some(first) = self.faults.first() {
            let (count, first) = (self.faults.len(), first.lines().next().unwrap_or_default());
            text += &match count {
                1 => format!("warplab: a kernel failed: {first}\n"),
                _ => format!("warplab: {count} kernels failed, the first: {first}\n"),
            };
        }
        for t in &self.tolerated {
            let Tolerated { first, loads } = t;
            text += &format!(
                "warplab: {loads} loads out of bounds gave 0 in kernel {}, PC {}, line {}\n",
                signature(&first.kernel),
                first.pc,
                first.ptx_line
            );
        }
        if let Some((path, written, launches)) = &self.trace {
            text += &format!(
                "warplab: trace {}: {} bytes, {launches} launches, {} warp instructions\n",
                path.display(),
                written.file_bytes,
                written.warp_instructions
            );
        }
        text
    }
}
