//! An instruction decoded for timing: the data that the pipeline needs of it in every cycle.
//!
//! Registers become bit sets for the scoreboard, unit and latency classes become indices and cycles of the
//! configuration. Techniques read the original instruction through [`TimedInst::inst`].

use crate::config::{GpuConfig, UNIT_NAMES, latency_name};
use crate::micro::MicroOp;
use trace_format::isa::space::Space;
use trace_format::isa::{Collector, ControlBits, Inst, Kind, LatencyClass, RegSet, Unit};

/// Maximum number of source registers of one instruction (a matrix product: 4 + 2 + 4).
pub const MAX_SRC: usize = 10;
/// Maximum number of destination registers of one instruction.
pub const MAX_DST: usize = 4;

/// Path of an instruction through the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Collectors, a unit, writeback.
    Alu,
    /// Collectors, the load/store queue, memory, writeback.
    Memory(MemoryKind),
    /// No operand collection: branch, exit, no-op.
    Control,
    /// Waits for the block.
    Barrier,
    /// Waits for the warp's outstanding accesses.
    Fence,
}

/// What a memory instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// Load; the result returns to registers.
    Load(Space),
    /// Store.
    Store(Space),
    /// Read-modify-write; with or without a result.
    Atomic(Space),
}

/// One decoded instruction.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TimedInst {
    /// The instruction as lowered.
    pub inst: Inst,
    /// Its path through the pipeline.
    pub path: Path,
    /// Position of its unit class in [`Unit::ALL`], after `runs_on`.
    pub unit: u8,
    /// Position of its own unit class in [`Unit::ALL`], for the instruction mix.
    pub class: u8,
    /// Collector pool: 0 ALU, 1 SFU, 2 memory (ignored if collectors are generic).
    pub pool: u8,
    /// Cycles from dispatch to the result bus, for all but memory instructions.
    pub latency_cycles: u32,
    /// Cycles before the unit takes the next instruction.
    pub initiation_cycles: u32,
    /// Distinct source registers.
    pub srcs: [u8; MAX_SRC],
    /// Number of valid entries in `srcs`.
    pub src_count: u8,
    /// Destination registers.
    pub dsts: [u8; MAX_DST],
    /// Number of valid entries in `dsts`.
    pub dst_count: u8,
    /// The sources, by the registers that hold them: `srcs`, unless a plan renames them.
    pub read_as: [u8; MAX_SRC],
    /// The destinations, by the registers that hold them: `dsts`, unless a plan renames them.
    pub written_as: [u8; MAX_DST],
    /// Sources and destinations, which must not be pending at issue.
    pub hazards: RegSet,
    /// Destinations.
    pub writes: RegSet,
    /// Uniform registers (by number) and predicates (from bit 64 on) that must not be outstanding.
    pub uniform_hazards: u128,
    /// Uniform registers and predicates that are written.
    pub uniform_writes: u128,
    /// Number of uniform registers read, and written.
    pub uniform_operands: [u8; 2],
    /// Predicates read or written, one bit each.
    pub pred_hazards: u8,
    /// Predicates written, one bit each.
    pub pred_writes: u8,
    /// The bit of the predicate that guards the instruction; none for PT.
    pub guard: u8,
    /// Its control bits, if the machine uses them.
    pub control: Option<ControlBits>,
}

impl TimedInst {
    /// Distinct source registers.
    #[must_use]
    #[inline]
    pub fn sources(&self) -> &[u8] {
        &self.srcs[..usize::from(self.src_count)]
    }

    /// Destination registers.
    #[must_use]
    #[inline]
    pub fn destinations(&self) -> &[u8] {
        &self.dsts[..usize::from(self.dst_count)]
    }

    /// The registers that hold the sources.
    #[must_use]
    #[inline]
    pub fn read_registers(&self) -> &[u8] {
        &self.read_as[..usize::from(self.src_count)]
    }

    /// The registers that hold the destinations.
    #[must_use]
    #[inline]
    pub fn written_registers(&self) -> &[u8] {
        &self.written_as[..usize::from(self.dst_count)]
    }

    /// Renames the registers that hold sources and destinations.
    pub fn rename(&mut self, renaming: &Renaming) {
        (self.read_as, self.written_as) = (renaming.sources, renaming.destinations);
        (self.writes, self.hazards) = (RegSet::default(), RegSet::default());
        for reg in &self.written_as[..usize::from(self.dst_count)] {
            self.writes.insert(*reg);
        }
        self.hazards = self.writes;
        for reg in &self.read_as[..usize::from(self.src_count)] {
            self.hazards.insert(*reg);
        }
    }

    /// Whether the source registers are read no earlier than the result is written, where control bits count that: a load of
    /// constants with its address in a register (Huerta et al., MICRO 2025, table 2).
    #[must_use]
    #[inline]
    pub fn keeps_sources(&self) -> bool {
        self.path == Path::Memory(MemoryKind::Load(Space::Const)) && self.src_count > 0
    }

    /// Whether a result returns to registers or predicates.
    #[must_use]
    #[inline]
    pub fn has_result(&self) -> bool {
        self.dst_count > 0 || self.pred_writes != 0
    }
}

/// The registers that hold an instruction's operands after a technique's compiler pass, in the order of
/// [`TimedInst::sources`] and [`TimedInst::destinations`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Renaming {
    /// Registers that hold the sources.
    pub sources: [u8; MAX_SRC],
    /// Registers that hold the destinations.
    pub destinations: [u8; MAX_DST],
}

impl TimedInst {
    /// Decodes a micro-operation for the pipeline.
    ///
    /// # Errors
    /// The error names the operation and the reason.
    pub fn micro(op: &MicroOp, config: &GpuConfig) -> Result<TimedInst, String> {
        let refuse = |why: String| format!("micro-operation {}: {why}", op.name);
        let own = Unit::named(op.unit).ok_or_else(|| {
            refuse(format!("unknown unit class `{}`; known are {}", op.unit, UNIT_NAMES.join(", ")))
        })?;
        if op.sources.len() > MAX_SRC || op.destinations.len() > MAX_DST {
            return Err(refuse(format!("more than {MAX_SRC} sources or {MAX_DST} destinations")));
        }
        let (class, marker) = (own as usize, own == Unit::Control);
        if marker && !(op.sources.is_empty() && op.destinations.is_empty()) {
            return Err(refuse("a control operation has no registers".to_owned()));
        }
        if own == Unit::LdSt {
            return Err(refuse("memory is accessed by instructions and early loads only".to_owned()));
        }
        let unit = host(own, config);
        let (mut srcs, mut dsts) = ([0; MAX_SRC], [0; MAX_DST]);
        srcs[..op.sources.len()].copy_from_slice(&op.sources);
        dsts[..op.destinations.len()].copy_from_slice(&op.destinations);
        let (mut writes, mut hazards) = (RegSet::default(), RegSet::default());
        op.destinations.iter().for_each(|reg| writes.insert(*reg));
        let waits_for = op.sources.iter().chain(&op.destinations).chain(&op.waits_for);
        waits_for.for_each(|reg| hazards.insert(*reg));
        Ok(TimedInst {
            inst: Inst::new(trace_format::isa::Op::Nop {}),
            path: if marker { Path::Control } else { Path::Alu },
            unit: unit as u8,
            class: class as u8,
            pool: pool(if own == Unit::Sfu { Collector::Sfu } else { Collector::Alu }),
            uniform_operands: [0; 2],
            latency_cycles: op.latency_cycles.max(1),
            initiation_cycles: op.initiation_cycles.max(1),
            srcs,
            src_count: op.sources.len() as u8,
            dsts,
            dst_count: op.destinations.len() as u8,
            read_as: srcs,
            written_as: dsts,
            hazards,
            writes,
            uniform_hazards: 0,
            uniform_writes: 0,
            pred_hazards: 0,
            pred_writes: 0,
            guard: 0,
            control: None,
        })
    }
}

/// The class whose units execute the instructions of a class.
fn host(unit: Unit, config: &GpuConfig) -> usize {
    Unit::named(&config.units[UNIT_NAMES[unit as usize]].runs_on).unwrap_or(unit) as usize
}

/// Decodes an instruction.
///
/// # Errors
/// Why it cannot be timed.
pub(crate) fn decode(inst: &Inst, config: &GpuConfig) -> Result<TimedInst, String> {
    let info = inst.info();
    let class = info.unit as usize;
    let timing = latency_name(info.latency).map(|name| &config.latency[name]);
    // Conversions of doubles belong to a class of other units too; they stay where they are.
    let own = [Unit::Int, Unit::Fp32, Unit::Sfu].contains(&info.unit);
    let moved = timing.filter(|_| own).and_then(|timing| Unit::named(&timing.runs_on));
    let unit = host(moved.unwrap_or(info.unit), config);
    let lanes = config.units[UNIT_NAMES[unit]].lanes;
    let (latency_cycles, initiation_cycles) = timing.map_or((1, 1), |timing| {
        let (latency, whole) = (timing.latency_cycles, timing.initiation_cycles);
        // A configuration has the cycles of 16x8x16 halves. A smaller product passes the same pipeline in fewer.
        let initiation = inst.op.tensor_quarters().map_or(whole, |quarters| (whole * quarters).div_ceil(4));
        ((latency + initiation).saturating_sub(whole).max(1), initiation.max(32 / lanes))
    });
    let mut srcs = [0; MAX_SRC];
    let mut src_count = 0;
    let mut hazards = RegSet::default();
    for reg in inst.src_regs() {
        if !hazards.contains(reg.0) {
            let slot = srcs.get_mut(src_count).ok_or("more source registers than the pipeline carries")?;
            *slot = reg.0;
            src_count += 1;
            hazards.insert(reg.0);
        }
    }
    let (mut dsts, mut dst_count) = ([0; MAX_DST], 0);
    let mut writes = RegSet::default();
    for reg in inst.dst_regs() {
        let slot = dsts.get_mut(dst_count).ok_or("more destination registers than the pipeline carries")?;
        *slot = reg.0;
        dst_count += 1;
        writes.insert(reg.0);
    }
    hazards.insert_all(&writes);
    let bits = |acc: u8, pred: trace_format::isa::Pred| acc | 1 << pred.index();
    let pred_writes = inst.dst_preds().fold(0, bits);
    let pred_hazards = inst.src_preds().fold(pred_writes, bits);
    let uniform_bits = |regs: u128, reg: trace_format::isa::UniformReg| regs | 1 << (reg.0 & 63);
    let uniform_preds = |regs: u128, pred: trace_format::isa::Pred| {
        regs | u128::from(pred.is_uniform()) << (64 + (pred.0 & 7))
    };
    let uniform_writes = inst.all_dst_preds().fold(inst.dst_uniforms().fold(0, uniform_bits), uniform_preds);
    let uniform_reads = inst.all_src_preds().fold(inst.src_uniforms().fold(0, uniform_bits), uniform_preds);
    Ok(TimedInst {
        inst: *inst,
        path: path(inst, info.latency)?,
        unit: unit as u8,
        class: class as u8,
        pool: pool(if moved.is_some() { Collector::Alu } else { info.collector }),
        latency_cycles,
        initiation_cycles,
        srcs,
        src_count: src_count as u8,
        dsts,
        dst_count: dst_count as u8,
        read_as: srcs,
        written_as: dsts,
        hazards,
        writes,
        uniform_hazards: uniform_reads | uniform_writes,
        uniform_writes,
        uniform_operands: inst.uniform_operands(),
        pred_hazards,
        pred_writes,
        guard: if inst.is_unguarded() || inst.guard.pred.is_uniform() {
            0
        } else {
            1 << inst.guard.pred.index()
        },
        control: None,
    })
}

/// Whether instructions wait in a queue for units of a class where there are no collectors, so that their latency is not known.
#[must_use]
pub fn has_queue(unit: u8) -> bool {
    [Unit::Sfu as u8, Unit::Fp64 as u8].contains(&unit)
}

/// Number of a collector pool; instructions without collector ignore it.
const fn pool(collector: Collector) -> u8 {
    match collector {
        Collector::Alu | Collector::NoCollector => 0,
        Collector::Sfu => 1,
        Collector::Memory => 2,
    }
}

fn path(inst: &Inst, latency: LatencyClass) -> Result<Path, String> {
    Ok(match inst.kind() {
        Kind::Load(space) => Path::Memory(MemoryKind::Load(space)),
        Kind::Store(space) => Path::Memory(MemoryKind::Store(space)),
        Kind::Atomic(space) | Kind::Reduction(space) => Path::Memory(MemoryKind::Atomic(space)),
        Kind::Branch | Kind::Call | Kind::Return | Kind::Exit | Kind::Sync | Kind::Trap => Path::Control,
        Kind::Barrier => Path::Barrier,
        Kind::Fence => Path::Fence,
        Kind::Pure | Kind::External if latency == LatencyClass::Memory => {
            return Err("a memory latency without a memory access".into());
        }
        Kind::Pure | Kind::External => Path::Alu,
    })
}
