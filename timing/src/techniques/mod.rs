//! Techniques: what may change in the SM, as verdicts over a machine that they see read-only.
//!
//! A technique is one file with one type that implements [`Technique`], and one row in the list below, whose
//! order is the order in which techniques act when several are composed. Its
//! compiler pass and its demands on the machine are in [`Technique::prepare`], called once per kernel; the
//! prepared value is then cloned into every SM, where the other hooks are asked as instructions pass the
//! stages. Hardware it uses is counted in [`Counters`] and priced later by the energy tables. A hook is only
//! called when [`Plan::hooks`] asks for it, and with no technique none is.
//!
//! Values are checked: whatever a technique supplies instead of the register file it compares with the recorded
//! row through [`Cx::check`], and a mismatch stops the run.

mod lanes;
mod params;
#[cfg(test)]
mod pipeline_tests;
#[macro_use]
mod registry;
mod stack;
#[cfg(test)]
mod testing;

pub use registry::{SelectError, TechniqueInfo, info, select};
pub use stack::Stack;

techniques! {
    null::Null,
    bow::Bow,
    bow_wr::BowWr,
    corf::Corf,
}

use crate::config::GpuConfig;
use crate::program::{Program, TimedInst};
use crate::source::Row;
use crate::stats::Counters;
use std::fmt;

/// Part of the machine that a technique decides alone; two techniques that claim the same part contradict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// How operand collectors are organised.
    CollectorOrganisation,
    /// Where architectural registers lie in the banks.
    RegisterMapping,
    /// How many registers a warp holds.
    Occupancy,
    /// When results reach the register file.
    ResultDestination,
    /// Which instructions are fetched.
    FetchStream,
    /// Which instructions execute.
    ReuseOfResults,
    /// The order of warps.
    WarpPriority,
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Claim::CollectorOrganisation => "how operand collectors are organised",
            Claim::RegisterMapping => "where registers lie in the banks",
            Claim::Occupancy => "how many registers a warp holds",
            Claim::ResultDestination => "when results reach the register file",
            Claim::FetchStream => "which instructions are fetched",
            Claim::ReuseOfResults => "which instructions execute",
            Claim::WarpPriority => "the order of warps",
        })
    }
}

/// Hooks that a technique wants to be asked; all off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// [`Technique::fetch`] and [`Technique::skipped`].
    pub fetch: bool,
    /// [`Technique::issue`].
    pub issue: bool,
    /// [`Technique::collect`].
    pub collect: bool,
    /// [`Technique::write_back`].
    pub write_back: bool,
}

/// Operand collectors as a technique wants them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectorPlan {
    /// Instructions that the collector dedicated to each warp holds at once.
    pub instructions_per_warp: u32,
    /// Operands that a collector receives from the register file per cycle.
    pub ports: u32,
}

/// An instruction that a compiler pass adds before an instruction of the program; it takes I-buffer and issue
/// slots, reads and writes nothing, and is not counted among the warp instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// Index of the instruction that it precedes; jumps to that instruction pass through it.
    pub before: u32,
    /// The technique's own meaning (acquire, release, metadata).
    pub tag: u8,
}

/// What a kernel needs of the machine and how the machine is laid out for it; techniques adjust it in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// 32-bit registers per thread that occupancy is computed with.
    pub registers_per_thread: u32,
    /// Registers of each SM set aside for the technique before blocks are placed.
    pub reserved_registers: u32,
    /// Collectors dedicated per warp instead of the configured ones.
    pub collectors: Option<CollectorPlan>,
    /// Cycles added between issue and the first register read (a renaming stage).
    pub extra_collect_cycles: u32,
    /// Instructions added to the program, in order of `before`.
    pub inserted: Vec<Inserted>,
    /// Hooks that are asked.
    pub hooks: Hooks,
}

impl Plan {
    /// The plan of a kernel without techniques.
    #[must_use]
    pub fn of(program: &Program) -> Plan {
        Plan {
            registers_per_thread: program.registers_per_thread,
            reserved_registers: 0,
            collectors: None,
            extra_collect_cycles: 0,
            inserted: Vec::new(),
            hooks: Hooks::default(),
        }
    }
}

/// Name of an instruction in flight; stale names are recognised as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InFlightId {
    pub(crate) slot: u16,
    pub(crate) generation: u16,
}

/// The warp that a hook is about.
#[derive(Clone, Copy, Debug)]
pub struct WarpView<'a> {
    /// Warp slot of the SM, below `sm.max_warps`.
    pub slot: usize,
    /// Block slot of the SM.
    pub block_slot: usize,
    /// Linear block index within the grid.
    pub block: u32,
    /// Warp within the block.
    pub warp: u32,
    /// Lanes of the warp that hold threads of the block.
    pub threads: u32,
    /// Instructions of the program that the warp has issued, those without operands included: the position of
    /// the instruction in `issue` and `collect`, one more than the latest position in `write_back`.
    pub issued: u64,
    /// Architectural registers by number: before the instruction in `issue` and `collect`, after the warp's
    /// latest issued instruction in `write_back`, where the instruction's own results are in the writes.
    pub rows: &'a [Row],
}

/// The instruction that a hook is about.
#[derive(Clone, Copy, Debug)]
pub struct InstView<'a> {
    /// Instruction index.
    pub pc: u32,
    /// The decoded instruction.
    pub inst: &'a TimedInst,
    /// Lanes on the recorded path.
    pub active: u32,
    /// Lanes in which it takes effect; equals `active` before the instruction has been stepped.
    pub exec: u32,
    /// Its name in flight, from `collect` to `write_back`.
    pub id: InFlightId,
}

/// What a hook may use besides its arguments.
pub struct Cx<'a> {
    /// SM clock cycle.
    pub cycle: u64,
    /// The kernel.
    pub program: &'a Program,
    /// Counters of the SM.
    pub stats: &'a mut Counters,
    /// Further bank accesses to make, such as an evicted value's write; drained by the SM after the hook.
    pub extra_writes: &'a mut Vec<u8>,
}

impl Cx<'_> {
    /// Compares a row that a technique supplies with the recorded one in the lanes of `lanes`.
    ///
    /// # Errors
    /// The first lane that differs, with its place.
    #[inline]
    pub fn check(
        &mut self,
        technique: &'static str,
        warp: &WarpView<'_>,
        pc: u32,
        reg: u8,
        lanes: u32,
        supplied: &Row,
    ) -> Result<(), Box<ValueMismatch>> {
        self.stats.checked_values += 1;
        let recorded = &warp.rows[usize::from(reg)];
        if supplied == recorded {
            return Ok(());
        }
        let differs = |lane: &usize| lanes >> lane & 1 != 0 && supplied.0[*lane] != recorded.0[*lane];
        match (0..32).find(differs) {
            None => Ok(()),
            Some(lane) => Err(Box::new(ValueMismatch {
                technique,
                kernel: self.program.name.clone(),
                pc,
                block: warp.block,
                warp: warp.warp,
                register: reg,
                lane: lane as u32,
                expected: recorded.0[lane],
                actual: supplied.0[lane],
            })),
        }
    }
}

/// A value that a technique supplied and that the program did not produce.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "technique {technique}: kernel {kernel}, PC {:#06x}, block {block}, warp {warp}, register R{register}, \
     lane {lane}: supplied {actual:#010x}, the recording has {expected:#010x}; the technique's model is wrong",
    pc * 8
)]
pub struct ValueMismatch {
    /// Name of the technique.
    pub technique: &'static str,
    /// Kernel name.
    pub kernel: String,
    /// Instruction index.
    pub pc: u32,
    /// Linear block index.
    pub block: u32,
    /// Warp within the block.
    pub warp: u32,
    /// Register number.
    pub register: u8,
    /// First lane that differs.
    pub lane: u32,
    /// Recorded value.
    pub expected: u32,
    /// Value that the technique supplied.
    pub actual: u32,
}

/// How a source operand reaches its collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFrom {
    /// One access to this bank.
    Bank(u8),
    /// At once, from the technique's own storage.
    Forwarded,
    /// Together with another operand of the same instruction, by position; no access of its own.
    With(u8),
    /// When an operand of an earlier instruction of the same warp arrives in the shared collector; at once
    /// when it has already arrived.
    After(InFlightId, u8),
}

/// A source operand on its way to the collector.
#[derive(Clone, Copy, Debug)]
pub struct OperandRead {
    /// Register number.
    pub reg: u8,
    /// The plain machine's bank on entry; techniques replace it.
    pub from: ReadFrom,
}

/// Where a result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteTo {
    /// One access to this bank.
    Bank(u8),
    /// No bank access.
    Nowhere,
}

/// A destination register on its way to the register file.
#[derive(Clone, Copy, Debug)]
pub struct RegisterWrite<'a> {
    /// Register number.
    pub reg: u8,
    /// The plain machine's bank on entry; techniques replace it.
    pub to: WriteTo,
    /// The whole register after the instruction: results in the executed lanes, old values in the others.
    pub row: &'a Row,
}

/// What happens to an instruction that is about to be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchVerdict {
    /// It is fetched.
    Fetch,
    /// It is never fetched: its results are supplied by the technique ([`Technique::skipped`]).
    Skip,
    /// The warp does not fetch this cycle.
    Stall,
}

/// What happens to an instruction that the scheduler has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueVerdict {
    /// It issues.
    Issue,
    /// Its warp waits; the slot counts as the technique's stall unless another warp issues.
    Stall,
    /// It issues, reads no operands and executes in no unit; its results are written after this many cycles.
    Reuse {
        /// Cycles from issue to the result bus, at least 1.
        after_cycles: u32,
    },
}

/// What is about to issue.
#[derive(Clone, Copy, Debug)]
pub enum Issuing<'a> {
    /// An instruction of the program.
    Program(InstView<'a>),
    /// An instruction that a compiler pass added.
    Inserted(Inserted),
}

/// A microarchitectural technique; see the module's description for when each hook is called.
///
/// Hooks of several techniques are called in the order of the registry, each seeing what the earlier ones
/// decided. The default of every hook is the plain machine.
pub trait Technique: Clone + Send {
    /// Its row in the list of techniques.
    const INFO: TechniqueInfo;

    /// Reads the technique's own section of the configuration, `[technique.NAME]`; an absent section is empty.
    ///
    /// # Errors
    /// A sentence that names the key, the value and the rule.
    fn new(config: &GpuConfig, section: &toml::Table) -> Result<Self, String>;

    /// Static analysis of a kernel and demands on the machine.
    ///
    /// # Errors
    /// A sentence that says why the technique cannot run this kernel on this configuration.
    fn prepare(&mut self, program: &Program, config: &GpuConfig, plan: &mut Plan) -> Result<(), String>;

    /// A block has been placed in a block slot of the SM.
    fn start_block(&mut self, _cx: &mut Cx<'_>, _block_slot: usize, _block: u32) {}

    /// A warp has been placed in a warp slot of the SM.
    fn start_warp(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>) {}

    /// A warp is about to fetch `pc`.
    fn fetch(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, _pc: u32) -> FetchVerdict {
        FetchVerdict::Fetch
    }

    /// A skipped instruction has reached its place in program order: `warp.rows` are the recorded registers
    /// after it, with which the technique compares what it supplies.
    ///
    /// # Errors
    /// The value that differs.
    fn skipped(
        &mut self,
        _cx: &mut Cx<'_>,
        _warp: &WarpView<'_>,
        _inst: &InstView<'_>,
    ) -> Result<(), Box<ValueMismatch>> {
        Ok(())
    }

    /// The scheduler has chosen an instruction whose hazards are clear.
    fn issue(&mut self, _cx: &mut Cx<'_>, _warp: &WarpView<'_>, _what: &Issuing<'_>) -> IssueVerdict {
        IssueVerdict::Issue
    }

    /// An instruction enters its operand collector: decides how each source operand gets there.
    ///
    /// # Errors
    /// A forwarded or unpacked value that differs from the recorded one.
    fn collect(
        &mut self,
        _cx: &mut Cx<'_>,
        _warp: &WarpView<'_>,
        _inst: &InstView<'_>,
        _operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        Ok(())
    }

    /// A result leaves the result bus: decides where each destination register goes.
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

    /// A warp has ended and its results are written.
    fn end_warp(&mut self, _cx: &mut Cx<'_>, _warp_slot: usize) {}

    /// Every warp of a block has ended.
    fn end_block(&mut self, _cx: &mut Cx<'_>, _block_slot: usize) {}

    /// What the technique holds, for the report of a stuck pipeline.
    fn describe(&self) -> String {
        String::new()
    }
}
