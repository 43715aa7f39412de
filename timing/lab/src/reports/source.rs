//! Section: source hot spots, the PTX lines at which warps spend their time.
//!
//! While the baseline is replayed, SM 0 records when each instruction of each warp issues. The cycles from
//! one issue of a warp to its next are charged to the later instruction, whatever the warp waited for; a
//! hardware profiler estimates the same by sampling the program counters of warps. The number of kept
//! instructions is bounded; the section states where the bound was reached.

use super::measure::Workload;
use super::waits::{Spot, Waits};
use super::words::ratio;
use report::{Callout, Cell, Column, Format, Section, SourceListing, Table};
use std::collections::HashMap;
use trace_format::isa::{MachineKernel, Position};
use warplab_host::symbols::{Shortened, signature};

/// Number of lines in the table of hot spots.
const WORST: usize = 20;

/// Maximum number of listings on a page; a program may have hundreds of kernels.
const MOST_LISTINGS: usize = 12;

/// One line of a kernel of a workload.
struct Hot<'a> {
    workload: &'a Workload,
    kernel: &'a MachineKernel,
    line: Position,
    spot: Spot,
    share: f64,
}

pub(super) fn section(workloads: &[Workload]) -> Section {
    let section = Section::new("Source hot spots").text(
        "Where warps wait: the cycles from one issue of a warp to its next are charged to the later instruction, \
         which is the one that had to wait. Counted on SM 0 of the baseline. A line that waits is often not the one \
         that is slow: look for what produces its operands.",
    );
    let mut hot = lines(workloads);
    if hot.is_empty() {
        return section.callout(Callout::note("No instruction was issued on SM 0."));
    }
    if !hot.iter().any(|one| one.line.is_known()) {
        return section.callout(Callout::note(
            "The traces do not say from which lines their instructions come, so there is no source to annotate.",
        ));
    }
    hot.sort_by(|a, b| b.share.total_cmp(&a.share));
    let mut section = section.table(worst(&hot));
    let kernels =
        workloads.iter().flat_map(|workload| workload.waits.iter().map(move |waits| (workload, waits)));
    let mut kernels: Vec<(&Workload, &Waits)> =
        kernels.filter(|(_, waits)| waits.total().cycles > 0).collect();
    let left_out = kernels.len().saturating_sub(MOST_LISTINGS);
    if left_out > 0 {
        // The kernels with most cycles, in their own order.
        let mut cycles: Vec<u64> = kernels.iter().map(|(_, waits)| waits.total().cycles).collect();
        cycles.sort_unstable_by(|a, b| b.cmp(a));
        kernels.retain(|(_, waits)| waits.total().cycles >= cycles[MOST_LISTINGS - 1]);
        kernels.truncate(MOST_LISTINGS);
    }
    for (workload, waits) in &kernels {
        let kernel = workload.trace.kernel(waits.kernel);
        let summary = format!("{}: {}", workload.label, signature(&kernel.name));
        section = section.details(summary, |d| d.source(listing(workload, kernel, waits)));
    }
    if left_out > 0 {
        section = section.callout(Callout::note(format!(
            "{left_out} more kernels are left out here; choose with `--kernels`."
        )));
    }
    if workloads.iter().flat_map(|workload| &workload.waits).any(|waits| waits.cut) {
        section = section.callout(Callout::note(
            "Some launches ran longer than the recording of this section; only their beginning counts.",
        ));
    }
    section
}

/// Every line with an issue, with its share of its trace's cycles.
fn lines(workloads: &[Workload]) -> Vec<Hot<'_>> {
    let mut all = Vec::new();
    for workload in workloads {
        let cycles: u64 = workload.waits.iter().map(|waits| waits.total().cycles).sum();
        for waits in &workload.waits {
            let kernel = workload.trace.kernel(waits.kernel);
            all.extend(waits.by_line(kernel).into_iter().map(|(line, spot)| Hot {
                workload,
                kernel,
                line,
                spot,
                share: ratio(spot.cycles, cycles),
            }));
        }
    }
    all
}

fn worst(hot: &[Hot<'_>]) -> Table {
    let columns = [
        Column::text("Trace"),
        Column::text("Kernel"),
        Column::integer("Line").help("Line of the code that was translated into machine instructions"),
        Column::text("Language"),
        Column::text("Source"),
        Column::percent("Waiting", 1)
            .bar()
            .help("Part of the trace's warp cycles that warps waited before this line"),
        Column::float("Cycles per issue", 1)
            .help("Cycles that a warp waited before an instruction of this line, mean"),
        Column::integer("Issued").help("Warp instructions that issued on SM 0"),
        Column::float("Lanes", 1).help("Mean lanes in which they took effect, of 32"),
    ];
    let mut table =
        Table::new("Lines at which warps wait longest", columns).id("hot-lines").caption(format!(
            "The worst {} of all traces; shares are of their own trace's warp cycles.",
            WORST.min(hot.len())
        ));
    let names = Shortened::of(hot.iter().map(|one| one.kernel.name.as_str()));
    for one in hot.iter().take(WORST) {
        table.push(report::cells![
            &one.workload.label,
            Cell::name(&one.kernel.name, names.get(&one.kernel.name)),
            one.line.is_known().then_some(one.line.line),
            one.kernel.file(one.line).map(|file| file.language.to_string()),
            text_of(one.kernel, one.line),
            one.share,
            ratio(one.spot.cycles, one.spot.issued),
            one.spot.issued,
            ratio(one.spot.lanes, one.spot.issued),
        ]);
    }
    table
}

fn text_of(kernel: &MachineKernel, at: Position) -> String {
    kernel.text(at).map_or_else(|| "(no line)".into(), |text| text.trim().to_owned())
}

fn listing(workload: &Workload, kernel: &MachineKernel, waits: &Waits) -> SourceListing {
    let total = waits.total();
    let spots: HashMap<Position, Spot> = waits.by_line(kernel).into_iter().collect();
    let (file, language) = kernel.code_file().map_or((String::new(), String::new()), |file| {
        (file.name.rsplit('/').next().unwrap_or_default().to_owned(), file.language.to_string())
    });
    let mut listing = SourceListing::new(format!("{} ({})", signature(&kernel.name), workload.label))
        .id(format!("source-{}-{}", workload.label, kernel.name))
        .caption(format!(
            "`{file}` ({language}): the lines that machine instructions came from. Shares are of this kernel's warp cycles."
        ))
        .column("Waiting", Format::Percent(1))
        .column("Cycles per issue", Format::Float(1))
        .column("Issued", Format::Integer);
    for (number, text) in kernel.code_file().iter().flat_map(|file| &file.lines) {
        let values = spots.get(&Position { file: 1, line: *number }).map(|spot| {
            let share = ratio(spot.cycles, total.cycles);
            [share, ratio(spot.cycles, spot.issued), spot.issued as f64]
        });
        listing.push(*number, text, values.into_iter().flatten());
    }
    listing
}
