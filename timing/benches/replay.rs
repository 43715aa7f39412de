//! Speed of replaying, in warp instructions per second, at one and two threads on `titanx-pascal`.
//!
//! Kernels in compiler form, recorded by a simple loop with memory contents derived from addresses: addition of
//! vectors of 1 Mi elements, a tiled product of 256 x 256 matrices, and two in whose cycles little happens: additions
//! of all threads to one word, and one warp that chases pointers.

mod recorded;

use divan::Bencher;
use divan::counter::ItemsCount;
use std::path::Path;
use timing::config::load;
use timing::replay::{ReplayOptions, replay};
use trace_format::isa::*;
use trace_format::reader::{Launch, Trace};
use trace_format::semantics::{Banks, Geometry};

fn main() {
    divan::main();
}

fn r(n: u8) -> Src {
    Src::reg(Reg(n))
}

fn s2r(dst: u8, sr: SpecialReg) -> Inst {
    Inst::new(Op::S2r { sr }).dst(Reg(dst))
}

fn imad(dst: u8, a: Src, b: Src, c: Src) -> Inst {
    Inst::new(Op::Imad {}).dst(Reg(dst)).srcs([a, b, c])
}

/// `dst = base + 4 * a`; register 31 holds the 4, as an instruction takes one literal or constant.
fn element(dst: u8, a: u8, base: Src) -> Inst {
    Inst::new(Op::ImadWide { sign: Sign::U32 }).dst(Reg(dst)).srcs([r(a), r(31), base])
}

fn four() -> Inst {
    Inst::new(Op::Mov {}).dst(Reg(31)).srcs([Src::imm(4)])
}

fn ldg(dst: u8, address: u8) -> Inst {
    let op = Op::Ldg { width: MemWidth::B32, order: MemOrder::Weak, ro: ReadOnly(true) };
    Inst::new(op).dst(Reg(dst)).srcs([r(address)])
}

fn stg(address: u8, data: u8) -> Inst {
    Inst::new(Op::Stg { width: MemWidth::B32, order: MemOrder::Weak }).srcs([r(address), r(data)])
}

fn lds(dst: u8, address: u8, offset: i32) -> Inst {
    let op = Op::Lds { width: MemWidth::B32, scale: Scale::X1 };
    Inst { offset, ..Inst::new(op).dst(Reg(dst)).srcs([r(address)]) }
}

fn sts(address: u8, data: u8, offset: i32) -> Inst {
    let op = Op::Sts { width: MemWidth::B32, scale: Scale::X1 };
    Inst { offset, ..Inst::new(op).srcs([r(address), r(data)]) }
}

fn kernel(name: &str, insts: Vec<Inst>, shared: u32) -> MachineKernel {
    let highest = insts.iter().flat_map(Inst::regs).map(|r| r.0).max();
    let kernel = MachineKernel {
        name: name.into(),
        lines: vec![SourceLine::default(); insts.len()],
        regs_per_thread: u16::from(highest.unwrap_or(0)) + 1,
        static_shared_bytes: shared,
        insts,
        ..MachineKernel::default()
    };
    kernel.check().unwrap();
    kernel
}

/// Pointers stand in constant bank 0 from `PARAM_BASE` on.
fn pointer(n: u16) -> Src {
    Src::constant(0, 0x160 + 8 * n)
}

fn vectoradd() -> (MachineKernel, Geometry) {
    let fadd = Op::Fadd { rnd: Rnd::Rn, ftz: Ftz(false), sat: Sat(false) };
    let insts = vec![
        four(),
        s2r(0, SpecialReg::TidX),
        s2r(1, SpecialReg::CtaidX),
        imad(2, r(1), Src::imm(256), r(0)),
        element(4, 2, pointer(0)),
        element(6, 2, pointer(1)),
        ldg(8, 4),
        ldg(9, 6),
        element(10, 2, pointer(2)),
        Inst::new(fadd).dst(Reg(12)).srcs([r(8), r(9)]),
        stg(10, 12),
        Inst::new(Op::Exit {}),
    ];
    (kernel("vectoradd", insts, 0), Geometry { grid: [4096, 1, 1], block: [256, 1, 1] })
}

/// 16 x 16 tiles: per turn each thread fetches one word of A and of B and sums 16 products up.
fn matmul() -> (MachineKernel, Geometry) {
    let ffma = Op::Ffma { rnd: Rnd::Rn, ftz: Ftz(false), sat: Sat(false) };
    let bar = || Inst::new(Op::Bar { mode: BarMode::Sync }).srcs([Src::imm(0), Src::imm(0)]);
    let mut insts = vec![
        four(),
        s2r(0, SpecialReg::TidX),
        s2r(1, SpecialReg::TidY),
        s2r(2, SpecialReg::CtaidX),
        s2r(3, SpecialReg::CtaidY),
        imad(4, r(3), Src::imm(16), r(1)),
        imad(5, r(4), Src::imm(256), r(0)),
        imad(6, r(2), Src::imm(16), r(0)),
        imad(7, r(1), Src::imm(256), r(6)),
        element(8, 5, pointer(0)),
        element(10, 7, pointer(1)),
        imad(12, r(1), Src::imm(16), r(0)),
        imad(12, r(12), Src::imm(4), Src::RZ),
        imad(13, r(1), Src::imm(64), Src::RZ),
        imad(14, r(0), Src::imm(4), Src::RZ),
        imad(15, Src::RZ, Src::RZ, Src::RZ),
        imad(20, Src::RZ, Src::RZ, Src::RZ),
    ];
    let top = Pc(insts.len() as u32);
    insts.extend([ldg(16, 8), ldg(17, 10), sts(12, 16, 0), sts(12, 17, 1024), bar()]);
    for k in 0..16 {
        let (a, b) = (22 + 2 * (k % 4) as u8, 23 + 2 * (k % 4) as u8);
        insts.extend([lds(a, 13, 4 * k), lds(b, 14, 1024 + 64 * k)]);
        insts.push(Inst::new(ffma).dst(Reg(20)).srcs([r(a), r(b), r(20)]));
    }
    let below = Op::Isetp { cmp: ICmp::Lt, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
    let mut compare = Inst::new(below).srcs([r(15), Src::imm(16)]);
    compare.pdst[0] = Pred(0);
    let mut back = Inst::new(Op::Bra {}).guarded(PredSrc::of(Pred(0)));
    back.target = top;
    let add = |dst, value| {
        Inst::new(Op::Iadd3 { x: Extended(false) }).dst(Reg(dst)).srcs([r(dst), Src::imm(value), Src::RZ])
    };
    insts.extend([bar(), add(8, 64), add(10, 16 * 1024), add(15, 1), compare, back]);
    insts.extend([imad(5, r(4), Src::imm(256), r(6)), element(8, 5, pointer(2)), stg(8, 20)]);
    insts.push(Inst::new(Op::Exit {}));
    (kernel("matmul", insts, 2048), Geometry { grid: [16, 16, 1], block: [16, 16, 1] })
}

/// Every thread adds to one word, eight times.
fn contended() -> (MachineKernel, Geometry) {
    let (mode, order, scope) = (AddrMode::Global, MemOrder::Weak, Scope::Gpu);
    let red = Op::Red { op: AtomOp::Add, ty: AtomTy::U32, mode, order, scope };
    let mut insts = vec![
        four(),
        Inst::new(Op::ImadWide { sign: Sign::U32 }).dst(Reg(4)).srcs([Src::RZ, Src::RZ, pointer(0)]),
    ];
    insts.extend((0..8).map(|_| Inst::new(red).srcs([r(4), r(31)])));
    insts.push(Inst::new(Op::Exit {}));
    (kernel("contended", insts, 0), Geometry { grid: [256, 1, 1], block: [256, 1, 1] })
}

/// A warp in each of four blocks loads from the address that the previous load gave.
fn chase() -> (MachineKernel, Geometry) {
    let mut insts = vec![four(), imad(0, Src::RZ, Src::RZ, Src::RZ)];
    for _ in 0..1000 {
        let masked =
            Inst::new(Op::Lop3 { lut: Lut(0xC0) }).dst(Reg(1)).srcs([r(0), Src::imm(0xF_FFFF), Src::RZ]);
        insts.extend([masked, element(4, 1, pointer(0)), ldg(0, 4)]);
    }
    insts.push(Inst::new(Op::Exit {}));
    (kernel("chase", insts, 0), Geometry { grid: [4, 1, 1], block: [32, 1, 1] })
}

fn record((kernel, geometry): (MachineKernel, Geometry), path: &Path) -> Trace {
    let mut banks = Banks { param: vec![0; 0x160], ..Banks::default() };
    for n in 0..3u64 {
        banks.param.extend((0x7000_0000_0000 + (n << 24)).to_le_bytes());
    }
    recorded::record(&kernel, geometry, banks, path)
}

fn bench(bencher: Bencher<'_, '_>, what: fn() -> (MachineKernel, Geometry), tech: &[&str], threads: usize) {
    let folder = tempfile::tempdir().unwrap();
    let trace = record(what(), &folder.path().join("bench.wtrace"));
    let instructions: u64 = trace.launches().iter().map(Launch::warp_instructions).sum();
    let config = load("titanx-pascal", &[]).unwrap().config;
    let names: Vec<String> = tech.iter().map(|name| (*name).to_owned()).collect();
    let techniques = timing::techniques::built_in().select(&names, &config).unwrap();
    bencher.counter(ItemsCount::new(instructions)).bench_local(|| {
        let options = ReplayOptions { threads, ..ReplayOptions::default() };
        replay(&trace, &config, &techniques, &options).unwrap()
    });
}

#[divan::bench(args = [1, 2], sample_count = 5, sample_size = 1)]
fn vectoradd_1mi(bencher: Bencher<'_, '_>, threads: usize) {
    bench(bencher, vectoradd, &[], threads);
}

#[divan::bench(args = [1, 2], sample_count = 5, sample_size = 1)]
fn matmul_256(bencher: Bencher<'_, '_>, threads: usize) {
    bench(bencher, matmul, &[], threads);
}

#[divan::bench(args = [1, 2], sample_count = 5, sample_size = 1)]
fn contended_atomics(bencher: Bencher<'_, '_>, threads: usize) {
    bench(bencher, contended, &[], threads);
}

#[divan::bench(args = [1, 2], sample_count = 5, sample_size = 1)]
fn pointer_chase(bencher: Bencher<'_, '_>, threads: usize) {
    bench(bencher, chase, &[], threads);
}

/// The built-in techniques, and two together that are one.
const TECHNIQUES: [&str; 19] = [
    "bow",
    "bow-wr",
    "rfc",
    "packing",
    "corf",
    "corf++",
    "uv-token",
    "uv-scalar",
    "uv-reuse",
    "darsie",
    "cae",
    "dac",
    "dac-ideal",
    "larf",
    "larf,corf++",
    "mta",
    "regmutex",
    "owf",
    "rfv",
];

/// The names of techniques that run together.
fn together(techniques: &str) -> Vec<&str> {
    techniques.split(',').collect()
}

#[divan::bench(args = TECHNIQUES, sample_count = 3, sample_size = 1)]
fn matmul_256_with(bencher: Bencher<'_, '_>, technique: &str) {
    bench(bencher, matmul, &together(technique), 1);
}

#[divan::bench(args = TECHNIQUES, sample_count = 3, sample_size = 1)]
fn vectoradd_1mi_with(bencher: Bencher<'_, '_>, technique: &str) {
    bench(bencher, vectoradd, &together(technique), 1);
}
