//! A warp without a pipeline: it issues and writes back instructions by hand or at random, keeps the recorded registers, and
//! calls techniques as the SM does.
//!
//! Results are random: any value in any executed lane.

use crate::{Random, Walk};
use trace_format::isa::{Kind, Pred};
use warplab_model::replay::ReplayError;
use warplab_model::techniques::{At, Stack};
use warplab_technique::program::Program;
use warplab_technique::{
    Answered, Cx, Effects, InFlightId, InstView, IssueVerdict, Issuing, Ledger, MicroOp, OperandRead, Plan,
    ReadFrom, RegisterWrite, Row, Technique, ValueMismatch, WarpView, WriteTo, merge, noise_outside,
};

/// The hooks that these tests drive, of one technique or of several.
pub trait Hooked {
    /// A warp has been placed.
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
    ///
    /// # Errors
    /// A value differs from the recorded one.
    fn answer(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>>;
    /// An instruction enters its collector.
    ///
    /// # Errors
    /// A value differs from the recorded one.
    fn collected(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>>;
    /// Lets the instruction leave its collector, after its step; the technique may supply its results.
    ///
    /// # Errors
    /// A value differs from the recorded one.
    fn left(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>>;
    /// The results of an instruction are written back.
    ///
    /// # Errors
    /// A value differs from the recorded one.
    fn written(
        &mut self,
        at: &mut Surroundings<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>>;
    /// The warp has ended.
    fn end(&mut self, at: &mut Surroundings<'_>, slot: usize);
}

/// Arguments of hook calls.
pub struct Surroundings<'a> {
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
pub struct Composed(pub Stack);

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
pub enum From {
    /// A bank.
    Bank(u8),
    /// One lane of a bank.
    Lane(u8),
    /// A structure of the technique.
    Storage,
    /// Together with another operand.
    With(u8),
    /// An operand of an earlier instruction.
    After(InFlightId, u8),
}

/// An operand and where it came from.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// Its register.
    pub reg: u8,
    /// Its source.
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

/// An instruction between issue and writeback.
#[derive(Clone, Debug)]
pub struct Flight {
    /// Instruction index.
    pub pc: u32,
    /// Lanes on the path.
    pub active: u32,
    /// Lanes in which it takes effect.
    pub exec: u32,
    /// Its identifier.
    pub id: InFlightId,
    /// Registers and results as the pipeline shows them.
    pub results: Vec<(u8, Row)>,
}

/// One warp in warp slot `slot`.
pub struct Bench<'a> {
    /// The kernel.
    pub program: &'a Program,
    /// Warp slot.
    pub slot: usize,
    /// SM clock cycle.
    pub cycle: u64,
    /// Instructions that the warp has issued.
    pub issued: u64,
    /// Registers after the latest issued instruction.
    pub rows: Vec<Row>,
    /// Lanes in which each register has been written.
    written: Vec<u32>,
    /// Lanes in which each predicate is true.
    pub preds: [u32; Pred::ALL],
    /// The technique's accounts.
    pub ledger: Ledger,
    effects: Effects,
    micro_ops: Vec<MicroOp>,
    /// Results written back, and how many of them were written to a bank immediately.
    pub results: u64,
    /// Results that went to a bank.
    pub bank_writes: u64,
    next_id: u16,
}

impl<'a> Bench<'a> {
    /// A warp in a slot, whose registers are zero.
    #[must_use]
    pub fn new(program: &'a Program, slot: usize) -> Bench<'a> {
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
    pub fn with_ops_of(self, plan: &Plan) -> Bench<'a> {
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
    pub fn bank_accesses(&mut self) -> Vec<(u8, bool)> {
        std::mem::take(&mut self.effects.bank_accesses)
    }

    /// Places the warp.
    pub fn start(&mut self, technique: &mut impl Hooked) {
        self.with(|cx, warp| technique.start(cx, warp));
    }

    /// Ends the warp.
    pub fn end(&mut self, technique: &mut impl Hooked) {
        let slot = self.slot;
        self.with(|cx, _| technique.end(cx, slot));
    }

    /// Issues an instruction whose results are `values`, destination by destination, in the lanes of `exec`.
    pub fn issue(
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
            merge(row, &values(), exec);
            self.written[usize::from(*reg)] |= exec;
            results.push((*reg, noise_outside(row, exec)));
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
    pub fn write_back(
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
    pub fn step(&mut self, technique: &mut impl Hooked, pc: u32, value: u32) -> Vec<Read> {
        let lane_by_lane =
            || Row::from_fn(|lane| value.wrapping_add(if value > 255 { lane as u32 } else { 0 }));
        let full = (u32::MAX, u32::MAX);
        let (reads, flight) = self.issue(technique, pc, full, lane_by_lane).expect("values agree");
        self.write_back(technique, &flight).expect("values agree");
        reads
    }

    /// Follows a kernel to its end, with results, lanes and writeback order at random.
    pub fn run(
        &mut self,
        technique: &mut impl Hooked,
        random: &mut Random,
    ) -> Result<(), Box<ValueMismatch>> {
        self.run_with(technique, random, |_, _, random| random.row())
    }

    /// The same, with results by instruction and registers.
    pub fn run_with(
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
