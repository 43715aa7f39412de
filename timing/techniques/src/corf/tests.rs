//! Tests of CORF, CORF++, packing and virtualization: placements computed by hand, random divergent code with a verified
//! free map, corrupted register files, and CORF together with BOW.

use super::coalescing::{Mapping, Places as _};
use super::packing::Slices;
use super::variants::{corf, corf_plus, packing, virtualization};
use super::*;
use crate::testing::{Bench, From, Random, config, count, launch, prepared, program, stack};
use crate::{Executed, Inserted, MicroId, RecordedWarps};
use proptest::prelude::*;
use warplab_technique::Row;
use warplab_technique::context::Found;
use warplab_technique::program::RegSet;

/// A constructor.
type New = fn(&toml::Table) -> Result<Corf, String>;

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
    let (mut corf, plan) = prepared(corf, "corf", &program, &config);
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
    let (mut corf, _) = prepared(corf, "corf", &program, &config);
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
    let (mut corf, plan) = prepared(corf, "corf", &program, &config);
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
    let (mut corf, _) = prepared(corf, "corf", &program, &config);
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
    assert_eq!(corf.renaming().allocator.file.in_use(), 2);
}

#[test]
fn growth_under_divergence_fetches_the_other_lanes() {
    let config = config(&["technique.corf.pairs=false", "technique.corf.virtualization=false"]);
    let program = program("mov r1 1\n mov r2 2\n iadd r3 r1 r2\n exit", &config);
    let (mut corf, _) = prepared(corf, "corf", &program, &config);
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
    let (mut corf, _) = prepared(corf, "corf", &program, &config);
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
    let (mut corf, _) = prepared(corf, "corf", &program, &config);
    let mut bench = Bench::new(&program, 4);
    bench.start(&mut corf);
    step(&mut bench, &mut corf, 0, 1);
    step(&mut bench, &mut corf, 1, 2);
    let physical = mapped(&mut corf, 4, 2).expect("mapped").0;
    // r1 has slice 0 and r2 slice 1 of the entry.
    corf.renaming().allocator.file.rows[usize::from(physical)].0[31] ^= 0x8000;
    let why = bench.issue(&mut corf, 2, (1 << 31, 1 << 31), || Row::ZERO).expect_err("the value is wrong");
    let place = (why.technique, why.pc, why.block, why.warp, why.register, why.lane);
    assert_eq!(place, ("corf", 2, 7, 3, 2, 31));
    assert_eq!((why.expected, why.actual), (2, Found::Value((-126i32 as u32).into())));
}

/// Faults of the register file and of the renaming table, each in the place of R2.
type Fault = fn(&mut Renaming, u16);

const FAULTS: [(&str, Fault); 12] = [
    ("a flipped bit", |renaming, at| renaming.allocator.file.rows[usize::from(at)].0[0] ^= 0x0101_0101),
    ("a flipped bit in the last lane", |renaming, at| {
        renaming.allocator.file.rows[usize::from(at)].0[31] ^= 0x8080_8080;
    }),
    ("two swapped lanes", |renaming, at| renaming.allocator.file.rows[usize::from(at)].0.swap(3, 4)),
    ("an empty row", |renaming, at| renaming.allocator.file.rows[usize::from(at)] = Row::ZERO),
    ("a row of ones", |renaming, at| renaming.allocator.file.rows[usize::from(at)] = Row::splat(u32::MAX)),
    ("lanes in reverse", |renaming, at| renaming.allocator.file.rows[usize::from(at)].0.reverse()),
    ("bytes in reverse", |renaming, at| {
        renaming.allocator.file.rows[usize::from(at)].0.iter_mut().for_each(|word| *word = word.swap_bytes());
    }),
    ("another physical register", |renaming, _| renaming.break_place(0, 2, |at, slices| (at + 1, slices))),
    ("a physical register of another bank", |renaming, _| renaming.break_place(0, 2, |at, s| (at + 7, s))),
    ("too few slices", |renaming, _| renaming.break_place(0, 2, |at, slices| (at, slices.narrowed(1)))),
    ("slices beside its own", |renaming, _| {
        let beside = |own: Slices| if own.first() == 0 { 1 } else { own.first() - 1 };
        renaming.break_place(0, 2, |at, own| (at, Slices::new(beside(own), own.count())));
    }),
    ("a release of a live register", |renaming, _| {
        renaming.release_all_but(0, &RegSet::default(), &mut Counts::default());
    }),
];

#[test]
fn every_fault_is_found() {
    let set = ["corf", "corf++"].map(|name| format!("technique.{name}.virtualization=false"));
    let config = config(&set.each_ref().map(String::as_str));
    let program = program("mov r1 1\n mov r2 2\n iadd r3 r1 r2\n iadd r4 r2 r3\n exit", &config);
    let techniques: [(&str, New); 3] =
        [("corf", corf), ("corf++", corf_plus), ("packing", |section| packing(section, false))];
    for (name, new) in techniques {
        for (fault, strike) in FAULTS {
            let (mut technique, _) = prepared(new, name, &program, &config);
            let mut bench = Bench::new(&program, 0);
            bench.start(&mut technique);
            step(&mut bench, &mut technique, 0, 1);
            // Every lane has another value of two bytes.
            let value = || Row::from_fn(|lane| 0x1203 + 0x101 * lane as u32);
            let (_, flight) = bench.issue(&mut technique, 1, FULL, value).expect("values agree");
            bench.write_back(&mut technique, &flight).expect("values agree");
            let at = mapped(&mut technique, 0, 2).expect("mapped").0;
            strike(technique.renaming(), at);
            let why = bench.issue(&mut technique, 2, FULL, || Row::ZERO).map(drop);
            assert!(why.is_err_and(|why| why.technique == name), "{name} with {fault}");
        }
    }
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
        corf(&table).map(drop).expect_err("refused")
    };
    assert!(refuse("renaming_cycles = 17").contains("`renaming_cycles`: 17"));
    assert!(refuse("unknown_trips = 0").contains("`unknown_trips`: 0"));
    assert!(refuse("pair = true").contains("pair"));
    let tiny = config(&["sm.registers=16"]);
    let program = program("exit", &tiny);
    let mut corf = corf(&toml::Table::new()).expect("valid");
    assert!(
        corf.prepare(&launch(&program, &tiny), &mut Plan::of(&program))
            .expect_err("no room")
            .contains("sm.registers")
    );
}

/// Section 2.5.3's example in code of our own: r1 is read alone; of r2 to r5 each is read with the next.
const CHAIN: &str = "mov r1 1\n mov r2 2\n mov r4 4\n mov r3 3\n iadd r5 r2 r3\n iadd r6 r4 r5\n iadd r6 r3 r4\n \
                     iadd r7 r1 1\n exit";

/// Runs the chain with values of these bytes for r1, r2, r4, r3 and r5; where the operands of the three sums came from.
fn chain(set: &[&str], values: [u32; 5]) -> (Corf, Vec<Vec<From>>) {
    let set: Vec<&str> = ["technique.corf++.virtualization=false"].iter().chain(set).copied().collect();
    let config = config(&set);
    let program = program(CHAIN, &config);
    let (mut corf, _) = prepared(corf_plus, "corf++", &program, &config);
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut corf);
    let [.., fifth] = values;
    (0..4).for_each(|pc| drop(step(&mut bench, &mut corf, pc, values[pc as usize])));
    let reads = [(4, fifth), (5, 9), (6, 9)].map(|(pc, value)| step(&mut bench, &mut corf, pc, value));
    (corf, reads.to_vec())
}

#[test]
fn registers_on_two_sides_are_read_at_once_wherever_they_lie() {
    let (mut plus, reads) = chain(&[], [0x1234, 0x1234, 1, 1, 1]);
    let places = [1, 2, 4, 3, 5].map(|reg| mapped(&mut plus, 0, reg).expect("mapped").0);
    // r1 takes the right of the first entry, r2 its left; the bank of warp 0 has every sixteenth entry.
    assert_eq!(places, [0, 0, 16, 16, 32]);
    assert_eq!(reads, vec![vec![From::Bank(0), From::With(0)]; 3], "all three pairs share an access");
    assert_eq!((count(&plus, "coalesced_register_reads"), count(&plus, "multi_source_instructions")), (3, 3));
    // CORF has exclusive pairs: r3 is paired with r2 or with r4.
    let config = config(&["technique.corf.virtualization=false"]);
    let program = program(CHAIN, &config);
    let (mut plain, _) = prepared(corf, "corf", &program, &config);
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut plain);
    for (pc, value) in [0x1234, 0x1234, 1, 1, 1, 9, 9].into_iter().enumerate() {
        step(&mut bench, &mut plain, pc as u32, value);
    }
    assert_eq!(count(&plain, "coalesced_register_reads"), 2);
}

#[test]
fn registers_that_are_too_wide_or_on_one_side_are_read_one_by_one() {
    let (_, reads) = chain(&[], [1, 0x12_3456, 0x1234, 0x1234, 0x12_3456]);
    let apart = vec![From::Bank(0), From::Bank(0)];
    assert_eq!(reads[..2], [apart.clone(), apart.clone()], "three bytes and two do not fit");
    assert_eq!(reads[2], [From::Bank(0), From::With(0)]);
    // Without sides every value begins at the right of an entry or beside another one there.
    let (_, reads) =
        chain(&["technique.corf++.alignment=false"], [0x12_3456, 0x1234, 0x1234, 0x12_3456, 0x1234]);
    assert_eq!(reads[0], apart);
    let (off, reads) = chain(&["technique.corf++.mechanism=false"], [0x1234, 0x1234, 1, 1, 1]);
    assert_eq!(reads, vec![apart; 3]);
    assert_eq!(count(&off, "coalesced_register_reads"), 0);
}

#[test]
fn two_of_three_narrow_operands_share_an_access() {
    let config = config(&["technique.corf++.virtualization=false"]);
    let program = program("mov r1 1\n mov r2 2\n mov r3 3\n ffma r4 r1 r2 r3\n exit", &config);
    let (mut corf, plan) = prepared(corf_plus, "corf++", &program, &config);
    assert_eq!(plan.inserted().len(), 1, "five registers, one metadata instruction");
    let mut bench = Bench::new(&program, 2);
    bench.start(&mut corf);
    (0..3).for_each(|pc| drop(step(&mut bench, &mut corf, pc, pc)));
    let reads = step(&mut bench, &mut corf, 3, 9);
    let shared = reads.iter().filter(|from| matches!(from, From::With(_))).count();
    assert_eq!((shared, reads.len()), (1, 3), "the bank takes two addresses: {reads:?}");
    assert!(reads.iter().all(|from| matches!(from, From::Bank(2) | From::With(_))), "warp 2 has bank 2");
}

/// A recording whose only warp executes instructions with these values of r1 to r4, in another first launch.
#[derive(Debug)]
struct Recorded {
    this: [u32; 4],
    first: [u32; 4],
}

impl RecordedWarps for Recorded {
    fn walk(&self, launch: Profiled, visit: &mut dyn FnMut(&Executed<'_>)) -> Result<(), String> {
        let values = if launch == Profiled::ThisLaunch { self.this } else { self.first };
        let mut rows = vec![Row::ZERO];
        rows.extend(values.map(Row::splat));
        (4..7).for_each(|pc| visit(&Executed::new(pc, u32::MAX, &rows)));
        Ok(())
    }
}

#[test]
fn a_profile_pairs_the_registers_whose_values_fit() {
    // The code pairs r2 with r3, which are read together twice, and leaves r1 and r4 alone.
    let text =
        "mov r1 1\n mov r2 2\n mov r3 3\n mov r4 4\n iadd r5 r1 r2\n iadd r5 r2 r3\n iadd r5 r2 r3\n exit";
    let wide = [1, 2, 0x1234_5678, 4];
    let pair = |weights: &str, recorded: Option<Recorded>| {
        let config = config(&[&format!("technique.corf.weights='{weights}'")]);
        let program = program(text, &config);
        let mut corf = corf(&config.technique["corf"]).expect("valid");
        let mut asked = launch(&program, &config);
        asked.recording = recorded.as_ref().map(|recorded| recorded as &dyn RecordedWarps);
        corf.prepare(&asked, &mut Plan::of(&program))?;
        let renaming = corf.renaming();
        Ok((1..5u8).filter(|reg| renaming.are_partners(2, *reg)).collect::<Vec<u8>>())
    };
    let recorded = |this, first| Some(Recorded { this, first });
    assert_eq!(pair("static", None), Ok(vec![3]));
    assert_eq!(pair("profile", recorded(wide, [1, 2, 3, 4])), Ok(vec![1]), "r2 and r3 never fit");
    assert_eq!(pair("first_launch", recorded(wide, [1, 2, 3, 4])), Ok(vec![3]));
    let why: Result<_, String> = pair("profile", None);
    assert!(why.expect_err("no recording").contains("needs a recording"));
}

#[test]
fn a_bank_is_chosen_by_the_registers_that_are_read_together() {
    // On gtx480 the home bank of r16 is that of r0.
    let text = "mov r0 305419896\n mov r16 305419896\n iadd r3 r0 r16\n exit";
    let place = |allocation: &str| {
        let config =
            config(&[&format!("technique.corf.allocation='{allocation}'"), "technique.corf.pairs=false"]);
        let program = program(text, &config);
        let (mut corf, _) = prepared(corf, "corf", &program, &config);
        let mut bench = Bench::new(&program, 0);
        bench.start(&mut corf);
        step(&mut bench, &mut corf, 0, 0x1234_5678);
        step(&mut bench, &mut corf, 1, 0x1234_5678);
        step(&mut bench, &mut corf, 2, 9)
    };
    assert_eq!(place("home_bank"), [From::Bank(0), From::Bank(0)]);
    assert_eq!(place("bank_aware"), [From::Bank(0), From::Bank(1)], "the next bank without conflict");
    // With sides, registers that can share an access are kept in one bank.
    let text = "mov r0 1\n mov r1 2\n mov r2 3\n iadd r3 r0 r1\n exit";
    let reads = |allocation: &str| {
        let config = config(&[&format!("technique.corf++.allocation='{allocation}'")]);
        let program = program(text, &config);
        let (mut plus, _) = prepared(corf_plus, "corf++", &program, &config);
        let mut bench = Bench::new(&program, 5);
        bench.start(&mut plus);
        (0..3).for_each(|pc| drop(step(&mut bench, &mut plus, pc, 1)));
        step(&mut bench, &mut plus, 3, 9)
    };
    assert_eq!(reads("home_bank"), [From::Bank(5), From::Bank(6)]);
    assert_eq!(reads("bank_aware"), [From::Bank(5), From::With(0)]);
}

#[test]
fn packing_alone_shares_entries_and_no_reads() {
    let config = config(&[]);
    let program = program("mov r1 1\n mov r2 2\n iadd r3 r1 r2\n exit", &config);
    let run = |new: New, name: &str| {
        let (mut technique, plan) = prepared(new, name, &program, &config);
        assert!(plan.inserted().is_empty(), "{name} needs no metadata");
        let mut bench = Bench::new(&program, 0);
        bench.start(&mut technique);
        step(&mut bench, &mut technique, 0, 1);
        step(&mut bench, &mut technique, 1, 2);
        let used = technique.renaming().allocator.file.in_use();
        let reads = step(&mut bench, &mut technique, 2, 3);
        (used, reads, technique.renaming().allocator.file.in_use())
    };
    let packed = run(|section| packing(section, false), "packing");
    assert_eq!(packed, (1, vec![From::Bank(0), From::Bank(0)], 1));
    let released = run(virtualization, "rf-virtualization");
    assert_eq!(released, (2, vec![From::Bank(0), From::Bank(1)], 1), "r3 remains");
    let both = run(|section| packing(section, true), "packing+rf-virtualization");
    assert_eq!(both, (1, vec![From::Bank(0), From::Bank(0)], 1));
}

#[test]
fn packing_and_virtualization_are_named_together_or_alone() {
    let chosen = |names: &[&str], set: &[&str]| {
        let config = config(set);
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let found = crate::testing::built_in().select(&names, &config);
        found.map(|all| all.iter().map(|one| (one.info().name, one.params())).collect::<Vec<_>>())
    };
    let names = |list: &[&str]| -> Vec<&'static str> {
        chosen(list, &[]).expect("they fit").into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names(&["packing"]), ["packing"]);
    assert_eq!(names(&["rf-virtualization", "packing"]), ["packing+rf-virtualization"]);
    assert_eq!(names(&["packing", "bow", "rf-virtualization"]), ["bow", "packing+rf-virtualization"]);
    let set = ["technique.packing.shrink=true", "technique.rf-virtualization.table_ports=3"];
    let both = chosen(&["packing", "rf-virtualization"], &set).expect("they fit");
    let param =
        |name: &str| both[0].1.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string());
    assert_eq!((param("shrink"), param("table_ports")), (Some("true".into()), Some("3".into())));
    for others in [["packing", "corf"], ["rf-virtualization", "corf++"], ["corf", "corf++"]] {
        let why = chosen(&others, &[]).map(drop).expect_err("they contradict").to_string();
        assert!(others.iter().all(|name| why.contains(name)), "{why}");
    }
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
        place in 0usize..3,
        shrink: bool,
    ) {
        let mut random = Random::new(seed, 8);
        let set = [
            format!("technique.corf.pairs={pairs}"),
            format!("technique.corf.virtualization={virtualization}"),
            format!("technique.corf.allocation={}", ["'first_fit'", "'home_bank'", "'bank_aware'"][place]),
            format!("technique.corf.shrink={shrink}"),
        ];
        let config = config(&set.each_ref().map(String::as_str));
        let program = program(&random.listing(), &config);
        let (mut corf, _) = prepared(corf, "corf", &program, &config);
        let mut bench = Bench::new(&program, 1);
        bench.start(&mut corf);
        prop_assert_eq!(bench.run(&mut corf, &mut random), Ok(()));
        corf.renaming().verify();
        bench.end(&mut corf);
        corf.renaming().verify();
        prop_assert_eq!(corf.renaming().allocator.file.in_use(), 0);
        if with_bow {
            let (mut both, _) = stack(&["bow", "corf"], &program, &config);
            let mut bench = Bench::new(&program, 1);
            bench.start(&mut both);
            prop_assert_eq!(bench.run(&mut both, &mut random), Ok(()));
        }
    }

    /// The same for the other techniques with a renaming table.
    #[test]
    fn random_divergent_code_is_renamed_rightly_by_all(seed: u64, which in 0usize..5, switch: bool, with_bow: bool) {
        let mut random = Random::new(seed, 8);
        let (name, new): (_, New) = [
            ("corf++", corf_plus as New),
            ("corf++", corf_plus),
            ("packing", |section| packing(section, false)),
            ("packing+rf-virtualization", |section| packing(section, true)),
            ("rf-virtualization", virtualization),
        ][which];
        let set = match which {
            0 => vec![format!("technique.corf++.allocation={}", if switch { "'home_bank'" } else { "'bank_aware'" })],
            1 => vec![format!("technique.corf++.alignment={switch}")],
            2 => vec![
                format!("technique.packing.mechanism={switch}"),
                "technique.packing.allocation='bank_aware'".to_owned(),
            ],
            _ => Vec::new(),
        };
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let config = config(&set);
        let program = program(&random.listing(), &config);
        let (mut technique, _) = prepared(new, name, &program, &config);
        let mut bench = Bench::new(&program, 1);
        bench.start(&mut technique);
        prop_assert_eq!(bench.run(&mut technique, &mut random), Ok(()));
        technique.renaming().verify();
        bench.end(&mut technique);
        technique.renaming().verify();
        prop_assert_eq!(technique.renaming().allocator.file.in_use(), 0);
        if with_bow && name != "packing+rf-virtualization" {
            let (mut both, _) = stack(&["bow", name], &program, &config);
            let mut bench = Bench::new(&program, 1);
            bench.start(&mut both);
            prop_assert_eq!(bench.run(&mut both, &mut random), Ok(()));
        }
    }

    /// As many registers as the register file has entries, rewritten at random widths, in every warp slot.
    #[test]
    fn there_is_always_room(seed: u64, releases: bool, plus: bool) {
        let mut random = Random::new(seed, 8);
        let (name, new) = if plus { ("corf++", corf_plus as New) } else { ("corf", corf as New) };
        let set = format!("technique.{name}.virtualization={releases}");
        let config = config(&[&set]);
        let program = program("mov r20 1\n ffma r0 r1 r2 r3\n ffma r4 r5 r1 r2\n exit", &config);
        let (mut corf, _) = prepared(new, name, &program, &config);
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
