//! Hand-written kernels and launches, for tests of the pipeline without a trace file.
//!
//! [`Hand`] runs a small kernel with the shared semantics: branches are uniform, a load returns a mix of its
//! address, so every value is real and deterministic.

use crate::config::{GpuConfig, load};
use crate::engine::{Gpu, GroupOutcome, Job, RunOptions};
use crate::error::ReplayError;
use crate::observe::record::{Fate, InstRecord};
use crate::observe::{Observed, ViewOptions};
use crate::program::Program;
use crate::sm::{Machine, Shape};
use crate::source::{LaunchSource, MemAccess, Plain, Row, SourceError, Step, Upcoming, WarpStream};
use crate::stats::Stats;
use crate::techniques::{
    Catalogue, Cx, Effects, InFlightId, InstView, Launch, Ledger, Registration, Stack, Supplied, Techniques,
    WarpView,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use trace_format::isa::space::Space;
use trace_format::isa::*;
use trace_format::semantics::{Banks, Code, ExecInst, Geometry, Warp, addresses, execute};
pub use warplab_analysis::builder::{Builder, r};
use warplab_analysis::convergence::meeting_places_on;

/// One SM, no launch latency, one scheduler, and I-cache lines that hold a whole test kernel.
const SMALL: [&str; 7] = [
    "front_end.icache.line_bytes=256",
    "front_end.icache.size_bytes=4096",
    "gpu.sms=1",
    "launch.latency_cycles=0",
    "scheduler.count=1",
    "scheduler.policy=lrr",
    "front_end.fetch_warps_per_cycle=4",
];

/// The overrides of a machine so small that its cycles can be computed by hand, and further ones.
pub fn small<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SMALL.iter().chain(more).copied().collect()
}

/// That machine, built on `gtx480`.
pub fn small_machine(more: &[&str]) -> GpuConfig {
    let set: Vec<String> = small(more).into_iter().map(str::to_owned).collect();
    load("gtx480", &set).expect("a valid configuration").config
}

/// A launch of a hand-made kernel.
#[derive(Clone)]
pub struct Hand {
    /// The kernel.
    pub kernel: MachineKernel,
    code: Arc<Code>,
    geometry: Geometry,
    /// Bytes of global memory that stores have changed, if loads read them.
    memory: Option<Memory>,
    /// The techniques that can be named.
    known: &'static [Registration],
}

/// Bytes by address.
type Memory = Arc<Mutex<HashMap<u64, u8>>>;

impl Hand {
    /// `blocks` blocks of `threads` threads.
    pub fn new(kernel: MachineKernel, blocks: u32, threads: u32) -> Hand {
        let code = Arc::new(Code::prepare(&kernel, &Banks::default()));
        let geometry = Geometry { grid: [blocks, 1, 1], block: [threads, 1, 1] };
        Hand { kernel, code, geometry, memory: None, known: &[] }
    }

    /// With a global memory: loads read what stores and atomic additions have written, in the order of issue.
    pub fn with_memory(mut self) -> Hand {
        self.memory = Some(Arc::default());
        self
    }

    /// With techniques that can be named.
    pub fn knowing(mut self, known: &'static [Registration]) -> Hand {
        self.known = known;
        self
    }

    /// With blocks of another shape.
    pub fn with_block(mut self, block: [u32; 3]) -> Hand {
        self.geometry.block = block;
        self
    }

    /// Runs the launch on a configuration with techniques.
    pub fn run_on(
        &self,
        config: &GpuConfig,
        techniques: &[&str],
        threads: usize,
    ) -> Result<Stats, ReplayError> {
        self.run_with(config, techniques, threads, false)
    }

    /// As [`Hand::run_on`], optionally simulating every cycle.
    pub fn run_with(
        &self,
        config: &GpuConfig,
        techniques: &[&str],
        threads: usize,
        every_cycle: bool,
    ) -> Result<Stats, ReplayError> {
        let options =
            RunOptions { threads, max_cycles: Some(20_000_000), every_cycle, ..RunOptions::default() };
        let outcome = if techniques.is_empty() {
            self.run_as(&Plain(self.clone()), config, techniques, &options)
        } else {
            self.run_as(self, config, techniques, &options)
        };
        outcome.map(|outcome| outcome.total)
    }

    /// Runs the launch and returns the records of SM 0's instructions in order of issue.
    pub fn observe(&self, config: &GpuConfig) -> Vec<InstRecord> {
        let view = ViewOptions { window: Some(0..u64::MAX), sms: 0..1, ..ViewOptions::default() };
        let options = RunOptions { max_cycles: Some(20_000_000), view, ..RunOptions::default() };
        let observed = Observed(self.clone());
        let mut outcome = self.run_as(&observed, config, &[], &options).expect("a replay without error");
        let recording = outcome.jobs.remove(0).recordings.remove(0);
        let mut insts: Vec<InstRecord> =
            recording.insts.into_iter().filter(|inst| inst.fate == Fate::Retired).collect();
        insts.sort_by_key(|inst| (inst.issued, inst.warp_slot));
        insts
    }

    /// Runs the launch twice on one GPU and returns the statistics of the second run.
    pub fn run_twice(&self, config: &GpuConfig) -> Stats {
        let mut gpu = Gpu::new(config);
        let options = RunOptions { max_cycles: Some(20_000_000), ..RunOptions::default() };
        let run =
            |gpu: &mut Gpu| self.run_in(gpu, self, config, &[], &options).expect("a replay without error");
        run(&mut gpu);
        run(&mut gpu).total
    }

    /// Runs the launch from a source that holds it.
    pub(crate) fn run_as<S: LaunchSource>(
        &self,
        source: &S,
        config: &GpuConfig,
        techniques: &[&str],
        options: &RunOptions<'_>,
    ) -> Result<GroupOutcome, ReplayError> {
        self.run_in(&mut Gpu::new(config), source, config, techniques, options)
    }

    /// Runs the launch on a configuration with techniques of the caller, on one thread.
    pub fn run_techniques(&self, config: &GpuConfig, techniques: Techniques) -> Result<Stats, ReplayError> {
        let options = RunOptions { max_cycles: Some(3_000_000), ..RunOptions::default() };
        let mut gpu = Gpu::new(config);
        self.run_prepared(&mut gpu, self, config, techniques, &options).map(|outcome| outcome.total)
    }

    /// As [`Hand::run_as`], on a GPU that may have run before.
    fn run_in<S: LaunchSource>(
        &self,
        gpu: &mut Gpu,
        source: &S,
        config: &GpuConfig,
        techniques: &[&str],
        options: &RunOptions<'_>,
    ) -> Result<GroupOutcome, ReplayError> {
        let names: Vec<String> = techniques.iter().map(|name| (*name).to_owned()).collect();
        let techniques = Catalogue::of(self.known).select(&names, config).expect("known techniques");
        self.run_prepared(gpu, source, config, techniques, options)
    }

    fn run_prepared<S: LaunchSource>(
        &self,
        gpu: &mut Gpu,
        source: &S,
        config: &GpuConfig,
        techniques: Techniques,
        options: &RunOptions<'_>,
    ) -> Result<GroupOutcome, ReplayError> {
        let (machine, stack) = self.prepare(config, techniques)?;
        let blocks = self.geometry.grid.iter().map(|size| u64::from(*size)).product();
        let job = Job { machine: &machine, source, techniques: &stack, blocks, after: Vec::new() };
        gpu.run_group(&[job], options)
    }

    /// The machine of the kernel, under the plan of some techniques.
    pub(crate) fn prepare(
        &self,
        config: &GpuConfig,
        techniques: Techniques,
    ) -> Result<(Machine, Stack), ReplayError> {
        let program = Program::new(&self.kernel, config).map_err(ReplayError::Refused)?;
        let launch = Launch::new(&program, config, self.geometry.grid, self.geometry.block);
        let (stack, plan) = Stack::prepare(techniques, &launch).map_err(ReplayError::Refused)?;
        let shape = Shape::of(&launch, &plan, 0).map_err(ReplayError::Refused)?;
        let machine = Machine::new(config, program, plan, shape, meeting_places_on(config, &self.kernel))
            .map_err(ReplayError::Refused)?;
        Ok((machine, stack))
    }

    /// Runs the launch on a built-in configuration with overrides, on one thread.
    pub fn run(&self, gpu: &str, set: &[&str], techniques: &[&str]) -> Stats {
        self.run_on(&config(gpu, set), techniques, 1).expect("a replay without error")
    }
}

/// A built-in configuration with overrides.
pub fn config(gpu: &str, set: &[&str]) -> GpuConfig {
    let set: Vec<String> = set.iter().map(|item| (*item).to_owned()).collect();
    load(gpu, &set).expect("a valid configuration").config
}

/// A `Supplied` token of a successful comparison, for tests of its users.
pub fn supplied() -> Supplied {
    let program = Program::new(&Builder::default().exit(), &config("gtx480", &[])).expect("a kernel");
    let (mut ledger, mut effects) = (Ledger::default(), Effects::default());
    let mut cx = Cx::new("test", 0, &program, &mut ledger, &mut effects);
    let rows = [Row::ZERO];
    let mut warp = WarpView::new(0, &rows);
    warp.threads = 1;
    let inst = InstView::new(0, &program.insts[0], 1, 1, InFlightId::NONE);
    cx.supply(&warp, &inst, 0, &Row::ZERO).expect("zero is zero")
}

/// Each thread reads 16 words of its own; neighbouring threads read adjacent words.
pub fn stream(blocks: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).special(1, SpecialReg::CtaidX);
    b.push(Inst::new(Op::Imad {}).dst(Reg(2)).srcs([r(1), Src::imm(4096), r(0)])).shl(4, 2, 2).mov(5, 0);
    for i in 0..16 {
        b.ldg(8 + i, 4, i32::from(i) * 1024);
    }
    for i in 0..16 {
        b.iadd(30, r(8 + i), r(30), Src::RZ);
    }
    Hand::new(b.exit(), blocks, 256)
}

/// A warp of a hand-made launch.
pub struct HandWarp {
    code: Arc<Code>,
    warp: Warp,
    pc: u32,
    active: u32,
    mem: Option<(Space, u8, u32)>,
    addresses: [u64; 32],
    memory: Option<Memory>,
}

impl LaunchSource for Hand {
    type Warp<'a> = HandWarp;

    fn open(&self, block: u32, warp: u32, _used: Option<HandWarp>) -> Result<HandWarp, SourceError> {
        let mut state = Warp::new(&self.code);
        state.reset(&self.code, &self.geometry, self.geometry.block_index(u64::from(block)), warp);
        Ok(HandWarp {
            code: self.code.clone(),
            warp: state,
            pc: 0,
            active: self.geometry.launched_mask(warp),
            mem: None,
            addresses: [0; 32],
            memory: self.memory.clone(),
        })
    }
}

impl HandWarp {
    /// A load, store or atomic addition in global memory, whose bytes are a mix of their address at first.
    fn use_memory(&mut self, memory: &mut HashMap<u64, u8>, inst: &ExecInst, exec: u32) {
        let bytes = u64::from(inst.mem_bytes());
        let words = bytes.div_ceil(4);
        for lane in (0..32usize).filter(|lane| exec >> lane & 1 != 0) {
            let address = self.addresses[lane];
            let byte = |memory: &HashMap<u64, u8>, at: u64| {
                memory
                    .get(&at)
                    .copied()
                    .unwrap_or_else(|| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8)
            };
            let of_word = |i: u64| (4 * i..bytes.min(4 * i + 4)).rev();
            for i in 0..words {
                let old = of_word(i).fold(0u32, |word, k| word << 8 | u32::from(byte(memory, address + k)));
                let value = match inst.kind {
                    Kind::Load(_) => None,
                    Kind::Store(_) => Some(self.warp.row(inst.src[1].row + i as u16).0[lane]),
                    _ => Some(old.wrapping_add(self.warp.row(inst.src[1].row).0[lane])),
                };
                for k in of_word(i) {
                    if let Some(value) = value {
                        memory.insert(address + k, (value >> (8 * (k % 4))) as u8);
                    }
                }
                if i < u64::from(inst.dst_rows) {
                    let unused = 32 - 8 * bytes.min(4) as u32;
                    let signed = matches!(inst.op, Op::Ldg { width: MemWidth::S8 | MemWidth::S16, .. });
                    let loaded = if signed { ((old << unused) as i32 >> unused) as u32 } else { old };
                    self.warp.write_row(inst.dst + i as u16, &Row::splat(loaded), 1 << lane);
                }
            }
        }
    }
}

impl WarpStream for HandWarp {
    fn peek(&self) -> Option<Upcoming> {
        (self.active != 0).then_some(Upcoming { pc: self.pc, active: self.active })
    }

    fn step(&mut self) -> Result<Step, SourceError> {
        let (pc, active) = (self.pc, self.active);
        let inst = *self.code.inst(Pc(pc));
        let exec = self.code.exec_mask(Pc(pc), &self.warp, active);
        self.pc += 1;
        self.mem = None;
        match inst.kind {
            Kind::Pure => execute(&self.code, &inst, &mut self.warp, exec),
            Kind::Exit => self.active &= !self.warp.acting(&inst, exec, self.active),
            Kind::Branch => {
                let acting = self.warp.acting(&inst, exec, self.active);
                assert!(acting == 0 || acting == active, "hand-made kernels branch uniformly");
                if acting != 0 {
                    self.pc = inst.target.0;
                }
            }
            kind => {
                if let Some(space) = kind.space() {
                    if space == Space::Texture {
                        // There is no texture object: the coordinate is the texel's address.
                        self.addresses = self.warp.row(inst.src[0].row).0.map(u64::from);
                    } else {
                        addresses(&inst, &self.warp, &mut self.addresses);
                    }
                    self.mem = Some((space, inst.mem_bytes(), exec));
                }
                if let Some(memory) = self.memory.clone()
                    && kind.space() == Some(Space::Global)
                {
                    self.use_memory(&mut memory.lock().expect("no test thread panics"), &inst, exec);
                    return Ok(Step { pc, active, exec });
                }
                let row = Row::from_fn(|lane| (self.addresses[lane] as u32).wrapping_mul(0x9E37_79B1) >> 20);
                for i in 0..inst.dst_rows {
                    self.warp.write_row(inst.dst + u16::from(i), &row, exec);
                }
            }
        }
        Ok(Step { pc, active, exec })
    }

    fn finish(&mut self) -> Result<(), SourceError> {
        Ok(())
    }

    fn rows(&self) -> &[Row] {
        self.warp.registers(&self.code)
    }

    fn preds(&self) -> &[u32; Pred::ALL] {
        self.warp.preds()
    }

    fn uniforms(&self) -> &[Row] {
        self.warp.uniforms(&self.code)
    }

    fn mem(&self) -> Option<MemAccess<'_>> {
        self.mem.map(|(space, bytes, mask)| MemAccess::new(space, bytes, &self.addresses, mask))
    }
}
