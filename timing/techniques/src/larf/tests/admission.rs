//! Tests of blocks in the registers that sharing spares: files that are too small for the resident blocks, and faults in what
//! results reserve.

use super::super::joint::together_of;
use super::*;
use trace_format::isa::MachineKernel;
use warplab_model::stats::Stall as Slots;
use warplab_technique::program::Program;

/// Warps and their registers are allocated one by one, and blocks are admitted to sixteen times the file.
const MANY: [&str; 3] =
    ["sm.warp_allocation_granularity=1", "sm.register_allocation_unit=32", "technique.larf.space=1600"];

/// A register file of so many warp registers.
fn file(physical: u32) -> String {
    format!("sm.registers={}", 32 * physical)
}

fn run_in(hand: &Hand, physical: u32, set: &[&str]) -> Stats {
    let file = file(physical);
    run(hand, &[&MANY[..], set, &[&file]].concat())
}

fn stalls(stats: &Stats) -> [u64; 2] {
    stats.techniques[0].ledger.stalls[..].try_into().expect("two causes")
}

/// Registers of a thread.
fn registers(kernel: &MachineKernel) -> u32 {
    Program::new(kernel, &small_machine(&[])).expect("a kernel").registers_per_thread
}

/// Blocks of `warps` warps: each makes `values` values, or loads vectors that all warps load, meets at a barrier, and sums
/// them up; the kernel's registers are the second.
fn peak(values: u8, loads: bool, (blocks, warps): (u32, u32)) -> (Hand, u32) {
    let mut b = start();
    for i in 0..values {
        if loads {
            b.ldg(32 + i, 4, 128 * i32::from(i));
        } else {
            b.mov(32 + i, u32::from(i));
        }
    }
    b.bar();
    for i in 1..values {
        b.iadd(32, r(32), r(32 + i), Src::RZ);
    }
    b.bar().stg(12, 32, 4096);
    let kernel = b.exit();
    let registers = registers(&kernel);
    (by_hand(kernel, blocks, 32 * warps).with_memory(), registers)
}

#[test]
fn blocks_run_in_the_registers_that_sharing_spares() {
    let (hand, registers) = peak(24, true, (4, 2));
    let physical = 3 * registers;
    let of = |space: &str| run_in(&hand, physical, &[space]);
    let (one, four) = (of("technique.larf.space=100"), of("technique.larf.space=400"));
    assert_eq!(["additional_blocks", "reservations"].map(|name| one.of_techniques(name)), [0; 2]);
    assert_eq!(four.of_techniques("additional_blocks"), 3);
    assert_eq!(stalls(&one), [0; 2]);
    assert_eq!(one.of_techniques("reserved_register_cycles"), 0);
    assert!(four.of_techniques("reserved_register_cycles") > 0);
    let saved = |stats: &Stats| stats.of_techniques("whole_shares");
    assert!(saved(&four) > saved(&one), "blocks share with each other: {} {}", saved(&four), saved(&one));
    assert!(4 * four.counters.cycles < 3 * one.counters.cycles, "blocks overlap");
    assert_eq!([&one, &four].map(|stats| stats.counters.blocks), [4; 2]);
}

#[test]
fn an_instruction_waits_for_a_register_and_the_wait_has_a_cause() {
    // Nothing is shared: a block at its peak has nearly the whole file.
    let (hand, registers) = peak(40, false, (4, 1));
    let stats = run_in(&hand, registers + 8, &[]);
    assert!(stalls(&stats)[1] > 0, "{:?}", stalls(&stats));
    assert_eq!(stats.stalls.get(Slots::Technique), stalls(&stats).iter().sum::<u64>());
    let roomy = run_in(&hand, 4 * registers, &[]);
    assert_eq!((stalls(&roomy), roomy.of_techniques("reservations")), ([0; 2], 0), "every block fits");
    assert!(stats.counters.cycles > roomy.counters.cycles);
    let ideal = run_in(&hand, registers + 8, &["technique.larf.ideal=true"]);
    assert_eq!((stalls(&ideal), ideal.of_techniques("reservations")), ([0; 2], 0));
    assert!(ideal.counters.cycles < stats.counters.cycles);
}

#[test]
fn a_smaller_file_never_gains() {
    let (hand, registers) = peak(24, true, (6, 2));
    let cycles: Vec<u64> = [2 * registers + 2, 3 * registers, 5 * registers, 12 * registers]
        .map(|physical| run_in(&hand, physical, &["sm.max_blocks=6"]).counters.cycles)
        .to_vec();
    assert!(cycles.is_sorted_by(|small, large| small >= large), "{cycles:?}");
}

#[test]
fn a_file_without_room_for_a_demand_holds_the_blocks_that_it_holds_anyway() {
    // The largest result has one register.
    let (hand, registers) = peak(24, true, (4, 2));
    let of = |physical| run_in(&hand, physical, &[]);
    let (none, some) = (of(2 * registers), of(2 * registers + 1));
    assert_eq!((none.of_techniques("additional_blocks"), none.of_techniques("reservations")), (0, 0));
    assert_eq!(some.of_techniques("additional_blocks"), 3);
    assert!(some.of_techniques("reservations") > 0);
}

#[test]
fn without_its_mechanism_it_is_the_machine_without_it() {
    let (hand, registers) = peak(24, true, (4, 2));
    let file = file(2 * registers + 4);
    let off = run(&hand, &[&MANY[..], &[&file, "technique.larf.mechanism=false"]].concat());
    let plain = plain(&hand.clone().with_memory(), &[MANY[0], MANY[1], &file]);
    assert_eq!(off.of_techniques("additional_blocks"), 0);
    assert_eq!(
        (off.counters.cycles, off.counters.rf_reads),
        (plain.counters.cycles, plain.counters.rf_reads)
    );
}

#[test]
fn a_result_that_overwrites_its_own_register_reserves_none() {
    // r8 is made, and overwritten in place twice; r6 is named by an entry when it is overwritten.
    let mut b = start();
    b.mov(8, 1).iadd(8, r(8), r(8), r(0)).iadd(8, r(8), r(8), r(0));
    b.ldg(6, 4, 0).iadd(6, r(6), r(8), r(0));
    keep(&mut b, 6, 8);
    let kernel = b.exit();
    let physical = registers(&kernel) + 1;
    let stats = run_in(&by_hand(kernel, 2, 32).with_memory(), physical, &[]);
    // Each block: the lane and the two pairs of addresses, r8, r6 twice, and r30.
    let made = [0u8, 4, 5, 12, 13, 8, 6, 6, 30];
    assert_eq!(stats.of_techniques("reservations"), 2 * made.len() as u64);
}

#[test]
fn packed_registers_admit_no_further_blocks() {
    for part in ["corf", "corf++"] {
        let why = together_of(part, &small_machine(&["technique.larf.space=200"])).map(drop);
        let why = why.expect_err("refused");
        assert!(why.contains("technique.larf.space = 200") && why.contains(part), "{why}");
        let names = ["larf", part].map(str::to_owned);
        let why = crate::testing::built_in().select(&names, &small_machine(&["technique.larf.space=200"]));
        assert!(why.map(drop).expect_err("refused").to_string().contains("no further blocks"));
    }
    let names = ["larf", "regmutex"].map(str::to_owned);
    assert!(crate::testing::built_in().select(&names, &small_machine(&[])).is_err());
}

#[test]
fn storage_holds_owners_and_accounts() {
    let (hand, _) = peak(24, true, (1, 1));
    let [without, with] = ["100", "200"]
        .map(|space| run(&hand.clone().with_memory(), &[&format!("technique.larf.space={space}")]));
    assert_eq!(with.counters.cycles, without.counters.cycles);
    let cycles = with.counters.cycles as f64;
    // 700 cycles take a microsecond.
    let adds = |name: &str, bits: f64| {
        let added = with.of_techniques(name) - without.of_techniques(name);
        assert!(
            (added as f64 - bits * cycles * 1000.0 / (8.0 * 1024.0 * 700.0)).abs() <= 1.0,
            "{name}: {added}"
        );
    };
    // 48 warps of 63 registers have a bit each; 1024 physical registers have one of 8 block slots or none in 4 bits, and
    // 9 counts have 11 bits.
    adds("renaming_powered_kib_ns", 48.0 * 63.0);
    adds("state_powered_kib_ns", 1024.0 * 4.0 + 9.0 * 11.0);
}

/// Each fault with a launch, the file in which it shows, and the overrides.
fn faults_of_reservations() -> Vec<(Fault, Hand, u32)> {
    use Fault::*;
    let shared = {
        // r8 shares the register of r6, which is overwritten in half of the lanes.
        let mut b = twice();
        b.below(0, 16).iadd(6, r(8), r(0), r(0)).guarded();
        keep(&mut b, 8, 6);
        let kernel = b.exit();
        let registers = registers(&kernel);
        (by_hand(kernel, 2, 32).with_memory(), registers + 4)
    };
    let two_warps = {
        let (hand, registers) = peak(12, true, (2, 2));
        (hand, 2 * registers + 4)
    };
    let tight = {
        let (hand, registers) = peak(40, false, (4, 1));
        (hand, registers + 8)
    };
    let all_live = {
        // All registers but one are live when half of the lanes of four are overwritten that an entry names. Blocks load
        // from lines of their own.
        let mut b = Builder::default();
        b.special(0, SpecialReg::LaneId).special(1, SpecialReg::CtaidX).shl(2, 1, 9).mov(3, 0);
        b.load(4, 2, 0, MemWidth::B128, MemOrder::Weak).below(0, 16);
        b.load(4, 2, 128, MemWidth::B128, MemOrder::Weak).guarded();
        b.iadd(0, r(4), r(5), r(0)).iadd(0, r(6), r(7), r(0)).iadd(0, r(0), r(1), Src::RZ).stg(2, 0, 4096);
        let kernel = b.exit();
        let registers = registers(&kernel);
        (by_hand(kernel, 2, 32).with_memory(), registers + 4)
    };
    let with = |fault, (hand, physical): &(Hand, u32)| (fault, hand.clone(), *physical);
    vec![
        with(TakenForOwn, &shared),
        with(NothingReserved, &two_warps),
        with(OtherWarpReserved, &two_warps),
        with(FreeTwice, &tight),
        with(KeptReservation, &tight),
        with(Unthrottled, &tight),
        with(ShortDemand, &all_live),
    ]
}

#[test]
fn every_fault_of_reservations_is_found() {
    let mut missed = Vec::new();
    for (fault, hand, physical) in faults_of_reservations() {
        let sound = run_in(&hand, physical, &[]);
        assert!(sound.of_techniques("reservations") > 0, "{fault:?}");
        let file = file(physical);
        match run_with(&hand.clone().with_memory(), &[&MANY[..], &[&file]].concat(), Some(fault)) {
            Ok(_) => missed.push(fault),
            Err(ReplayError::Stuck { .. }) => {}
            Err(why) => assert!(why.to_string().contains("technique larf"), "{fault:?}: {why}"),
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn every_fault_of_sharing_is_found_in_a_file_that_is_too_small() {
    let mut missed = Vec::new();
    for (fault, hand) in faults() {
        let hand = by_hand(hand.kernel, 3, 32).with_memory();
        let file = file(registers(&hand.kernel) + 4);
        let set = [&MANY[..], &[&file]].concat();
        assert!(run(&hand, &set).of_techniques("reservations") > 0);
        match run_with(&hand.clone().with_memory(), &set, Some(fault)) {
            Ok(_) => missed.push(fault),
            Err(ReplayError::Stuck { .. }) => {}
            Err(why) => assert!(why.to_string().contains("technique larf"), "{fault:?}: {why}"),
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever loads, stores, barriers and fences do, all blocks end in a file that hardly holds one of them, every value
    /// is the recorded one, and what blocks hold and what is free makes up the file whenever a warp ends.
    #[test]
    fn random_kernels_end_in_files_that_are_too_small(
        seed: u64,
        spare in 0u32..24,
        (blocks, warps) in (2u32..7, 1u32..5),
        entries in prop::sample::select(vec![0u32, 1, 3, 400]),
        release in prop::sample::select(vec!["last_read", "overwrite"]),
        policy in prop::sample::select(vec!["lrr", "gto", "two_level"]),
        (schedulers, across) in (1u32..3, any::<bool>()),
    ) {
        let mut random = Random::new(seed);
        let kernel = random_kernel(&mut random).exit();
        // A load of 128 bits reserves four.
        let physical = warps * registers(&kernel) + 4 + spare;
        let hand = by_hand(kernel, blocks, 32 * warps).with_memory();
        let set = [
            format!("technique.larf.entries={entries}"),
            format!("technique.larf.release='{release}'"),
            format!("technique.larf.across_blocks={across}"),
            format!("scheduler.policy='{policy}'"),
            format!("scheduler.count={schedulers}"),
            "scheduler.two_level_active_warps=2".to_owned(),
            file(physical),
        ];
        let config = small_machine(&[&MANY[..], &set.each_ref().map(String::as_str)].concat());
        let technique = Damaged { larf: larf(&config), fault: None };
        let stats = hand.run_techniques(&config, vec![Box::new(technique)]);
        let stats = stats.map_err(|why| TestCaseError::fail(why.to_string()))?;
        prop_assert_eq!(stats.counters.blocks, u64::from(blocks));
        prop_assert!(stats.of_techniques("reservations") > 0);
        let ledger = &stats.techniques[0].ledger;
        prop_assert_eq!(ledger.opportunities, ledger.supplied + ledger.all_lost());
    }
}
