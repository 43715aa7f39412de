//! Seeded faults: each breaks one part of the mechanism, and the comparison of values stops the run.

use super::{of, prepared};
use crate::Uv;
use crate::contents::Held;
use crate::reuse::{Key, Words};
use crate::testing::Bench;
use crate::variants::token_and_reuse;
use warplab_technique::Holder;
use warplab_technique::Row;
use warplab_technique::ValueMismatch;
use warplab_technique::context::Found;

/// Two warps execute this; r2 is a thread index.
const CODE: &str = "
    mov r1 5
    s2r r2
    iadd r3 r1 7
    iadd r4 r1 8
    isetp p0 r1 r3
    @p0 iadd r5 r3 r4
    @p1 iadd r3 r3 1
    iadd r7 r3 r2
    imad r8 r1 r4 r1
    iadd r1 r4 r8
    iadd r9 r1 r5
    iadd r2 r1 r2
    @p1 iadd r10 r1 r4";

/// The state before an instruction of a warp.
struct Before<'a> {
    uv: &'a mut Uv,
    warp: usize,
    pc: u32,
}

/// Values that the instruction produces, and the lanes in which it does.
fn outcome(pc: u32, rows: &[Row]) -> (Row, u32) {
    let all = u32::MAX;
    let sum = |a: usize, b: usize| Row::from_fn(|lane| rows[a].0[lane].wrapping_add(rows[b].0[lane]));
    match pc {
        0 => (Row::splat(5), all),
        1 => (Row::from_fn(|lane| lane as u32), all),
        2 => (Row::splat(rows[1].0[0] + 7), all),
        3 => (Row::splat(rows[1].0[0] + 8), all),
        5 => (sum(3, 4), all),
        6 => (Row::from_fn(|lane| rows[3].0[lane] + 1), 0xFFFF),
        7 => (sum(3, 2), all),
        8 => (Row::from_fn(|lane| rows[1].0[lane] * rows[4].0[lane] + rows[1].0[lane]), all),
        9 => (sum(4, 8), all),
        10 => (sum(1, 5), all),
        11 => (sum(1, 2), all),
        12 => (sum(1, 4), 0xFFFF),
        _ => (Row::ZERO, all),
    }
}

/// Runs both warps with a fault, which is asked before every instruction.
fn run(fault: &dyn Fn(Before<'_>)) -> Result<(), Box<ValueMismatch>> {
    let (program, config) = of(CODE);
    let (mut uv, plan) = prepared(token_and_reuse, "entries = 16", &program, &config);
    for warp in 0..2 {
        let mut bench = Bench::new(&program, warp).with_ops_of(&plan);
        bench.start(&mut uv);
        for pc in 0..13 {
            fault(Before { uv: &mut uv, warp, pc });
            if pc == 4 {
                bench.preds[0] = u32::MAX;
            }
            let (row, exec) = outcome(pc, &bench.rows);
            let (_, flight) = bench.issue(&mut uv, pc, (u32::MAX, exec), || row)?;
            bench.write_back(&mut uv, &flight)?;
        }
        bench.end(&mut uv);
    }
    Ok(())
}

/// Breaks something before an instruction of the first warp, or of the second one.
fn at(warp: usize, pc: u32, break_it: impl Fn(&mut Uv)) -> Result<(), Box<ValueMismatch>> {
    run(&|before: Before<'_>| {
        if (before.warp, before.pc) == (warp, pc) {
            break_it(before.uv);
        }
    })
}

fn words(of: &[u32]) -> Words {
    let mut words = Words::default();
    of.iter().for_each(|word| words.push(*word));
    words
}

#[test]
fn without_a_fault_every_value_agrees() {
    assert_eq!(run(&|_| {}), Ok(()));
}

#[test]
fn a_thread_index_marked_as_uniform_is_caught() {
    let why = at(0, 0, |uv| uv.operations[1].uniform = true).expect_err("r2 differs");
    assert_eq!((why.pc, why.register, why.lane, why.expected), (7, 2, 1, 1));
    assert_eq!(why.actual, Found::Value(0));
}

#[test]
fn a_result_that_another_instruction_left_is_caught() {
    let why = at(0, 5, |uv| uv.warps[0].write_once(1, 4, 12)).expect_err("r4 is 13");
    assert_eq!((why.technique, why.register, why.expected), ("uv-token+uv-reuse", 4, 13));
}

#[test]
fn a_token_bit_that_outlives_a_vector_is_caught() {
    at(0, 2, |uv| uv.warps[0].write_once(1, 2, 0)).expect_err("r2 is the thread index");
}

#[test]
fn a_token_bit_that_is_lost_is_caught() {
    at(0, 7, |uv| {
        let row = Row::splat(0);
        uv.warps[0].write_lanes(1, 3, &row, 0, Held::Lanes);
        uv.warps[0].write_lanes(1, 3, &row, u32::MAX, Held::Lanes);
    })
    .expect_err("r3 was never written to all lanes");
}

#[test]
fn a_copy_that_is_not_made_is_caught() {
    let why = at(0, 6, |uv| uv.copies.fill(None)).expect_err("half of r3 is lost");
    assert_eq!((why.pc, why.register, why.actual), (6, 3, Found::Nothing));
}

#[test]
fn a_copy_of_the_wrong_value_is_caught() {
    at(0, 6, |uv| uv.warps[0].write_once(1, 3, 99)).expect_err("r3 is 12");
}

#[test]
fn a_copy_to_half_of_the_lanes_is_caught() {
    at(0, 7, |uv| uv.warps[0].write_lanes(1, 3, &Row::splat(0), 0xFF00_0000, Held::Lanes))
        .expect_err("lanes 24 to 31 were not copied");
}

#[test]
fn a_predicate_s_wrong_value_is_caught() {
    let why = at(0, 5, |uv| uv.warps[0].write_pred(0, Some(false))).expect_err("p0 is true");
    assert!(why.of == Holder::Predicate && why.register == 0, "{why}");
    assert!(why.to_string().contains("predicate P0"), "{why}");
}

#[test]
fn a_predicate_that_differs_between_lanes_is_caught() {
    at(0, 12, |uv| uv.warps[0].write_pred(1, Some(true))).expect_err("p1 is true in half of the lanes");
}

#[test]
fn a_wrong_result_in_the_buffer_is_caught() {
    let why = at(1, 2, |uv| {
        let identity = uv.operations[2].identity;
        uv.buffer.enter(2, Key { identity, operands: words(&[5]) }, words(&[11]));
    })
    .expect_err("5 + 7 is 12");
    assert_eq!((why.pc, why.register, why.expected, why.actual), (2, 3, 12, Found::Value(11)));
}

#[test]
fn an_entry_for_other_operands_is_caught() {
    // As if operands were not compared: the entry of r1 = 4 is taken for r1 = 5.
    at(1, 3, |uv| {
        let identity = uv.operations[3].identity;
        uv.buffer.enter(3, Key { identity, operands: words(&[5]) }, words(&[4 + 8]));
    })
    .expect_err("the result is that of 4 + 8");
}

#[test]
fn an_operation_taken_for_another_is_caught() {
    at(0, 0, |uv| {
        // Both add a literal to r1, and share an entry if their partial PCs are equal.
        uv.operations[3].identity = uv.operations[2].identity;
        uv.buffer = crate::reuse::ReuseBuffer::endless();
    })
    .expect_err("5 + 8 is not 5 + 7");
}

#[test]
fn a_warp_that_keeps_the_token_bits_of_an_earlier_one_is_caught() {
    let (program, config) = of("s2r r1\n iadd r2 r1 1");
    let mut uv = prepared(token_and_reuse, "", &program, &config).0;
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut uv);
    let full = (u32::MAX, u32::MAX);
    let index = || Row::from_fn(|lane| lane as u32);
    let (_, flight) = bench.issue(&mut uv, 0, full, index).expect("agrees");
    bench.write_back(&mut uv, &flight).expect("agrees");
    uv.warps[0].write_once(1, 1, 0);
    bench.issue(&mut uv, 1, full, index).expect_err("r1 is the thread index");
}

#[test]
fn a_value_that_changes_behind_a_constant_operation_is_caught() {
    // As if a special register were no operand: the buffer knows another value of it.
    let (program, config) = of("mov r1 5");
    let mut uv = prepared(token_and_reuse, "", &program, &config).0;
    let mut bench = Bench::new(&program, 0);
    bench.start(&mut uv);
    bench.step(&mut uv, 0, 5);
    let why = bench.issue(&mut uv, 0, (u32::MAX, u32::MAX), || Row::splat(6)).expect_err("it was 5");
    assert_eq!((why.expected, why.actual), (6, Found::Value(5)));
}
