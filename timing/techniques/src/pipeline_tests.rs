//! Tests of BOW and CORF in the pipeline: cycles of hand-written kernels, computed on paper, and accounts
//! that must balance.

use crate::testing::{Builder, Hand, by_hand, r, small};
use trace_format::isa::SpecialReg;
use warplab_model::stats::{EnergyTable, Stats};

/// `length` dependent multiply-adds on three wide registers; the accumulator's are dead in between.
fn chain(length: usize) -> Hand {
    let mut b = Builder::default();
    b.mov(1, 0x3F80_0001).mov(2, 0x4000_0001).mov(3, 0x4080_0001);
    for _ in 0..length {
        b.ffma(3, 1, 2, 3);
    }
    by_hand(b.exit(), 1, 32)
}

/// Cycles that each instruction of the chain takes.
fn cycles_per_link(set: &[&str], techniques: &[&str]) -> f64 {
    let set = small(set);
    let cycles = |length| chain(length).run("gtx480", &set, techniques).counters.cycles;
    (cycles(24) - cycles(8)) as f64 / 16.0
}

/// Issue to read 1, three reads through one port, latency 5.
const PLAIN: f64 = 9.0;

#[test]
fn forwarding_takes_the_reads_out_of_the_chain() {
    assert_eq!(cycles_per_link(&[], &[]), PLAIN);
    assert_eq!(cycles_per_link(&[], &["bow"]), PLAIN - 3.0, "all three operands are in the window");
    assert_eq!(
        cycles_per_link(&["technique.bow.window=1"], &["bow"]),
        PLAIN,
        "a window of one holds nothing"
    );
}

#[test]
fn without_narrow_values_corf_costs_its_renaming_cycles_and_nothing_else() {
    assert_eq!(cycles_per_link(&[], &["corf"]), PLAIN, "the lookup hides in the move to the collector");
    assert_eq!(cycles_per_link(&["technique.corf.renaming_cycles=1"], &["corf"]), PLAIN + 1.0);
    assert_eq!(cycles_per_link(&["technique.corf.renaming_cycles=3"], &["corf"]), PLAIN + 3.0);
    assert_eq!(cycles_per_link(&[], &["bow", "corf"]), PLAIN - 3.0);
}

#[test]
fn coalescing_takes_one_read_out_of_the_chain() {
    let chain = |length: usize| {
        let mut b = Builder::default();
        b.mov(1, 0).mov(2, 1);
        for _ in 0..length {
            b.iadd(1, r(1), r(2), r(2));
        }
        by_hand(b.exit(), 1, 32)
    };
    let cycles =
        |length, techniques: &[&str]| chain(length).run("gtx480", &small(&[]), techniques).counters.cycles;
    let difference = |techniques: &[&str]| cycles(24, techniques) - cycles(8, techniques);
    // The sum stays below 128 for the whole chain: two one-byte values share an entry.
    assert_eq!(difference(&[]) - difference(&["corf"]), 16, "one read less through the collector's port");
    let stats = chain(40).run("gtx480", &small(&[]), &["corf"]);
    assert_eq!(stats.of_techniques("coalesced_register_reads"), 40);
    assert_eq!(stats.of_techniques("packed_pair_allocations"), stats.of_techniques("pair_allocations"));
    assert_eq!(stats.counters.rf_reads, stats.counters.operand_reads - 40);
}

/// A kernel of integers and loads with several warps, blocks and a barrier.
fn busy() -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).shl(2, 0, 2).mov(3, 0).mov(6, 3);
    for i in 0..8 {
        b.ldg(4, 2, i * 128).iadd(5, r(4), r(5), r(0)).iadd(6, r(6), r(0), r(5)).stg(2, 5, 65536 + i * 128);
        b.ffma(7, 5, 6, 4);
    }
    b.bar();
    b.stg(2, 7, 0);
    by_hand(b.exit(), 40, 128)
}

fn balance(stats: &Stats) {
    let c = &stats.counters;
    let supplied: u64 = stats.techniques.iter().map(|technique| technique.ledger.supplied).sum();
    // Every result of a hit in the reuse buffer or of an affine unit is supplied as well; these kernels have no other results than words.
    let results = stats.of_techniques("hits") + stats.of_techniques("tuple_results");
    assert_eq!(c.operand_reads + results, c.rf_reads + supplied);
    assert_eq!(stats.of_techniques("boc_reads"), stats.of_techniques("forwarded_operands"));
    for technique in &stats.techniques {
        let ledger = &technique.ledger;
        assert_eq!(ledger.opportunities, ledger.supplied + ledger.all_lost(), "{}", technique.info.name);
    }
}

#[test]
fn every_operand_comes_from_a_bank_a_collector_or_a_shared_access() {
    for gpu in ["gtx480", "titanx-pascal", "qv100-collectors"] {
        let plain = busy().run(gpu, &[], &[]).counters;
        for techniques in [&["bow"][..], &["corf"], &["corf++"], &["bow", "corf"], &["bow", "corf++"]] {
            let stats = busy().run(gpu, &[], techniques);
            balance(&stats);
            let c = &stats.counters;
            assert_eq!(
                (c.warp_instructions, c.operand_reads),
                (plain.warp_instructions, plain.operand_reads)
            );
            assert!(c.rf_reads < plain.rf_reads, "{gpu} {techniques:?}");
            // With write-through there are as many writes as results, also under divergence.
            assert_eq!(c.rf_writes, plain.rf_writes);
            assert!(c.checked_values > 0);
        }
        let both = busy().run(gpu, &[], &["bow", "corf"]);
        let bow = busy().run(gpu, &[], &["bow"]);
        assert_eq!(
            both.of_techniques("forwarded_operands"),
            bow.of_techniques("forwarded_operands"),
            "which operands are forwarded is BOW's matter"
        );
    }
}

#[test]
fn with_write_back_every_result_is_written_or_bypassed() {
    for (gpu, set) in [("gtx480", &[][..]), ("titanx-pascal", &["technique.bow-wr.entries=5"])] {
        let plain = busy().run(gpu, set, &[]).counters;
        let stats = busy().run(gpu, set, &["bow-wr"]);
        balance(&stats);
        let c = &stats.counters;
        assert_eq!(c.operand_writes, plain.operand_writes);
        let bypassed = stats.of_techniques("bypassed_register_writes");
        assert_eq!(c.rf_writes + bypassed, c.operand_writes, "{gpu}");
        assert!(bypassed > 0 && c.rf_writes < plain.rf_writes);
    }
    let config = warplab_model::config::load("gtx480", &[]).expect("built in").config;
    for others in [["bow", "bow-wr"], ["bow-wr", "corf"]] {
        let names = others.map(str::to_owned);
        let why = crate::testing::built_in()
            .select(&names, &config)
            .map(drop)
            .expect_err("they contradict")
            .to_string();
        assert!(others.iter().all(|name| why.contains(name)), "{why}");
    }
}

#[test]
fn combinations_are_refused_with_the_reason() {
    let config = warplab_model::config::load("gtx480", &[]).expect("built in").config;
    let refused = |names: [&str; 2]| {
        let catalogue = crate::testing::built_in();
        catalogue.select(&names.map(str::to_owned), &config).err().map(|why| why.to_string())
    };
    for (names, reason) in [
        (["darsie", "regmutex"], "wait for each other for ever"),
        (["darsie", "owf"], "wait for each other for ever"),
        (["darsie", "bow-wr"], "when results reach the register file"),
        (["darsie", "uv-scalar"], "when results reach the register file"),
        (["uv-token", "corf"], "what the places of registers in the banks hold"),
        (["bow-wr", "corf"], "what the places of registers in the banks hold"),
        (["cae", "corf"], "what the places of registers in the banks hold"),
        (["cae", "uv-scalar"], "when results reach the register file"),
        (["dac", "corf"], "what the places of registers in the banks hold"),
        (["dac", "larf"], "which accesses go to memory"),
        (["dac-ideal", "larf"], "which accesses go to memory"),
        (["dac", "rfc"], "when results reach the register file"),
        (["dac", "regmutex"], "wait for each other for ever"),
        (["dac-ideal", "regmutex"], "where registers lie in the banks"),
        (["dac", "dac-ideal"], "which instructions are fetched"),
    ] {
        assert!(refused(names).is_some_and(|why| why.contains(reason)), "{names:?}: {:?}", refused(names));
    }
    for names in [["bow", "darsie"], ["uv-scalar", "corf"], ["uv-scalar", "packing"], ["cae", "mta"]] {
        assert_eq!(refused(names), None, "{names:?}");
    }
}

#[test]
fn a_value_in_a_scalar_register_has_no_physical_register_until_it_is_copied_back() {
    // r1 is uniform, half of the lanes write it, and all read it with r3.
    let mut b = Builder::default();
    b.special(0, SpecialReg::LaneId).mov(1, 5).mov(3, 6).below(0, 16);
    b.iadd(1, r(1), r(3), r(3)).guarded();
    for i in 0..8 {
        b.iadd(4 + i, r(1), r(3), r(0));
    }
    let hand = by_hand(b.exit(), 1, 64);
    let run = |techniques: &[&str]| hand.run("gtx480", &small(&[]), techniques);
    let (both, corf, uv) = (run(&["uv-scalar", "corf"]), run(&["corf"]), run(&["uv-scalar"]));
    assert_eq!(both.of_techniques("copies"), 2, "one in each warp");
    assert_eq!(both.of_techniques("copies"), uv.of_techniques("copies"));
    assert_eq!(both.of_techniques("srf_reads"), uv.of_techniques("srf_reads"));
    // r3 stays in its scalar register, so that CORF holds a register less than alone.
    let physical =
        |stats: &Stats| stats.of_techniques("physical_register_cycles") as f64 / stats.counters.cycles as f64;
    assert!(physical(&both) < physical(&corf));
    assert!(both.counters.rf_writes < corf.counters.rf_writes);
}

#[test]
fn a_collector_with_few_entries_stalls() {
    let of = |entries: u32| {
        let set = format!("technique.bow.entries={entries}");
        let stats = busy().run("titanx-pascal", &[&set], &["bow"]);
        let held: u64 = stats.techniques[0].ledger.stalls.iter().sum();
        assert_eq!(held, stats.stalls.get(warplab_model::stats::Stall::Technique));
        (stats.counters.cycles, held)
    };
    let (one, few, enough) = (of(1), of(3), of(12));
    assert!(one.1 > few.1 && few.1 > 0, "{one:?} {few:?}");
    assert_eq!(enough.1, 0, "three instructions have at most nine operands");
    assert!(one.0 >= few.0 && few.0 >= enough.0, "{one:?} {few:?} {enough:?}");
}

#[test]
fn collectors_that_forward_nothing_read_every_operand_from_its_bank() {
    let off = [
        "technique.bow.mechanism=false",
        "technique.bow-wr.mechanism=false",
        "technique.corf.mechanism=false",
        "technique.corf++.mechanism=false",
    ];
    for (gpu, name) in
        [("gtx480", "bow"), ("titanx-pascal", "bow-wr"), ("qv100-collectors", "corf"), ("gtx480", "corf++")]
    {
        let (stats, plain) = (busy().run(gpu, &off, &[name]), busy().run(gpu, &[], &[]).counters);
        let ledger = &stats.techniques[0].ledger;
        assert_eq!((ledger.supplied, ledger.all_lost()), (0, ledger.opportunities), "{name}");
        assert_eq!(
            (stats.counters.rf_reads, stats.counters.rf_writes),
            (plain.rf_reads, plain.rf_writes),
            "{name}"
        );
    }
}

#[test]
fn a_register_keeps_its_bank_where_that_is_wanted() {
    // With wide values every register has its own entry: `home_bank` gives the same conflicts as without
    // CORF.
    let wide = |set: &[&str], techniques: &[&str]| {
        let mut b = Builder::default();
        for reg in 1..9 {
            b.mov(reg, 0x4000_0001 + u32::from(reg));
        }
        for i in 0..40u8 {
            b.ffma(1 + i % 8, 1 + (i + 3) % 8, 1 + (i + 5) % 8, 1 + (i + 6) % 8);
        }
        by_hand(b.exit(), 30, 256).run("gtx480", set, techniques).counters
    };
    let set = ["technique.corf.virtualization=false", "technique.corf.pairs=false"];
    let plain = wide(&set, &[]);
    let home = wide(&[set[0], set[1], "technique.corf.allocation='home_bank'"], &["corf"]);
    assert_eq!(home.rf_bank_conflict_cycles, plain.rf_bank_conflict_cycles);
    assert_eq!(home.cycles, plain.cycles);
    assert!(wide(&set, &["corf"]).rf_bank_conflict_cycles > plain.rf_bank_conflict_cycles);
}

#[test]
fn packing_occupies_fewer_physical_registers_than_the_program_names() {
    let stats = busy().run("gtx480", &[], &["corf"]);
    let physical = |stats: &Stats| stats.of_techniques("physical_register_cycles");
    assert!(physical(&stats) > 0);
    assert!(physical(&stats) < stats.of_techniques("architectural_register_cycles"));
    let packed = busy().run("gtx480", &["technique.corf.virtualization=false"], &["corf"]);
    assert_eq!(packed.of_techniques("released_registers"), 0);
    assert!(physical(&stats) < physical(&packed));
}

#[test]
fn energy_of_the_register_file_and_of_the_technique_are_apart() {
    let table = EnergyTable::load("bow-28nm").expect("built in");
    let stats = busy().run("titanx-pascal", &[], &["bow"]);
    let (c, parts) = (&stats.counters, table.apply(&stats));
    let part = |name: &str| parts.iter().find(|(part, _)| *part == name).map(|(_, pj)| *pj);
    assert_eq!(part("register_file"), Some(185.26 * (c.rf_reads + c.rf_writes) as f64));
    let storage = part("technique_storage").expect("priced");
    assert!(
        (storage - 2.72 * (stats.of_techniques("boc_reads") + stats.of_techniques("boc_writes")) as f64)
            .abs()
            < 1e-6 * storage
    );
}

#[test]
fn the_register_file_leaks_for_as_long_as_a_launch_takes() {
    let table = EnergyTable::load("bow-28nm").expect("built in");
    let leaked = |set: &[&str]| {
        let stats = busy().run("titanx-pascal", set, &[]);
        let parts = table.apply(&stats);
        let part = parts.iter().find(|(part, _)| *part == "register_file_leakage");
        (stats.counters.cycles, stats.counters.rf_powered_kib_ns, part.expect("priced").1)
    };
    // 28 SMs of 256 KiB, 1417 cycles in a microsecond.
    let (cycles, kib_ns, pj) = leaked(&[]);
    assert_eq!(kib_ns, 28 * 256 * cycles * 1000 / 1417);
    assert_eq!(pj, 1.7475 * kib_ns as f64);
    let (cycles, kib_ns, _) = leaked(&["sm.registers=32768", "gpu.core_clock_khz=1000000"]);
    assert_eq!(kib_ns, 28 * 128 * cycles, "half the registers, a cycle per nanosecond");
}

/// Loads of one vector by two warps, narrow sums of what they loaded, and a store.
fn loads() -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::LaneId).shl(4, 0, 2).mov(5, 0);
    for i in 0..6u8 {
        b.ldg(8 + i, 4, i32::from(i % 3) * 64).iadd(20 + i, r(8 + i), r(0), r(8));
    }
    b.iadd(30, r(20), r(25), r(9)).stg(4, 30, 4096);
    by_hand(b.exit(), 2, 64).with_memory()
}

#[test]
fn what_every_technique_supplied_and_lost_are_its_opportunities() {
    let mut without = Vec::new();
    for registration in crate::BUILT_IN {
        let info = registration.info;
        let own = if registration.joins.is_empty() { &[info.name][..] } else { registration.joins };
        let partner = info.partners.first().into_iter().copied();
        let names: &[&str] = &own.iter().copied().chain(partner).collect::<Vec<_>>();
        for mechanism in [true, false] {
            let mut seen = 0;
            for (hand, gpu) in [(busy(), "gtx480"), (chain(12), "corf-fermi"), (loads(), "larf-pascal")] {
                let has_switch = (info.params)().iter().any(|param| param.name == "mechanism");
                let set = format!("technique.{}.mechanism=false", names[0]);
                let set: &[&str] = if !mechanism && has_switch { &[&set] } else { &[] };
                let stats = hand.run(gpu, set, names);
                let one = stats.technique(info.name).expect("it ran");
                let lost: u64 = one.lost().map(|(_, count)| count).sum();
                assert_eq!(one.ledger.supplied + lost, one.ledger.opportunities, "{names:?} on {gpu}");
                assert_eq!(lost, one.ledger.all_lost(), "each loss has a declared cause");
                // Parts of all opportunities, as `timing why` says them.
                let parts: f64 = one.losses().iter().map(|(_, part)| part).sum();
                let supplied = one.ledger.supplied as f64 / one.ledger.opportunities.max(1) as f64;
                assert!(one.ledger.opportunities == 0 || (parts + supplied - 1.0).abs() < 1e-9);
                // Slots in which the technique stalled warps are its stall causes.
                let slots: u64 = one.stalls().map(|(_, slots)| slots).sum();
                if info.partners.is_empty() {
                    assert_eq!(
                        slots,
                        stats.stalls.get(warplab_model::stats::Stall::Technique),
                        "{names:?} on {gpu}"
                    );
                }
                seen += one.ledger.opportunities;
            }
            assert_eq!(
                seen > 0,
                !info.opportunity.is_empty(),
                "{names:?}: opportunities are declared and met"
            );
        }
        if info.opportunity.is_empty() {
            without.push(info.name);
        }
    }
    // They supply no value in place of the register file or of memory.
    let none = [
        "null",
        "packing",
        "rf-virtualization",
        "packing+rf-virtualization",
        "las",
        "mta",
        "regmutex",
        "regmutex-pairs",
        "owf",
        "rfv",
    ];
    assert_eq!(without, none);
}

#[test]
fn structures_of_techniques_leak_apart_from_the_register_file() {
    let table = EnergyTable::load("corf-40nm").expect("built in");
    let stats = busy().run("corf-fermi", &[], &["corf"]);
    let powered = |name: &str| stats.of_techniques(name);
    // 15 SMs at 700 cycles in a microsecond: 48 warps of 63 registers of 15 bits, and a bit per slice of 1024 registers.
    let kib_ns = |bits: u64| 15 * bits * stats.counters.cycles * 1000 / (8 * 1024 * 700);
    assert_eq!(powered("renaming_powered_kib_ns"), kib_ns(48 * 63 * 15));
    assert_eq!(powered("state_powered_kib_ns"), kib_ns(4 * 1024));
    let parts = table.apply(&stats);
    let leakage = parts.iter().find(|(part, _)| *part == "technique_leakage").expect("priced").1;
    let expected =
        1.0759 * powered("renaming_powered_kib_ns") as f64 + 0.7 * powered("state_powered_kib_ns") as f64;
    assert!((leakage - expected).abs() < 1e-6 * expected, "{leakage} beside {expected}");
    let accesses: f64 = parts.iter().filter(|(part, _)| !part.ends_with("leakage")).map(|(_, pj)| pj).sum();
    assert!(table.register_file_pj(&stats) <= accesses, "leakage is not energy of accesses");
}

#[test]
fn registers_without_contents_are_switched_off() {
    let of = |set: &[&str], techniques: &[&str]| {
        let stats = busy().run("gtx480", set, techniques);
        (stats.counters.cycles, stats.counters.rf_powered_kib_ns, stats)
    };
    let (_, plain, _) = of(&[], &[]);
    for techniques in
        [&["packing"][..], &["rf-virtualization"], &["packing", "rf-virtualization"], &["corf"], &["corf++"]]
    {
        let (_, gated, stats) = of(&[], techniques);
        let powered = stats.of_techniques("physical_register_cycles");
        assert_eq!(stats.counters.rf_powered_register_cycles, powered, "{techniques:?}");
        // A warp register has 128 bytes, and 700 cycles take a microsecond.
        assert_eq!(gated, powered * 128 * 1000 / (1024 * 700), "{techniques:?}");
        assert!(gated < plain, "{techniques:?}");
    }
    let name = |technique: &str| format!("technique.{technique}.power_gating=false");
    let (cycles, always, stats) = of(&[&name("packing")], &["packing"]);
    assert_eq!(stats.counters.rf_powered_register_cycles, 0);
    assert_eq!(always, 15 * 128 * cycles * 1000 / 700);
    let physical = |techniques: &[&str]| of(&[], techniques).2.of_techniques("physical_register_cycles");
    let (both, packed) = (physical(&["packing", "rf-virtualization"]), physical(&["packing"]));
    assert!(both < packed && both < physical(&["rf-virtualization"]));
}

#[test]
fn one_bank_per_warp_turns_conflicts_into_shared_reads() {
    // Dependent sums of two narrow registers that lie in different entries.
    let chain = |length: usize| {
        let mut b = Builder::default();
        b.mov(1, 0).mov(2, 1).mov(3, 2);
        for i in 0..length {
            b.iadd(1, r(1), r(2 + (i % 2) as u8), r(2 + (i % 2) as u8));
        }
        by_hand(b.exit(), 1, 32)
    };
    let cycles =
        |length, techniques: &[&str]| chain(length).run("gtx480", &small(&[]), techniques).counters.cycles;
    let difference = |techniques: &[&str]| cycles(24, techniques) - cycles(8, techniques);
    assert_eq!(difference(&[]) - difference(&["corf++"]), 16, "r1 shares its access with r2 and with r3");
    assert_eq!(difference(&[]) - difference(&["corf"]), 8, "r1 is paired with one of them");
}

#[test]
fn without_limits_no_technique_supplies_less() {
    for (gpu, name) in [
        ("titanx-pascal", "bow"),
        ("titanx-pascal", "bow-wr"),
        ("gtx480", "rfc"),
        ("gtx480", "corf"),
        ("gtx480", "corf++"),
        ("gtx480", "uv-token"),
        ("gtx480", "uv-scalar"),
        ("gtx480", "uv-reuse"),
        ("dac-fermi", "cae"),
    ] {
        let of = |ideal: bool| {
            let stats = busy().run(gpu, &[&format!("technique.{name}.ideal={ideal}")], &[name]);
            balance(&stats);
            stats
        };
        let (real, ideal) = (of(false), of(true));
        let supplied = |stats: &Stats| stats.techniques[0].ledger.supplied;
        assert!(supplied(&ideal) >= supplied(&real), "{name}: {} of {}", supplied(&ideal), supplied(&real));
        assert!(ideal.counters.rf_reads <= real.counters.rf_reads, "{name}");
        assert!(ideal.counters.rf_writes <= real.counters.rf_writes, "{name}");
        assert_eq!(ideal.stalls.get(warplab_model::stats::Stall::Technique), 0, "{name}");
        let off = busy().run(
            gpu,
            &[&format!("technique.{name}.ideal=true"), &format!("technique.{name}.mechanism=false")],
            &[name],
        );
        assert_eq!(supplied(&off), 0, "{name}");
    }
    let physical = |ideal: bool| {
        let stats = busy().run("gtx480", &[&format!("technique.packing.ideal={ideal}")], &["packing"]);
        stats.of_techniques("physical_register_cycles")
    };
    assert!(physical(true) <= physical(false));
}

#[test]
fn statistics_do_not_depend_on_the_number_of_threads() {
    let config = warplab_model::config::load("titanx-pascal", &[]).expect("built in").config;
    let of = |threads| busy().run_on(&config, &["bow", "corf"], threads).expect("replays").counters.values();
    assert_eq!(of(1), of(2));
}

#[test]
fn techniques_that_decide_the_same_are_refused_with_the_reason() {
    let config = crate::testing::config(&[]);
    let refused = |names: [&str; 2]| {
        let names = names.map(str::to_owned);
        let catalogue = crate::testing::built_in();
        catalogue.select(&names, &config).map(drop).expect_err("they contradict").to_string()
    };
    assert!(refused(["owf", "regmutex"]).contains("how many registers a warp holds"));
    assert!(refused(["owf", "rfv"]).contains("how many registers a warp holds"));
    assert!(refused(["rfv", "corf"]).contains("where registers lie in the banks"));
    assert!(refused(["rfv", "bow-wr"]).contains("when results reach the register file"));
    assert!(refused(["owf", "las"]).contains("the order of warps"));
}
