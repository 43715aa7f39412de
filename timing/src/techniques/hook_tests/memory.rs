//! Tests of hooks of memory accesses: reuse, satisfied accesses, followers, partial lanes, and early loads.

use super::toy::*;
use crate::program::Path;
use crate::techniques::*;
use crate::testing::{Builder, Hand, r};
use std::sync::{Arc, Mutex};
use trace_format::isa::SpecialReg;

#[test]
fn a_reused_load_makes_no_access_and_takes_the_cycles_that_it_says() {
    let mut b = Builder::default();
    b.mov(4, 0).mov(5, 0).ldg(6, 4, 0);
    b.iadd(7, r(6), r(6), r(6));
    let hand = Hand::new(b.exit(), 1, 32);
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
    let alone = plain(&Hand::new(b.exit(), 1, 32));
    assert_eq!(with.counters.cycles, alone.counters.cycles);
}

#[test]
fn an_access_in_some_lanes_makes_the_requests_of_those_alone() {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).shl(4, 0, 7).mov(5, 0).ldg(6, 4, 0).iadd(7, r(6), r(6), r(6));
    let hand = Hand::new(b.exit(), 1, 32);
    assert_eq!(plain(&hand).counters.coalesced_accesses, 32, "a line per lane");
    let toy = answering(|_, _, _, _| AccessVerdict::Lanes(0xFF));
    let stats = run(&hand, &toy);
    assert_eq!((stats.counters.coalesced_accesses, stats.counters.satisfied_accesses), (8, 0));
    assert_eq!(stats.counters.checked_values, 1);
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
    let hand = Hand::new(b.exit(), 1, 32);
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
