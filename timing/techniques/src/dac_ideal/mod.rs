//! DAC-IDEAL, with which DARSIE is compared: every affine instruction is executed once, found at run time by its values,
//! and nothing synchronises (Yeh, Green and Rogers, ASPLOS 2020, section 5).
//!
//! A warp's scout regenerates its values ahead of fetch ([`ahead`]). An instruction whose operands and results have one
//! stride over the warp's lanes is fetched by the first warp only, of those of a batch of blocks that fill an SM; all others
//! skip the same execution of it, whether or not they hold the same values and whether or not the first one has executed it.
//!
//! What a warp skips is expanded from base and stride and compared with the recording.

mod ahead;
#[cfg(test)]
mod tests;

use super::{
    Answered, Claim, Cx, FetchVerdict, InstView, IssueVerdict, Issuing, Launch, OperandRead, ParamValue,
    Params as _, Plan, RegisterWrite, Registration, Scouting, Technique, TechniqueInfo, ValueMismatch,
    WarpView,
};
use ahead::{Ahead, Found, Reader, eligible};
use std::collections::VecDeque;
use warplab_technique::declare::Cause as _;
use warplab_technique::program::Path;
use warplab_technique::{causes, counts, params};

/// Entry in the list of techniques.
pub(crate) const REGISTRATION: Registration =
    Registration::new(&INFO, |_, section| Ok(Box::new(DacIdeal::new(section)?)));

const INFO: TechniqueInfo = TechniqueInfo::new(
    "dac-ideal",
    "every instruction whose values have one stride over the lanes is executed once, without any synchronisation",
    "DAC-IDEAL in DARSIE (Yeh, Green and Rogers, ASPLOS 2020), section 5",
)
.with_uniform_registers()
.with_claims(&[
    Claim::FetchStream,
    Claim::ReuseOfResults,
    Claim::MemoryAccesses,
    Claim::RegisterContents,
    Claim::ResultDestination,
    Claim::RegisterMapping,
])
.with_params(Params::declared)
.with_counters(Counts::DECLARED)
.with_losses("a result register of an instruction", Lost::DECLARED);

params! {
    /// `[technique.dac-ideal]`.
    struct Params {
        /// Whether loads with affine addresses and affine results are affine instructions too.
        loads: bool = true;
        /// Whether instructions are skipped; the technique has no hardware.
        mechanism: bool = true;
    }
}

counts! {
    /// Counters of DAC-IDEAL.
    struct Counts {
        /// Affine instructions that one warp executed for all.
        executed_once;
        /// Affine instructions that warps skipped.
        skipped_affine;
        /// Those of them that load.
        skipped_loads;
        /// Those of them that give predicates alone.
        skipped_comparisons;
        /// Batches of blocks.
        batches;
    }
}

causes! {
    /// Why a warp executed an instruction with a result by itself.
    enum Lost {
        /// An operand or a result is not affine in the lanes.
        NotAffine = "not_affine";
        /// It executed an affine instruction for all warps.
        Once = "executed_once";
        /// It communicates, is ordered, or is a load that is left out (`loads`).
        Kind = "kind";
        /// The mechanism is switched off.
        Off = "mechanism_off";
    }
}

/// Blocks that fill an SM together.
#[derive(Clone, Debug, Default)]
struct Batch {
    live: u32,
    /// By instruction, how often the first warp has executed it as an affine one.
    executed: Vec<u32>,
}

/// A warp's way through the code.
#[derive(Clone, Debug, Default)]
struct Way {
    batch: u64,
    /// Instructions from the next one to issue on, up to the one that is fetched next.
    ahead: VecDeque<Ahead>,
    /// Those of them that have been fetched.
    fetched: usize,
    /// Whether fetch has left the recorded path, until it is flushed.
    astray: bool,
    /// By instruction, how often the scout has passed it.
    passed: Vec<u32>,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct DacIdeal {
    params: Params,
    counts: Counts,
    /// By instruction, whether it may be affine at all.
    eligible: Vec<bool>,
    reader: Reader,
    ways: Vec<Way>,
    /// Number of the first batch, then those from it on.
    first_batch: u64,
    batches: VecDeque<Batch>,
    /// Blocks that have begun, blocks of a batch, and the batch of each block slot.
    begun: u64,
    per_batch: u64,
    batch_of: Vec<u64>,
    /// Why instructions in flight were not skipped.
    flights: Vec<Lost>,
}

impl DacIdeal {
    fn new(section: &toml::Table) -> Result<DacIdeal, String> {
        Ok(DacIdeal {
            params: Params::read(section)?,
            counts: Counts::default(),
            eligible: Vec::new(),
            reader: Reader::default(),
            ways: Vec::new(),
            first_batch: 0,
            batches: VecDeque::new(),
            begun: 0,
            per_batch: 1,
            batch_of: Vec::new(),
            flights: Vec::new(),
        })
    }

    fn batch(&self, number: u64) -> Option<&Batch> {
        self.batches.get(number.checked_sub(self.first_batch)? as usize)
    }

    /// Whether a warp of the batch has taken over an execution of an instruction.
    fn is_executed(&self, batch: u64, next: &Ahead) -> bool {
        self.batch(batch).is_some_and(|batch| batch.executed[next.pc as usize] > next.number)
    }

    /// Looks at the instruction that a warp fetches next.
    fn look(&mut self, cx: &mut Cx<'_>, slot: usize) {
        let DacIdeal { ways, reader, eligible, .. } = self;
        let way = &mut ways[slot];
        while way.ahead.len() <= way.fetched {
            let Some(mut next) = reader.next(cx, slot, eligible) else { return };
            let passed = &mut way.passed[next.pc as usize];
            next.number = *passed;
            *passed += 1;
            way.ahead.push_back(next);
        }
    }

    /// What a warp passes.
    fn pass(&mut self, slot: usize, pc: u32) -> Option<Ahead> {
        let way = &mut self.ways[slot];
        way.fetched = way.fetched.saturating_sub(1);
        way.ahead.pop_front().filter(|next| next.pc == pc)
    }

    fn cause(&self, next: Option<Ahead>) -> Lost {
        match next {
            None => Lost::Off,
            Some(next) if !self.eligible[next.pc as usize] => Lost::Kind,
            Some(Ahead { found: None, .. }) => Lost::NotAffine,
            Some(_) => Lost::Once,
        }
    }
}

impl Technique for DacIdeal {
    fn info(&self) -> &'static TechniqueInfo {
        &INFO
    }

    fn params(&self) -> Vec<(&'static str, ParamValue)> {
        self.params.values()
    }

    fn counts(&self) -> Vec<u64> {
        self.counts.clone().values()
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        let insts = &launch.program.insts;
        plan.hooks.collect = true;
        plan.hooks.write_back = true;
        self.flights.clear();
        if !self.params.mechanism {
            return Ok(());
        }
        self.eligible = insts.iter().map(|timed| eligible(&timed.inst, self.params.loads)).collect();
        self.reader = Reader::new(&launch.program.kernel.insts);
        self.per_batch = u64::from(launch.occupancy(plan)?.blocks.max(1));
        let way = Way { passed: vec![0; insts.len()], ..Way::default() };
        self.ways = vec![way; launch.config.sm.max_warps as usize];
        self.batch_of = vec![0; launch.config.sm.max_blocks as usize];
        (self.first_batch, self.begun) = (0, 0);
        self.batches.clear();
        plan.scouting = plan.scouting.or(Scouting::Values);
        plan.hooks.fetch = true;
        plan.hooks.issue = true;
        Ok(())
    }

    fn start_block(&mut self, _cx: &mut Cx<'_>, block_slot: usize, _block: u32) {
        if !self.params.mechanism {
            return;
        }
        let batch = self.begun / self.per_batch;
        self.begun += 1;
        while self.first_batch + self.batches.len() as u64 <= batch {
            self.counts.batches += 1;
            self.batches.push_back(Batch { live: 0, executed: vec![0; self.eligible.len()] });
        }
        self.batch_of[block_slot] = batch;
        self.batches[(batch - self.first_batch) as usize].live += 1;
    }

    fn end_block(&mut self, _cx: &mut Cx<'_>, block_slot: usize) {
        if !self.params.mechanism {
            return;
        }
        let at = (self.batch_of[block_slot] - self.first_batch) as usize;
        self.batches[at].live -= 1;
        while self.batches.front().is_some_and(|batch| batch.live == 0)
            && self.begun >= (self.first_batch + 1) * self.per_batch
        {
            self.batches.pop_front();
            self.first_batch += 1;
        }
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        if !self.params.mechanism {
            return;
        }
        let way = &mut self.ways[warp.slot];
        way.passed.fill(0);
        way.ahead.clear();
        (way.fetched, way.astray, way.batch) = (0, false, self.batch_of[warp.block_slot]);
        self.look(cx, warp.slot);
    }

    fn fetch(&self, _now: u64, warp: &WarpView<'_>, pc: u32) -> FetchVerdict {
        let way = &self.ways[warp.slot];
        match way.ahead.get(way.fetched) {
            Some(next) if !way.astray && next.pc == pc && next.found.is_some() => {
                if self.is_executed(way.batch, next) { FetchVerdict::Skip } else { FetchVerdict::Fetch }
            }
            _ => FetchVerdict::Fetch,
        }
    }

    fn fetched(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, pc: u32, skipped: bool) {
        let way = &mut self.ways[warp.slot];
        let Some(next) = way.ahead.get(way.fetched).filter(|next| !way.astray && next.pc == pc) else {
            way.astray = true;
            return;
        };
        if !skipped && next.found.is_some() {
            let at = (way.batch - self.first_batch) as usize;
            let executed = &mut self.batches[at].executed[pc as usize];
            *executed = (*executed).max(next.number + 1);
            self.counts.executed_once += 1;
        }
        way.fetched += 1;
        self.look(cx, warp.slot);
    }

    fn flushed(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, _resume: Option<u32>) {
        let way = &mut self.ways[warp.slot];
        (way.fetched, way.astray) = (0, false);
        self.look(cx, warp.slot);
    }

    fn issued(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>, _verdict: IssueVerdict) {
        let Issuing::Program(inst) = what else { return };
        if !matches!(inst.inst.path, Path::Alu | Path::Memory(_)) {
            self.pass(warp.slot, inst.pc);
            self.look(cx, warp.slot);
        }
    }

    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        _operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        let next = if self.params.mechanism { self.pass(warp.slot, inst.pc) } else { None };
        if self.params.mechanism && next.is_none() {
            let reg = inst.inst.destinations().first().copied().unwrap_or(0);
            return Err(cx.missing(warp, inst.pc, reg, inst.exec));
        }
        let cause = self.cause(next);
        let slot = usize::from(inst.id.slot());
        if slot >= self.flights.len() {
            self.flights.resize(slot + 1, Lost::Off);
        }
        self.flights[slot] = cause;
        Ok(())
    }

    fn answered(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        _how: Answered,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        cx.opportunity(results.len() as u64);
        let next = self.pass(warp.slot, inst.pc).filter(|next| next.exec == inst.exec);
        let Some(Ahead { found: Some(Found { tuple }), preds, .. }) = next else {
            let reg = inst.inst.destinations().first().copied().unwrap_or(0);
            return Err(cx.missing(warp, inst.pc, reg, inst.exec));
        };
        self.counts.skipped_affine += 1;
        self.counts.skipped_loads += u64::from(matches!(inst.inst.path, Path::Memory(_)));
        self.counts.skipped_comparisons += u64::from(results.is_empty());
        for (word, result) in results.iter().enumerate() {
            cx.supply_result(warp, inst, result, &tuple.expand(word as u32))?;
        }
        for (pred, lanes) in inst.inst.inst.dst_preds().zip(preds) {
            cx.supply_predicate(warp, inst, pred.0, lanes)?;
        }
        Ok(())
    }

    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        _warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        cx.opportunity(writes.len() as u64);
        let cause = self.flights.get(usize::from(inst.id.slot())).copied().unwrap_or(Lost::Off);
        cx.lost(cause, writes.len() as u64);
        Ok(())
    }
}
