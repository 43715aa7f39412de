//! One warp by hand: what is tracked, where values are kept, what is lost.

use super::{of, prepared};
use crate::WriteTo;
use crate::cae::tuples::Tuple;
use crate::cae::{Cae, Lost, index_strides};
use crate::testing::{Bench, From, count};
use warplab_technique::Row;
use warplab_technique::declare::Cause;

/// Issues an instruction in all lanes and writes it back: its result is a base and a stride.
fn step(
    bench: &mut Bench<'_>,
    cae: &mut Cae,
    pc: u32,
    (base, stride): (u32, u32),
) -> (Vec<From>, Vec<WriteTo>) {
    let row = || Tuple { base, stride }.expand();
    let (reads, flight) = bench.issue(cae, pc, (u32::MAX, u32::MAX), row).expect("agrees");
    let writes = bench.write_back(cae, &flight).expect("agrees");
    (reads.iter().map(|read| read.from).collect(), writes)
}

fn lost(bench: &Bench<'_>, cause: Lost) -> u64 {
    bench.ledger.lost[usize::from(cause.index())]
}

#[test]
fn tuples_pass_from_indices_to_addresses_and_stop_at_loads() {
    let code =
        "mov r1 5\n s2r r2\n imad r3 r2 r1 r1\n iadd r4 r3 r2\n ldg r5 r0\n iadd r6 r5 r4\n imad r7 r2 r2 r1";
    let (program, config) = of(code);
    let mut cae = prepared("", &program, &config).0;
    let mut bench = Bench::new(&program, 2);
    bench.start(&mut cae);
    use From::{Bank, Storage};
    let nowhere = || (vec![], vec![WriteTo::Nowhere]);
    assert_eq!(step(&mut bench, &mut cae, 0, (5, 0)), nowhere());
    // The bench's warp is the fourth of a block of one line.
    assert_eq!(step(&mut bench, &mut cae, 1, (96, 1)), nowhere());
    assert_eq!(step(&mut bench, &mut cae, 2, (485, 5)), nowhere());
    assert_eq!(step(&mut bench, &mut cae, 3, (581, 6)), nowhere());
    assert_eq!(step(&mut bench, &mut cae, 4, (7, 3)), (vec![Bank(0), Storage], vec![WriteTo::Bank(5)]));
    let mixed = step(&mut bench, &mut cae, 5, (588, 9));
    assert_eq!(mixed, (vec![Bank(5), Storage], vec![WriteTo::Bank(6)]), "a loaded value is a vector");
    let product = step(&mut bench, &mut cae, 6, (1, 1));
    assert_eq!(
        product,
        (vec![Storage, Storage], vec![WriteTo::Bank(7)]),
        "the square of an index is no tuple"
    );
    assert_eq!(count(&cae, "affine_instructions"), 4);
    assert_eq!((count(&cae, "scalar_instructions"), count(&cae, "affine_operations")), (1, 1 + 3 * 2));
    assert_eq!((count(&cae, "tuple_results"), count(&cae, "expanded_operands")), (4, 4));
    assert_eq!((count(&cae, "lane_operations"), count(&cae, "lane_operations_removed")), (6 * 32, 4 * 32));
    // Six results of units and six operands of vector instructions; the load's result is not a unit's.
    assert_eq!((bench.ledger.opportunities, bench.ledger.supplied), (6 + 6, 4 + 4));
    assert_eq!((lost(&bench, Lost::Vector), lost(&bench, Lost::NotLinear)), (2 + 1, 1));
    assert_eq!(cae.file.used(0), 4, "r1 to r4");
    bench.end(&mut cae);
    assert_eq!(cae.file.used(0), 0);
}

#[test]
fn before_some_lanes_are_written_the_tuple_is_expanded() {
    let (program, config) = of("s2r r1\n iadd r1 r1 1\n stg r2 r1");
    let (mut cae, plan) = prepared("", &program, &config);
    let mut bench = Bench::new(&program, 0).with_ops_of(&plan);
    bench.start(&mut cae);
    step(&mut bench, &mut cae, 0, (96, 1));
    let (reads, flight) = bench.issue(&mut cae, 1, (0xFF, 0xFF), || Row::splat(6)).expect("agrees");
    assert_eq!(reads[0].from, From::Bank(1), "the lanes have put it into the bank");
    assert_eq!(bench.write_back(&mut cae, &flight), Ok(vec![WriteTo::Bank(1)]));
    assert_eq!((count(&cae, "expansions"), cae.file.used(0)), (1, 0));
    assert_eq!(lost(&bench, Lost::Diverged), 1);
    assert_eq!(step(&mut bench, &mut cae, 2, (0, 0)).0.len(), 3, "eight lanes of 6, the others as they were");
}

#[test]
fn a_guard_that_is_true_in_every_lane_is_none_and_one_that_differs_diverges() {
    let code = "mov r1 5\n isetp p0 r1 9\n @p0 iadd r2 r1 1\n s2r r3\n isetp p1 r3 9\n @p1 iadd r4 r1 1";
    let (program, config) = of(code);
    let mut cae = prepared("", &program, &config).0;
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut cae);
    step(&mut bench, &mut cae, 0, (5, 0));
    bench.preds[0] = u32::MAX;
    step(&mut bench, &mut cae, 1, (0, 0));
    assert_eq!(step(&mut bench, &mut cae, 2, (6, 0)).1, [WriteTo::Nowhere]);
    step(&mut bench, &mut cae, 3, (96, 1));
    bench.preds[1] = 0xFFFF;
    step(&mut bench, &mut cae, 4, (0, 0));
    let (_, flight) = bench.issue(&mut cae, 5, (u32::MAX, 0xFFFF), || Row::splat(6)).expect("agrees");
    assert_eq!(bench.write_back(&mut cae, &flight), Ok(vec![WriteTo::Bank(4)]));
    assert_eq!(count(&cae, "affine_instructions"), 4, "the comparison of a tuple is the lanes'");
    assert_eq!(lost(&bench, Lost::Diverged), 1);
}

#[test]
fn switched_off_nothing_is_tracked_and_without_limits_values_decide() {
    let code = "s2r r1\n iadd r2 r1 1\n ldg r3 r0\n iadd r4 r3 1\n isetp p0 r4 c";
    let (program, config) = of(code);
    let of = |set: &str| {
        let mut cae = prepared(set, &program, &config).0;
        let mut bench = Bench::new(&program, 0);
        bench.start(&mut cae);
        for (pc, value) in [(0, (96, 1)), (1, (97, 1)), (2, (8, 2)), (3, (9, 2)), (4, (0, 0))] {
            step(&mut bench, &mut cae, pc, value);
        }
        let ledger = &bench.ledger;
        assert_eq!(ledger.supplied + ledger.lost.iter().sum::<u64>(), ledger.opportunities, "{set}");
        (count(&cae, "affine_instructions"), count(&cae, "tuple_results"), ledger.supplied)
    };
    assert_eq!(of("mechanism = false"), (0, 0, 0));
    assert_eq!(of(""), (2, 2, 2 + 1), "the load reads r1");
    // The loaded words have a stride; the comparison's operand and the load's address come from tuples too.
    assert_eq!(of("ideal = true"), (3, 3, 3 + 2 + 1));
}

#[test]
fn thread_indices_have_a_stride_where_a_warp_lies_in_one_line() {
    let all = u32::MAX;
    assert_eq!(index_strides([64, 2, 1], 3, all), [Some(1), Some(0), Some(0)]);
    assert_eq!(index_strides([16, 16, 1], 0, all), [None, None, Some(0)], "two lines");
    assert_eq!(index_strides([1, 64, 1], 1, all), [Some(0), Some(1), Some(0)]);
    assert_eq!(index_strides([48, 1, 1], 1, 0xFFFF), [Some(1), Some(0), Some(0)], "half a warp");
    assert_eq!(index_strides([48, 2, 1], 1, all), [None, None, Some(0)]);
}

#[test]
fn the_units_of_an_sm_take_two_instructions_each_in_a_cycle() {
    let (program, config) = of("mov r1 5\n mov r2 5\n mov r3 5");
    let mut cae = prepared("units = 1", &program, &config).0;
    let taken = |cae: &Cae, now| cae.has_unit(now);
    cae.taken = (7, 1);
    assert!(taken(&cae, 7));
    cae.taken = (7, 2);
    assert!(!taken(&cae, 7) && taken(&cae, 8));
}
