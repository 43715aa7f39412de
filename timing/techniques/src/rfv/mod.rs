//! Register file virtualization (Jeon et al., MICRO 2015), as RegMutex is compared with it (sections 4.2, 4.3.2 and
//! 4.4.3): a renaming table maps the registers of warps to physical registers, which results take and last uses
//! give back, so that an SM holds more blocks than its register file has registers for.
//!
//! `rf-virtualization` of the CORF chapter releases registers too, but an SM holds the blocks that it would hold anyway: there
//! always is a free register, nothing waits, and what is saved is leakage. Here the registers of all blocks may exceed the
//! file. A result's register is taken when its instruction issues; an instruction that finds none waits, or waits because
//! the free ones are kept for a block that can finish with them ([`throttle`](super::throttle)). Releases are told by metadata
//! instructions, which are fetched unless the release flag cache holds their flags ([`metadata`]).
//!
//! Renaming table, physical registers and the points at which registers die in diverged warps are those of
//! [`corf`](super::corf). A register keeps its place while a result for it is on its way.

mod metadata;
#[cfg(test)]
mod tests;

use super::corf::allocator::{Allocator, Hints, Packing};
use super::corf::coalescing::{Mapping, Places as _};
use super::corf::physical::{Allocation, PhysicalFile};
use super::corf::rename::Renaming;
use super::deaths::Deaths;
use super::throttle::{Stall, Throttle};
use super::{
    Claim, Cx, Edge, InstView, IssueVerdict, Issuing, Launch, MicroId, MicroOp, OperandRead, ParamValue,
    Params as _, Plan, ReadFrom, RegisterWrite, Registration, Shape, Storage, StorageInfo, Technique,
    TechniqueInfo, ValueMismatch, WarpView, WriteTo, corf, renaming_table,
};
use metadata::FlagCache;
use warplab_analysis::release::Release;
use warplab_technique::Row;
use warplab_technique::config::GpuConfig;
use warplab_technique::declare::Cause;
use warplab_technique::program::{RegSet, TimedInst};
use warplab_technique::{counts, params};

params! {
    /// `[technique.rfv]`.
    struct Params {
        /// Registers that blocks are admitted to, in percent of the register file: 200 as where GPU-Shrink halves
        /// the file.
        space: u32 = 200, 100..=1600;
        /// Where a register is allocated: in the bank that it has without renaming, so that the compiler's choice of
        /// banks stays, or in the first entry of the whole file.
        allocation: &'static str = "home_bank", &["first_fit", "home_bank"];
        /// Cycles that the stage of the renaming table adds before the first register read.
        renaming_cycles: u32 = 1, 0..=16;
        /// Lookups that a bank of the renaming table serves per cycle; results update it through a port of their own.
        table_ports: u32 = 2, 1..=64;
        /// Metadata instructions whose flags the release flag cache holds.
        flag_cache_entries: u32 = 10, 0..=1024;
        /// Whether sub-arrays of the register banks without contents are switched off.
        power_gating: bool = true;
        /// Sub-arrays of a bank.
        subarrays: u32 = 4, 1..=64;
        /// Whether registers are released when they are dead, and more blocks are admitted; if false, a register is
        /// allocated by its first result until its warp ends.
        mechanism: bool = true;
        /// Whether registers never run out, flags are always in the cache, and the table has as many ports as are asked
        /// for; occupancy is that of the real file.
        ideal: bool = false;
    }
}

counts! {
    /// Counters of register file virtualization.
    struct Counts {
        /// Registers that results took.
        allocations;
        /// Registers that were released because they were dead.
        releases;
        /// Registers that warps held when they ended.
        releases_at_exit;
        /// Metadata instructions that were fetched.
        metadata_fetches in "technique_logic";
        /// Metadata instructions that were passed over because the release flag cache held their flags.
        metadata_passed_over;
        /// Blocks that began while the SM held as many as its registers suffice for without renaming.
        additional_blocks;
        /// Sum over cycles of physical registers that held a value.
        physical_register_cycles;
        /// Sum over cycles of registers in sub-arrays that held a value.
        powered_register_cycles;
        /// Sum over cycles of architectural registers of resident warps.
        architectural_register_cycles;
    }
}

pub(crate) const INFO: TechniqueInfo = TechniqueInfo::new(
    "rfv",
    "physical registers are shared by more blocks than they suffice for, from result to last use",
    "Jeon et al., GPU Register File Virtualization, MICRO 2015; compared in RegMutex, section 4.4.3",
)
.with_uniform_registers()
.with_claims(&[Claim::Occupancy, Claim::RegisterMapping, Claim::ResultDestination, Claim::WaitingWarps])
.with_params(Params::declared)
.with_counters(Counts::DECLARED)
.with_stalls(Stall::DECLARED)
.with_storage(&[
    StorageInfo::new("renaming", "the renaming table", "technique_storage"),
    StorageInfo::new("flag_cache", "the release flag cache", "technique_storage"),
]);

/// Entry in the list of techniques.
pub(crate) const REGISTRATION: Registration =
    Registration::new(&INFO, |_, section| Ok(Box::new(Rfv::new(section)?)));

/// More lookups than a bank of the table is ever asked for in a cycle.
const UNLIMITED: u32 = 1024;
/// Bits of the address by which the release flag cache finds a metadata instruction.
const FLAG_TAG: u32 = 16;

/// A warp's results.
#[derive(Clone, Debug, Default)]
struct Results {
    block_slot: usize,
    /// Destinations of instructions in flight.
    on_the_way: RegSet,
    /// Those for which a physical register was taken at issue.
    taken: RegSet,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Rfv {
    params: Params,
    deaths: Option<Deaths>,
    renaming: Option<Renaming>,
    throttle: Throttle,
    warps: Vec<Results>,
    flags: FlagCache,
    /// The first of the metadata instructions' micro-operations, which follow each other.
    first_metadata: u16,
    /// Blocks that an SM would hold without the technique, and holds.
    own_blocks: u32,
    resident_blocks: u32,
    resident_warps: u64,
    registers_per_warp: u64,
    /// Bits that tell which physical registers are free.
    free_bits: u64,
    /// Cycle up to which occupied registers have been accounted.
    accounted: u64,
    table: Storage,
    flag_storage: Storage,
    counts: Counts,
}

impl Rfv {
    /// Reads `[technique.rfv]`.
    fn new(section: &toml::Table) -> Result<Rfv, String> {
        Ok(Rfv {
            params: Params::read(section)?,
            deaths: None,
            renaming: None,
            throttle: Throttle::new(0, 0, 0),
            warps: Vec::new(),
            flags: FlagCache::default(),
            first_metadata: 0,
            own_blocks: 0,
            resident_blocks: 0,
            resident_warps: 0,
            registers_per_warp: 0,
            free_bits: 0,
            accounted: 0,
            table: Storage::new(Shape::new(1, 0, 0)),
            flag_storage: Storage::new(Shape::new(1, 0, 0)),
            counts: Counts::default(),
        })
    }

    fn renaming(&mut self) -> &mut Renaming {
        self.renaming.as_mut().expect("a technique is prepared before its hooks are called")
    }

    /// The physical file; with `ideal`, one that has room for every register of every warp slot.
    fn file(&self, config: &GpuConfig, registers: u32) -> Result<PhysicalFile, String> {
        let allocation = match self.params.allocation {
            "first_fit" => Allocation::FirstFit,
            _ => Allocation::HomeBank,
        };
        let mut config = config.clone();
        if self.params.ideal {
            let unit = 32 * config.register_file.banks;
            let all = (config.sm.max_warps * registers * 32).next_multiple_of(unit);
            config.sm.registers = config.sm.registers.max(all);
        }
        Ok(PhysicalFile::new(&config, allocation)?.with_subarrays(self.params.subarrays))
    }

    /// Puts the metadata instructions into the plan.
    fn insert_metadata(&mut self, launch: &Launch<'_>, plan: &mut Plan, release: &Release) {
        for (index, before) in metadata::positions(launch.program, release).into_iter().enumerate() {
            let op = plan.micro_op(MicroOp::marker("release flags", index as u32));
            if index == 0 {
                self.first_metadata = op.0;
            }
            plan.insert(before, Edge::Every, op);
        }
    }

    /// Physical registers that an instruction of a warp takes for its results.
    #[inline]
    fn wanted(&self, slot: usize, inst: &TimedInst) -> u32 {
        let Some(renaming) = &self.renaming else { return 0 };
        let (mapped, on_the_way) = (renaming.mapped(slot), &self.warps[slot].on_the_way);
        let lacks = |reg: &&u8| !mapped.contains(**reg) && !on_the_way.contains(**reg);
        inst.destinations().iter().filter(lacks).count() as u32
    }

    /// Adds the registers occupied since the last call to the counters.
    fn account(&mut self, cx: &mut Cx<'_>) {
        let passed = cx.cycle - std::mem::replace(&mut self.accounted, cx.cycle);
        if passed > 0 {
            let file = &self.renaming().allocator.file;
            let [in_use, powered] = [file.in_use(), file.powered()].map(u64::from);
            self.counts.physical_register_cycles += in_use * passed;
            self.counts.powered_register_cycles += powered * passed;
            self.counts.architectural_register_cycles +=
                self.resident_warps * self.registers_per_warp * passed;
        }
    }

    /// Releases the registers of a warp that no lane may read any more.
    fn release_dead(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, inst: &InstView<'_>) {
        let Some(deaths) = &mut self.deaths else { return };
        let mut kept = deaths.kept(warp.slot, inst.pc, inst.active);
        kept.insert_all(&self.warps[warp.slot].on_the_way);
        self.account(cx);
        // Free registers are marked in a bit vector beside the table.
        let renaming = self.renaming.as_mut().expect("prepared");
        let released = renaming.release_all_but(warp.slot, &kept, &mut corf::account::Counts::default());
        self.counts.releases += u64::from(released);
        self.throttle.give_back(warp.block_slot, released);
    }
}

impl Technique for Rfv {
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
        vec![&self.table, &self.flag_storage]
    }

    fn powered_register_cycles(&self) -> Option<u64> {
        self.params.power_gating.then_some(self.counts.powered_register_cycles)
    }

    fn further_bits(&self) -> u64 {
        self.free_bits
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        let (program, config) = (launch.program, launch.config);
        let (warps, registers) = (config.sm.max_warps as usize, program.registers_per_thread);
        let physical = config.sm.registers / 32;
        let demand = launch.threads_per_block().div_ceil(32) * registers;
        if demand > physical {
            return Err(format!(
                "a block needs {demand} registers of a warp at most, and the register file has {physical}"
            ));
        }
        self.own_blocks = launch.occupancy(plan).map_or(0, |own| own.blocks);
        let file = self.file(config, registers)?;
        let available = file.rows.len() as u32;
        if self.params.mechanism {
            let space = u64::from(config.sm.registers) * u64::from(self.params.space) / 100;
            let space = u32::try_from(space).unwrap_or(u32::MAX);
            plan.register_blocks = Some(launch.occupancy_with_registers(plan, space)?.blocks);
            let release = Release::of(&program.kernel, &program.kernel.flow());
            if !self.params.ideal {
                self.insert_metadata(launch, plan, &release);
            }
            self.deaths = Some(Deaths::new(warps, release));
            plan.hooks.inserted = !plan.inserted().is_empty();
        }
        let hints = Hints::Pairs(Box::new([None; 256]));
        let packing = Packing { packs: false, shrinks: false };
        let allocator = Allocator::new(hints, Vec::new(), file, packing);
        self.renaming = Some(Renaming::new((warps, registers as usize), allocator));
        self.throttle = Throttle::new(available, demand, config.sm.max_blocks as usize);
        self.warps = vec![Results::default(); warps];
        self.flags = FlagCache::new(self.params.flag_cache_entries);
        (self.resident_blocks, self.resident_warps, self.accounted) = (0, 0, 0);
        self.registers_per_warp = u64::from(registers);
        self.free_bits = u64::from(physical);
        self.counts = Counts::default();
        let entry = u32::BITS - (physical - 1).leading_zeros();
        let ports = if self.params.ideal { UNLIMITED } else { self.params.table_ports };
        self.table = renaming_table::storage(config, entry, ports);
        let shape = Shape::new(1, self.params.flag_cache_entries, metadata::PAYLOAD + FLAG_TAG);
        self.flag_storage = Storage::new(shape.with_ports(UNLIMITED, 1));
        plan.extra_collect_cycles += self.params.renaming_cycles;
        plan.hooks.issue = true;
        plan.hooks.collect = true;
        plan.hooks.write_back = true;
        Ok(())
    }

    fn start_block(&mut self, _cx: &mut Cx<'_>, _block_slot: usize, _block: u32) {
        self.counts.additional_blocks += u64::from(self.resident_blocks >= self.own_blocks);
        self.resident_blocks += 1;
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        self.account(cx);
        self.resident_warps += 1;
        self.renaming().clear(warp.slot);
        self.warps[warp.slot] = Results { block_slot: warp.block_slot, ..Results::default() };
        if let Some(deaths) = &mut self.deaths {
            deaths.start(warp.slot);
        }
    }

    fn passes_over(&self, _now: u64, _warp: &WarpView<'_>, op: MicroId) -> bool {
        self.flags.has(op.0 - self.first_metadata)
    }

    fn inserted_fetched(&mut self, cx: &mut Cx<'_>, _warp: &WarpView<'_>, op: MicroId, passed_over: bool) {
        self.flags.touch(op.0 - self.first_metadata);
        self.flag_storage.read(cx.cycle, 0);
        if passed_over {
            self.counts.metadata_passed_over += 1;
        } else {
            self.counts.metadata_fetches += 1;
            self.flag_storage.write(cx.cycle, 0);
        }
    }

    fn issue(&self, _now: u64, warp: &WarpView<'_>, what: &Issuing<'_>) -> IssueVerdict {
        let Issuing::Program(inst) = what else { return IssueVerdict::Issue };
        match self.wanted(warp.slot, inst.inst) {
            0 => IssueVerdict::Issue,
            count => match self.throttle.may_take(warp.block_slot, count) {
                Ok(()) => IssueVerdict::Issue,
                Err(stall) => IssueVerdict::Stall(stall.index()),
            },
        }
    }

    fn issued(&mut self, _cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>, _verdict: IssueVerdict) {
        let Issuing::Program(inst) = what else { return };
        for reg in inst.inst.destinations() {
            let renaming = self.renaming.as_ref().expect("prepared");
            let own = &mut self.warps[warp.slot];
            if !renaming.mapped(warp.slot).contains(*reg) && !own.on_the_way.contains(*reg) {
                own.taken.insert(*reg);
                self.throttle.take(warp.block_slot, 1);
                self.counts.allocations += 1;
            }
            own.on_the_way.insert(*reg);
        }
    }

    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        for operand in operands.iter_mut().filter(|operand| operand.is_from_bank()) {
            let Rfv { renaming, table, .. } = &mut *self;
            let renaming = renaming.as_mut().expect("a technique is prepared before its hooks are called");
            let access =
                table.read(cx.cycle, usize::from(renaming.allocator.file.home_bank(warp.slot, operand.reg)));
            let found = match renaming.look_up(warp.slot, operand.reg, inst.active) {
                Mapping::At(found) => found,
                Mapping::Lost(lanes) => return Err(cx.missing(warp, inst.pc, operand.reg, lanes)),
                Mapping::Unwritten => {
                    cx.unwritten(warp, inst, operand.reg)?;
                    continue;
                }
            };
            let mut space = Row::ZERO;
            cx.compare(warp, inst, operand.reg, renaming.value(&found, &mut space))?;
            operand.from = ReadFrom::BankBehind(found.bank, access);
        }
        self.release_dead(cx, warp, inst);
        Ok(())
    }

    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        self.account(cx);
        let Rfv { renaming, table, warps, throttle, counts, .. } = self;
        let renaming = renaming.as_mut().expect("a technique is prepared before its hooks are called");
        let own = &mut warps[warp.slot];
        for write in writes.iter_mut().filter(|write| matches!(write.to, WriteTo::Bank(_))) {
            let mut unused = corf::account::Counts::default();
            let written = renaming.write(warp.slot, write.reg, write.row(), inst.exec, &mut unused);
            table.write(cx.cycle, usize::from(renaming.allocator.file.home_bank(warp.slot, write.reg)));
            write.to = WriteTo::Bank(written.bank);
        }
        for reg in inst.inst.destinations() {
            own.on_the_way.remove(*reg);
            if own.taken.contains(*reg) {
                own.taken.remove(*reg);
                // An instruction that took effect in no lane needs no register.
                if !renaming.mapped(warp.slot).contains(*reg) {
                    throttle.give_back(own.block_slot, 1);
                    counts.releases += 1;
                }
            }
        }
        Ok(())
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        self.account(cx);
        self.resident_warps -= 1;
        // Registers of instructions that took effect in no lane and were never completed, such as a barrier's.
        let Results { block_slot, mut taken, .. } = std::mem::take(&mut self.warps[warp_slot]);
        taken.insert_all(self.renaming().mapped(warp_slot));
        let held = taken.len() as u32;
        self.renaming().clear(warp_slot);
        self.counts.releases_at_exit += u64::from(held);
        self.throttle.give_back(block_slot, held);
    }

    fn end_block(&mut self, _cx: &mut Cx<'_>, _block_slot: usize) {
        self.resident_blocks -= 1;
    }

    fn describe(&self) -> String {
        let (free, held) = (self.throttle.free(), self.throttle.held());
        format!("{free} physical registers free; held by block slots: {held:?}")
    }
}
