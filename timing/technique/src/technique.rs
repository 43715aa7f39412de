//! The trait that techniques implement, and their declarations.

use crate::config::GpuConfig;
use crate::declare::{CauseInfo, CounterInfo, ParamInfo, ParamValue};
use crate::micro::MicroId;
use crate::plan::{Claim, Launch, Plan};
use crate::storage::{Storage, StorageInfo};
use crate::verdict::{AccessVerdict, Choice, FetchVerdict, IssueVerdict, Issuing, OperandRead, Prefetched};
use crate::view::{Answered, InstView, MemAccess, WarpView};
use crate::write::{RegisterWrite, Rewritten};
use crate::{Cx, ValueMismatch};

/// Declarations of a technique; lists, tables, JSON, reports and energy are made from them.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TechniqueInfo {
    /// Name for `--tech`.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Paper and section.
    pub paper: &'static str,
    /// Parts of the machine that it controls alone.
    pub claims: &'static [Claim],
    /// Whether it needs recorded values; a recording without values is then refused.
    pub needs_values: bool,
    /// Whether it takes kernels of machine code, whose instructions also read and write uniform registers and predicates: it
    /// decides nothing by the operands of an instruction that it does not see.
    pub knows_uniform_registers: bool,
    /// Its parameters, `[technique.NAME]`.
    pub params: fn() -> Vec<ParamInfo>,
    /// Its counters.
    pub counters: &'static [CounterInfo],
    /// Its stall causes.
    pub stalls: &'static [CauseInfo],
    /// Definition of an opportunity; empty if the technique supplies no values.
    pub opportunity: &'static str,
    /// Causes of lost opportunities.
    pub losses: &'static [CauseInfo],
    /// Structures that it adds.
    pub storage: &'static [StorageInfo],
    /// Techniques one of which it works with: alone it changes nothing, and is refused. None for those that work alone.
    pub partners: &'static [&'static str],
}

impl TechniqueInfo {
    /// The declarations of a technique that has no parameters, counters, causes and structures; further calls add
    /// them.
    ///
    /// ```
    /// use warplab_technique::{CauseInfo, TechniqueInfo};
    /// const INFO: TechniqueInfo = TechniqueInfo::new("example", "an example", "none")
    ///     .with_stalls(&[CauseInfo::new("full", "Every entry is taken.")]);
    /// assert_eq!(INFO.stalls[0].name, "full");
    /// ```
    #[must_use]
    pub const fn new(name: &'static str, summary: &'static str, paper: &'static str) -> TechniqueInfo {
        TechniqueInfo {
            name,
            summary,
            paper,
            claims: &[],
            needs_values: true,
            knows_uniform_registers: false,
            params: Vec::new,
            counters: &[],
            stalls: &[],
            opportunity: "",
            losses: &[],
            storage: &[],
            partners: &[],
        }
    }

    /// The same declarations for another technique.
    #[must_use]
    pub const fn named(
        self,
        name: &'static str,
        summary: &'static str,
        paper: &'static str,
    ) -> TechniqueInfo {
        TechniqueInfo { name, summary, paper, ..self }
    }

    /// With parts of the machine that the technique controls alone.
    #[must_use]
    pub const fn with_claims(self, claims: &'static [Claim]) -> TechniqueInfo {
        TechniqueInfo { claims, ..self }
    }

    /// Of a technique that reads no recorded values.
    #[must_use]
    pub const fn without_values(self) -> TechniqueInfo {
        TechniqueInfo { needs_values: false, ..self }
    }

    /// Of a technique that takes kernels of machine code, with their uniform registers and predicates.
    #[must_use]
    pub const fn with_uniform_registers(self) -> TechniqueInfo {
        TechniqueInfo { knows_uniform_registers: true, ..self }
    }

    /// With parameters: `Params::declared`.
    #[must_use]
    pub const fn with_params(self, params: fn() -> Vec<ParamInfo>) -> TechniqueInfo {
        TechniqueInfo { params, ..self }
    }

    /// With counters.
    #[must_use]
    pub const fn with_counters(self, counters: &'static [CounterInfo]) -> TechniqueInfo {
        TechniqueInfo { counters, ..self }
    }

    /// With stall causes.
    #[must_use]
    pub const fn with_stalls(self, stalls: &'static [CauseInfo]) -> TechniqueInfo {
        TechniqueInfo { stalls, ..self }
    }

    /// With the definition of an opportunity, and the causes of lost ones.
    #[must_use]
    pub const fn with_losses(self, opportunity: &'static str, losses: &'static [CauseInfo]) -> TechniqueInfo {
        TechniqueInfo { opportunity, losses, ..self }
    }

    /// Of a technique that changes nothing unless one of these acts as well.
    #[must_use]
    pub const fn with_partners(self, partners: &'static [&'static str]) -> TechniqueInfo {
        TechniqueInfo { partners, ..self }
    }

    /// With structures.
    #[must_use]
    pub const fn with_storage(self, storage: &'static [StorageInfo]) -> TechniqueInfo {
        TechniqueInfo { storage, ..self }
    }
}

/// Constructor of a technique from its section of the configuration, `[technique.NAME]`; an absent section is
/// empty.
pub(crate) type Build = fn(&GpuConfig, &toml::Table) -> Result<Box<dyn Technique>, String>;

/// Entry in the list of techniques.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Registration {
    /// Its declarations.
    pub info: &'static TechniqueInfo,
    /// Its constructor; errors name the key, the value and the rule.
    pub build: Build,
    /// Names that together mean this technique; it then reads the sections of all of them.
    pub joins: &'static [&'static str],
}

impl Registration {
    /// An entry.
    #[must_use]
    pub const fn new(info: &'static TechniqueInfo, build: Build) -> Registration {
        Registration { info, build, joins: &[] }
    }

    /// The entry of a technique that stands for others where they are named together.
    #[must_use]
    pub const fn joining(self, joins: &'static [&'static str]) -> Registration {
        Registration { joins, ..self }
    }
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
/// hooks are called as instructions pass the stages. Several techniques are called in the order of the list;
/// each sees the decisions of the earlier ones. The defaults of all hooks change nothing.
///
/// Hooks that decide take `&self` and may be called any number of times; decisions are reported afterwards.
pub trait Technique: Fork + Send + Sync {
    /// Its declarations.
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

    /// Warp registers that it leaves switched on, summed over cycles, if it switches others off.
    fn powered_register_cycles(&self) -> Option<u64> {
        None
    }

    /// Bits of state in an SM besides its structures, such as state per warp.
    fn further_bits(&self) -> u64 {
        0
    }

    /// Static analysis of a kernel and demands on the machine.
    ///
    /// # Errors
    /// The reason for which the technique cannot run this kernel on this configuration.
    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String>;

    /// Whether a block may be placed in the SM.
    fn admits_block(&self, _now: u64, _block: u32) -> bool {
        true
    }

    /// Whether a warp that has been placed may begin.
    fn admits_warp(&self, _now: u64, _warp: &WarpView<'_>) -> bool {
        true
    }

    /// Called when a block has been placed in a block slot of the SM.
    fn start_block(&mut self, _cx: &mut Cx<'_>, _block_slot: usize, _block: u32) {}

    /// Called when a warp has been placed in a warp slot of the SM.
    fn start_warp(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>) {}

    /// Called before a warp fetches `pc` and accesses the I-cache.
    fn fetch(&self, _now: u64, _warp: &WarpView<'_>, _pc: u32) -> FetchVerdict {
        FetchVerdict::Fetch
    }

    /// Called when an instruction has been fetched or skipped.
    fn fetched(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, _pc: u32, _skipped: bool) {}

    /// Called when the technique's verdict has kept a warp from fetching `pc` in this cycle.
    fn fetch_stalled(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, _pc: u32, _cause: u8) {}

    /// Whether a warp passes over a micro-operation that the technique inserted, without fetching it: it takes no
    /// access to the I-cache and no issue slot.
    fn passes_over(&self, _now: u64, _warp: &WarpView<'_>, _op: MicroId) -> bool {
        false
    }

    /// Called when an inserted micro-operation of the technique has been fetched or passed over.
    fn inserted_fetched(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, _op: MicroId, _passed_over: bool) {
    }

    /// Called when a warp's fetched entries are discarded: its path continues at `resume`, or has ended. The
    /// entries include skipped instructions that the warp had not reached.
    fn flushed(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, _resume: Option<u32>) {}

    /// The warp that issues: the scheduler's choice, or another one of the ready warps.
    fn order(&self, _now: u64, _scheduler: usize, choice: Choice) -> u8 {
        choice.chosen
    }

    /// Whether the technique would answer a warp's next instruction, a load, in place of memory if it accessed memory
    /// now; asked if a technique orders warps by it.
    fn would_serve(&self, _now: u64, _warp: &WarpView<'_>, _inst: &InstView<'_>) -> bool {
        false
    }

    /// Called when a warp has entered or left the active set of the two-level policy.
    fn activity(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, _active: bool) {}

    /// Called when the technique's verdict has kept a chosen warp from issuing in this cycle; for a technique that wakes
    /// warps, in the first such cycle alone.
    fn stalled(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, _cause: u8) {}

    /// Called when the scheduler has chosen an instruction without hazards.
    fn issue(&self, _now: u64, _warp: &WarpView<'_>, _what: &Issuing<'_>) -> IssueVerdict {
        IssueVerdict::Issue
    }

    /// Called when an instruction issues, with the combined verdict of all techniques, which is never a
    /// stall.
    fn issued(
        &mut self,
        _cx: &mut Cx<'_>,
        _warp: &WarpView<'_>,
        _what: &Issuing<'_>,
        _verdict: IssueVerdict,
    ) {
    }

    /// Called when an instruction enters its operand collector: decides the source of each operand.
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

    /// Cycles before the unit takes the next instruction after this one; `cycles` is the value so far.
    fn initiation(&self, _now: u64, _warp: &WarpView<'_>, _inst: &InstView<'_>, cycles: u32) -> u32 {
        cycles
    }

    /// Lanes in which the unit computes an instruction, which cost energy; `lanes` is the value so far, at first the lanes
    /// in which the instruction takes effect.
    fn lanes(&self, _now: u64, _warp: &WarpView<'_>, _inst: &InstView<'_>, lanes: u32) -> u32 {
        lanes
    }

    /// Whether an instruction that has its operands need not execute: its results are then written after this many
    /// cycles, at least 1, and supplied through [`Technique::answered`]. Asked, until the instruction leaves its
    /// collector, of those that would execute in a unit.
    fn reuse(&self, _now: u64, _warp: &WarpView<'_>, _inst: &InstView<'_>) -> Option<u32> {
        None
    }

    /// Called when an instruction has left its collector for a unit, for the load/store queue, or, if it need not
    /// execute, for the result bus.
    fn dispatched(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, _inst: &InstView<'_>) {}

    /// Called when a load, store or atomic has its operands: its addresses are known, and nothing has been
    /// accessed.
    ///
    /// # Errors
    /// Lines that the technique has loaded or locked for it are others than it accesses.
    fn access(
        &mut self,
        _cx: &mut Cx<'_>,
        _warp: &WarpView<'_>,
        _inst: &InstView<'_>,
        _access: &MemAccess<'_>,
    ) -> Result<AccessVerdict, Box<ValueMismatch>> {
        Ok(AccessVerdict::Access)
    }

    /// Called for an instruction that the technique did not let execute: every result in `results` must be
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

    /// Called when an instruction completes: decides where each destination register is written. It is called
    /// for every instruction that used a collector; for stores, and for instructions that only wrote
    /// predicates or took effect in no lane, without writes.
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

    /// Called when registers of a warp have got contents through another technique, without `collect` and `write_back`
    /// of an instruction; the writes of a micro-operation have the registers that it was made with, and banks that the
    /// technique may replace. Techniques that request `write_back` are notified.
    ///
    /// # Errors
    /// A value that differs from the recorded one.
    fn rewritten(
        &mut self,
        _cx: &mut Cx<'_>,
        _warp: &WarpView<'_>,
        _writes: &mut [RegisterWrite<'_>],
        _how: Rewritten,
    ) -> Result<(), Box<ValueMismatch>> {
        Ok(())
    }

    /// The technique's own stage, called before issue in every simulated cycle.
    fn tick(&mut self, _cx: &mut Cx<'_>) {}

    /// Earliest cycle, from `now` on, in which [`Technique::tick`] or [`Technique::companion`] has work.
    fn next_event(&self, _now: u64) -> Option<u64> {
        None
    }

    /// A companion micro-operation, for a slot in which no warp of the scheduler issues.
    fn companion(&self, _now: u64, _scheduler: usize) -> Option<MicroId> {
        None
    }

    /// Called when the micro-operation has issued; `done_at` is the cycle of its result.
    fn companion_issued(&mut self, _cx: &mut Cx<'_>, _scheduler: usize, _op: MicroId, _done_at: u64) {}

    /// Called when the sectors of an early load are in L1; `locked` tells whether the line is locked.
    fn loaded(&mut self, _cx: &mut Cx<'_>, _tag: u32, _locked: bool) {}

    /// Called when it is known what has become of a prefetch into the buffer beside L1, in the order of events.
    fn prefetched(&mut self, _cx: &mut Cx<'_>, _tag: u32, _fate: Prefetched) {}

    /// Called when a warp has ended and its results are written.
    fn end_warp(&mut self, _cx: &mut Cx<'_>, _warp_slot: usize) {}

    /// Called when every warp of a block has ended.
    fn end_block(&mut self, _cx: &mut Cx<'_>, _block_slot: usize) {}

    /// State of the technique, for the watchdog's report.
    fn describe(&self) -> String {
        String::new()
    }
}

impl Clone for Box<dyn Technique> {
    fn clone(&self) -> Box<dyn Technique> {
        self.fork()
    }
}
