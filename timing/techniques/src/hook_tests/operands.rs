//! Tests of hooks of operands, results and micro-operations: structures, tables before banks, completion,
//! units.

use super::toy::*;
use crate::testing::{Builder, by_hand, r, small_machine};
use crate::*;
use std::sync::Arc;
use trace_format::isa::{Pred, PredSrc};

/// A technique that supplies each source of the chain from its storage.
fn stored(latency_cycles: u32, ports: u32) -> Toy {
    Toy {
        storage: storage(ports, latency_cycles),
        collect: Some(Arc::new(
            |cx: &mut Cx<'_>,
             warp: &WarpView<'_>,
             inst: &InstView<'_>,
             operands: &mut [OperandRead],
             storage: &mut Storage| {
                for operand in operands {
                    cx.opportunity(1);
                    let row = warp.rows[usize::from(operand.reg)];
                    let supplied = cx.supply(warp, inst, operand.reg, &row)?;
                    operand.from = ReadFrom::Storage(storage.read(cx.cycle, 0), supplied);
                }
                Ok(())
            },
        )),
        ..toy(|hooks| hooks.collect = true)
    }
}

#[test]
fn operands_from_storage_take_its_latency_and_queue_at_its_ports() {
    let per_link = |toy: &Toy| (cycles(&run(&chain(24), toy)) - cycles(&run(&chain(8), toy))) as f64 / 16.0;
    let config = small_machine(&[]);
    // One cycle from issue to read, then the addition.
    let addition =
        f64::from(config.collectors.issue_to_read_cycles + config.latency["int_add"].latency_cycles);
    assert_eq!(per_link(&stored(0, 3)), addition, "all three are there before banks would be read");
    assert_eq!(per_link(&stored(10, 3)), addition + 9.0);
    assert_eq!(
        per_link(&stored(10, 1)),
        addition + 9.0 + 2.0,
        "one port: the third read comes two cycles later"
    );
    let stats = run(&chain(8), &stored(10, 1));
    assert_eq!(stats.counters.rf_reads, 0);
    assert_eq!(stats.of_techniques("toys_reads"), 3 * 8);
    assert_eq!(stats.of_techniques("toys_wait_cycles"), 3 * 8, "one and two cycles for each of the eight");
}

#[test]
fn a_bank_behind_a_structure_is_read_later_by_what_the_structure_waited() {
    let behind = |ports| Toy {
        storage: storage(ports, 0),
        collect: Some(Arc::new(
            |cx: &mut Cx<'_>,
             _: &WarpView<'_>,
             _: &InstView<'_>,
             operands: &mut [OperandRead],
             storage: &mut Storage| {
                for operand in operands {
                    let ReadFrom::Bank(bank) = operand.from else { continue };
                    operand.from = ReadFrom::BankBehind(bank, storage.read(cx.cycle, 0));
                }
                Ok(())
            },
        )),
        ..toy(|hooks| hooks.collect = true)
    };
    // Enough collector ports, so that only banks limit the reads.
    let set = ["collectors.ports=3"];
    let of = |toy: Option<&Toy>, length| {
        let hand = chain(length);
        cycles(&toy.map_or_else(|| plain_on(&hand, &set), |toy| run_on(&hand, toy, &set).expect("runs")))
    };
    let per_link = |toy: Option<&Toy>| (of(toy, 24) - of(toy, 8)) as f64 / 16.0;
    assert_eq!(per_link(Some(&behind(3))), per_link(None));
    assert_eq!(per_link(Some(&behind(1))), per_link(None) + 2.0);
}

#[test]
fn completion_is_told_of_predicates_false_guards_and_stores() {
    let mut b = Builder::default();
    b.mov(4, 0).mov(5, 0);
    // p0 is false: r4 is not below 0.
    b.branch_below(4, 0, 4);
    let mut guarded = trace_format::isa::Inst::new(trace_format::isa::Op::Mov {})
        .dst(trace_format::isa::Reg(7))
        .srcs([trace_format::isa::Src::imm(1)]);
    guarded = guarded.guarded(PredSrc::of(Pred(0)));
    b.push(guarded).stg(4, 5, 0);
    let hand = by_hand(b.exit(), 1, 32);
    let toy = toy(|hooks| hooks.write_back = true);
    let stats = run(&hand, &toy);
    let mut noted: Vec<String> =
        toy.noted().into_iter().filter(|line| line.starts_with("completed")).collect();
    noted.sort();
    assert_eq!(
        noted,
        [
            "completed 0 with 1 writes",
            "completed 1 with 1 writes",
            "completed 2 with 0 writes",
            "completed 4 with 0 writes",
            "completed 5 with 0 writes"
        ]
    );
    assert_eq!(stats.counters.rf_writes, 2, "a false guard writes no bank");
}

#[test]
fn inserted_operations_take_their_registers_unit_and_place_on_their_edge() {
    // A loop of three trips; the operation is on the back edge alone, or on every edge.
    let mut b = Builder::default();
    b.mov(1, 0).mov(2, 7);
    let head = b.here();
    b.iadd(1, r(1), trace_format::isa::Src::imm(1), trace_format::isa::Src::RZ).branch_below(1, 3, head);
    let hand = by_hand(b.exit(), 1, 32);
    let plain = plain(&hand);
    let branch = head + 2;
    let inserting = |edges: &'static [Edge]| Toy {
        prepare: Some(Arc::new(move |plan: &mut Plan| {
            let op = plan.micro_op(MicroOp::in_unit("move", 1, "int", 20).with_registers(&[2], &[2]));
            edges.iter().for_each(|edge| plan.insert(2, *edge, op));
        })),
        ..toy(|hooks| hooks.issue = true)
    };
    const ALL: &[Edge] = &[Edge::Every];
    const BACK: &[Edge] = &[Edge::From(4)];
    const ENTRY: &[Edge] = &[Edge::From(1)];
    assert_eq!(branch, 4);
    for (edges, count) in [(ALL, 3), (BACK, 2), (ENTRY, 1)] {
        let stats = run(&hand, &inserting(edges));
        let c = &stats.counters;
        assert_eq!(c.inserted_instructions, count, "{edges:?}");
        assert_eq!(c.warp_instructions, plain.counters.warp_instructions);
        assert_eq!(c.int_instructions, plain.counters.int_instructions + count);
        assert_eq!(c.rf_reads, plain.counters.rf_reads + count);
        assert_eq!(c.rf_writes, plain.counters.rf_writes + count);
    }
}

#[test]
fn a_run_time_operation_issues_before_the_next_instruction() {
    let hand = chain(6);
    let plain = plain(&hand);
    let toy = Toy {
        prepare: Some(Arc::new(|plan: &mut Plan| {
            plan.micro_op(MicroOp::in_unit("copy", 9, "int", 100).with_registers(&[1], &[3]));
        })),
        issued: Some(Arc::new(|cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>| match what {
            Issuing::Program(inst) if inst.pc == 1 => cx.issue_before_next(warp.slot, MicroId(0)),
            Issuing::Micro(id, op) => assert_eq!((id.0, op.tag), (0, 9)),
            _ => {}
        })),
        ..toy(|hooks| hooks.issue = true)
    };
    let stats = run(&hand, &toy);
    assert_eq!(stats.counters.inserted_instructions, 1);
    assert_eq!(stats.counters.warp_instructions, plain.counters.warp_instructions);
    // The chain's first addition reads and writes r3, which the copy writes after a hundred cycles.
    let late = cycles(&stats) - cycles(&plain);
    assert!((100..110).contains(&late), "{late}");
}

#[test]
fn extra_accesses_take_their_bank() {
    let hand = chain(4);
    let plain = plain(&hand);
    let toy = Toy {
        write_back: Some(Arc::new(|cx: &mut Cx<'_>, inst: &InstView<'_>, _: &mut [RegisterWrite<'_>]| {
            if inst.pc == 0 {
                (0..5).for_each(|_| cx.write_bank(3));
                (0..2).for_each(|_| cx.read_bank(4));
            }
        })),
        ..toy(|hooks| hooks.write_back = true)
    };
    let stats = run(&hand, &toy);
    assert_eq!(stats.counters.rf_writes, plain.counters.rf_writes + 5);
    assert_eq!(stats.counters.rf_reads, plain.counters.rf_reads + 2);
    assert!(stats.counters.rf_bank_conflict_cycles > plain.counters.rf_bank_conflict_cycles + 4 + 3 + 2);
}

#[test]
fn the_initiation_interval_is_the_technique_s() {
    let hand = warps(64);
    let toy = Toy {
        initiation: Some(Arc::new(|_: &InstView<'_>, cycles| cycles + 10)),
        ..toy(|hooks| hooks.execute = true)
    };
    let set = ["units.fp32.count=1"];
    let slow = run_on(&hand, &toy, &set).expect("runs");
    let plain = plain_on(&hand, &set);
    let late = cycles(&slow) - cycles(&plain);
    // Twelve moves in one unit; the interval after the last move delays nothing.
    assert!((11 * 10 - 12..=11 * 10).contains(&late), "{late}");
    assert_eq!(toy.noted().iter().filter(|line| line.starts_with("dispatched")).count(), 12);
}
