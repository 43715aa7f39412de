//! BOW-WR, operand bypassing with write-back: results stay in the warp's collector and reach the register file
//! when the window leaves them behind, unless they have been overwritten or are dead by then (BOW, sections
//! 3.4.2 and 3.4.3).
//!
//! Windows and forwarding are those of [`super::bow`]. Compiler hints (`analysis::destinations`) say per result
//! whether it goes to the collector, to the register file, or to both. A register file without the bypassed
//! values is kept beside the recorded one, and every read from a bank is compared as well: what a wrong hint
//! lost would be found missing there. Configuration, `[technique.bow-wr]`: `window` and `entries` as for BOW;
//! `hints` (default true; false is the write-back of table 3.1 without the compiler's help).

#[cfg(test)]
mod tests;

use super::bow::boc::{Boc, Left};
use super::bow::{Window, describe, forward};
use super::lanes::merge;
use super::{
    Claim, Cx, InstView, OperandRead, Plan, ReadFrom, RegisterWrite, Technique, TechniqueInfo, ValueMismatch,
    WarpView, WriteTo, params,
};
use crate::analysis::destinations::{Destination, destinations};
use crate::config::GpuConfig;
use crate::program::{MAX_DST, Program};
use crate::source::Row;
use crate::stats::Counters;
use serde::Deserialize;

/// `[technique.bow-wr]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Params {
    window: u32,
    entries: Option<u32>,
    hints: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params { window: 3, entries: None, hints: true }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct BowWr {
    window: Window,
    use_hints: bool,
    hints: Vec<[Destination; MAX_DST]>,
    collectors: Vec<Boc>,
    file: RegisterFile,
}

/// What the banks hold, which is not always what the program last wrote.
#[derive(Clone, Debug, Default)]
struct RegisterFile {
    registers: usize,
    rows: Vec<Row>,
}

impl RegisterFile {
    fn new(warps: usize, registers: usize) -> RegisterFile {
        RegisterFile { registers, rows: vec![Row::ZERO; warps * registers] }
    }

    fn clear(&mut self, slot: usize) {
        self.rows[slot * self.registers..(slot + 1) * self.registers].fill(Row::ZERO);
    }

    fn row(&mut self, slot: usize, reg: u8) -> &mut Row {
        &mut self.rows[slot * self.registers + usize::from(reg)]
    }

    /// Takes in what left a collector: its dirty lanes, unless the compiler knows them dead.
    fn take(&mut self, slot: usize, entry: &Left, evicted: bool, stats: &mut Counters, writes: &mut Vec<u8>) {
        if entry.dirty == 0 {
            return;
        }
        // A transient value that has to leave early may still be wanted.
        if entry.keep || evicted {
            merge(self.row(slot, entry.reg), &entry.row, entry.dirty);
            writes.push(entry.bank);
        } else {
            stats.bypassed_register_writes += 1;
        }
    }
}

impl Technique for BowWr {
    const INFO: TechniqueInfo = TechniqueInfo {
        name: "bow-wr",
        summary: "operand bypassing of reads and writes, with compiler hints where results go",
        paper: "BOW: Breathing Operand Windows, sections 3.4.2 and 3.4.3",
        claims: &[Claim::CollectorOrganisation, Claim::ResultDestination],
    };

    fn new(_config: &GpuConfig, section: &toml::Table) -> Result<BowWr, String> {
        let params: Params = params::parse(section)?;
        Ok(BowWr {
            window: Window::new(params.window, params.entries)?,
            use_hints: params.hints,
            hints: Vec::new(),
            collectors: Vec::new(),
            file: RegisterFile::default(),
        })
    }

    fn prepare(&mut self, program: &Program, config: &GpuConfig, plan: &mut Plan) -> Result<(), String> {
        let mut padded = vec![[Destination::BOTH; MAX_DST]; program.insts.len()];
        if self.use_hints {
            let known = destinations(&program.kernel, &program.kernel.flow(), self.window.instructions());
            for (padded, known) in padded.iter_mut().zip(known) {
                padded[..known.len()].copy_from_slice(&known);
            }
        }
        self.hints = padded;
        self.collectors = self.window.collectors(config);
        self.file = RegisterFile::new(config.sm.max_warps as usize, program.registers_per_thread as usize);
        plan.collectors = Some(self.window.plan(config));
        plan.hooks.collect = true;
        plan.hooks.write_back = true;
        Ok(())
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        self.collectors[warp.slot].start(cx.cycle, drop);
        self.file.clear(warp.slot);
    }

    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        let (boc, file) = (&mut self.collectors[warp.slot], &mut self.file);
        boc.account(cx.cycle, cx.stats);
        boc.slide(warp.issued, |left| file.take(warp.slot, &left, false, cx.stats, cx.extra_writes));
        for operand in operands.iter_mut() {
            // What other lanes hold may be dead and bypassed.
            forward(BowWr::INFO.name, boc, cx, warp, inst, operand, |_| inst.active)?;
        }
        for (position, operand) in operands.iter().enumerate() {
            if matches!(operand.from, ReadFrom::Bank(_)) {
                let entry = boc.entry(operand.reg, warp.issued, |left| evict(file, warp.slot, &left, cx));
                entry.fill(file.row(warp.slot, operand.reg), (inst.id, position as u8));
                cx.stats.boc_writes += 1;
                cx.check(BowWr::INFO.name, warp, inst.pc, operand.reg, inst.active, &entry.row)?;
            }
        }
        for (reg, hint) in inst.inst.destinations().iter().zip(&self.hints[inst.pc as usize]) {
            if hint.collector {
                boc.entry(*reg, warp.issued, |left| evict(file, warp.slot, &left, cx));
            }
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
        let (boc, file) = (&mut self.collectors[warp.slot], &mut self.file);
        boc.account(cx.cycle, cx.stats);
        let position = warp.issued.saturating_sub(1);
        boc.slide(position, |left| file.take(warp.slot, &left, false, cx.stats, cx.extra_writes));
        for (write, hint) in writes.iter_mut().zip(&self.hints[inst.pc as usize]) {
            let WriteTo::Bank(bank) = write.to else { continue };
            match boc.find(write.reg).filter(|_| hint.collector) {
                Some(entry) => {
                    write.to = WriteTo::Nowhere;
                    cx.stats.boc_writes += 1;
                    // An earlier result in the same lanes never reaches a bank; the rest of it leaves with this.
                    let older = entry.dirty & !inst.exec;
                    cx.stats.bypassed_register_writes += u64::from(entry.dirty != 0 || inst.exec == 0);
                    if inst.exec != 0 {
                        entry.keep = hint.register_file || (entry.keep && older != 0);
                        entry.bank = bank;
                        entry.dirty |= inst.exec;
                        entry.write(write.row, inst.exec);
                    }
                }
                None => {
                    // Slid out, evicted, or meant for the register file alone.
                    cx.stats.bypassed_register_writes += u64::from(boc.forget(write.reg, inst.exec));
                    merge(file.row(warp.slot, write.reg), write.row, inst.exec);
                }
            }
        }
        Ok(())
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        let (boc, stats) = (&mut self.collectors[warp_slot], &mut *cx.stats);
        boc.account(cx.cycle, stats);
        // Nobody reads the registers of a warp that has ended.
        boc.start(cx.cycle, |left| stats.bypassed_register_writes += u64::from(left.dirty != 0));
    }

    fn describe(&self) -> String {
        describe(&self.collectors)
    }
}

/// An entry makes room before its window has ended.
fn evict(file: &mut RegisterFile, slot: usize, left: &Left, cx: &mut Cx<'_>) {
    cx.stats.boc_evictions += 1;
    file.take(slot, left, true, cx.stats, cx.extra_writes);
}
