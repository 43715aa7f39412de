//! Decisions of techniques per kernel: their demands on the machine and the micro-operations of their
//! compiler passes.

use crate::config::{GpuConfig, SmLimits};
use crate::micro::{MicroId, MicroOp};
use crate::occupancy::{self, Demand, Occupancy};
use crate::program::{Program, Renaming};
use crate::recording::RecordedWarps;
use crate::scout::Scouting;
use std::fmt;
use trace_format::semantics::Banks;

/// Part of the machine that one technique controls alone; two techniques with the same claim cannot be
/// combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Claim {
    /// How operand collectors are organised.
    CollectorOrganisation,
    /// The mapping of architectural registers to banks.
    RegisterMapping,
    /// How many registers a warp holds.
    Occupancy,
    /// When results reach the register file.
    ResultDestination,
    /// Which instructions are fetched.
    FetchStream,
    /// Which instructions execute.
    ReuseOfResults,
    /// Which accesses go to memory.
    MemoryAccesses,
    /// The order of warps.
    WarpPriority,
    /// Which blocks and warps begin.
    Admission,
    /// What is prefetched into the buffer beside L1.
    Prefetching,
    /// What the places of registers in the banks hold, other than a register's last value in every lane.
    RegisterContents,
    /// Which warps wait for other warps: two techniques that do so can make warps wait for each other for ever.
    WaitingWarps,
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
            Claim::MemoryAccesses => "which accesses go to memory",
            Claim::WarpPriority => "the order of warps",
            Claim::Admission => "which blocks and warps begin",
            Claim::Prefetching => "what is prefetched into the buffer beside L1",
            Claim::RegisterContents => "what the places of registers in the banks hold",
            Claim::WaitingWarps => {
                "which warps wait for other warps, which could then wait for each other for ever"
            }
        })
    }
}

/// Hooks that a technique requests; all off by default. Hooks that no technique requests are never called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hooks {
    /// `fetch`, `fetched`, `fetch_stalled` and `flushed`.
    pub fetch: bool,
    /// `passes_over` and `inserted_fetched`.
    pub inserted: bool,
    /// `issue` and `issued`.
    pub issue: bool,
    /// Whether a warp that `issue` stalls is not asked about again before the technique wakes it
    /// ([`Cx::wake`](crate::Cx::wake)). Holds if every technique with an `issue` of its own does so and none orders warps.
    pub wakes: bool,
    /// Whether `issue` is also called for instructions that find no free operand collector, because some need none
    /// ([`IssueVerdict::Aside`](crate::IssueVerdict::Aside)).
    pub aside: bool,
    /// `order` and `activity`.
    pub order: bool,
    /// `would_serve` of all techniques, for the choices of `order`.
    pub served: bool,
    /// `collect`.
    pub collect: bool,
    /// `initiation`, `lanes`, `reuse` and `dispatched`.
    pub execute: bool,
    /// `access`.
    pub access: bool,
    /// `write_back`.
    pub write_back: bool,
    /// `tick` and `next_event`.
    pub tick: bool,
    /// `admits_block` and `admits_warp`.
    pub admission: bool,
    /// `companion` and `companion_done`.
    pub companion: bool,
}

impl Hooks {
    /// Every hook, and warps that are asked about in every cycle.
    #[must_use]
    pub fn all() -> Hooks {
        Hooks {
            fetch: true,
            inserted: true,
            issue: true,
            wakes: false,
            aside: true,
            order: true,
            served: true,
            collect: true,
            execute: true,
            access: true,
            write_back: true,
            tick: true,
            admission: true,
            companion: true,
        }
    }

    /// The hooks that either requests.
    #[must_use]
    pub fn or(self, other: Hooks) -> Hooks {
        Hooks {
            fetch: self.fetch | other.fetch,
            inserted: self.inserted | other.inserted,
            issue: self.issue | other.issue,
            wakes: self.wakes | other.wakes,
            aside: self.aside | other.aside,
            order: self.order | other.order,
            served: self.served | other.served,
            collect: self.collect | other.collect,
            execute: self.execute | other.execute,
            access: self.access | other.access,
            write_back: self.write_back | other.write_back,
            tick: self.tick | other.tick,
            admission: self.admission | other.admission,
            companion: self.companion | other.companion,
        }
    }
}

/// Operand collectors that a technique requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectorPlan {
    /// Instructions that the collector dedicated to each warp holds at once.
    pub instructions_per_warp: u32,
    /// Operands that a collector receives from the register file per cycle.
    pub ports: u32,
    /// Whether the collectors of all warps together hold no more instructions of a class than the
    /// configuration's collectors.
    pub bounded: bool,
}

impl CollectorPlan {
    /// One collector per warp, for a number of instructions and operands per cycle.
    #[must_use]
    pub const fn new(instructions_per_warp: u32, ports: u32) -> CollectorPlan {
        CollectorPlan { instructions_per_warp, ports, bounded: false }
    }

    /// The same, with no more instructions in all collectors than the configuration's collectors hold.
    #[must_use]
    pub const fn bounded(self) -> CollectorPlan {
        CollectorPlan { bounded: true, ..self }
    }
}

/// The incoming edges of an instruction on which a micro-operation is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// All edges.
    Every,
    /// The edge from this instruction.
    From(u32),
}

/// A micro-operation that a compiler pass puts before an instruction; it takes 8 bytes of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// Index of the instruction that it precedes.
    pub before: u32,
    /// Edge to that instruction.
    pub edge: Edge,
    /// The micro-operation.
    pub op: MicroId,
}

/// A launch, as techniques prepare for it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Launch<'a> {
    /// The kernel.
    pub program: &'a Program,
    /// The machine.
    pub config: &'a GpuConfig,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Blocks that will be replayed.
    pub blocks: u64,
    /// Dynamic shared memory per block in bytes.
    pub dynamic_shared_bytes: u32,
    /// Part of the largest shared memory of an SM that the program prefers, in percent; none without a preference.
    pub shared_carveout_percent: Option<u8>,
    /// The kernel's parameters as they lie in the constant bank.
    pub parameters: &'a [u8],
    /// The constant banks; none in tests without constants.
    pub banks: Option<&'a Banks>,
    /// The recorded warps, for profiles; none if the recording has no register values.
    pub recording: Option<&'a dyn RecordedWarps>,
}

impl<'a> Launch<'a> {
    /// A launch without parameters; the caller sets further fields.
    #[must_use]
    pub fn new(program: &'a Program, config: &'a GpuConfig, grid: [u32; 3], block: [u32; 3]) -> Launch<'a> {
        let blocks = grid.iter().map(|n| u64::from(*n)).product();
        Launch {
            program,
            config,
            grid,
            block,
            blocks,
            dynamic_shared_bytes: 0,
            shared_carveout_percent: None,
            parameters: &[],
            banks: None,
            recording: None,
        }
    }

    /// Threads of a block.
    #[must_use]
    pub fn threads_per_block(&self) -> u32 {
        self.block.iter().product()
    }

    /// Resources of a block under a plan.
    #[must_use]
    pub fn demand(&self, plan: &Plan) -> Demand {
        Demand {
            threads_per_block: self.threads_per_block(),
            registers_per_thread: plan.registers_per_thread,
            shared_bytes: self.program.static_shared_bytes + self.dynamic_shared_bytes,
        }
    }

    /// Blocks that an SM holds at once under a plan, and the limiting resource.
    ///
    /// # Errors
    /// Not even one block fits; the error names the resource, the demand and the limit.
    pub fn occupancy(&self, plan: &Plan) -> Result<Occupancy, String> {
        let sm = self.limits(plan);
        if let Some(blocks) = plan.register_blocks {
            return occupancy::with_register_blocks(&sm, blocks, &self.demand(plan));
        }
        let available = sm.registers.saturating_sub(plan.reserved_registers);
        occupancy::in_units(&sm, available, self.register_unit(plan), &self.demand(plan))
    }

    /// As [`Launch::occupancy`] in an SM with `registers` available registers.
    ///
    /// # Errors
    /// As [`Launch::occupancy`].
    pub fn occupancy_with_registers(&self, plan: &Plan, registers: u32) -> Result<Occupancy, String> {
        occupancy::occupancy(&self.limits(plan), registers, &self.demand(plan))
    }

    /// Bytes of shared memory in the array that L1 shares, if the program prefers a part and the configuration lists sizes.
    #[must_use]
    pub fn shared_carveout(&self, plan: &Plan) -> Option<u32> {
        occupancy::carveout(self.config, self.shared_carveout_percent?, &self.demand(plan))
    }

    /// The limits of an SM while the kernel runs.
    fn limits(&self, plan: &Plan) -> SmLimits {
        let mut sm = self.config.sm.clone();
        if let Some(bytes) = self.shared_carveout(plan) {
            sm.shared_memory_bytes = bytes.min(sm.shared_memory_bytes);
        }
        sm
    }

    /// Registers of an SM that a number of blocks take under a plan.
    #[must_use]
    pub fn registers_taken(&self, plan: &Plan, blocks: u32) -> u32 {
        occupancy::registers_taken(&self.config.sm, self.register_unit(plan), &self.demand(plan), blocks)
    }

    fn register_unit(&self, plan: &Plan) -> u32 {
        plan.register_allocation_unit.unwrap_or(self.config.sm.register_allocation_unit)
    }
}

/// Demands of techniques on the machine for a kernel; techniques adjust it in order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// 32-bit registers per thread that occupancy is computed with.
    pub registers_per_thread: u32,
    /// Registers of each SM set aside for the technique before blocks are placed.
    pub reserved_registers: u32,
    /// Unit in which a warp's registers are allocated, if it is not the configuration's.
    pub register_allocation_unit: Option<u32>,
    /// Blocks for which the registers of an SM suffice, if the technique counts them itself.
    pub register_blocks: Option<u32>,
    /// Collectors dedicated per warp instead of the configured ones.
    pub collectors: Option<CollectorPlan>,
    /// Cycles added between issue and the first register read (a renaming stage).
    pub extra_collect_cycles: u32,
    /// Lines of 128 bytes of a prefetch buffer beside each SM's L1.
    pub prefetch_buffer_lines: u32,
    /// What scouts regenerate, if a technique needs them.
    pub scouting: Scouting,
    /// Hooks that the technique requests; empty when its `prepare` is called.
    pub hooks: Hooks,
    micro_ops: Vec<(usize, MicroOp)>,
    inserted: Vec<Inserted>,
    renamed: Vec<Renaming>,
    owner: usize,
}

impl Plan {
    /// The plan of a kernel without techniques.
    #[must_use]
    pub fn of(program: &Program) -> Plan {
        Plan {
            registers_per_thread: program.registers_per_thread,
            reserved_registers: 0,
            register_allocation_unit: None,
            register_blocks: None,
            collectors: None,
            extra_collect_cycles: 0,
            prefetch_buffer_lines: 0,
            scouting: Scouting::None,
            hooks: Hooks::default(),
            micro_ops: Vec::new(),
            inserted: Vec::new(),
            renamed: Vec::new(),
            owner: 0,
        }
    }

    /// Registers a micro-operation, so that it can be inserted, or issued at run time.
    ///
    /// # Panics
    /// If there are more than 65535.
    pub fn micro_op(&mut self, op: MicroOp) -> MicroId {
        let id = u16::try_from(self.micro_ops.len()).expect("a technique needs few micro-operations");
        self.micro_ops.push((self.owner, op));
        MicroId(id)
    }

    /// Puts a micro-operation before an instruction.
    pub fn insert(&mut self, before: u32, edge: Edge, op: MicroId) {
        self.inserted.push(Inserted { before, edge, op });
    }

    /// Renames the registers that hold the operands of every instruction; hazards and banks follow. Techniques
    /// still see the program's own registers.
    pub fn rename(&mut self, renamed: Vec<Renaming>) {
        self.renamed = renamed;
    }

    /// The renamed registers by instruction; empty if no technique renames any.
    #[must_use]
    pub fn renamed(&self) -> &[Renaming] {
        &self.renamed
    }

    /// Micro-operations, each with the position of its technique among those that run.
    #[must_use]
    pub fn micro_ops(&self) -> &[(usize, MicroOp)] {
        &self.micro_ops
    }

    /// Inserted micro-operations, in program order.
    #[must_use]
    pub fn inserted(&self) -> &[Inserted] {
        &self.inserted
    }

    /// Starts the additions of the technique at a position.
    pub fn begin(&mut self, owner: usize) {
        self.owner = owner;
        self.hooks = Hooks::default();
    }

    /// Sorts inserted micro-operations into program order.
    pub fn finish(&mut self) {
        self.inserted.sort_by_key(|inserted| inserted.before);
    }
}
