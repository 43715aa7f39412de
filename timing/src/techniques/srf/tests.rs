//! Tests of the scalar register file: detection, copies under divergence, a full file, wrong marks, cycles.

use super::*;
use crate::techniques::testing::{Bench, From, config, count, prepared, program};
use crate::testing::{Builder, Hand, r};
use trace_format::isa::Src;
use warplab_technique::context::Found;

/// Issues an instruction in all lanes and writes it back; values above 255 differ from lane to lane.
fn step(bench: &mut Bench<'_>, srf: &mut Srf, pc: u32, value: u32) -> (Vec<From>, Vec<WriteTo>) {
    let row = || Row::from_fn(|lane| if value > 255 { value + lane as u32 } else { value });
    let (reads, flight) = bench.issue(srf, pc, (u32::MAX, u32::MAX), row).expect("agrees");
    let writes = bench.write_back(srf, &flight).expect("agrees");
    (reads.iter().map(|read| read.from).collect(), writes)
}

#[test]
fn uniform_instructions_are_found_by_their_operands() {
    let config = config(&[]);
    let code = "mov r1 5\n iadd r2 r1 c\n s2r r3\n iadd r4 r2 r3\n imad r5 r1 r2 r1\n isetp p0 r1 r2";
    let program = program(code, &config);
    let mut srf = prepared(Srf::new, "srf", &program, &config).0;
    let mut bench = Bench::new(&program, 2);
    bench.start(&mut srf);
    use From::{Bank, Storage};
    assert_eq!(step(&mut bench, &mut srf, 0, 5), (vec![], vec![WriteTo::Nowhere]));
    assert_eq!(step(&mut bench, &mut srf, 1, 6), (vec![Storage], vec![WriteTo::Nowhere]));
    assert_eq!(step(&mut bench, &mut srf, 2, 300), (vec![], vec![WriteTo::Bank(3)]), "thread indices");
    assert_eq!(step(&mut bench, &mut srf, 3, 300), (vec![Storage, Bank(3)], vec![WriteTo::Bank(4)]));
    assert_eq!(step(&mut bench, &mut srf, 4, 7), (vec![Storage; 2], vec![WriteTo::Nowhere]));
    assert_eq!(step(&mut bench, &mut srf, 5, 0), (vec![Storage; 2], vec![]));
    assert_eq!((count(&srf, "uniform_instructions"), count(&srf, "scalar_results")), (4, 3));
    let ledger = &bench.ledger;
    assert_eq!((ledger.opportunities, ledger.supplied, ledger.lost.as_slice()), (7, 6, &[1, 0, 0][..]));
    assert_eq!(srf.storage.used(0), 3);
    bench.end(&mut srf);
    assert_eq!(srf.storage.used(0), 0, "an ended warp frees its scalar registers");
}

#[test]
fn a_write_to_some_lanes_copies_the_scalar_to_the_others() {
    let config = config(&[]);
    let program = program("mov r1 5\n iadd r1 r1 1\n stg r2 r1", &config);
    let mut srf = prepared(Srf::new, "srf", &program, &config).0;
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut srf);
    step(&mut bench, &mut srf, 0, 5);
    let (_, flight) = bench.issue(&mut srf, 1, (0xFF, 0xFF), || Row::splat(6)).expect("agrees");
    assert_eq!(bench.write_back(&mut srf, &flight), Ok(vec![WriteTo::Bank(1)]));
    assert_eq!(bench.bank_accesses(), [(1, true)]);
    assert_eq!((count(&srf, "copies"), srf.storage.used(0)), (1, 0));
    let (reads, _) = step(&mut bench, &mut srf, 2, 0);
    assert_eq!(reads.len(), 3, "the bank has 6 in eight lanes and 5 in the others");
}

#[test]
fn without_a_free_scalar_register_results_go_to_the_banks() {
    let config = config(&["technique.srf.entries=1"]);
    let program = program("mov r1 1\n mov r2 2\n iadd r3 r1 r2\n s2r r1\n mov r2 2", &config);
    let mut srf = prepared(Srf::new, "srf", &program, &config).0;
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut srf);
    step(&mut bench, &mut srf, 0, 1);
    assert_eq!(step(&mut bench, &mut srf, 1, 2).1, [WriteTo::Bank(2)]);
    assert_eq!(step(&mut bench, &mut srf, 2, 3).0, [From::Storage, From::Bank(2)]);
    assert_eq!(bench.ledger.lost, [0, 1, 0], "no scalar register was free for r2");
    step(&mut bench, &mut srf, 3, 300);
    assert_eq!(step(&mut bench, &mut srf, 4, 2).1, [WriteTo::Nowhere], "r1 has freed its own");
}

#[test]
fn a_load_of_one_address_is_uniform_unless_its_lanes_differ() {
    let config = config(&[]);
    let program = program("mov r4 0\n mov r5 0\n ldg r1 r4\n ldg r1 r4\n ldg r1 r2", &config);
    let mut srf = prepared(Srf::new, "srf", &program, &config).0;
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut srf);
    step(&mut bench, &mut srf, 0, 0);
    step(&mut bench, &mut srf, 1, 0);
    assert_eq!(step(&mut bench, &mut srf, 2, 9).1, [WriteTo::Nowhere]);
    assert_eq!(step(&mut bench, &mut srf, 3, 300).1, [WriteTo::Bank(1)], "another thread has stored");
    assert_eq!(step(&mut bench, &mut srf, 4, 9).1, [WriteTo::Bank(1)], "the address is a vector");
}

#[test]
fn a_wrong_mark_stops_the_run_and_names_the_lane() {
    let config = config(&[]);
    let program = program("s2r r1\n iadd r2 r1 1", &config);
    let mut srf = prepared(Srf::new, "srf", &program, &config).0;
    srf.candidates[0] = true;
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut srf);
    step(&mut bench, &mut srf, 0, 300);
    let why = bench.issue(&mut srf, 1, (u32::MAX, u32::MAX), || Row::ZERO).expect_err("r1 differs");
    assert_eq!((why.technique, why.pc, why.register, why.lane), ("srf", 1, 1, 1));
    assert_eq!((why.expected, why.actual), (301, Found::Value(300)));
}

/// Eight warps of independent additions of constants.
fn additions() -> Hand {
    let mut b = Builder::default();
    b.mov(1, 3).mov(2, 4);
    for i in 0..64 {
        b.iadd(3 + i % 8, r(1), r(2), Src::imm(u32::from(i)));
    }
    Hand::new(b.exit(), 1, 256)
}

#[test]
fn a_unit_of_eight_lanes_accepts_uniform_instructions_every_cycle() {
    let of = |set: &[&str], techniques: &[&str]| additions().run("gtx285", set, techniques);
    let plain = of(&[], &[]);
    let uniform = of(&[], &["srf"]);
    assert!(uniform.counters.cycles < plain.counters.cycles);
    let slow = of(&["technique.srf.fast_issue=false"], &["srf"]);
    assert!(uniform.counters.cycles < slow.counters.cycles);
    assert_eq!((uniform.counters.rf_reads, uniform.counters.rf_writes), (0, 0), "every value is a scalar");
    // Two moves and 64 additions of each of eight warps, which read both.
    assert_eq!(uniform.of_techniques("srf_reads"), 8 * 64 * 2);
    assert_eq!(uniform.of_techniques("srf_writes"), 8 * 66);
    let off = of(&["technique.srf.mechanism=false"], &["srf"]);
    assert_eq!(
        (off.counters.cycles, off.counters.rf_reads),
        (plain.counters.cycles, plain.counters.rf_reads)
    );
}
