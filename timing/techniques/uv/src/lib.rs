//! Uniform vectors: an instruction whose operands are the same in every lane computes one value for the warp
//! (UV, section 3).
//!
//! Uniform vectors are found as in the paper, by their operands and not by their values: immediates, constants,
//! special registers that do not depend on the thread, registers and predicates that uniform instructions wrote;
//! and loads of one address by all lanes. All threads of the warp have to take part. Such a value is kept once: in one
//! lane of its vector register, marked by a token bit (`uv-token`), or in a file of scalar registers (`uv-scalar`). Before
//! an instruction writes only some lanes of it, a copy to all lanes issues. With `uv-reuse` a uniform instruction that
//! finds its operation and operands in the reuse buffer of the SM does not execute.
//!
//! What the vector register file holds is kept beside, every read is compared with the recording, and so is every
//! result that the buffer supplies.

mod contents;
mod operation;
mod reuse;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod variants;

pub use variants::{REUSE, SCALAR, SCALAR_REUSE, TOKEN, TOKEN_REUSE};

use contents::{Contents, Held};
use operation::{Operation, operations};
use reuse::{Key, Lookup, ReuseBuffer, Words};
use trace_format::isa::space::Space;
use warplab_analysis::unseen::Unseen;
use warplab_technique::Row;
use warplab_technique::declare::Cause;
use warplab_technique::program::{MemoryKind, Path, TimedInst};
use warplab_technique::{
    AccessVerdict, Answered, Cx, InstView, IssueVerdict, Issuing, Launch, MemAccess, MicroId, MicroOp,
    OperandRead, ParamValue, Plan, ReadFrom, RegisterWrite, Shape, Storage, Technique, TechniqueInfo,
    ValueMismatch, WarpView, WriteTo,
};
use warplab_technique::{causes, counts};

counts! {
    /// Counters of the uniform-vector designs.
    struct Counts {
        /// Instructions that were detected as uniform when they entered their collector.
        uniform_instructions;
        /// Results that were written once for all lanes.
        results_once;
        /// Loads that gave every lane the value of one address.
        broadcast_loads;
        /// Reads of one lane of a vector register.
        lane_reads in "register_file" at 2.46 from "UV table 2, VRF read (40 nm)";
        /// Writes of one lane of a vector register, the second copies of the reliability mode included.
        lane_writes in "register_file" at 5.82 from "UV table 2, VRF write (40 nm)";
        /// Copies to all lanes that issued before an instruction wrote some of them.
        copies;
        /// Instructions that were looked up in the reuse buffer.
        lookups;
        /// Instructions whose results came from the reuse buffer.
        hits;
        /// Operations of lanes in arithmetic units that the program asked for.
        lane_operations;
        /// Those that no unit executed.
        lane_operations_removed;
        /// Operations of lanes whose result was computed twice or came from the buffer with its parity (reliability
        /// mode).
        lane_operations_protected;
        /// Vector registers whose value was read later, summed over cycles (reliability mode).
        live_register_cycles;
        /// Those whose value was kept twice (reliability mode).
        protected_register_cycles;
    }
}

causes! {
    /// Reasons for which an operand is read from all lanes, or a result computed.
    enum Lost {
        /// The register was not written by a uniform instruction.
        Vector = "vector_register";
        /// A uniform instruction wrote the register, and no scalar register was free.
        Full = "no_scalar_register";
        /// The design is switched off.
        Off = "mechanism_off";
        /// The instruction that computes the result is not uniform.
        NotUniform = "not_uniform";
        /// Its operands or results have more words than an entry of the reuse buffer.
        Wide = "too_wide_for_buffer";
        /// The reuse buffer had no entry for it.
        Absent = "not_in_buffer";
        /// The entry had other operands.
        Differs = "other_operands";
        /// No unit would compute the result: it is loaded.
        Loaded = "loaded";
    }
}

causes! {
    /// Reasons for which a warp waits.
    enum Stall {
        /// A value kept once is copied to all lanes before some of them are written.
        Copy = "copy_on_write";
    }
}

/// Where values that are uniform are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Design {
    /// In one lane of the vector register, marked by a token bit.
    Token,
    /// In a scalar register file.
    Scalar { registers: u32, read_ports: u32, write_ports: u32, latency_cycles: u32 },
}

impl Design {
    /// A file of so many scalar registers.
    fn scalar(registers: u32) -> Design {
        Design::Scalar { registers, read_ports: 4, write_ports: 2, latency_cycles: 1 }
    }
}

/// The reuse buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reuse {
    entries: u32,
    partial_pc_bits: u32,
    source_words: u32,
    result_words: u32,
    hit_cycles: u32,
}

/// What the parameters ask for.
#[derive(Clone, Copy, Debug)]
struct Settings {
    design: Design,
    /// Whether uniform instructions that execute do so in one lane.
    converts: bool,
    /// Whether a unit then accepts the next instruction in the next cycle.
    fast_issue: bool,
    reuse: Option<Reuse>,
    reliability: bool,
    mechanism: bool,
    /// Whether uniform vectors are known by their recorded values.
    ideal: bool,
}

/// An instruction in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Flight {
    /// Whether its operands are the same in every lane, and all lanes take part.
    uniform: bool,
    /// Whether its results are the value of one address for all lanes.
    broadcast: bool,
    /// Whether the reuse buffer has supplied its results.
    reused: bool,
    /// Why its results are computed, once it has left its collector.
    computed: Option<Lost>,
    /// What it computes, if it is uniform; without special registers, which are read as it executes.
    key: Key,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Uv {
    info: &'static TechniqueInfo,
    values: Vec<(&'static str, ParamValue)>,
    settings: Settings,
    scalars: Storage,
    buffer: ReuseBuffer,
    buffer_storage: Storage,
    counts: Counts,
    operations: Vec<Operation>,
    /// Registers and predicates that are written without a collector.
    unseen: Unseen,
    /// The copy of each register, by its number.
    copies: Vec<Option<MicroId>>,
    warps: Vec<Contents>,
    flights: Vec<Flight>,
    /// Bits of token bits or of the renaming table.
    table_bits: u64,
}

/// More entries than an SM has registers, and more ports than a cycle has accesses.
const UNLIMITED: (u32, u32) = (65536, 256);

impl Uv {
    fn new(info: &'static TechniqueInfo, values: Vec<(&'static str, ParamValue)>, settings: Settings) -> Uv {
        let scalars = match settings.design {
            Design::Token => Shape::new(1, 0, 32),
            Design::Scalar { latency_cycles, .. } if settings.ideal => Shape::new(1, UNLIMITED.0, 32)
                .with_ports(UNLIMITED.1, UNLIMITED.1)
                .with_latency(latency_cycles),
            Design::Scalar { registers, read_ports, write_ports, latency_cycles } => {
                Shape::new(1, registers, 32).with_ports(read_ports, write_ports).with_latency(latency_cycles)
            }
        };
        Uv {
            info,
            values,
            settings,
            scalars: Storage::new(scalars),
            buffer: ReuseBuffer::endless(),
            buffer_storage: Storage::new(buffer_shape(settings.reuse)),
            counts: Counts::default(),
            operations: Vec::new(),
            unseen: Unseen::default(),
            copies: Vec::new(),
            warps: Vec::new(),
            flights: Vec::new(),
            table_bits: 0,
        }
    }

    #[inline]
    fn flight(&self, inst: &InstView<'_>) -> Flight {
        self.flights.get(usize::from(inst.id.slot())).copied().unwrap_or_default()
    }

    #[inline]
    fn flight_mut(&mut self, inst: &InstView<'_>) -> &mut Flight {
        let slot = usize::from(inst.id.slot());
        if slot >= self.flights.len() {
            self.flights.resize(slot + 1, Flight::default());
        }
        &mut self.flights[slot]
    }

    /// Whether an instruction is uniform, and what it computes: before it is stepped.
    fn detect(
        &self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
    ) -> Result<Option<Key>, Box<ValueMismatch>> {
        let operation = &self.operations[inst.pc as usize];
        if !operation.uniform || inst.active != warp.threads {
            return Ok(None);
        }
        let own = &self.warps[warp.slot];
        let mut operands = Words::default();
        for reg in inst.inst.inst.src_regs() {
            let known = match own.once(reg.0) {
                None if self.settings.ideal => the_same(&warp.rows[usize::from(reg.0)], warp.threads),
                known => known,
            };
            let Some(word) = known else { return Ok(None) };
            operands.push(word);
        }
        for pred in inst.inst.inst.src_preds() {
            let known = match own.pred(pred.0) {
                None if self.settings.ideal => same_pred(warp, pred.0),
                known => known,
            };
            let Some(value) = known else { return Ok(None) };
            cx.compare_predicate(warp, inst, pred.0, if value { u32::MAX } else { 0 })?;
            operands.push(u32::from(value));
        }
        // A guard that is false in every lane leaves nothing to compute.
        let acts = warp.effect(inst) == warp.threads;
        Ok(acts.then_some(Key { identity: operation.identity, operands }))
    }

    /// Whether an instruction writes some lanes, but not all, of a register that is kept once.
    fn needs_copy(&self, warp: &WarpView<'_>, inst: &InstView<'_>) -> bool {
        let own = &self.warps[warp.slot];
        warp.leaves_lanes(inst) && inst.inst.destinations().iter().any(|reg| own.once(*reg).is_some())
    }

    /// The key of an instruction that is looked up in the buffer: of one that was stepped.
    fn key(&self, warp: &WarpView<'_>, inst: &InstView<'_>, flight: &Flight) -> Option<Key> {
        let reuse = self.settings.reuse.filter(|_| self.settings.mechanism && flight.uniform)?;
        let operation = &self.operations[inst.pc as usize];
        if !self.settings.ideal && !fits(operation, reuse) {
            return None;
        }
        // The buffer compares registers of lanes; what uniform registers of machine code hold it cannot know.
        if inst.inst.uniform_hazards != 0 {
            return None;
        }
        let mut key = flight.key;
        if operation.special {
            // The scoreboard protects the result until it is written: it is the special register's value.
            for reg in inst.inst.destinations() {
                key.operands.push(warp.rows[usize::from(*reg)].0[first_lane(warp.threads)]);
            }
        }
        Some(key)
    }

    /// Looks an instruction up in the buffer.
    fn find(&self, warp: &WarpView<'_>, inst: &InstView<'_>) -> Option<Lookup> {
        let key = self.key(warp, inst, &self.flight(inst))?;
        Some(self.buffer.find(inst.pc, &key))
    }

    /// Why the results of an instruction that leaves its collector for a unit are computed.
    fn computed_because(&self, warp: &WarpView<'_>, inst: &InstView<'_>, flight: &Flight) -> Lost {
        let operation = &self.operations[inst.pc as usize];
        match self.settings.reuse {
            _ if !self.settings.mechanism => Lost::Off,
            _ if !flight.uniform => Lost::NotUniform,
            Some(reuse) if !self.settings.ideal && !fits(operation, reuse) => Lost::Wide,
            _ => match self.find(warp, inst) {
                Some(Lookup::Differs) => Lost::Differs,
                _ => Lost::Absent,
            },
        }
    }

    /// Enters an executed instruction into the buffer.
    fn remember(&mut self, cx: &Cx<'_>, warp: &WarpView<'_>, inst: &InstView<'_>, flight: &Flight) {
        let Some(key) = self.key(warp, inst, flight) else { return };
        let lane = first_lane(warp.threads);
        let mut results = Words::default();
        inst.inst.destinations().iter().for_each(|reg| results.push(warp.rows[usize::from(*reg)].0[lane]));
        inst.inst.inst.dst_preds().for_each(|pred| results.push(warp.preds[usize::from(pred.0)] >> lane & 1));
        self.buffer.enter(inst.pc, key, results);
        self.buffer_storage.write(cx.cycle, 0);
        self.buffer_storage.set_used(cx.cycle, 0, self.buffer.len() as u32);
    }

    /// Takes a scalar register for a value, if the register does not have one.
    #[inline]
    fn has_room(&mut self, now: u64, old: Held) -> bool {
        match (self.settings.design, old) {
            (Design::Token, _) | (_, Held::Once(_)) => true,
            (Design::Scalar { .. }, _) => self.scalars.take(now, 0),
        }
    }

    /// Gives back the scalar register of a value that is no longer kept once.
    #[inline]
    fn give_back(&mut self, now: u64, registers: u32) {
        if matches!(self.settings.design, Design::Scalar { .. }) && registers > 0 {
            self.scalars.give_back(now, 0, registers);
        }
    }

    /// Writes a value once for all lanes.
    fn keep_once(
        &mut self,
        now: u64,
        warp: &WarpView<'_>,
        write: &mut RegisterWrite<'_>,
        bank: u8,
        word: u32,
    ) {
        self.warps[warp.slot].write_once(now, write.reg, word);
        self.counts.results_once += 1;
        self.counts.lane_writes += u64::from(self.settings.reliability);
        write.to = match self.settings.design {
            Design::Token => {
                self.counts.lane_writes += 1;
                WriteTo::Lane(bank)
            }
            Design::Scalar { .. } => {
                self.scalars.write(now, 0);
                WriteTo::Nowhere
            }
        };
    }
}

/// Whether an entry of the buffer holds an instruction's operands and results.
fn fits(operation: &Operation, reuse: Reuse) -> bool {
    operation.source_words <= reuse.source_words && operation.result_words <= reuse.result_words
}

/// An entry has a partial PC, operands, results, an opcode of 8 bits, and its place in the order of use
/// (section 4: 10 + 3 x 32 + 32 + 3 + 8 bits).
fn buffer_shape(reuse: Option<Reuse>) -> Shape {
    let Some(Reuse { entries, partial_pc_bits, source_words, result_words, .. }) = reuse else {
        return Shape::new(1, 0, 0);
    };
    let order_bits = entries.next_power_of_two().trailing_zeros();
    let entry_bits = partial_pc_bits + 32 * (source_words + result_words) + order_bits + 8;
    // It is looked up as operands arrive and updated as results are written: neither waits.
    Shape::new(1, entries, entry_bits).with_ports(UNLIMITED.1, UNLIMITED.1)
}

fn first_lane(lanes: u32) -> usize {
    lanes.trailing_zeros() as usize & 31
}

/// The word that all of these lanes have.
fn the_same(row: &Row, lanes: u32) -> Option<u32> {
    let word = row.0[first_lane(lanes)];
    (0..32).all(|lane| lanes >> lane & 1 == 0 || row.0[lane] == word).then_some(word)
}

/// The value that a predicate has in all of a warp's lanes.
fn same_pred(warp: &WarpView<'_>, pred: u8) -> Option<bool> {
    let lanes = warp.preds[usize::from(pred & 7)] & warp.threads;
    (lanes == 0 || lanes == warp.threads).then_some(lanes != 0)
}

impl Technique for Uv {
    fn info(&self) -> &'static TechniqueInfo {
        self.info
    }

    fn params(&self) -> Vec<(&'static str, ParamValue)> {
        self.values.clone()
    }

    fn counts(&self) -> Vec<u64> {
        self.counts.values()
    }

    fn storage(&self) -> Vec<&Storage> {
        let of = |name: &str| if name == "irb" { &self.buffer_storage } else { &self.scalars };
        self.info.storage.iter().map(|info| of(info.name)).collect()
    }

    fn further_bits(&self) -> u64 {
        self.table_bits
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        let program = launch.program;
        let sm = &launch.config.sm;
        let registers = program.registers_per_thread as usize;
        self.warps = vec![Contents::new(registers); sm.max_warps as usize];
        self.operations = operations(program);
        self.unseen = Unseen::of(program);
        let of_predicates = u64::from(sm.max_warps) * 7;
        self.table_bits = u64::from(sm.registers / 32)
            * match self.settings.design {
                Design::Token => 1,
                // A number of a scalar register for each vector register, one of them for none.
                Design::Scalar { registers, .. } => u64::from(u32::BITS - registers.leading_zeros()),
            }
            + of_predicates;
        self.scalars = Storage::new(self.scalars.shape());
        self.buffer_storage = Storage::new(self.buffer_storage.shape());
        self.buffer = match self.settings.reuse {
            Some(reuse) if !self.settings.ideal => ReuseBuffer::new(reuse.entries, reuse.partial_pc_bits),
            _ => ReuseBuffer::endless(),
        };
        self.counts = Counts::default();
        self.flights.clear();
        let latency = launch.config.latency["int_add"].latency_cycles;
        self.copies = vec![None; registers];
        if self.settings.mechanism {
            for reg in program.insts.iter().flat_map(TimedInst::destinations) {
                self.copies[usize::from(*reg)].get_or_insert_with(|| {
                    let op = MicroOp::in_unit("copy", u32::from(*reg), "int", latency);
                    plan.micro_op(op.with_registers(&[], &[*reg]))
                });
            }
            plan.hooks.issue = true;
            plan.hooks.access = true;
        }
        plan.hooks.collect = true;
        plan.hooks.execute = true;
        plan.hooks.write_back = true;
        Ok(())
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        self.warps[warp.slot].begin(cx.cycle);
    }

    /// An instruction that writes some lanes of a value that is kept once waits for its copy.
    fn issue(&self, _now: u64, warp: &WarpView<'_>, what: &Issuing<'_>) -> IssueVerdict {
        match what {
            Issuing::Program(inst) if self.needs_copy(warp, inst) => IssueVerdict::Stall(Stall::Copy.index()),
            _ => IssueVerdict::Issue,
        }
    }

    fn stalled(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, _cause: u8) {
        let Some(inst) = cx.program.insts.get(warp.next_pc as usize) else { return };
        for reg in inst.destinations() {
            if self.warps[warp.slot].once(*reg).is_some()
                && let Some(copy) = self.copies[usize::from(*reg)]
            {
                cx.issue_before_next(warp.slot, copy);
            }
        }
    }

    fn issued(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>, _verdict: IssueVerdict) {
        if let Issuing::Micro(_, op) = what
            && self.warps[warp.slot].copy(cx.cycle, op.tag as u8)
        {
            self.counts.copies += 1;
            match self.settings.design {
                Design::Token => self.counts.lane_reads += 1,
                Design::Scalar { .. } => {
                    self.scalars.read(cx.cycle, 0);
                    self.give_back(cx.cycle, 1);
                }
            }
        }
    }

    /// Operands: those that are kept once from there, the others from their banks.
    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        let found = if self.settings.mechanism { self.detect(cx, warp, inst)? } else { None };
        self.counts.uniform_instructions += u64::from(found.is_some());
        *self.flight_mut(inst) =
            Flight { uniform: found.is_some(), key: found.unwrap_or_default(), ..Flight::default() };
        let own = &mut self.warps[warp.slot];
        for operand in operands.iter_mut() {
            if self.settings.reliability {
                let live = own.read(cx.cycle, operand.reg);
                self.counts.live_register_cycles += live.all;
                self.counts.protected_register_cycles += live.once;
            }
            let (ReadFrom::Bank(bank) | ReadFrom::BankBehind(bank, _)) = operand.from else { continue };
            if !operand.is_from_bank() {
                continue;
            }
            cx.opportunity(1);
            let cause = match own.held(operand.reg) {
                Held::Once(word) => {
                    let supplied = cx.supply(warp, inst, operand.reg, &Row::splat(word))?;
                    operand.from = match self.settings.design {
                        Design::Token => {
                            self.counts.lane_reads += 1;
                            ReadFrom::Lane(bank, supplied)
                        }
                        Design::Scalar { .. } => ReadFrom::Storage(self.scalars.read(cx.cycle, 0), supplied),
                    };
                    continue;
                }
                _ if !self.settings.mechanism => Lost::Off,
                Held::Denied => Lost::Full,
                Held::Lanes => Lost::Vector,
            };
            if !self.unseen.registers.contains(operand.reg) {
                cx.compare(warp, inst, operand.reg, own.lanes(operand.reg))?;
            }
            cx.lost(cause, 1);
        }
        Ok(())
    }

    /// One lane computes for all, so the unit is free in the next cycle.
    fn initiation(&self, _now: u64, _warp: &WarpView<'_>, inst: &InstView<'_>, cycles: u32) -> u32 {
        let fast = self.settings.converts && self.settings.fast_issue;
        if fast && inst.inst.path == Path::Alu && self.flight(inst).uniform { cycles.min(1) } else { cycles }
    }

    fn lanes(&self, _now: u64, _warp: &WarpView<'_>, inst: &InstView<'_>, lanes: u32) -> u32 {
        let once = self.settings.converts && self.flight(inst).uniform;
        if once { lanes.min(1 + u32::from(self.settings.reliability)) } else { lanes }
    }

    fn reuse(&self, _now: u64, warp: &WarpView<'_>, inst: &InstView<'_>) -> Option<u32> {
        let hit = matches!(self.find(warp, inst), Some(Lookup::Hit(_)));
        self.settings.reuse.filter(|_| hit).map(|reuse| reuse.hit_cycles)
    }

    /// The results of a hit.
    fn answered(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        _how: Answered,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        let Some(Lookup::Hit(words)) = self.find(warp, inst) else { return Ok(()) };
        let (of_registers, of_predicates) = words.as_slice().split_at(results.len());
        for (result, word) in results.iter().zip(of_registers) {
            cx.supply_result(warp, inst, result, &Row::splat(*word))?;
        }
        for (pred, word) in inst.inst.inst.dst_preds().zip(of_predicates) {
            let lanes = if *word != 0 { u32::MAX } else { 0 };
            cx.supply_predicate(warp, inst, pred.0, lanes)?;
        }
        self.buffer.touch(inst.pc);
        self.counts.hits += 1;
        self.flight_mut(inst).reused = true;
        Ok(())
    }

    fn dispatched(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, inst: &InstView<'_>) {
        if inst.inst.path != Path::Alu {
            return;
        }
        let flight = self.flight(inst);
        if self.key(warp, inst, &flight).is_some() {
            self.counts.lookups += 1;
            self.buffer_storage.read(cx.cycle, 0);
        }
        if !flight.reused {
            let because = self.computed_because(warp, inst, &flight);
            self.flight_mut(inst).computed = Some(because);
        }
        let lanes = u64::from(inst.exec.count_ones());
        self.counts.lane_operations += lanes;
        let computed = if flight.reused {
            0
        } else {
            u64::from(self.lanes(cx.cycle, warp, inst, inst.exec.count_ones()))
        };
        self.counts.lane_operations_removed += lanes - computed;
        let protected = flight.reused || (flight.uniform && self.settings.converts);
        self.counts.lane_operations_protected += u64::from(self.settings.reliability && protected) * lanes;
    }

    /// Loads of one address by all lanes.
    fn access(
        &mut self,
        _cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        access: &MemAccess<'_>,
    ) -> Result<AccessVerdict, Box<ValueMismatch>> {
        let shared = matches!(access.space, Space::Global | Space::Shared | Space::Const);
        if shared && matches!(inst.inst.path, Path::Memory(MemoryKind::Load(_))) {
            let address = access.addresses[first_lane(warp.threads)];
            let same = access.mask == warp.threads
                && (0..32).all(|lane| access.mask >> lane & 1 == 0 || access.addresses[lane] == address);
            self.counts.broadcast_loads += u64::from(same);
            self.flight_mut(inst).broadcast = same;
        }
        Ok(AccessVerdict::Access)
    }

    /// Results of uniform instructions and broadcasts are kept once, if there is room; the others go to their banks.
    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        let flight = self.flight(inst);
        let whole = inst.exec == warp.threads;
        let is_load = inst.inst.path != Path::Alu;
        if self.settings.reuse.is_some() && !writes.is_empty() {
            let results = writes.len() as u64;
            cx.opportunity(results);
            if !flight.reused {
                cx.lost(flight.computed.unwrap_or(Lost::Loaded), results);
            }
        }
        for write in writes {
            let WriteTo::Bank(bank) = write.to else { continue };
            let old = self.warps[warp.slot].held(write.reg);
            let found = self.settings.mechanism && whole && !self.unseen.registers.contains(write.reg);
            // The one access of a load gives every lane the same value, unless another thread stores meanwhile.
            let word = match (flight.uniform, flight.broadcast || self.settings.ideal) {
                (true, _) if found => Some(write.row().0[first_lane(warp.threads)]),
                (false, true) if found => the_same(write.row(), warp.threads),
                _ => None,
            };
            if let Some(word) = word
                && self.has_room(cx.cycle, old)
            {
                self.keep_once(cx.cycle, warp, write, bank, word);
                continue;
            }
            if matches!(old, Held::Once(_)) {
                if inst.exec & warp.alive != warp.alive {
                    // The other lanes lose the value, which was to be copied before.
                    return Err(cx.missing(warp, inst.pc, write.reg, !inst.exec & warp.alive));
                }
                self.give_back(cx.cycle, 1);
            }
            let held = if word.is_some() { Held::Denied } else { Held::Lanes };
            self.warps[warp.slot].write_lanes(cx.cycle, write.reg, write.row(), inst.exec, held);
        }
        if inst.exec != 0 {
            for pred in inst.inst.inst.dst_preds() {
                let known = whole && self.settings.mechanism && self.unseen.predicates >> pred.0 & 1 == 0;
                let value = match known {
                    true if flight.uniform => {
                        Some(warp.preds[usize::from(pred.0)] >> first_lane(warp.threads) & 1 != 0)
                    }
                    true if self.settings.ideal => same_pred(warp, pred.0),
                    _ => None,
                };
                self.warps[warp.slot].write_pred(pred.0, value);
            }
        }
        if flight.uniform && !flight.reused && !is_load {
            self.remember(cx, warp, inst, &flight);
        }
        Ok(())
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        let once = self.warps[warp_slot].all_once();
        self.give_back(cx.cycle, once);
        self.warps[warp_slot].begin(cx.cycle);
    }

    fn describe(&self) -> String {
        format!(
            "{} scalar registers and {} entries of the buffer in use",
            self.scalars.used(0),
            self.buffer.len()
        )
    }
}
