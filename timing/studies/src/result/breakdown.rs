//! Counts broken down by kernel, line of PTX, class of opcode and machine instruction.

use super::cells::{column, data_cells, data_columns, shown};
use crate::define::{Shown, Study};
use crate::options::By;
use crate::rows::{KernelCounts, class, grouped};
use report::{Cell, Column, Format, Language, SourceListing, Table};
use trace_format::isa::{MachineKernel, Pc, Position};
use warplab_host::symbols::{Shortened, signature};

/// One row of a breakdown.
struct Part<'a> {
    trace: &'a str,
    kernel: &'a str,
    place: String,
    text: String,
    counts: Vec<u64>,
}

/// The breakdown with its key: as printed, and with all columns.
pub(super) fn breakdown(
    study: &Study,
    number: usize,
    rows: &[KernelCounts],
    by: By,
    top: Option<usize>,
) -> (&'static str, Table, Table) {
    let mut parts: Vec<Part<'_>> = rows.iter().flat_map(|row| parts(study, number, row, by)).collect();
    if by == By::Class {
        parts = over_kernels(study, parts);
    }
    if let Some(top) = top {
        let weight = |part: &Part<'_>| -> u64 {
            let of_share = study.shares.get(study.worst_by).map_or(&[0][..], |share| share.over);
            of_share.iter().map(|&i| part.counts[i]).sum()
        };
        parts.sort_by_key(|part| std::cmp::Reverse(weight(part)));
        parts.truncate(top);
    }
    let language = language(rows.iter().map(|row| &row.kernel));
    let (key, place, text) = match by {
        By::Kernel => ("by_kernel", "Block", None),
        By::Line => ("lines", "Line", Some(language.as_str())),
        By::Source => ("source_lines", "Source", Some("Text")),
        By::Class => ("classes", "Class", None),
        By::Pc => ("pcs", "PC", Some("Instruction")),
    };
    let all: u64 = rows.iter().map(|row| study.sum(row.counts(number))[0]).sum();
    (key, readable(study, &parts, all, place, text, by), data(study, &parts, place, text))
}

fn parts<'a>(study: &Study, number: usize, row: &'a KernelCounts, by: By) -> Vec<Part<'a>> {
    let (counts, kernel) = (row.counts(number), &row.kernel);
    let part = |place: String, text: String, counts: Vec<u64>| Part {
        trace: &row.trace,
        kernel: &kernel.name,
        place,
        text,
        counts,
    };
    match by {
        By::Kernel => vec![part(row.block_text(), String::new(), study.sum(counts))],
        By::Line => grouped(study, counts, |pc| kernel.lines[pc].code)
            .into_iter()
            .map(|(at, counts)| part(line_place(kernel, at), line_text(kernel, at), counts))
            .collect(),
        By::Source => grouped(study, counts, |pc| kernel.lines[pc].source)
            .into_iter()
            .map(|(at, counts)| part(source_place(kernel, at), source_text(kernel, at), counts))
            .collect(),
        By::Class => grouped(study, counts, |pc| class(&kernel.insts[pc]))
            .into_iter()
            .map(|(class, counts)| part(class.to_owned(), String::new(), counts))
            .collect(),
        By::Pc => grouped(study, counts, |pc| pc)
            .into_iter()
            .map(|(pc, counts)| part(Pc(pc as u32).to_string(), kernel.insts[pc].to_string(), counts))
            .collect(),
    }
}

/// File and line of the source.
fn source_place(kernel: &MachineKernel, at: Position) -> String {
    kernel.place(at).map_or_else(|| "(unknown)".into(), |place| place.to_string())
}

/// Text of a line of the source, if the trace has it.
fn source_text(kernel: &MachineKernel, at: Position) -> String {
    kernel.text(at).unwrap_or_default().trim().to_owned()
}

/// Number of a line of translated code, with its file if that is not the kernel's first.
fn line_place(kernel: &MachineKernel, at: Position) -> String {
    match kernel.file(at) {
        Some(file) if at.file > 1 => format!("{}:{}", file.name, at.line),
        _ => at.line.to_string(),
    }
}

/// Text of a line of translated code.
fn line_text(kernel: &MachineKernel, at: Position) -> String {
    kernel.text(at).map_or_else(|| "(no single line)".into(), |text| text.trim().to_owned())
}

/// Language from which all kernels were translated, if it is the same.
fn language<'a>(kernels: impl Iterator<Item = &'a MachineKernel>) -> String {
    let mut languages = kernels.filter_map(MachineKernel::code_file).map(|file| &file.language);
    match languages.next() {
        Some(first) if languages.all(|other| other == first) => first.to_string(),
        _ => "Source".into(),
    }
}

/// Classes summed over all kernels.
fn over_kernels<'a>(study: &Study, parts: Vec<Part<'a>>) -> Vec<Part<'a>> {
    let mut all: Vec<Part<'a>> = Vec::new();
    for part in parts {
        match all.iter_mut().find(|other| (other.trace, &other.place) == (part.trace, &part.place)) {
            Some(other) => study.add(&mut other.counts, &part.counts),
            None => all.push(Part { kernel: "", ..part }),
        }
    }
    all
}

/// Maximum number of characters of a source line in a terminal.
const TEXT_WIDTH: usize = 56;

fn readable(study: &Study, parts: &[Part<'_>], all: u64, place: &str, text: Option<&str>, by: By) -> Table {
    let mut columns = vec![Column::text("Trace")];
    if by != By::Class {
        columns.push(Column::text("Kernel"));
    }
    columns.push(Column::text(place));
    columns.extend(text.map(Column::text));
    columns.push(Column::percent("Of all", 1).help("share of the warp instructions of all traces"));
    columns.extend(shown(study).map(|share| column(study, share)));
    let mut table = Table::new(format!("{}, by {}", study.name, place.to_lowercase()), columns).id(format!(
        "{}-by-{}",
        study.name,
        place.to_lowercase()
    ));
    let names = Shortened::of(parts.iter().map(|part| part.kernel));
    for part in parts.iter().filter(|part| part.counts[0] != 0) {
        let mut cells = vec![Cell::from(part.trace)];
        if by != By::Class {
            cells.push(Cell::name(part.kernel, names.get(part.kernel)));
        }
        cells.push(part.place.as_str().into());
        if text.is_some() {
            let short: String = part.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let cut: String = short.chars().take(TEXT_WIDTH).collect();
            cells.push(if cut.len() < short.len() { format!("{cut}…").into() } else { cut.into() });
        }
        cells.push((part.counts[0] as f64 / all.max(1) as f64).into());
        cells.extend(shown(study).map(|share| share.cell(&part.counts)));
        table.push(cells);
    }
    table
}

fn data(study: &Study, parts: &[Part<'_>], place: &str, text: Option<&str>) -> Table {
    let columns = [Column::text("trace"), Column::text("kernel"), Column::text(place.to_lowercase())];
    let columns = columns.into_iter().chain(text.map(|_| Column::text("text"))).chain(data_columns(study));
    let mut table = Table::new(format!("{} by {}", study.name, place.to_lowercase()), columns);
    let names = Shortened::of(parts.iter().map(|part| part.kernel));
    for part in parts {
        let kernel = Cell::name(part.kernel, names.get(part.kernel));
        let head = report::cells![part.trace, kernel, part.place.as_str()];
        let text = text.map(|_| Cell::from(part.text.as_str()));
        table.push(head.into_iter().chain(text).chain(data_cells(study, &part.counts)));
    }
    table
}

/// Annotated code, a listing per kernel.
pub(super) fn listings(study: &Study, number: usize, rows: &[KernelCounts]) -> Vec<SourceListing> {
    let listing = |row: &KernelCounts| {
        let mut listing = SourceListing::new(format!("{}: {}", row.trace, signature(&row.kernel.name)))
            .language(Language::Cuda)
            .column("Of all", Format::Percent(1));
        for share in shown(study) {
            let format = match share.shown {
                Shown::Percent => Format::Percent(1),
                Shown::Number(_) if share.is_whole() => Format::Integer,
                Shown::Number(_) => Format::Float(2),
            };
            listing = listing.column(share.name, format);
        }
        let counts = row.counts(number);
        let all = study.sum(counts)[0].max(1) as f64;
        let lines = grouped(study, counts, |pc| row.kernel.lines[pc].code);
        for (line, text) in row.kernel.code_file().iter().flat_map(|file| &file.lines) {
            let counts = lines.get(&Position { file: 1, line: *line });
            let of_all = counts.map_or(f64::NAN, |counts| counts[0] as f64 / all);
            let shares = shown(study).map(|share| counts.map_or(f64::NAN, |counts| share.value(counts)));
            listing.push(*line, text.as_str(), std::iter::once(of_all).chain(shares));
        }
        listing
    };
    rows.iter().map(listing).collect()
}
