//! Tests of hooks of memory accesses: reuse, satisfied accesses, followers, partial lanes, and early loads.

use super::toy::*;
use crate::testing::{Builder, by_hand, r};
use crate::*;
use std::sync::{Arc, Mutex};
use trace_format::isa::SpecialReg;
use warplab_model::stats::Stats;
use warplab_technique::program::Path;

#[test]
fn a_reused_load_makes_no_access_and_takes_the_cycles_that_it_says() {
    let mut b = Builder::default();
    b.mov(4, 0).mov(5, 0).ldg(6, 4, 0);
    b.iadd(7, r(6), r(6), r(6));
    let hand = by_hand(b.exit(), 1, 32);
    let of = |after_cycles| {
        let toy = Toy {
            issue: Some(Arc::new(move |_, _: &WarpView<'_>, what: &Issuing<'_>| match what {
                Issuing::Program(inst) if matches!(inst.inst.path, Path::Memory(_)) => {
                    IssueVerdict::Reuse { after_cycles }
                }
                _ => IssueVerdict::Issue,
            })),
            answer: Some(Arc::new(|result: &RegisterWrite<'_>| Some(*result.row()))),
            ..toy(|hooks| hooks.issue = true)
        };
        run(&hand, &toy)
    };
    let (soon, late) = (of(1), of(25));
    assert_eq!(cycles(&late) - cycles(&soon), 24);
    let c = &soon.counters;
    assert_eq!((c.reused_instructions, c.global_loads, c.coalesced_accesses, c.l1_accesses), (1, 0, 0, 0));
    assert_eq!(c.operand_reads, plain(&hand).counters.operand_reads - 2);
}

fn answering(
    access: impl Fn(&mut Cx<'_>, &InstView<'_>, &MemAccess<'_>, &mut Storage) -> AccessVerdict
    + Send
    + Sync
    + 'static,
) -> Toy {
    Toy {
        access: Some(Arc::new(access)),
        answer: Some(Arc::new(|result: &RegisterWrite<'_>| Some(*result.row()))),
        ..toy(|hooks| hooks.access = true)
    }
}

#[test]
fn a_satisfied_access_never_reaches_memory() {
    let hand = two_loads();
    let plain = plain(&hand);
    let asked = toy(|hooks| hooks.access = true);
    assert_eq!(run(&hand, &asked).counters, plain.counters, "asked, and everything goes to memory");
    let toy = answering(|cx, inst, access, storage| {
        assert_eq!(access.mask, u32::MAX);
        match inst.pc {
            3 => AccessVerdict::Satisfied(storage.read(cx.cycle, 0)),
            _ => AccessVerdict::Access,
        }
    });
    let stats = run(&hand, &toy);
    let c = &stats.counters;
    assert_eq!((c.satisfied_accesses, c.global_loads, c.global_stores), (1, 1, 1));
    assert_eq!(c.l1_accesses, plain.counters.l1_accesses - 1);
    assert!(toy.noted().contains(&format!("answered 3 {:?}", Answered::Memory(u32::MAX))));
}

#[test]
fn an_access_behind_another_completes_with_it() {
    let first = Arc::new(Mutex::new(None));
    let toy = |cycles| {
        let first = first.clone();
        answering(move |_, inst, _, _| match inst.pc {
            2 => {
                *first.lock().expect("one thread") = Some(inst.id);
                AccessVerdict::Access
            }
            3 => AccessVerdict::After(first.lock().expect("one thread").expect("seen before"), cycles),
            _ => AccessVerdict::Access,
        })
    };
    let of = |cycles| run(&two_loads(), &toy(cycles));
    let (with, later) = (of(0), of(50));
    assert_eq!(later.counters.cycles - with.counters.cycles, 50);
    assert_eq!((with.counters.satisfied_accesses, with.counters.global_loads), (1, 1));
    // The first load alone takes as long.
    let mut b = Builder::default();
    b.mov(4, 0).mov(5, 0).ldg(6, 4, 0).mov(8, 1).iadd(9, r(6), r(8), r(8)).stg(4, 9, 8192);
    let alone = plain(&by_hand(b.exit(), 1, 32));
    assert_eq!(with.counters.cycles, alone.counters.cycles);
}

#[test]
fn an_access_in_some_lanes_makes_the_requests_of_those_alone() {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).shl(4, 0, 7).mov(5, 0).ldg(6, 4, 0).iadd(7, r(6), r(6), r(6));
    let hand = by_hand(b.exit(), 1, 32);
    assert_eq!(plain(&hand).counters.coalesced_accesses, 32, "a line per lane");
    let toy = answering(|_, _, _, _| AccessVerdict::Lanes(0xFF));
    let stats = run(&hand, &toy);
    assert_eq!((stats.counters.coalesced_accesses, stats.counters.satisfied_accesses), (8, 0));
    assert_eq!(stats.counters.checked_values, 1);
}

/// A load late enough for a prefetch to arrive before it, and a prefetch of the first line when the first instruction issues.
fn prefetching(lines: u32, wanted: u64, delay: u32) -> (Stats, Vec<String>) {
    let mut b = Builder::default();
    b.mov(4, 0).mov(5, 0).mov(6, 0);
    for _ in 0..delay {
        b.iadd(6, r(6), r(6), r(6));
    }
    b.value_after(5, 6, 0).ldg(7, 4, 0).iadd(8, r(7), r(7), r(7));
    let toy = Toy {
        prepare: Some(Arc::new(move |plan: &mut Plan| plan.prefetch_buffer_lines = lines)),
        issued: Some(Arc::new(move |cx: &mut Cx<'_>, _: &WarpView<'_>, what: &Issuing<'_>| {
            if let Issuing::Program(inst) = what
                && inst.pc == 0
            {
                for line in 0..wanted {
                    cx.load_early(EarlyLoad::new(line * 128, 15, line as u32).into_buffer());
                }
            }
        })),
        ..toy(|hooks| hooks.issue = true)
    };
    let stats = run(&by_hand(b.exit(), 1, 32), &toy);
    let fates = toy.noted().into_iter().filter(|line| line.starts_with("prefetch")).collect();
    (stats, fates)
}

#[test]
fn a_prefetched_line_waits_in_its_buffer_and_goes_to_l1_with_its_first_use() {
    let (none, _) = prefetching(4, 0, 200);
    let (used, fates) = prefetching(4, 1, 200);
    assert_eq!(fates, ["prefetch 0 Arrived", "prefetch 0 Used"]);
    assert_eq!((used.counters.prefetch_requests, used.counters.prefetch_hits), (1, 1));
    assert_eq!((used.counters.l1_hits, used.counters.l1_misses), (1, 0), "{:?}", used.counters);
    assert_eq!((none.counters.l1_hits, none.counters.l1_misses), (0, 1));
    assert!(cycles(&used) + 100 < cycles(&none));
    // A load that comes too early waits for the line, which goes to L1.
    let (late, fates) = prefetching(4, 1, 2);
    assert_eq!(fates, ["prefetch 0 Late"]);
    assert_eq!((late.counters.l1_merges, late.counters.l1_misses, late.counters.prefetch_hits), (1, 0, 0));
    // A buffer of two lines loses the oldest.
    let (lost, fates) = prefetching(2, 3, 200);
    let evicted = ["prefetch 0 Arrived", "prefetch 1 Arrived", "prefetch 0 Evicted", "prefetch 2 Arrived"];
    assert_eq!((fates, lost.counters.prefetch_hits), (evicted.map(str::to_owned).to_vec(), 0));
    assert_eq!(lost.counters.l1_misses, 1);
}

#[test]
fn an_early_load_fills_l1_and_its_line_stays_while_it_is_locked() {
    // Lines 4 KiB apart fall into one set of a linear cache of 32 sets; gtx480 has four ways.
    let set = ["l1.set_hash=linear"];
    let mut b = Builder::default();
    b.mov(4, 0).mov(5, 0);
    for i in 1..7 {
        b.ldg(6, 4, i * 4096).iadd(7, r(6), r(6), r(6));
    }
    b.ldg(8, 4, 0).iadd(9, r(8), r(8), r(8));
    let hand = by_hand(b.exit(), 1, 32);
    let plain = plain_on(&hand, &set);
    let early = |lock: bool, wanted: bool| Toy {
        issued: Some(Arc::new(move |cx: &mut Cx<'_>, _: &WarpView<'_>, what: &Issuing<'_>| {
            if let Issuing::Program(inst) = what
                && inst.pc == 0
                && wanted
            {
                let load = EarlyLoad::new(0, 15, 77);
                cx.load_early(if lock { load.locked() } else { load });
            }
        })),
        ..toy(|hooks| hooks.issue = true)
    };
    let of = |toy: &Toy| run_on(&hand, toy, &set).expect("runs").counters.l1_hits;
    assert_eq!(of(&early(true, false)), plain.counters.l1_hits);
    assert_eq!(of(&early(false, true)), plain.counters.l1_hits, "six other lines drive it out");
    let locked = early(true, true);
    assert_eq!(of(&locked), plain.counters.l1_hits + 1);
    assert!(locked.noted().contains(&"loaded 77, locked true".into()));
}
