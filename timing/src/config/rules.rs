//! Rules for configurations besides the right keys and types.
//!
//! Each rule names the key, the value and the rule itself, so that the message shows how to correct it.

use super::{Dram, GpuConfig, PartitionHash, SetHash};
use super::{UNIT_NAMES, latency_name};
use crate::memory::hash::MAX_IPOLY;
use crate::memory::{replacement, write};
use crate::policy::{self, PolicyEntry};
use crate::sched;
use trace_format::isa::{LatencyClass, Unit};

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Dotted key path.
    pub key: String,
    /// The value and the rule that it breaks.
    pub rule: String,
}

/// Warps, banks and collector units are tracked in 64-bit masks.
const MASK_BITS: u32 = 64;
/// Largest register file of an SM: 4 MiB, small enough that no product of these counts overflows.
const MAX_REGISTERS: u32 = 1 << 20;
/// Largest memory of an SM and largest cache slice, in bytes.
const MAX_SM_BYTES: u32 = 16 << 20;
/// Maximum number of MSHRs of a cache, which are allocated at the start.
const MAX_MSHRS: u32 = 16_384;
/// Longest launch latency: seconds, far below the overflow of cycles.
const MAX_LAUNCH_CYCLES: u64 = 10_000_000_000;
/// Longest latency that the completion wheel holds.
pub(crate) const MAX_LATENCY_CYCLES: u32 = 2000;

/// Checks every rule and returns the first broken one.
///
/// # Errors
/// The key, and a sentence with the value and the rule.
pub(crate) fn check(config: &GpuConfig) -> Result<(), Broken> {
    sm(config)?;
    front_end(config)?;
    issue_and_operands(config)?;
    units(config)?;
    dram(&config.dram)?;
    memory(config)?;
    policies(config)
}

/// A name of a list of policies.
fn policy(key: &str, name: &str, rows: &[PolicyEntry]) -> Result<(), Broken> {
    let rule = format!("there is no such policy; known are {}", policy::names(rows));
    require(rows.iter().any(|row| row.info.name == name), key, format!("`{name}`"), &rule)
}

/// Names and parameters of the policies of caches; `scheduler.policy` is checked with the schedulers.
fn policies(config: &GpuConfig) -> Result<(), Broken> {
    for (key, name) in [
        ("l1.replacement", &config.l1.replacement),
        ("texture_cache.replacement", &config.texture_cache.replacement),
        ("front_end.icache.replacement", &config.front_end.icache.replacement),
        ("constant_cache.replacement", &config.constant_cache.replacement),
        ("l2.replacement", &config.l2.replacement),
    ] {
        policy(key, name, replacement::POLICIES)?;
    }
    let (global, local) = (&config.l1.write_policy, &config.l1.local_write_policy);
    policy("l1.write_policy", global, write::POLICIES)?;
    let rule = "L1s are not coherent: only stores to local memory may stay in L1 (l1.local_write_policy)";
    require(write::keeps(config, global) == Some(false), "l1.write_policy", format!("`{global}`"), rule)?;
    if local != write::AS_GLOBAL {
        policy("l1.local_write_policy", local, write::POLICIES).map_err(|mut broken| {
            broken.rule += &format!(", {}", write::AS_GLOBAL);
            broken
        })?;
    }
    for (name, section) in &config.policy {
        let key = format!("policy.{name}");
        let mut rows = policy::KINDS.iter().flat_map(|kind| kind.2);
        let Some(row) = rows.find(|row| row.info.name == name) else {
            return Err(Broken { key, rule: "unknown policy; `timing list` shows all".into() });
        };
        (row.check)(section).map_err(|rule| Broken { key, rule })?;
    }
    Ok(())
}

fn require(ok: bool, key: &str, value: impl std::fmt::Display, rule: &str) -> Result<(), Broken> {
    if ok { Ok(()) } else { Err(Broken { key: key.to_owned(), rule: format!("{value} is refused: {rule}") }) }
}

fn positive(key: &str, value: u32) -> Result<(), Broken> {
    require(value > 0, key, value, "it must be at least 1")
}

fn within(key: &str, value: u32, low: u32, high: u32) -> Result<(), Broken> {
    require((low..=high).contains(&value), key, value, &format!("it must lie between {low} and {high}"))
}

fn sm(config: &GpuConfig) -> Result<(), Broken> {
    within("gpu.sms", config.gpu.sms, 1, 1024)?;
    for (key, khz) in [
        ("gpu.core_clock_khz", config.gpu.core_clock_khz),
        ("gpu.interconnect_clock_khz", config.gpu.interconnect_clock_khz),
        ("gpu.l2_clock_khz", config.gpu.l2_clock_khz),
        ("gpu.dram_clock_khz", config.gpu.dram_clock_khz),
    ] {
        require((1_000..=10_000_000).contains(&khz), key, khz, "clocks lie between 1 MHz and 10 GHz")?;
    }
    let sm = &config.sm;
    within("sm.max_warps", sm.max_warps, 1, MASK_BITS)?;
    within("sm.max_blocks", sm.max_blocks, 1, MASK_BITS)?;
    within("sm.max_threads_per_block", sm.max_threads_per_block, 1, sm.max_warps * 32)?;
    within("sm.registers", sm.registers, 1, MAX_REGISTERS)?;
    within("sm.register_allocation_unit", sm.register_allocation_unit, 1, MAX_REGISTERS)?;
    within("sm.warp_allocation_granularity", sm.warp_allocation_granularity, 1, MASK_BITS)?;
    within("sm.max_registers_per_thread", sm.max_registers_per_thread, 1, 255)?;
    within("sm.shared_memory_bytes", sm.shared_memory_bytes, 1, MAX_SM_BYTES)?;
    within("sm.shared_allocation_unit_bytes", sm.shared_allocation_unit_bytes, 1, sm.shared_memory_bytes)?;
    within(
        "sm.shared_reserved_per_block_bytes",
        sm.shared_reserved_per_block_bytes,
        0,
        sm.shared_memory_bytes,
    )?;
    require(
        sm.shared_memory_per_block_bytes <= sm.shared_memory_bytes,
        "sm.shared_memory_per_block_bytes",
        sm.shared_memory_per_block_bytes,
        &format!("a block cannot have more than sm.shared_memory_bytes = {}", sm.shared_memory_bytes),
    )?;
    within("sm.block_launch_cycles", sm.block_launch_cycles, 0, MAX_LATENCY_CYCLES)?;
    let latency = config.launch.latency_cycles;
    require(
        latency <= MAX_LAUNCH_CYCLES,
        "launch.latency_cycles",
        latency,
        &format!("it must be at most {MAX_LAUNCH_CYCLES}"),
    )
}

fn front_end(config: &GpuConfig) -> Result<(), Broken> {
    let front = &config.front_end;
    positive("front_end.fetch_warps_per_cycle", front.fetch_warps_per_cycle)?;
    positive("front_end.fetch_instructions", front.fetch_instructions)?;
    within("front_end.ibuffer_entries", front.ibuffer_entries, 1, 8)?;
    within("front_end.decode_cycles", front.decode_cycles, 1, 64)?;
    within("front_end.branch_resolve_cycles", front.branch_resolve_cycles, 0, MAX_LATENCY_CYCLES)?;
    within("front_end.icache_prefetch_lines", front.icache_prefetch_lines, 0, 8)?;
    small_cache("front_end.icache", &front.icache)?;
    small_cache("constant_cache", &config.constant_cache)
}

fn small_cache(key: &str, cache: &super::SmallCache) -> Result<(), Broken> {
    geometry(key, cache.size_bytes, cache.sets, cache.ways, cache.line_bytes)?;
    within(&format!("{key}.mshrs"), cache.mshrs, 1, MAX_MSHRS)?;
    within(&format!("{key}.hit_latency_cycles"), cache.hit_latency_cycles, 1, MAX_LATENCY_CYCLES)
}

fn geometry(key: &str, size: u32, sets: u32, ways: u32, line: u32) -> Result<(), Broken> {
    positive(&format!("{key}.sets"), sets)?;
    positive(&format!("{key}.ways"), ways)?;
    require(
        line.is_power_of_two() && (16..=256).contains(&line),
        &format!("{key}.line_bytes"),
        line,
        "a line is a power of two between 16 and 256 bytes",
    )?;
    let product = u64::from(sets) * u64::from(ways) * u64::from(line);
    require(
        u64::from(size) == product,
        &format!("{key}.size_bytes"),
        size,
        &format!("sets × ways × line_bytes = {sets} × {ways} × {line} = {product} bytes must equal the size"),
    )?;
    within(&format!("{key}.size_bytes"), size, 1, MAX_SM_BYTES)
}

fn issue_and_operands(config: &GpuConfig) -> Result<(), Broken> {
    let schedulers = config.scheduler.count;
    within("scheduler.count", schedulers, 1, 4)?;
    within("scheduler.issue_width", config.scheduler.issue_width, 1, 2)?;
    policy("scheduler.policy", &config.scheduler.policy, sched::POLICIES)?;
    within("scheduler.two_level_active_warps", config.scheduler.two_level_active_warps, 1, MASK_BITS)?;
    let rf = &config.register_file;
    within("register_file.banks", rf.banks, 1, MASK_BITS)?;
    within("register_file.bank_ports", rf.bank_ports, 1, 8)?;
    within("register_file.read_latency_cycles", rf.read_latency_cycles, 1, 64)?;
    within("register_file.result_bus_width", rf.result_bus_width, 1, 64)?;
    let c = &config.collectors;
    within("collectors.ports", c.ports, 1, 16)?;
    within("collectors.issue_to_read_cycles", c.issue_to_read_cycles, 1, 64)?;
    positive("collectors.dispatch_per_scheduler", c.dispatch_per_scheduler)?;
    let pools = [
        ("collectors.generic", c.generic),
        ("collectors.alu", c.alu),
        ("collectors.sfu", c.sfu),
        ("collectors.mem", c.mem),
    ];
    for (key, n) in pools {
        within(key, n, 0, MASK_BITS)?;
    }
    if c.generic == 0 {
        positive("collectors.alu", c.alu)?;
        positive("collectors.sfu", c.sfu)?;
        positive("collectors.mem", c.mem)?;
    } else {
        for (key, n) in [("collectors.alu", c.alu), ("collectors.sfu", c.sfu), ("collectors.mem", c.mem)] {
            require(n == 0, key, n, "class pools must be 0 when collectors.generic is not")?;
        }
    }
    let total = c.generic + c.alu + c.sfu + c.mem;
    require(total <= MASK_BITS, "collectors", total, "an SM has at most 64 collector units")?;
    if rf.sub_core {
        let shares = [
            ("register_file.banks", rf.banks),
            ("collectors.generic", c.generic),
            ("collectors.alu", c.alu),
            ("collectors.sfu", c.sfu),
            ("collectors.mem", c.mem),
        ];
        for (key, n) in shares {
            let rule = format!("register_file.sub_core splits it among {schedulers} schedulers evenly");
            require(n % schedulers == 0, key, n, &rule)?;
        }
    }
    Ok(())
}

fn units(config: &GpuConfig) -> Result<(), Broken> {
    for name in config.units.keys() {
        let known = UNIT_NAMES.join(", ");
        let rule = format!("unknown unit class; known are {known}");
        require(UNIT_NAMES.contains(&name.as_str()), &format!("units.{name}"), name, &rule)?;
    }
    for (name, _) in UNIT_NAMES.iter().zip(Unit::ALL) {
        let key = format!("units.{name}");
        let Some(unit) = config.units.get(*name) else {
            return Err(Broken { key, rule: "missing: every unit class must be described".into() });
        };
        within(&format!("{key}.lanes"), unit.lanes, 1, 32)?;
        require(32 % unit.lanes == 0, &format!("{key}.lanes"), unit.lanes, "lanes must divide 32")?;
        if unit.runs_on.is_empty() {
            within(&format!("{key}.count"), unit.count, 1, 32)?;
        } else {
            require(
                unit.count == 0,
                &format!("{key}.count"),
                unit.count,
                "must be 0 where runs_on is given",
            )?;
            let host = config.units.get(&unit.runs_on);
            require(
                host.is_some_and(|h| h.runs_on.is_empty() && h.count > 0),
                &format!("{key}.runs_on"),
                &unit.runs_on,
                "it must name a unit class that has units of its own",
            )?;
        }
    }
    for name in config.latency.keys() {
        let known = LatencyClass::ALL.into_iter().filter_map(latency_name).collect::<Vec<_>>();
        let rule = format!("unknown latency class; known are {}", known.join(", "));
        require(known.contains(&name.as_str()), &format!("latency.{name}"), name, &rule)?;
    }
    for name in LatencyClass::ALL.into_iter().filter_map(latency_name) {
        let key = format!("latency.{name}");
        let Some(timing) = config.latency.get(name) else {
            return Err(Broken { key, rule: "missing: every latency class must be described".into() });
        };
        within(&format!("{key}.latency_cycles"), timing.latency_cycles, 1, MAX_LATENCY_CYCLES)?;
        within(&format!("{key}.initiation_cycles"), timing.initiation_cycles, 1, MAX_LATENCY_CYCLES)?;
    }
    Ok(())
}

fn memory(config: &GpuConfig) -> Result<(), Broken> {
    positive("load_store.queue_entries", config.load_store.queue_entries)?;
    within("load_store.accesses_per_cycle", config.load_store.accesses_per_cycle, 1, 32)?;
    positive("load_store.miss_queue_entries", config.load_store.miss_queue_entries)?;
    let shared = &config.shared_memory;
    require(
        shared.banks.is_power_of_two() && shared.banks <= 64,
        "shared_memory.banks",
        shared.banks,
        "a power of two up to 64",
    )?;
    within("shared_memory.latency_cycles", shared.latency_cycles, 1, MAX_LATENCY_CYCLES)?;
    require(
        [1, 2, 4].contains(&shared.warp_parts),
        "shared_memory.warp_parts",
        shared.warp_parts,
        "a warp is served in 1, 2 or 4 parts",
    )?;
    within("shared_memory.atomic_cycles", shared.atomic_cycles, 0, MAX_LATENCY_CYCLES)?;
    let texture = &config.texture_cache;
    geometry("texture_cache", texture.size_bytes, texture.sets, texture.ways, texture.line_bytes)?;
    line_of_128("texture_cache", texture.line_bytes)?;
    sectors("texture_cache", texture.sector_bytes, texture.line_bytes)?;
    hash("texture_cache", texture.sets, texture.set_hash)?;
    within("texture_cache.mshrs", texture.mshrs, 1, MAX_MSHRS)?;
    positive("texture_cache.mshr_merges", texture.mshr_merges)?;
    within("texture_cache.hit_latency_cycles", texture.hit_latency_cycles, 1, MAX_LATENCY_CYCLES)?;
    require(
        texture.lanes_per_cycle > 0 && 32u32.is_multiple_of(texture.lanes_per_cycle),
        "texture_cache.lanes_per_cycle",
        texture.lanes_per_cycle,
        "it must divide 32",
    )?;
    let l1 = &config.l1;
    geometry("l1", l1.size_bytes, l1.sets, l1.ways, l1.line_bytes)?;
    line_of_128("l1", l1.line_bytes)?;
    hash("l1", l1.sets, l1.set_hash)?;
    sectors("l1", l1.sector_bytes, l1.line_bytes)?;
    within("l1.mshrs", l1.mshrs, 1, MAX_MSHRS)?;
    positive("l1.mshr_merges", l1.mshr_merges)?;
    within("l1.hit_latency_cycles", l1.hit_latency_cycles, 1, MAX_LATENCY_CYCLES)?;
    let net = &config.interconnect;
    within("interconnect.flit_bytes", net.flit_bytes, 4, 256)?;
    within("interconnect.header_bytes", net.header_bytes, 0, 256)?;
    within("interconnect.request_latency_cycles", net.request_latency_cycles, 1, MAX_LATENCY_CYCLES)?;
    within("interconnect.reply_latency_cycles", net.reply_latency_cycles, 1, MAX_LATENCY_CYCLES)?;
    positive("interconnect.sm_credits", net.sm_credits)?;
    positive("interconnect.reply_queue_entries", net.reply_queue_entries)?;
    carveouts(config)?;
    let l2 = &config.l2;
    within("l2.slices_per_channel", l2.slices_per_channel, 1, 16)?;
    geometry("l2", l2.size_bytes, l2.sets, l2.ways, l2.line_bytes)?;
    line_of_128("l2", l2.line_bytes)?;
    hash("l2", l2.sets, l2.set_hash)?;
    sectors("l2", l2.sector_bytes, l2.line_bytes)?;
    within("l2.mshrs", l2.mshrs, 1, MAX_MSHRS)?;
    for (key, n) in [
        ("l2.mshr_merges", l2.mshr_merges),
        ("l2.queue_entries", l2.queue_entries),
        ("l2.dram_queue_entries", l2.dram_queue_entries),
    ] {
        positive(key, n)?;
    }
    let slices = l2.slices_per_channel * config.dram.channels;
    require(
        l2.partition_hash != PartitionHash::Ipoly || slices.is_power_of_two() && slices <= MAX_IPOLY,
        "l2.partition_hash",
        "ipoly",
        &format!("{slices} slices are no power of two up to {MAX_IPOLY}"),
    )?;
    within("l2.latency_cycles", l2.latency_cycles, 1, MAX_LATENCY_CYCLES)?;
    within("l2.atomic_cycles", l2.atomic_cycles, 0, MAX_LATENCY_CYCLES)?;
    require(
        l2.interleave_bytes.is_power_of_two() && l2.interleave_bytes >= l2.line_bytes,
        "l2.interleave_bytes",
        l2.interleave_bytes,
        "a power of two of at least one line",
    )
}

/// L1 and shared memory of one array: every carve-out must leave whole ways for L1.
fn carveouts(config: &GpuConfig) -> Result<(), Broken> {
    let (l1, shared) = (&config.l1, &config.shared_memory);
    let key = "shared_memory.carveouts_bytes";
    let listed = || format!("{:?}", shared.carveouts_bytes);
    if l1.unified_bytes == 0 {
        let rule = "l1.unified_bytes = 0 leaves nothing to carve from";
        return require(shared.carveouts_bytes.is_empty(), key, listed(), rule);
    }
    let holds = shared.carveouts_bytes.last().is_some_and(|last| *last >= config.sm.shared_memory_bytes);
    let rule = format!("the last must hold sm.shared_memory_bytes = {}", config.sm.shared_memory_bytes);
    require(holds, key, listed(), &rule)?;
    require(shared.carveouts_bytes.is_sorted(), key, listed(), "they must ascend")?;
    let way = u64::from(l1.sets) * u64::from(l1.line_bytes);
    for carveout in &shared.carveouts_bytes {
        let left = u64::from(l1.unified_bytes.saturating_sub(*carveout));
        let rule =
            format!("l1.unified_bytes = {} leaves {left}, no whole ways of {way} bytes", l1.unified_bytes);
        require(left > 0 && left.is_multiple_of(way), key, carveout, &rule)?;
    }
    Ok(())
}

fn line_of_128(key: &str, line: u32) -> Result<(), Broken> {
    require(line == 128, &format!("{key}.line_bytes"), line, "the coalescer works on 128-byte lines")
}

fn hash(key: &str, sets: u32, hash: SetHash) -> Result<(), Broken> {
    let key = format!("{key}.set_hash");
    let rule = format!("needs a power of two of sets up to {MAX_IPOLY}, not {sets}");
    require(hash != SetHash::Ipoly || sets.is_power_of_two() && sets <= MAX_IPOLY, &key, "ipoly", &rule)?;
    let rule = format!("is defined for 32 and 64 sets, not {sets}");
    require(hash != SetHash::Fermi || [32, 64].contains(&sets), &key, "fermi", &rule)
}

fn sectors(key: &str, sector: u32, line: u32) -> Result<(), Broken> {
    require(
        sector == 32 || sector == line,
        &format!("{key}.sector_bytes"),
        sector,
        "32 in a sectored cache, the line size otherwise",
    )
}

fn dram(dram: &Dram) -> Result<(), Broken> {
    within("dram.channels", dram.channels, 1, 256)?;
    within("dram.queue_entries", dram.queue_entries, 1, 1024)?;
    positive("dram.return_queue_entries", dram.return_queue_entries)?;
    within("dram.fixed_latency_cycles", dram.fixed_latency_cycles, 0, MAX_LATENCY_CYCLES)?;
    for (key, cycles) in [
        ("dram.ccd_cycles", dram.ccd_cycles),
        ("dram.ccdl_cycles", dram.ccdl_cycles),
        ("dram.rrd_cycles", dram.rrd_cycles),
        ("dram.rcd_cycles", dram.rcd_cycles),
        ("dram.ras_cycles", dram.ras_cycles),
        ("dram.rp_cycles", dram.rp_cycles),
        ("dram.rc_cycles", dram.rc_cycles),
        ("dram.cl_cycles", dram.cl_cycles),
        ("dram.wl_cycles", dram.wl_cycles),
        ("dram.cdlr_cycles", dram.cdlr_cycles),
        ("dram.wr_cycles", dram.wr_cycles),
        ("dram.rtp_cycles", dram.rtp_cycles),
    ] {
        within(key, cycles, 0, MAX_LATENCY_CYCLES)?;
    }
    for (key, n) in [
        ("dram.bus_bytes", dram.bus_bytes),
        ("dram.burst_length", dram.burst_length),
        ("dram.data_rate", dram.data_rate),
    ] {
        require(n.is_power_of_two() && n <= 1024, key, n, "a power of two up to 1024")?;
    }
    let atom = dram.bus_bytes * dram.burst_length;
    require(
        (16..=128).contains(&atom),
        "dram.burst_length",
        dram.burst_length,
        &format!(
            "one burst moves bus_bytes × burst_length = {atom} bytes, which must lie between 16 and 128"
        ),
    )?;
    require(
        dram.banks.is_power_of_two() && dram.banks <= 64,
        "dram.banks",
        dram.banks,
        "a power of two up to 64",
    )?;
    require(
        dram.bank_groups > 0 && dram.banks.is_multiple_of(dram.bank_groups),
        "dram.bank_groups",
        dram.bank_groups,
        &format!("it must divide dram.banks = {}", dram.banks),
    )?;
    let map: Vec<char> = dram.address_map.chars().filter(|c| !matches!(c, '.' | ' ')).collect();
    let rule = "letters R (row), B (bank), C (column), S (burst), 0 (unused), at most 64 of them";
    let good =
        !map.is_empty() && map.len() <= 64 && map.iter().all(|c| matches!(c, 'R' | 'B' | 'C' | 'S' | '0'));
    require(good, "dram.address_map", &dram.address_map, rule)?;
    let bank_bits = map.iter().filter(|c| **c == 'B').count() as u32;
    require(
        1u32.checked_shl(bank_bits) == Some(dram.banks),
        "dram.address_map",
        &dram.address_map,
        &format!("{bank_bits} bank bits do not number dram.banks = {} banks", dram.banks),
    )
}
