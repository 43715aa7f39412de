//! Chains of multiply-adds: dependent ones take the configured latency, independent ones reach the configured rate.

use super::{GPUS, one_sm, per_step};
use crate::testing::{Builder, Hand, r};
use trace_format::isa::*;

#[test]
fn a_dependent_chain_takes_the_configured_latency_on_every_machine() {
    for gpu in GPUS {
        let config = one_sm(gpu, &[]);
        let chain = |length: usize| {
            let mut b = Builder::default();
            b.mov(1, 0x3F80_0000).mov(2, 0x4000_0000);
            (0..length).for_each(|_| {
                b.ffma(3, 1, 2, 3);
            });
            Hand::new(b.exit(), 1, 32)
        };
        // A cycle to the first read, three operands through the collector's ports.
        let reads = 3u32.div_ceil(config.collectors.ports);
        let expected = 1 + reads + config.latency["fp_fma"].latency_cycles;
        assert_eq!(per_step(&chain(32), &config, 2, 1), u64::from(expected), "{gpu}");
    }
}

/// Instructions per cycle of 16 warps that repeat one of them with eight destinations in turn.
fn rate(config: &crate::config::GpuConfig, inst: Inst, count: usize) -> f64 {
    let warps = 16;
    let kernel = |turns: u32| {
        let mut b = Builder::default();
        b.mov(1, 0x3F80_0000).mov(2, 0);
        let top = b.here();
        for i in 0..count {
            let mut inst = inst;
            inst.dst = Reg(8 + (i % 8) as u8);
            b.push(inst);
        }
        b.iadd(2, r(2), Src::imm(1), Src::RZ).branch_below(2, turns, top);
        Hand::new(b.exit(), 1, warps * 32)
    };
    let cycles = |turns| super::cycles(&kernel(turns), config);
    f64::from(8 * warps) * count as f64 / (cycles(12) - cycles(4)) as f64
}

/// A multiply-add of one register: the rate is the lower of the units' and the issue rate. It is never higher but for a
/// cycle or two at the ends, and at most a tenth lower, which is the cost of the loop's three other instructions and its
/// end.
#[test]
fn independent_instructions_reach_the_rate_of_issue_and_units() {
    let ffma = Op::Ffma { rnd: Rnd::Rn, ftz: Ftz(false), sat: Sat(false) };
    let inst = Inst::new(ffma).dst(Reg(8)).srcs([r(1), r(1), r(1)]);
    for gpu in GPUS {
        let config = one_sm(gpu, &["front_end.fetch_warps_per_cycle=8"]);
        let unit = &config.units["fp32"];
        let interval = config.latency["fp_fma"].initiation_cycles.max(32 / unit.lanes);
        let units = f64::from(unit.count) / f64::from(interval);
        let issue = f64::from(config.scheduler.count);
        // A collector of one port holds such an instruction for two cycles.
        let c = &config.collectors;
        let collectors = f64::from(if c.generic > 0 { c.generic } else { c.alu }) / 2.0;
        let most = units.min(issue).min(collectors);
        let reached = rate(&config, inst, 48);
        assert!(reached <= 1.001 * most && reached >= 0.9 * most, "{gpu}: {reached:.3} of {most} per cycle");
    }
}

/// Widths of 8, 16 and 32 lanes: a warp occupies its unit for 32 / lanes cycles.
#[test]
fn narrow_units_take_a_warp_in_parts() {
    let ffma = Op::Ffma { rnd: Rnd::Rn, ftz: Ftz(false), sat: Sat(false) };
    let inst = Inst::new(ffma).dst(Reg(8)).srcs([r(1), r(1), r(1)]);
    for lanes in [8u32, 16, 32] {
        let unit = format!("units.fp32={{ count = 1, lanes = {lanes}, runs_on = '' }}");
        // Integer instructions of the loop would share the unit.
        let int = "units.int={ count = 1, lanes = 32, runs_on = '' }";
        let config = one_sm("gtx480", &[&unit, int]);
        let (reached, most) = (rate(&config, inst, 48), f64::from(lanes) / 32.0);
        assert!(reached <= most && reached >= 0.95 * most, "{lanes} lanes: {reached:.3} of {most}");
    }
}

/// Latency and initiation interval of each class of instructions are those of its key.
#[test]
fn every_class_has_its_own_latency() {
    let fp = || (Rnd::Rn, Ftz(false), Sat(false));
    let cases = [
        ("int_add", Inst::new(Op::Iadd3 { x: Extended(false) }).srcs([r(4), r(4), r(4)])),
        ("int_mul", Inst::new(Op::Imad {}).srcs([r(4), r(4), r(4)])),
        ("fp_add", Inst::new(Op::Fadd { rnd: fp().0, ftz: fp().1, sat: fp().2 }).srcs([r(4), r(4)])),
        ("fp_fma", Inst::new(Op::Ffma { rnd: fp().0, ftz: fp().1, sat: fp().2 }).srcs([r(4), r(4), r(4)])),
        ("sfu", Inst::new(Op::Mufu { func: MufuFn::Rcp, ftz: Ftz(false) }).srcs([r(4)])),
        ("dp_fma", Inst::new(Op::Dfma { rnd: Rnd::Rn }).srcs([r(4), r(4), r(4)])),
    ];
    for gpu in GPUS {
        let config = one_sm(gpu, &[]);
        for (class, inst) in &cases {
            let chain = |length: usize| {
                let mut b = Builder::default();
                b.mov(4, 1).mov(5, 1);
                (0..length).for_each(|_| {
                    b.push(inst.dst(Reg(4)));
                });
                Hand::new(b.exit(), 1, 32)
            };
            let registers = if *class == "dp_fma" { 2u32 } else { 1 };
            let reads = registers.div_ceil(config.collectors.ports);
            let timing = &config.latency[*class];
            let expected = (1 + reads + timing.latency_cycles).max(timing.initiation_cycles);
            assert_eq!(per_step(&chain(24), &config, 2, 1), u64::from(expected), "{gpu}: {class}");
        }
    }
}

/// A comparison whose predicate guards the instruction that it compares next: the guard comes the configured cycles
/// later than a use as an operand would.
#[test]
fn a_predicate_guards_later_than_it_is_read() {
    let mut b = Builder::default();
    b.mov(4, 1);
    for _ in 0..24 {
        let op = Op::Isetp { cmp: ICmp::Le, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
        let mut set = Inst::new(op).srcs([r(4), r(4)]);
        set.pdst[0] = Pred(0);
        b.push(set);
        let add = Inst::new(Op::Iadd3 { x: Extended(false) }).srcs([r(4), r(4), r(4)]);
        b.push(add.dst(Reg(4)).guarded(PredSrc::of(Pred(0))));
    }
    let hand = Hand::new(b.exit(), 1, 32);
    for gpu in GPUS {
        let after = |cycles: u32| {
            let set = format!("register_file.guard_delay_cycles={cycles}");
            per_step(&hand, &one_sm(gpu, &[&set]), 1, 2)
        };
        assert_eq!(after(40), after(0) + 40, "{gpu}");
    }
}
