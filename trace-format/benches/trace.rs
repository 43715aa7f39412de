//! Speed of the trace: encoding rows on the recording thread, decoding them, checksums, and a cursor that
//! regenerates an ALU-heavy and a load-heavy warp. Items are rows or warp instructions.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use test_kit::Random;
use trace_format::container::LaunchRecord;
use trace_format::internals::Checksums;
use trace_format::internals::ValueDecoder;
use trace_format::internals::Words;
use trace_format::internals::{ValueEncoder, ValueStreams};
use trace_format::isa::*;
use trace_format::reader::Trace;
use trace_format::semantics::{Banks, Code, Geometry, Row, Warp, addresses, execute};
use trace_format::writer::{LaunchWriter, TraceWriter, WriterOptions};

fn main() {
    divan::main();
}

const ROWS: usize = 4096;

struct Runs<'a>(&'a [ValueStreams]);

impl Words for Runs<'_> {
    fn of_warp(&self, warp: usize) -> &[u32] {
        self.0.get(warp).map_or(&[], |s| &s.words)
    }
}

fn noise(i: u64) -> u32 {
    Random::new(i).bits() as u32
}

const KINDS: [&str; 6] = ["new", "repeated", "uniform-of-loaded", "affine", "small", "shifted"];

/// Rows of one kind, after the lines that some of them repeat.
fn rows(kind: &str) -> Vec<(usize, [u32; 32])> {
    let line = |i: usize| std::array::from_fn(|l| noise((i * 32 + l) as u64));
    let mut rows: Vec<(usize, [u32; 32])> = (0..64).map(|i| (0, line(i))).collect();
    rows.extend((0..ROWS).map(|i| match kind {
        "new" => (0, line(64 + i)),
        "repeated" => (1, line(i % 64)),
        "uniform-of-loaded" => (1, [line(i / 32 % 64)[i % 32]; 32]),
        "affine" => (1, std::array::from_fn(|l| (i * 77 + l * 4) as u32)),
        "small" => (1, [i as u32 % 50; 32]),
        _ => (1, std::array::from_fn(|l| noise((i % 62 * 32 + l + 1 + i % 31) as u64))),
    }));
    rows
}

fn encode(encoder: &mut ValueEncoder, streams: &mut [ValueStreams], rows: &[(usize, [u32; 32])]) {
    streams.iter_mut().for_each(ValueStreams::clear);
    encoder.begin(1, 2);
    for (slot, row) in rows {
        encoder.encode(streams, 0, *slot, row, u32::MAX);
    }
}

#[divan::bench(args = KINDS)]
fn encode_rows(bencher: Bencher<'_, '_>, kind: &str) {
    let rows = rows(kind);
    let (mut encoder, mut streams) = (ValueEncoder::default(), vec![ValueStreams::default()]);
    bencher
        .counter(ItemsCount::new(rows.len()))
        .bench_local(|| encode(&mut encoder, &mut streams, black_box(&rows)));
}

#[divan::bench(args = KINDS)]
fn decode_rows(bencher: Bencher<'_, '_>, kind: &str) {
    let rows = rows(kind);
    let (mut encoder, mut streams) = (ValueEncoder::default(), vec![ValueStreams::default()]);
    encode(&mut encoder, &mut streams, &rows);
    let mut decoder = ValueDecoder::default();
    let mut out = Row::ZERO;
    bencher.counter(ItemsCount::new(rows.len())).bench_local(|| {
        decoder.begin(0, 2);
        let s = &streams[0];
        for (slot, _) in &rows {
            let words = Runs(&streams);
            decoder.decode(&words, &s.tokens, &s.params, *slot, u32::MAX, &mut out.0).unwrap();
            black_box(&out);
        }
    });
}

fn kernel(loads: bool) -> MachineKernel {
    let reg = |n: u8| Src::reg(Reg(n));
    let float = |d, a, b, c| {
        let op = Op::Ffma { rnd: Rnd::Rn, ftz: Ftz(false), sat: Sat(false) };
        Inst::new(op).dst(Reg(d)).srcs([reg(a), reg(b), reg(c)])
    };
    let add = |d, a, v| {
        Inst::new(Op::Iadd3 { x: Extended(false) }).dst(Reg(d)).srcs([reg(a), Src::imm(v), Src::RZ])
    };
    let mut insts = vec![Inst::new(Op::S2r { sr: SpecialReg::TidX }).dst(Reg(0)), add(1, 255, 0)];
    for i in 0..8 {
        if loads {
            let op = Op::Lds { width: MemWidth::B32, scale: Scale::X4 };
            insts.push(Inst::new(op).dst(Reg(2 + i)).srcs([reg(0)]));
        }
        insts.push(float(2 + i, 2 + (i + 1) % 8, 2 + i, 2 + (i + 3) % 8));
    }
    insts.push(add(0, 0, 32));
    insts.push(add(1, 1, 1));
    let op = Op::Isetp { cmp: ICmp::Lt, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
    let mut compare = Inst::new(op).srcs([reg(1), Src::imm(2000)]);
    compare.pdst[0] = Pred(0);
    insts.push(compare);
    let mut back = Inst::new(Op::Bra {}).guarded(PredSrc::of(Pred(0)));
    back.target = Pc(2);
    insts.extend([back, Inst::new(Op::Exit {})]);
    let lines = vec![SourceLine::default(); insts.len()];
    MachineKernel { name: "bench".into(), insts, lines, regs_per_thread: 16, ..MachineKernel::default() }
}

/// Executes one warp with a simple loop and optionally records it.
fn run(kernel: &MachineKernel, path: Option<&std::path::Path>) -> u64 {
    let geometry = Geometry { grid: [1, 1, 1], block: [32, 1, 1] };
    let banks = Banks::default();
    let code = Code::prepare(kernel, &banks);
    let mut writer = path.map(|p| TraceWriter::create(p, &WriterOptions::default()).unwrap());
    let launch = writer.as_mut().map(|w| {
        w.kernel(kernel).unwrap();
        w.launch(LaunchRecord {
            kernel: 0,
            geometry,
            dynamic_shared_bytes: 0,
            banks,
            buffers: Vec::new(),
            ..LaunchRecord::default()
        })
        .unwrap()
    });
    let mut recorder = launch.as_ref().map(LaunchWriter::recorder);
    let flow = kernel.flow();
    let mut warp = Warp::new(&code);
    warp.reset(&code, &geometry, [0; 3], 0);
    if let Some(r) = &mut recorder {
        r.begin(0);
    }
    let (mut pc, mut steps) = (Pc(0), 0);
    loop {
        let inst = code.inst(pc);
        if let Some(r) = &mut recorder
            && flow.block(flow.block_of(pc)).first == pc
        {
            r.enter(0, flow.block_of(pc), u32::MAX);
        }
        let exec = code.exec_mask(pc, &warp, u32::MAX);
        let mut at = [0; 32];
        match inst.kind {
            Kind::Pure => execute(&code, inst, &mut warp, exec),
            Kind::Load(_) => {
                addresses(inst, &warp, &mut at);
                warp.write_row(inst.dst, &Row::from_fn(|l| noise(at[l] & 0xFFFF)), exec);
            }
            _ => {}
        }
        if let Some(r) = &mut recorder {
            match inst.kind.is_memory() {
                true => r.access(0, pc, inst, &warp, exec, &at),
                false => r.externals(0, pc, inst, &warp, exec),
            }
            r.retire(0, pc, inst, &warp, exec);
        }
        steps += 1;
        match inst.kind {
            Kind::Exit => break,
            Kind::Branch if exec != 0 => pc = inst.target,
            _ => pc = pc.next(),
        }
    }
    if let (Some(mut r), Some(l)) = (recorder, launch) {
        l.submit(&mut r).unwrap();
        l.finish().unwrap();
    }
    writer.map(TraceWriter::finish).transpose().unwrap();
    steps
}

#[divan::bench(args = [false, true])]
fn execute_only(bencher: Bencher<'_, '_>, loads: bool) {
    let kernel = kernel(loads);
    let steps = run(&kernel, None);
    bencher.counter(ItemsCount::new(steps)).bench_local(|| run(&kernel, None));
}

#[divan::bench(args = [false, true])]
fn execute_and_record(bencher: Bencher<'_, '_>, loads: bool) {
    let kernel = kernel(loads);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bench.wtrace");
    let steps = run(&kernel, Some(&path));
    bencher.counter(ItemsCount::new(steps)).bench_local(|| run(&kernel, Some(&path)));
}

fn cursor_bench(bencher: Bencher<'_, '_>, loads: bool, slice: bool) {
    let kernel = kernel(loads);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bench.wtrace");
    let steps = run(&kernel, Some(&path));
    let trace = Trace::open(&path).unwrap();
    let cursor = if slice { trace.slice_cursor(0, 0, 0) } else { trace.warp_cursor(0, 0, 0) };
    let mut cursor = cursor.unwrap();
    bencher.counter(ItemsCount::new(steps)).bench_local(|| {
        cursor.restart(0, 0, 0).unwrap();
        while let Some(step) = cursor.step().unwrap() {
            black_box(step);
        }
    });
}

#[divan::bench(args = [false, true])]
fn cursor(bencher: Bencher<'_, '_>, loads: bool) {
    cursor_bench(bencher, loads, false);
}

#[divan::bench(args = [false, true])]
fn cursor_of_slice(bencher: Bencher<'_, '_>, loads: bool) {
    cursor_bench(bencher, loads, true);
}

#[divan::bench]
fn checksum(bencher: Bencher<'_, '_>) {
    let kernel = kernel(false);
    let code = Code::prepare(&kernel, &Banks::default());
    let warp = Warp::new(&code);
    let inst = *code.inst(Pc(2));
    let mut sum = Checksums::default();
    bencher.counter(ItemsCount::new(1000usize)).bench_local(|| {
        for _ in 0..1000 {
            sum.results(Pc(2), black_box(&inst), &warp, u32::MAX);
        }
        sum.values()
    });
}
