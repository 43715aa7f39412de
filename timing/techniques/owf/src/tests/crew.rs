//! Random divergent warps of blocks that share registers, without a pipeline; seeded faults.

use super::*;
use crate::testing::Random;
use proptest::prelude::*;
use warplab_technique::Row;
use warplab_technique_kit::crew::{Crew, Seat};

/// Three blocks of two warps each beside one with which the first shares registers.
const SEATS: [(usize, usize, u32); 8] =
    [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1), (4, 2, 0), (5, 2, 1), (6, 3, 0), (7, 3, 1)];

fn seats() -> Vec<Seat> {
    SEATS
        .iter()
        .map(|(slot, block_slot, warp)| Seat { slot: *slot, block_slot: *block_slot, warp: *warp })
        .collect()
}

/// The technique for a program whose blocks of two warps share all but `private` registers, by `further` pairs.
fn shared(program: &Program, private: u32, further: u32, set: &[&str]) -> (Owf, Plan) {
    let config = config(set);
    let empty = toml::Table::new();
    let mut owf = Owf::new(config.technique.get("owf").unwrap_or(&empty)).expect("a section");
    let mut plan = Plan::of(program);
    let launch = Launch::new(program, &config, [8, 1, 1], [64, 1, 1]);
    owf.set_up(&launch, &mut plan, Sharing { own: 4 - further, further, private });
    plan.finish();
    (owf, plan)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// For any threshold, random divergent warps of paired blocks get their own values and come to an end.
    #[test]
    fn random_divergent_warps_share_registers(seed: u64, private in 0u32..20, further in 1u32..3, ideal: bool, reorder: bool) {
        let mut random = Random::new(seed, 8);
        let program = program(&random.listing(), &config(&[]));
        let set = [format!("technique.owf.ideal={ideal}"), format!("technique.owf.reorder={reorder}")];
        let (mut owf, plan) = shared(&program, private, further, &set.each_ref().map(String::as_str));
        for _ in 0..2 {
            let mut crew = Crew::new(&program, &plan, &seats(), &mut owf);
            prop_assert_eq!(crew.run(&mut owf, &mut random), Ok(()));
        }
        prop_assert_eq!(owf.locks().taken(), 0, "every lock is free at the end");
        prop_assert_eq!(owf.owners, 0);
        prop_assert_eq!(count(&owf, "acquires"), count(&owf, "releases"));
    }
}

/// Seven values, of which three are private; lanes that p0 skips read shared registers too.
const VALUES: &str = "mov r0 0
    mov r1 1
    mov r2 2
    mov r3 3
    mov r4 4
    mov r5 5
    mov r6 6
    imad r1 r1 r2 r3
    stg r0 r1
    @p0 bra 14
    imad r2 r2 r3 r5
    imad r6 r6 r5 r4
    @p3 mov r5 9
    stg r0 r2
    imad r4 r6 r5 r4
    imad r3 r2 r1 r3
    stg r0 r4
    stg r0 r3
    exit";

/// Whether a value check finds damage done before the turns of eight warps.
fn found(damage: impl Fn(&mut Owf, usize)) -> bool {
    let program = program(VALUES, &config(&[]));
    (0..60u64).any(|seed| {
        let (mut owf, plan) = shared(&program, 3, 2, &[]);
        let mut random = Random::new(seed, 8);
        let mut crew = Crew::new(&program, &plan, &seats(), &mut owf);
        (0..600).any(|turn| {
            damage(&mut owf, turn);
            crew.step(&mut owf, turn % 8, &mut random).is_err()
        })
    })
}

/// As [`found`], with damage before the first turn only.
fn found_with(damage: impl Fn(&mut Owf)) -> bool {
    found(|owf, turn| {
        if turn == 0 {
            damage(owf);
        }
    })
}

#[test]
fn seeded_faults_are_found_by_their_values() {
    assert!(!found(|_, _| {}), "without a fault, values agree");
    let locks = |owf: &mut Owf, change: &dyn Fn(&mut Locks)| change(owf.locks_mut());
    assert!(found_with(|owf| owf.renamed[7].sources.swap(0, 1)), "1: two operands exchanged");
    assert!(found_with(|owf| owf.renamed[4].destinations[0] = 5), "2: two registers with one number");
    assert!(found_with(|owf| owf.renamed[10].sources[2] = 6), "3: an operand of another shared register");
    assert!(found_with(|owf| owf.renamed[7].destinations[0] = 0), "4: a result in another private register");
    assert!(found_with(|owf| owf.renamed[11].destinations[0] = 1), "5: a shared result in the private part");
    assert!(
        found(|owf, turn| if turn == 60 {
            locks(owf, &|l| l.move_border(4));
        }),
        "6: a border moved"
    );
    assert!(
        found(|owf, turn| if turn == 60 {
            locks(owf, &|l| l.exchange_locks(1));
        }),
        "7: locks exchanged"
    );
    assert!(
        found(|owf, turn| if turn == 60 {
            locks(owf, &Locks::take_locks);
        }),
        "8: locks taken from owners"
    );
    assert!(found(|owf, turn| locks(owf, &|l| l.seize(turn % 8))), "9: two owners of one lock");
    assert!(found_with(|owf| owf.touches.fill(false)), "10: accesses that ask for no lock");
    let at_60 = |change: &dyn Fn(&mut Locks)| {
        found(|owf, turn| {
            if turn == 60 {
                locks(owf, change);
            }
        })
    };
    assert!(
        at_60(&|l| l.damage_shared(|row| row.0.swap(3, 4))),
        "11: two lanes of shared registers exchanged"
    );
    assert!(at_60(&|l| l.damage_own(|row| row.0.swap(3, 4))), "12: two lanes of private registers exchanged");
    assert!(at_60(&|l| l.damage_shared(|row| *row = Row::ZERO)), "13: shared registers lost");
    assert!(at_60(&|l| l.contents().swap(0, 1)), "14: shared registers of two locks exchanged");
    assert!(at_60(&|l| l.contents()[2].swap(0, 1)), "15: two shared registers exchanged");
    let old = std::cell::RefCell::new(Vec::new());
    assert!(
        found(|owf, turn| match turn {
            60 => old.borrow_mut().clone_from(owf.locks_mut().contents()),
            80 => owf.locks_mut().contents().clone_from(&old.borrow()),
            _ => {}
        }),
        "16: writes of the last turns are lost"
    );
}

#[test]
fn owners_belong_to_one_block_of_a_pair_until_the_last_one_ends() {
    let program = program(VALUES, &config(&[]));
    let (mut owf, plan) = shared(&program, 3, 2, &[]);
    let mut crew = Crew::new(&program, &plan, &seats(), &mut owf);
    let right = |owf: &Owf| [0, 1, 4, 5, 2].map(|slot| owf.locks().right(slot));
    use Right::{Free, Held, OtherBlock, Owner};
    assert_eq!(right(&owf), [Free; 5]);
    // Warp 0 of block slot 0 becomes an owner; block slot 2 is its partner.
    owf.locks_mut().acquire(0);
    assert_eq!(right(&owf), [Owner, Free, Held, OtherBlock, Free]);
    owf.locks_mut().acquire(1);
    crew.with(0, 0, |cx, _| owf.end_warp(cx, 0));
    assert_eq!(right(&owf)[1..], [Owner, OtherBlock, Held, Free]);
    crew.with(1, 0, |cx, _| owf.end_warp(cx, 1));
    assert_eq!(right(&owf)[2..4], [Free, Free]);
    // A block that takes the slot of the one that ended waits for the partner, which was there before.
    owf.locks_mut().acquire(5);
    crew.with(0, 0, |cx, warp| owf.start_warp(cx, warp));
    crew.with(1, 0, |cx, warp| owf.start_warp(cx, warp));
    assert_eq!(right(&owf), [OtherBlock, Held, Free, Owner, Free]);
    assert_eq!(count(&owf, "releases"), 2);
    assert!(owf.describe().contains("1 of 4 locks"), "{}", owf.describe());
}

#[test]
fn lanes_that_exit_leave_the_lock_with_their_warp() {
    let text = VALUES.replace("stg r0 r2", "@p2 exit");
    let program = program(&text, &config(&[]));
    let (mut owf, plan) = shared(&program, 3, 2, &[]);
    for seed in 0..40 {
        let mut random = Random::new(seed, 8);
        let mut crew = Crew::new(&program, &plan, &seats(), &mut owf);
        assert_eq!(crew.run(&mut owf, &mut random), Ok(()));
        assert_eq!(owf.locks().taken(), 0);
    }
    assert_eq!(count(&owf, "acquires"), 40 * 8);
}
