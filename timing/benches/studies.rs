//! Speed of the studies, in warp instructions per second of one thread, compared with the cursor alone: a
//! kernel like tiled matrix multiplication, with long warps on shared memory, and a vector addition, with
//! warps of 14 instructions and values that do not repeat.

mod recorded;

use divan::Bencher;
use divan::counter::ItemsCount;
use recorded::record;
use timing::internals::TraceLaunch;
use timing::studies;
use trace_format::isa::*;
use trace_format::reader::Trace;
use trace_format::semantics::{Banks, Geometry};

fn main() {
    divan::main();
}

const TILES: Geometry = Geometry { grid: [4, 4, 1], block: [16, 16, 1] };
const VECTORS: Geometry = Geometry { grid: [4096, 1, 1], block: [256, 1, 1] };

fn r(n: u8) -> Src {
    Src::reg(Reg(n))
}

/// 16 x 16 threads; per turn of the loop two words are fetched and eight products of shared words summed up.
fn tiles() -> MachineKernel {
    let s2r = |dst, sr| Inst::new(Op::S2r { sr }).dst(Reg(dst));
    let imad = |dst, a, b, c| Inst::new(Op::Imad {}).dst(Reg(dst)).srcs([a, b, c]);
    let lds = |dst, address, offset| Inst {
        offset,
        ..Inst::new(Op::Lds { width: MemWidth::B32, scale: Scale::X1 }).dst(Reg(dst)).srcs([r(address)])
    };
    let sts = |address, data| {
        Inst::new(Op::Sts { width: MemWidth::B32, scale: Scale::X1 }).srcs([r(address), r(data)])
    };
    let ldg = |dst, address| {
        let op = Op::Ldg { width: MemWidth::B32, order: MemOrder::Weak, ro: ReadOnly(true) };
        Inst::new(op).dst(Reg(dst)).srcs([r(address)])
    };
    let bar = Inst::new(Op::Bar { mode: BarMode::Sync }).srcs([Src::imm(0), Src::imm(0)]);
    let wide = |dst, a, scale, base| {
        Inst::new(Op::ImadWide { sign: Sign::U32 }).dst(Reg(dst)).srcs([r(a), Src::imm(scale), r(base)])
    };
    let mut insts = vec![
        s2r(0, SpecialReg::TidX),
        s2r(1, SpecialReg::TidY),
        s2r(2, SpecialReg::CtaidX),
        imad(3, r(1), Src::imm(16), r(0)),
        imad(4, r(2), Src::imm(256), r(3)),
        wide(6, 4, 4, 12),
        imad(8, r(0), Src::imm(4), Src::RZ),
        imad(9, r(1), Src::imm(64), Src::RZ),
        imad(10, r(3), Src::imm(4), Src::RZ),
    ];
    let top = Pc(insts.len() as u32);
    insts.extend([ldg(14, 6), ldg(15, 6), sts(10, 14), sts(10, 15), bar]);
    for k in 0..8 {
        let op = Op::Ffma { rnd: Rnd::Rn, ftz: Ftz(false), sat: Sat(false) };
        insts.extend([
            lds(16, 9, 4 * k),
            lds(17, 8, 1024 + 64 * k),
            Inst::new(op).dst(Reg(18)).srcs([r(16), r(17), r(18)]),
        ]);
    }
    let op = Op::Isetp { cmp: ICmp::Lt, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
    let mut compare = Inst::new(op).srcs([r(11), Src::imm(64)]);
    compare.pdst[0] = Pred(0);
    let mut back = Inst::new(Op::Bra {}).guarded(PredSrc::of(Pred(0)));
    back.target = top;
    insts.extend([
        bar,
        wide(6, 11, 64, 6),
        Inst::new(Op::Iadd3 { x: Extended(false) }).dst(Reg(11)).srcs([r(11), Src::imm(1), Src::RZ]),
        compare,
        back,
        Inst::new(Op::Exit {}),
    ]);
    kernel(insts)
}

/// Every thread adds two words of memory and stores the sum.
fn vectors() -> MachineKernel {
    let s2r = |dst, sr| Inst::new(Op::S2r { sr }).dst(Reg(dst));
    let wide = |dst, base| {
        Inst::new(Op::ImadWide { sign: Sign::U32 }).dst(Reg(dst)).srcs([r(3), Src::imm(4), r(base)])
    };
    let ldg = |dst, address| {
        let op = Op::Ldg { width: MemWidth::B32, order: MemOrder::Weak, ro: ReadOnly(true) };
        Inst::new(op).dst(Reg(dst)).srcs([r(address)])
    };
    let (rnd, ftz, sat) = (Rnd::Rn, Ftz(false), Sat(false));
    kernel(vec![
        s2r(0, SpecialReg::TidX),
        s2r(1, SpecialReg::CtaidX),
        Inst::new(Op::Imad {}).dst(Reg(3)).srcs([r(1), Src::imm(256), r(0)]),
        Inst::new(Op::Mov {}).dst(Reg(13)).srcs([Src::imm(1)]),
        Inst::new(Op::Mov {}).dst(Reg(15)).srcs([Src::imm(2)]),
        Inst::new(Op::Mov {}).dst(Reg(17)).srcs([Src::imm(3)]),
        wide(6, 12),
        wide(8, 14),
        wide(10, 16),
        ldg(4, 6),
        ldg(5, 8),
        Inst::new(Op::Fadd { rnd, ftz, sat }).dst(Reg(4)).srcs([r(4), r(5)]),
        Inst::new(Op::Stg { width: MemWidth::B32, order: MemOrder::Weak }).srcs([r(10), r(4)]),
        Inst::new(Op::Exit {}),
    ])
}

fn kernel(insts: Vec<Inst>) -> MachineKernel {
    let lines = vec![SourceLine::default(); insts.len()];
    MachineKernel { name: "bench".into(), insts, lines, regs_per_thread: 20, ..MachineKernel::default() }
}

fn with_trace(
    bencher: Bencher<'_, '_>,
    kernel: &MachineKernel,
    geometry: Geometry,
    mut each: impl FnMut(&Trace),
) {
    let dir = tempfile::tempdir().unwrap();
    let trace = record(kernel, geometry, Banks::default(), &dir.path().join("bench.wtrace"));
    let instructions = trace.launches()[0].warp_instructions();
    bencher.counter(ItemsCount::new(instructions)).bench_local(|| each(&trace));
}

fn read(bencher: Bencher<'_, '_>, kernel: &MachineKernel, geometry: Geometry) {
    with_trace(bencher, kernel, geometry, |trace| {
        let mut cursor = trace.warp_cursor(0, 0, 0).unwrap();
        for warp in 0..geometry.warps_per_block() {
            for block in 0..geometry.blocks() {
                cursor.restart(0, block, warp).unwrap();
                while cursor.step().unwrap().is_some() {}
            }
        }
    });
}

fn count(bencher: Bencher<'_, '_>, kernel: &MachineKernel, geometry: Geometry, names: &str) {
    let names = studies::choose(names).unwrap();
    with_trace(bencher, kernel, geometry, |trace| {
        let outcomes = studies::of_launch(&TraceLaunch::new(trace, 0).unwrap(), &names, 1).unwrap();
        assert!(outcomes.iter().all(|outcome| !outcome.counts.is_empty()));
        divan::black_box(outcomes);
    });
}

#[divan::bench]
fn matmul_cursor_alone(bencher: Bencher<'_, '_>) {
    read(bencher, &tiles(), TILES);
}

#[divan::bench]
fn vectoradd_cursor_alone(bencher: Bencher<'_, '_>) {
    read(bencher, &vectors(), VECTORS);
}

/// Studies by name, as one pass.
#[divan::bench(args = studies::registry().map(|study| study.name).chain(["all"]))]
fn matmul(bencher: Bencher<'_, '_>, names: &str) {
    count(bencher, &tiles(), TILES, names);
}

#[divan::bench(args = ["redundancy", "width", "all"])]
fn vectoradd(bencher: Bencher<'_, '_>, names: &str) {
    count(bencher, &vectors(), VECTORS, names);
}
