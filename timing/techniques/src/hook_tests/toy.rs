//! The toy: a technique made of a set of hooks and a few closures, and the small machine that it runs on.

use crate::testing::{Builder, Hand, by_hand, r, small_machine};
use crate::*;
use std::sync::{Arc, Mutex};
use warplab_model::replay::ReplayError;
use warplab_model::stats::Stats;
use warplab_technique::declare::Cause;
use warplab_technique::{CauseInfo, StorageInfo};

pub(super) const INFO: TechniqueInfo = TechniqueInfo::new("toy", "for tests", "none")
    .with_stalls(&[
        CauseInfo::new("first", "The first cause."),
        CauseInfo::new("second", "The second cause."),
    ])
    .with_losses("", &[CauseInfo::new("lost", "Lost.")])
    .with_storage(&[StorageInfo::new("toys", "the toys", "technique_storage")]);

#[derive(Clone, Copy)]
pub(super) enum Loss {
    Lost,
}

impl Cause for Loss {
    const DECLARED: &'static [CauseInfo] = INFO.losses;
    fn index(self) -> u8 {
        self as u8
    }
}

type Shared<F> = Option<Arc<F>>;
pub(super) type Outcome = Result<(), Box<ValueMismatch>>;

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

/// Behaviour of a toy at the hooks that it requests.
#[derive(Clone)]
pub(super) struct Toy {
    pub hooks: Hooks,
    pub storage: Storage,
    pub log: Arc<Mutex<Vec<String>>>,
    pub prepare: Shared<OnPrepare>,
    pub fetch: Shared<OnFetch>,
    pub issue: Shared<OnIssue>,
    pub issued: Shared<OnIssued>,
    pub collect: Shared<OnCollect>,
    pub access: Shared<OnAccess>,
    pub answer: Shared<OnAnswer>,
    pub write_back: Shared<OnWriteBack>,
    pub order: Shared<OnOrder>,
    pub initiation: Shared<OnInitiation>,
    pub admits: Shared<OnAdmits>,
    pub admits_warp: Shared<OnAdmitsWarp>,
    pub tick: Shared<OnTick>,
    pub companion: Shared<OnCompanion>,
    /// Where it puts registers that another technique has written.
    pub moves_to: Option<WriteTo>,
}

pub(super) fn toy(hooks: impl FnOnce(&mut Hooks)) -> Toy {
    let mut wanted = Hooks::default();
    hooks(&mut wanted);
    Toy {
        hooks: wanted,
        storage: storage(1, 10),
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
        moves_to: None,
    }
}

impl Toy {
    fn note(&self, text: String) {
        self.log.lock().expect("no test thread panics").push(text);
    }

    pub(crate) fn noted(&self) -> Vec<String> {
        self.log.lock().expect("no test thread panics").clone()
    }
}

impl Technique for Toy {
    fn info(&self) -> &'static TechniqueInfo {
        &INFO
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

    fn fetch_stalled(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, pc: u32, cause: u8) {
        self.note(format!("held at {pc} by {cause}"));
    }

    fn flushed(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, resume: Option<u32>) {
        self.note(format!("flushed to {resume:?}"));
    }

    fn order(&self, _now: u64, _scheduler: usize, choice: Choice) -> u8 {
        self.order.as_ref().map_or(choice.chosen, |order| order(choice.ready))
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
    ) -> Result<AccessVerdict, Box<ValueMismatch>> {
        let Toy { access: toy, storage, .. } = self;
        Ok(toy.as_ref().map_or(AccessVerdict::Access, |toy| toy(cx, inst, access, storage)))
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

    fn rewritten(
        &mut self,
        _cx: &mut Cx<'_>,
        _warp: &WarpView<'_>,
        writes: &mut [RegisterWrite<'_>],
        how: Rewritten,
    ) -> Outcome {
        let registers: Vec<u8> = writes.iter().map(|write| write.reg).collect();
        self.note(format!("rewritten {registers:?} {how:?}, lane 0 {}", writes[0].row().0[0]));
        for write in writes {
            if let (Some(bank), WriteTo::Bank(_)) = (self.moves_to, write.to) {
                write.to = bank;
            }
        }
        Ok(())
    }

    fn prefetched(&mut self, _cx: &mut Cx<'_>, tag: u32, fate: Prefetched) {
        self.note(format!("prefetch {tag} {fate:?}"));
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

pub(super) fn run(hand: &Hand, toy: &Toy) -> Stats {
    run_on(hand, toy, &[]).unwrap_or_else(|why| panic!("{why}"))
}

pub(super) fn run_on(hand: &Hand, toy: &Toy, set: &[&str]) -> Result<Stats, ReplayError> {
    hand.run_techniques(&small_machine(set), vec![Box::new(toy.clone())])
}

/// Runs two toys, the first one first.
pub(super) fn run_both(hand: &Hand, first: &Toy, second: &Toy) -> Stats {
    let toys: Techniques = vec![Box::new(first.clone()), Box::new(second.clone())];
    hand.run_techniques(&small_machine(&[]), toys).unwrap_or_else(|why| panic!("{why}"))
}

pub(super) fn plain(hand: &Hand) -> Stats {
    plain_on(hand, &[])
}

pub(super) fn plain_on(hand: &Hand, set: &[&str]) -> Stats {
    hand.run_techniques(&small_machine(set), Vec::new()).unwrap_or_else(|why| panic!("{why}"))
}

pub(super) fn cycles(stats: &Stats) -> u64 {
    stats.counters.cycles
}

/// `r1 = 5; r2 = 7; r3 = r1 + r2`, then a chain of `length` additions.
pub(super) fn chain(length: usize) -> Hand {
    let mut b = Builder::default();
    b.mov(1, 5).mov(2, 7);
    for _ in 0..length {
        b.iadd(3, r(1), r(2), r(3));
    }
    by_hand(b.exit(), 1, 32)
}

/// A structure of one bank.
pub(super) fn storage(ports: u32, latency_cycles: u32) -> Storage {
    Storage::new(Shape::new(1, 4, 8).with_ports(ports, 0).with_latency(latency_cycles))
}

/// Two loads of the same line, the second addressed by the first's result, and their sum.
pub(super) fn two_loads() -> Hand {
    let mut b = Builder::default();
    b.mov(4, 0).mov(5, 0).ldg(6, 4, 0).ldg(8, 4, 4096);
    b.iadd(9, r(6), r(8), r(8)).stg(4, 9, 8192);
    by_hand(b.exit(), 1, 32)
}

/// Warps that each do some independent additions.
pub(super) fn warps(threads: u32) -> Hand {
    let mut b = Builder::default();
    for reg in 1..7 {
        b.mov(reg, 3);
    }
    by_hand(b.exit(), 1, threads)
}
