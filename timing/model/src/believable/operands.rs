//! Tests of collectors, banks and units: pools by class, register mappings, and shares of schedulers.

use super::one_sm;
use crate::config::GpuConfig;
use crate::stats::{Counters, Stall};
use crate::testing::{Builder, Hand, r};
use trace_format::isa::*;

fn mufu(d: u8, a: u8) -> Inst {
    Inst::new(Op::Mufu { func: MufuFn::Rcp, ftz: Ftz(false) }).dst(Reg(d)).srcs([r(a)])
}

fn counters(hand: &Hand, config: &GpuConfig) -> Counters {
    hand.run_on(config, &[], 1).expect("a replay without error").counters
}

/// Special functions wait for their one slow unit in the collectors: they occupy generic collectors that
/// multiply-adds of other warps need, but not those of another pool.
#[test]
fn pools_of_collectors_keep_classes_apart() {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX);
    for i in 0..16 {
        b.push(mufu(10 + i, 0)).ffma(30 + i, 1, 1, 1);
    }
    let hand = Hand::new(b.exit(), 1, 256);
    let stalls = |set: &[&str]| {
        let fetch = ["front_end.fetch_warps_per_cycle=8", "scheduler.policy=lrr"];
        let config = one_sm("gtx480", &[&fetch, set].concat());
        let stats = hand.run_on(&config, &[], 1).expect("a replay without error");
        (stats.stalls.get(Stall::UnitBusy) + stats.stalls.get(Stall::CollectorFull), stats.counters.cycles)
    };
    let pools = stalls(&["collectors.alu=8", "collectors.sfu=8"]);
    let generic =
        stalls(&["collectors.generic=8", "collectors.alu=0", "collectors.sfu=0", "collectors.mem=0"]);
    assert!(generic.0 > pools.0, "{generic:?} and {pools:?}");
    // The unit is the bottleneck of both: 8 warps of 16 functions at an interval of 8 cycles.
    assert!(pools.1 >= 8 * 16 * 8 && generic.1 >= 8 * 16 * 8);
}

/// More operands of one instruction per cycle, up to what it reads.
#[test]
fn collector_ports_shorten_collection() {
    for (ports, cycles) in [(1u64, 3u64), (2, 2), (3, 1), (4, 1)] {
        let mut b = Builder::default();
        b.ffma(40, 1, 2, 3);
        let item = format!("collectors.ports={ports}");
        let insts = Hand::new(b.exit(), 1, 32).observe(&one_sm("gtx480", &[&item]));
        assert_eq!(insts[0].collected - insts[0].issued, 1 + cycles, "{ports} ports");
    }
}

/// All warps read the same register. By register it lies in one bank for all of them, skewed in as many as there are
/// warps, by warp with the warp's other registers.
#[test]
fn mappings_decide_which_registers_conflict() {
    let kernel = |a, b, c| {
        let mut k = Builder::default();
        k.bar();
        for i in 0..8 {
            k.ffma(40 + i, a, b, c);
        }
        Hand::new(k.exit(), 1, 512)
    };
    let conflicts = |mapping: &str, a, b, c| {
        let item = format!("register_file.bank_mapping={mapping}");
        let wide = ["collectors.alu=32", "collectors.ports=3", "front_end.fetch_warps_per_cycle=16"];
        let config = one_sm("gtx480", &[&wide[..], &["register_file.result_bus_width=16", &item]].concat());
        counters(&kernel(a, b, c), &config).rf_bank_conflict_cycles
    };
    // One register each: two warps issue per cycle, which want one bank, or two; results meet reads here and there.
    let one_bank = conflicts("register", 1, 1, 1);
    assert!(one_bank > 1000, "{one_bank}");
    for mapping in ["warp_skewed", "warp"] {
        assert!(conflicts(mapping, 1, 1, 1) * 10 < one_bank, "{mapping}");
    }
    // Three registers of a warp: in three banks, or in one.
    assert!(conflicts("warp", 1, 2, 3) > 2 * conflicts("warp_skewed", 1, 2, 3));
}

/// With a share for each scheduler, warps of one scheduler wait for its unit while the others' are free.
#[test]
fn sub_cores_do_not_lend_their_units() {
    // Warps 0 to 7: those of scheduler 0 are 0 and 4, whose threads have none of the bits 0x60. They alone go on.
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX);
    b.push(Inst::new(Op::Lop3 { lut: Lut(0xC0) }).dst(Reg(1)).srcs([r(0), Src::imm(0x60), Src::RZ]));
    let skip = b.here();
    b.branch_below(1, 1, skip + 3);
    b.push(Inst::new(Op::Exit {}));
    for i in 0..16 {
        b.push(mufu(10 + i, 0));
    }
    let hand = Hand::new(b.exit(), 1, 256);
    let cycles = |shared: bool| {
        let item = format!("register_file.sub_core={}", !shared);
        let fetch = ["front_end.fetch_warps_per_cycle=8", "scheduler.issue_width=1"];
        counters(&hand, &one_sm("qv100-collectors", &[fetch[0], fetch[1], &item])).cycles
    };
    // 32 functions at an interval of 8 on one unit, or on all four.
    let (own, shared) = (cycles(false), cycles(true));
    assert!(own - shared >= 32 * 8 / 2 && own >= 32 * 8, "{own} and {shared} cycles");
}

/// The unit that the sub-cores have in common takes their memory instructions in turns: none is far ahead of the others. One of
/// them asks for more than its share, as it has two warps.
#[test]
fn sub_cores_take_turns_at_the_load_store_unit() {
    let mut b = Builder::default();
    b.mov(1, 0).bar();
    let loads = 200;
    for i in 0..loads {
        b.lds(10 + i % 100, 1);
    }
    let hand = Hand::new(b.exit(), 1, 5 * 32);
    for gpu in ["qv100", "titanx-pascal", "rtxa6000"] {
        let insts = hand.observe(&one_sm(gpu, &[]));
        let last = |warp| {
            let of_warp = insts.iter().filter(|inst| inst.warp == warp);
            of_warp.map(|inst| inst.issued).max().expect("it has issued")
        };
        let begins = insts.iter().filter(|inst| inst.pc == 2).map(|inst| inst.issued).min().expect("loads");
        let alone = [1, 2, 3].map(last);
        let (first, latest) = (alone[0].min(alone[1]).min(alone[2]), alone[0].max(alone[1]).max(alone[2]));
        let apart = (latest - first) as f64 / (latest - begins) as f64;
        assert!(apart < 0.1, "{gpu}: {alone:?} from cycle {begins}");
        assert!(last(0).max(last(4)) > latest + u64::from(loads), "{gpu}: the first has twice as many");
    }
}
