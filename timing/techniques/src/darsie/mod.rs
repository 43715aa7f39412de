//! DARSIE: an instruction that computes the same in every warp of a block is executed by one of them, the leader; the
//! others, its followers, skip it before it is fetched and read the leader's registers (Yeh, Green and Rogers,
//! ASPLOS 2020, section 4).
//!
//! The compiler marks instructions ([`marks`]); a launch's block shape promotes the conditionally redundant ones. The
//! first warp on the path of the majority that fetches a marked instruction becomes its leader and gets an entry in
//! the block's skip table and physical registers for its results ([`block`]). A follower waits until these are
//! written, and then maps its registers to them. All warps wait for one another at branches, so that those on the path
//! execute the same instances; the others, and warps whose lanes part, leave the path until a barrier of the block,
//! with copies of what they share.
//!
//! What a skipped instruction supplies, and every register that is read through the map, is compared with the
//! recording.

mod block;
mod marks;
#[cfg(test)]
mod tests;

use super::{
    Answered, Claim, Cx, FetchVerdict, InstView, IssueVerdict, Issuing, Launch, MicroId, MicroOp,
    OperandRead, ParamValue, Params as _, Plan, ReadFrom, RegisterWrite, Registration, Shape, Storage,
    StorageInfo, Technique, TechniqueInfo, ValueMismatch, WarpView, WriteTo, first_difference, merge,
};
use block::{Block, Entry, Outcome, Registers, Removed, Shared, VersionId, Versions};
use marks::{Mark, marks, promoted};
use std::collections::VecDeque;
use trace_format::isa::space::Space;
use trace_format::isa::{BarMode, Inst, Kind, Op, Operand, Reg};
use warplab_analysis::unseen::Unseen;
use warplab_technique::Row;
use warplab_technique::declare::Cause;
use warplab_technique::program::{MemoryKind, Path, Program, RegSet, TimedInst};
use warplab_technique::{causes, counts, params};

params! {
    /// `[technique.darsie]`.
    struct Params {
        /// Entries of the skip table for each block: 8 in section 6.3, 1 in section 5.
        entries: u32 = 8, 1..=256;
        /// Physical registers for shared results of each block; no more than occupancy leaves.
        registers: u32 = 32, 1..=256;
        /// Instructions that the skip table looks up per cycle, equal ones once (section 4.3.4).
        ports: u32 = 2, 1..=64;
        /// Whether stores, atomics and fences leave the entries of loads alone, as in DARSIE-IGNORE-STORE; a load whose
        /// recorded value has changed is counted, and the warp goes on with its own.
        ignore_store: bool = false;
        /// Whether warps wait for one another at branches; without it, as in DARSIE-NO-CF-SYNC, the first warp at a branch
        /// decides.
        cf_sync: bool = true;
        /// Whether the warps of the path meet at the instruction that takes the last physical register of the block, so that
        /// older versions come free (section 4.3.5).
        register_sync: bool = true;
        /// Whether followers read the leader's physical register from its bank; if false, from their own.
        bank_conflicts: bool = true;
        /// Whether y-indices count where x and y together repeat in every warp of a block of three dimensions; an
        /// extension of the paper's.
        third_dimension: bool = false;
        /// Whether instructions are skipped; if false, the hardware exists and nothing uses it.
        mechanism: bool = true;
        /// Whether the table and the physical registers have no limits, branches do not synchronise, and shared registers
        /// cause no conflicts.
        ideal: bool = false;
    }
}

counts! {
    /// Counters of DARSIE.
    struct Counts {
        /// Instructions that a leader executed for others.
        led_instructions;
        /// Instructions that followers skipped.
        skipped_by_followers;
        /// Those of them that load.
        skipped_loads;
        /// Operands that were read from a shared physical register.
        shared_reads;
        /// Copies of shared registers to a warp's own.
        copies;
        /// Lookups of shared names as operands are read.
        rename_lookups in "technique_logic";
        /// Warps that left the path of the majority.
        left_path;
        /// Warps that came back to it at a barrier.
        joined_path;
        /// Branches at which warps waited for others.
        synchronised_branches;
        /// Instructions at which warps met because their results took the last physical register.
        synchronised_registers;
        /// Entries of loads that stores, atomics and fences removed.
        loads_forgotten;
        /// Loads that were skipped although their recorded value has changed (`ignore_store`).
        stale_loads;
        /// Static instructions that are skipped in this launch.
        marked_instructions;
    }
}

causes! {
    /// Why a warp executed an instruction with a result by itself.
    enum Lost {
        /// It is not marked as redundant, or not promoted by the block's shape.
        Unmarked = "unmarked";
        /// It was the first: the leader.
        Leader = "leader";
        /// Its entry had been replaced before the warp came.
        Replaced = "replaced";
        /// A store, an atomic or a fence had removed the entry of the load.
        Stored = "stored";
        /// No physical register was free.
        NoRegister = "no_register";
        /// The warp is not on the path of the majority.
        OffPath = "off_path";
        /// Some lanes of the warp did not take part.
        Diverged = "diverged";
        /// No other warp is on the path.
        Alone = "alone";
        /// The mechanism is switched off, or the block has one warp.
        Off = "mechanism_off";
    }
}

causes! {
    /// Why a warp waits.
    enum Stall {
        /// The leader has not written its result.
        Leader = "leader_writes";
        /// A branch or barrier before the marked instruction has not issued.
        Behind = "behind_branch";
        /// Other warps of the path have not come to the branch.
        Branch = "branch_sync";
        /// Other warps of the path have not come to the instruction that took the last physical register.
        Registers = "register_sync";
        /// The skip table has no port left.
        Ports = "skip_table_ports";
        /// A shared register is copied before the warp writes some of its lanes.
        Copy = "copy_out";
    }
}

/// Entry in the list of techniques.
pub(crate) const REGISTRATION: Registration =
    Registration::new(&INFO, |_, section| Ok(Box::new(Darsie::new(section)?)));

const INFO: TechniqueInfo = TechniqueInfo::new(
    "darsie",
    "an instruction that computes the same in every warp of a block is executed once and skipped by the others",
    "DARSIE (Yeh, Green and Rogers, ASPLOS 2020), section 4",
)
.with_claims(&[
    Claim::WaitingWarps,
    Claim::FetchStream,
    Claim::RegisterMapping,
    Claim::ReuseOfResults,
    Claim::ResultDestination,
])
.with_params(Params::declared)
.with_counters(Counts::DECLARED)
.with_stalls(Stall::DECLARED)
.with_losses("a result register of a warp instruction", Lost::DECLARED)
.with_uniform_registers()
.with_storage(&[
    StorageInfo::new("skip_table", "the skip table", "technique_storage"),
    StorageInfo::new("versions", "the tables of shared registers", "technique_storage"),
]);

/// Bits of an entry of the skip table: 48 of the PC, 32 warps, IsLoad, LeaderWB (section 6.3).
const ENTRY_BITS: u32 = 82;
/// Bits of an entry of the rename and version tables: 8 of the name, 8 of the physical register, 5 of the version.
const VERSION_BITS: u32 = 21;
/// Ports enough for every lookup of a cycle.
const UNLIMITED: u32 = 256;

/// What a warp has fetched of the marked instructions.
#[derive(Clone, Copy, Debug)]
enum Role {
    /// It leads, with this entry.
    Leads(u64, Versions),
    /// It skips, and gets this.
    Follows(Shared),
    /// It executes by itself.
    Alone(Lost),
}

/// A marked instruction on its way from fetch to issue.
#[derive(Clone, Copy, Debug)]
struct Coming {
    pc: u32,
    role: Role,
}

#[derive(Clone, Debug, Default)]
struct Warp {
    block_slot: usize,
    /// Number within the block.
    index: u32,
    /// The version that holds each register; none for the warp's own registers.
    shared: Vec<Option<VersionId>>,
    /// What the warp's own registers hold.
    own: Vec<Row>,
    /// How often it has executed or skipped each instruction since the last barrier.
    instances: Vec<u32>,
    /// Branches, barriers and the like that were fetched and have not issued.
    ahead: u32,
    /// Whether it waits at a barrier of the block.
    at_barrier: bool,
    /// Barriers of the block that were fetched and have not issued.
    barriers_ahead: u32,
    /// Marked instructions that it has fetched behind a barrier of the block while it was not on the path; it may be on
    /// the path when the barrier opens.
    beyond: Vec<u32>,
    /// The entry with which it leads an instruction that gathers the warps of the path.
    gathers: Option<u64>,
    coming: VecDeque<Coming>,
}

/// An instruction in flight.
#[derive(Clone, Copy, Debug)]
struct Flight {
    /// Entry and versions, if it leads.
    leads: Option<(u64, Versions)>,
    /// Why it was executed.
    why: Lost,
}

/// What is known of an instruction before the launch.
#[derive(Clone, Copy, Debug, Default)]
struct Static {
    /// Whether followers skip it.
    marked: bool,
    is_load: bool,
    is_global: bool,
    /// Whether fetch behind it depends on its outcome.
    ends_block: bool,
    /// Whether it waits for all threads of the block.
    is_block_barrier: bool,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Darsie {
    params: Params,
    counts: Counts,
    skip_table: Storage,
    version_table: Storage,
    statics: Vec<Static>,
    copies: Vec<Option<MicroId>>,
    blocks: Vec<Block>,
    warps: Vec<Warp>,
    flights: Vec<Flight>,
    /// Warps of a block, and those of them whose lanes all hold threads.
    block_warps: (u64, u64),
    /// Whether anything is shared in this launch.
    shares: bool,
    /// Physical registers of each block.
    registers: u32,
    /// Registers that instructions write without a collector.
    unseen: RegSet,
    /// Banks of the register file.
    banks: u32,
    /// Instructions that the skip table has looked up in this cycle.
    looked_up: (u64, Vec<u32>),
}

/// What the skip table says of a marked instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    /// The warp does not share.
    Outside,
    /// It is the first.
    Absent,
    /// The result is there.
    Present,
    Wait(Stall),
}

impl Darsie {
    /// Reads `[technique.darsie]`.
    fn new(section: &toml::Table) -> Result<Darsie, String> {
        let mut params = Params::read(section)?;
        if params.ideal {
            (params.entries, params.ports, params.bank_conflicts) = (u32::from(u16::MAX), UNLIMITED, false);
            params.cf_sync = false;
        }
        Ok(Darsie {
            params,
            counts: Counts::default(),
            skip_table: Storage::new(Shape::new(1, 0, ENTRY_BITS)),
            version_table: Storage::new(Shape::new(1, 0, VERSION_BITS)),
            statics: Vec::new(),
            copies: Vec::new(),
            blocks: Vec::new(),
            warps: Vec::new(),
            flights: Vec::new(),
            block_warps: (0, 0),
            shares: false,
            registers: 0,
            unseen: RegSet::default(),
            banks: 1,
            looked_up: (0, Vec::new()),
        })
    }

    /// Decodes the instructions of a kernel for blocks of a shape.
    fn decode(&self, program: &Program, block: [u32; 3]) -> Vec<Static> {
        let strongest = promoted(block, self.params.third_dimension);
        let decode = |(timed, marks): (&TimedInst, marks::Marks)| {
            let inst = &timed.inst;
            let load = match timed.path {
                Path::Memory(MemoryKind::Load(space)) => Some(space),
                _ => None,
            };
            // Uniform registers and predicates have one place for the whole warp, which is not renamed; of an instruction
            // that writes several predicates the skip table holds two.
            let shared = !inst.writes_uniform() && !inst.op.writes_all_predicates();
            let has_result =
                shared && (inst.dst_regs().next().is_some() || inst.dst_preds().next().is_some());
            let executes = timed.path == Path::Alu || load.is_some();
            // A guard that differs between lanes would leave some of a register's lanes.
            let guarded = inst.is_unguarded() || marks.guard == Mark::Definite;
            Static {
                marked: executes && has_result && guarded && marks.results <= strongest,
                is_load: load.is_some(),
                is_global: load == Some(Space::Global),
                ends_block: inst.kind().ends_block(),
                is_block_barrier: waits_for_block(inst),
            }
        };
        program.insts.iter().zip(marks(program)).map(decode).collect()
    }

    #[inline]
    fn is_on_path(&self, warp: &Warp) -> bool {
        self.blocks[warp.block_slot].on_path >> warp.index & 1 != 0
    }

    /// Looks a marked instruction up for a warp that is about to fetch it.
    fn probe(&self, slot: usize, pc: u32) -> Probe {
        let warp = &self.warps[slot];
        if !self.statics[pc as usize].marked || !self.is_on_path(warp) {
            return Probe::Outside;
        }
        if warp.ahead > 0 || warp.at_barrier {
            return Probe::Wait(Stall::Behind);
        }
        match self.blocks[warp.block_slot].find(pc, warp.instances[pc as usize]) {
            None => Probe::Absent,
            Some(entry) if entry.gathers && !self.is_open(warp.block_slot, entry) => {
                Probe::Wait(Stall::Registers)
            }
            Some(entry) if entry.written => Probe::Present,
            Some(_) => Probe::Wait(Stall::Leader),
        }
    }

    /// Whether a warp that is not on the path may be on it when it issues a marked instruction: it waits at a barrier of the
    /// block with all its lanes, or is about to.
    fn may_rejoin_behind(&self, slot: usize, pc: u32) -> bool {
        let warp = &self.warps[slot];
        let block = &self.blocks[warp.block_slot];
        self.statics[pc as usize].marked
            && block.whole >> warp.index & 1 != 0
            && (warp.barriers_ahead > 0 || warp.at_barrier && block.is_whole_at_barrier(warp.index))
    }

    /// Whether every warp of the path has come to an instruction that gathers them, or has passed it.
    fn is_open(&self, block_slot: usize, entry: &Entry) -> bool {
        let block = &self.blocks[block_slot];
        let (pc, instance) = entry.of();
        let missing = block.on_path & !entry.gathered;
        (0..64).filter(|index| missing >> index & 1 != 0).all(|index: usize| {
            let slot = block.slots[index];
            self.warps[slot].instances[pc as usize] > instance
        })
    }

    /// Whether a warp that leads an instruction that gathers the others still waits for them.
    fn waits_for_others(&self, slot: usize) -> bool {
        let warp = &self.warps[slot];
        let entry = warp.gathers.and_then(|id| self.blocks[warp.block_slot].by_id(id));
        entry.is_some_and(|entry| self.is_on_path(warp) && !self.is_open(warp.block_slot, entry))
    }

    fn flight_mut(&mut self, inst: &InstView<'_>) -> &mut Flight {
        let slot = usize::from(inst.id.slot());
        if slot >= self.flights.len() {
            self.flights.resize(slot + 1, Flight { leads: None, why: Lost::Off });
        }
        &mut self.flights[slot]
    }

    /// Maps a register to a version, whose use the warp has, or to the warp's own.
    fn map(&mut self, slot: usize, reg: u8, to: Option<VersionId>) {
        let warp = &mut self.warps[slot];
        if let Some(old) = std::mem::replace(&mut warp.shared[usize::from(reg)], to) {
            self.blocks[warp.block_slot].drop_use(old);
        }
    }

    /// Takes warps of a block off the path: they copy what they share.
    fn leave(&mut self, cx: &mut Cx<'_>, block_slot: usize, warps: u64) {
        self.counts.left_path += u64::from(warps.count_ones());
        self.blocks[block_slot].leave(warps);
        for index in (0..64).filter(|index| warps >> index & 1 != 0) {
            let slot = self.blocks[block_slot].slots[index];
            self.copy_out(cx, slot, |_| true);
        }
    }

    /// Issues copies of a warp's shared registers.
    fn copy_out(&self, cx: &mut Cx<'_>, slot: usize, wanted: impl Fn(u8) -> bool) {
        for (reg, shared) in self.warps[slot].shared.iter().enumerate() {
            if shared.is_some()
                && wanted(reg as u8)
                && let Some(copy) = self.copies[reg]
            {
                cx.issue_before_next(slot, copy);
            }
        }
    }

    /// Whether an instruction writes some lanes, but not all, of a shared register.
    fn needs_copy(&self, warp: &WarpView<'_>, inst: &InstView<'_>) -> bool {
        warp.leaves_lanes(inst)
            && inst.inst.destinations().iter().any(|reg| self.shared(warp.slot, *reg).is_some())
    }

    #[inline]
    fn shared(&self, slot: usize, reg: u8) -> Option<VersionId> {
        self.warps[slot].shared[usize::from(reg)]
    }

    /// Whether warps of the path wait for one another at an instruction.
    fn synchronises(&self, warp: &WarpView<'_>, inst: &InstView<'_>) -> bool {
        let conditional = inst.inst.inst.kind() == Kind::Branch && !inst.inst.inst.is_unguarded();
        conditional && self.is_on_path(&self.warps[warp.slot])
    }

    /// A warp's instruction outside of collectors has issued: branches, barriers, exits.
    fn control_issued(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, inst: &InstView<'_>) {
        let slot = warp.slot;
        let Warp { block_slot, index, .. } = self.warps[slot];
        let bit = 1u64 << index;
        let is_barrier = self.statics[inst.pc as usize].is_block_barrier;
        if self.statics[inst.pc as usize].ends_block {
            self.warps[slot].ahead = self.warps[slot].ahead.saturating_sub(1);
        }
        if is_barrier {
            self.warps[slot].at_barrier = true;
            self.warps[slot].barriers_ahead = self.warps[slot].barriers_ahead.saturating_sub(1);
        }
        let outcome = outcome(warp, inst);
        match inst.inst.inst.kind() {
            Kind::Branch if self.blocks[block_slot].released & bit != 0 => {
                self.blocks[block_slot].released &= !bit;
            }
            Kind::Branch if self.synchronises(warp, inst) && self.params.cf_sync => {
                let block = &mut self.blocks[block_slot];
                block.arrive(index, outcome);
                let leavers = block.decide(index);
                self.counts.synchronised_branches += 1;
                self.leave(cx, block_slot, leavers);
            }
            Kind::Branch if self.synchronises(warp, inst) => {
                let instance = &mut self.warps[slot].instances[inst.pc as usize];
                let (pc, own) = (inst.pc, *instance);
                *instance += 1;
                let first = self.blocks[block_slot].first_outcome(pc, own, outcome);
                if outcome == Outcome::Diverged || outcome != first {
                    self.leave(cx, block_slot, bit);
                }
            }
            Kind::Exit if outcome == Outcome::Diverged && self.is_on_path(&self.warps[slot]) => {
                self.leave(cx, block_slot, bit);
            }
            Kind::Barrier if is_barrier => {
                let whole = inst.active == warp.threads;
                if self.blocks[block_slot].reach_barrier(index, inst.pc, whole) {
                    self.rejoin(block_slot);
                }
            }
            _ => {}
        }
    }

    /// Every warp of a block is at a barrier: counting begins anew, and what is behind it may be shared.
    fn rejoin(&mut self, block_slot: usize) {
        for warp in self.warps.iter_mut().filter(|warp| warp.block_slot == block_slot) {
            warp.instances.fill(0);
            warp.at_barrier = false;
            for pc in warp.beyond.drain(..) {
                warp.instances[pc as usize] += 1;
            }
        }
        self.counts.joined_path += 1;
    }

    /// Stores of the block, and accesses by which blocks communicate, end the sharing of loads.
    fn stored(&mut self, warp: &WarpView<'_>, inst: &InstView<'_>) {
        if self.params.ignore_store {
            return;
        }
        let block_slot = self.warps[warp.slot].block_slot;
        match inst.inst.inst.kind() {
            Kind::Store(Space::Local) => {}
            Kind::Store(_) => self.counts.loads_forgotten += self.blocks[block_slot].forget_loads(false),
            Kind::Atomic(_) | Kind::Reduction(_) | Kind::Fence => {
                self.counts.loads_forgotten += self.blocks[block_slot].forget_loads(false);
                for block in &mut self.blocks {
                    self.counts.loads_forgotten += block.forget_loads(true);
                }
            }
            _ => {}
        }
    }

    /// Ends the uses of what a warp has fetched and will not pass.
    fn discard(&mut self, slot: usize) {
        let block_slot = self.warps[slot].block_slot;
        while let Some(Coming { pc, role }) = self.warps[slot].coming.pop_front() {
            let block = &mut self.blocks[block_slot];
            match role {
                Role::Leads(id, versions) => {
                    block.cancel(id);
                    block.drop_uses(versions);
                }
                Role::Follows(shared) => block.drop_uses(shared.versions),
                Role::Alone(_) => {}
            }
            let instance = &mut self.warps[slot].instances[pc as usize];
            *instance = instance.saturating_sub(1);
        }
    }

    /// What a warp does with an instruction that enters its collector.
    fn role(&mut self, warp: &WarpView<'_>, inst: &InstView<'_>) -> Role {
        let own = &mut self.warps[warp.slot];
        if own.coming.front().is_some_and(|coming| coming.pc == inst.pc)
            && let Some(coming) = own.coming.pop_front()
        {
            return coming.role;
        }
        let on_path = self.is_on_path(&self.warps[warp.slot]);
        Role::Alone(match self.statics[inst.pc as usize].marked {
            false => Lost::Unmarked,
            true if inst.active != warp.threads => Lost::Diverged,
            true if !on_path => Lost::OffPath,
            true => Lost::Alone,
        })
    }
}

/// Whether an instruction waits for all threads of the block: a barrier without a number of threads.
fn waits_for_block(inst: &Inst) -> bool {
    let waits = matches!(inst.op, Op::Bar { mode } if mode != BarMode::Arrive);
    waits && matches!(inst.src[1].operand, Operand::None | Operand::Imm(0) | Operand::Reg(Reg::RZ))
}

/// Where a warp's lanes go at a branch, or how many of them end at an exit.
fn outcome(warp: &WarpView<'_>, inst: &InstView<'_>) -> Outcome {
    match warp.acting(inst) {
        _ if inst.active != warp.threads => Outcome::Diverged,
        0 => Outcome::NotTaken,
        lanes if lanes == inst.active => Outcome::Taken,
        _ => Outcome::Diverged,
    }
}

impl Technique for Darsie {
    fn info(&self) -> &'static TechniqueInfo {
        &INFO
    }

    fn params(&self) -> Vec<(&'static str, ParamValue)> {
        self.params.values()
    }

    fn counts(&self) -> Vec<u64> {
        self.counts.values()
    }

    fn storage(&self) -> Vec<&Storage> {
        vec![&self.skip_table, &self.version_table]
    }

    fn further_bits(&self) -> u64 {
        // A mask of the majority path for each block (section 6.3).
        self.blocks.len() as u64 * 32
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        let sm = &launch.config.sm;
        let program = launch.program;
        let threads = launch.threads_per_block();
        let mask = |warps: u32| if warps >= 64 { u64::MAX } else { (1 << warps) - 1 };
        self.block_warps = (mask(threads.div_ceil(32)), mask(threads / 32));
        self.statics = self.decode(program, launch.block);
        self.counts = Counts::default();
        self.counts.marked_instructions = self.statics.iter().filter(|inst| inst.marked).count() as u64;
        let blocks = launch.occupancy(plan)?.blocks;
        let left = sm.registers.saturating_sub(launch.registers_taken(plan, blocks));
        let fits = if self.params.ideal { u32::from(u16::MAX) } else { left / 32 / blocks.max(1) };
        self.registers = if self.params.ideal { fits } else { self.params.registers.min(fits) };
        self.unseen = Unseen::of(program).registers;
        self.banks = launch.config.register_file.banks;
        let shape = |entries, bits| Shape::new(sm.max_blocks, entries, bits).with_ports(UNLIMITED, UNLIMITED);
        self.skip_table = Storage::new(shape(self.params.entries, ENTRY_BITS));
        self.version_table = Storage::new(shape(self.params.registers, VERSION_BITS));
        let registers = program.registers_per_thread as usize;
        self.blocks = vec![Block::default(); sm.max_blocks as usize];
        self.warps = vec![
            Warp {
                shared: vec![None; registers],
                own: vec![Row::ZERO; registers],
                instances: vec![0; self.statics.len()],
                ..Warp::default()
            };
            sm.max_warps as usize
        ];
        self.flights.clear();
        self.copies = vec![None; registers];
        plan.hooks.collect = true;
        plan.hooks.write_back = true;
        self.shares = false;
        if !self.params.mechanism
            || self.block_warps.1.count_ones() < 2
            || self.counts.marked_instructions == 0
        {
            return Ok(());
        }
        let latency = launch.config.latency["int_add"].latency_cycles;
        for timed in
            program.insts.iter().zip(&self.statics).filter(|(_, inst)| inst.marked).map(|(timed, _)| timed)
        {
            for reg in timed.destinations() {
                self.copies[usize::from(*reg)].get_or_insert_with(|| {
                    let op = MicroOp::in_unit("copy-out", u32::from(*reg), "int", latency);
                    plan.micro_op(op.with_registers(&[*reg], &[*reg]))
                });
            }
        }
        plan.hooks.fetch = true;
        plan.hooks.issue = true;
        self.shares = true;
        Ok(())
    }

    fn start_block(&mut self, _cx: &mut Cx<'_>, block_slot: usize, _block: u32) {
        let (count, banks) = (self.registers, self.banks);
        let (warps, whole) = self.block_warps;
        let registers = Registers { count, first: block_slot as u32 * count, banks };
        self.blocks[block_slot].begin(warps, whole, registers);
    }

    fn start_warp(&mut self, _cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        let own = &mut self.warps[warp.slot];
        (own.block_slot, own.index, own.ahead) = (warp.block_slot, warp.warp, 0);
        (own.at_barrier, own.barriers_ahead, own.gathers) = (false, 0, None);
        own.beyond.clear();
        own.shared.fill(None);
        own.own.fill(Row::ZERO);
        own.instances.fill(0);
        own.coming.clear();
        if let Some(slot) = self.blocks[warp.block_slot].slots.get_mut(warp.warp as usize) {
            *slot = warp.slot;
        }
    }

    fn fetch(&self, now: u64, warp: &WarpView<'_>, pc: u32) -> FetchVerdict {
        if self.waits_for_others(warp.slot) {
            return FetchVerdict::Stall(Stall::Registers.index());
        }
        match self.probe(warp.slot, pc) {
            Probe::Outside | Probe::Absent => FetchVerdict::Fetch,
            Probe::Wait(cause) => FetchVerdict::Stall(cause.index()),
            Probe::Present => {
                let (cycle, pcs) = &self.looked_up;
                let full = *cycle == now && pcs.len() >= self.params.ports as usize && !pcs.contains(&pc);
                if full { FetchVerdict::Stall(Stall::Ports.index()) } else { FetchVerdict::Skip }
            }
        }
    }

    /// A warp that waits at an instruction that gathers the warps of the path has come to it.
    fn fetch_stalled(&mut self, _cx: &mut Cx<'_>, warp: &WarpView<'_>, pc: u32, cause: u8) {
        if cause == Stall::Registers.index() {
            let Warp { block_slot, index, .. } = self.warps[warp.slot];
            let instance = self.warps[warp.slot].instances[pc as usize];
            self.blocks[block_slot].gather(index, pc, instance);
        }
    }

    fn fetched(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, pc: u32, skipped: bool) {
        let probe = self.probe(warp.slot, pc);
        self.warps[warp.slot].gathers = None;
        let Static { ends_block, is_load, is_global, is_block_barrier, .. } = self.statics[pc as usize];
        let Warp { block_slot, index, .. } = self.warps[warp.slot];
        let own = &mut self.warps[warp.slot];
        own.ahead += u32::from(ends_block);
        own.barriers_ahead += u32::from(is_block_barrier);
        if !matches!(probe, Probe::Absent | Probe::Present) {
            if self.may_rejoin_behind(warp.slot, pc) {
                self.warps[warp.slot].beyond.push(pc);
            }
            return;
        }
        self.skip_table.read(cx.cycle, block_slot);
        let instance = self.warps[warp.slot].instances[pc as usize];
        let block = &mut self.blocks[block_slot];
        let role = if skipped {
            if self.looked_up.0 != cx.cycle {
                self.looked_up = (cx.cycle, Vec::new());
            }
            if !self.looked_up.1.contains(&pc) {
                self.looked_up.1.push(pc);
            }
            match block.follow(index, pc, instance) {
                Some(shared) => Role::Follows(shared),
                None => Role::Alone(Lost::Replaced),
            }
        } else {
            let results = usize::from(cx.program.insts[pc as usize].dst_count);
            let entry = Entry::new(pc, instance, is_load.then_some(is_global));
            let sync = self.params.register_sync && !self.params.ideal;
            match block.lead(index, entry, results, self.params.entries as usize, sync) {
                Some(id) => {
                    if block.by_id(id).is_some_and(|entry| entry.gathers) {
                        self.counts.synchronised_registers += 1;
                        self.warps[warp.slot].gathers = Some(id);
                    }
                    self.skip_table.write(cx.cycle, block_slot);
                    let versions = block.by_id(id).map(|entry| entry.shared.versions);
                    Role::Leads(id, versions.unwrap_or_default())
                }
                None if block.on_path.count_ones() < 2 => Role::Alone(Lost::Alone),
                None => Role::Alone(Lost::NoRegister),
            }
        };
        self.skip_table.set_used(cx.cycle, block_slot, block.entries_in_use() as u32);
        let own = &mut self.warps[warp.slot];
        own.instances[pc as usize] += 1;
        own.coming.push_back(Coming { pc, role });
    }

    fn flushed(&mut self, _cx: &mut Cx<'_>, warp: &WarpView<'_>, _resume: Option<u32>) {
        self.discard(warp.slot);
        let own = &mut self.warps[warp.slot];
        (own.ahead, own.barriers_ahead) = (0, 0);
        own.beyond.clear();
    }

    fn issue(&self, _now: u64, warp: &WarpView<'_>, what: &Issuing<'_>) -> IssueVerdict {
        let Issuing::Program(inst) = what else { return IssueVerdict::Issue };
        if self.needs_copy(warp, inst) {
            return IssueVerdict::Stall(Stall::Copy.index());
        }
        let own = &self.warps[warp.slot];
        let block = &self.blocks[own.block_slot];
        let waits = self.params.cf_sync
            && self.synchronises(warp, inst)
            && block.released >> own.index & 1 == 0
            && !block.completes_branch(own.index);
        if waits { IssueVerdict::Stall(Stall::Branch.index()) } else { IssueVerdict::Issue }
    }

    fn stalled(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, cause: u8) {
        let Some(timed) = cx.program.insts.get(warp.next_pc as usize) else { return };
        if cause == Stall::Copy.index() {
            self.copy_out(cx, warp.slot, |reg| timed.destinations().contains(&reg));
        } else {
            let Warp { block_slot, index, .. } = self.warps[warp.slot];
            let lanes = warp.next_lanes;
            let view = InstView::new(warp.next_pc, timed, lanes, lanes, crate::InFlightId::NONE);
            self.blocks[block_slot].arrive(index, outcome(warp, &view));
        }
    }

    fn issued(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>, _verdict: IssueVerdict) {
        match what {
            Issuing::Program(inst) => {
                self.control_issued(cx, warp, inst);
                self.stored(warp, inst);
            }
            Issuing::Micro(_, op) => {
                let reg = op.tag as u8;
                if let Some(version) = self.shared(warp.slot, reg) {
                    let block_slot = self.warps[warp.slot].block_slot;
                    let row = self.blocks[block_slot].version(version).row;
                    self.warps[warp.slot].own[usize::from(reg)] = row;
                    self.map(warp.slot, reg, None);
                    self.counts.copies += 1;
                }
            }
            _ => {}
        }
    }

    /// Operands: those that are shared from the leader's registers.
    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        if !self.shares {
            return Ok(());
        }
        let block_slot = self.warps[warp.slot].block_slot;
        for operand in operands.iter_mut().filter(|operand| operand.is_from_bank()) {
            self.counts.rename_lookups += 1;
            match self.shared(warp.slot, operand.reg) {
                Some(version) => {
                    let version = self.blocks[block_slot].version(version);
                    cx.compare(warp, inst, operand.reg, &version.row)?;
                    self.version_table.read(cx.cycle, block_slot);
                    self.counts.shared_reads += 1;
                    if self.params.bank_conflicts {
                        operand.from = ReadFrom::Bank(version.bank);
                    }
                }
                None if self.unseen.contains(operand.reg) => {}
                None => {
                    let own = &self.warps[warp.slot].own[usize::from(operand.reg)];
                    cx.compare(warp, inst, operand.reg, own)?;
                }
            }
        }
        let role = self.role(warp, inst);
        let exec = warp.effect(inst);
        let (leads, why) = match role {
            Role::Leads(id, versions) => {
                self.counts.led_instructions += 1;
                let why = match self.blocks[block_slot]
                    .was_removed(inst.pc, self.instance_of(warp.slot, inst.pc))
                {
                    Some(Removed::Replaced) => Lost::Replaced,
                    Some(Removed::Stored) => Lost::Stored,
                    None => Lost::Leader,
                };
                if exec == 0 {
                    // Nobody computes anything: the followers skip it as well.
                    let block = &mut self.blocks[block_slot];
                    block.drop_uses(versions);
                    block.written(id, None);
                    (None, why)
                } else {
                    // The write on its way: a skipped instruction may map the register anew before it arrives.
                    self.blocks[block_slot].add_uses(versions);
                    for (reg, version) in inst.inst.destinations().iter().zip(versions.as_slice()) {
                        self.map(warp.slot, *reg, Some(*version));
                        self.version_table.write(cx.cycle, block_slot);
                    }
                    (Some((id, versions)), why)
                }
            }
            Role::Alone(why) => {
                for reg in inst.inst.destinations() {
                    if exec != 0 && self.shared(warp.slot, *reg).is_some() {
                        if warp.leaves_lanes(inst) {
                            // The other lanes lose the value, which was to be copied before.
                            return Err(cx.missing(warp, inst.pc, *reg, !exec & warp.alive));
                        }
                        self.map(warp.slot, *reg, None);
                    }
                }
                (None, why)
            }
            // A follower's instruction was never fetched, so that it cannot be collected.
            Role::Follows(_) => (None, Lost::Off),
        };
        *self.flight_mut(inst) = Flight { leads, why };
        Ok(())
    }

    /// What the leader has computed.
    fn answered(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        _how: Answered,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        let Some(Coming { role: Role::Follows(shared), .. }) = self.warps[warp.slot].coming.pop_front()
        else {
            return Ok(());
        };
        let block_slot = self.warps[warp.slot].block_slot;
        self.counts.skipped_by_followers += 1;
        self.counts.skipped_loads += u64::from(self.statics[inst.pc as usize].is_load);
        cx.opportunity(results.len() as u64);
        for (result, version) in results.iter().zip(shared.versions.as_slice()) {
            let row = self.blocks[block_slot].version(*version).row;
            if self.params.ignore_store && first_difference(&row, result.row(), inst.exec).is_some() {
                // The program goes on with what it loaded.
                self.counts.stale_loads += 1;
                cx.keep_result(result);
                merge(&mut self.warps[warp.slot].own[usize::from(result.reg)], result.row(), inst.exec);
                self.map(warp.slot, result.reg, None);
                self.blocks[block_slot].drop_use(*version);
                continue;
            }
            cx.supply_result(warp, inst, result, &row)?;
            self.map(warp.slot, result.reg, Some(*version));
        }
        if results.is_empty()
            && let Some(reg) =
                inst.inst.destinations().first().filter(|_| !shared.versions.as_slice().is_empty())
        {
            // The leader computed something.
            return Err(cx.missing(warp, inst.pc, *reg, warp.threads));
        }
        for (pred, lanes) in inst.inst.inst.dst_preds().zip(shared.predicates) {
            cx.supply_predicate(warp, inst, pred.0, lanes)?;
        }
        self.version_table.write(cx.cycle, block_slot);
        Ok(())
    }

    /// Results: a leader's into the physical registers that it got, others into the warp's own.
    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        if !self.shares {
            cx.opportunity(writes.len() as u64);
            cx.lost(Lost::Off, writes.len() as u64);
            return Ok(());
        }
        let block_slot = self.warps[warp.slot].block_slot;
        let flight = *self.flight_mut(inst);
        cx.opportunity(writes.len() as u64);
        cx.lost(flight.why, writes.len() as u64);
        let Some((id, versions)) = flight.leads else {
            for write in writes {
                merge(&mut self.warps[warp.slot].own[usize::from(write.reg)], write.row(), inst.exec);
            }
            return Ok(());
        };
        let block = &mut self.blocks[block_slot];
        for (write, version) in writes.iter_mut().zip(versions.as_slice()) {
            block.write(*version, write.row());
            if self.params.bank_conflicts
                && let WriteTo::Bank(_) = write.to
            {
                write.to = WriteTo::Bank(block.version(*version).bank);
            }
        }
        let mut predicates = [0; 2];
        for (held, pred) in predicates.iter_mut().zip(inst.inst.inst.dst_preds()) {
            *held = warp.preds[usize::from(pred.0)];
        }
        block.written(id, Some(predicates));
        block.drop_uses(versions);
        Ok(())
    }

    fn end_warp(&mut self, _cx: &mut Cx<'_>, warp_slot: usize) {
        let Warp { block_slot, index, .. } = self.warps[warp_slot];
        self.discard(warp_slot);
        for reg in 0..self.warps[warp_slot].shared.len() {
            self.map(warp_slot, reg as u8, None);
        }
        self.blocks[block_slot].end(index);
        if self.blocks[block_slot].opens_barrier() {
            self.rejoin(block_slot);
        }
    }

    fn describe(&self) -> String {
        let registers: usize = self.blocks.iter().map(Block::registers_in_use).sum();
        let entries: usize = self.blocks.iter().map(Block::entries_in_use).sum();
        format!("{registers} shared registers and {entries} entries of skip tables in use")
    }
}

impl Darsie {
    /// The instance of an instruction that a warp is about to execute: what it has fetched is counted already.
    fn instance_of(&self, slot: usize, pc: u32) -> u32 {
        let own = &self.warps[slot];
        let further = own.coming.iter().filter(|coming| coming.pc == pc).count() as u32;
        own.instances[pc as usize].saturating_sub(further + 1)
    }
}
