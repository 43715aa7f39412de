//! Tests of register sharing: blocks, pairs and numbers computed by hand. [`crew`] has random divergent warps of paired blocks,
//! and seeded faults; [`cycles`] waiting, order and deadlocks in the pipeline.

mod crew;
mod cycles;

use super::*;
use crate::testing::{Builder, Hand, by_hand};
use crate::testing::{config, count, program};
use warplab_technique::program::Program;

/// A kernel with so many registers per thread.
fn kernel_of(registers: u8) -> Hand {
    let mut b = Builder::default();
    b.mov(registers - 2, 7).stg(0, registers - 2, 0);
    by_hand(b.exit(), 64, 256)
}

#[test]
fn what_is_left_over_holds_private_parts() {
    let config = warplab_technique_kit::model::testing::config("regmutex-fermi", &[]);
    let of = |registers: u8, threads: u32, percent: u32, unit: u32, shared: u32| {
        let program = Program::new(&kernel_of(registers).kernel, &config).expect("can be timed");
        assert_eq!(program.registers_per_thread, u32::from(registers));
        let mut launch = Launch::new(&program, &config, [64, 1, 1], [threads, 1, 1]);
        launch.dynamic_shared_bytes = shared;
        share::choose(&launch, &Plan::of(&program), percent, unit)
            .map(|sharing| (sharing.own, sharing.further, sharing.private))
    };
    // Four blocks of 8 warps of 28 registers leave 128 of 1024; 3 are private, and 48 warps hold two blocks more.
    assert_eq!(of(28, 256, 10, 1, 0), Some((4, 2, 3)));
    // Private parts of 4 registers fit too; of 12 one block, of 20 none.
    assert_eq!(of(28, 256, 10, 0, 0), Some((4, 2, 3)));
    assert_eq!(of(28, 256, 40, 1, 0), Some((4, 1, 12)));
    assert_eq!(of(28, 256, 70, 1, 0), None);
    // 42 warps of 24 registers leave 16; the private part of a block of six warps takes 18.
    assert_eq!(of(24, 192, 10, 1, 0), None);
    assert_eq!(of(24, 192, 8, 1, 0), Some((7, 1, 2)));
    // Five blocks of 20 registers leave 224, and all 48 warps are resident with a sixth block of its own.
    assert_eq!(of(20, 256, 10, 1, 0), None, "warps limit the blocks");
    assert_eq!(of(28, 256, 10, 1, 12_000), None, "shared memory limits the blocks");
}

#[test]
fn further_blocks_are_paired_with_the_first_ones() {
    let sharing = Sharing { own: 4, further: 2, private: 3 };
    let partners: Vec<_> = (0..7).map(|slot| sharing.partner(slot)).collect();
    assert_eq!(partners, [Some(4), Some(5), None, None, Some(0), Some(1), None]);
}

#[test]
fn registers_are_numbered_by_their_first_use() {
    let text = "mov r7 0\n mov r3 1\n imad r5 r3 r7 r1\n stg r8 r5\n exit";
    let program = program(text, &config(&[]));
    let numbers = share::numbers(&program, true);
    // Sources of an instruction come before its result; the store's address is a pair.
    assert_eq!([7, 3, 1, 5, 8, 9].map(|reg| numbers[reg]), [0, 1, 2, 3, 4, 5]);
    assert_eq!([0, 2, 4, 6, 10].map(|reg| numbers[reg]), [6, 7, 8, 9, 10], "the others follow");
    let mut sorted = numbers;
    sorted.sort_unstable();
    assert_eq!(sorted, std::array::from_fn(|reg| reg as u8), "no number is given twice");
    let renamed = share::renamed(&program, &numbers);
    assert_eq!((renamed[2].sources[..3].to_vec(), renamed[2].destinations[0]), (vec![1, 0, 2], 3));
    assert_eq!(share::numbers(&program, false), std::array::from_fn(|reg| reg as u8));
}

#[test]
fn owners_issue_first_then_warps_that_share_nothing_then_the_others() {
    let mut owf = Owf::new(&toml::Table::new()).expect("valid");
    owf.warps = (0..8u64).map(|slot| Own { age: 100 - slot, ..Own::default() }).collect();
    (owf.owners, owf.unshared) = (0b0000_0110, 0b0011_0000);
    let of = |ready: u64, chosen: u8| owf.order(0, 0, Choice::new(ready, 0, chosen));
    assert_eq!(of(0b1111_1111, 1), 1, "the choice is an owner");
    assert_eq!(of(0b1111_1111, 7), 2, "the older owner");
    assert_eq!(of(0b1111_1001, 7), 5, "the older one that shares nothing");
    assert_eq!(of(0b1111_1001, 4), 4);
    assert_eq!(of(0b1100_1001, 3), 3, "all share and own nothing: the scheduler's choice");
}

#[test]
fn bad_sections_are_refused_with_the_key() {
    let refuse = |section: &str| {
        let table: toml::Table = toml::from_str(section).expect("TOML");
        Owf::new(&table).map(drop).expect_err("refused")
    };
    assert!(refuse("private = 101").contains("`private`: 101"));
    assert!(refuse("threshold = 2").contains("threshold"));
}
