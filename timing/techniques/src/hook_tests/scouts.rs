//! Tests of scouts, and of warps that are stalled until they are woken.

use super::toy::*;
use crate::*;
use std::sync::{Arc, Mutex};
use warplab_model::stats::Stall;

type Seen = Arc<Mutex<Vec<(u32, u32)>>>;

/// Sends the scout of warp 0 to the end of its path in cycle 70, when the warp itself has issued little.
fn scouting(what: Scouting, seen: &Seen, last: &Arc<Mutex<Option<u32>>>) -> Toy {
    let (seen, last) = (seen.clone(), last.clone());
    Toy {
        prepare: Some(Arc::new(move |plan: &mut Plan| plan.scouting = plan.scouting.or(what))),
        tick: Some(Arc::new(move |cx: &mut Cx<'_>| {
            if cx.cycle != 70 {
                return;
            }
            let Some(scouts) = cx.scouts() else { return };
            while let Some((pc, active)) = scouts.next(0) {
                let step = scouts.step(0).expect("not at its end");
                assert_eq!((step.pc, step.active), (pc, active));
                seen.lock().expect("no test thread panics").push((step.pc, step.exec));
                *last.lock().expect("no test thread panics") = scouts.rows(0).get(3).map(|row| row.0[31]);
            }
            assert_eq!(scouts.step(0), None, "at its end");
        })),
        ..toy(|hooks| hooks.tick = true)
    }
}

#[test]
fn a_scout_runs_ahead_of_its_warp_and_changes_nothing() {
    let hand = chain(8);
    for what in [Scouting::Paths, Scouting::Values] {
        let (seen, last) = (Seen::default(), Arc::default());
        let stats = run(&hand, &scouting(what, &seen, &last));
        assert_eq!(stats.counters.values(), plain(&hand).counters.values());
        // Two moves, eight sums and the exit; the sums count up by 12.
        let expected: Vec<(u32, u32)> = (0..11).map(|pc| (pc, u32::MAX)).collect();
        assert_eq!(*seen.lock().expect("no test thread panics"), expected);
        if what == Scouting::Values {
            assert_eq!(*last.lock().expect("no test thread panics"), Some(8 * 12));
        }
    }
}

#[test]
fn there_are_no_scouts_unless_a_plan_asks_for_them() {
    let (seen, last) = (Seen::default(), Arc::default());
    run(&chain(8), &scouting(Scouting::None, &seen, &last));
    assert!(seen.lock().expect("no test thread panics").is_empty());
    assert_eq!(Scouting::Paths.or(Scouting::Values), Scouting::Values);
    assert_eq!(Scouting::None.or(Scouting::Paths), Scouting::Paths);
}

/// Stalls warp 1 before cycle 400, and wakes it then if it sleeps.
fn stalling(wakes: bool, wakes_at: u64) -> Toy {
    Toy {
        issue: Some(Arc::new(|now, warp: &WarpView<'_>, _: &Issuing<'_>| {
            if warp.warp == 1 && now < 400 { IssueVerdict::Stall(1) } else { IssueVerdict::Issue }
        })),
        tick: Some(Arc::new(move |cx: &mut Cx<'_>| {
            if wakes && cx.cycle == wakes_at {
                cx.wake(1);
            }
        })),
        ..toy(|hooks| {
            (hooks.issue, hooks.tick, hooks.wakes) = (true, true, wakes);
        })
    }
}

#[test]
fn a_warp_that_sleeps_counts_like_one_that_is_asked_about_in_every_cycle() {
    let hand = warps(64);
    for set in [&[][..], &["scheduler.policy=two_level", "scheduler.two_level_active_warps=1"]] {
        let of = |toy: &Toy| run_on(&hand, toy, set).unwrap_or_else(|why| panic!("{why}"));
        let (asked, woken) = (of(&stalling(false, 400)), of(&stalling(true, 400)));
        assert_eq!(asked.counters.values(), woken.counters.values());
        assert_eq!(asked.stalls, woken.stalls);
        assert_eq!(asked.techniques[0].ledger, woken.techniques[0].ledger);
        assert!(woken.stalls.get(Stall::Technique) > 0);
        let late = of(&stalling(true, 410));
        assert_eq!(cycles(&late), cycles(&woken) + 10, "it sleeps until it is woken");
    }
}
