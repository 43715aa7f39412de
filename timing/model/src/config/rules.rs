//! Rules for configurations besides the right keys and types: the bounds of each number, which are declared with its
//! key in the interface crate, and the rules that connect several keys, which are here.
//!
//! Each rule names the key, the value and the rule itself, so that the message shows how to correct it.

use super::{Dram, GpuConfig, Key, Organisation, SetHash};
use super::{MASK_BITS, UNIT_NAMES, latency_name};
use crate::memory::hash::MAX_IPOLY;
use crate::memory::{replacement, write};
use crate::policy::{self, PolicyRow};
use crate::sched;
use trace_format::isa::{LatencyClass, Unit};
use warplab_host::names;

/// Maximum size of all L1s and similar caches of the SMs together, and of all slices of L2: twenty times what GPUs have.
const MAX_CACHE_BYTES: u64 = 1 << 30;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Dotted key path.
    pub key: String,
    /// The value and the rule that it breaks.
    pub rule: String,
}

/// Checks every rule and returns the first broken one.
///
/// # Errors
/// The key, and a sentence with the value and the rule.
pub fn check(config: &GpuConfig) -> Result<(), Broken> {
    bounds(config)?;
    sm(config)?;
    caches(config)?;
    issue_and_operands(config)?;
    units(config)?;
    dram(&config.dram)?;
    memory(config)?;
    policies(config)
}

fn bounds(config: &GpuConfig) -> Result<(), Broken> {
    for Key { path, bounds, number, .. } in config.keys() {
        if let Some(number) = number {
            require(bounds.accept(number), &path, number, &format!("it must be {bounds}"))?;
        }
    }
    Ok(())
}

/// A name of a list of policies.
fn policy(key: &str, name: &str, rows: &[PolicyRow]) -> Result<(), Broken> {
    let known: Vec<&str> = rows.iter().map(|row| row.info.name).collect();
    let rule = format!("there is no such policy{}", names::among(name, "known are", &known));
    require(rows.iter().any(|row| row.info.name == name), key, format!("`{name}`"), &rule)
}

/// Names and parameters of the policies of caches; `scheduler.policy` is checked with the schedulers.
fn policies(config: &GpuConfig) -> Result<(), Broken> {
    let known = replacement::rows();
    for (key, name) in [
        ("l1.replacement", &config.l1.replacement),
        ("texture_cache.replacement", &config.texture_cache.replacement),
        ("front_end.icache.replacement", &config.front_end.icache.replacement),
        ("constant_cache.replacement", &config.constant_cache.replacement),
        ("front_end.l0.replacement", &config.front_end.l0.replacement),
        ("l15.replacement", &config.l15.replacement),
        ("l2.replacement", &config.l2.replacement),
    ] {
        policy(key, name, &known)?;
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
    let kinds = policy::kinds();
    for (name, section) in &config.policy {
        let key = format!("policy.{name}");
        let Some(row) = kinds.iter().flat_map(|kind| &kind.rows).find(|row| row.info.name == name) else {
            let guess = names::nearest(name, policy::names())
                .map_or(String::new(), |guess| format!(" did you mean `{guess}`?"));
            let rule = format!("unknown policy;{guess} `timing list` shows all");
            return Err(Broken { key, rule });
        };
        (row.check)(section).map_err(|rule| Broken { key, rule })?;
    }
    Ok(())
}

fn require(ok: bool, key: &str, value: impl std::fmt::Display, rule: &str) -> Result<(), Broken> {
    if ok { Ok(()) } else { Err(Broken { key: key.to_owned(), rule: format!("{value} is refused: {rule}") }) }
}

fn within(key: &str, value: u32, low: u32, high: u32) -> Result<(), Broken> {
    require((low..=high).contains(&value), key, value, &format!("it must lie between {low} and {high}"))
}

fn sm(config: &GpuConfig) -> Result<(), Broken> {
    let sm = &config.sm;
    let most = sm.max_warps * 32;
    require(
        (1..=most).contains(&sm.max_threads_per_block),
        "sm.max_threads_per_block",
        sm.max_threads_per_block,
        &format!("it must lie between 1 and 32 × sm.max_warps = {most}"),
    )?;
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
    )
}

/// Sizes, lines, sectors and hashes of caches.
fn caches(config: &GpuConfig) -> Result<(), Broken> {
    let GpuConfig { constant_cache, texture_cache, l1, l2, .. } = config;
    for (key, cache) in [("front_end.icache", &config.front_end.icache), ("constant_cache", constant_cache)] {
        geometry(key, [cache.size_bytes, cache.sets, cache.ways, cache.line_bytes])?;
    }
    let l0 = &config.front_end.l0;
    if l0.size_bytes > 0 {
        geometry("front_end.l0", [l0.size_bytes, l0.sets, l0.ways, config.front_end.icache.line_bytes])?;
    }
    let l15 = &config.l15;
    if l15.size_bytes > 0 {
        geometry("l15", [l15.size_bytes, l15.sets, l15.ways, 128])?;
    }
    let wide = [
        (
            "texture_cache",
            [texture_cache.size_bytes, texture_cache.sets, texture_cache.ways, texture_cache.line_bytes],
            texture_cache.sector_bytes,
            texture_cache.set_hash,
        ),
        ("l1", [l1.size_bytes, l1.sets, l1.ways, l1.line_bytes], l1.sector_bytes, l1.set_hash),
        ("l2", [l2.size_bytes, l2.sets, l2.ways, l2.line_bytes], l2.sector_bytes, l2.set_hash),
    ];
    for (key, shape, sector, set_hash) in wide {
        let [_, sets, _, line] = shape;
        geometry(key, shape)?;
        require(line == 128, &format!("{key}.line_bytes"), line, "the coalescer works on 128-byte lines")?;
        sectors(key, sector, line)?;
        hash(key, sets, set_hash)?;
    }
    all_caches(config)
}

/// Tags of every cache of the GPU are allocated at the beginning of a replay.
fn all_caches(config: &GpuConfig) -> Result<(), Broken> {
    let GpuConfig { gpu, scheduler, front_end, constant_cache, texture_cache, l1, l15, l2, dram, .. } =
        config;
    let l1_bytes = l1.size_bytes.max(l1.unified_bytes);
    let shared = [l1_bytes, texture_cache.size_bytes, constant_cache.size_bytes, front_end.icache.size_bytes];
    let of_sm = shared.into_iter().chain([l15.size_bytes]).map(u64::from).sum::<u64>()
        + u64::from(front_end.l0.size_bytes) * u64::from(scheduler.count);
    let sms = of_sm.saturating_mul(gpu.sms.into());
    let rule = format!("the caches of {} SMs have {sms} bytes, more than {MAX_CACHE_BYTES}", gpu.sms);
    require(sms <= MAX_CACHE_BYTES, "gpu.sms", gpu.sms, &rule)?;
    let slices = u64::from(l2.slices_per_channel) * u64::from(dram.channels);
    let all = slices.saturating_mul(l2.size_bytes.into());
    let rule = format!("{slices} slices have {all} bytes, more than {MAX_CACHE_BYTES}");
    require(all <= MAX_CACHE_BYTES, "l2.size_bytes", l2.size_bytes, &rule)
}

fn geometry(key: &str, [size, sets, ways, line]: [u32; 4]) -> Result<(), Broken> {
    let product = u64::from(sets) * u64::from(ways) * u64::from(line);
    require(
        u64::from(size) == product,
        &format!("{key}.size_bytes"),
        size,
        &format!("sets × ways × line_bytes = {sets} × {ways} × {line} = {product} bytes must equal the size"),
    )
}

fn issue_and_operands(config: &GpuConfig) -> Result<(), Broken> {
    let schedulers = config.scheduler.count;
    policy("scheduler.policy", &config.scheduler.policy, &sched::rows())?;
    let rf = &config.register_file;
    let c = &config.collectors;
    let classes = [("collectors.alu", c.alu), ("collectors.sfu", c.sfu), ("collectors.mem", c.mem)];
    for (key, n) in classes {
        if c.generic == 0 {
            require(n > 0, key, n, "it must be at least 1 where collectors.generic is 0")?;
        } else {
            require(n == 0, key, n, "class pools must be 0 when collectors.generic is not")?;
        }
    }
    let total = c.generic + c.alu + c.sfu + c.mem;
    let rule = format!("an SM has at most {MASK_BITS} collector units");
    require(u64::from(total) <= MASK_BITS, "collectors", total, &rule)?;
    if rf.sub_core {
        let shares = [("register_file.banks", rf.banks), ("collectors.generic", c.generic)];
        for (key, n) in shares.into_iter().chain(classes) {
            let rule = format!("register_file.sub_core splits it among {schedulers} schedulers evenly");
            require(n % schedulers == 0, key, n, &rule)?;
        }
    }
    if config.sm.organisation == Organisation::ControlBits {
        let key = "sm.organisation";
        let rule = "it needs register_file.sub_core = true";
        require(rf.sub_core, key, "`control-bits`", rule)?;
        let rule = "it needs scheduler.issue_width = 1";
        require(config.scheduler.issue_width == 1, key, "`control-bits`", rule)?;
    }
    Ok(())
}

fn units(config: &GpuConfig) -> Result<(), Broken> {
    for name in config.units.keys() {
        let rule = format!("unknown unit class{}", names::among(name, "known are", &UNIT_NAMES));
        require(UNIT_NAMES.contains(&name.as_str()), &format!("units.{name}"), name, &rule)?;
    }
    for (name, _) in UNIT_NAMES.iter().zip(Unit::ALL) {
        let key = format!("units.{name}");
        let Some(unit) = config.units.get(*name) else {
            return Err(Broken { key, rule: "missing: every unit class must be described".into() });
        };
        if unit.runs_on.is_empty() {
            let rule = "it must be at least 1 where runs_on is empty";
            require(unit.count > 0, &format!("{key}.count"), unit.count, rule)?;
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
        let rule = format!("unknown latency class{}", names::among(name, "known are", &known));
        require(known.contains(&name.as_str()), &format!("latency.{name}"), name, &rule)?;
    }
    for name in LatencyClass::ALL.into_iter().filter_map(latency_name) {
        let key = format!("latency.{name}");
        let Some(timing) = config.latency.get(name) else {
            return Err(Broken { key, rule: "missing: every latency class must be described".into() });
        };
        require(
            ["", "int", "fp32", "fp64", "sfu"].contains(&timing.runs_on.as_str()),
            &format!("{key}.runs_on"),
            &timing.runs_on,
            "it must be empty, int, fp32, fp64 or sfu",
        )?;
    }
    Ok(())
}

fn memory(config: &GpuConfig) -> Result<(), Broken> {
    carveouts(config)?;
    let l2 = &config.l2;
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
        dram.banks.is_multiple_of(dram.bank_groups),
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
