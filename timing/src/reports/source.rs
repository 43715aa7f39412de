//! Section: source hot spots, the PTX lines at which warps spend their time.
//!
//! While the baseline is replayed, SM 0 records when each instruction of each warp issues. The cycles from
//! one issue of a warp to its next are charged to the later instruction, whatever the warp waited for; a
//! hardware profiler estimates the same by sampling the program counters of warps. The number of kept
//! instructions is bounded; the section states where the bound was reached.

use super::Workload;
use crate::replay::Replay;
use crate::view::record::{Fate, InstRecord, NEVER, Origin};
use report::{Callout, Column, Format, Section, SourceListing, Table};
use std::collections::HashMap;
use trace_format::isa::{MachineKernel, Position};
use trace_format::reader::Trace;

/// Number of lines in the table of hot spots.
const WORST: usize = 20;

/// Maximum number of listings on a page; a program may have hundreds of kernels.
const MOST_LISTINGS: usize = 12;

/// Cycles that the warps of a kernel waited on SM 0, by instruction.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    /// Position of the kernel in the trace.
    kernel: u32,
    /// By instruction.
    spots: Vec<Spot>,
    /// Whether the limit was reached in a launch.
    cut: bool,
}

/// Counts of an instruction or line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spot {
    /// Cycles that warps waited before it.
    cycles: u64,
    /// Warp instructions.
    issued: u64,
    /// Lanes in which they took effect.
    lanes: u64,
}

impl Spot {
    fn add(&mut self, other: Spot) {
        self.cycles += other.cycles;
        self.issued += other.issued;
        self.lanes += other.lanes;
    }
}

impl Waits {
    /// Sums the recordings of a replay's launches, kernels in the order of their first launch.
    pub(super) fn by_kernel(trace: &Trace, replay: &Replay) -> Vec<Waits> {
        let mut all: Vec<Waits> = Vec::new();
        for launch in &replay.launches {
            let at = all.iter().position(|one| one.kernel == launch.kernel_index).unwrap_or_else(|| {
                let spots = vec![Spot::default(); trace.kernel(launch.kernel_index).insts.len()];
                all.push(Waits { kernel: launch.kernel_index, spots, cut: false });
                all.len() - 1
            });
            for recording in &launch.recordings {
                all[at].cut |= recording.full_at.is_some();
                add_records(&mut all[at].spots, &recording.insts);
            }
        }
        all
    }

    /// The same by line of translated code, ascending; line 0 stands for instructions without line.
    fn by_line(&self, kernel: &MachineKernel) -> Vec<(Position, Spot)> {
        let mut lines: std::collections::BTreeMap<Position, Spot> = std::collections::BTreeMap::new();
        for (spot, line) in self.spots.iter().zip(&kernel.lines) {
            lines.entry(line.code).or_default().add(*spot);
        }
        lines.into_iter().filter(|(_, spot)| spot.issued > 0).collect()
    }

    fn total(&self) -> Spot {
        let mut sum = Spot::default();
        self.spots.iter().for_each(|spot| sum.add(*spot));
        sum
    }
}

/// Adds the issues of warps: each is charged the cycles since the warp's last issue, the first since its fetch.
fn add_records(spots: &mut [Spot], records: &[InstRecord]) {
    let mut last: HashMap<(u32, u32), u64> = HashMap::new();
    let issued = |record: &&InstRecord| {
        record.origin == Origin::Program && record.issued != NEVER && record.fate != Fate::Flushed
    };
    for record in records.iter().filter(issued) {
        let since = last.insert((record.block, record.warp), record.issued).unwrap_or(record.fetched);
        if let Some(spot) = spots.get_mut(record.pc as usize) {
            spot.add(Spot {
                cycles: record.issued.saturating_sub(since),
                issued: 1,
                lanes: u64::from(record.exec.count_ones()),
            });
        }
    }
}

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
        let summary = format!("{}: {}", workload.label, kernel.name);
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
                share: super::ratio(spot.cycles, cycles),
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
    for one in hot.iter().take(WORST) {
        table.push(report::cells![
            &one.workload.label,
            &one.kernel.name,
            one.line.is_known().then_some(one.line.line),
            one.kernel.file(one.line).map(|file| file.language.to_string()),
            text_of(one.kernel, one.line),
            one.share,
            super::ratio(one.spot.cycles, one.spot.issued),
            one.spot.issued,
            super::ratio(one.spot.lanes, one.spot.issued),
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
    let mut listing = SourceListing::new(format!("{} ({})", kernel.name, workload.label))
        .id(format!("source-{}-{}", workload.label, kernel.name))
        .caption(format!(
            "`{file}` ({language}): the lines that machine instructions came from. Shares are of this kernel's warp cycles."
        ))
        .column("Waiting", Format::Percent(1))
        .column("Cycles per issue", Format::Float(1))
        .column("Issued", Format::Integer);
    for (number, text) in kernel.code_file().iter().flat_map(|file| &file.lines) {
        let values = spots.get(&Position { file: 1, line: *number }).map(|spot| {
            let share = super::ratio(spot.cycles, total.cycles);
            [share, super::ratio(spot.cycles, spot.issued), spot.issued as f64]
        });
        listing.push(*number, text, values.into_iter().flatten());
    }
    listing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(pc: u32, warp: u32, fetched: u64, issued: u64, fate: Fate) -> InstRecord {
        InstRecord {
            pc,
            origin: Origin::Program,
            warp_slot: warp as u8,
            block: 0,
            warp,
            exec: 0xff,
            fetched,
            decoded: fetched + 1,
            issued,
            collected: NEVER,
            started: NEVER,
            completed: NEVER,
            ended: NEVER,
            fate,
        }
    }

    #[test]
    fn cycles_between_issues_of_a_warp_belong_to_the_later_instruction() {
        let mut spots = vec![Spot::default(); 3];
        add_records(
            &mut spots,
            &[
                record(0, 0, 10, 14, Fate::Retired),
                record(0, 1, 11, 15, Fate::Retired),
                record(1, 0, 12, 40, Fate::Retired),
                record(2, 1, 12, NEVER, Fate::Flushed),
                record(1, 1, 13, 16, Fate::InFlight),
                record(9, 1, 13, 17, Fate::Retired),
            ],
        );
        assert_eq!(spots[0], Spot { cycles: 4 + 4, issued: 2, lanes: 16 });
        assert_eq!(spots[1], Spot { cycles: 26 + 1, issued: 2, lanes: 16 });
        assert_eq!(spots[2], Spot::default());
    }
}
