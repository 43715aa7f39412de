//! Section: the kernels that ran, and their occupancy.

use super::measure::Workload;
use super::words::{block_shape, ratio};
use crate::config::GpuConfig;
use crate::replay::LaunchStats;
use crate::stats::Stats;
use report::{Cell, Column, Format, Kpi, Section, Table};
use warplab_host::symbols::Shortened;

pub(super) fn section(config: &GpuConfig, workloads: &[Workload], left_out: &[(String, String)]) -> Section {
    let count = |of: fn(&Workload) -> u64| workloads.iter().map(of).sum::<u64>() as f64;
    let launch = count(|w| w.plain().counters.launch_latency_cycles);
    let kpis = [
        Kpi::number("Traces", workloads.len() as f64, Format::Integer),
        Kpi::number("Launches", count(|w| w.launches.len() as u64), Format::Integer),
        Kpi::number("Warp instructions", count(|w| w.plain().counters.warp_instructions), Format::Si),
        Kpi::number("Cycles", count(|w| w.plain().counters.cycles), Format::Si).note(match launch {
            0.0 => "baseline, all traces".into(),
            launch => format!("baseline, all traces; {} are launch latency", Format::Si.show(launch)),
        }),
    ];
    let mut section = Section::new("What ran").kpis(kpis).table(kernels(workloads));
    let mut cautions: Vec<String> = left_out
        .iter()
        .map(|(trace, why)| format!("{trace} is left out: {}.", why.trim_end_matches('.')))
        .collect();
    for workload in workloads {
        let remarks = [workload.trace.incomplete().map(str::to_owned), workload.trace.partial()];
        let remarks = remarks.into_iter().flatten();
        for why in remarks.chain(workload.replays[0].register_warnings(config)) {
            cautions.push(format!("{}: {}.", workload.label, why.trim_end_matches('.')));
        }
    }
    if !cautions.is_empty() {
        section = section.callout(report::Callout::warning(cautions.join(" ")));
    }
    section
}

fn kernels(workloads: &[Workload]) -> Table {
    let columns = [
        Column::text("Trace"),
        Column::text("Kernel"),
        Column::integer("Launches"),
        Column::text("Block").help("Threads per block along x, y, z"),
        Column::integer("Blocks").help("Thread blocks of all launches"),
        Column::integer("Registers").help("Registers per thread"),
        Column::integer("Blocks per SM").help("Thread blocks that an SM holds at once on the baseline"),
        Column::text("Limited by").help("What keeps an SM from holding more blocks"),
        Column::integer("Warp instructions").bar(),
        Column::float("Lanes", 1).help("Mean lanes in which a warp instruction takes effect, of 32"),
        Column::integer("Cycles").help("SM clock cycles of the baseline, summed over launches"),
        Column::float("IPC", 2).help("Warp instructions per cycle, whole GPU, baseline"),
    ];
    let mut table = Table::new("Kernels", columns).id("kernels").caption(
        "One row per kernel and block shape. Everything on this page follows from these recorded executions.",
    );
    let mut all = Stats::default();
    let groups: Vec<(&Workload, Vec<Group>)> = workloads.iter().map(|one| (one, groups(one))).collect();
    let all_groups = groups.iter().flat_map(|(_, groups)| groups);
    let names = Shortened::of(all_groups.map(|group| group.first.kernel.as_str()));
    for (workload, groups) in &groups {
        for group in groups {
            table.push(row(workload, group, &names));
        }
        all.merge(workload.plain());
    }
    let mut total = vec![Cell::Missing; 12];
    total[0] = "Total".into();
    [1, 3, 7].into_iter().for_each(|text| total[text] = "".into());
    total[2] = workloads.iter().map(|workload| workload.launches.len()).sum::<usize>().into();
    total[8] = all.counters.warp_instructions.into();
    total[10] = all.counters.cycles.into();
    table.summary(total)
}

/// Launches of one kernel with one block shape.
struct Group {
    first: LaunchStats,
    launches: u64,
    blocks: u64,
    stats: Stats,
}

/// The groups of a workload, in the order of their first launches.
fn groups(workload: &Workload) -> Vec<Group> {
    let shape = |launch: &LaunchStats| (launch.kernel_index, launch.geometry.block);
    let mut groups: Vec<Group> = Vec::new();
    for launch in workload.replays[0].launches.iter() {
        match groups.iter_mut().find(|group| shape(&group.first) == shape(&launch)) {
            Some(group) => {
                group.launches += 1;
                group.blocks += launch.blocks;
                group.stats.merge(&launch.stats);
            }
            None => {
                let (blocks, stats) = (launch.blocks, launch.stats.clone());
                groups.push(Group { launches: 1, blocks, stats, first: launch });
            }
        }
    }
    groups
}

fn row(workload: &Workload, group: &Group, names: &Shortened) -> [Cell; 12] {
    let (first, c) = (&group.first, &group.stats.counters);
    report::cells![
        &workload.label,
        Cell::name(&first.kernel, names.get(&first.kernel)),
        group.launches,
        block_shape(first.geometry.block),
        group.blocks,
        first.registers_per_thread,
        first.blocks_per_sm,
        first.occupancy_limit.name().replace('_', " "),
        c.warp_instructions,
        ratio(c.thread_instructions, c.warp_instructions),
        c.cycles,
        c.ipc(),
    ]
}
