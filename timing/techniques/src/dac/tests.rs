//! Tests of DAC on small kernels: what is removed, queues, barriers, branches on data, and faults, which are caught.

use super::Dac;
use super::declare::{Lost, Stall};
use super::tuple::Place;
use crate::testing::{Builder, Hand, by_hand, r, small};
use crate::*;
use trace_format::isa::{Inst, Lut, Op, Reg, Sign, SpecialReg, Src};
use trace_format::semantics::Geometry;
use warplab_model::replay::ReplayError;
use warplab_model::stats::Stats;
use warplab_technique::config::GpuConfig;
use warplab_technique::declare::Cause;

fn machine(set: &[&str]) -> GpuConfig {
    warplab_model::testing::config("gtx480", &small(set))
}

pub(super) fn run(hand: &Hand, set: &[&str]) -> Stats {
    hand.run("gtx480", &small(set), &["dac"])
}

pub(super) fn count(stats: &Stats, name: &str) -> u64 {
    stats.of_techniques(name)
}

fn lost(stats: &Stats, cause: Lost) -> u64 {
    stats.techniques[0].ledger.lost[usize::from(cause.index())]
}

fn stalls(stats: &Stats, cause: Stall) -> u64 {
    stats.techniques[0].ledger.stalls[usize::from(cause.index())]
}

/// Every result and address is supplied or lost.
pub(super) fn closes(stats: &Stats) {
    let ledger = &stats.techniques[0].ledger;
    assert_eq!(ledger.supplied + ledger.all_lost(), ledger.opportunities);
}

/// An index into an array of words, a modulus, an index that wraps around, and a loop over lines.
fn kernel(blocks: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).special(1, SpecialReg::CtaidX);
    b.push(Inst::new(Op::Imad {}).dst(Reg(2)).srcs([r(1), Src::imm(64), r(0)]));
    b.shl(4, 2, 2).mov(5, 0).ldg(6, 4, 0).iadd(7, r(6), Src::imm(1), Src::RZ);
    b.push(Inst::new(Op::Lop3 { lut: Lut(Lut::A & Lut::B) }).dst(Reg(8)).srcs([r(2), Src::imm(15), Src::RZ]));
    b.shl(10, 8, 2).mov(11, 0).ldg(12, 10, 0);
    b.iadd(13, r(0), Src::imm(u32::MAX), Src::RZ);
    b.push(Inst::new(Op::ImadWide { sign: Sign::U32 }).dst(Reg(14)).srcs([r(13), Src::imm(4), Src::RZ]));
    b.ldg(16, 14, 0).mov(18, 0);
    let head = b.here();
    assert_eq!(head, 15);
    b.iadd(18, r(18), Src::imm(1), Src::RZ).iadd(4, r(4), Src::imm(128), Src::RZ).ldg(19, 4, 0);
    b.branch_below(18, 3, head);
    b.iadd(20, r(19), r(7), r(16)).iadd(20, r(20), r(12), Src::RZ).stg(4, 20, 0);
    by_hand(b.exit(), blocks, 64)
}

#[test]
fn affine_instructions_are_executed_once_for_all_warps() {
    let stats = run(&kernel(2), &[]);
    // All but the loads, the store, the branches, the sums of loaded values and the exit.
    let removed = 2 * 2 * (2 + 1 + 2 + 1 + 2 + 1 + 1 + 1 + 3 * 3);
    assert_eq!(count(&stats, "removed_instructions"), removed);
    assert_eq!(stats.counters.skipped_instructions, removed);
    assert_eq!(count(&stats, "batches"), 1, "both blocks are one batch");
    assert_eq!((count(&stats, "loads"), count(&stats, "affine_loads")), (2 * 2 * 6, 2 * 2 * 6));
    assert_eq!(count(&stats, "other_affine_accesses"), 2 * 2);
    // The stream: computations, loads and store, and in the loop a comparison, its enqueue instruction and the branch.
    assert_eq!(count(&stats, "affine_instructions"), 2 + 1 + 2 + 1 + 1 + 2 + 1 + 1 + 1 + 1 + 1 + 3 * 6 + 1);
    assert_eq!(count(&stats, "affine_instructions"), stats.counters.companion_instructions);
    assert_eq!(count(&stats, "expanded_operations"), 0);
    assert!(count(&stats, "moduli") > 0, "one of 16, and one where thread 0 wraps around");
    assert_eq!(lost(&stats, Lost::Data), 2 * 2 * 3);
    closes(&stats);
}

#[test]
fn switched_off_nothing_changes() {
    let with = run(&kernel(4), &["technique.dac.mechanism=false"]);
    let plain = kernel(4).run("gtx480", &small(&[]), &[]);
    assert_eq!(with.counters.values(), plain.counters.values());
}

#[test]
fn smaller_queues_make_warps_wait_and_change_no_result() {
    let cycles = |set: &[&str]| {
        let stats = run(&kernel(12), set);
        closes(&stats);
        assert_eq!(count(&stats, "affine_loads"), 12 * 2 * 6);
        stats.counters.cycles
    };
    let small = [
        "technique.dac.tuple_entries=1",
        "technique.dac.address_entries=1",
        "technique.dac.predicate_entries=1",
    ];
    // Without limits early loads may push one another out of L1, so that this is no bound of the cycles.
    let (least, table, _) = (cycles(&small), cycles(&[]), cycles(&["technique.dac.ideal=true"]));
    assert!(table < least, "{table} {least}");
    let waits = run(&kernel(12), &small);
    assert!(stalls(&waits, Stall::Address) > 0);
}

#[test]
fn early_loads_wait_for_the_barrier_before_them() {
    let with_barrier = |barrier: bool| {
        let mut b = Builder::default();
        b.special(0, SpecialReg::TidX).shl(4, 0, 2).mov(5, 0).ldg(6, 4, 0).iadd(7, r(6), r(6), Src::RZ);
        if barrier {
            b.bar();
        }
        b.ldg(8, 4, 1 << 20).iadd(9, r(8), r(7), Src::RZ);
        let stats = run(&by_hand(b.exit(), 1, 128), &[]);
        closes(&stats);
        assert_eq!(count(&stats, "early_lines"), 8);
        stats.counters.cycles
    };
    // Without a barrier both lines of a warp are on their way together.
    assert!(with_barrier(true) > with_barrier(false) + 100);
}

#[test]
fn a_branch_on_loaded_data_is_told_to_the_affine_warp() {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).shl(4, 0, 2).mov(5, 0).mov(10, 0).mov(11, 0).ldg(6, 10, 0);
    let behind = b.here() + 3;
    b.branch_below(6, 1 << 30, behind).ldg(7, 4, 0);
    assert_eq!(b.here(), behind);
    b.ldg(8, 4, 4096).iadd(9, r(8), r(6), Src::RZ);
    let hand = by_hand(b.exit(), 1, 128);
    let stats = run(&hand, &[]);
    closes(&stats);
    // The loop behind the branch is skipped: the loaded value is below the bound.
    assert_eq!((count(&stats, "loads"), count(&stats, "affine_loads")), (8, 8));
    let strict = run(&hand, &["technique.dac.data_dependent=false"]);
    closes(&strict);
    assert_eq!(count(&strict, "affine_loads"), 8, "what follows the branch does not depend on it");
}

#[test]
fn results_do_not_depend_on_threads() {
    let config = machine(&["gpu.sms=4"]);
    let one = kernel(40).run_on(&config, &["dac"], 1).expect("runs");
    let four = kernel(40).run_on(&config, &["dac"], 4).expect("runs");
    assert_eq!(one.counters.values(), four.counters.values());
}

/// When a fault happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Start,
    Collect(u32),
}

/// DAC with one fault.
#[derive(Clone)]
struct Broken {
    dac: Dac,
    at: Moment,
    break_it: fn(&mut Dac, usize),
}

impl Technique for Broken {
    fn info(&self) -> &'static TechniqueInfo {
        self.dac.info()
    }
    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        self.dac.prepare(launch, plan)
    }
    fn start_block(&mut self, cx: &mut Cx<'_>, block_slot: usize, block: u32) {
        self.dac.start_block(cx, block_slot, block);
    }
    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        self.dac.start_warp(cx, warp);
        if self.at == Start {
            (self.break_it)(&mut self.dac, warp.slot);
        }
    }
    fn fetch(&self, now: u64, warp: &WarpView<'_>, pc: u32) -> FetchVerdict {
        self.dac.fetch(now, warp, pc)
    }
    fn issue(&self, now: u64, warp: &WarpView<'_>, what: &Issuing<'_>) -> IssueVerdict {
        self.dac.issue(now, warp, what)
    }
    fn issued(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>, verdict: IssueVerdict) {
        self.dac.issued(cx, warp, what, verdict);
    }
    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        if self.at == Collect(inst.pc) {
            (self.break_it)(&mut self.dac, warp.slot);
        }
        self.dac.collect(cx, warp, inst, operands)
    }
    fn access(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        access: &MemAccess<'_>,
    ) -> Result<AccessVerdict, Box<ValueMismatch>> {
        self.dac.access(cx, warp, inst, access)
    }
    fn answered(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        how: Answered,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        self.dac.answered(cx, warp, inst, how, results)
    }
    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        self.dac.write_back(cx, warp, inst, writes)
    }
    fn tick(&mut self, cx: &mut Cx<'_>) {
        self.dac.tick(cx);
    }
    fn next_event(&self, now: u64) -> Option<u64> {
        self.dac.next_event(now)
    }
    fn companion(&self, now: u64, scheduler: usize) -> Option<MicroId> {
        self.dac.companion(now, scheduler)
    }
    fn companion_issued(&mut self, cx: &mut Cx<'_>, scheduler: usize, op: MicroId, done_at: u64) {
        self.dac.companion_issued(cx, scheduler, op, done_at);
    }
    fn loaded(&mut self, cx: &mut Cx<'_>, tag: u32, locked: bool) {
        self.dac.loaded(cx, tag, locked);
    }
    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        self.dac.end_warp(cx, warp_slot);
    }
    fn end_block(&mut self, cx: &mut Cx<'_>, block_slot: usize) {
        self.dac.end_block(cx, block_slot);
    }
}

fn with(hand: &Hand, at: Moment, break_it: fn(&mut Dac, usize)) -> Result<(), ReplayError> {
    let dac = Dac::new(&toml::Table::new()).expect("valid");
    let broken = Broken { dac, at, break_it };
    hand.run_techniques(&machine(&[]), vec![Box::new(broken)]).map(drop)
}

/// Runs a kernel with a fault, which ends the run.
pub(super) fn caught_in(hand: &Hand, at: Moment, break_it: fn(&mut Dac, usize)) {
    let why = with(hand, at, break_it).expect_err("the fault is caught").to_string();
    assert!(why.contains("technique dac") && why.contains("the technique's model is wrong"), "{why}");
}

fn caught(at: Moment, break_it: fn(&mut Dac, usize)) {
    caught_in(&kernel(3), at, break_it);
}

const GEOMETRY: Geometry = Geometry { grid: [3, 1, 1], block: [64, 1, 1] };

use Moment::{Collect, Start};

#[test]
fn without_a_fault_every_value_agrees() {
    with(&kernel(3), Collect(u32::MAX), |_, _| {}).expect("agrees");
}

#[test]
fn a_tuple_of_another_block_is_caught() {
    caught(Start, |dac, slot| dac.affine.lanes_mut(slot).place = Place::of(&GEOMETRY, 2, 0));
}

#[test]
fn a_tuple_of_another_warp_is_caught() {
    caught(Start, |dac, slot| {
        dac.affine.lanes_mut(slot).place = Place::of(&GEOMETRY, 0, 1 - (slot as u32 & 1));
    });
}

#[test]
fn a_loaded_value_taken_for_affine_is_caught() {
    caught(Start, |dac, _| (dac.roles[6].in_stream, dac.roles[6].removed) = (true, true));
}

#[test]
fn an_instruction_left_out_of_the_stream_is_caught() {
    caught(Start, |dac, _| dac.roles[3].in_stream = false);
}

#[test]
fn a_wrong_factor_is_caught() {
    caught(Start, |dac, _| dac.affine.inst_mut(2).src[1] = Src::imm(63));
}

#[test]
fn a_wrong_shift_is_caught() {
    caught(Start, |dac, _| dac.affine.inst_mut(3).src[1] = Src::imm(3));
}

#[test]
fn a_wrong_modulus_is_caught() {
    caught(Start, |dac, _| dac.affine.inst_mut(7).src[1] = Src::imm(31));
}

#[test]
fn a_wrong_step_of_a_loop_is_caught() {
    caught(Start, |dac, _| dac.affine.inst_mut(16).src[1] = Src::imm(64));
}

#[test]
fn a_comparison_of_another_register_is_caught() {
    caught(Start, |dac, _| dac.affine.inst_mut(18).src[0] = r(0));
}

#[test]
fn an_index_that_wraps_around_unseen_is_caught() {
    caught(Start, |dac, _| dac.affine.inst_mut(12).op = Op::ImadWide { sign: Sign::S32 });
}

#[test]
fn a_wrong_lane_of_an_address_is_caught() {
    caught(Collect(17), |dac, slot| dac.affine.row_mut(slot, 0).0[13] ^= 4);
}

#[test]
fn swapped_lanes_of_an_address_are_caught() {
    caught(Collect(5), |dac, slot| dac.affine.row_mut(slot, 0).0.swap(3, 4));
}

#[test]
fn a_wrong_mask_is_caught() {
    caught(Collect(5), |dac, slot| dac.affine.event_mut(slot, 0).exec &= !1);
}

#[test]
fn an_event_of_another_instruction_is_caught() {
    caught(Collect(10), |dac, slot| dac.affine.event_mut(slot, 0).pc = 13);
}

#[test]
fn a_lost_address_is_caught() {
    caught(Collect(10), |dac, slot| assert!(dac.units.dequeue_address(slot).is_some()));
}

#[test]
fn an_address_of_another_instruction_is_caught() {
    caught(Collect(13), |dac, slot| dac.units.first_address(slot).pc = 17);
}

#[test]
fn a_line_that_the_load_does_not_access_is_caught() {
    caught(Collect(5), |dac, slot| *dac.units.first_line(slot) += 128);
}

#[test]
fn a_sector_that_was_not_loaded_is_caught() {
    caught(Collect(5), |dac, slot| *dac.units.first_line(slot) &= !2);
}

#[test]
fn warps_that_sleep_are_woken_in_the_cycle_in_which_their_queue_is_filled() {
    for policy in ["gto", "lrr", "oldest", "two_level"] {
        let policy = format!("scheduler.policy={policy}");
        for entries in [192, 1] {
            let entries = format!("technique.dac.address_entries={entries}");
            let config = machine(&[&policy, &entries, "gpu.sms=2"]);
            let of =
                |every_cycle| kernel(12).run_with(&config, &["dac"], 1, every_cycle).expect("no deadlock");
            // Where every cycle is looked at, warps are asked about in each.
            let (asked, woken) = (of(true), of(false));
            assert_eq!(asked.counters.values(), woken.counters.values(), "{policy}");
            assert_eq!(asked.stalls, woken.stalls, "{policy}");
            let accounts =
                |stats: &Stats| (stats.techniques[0].ledger.clone(), stats.techniques[0].column_values());
            assert_eq!(accounts(&asked), accounts(&woken), "{policy}");
        }
    }
}

#[test]
fn without_limits_the_same_is_supplied_and_switched_off_nothing() {
    let of = |set: &[&str]| {
        let stats = run(&kernel(12), set);
        closes(&stats);
        stats
    };
    let supplied = |stats: &Stats| stats.techniques[0].ledger.supplied;
    let (real, ideal) = (of(&[]), of(&["technique.dac.ideal=true"]));
    assert_eq!(supplied(&ideal), supplied(&real), "limits cost time alone");
    assert!(supplied(&real) > 0);
    let off = of(&["technique.dac.ideal=true", "technique.dac.mechanism=false"]);
    assert_eq!((supplied(&off), stalls(&off, Stall::Address)), (0, 0));
    assert_eq!(lost(&off, Lost::Off), off.techniques[0].ledger.opportunities);
}
