//! LARF, the locality-aware register file: a load from global memory whose vector another warp has loaded gets that
//! warp's physical register, or the merged lanes of two (LARF, sections 5.3 and 5.5).
//!
//! `vector` describes what a load accesses, `table` is the address mapping table, `registers` the mapping of
//! registers with the number of sharers. `serving` looks loads up and enters them, `changes` ends entries, `order` keeps
//! loads and stores apart that reach memory in another order than they issue, `accesses` tells what an instruction accesses.
//! `admission` lets more blocks into the registers that sharing spares. `packed` puts the registers into the register file
//! of CORF.
//! Every operand is compared with the recorded register, and every shared value with the recorded result.

mod accesses;
mod account;
mod admission;
mod changes;
pub(super) mod joint;
mod order;
mod packed;
mod registers;
mod reservations;
mod serving;
mod table;
#[cfg(test)]
mod tests;
mod vector;

use super::deaths::Deaths;
use super::renaming_table;
use super::throttle::Stall;
use super::{
    AccessVerdict, Answered, Claim, Cx, InstView, IssueVerdict, Issuing, Launch, MemAccess, OperandRead,
    ParamValue, Params as _, Plan, ReadFrom, RegisterWrite, Registration, Shape, Storage, StorageInfo,
    Technique, TechniqueInfo, ValueMismatch, WarpView, WriteTo,
};
use accesses::{acquires, addresses, passes_other_blocks};
use account::{Counts, Lost};
use order::Order;
use packed::{OfReads, Packed};
use registers::{Layout, Physical, Registers};
use reservations::Reservations;
use table::{End, Found, Table};
use trace_format::isa::Kind;
use trace_format::isa::space::Space;
use vector::{Lanes, lines};
use warplab_analysis::release::Release;
use warplab_technique::Row;
use warplab_technique::declare::Cause;
use warplab_technique::params;
use warplab_technique::program::Path;

params! {
    /// `[technique.larf]`.
    struct Params {
        /// Entries of the address mapping table; 0 for a table without bound (section 5.6: 400 on Pascal, 200 on Fermi).
        entries: u32 = 400, 0..=65536;
        /// Strides of an entry: one for all lanes as in the paper, or one for each dimension of a block that is
        /// narrower than a warp.
        strides: u32 = 1, 1..=3;
        /// Whether lanes of one or two entries are merged (section 5.3.2); if false, only whole vectors are shared.
        partial: bool = true;
        /// Whether a block may share what another block has loaded.
        across_blocks: bool = true;
        /// When a register gives its physical register up: after its last read (section 5.5.1), or when it is written
        /// again or its warp ends.
        release: &'static str = "last_read", &["last_read", "overwrite"];
        /// Registers that blocks are admitted to, in percent of the register file. With 100 an SM holds the blocks that it
        /// holds without sharing; with more, blocks run in the registers that sharing spares (section 5.6.3).
        space: u32 = 100, 100..=1600;
        /// Cycles of a lookup in the address mapping table.
        lookup_cycles: u32 = 1, 0..=64;
        /// Lookups in the address mapping table per cycle, and as many updates; the paper does not say how many.
        map_ports: u32 = 1, 1..=16;
        /// Cycles to shift and merge two registers when they have been read; the paper does not say how many.
        merge_cycles: u32 = 2, 0..=64;
        /// Lookups that a bank of the renaming table serves per cycle; results update it through a port of their own.
        table_ports: u32 = 2, 1..=64;
        /// Whether loads share, and further blocks are admitted; without it only the hardware is there.
        mechanism: bool = true;
        /// Whether the table has no bound, a stride for each index, and lookups and merges that take no time, and whether
        /// registers keep their values until they are written again and never run out.
        ideal: bool = false;
    }
}

/// Entry in the list of techniques.
pub(crate) const REGISTRATION: Registration =
    Registration::new(&INFO, |_, section| Ok(Box::new(Larf::new(section)?)));

const INFO: TechniqueInfo = TechniqueInfo::new(
    "larf",
    "loads of vectors that another warp's registers hold share these registers",
    "LARF (H. Asghari Esfeden's dissertation, chapter 5), sections 5.3 and 5.5",
)
.with_uniform_registers()
.with_claims(&[
    Claim::RegisterMapping,
    Claim::ResultDestination,
    Claim::MemoryAccesses,
    Claim::Occupancy,
    Claim::WaitingWarps,
])
.with_params(Params::declared)
.with_counters(Counts::DECLARED)
.with_stalls(Stall::DECLARED)
.with_losses("a register that a load from global memory would write", Lost::DECLARED)
.with_storage(STORAGE);

const STORAGE: &[StorageInfo] = &[
    StorageInfo::new("address_map", "the address mapping table", "technique_storage"),
    StorageInfo::new("merge_slot", "the collector slot in which registers are merged", "technique_storage"),
    StorageInfo::new("renaming", "the renaming table", "technique_storage"),
];

/// Bits of an entry of the address mapping table: base, stride, lanes and physical register (section 5.6.4), and
/// what the paper leaves out: the width, and three more registers for loads of four words.
const ENTRY_BITS: u32 = 32 + 8 + 32 + 11 + 3 + 3 * 11;
/// Bits of each further stride of an entry.
const STRIDE_BITS: u32 = 32;
/// Bits of an entry of the renaming table: a physical register and a valid bit.
const TABLE_BITS: u32 = 11 + 1;
/// Bits of its slices, where registers are packed.
const SLICE_BITS: u32 = 4;

impl Params {
    fn without_limits(self) -> Params {
        Params {
            entries: 0,
            strides: 3,
            release: "overwrite",
            lookup_cycles: 0,
            map_ports: 64,
            merge_cycles: 0,
            table_ports: 64,
            ..self
        }
    }
}

/// What has become of a load between its lookup and its writeback.
#[derive(Clone, Debug, Default)]
enum Fate {
    /// Its result is written as any other.
    #[default]
    Plain,
    /// These physical registers get its result, and an entry names them.
    Entered(Vec<Physical>),
    /// It was given physical registers that have its result.
    Shared,
    /// Its result is merged from other registers.
    Merged,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Larf {
    info: &'static TechniqueInfo,
    given: Params,
    /// The parameters without limits, if that is asked for.
    params: Params,
    numbering: Lanes,
    table: Table,
    registers: Option<Registers>,
    /// Where registers die, if they are released after their last read.
    deaths: Option<Deaths>,
    order: Order,
    fates: Vec<Fate>,
    /// Values of the load that is being answered.
    answer: Vec<Row>,
    /// Warps whose last instruction was a fence that other blocks' stores pass.
    fenced: u64,
    /// CORF's part, if registers are packed.
    packed: Option<Packed>,
    map: Storage,
    merge_slot: Storage,
    renaming: Storage,
    counts: Counts,
    accounted: u64,
    resident_warps: u64,
    registers_per_warp: u64,
    /// Blocks that an SM would hold without sharing, and holds.
    own_blocks: u32,
    resident_blocks: u32,
    further_bits: u64,
}

impl Larf {
    /// Reads `[technique.larf]`.
    fn new(section: &toml::Table) -> Result<Larf, String> {
        let given = Params::read(section)?;
        let params = if given.ideal { given.without_limits() } else { given };
        Ok(Larf {
            info: &INFO,
            given,
            params,
            numbering: Lanes::ONE,
            table: Table::default(),
            registers: None,
            deaths: None,
            order: Order::default(),
            fates: Vec::new(),
            answer: Vec::new(),
            fenced: 0,
            packed: None,
            map: Storage::new(Shape::new(1, 0, 0)),
            merge_slot: Storage::new(Shape::new(1, 2, 1024)),
            renaming: Storage::new(Shape::new(1, 0, TABLE_BITS)),
            counts: Counts::default(),
            accounted: 0,
            resident_warps: 0,
            registers_per_warp: 0,
            own_blocks: 0,
            resident_blocks: 0,
            further_bits: 0,
        })
    }

    fn registers(&mut self) -> &mut Registers {
        self.registers.as_mut().expect("a technique is prepared before its hooks are called")
    }

    /// Adds the registers in use since the last call to the counters.
    fn account(&mut self, now: u64) {
        let passed = now - std::mem::replace(&mut self.accounted, now);
        if passed > 0 {
            let (physical, live) = self.registers().usage();
            let reservations = self.registers().reservations.as_ref();
            let reserved = reservations.map_or(0, |reservations| reservations.reserved());
            self.counts.reserved_register_cycles += reserved * passed;
            self.counts.physical_register_cycles += physical * passed;
            self.counts.live_register_cycles += live * passed;
            self.counts.architectural_register_cycles +=
                self.resident_warps * self.registers_per_warp * passed;
        }
    }

    /// Finds each operand's physical register and compares its value.
    fn find_operands(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        for operand in operands.iter_mut().filter(|operand| operand.is_from_bank()) {
            let registers = self.registers();
            match registers.find(warp.slot, operand.reg, inst.active) {
                registers::Found::Unwritten => cx.unwritten(warp, inst, operand.reg)?,
                registers::Found::Lost(lanes) => {
                    return Err(cx.missing(warp, inst.pc, operand.reg, lanes));
                }
                registers::Found::At(physical) => {
                    let mut space = Row::ZERO;
                    cx.compare(warp, inst, operand.reg, registers.row(physical, &mut space))?;
                    let bank = registers.bank(physical);
                    let access = self.renaming.read(cx.cycle, self.renaming_bank(warp.slot, operand.reg));
                    operand.from = ReadFrom::BankBehind(bank, access);
                }
            }
        }
        Ok(())
    }

    /// A result has arrived in a physical register; where registers are packed it gets its slices now.
    fn arrive(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, reg: u8, physical: Physical) {
        let (Some(packed), Some(registers)) = (&mut self.packed, &mut self.registers) else { return };
        if let Some(left) = registers.arrive(warp.slot, reg, physical, &mut packed.counts) {
            cx.read_bank(left);
        }
    }

    fn renaming_bank(&self, slot: usize, reg: u8) -> usize {
        self.registers.as_ref().map_or(0, |registers| usize::from(registers.table_bank(slot, reg)))
    }
}

impl Technique for Larf {
    fn info(&self) -> &'static TechniqueInfo {
        self.info
    }

    fn params(&self) -> Vec<(&'static str, ParamValue)> {
        let packed = self.packed.iter().flat_map(|packed| packed.values.iter().copied());
        self.given.values().into_iter().chain(packed).collect()
    }

    fn counts(&self) -> Vec<u64> {
        let packed = self.packed.iter().flat_map(Packed::counted);
        self.counts.values().into_iter().chain(packed).collect()
    }

    fn powered_register_cycles(&self) -> Option<u64> {
        let packed = self.packed.as_ref()?;
        packed.settings.gates.then_some(self.counts.physical_register_cycles)
    }

    fn storage(&self) -> Vec<&Storage> {
        vec![&self.map, &self.merge_slot, &self.renaming]
    }

    fn further_bits(&self) -> u64 {
        self.further_bits
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        let (program, config) = (launch.program, launch.config);
        plan.hooks.access = true;
        self.numbering = Lanes::of_block(launch.block, self.params.strides);
        self.table = Table::new(self.params.entries);
        let layout = match &self.packed {
            None => Layout::whole(config),
            Some(packed) => Layout::Packed(Box::new(packed.settings.compile(launch, plan)?)),
        };
        let space = if self.params.mechanism { self.params.space } else { 100 };
        let admission = admission::admit(launch, plan, space, self.params.ideal)?;
        let reserves = admission.reservations.is_some();
        (self.own_blocks, self.resident_blocks) = (admission.own, 0);
        let registers = program.registers_per_thread;
        self.registers = Some(Registers::new(config, registers, layout, admission.reservations));
        let releases = self.packed.as_ref().is_none_or(|packed| packed.settings.releases);
        let last_read = self.params.release == "last_read" && releases;
        self.deaths = last_read.then(|| {
            Deaths::new(config.sm.max_warps as usize, Release::of(&program.kernel, &program.kernel.flow()))
        });
        self.order = Order::default();
        self.fates.clear();
        self.fenced = 0;
        self.counts = Counts::default();
        (self.accounted, self.resident_warps) = (0, 0);
        self.registers_per_warp = u64::from(program.registers_per_thread);
        let physical = config.sm.registers / 32;
        // A table without bound has at most an entry for each physical register.
        let entries = if self.params.entries == 0 { physical } else { self.params.entries };
        let bits = ENTRY_BITS + (self.params.strides - 1) * STRIDE_BITS;
        let map = Shape::new(1, entries, bits).with_ports(self.params.map_ports, self.params.map_ports);
        self.map = Storage::new(map.with_latency(self.params.lookup_cycles));
        self.merge_slot = Storage::new(self.merge_slot.shape());
        let (mut table_bits, mut ports) = (TABLE_BITS, self.params.table_ports);
        // The upper half of the entries' addresses, and which physical registers, or slices of them, are in use.
        let mut further = 32 + u64::from(physical);
        if let Some(packed) = &mut self.packed {
            packed.counts = Default::default();
            table_bits += SLICE_BITS;
            ports = ports.min(packed.settings.table_ports);
            further = 32 + u64::from(physical * SLICE_BITS) + packed.settings.hint_bits();
            plan.extra_collect_cycles += packed.settings.renaming_cycles;
        }
        if self.params.space > 100 {
            // Whether a result has reserved a physical register.
            table_bits += 1;
            further += Reservations::bits(config);
        }
        self.renaming = renaming_table::storage(config, table_bits, ports);
        self.further_bits = further;
        if self.params.mechanism || self.packed.is_some() {
            plan.hooks.collect = true;
            plan.hooks.write_back = true;
        }
        if self.params.mechanism {
            let passes = |inst: &warplab_technique::program::TimedInst| {
                inst.path == Path::Fence && passes_other_blocks(&inst.inst)
            };
            plan.hooks.issue = reserves || program.insts.iter().any(passes);
        }
        Ok(())
    }

    fn start_block(&mut self, _cx: &mut Cx<'_>, _block_slot: usize, _block: u32) {
        self.counts.additional_blocks += u64::from(self.resident_blocks >= self.own_blocks);
        self.resident_blocks += 1;
    }

    fn end_block(&mut self, _cx: &mut Cx<'_>, _block_slot: usize) {
        self.resident_blocks -= 1;
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        self.account(cx.cycle);
        self.resident_warps += 1;
        if let Some(reservations) = &mut self.registers().reservations {
            reservations.start(warp.slot, warp.block_slot);
        }
        if let Some(deaths) = &mut self.deaths {
            deaths.start(warp.slot);
        }
    }

    /// An instruction waits for physical registers for its results.
    fn issue(&self, _now: u64, warp: &WarpView<'_>, what: &Issuing<'_>) -> IssueVerdict {
        let Issuing::Program(inst) = what else { return IssueVerdict::Issue };
        let registers = self.registers.as_ref().expect("prepared");
        let Some(reservations) = &registers.reservations else { return IssueVerdict::Issue };
        if warp.effect(inst) == 0 {
            return IssueVerdict::Issue;
        }
        match registers.wanted(warp.slot, inst.inst.destinations()) {
            0 => IssueVerdict::Issue,
            count => match reservations.may_reserve(warp.block_slot, count) {
                Ok(()) => IssueVerdict::Issue,
                Err(stall) => IssueVerdict::Stall(stall.index()),
            },
        }
    }

    /// A fence ends when its warp issues again: until then other blocks' stores may become visible to it.
    fn issued(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>, _verdict: IssueVerdict) {
        let Issuing::Program(inst) = what else { return };
        if self.fenced >> warp.slot & 1 != 0 {
            self.fenced &= !(1 << warp.slot);
            self.flush(cx);
        }
        if inst.inst.path == Path::Fence && passes_other_blocks(&inst.inst.inst) {
            self.fenced |= 1 << warp.slot;
        }
        if self.registers().reservations.is_some() && warp.effect(inst) != 0 {
            self.account(cx.cycle);
            let reserved = self.registers().reserve(warp.slot, inst.inst.destinations());
            self.counts.reservations += u64::from(reserved);
        }
    }

    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        self.account(cx.cycle);
        match &mut self.packed {
            None => self.find_operands(cx, warp, inst, operands)?,
            Some(Packed { coalescing, counts, .. }) => {
                let registers = self.registers.as_ref().expect("prepared");
                let table = &mut self.renaming;
                coalescing.read(cx, warp, inst, operands, registers, table, counts, OfReads::from)?;
            }
        }
        match inst.inst.inst.kind() {
            Kind::Load(Space::Global | Space::Generic) => {
                if acquires(&inst.inst.inst) {
                    self.flush(cx);
                }
                self.order.load(inst.id);
            }
            Kind::Store(space) | Kind::Atomic(space) | Kind::Reduction(space)
                if matches!(space, Space::Global | Space::Generic) =>
            {
                self.change(cx, warp, inst, space);
            }
            _ => {}
        }
        self.release(cx, warp, inst);
        Ok(())
    }

    fn access(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        access: &MemAccess<'_>,
    ) -> Result<AccessVerdict, Box<ValueMismatch>> {
        let Kind::Load(Space::Global | Space::Generic) = inst.inst.inst.kind() else {
            return Ok(AccessVerdict::Access);
        };
        let overtaken = self.params.mechanism && {
            let lines = lines(access.addresses, access.mask, access.bytes);
            self.order.is_overtaken(inst.id, &lines)
        };
        let results = u64::from(inst.inst.dst_count);
        if access.mask == 0 || results == 0 {
            return Ok(AccessVerdict::Access);
        }
        cx.opportunity(results);
        if !self.params.mechanism {
            cx.lost(Lost::Off, results);
            return Ok(AccessVerdict::Access);
        }
        self.account(cx.cycle);
        Ok(self.serve(cx, warp, inst, access, overtaken).unwrap_or_else(|cause| {
            cx.lost(cause, results);
            AccessVerdict::Access
        }))
    }

    /// Whether the load would be served if it looked its addresses up now.
    fn would_serve(&self, _now: u64, warp: &WarpView<'_>, inst: &InstView<'_>) -> bool {
        let Kind::Load(space @ (Space::Global | Space::Generic)) = inst.inst.inst.kind() else {
            return false;
        };
        if !self.params.mechanism || self.table.used() == 0 {
            return false;
        }
        let Some(addresses) = addresses(warp, &inst.inst.inst) else { return false };
        let bytes = inst.inst.inst.info().memory.map_or(4, |memory| memory.bytes());
        // The guard is not known yet: all lanes on the path count.
        let access = MemAccess::new(space, bytes, &addresses, inst.active);
        let found = self.vector(inst, &access).map(|(vector, _)| self.find(&vector, warp.block));
        matches!(found, Ok(Found::Whole(_) | Found::Parts(..)))
    }

    fn answered(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        _how: Answered,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        for (result, row) in results.iter().zip(&self.answer) {
            cx.supply_result(warp, inst, result, row)?;
        }
        Ok(())
    }

    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        self.account(cx.cycle);
        let fate = self.fates.get_mut(usize::from(inst.id.slot())).map(std::mem::take).unwrap_or_default();
        if inst.inst.path != Path::Alu && acquires(&inst.inst.inst) {
            self.flush(cx);
        }
        for write in writes.iter_mut().filter(|write| matches!(write.to, WriteTo::Bank(_))) {
            match fate {
                Fate::Plain => {
                    let written = self.write(cx, warp, write.reg, write.row(), inst.exec);
                    let Some(physical) = written else { continue };
                    self.arrive(cx, warp, write.reg, physical);
                    write.to = WriteTo::Bank(self.registers().bank(physical));
                }
                Fate::Entered(_) | Fate::Merged => {
                    if let registers::Found::At(physical) = self.registers().find(warp.slot, write.reg, 0) {
                        self.arrive(cx, warp, write.reg, physical);
                        write.to = WriteTo::Bank(self.registers().bank(physical));
                    }
                }
                Fate::Shared => {
                    // It may complete in the cycle in which its leader does, and before it.
                    if let registers::Found::At(physical) = self.registers().find(warp.slot, write.reg, 0) {
                        self.arrive(cx, warp, write.reg, physical);
                    }
                    write.to = WriteTo::Nowhere;
                }
            }
        }
        if let Fate::Entered(physical) = fate {
            for (reg, physical) in inst.inst.destinations().iter().zip(physical) {
                // Registers that other warps share may be dead in this one.
                if let (Some(packed), Some(registers)) = (&mut self.packed, &mut self.registers) {
                    registers.arrive_by(warp.slot, *reg, physical, inst.id, &mut packed.counts);
                }
                self.registers().loaded(physical, inst.id);
            }
        }
        if let Some(reservations) = &mut self.registers().reservations {
            inst.inst.destinations().iter().for_each(|reg| reservations.settle(warp.slot, *reg));
        }
        Ok(())
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        self.account(cx.cycle);
        self.resident_warps -= 1;
        let mut ended = Vec::new();
        self.registers().clear(warp_slot, |at| ended.push(at));
        ended.into_iter().for_each(|at| self.remove(cx, at, End::Released));
    }

    fn describe(&self) -> String {
        let (physical, live) = self.registers.as_ref().map_or((0, 0), Registers::usage);
        let used =
            format!("{} entries, {live} registers in {physical} physical registers", self.table.used());
        match self.registers.as_ref().and_then(|registers| registers.reservations.as_ref()) {
            None => used,
            Some(reservations) => {
                let (free, held) = (reservations.throttle.free(), reservations.throttle.held());
                format!("{used}, {free} of them free; held by block slots: {held:?}")
            }
        }
    }
}
