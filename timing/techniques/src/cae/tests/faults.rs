//! Seeded faults: each breaks one part of the mechanism, and the comparison of values stops the run.

use super::{of, prepared};
use crate::ValueMismatch;
use crate::cae::Cae;
use crate::cae::operation::Rule;
use crate::cae::tuples::Tuple;
use crate::testing::Bench;
use warplab_technique::Holder;
use warplab_technique::Row;
use warplab_technique::context::Found;

/// The bench's warp holds the threads from 96 on.
const CODE: &str = "
    mov r1 5
    s2r r2
    iadd r3 r2 r1
    imad r4 r3 r1 r2
    isetp p0 r1 9
    @p0 iadd r5 r3 r4
    @p1 iadd r3 r3 1
    iadd r7 r3 r2
    ldg r8 r0
    iadd r9 r8 r4
    iadd r4 r4 1
    iadd r2 r1 r1
    iadd r6 r10 r2
    iadd r7 r5 r4";

/// Values that the instruction produces, and the lanes in which it does.
fn outcome(pc: u32, rows: &[Row]) -> (Row, u32) {
    let sum = |a: usize, b: usize| Row::from_fn(|lane| rows[a].0[lane].wrapping_add(rows[b].0[lane]));
    let plus = |a: usize, n: u32| Row::from_fn(|lane| rows[a].0[lane].wrapping_add(n));
    let row = match pc {
        0 => Row::splat(5),
        1 => Row::from_fn(|lane| 96 + lane as u32),
        2 => sum(2, 1),
        3 => Row::from_fn(|lane| rows[3].0[lane] * rows[1].0[lane] + rows[2].0[lane]),
        5 => sum(3, 4),
        6 => plus(3, 1),
        7 => sum(3, 2),
        8 => Row::from_fn(|lane| (lane * lane) as u32),
        9 => sum(8, 4),
        10 => plus(4, 1),
        11 => sum(1, 1),
        12 => sum(10, 2),
        13 => sum(5, 4),
        _ => Row::ZERO,
    };
    (row, if pc == 6 { 0xFFFF } else { u32::MAX })
}

/// Runs the warp with a fault before an instruction, and one between its step and its writeback.
fn run(
    pc_of_fault: u32,
    before: impl Fn(&mut Cae),
    in_flight: impl Fn(&mut Cae),
) -> Result<(), Box<ValueMismatch>> {
    let (program, config) = of(CODE);
    let (mut cae, plan) = prepared("", &program, &config);
    let mut bench = Bench::new(&program, 0).with_ops_of(&plan);
    bench.start(&mut cae);
    for pc in 0..14 {
        if pc == pc_of_fault {
            before(&mut cae);
        }
        if pc == 4 {
            bench.preds[0] = u32::MAX;
        }
        let (row, exec) = outcome(pc, &bench.rows);
        let (_, flight) = bench.issue(&mut cae, pc, (u32::MAX, exec), || row)?;
        if pc == pc_of_fault {
            in_flight(&mut cae);
        }
        bench.write_back(&mut cae, &flight)?;
    }
    bench.end(&mut cae);
    Ok(())
}

/// Breaks something before an instruction.
fn at(pc: u32, break_it: impl Fn(&mut Cae)) -> Result<(), Box<ValueMismatch>> {
    run(pc, break_it, |_| {})
}

/// Gives a register a tuple.
fn tuple(reg: u8, base: u32, stride: u32) -> impl Fn(&mut Cae) {
    move |cae| cae.warps[0].contents.write_tuple(reg, Tuple { base, stride })
}

#[test]
fn without_a_fault_every_value_agrees() {
    assert_eq!(at(u32::MAX, |_| {}), Ok(()));
}

#[test]
fn a_wrong_base_is_caught_when_a_unit_reads_it() {
    let why = at(2, tuple(2, 97, 1)).expect_err("r2 begins with 96");
    assert_eq!((why.technique, why.pc, why.register, why.lane), ("cae", 2, 2, 0));
    assert_eq!((why.expected, why.actual), (96, Found::Value(97)));
}

#[test]
fn a_wrong_stride_is_caught_in_the_second_lane() {
    let why = at(2, tuple(2, 96, 2)).expect_err("the stride of r2 is 1");
    assert_eq!((why.pc, why.register, why.lane, why.expected), (2, 2, 1, 97));
}

#[test]
fn lanes_in_reverse_are_caught() {
    at(2, tuple(2, 96 + 31, u32::MAX)).expect_err("r2 grows from lane to lane");
}

#[test]
fn a_tuple_for_a_loaded_vector_is_caught() {
    let why = at(9, tuple(8, 0, 1)).expect_err("r8 holds squares");
    assert_eq!((why.pc, why.register, why.lane), (9, 8, 2), "0 and 1 are their own squares");
}

#[test]
fn a_tuple_that_outlives_the_next_write_is_caught_when_a_vector_instruction_reads_it() {
    let why = at(9, tuple(4, 601, 5)).expect_err("r4 is another");
    assert_eq!((why.pc, why.register), (9, 4));
}

#[test]
fn a_tuple_that_is_lost_is_caught_at_the_bank() {
    let why =
        at(5, |cae| cae.warps[0].contents.write_lanes(3, &Row::ZERO, 0)).expect_err("no lane was written");
    assert_eq!((why.pc, why.register, why.actual), (5, 3, Found::Value(0)));
}

#[test]
fn an_expansion_that_is_not_made_is_caught() {
    let why = at(6, |cae| cae.expansions.fill(None)).expect_err("half of r3 is lost");
    assert_eq!((why.pc, why.register), (6, 3));
}

#[test]
fn an_expansion_of_the_wrong_tuple_is_caught() {
    at(6, tuple(3, 0, 1)).expect_err("r3 is 101 and so on");
}

#[test]
fn an_expansion_to_half_of_the_lanes_is_caught() {
    let why = at(7, |cae| cae.warps[0].contents.write_lanes(3, &Row::ZERO, 0xFFFF_0000))
        .expect_err("lanes 16 to 31");
    assert_eq!((why.pc, why.register, why.lane), (7, 3, 16));
}

#[test]
fn a_predicate_s_wrong_value_is_caught() {
    let why = at(5, |cae| cae.warps[0].contents.write_pred(0, Some(false))).expect_err("p0 is true");
    assert!(why.of == Holder::Predicate && why.register == 0, "{why}");
}

#[test]
fn a_product_taken_for_a_sum_is_caught() {
    let why =
        at(3, |cae| cae.operations[3].rule = Rule::Sum { extended: false }).expect_err("the stride is 6");
    assert_eq!((why.pc, why.register, why.lane), (3, 4, 1));
}

#[test]
fn a_sum_taken_for_its_first_operand_is_caught() {
    at(5, |cae| cae.operations[5].rule = Rule::Copy).expect_err("the strides of r3 and r4 add up");
}

#[test]
fn a_sum_taken_for_a_shift_is_caught() {
    at(2, |cae| cae.operations[2].rule = Rule::ShiftedSum(2)).expect_err("r2 is not shifted");
}

#[test]
fn a_result_that_lands_in_another_instruction_s_tuple_is_caught() {
    let swap = |cae: &mut Cae| {
        for flight in &mut cae.flights {
            flight.affine = flight.affine.map(|_| [Tuple { base: 5, stride: 0 }; 2]);
        }
    };
    let why = run(2, |_| {}, swap).expect_err("r3 is not 5");
    assert_eq!((why.pc, why.register), (3, 3));
}

#[test]
fn a_warp_begins_without_the_tuples_of_an_earlier_one() {
    let (program, config) = of(CODE);
    let mut cae = prepared("", &program, &config).0;
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut cae);
    tuple(10, 7, 0)(&mut cae);
    bench.end(&mut cae);
    bench.start(&mut cae);
    // The program writes no r10, so that no comparison would find it.
    assert_eq!((cae.warps[0].contents.tuple(10), cae.warps[0].contents.tuples()), (None, 0));
}

#[test]
fn indices_of_a_block_of_another_width_are_caught() {
    let (program, config) = of("s2r r1\n iadd r2 r1 1");
    let mut cae = prepared("", &program, &config).0;
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut cae);
    // The lines of the block have 16 threads, and the unit believes in 32.
    let index = || Row::from_fn(|lane| lane as u32 % 16);
    let why = bench.issue(&mut cae, 0, (u32::MAX, u32::MAX), index).expect_err("two lines");
    assert_eq!((why.register, why.lane, why.expected, why.actual), (1, 16, 0, Found::Value(16)));
}

#[test]
fn a_constant_of_another_launch_is_caught() {
    let (program, config) = of("s2r r1\n imad r2 r1 c");
    let mut cae = prepared("", &program, &config).0;
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut cae);
    let full = (u32::MAX, u32::MAX);
    let (_, flight) =
        bench.issue(&mut cae, 0, full, || Row::from_fn(|lane| 96 + lane as u32)).expect("agrees");
    bench.write_back(&mut cae, &flight).expect("agrees");
    // The launch that was prepared has no parameters, which read as 0; this one multiplies by 4.
    let why =
        bench.issue(&mut cae, 1, full, || Row::from_fn(|lane| 384 + 4 * lane as u32)).expect_err("times 4");
    assert_eq!((why.pc, why.register, why.lane), (1, 2, 1));
}
