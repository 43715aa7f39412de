//! DAC: what is affine in the indices of threads is computed once for all warps of an SM, by a warp of its own that
//! runs ahead; the other warps take addresses and predicates from queues (Wang and Lin, ISCA 2017, section 4).
//!
//! [`decouple`] splits the kernel. The affine warp runs its stream once for each batch of blocks ([`stream`]) on tuples
//! ([`tuple`], [`lanes`]) that follow from indices, parameters and constants; which way threads go follows from
//! predicates that it computes, and, where these depend on data, from branches that the other warps have executed. Its
//! enqueue instructions fill queues, which [`expansion`] turns into addresses, early loads and predicate bits.
//!
//! Every result that warps do not compute, every address and every predicate is compared with the recording.

mod declare;
mod decouple;
mod expansion;
mod lanes;
mod stream;
mod sums;
#[cfg(test)]
mod tests;
mod tuple;
#[cfg(test)]
mod uniform_tests;

use super::{
    AccessVerdict, Answered, Claim, Cx, FetchVerdict, InstView, IssueVerdict, Issuing, Launch, MemAccess,
    MicroId, OperandRead, ParamValue, Params as _, Plan, ReadFrom, RegisterWrite, Registration, Scouting,
    Storage, Technique, TechniqueInfo, ValueMismatch, WarpView,
};
use declare::{Counts, Lost, Params, Stall};
use decouple::{Role, Wanted, decouple};
use expansion::{Expansion, Record, STORAGE};
use lanes::Evaluator;
use stream::{AffineWarp, Passed, members};
use trace_format::isa::{Inst, Kind, Pred};
use trace_format::semantics::{Code, Geometry};
use tuple::Extents;
use warplab_technique::Row;
use warplab_technique::declare::Cause;
use warplab_technique::program::Path;

/// Entry in the list of techniques.
pub(crate) const REGISTRATION: Registration =
    Registration::new(&INFO, |_, section| Ok(Box::new(Dac::new(section)?)));

const INFO: TechniqueInfo = TechniqueInfo::new(
    "dac",
    "addresses and predicates that are affine in thread indices come from a warp that runs ahead of all others",
    "DAC (Wang and Lin, ISCA 2017), section 4",
)
.with_claims(&[
    Claim::FetchStream,
    Claim::ReuseOfResults,
    Claim::MemoryAccesses,
    Claim::RegisterContents,
    Claim::ResultDestination,
    Claim::WaitingWarps,
])
.with_uniform_registers()
.with_params(Params::declared)
.with_counters(Counts::DECLARED)
.with_stalls(Stall::DECLARED)
.with_losses("a result register of a computation, or an address register of a memory access", Lost::DECLARED)
.with_storage(STORAGE);

/// An instruction in flight.
#[derive(Clone, Debug)]
struct Flight {
    /// What it took from the address queue.
    record: Option<Record>,
    /// Whether the affine warp computes its results as well, and these.
    expects: bool,
    expected: [Row; 2],
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Dac {
    params: Params,
    counts: Counts,
    roles: Vec<Role>,
    geometry: Geometry,
    /// Registers of lanes, and uniform ones.
    registers: (usize, usize),
    /// Predicates that each instruction waits for, one bit each.
    reads: Vec<u16>,
    affine: AffineWarp,
    units: Expansion,
    flights: Vec<Flight>,
    /// Predicates that each warp has passed, and the number of the latest one of each predicate register.
    passed: Vec<(u64, [u64; Pred::ALL])>,
    /// Barriers that each warp has reached; none for warps that have ended.
    barriers: Vec<Option<(usize, u32)>>,
    lanes_op: Option<MicroId>,
}

/// Predicates that an instruction reads, one bit each; one that it writes as well waits for nothing but its guard.
fn predicates_read(inst: &Inst) -> u16 {
    let bits = |set: u16, pred: Pred| set | 1 << (pred.0 & 15);
    let written = inst.all_dst_preds().fold(0, bits);
    let guard = if inst.guard.pred.is_true() { 0 } else { bits(0, inst.guard.pred) };
    inst.all_src_preds().fold(0, bits) & !written | guard
}

/// Whether an instruction is a load from global or local memory.
fn is_global_load(inst: &Inst) -> bool {
    use trace_format::isa::space::Space;
    matches!(inst.kind(), Kind::Load(Space::Global | Space::Local | Space::Generic))
}

impl Dac {
    fn new(section: &toml::Table) -> Result<Dac, String> {
        let params = Params::read(section)?;
        Ok(Dac {
            params,
            counts: Counts::default(),
            roles: Vec::new(),
            geometry: Geometry { grid: [1; 3], block: [1; 3] },
            registers: (0, 0),
            reads: Vec::new(),
            affine: AffineWarp::default(),
            units: Expansion::new(&params),
            flights: Vec::new(),
            passed: Vec::new(),
            barriers: Vec::new(),
            lanes_op: None,
        })
    }

    /// The barriers that all warps of a block have reached.
    fn note_barriers(&mut self, block: usize) {
        let of_block = self.barriers.iter().flatten().filter(|(of, _)| *of == block);
        if let Some(reached) = of_block.map(|(_, reached)| *reached).min() {
            self.units.pass_barriers(block, reached);
        }
    }
}

impl Flight {
    const NONE: Flight = Flight { record: None, expects: false, expected: [Row::ZERO; 2] };

    /// That of an instruction.
    fn of<'f>(flights: &'f mut Vec<Flight>, inst: &InstView<'_>) -> &'f mut Flight {
        let slot = usize::from(inst.id.slot());
        if slot >= flights.len() {
            flights.resize(slot + 1, Flight::NONE);
        }
        &mut flights[slot]
    }
}

/// The affine warp's event for the instruction that a warp passes.
fn pass<'a>(
    affine: &'a mut AffineWarp,
    roles: &[Role],
    cx: &mut Cx<'_>,
    warp: &WarpView<'_>,
    inst: &InstView<'_>,
    exec: u32,
) -> Result<Passed<'a>, Box<ValueMismatch>> {
    let passed = affine.pass(cx, roles, warp.slot);
    match passed.filter(|passed| passed.event.pc == inst.pc && passed.event.exec == exec) {
        Some(passed) => Ok(passed),
        None => {
            let written = inst.inst.destinations().iter().chain(inst.inst.sources()).copied();
            Err(cx.missing(warp, inst.pc, written.min().unwrap_or(0), warp.threads))
        }
    }
}

impl Technique for Dac {
    fn info(&self) -> &'static TechniqueInfo {
        &INFO
    }

    fn params(&self) -> Vec<(&'static str, ParamValue)> {
        self.params.values()
    }

    fn counts(&self) -> Vec<u64> {
        let work = &self.units.work;
        let evaluator = self.affine.evaluator();
        Counts {
            address_operations: work.address_operations,
            predicate_operations: work.predicate_operations,
            scalar_predicates: work.scalar_predicates,
            end_predicates: work.end_predicates,
            lane_predicates: work.lane_predicates,
            early_lines: work.early_loads,
            locked_lines: work.locked_lines,
            refused_locks: work.refused_locks,
            expanded_operations: evaluator.map_or(0, |evaluator| evaluator.expanded),
            moduli: evaluator.map_or(0, |evaluator| evaluator.moduli),
            affine_instructions: self.affine.executed,
            enqueues: self.affine.enqueued,
            batches: self.affine.batches,
            batch_warps: self.affine.batch_warps,
            ..self.counts.clone()
        }
        .values()
    }

    fn storage(&self) -> Vec<&Storage> {
        vec![&self.units.tuples, &self.units.addresses, &self.units.predicates]
    }

    /// Warp level stack, per warp stacks and divergent condition register file (section 4.8).
    fn further_bits(&self) -> u64 {
        2 * (224 + 1536) * 8
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        let program = launch.program;
        let slots = launch.config.sm.max_warps as usize;
        plan.hooks.collect = true;
        plan.hooks.write_back = true;
        if !self.params.mechanism {
            self.roles = vec![Role::not_split(Lost::Off); program.insts.len()];
            return Ok(());
        }
        let wanted = Wanted {
            conditions: self.params.conditions as usize,
            stack_depth: self.params.stack_depth as usize,
            data_dependent: self.params.data_dependent,
            threads_per_block: launch.threads_per_block(),
        };
        self.roles = decouple(&program.kernel, wanted);
        self.geometry = Geometry { grid: launch.grid, block: launch.block };
        let uniforms = usize::from(program.kernel.uniform_registers);
        self.registers = (program.registers_per_thread as usize, uniforms);
        self.reads = program.insts.iter().map(|timed| predicates_read(&timed.inst)).collect();
        let per_sm = launch.occupancy(plan)?.blocks;
        self.units.prepare(
            &self.params,
            launch.config.sm.max_blocks as usize,
            slots,
            per_sm * self.geometry.warps_per_block(),
        );
        let banks = launch.banks.cloned().unwrap_or_default();
        let code = Code::prepare(&program.kernel, &banks);
        let extents = Extents::of(&self.geometry);
        let evaluator = Evaluator::new(&program.kernel.insts, code, banks, extents);
        let early = self.params.early_loads && !launch.config.l1.bypass_global;
        let wait = u64::from(self.params.batch_wait_cycles);
        let banks = launch.config.register_file.banks;
        self.affine = AffineWarp::new(evaluator, program, &self.roles, plan, (slots, banks, early, wait));
        let latency = launch.config.latency["int_add"].latency_cycles;
        self.lanes_op = Some(plan.micro_op(super::MicroOp::in_unit("compare-lanes", 0, "int", latency)));
        self.flights.clear();
        self.passed = vec![(0, [0; Pred::ALL]); slots];
        self.barriers = vec![None; slots];
        let count = |which: fn(&Role) -> bool| self.roles.iter().filter(|role| which(role)).count() as u64;
        self.counts.stream_instructions = count(|role| role.in_stream);
        self.counts.removed_static = count(|role| role.removed);
        if self.counts.stream_instructions == 0 {
            return Ok(());
        }
        plan.scouting = plan.scouting.or(Scouting::Paths);
        plan.hooks.fetch = true;
        plan.hooks.issue = true;
        plan.hooks.access = true;
        plan.hooks.wakes = true;
        plan.hooks.tick = true;
        plan.hooks.companion = true;
        Ok(())
    }

    fn start_block(&mut self, _cx: &mut Cx<'_>, block_slot: usize, _block: u32) {
        if self.counts.stream_instructions != 0 {
            self.units.begin_block(block_slot);
        }
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        if self.counts.stream_instructions == 0 {
            return;
        }
        let place = tuple::Place::of(&self.geometry, warp.block, warp.warp);
        let lanes = lanes::Lanes::new(place, self.registers, warp.threads);
        self.affine.place(cx.cycle, warp.slot, warp.block_slot, lanes);
        self.units.begin_warp(warp.block_slot, warp.slot);
        self.passed[warp.slot] = (0, [0; Pred::ALL]);
        self.barriers[warp.slot] = Some((warp.block_slot, 0));
    }

    fn fetch(&self, _now: u64, _warp: &WarpView<'_>, pc: u32) -> FetchVerdict {
        if self.roles[pc as usize].removed { FetchVerdict::Skip } else { FetchVerdict::Fetch }
    }

    fn issue(&self, _now: u64, warp: &WarpView<'_>, what: &Issuing<'_>) -> IssueVerdict {
        let Issuing::Program(inst) = what else { return IssueVerdict::Issue };
        let read = self.reads[inst.pc as usize];
        if read != 0 {
            let delivered = self.units.delivered(warp.slot);
            let numbers = &self.passed[warp.slot].1;
            if members(read).any(|pred| numbers[pred] > delivered) {
                return IssueVerdict::Stall(Stall::Predicate.index());
            }
        }
        if self.roles[inst.pc as usize].address && warp.effect(inst) != 0 {
            return match self.units.address(warp.slot) {
                Some(true) => IssueVerdict::Issue,
                Some(false) => IssueVerdict::Stall(Stall::Data.index()),
                None => IssueVerdict::Stall(Stall::Address.index()),
            };
        }
        IssueVerdict::Issue
    }

    fn issued(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>, _verdict: IssueVerdict) {
        let Issuing::Program(inst) = what else { return };
        let role = self.roles[inst.pc as usize];
        if !role.in_stream || matches!(inst.inst.path, Path::Alu | Path::Memory(_)) {
            return;
        }
        // Control instructions have no values; their order is checked with the next address.
        self.affine.pass(cx, &self.roles, warp.slot);
        if role.barrier {
            if let Some((_, reached)) = &mut self.barriers[warp.slot] {
                *reached += 1;
            }
            self.note_barriers(warp.block_slot);
        }
    }

    /// Addresses from the queue; what both streams compute is compared when it is written.
    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        let role = self.roles[inst.pc as usize];
        let exec = warp.effect(inst);
        let original = &inst.inst.inst;
        let loads_early = self.affine.loads_early(inst.pc);
        let passed = if role.in_stream {
            Some(pass(&mut self.affine, &self.roles, cx, warp, inst, exec)?)
        } else {
            None
        };
        let flight = Flight::of(&mut self.flights, inst);
        (flight.record, flight.expects) = (None, false);
        if matches!(inst.inst.path, Path::Memory(_)) {
            let address = original.src_span(0).filter(|_| original.op.takes_address());
            let in_data = |reg: u8| {
                (1..3)
                    .filter_map(|i| original.src_span(i))
                    .any(|span| span.contains(trace_format::isa::Reg(reg)))
            };
            if is_global_load(original) && exec != 0 {
                self.counts.loads += 1;
            }
            if role.address && exec != 0 {
                let record = self.units.dequeue_address(warp.slot).filter(|record| record.pc == inst.pc);
                let Some(record) = record else {
                    return Err(cx.missing(warp, inst.pc, address.map_or(0, |span| span.first.0), exec));
                };
                if is_global_load(original) {
                    self.counts.affine_loads += 1;
                    self.counts.early_data_loads += u64::from(loads_early);
                } else {
                    self.counts.other_affine_accesses += 1;
                }
                flight.record = Some(record);
            }
            if let Some(passed) = passed.filter(|_| role.address && exec != 0 && !original.base.is_zero()) {
                for (word, reg) in original.base_uniforms().enumerate() {
                    cx.compare_uniform(warp, inst.pc, reg.0, (passed.event.base >> (32 * word)) as u32)?;
                }
            }
            let mut read = None;
            for operand in operands.iter_mut() {
                let Some(span) = address.filter(|span| span.contains(trace_format::isa::Reg(operand.reg)))
                else {
                    continue;
                };
                if exec == 0 {
                    continue;
                }
                cx.opportunity(1);
                let Some(passed) = passed.filter(|_| role.address) else {
                    cx.lost(role.address_lost, 1);
                    continue;
                };
                let row = passed.rows[usize::from(operand.reg - span.first.0)];
                if in_data(operand.reg) || !operand.is_from_bank() {
                    cx.compare(warp, inst, operand.reg, row)?;
                    cx.lost(if in_data(operand.reg) { Lost::NeededByAll } else { Lost::Elsewhere }, 1);
                } else {
                    let access = *read.get_or_insert_with(|| self.units.addresses.read(cx.cycle, 0));
                    operand.from = ReadFrom::Storage(access, cx.supply(warp, inst, operand.reg, row)?);
                }
            }
        } else if let Some(passed) = passed {
            flight.expects = true;
            for (held, row) in
                flight.expected.iter_mut().zip(passed.rows).take(usize::from(passed.event.rows))
            {
                *held = *row;
            }
        }
        Ok(())
    }

    /// What was loaded early for the access is what it touches.
    fn access(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        access: &MemAccess<'_>,
    ) -> Result<AccessVerdict, Box<ValueMismatch>> {
        if let Some(record) = &Flight::of(&mut self.flights, inst).record
            && self.affine.loads_early(inst.pc)
        {
            cx.compare_sectors(warp, inst, access, |line| self.units.sectors(record, line))?;
        }
        Ok(AccessVerdict::Access)
    }

    /// What the affine warp has computed for the warp.
    fn answered(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        _how: Answered,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        let Passed { event, rows } = pass(&mut self.affine, &self.roles, cx, warp, inst, inst.exec)?;
        self.counts.removed_instructions += 1;
        cx.opportunity(results.len() as u64);
        for (result, row) in results.iter().zip(rows) {
            cx.supply_result(warp, inst, result, row)?;
        }
        if inst.inst.uniform_writes != 0 && inst.exec != 0 {
            for (reg, row) in inst.inst.inst.dst_uniforms().zip(rows) {
                cx.supply_uniform(warp, inst, reg.0, row.0[0])?;
            }
        }
        for (pred, bits) in inst.inst.inst.all_dst_preds().zip(event.preds) {
            cx.supply_predicate(warp, inst, pred.0, bits)?;
        }
        if self.roles[inst.pc as usize].dequeued {
            self.counts.dequeued_predicates += 1;
            self.units.dequeue_predicate(cx.cycle, warp.slot);
            let (count, numbers) = &mut self.passed[warp.slot];
            *count += 1;
            for pred in inst.inst.inst.all_dst_preds() {
                numbers[usize::from(pred.0 & 15)] = *count;
            }
        }
        Ok(())
    }

    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        let flight = Flight::of(&mut self.flights, inst);
        if let Some(record) = flight.record.take() {
            self.units.unlock(cx, &record);
        }
        if inst.inst.path != Path::Alu {
            return Ok(());
        }
        cx.opportunity(writes.len() as u64);
        cx.lost(self.roles[inst.pc as usize].lost, writes.len() as u64);
        if std::mem::take(&mut flight.expects) {
            for (write, row) in writes.iter().zip(&flight.expected) {
                cx.compare_result(warp, inst, write, row)?;
            }
            if inst.inst.uniform_writes != 0 && inst.exec != 0 {
                for (reg, row) in inst.inst.inst.dst_uniforms().zip(&flight.expected) {
                    cx.compare_uniform(warp, inst.pc, reg.0, row.0[0])?;
                }
            }
        }
        Ok(())
    }

    fn tick(&mut self, cx: &mut Cx<'_>) {
        self.affine.begin_batch(cx, &self.roles);
        if self.units.is_active() {
            self.units.run(cx);
        }
    }

    fn next_event(&self, now: u64) -> Option<u64> {
        if self.units.is_active() || self.units.wants_lanes.is_some() {
            return Some(now);
        }
        self.affine.next_event(now, &self.roles, &self.units)
    }

    fn companion(&self, now: u64, scheduler: usize) -> Option<MicroId> {
        if scheduler != 0 {
            return None;
        }
        if self.units.wants_lanes.is_some() {
            return self.lanes_op;
        }
        self.affine.ready(now, &self.roles, &self.units)
    }

    fn companion_issued(&mut self, cx: &mut Cx<'_>, _scheduler: usize, op: MicroId, done_at: u64) {
        if self.lanes_op == Some(op) {
            self.units.compared();
        } else {
            self.affine.issued(cx, &self.roles, &mut self.units, done_at);
        }
    }

    fn loaded(&mut self, cx: &mut Cx<'_>, tag: u32, locked: bool) {
        self.units.loaded(cx, tag, locked);
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        if self.counts.stream_instructions == 0 {
            return;
        }
        let Some((block, _)) = self.barriers[warp_slot].take() else { return };
        self.affine.end_warp(cx, &self.roles, warp_slot);
        self.units.end_warp(cx, block, warp_slot);
        self.note_barriers(block);
    }

    fn end_block(&mut self, cx: &mut Cx<'_>, block_slot: usize) {
        if self.counts.stream_instructions != 0 {
            self.units.end_block(cx.cycle, block_slot);
        }
    }

    fn describe(&self) -> String {
        format!("{}; {}", self.affine.describe(), self.units.describe())
    }
}
