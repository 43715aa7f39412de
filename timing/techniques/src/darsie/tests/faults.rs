//! Seeded faults: each breaks one part of the mechanism while a kernel runs, and the run stops.

use super::{Darsie, machine};
use crate::testing::{Builder, Hand, by_hand, r};
use crate::*;
use trace_format::isa::{SpecialReg, Src};
use warplab_model::replay::ReplayError;
use warplab_technique::Row;

/// When a fault happens: before a hook is called for an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Fetched,
    Collect,
    Answered,
    WriteBack,
}

/// DARSIE with one fault.
#[derive(Clone)]
struct Broken {
    darsie: Darsie,
    at: (Moment, u32),
    /// Warp of the block in which it happens.
    warp: Option<u32>,
    break_it: fn(&mut Darsie, usize),
}

impl Broken {
    fn meet(&mut self, moment: Moment, warp: &WarpView<'_>, pc: u32) {
        if self.at == (moment, pc) && self.warp.is_none_or(|only| only == warp.warp) {
            (self.break_it)(&mut self.darsie, warp.slot);
        }
    }
}

impl Technique for Broken {
    fn info(&self) -> &'static TechniqueInfo {
        self.darsie.info()
    }
    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        self.darsie.prepare(launch, plan)
    }
    fn start_block(&mut self, cx: &mut Cx<'_>, block_slot: usize, block: u32) {
        self.darsie.start_block(cx, block_slot, block);
    }
    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        self.darsie.start_warp(cx, warp);
    }
    fn fetch(&self, now: u64, warp: &WarpView<'_>, pc: u32) -> FetchVerdict {
        self.darsie.fetch(now, warp, pc)
    }
    fn fetched(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, pc: u32, skipped: bool) {
        self.meet(Fetched, warp, pc);
        self.darsie.fetched(cx, warp, pc, skipped);
    }
    fn flushed(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, resume: Option<u32>) {
        self.darsie.flushed(cx, warp, resume);
    }
    fn issue(&self, now: u64, warp: &WarpView<'_>, what: &Issuing<'_>) -> IssueVerdict {
        self.darsie.issue(now, warp, what)
    }
    fn stalled(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, cause: u8) {
        self.darsie.stalled(cx, warp, cause);
    }
    fn issued(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>, verdict: IssueVerdict) {
        self.darsie.issued(cx, warp, what, verdict);
    }
    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        self.meet(Collect, warp, inst.pc);
        self.darsie.collect(cx, warp, inst, operands)
    }
    fn answered(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        how: Answered,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        self.meet(InAnswered, warp, inst.pc);
        self.darsie.answered(cx, warp, inst, how, results)
    }
    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        self.meet(WriteBack, warp, inst.pc);
        self.darsie.write_back(cx, warp, inst, writes)
    }
    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        self.darsie.end_warp(cx, warp_slot);
    }
}

/// `r0` is the x-index, `r7` the y-index; the rest follows from them, in a loop of three turns.
fn kernel() -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).mov(1, 3).special(7, SpecialReg::TidY).mov(6, 0);
    let head = b.here();
    b.iadd(2, r(0), r(1), Src::imm(4)).iadd(3, r(2), r(7), Src::RZ);
    b.iadd(1, r(1), Src::imm(1), Src::RZ).iadd(4, r(2), r(1), Src::RZ).iadd(6, r(6), Src::imm(1), Src::RZ);
    b.branch_below(6, 3, head);
    b.iadd(5, r(4), r(3), Src::RZ);
    by_hand(b.exit(), 1, 128).with_block([16, 8, 1])
}

fn with(at: (Moment, u32), warp: Option<u32>, break_it: fn(&mut Darsie, usize)) -> Result<(), ReplayError> {
    let darsie = Darsie::new(&toml::Table::new()).expect("valid");
    let broken = Broken { darsie, at, warp, break_it };
    kernel().run_techniques(&machine(&[]), vec![Box::new(broken)]).map(drop)
}

fn caught(at: (Moment, u32), warp: Option<u32>, break_it: fn(&mut Darsie, usize)) {
    let why = with(at, warp, break_it).expect_err("the fault is caught");
    assert!(why.to_string().contains("darsie"), "{why}");
}

use Moment::{Answered as InAnswered, Collect, Fetched, WriteBack};

#[test]
fn without_a_fault_every_value_agrees() {
    with((Collect, u32::MAX), None, |_, _| {}).expect("agrees");
}

#[test]
fn a_y_index_marked_as_redundant_is_caught() {
    caught((Fetched, 0), None, |darsie, _| darsie.statics[2].marked = true);
}

#[test]
fn a_vector_sum_marked_as_redundant_is_caught() {
    caught((Fetched, 0), None, |darsie, _| darsie.statics[5].marked = true);
}

/// Writes a value to every physical register that has been in use.
fn write_all(darsie: &mut Darsie, row: &Row) {
    for version in 0..darsie.blocks[0].registers_used() {
        darsie.blocks[0].write(version, row);
    }
}

#[test]
fn a_wrong_value_of_the_leader_is_caught() {
    caught((InAnswered, 4), Some(2), |darsie, _| {
        write_all(darsie, &Row::splat(77));
    });
}

#[test]
fn a_swapped_lane_of_the_leader_is_caught() {
    caught((InAnswered, 4), Some(1), |darsie, _| {
        for version in 0..darsie.blocks[0].registers_used() {
            let mut row = darsie.blocks[0].version(version).row;
            row.0.swap(0, 1);
            darsie.blocks[0].write(version, &row);
        }
    });
}

#[test]
fn an_older_version_is_caught() {
    // The follower keeps the version of the turn before.
    caught((Collect, 5), Some(1), |darsie, slot| {
        let old = darsie.warps[slot].shared[1];
        darsie.warps[slot].shared[2] = old;
    });
}

#[test]
fn a_map_to_the_warp_s_own_stale_register_is_caught() {
    caught((Collect, 5), Some(1), |darsie, slot| darsie.warps[slot].shared[2] = None);
}

#[test]
fn a_map_to_another_register_s_version_is_caught() {
    caught((Collect, 5), Some(2), |darsie, slot| darsie.warps[slot].shared[2] = darsie.warps[slot].shared[6]);
}

#[test]
fn a_result_that_is_not_supplied_is_caught() {
    caught((InAnswered, 4), Some(1), |darsie, slot| {
        darsie.warps[slot].coming.clear();
    });
}

#[test]
fn an_instance_of_another_turn_is_caught() {
    // The warp is one turn behind: it takes the first turn's sum for the second's.
    caught((InAnswered, 6), Some(1), |darsie, slot| {
        let stale = darsie.warps[slot].shared[0];
        if let Some(stale) = stale {
            let row = darsie.blocks[0].version(stale).row;
            write_all(darsie, &row);
        }
    });
}

#[test]
fn a_leader_that_writes_its_own_register_alone_is_caught() {
    caught((WriteBack, 4), None, |darsie, _| {
        for flight in &mut darsie.flights {
            flight.leads = flight.leads.map(|(id, _)| (id, super::super::block::Versions::default()));
        }
    });
}

#[test]
fn a_vector_result_in_a_shared_register_is_caught() {
    // The y-index goes to every version.
    caught((Collect, 5), Some(3), |darsie, _| {
        let row = Row::from_fn(|lane| lane as u32 * 3);
        write_all(darsie, &row);
    });
}

#[test]
fn a_warp_s_own_register_with_a_wrong_lane_is_caught() {
    caught((Collect, 5), None, |darsie, slot| darsie.warps[slot].own[7].0[31] ^= 1);
}

#[test]
fn a_version_freed_too_early_is_caught() {
    // Its register goes to the next result while followers still read it.
    caught((Collect, 7), Some(0), |darsie, _| {
        let row = Row::splat(u32::MAX);
        for slot in 0..4 {
            if let Some(version) = darsie.warps[slot].shared[2] {
                darsie.blocks[0].write(version, &row);
            }
        }
    });
}
