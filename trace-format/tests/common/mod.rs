//! A small machine for tests: kernels built by hand or at random, executed warp by warp with per-lane program
//! counters, and recorded. Its results are kept beside the trace, to be compared with readers.

use std::path::Path;
use trace_format::container::format::RecordRef;
use trace_format::container::{LaunchRecord, TraceError};
use trace_format::isa::space::Space;
use trace_format::isa::*;
use trace_format::reader::Trace;
use trace_format::semantics::{Banks, Code, Geometry, Row, Warp, addresses, execute};
use trace_format::writer::{BlockRecorder, LaunchWriter, TraceWriter, WriteSummary, WriterOptions};

pub(crate) use test_kit::Random;

/// Instructions under construction, with forward branches to patch.
#[derive(Default)]
pub(crate) struct Builder {
    pub insts: Vec<Inst>,
    /// Whether the kernel has uniform registers and predicates, as machine code of NVIDIA does.
    pub uniform: bool,
}

/// Uniform registers of a kernel that has some.
const UNIFORM_REGISTERS: u8 = 8;

impl Builder {
    pub(crate) fn emit(&mut self, inst: Inst) -> usize {
        self.insts.push(inst);
        self.insts.len() - 1
    }

    pub(crate) fn here(&self) -> Pc {
        Pc(self.insts.len() as u32)
    }

    pub(crate) fn bra(&mut self, guard: Guard, target: Pc) -> usize {
        let mut inst = Inst::new(Op::Bra {}).guarded(guard);
        inst.target = target;
        self.emit(inst)
    }

    pub(crate) fn land(&mut self, branch: usize) {
        self.insts[branch].target = self.here();
    }

    pub(crate) fn kernel(self, name: &str) -> MachineKernel {
        let regs = self.insts.iter().flat_map(Inst::regs).map(|r| u16::from(r.0) + 1).max();
        let kernel = MachineKernel {
            name: name.into(),
            lines: vec![
                SourceLine { code: Position { file: 1, line: 1 }, ..SourceLine::default() };
                self.insts.len()
            ],
            insts: self.insts,
            files: vec![SourceFile {
                language: Language::Ptx,
                name: "test.ptx".into(),
                lines: vec![(1, ".entry".into())],
            }],
            regs_per_thread: regs.unwrap_or(0),
            uniform_registers: if self.uniform { UNIFORM_REGISTERS } else { 0 },
            ..MachineKernel::default()
        };
        kernel.check().unwrap();
        kernel
    }
}

pub(crate) fn r(n: u8) -> Src {
    Src::reg(Reg(n))
}

pub(crate) fn s2r(dst: u8, sr: SpecialReg) -> Inst {
    Inst::new(Op::S2r { sr }).dst(Reg(dst))
}

pub(crate) fn imad(dst: u8, a: Src, b: Src, c: Src) -> Inst {
    Inst::new(Op::Imad {}).dst(Reg(dst)).srcs([a, b, c])
}

pub(crate) fn iadd(dst: u8, a: Src, b: Src) -> Inst {
    Inst::new(Op::Iadd3 { x: Extended(false) }).dst(Reg(dst)).srcs([a, b, Src::RZ])
}

pub(crate) fn ffma(dst: u8, a: Src, b: Src, c: Src) -> Inst {
    Inst::new(Op::Ffma { rnd: Rnd::Rn, ftz: Ftz(false), sat: Sat(false) }).dst(Reg(dst)).srcs([a, b, c])
}

pub(crate) fn isetp(p: u8, cmp: ICmp, a: Src, b: Src) -> Inst {
    let mut inst =
        Inst::new(Op::Isetp { cmp, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) }).srcs([a, b]);
    inst.pdst[0] = Pred(p);
    inst
}

pub(crate) fn ldg(dst: u8, base: u8, offset: i32, width: MemWidth) -> Inst {
    let mut inst = Inst::new(Op::Ldg { width, order: MemOrder::Weak, ro: ReadOnly(false) })
        .dst(Reg(dst))
        .srcs([r(base)]);
    inst.offset = offset;
    inst
}

pub(crate) fn stg(base: u8, value: u8) -> Inst {
    Inst::new(Op::Stg { width: MemWidth::B32, order: MemOrder::Weak }).srcs([r(base), r(value)])
}

pub(crate) fn lds(dst: u8, base: Src, offset: i32) -> Inst {
    let mut inst = Inst::new(Op::Lds { width: MemWidth::B32, scale: Scale::X4 }).dst(Reg(dst)).srcs([base]);
    inst.offset = offset;
    inst
}

pub(crate) fn exit() -> Inst {
    Inst::new(Op::Exit {})
}

/// Word of the tests' memory: regions of the address space hold different kinds of data.
pub(crate) fn memory(address: u64) -> u32 {
    let word = address >> 2;
    let noise = Random::new(word).bits() as u32;
    match address >> 16 & 7 {
        0 => 7,
        1 => word as u32,
        2 => noise & 0xFF,
        3 => 0x4000_0000 + (noise & 0xFFFF),
        4 => (word as u32 >> 4).wrapping_mul(0x1234_5679),
        5 => noise & 1,
        _ => noise,
    }
}

/// A recorded step with its results in the executing machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    pub pc: Pc,
    pub active: u32,
    pub exec: u32,
    /// First destination register and predicates after the instruction.
    pub dst: Option<Row>,
    pub preds: [u32; 2],
    pub address: Option<u64>,
}

struct Lane {
    pc: Pc,
    returns: Vec<Pc>,
}

/// A warp with a program counter per lane; the lanes at the lowest one go first.
pub(crate) struct MiniWarp {
    pub warp: Warp,
    lanes: Vec<Lane>,
    alive: u32,
    pub seen: Vec<Seen>,
}

impl MiniWarp {
    fn active(&self) -> Option<(Pc, u32)> {
        let alive = || (0..32usize).filter(|l| self.alive >> l & 1 != 0);
        let pc = alive().map(|l| self.lanes[l].pc).min()?;
        Some((pc, alive().filter(|&l| self.lanes[l].pc == pc).fold(0, |m, l| m | 1 << l)))
    }
}

/// Runs one block and records it; returns what every warp did. `part_every` hands over parts after so many
/// basic blocks.
pub(crate) fn run_block(
    kernel: &MachineKernel,
    code: &Code,
    geometry: &Geometry,
    block: u64,
    recorder: &mut BlockRecorder,
    launch: &LaunchWriter<'_>,
    part_every: Option<u64>,
) -> Result<Vec<Vec<Seen>>, TraceError> {
    let flow = kernel.flow();
    recorder.begin(block);
    let mut warps: Vec<MiniWarp> = (0..geometry.warps_per_block())
        .map(|w| {
            let mut warp = Warp::new(code);
            warp.reset(code, geometry, geometry.block_index(block), w);
            let lanes = (0..32).map(|_| Lane { pc: Pc(0), returns: Vec::new() }).collect();
            MiniWarp { warp, lanes, alive: geometry.launched_mask(w), seen: Vec::new() }
        })
        .collect();
    let (mut entered, mut atomics) = (0u64, block as u32 * 1000);
    loop {
        let mut any = false;
        for (w, mini) in warps.iter_mut().enumerate() {
            let Some((pc, active)) = mini.active() else { continue };
            any = true;
            let id = flow.block_of(pc);
            assert_eq!(flow.block(id).first, pc, "lanes stand at block starts");
            recorder.enter(w as u32, id, active);
            for pc in pc.0..flow.block(id).end.0 {
                step(code, mini, w as u32, Pc(pc), active, recorder, &mut atomics);
            }
            entered += 1;
            if part_every.is_some_and(|n| entered % n == 0) {
                launch.submit_part(recorder)?;
            }
        }
        if !any {
            launch.submit(recorder)?;
            return Ok(warps.into_iter().map(|w| w.seen).collect());
        }
    }
}

fn step(
    code: &Code,
    mini: &mut MiniWarp,
    w: u32,
    pc: Pc,
    active: u32,
    recorder: &mut BlockRecorder,
    atomics: &mut u32,
) {
    let inst = *code.inst(pc);
    let exec = code.exec_mask(pc, &mini.warp, active);
    let (mut address, mut all) = (None, [0; 32]);
    if inst.kind.is_memory() {
        addresses(&inst, &mini.warp, &mut all);
        if exec != 0 {
            address = Some(all[exec.trailing_zeros() as usize]);
        }
        if matches!(inst.kind, Kind::Load(_) | Kind::Atomic(_)) {
            for i in 0..u16::from(inst.dst_rows) {
                let space = if inst.kind.space() == Some(Space::Shared) { 1 << 20 } else { 0 };
                let row = match inst.kind {
                    Kind::Atomic(_) => Row::from_fn(|l| *atomics + l as u32),
                    _ => Row::from_fn(|l| memory(space + all[l] + 4 * u64::from(i))),
                };
                mini.warp.write_row(inst.dst + i, &row, inst.written_lanes(exec));
            }
            *atomics += 3;
        }
    }
    match inst.kind {
        Kind::Pure => execute(code, &inst, &mut mini.warp, exec),
        Kind::External => mini.warp.write_row(inst.dst, &Row::splat(*atomics), exec),
        Kind::Barrier => {
            mini.warp.write_row(inst.dst, &Row::splat(exec.count_ones()), exec);
            mini.warp.write_pred(inst.pdst[0], 0x5555_5555u32.wrapping_mul(pc.0 & 1), exec);
        }
        _ => {}
    }
    match inst.kind.is_memory() {
        true => recorder.access(w, pc, &inst, &mini.warp, exec, &all),
        false => recorder.externals(w, pc, &inst, &mini.warp, exec),
    }
    recorder.retire(w, pc, &inst, &mini.warp, exec);
    for l in (0..32).filter(|l| active >> l & 1 != 0) {
        let lane = &mut mini.lanes[l];
        let taken = exec >> l & 1 != 0;
        lane.pc = pc.next();
        match inst.kind {
            Kind::Branch if taken => lane.pc = inst.target,
            Kind::Call if taken => {
                lane.returns.push(pc.next());
                lane.pc = inst.target;
            }
            Kind::Return if taken => lane.pc = lane.returns.pop().unwrap(),
            Kind::Exit if taken => mini.alive &= !(1 << l),
            _ => {}
        }
    }
    let preds = inst.pdst.map(|p| mini.warp.pred(p));
    let dst = (inst.dst_rows > 0).then(|| *mini.warp.row(inst.dst));
    mini.seen.push(Seen { pc, active, exec, dst, preds, address });
}

/// Steps of every warp of every block of every launch.
pub(crate) type Log = Vec<Vec<Vec<Vec<Seen>>>>;

pub(crate) fn launch_record(kernel: u32, grid: u32, block: u32) -> LaunchRecord {
    let geometry = Geometry { grid: [grid, 1, 1], block: [block, 1, 1] };
    let mut param = vec![0; 0x180];
    param[..4].copy_from_slice(&block.to_le_bytes());
    let banks = Banks { param, ..Banks::default() };
    LaunchRecord {
        kernel,
        geometry,
        dynamic_shared_bytes: 0,
        banks,
        buffers: Vec::new(),
        ..LaunchRecord::default()
    }
}

/// What to record: kernel, blocks, threads per block.
pub(crate) type Launches<'a> = &'a [(&'a MachineKernel, u32, u32)];

/// Records launches, handing blocks over in an order drawn from `order` (within the writer's window).
pub(crate) fn record(
    path: &Path,
    launches: Launches<'_>,
    options: &WriterOptions,
    order: u64,
    part_every: Option<u64>,
) -> Result<(WriteSummary, Log), TraceError> {
    let mut writer = TraceWriter::create(path, options)?;
    let mut log = Vec::new();
    for &(kernel, grid, block) in launches {
        let id = writer.kernel(kernel)?;
        let launch = launch_record(id, grid, block);
        let (geometry, code) = (launch.geometry, Code::prepare(kernel, &launch.banks));
        let run = writer.launch(launch)?;
        let mut blocks: Vec<u64> = (0..u64::from(grid)).collect();
        if part_every.is_none() {
            // Neighbours may overtake each other without waiting.
            blocks.chunks_mut(8).for_each(|c| Random::new(order).shuffle(c));
        }
        let mut recorder = run.recorder();
        let mut seen = vec![Vec::new(); grid as usize];
        for b in blocks {
            seen[b as usize] = run_block(kernel, &code, &geometry, b, &mut recorder, &run, part_every)?;
        }
        run.finish()?;
        log.push(seen);
    }
    Ok((writer.finish()?, log))
}

/// A random kernel of nested branches and loops around loads and arithmetic.
pub(crate) fn random_kernel(seed: u64) -> MachineKernel {
    random_kernel_of(seed, false)
}

fn random_kernel_of(seed: u64, uniform: bool) -> MachineKernel {
    let mut rng = Random::new(seed);
    let mut b = Builder { uniform, ..Builder::default() };
    b.emit(s2r(0, SpecialReg::TidX));
    b.emit(s2r(1, SpecialReg::CtaidX));
    b.emit(imad(2, r(1), Src::constant(0, 0), r(0)));
    // R4:R5 is the address that loads start from, R6.. are scratch.
    b.emit(imad(4, r(2), Src::imm(4), Src::RZ));
    b.emit(iadd(5, Src::RZ, Src::RZ));
    statements(&mut b, &mut rng, 0);
    b.emit(stg(4, 6));
    b.emit(exit());
    if rng.below(2) == 0 {
        let function = b.here();
        b.emit(ffma(9, r(6), r(7), r(8)));
        statements(&mut b, &mut rng, 2);
        b.emit(Inst::new(Op::Ret {}));
        for inst in &mut b.insts {
            if inst.op == (Op::Call {}) {
                inst.target = function;
            }
        }
    } else {
        for inst in &mut b.insts {
            if inst.op == (Op::Call {}) {
                *inst = Inst::new(Op::Nop {});
            }
        }
    }
    b.kernel("random")
}

fn statements(b: &mut Builder, rng: &mut Random, depth: u32) {
    for _ in 0..2 + rng.below(5) {
        statement(b, rng, depth);
    }
}

/// A random kernel as of [`random_kernel`] that also uses uniform registers and predicates, and predicates as bits of a
/// word.
pub(crate) fn random_uniform_kernel(seed: u64) -> MachineKernel {
    random_kernel_of(seed, true)
}

/// What only machine code of NVIDIA has.
fn uniform_statement(b: &mut Builder, rng: &mut Random) {
    let (d, x) = (scratch(rng), scratch(rng));
    let uniform = |rng: &mut Random| UniformReg(rng.below(u64::from(UNIFORM_REGISTERS)) as u8);
    let guard = match rng.below(4) {
        0 => PredSrc::of(Pred(rng.below(5) as u8)),
        1 => PredSrc::not(Pred::uniform(rng.below(3) as u8)),
        _ => PredSrc::TRUE,
    };
    let inst = match rng.below(8) {
        0 | 1 => {
            let width = if rng.below(2) == 0 { MemWidth::B32 } else { MemWidth::B64 };
            let udst = UniformReg(2 * rng.below(4) as u8);
            let load = Inst::new(Op::Ldc { width, bank: Bank(3) }).srcs([Src::RZ]);
            Inst { udst, offset: 8 * rng.below(40) as i32, ..load }
        }
        2 => Inst { udst: uniform(rng), ..Inst::new(Op::R2ur {}).srcs([r(x)]) },
        3 => imad(d, r(x), Src::uniform(uniform(rng)), r(0)),
        4 => {
            let sum = Inst::new(Op::Iadd3 { x: Extended(false) });
            let [a, c] = [uniform(rng), uniform(rng)].map(Src::uniform);
            Inst { udst: uniform(rng), ..sum.srcs([a, c, Src::RZ]) }
        }
        5 => {
            let mut compare = isetp(0, ICmp::Lt, Src::uniform(uniform(rng)), Src::uniform(uniform(rng)));
            compare.pdst[0] = Pred::uniform(rng.below(3) as u8);
            compare
        }
        6 => Inst { base: uniform(rng), ..lds(d, r(x), 0) },
        _ => {
            let mask = if rng.below(2) == 0 { Src::imm(rng.below(32) as u32) } else { r(scratch(rng)) };
            Inst::new(Op::R2p {}).srcs([r(x), mask])
        }
    };
    b.emit(inst.guarded(guard));
}

fn scratch(rng: &mut Random) -> u8 {
    6 + rng.below(8) as u8
}

fn statement(b: &mut Builder, rng: &mut Random, depth: u32) {
    let (d, x, y) = (scratch(rng), scratch(rng), scratch(rng));
    let region = (rng.below(8) << 16) as i32;
    if b.uniform && rng.below(3) == 0 {
        uniform_statement(b, rng);
        return;
    }
    match rng.below(if depth < 2 { 15 } else { 11 }) {
        0 => b.emit(imad(d, r(x), r(y), r(0))),
        1 => b.emit(ffma(d, r(x), r(y), r(d))),
        2 => b.emit(isetp(rng.below(3) as u8, ICmp::Lt, r(x), r(y))),
        3 => b.emit(ldg(d, 4, region, MemWidth::B32)),
        4 => b.emit(ldg(16, 4, region, MemWidth::B128)),
        5 => b.emit(lds(d, r(x), region).guarded(PredSrc::of(Pred(rng.below(3) as u8)))),
        6 => b.emit(lds(d, r(0), 4 * rng.below(40) as i32)),
        7 => b.emit(s2r(d, SpecialReg::ClockLo)),
        8 => {
            let mut bar =
                Inst::new(Op::Bar { mode: BarMode::RedAnd }).dst(Reg(d)).srcs([Src::imm(0), Src::imm(0)]);
            bar.pdst[0] = Pred(2);
            b.emit(bar)
        }
        9 => {
            let op = Op::Atoms { op: AtomOp::Add, ty: AtomTy::U32, scale: Scale::X1 };
            b.emit(Inst::new(op).dst(if rng.below(2) == 0 { Reg(d) } else { Reg::RZ }).srcs([r(x), r(y)]))
        }
        10 if rng.below(4) == 0 => {
            b.emit(isetp(3, ICmp::Eq, r(0), Src::imm(rng.below(40) as u32)));
            b.emit(exit().guarded(PredSrc::of(Pred(3))))
        }
        10 => b.emit(iadd(d, r(x), Src::imm(rng.bits() as u32))),
        11 | 12 => {
            // if (R0 & x) < bound { .. } else { .. }
            b.emit(Inst::new(Op::Lop3 { lut: Lut(0xC0) }).dst(Reg(20)).srcs([r(0), r(x), Src::RZ]));
            b.emit(isetp(3, ICmp::Lt, r(20), Src::imm(rng.below(20) as u32)));
            let to_else = b.bra(PredSrc::not(Pred(3)), Pc(0));
            statements(b, rng, depth + 1);
            let to_end = b.bra(PredSrc::TRUE, Pc(0));
            b.land(to_else);
            statements(b, rng, depth + 1);
            b.land(to_end);
            b.emit(Inst::new(Op::Nop {}))
        }
        13 => {
            // for (i = 0; i < bound (+ lane-dependent); i++) { .. }
            let counter = 24 + depth as u8;
            let bound = 30 + depth as u8;
            b.emit(iadd(counter, Src::RZ, Src::RZ));
            let spread = if rng.below(2) == 0 { 3 } else { 0 };
            b.emit(Inst::new(Op::Lop3 { lut: Lut(0xC0) }).dst(Reg(bound)).srcs([
                r(0),
                Src::imm(spread),
                Src::RZ,
            ]));
            b.emit(iadd(bound, r(bound), Src::imm(1 + rng.below(4) as u32)));
            let top = b.here();
            statements(b, rng, depth + 1);
            b.emit(iadd(4, r(4), Src::imm(4)));
            b.emit(iadd(counter, r(counter), Src::imm(1)));
            b.emit(isetp(4, ICmp::Lt, r(counter), r(bound)));
            b.bra(PredSrc::of(Pred(4)), top)
        }
        _ => b.emit(Inst::new(Op::Call {})),
    };
}

/// Damages every byte of the first record of a kind, one at a time. Each damaged trace is told to be incomplete, or is
/// refused with an error that names the file.
pub(crate) fn damaged_record_is_named(path: &Path, kind: [u8; 4]) {
    let whole = std::fs::read(path).unwrap();
    let offset = {
        let trace = Trace::open(path).unwrap();
        trace.records().iter().find(|record| record.0 == kind).unwrap().1
    };
    let record = RecordRef::at(&whole, offset).unwrap();
    let name = path.file_name().and_then(std::ffi::OsStr::to_str).unwrap();
    for at in offset..offset + record.bytes() {
        let mut damaged = whole.clone();
        damaged[at as usize] ^= 0x10;
        std::fs::write(path, &damaged).unwrap();
        match Trace::open(path) {
            Ok(trace) => assert!(trace.incomplete().is_some(), "byte {at}"),
            Err(error) => assert!(error.to_string().contains(name), "{error}"),
        }
    }
}
