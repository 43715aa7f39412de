//! Random divergent warps that share a pool, without a pipeline; seeded faults.

use super::code::verify;
use super::*;
use crate::testing::{Random, count, program};
use live::Live;
use proptest::prelude::*;
use warplab_technique_kit::crew::{Crew, one_block};

/// A technique with a split of its own, beside its plan.
fn shared(program: &Program, set: &[&str]) -> Option<(RegMutex, Plan)> {
    let config = config(set);
    let empty = toml::Table::new();
    let mut regmutex = RegMutex::new(config.technique.get("regmutex").unwrap_or(&empty)).expect("a section");
    let mut plan = Plan::of(program);
    regmutex.prepare(&launch(program, &config), &mut plan).expect("prepares");
    plan.finish();
    regmutex.split.is_some().then_some((regmutex, plan))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// For any split, the code is right on every path, and random divergent warps that share one or two sections
    /// get their own values and come to an end.
    #[test]
    fn random_divergent_warps_share_a_pool(seed: u64, size in 1u32..20, sections in 1u32..4, barriers: bool) {
        let mut random = Random::new(seed, 8);
        let mut text = random.listing();
        if barriers {
            text = text.replace("nop", "bar rz");
        }
        let program = program(&text, &config(&[]));
        let all = program.registers_per_thread;
        let live = Live::of(&program);
        if let Some(base) = all.checked_sub(size).filter(|base| *base > 0)
            && let Some(code) = compile::compile(&program, &live, base, all)
        {
            verify(&program, &live, &code, base);
        }
        let set = [format!("technique.regmutex.es={size}"), format!("technique.regmutex.sections={sections}")];
        let Some((mut regmutex, plan)) = shared(&program, &set.each_ref().map(String::as_str)) else {
            return Ok(());
        };
        for _ in 0..2 {
            let mut crew = Crew::new(&program, &plan, &one_block(&[0, 1, 5, 17]), &mut regmutex);
            prop_assert_eq!(crew.run(&mut regmutex, &mut random), Ok(()));
        }
        prop_assert_eq!(regmutex.pool().taken(), 0, "every section is free at the end");
        prop_assert_eq!(
            count(&regmutex, "acquires"),
            count(&regmutex, "releases") + count(&regmutex, "releases_at_exit")
        );
    }
}

/// A kernel with two peaks of seven values, beside a base set of four; three values move behind the first one,
/// and lanes that p0 skips wait at the end of the second one.
const PEAKS: &str = "mov r0 0
    mov r1 1
    mov r2 2
    mov r3 3
    mov r4 4
    mov r5 5
    mov r6 6
    imad r1 r1 r2 r3
    stg r0 r1
    imad r4 r4 r5 r6
    mov r0 7
    mov r1 8
    @p0 bra 21
    mov r2 2
    mov r3 3
    mov r5 5
    mov r6 6
    imad r2 r2 r3 r5
    imad r6 r6 r5 r4
    stg r0 r2
    imad r4 r6 r6 r4
    stg r0 r4
    exit";

/// Runs four warps over the two peaks with a damaged technique; whether a value check finds it.
fn found_with(damage: impl Fn(&mut RegMutex, &mut Plan)) -> bool {
    found_during(damage, |_, _| {})
}

/// As [`found_with`], with damage before every turn.
fn found_during(damage: impl Fn(&mut RegMutex, &mut Plan), before: impl Fn(&mut RegMutex, usize)) -> bool {
    let program = program(PEAKS, &config(&[]));
    let set = ["technique.regmutex.es=4", "technique.regmutex.sections=3"];
    (0..40u64).any(|seed| {
        let (mut regmutex, mut plan) = shared(&program, &set).expect("an extended set");
        damage(&mut regmutex, &mut plan);
        let mut random = Random::new(seed, 8);
        let mut crew = Crew::new(&program, &plan, &one_block(&[0, 1, 2, 3]), &mut regmutex);
        (0..400).any(|turn| {
            before(&mut regmutex, turn);
            crew.step(&mut regmutex, turn % 4, &mut random).is_err()
        })
    })
}

/// A plan whose micro-operations were changed.
fn edited(plan: &Plan, edit: impl Fn(usize, &MicroOp) -> Vec<MicroOp>) -> Plan {
    let program = program(PEAKS, &config(&[]));
    let mut changed = Plan::of(&program);
    changed.rename(plan.renamed().to_vec());
    for (index, inserted) in plan.inserted().iter().enumerate() {
        for op in edit(index, &plan.micro_ops()[usize::from(inserted.op.0)].1) {
            let id = changed.micro_op(op);
            changed.insert(inserted.before, inserted.edge, id);
        }
    }
    changed.finish();
    changed
}

#[test]
fn seeded_faults_are_found_by_their_values() {
    assert!(!found_with(|_, _| {}), "without a fault, values agree");
    let program = program(PEAKS, &config(&[]));
    let (regmutex, plan) = shared(&program, &["technique.regmutex.es=4"]).expect("an extended set");
    let base = regmutex.split.expect("split").base as u8;
    let kinds: Vec<u32> =
        plan.inserted().iter().map(|op| plan.micro_ops()[usize::from(op.op.0)].1.tag & 0xFF).collect();
    let first = |kind: u32| kinds.iter().position(|other| *other == kind).expect("there is one");
    let change =
        |edit: &dyn Fn(usize, &MicroOp) -> Vec<MicroOp>| found_with(|_, plan| *plan = edited(plan, edit));
    let drop_at = |gone: usize| {
        change(&move |index, op: &MicroOp| if index == gone { vec![] } else { vec![op.clone()] })
    };
    assert!(drop_at(first(ACQUIRE)), "1: a missing acquire");
    assert!(drop_at(first(MOVE)), "2: a missing move");
    let moved = first(MOVE);
    let redirected = |edit: fn(u8, u8) -> (u8, u8)| {
        change(&move |index, op: &MicroOp| {
            let [from, to] = [op.tag >> 8, op.tag >> 16].map(|register| register as u8);
            let (from, to) = edit(from, to);
            let wrong = MicroOp::in_unit("move", move_tag(from, to), "int", 4).with_registers(&[from], &[to]);
            vec![if index == moved { wrong } else { op.clone() }]
        })
    };
    assert!(redirected(|from, to| (from, (to + 1) % 4)), "3: a move to a register of another value");
    assert!(redirected(|from, to| (from ^ 1, to)), "4: a move of another value");
    assert!(redirected(|from, to| (to, from)), "5: a move backwards");
    let early = |op: &MicroOp| vec![MicroOp::marker("release", RELEASE), op.clone()];
    assert!(
        change(&move |index, op| if index == moved { early(op) } else { vec![op.clone()] }),
        "6: an early release"
    );
    let right_after = first(ACQUIRE);
    assert!(
        change(&move |index, op| {
            let release = (index == right_after).then(|| MicroOp::marker("release", RELEASE));
            std::iter::once(op.clone()).chain(release).collect()
        }),
        "7: a release right behind its acquire"
    );
    let extended_source = |renamed: &[Renaming]| {
        renamed.iter().position(|one| one.sources.iter().any(|register| *register >= base)).expect("one")
    };
    assert!(
        found_with(|regmutex, _| {
            let at = extended_source(&regmutex.renamed);
            regmutex.renamed[at]
                .sources
                .iter_mut()
                .for_each(|register| *register ^= u8::from(*register >= base));
        }),
        "8: another register of the section"
    );
    assert!(found_with(|regmutex, _| regmutex.renamed[8].sources.swap(0, 1)), "9: two operands exchanged");
    assert!(
        found_with(|regmutex, _| {
            let to = regmutex.renamed.iter_mut().find(|one| one.destinations[0] >= base).expect("one");
            to.destinations[0] -= base;
        }),
        "10: a result in the base set instead of the section"
    );
    assert!(
        found_during(|_, _| {}, |regmutex, _| regmutex.pool_mut().share_sections()),
        "11: two warps with one section"
    );
    assert!(
        found_during(|_, _| {}, |regmutex, _| regmutex.pool_mut().forget_lanes(0x00FF_0000)),
        "12: lanes that the status mask lacks"
    );
    assert!(
        found_during(
            |_, _| {},
            |regmutex, turn| {
                if turn == 60 {
                    regmutex.pool_mut().take_sections();
                }
            }
        ),
        "13: a section that is taken from its warp"
    );
    assert!(
        found_during(
            |_, _| {},
            |regmutex, turn| if turn == 40 {
                regmutex.pool_mut().swap_lanes();
            }
        ),
        "14: two lanes exchanged in the base set"
    );
}

#[test]
fn a_nested_acquire_does_nothing_and_lanes_set_aside_keep_the_section() {
    let program = program(PEAKS, &config(&[]));
    let (mut regmutex, plan) =
        shared(&program, &["technique.regmutex.es=4", "technique.regmutex.sections=1"]).expect("a set");
    let mut crew = Crew::new(&program, &plan, &one_block(&[0, 1]), &mut regmutex);
    let tell = |crew: &mut Crew<'_>, regmutex: &mut RegMutex, index: usize, lanes: u32, tag: u32| {
        crew.with(index, lanes, |cx, warp| regmutex.carry_out(cx, warp, tag));
    };
    let waits = |crew: &mut Crew<'_>, regmutex: &RegMutex, index: usize, tag: u32| {
        let op = MicroOp::marker("test", tag);
        let what = Issuing::Micro(MicroId(0), &op);
        crew.with(index, u32::MAX, |_, warp| regmutex.issue(0, warp, &what)) != IssueVerdict::Issue
    };
    tell(&mut crew, &mut regmutex, 0, 0xFF, ACQUIRE);
    assert!(!waits(&mut crew, &regmutex, 0, ACQUIRE), "the warp has its section");
    assert!(waits(&mut crew, &regmutex, 1, ACQUIRE), "the other warp waits");
    tell(&mut crew, &mut regmutex, 0, 0xFF00, ACQUIRE);
    assert_eq!((count(&regmutex, "acquires"), count(&regmutex, "nested_acquires")), (1, 1));
    tell(&mut crew, &mut regmutex, 0, 0xFF, RELEASE);
    assert!(waits(&mut crew, &regmutex, 1, ACQUIRE), "lanes set aside still have values in it");
    tell(&mut crew, &mut regmutex, 0, 0xFF, RELEASE);
    assert_eq!((count(&regmutex, "releases"), count(&regmutex, "nested_releases")), (0, 2));
    // The lanes set aside exit: the warp's next instruction finds the section unused.
    crew.warps[0].alive = 0xFF;
    tell(&mut crew, &mut regmutex, 0, 0xFF, RELEASE);
    assert_eq!(regmutex.pool().taken(), 0);
    assert!(!waits(&mut crew, &regmutex, 1, ACQUIRE));
    // A warp that ends with its section gives it back.
    tell(&mut crew, &mut regmutex, 1, u32::MAX, ACQUIRE);
    crew.with(1, 0, |cx, _| regmutex.end_warp(cx, 1));
    assert_eq!((regmutex.pool().taken(), count(&regmutex, "releases_at_exit")), (0, 1));
}
