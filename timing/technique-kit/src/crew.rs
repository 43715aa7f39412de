//! Warps of one or more blocks that share a technique, without a pipeline: each follows a kernel on a random path, with random
//! results, and the warps take turns at random.

use crate::{Random, Walk};
use trace_format::isa::Kind;
use warplab_technique::Row;
use warplab_technique::program::{Path, Program};
use warplab_technique::{
    Cx, Effects, InFlightId, InstView, IssueVerdict, Issuing, Ledger, OperandRead, Plan, RegisterWrite,
    Technique, ValueMismatch, WarpView, WriteTo, merge, noise_outside,
};

/// A warp's place: its slot, its block's slot, and its number in the block.
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    /// Warp slot.
    pub slot: usize,
    /// Block slot.
    pub block_slot: usize,
    /// Warp within the block.
    pub warp: u32,
}

/// Seats of warps of one block.
pub fn one_block(slots: &[usize]) -> Vec<Seat> {
    let seat = |(warp, slot): (usize, &usize)| Seat { slot: *slot, block_slot: 0, warp: warp as u32 };
    slots.iter().enumerate().map(seat).collect()
}

/// Warps that share one technique.
pub struct Crew<'a> {
    program: &'a Program,
    plan: &'a Plan,
    /// The warps, in the order of their seats.
    pub warps: Vec<Member<'a>>,
    name: &'static str,
    ledger: Ledger,
    effects: Effects,
    cycle: u64,
}

/// One of them.
pub struct Member<'a> {
    seat: Seat,
    walk: Walk<'a>,
    rows: Vec<Row>,
    written: Vec<u32>,
    flights: Vec<Flight>,
    /// The instruction that the warp has arrived at, its lanes, and the micro-operations done before it.
    here: Option<(u32, u32, usize)>,
    /// Lanes that have not exited.
    pub alive: u32,
    ended: bool,
}

struct Flight {
    pc: u32,
    active: u32,
    exec: u32,
    id: InFlightId,
    dispatched: bool,
    results: Vec<(u8, Row)>,
}

impl<'a> Crew<'a> {
    /// Places blocks and warps.
    pub fn new(
        program: &'a Program,
        plan: &'a Plan,
        seats: &[Seat],
        technique: &mut impl Technique,
    ) -> Crew<'a> {
        let member = |seat: &Seat| Member {
            seat: *seat,
            walk: Walk::new(&program.kernel),
            rows: vec![Row::ZERO; program.registers_per_thread as usize],
            written: vec![0; program.registers_per_thread as usize],
            flights: Vec::new(),
            here: None,
            alive: u32::MAX,
            ended: false,
        };
        let info = technique.info();
        let mut ledger = Ledger::default();
        ledger.stalls = vec![0; info.stalls.len()];
        ledger.lost = vec![0; info.losses.len()];
        let mut crew = Crew {
            program,
            plan,
            warps: seats.iter().map(member).collect(),
            name: info.name,
            ledger,
            effects: Effects::default(),
            cycle: 0,
        };
        for (index, seat) in seats.iter().enumerate() {
            if seat.warp == 0 {
                crew.with(index, 0, |cx, _| {
                    technique.start_block(cx, seat.block_slot, seat.block_slot as u32);
                });
            }
            crew.with(index, 0, |cx, warp| technique.start_warp(cx, warp));
        }
        crew
    }

    /// Calls a hook with the context and view of a warp.
    pub fn with<R>(
        &mut self,
        index: usize,
        lanes: u32,
        call: impl FnOnce(&mut Cx<'_>, &WarpView<'_>) -> R,
    ) -> R {
        self.cycle += 1;
        let member = &self.warps[index];
        let mut view = WarpView::new(member.seat.slot, &member.rows);
        (view.alive, view.next_lanes, view.written) = (member.alive, lanes, &member.written);
        (view.block_slot, view.block) = (member.seat.block_slot, member.seat.block_slot as u32);
        view.warp = member.seat.warp;
        let mut cx = Cx::new(self.name, self.cycle, self.program, &mut self.ledger, &mut self.effects);
        call(&mut cx, &view)
    }

    /// Writes one result of a warp back.
    fn land(
        &mut self,
        technique: &mut impl Technique,
        index: usize,
        at: usize,
    ) -> Result<(), Box<ValueMismatch>> {
        let flight = self.warps[index].flights.remove(at);
        let program = self.program;
        let inst = &program.insts[flight.pc as usize];
        let view = InstView::new(flight.pc, inst, flight.active, flight.exec, flight.id);
        if !flight.dispatched {
            self.with(index, 0, |cx, warp| technique.dispatched(cx, warp, &view));
        }
        let banks =
            flight.results.iter().map(|(reg, row)| RegisterWrite::new(*reg, WriteTo::Bank(*reg % 16), row));
        let mut writes: Vec<RegisterWrite<'_>> = banks.collect();
        if flight.exec == 0 {
            writes.clear();
        }
        self.with(index, 0, |cx, warp| technique.write_back(cx, warp, &view, &mut writes))
    }

    /// A technique has stalled a warp: one of its results lands, if any is on its way; false if the warp has to wait for
    /// others.
    fn wait(
        &mut self,
        technique: &mut impl Technique,
        index: usize,
        cause: u8,
    ) -> Result<bool, Box<ValueMismatch>> {
        self.with(index, 0, |cx, warp| technique.stalled(cx, warp, cause));
        if self.warps[index].flights.is_empty() {
            return Ok(false);
        }
        self.land(technique, index, 0)?;
        Ok(true)
    }

    /// Ends a warp, and its block with the last one.
    fn end(&mut self, technique: &mut impl Technique, index: usize) -> Result<(), Box<ValueMismatch>> {
        while !self.warps[index].flights.is_empty() {
            self.land(technique, index, 0)?;
        }
        let Seat { slot, block_slot, .. } = self.warps[index].seat;
        self.warps[index].ended = true;
        self.with(index, 0, |cx, _| technique.end_warp(cx, slot));
        if self.warps.iter().all(|warp| warp.ended || warp.seat.block_slot != block_slot) {
            self.with(index, 0, |cx, _| technique.end_block(cx, block_slot));
        }
        Ok(())
    }

    /// One step of a warp; false if it waits for another warp or has ended.
    pub fn step(
        &mut self,
        technique: &mut impl Technique,
        index: usize,
        random: &mut Random,
    ) -> Result<bool, Box<ValueMismatch>> {
        if self.warps[index].ended {
            return Ok(false);
        }
        if self.warps[index].here.is_none() {
            let Some((pc, active)) = self.warps[index].walk.at(random) else {
                self.end(technique, index)?;
                return Ok(true);
            };
            self.warps[index].here = Some((pc, active, 0));
        }
        let (pc, active, done) = self.warps[index].here.expect("arrived");
        let before = self.plan.inserted().iter().filter(|inserted| inserted.before == pc);
        if let Some(op) = before.skip(done).map(|inserted| inserted.op).next() {
            let described = &self.plan.micro_ops()[usize::from(op.0)].1;
            let involved: Vec<u8> = described
                .sources
                .iter()
                .chain(&described.destinations)
                .chain(&described.waits_for)
                .copied()
                .collect();
            self.settle(technique, index, &involved)?;
            let what = Issuing::Micro(op, described);
            match self.with(index, active, |cx, warp| technique.issue(cx.cycle, warp, &what)) {
                IssueVerdict::Stall(cause) => return self.wait(technique, index, cause),
                verdict => {
                    self.with(index, active, |cx, warp| technique.issued(cx, warp, &what, verdict));
                }
            }
            self.warps[index].here = Some((pc, active, done + 1));
            return Ok(true);
        }
        self.execute(technique, index, (pc, active), random)
    }

    /// The registers that hold an instruction's destinations, and with `sources` its sources.
    fn registers(&self, pc: u32, sources: bool) -> Vec<u8> {
        let inst = &self.program.insts[pc as usize];
        let (from, to) = match self.plan.renamed().get(pc as usize) {
            Some(renamed) => (&renamed.sources, &renamed.destinations),
            None => (&inst.srcs, &inst.dsts),
        };
        let mut registers = to[..inst.destinations().len()].to_vec();
        if sources {
            registers.extend(&from[..inst.sources().len()]);
        }
        registers
    }

    /// Waits for results in these registers.
    fn settle(
        &mut self,
        technique: &mut impl Technique,
        index: usize,
        registers: &[u8],
    ) -> Result<(), Box<ValueMismatch>> {
        let pending = |crew: &Self, flight: &Flight| {
            crew.registers(flight.pc, false).iter().any(|register| registers.contains(register))
        };
        while let Some(at) = self.warps[index].flights.iter().position(|flight| pending(self, flight)) {
            self.land(technique, index, at)?;
        }
        Ok(())
    }

    fn execute(
        &mut self,
        technique: &mut impl Technique,
        index: usize,
        (pc, active): (u32, u32),
        random: &mut Random,
    ) -> Result<bool, Box<ValueMismatch>> {
        let program = self.program;
        let inst = &program.insts[pc as usize];
        let registers = self.registers(pc, true);
        self.settle(technique, index, &registers)?;
        while random.below(3) == 0 && !self.warps[index].flights.is_empty() {
            let at = random.below(self.warps[index].flights.len() as u32) as usize;
            self.land(technique, index, at)?;
        }
        let id = InFlightId::new(self.cycle as u16, 0);
        let view = InstView::new(pc, inst, active, active, id);
        let what = Issuing::Program(view);
        match self.with(index, active, |cx, warp| technique.issue(cx.cycle, warp, &what)) {
            IssueVerdict::Stall(cause) => return self.wait(technique, index, cause),
            verdict => self.with(index, active, |cx, warp| technique.issued(cx, warp, &what, verdict)),
        }
        let collected = matches!(inst.path, Path::Alu | Path::Memory(_));
        if collected {
            let mut operands: Vec<OperandRead> =
                inst.sources().iter().map(|reg| OperandRead::from_bank(*reg, reg % 16)).collect();
            self.with(index, active, |cx, warp| technique.collect(cx, warp, &view, &mut operands))?;
        }
        let exec = if inst.inst.is_unguarded() { active } else { active & random.mask() };
        let member = &mut self.warps[index];
        let mut results = Vec::new();
        for reg in inst.destinations() {
            let row = &mut member.rows[usize::from(*reg)];
            merge(row, &random.row(), exec);
            member.written[usize::from(*reg)] |= exec;
            results.push((*reg, noise_outside(row, exec)));
        }
        if inst.inst.kind() == Kind::Exit {
            member.alive &= !exec;
        }
        member.walk.step(exec, random.below(4) == 0);
        member.here = None;
        if collected {
            let dispatched = random.below(2) == 0;
            member.flights.push(Flight { pc, active, exec, id, dispatched, results });
            if dispatched {
                self.with(index, 0, |cx, warp| technique.dispatched(cx, warp, &view));
            }
        }
        Ok(true)
    }

    /// Runs all warps to their end.
    pub fn run(
        &mut self,
        technique: &mut impl Technique,
        random: &mut Random,
    ) -> Result<(), Box<ValueMismatch>> {
        loop {
            let order = random.below(self.warps.len() as u32) as usize;
            let mut moved = false;
            for index in 0..self.warps.len() {
                let index = (index + order) % self.warps.len();
                for _ in 0..1 + random.below(4) {
                    if !self.step(technique, index, random)? {
                        break;
                    }
                    moved = true;
                }
            }
            if self.warps.iter().all(|warp| warp.ended) {
                return Ok(());
            }
            assert!(moved, "a deadlock: {}", technique.describe());
        }
    }
}
