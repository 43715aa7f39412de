//! Random divergent warps of several blocks in a register file that is too small for them; seeded faults.

use super::*;
use crate::testing::Random;
use proptest::prelude::*;
use warplab_technique_kit::crew::{Crew, Seat};

/// The seats of so many blocks of two warps.
fn seats(blocks: usize) -> Vec<Seat> {
    let seat = |slot: usize| Seat { slot, block_slot: slot / 2, warp: slot as u32 % 2 };
    (0..2 * blocks).map(seat).collect()
}

fn is_balanced(rfv: &mut Rfv, physical: u32) {
    rfv.renaming().verify();
    assert_eq!((rfv.throttle.free(), rfv.renaming().allocator.file.in_use()), (physical, 0));
    let of = |name| count(rfv, name);
    assert_eq!(of("allocations"), of("releases") + of("releases_at_exit"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Random divergent warps get their own values and come to an end, however small the file is.
    #[test]
    fn random_warps_share_a_file_that_is_too_small(seed: u64, spare in 0u32..24, blocks in 1usize..5, first_fit: bool) {
        let mut random = Random::new(seed, 8);
        let program = program(&random.listing(), &config(&[]));
        let physical = (2 * program.registers_per_thread + spare).next_multiple_of(4);
        let allocation = if first_fit { "first_fit" } else { "home_bank" };
        let set = [format!("technique.rfv.allocation='{allocation}'"), "technique.rfv.space=1600".to_owned()];
        let set = set.each_ref().map(String::as_str);
        let (mut rfv, plan) = prepared(&program, 2, physical, &set).expect("a block fits");
        for _ in 0..2 {
            let mut crew = Crew::new(&program, &plan, &seats(blocks), &mut rfv);
            prop_assert_eq!(crew.run(&mut rfv, &mut random), Ok(()));
            is_balanced(&mut rfv, physical);
        }
    }
}

/// Divergent sides that read different registers, and a value that lives across both of them.
const SIDES: &str = "mov r0 0
    mov r1 1
    mov r2 2
    mov r3 3
    imad r1 r1 r2 r3
    stg r0 r1
    @p0 bra 13
    imad r4 r2 r3 r1
    mov r2 4
    @p3 mov r6 5
    imad r5 r4 r2 r3
    stg r0 r5
    bra 15
    imad r4 r3 r3 r2
    imad r5 r4 r4 r1
    @p3 mov r5 8
    stg r0 r5
    imad r6 r5 r3 r4
    stg r0 r6
    exit";

/// Whether a value check finds damage done before the turns of four warps.
fn found(damage: impl Fn(&mut Rfv, usize)) -> bool {
    let program = program(SIDES, &config(&[]));
    (0..60u64).any(|seed| {
        let (mut rfv, plan) = prepared(&program, 2, 32, &[]).expect("a block fits");
        damage(&mut rfv, 0);
        let mut random = Random::new(seed, 8);
        let mut crew = Crew::new(&program, &plan, &seats(2), &mut rfv);
        (1..400).any(|turn| {
            damage(&mut rfv, turn);
            crew.step(&mut rfv, turn % 4, &mut random).is_err()
        })
    })
}

/// As [`found`], with other marks of where registers die.
fn found_with(marks: impl Fn(&mut Release)) -> bool {
    found(|rfv, turn| {
        if turn == 0 {
            let program = program(SIDES, &config(&[]));
            let mut release = Release::of(&program.kernel, &program.kernel.flow());
            marks(&mut release);
            rfv.deaths = Some(Deaths::new(rfv.warps.len(), release));
        }
    })
}

#[test]
fn seeded_faults_are_found_by_their_values() {
    assert!(!found(|_, _| {}), "without a fault, values agree");
    let rows = |rfv: &mut Rfv, change: &dyn Fn(&mut Row)| {
        rfv.renaming().allocator.file.rows.iter_mut().for_each(change);
    };
    assert!(found_with(|release| release.kept_after[4].remove(3)), "1: a live register is marked dead");
    assert!(found_with(|release| release.kept_after[1].remove(0)), "2: an address is marked dead at once");
    let sides = |release: &mut Release, read_by_other: u8, from: usize, to: usize| {
        release.kept_after[from..to].iter_mut().for_each(|kept| kept.remove(read_by_other));
    };
    assert!(
        found_with(|release| sides(release, 1, 7, 12)),
        "3: what the lanes of the other side read is not kept"
    );
    assert!(found_with(|release| release.kept_after[9].remove(2)), "4: a register of the side itself");
    assert!(found(|rfv, _| rfv.renaming().confuse(0, 3, (0, 2))), "5: another physical register");
    assert!(found(|rfv, _| rfv.renaming().confuse(1, 3, (2, 3))), "6: another warp's register");
    assert!(
        found(|rfv, turn| if turn == 50 {
            rows(rfv, &|row| row.0.swap(3, 4));
        }),
        "7: two lanes exchanged"
    );
    assert!(
        found(|rfv, turn| if turn == 50 {
            rows(rfv, &|row| row.0[31] = 0);
        }),
        "8: a lane lost"
    );
    assert!(
        found(|rfv, turn| if turn == 50 {
            rows(rfv, &|row| *row = Row::ZERO);
        }),
        "9: a file switched off"
    );
    assert!(
        found(|rfv, turn| {
            if turn == 50 {
                rfv.renaming().allocator.file.rows.rotate_left(1);
            }
        }),
        "10: physical registers exchanged"
    );
    assert!(
        found(|rfv, turn| {
            if turn == 40 {
                let kept = RegSet::default();
                rfv.renaming().release_all_but(2, &kept, &mut corf::account::Counts::default());
            }
        }),
        "11: a release of another warp's registers"
    );
    assert!(
        found(|rfv, turn| {
            if turn == 40 {
                rfv.renaming().clear(2);
            }
        }),
        "12: the end of another warp clears the table of a warp"
    );
    let forgotten = |rfv: &mut Rfv| {
        let deaths = rfv.deaths.as_mut().expect("it releases");
        (0..4).for_each(|slot| deaths.start(slot));
    };
    let aside = |release: &mut Release| {
        let live = release.live_after.clone();
        let ends = [6, 12, 19];
        release.kept_after.iter_mut().enumerate().filter(|(pc, _)| !ends.contains(pc)).for_each(
            |(pc, kept)| {
                *kept = live[pc];
            },
        );
    };
    assert!(
        found(|rfv, turn| {
            if turn == 0 {
                let program = program(SIDES, &config(&[]));
                let mut release = Release::of(&program.kernel, &program.kernel.flow());
                aside(&mut release);
                rfv.deaths = Some(Deaths::new(rfv.warps.len(), release));
            }
            forgotten(rfv);
        }),
        "13: lanes set aside are forgotten"
    );
    let old = std::cell::RefCell::new(Vec::new());
    assert!(
        found(|rfv, turn| match turn {
            30 => *old.borrow_mut() = rfv.renaming().allocator.file.rows.clone(),
            44 => rfv.renaming().allocator.file.rows.clone_from(&old.borrow()),
            _ => {}
        }),
        "14: writes of the last turns are lost"
    );
}

#[test]
fn a_register_is_taken_at_issue_and_given_back_after_the_last_use() {
    let program =
        program("mov r1 1\n mov r2 2\n iadd r3 r1 r2\n @p0 mov r4 7\n stg r0 r3\n exit", &config(&[]));
    let (mut rfv, plan) = prepared(&program, 1, 16, &[]).expect("fits");
    let mut random = Random::new(1, 8);
    let mut crew = Crew::new(&program, &plan, &seats(1)[..1], &mut rfv);
    let mut free = vec![rfv.throttle.free()];
    while crew.step(&mut rfv, 0, &mut random) == Ok(true) {
        if *free.last().expect("one") != rfv.throttle.free() {
            free.push(rfv.throttle.free());
        }
    }
    // r1 and r2 take one each; the sum takes one and frees that of r2, while r1 is a part of the store's address; r4 takes
    // one; the store frees r1 and r3, and r4, which nothing reads, is freed with the warp.
    assert_eq!(free, [16, 15, 14, 13, 15, 16]);
    is_balanced(&mut rfv, 16);
}

#[test]
fn a_kernel_whose_block_does_not_fit_is_refused() {
    let program = program("mov r30 1\n stg r0 r30\n exit", &config(&[]));
    let registers = program.registers_per_thread;
    let fits = (4 * registers).next_multiple_of(4);
    assert!(prepared(&program, 4, fits, &[]).is_ok());
    let why = prepared(&program, 4, fits - 4, &[]).map(drop).expect_err("does not fit");
    assert!(why.contains(&format!("{}", 4 * registers)), "{why}");
}

#[test]
fn storage_is_that_of_the_chapter() {
    let program =
        program("mov r1 1\n stg r0 r1\n exit", &warplab_model::testing::config("regmutex-fermi", &[]));
    let config = warplab_model::testing::config("regmutex-fermi", &[]);
    let mut rfv = Rfv::new(&toml::Table::new()).expect("valid");
    let launch = Launch::new(&program, &config, [8, 1, 1], [64, 1, 1]);
    rfv.prepare(&launch, &mut Plan::of(&program)).expect("fits");
    // Section 4.3.2: 30,240 bits for the renaming table, 1024 for the availability of registers.
    assert_eq!((rfv.table.bits(), rfv.further_bits()), (30_240, 1024));
}
