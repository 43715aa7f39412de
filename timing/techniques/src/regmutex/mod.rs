//! RegMutex: warps share the registers that they need only for short stretches of the code (RegMutex, section
//! 4.3).
//!
//! The compiler pass splits a kernel's registers into a base set, which every warp owns, and an extended set,
//! which a warp acquires from a pool of sections and releases again. [`size`] chooses the split, [`compile`]
//! places acquires, releases and moves, [`pool`] holds sections and values. Registers in the operand collector
//! are mapped as in Figure 4.6: a register of the base set by the warp, one of the extended set by the warp's
//! section; each operand is compared with the value that the program has.

mod compile;
mod live;
mod pieces;
mod pool;
mod size;
#[cfg(test)]
mod tests;

use super::{
    Claim, Cx, Edge, InstView, IssueVerdict, Issuing, Launch, MicroId, MicroOp, OperandRead, ParamValue,
    Params as _, Plan, ReadFrom, RegisterWrite, Registration, Shape, Storage, StorageInfo, Technique,
    TechniqueInfo, ValueMismatch, WarpView, WriteTo,
};
use compile::{Code, Step};
use pool::Pool;
use size::{Rules, Split};
use std::collections::BTreeMap;
use warplab_technique::banks::BankMap;
use warplab_technique::declare::Cause;
use warplab_technique::program::{Path, Renaming};
use warplab_technique::{causes, counts, params};

params! {
    /// `[technique.regmutex]`.
    struct Params {
        /// Registers of the extended set; 0 for the choice of section 4.3.1. A kernel to which the size does not
        /// apply has none.
        es: u32 = 0, 0..=254;
        /// Registers per thread in which the base set is allocated; 0 for the GPU's unit. The example of section
        /// 4.3.1 allocates single registers.
        base_unit: u32 = 1, 0..=32;
        /// Sections of an SM at most; 0 for all that fit beside the base sets. Pairs of warps have one each.
        sections: u32 = 0, 0..=64;
        /// Whether a section is always free; occupancy is that of the real pool.
        ideal: bool = false;
        /// Whether registers are shared; if false, every register is in the base set.
        mechanism: bool = true;
    }
}

counts! {
    /// Counters of RegMutex.
    struct Counts {
        /// Acquires that took a section of the pool.
        acquires;
        /// Of these, acquires that never waited for a section.
        acquires_at_once;
        /// Acquires of a warp that already had a section.
        nested_acquires;
        /// Releases that freed a section.
        releases;
        /// Releases that freed none: the warp had none, or other lanes of it need theirs.
        nested_releases;
        /// Sections that were freed because their warp ended, or because the lanes that had acquired them exited.
        releases_at_exit;
        /// Values that were moved to another register before a release.
        moves;
        /// Operands that were read from an extended set.
        extended_reads;
        /// Sum over warps of the registers of their base set.
        base_registers;
        /// Sum over warps of the registers of their extended set.
        extended_registers;
    }
}

causes! {
    /// Why a warp waits.
    enum Stall {
        /// No section of the pool is free.
        NoSection = "no_section";
        /// A release waits until the warp's instructions in flight have read and written its section.
        InFlight = "section_in_use";
    }
}

/// Entry in the list of techniques.
pub(crate) const REGISTRATION: Registration =
    Registration::new(&INFO, |_, section| Ok(Box::new(RegMutex::new(section)?)));

pub(crate) const INFO: TechniqueInfo = TechniqueInfo::new(
    "regmutex",
    "a set of registers that warps acquire and release, shared by all warps of an SM",
    "RegMutex: Inter-Warp GPU Register Time-Sharing, section 4.3",
)
.with_uniform_registers()
.with_claims(&[Claim::Occupancy, Claim::RegisterMapping, Claim::WaitingWarps])
.with_params(Params::declared)
.with_counters(Counts::DECLARED)
.with_stalls(Stall::DECLARED)
.with_storage(&[StorageInfo::new("lookup", "the look-up table of sections", "technique_storage")]);

/// Entry of the specialisation for pairs of warps in the list of techniques.
pub(crate) const PAIRS: Registration =
    Registration::new(&PAIRS_INFO, |_, section| Ok(Box::new(RegMutex::paired(section)?)));

const PAIRS_INFO: TechniqueInfo = INFO
    .named(
        "regmutex-pairs",
        "a set of registers that the two warps of a pair acquire and release",
        "RegMutex: Inter-Warp GPU Register Time-Sharing, section 4.3.3",
    )
    .with_storage(&[]);

/// Tags of the micro-operations; a move has its registers in the upper bits.
const ACQUIRE: u32 = 0;
const RELEASE: u32 = 1;
const MOVE: u32 = 2;

/// The registers of a move.
fn move_tag(from: u8, to: u8) -> u32 {
    MOVE | u32::from(from) << 8 | u32::from(to) << 16
}

/// What a warp's instructions do in flight.
#[derive(Clone, Copy, Debug, Default)]
struct InFlight {
    /// Instructions that have still to read or write the section.
    uses: u32,
    /// Whether the warp's acquire has waited.
    waited: bool,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct RegMutex {
    params: Params,
    /// Whether a section belongs to a pair of warps.
    pairs: bool,
    split: Option<Split>,
    renamed: Vec<Renaming>,
    /// By instruction: whether it reads, and whether it writes, a register of the extended set.
    reads: Vec<bool>,
    writes: Vec<bool>,
    pool: Option<Pool>,
    warps: Vec<InFlight>,
    banks: Option<BankMap>,
    lookup: Storage,
    /// Bits of the warps' status and of the sections' status.
    bits: u64,
    counts: Counts,
}

impl RegMutex {
    /// Reads `[technique.regmutex]`.
    fn new(section: &toml::Table) -> Result<RegMutex, String> {
        Ok(RegMutex {
            params: Params::read(section)?,
            pairs: false,
            split: None,
            renamed: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            pool: None,
            warps: Vec::new(),
            banks: None,
            lookup: Storage::new(Shape::new(1, 0, 0)),
            bits: 0,
            counts: Counts::default(),
        })
    }

    /// Reads `[technique.regmutex-pairs]`.
    fn paired(section: &toml::Table) -> Result<RegMutex, String> {
        Ok(RegMutex { pairs: true, ..RegMutex::new(section)? })
    }

    fn pool(&self) -> &Pool {
        self.pool.as_ref().expect("hooks are called for kernels with an extended set only")
    }

    fn pool_mut(&mut self) -> &mut Pool {
        self.pool.as_mut().expect("hooks are called for kernels with an extended set only")
    }

    /// Puts the micro-operations of the compiler pass into the plan.
    fn insert(launch: &Launch<'_>, plan: &mut Plan, code: &Code) {
        let latency = launch.config.latency["int_add"].latency_cycles;
        let acquire = plan.micro_op(MicroOp::marker("acquire", ACQUIRE));
        let mut moves: BTreeMap<(u8, u8), MicroId> = BTreeMap::new();
        let mut releases: BTreeMap<Vec<u8>, MicroId> = BTreeMap::new();
        let mut moved: Vec<u8> = Vec::new();
        for (at, step) in &code.steps {
            let op = match step {
                Step::Acquire => acquire,
                Step::Move { from, to } => {
                    moved.push(*to);
                    *moves.entry((*from, *to)).or_insert_with(|| {
                        let op = MicroOp::in_unit("move", move_tag(*from, *to), "int", latency);
                        plan.micro_op(op.with_registers(&[*from], &[*to]))
                    })
                }
                Step::Release => {
                    // The section is not given away before the moves have read it.
                    let after = std::mem::take(&mut moved);
                    *releases.entry(after.clone()).or_insert_with(|| {
                        plan.micro_op(MicroOp::marker("release", RELEASE).after_results(&after))
                    })
                }
            };
            plan.insert(*at, Edge::Every, op);
        }
    }

    /// Bank of a register of a warp: in the extended set, the section takes the warp's place.
    fn bank(&self, slot: usize, register: u8) -> u8 {
        let banks = self.banks.as_ref().expect("prepared");
        let base = self.split.map_or(0, |split| split.base);
        match self.pool().section(slot) {
            Some(section) if u32::from(register) >= base => banks.bank(section as usize, register),
            _ => banks.bank(slot, register),
        }
    }

    /// Frees a warp's section if all lanes that had acquired it have exited and nothing is in flight.
    fn after_exits(&mut self, cx: &Cx<'_>, slot: usize, alive: u32) {
        if self.warps[slot].uses == 0
            && self.pool().would_free(slot, 0, alive)
            && self.pool_mut().release(slot, 0, alive)
        {
            self.lookup.give_back(cx.cycle, 0, 1);
            self.counts.releases_at_exit += 1;
        }
    }

    /// Carries out a micro-operation that has issued.
    fn carry_out(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, tag: u32) {
        let (slot, lanes) = (warp.slot, warp.next_lanes);
        match tag & 0xFF {
            ACQUIRE => {
                let waited = std::mem::take(&mut self.warps[slot].waited);
                if self.pool_mut().acquire(slot, lanes) {
                    self.lookup.write(cx.cycle, 0);
                    self.lookup.take(cx.cycle, 0);
                    self.counts.acquires += 1;
                    self.counts.acquires_at_once += u64::from(!waited);
                } else {
                    self.counts.nested_acquires += 1;
                }
            }
            RELEASE => {
                if self.pool_mut().release(slot, lanes, warp.alive) {
                    self.lookup.read(cx.cycle, 0);
                    self.lookup.give_back(cx.cycle, 0, 1);
                    self.counts.releases += 1;
                } else {
                    self.counts.nested_releases += 1;
                }
            }
            _ => {
                let [from, to] = [tag >> 8, tag >> 16].map(|register| register as u8);
                let pool = self.pool_mut();
                // A lane that lacks the register keeps its old value, which the next comparison finds out.
                if let Some(row) = pool.register(slot, from, lanes).copied() {
                    pool.write(slot, to, &row, lanes);
                }
                self.counts.moves += 1;
            }
        }
    }
}

impl Technique for RegMutex {
    fn info(&self) -> &'static TechniqueInfo {
        if self.pairs { &PAIRS_INFO } else { &INFO }
    }

    fn params(&self) -> Vec<(&'static str, ParamValue)> {
        self.params.values()
    }

    fn counts(&self) -> Vec<u64> {
        self.counts.values()
    }

    fn storage(&self) -> Vec<&Storage> {
        if self.pairs { Vec::new() } else { vec![&self.lookup] }
    }

    fn further_bits(&self) -> u64 {
        self.bits
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        let config = launch.config;
        let warps = config.sm.max_warps;
        let number = u32::BITS - (warps - 1).leading_zeros();
        self.lookup = Storage::new(Shape::new(1, warps, number).with_ports(64, 64));
        // The status of each warp's lanes, and a bit per section.
        let sections = if self.pairs { warps.div_ceil(2) } else { warps };
        self.bits = u64::from(warps) * 32 + u64::from(sections);
        self.counts = Counts::default();
        (self.split, self.pool) = (None, None);
        let rules = Rules {
            extended: self.params.es,
            unit: self.params.base_unit,
            sections: self.params.sections,
            pairs: self.pairs,
        };
        let chosen = if self.params.mechanism { size::choose(launch, rules) } else { None };
        let Some((split, code)) = chosen else { return Ok(()) };
        plan.registers_per_thread = split.base;
        plan.reserved_registers += split.reserved;
        plan.register_allocation_unit = size::unit(rules);
        Self::insert(launch, plan, &code);
        let is_extended = |register: &u8| u32::from(*register) >= split.base;
        let insts = || launch.program.insts.iter().zip(&code.renamed);
        self.reads = insts()
            .map(|(inst, renaming)| renaming.sources[..inst.sources().len()].iter().any(is_extended))
            .collect();
        self.writes = insts()
            .map(|(inst, to)| to.destinations[..inst.destinations().len()].iter().any(is_extended))
            .collect();
        plan.rename(code.renamed.clone());
        self.renamed = code.renamed;
        self.pool = Some(Pool::new(&split, warps, self.params.ideal));
        self.warps = vec![InFlight::default(); warps as usize];
        self.banks = Some(BankMap::new(config));
        self.split = Some(split);
        plan.hooks.issue = true;
        plan.hooks.collect = true;
        plan.hooks.execute = true;
        plan.hooks.write_back = true;
        Ok(())
    }

    fn start_warp(&mut self, _cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        let Some(split) = self.split else { return };
        self.counts.base_registers += u64::from(split.base);
        self.counts.extended_registers += u64::from(split.extended);
        self.pool_mut().start(warp.slot);
        let own = &mut self.warps[warp.slot];
        (own.uses, own.waited) = (0, false);
    }

    fn issue(&self, _now: u64, warp: &WarpView<'_>, what: &Issuing<'_>) -> IssueVerdict {
        let Issuing::Micro(_, op) = what else { return IssueVerdict::Issue };
        let pool = self.pool();
        // Lanes that have exited may still have results on their way to the section.
        let gives_up = || {
            pool.has_acquired(warp.slot, warp.next_lanes)
                || pool.would_free(warp.slot, warp.next_lanes, warp.alive)
        };
        match op.tag & 0xFF {
            ACQUIRE if !pool.can_acquire(warp.slot) => IssueVerdict::Stall(Stall::NoSection.index()),
            RELEASE if self.warps[warp.slot].uses > 0 && gives_up() => {
                IssueVerdict::Stall(Stall::InFlight.index())
            }
            _ => IssueVerdict::Issue,
        }
    }

    fn stalled(&mut self, _cx: &mut Cx<'_>, warp: &WarpView<'_>, cause: u8) {
        self.warps[warp.slot].waited |= cause == Stall::NoSection.index();
    }

    fn issued(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>, _verdict: IssueVerdict) {
        match what {
            Issuing::Micro(_, op) => self.carry_out(cx, warp, op.tag),
            Issuing::Program(inst) => {
                let completes = matches!(inst.inst.path, Path::Alu | Path::Memory(_));
                self.warps[warp.slot].uses += u32::from(completes && self.writes[inst.pc as usize]);
            }
            _ => {}
        }
        self.after_exits(cx, warp.slot, warp.alive);
    }

    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        let pc = inst.pc as usize;
        self.warps[warp.slot].uses += u32::from(self.reads[pc]);
        let base = self.split.map_or(0, |split| split.base);
        for (operand, register) in operands.iter_mut().zip(self.renamed[pc].sources) {
            if !operand.is_from_bank() {
                continue;
            }
            let lanes = warp.reads(inst, operand.reg);
            let Some(row) = self.pool().register(warp.slot, register, lanes) else {
                return Err(cx.missing(warp, inst.pc, operand.reg, lanes));
            };
            cx.compare(warp, inst, operand.reg, row)?;
            if u32::from(register) >= base {
                self.counts.extended_reads += 1;
                self.lookup.read(cx.cycle, 0);
                operand.from = ReadFrom::Bank(self.bank(warp.slot, register));
            }
        }
        Ok(())
    }

    fn dispatched(&mut self, _cx: &mut Cx<'_>, warp: &WarpView<'_>, inst: &InstView<'_>) {
        self.warps[warp.slot].uses -= u32::from(self.reads[inst.pc as usize]);
    }

    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        let pc = inst.pc as usize;
        let completes = matches!(inst.inst.path, Path::Alu | Path::Memory(_));
        self.warps[warp.slot].uses -= u32::from(completes && self.writes[pc]);
        for (write, register) in writes.iter_mut().zip(self.renamed[pc].destinations) {
            if !self.pool_mut().write(warp.slot, register, write.row(), inst.exec) {
                return Err(cx.missing(warp, inst.pc, write.reg, inst.exec));
            }
            if matches!(write.to, WriteTo::Bank(_)) {
                write.to = WriteTo::Bank(self.bank(warp.slot, register));
            }
        }
        Ok(())
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        if self.split.is_some() {
            self.after_exits(cx, warp_slot, 0);
        }
    }

    fn describe(&self) -> String {
        self.pool.as_ref().map_or_else(|| "no extended set".to_owned(), Pool::describe)
    }
}
