//! One warp by hand: what is detected, where values are kept, what is lost.

use super::{ALL, of, prepared};
use crate::Uv;
use crate::testing::{Bench, From, count};
use crate::variants::{reuse, scalar, token, token_and_reuse};
use warplab_technique::Row;
use warplab_technique::{Technique, WriteTo};

/// Issues an instruction in all lanes and writes it back; values above 255 differ from lane to lane.
fn step(bench: &mut Bench<'_>, uv: &mut Uv, pc: u32, value: u32) -> (Vec<From>, Vec<WriteTo>) {
    let row = || Row::from_fn(|lane| if value > 255 { value + lane as u32 } else { value });
    let (reads, flight) = bench.issue(uv, pc, (u32::MAX, u32::MAX), row).expect("agrees");
    let writes = bench.write_back(uv, &flight).expect("agrees");
    (reads.iter().map(|read| read.from).collect(), writes)
}

const KINDS: &str = "mov r1 5\n iadd r2 r1 c\n s2r r3\n iadd r4 r2 r3\n imad r5 r1 r2 r1\n isetp p0 r1 r2";

#[test]
fn uniform_instructions_are_found_by_their_operands() {
    let (program, config) = of(KINDS);
    let mut uv = prepared(scalar, "", &program, &config).0;
    let mut bench = Bench::new(&program, 2);
    bench.start(&mut uv);
    use From::{Bank, Storage};
    assert_eq!(step(&mut bench, &mut uv, 0, 5), (vec![], vec![WriteTo::Nowhere]));
    assert_eq!(step(&mut bench, &mut uv, 1, 6), (vec![Storage], vec![WriteTo::Nowhere]));
    assert_eq!(step(&mut bench, &mut uv, 2, 300), (vec![], vec![WriteTo::Bank(3)]), "thread indices");
    assert_eq!(step(&mut bench, &mut uv, 3, 300), (vec![Storage, Bank(3)], vec![WriteTo::Bank(4)]));
    assert_eq!(step(&mut bench, &mut uv, 4, 7), (vec![Storage; 2], vec![WriteTo::Nowhere]));
    assert_eq!(step(&mut bench, &mut uv, 5, 0), (vec![Storage; 2], vec![]));
    assert_eq!((count(&uv, "uniform_instructions"), count(&uv, "results_once")), (4, 3));
    let ledger = &bench.ledger;
    assert_eq!((ledger.opportunities, ledger.supplied), (7, 6));
    assert_eq!((ledger.lost[0], ledger.lost.iter().sum::<u64>()), (1, 1));
    assert_eq!(uv.scalars.used(0), 3);
    bench.end(&mut uv);
    assert_eq!(uv.scalars.used(0), 0, "an ended warp frees its scalar registers");
}

#[test]
fn with_token_bits_one_lane_is_read_and_written() {
    let (program, config) = of(KINDS);
    let mut uv = prepared(token, "", &program, &config).0;
    let mut bench = Bench::new(&program, 2);
    bench.start(&mut uv);
    use From::{Bank, Lane};
    assert_eq!(step(&mut bench, &mut uv, 0, 5), (vec![], vec![WriteTo::Lane(1)]));
    assert_eq!(step(&mut bench, &mut uv, 1, 6), (vec![Lane(1)], vec![WriteTo::Lane(2)]));
    step(&mut bench, &mut uv, 2, 300);
    assert_eq!(step(&mut bench, &mut uv, 3, 300), (vec![Lane(2), Bank(3)], vec![WriteTo::Bank(4)]));
    assert_eq!((count(&uv, "lane_reads"), count(&uv, "lane_writes")), (2, 2));
    // Two of four instructions are uniform: one lane of each computes.
    assert_eq!((count(&uv, "lane_operations"), count(&uv, "lane_operations_removed")), (4 * 32, 2 * 31));
}

#[test]
fn predicates_that_uniform_instructions_write_are_uniform() {
    let code =
        "mov r1 5\n isetp p0 r1 c\n @p0 mov r2 7\n @!p0 mov r2 8\n s2r r3\n isetp p1 r3 c\n @p1 mov r4 9";
    let (program, config) = of(code);
    let mut uv = prepared(token, "", &program, &config).0;
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut uv);
    step(&mut bench, &mut uv, 0, 5);
    bench.preds[0] = u32::MAX;
    step(&mut bench, &mut uv, 1, 0);
    assert_eq!(step(&mut bench, &mut uv, 2, 7).1, [WriteTo::Lane(2)], "the guard is true in every lane");
    let none = |bench: &mut Bench<'_>, uv: &mut Uv, pc| {
        let (_, flight) = bench.issue(uv, pc, (u32::MAX, 0), || Row::ZERO).expect("agrees");
        bench.write_back(uv, &flight).expect("agrees")
    };
    assert_eq!(none(&mut bench, &mut uv, 3), [], "and false here: nothing is computed");
    step(&mut bench, &mut uv, 4, 300);
    bench.preds[1] = 0xFFFF;
    step(&mut bench, &mut uv, 5, 0);
    let (_, flight) = bench.issue(&mut uv, 6, (u32::MAX, 0xFFFF), || Row::splat(9)).expect("agrees");
    assert_eq!(bench.write_back(&mut uv, &flight), Ok(vec![WriteTo::Bank(4)]), "lanes differ");
    assert_eq!(count(&uv, "uniform_instructions"), 3);
}

#[test]
fn before_some_lanes_are_written_the_value_is_copied_to_all() {
    for (name, build) in ALL {
        let (program, config) = of("mov r1 5\n iadd r1 r1 1\n stg r2 r1");
        let (mut uv, plan) = prepared(build, "", &program, &config);
        let mut bench = Bench::new(&program, 0).with_ops_of(&plan);
        bench.start(&mut uv);
        step(&mut bench, &mut uv, 0, 5);
        let (reads, flight) = bench.issue(&mut uv, 1, (0xFF, 0xFF), || Row::splat(6)).expect("agrees");
        assert_eq!(reads[0].from, From::Bank(1), "{name}: the copy has put it into the bank");
        assert_eq!(bench.write_back(&mut uv, &flight), Ok(vec![WriteTo::Bank(1)]), "{name}");
        assert_eq!((count(&uv, "copies"), uv.scalars.used(0)), (1, 0), "{name}");
        let (reads, _) = step(&mut bench, &mut uv, 2, 0);
        assert_eq!(reads.len(), 3, "{name}: the bank has 6 in eight lanes and 5 in the others");
    }
}

#[test]
fn a_write_by_all_lanes_that_are_left_needs_no_copy() {
    let (program, config) = of("mov r1 5\n s2r r1");
    let (mut uv, plan) = prepared(token, "", &program, &config);
    let mut bench = Bench::new(&program, 0).with_ops_of(&plan);
    bench.start(&mut uv);
    step(&mut bench, &mut uv, 0, 5);
    step(&mut bench, &mut uv, 1, 300);
    assert_eq!(count(&uv, "copies"), 0);
}

#[test]
fn without_a_free_scalar_register_results_go_to_the_banks() {
    let (program, config) = of("mov r1 1\n mov r2 2\n iadd r3 r1 r2\n s2r r1\n mov r2 2");
    let mut uv = prepared(scalar, "registers = 1", &program, &config).0;
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut uv);
    step(&mut bench, &mut uv, 0, 1);
    assert_eq!(step(&mut bench, &mut uv, 1, 2).1, [WriteTo::Bank(2)]);
    assert_eq!(step(&mut bench, &mut uv, 2, 3).0, [From::Storage, From::Bank(2)]);
    assert_eq!(bench.ledger.lost[1], 1, "no scalar register was free for r2");
    step(&mut bench, &mut uv, 3, 300);
    assert_eq!(step(&mut bench, &mut uv, 4, 2).1, [WriteTo::Nowhere], "r1 has freed its own");
}

#[test]
fn the_same_operation_on_the_same_operands_is_found_in_the_buffer() {
    let code = "mov r1 5\n mov r2 6\n imad r3 r1 r2 r1\n imad r4 r2 r1 r1\n iadd r3 r1 r2";
    let (program, config) = of(code);
    let mut uv = prepared(token_and_reuse, "entries = 8", &program, &config).0;
    let results = [5, 6, 35, 35, 11];
    let (mut first, mut second) = (Bench::new(&program, 0), Bench::new(&program, 1));
    for (bench, hits) in [(&mut first, 0), (&mut second, 5)] {
        bench.start(&mut uv);
        for (pc, value) in results.into_iter().enumerate() {
            step(bench, &mut uv, pc as u32, value);
        }
        assert_eq!(count(&uv, "hits"), hits, "an entry belongs to one PC");
    }
    assert_eq!(count(&uv, "lookups"), 10);
    assert_eq!(count(&uv, "lane_operations_removed"), 5 * 31 + 5 * 32);
    // Every operand was kept once; of ten results the buffer had five.
    assert_eq!((second.ledger.opportunities, second.ledger.supplied), (6 + 5, 6 + 5));
    assert_eq!(first.ledger.supplied + first.ledger.lost.iter().sum::<u64>(), first.ledger.opportunities);
}

#[test]
fn an_instruction_with_more_words_than_an_entry_is_not_looked_up() {
    let (program, config) = of("mov r2 5\n wide r4 r2 r2 rz\n imad r1 r2 r2 r2");
    for (set, lookups) in [("", 2), ("result_words = 2", 3), ("source_words = 2", 1)] {
        let mut uv = prepared(reuse, set, &program, &config).0;
        let mut bench = Bench::new(&program, 0);
        bench.start(&mut uv);
        (0..3).for_each(|pc| drop(step(&mut bench, &mut uv, pc, 5)));
        assert_eq!(count(&uv, "lookups"), lookups, "{set}");
    }
}

/// Section 4: eight entries of 10 + 3 x 32 + 32 + 3 + 8 bits, 128 scalar registers of 32 bits.
#[test]
fn the_structures_have_the_paper_s_sizes() {
    let (program, config) = of(KINDS);
    let uv = prepared(super::scalar_and_reuse, "", &program, &config).0;
    let bits: Vec<u64> = uv.storage().iter().map(|storage| storage.bits()).collect();
    assert_eq!(bits, [128 * 32, 1192]);
}

#[test]
fn values_that_are_read_later_are_live_and_those_kept_twice_are_protected() {
    let (program, config) = of("mov r1 5\n s2r r2\n iadd r3 r1 r2\n iadd r3 r1 r2");
    let mut uv = prepared(token, "reliability = true", &program, &config).0;
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut uv);
    let mut times = Vec::new();
    for (pc, value) in [(0, 5), (1, 300), (2, 400), (3, 400)] {
        let full = (u32::MAX, u32::MAX);
        let row = || Row::from_fn(|lane| if value > 255 { value + lane as u32 } else { value });
        let (_, flight) = bench.issue(&mut uv, pc, full, row).expect("agrees");
        let read_at = bench.cycle;
        bench.write_back(&mut uv, &flight).expect("agrees");
        times.push((read_at, bench.cycle));
    }
    let (r1, r2) = (times[3].0 - times[0].1, times[3].0 - times[1].1);
    assert_eq!(count(&uv, "live_register_cycles"), r1 + r2);
    assert_eq!(count(&uv, "protected_register_cycles"), r1);
    assert_eq!(count(&uv, "lane_operations_removed"), 30, "two lanes compute the move");
    assert_eq!(count(&uv, "lane_operations_protected"), 32);
    assert_eq!(count(&uv, "lane_writes"), 2, "two copies");
}

#[test]
fn by_value_every_uniform_vector_is_known() {
    let (program, config) = of("ldg r1 r2\n iadd r3 r1 1");
    for (set, once) in [("", 0), ("ideal = true", 2)] {
        let mut uv = prepared(token, set, &program, &config).0;
        let mut bench = Bench::new(&program, 0);
        bench.start(&mut uv);
        step(&mut bench, &mut uv, 0, 7);
        step(&mut bench, &mut uv, 1, 8);
        assert_eq!(count(&uv, "results_once"), once, "{set}");
    }
}

#[test]
fn switched_off_nothing_is_kept_once() {
    for (name, build) in ALL {
        let (program, config) = of(KINDS);
        let mut uv = prepared(build, "mechanism = false", &program, &config).0;
        let mut bench = Bench::new(&program, 0);
        bench.start(&mut uv);
        for (pc, value) in [5, 6, 300, 300, 7, 0].into_iter().enumerate() {
            let (reads, writes) = step(&mut bench, &mut uv, pc as u32, value);
            assert!(reads.iter().all(|from| matches!(from, From::Bank(_))), "{name}");
            assert!(writes.iter().all(|to| matches!(to, WriteTo::Bank(_))), "{name}");
        }
        assert_eq!(bench.ledger.supplied, 0, "{name}");
    }
}

#[test]
fn parameters_of_a_design_and_of_the_buffer_are_read_together() {
    let (program, config) = of(KINDS);
    let both = |set: &str| prepared(super::scalar_and_reuse, set, &program, &config).0;
    let uv = both("registers = 16\nentries = 2");
    assert_eq!((uv.scalars.shape().entries, uv.buffer_storage.shape().entries), (16, 2));
    let names: Vec<&str> = uv.params().iter().map(|(name, _)| *name).collect();
    let declared: Vec<&str> = (uv.info().params)().iter().map(|param| param.name).collect();
    assert_eq!(names, declared);
    let wrong = super::scalar_and_reuse(&toml::from_str("entrys = 2").expect("parameters"));
    assert!(wrong.is_err_and(|why| why.contains("entries")), "names what it could have been");
}
