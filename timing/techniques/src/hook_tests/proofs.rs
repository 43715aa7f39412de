//! Techniques that supply a value without having its row compared: the machine stops, with the technique's name.

use super::toy::*;
use crate::testing::{Builder, Hand, by_hand, r, small_machine};
use crate::*;
use std::sync::{Arc, Mutex};
use trace_format::isa::space::Space;
use trace_format::isa::{Pred, PredSrc, SpecialReg, Src};
use warplab_model::replay::ReplayError;
use warplab_technique::program::Program;

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
    cx.supply(warp, inst, reg, &row)
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

/// Supplies a copy of each register in which the lanes of `wrong` are inverted.
fn inverting(wrong: impl Fn(u8, u32) -> u32 + Send + Sync + 'static) -> Toy {
    supplying(move |cx, warp, inst, reg, _| {
        let (row, wrong) = (warp.rows[usize::from(reg)], wrong(reg, inst.pc));
        let row = Row::from_fn(|lane| if wrong >> lane & 1 != 0 { !row.0[lane] } else { row.0[lane] });
        cx.supply(warp, inst, reg, &row)
    })
}

/// `r5 = lane`, `p0` in lanes below 8, there `r6 = 1`, everywhere `r7 = r6 + r5`, and there `r8 = r5 + r7`.
fn guarded() -> Hand {
    let mut b = Builder::default();
    b.special(5, SpecialReg::LaneId).below(5, 8);
    b.mov(6, 1).guarded();
    b.iadd(7, r(6), r(5), Src::RZ);
    b.iadd(8, r(5), r(7), Src::RZ).guarded();
    by_hand(b.exit(), 1, 32)
}

/// Lanes that the program leaves unwritten in `r6`, and in which the last addition takes no effect.
const OTHERS: u32 = !0xFF;

#[test]
fn a_technique_answers_for_every_lane_that_reads_a_written_value() {
    let run = |wrong: fn(u8, u32) -> u32| run_on(&guarded(), &inverting(wrong), &[]);
    for lane in 0..8 {
        let toy = inverting(move |reg, _| if reg == 6 { 1 << lane } else { 0 });
        let why = run_on(&guarded(), &toy, &[]).expect_err("the lane was written").to_string();
        assert!(why.contains(&format!("register R6, lane {lane}: supplied 0xfffffffe")), "{why}");
    }
    let why = run(|reg, pc| if (reg, pc) == (5, 3) { 1 << 31 } else { 0 }).expect_err("every lane reads it");
    assert!(why.to_string().contains("PC 0x0018, block 0, warp 0, register R5, lane 31"), "{why}");
    let why = run(|reg, pc| if (reg, pc) == (5, 4) { 1 << 7 } else { 0 }).expect_err("lanes below 8 read it");
    assert!(why.to_string().contains("PC 0x0020, block 0, warp 0, register R5, lane 7"), "{why}");
}

#[test]
fn a_technique_does_not_answer_for_lanes_that_are_unwritten_or_take_no_effect() {
    let run = |wrong: fn(u8, u32) -> u32| run_on(&guarded(), &inverting(wrong), &[]).map(drop);
    run(|reg, _| if reg == 6 { OTHERS } else { 0 }).expect("the program wrote lanes below 8 alone");
    run(|_, pc| if pc == 4 { OTHERS } else { 0 }).expect("the guard is false in the others");
}

#[test]
fn results_hold_nothing_in_lanes_without_effect() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let toy = Toy {
        write_back: Some(Arc::new({
            let seen = Arc::clone(&seen);
            move |_: &mut Cx<'_>, inst: &InstView<'_>, writes: &mut [RegisterWrite<'_>]| {
                seen.lock()
                    .expect("no test thread panics")
                    .extend(writes.iter().map(|w| (inst.pc, *w.row())));
            }
        })),
        ..toy(|hooks| hooks.write_back = true)
    };
    run(&guarded(), &toy);
    let seen = seen.lock().expect("no test thread panics");
    let of = |pc| seen.iter().find(|(at, _)| *at == pc).expect("it was written").1;
    assert_eq!(of(2), Row::from_fn(|lane| if lane < 8 { 1 } else { u32::MAX }));
    assert_eq!(of(3), Row::from_fn(|lane| lane as u32 + u32::from(lane < 8)));
}

#[test]
fn sectors_are_compared_with_those_of_every_lane() {
    let hand = guarded();
    let program = Program::new(&hand.kernel, &small_machine(&[])).expect("a kernel");
    let (mut ledger, mut effects) = (Ledger::default(), Effects::default());
    let mut cx = Cx::new("toy", 0, &program, &mut ledger, &mut effects);
    let warp = WarpView::new(0, &[]);
    let inst = InstView::new(3, &program.insts[3], u32::MAX, u32::MAX, InFlightId::NONE);
    // Eight bytes a lane from 1000 on: sectors 31 to 39.
    let addresses = std::array::from_fn(|lane| 1000 + 8 * lane as u64);
    let mut compare = |mask, held: fn(u64) -> u8| {
        let access = MemAccess::new(Space::Global, 8, &addresses, mask);
        cx.compare_sectors(&warp, &inst, &access, held)
    };
    let all = |line| match line {
        896 => 0b1000,
        1024 => 0b1111,
        1152 => 0b1111,
        _ => 0,
    };
    assert_eq!(compare(u32::MAX, all), Ok(()));
    let why =
        compare(u32::MAX, |line| if line == 1024 { 0b1011 } else { 0b1111 }).expect_err("a sector lacks");
    assert_eq!((why.lane, why.expected, why.of), (11, 1088, Holder::Address));
    assert!(
        why.to_string()
            .contains("address of the access, lane 11: has loaded or locked sectors at other addresses"),
        "{why}"
    );
    assert_eq!(
        compare(1 << 10, |line| if line == 1024 { 0b1011 } else { 0 }),
        Ok(()),
        "lane 11 is not active"
    );
    assert_eq!(ledger.checked, 3);
}

#[test]
fn the_recorded_row_is_no_value_of_a_technique() {
    let toy = supplying(|cx, warp, inst, reg, _| cx.supply(warp, inst, reg, &warp.rows[usize::from(reg)]));
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
        .srcs([Src::imm(1)]);
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
