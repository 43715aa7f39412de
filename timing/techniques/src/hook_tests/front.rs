//! Tests of hooks of fetch, issue and warp order: skips, stalls, choices, and their reports.

use super::toy::*;
use crate::testing::{Builder, by_hand, r, small_machine};
use crate::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use warplab_model::stats::Stall;

fn skipping(pc: u32, value: u32) -> Toy {
    Toy {
        fetch: Some(Arc::new(move |_, at| if at == pc { FetchVerdict::Skip } else { FetchVerdict::Fetch })),
        answer: Some(Arc::new(move |_| Some(Row::splat(value)))),
        ..toy(|hooks| hooks.fetch = true)
    }
}

#[test]
fn a_skipped_instruction_takes_no_fetch_no_slot_and_no_unit() {
    let hand = chain(3);
    let (plain, toy) = (plain(&hand), skipping(1, 7));
    let stats = run(&hand, &toy);
    let c = &stats.counters;
    assert_eq!((c.skipped_instructions, c.warp_instructions), (1, plain.counters.warp_instructions));
    assert_eq!(c.int_instructions, plain.counters.int_instructions - 1);
    assert_eq!(c.fetched_instructions, plain.counters.fetched_instructions - 1);
    assert_eq!(stats.stalls.get(Stall::Issued), plain.stalls.get(Stall::Issued) - 1);
    assert!(cycles(&stats) < cycles(&plain));
    assert_eq!(c.checked_values, 1);
    let noted = toy.noted();
    assert!(noted.contains(&"skipped 1".into()) && noted.contains(&"answered 1 Skipped".into()), "{noted:?}");
    assert_eq!(noted[0], "grid [1, 1, 1], block [32, 1, 1], 8 blocks per SM");
}

#[test]
fn a_wrong_answer_stops_the_run_and_a_missing_one_too() {
    let hand = chain(3);
    let why = run_on(&hand, &skipping(1, 8), &[]).expect_err("r2 is 7").to_string();
    assert!(why.contains("technique toy") && why.contains("supplied 0x00000008"), "{why}");
    let silent = Toy { answer: None, ..skipping(1, 7) };
    let why = run_on(&hand, &silent, &[]).expect_err("no row was compared").to_string();
    assert!(why.contains("technique toy") && why.contains("supplied 0 of 1 results"), "{why}");
}

#[test]
fn held_fetch_leaves_its_turn_to_others_and_its_slots_have_its_cause() {
    let hand = chain(2);
    let plain = plain(&hand);
    let until = 40;
    let toy = Toy {
        fetch: Some(Arc::new(move |now, pc| match pc {
            0 if now < until => FetchVerdict::Stall(1),
            _ => FetchVerdict::Fetch,
        })),
        ..toy(|hooks| hooks.fetch = true)
    };
    let stats = run(&hand, &toy);
    // Without techniques, fetch begins when the block has been set up, and the first access to the I-cache
    // misses.
    let start = u64::from(small_machine(&[]).sm.block_launch_cycles);
    assert_eq!(cycles(&stats) - cycles(&plain), until - start);
    assert_eq!(
        stats.counters.icache_accesses, plain.counters.icache_accesses,
        "a held warp looks nothing up"
    );
    let ledger = &stats.techniques[0].ledger;
    assert_eq!(ledger.stalls[0], 0);
    assert_eq!(ledger.stalls[1], stats.stalls.get(Stall::Technique));
    assert_eq!(ledger.stalls[1], until - start);
    assert_eq!(stats.stalls.get(Stall::IBufferEmpty), plain.stalls.get(Stall::IBufferEmpty));
}

#[test]
fn discarded_fetches_are_reported_with_where_the_path_goes_on() {
    let mut b = Builder::default();
    b.mov(1, 0);
    let head = b.here();
    b.iadd(1, r(1), trace_format::isa::Src::imm(1), trace_format::isa::Src::RZ).branch_below(1, 3, head);
    b.mov(2, 1).mov(3, 1).mov(4, 1);
    let toy = toy(|hooks| hooks.fetch = true);
    run(&by_hand(b.exit(), 1, 32), &toy);
    let flushed: Vec<String> = toy.noted().into_iter().filter(|line| line.starts_with("flushed")).collect();
    assert_eq!(flushed, ["flushed to Some(1)", "flushed to Some(1)", "flushed to None"]);
}

#[test]
fn a_technique_is_told_where_it_keeps_a_warp_from_fetching() {
    let toy = Toy {
        fetch: Some(Arc::new(move |now, pc| match pc {
            0 if now < 40 => FetchVerdict::Stall(1),
            _ => FetchVerdict::Fetch,
        })),
        ..toy(|hooks| hooks.fetch = true)
    };
    run(&chain(2), &toy);
    let noted = toy.noted();
    let held = noted.iter().filter(|line| *line == "held at 0 by 1").count();
    assert!(held > 0 && noted.iter().all(|line| !line.starts_with("held") || line == "held at 0 by 1"));
    let fetched = noted.iter().position(|line| line == "fetched 0").expect("in the end");
    assert!(noted[fetched..].iter().all(|line| !line.starts_with("held")));
}

#[test]
fn what_a_technique_computes_aside_takes_half_a_slot_and_no_bus() {
    // Additions that the toy computes: two warps issue in a cycle, where one does otherwise.
    let computing = |verdict: IssueVerdict| Toy {
        issue: Some(Arc::new(move |_, _: &WarpView<'_>, _: &Issuing<'_>| verdict)),
        answer: Some(Arc::new(|result: &RegisterWrite<'_>| Some(*result.row()))),
        ..toy(|hooks| hooks.issue = true)
    };
    let hand = warps(512);
    let of = |verdict| run(&hand, &computing(verdict));
    let aside = of(IssueVerdict::Aside { after_cycles: 5 });
    let reused = of(IssueVerdict::Reuse { after_cycles: 5 });
    let c = &aside.counters;
    assert_eq!((c.reused_instructions, c.int_instructions, c.rf_writes), (16 * 6, 0, 16 * 6));
    assert!(c.shared_slots > 0 && reused.counters.shared_slots == 0);
    assert_eq!(aside.stalls.get(Stall::Issued) + c.shared_slots, c.warp_instructions);
    assert_eq!(reused.stalls.get(Stall::Issued), c.warp_instructions);
    assert_eq!(c.result_bus_wait_cycles, 0);
    // The result comes after as many cycles.
    let cycles_of = |after_cycles| cycles(&run(&chain(4), &computing(IssueVerdict::Aside { after_cycles })));
    assert_eq!(cycles_of(25) - cycles_of(5), 5 * 20, "r2, then four additions that wait for one another");
}

#[test]
fn what_is_computed_aside_needs_no_free_collector_if_the_plan_says_so() {
    // Every other instruction is the toy's, and the single collector is taken by the others.
    let mut b = Builder::default();
    b.mov(1, 3);
    for reg in 2..20 {
        b.iadd(reg, r(1), r(1), r(1));
    }
    let hand = by_hand(b.exit(), 1, 512);
    let of = |aside: bool| {
        let toy = Toy {
            issue: Some(Arc::new(|_, _: &WarpView<'_>, what: &Issuing<'_>| match what {
                Issuing::Program(inst) if inst.pc % 2 == 0 => IssueVerdict::Aside { after_cycles: 5 },
                _ => IssueVerdict::Issue,
            })),
            answer: Some(Arc::new(|result: &RegisterWrite<'_>| Some(*result.row()))),
            ..toy(|hooks| (hooks.issue, hooks.aside) = (true, aside))
        };
        run_on(&hand, &toy, &["collectors.alu=1"]).expect("runs")
    };
    let (free, bound) = (of(true), of(false));
    assert_eq!(free.counters.reused_instructions, bound.counters.reused_instructions);
    assert!(cycles(&free) < cycles(&bound), "{} and {}", cycles(&free), cycles(&bound));
    for stats in [free, bound] {
        assert_eq!(
            stats.stalls.get(Stall::Issued) + stats.counters.shared_slots,
            stats.counters.warp_instructions
        );
    }
}

#[test]
fn a_technique_is_told_what_another_one_skips_and_moves() {
    let hand = chain(3);
    let mover = Toy {
        prepare: Some(Arc::new(|plan: &mut Plan| {
            let op = plan.micro_op(MicroOp::in_unit("move", 0, "int", 4).with_registers(&[1], &[1]));
            plan.insert(3, Edge::Every, op);
        })),
        ..skipping(1, 7)
    };
    let told = Toy { moves_to: Some(WriteTo::Nowhere), ..toy(|hooks| hooks.write_back = true) };
    let with = run_both(&hand, &mover, &told);
    let noted: Vec<String> = told.noted().into_iter().filter(|line| line.starts_with("rewritten")).collect();
    assert_eq!(noted, ["rewritten [2] Skipped, lane 0 7", "rewritten [1] Moved, lane 0 5"]);
    let mover_alone = run(&hand, &mover);
    assert!(mover.noted().iter().all(|line| !line.starts_with("rewritten")), "it knows what it does");
    assert_eq!(mover_alone.counters.rf_writes, with.counters.rf_writes + 1, "the move went nowhere");
    // Without results that pass it, a technique is not asked.
    let deaf = toy(|hooks| hooks.collect = true);
    run_both(&hand, &mover, &deaf);
    assert!(deaf.noted().iter().all(|line| !line.starts_with("rewritten")));
}

#[test]
fn a_stall_at_issue_costs_its_cycles_and_names_its_cause() {
    let hand = chain(4);
    let plain = plain(&hand);
    // `r1 = 5` issues once decoded; the next instruction is stalled for thirty cycles after its first
    // verdict.
    let first = Arc::new(AtomicU64::new(u64::MAX));
    let toy = Toy {
        issue: Some(Arc::new(move |now, _: &WarpView<'_>, what: &Issuing<'_>| match what {
            Issuing::Program(inst) if inst.pc == 1 => {
                let asked = first.fetch_min(now, Ordering::Relaxed).min(now);
                if now < asked + 30 { IssueVerdict::Stall(0) } else { IssueVerdict::Issue }
            }
            _ => IssueVerdict::Issue,
        })),
        ..toy(|hooks| hooks.issue = true)
    };
    let stats = run(&hand, &toy);
    assert_eq!(cycles(&stats) - cycles(&plain), 30);
    assert_eq!(stats.techniques[0].ledger.stalls, [30, 0]);
    assert_eq!(stats.stalls.get(Stall::Technique), 30);
}

#[test]
fn a_technique_may_choose_another_of_the_ready_warps() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let seen = order.clone();
    let toy = Toy {
        order: Some(Arc::new(|ready: u64| 63 - ready.leading_zeros() as u8)),
        issued: Some(Arc::new(move |_: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>| {
            if let Issuing::Program(inst) = what
                && inst.pc == 0
            {
                seen.lock().expect("one thread").push(warp.warp);
            }
        })),
        ..toy(|hooks| {
            hooks.order = true;
            hooks.issue = true;
        })
    };
    run(&warps(128), &toy);
    let last = order.lock().expect("one thread").last().copied();
    assert_eq!(last, Some(0), "the highest ready slot always goes first");
}

#[test]
fn blocks_and_warps_begin_when_they_are_admitted() {
    let mut hand = warps(64);
    hand = by_hand(hand.kernel.clone(), 4, 64);
    let none = Toy { admits: Some(Arc::new(|_, _| true)), ..toy(|hooks| hooks.admission = true) };
    assert_eq!(run(&hand, &none).counters, plain(&hand).counters);
    let late = Toy {
        admits_warp: Some(Arc::new(|now, warp| warp == 0 || now >= 500)),
        ..toy(|hooks| hooks.admission = true)
    };
    assert!((500..600).contains(&cycles(&run(&hand, &late))), "the second warps begin late");
    let never = Toy { admits: Some(Arc::new(|_, block| block < 2)), ..toy(|hooks| hooks.admission = true) };
    let why = run_on(&hand, &never, &[]).expect_err("two blocks never run").to_string();
    assert!(why.contains("no instruction issued"), "{why}");
}

#[test]
fn a_stage_of_its_own_runs_every_cycle_and_a_companion_takes_free_slots() {
    let hand = chain(8);
    let plain = plain(&hand);
    let ticks = Arc::new(AtomicU64::new(0));
    let counted = ticks.clone();
    let toy = Toy {
        tick: Some(Arc::new(move |_: &mut Cx<'_>| {
            counted.fetch_add(1, Ordering::Relaxed);
        })),
        prepare: Some(Arc::new(|plan: &mut Plan| {
            plan.micro_op(MicroOp::in_unit("affine", 0, "int", 8));
        })),
        companion: Some(Arc::new(|now| (now == 70).then_some(MicroId(0)))),
        ..toy(|hooks| {
            hooks.tick = true;
            hooks.companion = true;
        })
    };
    let stats = run(&hand, &toy);
    assert_eq!(cycles(&stats), cycles(&plain));
    assert!(ticks.load(Ordering::Relaxed) >= cycles(&plain));
    assert_eq!(stats.counters.companion_instructions, 1);
    assert_eq!(stats.stalls.get(Stall::Issued), plain.stalls.get(Stall::Issued) + 1);
    assert_eq!(stats.stalls.total(), plain.stalls.total());
    assert!(toy.noted().contains(&"companion until 78".into()));
}

#[test]
fn two_level_scheduling_turns_to_others_when_a_technique_holds_the_active_set() {
    let set = ["scheduler.policy=two_level", "scheduler.two_level_active_warps=2"];
    let hand = warps(128);
    // Warps 0 and 1 wait until both others have ended.
    let ended = Arc::new(AtomicU64::new(0));
    let holding = |ended: Arc<AtomicU64>, wanted: u64| {
        let count = ended.clone();
        Toy {
            issue: Some(Arc::new(move |_, warp: &WarpView<'_>, _: &Issuing<'_>| {
                if warp.warp < 2 && ended.load(Ordering::Relaxed) < wanted {
                    IssueVerdict::Stall(1)
                } else {
                    IssueVerdict::Issue
                }
            })),
            issued: Some(Arc::new(move |_: &mut Cx<'_>, _: &WarpView<'_>, what: &Issuing<'_>| {
                if let Issuing::Program(inst) = what
                    && inst.pc == 6
                {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            })),
            ..toy(|hooks| {
                hooks.issue = true;
                hooks.order = true;
            })
        }
    };
    let toy = holding(ended, 2);
    let stats = run_on(&hand, &toy, &set).expect("the pending warps get their turn");
    assert_eq!(stats.counters.warps, 4);
    let noted = toy.noted();
    assert!(
        noted.contains(&"warp 0 inactive".into()) && noted.contains(&"warp 3 active".into()),
        "{noted:?}"
    );
    // A wait that never ends is a deadlock; the report names the holder.
    let stuck = holding(Arc::default(), 3);
    let why = run_on(&hand, &stuck, &set).expect_err("a deadlock").to_string();
    assert!(
        why.contains("no instruction issued") && why.contains("technique toy: warp 0 has the only toy"),
        "{why}"
    );
}

#[test]
fn two_level_scheduling_turns_to_others_when_a_technique_holds_the_fetch_of_the_active_set() {
    let hand = warps(128);
    // No warp fetches instruction 3 before all four have issued instruction 2.
    let come = Arc::new(AtomicU64::new(0));
    let seen = come.clone();
    let toy = Toy {
        fetch: Some(Arc::new(move |_, pc| match pc {
            3 if seen.load(Ordering::Relaxed) < 4 => FetchVerdict::Stall(1),
            _ => FetchVerdict::Fetch,
        })),
        issued: Some(Arc::new(move |_: &mut Cx<'_>, _: &WarpView<'_>, what: &Issuing<'_>| {
            if let Issuing::Program(inst) = what
                && inst.pc == 2
            {
                come.fetch_add(1, Ordering::Relaxed);
            }
        })),
        ..toy(|hooks| {
            hooks.fetch = true;
            hooks.issue = true;
            hooks.order = true;
        })
    };
    let set = ["scheduler.policy=two_level", "scheduler.two_level_active_warps=1"];
    let stats = run_on(&hand, &toy, &set).expect("the pending warps get their turn");
    assert_eq!(stats.counters.warps, 4);
    let noted = toy.noted();
    assert!(noted.contains(&"warp 0 inactive".into()), "{noted:?}");
}
