//! Tests of CORF: placements computed by hand, random divergent code with a verified free map, a corrupted
//! register file, and CORF together with BOW.

use super::*;
use crate::program::RegSet;
use crate::source::Row;
use crate::techniques::testing::{Bench, From, Random, config, count, launch, prepared, program, stack};
use crate::techniques::{Inserted, MicroId};
use proptest::prelude::*;
use warplab_technique::context::Found;

const FULL: (u32, u32) = (u32::MAX, u32::MAX);

/// Issues instruction `pc` in all lanes with the given result, writes it back and returns where operands came
/// from.
fn step(bench: &mut Bench<'_>, corf: &mut Corf, pc: u32, value: u32) -> Vec<From> {
    let (reads, flight) = bench.issue(corf, pc, FULL, || Row::splat(value)).expect("values agree");
    bench.write_back(corf, &flight).expect("values agree");
    corf.renaming().verify();
    reads.iter().map(|read| read.from).collect()
}

/// Physical register and value of a register, if it is mapped.
fn mapped(corf: &mut Corf, slot: usize, reg: u8) -> Option<(u16, Row)> {
    let renaming = corf.renaming();
    let Mapping::At(found) = renaming.look_up(slot, reg, 0) else { return None };
    let mut space = Row::ZERO;
    Some((found.physical, *renaming.value(&found, &mut space)))
}

#[test]
fn a_compiler_pair_of_narrow_registers_is_read_at_once() {
    let config = config(&[]);
    let program = program("mov r1 1\n mov r5 2\n mov r3 3\n iadd r4 r1 r3\n stg r6 r5\n exit", &config);
    let (mut corf, plan) = prepared(Corf::new, "corf", &program, &config);
    assert_eq!(plan.extra_collect_cycles, 0);
    // r1 pairs with r3, r5 with the lower of the address registers: two pairs, one metadata instruction.
    let inserted = Inserted { before: 0, edge: Edge::Every, op: MicroId(0) };
    assert_eq!(plan.inserted(), [inserted]);
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut corf);
    step(&mut bench, &mut corf, 0, 1);
    step(&mut bench, &mut corf, 1, 2);
    step(&mut bench, &mut corf, 2, 0x1234);
    let place = |corf: &mut Corf, reg| mapped(corf, 0, reg).expect("mapped").0;
    assert_eq!([1, 5, 3].map(|reg| place(&mut corf, reg)), [0, 1, 0], "r5 does not take what r1 reserves");
    assert_eq!(step(&mut bench, &mut corf, 3, 9), [From::Bank(0), From::With(0)]);
    let stats = |name| count(&corf, name);
    assert_eq!((stats("coalesced_read_instructions"), stats("coalesced_register_reads")), (1, 1));
    assert_eq!((stats("pair_allocations"), stats("packed_pair_allocations")), (1, 1));
}

#[test]
fn a_pair_that_does_not_fit_is_placed_by_first_fit_and_frees_the_reservation() {
    let config = config(&["technique.corf.virtualization=false"]);
    let program = program("mov r1 1\n mov r3 3\n mov r5 5\n iadd r4 r1 r3\n exit", &config);
    let (mut corf, _) = prepared(Corf::new, "corf", &program, &config);
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut corf);
    step(&mut bench, &mut corf, 0, 1);
    step(&mut bench, &mut corf, 1, 0x3F80_0000);
    step(&mut bench, &mut corf, 2, 0x1234);
    let place = |corf: &mut Corf, reg| mapped(corf, 0, reg).expect("mapped").0;
    assert_eq!([1, 3, 5].map(|reg| place(&mut corf, reg)), [0, 1, 0]);
    assert_eq!(step(&mut bench, &mut corf, 3, 9), [From::Bank(0), From::Bank(1)]);
    assert_eq!((count(&corf, "pair_allocations"), count(&corf, "packed_pair_allocations")), (1, 0));
}

#[test]
fn a_collector_unpacks_two_registers_of_one_read() {
    let config = config(&["technique.corf.pairs=false", "technique.corf.virtualization=false"]);
    let program = program("mov r1 1\n mov r2 2\n mov r3 3\n ffma r4 r1 r2 r3\n exit", &config);
    let (mut corf, plan) = prepared(Corf::new, "corf", &program, &config);
    assert!(plan.inserted().is_empty(), "first fit needs no metadata");
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut corf);
    (0..3).for_each(|pc| drop(step(&mut bench, &mut corf, pc, pc)));
    let reads = step(&mut bench, &mut corf, 3, 9);
    assert_eq!(reads, [From::Bank(0), From::With(0), From::Bank(0)], "all three lie in register 0");
    assert_eq!(count(&corf, "coalesced_register_reads"), 1);
}

#[test]
fn growth_moves_a_register_and_shrinking_keeps_its_place() {
    let config = config(&["technique.corf.pairs=false", "technique.corf.virtualization=false"]);
    let program = program("mov r1 1\n mov r2 2\n iadd r3 r1 r2\n exit", &config);
    let (mut corf, _) = prepared(Corf::new, "corf", &program, &config);
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut corf);
    step(&mut bench, &mut corf, 0, 1);
    step(&mut bench, &mut corf, 1, 0x1234);
    let place = |corf: &mut Corf, reg| mapped(corf, 0, reg).expect("mapped").0;
    step(&mut bench, &mut corf, 0, 0x12_3456);
    assert_eq!((place(&mut corf, 1), count(&corf, "size_change_reallocations")), (1, 1));
    step(&mut bench, &mut corf, 0, 7);
    assert_eq!((place(&mut corf, 1), count(&corf, "size_change_reallocations")), (1, 1));
    assert_eq!(mapped(&mut corf, 0, 1).map(|found| found.1), Some(Row::splat(7)));
    assert_eq!(step(&mut bench, &mut corf, 2, 9), [From::Bank(1), From::Bank(0)]);
    assert_eq!(corf.renaming().file.in_use(), 2);
}

#[test]
fn growth_under_divergence_fetches_the_other_lanes() {
    let config = config(&["technique.corf.pairs=false", "technique.corf.virtualization=false"]);
    let program = program("mov r1 1\n mov r2 2\n iadd r3 r1 r2\n exit", &config);
    let (mut corf, _) = prepared(Corf::new, "corf", &program, &config);
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut corf);
    step(&mut bench, &mut corf, 0, 1);
    step(&mut bench, &mut corf, 1, 2);
    let (_, flight) = bench.issue(&mut corf, 0, (0xF0, 0xF0), || Row::splat(0x7FFF_FFFF)).expect("agrees");
    bench.write_back(&mut corf, &flight).expect("agrees");
    corf.renaming().verify();
    assert_eq!(bench.bank_accesses(), [(0, false)], "the old entry lies in bank 0");
    let expected = Row::from_fn(|lane| if (4..8).contains(&lane) { 0x7FFF_FFFF } else { 1 });
    assert_eq!(mapped(&mut corf, 0, 1).map(|found| found.1), Some(expected));
    // A wide value in an inactive lane keeps the register wide: all lanes count.
    let (_, flight) = bench.issue(&mut corf, 0, (0xF, 0xF), || Row::splat(3)).expect("agrees");
    bench.write_back(&mut corf, &flight).expect("agrees");
    assert_eq!(count(&corf, "size_change_reallocations"), 1);
    step(&mut bench, &mut corf, 2, 9);
}

#[test]
fn dead_registers_are_given_up_and_a_read_of_one_would_be_found_out() {
    let config = config(&[]);
    let program = program("mov r1 1\n iadd r2 r1 1\n iadd r3 r2 1\n exit", &config);
    let (mut corf, _) = prepared(Corf::new, "corf", &program, &config);
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut corf);
    step(&mut bench, &mut corf, 0, 1);
    step(&mut bench, &mut corf, 1, 2);
    assert!(mapped(&mut corf, 0, 1).is_none(), "its last reader has collected it");
    assert!(mapped(&mut corf, 0, 2).is_some());
    assert_eq!(count(&corf, "released_registers"), 1);
    // A compiler pass that released r1 too early would be caught here.
    let why = bench.issue(&mut corf, 1, (2, 2), || Row::ZERO).expect_err("r1 is gone");
    assert_eq!(
        (why.technique, why.pc, why.register, why.lane, why.actual),
        ("corf", 1, 1, 1, Found::Nothing)
    );
}

#[test]
fn a_corrupted_register_file_stops_the_run_and_names_the_place() {
    let config = config(&[]);
    let program = program("mov r1 1\n mov r2 2\n iadd r3 r1 r2\n exit", &config);
    let (mut corf, _) = prepared(Corf::new, "corf", &program, &config);
    let mut bench = Bench::new(&program, 4);
    bench.start(&mut corf);
    step(&mut bench, &mut corf, 0, 1);
    step(&mut bench, &mut corf, 1, 2);
    let physical = mapped(&mut corf, 4, 2).expect("mapped").0;
    // r1 has slice 0 and r2 slice 1 of the entry.
    corf.renaming().file.rows[usize::from(physical)].0[31] ^= 0x8000;
    let why = bench.issue(&mut corf, 2, (1, 1), || Row::ZERO).expect_err("the value is wrong");
    let place = (why.technique, why.pc, why.block, why.warp, why.register, why.lane);
    assert_eq!(place, ("corf", 2, 7, 3, 2, 31));
    assert_eq!((why.expected, why.actual), (2, Found::Value(-126i32 as u32)));
}

#[test]
fn bow_decides_first_and_corf_coalesces_what_remains() {
    let config = config(&[]);
    let text = "mov r1 1\n mov r2 2\n nop\n nop\n nop\n ffma r4 r1 r2 r3\n ffma r5 r1 r2 r3\n exit";
    let program = program(text, &config);
    let (mut both, plan) = stack(&["corf", "bow"], &program, &config);
    assert!(plan.collectors.is_some() && !plan.inserted().is_empty());
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut both);
    let mut issue = |pc| {
        let (reads, flight) = bench.issue(&mut both, pc, FULL, || Row::splat(3)).expect("agrees");
        bench.write_back(&mut both, &flight).expect("agrees");
        (reads.iter().map(|read| read.from).collect::<Vec<_>>(), flight.id)
    };
    (0..5).for_each(|pc| drop(issue(pc)));
    let (first, id) = issue(5);
    assert_eq!(first, [From::Bank(0), From::With(0), From::Bank(3)], "r3 was never written");
    let (second, _) = issue(6);
    assert_eq!(second, [From::After(id, 0), From::After(id, 1), From::After(id, 2)]);
}

#[test]
fn bad_sections_are_refused_with_the_key() {
    let refuse = |section: &str| {
        let table: toml::Table = toml::from_str(section).expect("TOML");
        Corf::new(&table).map(drop).expect_err("refused")
    };
    assert!(refuse("renaming_cycles = 17").contains("`renaming_cycles`: 17"));
    assert!(refuse("unknown_trips = 0").contains("`unknown_trips`: 0"));
    assert!(refuse("pair = true").contains("pair"));
    let tiny = config(&["sm.registers=16"]);
    let program = program("exit", &tiny);
    let mut corf = Corf::new(&toml::Table::new()).expect("valid");
    assert!(
        corf.prepare(&launch(&program, &tiny), &mut Plan::of(&program))
            .expect_err("no room")
            .contains("sm.registers")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// For any divergence, unpacked values equal the recorded ones, no live value is released, and table and
    /// free map agree; even with all warp slots full of registers there is always room.
    #[test]
    fn random_divergent_code_is_renamed_rightly(
        seed: u64,
        pairs: bool,
        virtualization: bool,
        with_bow: bool,
        home: bool,
        shrink: bool,
    ) {
        let mut random = Random::new(seed, 8);
        let set = [
            format!("technique.corf.pairs={pairs}"),
            format!("technique.corf.virtualization={virtualization}"),
            format!("technique.corf.allocation={}", if home { "'home_bank'" } else { "'first_fit'" }),
            format!("technique.corf.shrink={shrink}"),
        ];
        let config = config(&set.each_ref().map(String::as_str));
        let program = program(&random.listing(), &config);
        let (mut corf, _) = prepared(Corf::new, "corf", &program, &config);
        let mut bench = Bench::new(&program, 1);
        bench.start(&mut corf);
        prop_assert_eq!(bench.run(&mut corf, &mut random), Ok(()));
        corf.renaming().verify();
        bench.end(&mut corf);
        corf.renaming().verify();
        prop_assert_eq!(corf.renaming().file.in_use(), 0);
        if with_bow {
            let (mut both, _) = stack(&["bow", "corf"], &program, &config);
            let mut bench = Bench::new(&program, 1);
            bench.start(&mut both);
            prop_assert_eq!(bench.run(&mut both, &mut random), Ok(()));
        }
    }

    /// As many registers as the register file has entries, rewritten at random widths, in every warp slot.
    #[test]
    fn there_is_always_room(seed: u64, virtualization: bool) {
        let mut random = Random::new(seed, 8);
        let set = format!("technique.corf.virtualization={virtualization}");
        let config = config(&[&set]);
        let program = program("mov r20 1\n ffma r0 r1 r2 r3\n ffma r4 r5 r1 r2\n exit", &config);
        let (mut corf, _) = prepared(Corf::new, "corf", &program, &config);
        let (registers, mut stats) = (program.registers_per_thread as u8, Counts::default());
        let renaming = corf.renaming();
        for _ in 0..3 {
            for slot in 0..48 {
                for reg in 0..registers {
                    renaming.write(slot, reg, &random.row(), random.mask() | 1, &mut stats);
                }
                if random.below(4) == 0 {
                    let mut kept = RegSet::default();
                    (0..registers).filter(|_| random.below(2) == 0).for_each(|reg| kept.insert(reg));
                    renaming.release_all_but(slot, &kept, &mut stats);
                }
            }
            renaming.verify();
        }
        prop_assert!(stats.size_change_reallocations > 0);
    }
}
