//! A toy technique for every hook and every answer, each with the cycles that it must cost.
//!
//! A toy is a set of hooks and a few closures ([`Toy`]). Kernels are short, the SM is small, and the plain machine's
//! cycles are measured in the same test: what is asserted is the difference.

use super::*;
use crate::config::{GpuConfig, load};
use crate::error::ReplayError;
use crate::program::Path;
use crate::stats::{Stall, Stats};
use crate::testing::{Builder, Hand, r};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use trace_format::isa::{Pred, PredSrc, SpecialReg};
use warplab_technique::declare::Cause;
use warplab_technique::{CauseInfo, StorageInfo};

const INFO: TechniqueInfo = TechniqueInfo {
    name: "toy",
    summary: "for tests",
    paper: "none",
    stalls: &[
        CauseInfo { name: "first", doc: "The first cause." },
        CauseInfo { name: "second", doc: "The second cause." },
    ],
    losses: &[CauseInfo { name: "lost", doc: "Lost." }],
    storage: &[StorageInfo { name: "toys", doc: "the toys", component: "technique_storage", price: None }],
    ..TechniqueInfo::EMPTY
};

#[derive(Clone, Copy)]
enum Loss {
    Lost,
}

impl Cause for Loss {
    const DECLARED: &'static [CauseInfo] = INFO.losses;
    fn index(self) -> u8 {
        self as u8
    }
}

type Shared<F> = Option<Arc<F>>;
type Outcome = Result<(), Box<ValueMismatch>>;

type OnPrepare = dyn Fn(&mut Plan) + Send + Sync;
type OnFetch = dyn Fn(u64, u32) -> FetchVerdict + Send + Sync;
type OnIssue = dyn Fn(u64, &WarpView<'_>, &Issuing<'_>) -> IssueVerdict + Send + Sync;
type OnIssued = dyn Fn(&mut Cx<'_>, &WarpView<'_>, &Issuing<'_>) + Send + Sync;
type OnCollect = dyn Fn(&mut Cx<'_>, &WarpView<'_>, &InstView<'_>, &mut [OperandRead], &mut Storage) -> Outcome
    + Send
    + Sync;
type OnAccess =
    dyn Fn(&mut Cx<'_>, &InstView<'_>, &MemAccess<'_>, &mut Storage) -> AccessVerdict + Send + Sync;
type OnAnswer = dyn Fn(&RegisterWrite<'_>) -> Option<Row> + Send + Sync;
type OnWriteBack = dyn Fn(&mut Cx<'_>, &InstView<'_>, &mut [RegisterWrite<'_>]) + Send + Sync;
type OnOrder = dyn Fn(u64) -> u8 + Send + Sync;
type OnInitiation = dyn Fn(&InstView<'_>, u32) -> u32 + Send + Sync;
type OnAdmits = dyn Fn(u64, u32) -> bool + Send + Sync;
type OnAdmitsWarp = dyn Fn(u64, u32) -> bool + Send + Sync;
type OnTick = dyn Fn(&mut Cx<'_>) + Send + Sync;
type OnCompanion = dyn Fn(u64) -> Option<MicroId> + Send + Sync;

/// What a toy does at the hooks that it wants to be asked.
#[derive(Clone)]
struct Toy {
    hooks: Hooks,
    storage: Storage,
    log: Arc<Mutex<Vec<String>>>,
    prepare: Shared<OnPrepare>,
    fetch: Shared<OnFetch>,
    issue: Shared<OnIssue>,
    issued: Shared<OnIssued>,
    collect: Shared<OnCollect>,
    access: Shared<OnAccess>,
    answer: Shared<OnAnswer>,
    write_back: Shared<OnWriteBack>,
    order: Shared<OnOrder>,
    initiation: Shared<OnInitiation>,
    admits: Shared<OnAdmits>,
    admits_warp: Shared<OnAdmitsWarp>,
    tick: Shared<OnTick>,
    companion: Shared<OnCompanion>,
}

fn toy(hooks: impl FnOnce(&mut Hooks)) -> Toy {
    let mut wanted = Hooks::default();
    hooks(&mut wanted);
    Toy {
        hooks: wanted,
        storage: Storage::new(Shape {
            banks: 1,
            entries: 4,
            entry_bits: 8,
            ports: 1,
            write_ports: 0,
            latency_cycles: 10,
        }),
        log: Arc::default(),
        prepare: None,
        fetch: None,
        issue: None,
        issued: None,
        collect: None,
        access: None,
        answer: None,
        write_back: None,
        order: None,
        initiation: None,
        admits: None,
        admits_warp: None,
        tick: None,
        companion: None,
    }
}

impl Toy {
    fn note(&self, text: String) {
        self.log.lock().expect("no test thread panics").push(text);
    }

    fn noted(&self) -> Vec<String> {
        self.log.lock().expect("no test thread panics").clone()
    }
}

impl Technique for Toy {
    fn info(&self) -> &'static TechniqueInfo {
        &INFO
    }

    fn fork(&self) -> Box<dyn Technique> {
        Box::new(self.clone())
    }

    fn storage(&self) -> Vec<&Storage> {
        vec![&self.storage]
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        plan.hooks = self.hooks;
        if let Some(prepare) = &self.prepare {
            prepare(plan);
        }
        let fits = launch.occupancy(plan)?;
        self.note(format!("grid {:?}, block {:?}, {} blocks per SM", launch.grid, launch.block, fits.blocks));
        Ok(())
    }

    fn admits_block(&self, now: u64, block: u32) -> bool {
        self.admits.as_ref().is_none_or(|admits| admits(now, block))
    }

    fn admits_warp(&self, now: u64, warp: &WarpView<'_>) -> bool {
        self.admits_warp.as_ref().is_none_or(|admits| admits(now, warp.warp))
    }

    fn fetch(&self, now: u64, _warp: &WarpView<'_>, pc: u32) -> FetchVerdict {
        self.fetch.as_ref().map_or(FetchVerdict::Fetch, |fetch| fetch(now, pc))
    }

    fn fetched(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, pc: u32, skipped: bool) {
        self.note(format!("{} {pc}", if skipped { "skipped" } else { "fetched" }));
    }

    fn flushed(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, resume: Option<u32>) {
        self.note(format!("flushed to {resume:?}"));
    }

    fn order(&self, _now: u64, _scheduler: usize, ready: u64, chosen: u8) -> u8 {
        self.order.as_ref().map_or(chosen, |order| order(ready))
    }

    fn activity(&mut self, _cx: &mut Cx<'_>, warp: &WarpView<'_>, active: bool) {
        self.note(format!("warp {} {}", warp.slot, if active { "active" } else { "inactive" }));
    }

    fn issue(&self, now: u64, warp: &WarpView<'_>, what: &Issuing<'_>) -> IssueVerdict {
        self.issue.as_ref().map_or(IssueVerdict::Issue, |issue| issue(now, warp, what))
    }

    fn issued(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>, _verdict: IssueVerdict) {
        if let Some(issued) = &self.issued {
            issued(cx, warp, what);
        }
    }

    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Outcome {
        let Toy { collect, storage, .. } = self;
        collect.as_ref().map_or(Ok(()), |collect| collect(cx, warp, inst, operands, storage))
    }

    fn initiation(&self, _now: u64, _warp: &WarpView<'_>, inst: &InstView<'_>, cycles: u32) -> u32 {
        self.initiation.as_ref().map_or(cycles, |initiation| initiation(inst, cycles))
    }

    fn dispatched(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, inst: &InstView<'_>) {
        self.note(format!("dispatched {}", inst.pc));
    }

    fn access(
        &mut self,
        cx: &mut Cx<'_>,
        _warp: &WarpView<'_>,
        inst: &InstView<'_>,
        access: &MemAccess<'_>,
    ) -> AccessVerdict {
        let Toy { access: toy, storage, .. } = self;
        toy.as_ref().map_or(AccessVerdict::Access, |toy| toy(cx, inst, access, storage))
    }

    fn answered(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        how: Answered,
        results: &[RegisterWrite<'_>],
    ) -> Outcome {
        self.note(format!("answered {} {how:?}", inst.pc));
        for result in results {
            if let Some(row) = self.answer.as_ref().and_then(|answer| answer(result)) {
                cx.opportunity(1);
                cx.supply_result(warp, inst, result, &row)?;
            }
        }
        Ok(())
    }

    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        _warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Outcome {
        self.note(format!("completed {} with {} writes", inst.pc, writes.len()));
        if let Some(write_back) = &self.write_back {
            write_back(cx, inst, writes);
        }
        Ok(())
    }

    fn tick(&mut self, cx: &mut Cx<'_>) {
        if let Some(tick) = &self.tick {
            tick(cx);
        }
    }

    fn next_event(&self, now: u64) -> Option<u64> {
        (self.tick.is_some() || self.companion.is_some()).then_some(now)
    }

    fn companion(&self, now: u64, _scheduler: usize) -> Option<MicroId> {
        self.companion.as_ref()?(now)
    }

    fn companion_issued(&mut self, _cx: &mut Cx<'_>, _scheduler: usize, _op: MicroId, done_at: u64) {
        self.note(format!("companion until {done_at}"));
    }

    fn loaded(&mut self, _cx: &mut Cx<'_>, tag: u32, locked: bool) {
        self.note(format!("loaded {tag}, locked {locked}"));
    }

    fn describe(&self) -> String {
        "warp 0 has the only toy".to_owned()
    }
}

/// One SM, no launch latency, one scheduler, and I-cache lines that hold a whole test kernel.
fn machine(set: &[&str]) -> GpuConfig {
    let small = [
        "front_end.icache.line_bytes=256",
        "front_end.icache.size_bytes=4096",
        "gpu.sms=1",
        "launch.latency_cycles=0",
        "scheduler.count=1",
        "scheduler.policy=lrr",
        "front_end.fetch_warps_per_cycle=4",
    ];
    let set: Vec<String> = small.iter().chain(set).map(|item| (*item).to_owned()).collect();
    load("gtx480", &set).expect("a valid configuration").config
}

fn run(hand: &Hand, toy: &Toy) -> Stats {
    run_on(hand, toy, &[]).unwrap_or_else(|why| panic!("{why}"))
}

fn run_on(hand: &Hand, toy: &Toy, set: &[&str]) -> Result<Stats, ReplayError> {
    hand.run_techniques(&machine(set), vec![Box::new(toy.clone())])
}

fn plain(hand: &Hand) -> Stats {
    plain_on(hand, &[])
}

fn plain_on(hand: &Hand, set: &[&str]) -> Stats {
    hand.run_techniques(&machine(set), Vec::new()).unwrap_or_else(|why| panic!("{why}"))
}

fn cycles(stats: &Stats) -> u64 {
    stats.counters.cycles
}

/// `r1 = 5; r2 = 7; r3 = r1 + r2`, then a chain of `length` additions.
fn chain(length: usize) -> Hand {
    let mut b = Builder::default();
    b.mov(1, 5).mov(2, 7);
    for _ in 0..length {
        b.iadd(3, r(1), r(2), r(3));
    }
    Hand::new(b.exit(), 1, 32)
}

fn skipping(pc: u32, value: u32) -> Toy {
    Toy {
        fetch: Some(Arc::new(move |_, at| if at == pc { FetchVerdict::Skip } else { FetchVerdict::Fetch })),
        answer: Some(Arc::new(move |_| Some(Row::splat(value)))),
        ..toy(|hooks| hooks.fetch = true)
    }
}

#[test]
fn a_skipped_instruction_takes_no_fetch_no_slot_and_no_unit() {
    let hand = chain(3);
    let (plain, toy) = (plain(&hand), skipping(1, 7));
    let stats = run(&hand, &toy);
    let c = &stats.counters;
    assert_eq!((c.skipped_instructions, c.warp_instructions), (1, plain.counters.warp_instructions));
    assert_eq!(c.int_instructions, plain.counters.int_instructions - 1);
    assert_eq!(c.fetched_instructions, plain.counters.fetched_instructions - 1);
    assert_eq!(stats.stalls.get(Stall::Issued), plain.stalls.get(Stall::Issued) - 1);
    assert!(cycles(&stats) < cycles(&plain));
    assert_eq!(c.checked_values, 1);
    let noted = toy.noted();
    assert!(noted.contains(&"skipped 1".into()) && noted.contains(&"answered 1 Skipped".into()), "{noted:?}");
    assert_eq!(noted[0], "grid [1, 1, 1], block [32, 1, 1], 8 blocks per SM");
}

#[test]
fn a_wrong_answer_stops_the_run_and_a_missing_one_too() {
    let hand = chain(3);
    let why = run_on(&hand, &skipping(1, 8), &[]).expect_err("r2 is 7").to_string();
    assert!(why.contains("technique toy") && why.contains("supplied 0x00000008"), "{why}");
    let silent = Toy { answer: None, ..skipping(1, 7) };
    let why = run_on(&hand, &silent, &[]).expect_err("no row was compared").to_string();
    assert!(why.contains("technique toy") && why.contains("supplied 0 of 1 results"), "{why}");
}

#[test]
fn accounts_that_do_not_balance_stop_the_run() {
    for (opportunities, lost, fine) in [(3, 3, true), (3, 2, false), (2, 3, false)] {
        let counted = AtomicU64::new(0);
        let toy = Toy {
            issued: Some(Arc::new(move |cx: &mut Cx<'_>, _: &WarpView<'_>, _: &Issuing<'_>| {
                if counted.fetch_add(1, Ordering::Relaxed) == 0 {
                    cx.opportunity(opportunities);
                    cx.lost(Loss::Lost, lost);
                }
            })),
            ..toy(|hooks| hooks.issue = true)
        };
        let outcome = run_on(&chain(1), &toy, &[]);
        assert_eq!(outcome.is_ok(), fine, "{opportunities} opportunities, {lost} lost");
        if let Err(why) = outcome {
            assert!(why.to_string().contains("accounts must balance"), "{why}");
        }
    }
}

#[test]
fn held_fetch_leaves_its_turn_to_others_and_its_slots_have_its_cause() {
    let hand = chain(2);
    let plain = plain(&hand);
    let until = 40;
    let toy = Toy {
        fetch: Some(Arc::new(move |now, pc| match pc {
            0 if now < until => FetchVerdict::Stall(1),
            _ => FetchVerdict::Fetch,
        })),
        ..toy(|hooks| hooks.fetch = true)
    };
    let stats = run(&hand, &toy);
    // The plain machine fetches when the block has been set up, and the first access to the I-cache misses.
    let start = u64::from(machine(&[]).sm.block_launch_cycles);
    assert_eq!(cycles(&stats) - cycles(&plain), until - start);
    assert_eq!(
        stats.counters.icache_accesses, plain.counters.icache_accesses,
        "a held warp looks nothing up"
    );
    let ledger = &stats.techniques[0].ledger;
    assert_eq!(ledger.stalls[0], 0);
    assert_eq!(ledger.stalls[1], stats.stalls.get(Stall::Technique));
    assert_eq!(ledger.stalls[1], until - start);
    assert_eq!(stats.stalls.get(Stall::IBufferEmpty), plain.stalls.get(Stall::IBufferEmpty));
}

#[test]
fn discarded_fetches_are_reported_with_where_the_path_goes_on() {
    let mut b = Builder::default();
    b.mov(1, 0);
    let head = b.here();
    b.iadd(1, r(1), trace_format::isa::Src::imm(1), trace_format::isa::Src::RZ).branch_below(1, 3, head);
    b.mov(2, 1).mov(3, 1).mov(4, 1);
    let toy = toy(|hooks| hooks.fetch = true);
    run(&Hand::new(b.exit(), 1, 32), &toy);
    let flushed: Vec<String> = toy.noted().into_iter().filter(|line| line.starts_with("flushed")).collect();
    assert_eq!(flushed, ["flushed to Some(1)", "flushed to Some(1)", "flushed to None"]);
}

#[test]
fn a_stall_at_issue_costs_its_cycles_and_names_its_cause() {
    let hand = chain(4);
    let plain = plain(&hand);
    // r1 = 5 issues when it is there; the next one is held for thirty cycles from when it is first asked about.
    let first = Arc::new(AtomicU64::new(u64::MAX));
    let toy = Toy {
        issue: Some(Arc::new(move |now, _: &WarpView<'_>, what: &Issuing<'_>| match what {
            Issuing::Program(inst) if inst.pc == 1 => {
                let asked = first.fetch_min(now, Ordering::Relaxed).min(now);
                if now < asked + 30 { IssueVerdict::Stall(0) } else { IssueVerdict::Issue }
            }
            _ => IssueVerdict::Issue,
        })),
        ..toy(|hooks| hooks.issue = true)
    };
    let stats = run(&hand, &toy);
    assert_eq!(cycles(&stats) - cycles(&plain), 30);
    assert_eq!(stats.techniques[0].ledger.stalls, [30, 0]);
    assert_eq!(stats.stalls.get(Stall::Technique), 30);
}

#[test]
fn a_reused_load_makes_no_access_and_takes_the_cycles_that_it_says() {
    let mut b = Builder::default();
    b.mov(4, 0).mov(5, 0).ldg(6, 4, 0);
    b.iadd(7, r(6), r(6), r(6));
    let hand = Hand::new(b.exit(), 1, 32);
    let of = |after_cycles| {
        let toy = Toy {
            issue: Some(Arc::new(move |_, _: &WarpView<'_>, what: &Issuing<'_>| match what {
                Issuing::Program(inst) if matches!(inst.inst.path, Path::Memory(_)) => {
                    IssueVerdict::Reuse { after_cycles }
                }
                _ => IssueVerdict::Issue,
            })),
            answer: Some(Arc::new(|result: &RegisterWrite<'_>| Some(*result.row()))),
            ..toy(|hooks| hooks.issue = true)
        };
        run(&hand, &toy)
    };
    let (soon, late) = (of(1), of(25));
    assert_eq!(cycles(&late) - cycles(&soon), 24);
    let c = &soon.counters;
    assert_eq!((c.reused_instructions, c.global_loads, c.coalesced_accesses, c.l1_accesses), (1, 0, 0, 0));
    assert_eq!(c.operand_reads, plain(&hand).counters.operand_reads - 2);
}

/// A technique that supplies each source of the chain from its storage.
fn stored(latency_cycles: u32, ports: u32) -> Toy {
    Toy {
        storage: Storage::new(Shape {
            banks: 1,
            entries: 4,
            entry_bits: 8,
            ports,
            write_ports: 0,
            latency_cycles,
        }),
        collect: Some(Arc::new(
            |cx: &mut Cx<'_>,
             warp: &WarpView<'_>,
             inst: &InstView<'_>,
             operands: &mut [OperandRead],
             storage: &mut Storage| {
                for operand in operands {
                    cx.opportunity(1);
                    let row = warp.rows[usize::from(operand.reg)];
                    let supplied = cx.supply(warp, inst.pc, operand.reg, inst.active, &row)?;
                    operand.from = ReadFrom::Storage(storage.read(cx.cycle, 0), supplied);
                }
                Ok(())
            },
        )),
        ..toy(|hooks| hooks.collect = true)
    }
}

#[test]
fn operands_from_storage_take_its_latency_and_queue_at_its_ports() {
    let per_link = |toy: &Toy| (cycles(&run(&chain(24), toy)) - cycles(&run(&chain(8), toy))) as f64 / 16.0;
    let config = machine(&[]);
    // Issue to read, one cycle; then the addition.
    let addition =
        f64::from(config.collectors.issue_to_read_cycles + config.latency["int_add"].latency_cycles);
    assert_eq!(per_link(&stored(0, 3)), addition, "all three are there before banks would be read");
    assert_eq!(per_link(&stored(10, 3)), addition + 9.0);
    assert_eq!(
        per_link(&stored(10, 1)),
        addition + 9.0 + 2.0,
        "one port: the third read comes two cycles later"
    );
    let stats = run(&chain(8), &stored(10, 1));
    assert_eq!(stats.counters.rf_reads, 0);
    assert_eq!(stats.of_techniques("toys_reads"), 3 * 8);
    assert_eq!(stats.of_techniques("toys_wait_cycles"), 3 * 8, "one and two cycles for each of the eight");
}

#[test]
fn a_bank_behind_a_structure_is_read_later_by_what_the_structure_waited() {
    let behind = |ports| Toy {
        storage: Storage::new(Shape {
            banks: 1,
            entries: 4,
            entry_bits: 8,
            ports,
            write_ports: 0,
            latency_cycles: 0,
        }),
        collect: Some(Arc::new(
            |cx: &mut Cx<'_>,
             _: &WarpView<'_>,
             _: &InstView<'_>,
             operands: &mut [OperandRead],
             storage: &mut Storage| {
                for operand in operands {
                    let ReadFrom::Bank(bank) = operand.from else { continue };
                    operand.from = ReadFrom::BankBehind(bank, storage.read(cx.cycle, 0));
                }
                Ok(())
            },
        )),
        ..toy(|hooks| hooks.collect = true)
    };
    // Enough collector ports that the banks alone decide.
    let set = ["collectors.ports=3"];
    let of = |toy: Option<&Toy>, length| {
        let hand = chain(length);
        cycles(&toy.map_or_else(|| plain_on(&hand, &set), |toy| run_on(&hand, toy, &set).expect("runs")))
    };
    let per_link = |toy: Option<&Toy>| (of(toy, 24) - of(toy, 8)) as f64 / 16.0;
    assert_eq!(per_link(Some(&behind(3))), per_link(None));
    assert_eq!(per_link(Some(&behind(1))), per_link(None) + 2.0);
}

/// Two loads of the same line, the second addressed by the first's result, and their sum.
fn two_loads() -> Hand {
    let mut b = Builder::default();
    b.mov(4, 0).mov(5, 0).ldg(6, 4, 0).ldg(8, 4, 4096);
    b.iadd(9, r(6), r(8), r(8)).stg(4, 9, 8192);
    Hand::new(b.exit(), 1, 32)
}

fn answering(
    access: impl Fn(&mut Cx<'_>, &InstView<'_>, &MemAccess<'_>, &mut Storage) -> AccessVerdict
    + Send
    + Sync
    + 'static,
) -> Toy {
    Toy {
        access: Some(Arc::new(access)),
        answer: Some(Arc::new(|result: &RegisterWrite<'_>| Some(*result.row()))),
        ..toy(|hooks| hooks.access = true)
    }
}

#[test]
fn a_satisfied_access_never_reaches_memory() {
    let hand = two_loads();
    let plain = plain(&hand);
    let asked = toy(|hooks| hooks.access = true);
    assert_eq!(run(&hand, &asked).counters, plain.counters, "asked, and everything goes to memory");
    let toy = answering(|cx, inst, access, storage| {
        assert_eq!(access.mask, u32::MAX);
        match inst.pc {
            3 => AccessVerdict::Satisfied(storage.read(cx.cycle, 0)),
            _ => AccessVerdict::Access,
        }
    });
    let stats = run(&hand, &toy);
    let c = &stats.counters;
    assert_eq!((c.satisfied_accesses, c.global_loads, c.global_stores), (1, 1, 1));
    assert_eq!(c.l1_accesses, plain.counters.l1_accesses - 1);
    assert!(toy.noted().contains(&format!("answered 3 {:?}", Answered::Memory(u32::MAX))));
}

#[test]
fn an_access_behind_another_completes_with_it() {
    let first = Arc::new(Mutex::new(None));
    let toy = |cycles| {
        let first = first.clone();
        answering(move |_, inst, _, _| match inst.pc {
            2 => {
                *first.lock().expect("one thread") = Some(inst.id);
                AccessVerdict::Access
            }
            3 => AccessVerdict::After(first.lock().expect("one thread").expect("seen before"), cycles),
            _ => AccessVerdict::Access,
        })
    };
    let of = |cycles| run(&two_loads(), &toy(cycles));
    let (with, later) = (of(0), of(50));
    assert_eq!(later.counters.cycles - with.counters.cycles, 50);
    assert_eq!((with.counters.satisfied_accesses, with.counters.global_loads), (1, 1));
    // Alone, the first load ends the program as soon.
    let mut b = Builder::default();
    b.mov(4, 0).mov(5, 0).ldg(6, 4, 0).mov(8, 1).iadd(9, r(6), r(8), r(8)).stg(4, 9, 8192);
    let alone = plain(&Hand::new(b.exit(), 1, 32));
    assert_eq!(with.counters.cycles, alone.counters.cycles);
}

#[test]
fn an_access_in_some_lanes_makes_the_requests_of_those_alone() {
    let mut b = Builder::default();
    b.special(0, SpecialReg::TidX).shl(4, 0, 7).mov(5, 0).ldg(6, 4, 0).iadd(7, r(6), r(6), r(6));
    let hand = Hand::new(b.exit(), 1, 32);
    assert_eq!(plain(&hand).counters.coalesced_accesses, 32, "a line per lane");
    let toy = answering(|_, _, _, _| AccessVerdict::Lanes(0xFF));
    let stats = run(&hand, &toy);
    assert_eq!((stats.counters.coalesced_accesses, stats.counters.satisfied_accesses), (8, 0));
    assert_eq!(stats.counters.checked_values, 1);
}

#[test]
fn completion_is_told_of_predicates_false_guards_and_stores() {
    let mut b = Builder::default();
    b.mov(4, 0).mov(5, 0);
    // p0 is false: r4 is not below 0.
    b.branch_below(4, 0, 4);
    let mut guarded = trace_format::isa::Inst::new(trace_format::isa::Op::Mov {})
        .dst(trace_format::isa::Reg(7))
        .srcs([trace_format::isa::Src::imm(1)]);
    guarded = guarded.guarded(PredSrc::of(Pred(0)));
    b.push(guarded).stg(4, 5, 0);
    let hand = Hand::new(b.exit(), 1, 32);
    let toy = toy(|hooks| hooks.write_back = true);
    let stats = run(&hand, &toy);
    let mut noted: Vec<String> =
        toy.noted().into_iter().filter(|line| line.starts_with("completed")).collect();
    noted.sort();
    assert_eq!(
        noted,
        [
            "completed 0 with 1 writes",
            "completed 1 with 1 writes",
            "completed 2 with 0 writes",
            "completed 4 with 0 writes",
            "completed 5 with 0 writes"
        ]
    );
    assert_eq!(stats.counters.rf_writes, 2, "a false guard writes no bank");
}

#[test]
fn inserted_operations_take_their_registers_unit_and_place_on_their_edge() {
    // A loop of three trips; the operation lies on the way back alone, or on every way.
    let mut b = Builder::default();
    b.mov(1, 0).mov(2, 7);
    let head = b.here();
    b.iadd(1, r(1), trace_format::isa::Src::imm(1), trace_format::isa::Src::RZ).branch_below(1, 3, head);
    let hand = Hand::new(b.exit(), 1, 32);
    let plain = plain(&hand);
    let branch = head + 2;
    let inserting = |edges: &'static [Edge]| Toy {
        prepare: Some(Arc::new(move |plan: &mut Plan| {
            let op = plan.micro_op(MicroOp {
                name: "move",
                tag: 1,
                sources: vec![2],
                destinations: vec![2],
                unit: "int",
                latency_cycles: 20,
                initiation_cycles: 1,
            });
            edges.iter().for_each(|edge| plan.insert(2, *edge, op));
        })),
        ..toy(|hooks| hooks.issue = true)
    };
    const ALL: &[Edge] = &[Edge::Every];
    const BACK: &[Edge] = &[Edge::From(4)];
    const ENTRY: &[Edge] = &[Edge::From(1)];
    assert_eq!(branch, 4);
    for (edges, count) in [(ALL, 3), (BACK, 2), (ENTRY, 1)] {
        let stats = run(&hand, &inserting(edges));
        let c = &stats.counters;
        assert_eq!(c.inserted_instructions, count, "{edges:?}");
        assert_eq!(c.warp_instructions, plain.counters.warp_instructions);
        assert_eq!(c.int_instructions, plain.counters.int_instructions + count);
        assert_eq!(c.rf_reads, plain.counters.rf_reads + count);
        assert_eq!(c.rf_writes, plain.counters.rf_writes + count);
    }
}

#[test]
fn a_run_time_operation_issues_before_the_next_instruction() {
    let hand = chain(6);
    let plain = plain(&hand);
    let toy = Toy {
        prepare: Some(Arc::new(|plan: &mut Plan| {
            plan.micro_op(MicroOp {
                name: "copy",
                tag: 9,
                sources: vec![1],
                destinations: vec![3],
                unit: "int",
                latency_cycles: 100,
                initiation_cycles: 1,
            });
        })),
        issued: Some(Arc::new(|cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>| match what {
            Issuing::Program(inst) if inst.pc == 1 => cx.issue_before_next(warp.slot, MicroId(0)),
            Issuing::Micro(id, op) => assert_eq!((id.0, op.tag), (0, 9)),
            Issuing::Program(_) => {}
        })),
        ..toy(|hooks| hooks.issue = true)
    };
    let stats = run(&hand, &toy);
    assert_eq!(stats.counters.inserted_instructions, 1);
    assert_eq!(stats.counters.warp_instructions, plain.counters.warp_instructions);
    // The chain's first addition reads and writes r3, which the copy writes after a hundred cycles.
    let late = cycles(&stats) - cycles(&plain);
    assert!((100..110).contains(&late), "{late}");
}

#[test]
fn extra_accesses_take_their_bank() {
    let hand = chain(4);
    let plain = plain(&hand);
    let toy = Toy {
        write_back: Some(Arc::new(|cx: &mut Cx<'_>, inst: &InstView<'_>, _: &mut [RegisterWrite<'_>]| {
            if inst.pc == 0 {
                (0..5).for_each(|_| cx.write_bank(3));
                (0..2).for_each(|_| cx.read_bank(4));
            }
        })),
        ..toy(|hooks| hooks.write_back = true)
    };
    let stats = run(&hand, &toy);
    assert_eq!(stats.counters.rf_writes, plain.counters.rf_writes + 5);
    assert_eq!(stats.counters.rf_reads, plain.counters.rf_reads + 2);
    assert!(stats.counters.rf_bank_conflict_cycles > plain.counters.rf_bank_conflict_cycles + 4 + 3 + 2);
}

/// Warps that each do some independent additions.
fn warps(threads: u32) -> Hand {
    let mut b = Builder::default();
    for reg in 1..7 {
        b.mov(reg, 3);
    }
    Hand::new(b.exit(), 1, threads)
}

#[test]
fn a_technique_may_choose_another_of_the_ready_warps() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let seen = order.clone();
    let toy = Toy {
        order: Some(Arc::new(|ready: u64| 63 - ready.leading_zeros() as u8)),
        issued: Some(Arc::new(move |_: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>| {
            if let Issuing::Program(inst) = what
                && inst.pc == 0
            {
                seen.lock().expect("one thread").push(warp.warp);
            }
        })),
        ..toy(|hooks| {
            hooks.order = true;
            hooks.issue = true;
        })
    };
    run(&warps(128), &toy);
    let last = order.lock().expect("one thread").last().copied();
    assert_eq!(last, Some(0), "the highest ready slot always goes first");
}

#[test]
fn blocks_and_warps_begin_when_they_are_admitted() {
    let mut hand = warps(64);
    hand = Hand::new(hand.kernel.clone(), 4, 64);
    let none = Toy { admits: Some(Arc::new(|_, _| true)), ..toy(|hooks| hooks.admission = true) };
    assert_eq!(run(&hand, &none).counters, plain(&hand).counters);
    let late = Toy {
        admits_warp: Some(Arc::new(|now, warp| warp == 0 || now >= 500)),
        ..toy(|hooks| hooks.admission = true)
    };
    assert!((500..600).contains(&cycles(&run(&hand, &late))), "the second warps begin late");
    let never = Toy { admits: Some(Arc::new(|_, block| block < 2)), ..toy(|hooks| hooks.admission = true) };
    let why = run_on(&hand, &never, &[]).expect_err("two blocks never run").to_string();
    assert!(why.contains("no instruction issued"), "{why}");
}

#[test]
fn a_stage_of_its_own_runs_every_cycle_and_a_companion_takes_free_slots() {
    let hand = chain(8);
    let plain = plain(&hand);
    let ticks = Arc::new(AtomicU64::new(0));
    let counted = ticks.clone();
    let toy = Toy {
        tick: Some(Arc::new(move |_: &mut Cx<'_>| {
            counted.fetch_add(1, Ordering::Relaxed);
        })),
        prepare: Some(Arc::new(|plan: &mut Plan| {
            plan.micro_op(MicroOp {
                name: "affine",
                tag: 0,
                sources: Vec::new(),
                destinations: Vec::new(),
                unit: "int",
                latency_cycles: 8,
                initiation_cycles: 1,
            });
        })),
        companion: Some(Arc::new(|now| (now == 70).then_some(MicroId(0)))),
        ..toy(|hooks| {
            hooks.tick = true;
            hooks.companion = true;
        })
    };
    let stats = run(&hand, &toy);
    assert_eq!(cycles(&stats), cycles(&plain));
    assert!(ticks.load(Ordering::Relaxed) >= cycles(&plain));
    assert_eq!(stats.counters.companion_instructions, 1);
    assert_eq!(stats.stalls.get(Stall::Issued), plain.stalls.get(Stall::Issued) + 1);
    assert_eq!(stats.stalls.total(), plain.stalls.total());
    assert!(toy.noted().contains(&"companion until 78".into()));
}

#[test]
fn an_early_load_fills_l1_and_its_line_stays_while_it_is_locked() {
    // Lines 4 KiB apart fall into one set of a linear cache of 32 sets; gtx480 has four ways.
    let set = ["l1.set_hash=linear"];
    let mut b = Builder::default();
    b.mov(4, 0).mov(5, 0);
    for i in 1..7 {
        b.ldg(6, 4, i * 4096).iadd(7, r(6), r(6), r(6));
    }
    b.ldg(8, 4, 0).iadd(9, r(8), r(8), r(8));
    let hand = Hand::new(b.exit(), 1, 32);
    let plain = plain_on(&hand, &set);
    let early = |lock: bool, wanted: bool| Toy {
        issued: Some(Arc::new(move |cx: &mut Cx<'_>, _: &WarpView<'_>, what: &Issuing<'_>| {
            if let Issuing::Program(inst) = what
                && inst.pc == 0
                && wanted
            {
                cx.load_early(EarlyLoad { line: 0, sectors: 15, lock, tag: 77 });
            }
        })),
        ..toy(|hooks| hooks.issue = true)
    };
    let of = |toy: &Toy| run_on(&hand, toy, &set).expect("runs").counters.l1_hits;
    assert_eq!(of(&early(true, false)), plain.counters.l1_hits);
    assert_eq!(of(&early(false, true)), plain.counters.l1_hits, "six other lines drive it out");
    let locked = early(true, true);
    assert_eq!(of(&locked), plain.counters.l1_hits + 1);
    assert!(locked.noted().contains(&"loaded 77, locked true".into()));
}

#[test]
fn the_initiation_interval_is_the_technique_s() {
    let hand = warps(64);
    let toy = Toy {
        initiation: Some(Arc::new(|_: &InstView<'_>, cycles| cycles + 10)),
        ..toy(|hooks| hooks.execute = true)
    };
    let set = ["units.fp32.count=1"];
    let slow = run_on(&hand, &toy, &set).expect("runs");
    let plain = plain_on(&hand, &set);
    let late = cycles(&slow) - cycles(&plain);
    // Twelve moves in one unit; the last one's interval is nobody's.
    assert!((11 * 10 - 12..=11 * 10).contains(&late), "{late}");
    assert_eq!(toy.noted().iter().filter(|line| line.starts_with("dispatched")).count(), 12);
}

#[test]
fn two_level_scheduling_turns_to_others_when_a_technique_holds_the_active_set() {
    let set = ["scheduler.policy=two_level", "scheduler.two_level_active_warps=2"];
    let hand = warps(128);
    // Warps 0 and 1 wait until both others have ended.
    let ended = Arc::new(AtomicU64::new(0));
    let holding = |ended: Arc<AtomicU64>, wanted: u64| {
        let count = ended.clone();
        Toy {
            issue: Some(Arc::new(move |_, warp: &WarpView<'_>, _: &Issuing<'_>| {
                if warp.warp < 2 && ended.load(Ordering::Relaxed) < wanted {
                    IssueVerdict::Stall(1)
                } else {
                    IssueVerdict::Issue
                }
            })),
            issued: Some(Arc::new(move |_: &mut Cx<'_>, _: &WarpView<'_>, what: &Issuing<'_>| {
                if let Issuing::Program(inst) = what
                    && inst.pc == 6
                {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            })),
            ..toy(|hooks| {
                hooks.issue = true;
                hooks.order = true;
            })
        }
    };
    let toy = holding(ended, 2);
    let stats = run_on(&hand, &toy, &set).expect("the pending warps get their turn");
    assert_eq!(stats.counters.warps, 4);
    let noted = toy.noted();
    assert!(
        noted.contains(&"warp 0 inactive".into()) && noted.contains(&"warp 3 active".into()),
        "{noted:?}"
    );
    // A wait that nobody ends is a deadlock, and the report says who holds what.
    let stuck = holding(Arc::default(), 3);
    let why = run_on(&hand, &stuck, &set).expect_err("a deadlock").to_string();
    assert!(
        why.contains("no instruction issued") && why.contains("technique toy: warp 0 has the only toy"),
        "{why}"
    );
}

#[test]
fn asked_at_every_hook_and_changing_nothing_is_the_plain_machine() {
    let every = toy(|hooks| {
        *hooks = Hooks::all();
        hooks.tick = false;
    });
    for hand in [chain(9), two_loads(), warps(128)] {
        for set in [&[][..], &["scheduler.policy=two_level"]] {
            let (with, plain) = (run_on(&hand, &every, set).expect("runs"), plain_on(&hand, set));
            assert_eq!(with.counters, plain.counters);
            assert_eq!(with.stalls, plain.stalls);
            assert_eq!(with.latency.to_json(), plain.latency.to_json());
        }
    }
}
