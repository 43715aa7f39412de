//! `trace export`: a trace as the text of another simulator's tracer.

use super::failure::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use std::cell::OnceCell;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use trace_format::reader::{Launch, Trace};
use warplab_accelsim::{ExportOptions, export};

/// How long an export may take before it shows how far it is.
const SILENCE: Duration = Duration::from_secs(2);

/// Writes a trace into a folder and prints what was written.
pub(crate) fn run(
    trace: &Trace,
    folder: &Path,
    binary_version: u32,
    xz: bool,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let (started, bar) = (Instant::now(), OnceCell::new());
    let all = trace.launches().iter().map(Launch::warp_instructions).sum();
    let progress = |done: u64| {
        if std::io::stderr().is_terminal() && started.elapsed() >= SILENCE {
            let bar = bar.get_or_init(|| {
                let style = ProgressStyle::with_template("exporting [{bar:30}] {percent:>3}%");
                ProgressBar::new(all).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
            });
            bar.set_position(done);
        }
    };
    let options = ExportOptions { binary_version, xz, progress: &progress };
    let done = export(trace, folder, &options);
    if let Some(bar) = bar.get() {
        bar.finish_and_clear();
    }
    let done = done?;
    let launches = if done.launches == 1 { "launch" } else { "launches" };
    writeln!(
        out,
        "{}: {} {launches}, {} warp instructions",
        done.list.display(),
        done.launches,
        done.warp_instructions
    )?;
    if done.other_copies > 0 {
        writeln!(
            out,
            "note: {} fills and copies within the GPU are written as copies from the host, the only kind that there is",
            done.other_copies
        )?;
    }
    Ok(())
}
