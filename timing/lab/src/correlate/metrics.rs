//! The table of metrics: what is compared, how a result of `timing replay` gives it, and what profilers call it.
//!
//! A metric of a profiler is compared only if it counts the same events as ours. Others (sectors that L2 looked up, for
//! instance, where ours counts requests) are listed with the columns that have no counterpart.

use crate::config::GpuConfig;
use crate::stats::COUNTERS;
use serde_json::Value;
use std::collections::BTreeMap;

/// How differences of a metric are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number of events, or a rate of them: quotients and logarithms.
    Count,
    /// A percentage: differences in percentage points.
    Percentage,
}

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Name as in JSON, CSV and the header of a plain table.
    pub name: &'static str,
    /// Heading in tables.
    pub title: &'static str,
    /// Kind.
    pub kind: Kind,
    /// What is counted, and where ours and the profilers' definitions differ.
    pub about: &'static str,
    ours: fn(&Ours<'_>) -> Option<f64>,
    sources: &'static [Source],
}

/// A launch of a result, and the machine it ran on if that is known.
struct Ours<'a> {
    launch: &'a Value,
    machine: Option<&'a Machine>,
}

/// What the comparison has to know of the GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// SMs.
    pub sms: f64,
    /// Warp slots of an SM.
    pub max_warps: f64,
    /// Clock of the SMs in Hz.
    pub core_clock_hz: f64,
}

/// Whether a name of a profiler's metric or of a column is that of a figure that is compared.
pub(super) fn is_compared(name: &str) -> bool {
    let of_source = |source: &Source| source.sum.contains(&name);
    METRICS.iter().any(|metric| metric.name == name || metric.sources.iter().any(of_source))
        || DURATIONS.contains(&name)
        || CLOCKS.contains(&name)
}

impl Machine {
    /// The machine of a configuration.
    #[must_use]
    pub fn of(config: &GpuConfig) -> Machine {
        Machine {
            sms: f64::from(config.gpu.sms),
            max_warps: f64::from(config.sm.max_warps),
            core_clock_hz: config.gpu.core_clock_khz as f64 * 1e3,
        }
    }
}

/// Metrics of profilers whose sum is ours.
struct Source {
    sum: &'static [&'static str],
    scale: Scale,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.sum.join(" + "))
    }
}

/// From a profiler's value in base units to ours.
#[derive(Clone, Copy, PartialEq)]
enum Scale {
    Same,
    /// Bytes to sectors of 32 bytes.
    Sectors,
    /// A sum over SMs to the mean.
    PerSm,
    /// A fraction to a percentage.
    Percent,
}

const fn same(sum: &'static [&'static str]) -> Source {
    Source { sum, scale: Scale::Same }
}

const fn of(sum: &'static [&'static str], scale: Scale) -> Source {
    Source { sum, scale }
}

impl Ours<'_> {
    fn get(&self, counter: &str) -> Option<f64> {
        self.launch.get(counter).and_then(Value::as_f64)
    }

    fn share(&self, part: &str, whole: &str) -> Option<f64> {
        let whole = self.get(whole).filter(|whole| *whole > 0.0)?;
        Some(100.0 * self.get(part)? / whole)
    }

    /// DRAM sectors of one direction: a burst moves one or two.
    fn dram_sectors(&self, bursts: &str) -> Option<f64> {
        let all = self.get("dram_reads")? + self.get("dram_writes")?;
        if all == 0.0 {
            return Some(0.0);
        }
        Some(self.get(bursts)? * self.get("dram_bytes")? / all / 32.0)
    }
}

/// Metrics of time, from which cycles follow if a profile counts none.
const DURATIONS: &[&str] = &[
    "gpu__time_duration.sum",
    "gpu__time_duration.avg",
    "gpu__time_duration.max",
    "gpu__time_duration_measured_user.sum",
    "gpu__time_duration",
    "Duration",
    "duration",
];
/// Metrics of the clock that ran meanwhile.
const CLOCKS: &[&str] = &[
    "sm__cycles_elapsed.avg.per_second",
    "gpc__cycles_elapsed.avg.per_second",
    "smsp__cycles_elapsed.avg.per_second",
    "gpc__frequency",
    "SM Frequency",
];

/// Every metric, in the order of tables. The profilers' names are those of Nsight Compute, of its first versions on
/// Pascal, of its details page, of nvprof, and of Accel-Sim; the first that a row has is taken.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "cycles",
        title: "Cycles",
        kind: Kind::Count,
        about: "Cycles of the SM clock from launch to end",
        ours: |o| o.get("cycles"),
        sources: &[
            same(&["gpc__cycles_elapsed.max"]),
            same(&["sm__cycles_elapsed.max"]),
            same(&["gpc__cycles_elapsed.avg"]),
            same(&["sm__cycles_elapsed.avg"]),
            same(&["smsp__cycles_elapsed.max"]),
            same(&["gpc__elapsed_cycles_max"]),
            same(&["sm__elapsed_cycles_avg"]),
            same(&["Elapsed Cycles"]),
            of(&["elapsed_cycles_sm"], Scale::PerSm),
            of(&["elapsed_cycles_pm"], Scale::PerSm),
            of(&["sm__cycles_elapsed.sum"], Scale::PerSm),
            same(&["gpu_sim_cycle"]),
            same(&["gpu_tot_sim_cycle"]),
        ],
    },
    Metric {
        name: "warp_instructions",
        title: "Warp instructions",
        kind: Kind::Count,
        about: "Instructions that warps executed; a profile's are those of ptxas's code",
        ours: |o| o.get("warp_instructions"),
        sources: &[
            same(&["smsp__inst_executed.sum"]),
            same(&["sm__inst_executed.sum"]),
            same(&["smsp__inst_executed_sum"]),
            same(&["inst_executed"]),
            same(&["Executed Instructions"]),
            same(&["gpgpu_n_tot_w_icount"]),
        ],
    },
    Metric {
        name: "thread_instructions",
        title: "Thread instructions",
        kind: Kind::Count,
        about: "Lanes in which instructions took effect, after the guard",
        ours: |o| o.get("thread_instructions"),
        sources: &[
            same(&["smsp__thread_inst_executed_pred_on.sum"]),
            same(&["sm__thread_inst_executed_pred_on.sum"]),
            same(&["not_predicated_off_thread_inst_executed"]),
            same(&["gpu_sim_insn"]),
            same(&["gpu_tot_sim_insn"]),
        ],
    },
    Metric {
        name: "ipc",
        title: "IPC per SM",
        kind: Kind::Count,
        about: "Warp instructions per cycle and SM, idle cycles included",
        ours: |o| Some(o.get("warp_instructions")? / o.get("cycles").filter(|c| *c > 0.0)? / o.machine?.sms),
        sources: &[
            same(&["sm__inst_executed.avg.per_cycle_elapsed"]),
            same(&["sm__inst_executed_avg_per_elapsed_cycle"]),
            same(&["Executed Ipc Elapsed"]),
        ],
    },
    Metric {
        name: "active_ipc",
        title: "IPC per active SM",
        kind: Kind::Count,
        about: "Warp instructions per cycle in which the SM has a warp",
        ours: |o| Some(o.get("warp_instructions")? / o.get("active_sm_cycles").filter(|c| *c > 0.0)?),
        sources: &[
            same(&["sm__inst_executed.avg.per_cycle_active"]),
            same(&["sm__inst_executed_avg_per_active_cycle"]),
            same(&["Executed Ipc Active"]),
            same(&["ipc"]),
        ],
    },
    Metric {
        name: "occupancy",
        title: "Occupancy",
        kind: Kind::Percentage,
        about: "Resident warps of the warp slots, while the SM has a warp",
        ours: |o| {
            let resident = o.get("resident_warp_cycles")? / o.get("active_sm_cycles").filter(|c| *c > 0.0)?;
            Some(100.0 * resident / o.machine?.max_warps)
        },
        sources: &[
            same(&["sm__warps_active.avg.pct_of_peak_sustained_active"]),
            same(&["sm__active_warps_avg_per_active_cycle_pct"]),
            same(&["Achieved Occupancy"]),
            of(&["achieved_occupancy"], Scale::Percent),
            same(&["gpu_occupancy"]),
        ],
    },
    Metric {
        name: "global_loads",
        title: "Global loads",
        kind: Kind::Count,
        about: "Warp loads; ours include those of local memory and of textures",
        ours: |o| o.get("global_loads"),
        sources: &[
            same(&["smsp__inst_executed_op_global_ld.sum", "smsp__inst_executed_op_local_ld.sum"]),
            same(&["smsp__sass_inst_executed_op_global_ld.sum"]),
            same(&["smsp__inst_executed_op_global_ld.sum"]),
            same(&["sass__inst_executed_global_loads"]),
            same(&["inst_executed_global_loads"]),
        ],
    },
    Metric {
        name: "global_stores",
        title: "Global stores",
        kind: Kind::Count,
        about: "Warp stores with at least one lane; ours include those to local memory",
        ours: |o| o.get("global_stores"),
        sources: &[
            same(&["smsp__inst_executed_op_global_st.sum", "smsp__inst_executed_op_local_st.sum"]),
            same(&["smsp__sass_inst_executed_op_global_st.sum"]),
            same(&["smsp__inst_executed_op_global_st.sum"]),
            same(&["sass__inst_executed_global_stores"]),
            same(&["inst_executed_global_stores"]),
        ],
    },
    Metric {
        name: "l1_sectors",
        title: "L1 sectors",
        kind: Kind::Count,
        about: "Sectors of 32 bytes that loads, stores and atomics touch after coalescing",
        ours: |o| o.get("coalesced_sectors"),
        sources: &[
            same(&[
                "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
                "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
                "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
            ]),
            same(&[
                "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
            ]),
            same(&["l1tex__t_sectors.sum"]),
        ],
    },
    Metric {
        name: "l1_hit_rate",
        title: "L1 hits",
        kind: Kind::Percentage,
        about: "Loads that hit; ours counts accesses to lines, profilers sectors and, on Volta and later, stores too",
        ours: |o| o.share("l1_hits", "l1_accesses"),
        sources: &[
            same(&["l1tex__t_sector_hit_rate.pct"]),
            same(&["tex__hitrate_pct"]),
            same(&["L1/TEX Hit Rate"]),
            same(&["global_hit_rate"]),
            same(&["tex_cache_hit_rate"]),
        ],
    },
    Metric {
        name: "shared_wavefronts",
        title: "Shared wavefronts",
        kind: Kind::Count,
        about: "Cycles that shared memory serves accesses, those of bank conflicts included",
        // Results of older builds have no sum of the cycles; their conflicts are all cycles but the first.
        ours: |o| match o.get("shared_cycles") {
            None => Some(o.get("shared_accesses")? + o.get("shared_bank_conflict_cycles")?),
            sum => sum,
        },
        sources: &[
            same(&["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"]),
            same(&[
                "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
            ]),
            same(&["shared_load_transactions", "shared_store_transactions"]),
        ],
    },
    Metric {
        name: "constant_requests",
        title: "Constant requests",
        kind: Kind::Count,
        about: "Accesses of indexed constant loads",
        ours: |o| o.get("constant_accesses"),
        sources: &[same(&["idc__requests.sum"])],
    },
    Metric {
        name: "l2_hit_rate",
        title: "L2 hits",
        kind: Kind::Percentage,
        about: "Accesses that hit, writes that take a line without a read among them; ours counts requests, profilers and Accel-Sim sectors",
        ours: |o| o.share("l2_hits", "l2_accesses"),
        sources: &[
            same(&["lts__t_sector_hit_rate.pct"]),
            same(&["lts__request_total_sectors_hitrate_pct"]),
            same(&["L2 Hit Rate"]),
            same(&["l2_tex_hit_rate"]),
            same(&["L2_total_cache_hit_rate"]),
        ],
    },
    Metric {
        name: "dram_read_sectors",
        title: "DRAM reads",
        kind: Kind::Count,
        about: "Sectors of 32 bytes that DRAM delivers",
        ours: |o| o.dram_sectors("dram_reads"),
        sources: &[
            same(&["dram__sectors_read.sum"]),
            same(&["dram__read_sectors"]),
            same(&["dram_read_transactions"]),
            of(&["dram__bytes_read.sum"], Scale::Sectors),
            of(&["dram__bytes_op_read.sum"], Scale::Sectors),
            of(&["dram_read_bytes"], Scale::Sectors),
        ],
    },
    Metric {
        name: "dram_write_sectors",
        title: "DRAM writes",
        kind: Kind::Count,
        about: "Sectors of 32 bytes that DRAM takes",
        ours: |o| o.dram_sectors("dram_writes"),
        sources: &[
            same(&["dram__sectors_write.sum"]),
            same(&["dram__write_sectors"]),
            same(&["dram_write_transactions"]),
            of(&["dram__bytes_write.sum"], Scale::Sectors),
            of(&["dram__bytes_op_write.sum"], Scale::Sectors),
            of(&["dram_write_bytes"], Scale::Sectors),
        ],
    },
];

/// The metric of that name: one of the table, or a counter of `timing list --counters`.
#[must_use]
pub fn metric(name: &str) -> Option<Metric> {
    let listed = METRICS.iter().find(|metric| metric.name == name).copied();
    let counter = || {
        let info = COUNTERS.iter().find(|info| info.name == name)?;
        let about = info.doc.trim();
        let metric = Metric {
            name: info.name,
            title: info.name,
            kind: Kind::Count,
            about,
            ours: |_| None,
            sources: &[],
        };
        Some(metric)
    };
    listed.or_else(counter)
}

/// Position of a metric in tables: those of the table first, then counters.
pub(super) fn order(name: &str) -> usize {
    let listed = METRICS.iter().position(|metric| metric.name == name);
    let counter = || COUNTERS.iter().position(|info| info.name == name).unwrap_or(COUNTERS.len());
    listed.unwrap_or_else(|| METRICS.len() + counter())
}

/// Values of metrics by name.
pub type Values = BTreeMap<&'static str, f64>;

/// The values of a launch of a result: every metric, and every counter under its own name.
pub(super) fn of_launch(launch: &Value, machine: Option<&Machine>) -> Values {
    let ours = Ours { launch, machine };
    let counters = COUNTERS.iter().filter_map(|info| Some((info.name, ours.get(info.name)?)));
    let metrics = METRICS.iter().filter_map(|metric| Some((metric.name, (metric.ours)(&ours)?)));
    counters.chain(metrics).collect()
}

/// Whether a name is that of one of our metrics or counters.
fn metric_names(name: &str) -> bool {
    metric(name).is_some()
}

/// What a row gives.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Values of metrics.
    pub values: Values,
    /// Names in the row that were used.
    pub used: Vec<String>,
    /// The clock in Hz by which a duration became cycles, and whether it is the configuration's.
    pub clock: Option<(f64, bool)>,
    /// Names that need the configuration, which is not known.
    pub needs_machine: Vec<String>,
}

/// The values of a row, given by names in base units. In a plain table our own names come first: its `ipc` is ours, and
/// that of nvprof is another quantity.
pub(super) fn of_row(row: &BTreeMap<String, f64>, plain: bool, machine: Option<&Machine>) -> Taken {
    let mut taken = Taken::default();
    if plain {
        for (name, value) in row {
            if let Some(metric) = metric(name) {
                taken.used.push(name.clone());
                taken.values.insert(metric.name, *value);
            }
        }
    }
    for metric in METRICS {
        for source in metric.sources {
            let part = |name: &&str| row.get(*name).copied().filter(|_| !(plain && metric_names(name)));
            let parts: Option<Vec<f64>> = source.sum.iter().map(part).collect();
            let Some(parts) = parts else { continue };
            let factor = match (source.scale, machine) {
                (Scale::Same, _) => 1.0,
                (Scale::Sectors, _) => 1.0 / 32.0,
                (Scale::Percent, _) => 100.0,
                (Scale::PerSm, Some(machine)) => 1.0 / machine.sms,
                (Scale::PerSm, None) => {
                    taken.needs_machine.extend(source.sum.iter().map(|name| (*name).to_owned()));
                    continue;
                }
            };
            // Further names of a metric that has a value are other measurements of it, not unknown columns.
            taken.used.extend(source.sum.iter().map(|name| (*name).to_owned()));
            taken.values.entry(metric.name).or_insert(parts.iter().sum::<f64>() * factor);
        }
    }
    let find = |names: &[&'static str]| names.iter().find_map(|name| Some((*name, *row.get(*name)?)));
    if let Some((name, seconds)) = find(DURATIONS) {
        let own = find(CLOCKS).filter(|(_, hz)| *hz > 0.0);
        let clock = own.map(|(_, hz)| (hz, false)).or(machine.map(|machine| (machine.core_clock_hz, true)));
        match clock {
            _ if taken.values.contains_key("cycles") => taken.used.push(name.to_owned()),
            Some((hz, configured)) => {
                taken.used.push(name.to_owned());
                taken.values.insert("cycles", seconds * hz);
                taken.clock = Some((hz, configured));
            }
            None => taken.needs_machine.push(name.to_owned()),
        }
    }
    taken.used.extend(CLOCKS.iter().filter(|name| row.contains_key(**name)).map(|name| (*name).to_owned()));
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MACHINE: Machine = Machine { sms: 80.0, max_warps: 64.0, core_clock_hz: 1e9 };

    fn read(row: &[(&str, f64)], plain: bool, machine: Option<&Machine>) -> Taken {
        of_row(&row.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(), plain, machine)
    }

    fn taken(row: &[(&str, f64)], machine: Option<&Machine>) -> Taken {
        read(row, false, machine)
    }

    #[test]
    fn names_are_unique_and_no_name_of_a_profiler_has_two_meanings() {
        let mut names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
        for (i, metric) in METRICS.iter().enumerate() {
            for other in &METRICS[i + 1..] {
                let theirs: Vec<&str> = other.sources.iter().flat_map(|source| source.sum).copied().collect();
                let shared =
                    metric.sources.iter().flat_map(|source| source.sum).find(|name| theirs.contains(name));
                assert_eq!(shared, None, "{} and {}", metric.name, other.name);
            }
        }
    }

    #[test]
    fn a_launch_of_a_result_has_every_metric() {
        let launch = json!({
            "cycles": 1000, "warp_instructions": 8000, "thread_instructions": 256_000, "coalesced_sectors": 40,
            "resident_warp_cycles": 3200, "active_sm_cycles": 100, "l1_hits": 3, "l1_accesses": 4, "l1_misses": 1,
            "shared_accesses": 10, "shared_bank_conflict_cycles": 5, "dram_reads": 6, "dram_writes": 2,
            "dram_bytes": 512, "l2_hits": 1, "l2_accesses": 2, "constant_accesses": 0, "global_loads": 1,
            "global_stores": 2,
        });
        let values = of_launch(&launch, Some(&MACHINE));
        let of = |name: &str| values[name];
        assert_eq!((of("cycles"), of("ipc"), of("active_ipc")), (1000.0, 0.1, 80.0));
        assert_eq!((of("occupancy"), of("l1_hit_rate"), of("l2_hit_rate")), (50.0, 75.0, 50.0));
        // Bursts of 64 bytes are two sectors.
        assert_eq!((of("dram_read_sectors"), of("dram_write_sectors")), (12.0, 4.0));
        assert_eq!((of("shared_wavefronts"), of("l1_misses")), (15.0, 1.0));
        let without = of_launch(&launch, None);
        assert!(!without.contains_key("ipc") && without.contains_key("cycles"));
    }

    #[test]
    fn the_first_source_wins_and_others_are_no_unknown_columns() {
        let found = taken(&[("sm__cycles_elapsed.max", 10.0), ("gpc__cycles_elapsed.max", 12.0)], None);
        assert_eq!(found.values["cycles"], 12.0);
        assert_eq!(found.used.len(), 2);
        let found = taken(&[("elapsed_cycles_sm", 800.0)], Some(&MACHINE));
        assert_eq!(found.values["cycles"], 10.0);
        let found = taken(&[("elapsed_cycles_sm", 800.0)], None);
        assert!(found.values.is_empty() && found.needs_machine == ["elapsed_cycles_sm"]);
    }

    #[test]
    fn durations_become_cycles_by_the_profiles_clock_if_it_has_one() {
        let own = taken(&[("Duration", 2e-6), ("SM Frequency", 1.5e9)], Some(&MACHINE));
        assert!((own.values["cycles"] - 3000.0).abs() < 1e-6 && own.clock == Some((1.5e9, false)));
        let ours = taken(&[("Duration", 2e-6)], Some(&MACHINE));
        assert!((ours.values["cycles"] - 2000.0).abs() < 1e-6 && ours.clock == Some((1e9, true)));
        let both = taken(&[("Duration", 2e-6), ("Elapsed Cycles", 7.0)], Some(&MACHINE));
        assert!(both.values["cycles"] == 7.0 && both.clock.is_none() && both.used.len() == 2);
        assert_eq!(taken(&[("Duration", 2e-6)], None).needs_machine, ["Duration"]);
    }

    #[test]
    fn ipc_of_nvprof_is_per_active_cycle_and_ours_in_a_plain_table_is_not() {
        let found = taken(&[("ipc", 2.0)], Some(&MACHINE));
        assert_eq!(found.values.get("active_ipc"), Some(&2.0));
        assert_eq!(found.values.get("ipc"), None);
        let found = read(&[("ipc", 2.0), ("dram_bytes", 64.0), ("l1_sectors", 2.0)], true, Some(&MACHINE));
        assert_eq!(
            (found.values["dram_bytes"], found.values["l1_sectors"], found.values["ipc"]),
            (64.0, 2.0, 2.0)
        );
        assert_eq!(found.values.get("active_ipc"), None);
    }
}
