//! A toy technique for every hook and every answer, with the cycles that each must cost.
//!
//! Kernels are short, the SM is small, and each test also measures the cycles without techniques: it asserts
//! the difference.

mod front;
mod memory;
mod operands;
mod proofs;
mod scouts;
mod toy;

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use toy::*;

#[test]
fn accounts_that_do_not_balance_stop_the_run() {
    for (opportunities, lost, fine) in [(3, 3, true), (3, 2, false), (2, 3, false)] {
        let counted = AtomicU64::new(0);
        let toy = Toy {
            issued: Some(Arc::new(move |cx: &mut Cx<'_>, _: &WarpView<'_>, _: &Issuing<'_>| {
                if counted.fetch_add(1, Ordering::Relaxed) == 0 {
                    cx.opportunity(opportunities);
                    cx.lost(Loss::Lost, lost);
                }
            })),
            ..toy(|hooks| hooks.issue = true)
        };
        let outcome = run_on(&chain(1), &toy, &[]);
        assert_eq!(outcome.is_ok(), fine, "{opportunities} opportunities, {lost} lost");
        if let Err(why) = outcome {
            assert!(why.to_string().contains("accounts must balance"), "{why}");
        }
    }
}

#[test]
fn asked_at_every_hook_and_changing_nothing_is_the_plain_machine() {
    let every = toy(|hooks| {
        *hooks = Hooks::all();
        hooks.tick = false;
    });
    for hand in [chain(9), two_loads(), warps(128)] {
        for set in [&[][..], &["scheduler.policy=two_level"]] {
            let (with, plain) = (run_on(&hand, &every, set).expect("runs"), plain_on(&hand, set));
            assert_eq!(with.counters, plain.counters);
            assert_eq!(with.stalls, plain.stalls);
            assert_eq!(with.latency.to_json(), plain.latency.to_json());
        }
    }
}
