//! Tools of the executor's tests: an assembler of machine kernels with labels, and a launcher.

use emulator::exec::{self, Fault, Launch, LaunchError, Options, Stats, Unobserved};
use emulator::memory::{AllocationId, GlobalMemory};
use emulator::record::TraceSink;
use emulator::record::Unrecorded;
use trace_format::container::LaunchRecord;
use trace_format::isa::space::{BANK_PARAM, PARAM_BASE, PARAM_NTID};
use trace_format::isa::*;
use trace_format::semantics::{Banks, Geometry};
use trace_format::validate::{Progress, Report};
use trace_format::writer::{TraceWriter, WriterOptions};

/// A kernel under construction.
#[derive(Default)]
pub(crate) struct Asm {
    insts: Vec<Inst>,
    labels: Vec<Option<u32>>,
    fixups: Vec<(usize, Label)>,
    functions: Vec<(Label, String)>,
    pub shared: u32,
    pub local: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Label(usize);

pub(crate) const fn r(n: u8) -> Reg {
    Reg(n)
}

pub(crate) fn reg(n: u8) -> Src {
    Src::reg(Reg(n))
}

pub(crate) fn imm(v: u32) -> Src {
    Src::imm(v)
}

/// The `i`-th 64-bit kernel parameter.
pub(crate) fn param(i: u16) -> Src {
    Src::constant(BANK_PARAM, PARAM_BASE + 8 * i)
}

pub(crate) fn p(n: u8) -> Guard {
    PredSrc::of(Pred(n))
}

pub(crate) fn not_p(n: u8) -> Guard {
    PredSrc::not(Pred(n))
}

impl Asm {
    pub(crate) fn new() -> Asm {
        Asm::default()
    }

    pub(crate) fn push(&mut self, inst: Inst) -> &mut Asm {
        self.insts.push(inst);
        self
    }

    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    pub(crate) fn bind(&mut self, label: Label) -> &mut Asm {
        self.labels[label.0] = Some(self.insts.len() as u32);
        self
    }

    pub(crate) fn function(&mut self, label: Label, name: &str) -> &mut Asm {
        self.bind(label);
        self.functions.push((label, name.into()));
        self
    }

    pub(crate) fn mov(&mut self, dst: u8, src: Src) -> &mut Asm {
        self.push(Inst::new(Op::Mov {}).dst(r(dst)).srcs([src]))
    }

    pub(crate) fn sr(&mut self, dst: u8, sr: SpecialReg) -> &mut Asm {
        self.push(Inst::new(Op::S2r { sr }).dst(r(dst)))
    }

    pub(crate) fn add(&mut self, dst: u8, a: u8, b: Src) -> &mut Asm {
        self.push(Inst::new(Op::Iadd3 { x: Extended(false) }).dst(r(dst)).srcs([reg(a), b, Src::RZ]))
    }

    pub(crate) fn mad(&mut self, dst: u8, a: u8, b: Src, c: u8) -> &mut Asm {
        self.push(Inst::new(Op::Imad {}).dst(r(dst)).srcs([reg(a), b, reg(c)]))
    }

    pub(crate) fn and(&mut self, dst: u8, a: u8, b: Src) -> &mut Asm {
        self.push(Inst::new(Op::Lop3 { lut: Lut(Lut::A & Lut::B) }).dst(r(dst)).srcs([reg(a), b, Src::RZ]))
    }

    /// dst (a pair) = index * 4 + pointer parameter.
    pub(crate) fn address(&mut self, dst: u8, index: u8, parameter: u16) -> &mut Asm {
        self.mov(254, imm(4));
        self.push(Inst::new(Op::ImadWide { sign: Sign::U32 }).dst(r(dst)).srcs([
            reg(index),
            reg(254),
            param(parameter),
        ]))
    }

    /// Global thread index: ctaid.x * ntid.x + tid.x; clobbers R253.
    pub(crate) fn thread(&mut self, dst: u8) -> &mut Asm {
        self.sr(dst, SpecialReg::TidX).sr(253, SpecialReg::CtaidX);
        let ntid = Src::constant(BANK_PARAM, PARAM_NTID);
        self.push(Inst::new(Op::Imad {}).dst(r(dst)).srcs([reg(253), ntid, reg(dst)]))
    }

    pub(crate) fn setp(&mut self, pred: u8, cmp: ICmp, a: u8, b: Src) -> &mut Asm {
        let op = Op::Isetp { cmp, sign: Sign::S32, bop: BoolOp::And, ex: Extended(false) };
        let mut inst = Inst::new(op).srcs([reg(a), b]);
        inst.pdst[0] = Pred(pred);
        self.push(inst)
    }

    pub(crate) fn ldg(&mut self, dst: u8, address: u8) -> &mut Asm {
        let op = Op::Ldg { width: MemWidth::B32, order: MemOrder::Weak, ro: ReadOnly(false) };
        self.push(Inst::new(op).dst(r(dst)).srcs([reg(address)]))
    }

    pub(crate) fn stg(&mut self, address: u8, value: Src) -> &mut Asm {
        let op = Op::Stg { width: MemWidth::B32, order: MemOrder::Weak };
        self.push(Inst::new(op).srcs([reg(address), value]))
    }

    pub(crate) fn lds(&mut self, dst: u8, address: u8, offset: i32) -> &mut Asm {
        let op = Op::Lds { width: MemWidth::B32, scale: Scale::X4 };
        let mut inst = Inst::new(op).dst(r(dst)).srcs([reg(address)]);
        inst.offset = offset;
        self.push(inst)
    }

    pub(crate) fn sts(&mut self, address: u8, value: u8) -> &mut Asm {
        let op = Op::Sts { width: MemWidth::B32, scale: Scale::X4 };
        self.push(Inst::new(op).srcs([reg(address), reg(value)]))
    }

    fn jump(&mut self, op: Op, to: Label, guard: Guard) -> &mut Asm {
        self.fixups.push((self.insts.len(), to));
        self.push(Inst::new(op).guarded(guard))
    }

    pub(crate) fn bra(&mut self, to: Label, guard: Guard) -> &mut Asm {
        self.jump(Op::Bra {}, to, guard)
    }

    pub(crate) fn call(&mut self, to: Label, guard: Guard) -> &mut Asm {
        self.jump(Op::Call {}, to, guard)
    }

    pub(crate) fn ret(&mut self, guard: Guard) -> &mut Asm {
        self.push(Inst::new(Op::Ret {}).guarded(guard))
    }

    pub(crate) fn exit(&mut self, guard: Guard) -> &mut Asm {
        self.push(Inst::new(Op::Exit {}).guarded(guard))
    }

    pub(crate) fn bar(&mut self, mode: BarMode, id: u32, threads: u32, guard: Guard) -> &mut Asm {
        self.push(Inst::new(Op::Bar { mode }).srcs([imm(id), imm(threads)]).guarded(guard))
    }

    pub(crate) fn sync(&mut self) -> &mut Asm {
        self.bar(BarMode::Sync, 0, 0, PredSrc::TRUE)
    }

    /// Resolves labels and finds reconvergence points. Every instruction gets a PTX line of its own.
    pub(crate) fn build(&self) -> MachineKernel {
        let mut insts = self.insts.clone();
        let at = |l: Label| Pc(self.labels[l.0].expect("label is bound"));
        for &(i, label) in &self.fixups {
            insts[i].target = at(label);
        }
        let lines = (0..insts.len())
            .map(|i| SourceLine { code: Position { file: 1, line: 10 + i as u32 }, ..SourceLine::default() })
            .collect();
        let text = |i: usize| (10 + i as u32, format!("\tptx line of {};", insts[i]));
        let file = SourceFile {
            language: Language::Ptx,
            name: "hand.ptx".into(),
            lines: (0..insts.len()).map(text).collect(),
        };
        let highest = insts.iter().flat_map(Inst::regs);
        let regs_per_thread = highest.map(|r| u16::from(r.0) + 1).max().unwrap_or(0);
        let mut kernel = MachineKernel {
            name: "hand_built".into(),
            lines,
            files: vec![file],
            regs_per_thread,
            static_shared_bytes: self.shared,
            local_bytes: self.local,
            functions: self.functions.iter().map(|(l, name)| (at(*l), name.clone())).collect(),
            insts,
            ..MachineKernel::default()
        };
        kernel.set_reconvergence();
        kernel
    }
}

/// Constant banks for 64-bit parameters.
pub(crate) fn banks(kernel: &MachineKernel, geometry: &Geometry, params: &[u64]) -> Banks {
    let mut bank = Banks::parameter_head(geometry, kernel.local_bytes);
    params.iter().for_each(|p| bank.extend(p.to_le_bytes()));
    Banks { param: bank, ..Banks::default() }
}

/// The validator's report on a trace.
pub(crate) fn verify(trace: &[u8]) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.wtrace");
    std::fs::write(&path, trace).unwrap();
    trace_format::validate::validate(&path, 1, &Progress::default()).unwrap()
}

/// Device memory, and functions that run kernels on it.
pub(crate) struct Device {
    pub memory: GlobalMemory,
    pub buffers: Vec<AllocationId>,
    pub options: Options,
}

impl Device {
    /// One buffer per list of words.
    pub(crate) fn new(buffers: &[&[u32]]) -> Device {
        let mut memory = GlobalMemory::new();
        let buffers = buffers.iter().enumerate().map(|(i, words)| {
            memory.allocate(format!("buffer{i}"), words.iter().flat_map(|w| w.to_le_bytes()).collect())
        });
        let buffers = buffers.collect();
        Device {
            memory,
            buffers,
            options: Options { threads: 1, max_instructions: 1 << 30, ..Options::default() },
        }
    }

    pub(crate) fn pointers(&self) -> Vec<u64> {
        self.buffers.iter().map(|&b| self.memory.allocation(b).base).collect()
    }

    pub(crate) fn run(
        &mut self,
        kernel: &MachineKernel,
        grid: u32,
        block: u32,
    ) -> Result<Stats, LaunchError> {
        let geometry = Geometry { grid: [grid, 1, 1], block: [block, 1, 1] };
        let banks = banks(kernel, &geometry, &self.pointers());
        let launch = Launch { kernel, geometry, dynamic_shared_bytes: 0, banks, index: 0 };
        exec::launch(&mut self.memory, &launch, &self.options, &mut Unrecorded, &Unobserved)
    }

    pub(crate) fn fault(&mut self, kernel: &MachineKernel, grid: u32, block: u32) -> Fault {
        match self.run(kernel, grid, block) {
            Err(LaunchError::Fault(fault)) => *fault,
            other => panic!("expected a fault, got {other:?}"),
        }
    }

    /// Runs and records; the statistics and the bytes of the trace.
    pub(crate) fn record(
        mut self,
        kernel: &MachineKernel,
        grid: u32,
        block: u32,
        threads: usize,
    ) -> (Stats, Vec<u8>) {
        self.options.threads = threads;
        let geometry = Geometry { grid: [grid, 1, 1], block: [block, 1, 1] };
        let banks = banks(kernel, &geometry, &self.pointers());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.wtrace");
        let mut writer = TraceWriter::create(&path, &WriterOptions::default()).unwrap();
        let record = LaunchRecord {
            kernel: writer.kernel(kernel).unwrap(),
            geometry,
            dynamic_shared_bytes: 0,
            banks: banks.clone(),
            buffers: Vec::new(),
            ..LaunchRecord::default()
        };
        let mut sink = TraceSink::new(writer.launch(record).unwrap());
        let launch = Launch { kernel, geometry, dynamic_shared_bytes: 0, banks, index: 0 };
        let stats = exec::launch(&mut self.memory, &launch, &self.options, &mut sink, &Unobserved);
        let stats = stats.unwrap_or_else(|e| panic!("{e}"));
        sink.finish().unwrap();
        writer.finish().unwrap();
        (stats, std::fs::read(&path).unwrap())
    }

    pub(crate) fn words(&self, buffer: usize) -> Vec<u32> {
        let bytes = self.memory.allocation(self.buffers[buffer]).bytes.contents();
        bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
    }
}
