//! Mapping of GPGPU-Sim's options to our keys, by area, and the reasons why other options have no effect.

use super::cache::{self, CacheSpec};
use super::options::{Given, Options, Place};
use crate::config::{GpuConfig, PartitionHash};
use crate::memory::{replacement, write};
use crate::policy;
use crate::sched;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use toml::Value;
use trace_format::isa::Unit;

/// Source text for options that a file does not contain.
pub(super) const DEFAULT: &str = "by default";

/// Values that GPGPU-Sim assumes for options that a file does not have.
const DEFAULTS: &[(&str, &str)] = &[
    ("gpgpu_n_cores_per_cluster", "1"),
    ("gpgpu_inst_fetch_throughput", "1"),
    ("gpgpu_num_dp_units", "0"),
    ("gpgpu_num_int_units", "0"),
    ("gpgpu_num_tensor_core_units", "0"),
    ("gpgpu_num_reg_banks", "8"),
    ("gpgpu_reg_file_port_throughput", "1"),
    ("gpgpu_dual_issue_diff_exec_units", "1"),
    ("gpgpu_sub_core_model", "0"),
    ("gpgpu_enable_specialized_operand_collector", "1"),
    ("gpgpu_operand_collector_num_units_sp", "4"),
    ("gpgpu_operand_collector_num_units_sfu", "4"),
    ("gpgpu_operand_collector_num_units_mem", "2"),
    ("gpgpu_shmem_per_block", "49152"),
    ("gpgpu_n_sub_partition_per_mchannel", "1"),
    ("gpgpu_memory_partition_indexing", "0"),
    ("gpgpu_kernel_launch_latency", "0"),
    ("gpgpu_gmem_skip_L1D", "0"),
    ("gpgpu_flush_l1_cache", "0"),
    ("gpgpu_flush_l2_cache", "0"),
    ("dram_dual_bus_interface", "0"),
    ("dram_bnk_indexing_policy", "0"),
    ("ptx_opcode_latency_sfu", "8"),
    ("ptx_opcode_initiation_sfu", "8"),
];

/// Options under other names, as older and newer files have them.
const ALIASES: &[(&str, &str)] = &[
    ("gmem_skip_L1D", "gpgpu_gmem_skip_L1D"),
    ("rop_latency", "gpgpu_l2_rop_latency"),
    ("l1_latency", "gpgpu_l1_latency"),
    ("smem_latency", "gpgpu_smem_latency"),
    ("gpgpu_dram_sched_queue_size", "gpgpu_frfcfs_dram_sched_queue_size"),
];

/// Options without a counterpart in this model, by prefix, with the reason.
const NOT_HERE: &[(&str, &str)] = &[
    ("gpgpu_simd_model", "reconvergence is recorded in the trace"),
    ("gpgpu_occupancy_sm_number", "chooses the base; allocation granules are keys under [sm]"),
    ("gpgpu_compute_capability", "has no effect here; see gpgpu_occupancy_sm_number"),
    ("gpgpu_registers_per_block", "a block may take all registers of an SM"),
    ("gpgpu_perfect_inst_const_cache", "perfect caches are not modelled"),
    ("gpgpu_TB_launch_latency", "sm.block_launch_cycles of the base replaces it"),
    ("gpgpu_max_concurrent_kernel", "as many as streams allow, see timing replay --concurrent"),
    ("gpgpu_concurrent_kernel_sm", "an SM holds one kernel at a time"),
    ("gpgpu_l1_banks", "load_store.accesses_per_cycle replaces it; an access is a line, not a bank's sector"),
    ("gpgpu_l1_cache_write_ratio", "stores allocate no dirty lines in L1"),
    ("gpgpu_shmem_sizeDefault", "the size is fixed for a configuration"),
    ("gpgpu_shmem_size_Pref", "the size is fixed for a configuration"),
    ("gpgpu_cache:dl1Pref", "the size is fixed for a configuration"),
    ("gpgpu_operand_collector_num_units_dp", "fp64 instructions use collectors.alu"),
    ("gpgpu_shmem_limited_broadcast", "every address of a word is broadcast"),
    ("gpgpu_operand_collector_num_in_ports", "instructions enter collectors at the rate of issue"),
    ("gpgpu_operand_collector_num_out_ports", "collectors.dispatch_per_scheduler of the base replaces it"),
    ("gpgpu_tensor_core_avail", "units.tensor of the base replaces it"),
    (
        "gpgpu_num_tensor_core_units",
        "units.tensor of the base replaces it: its instructions are of another size",
    ),
    ("ptx_opcode_latency_te", "a matrix product is one instruction of another size here"),
    ("ptx_opcode_initiation_te", "a matrix product is one instruction of another size here"),
    (
        "trace_opcode_latency_initiation_spec_op",
        "units and latencies of textures and uniform instructions are those of the base",
    ),
    (
        "specialized_unit",
        "units of branches, textures, matrices and uniform instructions are those of the base",
    ),
    ("network_mode", "only [interconnect] describes the crossbar"),
    ("inter_config_file", "only [interconnect] describes the crossbar"),
    ("icnt_", "only [interconnect] describes the crossbar"),
    ("gpgpu_n_cluster_ejection_buffer_size", "interconnect.sm_credits of the base replaces it"),
    ("dram_bnkgrp_indexing_policy", "a bank's group is its number modulo dram.bank_groups"),
    ("gpgpu_ptx", "configures GPGPU-Sim's execution, not its model"),
    ("gpgpu_force_max_capability", "configures GPGPU-Sim's execution, not its model"),
    ("gpgpu_stack_size_limit", "configures GPGPU-Sim's execution, not its model"),
    ("gpgpu_heap_size_limit", "configures GPGPU-Sim's execution, not its model"),
    ("gpgpu_runtime", "configures GPGPU-Sim's execution, not its model"),
    ("gpgpu_deadlock_detect", "deadlocks are always detected"),
    ("gpgpu_memlatency_stat", "statistics are always kept"),
    ("gpgpu_runtime_stat", "statistics are always kept"),
    ("gpgpu_stat_sample_freq", "see timing replay --interval"),
    ("enable_ptx_file_line_stats", "statistics are always kept"),
    ("visualizer_enabled", "see timing replay --timeline"),
    ("power", "energy is priced by an energy table"),
    ("gpuwattch", "energy is priced by an energy table"),
    ("accelwattch", "energy is priced by an energy table"),
];

/// The shipped configuration of the generation that a file describes.
///
/// # Errors
/// A compute capability that cannot be read.
pub(super) fn base(options: &Options) -> Result<&'static str, String> {
    let Some(given) = options.get("gpgpu_occupancy_sm_number") else {
        return Ok(if options.contains_key("gpgpu_num_sched_per_core") { "titanx-pascal" } else { "gtx285" });
    };
    let number = parse::<u32>(given, "gpgpu_occupancy_sm_number")?;
    Ok(match number {
        0..=19 => "gtx285",
        20..=49 => "gtx480",
        50..=69 => "titanx-pascal",
        70..=74 => "qv100-collectors",
        75..=79 => "rtx2060-collectors",
        _ => "rtx3070-collectors",
    })
}

/// An option that has no effect here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unhonoured {
    /// Option, with its dash.
    pub option: String,
    /// Its value.
    pub value: String,
    /// Why it has no effect, or what replaces it.
    pub why: String,
}

/// Result of the mapping.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    /// Values by key path, each with the option and its value.
    pub values: BTreeMap<String, (Value, String)>,
    /// Options without effect.
    pub unhonoured: Vec<Unhonoured>,
}

struct Mapper<'a> {
    options: &'a Options,
    base: &'a GpuConfig,
    used: RefCell<BTreeSet<String>>,
    out: Mapped,
}

fn parse<T: std::str::FromStr>(given: &Given, option: &str) -> Result<T, String> {
    let value = &given.value;
    value.trim().parse().map_err(|_| format!("{}: -{option} {value}: expected a number", given.at))
}

/// Maps all options.
///
/// # Errors
/// The line, the option and what is wrong with its value.
pub(super) fn map(options: &Options, base: &GpuConfig) -> Result<Mapped, String> {
    let mut mapper = Mapper { options, base, used: RefCell::default(), out: Mapped::default() };
    mapper.machine()?;
    mapper.pipeline()?;
    mapper.collectors()?;
    mapper.units()?;
    mapper.shared_and_l1()?;
    mapper.l2()?;
    mapper.dram()?;
    mapper.rest();
    Ok(mapper.out)
}

impl Mapper<'_> {
    /// An option under any of its names, or its default.
    fn get(&self, option: &str) -> Option<(Given, String)> {
        let names = std::iter::once(option)
            .chain(ALIASES.iter().filter(|(_, name)| *name == option).map(|(a, _)| *a));
        for name in names {
            if let Some(given) = self.options.get(name) {
                self.used.borrow_mut().insert(name.to_owned());
                return Some((given.clone(), format!("-{name} {}", given.value)));
            }
        }
        let (_, default) = DEFAULTS.iter().find(|(name, _)| *name == option)?;
        Some((
            Given { value: (*default).to_owned(), at: Place::default() },
            format!("-{option} {DEFAULT}: {default}"),
        ))
    }

    fn set(&mut self, key: &str, value: impl Into<Value>, source: &str) {
        self.out.values.insert(key.to_owned(), (value.into(), source.to_owned()));
    }

    /// A number, with its source.
    fn number(&self, option: &str) -> Result<Option<(u32, String)>, String> {
        let Some((given, source)) = self.get(option) else { return Ok(None) };
        Ok(Some((parse(&given, option)?, source)))
    }

    /// A number that becomes a key as it is.
    fn copy(&mut self, option: &str, key: &str) -> Result<(), String> {
        if let Some((value, source)) = self.number(option)? {
            self.set(key, i64::from(value), &source);
        }
        Ok(())
    }

    /// A number; 0 means false.
    fn flag(&mut self, option: &str, key: &str) -> Result<(), String> {
        if let Some((value, source)) = self.number(option)? {
            self.set(key, value != 0, &source);
        }
        Ok(())
    }

    /// Numbers separated by a character.
    fn list(&self, option: &str, separator: char) -> Result<Option<(Vec<f64>, String)>, String> {
        let Some((given, source)) = self.get(option) else { return Ok(None) };
        let numbers = given.value.split(separator).map(|part| part.trim().parse::<f64>());
        let numbers = numbers.collect::<Result<Vec<_>, _>>();
        let finite =
            numbers.ok().filter(|list| list.iter().all(|n| n.is_finite() && (0.0..=1e12).contains(n)));
        let wrong = || {
            format!("{}: -{option} {}: expected numbers separated by `{separator}`", given.at, given.value)
        };
        finite.map(|list| Some((list, source))).ok_or_else(wrong)
    }

    fn refuse(&mut self, option: &str, value: &str, why: impl Into<String>) {
        let (option, value) = (format!("-{option}"), value.to_owned());
        self.out.unhonoured.push(Unhonoured { option, value, why: why.into() });
    }

    /// SMs, clocks and the resources of an SM.
    fn machine(&mut self) -> Result<(), String> {
        let clusters = self.number("gpgpu_n_clusters")?;
        let cores = self.number("gpgpu_n_cores_per_cluster")?;
        if let (Some((clusters, source)), Some((cores, _))) = (clusters, cores) {
            self.set("gpu.sms", i64::from(clusters).saturating_mul(i64::from(cores)), &source);
        }
        if let Some((clocks, source)) = self.list("gpgpu_clock_domains", ':')? {
            let names = ["core", "interconnect", "l2", "dram"];
            if clocks.len() != names.len() {
                return Err(format!("{source}: expected four clocks in MHz"));
            }
            for (name, mhz) in names.iter().zip(clocks) {
                self.set(&format!("gpu.{name}_clock_khz"), (mhz * 1000.0).round() as i64, &source);
            }
        }
        if let Some((parts, source)) = self.list("gpgpu_shader_core_pipeline", ':')? {
            if parts.len() != 2 || parts[1] != 32.0 {
                return Err(format!("{source}: expected threads:warp size, with warps of 32"));
            }
            self.set("sm.max_warps", (parts[0] / 32.0) as i64, &source);
            // A block of the base may be larger than an SM of the file.
            let most = i64::from(self.base.sm.max_threads_per_block).min(parts[0] as i64);
            self.set("sm.max_threads_per_block", most, &source);
        }
        self.copy("gpgpu_shader_cta", "sm.max_blocks")?;
        self.copy("gpgpu_shader_registers", "sm.registers")?;
        self.copy("gpgpu_kernel_launch_latency", "launch.latency_cycles")?;
        self.flag("gpgpu_flush_l1_cache", "launch.flush_l1")?;
        self.flag("gpgpu_flush_l2_cache", "launch.flush_l2")?;
        self.flag("gpgpu_perf_sim_memcpy", "launch.copies_fill_l2")
    }

    /// Fetch, small caches and schedulers.
    fn pipeline(&mut self) -> Result<(), String> {
        self.copy("gpgpu_inst_fetch_throughput", "front_end.fetch_warps_per_cycle")?;
        self.small_cache("gpgpu_cache:il1", "front_end.icache")?;
        self.small_cache("gpgpu_const_cache:l1", "constant_cache")?;
        self.small_cache("gpgpu_tex_cache:l1", "texture_cache")?;
        self.copy("gpgpu_num_sched_per_core", "scheduler.count")?;
        self.copy("gpgpu_max_insn_issue_per_warp", "scheduler.issue_width")?;
        self.flag("gpgpu_dual_issue_diff_exec_units", "scheduler.dual_issue_distinct_units")?;
        let Some((given, source)) = self.get("gpgpu_scheduler") else { return Ok(()) };
        let mut parts = given.value.split(':');
        let word = parts.next().unwrap_or("");
        let policy = match policy::from_gpgpusim(sched::POLICIES, word) {
            Some(policy) => policy,
            None if ["warp_limiting", "rrr"].contains(&word) => {
                self.refuse("gpgpu_scheduler", &given.value, "no such policy here; the base's is kept");
                return Ok(());
            }
            None => return Err(format!("{}: -gpgpu_scheduler {word}: no such scheduler", given.at)),
        };
        self.set("scheduler.policy", policy, &source);
        if let Some(active) = parts.next().and_then(|text| text.parse::<u32>().ok()) {
            let schedulers = self.number("gpgpu_num_sched_per_core")?.map_or(1, |(count, _)| count.max(1));
            self.set("scheduler.two_level_active_warps", i64::from((active / schedulers).max(1)), &source);
        }
        Ok(())
    }

    fn cache(&self, option: &str) -> Result<Option<(CacheSpec, String)>, String> {
        let Some((given, source)) = self.get(option) else { return Ok(None) };
        let spec = cache::parse(&given.value).map_err(|why| format!("{}: -{option}: {why}", given.at))?;
        Ok(spec.map(|spec| (spec, source)))
    }

    /// Size and shape of a cache; lines of another size than `line` are converted to more or fewer sets.
    fn shape(&mut self, key: &str, option: &str, (spec, source): (&CacheSpec, &str), line: Option<u32>) {
        let mut sets = spec.sets;
        let line = line.unwrap_or(spec.line_bytes);
        if line != spec.line_bytes {
            sets = (u64::from(sets) * u64::from(spec.line_bytes) / u64::from(line)) as u32;
            let why = format!("lines have {line} bytes here; {sets} sets keep the size");
            self.refuse(option, &format!("{} bytes per line", spec.line_bytes), why);
        }
        let bytes = i64::from(sets).saturating_mul(i64::from(spec.ways)).saturating_mul(i64::from(line));
        self.set(&format!("{key}.size_bytes"), bytes, source);
        self.set(&format!("{key}.sets"), i64::from(sets), source);
        self.set(&format!("{key}.ways"), i64::from(spec.ways), source);
        self.set(&format!("{key}.line_bytes"), i64::from(line), source);
        self.set(&format!("{key}.mshrs"), i64::from(spec.mshrs), source);
        match policy::from_gpgpusim(replacement::POLICIES, spec.replacement.encode_utf8(&mut [0; 4])) {
            Some(name) => self.set(&format!("{key}.replacement"), name, source),
            None => {
                let why = "no such policy here; the base's is kept";
                self.refuse(option, &format!("replacement {}", spec.replacement), why);
            }
        }
    }

    fn set_hash(&mut self, key: &str, option: &str, spec: &CacheSpec, source: &str) {
        let name = match spec.set_hash {
            None | Some('L') => "linear",
            Some('X') => "xor",
            Some('P') => "ipoly",
            Some('H') => "fermi",
            Some(other) => return self.refuse(option, &format!("set hash {other}"), "no such hash here"),
        };
        self.set(&format!("{key}.set_hash"), name, source);
    }

    fn small_cache(&mut self, option: &str, key: &str) -> Result<(), String> {
        let Some((spec, source)) = self.cache(option)? else { return Ok(()) };
        if key == "texture_cache" {
            if !matches!(Value::try_from(self.base), Ok(Value::Table(table)) if table.contains_key(key)) {
                let value = source.split_once(' ').map_or("", |(_, value)| value).to_owned();
                self.refuse(option, &value, "there is no texture cache; L1 replaces it");
                return Ok(());
            }
            // A texture FIFO's numbers are those of fragments, of requests, of lines on their way, and of results.
            self.set("texture_cache.fragments", i64::from(spec.mshrs), &source);
            let sector = if spec.sectored { 32 } else { spec.line_bytes };
            self.set("texture_cache.sector_bytes", i64::from(sector), &source);
            self.set_hash(key, option, &spec, &source);
        }
        self.shape(key, option, (&spec, &source), None);
        if key == "texture_cache" && matches!(spec.mshr_kind, 'T' | 'F') {
            self.set("texture_cache.mshrs", i64::from(spec.miss_queue), &source);
        }
        Ok(())
    }

    /// Register banks and operand collectors.
    fn collectors(&mut self) -> Result<(), String> {
        self.copy("gpgpu_num_reg_banks", "register_file.banks")?;
        self.copy("gpgpu_reg_file_port_throughput", "register_file.bank_ports")?;
        self.flag("gpgpu_sub_core_model", "register_file.sub_core")?;
        let schedulers = self.number("gpgpu_num_sched_per_core")?.map_or(1, |(count, _)| count.max(1));
        let widths = self.list("gpgpu_pipeline_widths", ',')?;
        if let Some((widths, source)) = &widths {
            // Seven stages in files of the first versions, eleven and more since.
            let bus = if widths.len() >= 11 { 10 } else { 6 };
            if let Some(width) = widths.get(bus).filter(|width| **width >= 1.0) {
                self.set("register_file.result_bus_width", *width as i64, source);
            }
        }
        let specialised = self.number("gpgpu_enable_specialized_operand_collector")?;
        let generic = self.number("gpgpu_operand_collector_num_units_gen")?;
        if let (Some((0, _)), Some((units, source))) = (&specialised, generic) {
            self.set("collectors.generic", i64::from(units), &source);
            for pool in ["alu", "sfu", "mem"] {
                self.set(&format!("collectors.{pool}"), 0, &source);
            }
            if let Some((ports, source)) = self.number("gpgpu_operand_collector_num_out_ports_gen")? {
                let each = (ports / schedulers).max(1);
                self.set("collectors.dispatch_per_scheduler", i64::from(each), &source);
            }
            return Ok(());
        }
        if let Some((_, source)) = specialised {
            self.set("collectors.generic", 0, &source);
        }
        self.copy("gpgpu_operand_collector_num_units_sp", "collectors.alu")?;
        self.copy("gpgpu_operand_collector_num_units_sfu", "collectors.sfu")?;
        self.copy("gpgpu_operand_collector_num_units_mem", "collectors.mem")?;
        if let Some((widths, source)) = widths.filter(|(widths, _)| widths.len() >= 10) {
            let leave: f64 = widths[5..10].iter().sum();
            let each = (leave as u32 / schedulers).max(1);
            self.set("collectors.dispatch_per_scheduler", i64::from(each), &source);
        }
        Ok(())
    }

    /// Units by class, and latencies by class of instruction.
    fn units(&mut self) -> Result<(), String> {
        let tables: [(&str, &[(usize, &str)]); 3] = [
            // ADD, MAX, MUL, MAD, DIV, SHFL: a product is MAD here, as machine code has it.
            ("int", &[(0, "int_add"), (1, "int_max"), (3, "int_mul"), (5, "shuffle")]),
            ("fp", &[(0, "fp_add"), (1, "fp_max"), (2, "fp_mul"), (3, "fp_fma"), (3, "half")]),
            ("dp", &[(0, "dp_add"), (1, "dp_max"), (2, "dp_mul"), (3, "dp_fma")]),
        ];
        let mut intervals = BTreeMap::new();
        for (kind, rows) in tables {
            let latencies = self.list(&format!("ptx_opcode_latency_{kind}"), ',')?;
            let initiations = self.list(&format!("ptx_opcode_initiation_{kind}"), ',')?;
            if let Some((list, _)) = &initiations {
                intervals.insert(kind, list.first().copied().unwrap_or(1.0));
            }
            for (position, name) in rows {
                self.timing(name, *position, latencies.as_ref(), initiations.as_ref());
            }
        }
        let latency = self.list("ptx_opcode_latency_sfu", ',')?;
        let initiation = self.list("ptx_opcode_initiation_sfu", ',')?;
        if let Some((list, _)) = &initiation {
            intervals.insert("sfu", list.first().copied().unwrap_or(8.0));
        }
        // GPGPU-Sim has no option for conversions; here they run at the rate of SFU where SFU units execute them.
        let convert = self.base.latency.get("convert").is_some_and(|timing| timing.runs_on.is_empty());
        for name in ["sfu", "convert"].into_iter().filter(|name| *name != "convert" || convert) {
            self.timing(name, 0, latency.as_ref(), initiation.as_ref());
        }
        self.traced_latencies(&mut intervals)?;
        for (option, class, kind, host) in [
            ("gpgpu_num_sp_units", Unit::Fp32, "fp", None),
            ("gpgpu_num_int_units", Unit::Int, "int", Some(Unit::Fp32)),
            ("gpgpu_num_dp_units", Unit::Fp64, "dp", Some(Unit::Sfu)),
            ("gpgpu_num_sfu_units", Unit::Sfu, "sfu", None),
        ] {
            let (class, host) = (class.name(), host.map_or("", Unit::name));
            let Some((count, source)) = self.number(option)? else { continue };
            let interval = intervals.get(kind).copied().unwrap_or(1.0).clamp(1.0, 32.0) as u32;
            let lanes = if count == 0 { 32 } else { (32 / interval.next_power_of_two()).max(1) };
            let host = if count == 0 { host } else { "" };
            if count == 0 && host.is_empty() {
                return Err(format!("{source}: expected at least one unit"));
            }
            self.set(&format!("units.{class}.count"), i64::from(count), &source);
            self.set(&format!("units.{class}.lanes"), i64::from(lanes), &source);
            self.set(&format!("units.{class}.runs_on"), host, &source);
        }
        Ok(())
    }

    /// Latencies by unit of an Accel-Sim `trace.config`, which replace those by PTX instruction.
    fn traced_latencies(&mut self, intervals: &mut BTreeMap<&str, f64>) -> Result<(), String> {
        let convert = self.base.latency.get("convert").is_some_and(|timing| timing.runs_on.is_empty());
        let sfu: &[&str] = if convert { &["sfu", "convert"] } else { &["sfu"] };
        let units: [(&str, &'static str, &[&str]); 5] = [
            ("int", "int", &["int_add", "int_max", "int_mul"]),
            ("sp", "fp", &["fp_add", "fp_max", "fp_mul", "fp_fma", "half"]),
            ("dp", "dp", &["dp_add", "dp_max", "dp_mul", "dp_fma"]),
            ("sfu", "sfu", sfu),
            ("tensor", "tensor", &["tensor"]),
        ];
        for (unit, kind, classes) in units {
            let option = format!("trace_opcode_latency_initiation_{unit}");
            if let Some((pair, source)) = self.pair(&option)? {
                intervals.insert(kind, pair[1]);
                self.timings(classes, pair, &source);
            }
        }
        // Units beyond these have numbers in the options and names in their declarations; branches have a class here.
        for number in 1..=8 {
            let Some(given) = self.options.get(&format!("specialized_unit_{number}")) else { continue };
            let option = format!("trace_opcode_latency_initiation_spec_op_{number}");
            let classes: &[&str] = match given.value.rsplit(',').next().map(str::trim) {
                Some("BRA") => &["control"],
                Some("TENSOR") => &["tensor"],
                _ => continue,
            };
            if let Some((pair, source)) = self.pair(&option)? {
                self.timings(classes, pair, &source);
            }
        }
        Ok(())
    }

    /// A latency and an initiation interval, both at least 1.
    fn pair(&self, option: &str) -> Result<Option<([f64; 2], String)>, String> {
        let Some((list, source)) = self.list(option, ',')? else { return Ok(None) };
        let at = self.get(option).map(|(given, _)| given.at).unwrap_or_default();
        let pair = <[f64; 2]>::try_from(list).ok().filter(|pair| pair.iter().all(|cycles| *cycles >= 1.0));
        let wrong = || format!("{at}: {source}: expected latency,initiation in cycles, at least 1 each");
        pair.map(|pair| Some((pair, source.clone()))).ok_or_else(wrong)
    }

    fn timings(&mut self, classes: &[&str], [latency, initiation]: [f64; 2], source: &str) {
        for class in classes {
            self.set(&format!("latency.{class}.latency_cycles"), latency as i64, source);
            self.set(&format!("latency.{class}.initiation_cycles"), initiation as i64, source);
        }
    }

    /// Latency and initiation interval of a class, from a position of two lists.
    fn timing(
        &mut self,
        class: &str,
        position: usize,
        latencies: Option<&(Vec<f64>, String)>,
        initiations: Option<&(Vec<f64>, String)>,
    ) {
        for (list, key) in [(latencies, "latency_cycles"), (initiations, "initiation_cycles")] {
            if let Some((list, source)) = list
                && let Some(value) = list.get(position)
            {
                // A shuffle is on the unit of its scheduler there, and on the one load/store unit here.
                let on_one_unit = class == "shuffle" && key == "initiation_cycles";
                let units = if on_one_unit { i64::from(self.base.scheduler.count) } else { 1 };
                self.set(&format!("latency.{class}.{key}"), (*value as i64 / units).max(1), source);
            }
        }
    }

    /// Shared memory, coalescing and L1.
    fn shared_and_l1(&mut self) -> Result<(), String> {
        self.copy("gpgpu_shmem_size", "sm.shared_memory_bytes")?;
        if let Some((per_block, source)) = self.number("gpgpu_shmem_per_block")? {
            let all =
                self.number("gpgpu_shmem_size")?.map_or(self.base.sm.shared_memory_bytes, |(all, _)| all);
            self.set("sm.shared_memory_per_block_bytes", i64::from(per_block.min(all)), &source);
        }
        self.copy("gpgpu_shmem_num_banks", "shared_memory.banks")?;
        self.copy("gpgpu_shmem_warp_parts", "shared_memory.warp_parts")?;
        self.copy("gpgpu_smem_latency", "shared_memory.latency_cycles")?;
        if let Some((arch, source)) = self.number("gpgpu_coalesce_arch")? {
            let rules = match arch {
                0..=19 => "segments",
                20..=49 => "lines",
                _ => "sectors",
            };
            self.set("load_store.coalescing", rules, &source);
        }
        self.copy("gpgpu_mem_unit_ports", "load_store.accesses_per_cycle")?;
        self.copy("gpgpu_l1_latency", "l1.hit_latency_cycles")?;
        self.flag("gpgpu_gmem_skip_L1D", "l1.bypass_global")?;
        self.adaptive()?;
        let option = "gpgpu_cache:dl1";
        let Some((spec, source)) = self.cache(option)? else { return Ok(()) };
        self.shape("l1", option, (&spec, &source), Some(128));
        let sector = if spec.sectored { 32 } else { 128 };
        self.set("l1.sector_bytes", sector, &source);
        self.set("l1.mshr_merges", i64::from(spec.merges), &source);
        self.set("load_store.miss_queue_entries", i64::from(spec.miss_queue), &source);
        self.set_hash("l1", option, &spec, &source);
        match policy::from_gpgpusim(write::POLICIES, spec.write.encode_utf8(&mut [0; 4])) {
            Some(name) if write::keeps(self.base, name) == Some(false) => {
                self.set("l1.write_policy", name, &source);
            }
            _ => {
                let why = "stores are always written to L2";
                self.refuse(option, &format!("write policy {}", spec.write), why);
            }
        }
        let local = if spec.write == 'L' { "write_back" } else { "as_global" };
        self.set("l1.local_write_policy", local, &source);
        self.set("l1.write_allocate", spec.write_allocate != 'N', &source);
        if let Some(bytes) = spec.port_bytes.filter(|bytes| *bytes != 128) {
            self.refuse(option, &format!("port of {bytes} bytes"), "a line passes in one access");
        }
        Ok(())
    }

    /// L1 and shared memory in one array.
    fn adaptive(&mut self) -> Result<(), String> {
        let adaptive = self.number("gpgpu_adaptive_cache_config")?;
        let unified = self.number("gpgpu_unified_l1d_size")?;
        let sizes = self.list("gpgpu_shmem_option", ',')?;
        let on = adaptive.as_ref().is_some_and(|(on, _)| *on != 0);
        if let (true, Some((unified, source)), Some((sizes, sizes_source))) = (on, unified, sizes) {
            self.set("l1.unified_bytes", i64::from(unified) * 1024, &source);
            let sizes: Vec<Value> = sizes.iter().map(|kib| Value::Integer((kib * 1024.0) as i64)).collect();
            self.set("shared_memory.carveouts_bytes", sizes, &sizes_source);
        } else {
            let source = adaptive
                .map_or_else(|| format!("-gpgpu_adaptive_cache_config {DEFAULT}: 0"), |(_, source)| source);
            self.set("l1.unified_bytes", 0, &source);
            self.set("shared_memory.carveouts_bytes", Vec::<Value>::new(), &source);
        }
        Ok(())
    }

    /// L2, its queues and the crossbar.
    fn l2(&mut self) -> Result<(), String> {
        self.copy("gpgpu_n_mem", "dram.channels")?;
        self.copy("gpgpu_n_sub_partition_per_mchannel", "l2.slices_per_channel")?;
        self.copy("gpgpu_l2_rop_latency", "l2.latency_cycles")?;
        self.copy("icnt_flit_size", "interconnect.flit_bytes")?;
        self.flag("gpgpu_cache:dl2_texture_only", "l2.texture_only")?;
        if let Some((queues, source)) = self.list("gpgpu_dram_partition_queues", ':')? {
            if queues.len() != 4 {
                return Err(format!("{source}: expected four queue sizes"));
            }
            self.set("l2.queue_entries", queues[0] as i64, &source);
            self.set("l2.dram_queue_entries", queues[1] as i64, &source);
            self.set("interconnect.reply_queue_entries", queues[3] as i64, &source);
        }
        if let Some((indexing, source)) = self.number("gpgpu_memory_partition_indexing")? {
            let (name, exact) = match indexing {
                0 => ("linear", true),
                1 => ("xor", true),
                2 if Value::from("ipoly").try_into::<PartitionHash>().is_ok() => ("ipoly", true),
                _ => ("xor", false),
            };
            self.set("l2.partition_hash", name, &source);
            if !exact {
                let option = "gpgpu_memory_partition_indexing";
                self.refuse(option, &indexing.to_string(), "a xor of the higher address bits replaces it");
            }
        }
        let option = "gpgpu_cache:dl2";
        let Some((spec, source)) = self.cache(option)? else { return Ok(()) };
        self.shape("l2", option, (&spec, &source), Some(128));
        self.set("l2.sector_bytes", if spec.sectored { 32 } else { 128 }, &source);
        self.set("l2.mshr_merges", i64::from(spec.merges), &source);
        self.set_hash("l2", option, &spec, &source);
        if spec.write != 'B' {
            self.refuse(option, &format!("write policy {}", spec.write), "L2 always writes back");
        }
        Ok(())
    }

    /// DRAM channels and their timing.
    fn dram(&mut self) -> Result<(), String> {
        if let Some((scheduler, source)) = self.number("gpgpu_dram_scheduler")? {
            self.set("dram.scheduler", if scheduler == 0 { "fifo" } else { "fr_fcfs" }, &source);
        }
        self.copy("gpgpu_frfcfs_dram_sched_queue_size", "dram.queue_entries")?;
        self.copy("gpgpu_dram_return_queue_size", "dram.return_queue_entries")?;
        let chips = self.number("gpgpu_n_mem_per_ctrlr")?;
        if let Some((bytes, source)) = self.number("gpgpu_dram_buswidth")? {
            let chips = chips.map_or(1, |(chips, _)| chips);
            self.set("dram.bus_bytes", i64::from(chips).saturating_mul(i64::from(bytes)), &source);
        }
        self.copy("gpgpu_dram_burst_length", "dram.burst_length")?;
        self.copy("dram_data_command_freq_ratio", "dram.data_rate")?;
        self.copy("dram_latency", "dram.fixed_latency_cycles")?;
        self.flag("dram_dual_bus_interface", "dram.dual_command_bus")?;
        if let Some((policy, source)) = self.number("dram_bnk_indexing_policy")? {
            let name = ["linear", "xor", "ipoly"].get(policy as usize);
            match name {
                Some(name) => self.set("dram.bank_hash", *name, &source),
                None => self.refuse("dram_bnk_indexing_policy", &policy.to_string(), "no such hash here"),
            }
        }
        self.address_map()?;
        let Some((given, source)) = self.get("gpgpu_dram_timing_opt") else { return Ok(()) };
        let keys = [
            ("nbk", "banks"),
            ("nbkgrp", "bank_groups"),
            ("CCD", "ccd_cycles"),
            ("CCDL", "ccdl_cycles"),
            ("RRD", "rrd_cycles"),
            ("RCD", "rcd_cycles"),
            ("RAS", "ras_cycles"),
            ("RP", "rp_cycles"),
            ("RC", "rc_cycles"),
            ("CL", "cl_cycles"),
            ("WL", "wl_cycles"),
            ("CDLR", "cdlr_cycles"),
            ("WR", "wr_cycles"),
            ("RTPL", "rtp_cycles"),
        ];
        let wrong = |what: &str| format!("{}: -gpgpu_dram_timing_opt: `{what}` is no NAME=CYCLES", given.at);
        for part in given.value.split(':').filter(|part| !part.trim().is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| wrong(part))?;
            let value: u32 = value.trim().parse().map_err(|_| wrong(part))?;
            match keys.iter().find(|(known, _)| *known == name.trim()) {
                Some((_, key)) => self.set(&format!("dram.{key}"), i64::from(value), &source),
                None => self.refuse("gpgpu_dram_timing_opt", part, "no such timing here"),
            }
        }
        Ok(())
    }

    /// `dramid@8;…RRRRBBBBCCCCSSSS`: the place of the channel number, and the bits within a channel.
    fn address_map(&mut self) -> Result<(), String> {
        let option = "gpgpu_mem_addr_mapping";
        let Some((given, source)) = self.get(option) else { return Ok(()) };
        let wrong = |what: &str| format!("{}: -{option} {}: {what}", given.at, given.value);
        let (channel, bits) = given.value.split_once(';').ok_or_else(|| wrong("expected dramid@BIT;BITS"))?;
        let at = channel.trim().strip_prefix("dramid@").and_then(|bit| bit.parse::<u32>().ok());
        let at = at.filter(|bit| *bit < 31).ok_or_else(|| wrong("expected dramid@BIT, below 31"))?;
        self.set("l2.interleave_bytes", 1i64 << at, &source);
        let groups: Vec<&str> = bits.split('.').collect();
        let first = groups.iter().position(|group| group.chars().any(|c| c != '0')).unwrap_or(0);
        self.set("dram.address_map", groups[first..].join("."), &source);
        Ok(())
    }

    /// Collects the remaining options, which have no effect.
    fn rest(&mut self) {
        let used = self.used.take();
        let mut left: Vec<(&String, &Given)> =
            self.options.iter().filter(|(name, _)| !used.contains(*name)).collect();
        left.sort_by(|(_, a), (_, b)| a.at.cmp(&b.at));
        for (name, given) in left {
            let why = NOT_HERE.iter().find(|(start, _)| name.starts_with(start)).map(|(_, why)| *why);
            let why = why.unwrap_or("this model does not know the option");
            self.out.unhonoured.push(Unhonoured {
                option: format!("-{name}"),
                value: given.value.clone(),
                why: why.to_owned(),
            });
        }
    }
}
