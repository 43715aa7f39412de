//! CORF, the coalescing operand register file: narrow registers are packed into shared physical registers, and
//! two operands of an instruction that lie in one physical register take one bank access (CORF, sections 2.4
//! and 2.6).
//!
//! The compiler pass chooses exclusive pairs of registers (`analysis::affinity`) and, for virtualization,
//! where registers die (`analysis::release`); `rename` allocates, `physical` holds the packed bytes. Every
//! operand is looked up in the renaming table, in the bank of the architectural register; the lookup overlaps
//! with the move to the collector, but waiting for a port of the table does not (section 2.6).

mod death;
mod packing;
mod physical;
mod rename;
#[cfg(test)]
mod tests;

use super::{
    Claim, Cx, Edge, InstView, Launch, MicroOp, OperandRead, ParamValue, Params as _, Plan, ReadFrom,
    RegisterWrite, Registration, Shape, Storage, StorageInfo, Technique, TechniqueInfo, ValueMismatch,
    WarpView, WriteTo,
};
use crate::analysis::affinity::Affinity;
use crate::analysis::release::Release;
use crate::banks::BankMap;
use crate::program::MAX_SRC;
use crate::source::Row;
use death::Deaths;
use physical::{Allocation, PhysicalFile};
use rename::{Buddies, Mapping, Renaming};
use warplab_technique::{causes, counts, params};

params! {
    /// `[technique.corf]`.
    struct Params {
        /// Whether compiler-chosen pairs are allocated together; false is packing with first fit alone.
        pairs: bool = true;
        /// Whether registers are released when they are no longer live, which section 2.6 counts as part of
        /// CORF.
        virtualization: bool = true;
        /// Where a register is allocated: the first entry of the whole file, or of the bank that it has
        /// without CORF.
        allocation: &'static str = "first_fit", &["first_fit", "home_bank"];
        /// Whether a value that needs fewer bytes frees its upper slices; section 2.6 keeps them.
        shrink: bool = false;
        /// Cycles that the table lookup adds before the first register read; 0 because it overlaps with the cycle in
        /// which the instruction moves to its collector (section 2.6, "Impact on pipeline").
        renaming_cycles: u32 = 0, 0..=16;
        /// Lookups that a bank of the renaming table serves per cycle; results update it through a port of their own.
        table_ports: u32 = 2, 1..=64;
        /// Weight of a loop without a constant trip count.
        unknown_trips: u32 = 10, 1..=1_000_000;
        /// Pairs that one metadata instruction carries (section 2.4.2).
        pairs_per_instruction: u32 = 4, 1..=64;
        /// Whether two operands of one physical register share an access; if false, registers are only
        /// packed.
        mechanism: bool = true;
    }
}

counts! {
    /// Counters of CORF.
    pub(crate) struct Counts {
        /// Instructions with at least one coalesced register read.
        coalesced_read_instructions;
        /// Register reads that shared another read's bank access.
        coalesced_register_reads;
        /// Registers moved to another physical register because their width changed.
        size_change_reallocations;
        /// Allocations of a register while the other of its compiler-chosen pair had a physical register.
        pair_allocations;
        /// Pair allocations that were packed into the other register's physical register.
        packed_pair_allocations;
        /// Registers released because they were no longer live.
        released_registers;
        /// Instructions with two or more source registers.
        multi_source_instructions;
        /// Sum over cycles of physical registers that held at least one register.
        physical_register_cycles;
        /// Sum over cycles of architectural registers of resident warps, which is the number of physical
        /// registers without CORF.
        architectural_register_cycles;
        /// Width detections at writeback.
        width_detections in "technique_logic";
    }
}

causes! {
    /// Reasons for which an operand does not share a bank access with another operand of its instruction.
    enum Lost {
        /// No other operand of the instruction shares its physical register or is paired with it.
        NoPartner = "no_partner";
        /// The compiler paired it with another operand, and the two do not fit into one physical register.
        DoesNotFit = "pair_does_not_fit";
        /// Coalescing is switched off.
        Off = "mechanism_off";
    }
}

/// Entry in the list of techniques.
pub(crate) const REGISTRATION: Registration =
    Registration::new(&INFO, |_, section| Ok(Box::new(Corf::new(section)?)));

pub(crate) const INFO: TechniqueInfo = TechniqueInfo::new(
    "corf",
    "register packing with compiler-chosen pairs and coalesced operand reads",
    "CORF: Coalescing Operand Register File, sections 2.4 and 2.6",
)
.with_claims(&[Claim::RegisterMapping, Claim::ResultDestination])
.with_params(Params::declared)
.with_counters(Counts::DECLARED)
.with_losses(
    "a source register beside another one that the same instruction reads from a bank",
    <Lost as warplab_technique::declare::Cause>::DECLARED,
)
.with_storage(&[StorageInfo::new("renaming", "the renaming table", "technique_storage")]);

/// Bits of an entry of the renaming table: a physical register, four slices, and a valid bit.
const TABLE_BITS: u32 = 10 + 4 + 1;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Corf {
    params: Params,
    /// Death points of registers, if virtualization is on.
    deaths: Option<Deaths>,
    renaming: Option<Renaming>,
    registers_per_warp: u64,
    resident_warps: u64,
    /// Cycle up to which occupied registers have been accounted.
    accounted: u64,
    /// Bank mapping without CORF; the table has as many banks.
    banks: Option<BankMap>,
    /// Storage model of the renaming table.
    table: Storage,
    counts: Counts,
}

impl Technique for Corf {
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
        vec![&self.table]
    }

    fn further_bits(&self) -> u64 {
        // The free map has one bit per slice.
        self.renaming.as_ref().map_or(0, |renaming| renaming.file.rows.len() as u64 * 4)
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        let (program, config) = (launch.program, launch.config);
        let allocation = match self.params.allocation {
            "home_bank" => Allocation::HomeBank,
            _ => Allocation::FirstFit,
        };
        let file = PhysicalFile::new(config, allocation)?;
        let flow = program.kernel.flow();
        let mut buddies: Buddies = [None; 256];
        if self.params.pairs {
            let graph = Affinity::of(&program.kernel, &flow, u64::from(self.params.unknown_trips));
            let pairs = graph.exclusive_pairs();
            for pair in &pairs {
                buddies[usize::from(pair.low)] = Some(pair.high);
                buddies[usize::from(pair.high)] = Some(pair.low);
            }
            let carriers = pairs.len().div_ceil(self.params.pairs_per_instruction as usize);
            if carriers > 0 {
                let op = plan.micro_op(MicroOp::marker("register pairs", 0));
                (0..carriers).for_each(|_| plan.insert(0, Edge::Every, op));
            }
        }
        let warps = config.sm.max_warps as usize;
        let virtualized = self.params.virtualization;
        self.deaths = virtualized.then(|| Deaths::new(warps, Release::of(&program.kernel, &flow)));
        let registers = program.registers_per_thread as usize;
        self.renaming = Some(Renaming::new((warps, registers), buddies, file, self.params.shrink));
        self.registers_per_warp = u64::from(program.registers_per_thread);
        self.resident_warps = 0;
        self.accounted = 0;
        self.counts = Counts::default();
        self.banks = Some(BankMap::new(config));
        let banks = config.register_file.banks;
        self.table = Storage::new(
            Shape::new(banks, config.sm.max_warps * 256 / banks, TABLE_BITS)
                .with_ports(self.params.table_ports, 1),
        );
        plan.extra_collect_cycles += self.params.renaming_cycles;
        plan.hooks.collect = true;
        plan.hooks.write_back = true;
        Ok(())
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        self.account(cx);
        self.resident_warps += 1;
        self.renaming().clear(warp.slot);
        if let Some(deaths) = &mut self.deaths {
            deaths.start(warp.slot);
        }
    }

    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        self.counts.multi_source_instructions += u64::from(operands.len() > 1);
        self.read(cx, warp, inst, operands)?;
        if let Some(deaths) = &mut self.deaths {
            let kept = deaths.kept(warp.slot, inst.pc, inst.active);
            self.account(cx);
            // Entries are marked free in a bit vector beside the table.
            let Corf { renaming, counts, .. } = self;
            renaming.as_mut().expect("prepared").release_all_but(warp.slot, &kept, counts);
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
        self.account(cx);
        let Corf { renaming, counts, table, banks, .. } = self;
        let renaming = renaming.as_mut().expect("a technique is prepared before its hooks are called");
        for write in writes.iter_mut().filter(|write| matches!(write.to, WriteTo::Bank(_))) {
            let written = renaming.write(warp.slot, write.reg, write.row(), inst.exec, counts);
            let bank = table_bank(banks, warp.slot, write.reg);
            table.write(cx.cycle, bank);
            write.to = WriteTo::Bank(written.bank);
            if let Some(bank) = written.fetched_from {
                cx.read_bank(bank);
            }
        }
        Ok(())
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        self.account(cx);
        self.resident_warps -= 1;
        self.renaming().clear(warp_slot);
    }

    fn describe(&self) -> String {
        self.renaming.as_ref().map_or_else(String::new, |renaming| {
            let (used, all) = (renaming.file.in_use(), renaming.file.rows.len());
            format!("{used} of {all} physical registers allocated to {} warps", self.resident_warps)
        })
    }
}

impl Corf {
    /// Reads `[technique.corf]`.
    fn new(section: &toml::Table) -> Result<Corf, String> {
        Ok(Corf {
            params: Params::read(section)?,
            deaths: None,
            renaming: None,
            registers_per_warp: 0,
            resident_warps: 0,
            accounted: 0,
            banks: None,
            table: Storage::new(Shape::new(1, 0, 0).with_ports(1, 1)),
            counts: Counts::default(),
        })
    }

    fn renaming(&mut self) -> &mut Renaming {
        self.renaming.as_mut().expect("a technique is prepared before its hooks are called")
    }

    /// Adds the registers occupied since the last call to the counters.
    fn account(&mut self, cx: &mut Cx<'_>) {
        let passed = cx.cycle - std::mem::replace(&mut self.accounted, cx.cycle);
        if passed > 0 {
            let in_use = u64::from(self.renaming().file.in_use());
            self.counts.physical_register_cycles += in_use * passed;
            self.counts.architectural_register_cycles +=
                self.resident_warps * self.registers_per_warp * passed;
        }
    }

    /// Finds each operand's physical register, compares its value, and combines reads of one physical
    /// register in pairs, because a collector has two unpackers (section 2.6).
    fn read(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        // Physical register of each operand whose read is not combined yet.
        let mut alone: [Option<u16>; MAX_SRC] = [None; MAX_SRC];
        let (mut banked, mut coalesced) = (0u64, 0);
        for (position, operand) in operands.iter_mut().enumerate() {
            if !operand.is_from_bank() {
                continue;
            }
            banked += 1;
            let Corf { renaming, table, banks, params, .. } = &mut *self;
            let renaming = renaming.as_mut().expect("a technique is prepared before its hooks are called");
            let access = table.read(cx.cycle, table_bank(banks, warp.slot, operand.reg));
            let found = match renaming.look_up(warp.slot, operand.reg, inst.active) {
                Mapping::At(found) => found,
                Mapping::Lost(lanes) => return Err(cx.missing(warp, inst.pc, operand.reg, lanes)),
                // The read is unchanged.
                Mapping::Unwritten => continue,
            };
            let mut space = Row::ZERO;
            let value = renaming.value(&found, &mut space);
            let shared =
                alone.iter_mut().enumerate().find(|(_, physical)| **physical == Some(found.physical));
            match shared {
                Some((leader, free)) if params.mechanism => {
                    let supplied = cx.supply(warp, inst.pc, operand.reg, found.defined, value)?;
                    *free = None;
                    operand.from = ReadFrom::With(leader as u8, supplied);
                    coalesced += 1;
                }
                _ => {
                    cx.compare(warp, inst.pc, operand.reg, found.defined, value)?;
                    alone[position] = Some(found.physical);
                    operand.from = ReadFrom::BankBehind(found.bank, access);
                }
            }
        }
        self.counts.coalesced_register_reads += coalesced;
        self.counts.coalesced_read_instructions += u64::from(coalesced > 0);
        let chances = banked.saturating_sub(1);
        cx.opportunity(chances);
        self.account_for_losses(cx, operands, chances - coalesced);
        Ok(())
    }

    /// Counts the reasons for which operands did not share an access.
    fn account_for_losses(&self, cx: &mut Cx<'_>, operands: &[OperandRead], lost: u64) {
        if lost == 0 {
            return;
        }
        if !self.params.mechanism {
            cx.lost(Lost::Off, lost);
            return;
        }
        let renaming = self.renaming.as_ref().expect("a technique is prepared before its hooks are called");
        let alone = || operands.iter().filter(|operand| operand.is_from_bank()).map(|operand| operand.reg);
        let paired =
            alone().filter(|reg| renaming.buddy(*reg).is_some_and(|buddy| alone().any(|r| r == buddy)));
        let unfit = (paired.count() as u64 / 2).min(lost);
        cx.lost(Lost::DoesNotFit, unfit);
        cx.lost(Lost::NoPartner, lost - unfit);
    }
}

/// Bank of the renaming table that holds the entry of a register.
fn table_bank(banks: &Option<BankMap>, slot: usize, reg: u8) -> usize {
    banks.as_ref().map_or(0, |banks| usize::from(banks.bank(slot, reg)))
}
