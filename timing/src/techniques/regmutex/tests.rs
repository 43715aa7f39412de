//! Tests of RegMutex: sizes and sections of the chapter's example, code against an independent checker, random
//! divergent warps that share a pool, seeded faults, and cycles computed by hand.

use super::super::testing::{Random, Walk, config, count, launch, program};
use super::*;
use crate::config::GpuConfig;
use crate::program::Program;
use crate::source::Row;
use crate::stats::Stats;
use crate::techniques::{Effects, InFlightId, Ledger, merge};
use crate::testing::{Builder, Hand, r};
use live::Live;
use proptest::prelude::*;
use trace_format::isa::{Kind, SpecialReg, Src};

const RULES: Rules = Rules { extended: 0, unit: 1, sections: 0, pairs: false };

/// A kernel that names registers up to `highest`, `live` of which are live at once.
fn kernel_of(registers: u8, live: u8) -> Hand {
    let mut b = Builder::default();
    for reg in 0..live {
        b.mov(reg, u32::from(reg));
    }
    b.mov(registers - 2, 7);
    for reg in 1..live {
        b.iadd(0, r(0), r(reg), Src::RZ);
    }
    b.stg(0, 0, 0);
    Hand::new(b.exit(), 64, 192)
}

fn program_of(hand: &Hand, config: &GpuConfig) -> Program {
    Program::new(&hand.kernel, config).expect("a kernel that can be timed")
}

#[test]
fn the_sizes_are_those_of_the_example_and_of_table_4_1() {
    assert_eq!(size::candidates(24), [2, 4, 6, 8]);
    // Allocated registers and base sets; 18 of SRAD's 20 registers are named.
    let table = [
        (24, 18),
        (28, 20),
        (44, 38),
        (32, 24),
        (24, 18),
        (32, 20),
        (36, 30),
        (32, 20),
        (12, 8),
        (28, 20),
        (40, 28),
        (16, 12),
        (16, 12),
        (16, 12),
        (20, 12),
        (28, 20),
    ];
    for (registers, base) in table {
        assert!(size::candidates(registers).contains(&(registers - base)), "{registers} {base}");
    }
    assert!(size::candidates(2).is_empty(), "a set has two registers at least");
}

#[test]
fn the_example_of_section_4_3_1() {
    let config = crate::testing::config("regmutex-fermi", &[]);
    let hand = kernel_of(24, 20);
    let program = program_of(&hand, &config);
    assert_eq!(program.registers_per_thread, 24);
    let mut launch = Launch::new(&program, &config, [64, 1, 1], [192, 1, 1]);
    assert_eq!(launch.occupancy(&Plan::of(&program)).map(|o| o.blocks * 6), Ok(42));
    let of = |size: u32| size::split(&launch, 24, size, RULES).expect("fits");
    for (size, base, sections) in [(4, 20, 16), (6, 18, 26), (8, 16, 32)] {
        let split = of(size);
        assert_eq!((split.base, split.warps, split.sections), (base, 48, sections));
    }
    let (chosen, _) = size::choose(&launch, RULES).expect("registers limit this kernel");
    assert_eq!((chosen.extended, chosen.base, chosen.sections), (6, 18, 26));
    // In units of four registers, 18 is allocated as 20.
    let split = size::split(&launch, 24, 6, Rules { unit: 0, ..RULES }).expect("fits");
    assert_eq!((split.warps, split.sections), (48, 2048 / 192));
    let limited = size::split(&launch, 24, 6, Rules { sections: 3, ..RULES }).expect("fits");
    assert_eq!((limited.sections, limited.reserved), (3, 3 * 6 * 32));
    let pairs = size::split(&launch, 24, 6, Rules { pairs: true, ..RULES }).expect("fits");
    // 24 pairs of 2 * 18 + 6 registers need 1008 of 1024.
    assert_eq!((pairs.warps, pairs.pools, pairs.sections), (48, 24, 1));
    launch.dynamic_shared_bytes = 10_000;
    assert!(size::choose(&launch, RULES).is_none(), "shared memory limits this kernel");
}

#[test]
fn allocation_units_round_the_base_set() {
    // Pascal allocates eight registers per thread: a base set of 18 takes 24.
    let config = crate::testing::config("titanx-pascal", &[]);
    let hand = kernel_of(40, 30);
    let program = program_of(&hand, &config);
    let launch = Launch::new(&program, &config, [64, 1, 1], [192, 1, 1]);
    let of = |unit| size::split(&launch, 40, 22, Rules { unit, ..RULES }).expect("fits");
    let (own, single) = (of(0), of(1));
    assert_eq!((own.base, single.base, own.parts), (18, 18, 4));
    let file = config.sm.registers;
    assert_eq!(own.blocks, (file / 4 / (24 * 32) * 4 / 6).min(config.sm.max_warps / 6));
    assert!(own.blocks <= single.blocks);
    for split in [own, single] {
        let unit = if split == own { 24 } else { 18 };
        let left = file / 4 - split.warps.div_ceil(4) * unit * 32;
        assert_eq!(
            split.sections,
            (left / (22 * 32)).min(config.sm.max_warps / 4),
            "rest of a part is unused"
        );
        assert_eq!(split.reserved, split.sections * 4 * 22 * 32);
    }
}

/// Checks a kernel's code without the pass's own analysis: follows the values of every lane over all paths, with
/// the registers that they are in and whether the set is surely, or possibly, acquired. A register that has no
/// value yet may be read from anywhere.
fn verify(program: &Program, live: &Live, code: &Code, base: u32) {
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Place {
        Anywhere,
        In(u8),
        Nowhere,
    }
    impl Place {
        fn is(self, register: u8) -> bool {
            matches!(self, Place::Anywhere) || self == Place::In(register)
        }
        fn without(self, register: impl Fn(u8) -> bool) -> Place {
            match self {
                Place::In(here) if register(here) => Place::Nowhere,
                other => other,
            }
        }
        fn or(self, other: Place) -> Place {
            match (self, other) {
                (Place::Anywhere, place) | (place, Place::Anywhere) => place,
                (a, b) if a == b => a,
                _ => Place::Nowhere,
            }
        }
    }
    #[derive(Clone, PartialEq, Debug)]
    struct State {
        place: Vec<Place>,
        surely: bool,
        possibly: bool,
    }
    let registers = program.registers_per_thread as usize;
    let mut states: Vec<Option<State>> = vec![None; program.insts.len()];
    states[0] = Some(State { place: vec![Place::Anywhere; registers], surely: false, possibly: false });
    let mut work = vec![0u32];
    while let Some(pc) = work.pop() {
        let at = pc as usize;
        let mut state = states[at].clone().expect("reached");
        for (_, step) in code.steps.iter().filter(|(before, _)| *before == pc) {
            match step {
                Step::Acquire => (state.surely, state.possibly) = (true, true),
                Step::Release => {
                    (state.surely, state.possibly) = (false, false);
                    for place in &mut state.place {
                        *place = place.without(|register| u32::from(register) >= base);
                    }
                }
                Step::Move { from, to } => {
                    assert!(state.surely || u32::from(*from).max(u32::from(*to)) < base, "{pc}: {step:?}");
                    // The old place keeps its value until something else is put there.
                    for place in &mut state.place {
                        match *place {
                            Place::In(here) if here == *from => *place = Place::In(*to),
                            Place::In(here) if here == *to => *place = Place::Nowhere,
                            _ => {}
                        }
                    }
                }
            }
        }
        let inst = &program.insts[at];
        assert!(inst.path != Path::Barrier || !state.possibly, "{pc}: a barrier with a section");
        let renaming = &code.renamed[at];
        for (reg, register) in inst.sources().iter().zip(renaming.sources) {
            let place = state.place[usize::from(*reg)];
            assert!(place.is(register), "{pc}: r{reg} is {place:?}, not in {register}");
            assert!(state.surely || u32::from(register) < base, "{pc}: r{reg} without the section");
        }
        for (reg, register) in inst.destinations().iter().zip(renaming.destinations) {
            assert!(state.surely || u32::from(register) < base, "{pc}: r{reg} without the section");
            let kept = inst.inst.is_unguarded();
            assert!(
                kept || !live.before[at].contains(*reg) || state.place[usize::from(*reg)].is(register),
                "{pc}: a guarded write of r{reg} leaves lanes behind"
            );
            for place in &mut state.place {
                *place = place.without(|there| there == register);
            }
        }
        for (reg, register) in inst.destinations().iter().zip(renaming.destinations) {
            state.place[usize::from(*reg)] = Place::In(register);
        }
        for next in &live.next[at] {
            let mut arriving = state.clone();
            for reg in 0..registers {
                if !live.before[*next as usize].contains(reg as u8) {
                    arriving.place[reg] = Place::Nowhere;
                }
            }
            let merged = match &states[*next as usize] {
                None => arriving,
                Some(known) => State {
                    place: known.place.iter().zip(&arriving.place).map(|(a, b)| a.or(*b)).collect(),
                    surely: known.surely && arriving.surely,
                    possibly: known.possibly || arriving.possibly,
                },
            };
            if states[*next as usize].as_ref() != Some(&merged) {
                states[*next as usize] = Some(merged);
                work.push(*next);
            }
        }
    }
}

fn compiled(text: &str, base: u32) -> (Program, Code) {
    let config = config(&[]);
    let program = program(text, &config);
    let live = Live::of(&program);
    let code = compile::compile(&program, &live, base, program.registers_per_thread).expect("compiles");
    verify(&program, &live, &code, base);
    (program, code)
}

#[test]
fn a_peak_is_enclosed_by_acquire_and_release() {
    // Five values are live at the peak, two afterwards.
    let text = "mov r0 0\n mov r1 1\n mov r2 2\n mov r3 3\n mov r4 4\n imad r2 r2 r3 r4\n stg r0 r2\n exit";
    let (_, code) = compiled(text, 4);
    assert_eq!(code.steps, [(4, Step::Acquire), (6, Step::Release)]);
    assert_eq!(code.renamed[4].destinations[0], 4);
    let (_, code) = compiled(text, 5);
    assert!(code.steps.is_empty());
}

#[test]
fn a_value_made_at_the_peak_moves_to_the_base_set() {
    // r4 is made while r0 to r3 are live, and outlives them.
    let text =
        "mov r0 0\n mov r1 1\n mov r2 2\n mov r3 3\n mov r4 4\n imad r1 r1 r2 r3\n stg r0 r1\n mov r2 8\n
        mov r3 9\n stg r2 r4\n exit";
    let (_, code) = compiled(text, 4);
    let moves: Vec<_> = code.steps.iter().filter(|(_, step)| matches!(step, Step::Move { .. })).collect();
    assert_eq!(code.steps.first(), Some(&(4, Step::Acquire)));
    assert_eq!(moves.len(), 1, "{:?}", code.steps);
    assert!(matches!(moves[0].1, Step::Move { from: 4, to } if to < 4), "{moves:?}");
    assert_eq!(code.steps.last(), Some(&(moves[0].0, Step::Release)), "the release follows the move");
}

#[test]
fn the_acquire_of_a_loop_stands_before_it() {
    // The loop at 5 keeps five values alive; its entry is guarded.
    let text = "mov r0 0\n mov r1 1\n mov r2 2\n mov r3 3\n @p1 bra 9\n mov r4 4\n imad r2 r2 r3 r4\n
        imad r3 r2 r4 r1\n @p0 bra 6\n stg r0 r2\n exit";
    let (_, code) = compiled(text, 4);
    let acquires: Vec<u32> =
        code.steps.iter().filter(|(_, step)| *step == Step::Acquire).map(|(at, _)| *at).collect();
    assert_eq!(acquires, [5], "{:?}", code.steps);
    assert!(code.steps.contains(&(9, Step::Release)), "{:?}", code.steps);
    // A header that is entered from a block that also leads elsewhere: the acquire stands before the branch.
    let text =
        "mov r0 0\n mov r1 1\n mov r2 2\n mov r3 3\n mov r4 4\n mov r4 4\n @p1 bra 10\n imad r2 r2 r3 r4\n
        imad r3 r2 r4 r1\n @p0 bra 7\n mov r3 0\n stg r0 r2\n exit";
    let (_, code) = compiled(text, 4);
    let inside = |at: &u32| (7..=9).contains(at);
    assert!(code.steps.iter().all(|(at, _)| !inside(at)), "nothing is repeated: {:?}", code.steps);
}

#[test]
fn registers_live_at_a_barrier_are_in_the_base_set() {
    let config = config(&[]);
    let peak =
        "mov r0 0\n mov r1 1\n mov r2 2\n mov r3 3\n bar rz\n mov r4 4\n imad r2 r2 r3 r4\n stg r0 r2\n exit";
    let program = program(peak, &config);
    let live = Live::of(&program);
    assert_eq!(live.at_barriers(&program), 4, "r0 to r3 are live: a pair of the address counts");
    assert!(compile::compile(&program, &live, 3, program.registers_per_thread).is_none());
    let launch = launch(&program, &config);
    assert!(size::choose(&launch, Rules { extended: 3, ..RULES }).is_none(), "three are too few");
    assert_eq!(size::choose(&launch, Rules { extended: 2, ..RULES }).map(|(split, _)| split.base), Some(4));
    let code = compile::compile(&program, &live, 4, program.registers_per_thread).expect("compiles");
    verify(&program, &live, &code, 4);
}

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

/// One SM with one scheduler, and I-cache lines that hold a whole test kernel.
const SMALL: [&str; 7] = [
    "front_end.icache.line_bytes=256",
    "front_end.icache.size_bytes=4096",
    "gpu.sms=1",
    "launch.latency_cycles=0",
    "scheduler.count=1",
    "scheduler.policy=lrr",
    "front_end.fetch_warps_per_cycle=4",
];

fn run(hand: &Hand, set: &[&str], techniques: &[&str]) -> Stats {
    let set: Vec<&str> = SMALL.iter().chain(set).copied().collect();
    hand.run("gtx480", &set, techniques)
}

/// A loop of `trips` iterations in which ten values are live, and at most four before and behind it.
fn stretch(trips: u32, warps: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).mov(1, 0);
    for reg in 4..10 {
        b.mov(reg, u32::from(reg));
    }
    let top = b.here();
    b.iadd(4, r(4), r(5), r(6)).iadd(4, r(4), r(7), r(8)).iadd(1, r(1), Src::imm(1), Src::RZ);
    b.branch_below(1, trips, top);
    b.iadd(4, r(4), r(9), r(5)).iadd(4, r(4), r(6), r(7)).iadd(4, r(4), r(8), Src::RZ);
    for _ in 0..4 {
        b.iadd(1, r(1), r(4), Src::RZ);
    }
    b.shl(2, 0, 2).mov(3, 0).stg(2, 1, 0);
    Hand::new(b.exit(), 1, warps * 32)
}

#[test]
fn an_acquire_and_a_release_cost_an_issue_slot_each() {
    let es = ["technique.regmutex.es=5"];
    let plain = run(&stretch(8, 1), &[], &[]);
    let shared = run(&stretch(8, 1), &es, &["regmutex"]);
    let c = &shared.counters;
    assert_eq!(c.inserted_instructions, 2 + shared.of_techniques("moves"));
    assert_eq!((shared.of_techniques("acquires"), shared.of_techniques("acquires_at_once")), (1, 1));
    assert_eq!(shared.of_techniques("releases") + shared.of_techniques("releases_at_exit"), 1);
    assert_eq!(c.warp_instructions, plain.counters.warp_instructions);
    assert_eq!(c.operand_reads - plain.counters.operand_reads, shared.of_techniques("moves"));
    assert_eq!(c.cycles, plain.counters.cycles, "one warp has empty slots enough");
}

/// A loop that crosses a peak of ten values in every iteration: 12 instructions without dependent neighbours.
fn crossings(trips: u32) -> Hand {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).mov(1, 0).mov(2, 0).mov(3, 0);
    let top = b.here();
    for reg in 4..10 {
        b.mov(reg, u32::from(reg));
    }
    b.iadd(1, r(1), Src::imm(1), Src::RZ);
    b.iadd(2, r(4), r(5), r(6)).iadd(3, r(7), r(8), r(9));
    b.branch_below(1, trips, top);
    b.iadd(0, r(0), r(2), r(3)).stg(0, 0, 0);
    Hand::new(b.exit(), 1, 256)
}

#[test]
fn where_slots_are_scarce_an_acquire_and_a_release_cost_one_each() {
    // Eight warps fill the one issue slot of a cycle.
    let set = ["technique.regmutex.es=7", "scheduler.policy=lrr"];
    let longer = |techniques: &[&str]| {
        let of = |trips| run(&crossings(trips), &set, techniques).counters.cycles;
        (of(40) - of(8)) as f64 / 32.0
    };
    let plain = longer(&[]);
    let shared = run(&crossings(40), &set, &["regmutex"]);
    assert_eq!(shared.of_techniques("moves"), 0, "what is kept is made in the base set");
    assert_eq!((plain, longer(&["regmutex"])), (88.0, 104.0), "two more of 11 instructions, for eight warps");
    assert_eq!(shared.counters.inserted_instructions, 8 * 40 * 2);
}

#[test]
fn a_warp_waits_for_as_long_as_another_one_has_the_section() {
    let of = |length: u32, warps: u32, set: &[&str]| {
        let set: Vec<&str> = ["technique.regmutex.es=5"].iter().chain(set).copied().collect();
        run(&stretch(length, warps), &set, &["regmutex"])
    };
    let one = ["technique.regmutex.sections=1"];
    // A warp begins its loop when the one before has left its own, so that an iteration more of the loop costs each
    // warp its cycles once.
    let longer = |warps: u32, set: &[&str]| {
        (of(40, warps, set).counters.cycles - of(8, warps, set).counters.cycles) as f64 / 32.0
    };
    let link = longer(1, &one);
    assert_eq!(longer(2, &one), 2.0 * link, "one after the other");
    assert_eq!(longer(3, &one), 3.0 * link);
    let beside = longer(2, &["technique.regmutex.sections=2"]);
    assert!(beside < 1.2 * link, "side by side: {beside} and {link}");
    assert_eq!(longer(2, &["technique.regmutex.sections=1", "technique.regmutex.ideal=true"]), beside);
    let stats = of(40, 3, &one);
    assert_eq!((stats.of_techniques("acquires"), stats.of_techniques("acquires_at_once")), (3, 1));
    let stalls = &stats.techniques[0].ledger.stalls;
    assert!(stalls[usize::from(Stall::NoSection.index())] > 40, "{stalls:?}");
}

#[test]
fn more_sections_never_lose() {
    let mut last = u64::MAX;
    // Numbers by which the warps take turns evenly.
    for sections in [1, 2, 4, 8, 16] {
        let set = ["technique.regmutex.es=5".to_owned(), format!("technique.regmutex.sections={sections}")];
        let cycles = run(&stretch(60, 8), &set.each_ref().map(String::as_str), &["regmutex"]).counters.cycles;
        assert!(cycles <= last, "{sections} sections: {cycles} cycles after {last}");
        last = cycles;
    }
    let ideal = ["technique.regmutex.es=5", "technique.regmutex.sections=1", "technique.regmutex.ideal=true"];
    assert_eq!(run(&stretch(60, 8), &ideal, &["regmutex"]).counters.cycles, last);
}

#[test]
fn switched_off_it_is_the_machine_without_techniques() {
    for gpu in ["gtx480", "regmutex-fermi-half", "titanx-pascal"] {
        let hand = kernel_of(60, 50);
        let plain = hand.run(gpu, &["gpu.sms=1"], &[]);
        for name in ["regmutex", "regmutex-pairs"] {
            let off = format!("technique.{name}.mechanism=false");
            let stats = hand.run(gpu, &["gpu.sms=1", &off], &[name]);
            assert_eq!(stats.counters.values(), plain.counters.values(), "{gpu} {name}");
        }
    }
}

#[test]
fn more_warps_are_resident_and_a_pair_shares_a_section() {
    let config = ["gpu.sms=1"];
    let hand = kernel_of(40, 30);
    let plain = hand.run("regmutex-fermi-half", &config, &[]);
    let shared = hand.run("regmutex-fermi-half", &config, &["regmutex"]);
    assert!(shared.of_techniques("acquires") > 0);
    let resident = |stats: &Stats| stats.counters.resident_warp_cycles as f64 / stats.counters.cycles as f64;
    assert!(resident(&shared) > resident(&plain), "{} {}", resident(&shared), resident(&plain));
    let es = "technique.regmutex-pairs.es=12";
    let pairs = hand.run("regmutex-fermi-half", &["gpu.sms=1", es], &["regmutex-pairs"]);
    assert!(pairs.of_techniques("acquires_at_once") <= pairs.of_techniques("acquires"));
    assert_eq!(pairs.of_techniques("acquires"), 64 * 6);
    let per_warp = |stats: &Stats, name: &str| stats.of_techniques(name) / (64 * 6);
    assert_eq!((per_warp(&pairs, "base_registers"), per_warp(&pairs, "extended_registers")), (28, 12));
}

#[test]
fn bad_sections_are_refused_with_the_key() {
    let refuse = |section: &str| {
        let table: toml::Table = toml::from_str(section).expect("TOML");
        RegMutex::new(&table).map(drop).expect_err("refused")
    };
    assert!(refuse("es = 255").contains("`es`: 255"));
    assert!(refuse("extended = 2").contains("extended"));
}
