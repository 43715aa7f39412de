//! Launches whose redundancy is known by hand.

use super::insts::{add, exit, ldg, less, mov, r, s2r, stg};
use super::memory::{MemoryLaunch, Recorded, kernel};
use super::twin;
use timing::internals::{Tally, of_launch};
use trace_format::isa::*;
use trace_format::semantics::{Geometry, Row};

const ALL: u32 = u32::MAX;

fn geometry(grid: u32, block: [u32; 3]) -> Geometry {
    Geometry { grid: [grid, 1, 1], block }
}

fn at(pc: u32) -> Recorded {
    Recorded { pc, active: ALL, rows: Vec::new() }
}

fn noise(seed: u32) -> Row {
    Row::from_fn(|lane| (lane as u32 * lane as u32 + seed + 1).wrapping_mul(0x9E37_79B9))
}

/// Counts with several numbers of threads and with the twin, and checks that all agree.
fn tally_of(launch: &MemoryLaunch) -> Tally {
    let twin = twin::redundancy(launch);
    for threads in [1, 3] {
        assert_eq!(of_launch(launch, threads, &|_| {}).unwrap(), twin, "{threads} threads");
    }
    twin
}

/// DARSIE, Figure 3: an array is read at threadIdx.x.
fn figure_3(block: [u32; 3], grid: u32, loaded: impl Fn(u64, u32) -> Row) -> Tally {
    let wide = Inst::new(Op::ImadWide { sign: Sign::U32 }).dst(Reg(2)).srcs([r(0), Src::imm(4), r(4)]);
    let code =
        [mov(4, 0x1000), s2r(0, SpecialReg::TidX), wide, ldg(6, 2, 0), add(7, r(6), r(6)), stg(2, 7), exit()];
    let geometry = geometry(grid, block);
    let launch = MemoryLaunch::new(kernel(&code), geometry, |block, warp| {
        let active = geometry.launched_mask(warp);
        let mut path: Vec<_> = (0..code.len() as u32).map(|pc| Recorded { active, ..at(pc) }).collect();
        path[3].rows.push(loaded(block, warp));
        path
    });
    tally_of(&launch)
}

#[test]
fn a_2d_block_repeats_its_thread_indices_and_a_1d_block_does_not() {
    let two = figure_3([32, 2, 1], 1, |_, _| noise(1));
    assert_eq!(
        two,
        Tally {
            warp_instructions: 14,
            not_counted: 2,
            warp_redundant: 2,
            // mov | thread index, address, load by its address | sum, store by its data
            block_redundant: [2, 6, 4],
            grid_redundant: 12,
            ..Tally::default()
        }
    );
    let one = figure_3([64, 1, 1], 1, |_, warp| noise(warp));
    assert_eq!(one, Tally { block_redundant: [2, 0, 0], grid_redundant: 2, ..two });
}

#[test]
fn a_load_that_returns_something_else_is_not_redundant() {
    let tally = figure_3([32, 2, 1], 1, |_, warp| noise(warp));
    assert_eq!(tally.block_redundant, [2, 4, 0]);
    // Uniform data: the sum is redundant in each warp, though not in the block.
    let tally = figure_3([32, 2, 1], 1, |_, warp| Row::splat(warp));
    assert_eq!((tally.block_redundant, tally.warp_redundant), ([2, 4, 0], 2 + 2));
}

#[test]
fn the_grid_level_compares_every_block() {
    let tally = figure_3([32, 2, 1], 5, |_, _| noise(1));
    assert_eq!((tally.block_redundant, tally.grid_redundant), ([10, 30, 20], 60));
    let tally = figure_3([32, 2, 1], 5, |block, _| noise(u32::from(block == 3)));
    assert_eq!((tally.block_redundant, tally.grid_redundant), ([10, 30, 20], 30));
}

#[test]
fn blocks_and_grids_of_one_warp_have_nothing_to_repeat() {
    let tally = figure_3([32, 1, 1], 1, |_, _| noise(1));
    assert_eq!((tally.block_redundant, tally.grid_redundant, tally.warp_redundant), ([0; 3], 0, 1));
    let tally = figure_3([32, 1, 1], 2, |_, _| noise(1));
    assert_eq!((tally.block_redundant, tally.grid_redundant), ([0; 3], 12));
    let tally = figure_3([1, 1, 1], 2, |_, _| noise(1));
    assert_eq!((tally.grid_redundant, tally.warp_redundant), (12, 0));
}

#[test]
fn diverged_instructions_are_excluded_and_spoil_their_instance() {
    let code = [mov(0, 1), mov(1, 2), exit()];
    let launch = MemoryLaunch::new(kernel(&code), geometry(1, [64, 1, 1]), |_, warp| {
        let mut path = vec![at(0), at(1), at(2)];
        path[1].active = if warp == 1 { 0xFFFF } else { ALL };
        path
    });
    let tally = tally_of(&launch);
    assert_eq!((tally.diverged, tally.block_redundant, tally.warp_redundant), (1, [2, 0, 0], 3));
}

#[test]
fn guards_are_operands_of_branches_and_conditions_of_the_rest() {
    // P0 = lane < 16; P1 = tid.x < 1000, which is true in every lane
    let guarded = |inst: Inst, pred: u8| inst.guarded(PredSrc::of(Pred(pred)));
    let code = [
        s2r(0, SpecialReg::LaneId),
        less(0, r(0), Src::imm(16)),
        less(1, r(0), Src::imm(1000)),
        guarded(mov(1, 7), 0), // half of the lanes: diverged
        guarded(mov(1, 7), 1), // all lanes: redundant
        guarded(mov(1, 7), 1).guarded(PredSrc::not(Pred(1))), // no lane: diverged
        guarded(Inst { target: Pc(7), ..Inst::new(Op::Bra {}) }, 0), // divergent branch: unstructured
        exit(),
    ];
    let launch = MemoryLaunch::new(kernel(&code), geometry(1, [64, 1, 1]), |_, _| (0..8).map(at).collect());
    let tally = tally_of(&launch);
    assert_eq!((tally.diverged, tally.not_counted), (4, 2));
    // mov | lane index and comparisons | branch
    assert_eq!((tally.block_redundant, tally.warp_redundant), ([2, 6, 2], 2));
}

#[test]
fn loop_iterations_correspond_by_their_number() {
    // Warp 1 leaves the loop two iterations early; counters are uniform and equal while both run.
    let code = [mov(0, 0), add(0, r(0), Src::imm(1)), exit()];
    let launch = MemoryLaunch::new(kernel(&code), geometry(1, [64, 1, 1]), |_, warp| {
        let turns = if warp == 0 { 5000 } else { 4998 };
        std::iter::once(at(0)).chain((0..turns).map(|_| at(1))).chain([at(2)]).collect()
    });
    let tally = tally_of(&launch);
    assert_eq!(tally.block_redundant, [2 + 2 * 4998, 0, 0]);
    assert_eq!(tally.warp_redundant, 2 + 5000 + 4998);
}

#[test]
fn a_partial_last_warp_is_compared_in_its_lanes() {
    let code = [s2r(0, SpecialReg::LaneId), s2r(1, SpecialReg::TidX), ldg(2, 4, 0), exit()];
    let launch = |odd: Option<(u32, usize)>| {
        MemoryLaunch::new(kernel(&code), geometry(2, [80, 1, 1]), |_, warp| {
            let active = if warp == 2 { 0xFFFF } else { ALL };
            let mut path: Vec<_> = (0..4).map(|pc| Recorded { active, ..at(pc) }).collect();
            let mut row = noise(3);
            if let Some((_, lane)) = odd.filter(|(w, _)| *w == warp) {
                row.0[lane] ^= 1;
            }
            path[2].rows.push(row);
            path
        })
    };
    let same = tally_of(&launch(None));
    assert_eq!((same.block_redundant, same.grid_redundant), ([6, 6, 0], 12));
    assert_eq!(tally_of(&launch(Some((1, 20)))).block_redundant, [0, 6, 0], "full warps differ");
    assert_eq!(tally_of(&launch(Some((2, 3)))).block_redundant, [0, 6, 0], "the partial warp differs");
    assert_eq!(tally_of(&launch(Some((2, 20)))), same, "a lane that was not launched");
}

#[test]
fn pairs_are_affine_across_a_carry() {
    // 64-bit addresses base + 2^30 * lane cross 2^32; the upper words alone have no stride.
    let wide = Inst::new(Op::ImadWide { sign: Sign::U32 }).dst(Reg(2)).srcs([r(0), Src::imm(1 << 30), r(4)]);
    let code = [s2r(0, SpecialReg::LaneId), wide, stg(2, 0), add(6, r(3), Src::RZ), exit()];
    let launch = MemoryLaunch::new(kernel(&code), geometry(1, [64, 1, 1]), |_, _| (0..5).map(at).collect());
    assert_eq!(tally_of(&launch).block_redundant, [0, 6, 2]);
}

#[test]
fn atomics_and_barriers_are_never_redundant() {
    let atom = Op::Atomg {
        op: AtomOp::Add,
        ty: AtomTy::U32,
        mode: AddrMode::Global,
        order: MemOrder::Weak,
        scope: Scope::Gpu,
    };
    let bar = Inst::new(Op::Bar { mode: BarMode::Sync }).srcs([Src::imm(0), Src::imm(0)]);
    let code = [Inst::new(atom).dst(Reg(0)).srcs([r(2), r(4)]), bar, exit()];
    let launch = MemoryLaunch::new(kernel(&code), geometry(1, [64, 1, 1]), |_, _| {
        let mut path: Vec<_> = (0..3).map(at).collect();
        path[0].rows.push(Row::splat(9));
        path
    });
    let tally = tally_of(&launch);
    assert_eq!((tally.not_counted, tally.warp_instructions), (6, 6));
    assert_eq!((tally.block_redundant, tally.warp_redundant), ([0; 3], 0));
}
