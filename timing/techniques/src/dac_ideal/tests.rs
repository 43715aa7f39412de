//! Tests of DAC-IDEAL on small kernels: what is executed once, what is not affine, batches, and faults, which are caught.

use super::{DacIdeal, Lost};
use crate::testing::{Builder, Hand, by_hand, r, small};
use crate::*;
use trace_format::isa::{Inst, Lut, Op, Reg, SpecialReg, Src};
use warplab_model::stats::Stats;
use warplab_technique::declare::Cause;

fn run(hand: &Hand, set: &[&str]) -> Stats {
    let stats = hand.run("gtx480", &small(set), &["dac-ideal"]);
    let ledger = &stats.techniques[0].ledger;
    assert_eq!(ledger.supplied + ledger.all_lost(), ledger.opportunities);
    stats
}

fn count(stats: &Stats, name: &str) -> u64 {
    stats.of_techniques(name)
}

fn lost(stats: &Stats, cause: Lost) -> u64 {
    stats.techniques[0].ledger.lost[usize::from(cause.index())]
}

/// An index, its double, its square, and its remainder by 16.
fn indices(blocks: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).iadd(1, r(0), r(0), Src::RZ);
    b.push(Inst::new(Op::Imad {}).dst(Reg(2)).srcs([r(0), r(0), Src::RZ]));
    b.push(Inst::new(Op::Lop3 { lut: Lut(Lut::A & Lut::B) }).dst(Reg(3)).srcs([r(0), Src::imm(15), Src::RZ]));
    b.iadd(4, r(3), Src::imm(1), Src::RZ);
    by_hand(b.exit(), blocks, 128)
}

#[test]
fn the_first_warp_of_a_batch_executes_what_is_affine_and_the_others_skip_it() {
    let stats = run(&indices(1), &[]);
    // The index and its double, in all four warps: their values differ, and each has one stride.
    assert_eq!((count(&stats, "executed_once"), count(&stats, "skipped_affine")), (2, 6));
    assert_eq!(stats.counters.skipped_instructions, 6);
    assert_eq!(stats.techniques[0].ledger.supplied, 6);
    assert_eq!((lost(&stats, Lost::Once), lost(&stats, Lost::NotAffine)), (2, 3 * 4));
    let one_sm = run(&indices(3), &["gpu.sms=1"]);
    assert_eq!((count(&one_sm, "batches"), count(&one_sm, "executed_once")), (1, 2));
    // Blocks that come when others have ended are a batch of their own.
    let one_by_one = run(&indices(3), &["gpu.sms=1", "sm.max_blocks=1"]);
    assert_eq!((count(&one_by_one, "batches"), count(&one_by_one, "executed_once")), (3, 6));
}

#[test]
fn a_repeated_instruction_is_executed_once_for_each_turn_of_a_loop() {
    let mut b = Builder::default();
    b.mov(18, 0);
    let head = b.here();
    b.iadd(18, r(18), Src::imm(1), Src::RZ).branch_below(18, 3, head);
    let stats = run(&by_hand(b.exit(), 1, 64), &[]);
    // The move, and three turns of a sum and a comparison, which has no register.
    assert_eq!((count(&stats, "executed_once"), count(&stats, "skipped_affine")), (7, 7));
    assert_eq!((count(&stats, "skipped_comparisons"), stats.techniques[0].ledger.supplied), (3, 4));
}

#[test]
fn loads_are_affine_if_addresses_and_values_are() {
    let mut b = Builder::default();
    b.mov(4, 64).mov(5, 0).ldg(6, 4, 0).iadd(7, r(6), r(6), Src::RZ);
    let hand = by_hand(b.exit(), 1, 64);
    let stats = run(&hand, &[]);
    assert_eq!((count(&stats, "skipped_loads"), count(&stats, "skipped_affine")), (1, 4));
    let without = run(&hand, &["technique.dac-ideal.loads=false"]);
    assert_eq!((count(&without, "skipped_loads"), count(&without, "skipped_affine")), (0, 3));
    assert_eq!(lost(&without, Lost::Kind), 2);
}

#[test]
fn switched_off_nothing_changes() {
    let with = run(&indices(4), &["technique.dac-ideal.mechanism=false"]);
    let plain = indices(4).run("gtx480", &small(&[]), &[]);
    assert_eq!(with.counters.values(), plain.counters.values());
    assert!(lost(&with, Lost::Off) > 0);
}

#[test]
fn cycles_that_nothing_happens_in_can_be_left_out() {
    let config = warplab_model::testing::config("gtx480", &small(&[]));
    let of = |every_cycle| {
        let stats = indices(9).run_with(&config, &["dac-ideal"], 1, every_cycle).expect("no deadlock");
        (stats.counters.values(), stats.techniques[0].ledger.clone(), stats.techniques[0].column_values())
    };
    assert_eq!(of(true), of(false));
}

/// A technique with a fault in what a warp is about to skip.
#[derive(Clone)]
struct Faulty {
    inner: DacIdeal,
    fault: fn(&mut DacIdeal, usize),
}

impl Technique for Faulty {
    fn info(&self) -> &'static TechniqueInfo {
        self.inner.info()
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        self.inner.prepare(launch, plan)
    }

    fn start_block(&mut self, cx: &mut Cx<'_>, block_slot: usize, block: u32) {
        self.inner.start_block(cx, block_slot, block);
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        self.inner.start_warp(cx, warp);
    }

    fn fetch(&self, now: u64, warp: &WarpView<'_>, pc: u32) -> FetchVerdict {
        self.inner.fetch(now, warp, pc)
    }

    fn fetched(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, pc: u32, skipped: bool) {
        self.inner.fetched(cx, warp, pc, skipped);
    }

    fn flushed(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, resume: Option<u32>) {
        self.inner.flushed(cx, warp, resume);
    }

    fn issued(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>, verdict: IssueVerdict) {
        self.inner.issued(cx, warp, what, verdict);
    }

    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        self.inner.collect(cx, warp, inst, operands)
    }

    fn answered(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        how: Answered,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        (self.fault)(&mut self.inner, warp.slot);
        self.inner.answered(cx, warp, inst, how, results)
    }

    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        self.inner.write_back(cx, warp, inst, writes)
    }
}

#[test]
fn faults_are_caught() {
    let faults: [fn(&mut DacIdeal, usize); 5] = [
        |dac, slot| dac.ways[slot].ahead[0].found.as_mut().expect("affine").tuple.shift(1, 0),
        |dac, slot| dac.ways[slot].ahead[0].found.as_mut().expect("affine").tuple.shift(0, 1),
        |dac, slot| dac.ways[slot].ahead[0].exec &= !1,
        |dac, slot| dac.ways[slot].ahead[0].pc += 1,
        |dac, slot| {
            dac.ways[slot].ahead.pop_front();
        },
    ];
    let config = warplab_model::testing::config("gtx480", &small(&[]));
    for fault in faults {
        let inner = DacIdeal::new(&toml::Table::new()).expect("no parameters");
        let outcome = indices(1).run_techniques(&config, vec![Box::new(Faulty { inner, fault })]);
        let why = outcome.expect_err("the value differs").to_string();
        assert!(why.contains("technique dac-ideal"), "{why}");
    }
}
