//! `trace info`: header, kernels, launches, and where the bytes are.
//!
//! JSON keys: `file_bytes`, `tool`, `opcode_table` (its hash), `values` (whether all can be regenerated), `complete`, `warp_instructions`, `thread_instructions`,
//! `bytes_per_warp_instruction`, `frames`, `kernels` (a list: `name`, `instructions`, `registers_per_thread`,
//! `static_shared_bytes`, `local_bytes_per_thread`, `sources`: a list of `language` and `name`), `launches` (a list: `kernel`, `grid`, `block`,
//! `dynamic_shared_bytes`, `shared_carveout_percent` (what the program prefers, or null), `number` within the run, `stream`, `blocks`, `blocks_recorded`, `sample` (`all`, `first` or
//! `even`), `cut` (why it ended early), `warp_instructions`, `thread_instructions`), `transfers` (copies, fills and waits
//! between launches, a list: `kind`, `count`, `bytes`) and `sections` (an object: `stored_bytes`, `raw_bytes` by
//! section; the stored ones sum to `file_bytes`).

use super::failure::Failure;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;
use std::io::Write;
use trace_format::container::{Contents, Sample, TransferKind, format};
use trace_format::container::{SECTIONS, section_bytes};
use trace_format::isa::SourceFile;
use trace_format::reader::Trace;
use warplab_host::symbols::Shortened;
use warplab_host::tables;

#[derive(Serialize)]
struct Info {
    file_bytes: u64,
    tool: String,
    opcode_table: String,
    values: bool,
    complete: bool,
    warp_instructions: u64,
    thread_instructions: u64,
    bytes_per_warp_instruction: f64,
    frames: usize,
    kernels: Vec<KernelInfo>,
    launches: Vec<LaunchInfo>,
    transfers: Vec<TransferInfo>,
    sections: serde_json::Map<String, serde_json::Value>,
}

#[derive(Serialize)]
struct KernelInfo {
    name: String,
    instructions: usize,
    registers_per_thread: u16,
    static_shared_bytes: u32,
    local_bytes_per_thread: u32,
    sources: Vec<SourceInfo>,
}

/// A file that a kernel's instructions come from.
#[derive(Serialize)]
struct SourceInfo {
    language: String,
    name: String,
}

#[derive(Serialize)]
struct LaunchInfo {
    kernel: u32,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared_bytes: u32,
    shared_carveout_percent: Option<u8>,
    number: u64,
    stream: u64,
    blocks: u64,
    blocks_recorded: u64,
    sample: &'static str,
    cut: Option<String>,
    warp_instructions: u64,
    thread_instructions: u64,
}

/// Copies or fills of one kind.
#[derive(Serialize)]
struct TransferInfo {
    kind: &'static str,
    count: u64,
    bytes: u64,
}

/// Launches that the table lists one by one; of more, the first ones are shown.
const LISTED_LAUNCHES: usize = 100;

impl LaunchInfo {
    /// The default stream is 0, others are as programs hold them.
    fn stream_name(&self) -> String {
        if self.stream < 3 { self.stream.to_string() } else { format!("{:#x}", self.stream) }
    }
}

/// Bytes of one kind of data.
struct Section {
    name: &'static str,
    stored: u64,
    raw: Option<u64>,
}

/// Prints the facts of a trace.
pub(crate) fn run(trace: &Trace, json: bool, out: &mut impl Write) -> Result<(), Failure> {
    let sections = sections(trace);
    let info = gather(trace, &sections);
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(&info)?)?;
        return Ok(());
    }
    writeln!(out, "{}: {}, {}", trace.path().display(), bytes(info.file_bytes), info.tool)?;
    let answers = match trace.header().contents {
        Contents::Values => "every register value and address",
        Contents::Addresses => "paths, addresses and lanes, no other values",
        Contents::Imported => "imported paths, addresses and lanes, no values, predicates or constants",
    };
    writeln!(out, "answers for {answers}; {}", trace.incomplete().unwrap_or("complete"))?;
    writeln!(
        out,
        "{} warp instructions, {} thread instructions, {:.3} bytes per warp instruction\n",
        info.warp_instructions, info.thread_instructions, info.bytes_per_warp_instruction
    )?;
    writeln!(out, "{}\n", kernel_table(&info))?;
    writeln!(out, "{}\n", launch_table(&info))?;
    if let Some(what) = trace.partial() {
        writeln!(out, "{what}")?;
        for (i, l) in info.launches.iter().enumerate() {
            if let Some(why) = &l.cut {
                writeln!(out, "launch {i} ended early: {why}")?;
            }
        }
        writeln!(out)?;
    }
    if !info.transfers.is_empty() {
        writeln!(out, "{}\n", transfer_table(&info))?;
    }
    writeln!(out, "{}", section_table(&sections, &info))?;
    Ok(())
}

fn gather(trace: &Trace, sections: &[Section]) -> Info {
    let sum = |f: fn(&trace_format::reader::Launch) -> u64| trace.launches().iter().map(f).sum::<u64>();
    let warp_instructions = sum(trace_format::reader::Launch::warp_instructions);
    let kernels = (0..trace.kernel_count()).map(|k| {
        let k = trace.kernel(k as u32);
        KernelInfo {
            name: k.name.clone(),
            instructions: k.insts.len(),
            registers_per_thread: k.regs_per_thread,
            static_shared_bytes: k.static_shared_bytes,
            local_bytes_per_thread: k.local_bytes,
            sources: k.files.iter().map(source).collect(),
        }
    });
    let launches = trace.launches().iter().map(|l| LaunchInfo {
        kernel: l.kernel,
        grid: l.geometry.grid,
        block: l.geometry.block,
        dynamic_shared_bytes: l.dynamic_shared_bytes,
        shared_carveout_percent: l.shared_carveout_percent,
        number: l.number,
        stream: l.stream,
        blocks: l.geometry.blocks(),
        sample: match l.sample {
            Sample::All => "all",
            Sample::First(_) => "first",
            Sample::Even(_) => "even",
        },
        cut: l.cut().map(str::to_string),
        blocks_recorded: l.blocks_recorded(),
        warp_instructions: l.warp_instructions(),
        thread_instructions: l.thread_instructions(),
    });
    Info {
        file_bytes: trace.file_bytes(),
        tool: trace.header().tool.clone(),
        opcode_table: format!("{:016x}", trace.header().isa),
        values: trace.header().has_values(),
        complete: trace.incomplete().is_none(),
        warp_instructions,
        thread_instructions: sum(trace_format::reader::Launch::thread_instructions),
        bytes_per_warp_instruction: trace.file_bytes() as f64 / warp_instructions.max(1) as f64,
        frames: trace.frames().len(),
        kernels: kernels.collect(),
        launches: launches.collect(),
        transfers: transfers(trace),
        sections: sections
            .iter()
            .map(|s| (s.name.into(), serde_json::json!({ "stored_bytes": s.stored, "raw_bytes": s.raw })))
            .collect(),
    }
}

fn source(file: &SourceFile) -> SourceInfo {
    SourceInfo { language: file.language.to_string(), name: file.name.clone() }
}

/// Copies, fills and waits by kind.
fn transfers(trace: &Trace) -> Vec<TransferInfo> {
    let kinds = [
        (TransferKind::HostToDevice, "host to device"),
        (TransferKind::DeviceToHost, "device to host"),
        (TransferKind::DeviceToDevice, "device to device"),
        (TransferKind::HostToHost, "host to host"),
        (TransferKind::Fill, "fill"),
    ];
    let of = |(kind, name)| {
        let those = || trace.transfers().iter().filter(|t| t.kind == kind);
        let bytes = those().fold(0u64, |sum, t| sum.saturating_add(t.bytes));
        TransferInfo { kind: name, count: those().count() as u64, bytes }
    };
    let waits = |name, of_program: bool| {
        let count = trace.waits().iter().filter(|wait| (wait.stream == 0) == of_program).count() as u64;
        TransferInfo { kind: name, count, bytes: 0 }
    };
    let waits = [waits("wait of the program", true), waits("wait of a stream", false)];
    kinds.into_iter().map(of).chain(waits).filter(|t| t.count > 0).collect()
}

/// Sizes of the file's parts; the last line is the remainder.
fn sections(trace: &Trace) -> Vec<Section> {
    let of_tag = |tag| trace.records().iter().filter(|r| r.0 == tag).map(|r| r.2).sum();
    let mut frame_sections = [(0u64, 0u64); SECTIONS];
    for frame in 0..trace.frames().len() {
        // A damaged frame's sizes count as framing; `trace verify` names it.
        let table =
            trace.frame_payload(frame).ok().and_then(|payload| section_bytes(&payload)).unwrap_or_default();
        for (sum, (stored, raw)) in frame_sections.iter_mut().zip(table) {
            sum.0 += u64::from(stored);
            sum.1 += u64::from(raw);
        }
    }
    let words = frame_sections[3..].iter().fold((0, 0), |sum, s| (sum.0 + s.0, sum.1 + s.1));
    let framed = |name, (stored, raw): (u64, u64)| Section { name, stored, raw: Some(raw) };
    let mut sections = vec![
        Section { name: "header", stored: of_tag(format::META), raw: None },
        Section { name: "kernels", stored: of_tag(format::KERNEL) + of_tag(format::CONTROL), raw: None },
        Section {
            name: "launches",
            stored: of_tag(format::LAUNCH) + of_tag(format::PREFERENCES) + of_tag(format::CUT),
            raw: None,
        },
        Section { name: "copies and fills", stored: of_tag(format::TRANSFERS), raw: None },
        framed("frame directories", frame_sections[0]),
        framed("paths", frame_sections[1]),
        framed("value tokens", frame_sections[2]),
        framed("loaded words", words),
    ];
    let known: u64 = sections.iter().map(|s| s.stored).sum();
    let rest = trace.file_bytes().saturating_sub(known);
    sections.push(Section { name: "index and framing", stored: rest, raw: None });
    sections
}

fn table(header: &[&str]) -> Table {
    let mut table = tables::table();
    table.set_header(header);
    table
}

fn align_right(table: &mut Table, from: usize) {
    table.column_iter_mut().skip(from).for_each(|c| c.set_cell_alignment(CellAlignment::Right));
}

/// Files with their languages, e.g. `saxpy.ptx (PTX), saxpy.cu (CUDA)`.
fn sources_text(sources: &[SourceInfo]) -> String {
    let named = sources.iter().map(|source| format!("{} ({})", source.name, source.language));
    named.collect::<Vec<_>>().join(", ")
}

/// How the tables show the kernels.
fn shown_names(info: &Info) -> Shortened {
    Shortened::of(info.kernels.iter().map(|kernel| kernel.name.as_str()))
}

fn kernel_table(info: &Info) -> Table {
    let mut t = table(&["", "kernel", "instructions", "registers", "shared bytes", "local bytes", "source"]);
    let names = shown_names(info);
    for (i, k) in info.kernels.iter().enumerate() {
        t.add_row([
            i.to_string(),
            names.get(&k.name).to_owned(),
            k.instructions.to_string(),
            k.registers_per_thread.to_string(),
            k.static_shared_bytes.to_string(),
            k.local_bytes_per_thread.to_string(),
            sources_text(&k.sources),
        ]);
    }
    align_right(&mut t, 2);
    t
}

fn launch_table(info: &Info) -> Table {
    // Few programs prefer a carve-out; the column is there for those that do.
    let preferred = info.launches.iter().any(|l| l.shared_carveout_percent.is_some());
    let mut header = vec!["", "launch of", "grid", "block", "dynamic shared"];
    header.extend(preferred.then_some("carve-out"));
    header.extend(["blocks", "stream", "warp instructions", "lanes active"]);
    let mut t = table(&header);
    let names = shown_names(info);
    let hidden = info.launches.len().saturating_sub(LISTED_LAUNCHES);
    for (i, l) in info.launches.iter().enumerate().take(LISTED_LAUNCHES) {
        let name = info.kernels.get(l.kernel as usize).map_or("?", |k| names.get(&k.name));
        let lanes = l.thread_instructions as f64 / l.warp_instructions.max(1) as f64;
        let mut row = vec![
            i.to_string(),
            name.to_string(),
            l.grid.map(|n| n.to_string()).join("×"),
            l.block.map(|n| n.to_string()).join("×"),
            l.dynamic_shared_bytes.to_string(),
        ];
        if preferred {
            row.push(l.shared_carveout_percent.map_or_else(String::new, |percent| format!("{percent} %")));
        }
        row.extend([
            if l.blocks_recorded == l.blocks {
                l.blocks.to_string()
            } else {
                format!("{} of {} ({})", l.blocks_recorded, l.blocks, l.sample)
            },
            l.stream_name(),
            l.warp_instructions.to_string(),
            format!("{lanes:.1}"),
        ]);
        t.add_row(row);
    }
    if hidden > 0 {
        t.add_row(["…".to_string(), format!("{hidden} more; --json lists all")]);
    }
    align_right(&mut t, 4);
    t
}

fn transfer_table(info: &Info) -> Table {
    let mut t = table(&["between launches", "count", "bytes"]);
    for transfer in &info.transfers {
        t.add_row([transfer.kind.to_string(), transfer.count.to_string(), bytes(transfer.bytes)]);
    }
    align_right(&mut t, 1);
    t
}

fn section_table(sections: &[Section], info: &Info) -> Table {
    let mut t = table(&["section", "stored", "before packing", "share", "per warp instruction"]);
    for s in sections {
        t.add_row([
            s.name.to_string(),
            bytes(s.stored),
            s.raw.map(bytes).unwrap_or_default(),
            format!("{:.1} %", 100.0 * s.stored as f64 / info.file_bytes.max(1) as f64),
            format!("{:.4}", s.stored as f64 / info.warp_instructions.max(1) as f64),
        ]);
    }
    align_right(&mut t, 1);
    t
}

fn bytes(n: u64) -> String {
    match n {
        0..10_000 => format!("{n} B"),
        10_000..10_000_000 => format!("{:.1} KiB", n as f64 / 1024.0),
        10_000_000..10_000_000_000 => format!("{:.1} MiB", n as f64 / 1_048_576.0),
        _ => format!("{:.2} GiB", n as f64 / 1_073_741_824.0),
    }
}
