//! Traces are hardly larger than what the program really read: the loads of a tiled matrix product, in the
//! order in which an emulator meets them, cost little more than the tiles that each block loads.

use crate::common;

use common::{Builder, Random, exit, launch_record, ldg, lds, r};
use trace_format::isa::*;
use trace_format::reader::Trace;
use trace_format::semantics::{Geometry, Row};
use trace_format::writer::{BlockRecorder, TraceWriter, WriterOptions};

const N: usize = 256;

/// Two global loads, a barrier, `tile` steps of two shared loads and a multiply-add, a barrier, back.
fn kernel(tile: usize) -> MachineKernel {
    let mut b = Builder::default();
    b.emit(ldg(4, 2, 0, MemWidth::B32));
    b.emit(ldg(5, 2, 4, MemWidth::B32));
    b.emit(Inst::new(Op::Bar { mode: BarMode::Sync }).srcs([Src::imm(0), Src::imm(0)]));
    for _ in 0..tile {
        b.emit(lds(6, r(0), 0));
        b.emit(lds(7, r(1), 0));
        b.emit(common::ffma(8, r(6), r(7), r(8)));
    }
    b.emit(Inst::new(Op::Bar { mode: BarMode::Sync }).srcs([Src::imm(0), Src::imm(0)]));
    b.bra(PredSrc::of(Pred(0)), Pc(0));
    b.emit(exit());
    b.kernel("matmul")
}

/// Records the rows that one block loads.
fn block(recorder: &mut BlockRecorder, flow: &Flow, tile: usize, linear: u64) {
    let warps = tile * tile / 32;
    let thread = |w: usize, l: usize| ((w * 32 + l) / tile, (w * 32 + l) % tile);
    recorder.begin(linear);
    for k0 in (0..N).step_by(tile) {
        // No word occurs twice, so that nothing but the block's own loads can be found again.
        let tiles = [0, 1].map(|m: usize| {
            move |y: usize, x: usize| {
                let word = ((linear as usize * N + k0) * 2 + m) * tile * tile + y * tile + x;
                (Random::new(word as u64).bits() as u32 >> 9) | 0x3F80_0000
            }
        });
        for w in 0..warps {
            recorder.enter(w as u32, flow.block_of(Pc(0)), u32::MAX);
            for (m, of) in tiles.iter().enumerate() {
                let row = Row::from_fn(|l| of(thread(w, l).0, thread(w, l).1));
                recorder.external(w as u32, Pc(m as u32), 0, &row, u32::MAX);
            }
        }
        for w in 0..warps {
            recorder.enter(w as u32, flow.block_of(Pc(3)), u32::MAX);
            for k in 0..tile {
                let a = Row::from_fn(|l| tiles[0](thread(w, l).0, k));
                let b = Row::from_fn(|l| tiles[1](k, thread(w, l).1));
                recorder.external(w as u32, Pc(3 + 3 * k as u32), 0, &a, u32::MAX);
                recorder.external(w as u32, Pc(4 + 3 * k as u32), 0, &b, u32::MAX);
            }
            recorder.enter(w as u32, flow.block_of(Pc(4 + 3 * tile as u32)), u32::MAX);
        }
    }
    for w in 0..warps {
        recorder.enter(w as u32, flow.block_of(Pc(5 + 3 * tile as u32)), u32::MAX);
    }
}

/// Bytes of the trace beyond those of the loaded tiles, per warp instruction.
fn overhead(tile: usize) -> f64 {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("matmul.wtrace");
    let kernel = kernel(tile);
    let flow = kernel.flow();
    let mut writer = TraceWriter::create(&path, &WriterOptions::default()).unwrap();
    let id = writer.kernel(&kernel).unwrap();
    let (blocks, threads) = ((N / tile).pow(2) as u32, (tile * tile) as u32);
    let run = writer.launch(launch_record(id, blocks, threads)).unwrap();
    let mut recorder = run.recorder();
    for linear in 0..u64::from(blocks) {
        block(&mut recorder, &flow, tile, linear);
        run.submit(&mut recorder).unwrap();
    }
    run.finish().unwrap();
    let summary = writer.finish().unwrap();
    let trace = Trace::open(&path).unwrap();
    assert_eq!(trace.launches()[0].geometry, Geometry { grid: [blocks, 1, 1], block: [threads, 1, 1] });
    // 23 random bits per word; each block reads a line of tiles of either matrix.
    let loaded = 2.0 * f64::from(blocks) * (N * tile) as f64 * 23.0 / 8.0;
    (summary.file_bytes as f64 - loaded) / summary.warp_instructions as f64
}

#[test]
fn a_tiled_product_costs_its_tiles() {
    for tile in [32, 16] {
        let overhead = overhead(tile);
        assert!(overhead < 0.03, "{overhead:.3} bytes per warp instruction with tiles of {tile}");
    }
}
