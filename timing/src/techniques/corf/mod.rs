//! Register files with a renaming table: packing, virtualization, CORF and CORF++ (CORF, chapter 2).
//!
//! Packing stores narrow registers in shared physical registers; virtualization releases a register after its last use.
//! CORF, the coalescing operand register file, does both, and two operands of an instruction that lie in one physical
//! register take one bank access (sections 2.4 and 2.6). In CORF++ all registers of a warp lie in one bank whose sub-banks
//! take two addresses, so that two operands share an access wherever their slices do not overlap (section 2.5).
//!
//! The compiler pass chooses exclusive pairs of registers (`analysis::affinity`) or the side of each register
//! (`analysis::alignment`), and where registers die (`analysis::release`). `rename` allocates, `physical` holds the packed
//! bytes, `variants` declares the techniques. Every operand is looked up in the renaming table, in the bank of the
//! architectural register; the lookup overlaps with the move to the collector, but waiting for a port of the table does not
//! (section 2.6).

mod packing;
pub(super) mod physical;
mod profile;
pub(super) mod rename;
#[cfg(test)]
mod tests;
pub(crate) mod variants;

use super::deaths::Deaths;
use super::renaming_table;
use super::{
    Cx, Edge, InstView, Launch, MicroOp, OperandRead, ParamValue, Plan, Profiled, ReadFrom, RegisterWrite,
    Rewritten, Shape, Storage, Technique, TechniqueInfo, ValueMismatch, WarpView, WriteTo,
};
use crate::analysis::affinity::Affinity;
use crate::analysis::alignment;
use crate::analysis::release::Release;
use crate::program::MAX_SRC;
use crate::source::Row;
use packing::SLICES;
use physical::{Allocation, PhysicalFile};
use profile::Profile;
use rename::{Buddies, Hints, Lookup, Mapping, Packing, Renaming};
use warplab_technique::{causes, counts};

counts! {
    /// Counters of register files with a renaming table.
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
        /// No other operand of the instruction shares its access, and the compiler did not want one to.
        NoPartner = "no_partner";
        /// The compiler wanted another operand to share its access, and the two do not fit into one physical register.
        DoesNotFit = "pair_does_not_fit";
        /// Coalescing is switched off.
        Off = "mechanism_off";
    }
}

/// What the compiler tells the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// Nothing.
    Nothing,
    /// Pairs of registers.
    Pairs,
    /// The side of each register.
    Sides,
}

/// Where the weights of the register affinity graph come from.
#[derive(Clone, Copy, Debug)]
enum Weights {
    /// The code: how often the compiler expects an instruction to execute.
    Static {
        /// Weight of a loop without a constant trip count.
        unknown_trips: u32,
    },
    /// A recorded launch: how often two registers were read together whose values fitted one register.
    Recorded(Profiled),
}

/// Reads that share an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sharing {
    /// The hardware cannot share.
    Never,
    /// Of one physical register.
    OneEntry,
    /// Of slices in one bank that do not overlap.
    OneBank,
    /// Of any two registers whose values fit one register.
    WhatFits,
}

/// What distinguishes the techniques.
#[derive(Clone, Copy, Debug)]
struct Settings {
    /// What the compiler tells.
    wanted: Wanted,
    /// Registers that one metadata instruction speaks of.
    registers_per_instruction: u32,
    /// Where the weights of the graph come from.
    weights: Weights,
    /// How values are stored.
    packing: Packing,
    /// Where registers are allocated.
    allocation: Allocation,
    /// Whether registers are released when they are no longer live.
    releases: bool,
    /// Reads that can share an access.
    sharing: Sharing,
    /// Whether they do.
    shares: bool,
    /// Whether physical registers without contents are switched off.
    gates: bool,
    /// Cycles that the table lookup adds before the first register read.
    renaming_cycles: u32,
    /// Lookups that a bank of the renaming table serves per cycle.
    table_ports: u32,
}

/// Bits of an entry of the renaming table: a physical register, four slices, and a valid bit.
const TABLE_BITS: u32 = 10 + 4 + 1;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Corf {
    info: &'static TechniqueInfo,
    params: Vec<(&'static str, ParamValue)>,
    settings: Settings,
    /// Death points of registers, if they are released.
    deaths: Option<Deaths>,
    renaming: Option<Renaming>,
    registers_per_warp: u64,
    resident_warps: u64,
    /// Cycle up to which occupied registers have been accounted.
    accounted: u64,
    /// Storage model of the renaming table.
    table: Storage,
    counts: Counts,
}

impl Technique for Corf {
    fn info(&self) -> &'static TechniqueInfo {
        self.info
    }

    fn params(&self) -> Vec<(&'static str, ParamValue)> {
        self.params.clone()
    }

    fn counts(&self) -> Vec<u64> {
        self.counts.values()
    }

    fn storage(&self) -> Vec<&Storage> {
        vec![&self.table]
    }

    fn further_bits(&self) -> u64 {
        // The free map has one bit per slice.
        let free_map = self.renaming.as_ref().map_or(0, |renaming| renaming.file.rows.len() as u64 * 4);
        // The allocation vector holds two bits for each of 64 registers (section 2.6).
        free_map + if self.settings.wanted == Wanted::Sides { 128 } else { 0 }
    }

    fn powered_register_cycles(&self) -> Option<u64> {
        self.settings.gates.then_some(self.counts.physical_register_cycles)
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        let (program, config) = (launch.program, launch.config);
        let settings = self.settings;
        let file = PhysicalFile::new(config, settings.allocation)?;
        let flow = program.kernel.flow();
        let needs_graph = settings.wanted != Wanted::Nothing || settings.allocation.is_bank_aware();
        let Profile { fitting: graph, all: reads } = match settings.weights {
            _ if !needs_graph => Profile::default(),
            Weights::Static { unknown_trips } => {
                let graph = Affinity::of(&program.kernel, &flow, u64::from(unknown_trips));
                Profile { all: graph.clone(), fitting: graph }
            }
            Weights::Recorded(of) => Profile::of(launch, of)?,
        };
        let (hints, told) = match settings.wanted {
            Wanted::Nothing => (Hints::Pairs(Box::new([None; 256])), 0),
            Wanted::Pairs => {
                let pairs = graph.exclusive_pairs();
                let mut buddies: Buddies = [None; 256];
                for pair in &pairs {
                    buddies[usize::from(pair.low)] = Some(pair.high);
                    buddies[usize::from(pair.high)] = Some(pair.low);
                }
                (Hints::Pairs(Box::new(buddies)), 2 * pairs.len() as u32)
            }
            Wanted::Sides => (Hints::Sides(Box::new(alignment::sides(&graph))), program.registers_per_thread),
        };
        let carriers = told.div_ceil(settings.registers_per_instruction);
        if carriers > 0 {
            let op = plan.micro_op(MicroOp::marker("register hints", 0));
            (0..carriers).for_each(|_| plan.insert(0, Edge::Every, op));
        }
        let warps = config.sm.max_warps as usize;
        self.deaths = settings.releases.then(|| Deaths::new(warps, Release::of(&program.kernel, &flow)));
        let registers = program.registers_per_thread as usize;
        // Reads that do not fit one register conflict, and never share an access.
        let neighbours = rename::neighbours(if settings.wanted == Wanted::Sides { &graph } else { &reads });
        self.renaming = Some(Renaming::new((warps, registers), hints, neighbours, file, settings.packing));
        self.registers_per_warp = u64::from(program.registers_per_thread);
        self.resident_warps = 0;
        self.accounted = 0;
        self.counts = Counts::default();
        self.table = renaming_table::storage(config, TABLE_BITS, settings.table_ports);
        plan.extra_collect_cycles += settings.renaming_cycles;
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
        self.write(cx, warp.slot, writes, inst.exec);
        Ok(())
    }

    /// A micro-operation of another technique has put values back into the banks, in every lane.
    fn rewritten(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        writes: &mut [RegisterWrite<'_>],
        how: Rewritten,
    ) -> Result<(), Box<ValueMismatch>> {
        if how == Rewritten::Moved {
            self.write(cx, warp.slot, writes, u32::MAX);
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
    /// The technique with its declarations, parameters and what follows from them.
    fn new(
        info: &'static TechniqueInfo,
        params: Vec<(&'static str, ParamValue)>,
        settings: Settings,
    ) -> Corf {
        Corf {
            info,
            params,
            settings,
            deaths: None,
            renaming: None,
            registers_per_warp: 0,
            resident_warps: 0,
            accounted: 0,
            table: Storage::new(Shape::new(1, 0, 0).with_ports(1, 1)),
            counts: Counts::default(),
        }
    }

    fn renaming(&mut self) -> &mut Renaming {
        self.renaming.as_mut().expect("a technique is prepared before its hooks are called")
    }

    /// Allocates registers for the results that go to banks; another technique keeps the others, which have none here.
    fn write(&mut self, cx: &mut Cx<'_>, slot: usize, writes: &mut [RegisterWrite<'_>], lanes: u32) {
        self.account(cx);
        let Corf { renaming, counts, table, .. } = self;
        let renaming = renaming.as_mut().expect("a technique is prepared before its hooks are called");
        for write in writes.iter_mut() {
            if !matches!(write.to, WriteTo::Bank(_)) {
                renaming.release(slot, write.reg);
                continue;
            }
            let written = renaming.write(slot, write.reg, write.row(), lanes, counts);
            table.write(cx.cycle, usize::from(renaming.file.home_bank(slot, write.reg)));
            write.to = WriteTo::Bank(written.bank);
            if let Some(bank) = written.fetched_from {
                cx.read_bank(bank);
            }
        }
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

    /// Finds each operand's physical register, compares its value, and combines reads in pairs, because a collector has
    /// two unpackers and a bank two addresses (section 2.6).
    fn read(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        // Place of each operand whose read is not combined yet.
        let mut alone: [Option<Lookup>; MAX_SRC] = [None; MAX_SRC];
        let (mut banked, mut coalesced) = (0u64, 0);
        let Settings { sharing, shares, .. } = self.settings;
        for (position, operand) in operands.iter_mut().enumerate() {
            if !operand.is_from_bank() {
                continue;
            }
            banked += 1;
            let Corf { renaming, table, .. } = &mut *self;
            let renaming = renaming.as_mut().expect("a technique is prepared before its hooks are called");
            let access = table.read(cx.cycle, usize::from(renaming.file.home_bank(warp.slot, operand.reg)));
            let found = match renaming.look_up(warp.slot, operand.reg, inst.active) {
                Mapping::At(found) => found,
                Mapping::Lost(lanes) => return Err(cx.missing(warp, inst.pc, operand.reg, lanes)),
                // The read is unchanged.
                Mapping::Unwritten => continue,
            };
            let mut space = Row::ZERO;
            let value = renaming.value(&found, &mut space);
            let fits = |other: &Lookup| match sharing {
                Sharing::Never => false,
                Sharing::OneEntry => other.physical == found.physical,
                Sharing::OneBank => {
                    other.bank == found.bank && other.slices.mask() & found.slices.mask() == 0
                }
                Sharing::WhatFits => other.slices.count() + found.slices.count() <= SLICES,
            };
            let shared = alone.iter_mut().enumerate().find(|(_, other)| other.as_ref().is_some_and(fits));
            match shared {
                Some((leader, free)) if shares => {
                    let supplied = cx.supply(warp, inst.pc, operand.reg, found.defined, value)?;
                    *free = None;
                    operand.from = ReadFrom::With(leader as u8, supplied);
                    coalesced += 1;
                }
                _ => {
                    cx.compare(warp, inst.pc, operand.reg, found.defined, value)?;
                    alone[position] = Some(found);
                    operand.from = ReadFrom::BankBehind(found.bank, access);
                }
            }
        }
        self.counts.coalesced_register_reads += coalesced;
        self.counts.coalesced_read_instructions += u64::from(coalesced > 0);
        if sharing != Sharing::Never {
            let chances = banked.saturating_sub(1);
            cx.opportunity(chances);
            self.account_for_losses(cx, operands, chances - coalesced);
        }
        Ok(())
    }

    /// Counts the reasons for which operands did not share an access.
    fn account_for_losses(&self, cx: &mut Cx<'_>, operands: &[OperandRead], lost: u64) {
        if lost == 0 {
            return;
        }
        if !self.settings.shares {
            cx.lost(Lost::Off, lost);
            return;
        }
        let renaming = self.renaming.as_ref().expect("a technique is prepared before its hooks are called");
        let alone = || operands.iter().filter(|operand| operand.is_from_bank()).map(|operand| operand.reg);
        let wanted = |reg: u8| alone().any(|other| other != reg && renaming.are_partners(reg, other));
        let unfit = (alone().filter(|reg| wanted(*reg)).count() as u64 / 2).min(lost);
        cx.lost(Lost::DoesNotFit, unfit);
        cx.lost(Lost::NoPartner, lost - unfit);
    }
}
