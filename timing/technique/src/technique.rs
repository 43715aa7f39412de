//! The trait that techniques implement, and what they say about themselves.

use crate::config::GpuConfig;
use crate::declare::{CauseInfo, CounterInfo, ParamInfo, ParamValue};
use crate::plan::{Claim, Launch, MicroId, Plan};
use crate::storage::{Storage, StorageInfo};
use crate::verdict::{AccessVerdict, FetchVerdict, IssueVerdict, Issuing, OperandRead, RegisterWrite};
use crate::view::{Answered, InstView, MemAccess, WarpView};
use crate::{Cx, ValueMismatch};

/// What a technique says about itself; lists, tables, JSON, reports and energy are made from it.
#[derive(Clone, Copy, Debug)]
pub struct TechniqueInfo {
    /// The word that `--tech` takes.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Paper and section.
    pub paper: &'static str,
    /// Parts of the machine that it decides alone.
    pub claims: &'static [Claim],
    /// Whether it needs recorded values; a recording without values is refused for it.
    pub needs_values: bool,
    /// Its parameters, `[technique.NAME]`.
    pub params: fn() -> Vec<ParamInfo>,
    /// What it counts.
    pub counters: &'static [CounterInfo],
    /// Why it holds warps back.
    pub stalls: &'static [CauseInfo],
    /// What an opportunity is; empty where the technique supplies nothing.
    pub opportunity: &'static str,
    /// Why opportunities are lost.
    pub losses: &'static [CauseInfo],
    /// Structures that it adds.
    pub storage: &'static [StorageInfo],
}

impl TechniqueInfo {
    /// One without parameters, counters, causes and structures, to be completed with what it has.
    pub const EMPTY: TechniqueInfo = TechniqueInfo {
        name: "",
        summary: "",
        paper: "",
        claims: &[],
        needs_values: true,
        params: Vec::new,
        counters: &[],
        stalls: &[],
        opportunity: "",
        losses: &[],
        storage: &[],
    };
}

/// How a technique is built from its section of the configuration, `[technique.NAME]`; an absent section is empty.
pub type Build = fn(&GpuConfig, &toml::Table) -> Result<Box<dyn Technique>, String>;

/// A row in the list of techniques.
#[derive(Clone, Copy)]
pub struct Registration {
    /// What it says about itself.
    pub info: &'static TechniqueInfo,
    /// How it is built; errors name the key, the value and the rule.
    pub build: Build,
}

/// Copies a technique for another kernel or SM; every technique that is `Clone` does.
pub trait Fork {
    /// A copy.
    fn fork(&self) -> Box<dyn Technique>;
}

impl<T: Technique + Clone + 'static> Fork for T {
    fn fork(&self) -> Box<dyn Technique> {
        Box::new(self.clone())
    }
}

/// A microarchitectural technique.
///
/// Prepared once per kernel ([`Technique::prepare`]) and then copied into every SM ([`Fork`]), where its
/// hooks are called as instructions pass the stages. Of several techniques each is asked in the order of the list
/// and sees what the earlier ones decided. The default of every hook is the plain machine.
///
/// Hooks that decide take `&self` and may be called any number of times; what happened is told afterwards.
pub trait Technique: Fork + Send + Sync {
    /// What it says about itself.
    fn info(&self) -> &'static TechniqueInfo;

    /// The values of its parameters.
    fn params(&self) -> Vec<(&'static str, ParamValue)> {
        Vec::new()
    }

    /// Values of its counters, in the order of [`TechniqueInfo::counters`].
    fn counts(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Its structures, in the order of [`TechniqueInfo::storage`].
    fn storage(&self) -> Vec<&Storage> {
        Vec::new()
    }

    /// Bits that it stores in an SM besides its structures, such as state per warp.
    fn further_bits(&self) -> u64 {
        0
    }

    /// Static analysis of a kernel and demands on the machine.
    ///
    /// # Errors
    /// A sentence that says why the technique cannot run this kernel on this configuration.
    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String>;

    /// Whether a block may be placed in the SM.
    fn admits_block(&self, _now: u64, _block: u32) -> bool {
        true
    }

    /// Whether a warp that has been placed may begin.
    fn admits_warp(&self, _now: u64, _warp: &WarpView<'_>) -> bool {
        true
    }

    /// A block has been placed in a block slot of the SM.
    fn start_block(&mut self, _cx: &mut Cx<'_>, _block_slot: usize, _block: u32) {}

    /// A warp has been placed in a warp slot of the SM.
    fn start_warp(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>) {}

    /// A warp is about to fetch `pc`; the I-cache has not been touched.
    fn fetch(&self, _now: u64, _warp: &WarpView<'_>, _pc: u32) -> FetchVerdict {
        FetchVerdict::Fetch
    }

    /// An instruction has been fetched, or skipped.
    fn fetched(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, _pc: u32, _skipped: bool) {}

    /// What a warp had fetched ahead is discarded: its path goes on at `resume`, or has ended. Skipped
    /// instructions that it had not reached are among it.
    fn flushed(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, _resume: Option<u32>) {}

    /// Which of the warps in `ready` issues; `chosen` is the scheduler's choice. Another answer must be in `ready`.
    fn order(&self, _now: u64, _scheduler: usize, _ready: u64, chosen: u8) -> u8 {
        chosen
    }

    /// A warp has entered the active set of the two-level policy, or has left it.
    fn activity(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, _active: bool) {}

    /// The scheduler has chosen an instruction whose hazards are clear.
    fn issue(&self, _now: u64, _warp: &WarpView<'_>, _what: &Issuing<'_>) -> IssueVerdict {
        IssueVerdict::Issue
    }

    /// An instruction issues, with what all techniques together decided: never a stall.
    fn issued(
        &mut self,
        _cx: &mut Cx<'_>,
        _warp: &WarpView<'_>,
        _what: &Issuing<'_>,
        _verdict: IssueVerdict,
    ) {
    }

    /// An instruction enters its operand collector: decides how each source operand gets there.
    ///
    /// # Errors
    /// A supplied value that differs from the recorded one.
    fn collect(
        &mut self,
        _cx: &mut Cx<'_>,
        _warp: &WarpView<'_>,
        _inst: &InstView<'_>,
        _operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        Ok(())
    }

    /// Cycles before the unit takes the next instruction after this one; `cycles` is what it would be.
    fn initiation(&self, _now: u64, _warp: &WarpView<'_>, _inst: &InstView<'_>, cycles: u32) -> u32 {
        cycles
    }

    /// An instruction has left its collector for a unit or for the load/store queue.
    fn dispatched(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, _inst: &InstView<'_>) {}

    /// A load, store or atomic has its operands: its addresses are known, and nothing has been accessed.
    fn access(
        &mut self,
        _cx: &mut Cx<'_>,
        _warp: &WarpView<'_>,
        _inst: &InstView<'_>,
        _access: &MemAccess<'_>,
    ) -> AccessVerdict {
        AccessVerdict::Access
    }

    /// The technique answers for an instruction that it did not let execute: every result in `results` has to be
    /// supplied through [`Cx::supply_result`], or the run stops with the technique's name.
    ///
    /// # Errors
    /// A supplied value that differs from the recorded one.
    fn answered(
        &mut self,
        _cx: &mut Cx<'_>,
        _warp: &WarpView<'_>,
        _inst: &InstView<'_>,
        _how: Answered,
        _results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        Ok(())
    }

    /// An instruction completes: decides where each destination register goes. It is told of every instruction that
    /// went through a collector; of stores, and of those that only wrote predicates or took effect in no lane,
    /// without writes.
    ///
    /// # Errors
    /// A value that differs from the recorded one.
    fn write_back(
        &mut self,
        _cx: &mut Cx<'_>,
        _warp: &WarpView<'_>,
        _inst: &InstView<'_>,
        _writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        Ok(())
    }

    /// A stage of the technique's own, before issue in every cycle that is looked at.
    fn tick(&mut self, _cx: &mut Cx<'_>) {}

    /// Earliest cycle, from `now` on, in which [`Technique::tick`] or [`Technique::companion`] would do something.
    fn next_event(&self, _now: u64) -> Option<u64> {
        None
    }

    /// A micro-operation of a stream beside the warps, for a slot in which no warp of the scheduler issues.
    fn companion(&self, _now: u64, _scheduler: usize) -> Option<MicroId> {
        None
    }

    /// The micro-operation has issued; `done_at` is the cycle in which its unit has its result.
    fn companion_issued(&mut self, _cx: &mut Cx<'_>, _scheduler: usize, _op: MicroId, _done_at: u64) {}

    /// The sectors of an early load are in L1; `locked` says whether the line stays.
    fn loaded(&mut self, _cx: &mut Cx<'_>, _tag: u32, _locked: bool) {}

    /// A warp has ended and its results are written.
    fn end_warp(&mut self, _cx: &mut Cx<'_>, _warp_slot: usize) {}

    /// Every warp of a block has ended.
    fn end_block(&mut self, _cx: &mut Cx<'_>, _block_slot: usize) {}

    /// What the technique holds, for the report of a stuck pipeline.
    fn describe(&self) -> String {
        String::new()
    }
}

impl Clone for Box<dyn Technique> {
    fn clone(&self) -> Box<dyn Technique> {
        self.fork()
    }
}
