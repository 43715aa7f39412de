//! CORF, the coalescing operand register file: narrow registers are packed into shared physical registers, and
//! two operands of an instruction that lie in one physical register take one bank access (CORF, sections 2.4
//! and 2.6).
//!
//! The compiler pass chooses exclusive pairs of registers (`analysis::affinity`) and, for virtualization, where
//! registers die (`analysis::release`); `rename` allocates, `physical` holds the packed bytes. Configuration,
//! `[technique.corf]`:
//! - `pairs`: allocate compiler-chosen pairs together (default true; false is packing with first fit alone);
//! - `virtualization`: give up registers that are no longer live, which section 2.6 counts as part of CORF
//!   (default true);
//! - `renaming_cycles`: cycles that the table lookup adds before the first register read (default 0: it overlaps
//!   with the cycle in which the instruction moves to its collector, section 2.6, "Impact on pipeline");
//! - `unknown_trips`: weight of a loop without a constant trip count (default 10);
//! - `pairs_per_instruction`: pairs that one metadata instruction carries (default 4, section 2.4.2).

mod death;
mod packing;
mod physical;
mod rename;
#[cfg(test)]
mod tests;

use super::{
    Claim, Cx, Inserted, InstView, OperandRead, Plan, ReadFrom, RegisterWrite, Technique, TechniqueInfo,
    ValueMismatch, WarpView, WriteTo, params,
};
use crate::analysis::affinity::Affinity;
use crate::analysis::release::Release;
use crate::config::GpuConfig;
use crate::program::{MAX_SRC, Program};
use crate::source::Row;
use death::Deaths;
use physical::PhysicalFile;
use rename::{Buddies, Renaming};
use serde::Deserialize;

/// What a read of a value that was given up is taken to find, so that it never passes for the recorded one.
const GIVEN_UP: u32 = 0xDEAD_BEEF;

/// `[technique.corf]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Params {
    pairs: bool,
    virtualization: bool,
    renaming_cycles: u32,
    unknown_trips: u32,
    pairs_per_instruction: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            pairs: true,
            virtualization: true,
            renaming_cycles: 0,
            unknown_trips: 10,
            pairs_per_instruction: 4,
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Corf {
    params: Params,
    /// Where registers die, with virtualization.
    deaths: Option<Deaths>,
    renaming: Option<Renaming>,
    registers_per_warp: u64,
    resident_warps: u64,
    /// Cycle up to which occupied registers have been accounted.
    accounted: u64,
}

impl Technique for Corf {
    const INFO: TechniqueInfo = TechniqueInfo {
        name: "corf",
        summary: "register packing with compiler-chosen pairs and coalesced operand reads",
        paper: "CORF: Coalescing Operand Register File, sections 2.4 and 2.6",
        claims: &[Claim::RegisterMapping, Claim::ResultDestination],
    };

    fn new(_config: &GpuConfig, section: &toml::Table) -> Result<Corf, String> {
        let params: Params = params::parse(section)?;
        params::within("renaming_cycles", params.renaming_cycles, 0, 16)?;
        params::within("unknown_trips", params.unknown_trips, 1, 1_000_000)?;
        params::within("pairs_per_instruction", params.pairs_per_instruction, 1, 64)?;
        Ok(Corf {
            params,
            deaths: None,
            renaming: None,
            registers_per_warp: 0,
            resident_warps: 0,
            accounted: 0,
        })
    }

    fn prepare(&mut self, program: &Program, config: &GpuConfig, plan: &mut Plan) -> Result<(), String> {
        let file = PhysicalFile::new(config)?;
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
            plan.inserted.extend(std::iter::repeat_n(Inserted { before: 0, tag: 0 }, carriers));
        }
        let warps = config.sm.max_warps as usize;
        let virtualized = self.params.virtualization;
        self.deaths = virtualized.then(|| Deaths::new(warps, Release::of(&program.kernel, &flow)));
        let registers = program.registers_per_thread as usize;
        self.renaming = Some(Renaming::new(warps, registers, buddies, file));
        self.registers_per_warp = u64::from(program.registers_per_thread);
        self.resident_warps = 0;
        self.accounted = 0;
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
        cx.stats.multi_source_instructions += u64::from(operands.len() > 1);
        self.read(cx, warp, inst, operands)?;
        if let Some(deaths) = &mut self.deaths {
            let kept = deaths.kept(warp.slot, inst.pc, inst.active);
            self.account(cx);
            self.renaming().release_all_but(warp.slot, &kept, cx.stats);
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
        for write in writes.iter_mut().filter(|write| matches!(write.to, WriteTo::Bank(_))) {
            if inst.exec == 0 {
                // Nothing is written; the access that the plain machine makes goes where the register lies.
                if let Some(lookup) = self.renaming().read(warp.slot, write.reg) {
                    write.to = WriteTo::Bank(lookup.bank);
                }
                continue;
            }
            let written = self.renaming().write(warp.slot, write.reg, write.row, inst.exec, cx.stats);
            write.to = WriteTo::Bank(written.bank);
            cx.extra_writes.extend(written.fetched_from);
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
    fn renaming(&mut self) -> &mut Renaming {
        self.renaming.as_mut().expect("a technique is prepared before its hooks are called")
    }

    /// Adds the registers occupied since the last call to the counters.
    fn account(&mut self, cx: &mut Cx<'_>) {
        let passed = cx.cycle - std::mem::replace(&mut self.accounted, cx.cycle);
        if passed > 0 {
            let in_use = u64::from(self.renaming().file.in_use());
            cx.stats.physical_register_cycles += in_use * passed;
            cx.stats.architectural_register_cycles += self.resident_warps * self.registers_per_warp * passed;
        }
    }

    /// Finds each operand's physical register, compares its value, and joins reads of one physical register
    /// two by two, as a collector has two unpackers (section 2.6).
    fn read(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        // Physical register that each operand reads alone so far.
        let mut alone: [Option<u16>; MAX_SRC] = [None; MAX_SRC];
        let mut coalesced = 0;
        for (position, operand) in operands.iter_mut().enumerate() {
            if !matches!(operand.from, ReadFrom::Bank(_)) {
                continue;
            }
            cx.stats.renaming_accesses += 1;
            let renaming = self.renaming();
            let lost = renaming.lost(warp.slot, operand.reg) & inst.active;
            if lost != 0 {
                cx.check(Corf::INFO.name, warp, inst.pc, operand.reg, lost, &Row::splat(GIVEN_UP))?;
            }
            // A register that was never written has no place; its read stays as it is.
            let Some(found) = self.renaming().read(warp.slot, operand.reg) else { continue };
            cx.check(Corf::INFO.name, warp, inst.pc, operand.reg, found.defined, &found.row)?;
            match alone.iter_mut().enumerate().find(|(_, physical)| **physical == Some(found.physical)) {
                Some((leader, free)) => {
                    *free = None;
                    operand.from = ReadFrom::With(leader as u8);
                    coalesced += 1;
                }
                None => {
                    alone[position] = Some(found.physical);
                    operand.from = ReadFrom::Bank(found.bank);
                }
            }
        }
        cx.stats.coalesced_register_reads += coalesced;
        cx.stats.coalesced_read_instructions += u64::from(coalesced > 0);
        Ok(())
    }
}
