//! Techniques that supply a value without having its row compared: the machine stops, with the technique's name.

use super::toy::*;
use crate::testing::{Builder, by_hand};
use crate::*;
use std::sync::{Arc, Mutex};
use trace_format::isa::{Pred, PredSrc};
use warplab_model::replay::ReplayError;

/// A technique that supplies every source from its storage with the token that `token` gives; `token` gets the number of
/// the read.
fn supplying(
    token: impl Fn(&mut Cx<'_>, &WarpView<'_>, &InstView<'_>, u8, usize) -> Result<Supplied, Box<ValueMismatch>>
    + Send
    + Sync
    + 'static,
) -> Toy {
    let reads = Mutex::new(0);
    Toy {
        collect: Some(Arc::new(
            move |cx: &mut Cx<'_>,
                  warp: &WarpView<'_>,
                  inst: &InstView<'_>,
                  operands: &mut [OperandRead],
                  storage: &mut Storage| {
                for operand in operands {
                    cx.opportunity(1);
                    let mut reads = reads.lock().expect("no test thread panics");
                    let token = token(cx, warp, inst, operand.reg, *reads)?;
                    *reads += 1;
                    operand.from = ReadFrom::Storage(storage.read(cx.cycle, 0), token);
                }
                Ok(())
            },
        )),
        ..toy(|hooks| hooks.collect = true)
    }
}

/// Supplies a register with a copy of its recorded row.
fn copied(
    cx: &mut Cx<'_>,
    warp: &WarpView<'_>,
    inst: &InstView<'_>,
    reg: u8,
) -> Result<Supplied, Box<ValueMismatch>> {
    let row = warp.rows[usize::from(reg)];
    cx.supply(warp, inst.pc, reg, inst.active, &row)
}

/// The message with which a technique stops a chain of additions.
fn stopped(toy: &Toy) -> String {
    let why = run_on(&chain(4), toy, &[]).expect_err("it stops");
    assert!(why.to_string().starts_with("technique toy: kernel "), "{why}");
    why.to_string()
}

#[test]
fn every_second_read_without_a_comparison_stops_the_run() {
    let kept = Mutex::new(None);
    let toy = supplying(move |cx, warp, inst, reg, read| {
        let mut kept = kept.lock().expect("no test thread panics");
        match *kept {
            Some(token) if read % 2 == 1 => Ok(token),
            _ => Ok(*kept.insert(copied(cx, warp, inst, reg)?)),
        }
    });
    let why = stopped(&toy);
    assert!(why.contains("supplied register R2 without having its row compared"), "{why}");
    assert!(why.contains("PC 0x0010, block 0, warp 0"), "{why}");
}

#[test]
fn a_proof_of_an_earlier_instruction_is_none() {
    let kept = Mutex::new([None; 4]);
    let toy = supplying(move |cx, warp, inst, reg, _| {
        let kept = &mut kept.lock().expect("no test thread panics")[usize::from(reg)];
        match *kept {
            Some(token) => Ok(token),
            None => Ok(*kept.insert(copied(cx, warp, inst, reg)?)),
        }
    });
    // The second addition reads the same registers.
    assert!(stopped(&toy).contains("PC 0x0018"), "the second addition");
}

#[test]
fn taken_values_are_counted_by_the_machine() {
    let each = supplying(|cx, warp, inst, reg, _| copied(cx, warp, inst, reg));
    let ledger = &run(&chain(8), &each).techniques[0].ledger;
    assert_eq!((ledger.taken, ledger.supplied, ledger.checked, ledger.kept), (24, 24, 24, 0));
}

#[test]
fn a_comparison_in_no_lane_is_none() {
    let toy = supplying(|cx, warp, inst, reg, _| cx.supply(warp, inst.pc, reg, 0, &Row::splat(99)));
    assert!(stopped(&toy).contains("without having its row compared"));
}

#[test]
fn the_recorded_row_is_no_value_of_a_technique() {
    let toy = supplying(|cx, warp, inst, reg, _| {
        cx.supply(warp, inst.pc, reg, inst.active, &warp.rows[usize::from(reg)])
    });
    assert!(stopped(&toy).contains("supplied the recorded row itself"));
}

#[test]
fn a_skipped_comparison_needs_its_predicate() {
    let mut b = Builder::default();
    b.mov(4, 0);
    // A comparison into p0, and a branch that is not taken.
    b.branch_below(4, 0, 4);
    let mut guarded = trace_format::isa::Inst::new(trace_format::isa::Op::Mov {})
        .dst(trace_format::isa::Reg(7))
        .srcs([trace_format::isa::Src::imm(1)]);
    guarded = guarded.guarded(PredSrc::of(Pred(0)));
    b.push(guarded);
    let hand = by_hand(b.exit(), 1, 32);
    let skipping = Toy {
        fetch: Some(Arc::new(|_, pc| if pc == 1 { FetchVerdict::Skip } else { FetchVerdict::Fetch })),
        ..toy(|hooks| hooks.fetch = true)
    };
    let outcome = run_on(&hand, &skipping, &[]);
    assert!(
        matches!(outcome, Err(ReplayError::Unchecked { register: 0, of: Holder::Predicate, .. })),
        "{outcome:?}"
    );
}
