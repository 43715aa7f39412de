//! Summary of a run, as a table or as JSON.
//!
//! JSON keys: `launches` (each with `kernel`, `grid`, `block`, `blocks`, `warp_instructions`,
//! `thread_instructions`, `time_s`, `in_order`), `warp_instructions`, `thread_instructions`, `time_s`,
//! `warp_instructions_per_s`, `checks` (each with `buffer`, `verdict`: `passed`, `failed` or `skipped`, and
//! `detail`), `dumps` (each with `buffer`, `type`, `len`, `values`), and after recording `trace` (`file`,
//! `bytes`, `bytes_per_warp_instruction`). A checked run adds `findings` (each with `check`, `what`, `kernel`, `count`,
//! `site` and `other`: `ptx_file`, `ptx_line`, `block`, `thread`, …) and `findings_omitted`.

use crate::check::Findings;
use crate::exec::InOrder;
use crate::manifest::{ElementType, Verdict};
use crate::session::{LaunchReport, RunReport, WriteSummary};
use comfy_table::CellAlignment;
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::path::Path;
use warplab_host::console;
use warplab_host::symbols::{self, Shortened};
use warplab_host::tables;

/// Maximum number of launches listed one by one; more are summed by kernel.
const LISTED_LAUNCHES: usize = 12;

/// Elements of a buffer to show.
#[derive(Clone, Debug)]
pub(super) struct Dump {
    /// The buffer.
    pub buffer: String,
    /// Type of its elements.
    pub element: ElementType,
    /// Number of its elements.
    pub total: usize,
    /// The elements to show.
    pub values: Vec<String>,
}

/// The parts of a summary.
#[derive(Clone, Debug)]
pub(super) struct Summary<'r> {
    /// What was run.
    pub report: &'r RunReport,
    /// The trace's path and write summary.
    pub trace: Option<(&'r Path, WriteSummary)>,
    /// Findings of a checked run.
    pub findings: Option<&'r Findings>,
    /// Buffers to show.
    pub dumps: Vec<Dump>,
}

/// Prints to standard output.
///
/// # Errors
/// When it cannot be written.
pub(super) fn print(summary: &Summary<'_>, as_json: bool) -> io::Result<()> {
    write(&mut console::out(as_json), summary, as_json)
}

/// Prints to standard error, for runs whose standard output holds the trace.
///
/// # Errors
/// When it cannot be written.
pub(super) fn print_to_stderr(summary: &Summary<'_>, as_json: bool) -> io::Result<()> {
    write(&mut console::Out::new(io::stderr().lock(), as_json), summary, as_json)
}

fn write(out: &mut impl Write, summary: &Summary<'_>, as_json: bool) -> io::Result<()> {
    if as_json {
        writeln!(out, "{:#}", to_json(summary))?;
    } else {
        write!(out, "{}", to_text(summary))?;
    }
    out.flush()
}

/// Prints findings of a run that could not be completed.
///
/// # Errors
/// When they cannot be written.
pub(super) fn print_findings(findings: &Findings, as_json: bool) -> io::Result<()> {
    let mut out = console::out(as_json);
    if as_json {
        let found = json!({ "findings": findings.list(), "findings_omitted": findings.omitted() });
        return writeln!(out, "{found:#}");
    }
    out.write_all(findings_text(findings).as_bytes())
}

fn findings_text(findings: &Findings) -> String {
    let mut text: String = findings.list().iter().map(|finding| format!("{finding}\n\n")).collect();
    text += &match (findings.list().len() as u64 + findings.omitted(), findings.omitted()) {
        (0, _) => "nothing found\n".to_string(),
        (all, 0) => format!("{all} found\n"),
        (all, omitted) => format!("{all} found, {omitted} of them not shown (--check-limit)\n"),
    };
    text
}

fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// Launches of a table row: one, or all of a kernel.
struct Line<'r> {
    kernel: &'r str,
    shape: String,
    launches: usize,
    warp_instructions: u64,
    seconds: f64,
}

fn lines(launches: &[LaunchReport]) -> Vec<Line<'_>> {
    let shape = |l: &LaunchReport| {
        let dims = |d: [u32; 3]| match d {
            [x, 1, 1] => x.to_string(),
            [x, y, 1] => format!("{x}x{y}"),
            [x, y, z] => format!("{x}x{y}x{z}"),
        };
        format!("{} x {}", dims(l.geometry.grid), dims(l.geometry.block))
    };
    let mut lines: Vec<Line<'_>> = Vec::new();
    for l in launches {
        let shape = shape(l);
        let known = lines.iter_mut().find(|k| launches.len() > LISTED_LAUNCHES && k.kernel == l.kernel);
        let (count, seconds) = (l.stats.warp_instructions, l.time.as_secs_f64());
        match known {
            Some(line) => {
                line.launches += 1;
                line.warp_instructions += count;
                line.seconds += seconds;
                if line.shape != shape {
                    line.shape = "various".into();
                }
            }
            None => {
                lines.push(Line { kernel: &l.kernel, shape, launches: 1, warp_instructions: count, seconds });
            }
        }
    }
    lines
}

fn to_text(summary: &Summary<'_>) -> String {
    let report = summary.report;
    let mut table = tables::table();
    table.set_header(["kernel", "grid x block", "launches", "warp instructions", "time", "M/s"]);
    let row = |kernel: &str, shape: &str, launches: usize, count: u64, seconds: f64| {
        [
            kernel.to_string(),
            shape.to_string(),
            launches.to_string(),
            count.to_string(),
            format!("{:.3} s", seconds),
            format!("{:.1}", per_second(count, seconds) / 1e6),
        ]
    };
    let lines = lines(&report.launches);
    let names = Shortened::of(lines.iter().map(|line| line.kernel));
    for l in &lines {
        table.add_row(row(names.get(l.kernel), &l.shape, l.launches, l.warp_instructions, l.seconds));
    }
    if report.launches.len() > 1 {
        let time = report.time().as_secs_f64();
        table.add_row(row("all", "", report.launches.len(), report.warp_instructions(), time));
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let notes = notes(&report.launches);
    let mut text: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    text += &notes;
    if let Some((path, written)) = &summary.trace {
        text += &format!(
            "trace {}: {} bytes, {:.3} bytes per warp instruction\n",
            path.display(),
            written.file_bytes,
            bytes_per_instruction(written)
        );
    }
    if let Some(findings) = summary.findings {
        text += &findings_text(findings);
    }
    for check in &report.checks {
        text += &match &check.verdict {
            Verdict::Passed => format!("check {}: passed\n", check.buffer),
            Verdict::Failed(why) => format!("check {}: FAILED, {why}\n", check.buffer),
            Verdict::Skipped(why) => format!("check {}: skipped, {why}\n", check.buffer),
        };
    }
    for dump in &summary.dumps {
        let more = if dump.values.len() < dump.total { ", …" } else { "" };
        let (name, ty, total) = (&dump.buffer, dump.element.name(), dump.total);
        text += &format!("{name} ({total} x {ty}): {}{more}\n", dump.values.join(", "));
    }
    text
}

/// Notes about kernels whose blocks could not run in parallel although threads were available.
fn notes(launches: &[LaunchReport]) -> String {
    let mut notes: Vec<String> = Vec::new();
    for l in launches {
        let why = match l.stats.in_order {
            Some(InOrder::Communicates) => "it has atomics with results or strong loads on global memory",
            Some(InOrder::SharedMemory) => "its blocks read and write the same allocation",
            Some(InOrder::Waits) => "a block waits for others",
            Some(InOrder::Single) | None => continue,
        };
        let note = format!("blocks of {} ran one after the other: {why}\n", symbols::signature(&l.kernel));
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes.concat()
}

fn bytes_per_instruction(written: &WriteSummary) -> f64 {
    per_second(written.file_bytes, written.warp_instructions as f64)
}

fn in_order(why: Option<InOrder>) -> Value {
    match why {
        None => Value::Null,
        Some(InOrder::Single) => "one thread or one block".into(),
        Some(InOrder::Communicates) => "atomics with results or strong loads".into(),
        Some(InOrder::SharedMemory) => "its blocks read and write the same allocation".into(),
        Some(InOrder::Waits) => "a block waits for others".into(),
    }
}

fn to_json(summary: &Summary<'_>) -> Value {
    let report = summary.report;
    let launch = |l: &LaunchReport| {
        json!({
            "kernel": l.kernel,
            "grid": l.geometry.grid,
            "block": l.geometry.block,
            "blocks": l.stats.blocks,
            "warp_instructions": l.stats.warp_instructions,
            "thread_instructions": l.stats.thread_instructions,
            "time_s": l.time.as_secs_f64(),
            "in_order": in_order(l.stats.in_order),
        })
    };
    let checks = report.checks.iter().map(|c| {
        let (verdict, detail) = match &c.verdict {
            Verdict::Passed => ("passed", Value::Null),
            Verdict::Failed(why) => ("failed", why.as_str().into()),
            Verdict::Skipped(why) => ("skipped", why.as_str().into()),
        };
        json!({ "buffer": c.buffer, "verdict": verdict, "detail": detail })
    });
    let dumps = summary
        .dumps
        .iter()
        .map(|d| json!({ "buffer": d.buffer, "type": d.element.name(), "len": d.total, "values": d.values }));
    let (count, seconds) = (report.warp_instructions(), report.time().as_secs_f64());
    let mut all = Map::new();
    all.insert("launches".into(), report.launches.iter().map(launch).collect());
    all.insert("warp_instructions".into(), count.into());
    let threads: u64 = report.launches.iter().map(|l| l.stats.thread_instructions).sum();
    all.insert("thread_instructions".into(), threads.into());
    all.insert("time_s".into(), seconds.into());
    all.insert("warp_instructions_per_s".into(), per_second(count, seconds).into());
    all.insert("checks".into(), checks.collect());
    all.insert("dumps".into(), dumps.collect());
    if let Some(findings) = summary.findings {
        all.insert("findings".into(), json!(findings.list()));
        all.insert("findings_omitted".into(), findings.omitted().into());
    }
    if let Some((path, written)) = &summary.trace {
        let trace = json!({
            "file": path.display().to_string(),
            "bytes": written.file_bytes,
            "bytes_per_warp_instruction": bytes_per_instruction(written),
        });
        all.insert("trace".into(), trace);
    }
    Value::Object(all)
}
