//! Compact affine execution: instructions whose operands are affine vectors, `base + lane * stride`, compute two words
//! in an affine unit in place of 32 in the lanes. The technique that DAC is compared with (DAC, section 5.1.1, after
//! J. Kim et al., ISCA 2013): two affine units per SM, one for each scheduler, which issues an affine instruction in half
//! of the time that a vector takes.
//!
//! Tuples are tracked at run time: a register holds one after an affine instruction has written it. An instruction is
//! affine if all lanes that have not exited take part, if its register operands are tuples and its predicates the same
//! in every lane, and if an integer unit can compute its results' strides (`operation`). It issues in half a slot, reads
//! and writes the file of tuples, and takes no collector bank, lane or result bus. Other instructions read a tuple's
//! lanes through an expander on the way to their collector. Before an instruction writes only some lanes of a register
//! with a tuple, the lanes expand it with an instruction of its own (section 5.4).
//!
//! `[model]` The papers at hand leave out: which operations the unit has (here those of the integer unit; scalars of
//! floating point are an option), where tuples lie (a file with a bank per scheduler), how long an affine instruction
//! takes (the file's latency and that of the lanes' pipeline), pairs of registers (each word has a tuple), and what
//! happens at comparisons of a tuple with a scalar (lanes compare; `end_points` lets the unit).
//!
//! Every tuple that is read is compared with the recorded register lane by lane, and so is every result.

mod operation;
#[cfg(test)]
mod tests;
mod tuples;

use super::{
    Answered, Claim, Cx, InstView, IssueVerdict, Issuing, Launch, MicroId, MicroOp, OperandRead, ParamValue,
    Params as _, Plan, Price, ReadFrom, RegisterWrite, Registration, Shape, Storage, StorageInfo, Technique,
    TechniqueInfo, ValueMismatch, WarpView, WriteTo,
};
use operation::{Constants, Operands, Operation, Rule, evaluate, operations};
use tuples::{Contents, Tuple};
use warplab_analysis::unseen::Unseen;
use warplab_technique::Row;
use warplab_technique::declare::Cause;
use warplab_technique::program::{Path, TimedInst};
use warplab_technique::{causes, counts, params};

params! {
    /// `[technique.cae]`.
    struct Params {
        /// Affine units of an SM; each takes two instructions per cycle, one in each half.
        units: u32 = 2, 1..=8;
        /// Cycles of an affine instruction before its operation: reading tuples.
        read_cycles: u32 = 1, 0..=16;
        /// Tuples that a bank of their file reads per cycle; there is a bank for each scheduler.
        read_ports: u32 = 6, 1..=32;
        /// Tuples that a bank of their file writes per cycle.
        write_ports: u32 = 2, 1..=32;
        /// Cycles from the start of a read to the arrival of the expanded operand in a vector instruction's collector.
        expand_cycles: u32 = 1, 0..=16;
        /// Whether an affine instruction takes half of an issue slot.
        fast_issue: bool = true;
        /// Whether the unit compares a tuple with a scalar if both ends of the warp agree (DAC, section 4.3).
        end_points: bool = false;
        /// Whether the unit also computes scalars of single precision.
        floats: bool = false;
        /// Whether affine instructions use the affine units; if false, the hardware exists and nothing uses it.
        mechanism: bool = true;
        /// Whether affine vectors are known by their recorded values, whatever computes them and in whichever lanes.
        ideal: bool = false;
    }
}

counts! {
    /// Counters of compact affine execution.
    struct Counts {
        /// Instructions that an affine unit executed.
        affine_instructions;
        /// Those whose operands and results are the same in every lane.
        scalar_instructions;
        /// Operations of an affine unit's ALUs: on bases, and on strides where these are not all zero.
        affine_operations in "technique_logic";
        /// Tuples that were written.
        tuple_results;
        /// Operands of vector instructions that were expanded from a tuple.
        expanded_operands in "technique_logic";
        /// Instructions that expanded a tuple in the lanes, before some of them were written.
        expansions;
        /// Operations of lanes in arithmetic units that the program asked for.
        lane_operations;
        /// Those that no lane executed.
        lane_operations_removed;
    }
}

causes! {
    /// Reasons for which an operand is read from its bank, or a result computed in the lanes.
    enum Lost {
        /// A source register holds a vector.
        Vector = "vector_operand";
        /// Lanes that have not exited take no part, because they diverged or by the guard.
        Diverged = "diverged";
        /// A predicate that is read may differ between lanes.
        Predicate = "predicate_differs";
        /// No affine unit has the operation.
        Operation = "operation";
        /// The warp spans several lines of its block: its thread indices have no single stride.
        Index = "thread_index";
        /// The operation takes scalars only.
        NotScalar = "not_scalar";
        /// The product of two tuples, or a shift by one.
        NotLinear = "not_linear";
        /// The two ends of the warp differ: in a carry, an upper word, or the outcome of a comparison.
        Ends = "ends_differ";
        /// A constant that a tuple is multiplied by, or a carry depends on, is not known when the kernel starts.
        Constant = "unknown_constant";
        /// The affine units of the SM had as many instructions in this cycle as they take.
        Units = "units_busy";
        /// The affine units are switched off.
        Off = "mechanism_off";
    }
}

causes! {
    /// Reasons for which a warp waits.
    enum Stall {
        /// A tuple is expanded before some lanes of its register are written.
        Expand = "expansion";
    }
}

/// Entry in the list of techniques.
pub(crate) const REGISTRATION: Registration =
    Registration::new(&INFO, |_, section| Ok(Box::new(Cae::new(section)?)));

const INFO: TechniqueInfo = TechniqueInfo::new(
    "cae",
    "instructions on affine vectors compute a base and a stride in affine units",
    "compact affine execution (J. Kim et al., ISCA 2013) as compared in DAC, section 5.1.1 and table 1",
)
.with_uniform_registers()
.with_claims(&[Claim::ResultDestination, Claim::ReuseOfResults, Claim::RegisterContents])
.with_params(Params::declared)
.with_counters(Counts::DECLARED)
.with_stalls(Stall::DECLARED)
.with_losses(
    "a source register that a vector instruction would read from a bank, or a result that a unit would compute",
    Lost::DECLARED,
)
.with_storage(&[StorageInfo::new("tuples", "the file of affine tuples", "technique_storage")
    .with_price(Price::new(0.352, "[model] base and stride, each as UV table 2, SRF read (40 nm)"))]);

/// An instruction in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Flight {
    /// The tuples of its results, if an affine unit executes it.
    affine: Option<[Tuple; 2]>,
    /// Why the lanes compute it, otherwise.
    because: Option<Lost>,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Cae {
    params: Params,
    file: Storage,
    counts: Counts,
    operations: Vec<Operation>,
    /// Registers and predicates that are written without a collector.
    unseen: Unseen,
    /// The instruction that expands each register, by its number.
    expansions: Vec<Option<MicroId>>,
    block: [u32; 3],
    schedulers: usize,
    warps: Vec<Warp>,
    flights: Vec<Flight>,
    /// Instructions that the units took in this cycle.
    taken: (u64, u32),
    /// The strides of the results of the affine instruction that issues, or a tuple that it reads and that differs from
    /// the recorded register.
    issuing: Option<Result<[u32; 2], Box<ValueMismatch>>>,
}

/// A resident warp.
#[derive(Clone, Debug)]
struct Warp {
    contents: Contents,
    /// Strides of the thread indices x, y and z from lane to lane, where there are such.
    index_strides: [Option<u32>; 3],
}

impl Operands for Warp {
    #[inline]
    fn register(&self, reg: u8) -> Option<Tuple> {
        self.contents.tuple(reg)
    }

    #[inline]
    fn predicate(&self, pred: u8) -> Option<bool> {
        self.contents.pred(pred)
    }

    #[inline]
    fn index_strides(&self) -> [Option<u32>; 3] {
        self.index_strides
    }
}

/// The recorded operands of some lanes.
struct ByValue<'a> {
    warp: &'a WarpView<'a>,
    lanes: u32,
    index_strides: [Option<u32>; 3],
}

impl Operands for ByValue<'_> {
    fn register(&self, reg: u8) -> Option<Tuple> {
        Tuple::of(&self.warp.rows[usize::from(reg)], self.lanes)
    }

    fn predicate(&self, pred: u8) -> Option<bool> {
        let lanes = self.warp.preds[usize::from(pred & 7)] & self.lanes;
        (lanes == 0 || lanes == self.lanes).then_some(lanes != 0)
    }

    fn index_strides(&self) -> [Option<u32>; 3] {
        self.index_strides
    }
}

impl Cae {
    /// Reads `[technique.cae]`.
    fn new(section: &toml::Table) -> Result<Cae, String> {
        Ok(Cae {
            params: Params::read(section)?,
            file: Storage::new(Shape::new(1, 0, 64)),
            counts: Counts::default(),
            operations: Vec::new(),
            unseen: Unseen::default(),
            expansions: Vec::new(),
            block: [1; 3],
            schedulers: 1,
            warps: Vec::new(),
            flights: Vec::new(),
            taken: (0, 0),
            issuing: None,
        })
    }

    #[inline]
    fn flight(&self, inst: &InstView<'_>) -> Flight {
        self.flights.get(usize::from(inst.id.slot())).copied().unwrap_or_default()
    }

    #[inline]
    fn set_flight(&mut self, inst: &InstView<'_>, flight: Flight) {
        let slot = usize::from(inst.id.slot());
        if slot >= self.flights.len() {
            self.flights.resize(slot + 1, Flight::default());
        }
        self.flights[slot] = flight;
    }

    /// The strides of the results of an instruction that an affine unit can execute: before it is stepped.
    #[inline]
    fn strides(&self, warp: &WarpView<'_>, inst: &InstView<'_>) -> Result<[u32; 2], Lost> {
        let operation = &self.operations[inst.pc as usize];
        if !self.params.mechanism {
            return Err(Lost::Off);
        }
        if operation.rule == Rule::Never {
            return Err(Lost::Operation);
        }
        let own = &self.warps[warp.slot];
        let lanes = warp.effect(inst);
        if self.params.ideal {
            if lanes == 0 {
                return Err(Lost::Diverged);
            }
            let operands = ByValue { warp, lanes, index_strides: own.index_strides };
            return evaluate(operation, inst.inst, &operands, self.params.end_points);
        }
        if lanes & warp.alive != warp.alive {
            return Err(Lost::Diverged);
        }
        evaluate(operation, inst.inst, own, self.params.end_points)
    }

    /// Whether an affine unit takes another instruction in this cycle.
    #[inline]
    fn has_unit(&self, now: u64) -> bool {
        let (cycle, taken) = self.taken;
        self.params.ideal || cycle != now || taken < 2 * self.params.units
    }

    /// The strides of the results of an instruction that an affine unit executes if it issues now.
    #[inline]
    fn decide(&self, now: u64, warp: &WarpView<'_>, inst: &InstView<'_>) -> Result<[u32; 2], Lost> {
        let strides = self.strides(warp, inst)?;
        if self.has_unit(now) { Ok(strides) } else { Err(Lost::Units) }
    }

    /// Whether an instruction writes some lanes, but not all, of a register that holds a tuple.
    #[inline]
    fn needs_expansion(&self, warp: &WarpView<'_>, inst: &InstView<'_>) -> bool {
        let own = &self.warps[warp.slot].contents;
        own.tuples() > 0
            && inst.inst.destinations().iter().any(|reg| own.tuple(*reg).is_some())
            && warp.leaves_lanes(inst)
    }

    /// Compares the tuples that an affine instruction reads with the recorded registers.
    fn check_operands(
        &self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
    ) -> Result<(), Box<ValueMismatch>> {
        let own = &self.warps[warp.slot].contents;
        for reg in inst.inst.sources() {
            if let Some(tuple) = own.tuple(*reg) {
                cx.compare(warp, inst, *reg, &tuple.expand())?;
            }
        }
        for pred in inst.inst.inst.src_preds() {
            if let Some(value) = own.pred(pred.0) {
                cx.compare_predicate(warp, inst, pred.0, if value { u32::MAX } else { 0 })?;
            }
        }
        Ok(())
    }

    #[inline]
    fn bank(&self, warp: &WarpView<'_>) -> usize {
        warp.slot % self.schedulers
    }

    /// Updates the number of entries in use after registers of a warp got or lost tuples.
    #[inline]
    fn account(&mut self, now: u64, slot: usize, before: u32) {
        let (bank, after) = (slot % self.schedulers, self.warps[slot].contents.tuples());
        if before != after {
            let used = self.file.used(bank) + after - before;
            self.file.set_used(now, bank, used);
        }
    }
}

/// The strides of the thread indices of a warp from lane to lane.
fn index_strides(block: [u32; 3], warp: u32, threads: u32) -> [Option<u32>; 3] {
    let [x, y, _] = block.map(|n| n.max(1));
    let thread = |lane: usize| warp * 32 + lane as u32;
    let index =
        |of: fn(u32, u32, u32) -> u32| Tuple::of(&Row::from_fn(|lane| of(thread(lane), x, y)), threads);
    [
        index(|thread, x, _| thread % x),
        index(|thread, x, y| thread / x % y),
        index(|thread, x, y| thread / x / y),
    ]
    .map(|tuple| tuple.map(|tuple| tuple.stride))
}

impl Technique for Cae {
    fn info(&self) -> &'static TechniqueInfo {
        &INFO
    }

    fn params(&self) -> Vec<(&'static str, ParamValue)> {
        self.params.values()
    }

    fn counts(&self) -> Vec<u64> {
        self.counts.values()
    }

    fn storage(&self) -> Vec<&Storage> {
        vec![&self.file]
    }

    fn further_bits(&self) -> u64 {
        // Whether each predicate is the same in every lane, and its value.
        self.warps.len() as u64 * 7 * 2
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        let (program, sm) = (launch.program, &launch.config.sm);
        let constants = Constants {
            grid: launch.grid,
            block: launch.block,
            local_bytes: program.local_bytes,
            dynamic_shared_bytes: launch.dynamic_shared_bytes,
            parameters: launch.parameters,
        };
        self.operations = operations(program, &constants, self.params.floats);
        self.unseen = Unseen::of(program);
        let registers = program.registers_per_thread as usize;
        let warp = Warp { contents: Contents::new(registers), index_strides: [None; 3] };
        self.warps = vec![warp; sm.max_warps as usize];
        self.block = launch.block;
        let schedulers = launch.config.scheduler.count;
        self.schedulers = schedulers as usize;
        // A tuple and a bit that tells whether it is one, for each register of each warp.
        let entries = sm.max_warps.div_ceil(schedulers) * sm.max_registers_per_thread;
        let (read, write) = match self.params.ideal {
            true => (256, 256),
            false => (self.params.read_ports, self.params.write_ports),
        };
        let shape = Shape::new(schedulers, entries, 2 * 32 + 1);
        self.file = Storage::new(shape.with_ports(read, write).with_latency(self.params.expand_cycles));
        self.counts = Counts::default();
        self.flights.clear();
        (self.taken, self.issuing) = ((0, 0), None);
        let latency = launch.config.latency["int_add"].latency_cycles;
        self.expansions = vec![None; registers];
        if self.params.mechanism {
            for reg in program.insts.iter().flat_map(TimedInst::destinations) {
                self.expansions[usize::from(*reg)].get_or_insert_with(|| {
                    let op = MicroOp::in_unit("expand", u32::from(*reg), "int", latency);
                    plan.micro_op(op.with_registers(&[], &[*reg]))
                });
            }
            plan.hooks.issue = true;
            plan.hooks.aside = true;
        }
        plan.hooks.collect = true;
        plan.hooks.write_back = true;
        Ok(())
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        let before = self.warps[warp.slot].contents.tuples();
        let own = &mut self.warps[warp.slot];
        own.contents.begin();
        own.index_strides = index_strides(self.block, warp.warp, warp.threads);
        self.account(cx.cycle, warp.slot, before);
    }

    /// An affine instruction goes to its unit; one that writes some lanes of a tuple waits for the expansion.
    fn issue(&self, now: u64, warp: &WarpView<'_>, what: &Issuing<'_>) -> IssueVerdict {
        let Issuing::Program(inst) = what else { return IssueVerdict::Issue };
        if self.needs_expansion(warp, inst) {
            return IssueVerdict::Stall(Stall::Expand.index());
        }
        if self.decide(now, warp, inst).is_err() {
            return IssueVerdict::Issue;
        }
        let after_cycles = (self.params.read_cycles + inst.inst.latency_cycles).max(1);
        match self.params.fast_issue {
            true => IssueVerdict::Aside { after_cycles },
            false => IssueVerdict::Reuse { after_cycles },
        }
    }

    fn stalled(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, _cause: u8) {
        let Some(inst) = cx.program.insts.get(warp.next_pc as usize) else { return };
        for reg in inst.destinations() {
            if self.warps[warp.slot].contents.tuple(*reg).is_some()
                && let Some(op) = self.expansions[usize::from(*reg)]
            {
                cx.issue_before_next(warp.slot, op);
            }
        }
    }

    fn issued(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>, verdict: IssueVerdict) {
        match what {
            Issuing::Micro(_, op) => {
                let before = self.warps[warp.slot].contents.tuples();
                if self.warps[warp.slot].contents.expand(op.tag as u8) {
                    self.counts.expansions += 1;
                    let bank = self.bank(warp);
                    self.file.read(cx.cycle, bank);
                    self.account(cx.cycle, warp.slot, before);
                }
            }
            Issuing::Program(inst) if verdict != IssueVerdict::Issue => {
                let Ok(strides) = self.decide(cx.cycle, warp, inst) else { return };
                self.issuing = Some(self.check_operands(cx, warp, inst).map(|()| strides));
                let bank = self.bank(warp);
                for _ in inst.inst.sources() {
                    self.file.read(cx.cycle, bank);
                }
                let (cycle, taken) = self.taken;
                self.taken = (cx.cycle, if cycle == cx.cycle { taken + 1 } else { 1 });
            }
            _ => {}
        }
    }

    /// The results of an affine instruction: the units compute the value of one lane and the strides.
    fn answered(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        _how: Answered,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        let Some(strides) = self.issuing.take().transpose()? else { return Ok(()) };
        let first = inst.exec.trailing_zeros() & 31;
        let mut tuples = [Tuple::default(); 2];
        for ((result, stride), tuple) in results.iter().zip(strides).zip(&mut tuples) {
            *tuple = Tuple::through(first, result.row().0[first as usize], stride);
            cx.supply_result(warp, inst, result, &tuple.expand())?;
        }
        for pred in inst.inst.inst.dst_preds() {
            let lanes = if warp.preds[usize::from(pred.0 & 7)] >> first & 1 != 0 { u32::MAX } else { 0 };
            cx.supply_predicate(warp, inst, pred.0, lanes)?;
        }
        let scalar = strides == [0, 0];
        self.counts.affine_instructions += 1;
        self.counts.scalar_instructions += u64::from(scalar);
        self.counts.affine_operations += 1 + u64::from(!scalar);
        let lanes = u64::from(inst.exec.count_ones());
        self.counts.lane_operations += lanes;
        self.counts.lane_operations_removed += lanes;
        self.set_flight(inst, Flight { affine: Some(tuples), because: None });
        Ok(())
    }

    /// Operands of vector instructions: tuples are expanded, the others come from their banks.
    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        if inst.inst.path == Path::Alu {
            let because = self.decide(cx.cycle, warp, inst).err();
            self.set_flight(inst, Flight { affine: None, because });
        }
        let bank = self.bank(warp);
        let own = &self.warps[warp.slot].contents;
        for operand in operands.iter_mut().filter(|operand| operand.is_from_bank()) {
            cx.opportunity(1);
            let tuple = match own.tuple(operand.reg) {
                None if self.params.ideal && self.params.mechanism => {
                    Tuple::of(&warp.rows[usize::from(operand.reg)], inst.active)
                }
                tuple => tuple,
            };
            if let Some(tuple) = tuple {
                let supplied = cx.supply(warp, inst, operand.reg, &tuple.expand())?;
                operand.from = ReadFrom::Storage(self.file.read(cx.cycle, bank), supplied);
                self.counts.expanded_operands += 1;
                continue;
            }
            if !self.unseen.registers.contains(operand.reg) && !self.params.ideal {
                cx.compare(warp, inst, operand.reg, own.lanes(operand.reg))?;
            }
            cx.lost(if self.params.mechanism { Lost::Vector } else { Lost::Off }, 1);
        }
        Ok(())
    }

    /// Affine results go to the file of tuples, the others to their banks.
    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        let computes = inst.inst.path == Path::Alu;
        let flight = if computes { self.flight(inst) } else { Flight::default() };
        let before = self.warps[warp.slot].contents.tuples();
        if computes {
            cx.opportunity(writes.len() as u64);
            if flight.affine.is_none() {
                cx.lost(flight.because.unwrap_or(Lost::Operation), writes.len() as u64);
                self.counts.lane_operations += u64::from(inst.exec.count_ones());
            }
        }
        let bank = self.bank(warp);
        for (position, write) in writes.iter_mut().enumerate() {
            if write.to == WriteTo::Nowhere {
                continue;
            }
            let unseen = self.unseen.registers.contains(write.reg);
            if let Some(tuples) = flight.affine {
                self.file.write(cx.cycle, bank);
                self.counts.tuple_results += 1;
                write.to = WriteTo::Nowhere;
                if !self.params.ideal && !unseen {
                    self.warps[warp.slot].contents.write_tuple(write.reg, tuples[position]);
                    continue;
                }
            }
            let own = &mut self.warps[warp.slot].contents;
            if own.tuple(write.reg).is_some() && inst.exec & warp.alive != warp.alive {
                // The other lanes lose the tuple, which was to be expanded before.
                return Err(cx.missing(warp, inst.pc, write.reg, !inst.exec & warp.alive));
            }
            own.write_lanes(write.reg, write.row(), inst.exec);
        }
        if inst.exec != 0 {
            let first = inst.exec.trailing_zeros();
            for pred in inst.inst.inst.dst_preds() {
                let known = flight.affine.is_some() && self.unseen.predicates >> pred.0 & 1 == 0;
                let value = known.then(|| warp.preds[usize::from(pred.0 & 7)] >> first & 1 != 0);
                self.warps[warp.slot].contents.write_pred(pred.0, value);
            }
        }
        self.account(cx.cycle, warp.slot, before);
        Ok(())
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        let before = self.warps[warp_slot].contents.tuples();
        self.warps[warp_slot].contents.begin();
        self.account(cx.cycle, warp_slot, before);
    }

    fn describe(&self) -> String {
        let held: u32 = self.warps.iter().map(|warp| warp.contents.tuples()).sum();
        format!("{held} registers hold tuples")
    }
}
