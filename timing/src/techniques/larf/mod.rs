//! LARF, the locality-aware register file: a load from global memory whose vector another warp has loaded gets that
//! warp's physical register, or the merged lanes of two (LARF, sections 5.3 and 5.5).
//!
//! `vector` describes what a load accesses, `table` is the address mapping table, `registers` the mapping of
//! registers with the number of sharers, `order` keeps loads and stores apart that reach memory in another order
//! than they issue. Every operand is compared with the recorded register, and every shared value with the recorded
//! result.

mod order;
mod registers;
mod table;
#[cfg(test)]
mod tests;
mod vector;

use super::deaths::Deaths;
use super::renaming_table;
use super::{
    AccessVerdict, Answered, Claim, Cx, InFlightId, InstView, IssueVerdict, Issuing, Launch, MemAccess,
    OperandRead, ParamValue, Params as _, Plan, ReadFrom, RegisterWrite, Registration, Shape, Storage,
    StorageInfo, Technique, TechniqueInfo, ValueMismatch, WarpView, WriteTo,
};
use crate::analysis::release::Release;
use crate::banks::BankMap;
use crate::program::Path;
use crate::source::Row;
use order::Order;
use registers::{Physical, Registers};
use table::{End, Entry, Found, Loaded, Table};
use trace_format::isa::space::Space;
use trace_format::isa::{Inst, Kind, MemOrder, MemWidth, Op, Operand, Scope};
use vector::{Lanes, Part, Vector, lines};
use warplab_technique::declare::Cause;
use warplab_technique::{causes, counts, params};

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
        /// Cycles of a lookup in the address mapping table.
        lookup_cycles: u32 = 1, 0..=64;
        /// Lookups in the address mapping table per cycle, and as many updates; the paper does not say how many.
        map_ports: u32 = 1, 1..=16;
        /// Cycles to shift and merge two registers when they have been read; the paper does not say how many.
        merge_cycles: u32 = 2, 0..=64;
        /// Lookups that a bank of the renaming table serves per cycle; results update it through a port of their own.
        table_ports: u32 = 2, 1..=64;
        /// Whether loads share; without it only the hardware is there.
        mechanism: bool = true;
        /// Whether the table has no bound, a stride for each index, and lookups and merges that take no time, and whether
        /// registers keep their values until they are written again.
        ideal: bool = false;
    }
}

counts! {
    /// Counters of LARF.
    struct Counts {
        /// Loads that got the physical registers of one entry.
        whole_shares;
        /// Loads whose value was merged from the lanes of one or two entries.
        partial_shares;
        /// Shared loads that waited for another load in flight.
        shares_in_flight;
        /// Results that took no physical register of their own.
        registers_not_taken;
        /// Registers that were copied, in part, because their physical register has other sharers or lanes.
        copies;
        /// Registers released after their last read.
        released_registers;
        /// Vectors entered in the address mapping table.
        entered;
        /// Entries that another vector replaced.
        evicted;
        /// Entries removed because a store, an atomic or a fence may have changed their memory.
        invalidated;
        /// Strides computed for loads.
        strides_computed in "technique_logic";
        /// Registers shifted and merged.
        merges in "technique_logic";
        /// Sum over cycles of physical registers in use.
        physical_register_cycles;
        /// Sum over cycles of registers that hold a value which is still read; without sharing each has a physical
        /// register.
        live_register_cycles;
        /// Sum over cycles of the registers that resident warps have in the program.
        architectural_register_cycles;
    }
}

causes! {
    /// Reasons for which a register is loaded from memory.
    enum Lost {
        /// No entry was made for its vector, nor for vectors that have all its lanes.
        New = "not_loaded_before";
        /// Its vector's entry was replaced by another one.
        Evicted = "entry_evicted";
        /// No register held the value of its vector's entry any more.
        Released = "register_released";
        /// Memory may have been changed since its vector was loaded.
        Changed = "memory_changed";
        /// Another block has changed the value since: the program has a race that the recording decided otherwise.
        OtherBlock = "changed_by_another_block";
        /// Two entries have its lanes, and both are still being loaded.
        Loading = "parts_being_loaded";
        /// A store to its lines issued after it and before its lookup.
        Overtaken = "overtaken_by_a_store";
        /// Its addresses have no stride that an entry can hold.
        Irregular = "no_stride";
        /// The upper halves of its addresses are not those of the entries.
        Region = "other_region";
        /// It is volatile or ordered, or moves no plain value.
        Ordered = "ordered_load";
        /// Some of its lanes load from shared or local memory.
        Elsewhere = "not_global";
        /// Sharing is switched off.
        Off = "mechanism_off";
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
.with_claims(&[Claim::RegisterMapping, Claim::ResultDestination, Claim::MemoryAccesses])
.with_params(Params::declared)
.with_counters(Counts::DECLARED)
.with_losses("a register that a load from global memory would write", Lost::DECLARED)
.with_storage(&[
    StorageInfo::new("address_map", "the address mapping table", "technique_storage"),
    StorageInfo::new("merge_slot", "the collector slot in which registers are merged", "technique_storage"),
    StorageInfo::new("renaming", "the renaming table", "technique_storage"),
]);

/// Bits of an entry of the address mapping table: base, stride, lanes and physical register (section 5.6.4), and
/// what the paper leaves out: the width, and three more registers for loads of four words.
const ENTRY_BITS: u32 = 32 + 8 + 32 + 11 + 3 + 3 * 11;
/// Bits of each further stride of an entry.
const STRIDE_BITS: u32 = 32;
/// Bits of an entry of the renaming table: a physical register and a valid bit.
const TABLE_BITS: u32 = 11 + 1;

/// Faults that tests seed, each of which a comparison of values must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Stores leave entries in the table.
    MissedStore,
    /// Atomics leave entries in the table.
    MissedAtomic,
    /// The value of an entry is overwritten in place, and the entry stays.
    StaleEntry,
    /// A released register's entry stays in the table.
    DanglingEntry,
    /// Merged lanes are shifted one too far.
    WrongShift,
    /// Lanes are not compared.
    WrongMask,
    /// Strides are not compared.
    WrongStride,
    /// Widths are not compared.
    WrongWidth,
    /// Both parts of a merged register are taken from the first.
    FirstPartTwice,
    /// The upper halves of addresses are not compared.
    WrongRegion,
    /// A register with other sharers is written in place.
    SharedWrite,
    /// Lanes that a load leaves alone are lost when its register is shared.
    OtherLanes,
    /// The registers of a wide load are exchanged.
    SwappedRegisters,
    /// Volatile loads are shared.
    SharedVolatile,
    /// Loads that a store has overtaken are entered.
    MissedOvertaking,
    /// Registers are released before their last read.
    EarlyRelease,
}

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
    banks: Option<BankMap>,
    map: Storage,
    merge_slot: Storage,
    renaming: Storage,
    counts: Counts,
    accounted: u64,
    resident_warps: u64,
    registers_per_warp: u64,
    further_bits: u64,
    fault: Option<Fault>,
}

/// Whether a fence orders the warp with other blocks.
fn passes_other_blocks(inst: &Inst) -> bool {
    !matches!(inst.op, Op::Membar { scope: Scope::Cta })
}

/// Whether a memory instruction makes other blocks' stores visible.
fn acquires(inst: &Inst) -> bool {
    inst.info().memory.is_some_and(|memory| matches!(memory.order, MemOrder::Acquire | MemOrder::AcqRel))
}

/// Lanes of an access that fall into global memory.
fn global_lanes(space: Space, addresses: &[u64; 32], lanes: u32) -> u32 {
    if space == Space::Global {
        return lanes;
    }
    let is_global = |lane: &u32| Space::of_generic(addresses[*lane as usize]).0 == Space::Global;
    (0..32).filter(|lane| lanes >> lane & 1 != 0).filter(is_global).fold(0, |all, lane| all | 1 << lane)
}

/// The addresses of an instruction that has not been stepped; none if they do not come from registers.
fn addresses(warp: &WarpView<'_>, inst: &Inst) -> Option<[u64; 32]> {
    let Operand::Reg(reg) = inst.src[0].operand else { return None };
    let word = |offset: usize, lane: usize| {
        let row = (!reg.is_zero()).then(|| warp.rows.get(reg.index() + offset)).flatten();
        row.map_or(0, |row| u64::from(row.0[lane]))
    };
    let offset = i64::from(inst.offset) as u64;
    Some(std::array::from_fn(|lane| (word(0, lane) | word(1, lane) << 32).wrapping_add(offset)))
}

impl Larf {
    /// Reads `[technique.larf]`.
    fn new(section: &toml::Table) -> Result<Larf, String> {
        let given = Params::read(section)?;
        let params = if given.ideal { given.without_limits() } else { given };
        Ok(Larf {
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
            banks: None,
            map: Storage::new(Shape::new(1, 0, 0)),
            merge_slot: Storage::new(Shape::new(1, 2, 1024)),
            renaming: Storage::new(Shape::new(1, 0, TABLE_BITS)),
            counts: Counts::default(),
            accounted: 0,
            resident_warps: 0,
            registers_per_warp: 0,
            further_bits: 0,
            fault: None,
        })
    }

    fn has(&self, fault: Fault) -> bool {
        cfg!(test) && self.fault == Some(fault)
    }

    fn registers(&mut self) -> &mut Registers {
        self.registers.as_mut().expect("a technique is prepared before its hooks are called")
    }

    /// Adds the registers in use since the last call to the counters.
    fn account(&mut self, now: u64) {
        let passed = now - std::mem::replace(&mut self.accounted, now);
        if passed > 0 {
            let (physical, live) = self.registers().usage();
            self.counts.physical_register_cycles += physical * passed;
            self.counts.live_register_cycles += live * passed;
            self.counts.architectural_register_cycles +=
                self.resident_warps * self.registers_per_warp * passed;
        }
    }

    /// Removes an entry.
    fn remove(&mut self, cx: &Cx<'_>, at: u32, end: End) {
        if let Some(entry) = self.table.remove(at, end) {
            self.forget(&entry);
            self.map.set_used(cx.cycle, 0, self.table.used());
        }
    }

    fn forget(&mut self, entry: &Entry) {
        for physical in &entry.registers {
            self.registers().forget_entry(*physical);
        }
    }

    /// Removes all entries, and keeps loads on their way from being entered.
    fn flush(&mut self, cx: &Cx<'_>) {
        for at in self.table.all() {
            self.remove(cx, at, End::Changed);
            self.counts.invalidated += 1;
        }
        self.order.change_all();
    }

    /// A store or atomic issues: removes the entries that touch its lines.
    fn change(&mut self, cx: &Cx<'_>, warp: &WarpView<'_>, inst: &InstView<'_>, space: Space) {
        let missed = if matches!(inst.inst.inst.kind(), Kind::Store(_)) {
            Fault::MissedStore
        } else {
            Fault::MissedAtomic
        };
        self.map.read(cx.cycle, 0);
        let Some(addresses) = addresses(warp, &inst.inst.inst) else { return self.flush(cx) };
        // The guard is not known yet: all lanes on the path count.
        let lanes = global_lanes(space, &addresses, inst.active);
        let bytes = inst.inst.inst.info().memory.map_or(16, |memory| memory.bytes());
        let changed = lines(&addresses, lanes, bytes);
        if !self.has(missed) {
            for line in &changed {
                for at in self.table.touching(*line) {
                    self.remove(cx, at, End::Changed);
                    self.counts.invalidated += 1;
                }
            }
        }
        self.order.store(&changed);
    }

    /// Writes a register, and removes the entry whose value that ends.
    fn write(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, reg: u8, row: &Row, exec: u32) -> Physical {
        let in_place = self.has(Fault::SharedWrite);
        let written = self.registers().write(warp, reg, row, exec, in_place);
        if let Some(bank) = written.copied_from {
            self.counts.copies += 1;
            cx.read_bank(bank);
        }
        self.renaming.write(cx.cycle, self.renaming_bank(warp.slot, reg));
        if let Some(entry) = written.ended
            && !self.has(Fault::StaleEntry)
        {
            self.remove(cx, entry, End::Released);
        }
        written.physical
    }

    fn renaming_bank(&self, slot: usize, reg: u8) -> usize {
        self.banks.as_ref().map_or(0, |banks| usize::from(banks.bank(slot, reg)))
    }

    /// Whether an entry may serve a block.
    fn serves(&self, block: u32) -> impl Fn(&Entry) -> bool + use<> {
        let across = self.params.across_blocks;
        move |entry| across || entry.block == block
    }

    /// Looks a vector up.
    fn find(&self, vector: &Vector, block: u32) -> Found {
        let registers = self.registers.as_ref().expect("prepared");
        let is_loading =
            |entry: &Entry| entry.registers.first().is_some_and(|first| registers.loading(*first).is_some());
        match self.table.find(vector, self.serves(block), is_loading) {
            Found::Parts(..) | Found::Loading if !self.params.partial => Found::Nothing,
            found => found,
        }
    }

    /// The vector of a load that may be shared, and its region.
    fn vector(&self, inst: &InstView<'_>, access: &MemAccess<'_>) -> Result<(Vector, u32), Lost> {
        let memory = inst.inst.inst.info().memory;
        let weak = |order| matches!(order, MemOrder::Weak) || self.has(Fault::SharedVolatile);
        let width = memory.filter(|memory| weak(memory.order)).and_then(|memory| memory.width());
        let width = width.ok_or(Lost::Ordered)?;
        if global_lanes(access.space, access.addresses, access.mask) != access.mask {
            return Err(Lost::Elsewhere);
        }
        let (mut vector, region) = Vector::of(access, width, self.numbering).ok_or(Lost::Irregular)?;
        if self.has(Fault::WrongMask) {
            vector.lanes = u32::MAX;
        }
        if self.has(Fault::WrongStride) {
            vector.stride = 4;
        }
        if self.has(Fault::WrongWidth) {
            vector.width = MemWidth::B32;
        }
        if !self.table.takes_region(region) && !self.has(Fault::WrongRegion) {
            return Err(Lost::Region);
        }
        Ok((vector, region))
    }

    /// Serves a load from the registers of other loads, or enters it in the table.
    fn serve(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        access: &MemAccess<'_>,
        overtaken: bool,
    ) -> Result<AccessVerdict, Lost> {
        let (vector, region) = self.vector(inst, access)?;
        self.counts.strides_computed += 1;
        if overtaken && !self.has(Fault::MissedOvertaking) {
            return Err(Lost::Overtaken);
        }
        let looked_up = self.map.read(cx.cycle, 0);
        let parts: Vec<(u32, Part)> = match self.find(&vector, warp.block) {
            Found::Whole(at) => vec![(at, Part { lanes: vector.lanes, shift: 0 })],
            Found::Parts(first, second) => std::iter::once(first).chain(second).collect(),
            missing => {
                let cause = match (missing, self.table.end_of(&vector)) {
                    (Found::Loading, _) => Lost::Loading,
                    (_, None) => Lost::New,
                    (_, Some(End::Evicted)) => Lost::Evicted,
                    (_, Some(End::Released)) => Lost::Released,
                    (_, Some(End::Changed)) => Lost::Changed,
                };
                self.enter(cx, warp, inst, access, (vector, region));
                return Err(cause);
            }
        };
        let regs = inst.inst.destinations();
        self.answer = self.merged(&parts, regs.len());
        if self.other_block_changed(warp, inst, access, &parts) {
            for (at, _) in &parts {
                self.remove(cx, *at, End::Changed);
            }
            self.enter(cx, warp, inst, access, (vector, region));
            return Err(Lost::OtherBlock);
        }
        let entry = |at: u32| self.table.entry(at).expect("it was found");
        let sources: Vec<Vec<Physical>> = parts.iter().map(|(at, _)| entry(*at).registers.clone()).collect();
        let registers = self.registers.as_ref().expect("prepared");
        let loading =
            sources.iter().find_map(|physical| physical.first().and_then(|first| registers.loading(*first)));
        let other_lanes =
            regs.iter().any(|reg| registers.other_lanes(warp.slot, *reg, inst.exec) & warp.threads != 0)
                && !self.has(Fault::OtherLanes);
        let whole = parts.len() == 1 && parts[0].1.shift == 0 && entry(parts[0].0).vector == vector;
        self.counts.shares_in_flight += u64::from(loading.is_some());
        if whole && !other_lanes {
            let ended = self.registers().share(warp.slot, regs, &sources[0], inst.exec);
            ended.into_iter().for_each(|at| self.remove(cx, at, End::Released));
            self.counts.whole_shares += 1;
            self.counts.registers_not_taken += regs.len() as u64;
            for reg in regs {
                self.renaming.write(cx.cycle, self.renaming_bank(warp.slot, *reg));
            }
            self.set_fate(inst.id, Fate::Shared);
            return Ok(loading.map_or(AccessVerdict::Satisfied(looked_up), |id| AccessVerdict::After(id, 0)));
        }
        self.counts.partial_shares += u64::from(!whole);
        self.counts.copies += u64::from(whole);
        let mut read = looked_up;
        let mut reads = 0;
        for physical in sources.iter().flatten() {
            cx.read_bank(self.registers().bank(*physical));
            read = self.merge_slot.read(looked_up.ready_at(), 0);
            reads += 1;
        }
        self.counts.merges += regs.len() as u64;
        for (reg, row) in regs.iter().zip(std::mem::take(&mut self.answer)) {
            self.write(cx, warp, *reg, &row, inst.exec);
            self.answer.push(row);
        }
        self.set_fate(inst.id, Fate::Merged);
        let merge_cycles = self.params.merge_cycles;
        Ok(match loading {
            Some(id) => AccessVerdict::After(id, reads + merge_cycles),
            // The last register takes a cycle to be read.
            None => AccessVerdict::Satisfied(read.after(1 + merge_cycles)),
        })
    }

    /// The values that lanes of entries give, register by register.
    fn merged(&self, parts: &[(u32, Part)], count: usize) -> Vec<Row> {
        let registers = self.registers.as_ref().expect("prepared");
        let mut rows = vec![Row::ZERO; count];
        for (i, (at, part)) in parts.iter().enumerate() {
            let first_twice = i == 1 && self.has(Fault::FirstPartTwice);
            let Some(entry) = self.table.entry(if first_twice { parts[0].0 } else { *at }) else { continue };
            let too_far = i32::from(self.has(Fault::WrongShift) && part.shift != 0);
            for (k, row) in rows.iter_mut().enumerate() {
                let from = if self.has(Fault::SwappedRegisters) { count - 1 - k } else { k };
                let Some(physical) = entry.registers.get(from) else { continue };
                let held = registers.row(*physical);
                for lane in (0..32i32).filter(|lane| part.lanes >> lane & 1 != 0) {
                    row.0[lane as usize] = held.0[(lane - part.shift - too_far) as usize & 31];
                }
            }
        }
        rows
    }

    /// Whether entries of other blocks give a value that the recording does not have although it is what they loaded
    /// from the same addresses: another block has changed it since, without a fence that this block waited for.
    fn other_block_changed(
        &self,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        access: &MemAccess<'_>,
        parts: &[(u32, Part)],
    ) -> bool {
        let mut changed = false;
        for (at, part) in parts {
            let Some(entry) = self.table.entry(*at) else { continue };
            for (k, reg) in inst.inst.destinations().iter().enumerate() {
                let Some(recorded) = warp.rows.get(usize::from(*reg)) else { return false };
                for lane in (0..32usize).filter(|lane| part.lanes & inst.exec & 1 << lane != 0) {
                    let supplied = self.answer[k].0[lane];
                    if supplied == recorded.0[lane] {
                        continue;
                    }
                    let loaded = (0..32usize).any(|other| {
                        entry.vector.lanes >> other & 1 != 0
                            && entry.loaded.addresses[other] == access.addresses[lane]
                            && entry.loaded.rows[k].0[other] == supplied
                    });
                    if entry.block == warp.block || !loaded {
                        return false;
                    }
                    changed = true;
                }
            }
        }
        changed
    }

    /// Enters a load that goes to memory: its registers get their physical registers now, which others may share.
    fn enter(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        access: &MemAccess<'_>,
        (vector, region): (Vector, u32),
    ) {
        let rows: Vec<Row> =
            inst.inst.destinations().iter().map(|reg| warp.rows[usize::from(*reg)]).collect();
        let mut physical = Vec::with_capacity(rows.len());
        for (reg, row) in inst.inst.destinations().iter().zip(&rows) {
            physical.push(self.write(cx, warp, *reg, row, inst.exec));
        }
        let lines = lines(access.addresses, access.mask, access.bytes);
        let loaded = Box::new(Loaded { addresses: *access.addresses, rows });
        let entry = Entry { vector, registers: physical.clone(), block: warp.block, loaded, lines };
        let (at, evicted) = self.table.enter(entry, region);
        if let Some(evicted) = evicted {
            self.counts.evicted += 1;
            self.forget(&evicted);
        }
        for physical in &physical {
            self.registers().enter(*physical, Some(at), Some(inst.id));
        }
        self.counts.entered += 1;
        self.map.write(cx.cycle, 0);
        self.map.set_used(cx.cycle, 0, self.table.used());
        self.set_fate(inst.id, Fate::Entered(physical));
    }

    fn set_fate(&mut self, id: InFlightId, fate: Fate) {
        let slot = usize::from(id.slot());
        if self.fates.len() <= slot {
            self.fates.resize(slot + 1, Fate::Plain);
        }
        self.fates[slot] = fate;
    }

    /// Releases registers that no lane reads after an instruction.
    fn release(&mut self, cx: &Cx<'_>, warp: &WarpView<'_>, inst: &InstView<'_>) {
        let Some(deaths) = &mut self.deaths else { return };
        let mut kept = deaths.kept(warp.slot, inst.pc, inst.active);
        if self.has(Fault::EarlyRelease) {
            kept = crate::program::RegSet::default();
        }
        let mut ended = Vec::new();
        let released = self.registers().release_all_but(warp.slot, &kept, |at| ended.push(at));
        self.counts.released_registers += released;
        if !self.has(Fault::DanglingEntry) {
            ended.into_iter().for_each(|at| self.remove(cx, at, End::Released));
        }
    }
}

impl Technique for Larf {
    fn info(&self) -> &'static TechniqueInfo {
        &INFO
    }

    fn params(&self) -> Vec<(&'static str, ParamValue)> {
        self.given.values()
    }

    fn counts(&self) -> Vec<u64> {
        self.counts.values()
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
        self.registers = Some(Registers::new(config, program.registers_per_thread));
        let last_read = self.params.release == "last_read";
        self.deaths = last_read.then(|| {
            Deaths::new(config.sm.max_warps as usize, Release::of(&program.kernel, &program.kernel.flow()))
        });
        self.order = Order::default();
        self.fates.clear();
        self.fenced = 0;
        self.counts = Counts::default();
        (self.accounted, self.resident_warps) = (0, 0);
        self.registers_per_warp = u64::from(program.registers_per_thread);
        self.banks = Some(BankMap::new(config));
        let physical = config.sm.registers / 32;
        // A table without bound has at most an entry for each physical register.
        let entries = if self.params.entries == 0 { physical } else { self.params.entries };
        let bits = ENTRY_BITS + (self.params.strides - 1) * STRIDE_BITS;
        let map = Shape::new(1, entries, bits).with_ports(self.params.map_ports, self.params.map_ports);
        self.map = Storage::new(map.with_latency(self.params.lookup_cycles));
        self.merge_slot = Storage::new(self.merge_slot.shape());
        self.renaming = renaming_table::storage(config, TABLE_BITS, self.params.table_ports);
        // The upper half of the entries' addresses, and which physical registers are in use.
        self.further_bits = 32 + u64::from(physical);
        if self.params.mechanism {
            plan.hooks.collect = true;
            plan.hooks.write_back = true;
            let passes = |inst: &crate::program::TimedInst| {
                inst.path == Path::Fence && passes_other_blocks(&inst.inst)
            };
            plan.hooks.issue = program.insts.iter().any(passes);
        }
        Ok(())
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        self.account(cx.cycle);
        self.resident_warps += 1;
        if let Some(deaths) = &mut self.deaths {
            deaths.start(warp.slot);
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
    }

    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        self.account(cx.cycle);
        for operand in operands.iter_mut().filter(|operand| operand.is_from_bank()) {
            match self.registers().find(warp.slot, operand.reg, inst.active) {
                registers::Found::Unwritten => {}
                registers::Found::Lost(lanes) => {
                    return Err(cx.missing(warp, inst.pc, operand.reg, lanes));
                }
                registers::Found::At(physical, defined) => {
                    let registers = self.registers();
                    cx.compare(warp, inst.pc, operand.reg, defined, registers.row(physical))?;
                    let bank = registers.bank(physical);
                    let access = self.renaming.read(cx.cycle, self.renaming_bank(warp.slot, operand.reg));
                    operand.from = ReadFrom::BankBehind(bank, access);
                }
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
    ) -> AccessVerdict {
        let Kind::Load(Space::Global | Space::Generic) = inst.inst.inst.kind() else {
            return AccessVerdict::Access;
        };
        let overtaken = self.params.mechanism && {
            let lines = lines(access.addresses, access.mask, access.bytes);
            self.order.is_overtaken(inst.id, &lines)
        };
        let results = u64::from(inst.inst.dst_count);
        if access.mask == 0 || results == 0 {
            return AccessVerdict::Access;
        }
        cx.opportunity(results);
        if !self.params.mechanism {
            cx.lost(Lost::Off, results);
            return AccessVerdict::Access;
        }
        self.account(cx.cycle);
        self.serve(cx, warp, inst, access, overtaken).unwrap_or_else(|cause| {
            cx.lost(cause, results);
            AccessVerdict::Access
        })
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
                    let physical = self.write(cx, warp, write.reg, write.row(), inst.exec);
                    write.to = WriteTo::Bank(self.registers().bank(physical));
                }
                Fate::Entered(_) | Fate::Merged => {
                    if let registers::Found::At(physical, _) = self.registers().find(warp.slot, write.reg, 0)
                    {
                        write.to = WriteTo::Bank(self.registers().bank(physical));
                    }
                }
                Fate::Shared => write.to = WriteTo::Nowhere,
            }
        }
        if let Fate::Entered(physical) = fate {
            for physical in physical {
                self.registers().loaded(physical, inst.id);
            }
        }
        Ok(())
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        self.account(cx.cycle);
        self.resident_warps -= 1;
        let mut ended = Vec::new();
        self.registers().clear(warp_slot, |at| ended.push(at));
        ended.into_iter().for_each(|at| self.remove(cx, at, End::Released));
        #[cfg(test)]
        if self.fault.is_none() {
            self.registers().verify();
        }
    }

    fn describe(&self) -> String {
        let (physical, live) = self.registers.as_ref().map_or((0, 0), Registers::usage);
        format!("{} entries, {live} registers in {physical} physical registers", self.table.used())
    }
}
