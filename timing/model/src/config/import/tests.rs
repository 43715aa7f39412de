//! Compares option files with the published values to the shipped configurations; and tests invalid files.

use super::{Import, import, import_all};
use crate::config::load_text;
use proptest::prelude::*;

macro_rules! published {
    ($name:literal) => {
        import(include_str!(concat!("../../../tests/gpgpusim/", $name, ".config")), $name, $name)
            .unwrap_or_else(|why| panic!("{why}"))
    };
}

/// Slices that are no power of two take the hash of the next one, folded.
#[test]
fn a_gpu_of_48_slices_is_imported_and_its_map_is_one_to_one() {
    let imported = published!("SM7_TITANV");
    let text = imported.to_toml("SM7_TITANV.config");
    let config = load_text(&text, "titanv.toml", None, &[]).unwrap_or_else(|why| panic!("{why}")).config;
    assert_eq!((config.dram.channels * config.l2.slices_per_channel, config.gpu.sms), (48, 80));
    assert_eq!(config.l2.partition_hash, crate::config::PartitionHash::Ipoly);
}

/// Keys in which a shipped configuration follows another source than the option file, and why.
const MODERN: &str = "no collectors since Volta (Huerta et al., MICRO 2025)";
const STALLS: &str = "stall counts of ptxas and measured dependent latencies, less operand collection";
/// What the machines since Volta differ in.
const SINCE_VOLTA: &[(&str, &str)] = &[
    ("collectors.generic", MODERN),
    ("collectors.alu", MODERN),
    ("collectors.sfu", MODERN),
    ("collectors.mem", MODERN),
    ("latency.int_add.latency_cycles", STALLS),
    ("latency.int_max.latency_cycles", STALLS),
    ("latency.int_mul.latency_cycles", STALLS),
    ("latency.fp_add.latency_cycles", STALLS),
    ("latency.fp_max.latency_cycles", STALLS),
    ("latency.fp_mul.latency_cycles", STALLS),
    ("latency.fp_fma.latency_cycles", STALLS),
    ("latency.half.latency_cycles", STALLS),
    (
        "front_end.icache.mshrs",
        "the configuration of Huerta et al., MICRO 2025; the option file's cache always hits",
    ),
];
const CLOCK: &str = "the clock of SM7_GV100, the board that was measured";
const MEASURED: &str = "what a GV100 was measured with";
const PSEUDO: &str = "the pseudo channels of HBM2";
const QV100: &[(&str, &str)] = &[
    ("gpu.core_clock_khz", CLOCK),
    ("gpu.interconnect_clock_khz", CLOCK),
    ("gpu.l2_clock_khz", CLOCK),
    ("dram.channels", PSEUDO),
    ("dram.bus_bytes", PSEUDO),
    ("dram.burst_length", PSEUDO),
    ("dram.ccd_cycles", PSEUDO),
    ("dram.ccdl_cycles", PSEUDO),
    ("dram.address_map", PSEUDO),
    ("l2.slices_per_channel", PSEUDO),
    ("latency.dp_add.latency_cycles", STALLS),
    ("latency.dp_mul.latency_cycles", STALLS),
    ("latency.dp_fma.latency_cycles", STALLS),
    ("latency.dp_max.latency_cycles", STALLS),
    ("latency.sfu.latency_cycles", "Accel-Sim's trace.config"),
    ("latency.convert.latency_cycles", "as SFU"),
    ("sm.shared_memory_per_block_bytes", "CUDA's opt-in maximum"),
    ("dram.fixed_latency_cycles", MEASURED),
    ("l2.latency_cycles", MEASURED),
    ("launch.latency_cycles", MEASURED),
    ("l2.mshr_merges", "as titanx-pascal"),
    ("l1.mshr_merges", "Volta's L1 has no bound on misses in flight"),
];
const RATE: &str = "results per cycle of NVIDIA's programming guide";
const CODE: &str = "words that control Kepler's instructions";
const TITAN: &[(&str, &str)] = &[
    ("shared_memory.atomic_cycles", "shared atomics lock before Maxwell"),
    ("latency.shuffle.initiation_cycles", SHUFFLE),
    ("front_end.code_group_instructions", CODE),
    ("front_end.code_group_bytes", CODE),
    ("latency.dp_max.initiation_cycles", RATE),
    ("latency.dp_mul.initiation_cycles", RATE),
    ("latency.dp_fma.initiation_cycles", RATE),
];
const SHUFFLE: &str = "a shuffle holds the one load/store unit";
const TITANX: &[(&str, &str)] = &[
    ("latency.shuffle.initiation_cycles", SHUFFLE),
    ("latency.dp_add.initiation_cycles", RATE),
    ("latency.dp_max.initiation_cycles", RATE),
    ("latency.dp_mul.initiation_cycles", RATE),
    ("latency.dp_fma.initiation_cycles", RATE),
];
const GTX480: &[(&str, &str)] =
    &[("interconnect.flit_bytes", "BookSim's flit_size"), ("latency.shuffle.initiation_cycles", SHUFFLE)];
const TURING: &str = "Jia et al., 2019";
/// Measured latencies that the machines since Turing have.
const SINCE_TURING: &[(&str, &str)] = &[
    ("latency.dp_add.latency_cycles", TURING),
    ("latency.dp_max.latency_cycles", TURING),
    ("latency.dp_mul.latency_cycles", TURING),
    ("latency.dp_fma.latency_cycles", TURING),
    ("latency.sfu.latency_cycles", TURING),
    ("latency.convert.latency_cycles", "as SFU"),
    ("l2.mshr_merges", "as titanx-pascal"),
];
const RTX2060: &[(&str, &str)] = &[
    ("front_end.icache.size_bytes", TURING),
    ("front_end.icache.sets", TURING),
    ("front_end.icache.ways", TURING),
    ("sm.shared_memory_per_block_bytes", "CUDA's opt-in maximum"),
    ("units.fp64.lanes", "the initiation interval says it alone"),
];

const RTX3070: &[(&str, &str)] = &[
    ("sm.max_blocks", "CUDA's occupancy calculator"),
    ("sm.shared_memory_per_block_bytes", "CUDA's opt-in maximum"),
    ("units.fp64.lanes", "the initiation interval says it alone"),
];

fn differs_only_in(import: &Import, shipped: &str, known: &[&[(&str, &str)]]) {
    let known = known.concat();
    let differences = import.differences(shipped).expect("a shipped configuration");
    let keys: Vec<&str> = differences.iter().map(|(key, ..)| key.as_str()).collect();
    for (key, mine, theirs) in &differences {
        assert!(known.iter().any(|(known, _)| known == key), "{shipped}: {key} = {mine}, shipped {theirs}");
    }
    for (key, why) in &known {
        assert!(keys.contains(key), "{shipped}: {key} no longer differs ({why})");
    }
}

#[test]
fn published_option_files_give_the_shipped_configurations() {
    differs_only_in(&published!("SM7_QV100"), "qv100-collectors", &[SINCE_VOLTA, QV100]);
    differs_only_in(&published!("SM3_KEPLER_TITAN"), "gtxtitan", &[TITAN]);
    differs_only_in(&published!("SM6_TITANX"), "titanx-pascal", &[TITANX]);
    differs_only_in(&published!("SM2_GTX480"), "gtx480", &[GTX480]);
    differs_only_in(&published!("SM75_RTX2060"), "rtx2060-collectors", &[SINCE_VOLTA, SINCE_TURING, RTX2060]);
    differs_only_in(&published!("SM86_RTX3070"), "rtx3070-collectors", &[SINCE_VOLTA, SINCE_TURING, RTX3070]);
}

/// Values worked out by hand from the published files of GPUs that are shipped after other sources.
#[test]
fn other_generations_are_understood() {
    let c = published!("SM86_RTX3070").loaded.config;
    assert_eq!((c.gpu.sms, c.gpu.dram_clock_khz, c.sm.max_warps, c.dram.channels), (46, 3_500_500, 48, 16));
    assert_eq!(
        (c.l1.size_bytes, c.l1.ways, c.l1.mshrs, c.l1.hit_latency_cycles),
        (4 * 256 * 128, 256, 384, 39)
    );
    assert_eq!((c.units["fp32"].lanes, c.units["int"].lanes, c.units["sfu"].lanes), (32, 16, 4));
    // Every option of a file has a counterpart or a reason why it has none.
    let titan = published!("SM3_KEPLER_TITAN");
    assert!(titan.unhonoured.iter().all(|one| !one.why.contains("does not know")), "{:?}", titan.unhonoured);
    let c = published!("SM6_GTX1080").loaded.config;
    assert_eq!((c.scheduler.count, c.scheduler.issue_width, c.register_file.result_bus_width), (2, 2, 6));
    assert_eq!((c.collectors.generic, c.collectors.alu, c.collectors.sfu, c.collectors.mem), (0, 20, 4, 8));
    assert_eq!((c.l1.sector_bytes, c.l1.sets, c.l1.ways, c.l1.size_bytes), (128, 64, 6, 49152));
    assert_eq!((c.gpu.interconnect_clock_khz, c.dram.channels, c.dram.cl_cycles), (2_962_000, 11, 16));
    let fx = published!("QuadroFX5800");
    let c = &fx.loaded.config;
    assert_eq!((fx.base, c.gpu.sms, c.shared_memory.warp_parts), ("gtx285", 30, 2));
    // Sixteen sets of lines of 256 bytes are 32 of 128.
    assert_eq!((c.l2.sets, c.l2.line_bytes, c.l2.size_bytes), (32, 128, 16 * 256 * 8));
    assert!(fx.unhonoured.iter().any(|one| one.option.contains("dl2") && one.why.contains("128 bytes")));
    assert_eq!(c.dram.address_map, "0000RRRR.RRRRRRRR.RRBBBCCC.CCCSSSSS");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn no_file_makes_the_import_panic(text in "(-[a-z_]{1,12}|[0-9]{1,20}|[:;,#\"=@. \n]|[SNLRBT]){0,60}") {
        drop(import(&text, "any.config", "any"));
    }

    /// Published files with one value replaced by a hostile one.
    #[test]
    fn hostile_values_are_refused_or_make_a_configuration(line in 0usize..90, value in 0usize..12) {
        let text = include_str!("../../../tests/gpgpusim/SM75_RTX2060.config");
        let hostile = [
            "0", "1", "-1", "4294967295", "4294967296", "1e300", "NaN", "", "0:0:0:0", "4294967295,4294967295",
            "S:4294967295:128:4294967295,L:T:m:L:L,A:4294967295:4294967295,4294967295:0,32", "dramid@30;R",
        ][value];
        let lines = text.lines().enumerate().map(|(index, one)| match one.split_once(' ') {
            Some((option, _)) if index == line => format!("{option} {hostile}"),
            _ => one.to_owned(),
        });
        let text: Vec<String> = lines.collect();
        match import(&text.join("\n"), "hostile.config", "hostile") {
            Ok(found) => prop_assert!(load_text(&found.to_toml("hostile.config"), "x.toml", None, &[]).is_ok()),
            Err(why) => prop_assert!(why.starts_with("hostile.config:"), "{}", why),
        }
    }
}

#[test]
fn the_load_store_unit_has_the_ports_of_the_file() {
    let head = "-gpgpu_n_clusters 4\n-gpgpu_occupancy_sm_number 61\n";
    let of = |line: &str| import(&format!("{head}{line}"), "mine.config", "mine").expect("a configuration");
    assert_eq!(of("").loaded.config.load_store.accesses_per_cycle, 1);
    let two = of("-gpgpu_mem_unit_ports 2\n");
    assert_eq!(two.loaded.config.load_store.accesses_per_cycle, 2);
    assert!(two.unhonoured.iter().all(|one| one.option != "-gpgpu_mem_unit_ports"), "{:?}", two.unhonoured);
}

#[test]
fn nothing_is_dropped_in_silence() {
    let text = "-gpgpu_n_clusters 4 # four\n-gpgpu_occupancy_sm_number 61\n-network_mode 1\n-gpgpu_bogus a b\n\
                -gpgpu_cache:dl2 S:64:128:16,F:T:m:L:C,A:256:64,16:0,32\n-gpgpu_dram_timing_opt nbk=16:XYZ=3\n";
    let found = import(text, "mine.config", "mine").expect("a configuration");
    let told = |option: &str| -> Vec<&str> {
        let of = found.unhonoured.iter().filter(|one| one.option == option);
        of.map(|one| one.value.as_str()).collect()
    };
    assert_eq!(told("-network_mode"), ["1"]);
    assert_eq!(told("-gpgpu_bogus"), ["a b"]);
    assert_eq!(told("-gpgpu_dram_timing_opt"), ["XYZ=3"]);
    let cache = told("-gpgpu_cache:dl2");
    assert!(cache.contains(&"write policy T"), "{cache:?}");
    assert_eq!(found.loaded.config.l2.replacement, "fifo");
    assert_eq!(found.loaded.config.gpu.sms, 4);
    assert_eq!(found.base, "titanx-pascal");
    // The file that is written says the same, and where each value is from.
    let toml = found.to_toml("mine.config");
    let again = load_text(&toml, "mine.toml", None, &[]).expect("the file is a configuration");
    assert_eq!(again.config, found.loaded.config);
    assert_eq!(again.sources["gpu.sms"], "-gpgpu_n_clusters 4");
    assert!(toml.contains("#   -gpgpu_bogus a b: this model does not know the option"), "{toml}");
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let head = "-gpgpu_n_clusters 4\n-gpgpu_occupancy_sm_number 61\n";
    for (text, parts) in [
        ("", &["no options"][..]),
        ("hello world\n", &["f:1", "hello"]),
        ("-gpgpu_n_mem \"6\n", &["f:1", "not closed"]),
        ("-gpgpu_n_clusters four\n", &["f:1", "-gpgpu_n_clusters four", "a number"]),
        ("-gpgpu_occupancy_sm_number x\n", &["f:1", "gpgpu_occupancy_sm_number"]),
        ("\n-gpgpu_clock_domains 1:2:3\n", &["gpgpu_clock_domains 1:2:3", "four clocks"]),
        ("-gpgpu_clock_domains 1:2:3:x\n", &["f:1", "gpgpu_clock_domains"]),
        ("-gpgpu_scheduler best\n", &["f:1", "best"]),
        ("-gpgpu_shader_core_pipeline 1024:64\n", &["warps of 32"]),
        ("-gpgpu_cache:dl1 S:4:128\n", &["f:1", "gpgpu_cache:dl1", "groups"]),
        ("-gpgpu_mem_addr_mapping dramid8\n", &["f:1", "dramid@"]),
        ("-gpgpu_dram_timing_opt nbk:3\n", &["f:1", "nbk"]),
        ("-gpgpu_dram_partition_queues 1:2\n", &["four queue sizes"]),
        // Values that are well formed and contradict each other or the rules of this model.
        ("-gpgpu_n_clusters 0\n", &["gpu.sms", "-gpgpu_n_clusters 0"]),
        ("-gpgpu_num_reg_banks 0\n", &["register_file.banks", "0 is refused", "-gpgpu_num_reg_banks 0"]),
        ("-gpgpu_num_sched_per_core 9\n", &["scheduler.count", "between 1 and 4"]),
        ("-gpgpu_dram_timing_opt nbk=8\n", &["dram.address_map", "bank bits"]),
        ("-gpgpu_num_sp_units 0\n", &["gpgpu_num_sp_units 0", "at least one"]),
    ] {
        let whole = if text.is_empty() || text.starts_with("hello") {
            text.to_owned()
        } else {
            format!("{text}{head}")
        };
        // The last of two values counts: the wrong one stands alone.
        let option = text.split_whitespace().next().unwrap_or("");
        let whole: String = if head.contains(option) && !option.is_empty() { text.to_owned() } else { whole };
        let message = import(&whole, "f", "mine").expect_err("a refusal");
        for part in parts {
            assert!(message.contains(part), "{text:?} gave {message:?}, which lacks {part:?}");
        }
    }
}

#[test]
fn latencies_of_a_trace_config_replace_those_of_ptx_opcodes() {
    let gpu = "-gpgpu_occupancy_sm_number 75\n-gpgpu_num_sched_per_core 4\n-ptx_opcode_latency_int 4,4,4,4,21\n\
        -ptx_opcode_initiation_int 2,2,2,2,2\n";
    // Accel-Sim's values for the RTX 2060.
    let trace = "-trace_opcode_latency_initiation_int 2,2\n-trace_opcode_latency_initiation_sp 2,2\n\
        -trace_opcode_latency_initiation_dp 64,64\n-trace_opcode_latency_initiation_sfu 21,8\n\
        -specialized_unit_2 1,4,200,4,4,TEX\n-trace_opcode_latency_initiation_spec_op_2 200,4\n\
        -specialized_unit_3 1,4,16,4,4,TENSOR\n-trace_opcode_latency_initiation_spec_op_3 16,16\n";
    let files = [(gpu, "gpgpusim.config"), (trace, "trace.config")];
    let both = import_all(&files, "both").expect("a configuration");
    let timing = |import: &Import, class: &str| {
        let timing = &import.loaded.config.latency[class];
        (timing.latency_cycles, timing.initiation_cycles)
    };
    assert_eq!(
        (both.base, timing(&both, "int_add"), timing(&both, "int_mul")),
        ("rtx2060-collectors", (2, 2), (2, 2))
    );
    assert_eq!(
        (timing(&both, "dp_fma"), timing(&both, "sfu"), timing(&both, "tensor")),
        ((64, 64), (21, 8), (16, 16))
    );
    let left: Vec<&str> = both.unhonoured.iter().map(|one| one.option.as_str()).collect();
    assert!(left.contains(&"-trace_opcode_latency_initiation_spec_op_2"), "{left:?}");
    assert!(!left.contains(&"-trace_opcode_latency_initiation_spec_op_3"), "{left:?}");
    let alone = import_all(&files[..1], "alone").expect("a configuration");
    assert_eq!(timing(&alone, "int_add"), (4, 2));
    let refused = import_all(&files[1..], "trace").expect_err("it describes no GPU");
    assert!(refused.contains("trace.config") && refused.contains("gpgpusim.config"), "{refused}");
    let wrong = [files[0], ("\n-trace_opcode_latency_initiation_int 2\n", "trace.config")];
    let refused = import_all(&wrong, "wrong").expect_err("one number");
    assert!(refused.starts_with("trace.config:2: ") && refused.contains("latency,initiation"), "{refused}");
}
