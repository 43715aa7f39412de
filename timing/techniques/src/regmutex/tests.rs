//! Tests of RegMutex: sizes and sections of the chapter's example. [`code`] holds the compiler pass against an independent
//! checker, [`crew`] random divergent warps and seeded faults, [`cycles`] cycles computed by hand.

mod code;
mod crew;
mod cycles;

use super::super::testing::{config, launch};
use super::*;
use crate::testing::{Builder, Hand, by_hand, r};
use trace_format::isa::Src;
use warplab_technique::config::GpuConfig;
use warplab_technique::program::Program;

const RULES: Rules = Rules { extended: 0, unit: 1, sections: 0, pairs: false };

/// A kernel that names registers up to `highest`, `live` of which are live at once.
fn kernel_of(registers: u8, live: u8) -> Hand {
    let mut b = Builder::default();
    for reg in 0..live {
        b.mov(reg, u32::from(reg));
    }
    b.mov(registers - 2, 7);
    for reg in 1..live {
        b.iadd(0, r(0), r(reg), Src::RZ);
    }
    b.stg(0, 0, 0);
    by_hand(b.exit(), 64, 192)
}

fn program_of(hand: &Hand, config: &GpuConfig) -> Program {
    Program::new(&hand.kernel, config).expect("a kernel that can be timed")
}

#[test]
fn the_sizes_are_those_of_the_example_and_of_table_4_1() {
    assert_eq!(size::candidates(24), [2, 4, 6, 8]);
    // Allocated registers and base sets; 18 of SRAD's 20 registers are named.
    let table = [
        (24, 18),
        (28, 20),
        (44, 38),
        (32, 24),
        (24, 18),
        (32, 20),
        (36, 30),
        (32, 20),
        (12, 8),
        (28, 20),
        (40, 28),
        (16, 12),
        (16, 12),
        (16, 12),
        (20, 12),
        (28, 20),
    ];
    for (registers, base) in table {
        assert!(size::candidates(registers).contains(&(registers - base)), "{registers} {base}");
    }
    assert!(size::candidates(2).is_empty(), "a set has two registers at least");
}

#[test]
fn the_example_of_section_4_3_1() {
    let config = warplab_model::testing::config("regmutex-fermi", &[]);
    let hand = kernel_of(24, 20);
    let program = program_of(&hand, &config);
    assert_eq!(program.registers_per_thread, 24);
    let mut launch = Launch::new(&program, &config, [64, 1, 1], [192, 1, 1]);
    assert_eq!(launch.occupancy(&Plan::of(&program)).map(|o| o.blocks * 6), Ok(42));
    let of = |size: u32| size::split(&launch, 24, size, RULES).expect("fits");
    for (size, base, sections) in [(4, 20, 16), (6, 18, 26), (8, 16, 32)] {
        let split = of(size);
        assert_eq!((split.base, split.warps, split.sections), (base, 48, sections));
    }
    let (chosen, _) = size::choose(&launch, RULES).expect("registers limit this kernel");
    assert_eq!((chosen.extended, chosen.base, chosen.sections), (6, 18, 26));
    // In units of four registers, 18 is allocated as 20.
    let split = size::split(&launch, 24, 6, Rules { unit: 0, ..RULES }).expect("fits");
    assert_eq!((split.warps, split.sections), (48, 2048 / 192));
    let limited = size::split(&launch, 24, 6, Rules { sections: 3, ..RULES }).expect("fits");
    assert_eq!((limited.sections, limited.reserved), (3, 3 * 6 * 32));
    let pairs = size::split(&launch, 24, 6, Rules { pairs: true, ..RULES }).expect("fits");
    // 24 pairs of 2 * 18 + 6 registers need 1008 of 1024.
    assert_eq!((pairs.warps, pairs.pools, pairs.sections), (48, 24, 1));
    launch.dynamic_shared_bytes = 10_000;
    assert!(size::choose(&launch, RULES).is_none(), "shared memory limits this kernel");
}

#[test]
fn allocation_units_round_the_base_set() {
    // Pascal allocates eight registers per thread: a base set of 18 takes 24.
    let config = warplab_model::testing::config("titanx-pascal", &[]);
    let hand = kernel_of(40, 30);
    let program = program_of(&hand, &config);
    let launch = Launch::new(&program, &config, [64, 1, 1], [192, 1, 1]);
    let of = |unit| size::split(&launch, 40, 22, Rules { unit, ..RULES }).expect("fits");
    let (own, single) = (of(0), of(1));
    assert_eq!((own.base, single.base, own.parts), (18, 18, 4));
    let file = config.sm.registers;
    assert_eq!(own.blocks, (file / 4 / (24 * 32) * 4 / 6).min(config.sm.max_warps / 6));
    assert!(own.blocks <= single.blocks);
    for split in [own, single] {
        let unit = if split == own { 24 } else { 18 };
        let left = file / 4 - split.warps.div_ceil(4) * unit * 32;
        assert_eq!(
            split.sections,
            (left / (22 * 32)).min(config.sm.max_warps / 4),
            "rest of a part is unused"
        );
        assert_eq!(split.reserved, split.sections * 4 * 22 * 32);
    }
}
