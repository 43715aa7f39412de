//! Breaks every rule of [`super::rules`] one by one: each error names the key, the value and the rule.

use super::{Bounds, Key, load_text};
use std::collections::BTreeSet;

/// Overrides of gtx480 that break a rule, the named key, and other required parts of the message.
type Case = (&'static [&'static str], &'static str, &'static [&'static str]);

const CASES: &[Case] = &[
    (&["gpu.sms=0"], "gpu.sms", &["0", "between 1 and 1024"]),
    (&["gpu.sms=1025"], "gpu.sms", &["1025"]),
    (
        &[
            "gpu.sms=1024",
            "texture_cache.size_bytes=1048576",
            "texture_cache.sets=64",
            "texture_cache.ways=128",
        ],
        "gpu.sms",
        &["the caches of 1024 SMs", "more than 1073741824"],
    ),
    (&["l1.unified_bytes=4294967295"], "l1.unified_bytes", &["4294967295", "between 0 and 16777216"]),
    (&["gpu.core_clock_khz=999"], "gpu.core_clock_khz", &["999", "1 MHz"]),
    (&["gpu.interconnect_clock_khz=0"], "gpu.interconnect_clock_khz", &["0"]),
    (&["gpu.l2_clock_khz=0"], "gpu.l2_clock_khz", &["0"]),
    (&["gpu.dram_clock_khz=20000000"], "gpu.dram_clock_khz", &["20000000", "10 GHz"]),
    (
        &["sm.organisation=control-bits", "register_file.sub_core=false"],
        "sm.organisation",
        &["control-bits", "register_file.sub_core = true"],
    ),
    (
        &[
            "sm.organisation=control-bits",
            "register_file.sub_core=true",
            "collectors.sfu=8",
            "collectors.mem=8",
            "scheduler.issue_width=2",
        ],
        "sm.organisation",
        &["control-bits", "scheduler.issue_width = 1"],
    ),
    (&["sub_core.read_window_cycles=0"], "sub_core.read_window_cycles", &["0", "between 1 and 16"]),
    (&["sub_core.memory_queue_entries=0"], "sub_core.memory_queue_entries", &["0"]),
    (&["sub_core.address_cycles=65"], "sub_core.address_cycles", &["65", "between 1 and 64"]),
    (&["sub_core.accept_cycles=0"], "sub_core.accept_cycles", &["0"]),
    (&["sub_core.global_read_cycles=3"], "sub_core.global_read_cycles", &["3", "between 4 and 2000"]),
    (&["sub_core.shared_read_cycles=3"], "sub_core.shared_read_cycles", &["3"]),
    (&["sub_core.constant_read_cycles=2001"], "sub_core.constant_read_cycles", &["2001"]),
    (&["sub_core.constant_register_cycles=65"], "sub_core.constant_register_cycles", &["65"]),
    (&["sub_core.uniform_read_cycles=3"], "sub_core.uniform_read_cycles", &["3", "between 4 and 2000"]),
    (&["sub_core.uniform_store_read_cycles=65"], "sub_core.uniform_store_read_cycles", &["65"]),
    (&["sub_core.uniform_saved_cycles=2"], "sub_core.uniform_saved_cycles", &["2", "between 0 and 1"]),
    (&["sub_core.constant_sets=0"], "sub_core.constant_sets", &["0", "between 1 and 1024"]),
    (&["sub_core.constant_ways=65"], "sub_core.constant_ways", &["65"]),
    (&["sub_core.constant_line_bytes=48"], "sub_core.constant_line_bytes", &["48", "a power of two"]),
    (&["sub_core.constant_miss_cycles=0"], "sub_core.constant_miss_cycles", &["0"]),
    (&["sub_core.constant_hold_cycles=2001"], "sub_core.constant_hold_cycles", &["2001"]),
    (&["sub_core.store_read_cycles=65"], "sub_core.store_read_cycles", &["65"]),
    (&["sub_core.wide_read_cycles=65"], "sub_core.wide_read_cycles", &["65"]),
    (&["sub_core.load_bits_per_cycle=500"], "sub_core.load_bits_per_cycle", &["500", "512"]),
    (&["sub_core.shared_load_bits_per_cycle=0"], "sub_core.shared_load_bits_per_cycle", &["0", "1024"]),
    (&["sub_core.unit_queue_entries=0"], "sub_core.unit_queue_entries", &["0"]),
    (&["sub_core.yield_cycles=0"], "sub_core.yield_cycles", &["0"]),
    (&["sm.max_warps=65"], "sm.max_warps", &["65", "between 1 and 64"]),
    (&["sm.max_warps=0"], "sm.max_warps", &["0"]),
    (&["sm.max_blocks=0"], "sm.max_blocks", &["0"]),
    (&["sm.max_threads_per_block=1537"], "sm.max_threads_per_block", &["1537", "1536"]),
    (&["sm.registers=0"], "sm.registers", &["0"]),
    (&["sm.registers=4294967295"], "sm.registers", &["4294967295"]),
    (&["sm.register_allocation_unit=0"], "sm.register_allocation_unit", &["0"]),
    (&["sm.register_allocation_unit=1048577"], "sm.register_allocation_unit", &["1048577"]),
    (&["sm.warp_allocation_granularity=0"], "sm.warp_allocation_granularity", &["0"]),
    (&["sm.max_registers_per_thread=256"], "sm.max_registers_per_thread", &["256", "255"]),
    (&["sm.hidden_registers_per_thread=9"], "sm.hidden_registers_per_thread", &["9", "between 0 and 8"]),
    (&["sm.first_warp=second"], "sm.first_warp", &["`second`", "lowest_slot", "turns"]),
    (&["sm.shared_memory_bytes=4294967295"], "sm.shared_memory_bytes", &["4294967295"]),
    (&["sm.shared_memory_per_block_bytes=49153"], "sm.shared_memory_per_block_bytes", &["49153", "49152"]),
    (&["sm.shared_allocation_unit_bytes=0"], "sm.shared_allocation_unit_bytes", &["0"]),
    (&["sm.shared_reserved_per_block_bytes=49153"], "sm.shared_reserved_per_block_bytes", &["49153"]),
    (&["sm.block_launch_cycles=2001"], "sm.block_launch_cycles", &["2001", "2000"]),
    (&["sm.block_interval_cycles=2001"], "sm.block_interval_cycles", &["2001", "2000"]),
    (&["launch.latency_cycles=10000000001"], "launch.latency_cycles", &["10000000001"]),
    (&["front_end.fetch_warps_per_cycle=0"], "front_end.fetch_warps_per_cycle", &["between 1 and 65536"]),
    (&["front_end.fetch_instructions=0"], "front_end.fetch_instructions", &["between 1 and 65536"]),
    (&["front_end.ibuffer_entries=9"], "front_end.ibuffer_entries", &["9", "between 1 and 8"]),
    (&["front_end.decode_cycles=0"], "front_end.decode_cycles", &["0"]),
    (&["front_end.branch_resolve_cycles=2001"], "front_end.branch_resolve_cycles", &["2001"]),
    (&["front_end.converge_cycles=2001"], "front_end.converge_cycles", &["2001"]),
    (&["front_end.icache_prefetch_lines=9"], "front_end.icache_prefetch_lines", &["9"]),
    (&["front_end.icache.mshrs=0"], "front_end.icache.mshrs", &["0"]),
    (&["front_end.icache.hit_latency_cycles=0"], "front_end.icache.hit_latency_cycles", &["0"]),
    (
        &["load_store.constant_address_cycles=0"],
        "load_store.constant_address_cycles",
        &["0", "between 1 and 64"],
    ),
    (&["load_store.constant_word_cycles=65"], "load_store.constant_word_cycles", &["65", "between 0 and 64"]),
    (&["l2.dirty_percent=101"], "l2.dirty_percent", &["101", "between 1 and 100"]),
    (&["constant_cache.mshrs=0"], "constant_cache.mshrs", &["0"]),
    (&["constant_cache.hit_latency_cycles=0"], "constant_cache.hit_latency_cycles", &["0"]),
    (&["register_file.guard_delay_cycles=2001"], "register_file.guard_delay_cycles", &["2001"]),
    (&["front_end.l0.size_bytes=100"], "front_end.l0.size_bytes", &["100", "16384"]),
    (&["front_end.l0.size_bytes=16777217"], "front_end.l0.size_bytes", &["16777217"]),
    (&["front_end.l0.ways=0"], "front_end.l0.ways", &["0"]),
    (&["front_end.l0.sets=0"], "front_end.l0.sets", &["0"]),
    (&["front_end.l0.replacement=newest"], "front_end.l0.replacement", &["`newest`", "lru"]),
    (&["front_end.l0.latency_cycles=0"], "front_end.l0.latency_cycles", &["0"]),
    (&["front_end.l0.stream_lines=65"], "front_end.l0.stream_lines", &["65"]),
    (&["front_end.code_group_instructions=0"], "front_end.code_group_instructions", &["0"]),
    (&["front_end.code_group_bytes=4"], "front_end.code_group_bytes", &["4"]),
    (&["l15.size_bytes=16777217"], "l15.size_bytes", &["16777217"]),
    (&["l15.size_bytes=100"], "l15.size_bytes", &["100", "32768"]),
    (&["l15.sets=0"], "l15.sets", &["0"]),
    (&["l15.ways=0"], "l15.ways", &["0"]),
    (&["l15.replacement=newest"], "l15.replacement", &["`newest`", "lru"]),
    (&["l15.hit_latency_cycles=0"], "l15.hit_latency_cycles", &["0"]),
    (&["scheduler.count=0"], "scheduler.count", &["0", "between 1 and 4"]),
    (&["scheduler.count=5"], "scheduler.count", &["5"]),
    (&["scheduler.issue_width=3"], "scheduler.issue_width", &["3", "between 1 and 2"]),
    (&["scheduler.policy=best"], "scheduler.policy", &["`best`", "lrr", "two_level"]),
    (&["l1.write_policy=gto"], "l1.write_policy", &["`gto`", "write_evict"]),
    (&["l1.write_policy=write_back"], "l1.write_policy", &["`write_back`", "local"]),
    (&["l1.local_write_policy=gto"], "l1.local_write_policy", &["`gto`", "write_back", "as_global"]),
    (&["policy.newest.window=3"], "policy.newest", &["unknown policy", "timing list"]),
    (&["policy.lru.window=3"], "policy.lru", &["unknown key `window`"]),
    (&["scheduler.two_level_active_warps=0"], "scheduler.two_level_active_warps", &["0"]),
    (&["register_file.banks=0"], "register_file.banks", &["0", "between 1 and 64"]),
    (&["register_file.bank_ports=0"], "register_file.bank_ports", &["0"]),
    (&["register_file.bank_write_ports=9"], "register_file.bank_write_ports", &["9", "between 0 and 8"]),
    (&["register_file.read_latency_cycles=0"], "register_file.read_latency_cycles", &["0"]),
    (&["register_file.result_bus_width=0"], "register_file.result_bus_width", &["0"]),
    (&["register_file.sub_core=true", "register_file.banks=15"], "register_file.banks", &["15", "evenly"]),
    (&["register_file.sub_core=true", "collectors.alu=7"], "collectors.alu", &["7", "2 schedulers"]),
    (&["register_file.sub_core=true", "collectors.sfu=7"], "collectors.sfu", &["7", "evenly"]),
    (&["register_file.sub_core=true", "collectors.mem=3"], "collectors.mem", &["3", "evenly"]),
    (&["collectors.ports=0"], "collectors.ports", &["0"]),
    (&["collectors.issue_to_read_cycles=0"], "collectors.issue_to_read_cycles", &["0"]),
    (&["collectors.dispatch_per_scheduler=0"], "collectors.dispatch_per_scheduler", &["0"]),
    (&["collectors.alu=0"], "collectors.alu", &["0", "at least 1"]),
    (&["collectors.sfu=0"], "collectors.sfu", &["0"]),
    (&["collectors.mem=0"], "collectors.mem", &["0"]),
    (&["collectors.generic=4"], "collectors.alu", &["6", "must be 0"]),
    (&["collectors.generic=65"], "collectors.generic", &["65"]),
    (&["collectors.alu=4294967295"], "collectors.alu", &["4294967295"]),
    (&["collectors.alu=60"], "collectors", &["70", "64 collector units"]),
    (&["units.int.lanes=33"], "units.int.lanes", &["33"]),
    (&["units.int.lanes=12"], "units.int.lanes", &["12", "divides 32"]),
    (&["units.ldst.count=0"], "units.ldst.count", &["0"]),
    (&["units.int.count=2"], "units.int.count", &["2", "runs_on"]),
    (&["units.int.runs_on='fp64'"], "units.int.runs_on", &["fp64", "units of its own"]),
    (&["units.gpu={ count = 1, lanes = 1, runs_on = '' }"], "units.gpu", &["unknown unit class", "fp32"]),
    (&["latency.int_add.latency_cycles=0"], "latency.int_add.latency_cycles", &["0"]),
    (&["latency.int_add.initiation_cycles=2001"], "latency.int_add.initiation_cycles", &["2001"]),
    (&["latency.x={ latency_cycles = 1, initiation_cycles = 1 }"], "latency.x", &["unknown latency class"]),
    (&["load_store.queue_entries=0"], "load_store.queue_entries", &["0"]),
    (&["load_store.accesses_per_cycle=33"], "load_store.accesses_per_cycle", &["33"]),
    (&["load_store.miss_queue_entries=0"], "load_store.miss_queue_entries", &["0"]),
    (&["l1.tag_lines=3"], "l1.tag_lines", &["3", "power of two"]),
    (&["l1.tag_banks=64"], "l1.tag_banks", &["64", "between 1 and 32"]),
    (&["shared_memory.banks=0"], "shared_memory.banks", &["0", "power of two"]),
    (&["shared_memory.banks=24"], "shared_memory.banks", &["24"]),
    (&["shared_memory.latency_cycles=0"], "shared_memory.latency_cycles", &["0"]),
    (&["shared_memory.warp_parts=3"], "shared_memory.warp_parts", &["3", "1, 2 or 4"]),
    (&["shared_memory.atomic_cycles=2001"], "shared_memory.atomic_cycles", &["2001"]),
    (&["shared_memory.carveouts_bytes=[1]"], "shared_memory.carveouts_bytes", &["[1]", "unified_bytes"]),
    (
        &["l1.unified_bytes=65536", "shared_memory.carveouts_bytes=[1024]"],
        "shared_memory.carveouts_bytes",
        &["[1024]", "49152"],
    ),
    (
        &["l1.unified_bytes=65536", "shared_memory.carveouts_bytes=[32768, 16384, 49152]"],
        "shared_memory.carveouts_bytes",
        &["ascend"],
    ),
    (
        &["l1.unified_bytes=65536", "shared_memory.carveouts_bytes=[49153]"],
        "shared_memory.carveouts_bytes",
        &["49153", "whole ways"],
    ),
    (&["texture_cache.lanes_per_cycle=3"], "texture_cache.lanes_per_cycle", &["3", "divides 32"]),
    (&["texture_cache.mshrs=0"], "texture_cache.mshrs", &["0"]),
    (&["texture_cache.fragments=31"], "texture_cache.fragments", &["31", "between 32 and 65536"]),
    (&["texture_cache.hit_latency_cycles=0"], "texture_cache.hit_latency_cycles", &["0"]),
    (&["l1.mshrs=0"], "l1.mshrs", &["0"]),
    (&["l1.mshr_merges=0"], "l1.mshr_merges", &["0"]),
    (&["l1.hit_latency_cycles=2001"], "l1.hit_latency_cycles", &["2001"]),
    (&["interconnect.flit_bytes=3"], "interconnect.flit_bytes", &["3", "between 4 and 256"]),
    (&["interconnect.header_bytes=4294967295"], "interconnect.header_bytes", &["4294967295"]),
    (&["interconnect.request_latency_cycles=0"], "interconnect.request_latency_cycles", &["0"]),
    (&["interconnect.reply_latency_cycles=0"], "interconnect.reply_latency_cycles", &["0"]),
    (&["interconnect.sm_credits=0"], "interconnect.sm_credits", &["0"]),
    (&["interconnect.reply_queue_entries=0"], "interconnect.reply_queue_entries", &["0"]),
    (&["l2.slices_per_channel=0"], "l2.slices_per_channel", &["0"]),
    (&["l2.mshrs=0"], "l2.mshrs", &["0"]),
    (&["l2.mshrs=4294967295"], "l2.mshrs", &["4294967295", "16384"]),
    (&["constant_cache.mshrs=4294967295"], "constant_cache.mshrs", &["4294967295"]),
    (&["l2.mshr_merges=0"], "l2.mshr_merges", &["0"]),
    (&["l2.queue_entries=0"], "l2.queue_entries", &["0"]),
    (&["l2.dram_queue_entries=0"], "l2.dram_queue_entries", &["0"]),
    (&["l2.latency_cycles=0"], "l2.latency_cycles", &["0"]),
    (&["l2.atomic_cycles=2001"], "l2.atomic_cycles", &["2001"]),
    (&["l2.fetch_bytes=48"], "l2.fetch_bytes", &["48"]),
    (&["l2.fetch_bytes=256"], "l2.fetch_bytes", &["256", "128"]),
    (&["l2.store_bytes_per_cycle=0"], "l2.store_bytes_per_cycle", &["0"]),
    (&["l2.dram_bytes_per_cycle=1025"], "l2.dram_bytes_per_cycle", &["1025", "1024"]),
    (&["l2.interleave_bytes=64"], "l2.interleave_bytes", &["64", "at least one line"]),
    (&["l2.interleave_bytes=300"], "l2.interleave_bytes", &["300"]),
    (&["dram.channels=0"], "dram.channels", &["0"]),
    (&["dram.queue_entries=1025"], "dram.queue_entries", &["1025"]),
    (&["dram.return_queue_entries=0"], "dram.return_queue_entries", &["0"]),
    (&["dram.fixed_latency_cycles=2001"], "dram.fixed_latency_cycles", &["2001"]),
    (&["dram.bus_bytes=3"], "dram.bus_bytes", &["3", "power of two"]),
    (&["dram.burst_length=0"], "dram.burst_length", &["0"]),
    (&["dram.burst_length=64"], "dram.burst_length", &["64", "512 bytes"]),
    (&["dram.data_rate=3"], "dram.data_rate", &["3"]),
    (&["dram.banks=0"], "dram.banks", &["0", "power of two"]),
    (&["dram.bank_groups=3"], "dram.bank_groups", &["3", "divide dram.banks = 16"]),
    (&["dram.address_map='RRXX'"], "dram.address_map", &["RRXX", "letters"]),
    (&["dram.address_map=''"], "dram.address_map", &["letters"]),
    (&["dram.banks=8"], "dram.address_map", &["4 bank bits", "8 banks"]),
];

/// Caches, and whether their lines must have 128 bytes and have sectors and a hash.
const CACHES: &[(&str, bool)] = &[
    ("front_end.icache", false),
    ("constant_cache", false),
    ("texture_cache", true),
    ("l1", true),
    ("l2", true),
];

const DRAM_TIMINGS: &[&str] =
    &["ccd", "ccdl", "rrd", "rcd", "ras", "rp", "rc", "cl", "wl", "cdlr", "wr", "rtp"];

fn refused(set: &[String], key: &str, parts: &[&str]) {
    let base = "base = \"gtx480\"\n";
    let error =
        load_text(base, "mine.toml", None, set).map(|_| ()).expect_err(&format!("{set:?} is accepted"));
    assert_eq!(error.key, key, "{set:?}: {error}");
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "{set:?} gave {message:?}, which lacks {part:?}");
    }
    assert!(message.contains("refused") || message.contains("unknown"), "{message}");
}

#[test]
fn every_rule_names_key_value_and_rule() {
    for (set, key, parts) in CASES {
        let set: Vec<String> = set.iter().map(|item| (*item).to_owned()).collect();
        refused(&set, key, parts);
    }
}

#[test]
fn every_cache_has_a_shape_that_holds() {
    for (cache, wide) in CACHES {
        let one =
            |item: String, key: &str, parts: &[&str]| refused(&[item], &format!("{cache}.{key}"), parts);
        one(format!("{cache}.sets=0"), "sets", &["0", "between 1 and"]);
        one(format!("{cache}.ways=0"), "ways", &["0", "between 1 and"]);
        one(format!("{cache}.line_bytes=48"), "line_bytes", &["48", "power of two"]);
        one(
            format!("{cache}.size_bytes=1000"),
            "size_bytes",
            &["1000", "sets × ways × line_bytes", "must equal"],
        );
        one(format!("{cache}.replacement=newest"), "replacement", &["`newest`", "lru"]);
        let huge = ["sets=65536", "ways=64", "line_bytes=128", "size_bytes=536870912"];
        let huge: Vec<String> = huge.iter().map(|item| format!("{cache}.{item}")).collect();
        refused(&huge, &format!("{cache}.size_bytes"), &["536870912"]);
        if *wide {
            let narrow = ["sets=4", "ways=4", "line_bytes=64", "size_bytes=1024"];
            let narrow: Vec<String> = narrow.iter().map(|item| format!("{cache}.{item}")).collect();
            refused(&narrow, &format!("{cache}.line_bytes"), &["64", "128-byte lines"]);
            one(format!("{cache}.sector_bytes=64"), "sector_bytes", &["64", "32"]);
            let odd = ["sets=3", "ways=4", "line_bytes=128", "size_bytes=1536", "set_hash='ipoly'"];
            let odd: Vec<String> = odd.iter().map(|item| format!("{cache}.{item}")).collect();
            refused(&odd, &format!("{cache}.set_hash"), &["ipoly", "power of two"]);
            let odd: Vec<String> = odd.iter().map(|item| item.replace("ipoly", "fermi")).collect();
            refused(&odd, &format!("{cache}.set_hash"), &["fermi", "32 and 64"]);
        }
    }
}

#[test]
fn dram_timings_have_a_bound() {
    for name in DRAM_TIMINGS {
        refused(&[format!("dram.{name}_cycles=2001")], &format!("dram.{name}_cycles"), &["2001", "2000"]);
    }
}

/// Finds rules without a case here, by the key that they name, and bounds without one.
#[test]
fn no_rule_is_without_a_case() {
    let named: BTreeSet<String> = CASES
        .iter()
        .map(|(_, key, _)| (*key).to_owned())
        .chain(DRAM_TIMINGS.iter().map(|name| format!("dram.{name}_cycles")))
        .collect();
    let text = include_str!("rules.rs");
    let is_key = |literal: &&str| {
        let parts: Vec<&str> = literal.split('.').collect();
        let word = |part: &&str| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || "_0123456789".contains(c))
        };
        parts.len() > 1 && parts.iter().all(word)
    };
    let in_rules = text.split('"').skip(1).step_by(2).filter(is_key).map(str::to_owned);
    let config = load_text("base = \"gtx480\"\n", "mine.toml", None, &[]).expect("it is valid").config;
    let keys = config.keys();
    // The sections of one table have the same bounds.
    let one_of_each = |key: &&Key| match key.path.split('.').collect::<Vec<_>>()[..] {
        ["units", class, _] => class == "int",
        ["latency", class, _] => class == "int_add",
        _ => true,
    };
    let bounded = keys.iter().filter(|key| key.bounds != Bounds::Any).filter(one_of_each);
    let mut seen = 0;
    for key in in_rules.chain(bounded.map(|key| key.path.clone())) {
        seen += 1;
        let shape = key.strip_suffix(".replacement").unwrap_or(&key);
        let of_cache = ["", ".size_bytes", ".sets", ".ways", ".line_bytes"];
        let shapes = CACHES.iter().flat_map(|(cache, _)| of_cache.map(|field| format!("{cache}{field}")));
        let section = format!("{key}.");
        let of_section = named.iter().any(|named| named.starts_with(&section));
        let covered = named.contains(&key) || of_section || shapes.into_iter().any(|cache| cache == shape);
        assert!(covered, "no case breaks a rule on `{key}`");
    }
    assert!(seen > 100, "only {seen} keys were found in the rules");
}

/// Every number has bounds, or is part of a rule that connects it with others.
#[test]
fn every_number_has_bounds_or_a_rule() {
    let config = load_text("base = \"gtx480\"\n", "mine.toml", None, &[]).expect("it is valid").config;
    let text = include_str!("rules.rs");
    for key in config.keys().iter().filter(|key| key.number.is_some() && key.bounds == Bounds::Any) {
        let field = key.path.rsplit('.').next().unwrap_or_default();
        assert!(text.contains(field), "`{}` has no bounds", key.path);
        assert!(!key.doc.is_empty());
    }
}
