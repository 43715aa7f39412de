//! A warp without a pipeline, for tests of techniques: it issues and writes back instructions by hand or at
//! random, keeps the recorded registers, and calls techniques as the SM does.
//!
//! Results are random: any value in any executed lane. [`Walk`] follows a kernel's branches; lanes diverge,
//! reconverge and alternate at random.

use super::{
    Answered, At, Catalogue, Cx, Effects, InFlightId, InstView, IssueVerdict, Issuing, Launch, Ledger,
    MicroOp, OperandRead, Plan, ReadFrom, RegisterWrite, Stack, Technique, ValueMismatch, WarpView, WriteTo,
};
use trace_format::isa::{Flow, Kind, MachineKernel, Pc, Pred};
use warplab_model::config::{GpuConfig, load};
use warplab_model::replay::ReplayError;
pub(crate) use warplab_model::testing::*;
use warplab_technique::Row;
use warplab_technique::program::Program;

/// The techniques that come with Warplab.
pub(crate) fn built_in() -> Catalogue {
    Catalogue::of(super::BUILT_IN)
}

/// A launch of a hand-made kernel under the techniques that come with Warplab.
pub(crate) fn by_hand(kernel: MachineKernel, blocks: u32, threads: u32) -> Hand {
    Hand::new(kernel, blocks, threads).knowing(super::BUILT_IN)
}

/// As the model's, under the techniques that come with Warplab.
pub(crate) fn stream(blocks: u32) -> Hand {
    warplab_model::testing::stream(blocks).knowing(super::BUILT_IN)
}

/// The hooks that these tests drive, of one technique or of several.
pub(crate) trait Hooked {
    fn start(&mut self, at: &mut Surroundings<'_>, warp: &WarpView<'_>);
    /// Asks for the verdict on an instruction, and issues the micro-operations for which it waits. Tells whether the
    /// technique supplies its results.
    fn issuing(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        ops: &[MicroOp],
    ) -> bool;
    /// Has it supply them, after the step.
    fn answer(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>>;
    fn collected(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>>;
    /// Lets the instruction leave its collector, after its step; the technique may supply its results.
    fn left(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>>;
    fn written(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>>;
    fn end(&mut self, at: &mut Surroundings<'_>, slot: usize);
}

/// Arguments of hook calls.
pub(crate) struct Surroundings<'a> {
    cycle: u64,
    program: &'a Program,
    ledger: &'a mut Ledger,
    effects: &'a mut Effects,
}

impl Surroundings<'_> {
    fn cx(&mut self, technique: &dyn Technique) -> Cx<'_> {
        let info = technique.info();
        self.ledger.lost.resize(info.losses.len(), 0);
        self.ledger.stalls.resize(info.stalls.len(), 0);
        Cx::new(info.name, self.cycle, self.program, self.ledger, self.effects)
    }

    fn at(&mut self) -> At<'_> {
        At { cycle: self.cycle, program: self.program, effects: self.effects, scouts: None }
    }
}

impl<T: Technique> Hooked for T {
    fn start(&mut self, at: &mut Surroundings<'_>, warp: &WarpView<'_>) {
        self.start_warp(&mut at.cx(self), warp);
    }
    fn issuing(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        ops: &[MicroOp],
    ) -> bool {
        let what = Issuing::Program(*inst);
        if let IssueVerdict::Stall(cause) = self.issue(at.cycle, warp, &what) {
            self.stalled(&mut at.cx(self), warp, cause);
            for (_, id) in std::mem::take(&mut at.effects.micro_ops) {
                let op = Issuing::Micro(id, &ops[usize::from(id.0)]);
                self.issued(&mut at.cx(self), warp, &op, IssueVerdict::Issue);
            }
        }
        let verdict = self.issue(at.cycle, warp, &what);
        let supplies = matches!(verdict, IssueVerdict::Reuse { .. } | IssueVerdict::Aside { .. });
        if supplies {
            self.issued(&mut at.cx(self), warp, &what, verdict);
        }
        supplies
    }
    fn answer(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        self.answered(&mut at.cx(self), warp, inst, Answered::Reused, results)
    }
    fn collected(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        self.collect(&mut at.cx(self), warp, inst, operands)
    }
    fn left(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        if inst.inst.path == warplab_technique::program::Path::Alu
            && self.reuse(at.cycle, warp, inst).is_some()
        {
            self.answered(&mut at.cx(self), warp, inst, Answered::Reused, results)?;
        }
        self.dispatched(&mut at.cx(self), warp, inst);
        Ok(())
    }
    fn written(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        self.write_back(&mut at.cx(self), warp, inst, writes)
    }
    fn end(&mut self, at: &mut Surroundings<'_>, slot: usize) {
        self.end_warp(&mut at.cx(self), slot);
    }
}

/// Techniques that act together.
#[derive(Clone)]
pub(crate) struct Composed(pub Stack);

impl Hooked for Composed {
    fn start(&mut self, at: &mut Surroundings<'_>, warp: &WarpView<'_>) {
        self.0.start_warp(&mut at.at(), warp);
    }
    fn issuing(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        ops: &[MicroOp],
    ) -> bool {
        let decision = self.0.issue(at.cycle, warp, &Issuing::Program(*inst), None);
        if let IssueVerdict::Stall(cause) = decision.verdict {
            self.0.stalled_warp(&mut at.at(), decision.by, warp, cause);
            for (_, id) in std::mem::take(&mut at.effects.micro_ops) {
                let op = Issuing::Micro(id, &ops[usize::from(id.0)]);
                let owner = Some(usize::from(decision.by));
                self.0.issued(&mut at.at(), warp, &op, IssueVerdict::Issue, owner);
            }
        }
        false
    }
    fn answer(
        &mut self,
        _: &mut Surroundings<'_>,
        _: &WarpView<'_>,
        _: &InstView<'_>,
        _: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        Ok(())
    }
    fn collected(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        self.0.collect(&mut at.at(), warp, inst, operands).map_err(|why| match why {
            ReplayError::Mismatch(mismatch) => mismatch,
            other => panic!("{other}"),
        })
    }
    fn left(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        _: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        self.0.dispatched(&mut at.at(), warp, inst);
        Ok(())
    }
    fn written(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        self.0.write_back(&mut at.at(), warp, inst, writes)
    }
    fn end(&mut self, at: &mut Surroundings<'_>, slot: usize) {
        self.0.end_warp(&mut at.at(), slot);
    }
}

/// Where an operand came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Bank(u8),
    Lane(u8),
    Storage,
    With(u8),
    After(InFlightId, u8),
}

/// An operand and where it came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub reg: u8,
    pub from: From,
}

impl Read {
    fn of(read: &OperandRead) -> Read {
        let from = match read.from {
            ReadFrom::Bank(bank) | ReadFrom::BankBehind(bank, _) => From::Bank(bank),
            ReadFrom::Lane(bank, _) => From::Lane(bank),
            ReadFrom::Storage(..) => From::Storage,
            ReadFrom::With(other, _) => From::With(other),
            ReadFrom::After(id, operand, _) => From::After(id, operand),
        };
        Read { reg: read.reg, from }
    }
}

/// A configuration with a technique's parameters.
pub(crate) fn config(set: &[&str]) -> GpuConfig {
    let set: Vec<String> = set.iter().map(|item| (*item).to_owned()).collect();
    load("gtx480", &set).expect("valid overrides").config
}

/// The program of a listing.
pub(crate) fn program(text: &str, config: &GpuConfig) -> Program {
    Program::new(&warplab_analysis::listing::kernel(text), config).expect("a kernel that can be timed")
}

/// A launch of a program with one block of one warp.
pub(crate) fn launch<'a>(program: &'a Program, config: &'a GpuConfig) -> Launch<'a> {
    Launch::new(program, config, [1, 1, 1], [32, 1, 1])
}

/// One technique, prepared.
pub(crate) fn prepared<T: Technique>(
    new: fn(&toml::Table) -> Result<T, String>,
    name: &str,
    program: &Program,
    config: &GpuConfig,
) -> (T, Plan) {
    let empty = toml::Table::new();
    let mut technique = new(config.technique.get(name).unwrap_or(&empty)).expect("valid section");
    let mut plan = Plan::of(program);
    technique.prepare(&launch(program, config), &mut plan).expect("the kernel is accepted");
    (technique, plan)
}

/// The value of a technique's counter.
pub(crate) fn count(technique: &dyn Technique, name: &str) -> u64 {
    let stats = warplab_model::stats::TechniqueStats::of(technique, &Ledger::default());
    stats.get(name).unwrap_or_else(|| panic!("{} has no counter {name}", technique.info().name))
}

/// Several techniques, prepared.
pub(crate) fn stack(names: &[&str], program: &Program, config: &GpuConfig) -> (Composed, Plan) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let techniques = built_in().select(&names, config).expect("known techniques");
    let (stack, plan) = Stack::prepare(techniques, &launch(program, config)).expect("accepted");
    (Composed(stack), plan)
}

/// An instruction between issue and writeback.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    pub pc: u32,
    pub active: u32,
    pub exec: u32,
    pub id: InFlightId,
    pub results: Vec<(u8, Row)>,
}

/// One warp in warp slot `slot`.
pub(crate) struct Bench<'a> {
    pub program: &'a Program,
    pub slot: usize,
    pub cycle: u64,
    pub issued: u64,
    pub rows: Vec<Row>,
    /// Lanes in which each register has been written.
    written: Vec<u32>,
    /// Lanes in which each predicate is true.
    pub preds: [u32; Pred::ALL],
    pub ledger: Ledger,
    effects: Effects,
    micro_ops: Vec<MicroOp>,
    /// Results written back, and how many of them were written to a bank immediately.
    pub results: u64,
    pub bank_writes: u64,
    next_id: u16,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(program: &'a Program, slot: usize) -> Bench<'a> {
        Bench {
            program,
            slot,
            cycle: 0,
            issued: 0,
            rows: vec![Row::ZERO; program.registers_per_thread as usize],
            written: vec![0; program.registers_per_thread as usize],
            preds: *WarpView::new(0, &[]).preds,
            micro_ops: Vec::new(),
            ledger: Ledger::default(),
            effects: Effects::default(),
            results: 0,
            bank_writes: 0,
            next_id: 0,
        }
    }

    /// The bench with the micro-operations of a plan, which techniques issue at run time.
    pub(crate) fn with_ops_of(self, plan: &Plan) -> Bench<'a> {
        Bench { micro_ops: plan.micro_ops().iter().map(|(_, op)| op.clone()).collect(), ..self }
    }

    /// Calls a hook with the bench's context and warp in the next cycle.
    fn with<R>(&mut self, call: impl FnOnce(&mut Surroundings<'_>, &WarpView<'_>) -> R) -> R {
        self.cycle += 1;
        self.before(u32::MAX, |at, warp, _| call(at, warp))
    }

    /// The same in the current cycle, before the instruction at `next`.
    fn before<R>(
        &mut self,
        next: u32,
        call: impl FnOnce(&mut Surroundings<'_>, &WarpView<'_>, &[MicroOp]) -> R,
    ) -> R {
        let mut at = Surroundings {
            cycle: self.cycle,
            program: self.program,
            ledger: &mut self.ledger,
            effects: &mut self.effects,
        };
        let mut warp = WarpView::new(self.slot, &self.rows);
        (warp.block, warp.warp, warp.issued, warp.next_pc) = (7, 3, self.issued, next);
        (warp.preds, warp.written) = (&self.preds, &self.written);
        call(&mut at, &warp, &self.micro_ops)
    }

    /// Accesses to banks that hooks made besides the instruction's own: true for a write.
    pub(crate) fn bank_accesses(&mut self) -> Vec<(u8, bool)> {
        std::mem::take(&mut self.effects.bank_accesses)
    }

    pub(crate) fn start(&mut self, technique: &mut impl Hooked) {
        self.with(|cx, warp| technique.start(cx, warp));
    }

    pub(crate) fn end(&mut self, technique: &mut impl Hooked) {
        let slot = self.slot;
        self.with(|cx, _| technique.end(cx, slot));
    }

    /// Issues an instruction whose results are `values`, destination by destination, in the lanes of `exec`.
    pub(crate) fn issue(
        &mut self,
        technique: &mut impl Hooked,
        pc: u32,
        (active, exec): (u32, u32),
        mut values: impl FnMut() -> Row,
    ) -> Result<(Vec<Read>, Flight), Box<ValueMismatch>> {
        let program = self.program;
        let inst = &program.insts[pc as usize];
        self.next_id += 1;
        let id = InFlightId::new(self.next_id, 0);
        let plain = |reg: &u8| OperandRead::from_bank(*reg, reg % 16);
        let mut operands: Vec<OperandRead> = inst.sources().iter().map(plain).collect();
        let collected = !matches!(inst.inst.kind(), Kind::Branch | Kind::Exit | Kind::Sync);
        let mut supplied = false;
        if collected {
            // The lanes of the guard are unknown before the step.
            let view = InstView::new(pc, inst, active, active, id);
            let guard = inst.inst.guard;
            if !guard.pred.is_true() {
                let lanes = &mut self.preds[usize::from(guard.pred.0)];
                *lanes = *lanes & !active | if guard.not { active & !exec } else { exec };
            }
            supplied = self.before(pc, |cx, warp, ops| technique.issuing(cx, warp, &view, ops));
            if supplied {
                operands.clear();
            } else {
                self.with(|cx, warp| technique.collected(cx, warp, &view, &mut operands))?;
            }
        }
        self.issued += 1;
        let mut results = Vec::new();
        for reg in inst.destinations() {
            let row = &mut self.rows[usize::from(*reg)];
            super::merge(row, &values(), exec);
            self.written[usize::from(*reg)] |= exec;
            results.push((*reg, shown(row, exec)));
        }
        if collected {
            let view = InstView::new(pc, inst, active, exec, id);
            let shown = results.iter().filter(|_| exec != 0);
            let shown: Vec<RegisterWrite<'_>> =
                shown.map(|(reg, row)| RegisterWrite::new(*reg, WriteTo::Nowhere, row)).collect();
            self.before(u32::MAX, |cx, warp, _| match supplied {
                true => technique.answer(cx, warp, &view, &shown),
                false => technique.left(cx, warp, &view, &shown),
            })?;
        }
        let operands = operands.iter().map(Read::of).collect();
        Ok((operands, Flight { pc, active, exec, id, results }))
    }

    /// Writes an instruction's results back.
    pub(crate) fn write_back(
        &mut self,
        technique: &mut impl Hooked,
        flight: &Flight,
    ) -> Result<Vec<WriteTo>, Box<ValueMismatch>> {
        let program = self.program;
        let Flight { pc, active, exec, id, .. } = *flight;
        let view = InstView::new(pc, &program.insts[pc as usize], active, exec, id);
        let mut writes: Vec<RegisterWrite<'_>> = flight
            .results
            .iter()
            .map(|(reg, row)| RegisterWrite::new(*reg, WriteTo::Bank(reg % 16), row))
            .collect();
        if flight.exec == 0 {
            writes.clear();
        }
        self.with(|cx, warp| technique.written(cx, warp, &view, &mut writes))?;
        self.results += writes.len() as u64;
        self.bank_writes += writes.iter().filter(|write| matches!(write.to, WriteTo::Bank(_))).count() as u64;
        Ok(writes.iter().map(|write| write.to).collect())
    }

    /// Issues an instruction in all lanes and writes it back at once.
    pub(crate) fn step(&mut self, technique: &mut impl Hooked, pc: u32, value: u32) -> Vec<Read> {
        let lane_by_lane =
            || Row::from_fn(|lane| value.wrapping_add(if value > 255 { lane as u32 } else { 0 }));
        let full = (u32::MAX, u32::MAX);
        let (reads, flight) = self.issue(technique, pc, full, lane_by_lane).expect("values agree");
        self.write_back(technique, &flight).expect("values agree");
        reads
    }

    /// Follows a kernel to its end, with results, lanes and writeback order at random.
    pub(crate) fn run(
        &mut self,
        technique: &mut impl Hooked,
        random: &mut Random,
    ) -> Result<(), Box<ValueMismatch>> {
        self.run_with(technique, random, |_, _, random| random.row())
    }

    /// The same, with results by instruction and registers.
    pub(crate) fn run_with(
        &mut self,
        technique: &mut impl Hooked,
        random: &mut Random,
        result: impl Fn(&warplab_technique::program::TimedInst, &[Row], &mut Random) -> Row,
    ) -> Result<(), Box<ValueMismatch>> {
        let mut walk = Walk::new(&self.program.kernel);
        let mut in_flight: Vec<Flight> = Vec::new();
        while let Some((pc, active)) = walk.at(random) {
            let inst = &self.program.insts[pc as usize];
            // Like the scoreboard: an instruction waits for the registers of results in flight.
            let blocks = |flight: &Flight| flight.results.iter().any(|(reg, _)| inst.hazards.contains(*reg));
            while in_flight.iter().any(blocks) || (!in_flight.is_empty() && random.below(3) == 0) {
                let flight = in_flight.swap_remove(random.below(in_flight.len() as u32) as usize);
                self.write_back(technique, &flight)?;
            }
            let exec = if inst.inst.is_unguarded() { active } else { active & random.mask() };
            let row = result(inst, &self.rows, random);
            let (_, flight) = self.issue(technique, pc, (active, exec), || row)?;
            if !flight.results.is_empty() {
                in_flight.push(flight);
            }
            walk.step(exec, random.below(4) == 0);
        }
        in_flight.iter().try_for_each(|flight| self.write_back(technique, flight).map(drop))
    }
}

/// A result as the pipeline shows it in tests: lanes in which the instruction had no effect are inverted.
pub(crate) fn shown(row: &Row, exec: u32) -> Row {
    Row::from_fn(|lane| if exec >> lane & 1 != 0 { row.0[lane] } else { !row.0[lane] })
}

/// The diverged paths of a warp over a kernel: the youngest runs, as with a reconvergence stack, unless
/// another path gets a turn.
pub(crate) struct Walk<'a> {
    kernel: &'a MachineKernel,
    flow: Flow,
    /// Paths that can run, the running one last.
    paths: Vec<Path>,
    joins: Vec<Join>,
    steps: u32,
}

/// Lanes that run together, the position at which they wait for others, and the join.
#[derive(Clone, Copy, Debug)]
struct Path {
    pc: u32,
    lanes: u32,
    meet: Option<u32>,
    join: Option<usize>,
}

/// Reconvergence point of a branch: the path that continues, and the lanes that have not arrived.
#[derive(Clone, Copy, Debug)]
struct Join {
    on: Path,
    pending: u32,
}

impl Walk<'_> {
    pub(crate) fn new(kernel: &MachineKernel) -> Walk<'_> {
        let start = Path { pc: 0, lanes: u32::MAX, meet: None, join: None };
        Walk { kernel, flow: kernel.flow(), paths: vec![start], joins: Vec::new(), steps: 0 }
    }

    /// The next instruction and its lanes; the turn may have passed to another path.
    pub(crate) fn at(&mut self, random: &mut Random) -> Option<(u32, u32)> {
        while let Some(at) = self.paths.iter().position(|path| path.lanes == 0 || Some(path.pc) == path.meet)
        {
            let path = self.paths.remove(at);
            if let Some(join) = path.join.filter(|_| path.lanes != 0) {
                self.joins[join].pending &= !path.lanes;
                self.joins[join].on.lanes |= path.lanes;
            }
            self.settle();
        }
        let here = self.paths.last()?.pc;
        if self.paths.len() > 1 && self.may_turn(here) && random.below(2) == 0 {
            let other = random.below(self.paths.len() as u32) as usize;
            let path = self.paths.remove(other);
            self.paths.push(path);
        }
        self.paths.last().map(|path| (path.pc, path.lanes))
    }

    /// Whether other lanes may run before an instruction: at the start of a block, and after an instruction
    /// that waits.
    fn may_turn(&self, pc: u32) -> bool {
        let begins = self.flow.block(self.flow.block_of(Pc(pc))).first == Pc(pc);
        begins || self.kernel.insts[pc as usize - 1].kind() == Kind::Sync
    }

    /// Continues lanes at joins for which no other lanes remain.
    fn settle(&mut self) {
        for join in &mut self.joins {
            if join.pending == 0 && join.on.lanes != 0 {
                self.paths.push(join.on);
                join.on.lanes = 0;
            }
        }
    }

    /// Steps over the instruction, which took effect in `exec`; either side of a branch may run first.
    pub(crate) fn step(&mut self, exec: u32, fall_through_first: bool) {
        self.steps += 1;
        let path = self.paths.last_mut().expect("a path runs");
        let inst = &self.kernel.insts[path.pc as usize];
        let at = path.pc;
        path.pc += 1;
        match inst.kind() {
            Kind::Exit => {
                path.lanes &= !exec;
                self.joins.iter_mut().for_each(|join| join.pending &= !exec);
                self.settle();
            }
            Kind::Branch => {
                // Long walks leave loops, so that every walk ends.
                let taken = if self.steps > 400 && inst.target.0 <= at { 0 } else { exec };
                let p = *path;
                if taken == p.lanes {
                    path.pc = inst.target.0;
                } else if taken != 0 {
                    self.paths.pop();
                    let meet = inst.reconv.map(|Pc(pc)| pc);
                    let (meet, join) = match meet {
                        Some(pc) if meet != p.meet => {
                            self.joins.push(Join { on: Path { pc, lanes: 0, ..p }, pending: p.lanes });
                            (meet, Some(self.joins.len() - 1))
                        }
                        _ => (p.meet, p.join),
                    };
                    let side = |pc, lanes| Path { pc, lanes, meet, join };
                    let mut sides = [side(inst.target.0, taken), side(at + 1, p.lanes & !taken)];
                    if !fall_through_first {
                        sides.reverse();
                    }
                    self.paths.extend(sides);
                }
            }
            _ => {}
        }
    }
}

/// Numbers that follow from a seed of the property tests, and the number of registers of the kernels that are made
/// from them.
pub(crate) struct Random {
    numbers: test_kit::Random,
    registers: u32,
}

impl Random {
    pub(crate) fn new(seed: u64, registers: u32) -> Random {
        Random { numbers: test_kit::Random::new(seed), registers }
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.numbers.below(u64::from(bound.max(1))) as u32
    }

    /// No lane, all lanes, or some.
    pub(crate) fn mask(&mut self) -> u32 {
        match self.below(4) {
            0 => 0,
            1 => u32::MAX,
            _ => self.numbers.bits() as u32,
        }
    }

    /// A row of a random width.
    pub(crate) fn row(&mut self) -> Row {
        let drop = 32 - 8 * (1 + self.below(4));
        Row::from_fn(|_| (((self.numbers.bits() as u32) << drop) as i32 >> drop) as u32)
    }

    /// A random structured kernel: arithmetic, guarded writes, branches and loops, over few registers, of which
    /// most are live, or over many, of which most are not.
    pub(crate) fn listing(&mut self) -> String {
        let mut lines = Vec::new();
        self.registers = 4 + self.below(24);
        for reg in 0..4 {
            lines.push(format!("mov r{reg} {reg}"));
        }
        self.body(&mut lines, 3);
        lines.push("stg r0 r2".into());
        lines.push("exit".into());
        lines.join("\n")
    }

    fn body(&mut self, lines: &mut Vec<String>, depth: u32) {
        for _ in 0..1 + self.below(5) {
            match self.below(if depth == 0 { 4 } else { 7 }) {
                3 => lines.push("nop".into()),
                6 => {
                    // Lanes of p0 skip the first side.
                    let branch = lines.len();
                    lines.push(String::new());
                    self.body(lines, depth - 1);
                    let over = lines.len();
                    lines.push(String::new());
                    lines[branch] = format!("@p0 bra {}", lines.len());
                    self.body(lines, depth - 1);
                    lines[over] = format!("bra {}", lines.len());
                    lines.push("nop".into());
                }
                4 => {
                    let head = lines.len();
                    self.body(lines, depth - 1);
                    lines.push(format!("@p1 bra {head}"));
                }
                5 => {
                    let branch = lines.len();
                    lines.push(String::new());
                    self.body(lines, depth - 1);
                    lines[branch] = format!("@!p0 bra {}", lines.len());
                    lines.push(if self.below(6) == 0 { "@p2 exit".into() } else { "nop".into() });
                }
                _ => lines.push(self.operation()),
            }
        }
    }

    fn operation(&mut self) -> String {
        let guard = if self.below(4) == 0 { "@p3 " } else { "" };
        let pool = self.registers;
        let kind = self.below(8);
        let mut r = || self.below(pool);
        match (kind, r(), r(), r(), r()) {
            (0, a, ..) => format!("{guard}ldg r{a} r{}", a / 2 * 2),
            (1, a, b, c, _) => format!("{guard}wide r{} r{b} r{c} r{}", a / 2 * 2, b / 2 * 2),
            (2, a, b, ..) => format!("{guard}stg r{} r{b}", a / 2 * 2),
            (3 | 4, a, ..) => format!("{guard}mov r{a} 5"),
            (_, a, b, c, d) => format!("{guard}imad r{a} r{b} r{c} r{d}"),
        }
    }
}
