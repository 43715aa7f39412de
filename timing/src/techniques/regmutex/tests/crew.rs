//! Random divergent warps that share a pool, without a pipeline; seeded faults.

use super::code::verify;
use super::*;
use crate::source::Row;
use crate::techniques::testing::{Random, Walk, count, program};
use crate::techniques::{Effects, InFlightId, Ledger, merge};
use live::Live;
use proptest::prelude::*;
use trace_format::isa::Kind;

/// A set of warps that share one technique, each on a random path, without a pipeline.
struct Crew<'a> {
    program: &'a Program,
    plan: &'a Plan,
    warps: Vec<Member<'a>>,
    ledger: Ledger,
    effects: Effects,
    cycle: u64,
}

struct Member<'a> {
    slot: usize,
    walk: Walk<'a>,
    rows: Vec<Row>,
    flights: Vec<Flight>,
    /// The instruction that the warp has arrived at, its lanes, and the micro-operations left before it.
    here: Option<(u32, u32, usize)>,
    alive: u32,
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
    fn new(program: &'a Program, plan: &'a Plan, slots: &[usize], regmutex: &mut RegMutex) -> Crew<'a> {
        let member = |slot: &usize| Member {
            slot: *slot,
            walk: Walk::new(&program.kernel),
            rows: vec![Row::ZERO; program.registers_per_thread as usize],
            flights: Vec::new(),
            here: None,
            alive: u32::MAX,
            ended: false,
        };
        let mut ledger = Ledger::default();
        ledger.stalls = vec![0; 2];
        let mut crew = Crew {
            program,
            plan,
            warps: slots.iter().map(member).collect(),
            ledger,
            effects: Effects::default(),
            cycle: 0,
        };
        for index in 0..slots.len() {
            crew.with(index, 0, |cx, warp| regmutex.start_warp(cx, warp));
        }
        crew
    }

    fn with<R>(&mut self, index: usize, lanes: u32, call: impl FnOnce(&mut Cx<'_>, &WarpView<'_>) -> R) -> R {
        self.cycle += 1;
        let member = &self.warps[index];
        let mut view = WarpView::new(member.slot, &member.rows);
        (view.alive, view.next_lanes) = (member.alive, lanes);
        let mut cx = Cx::new("regmutex", self.cycle, self.program, &mut self.ledger, &mut self.effects);
        call(&mut cx, &view)
    }

    /// Writes one result of a warp back; false if there is none.
    fn land(&mut self, regmutex: &mut RegMutex, index: usize, at: usize) -> Result<(), Box<ValueMismatch>> {
        let flight = self.warps[index].flights.remove(at);
        let program = self.program;
        let view = InstView::new(
            flight.pc,
            &program.insts[flight.pc as usize],
            flight.active,
            flight.exec,
            flight.id,
        );
        if !flight.dispatched {
            self.with(index, 0, |cx, warp| regmutex.dispatched(cx, warp, &view));
        }
        let banks =
            flight.results.iter().map(|(reg, row)| RegisterWrite::new(*reg, WriteTo::Bank(*reg % 16), row));
        let mut writes: Vec<RegisterWrite<'_>> = banks.collect();
        if flight.exec == 0 {
            writes.clear();
        }
        self.with(index, 0, |cx, warp| regmutex.write_back(cx, warp, &view, &mut writes))
    }

    /// One step of a warp; false if it waits for a section or has ended.
    fn step(
        &mut self,
        regmutex: &mut RegMutex,
        index: usize,
        random: &mut Random,
    ) -> Result<bool, Box<ValueMismatch>> {
        if self.warps[index].ended {
            return Ok(false);
        }
        if self.warps[index].here.is_none() {
            let member = &mut self.warps[index];
            let Some((pc, active)) = member.walk.at(random) else {
                while !self.warps[index].flights.is_empty() {
                    self.land(regmutex, index, 0)?;
                }
                let slot = self.warps[index].slot;
                self.warps[index].ended = true;
                self.with(index, 0, |cx, _| regmutex.end_warp(cx, slot));
                return Ok(true);
            };
            member.here = Some((pc, active, 0));
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
            self.settle(regmutex, index, &involved)?;
            let what = Issuing::Micro(op, described);
            match self.with(index, active, |cx, warp| regmutex.issue(cx.cycle, warp, &what)) {
                IssueVerdict::Stall(cause) => {
                    self.with(index, active, |cx, warp| regmutex.stalled(cx, warp, cause));
                    if cause == Stall::InFlight.index() {
                        self.land(regmutex, index, 0)?;
                        return Ok(true);
                    }
                    return Ok(false);
                }
                verdict => {
                    self.with(index, active, |cx, warp| regmutex.issued(cx, warp, &what, verdict));
                }
            }
            self.warps[index].here = Some((pc, active, done + 1));
            return Ok(true);
        }
        self.execute(regmutex, index, (pc, active), random)?;
        self.warps[index].here = None;
        Ok(true)
    }

    /// Waits for results in these registers.
    fn settle(
        &mut self,
        regmutex: &mut RegMutex,
        index: usize,
        registers: &[u8],
    ) -> Result<(), Box<ValueMismatch>> {
        let renamed = self.plan.renamed();
        let pending = |flight: &Flight| {
            renamed[flight.pc as usize].destinations
                [..self.program.insts[flight.pc as usize].destinations().len()]
                .iter()
                .any(|register| registers.contains(register))
        };
        while let Some(at) = self.warps[index].flights.iter().position(pending) {
            self.land(regmutex, index, at)?;
        }
        Ok(())
    }

    fn execute(
        &mut self,
        regmutex: &mut RegMutex,
        index: usize,
        (pc, active): (u32, u32),
        random: &mut Random,
    ) -> Result<(), Box<ValueMismatch>> {
        let program = self.program;
        let inst = &program.insts[pc as usize];
        let renaming = &self.plan.renamed()[pc as usize];
        let mut registers = renaming.sources[..inst.sources().len()].to_vec();
        registers.extend(&renaming.destinations[..inst.destinations().len()]);
        self.settle(regmutex, index, &registers)?;
        while random.below(3) == 0 && !self.warps[index].flights.is_empty() {
            let at = random.below(self.warps[index].flights.len() as u32) as usize;
            self.land(regmutex, index, at)?;
        }
        let id = InFlightId::new(self.cycle as u16, 0);
        let view = InstView::new(pc, inst, active, active, id);
        let what = Issuing::Program(view);
        self.with(index, active, |cx, warp| regmutex.issued(cx, warp, &what, IssueVerdict::Issue));
        let collected = matches!(inst.path, Path::Alu | Path::Memory(_));
        if collected {
            let mut operands: Vec<OperandRead> =
                inst.sources().iter().map(|reg| OperandRead::from_bank(*reg, reg % 16)).collect();
            self.with(index, active, |cx, warp| regmutex.collect(cx, warp, &view, &mut operands))?;
        }
        let exec = if inst.inst.is_unguarded() { active } else { active & random.mask() };
        let member = &mut self.warps[index];
        let mut results = Vec::new();
        for reg in inst.destinations() {
            let row = &mut member.rows[usize::from(*reg)];
            merge(row, &random.row(), exec);
            results.push((*reg, *row));
        }
        if inst.inst.kind() == Kind::Exit {
            member.alive &= !exec;
        }
        member.walk.step(exec, random.below(4) == 0);
        if collected {
            let dispatched = random.below(2) == 0;
            member.flights.push(Flight { pc, active, exec, id, dispatched, results });
            if dispatched {
                self.with(index, 0, |cx, warp| regmutex.dispatched(cx, warp, &view));
            }
        }
        Ok(())
    }

    /// Runs all warps to their end.
    fn run(&mut self, regmutex: &mut RegMutex, random: &mut Random) -> Result<(), Box<ValueMismatch>> {
        loop {
            let order = random.below(self.warps.len() as u32) as usize;
            let mut moved = false;
            for index in 0..self.warps.len() {
                let index = (index + order) % self.warps.len();
                for _ in 0..1 + random.below(4) {
                    if !self.step(regmutex, index, random)? {
                        break;
                    }
                    moved = true;
                }
            }
            if self.warps.iter().all(|warp| warp.ended) {
                return Ok(());
            }
            assert!(moved, "a deadlock: {}", regmutex.describe());
        }
    }
}

/// A technique with a split of its own, beside its plan.
fn shared(program: &Program, set: &[&str]) -> Option<(RegMutex, Plan)> {
    let config = config(set);
    let empty = toml::Table::new();
    let mut regmutex = RegMutex::new(config.technique.get("regmutex").unwrap_or(&empty)).expect("a section");
    let mut plan = Plan::of(program);
    regmutex.prepare(&launch(program, &config), &mut plan).expect("prepares");
    plan.finish();
    regmutex.split.is_some().then_some((regmutex, plan))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// For any split, the code is right on every path, and random divergent warps that share one or two sections
    /// get their own values and come to an end.
    #[test]
    fn random_divergent_warps_share_a_pool(seed: u64, size in 1u32..20, sections in 1u32..4, barriers: bool) {
        let mut random = Random::new(seed, 8);
        let mut text = random.listing();
        if barriers {
            text = text.replace("nop", "bar rz");
        }
        let program = program(&text, &config(&[]));
        let all = program.registers_per_thread;
        let live = Live::of(&program);
        if let Some(base) = all.checked_sub(size).filter(|base| *base > 0)
            && let Some(code) = compile::compile(&program, &live, base, all)
        {
            verify(&program, &live, &code, base);
        }
        let set = [format!("technique.regmutex.es={size}"), format!("technique.regmutex.sections={sections}")];
        let Some((mut regmutex, plan)) = shared(&program, &set.each_ref().map(String::as_str)) else {
            return Ok(());
        };
        for _ in 0..2 {
            let mut crew = Crew::new(&program, &plan, &[0, 1, 5, 17], &mut regmutex);
            prop_assert_eq!(crew.run(&mut regmutex, &mut random), Ok(()));
        }
        prop_assert_eq!(regmutex.pool().taken(), 0, "every section is free at the end");
        prop_assert_eq!(
            count(&regmutex, "acquires"),
            count(&regmutex, "releases") + count(&regmutex, "releases_at_exit")
        );
    }
}

/// A kernel with two peaks of seven values, beside a base set of four; three values move behind the first one,
/// and lanes that p0 skips wait at the end of the second one.
const PEAKS: &str = "mov r0 0
    mov r1 1
    mov r2 2
    mov r3 3
    mov r4 4
    mov r5 5
    mov r6 6
    imad r1 r1 r2 r3
    stg r0 r1
    imad r4 r4 r5 r6
    mov r0 7
    mov r1 8
    @p0 bra 21
    mov r2 2
    mov r3 3
    mov r5 5
    mov r6 6
    imad r2 r2 r3 r5
    imad r6 r6 r5 r4
    stg r0 r2
    imad r4 r6 r6 r4
    stg r0 r4
    exit";

/// Runs four warps over the two peaks with a damaged technique; whether a value check finds it.
fn found_with(damage: impl Fn(&mut RegMutex, &mut Plan)) -> bool {
    found_during(damage, |_, _| {})
}

/// As [`found_with`], with damage before every turn.
fn found_during(damage: impl Fn(&mut RegMutex, &mut Plan), before: impl Fn(&mut RegMutex, usize)) -> bool {
    let program = program(PEAKS, &config(&[]));
    let set = ["technique.regmutex.es=4", "technique.regmutex.sections=3"];
    (0..40u64).any(|seed| {
        let (mut regmutex, mut plan) = shared(&program, &set).expect("an extended set");
        damage(&mut regmutex, &mut plan);
        let mut random = Random::new(seed, 8);
        let mut crew = Crew::new(&program, &plan, &[0, 1, 2, 3], &mut regmutex);
        (0..400).any(|turn| {
            before(&mut regmutex, turn);
            crew.step(&mut regmutex, turn % 4, &mut random).is_err()
        })
    })
}

/// A plan whose micro-operations were changed.
fn edited(plan: &Plan, edit: impl Fn(usize, &MicroOp) -> Vec<MicroOp>) -> Plan {
    let program = program(PEAKS, &config(&[]));
    let mut changed = Plan::of(&program);
    changed.rename(plan.renamed().to_vec());
    for (index, inserted) in plan.inserted().iter().enumerate() {
        for op in edit(index, &plan.micro_ops()[usize::from(inserted.op.0)].1) {
            let id = changed.micro_op(op);
            changed.insert(inserted.before, inserted.edge, id);
        }
    }
    changed.finish();
    changed
}

#[test]
fn seeded_faults_are_found_by_their_values() {
    assert!(!found_with(|_, _| {}), "without a fault, values agree");
    let program = program(PEAKS, &config(&[]));
    let (regmutex, plan) = shared(&program, &["technique.regmutex.es=4"]).expect("an extended set");
    let base = regmutex.split.expect("split").base as u8;
    let kinds: Vec<u32> =
        plan.inserted().iter().map(|op| plan.micro_ops()[usize::from(op.op.0)].1.tag & 0xFF).collect();
    let first = |kind: u32| kinds.iter().position(|other| *other == kind).expect("there is one");
    let change =
        |edit: &dyn Fn(usize, &MicroOp) -> Vec<MicroOp>| found_with(|_, plan| *plan = edited(plan, edit));
    let drop_at = |gone: usize| {
        change(&move |index, op: &MicroOp| if index == gone { vec![] } else { vec![op.clone()] })
    };
    assert!(drop_at(first(ACQUIRE)), "1: a missing acquire");
    assert!(drop_at(first(MOVE)), "2: a missing move");
    let moved = first(MOVE);
    let redirected = |edit: fn(u8, u8) -> (u8, u8)| {
        change(&move |index, op: &MicroOp| {
            let [from, to] = [op.tag >> 8, op.tag >> 16].map(|register| register as u8);
            let (from, to) = edit(from, to);
            let wrong = MicroOp::in_unit("move", move_tag(from, to), "int", 4).with_registers(&[from], &[to]);
            vec![if index == moved { wrong } else { op.clone() }]
        })
    };
    assert!(redirected(|from, to| (from, (to + 1) % 4)), "3: a move to a register of another value");
    assert!(redirected(|from, to| (from ^ 1, to)), "4: a move of another value");
    assert!(redirected(|from, to| (to, from)), "5: a move backwards");
    let early = |op: &MicroOp| vec![MicroOp::marker("release", RELEASE), op.clone()];
    assert!(
        change(&move |index, op| if index == moved { early(op) } else { vec![op.clone()] }),
        "6: an early release"
    );
    let right_after = first(ACQUIRE);
    assert!(
        change(&move |index, op| {
            let release = (index == right_after).then(|| MicroOp::marker("release", RELEASE));
            std::iter::once(op.clone()).chain(release).collect()
        }),
        "7: a release right behind its acquire"
    );
    let extended_source = |renamed: &[Renaming]| {
        renamed.iter().position(|one| one.sources.iter().any(|register| *register >= base)).expect("one")
    };
    assert!(
        found_with(|regmutex, _| {
            let at = extended_source(&regmutex.renamed);
            regmutex.renamed[at]
                .sources
                .iter_mut()
                .for_each(|register| *register ^= u8::from(*register >= base));
        }),
        "8: another register of the section"
    );
    assert!(found_with(|regmutex, _| regmutex.renamed[8].sources.swap(0, 1)), "9: two operands exchanged");
    assert!(
        found_with(|regmutex, _| {
            let to = regmutex.renamed.iter_mut().find(|one| one.destinations[0] >= base).expect("one");
            to.destinations[0] -= base;
        }),
        "10: a result in the base set instead of the section"
    );
    assert!(
        found_during(|_, _| {}, |regmutex, _| regmutex.pool_mut().share_sections()),
        "11: two warps with one section"
    );
    assert!(
        found_during(|_, _| {}, |regmutex, _| regmutex.pool_mut().forget_lanes(0x00FF_0000)),
        "12: lanes that the status mask lacks"
    );
    assert!(
        found_during(
            |_, _| {},
            |regmutex, turn| {
                if turn == 60 {
                    regmutex.pool_mut().take_sections();
                }
            }
        ),
        "13: a section that is taken from its warp"
    );
    assert!(
        found_during(
            |_, _| {},
            |regmutex, turn| if turn == 40 {
                regmutex.pool_mut().swap_lanes();
            }
        ),
        "14: two lanes exchanged in the base set"
    );
}

#[test]
fn a_nested_acquire_does_nothing_and_lanes_set_aside_keep_the_section() {
    let program = program(PEAKS, &config(&[]));
    let (mut regmutex, plan) =
        shared(&program, &["technique.regmutex.es=4", "technique.regmutex.sections=1"]).expect("a set");
    let mut crew = Crew::new(&program, &plan, &[0, 1], &mut regmutex);
    let tell = |crew: &mut Crew<'_>, regmutex: &mut RegMutex, index: usize, lanes: u32, tag: u32| {
        crew.with(index, lanes, |cx, warp| regmutex.carry_out(cx, warp, tag));
    };
    let waits = |crew: &mut Crew<'_>, regmutex: &RegMutex, index: usize, tag: u32| {
        let op = MicroOp::marker("test", tag);
        let what = Issuing::Micro(MicroId(0), &op);
        crew.with(index, u32::MAX, |_, warp| regmutex.issue(0, warp, &what)) != IssueVerdict::Issue
    };
    tell(&mut crew, &mut regmutex, 0, 0xFF, ACQUIRE);
    assert!(!waits(&mut crew, &regmutex, 0, ACQUIRE), "the warp has its section");
    assert!(waits(&mut crew, &regmutex, 1, ACQUIRE), "the other warp waits");
    tell(&mut crew, &mut regmutex, 0, 0xFF00, ACQUIRE);
    assert_eq!((count(&regmutex, "acquires"), count(&regmutex, "nested_acquires")), (1, 1));
    tell(&mut crew, &mut regmutex, 0, 0xFF, RELEASE);
    assert!(waits(&mut crew, &regmutex, 1, ACQUIRE), "lanes set aside still have values in it");
    tell(&mut crew, &mut regmutex, 0, 0xFF, RELEASE);
    assert_eq!((count(&regmutex, "releases"), count(&regmutex, "nested_releases")), (0, 2));
    // The lanes set aside exit: the warp's next instruction finds the section unused.
    crew.warps[0].alive = 0xFF;
    tell(&mut crew, &mut regmutex, 0, 0xFF, RELEASE);
    assert_eq!(regmutex.pool().taken(), 0);
    assert!(!waits(&mut crew, &regmutex, 1, ACQUIRE));
    // A warp that ends with its section gives it back.
    tell(&mut crew, &mut regmutex, 1, u32::MAX, ACQUIRE);
    crew.with(1, 0, |cx, _| regmutex.end_warp(cx, 1));
    assert_eq!((regmutex.pool().taken(), count(&regmutex, "releases_at_exit")), (0, 1));
}
