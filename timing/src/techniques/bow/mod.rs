//! BOW, breathing operand windows with write-through: each warp has an operand collector of its own that keeps
//! the registers of the warp's last instructions, so that the next ones need not read them from the banks
//! (BOW, sections 3.4.1 and 3.4.3).
//!
//! The window counts every instruction of the warp, branches included, and slides when one issues; an access
//! keeps a register for `window - 1` further instructions. Results go to the collector and to the register
//! file; a result whose instruction has slid out of the window goes to the register file alone. Configuration,
//! `[technique.bow]`: `window`, instructions (default 3); `entries`, registers per collector (default 4 per
//! instruction of the window; fewer evict first in, first out).

pub(crate) mod boc;
#[cfg(test)]
mod tests;

use super::{
    Claim, CollectorPlan, Cx, InstView, OperandRead, Plan, ReadFrom, RegisterWrite, Technique, TechniqueInfo,
    ValueMismatch, WarpView, params,
};
use crate::config::GpuConfig;
use crate::program::Program;
use boc::{Boc, Entry};
use serde::Deserialize;

/// `[technique.bow]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Params {
    window: u32,
    entries: Option<u32>,
}

impl Default for Params {
    fn default() -> Params {
        Params { window: 3, entries: None }
    }
}

/// A window and the collectors that it needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    window: u32,
    entries: u32,
}

impl Window {
    /// Checks a window in instructions and its registers per collector, by default three sources and a
    /// destination per instruction.
    pub fn new(window: u32, entries: Option<u32>) -> Result<Window, String> {
        params::within("window", window, 1, 16)?;
        let entries = entries.unwrap_or(4 * window);
        params::within("entries", entries, 1, 64)?;
        Ok(Window { window, entries })
    }

    /// Instructions of the window.
    pub fn instructions(self) -> u32 {
        self.window
    }

    /// One empty collector per warp.
    pub fn collectors(self, config: &GpuConfig) -> Vec<Boc> {
        vec![Boc::new(self.window, self.entries); config.sm.max_warps as usize]
    }

    /// The collectors as the pipeline has to provide them.
    pub fn plan(self, config: &GpuConfig) -> CollectorPlan {
        CollectorPlan { instructions_per_warp: self.window, ports: config.collectors.ports }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Bow {
    window: Window,
    collectors: Vec<Boc>,
}

impl Technique for Bow {
    const INFO: TechniqueInfo = TechniqueInfo {
        name: "bow",
        summary: "operand bypassing within a sliding instruction window, write-through",
        paper: "BOW: Breathing Operand Windows, sections 3.4.1 and 3.4.3",
        claims: &[Claim::CollectorOrganisation],
    };

    fn new(_config: &GpuConfig, section: &toml::Table) -> Result<Bow, String> {
        let params: Params = params::parse(section)?;
        Ok(Bow { window: Window::new(params.window, params.entries)?, collectors: Vec::new() })
    }

    fn prepare(&mut self, _program: &Program, config: &GpuConfig, plan: &mut Plan) -> Result<(), String> {
        self.collectors = self.window.collectors(config);
        plan.collectors = Some(self.window.plan(config));
        plan.hooks.collect = true;
        plan.hooks.write_back = true;
        Ok(())
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        self.collectors[warp.slot].start(cx.cycle, drop);
    }

    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        let boc = &mut self.collectors[warp.slot];
        boc.account(cx.cycle, cx.stats);
        boc.slide(warp.issued, drop);
        // The forwarding logic looks at all operands before anything makes room for a new one.
        for operand in operands.iter_mut() {
            forward(Bow::INFO.name, boc, cx, warp, inst, operand, |entry| entry.held)?;
        }
        for (position, operand) in operands.iter().enumerate() {
            if matches!(operand.from, ReadFrom::Bank(_)) {
                let entry = boc.entry(operand.reg, warp.issued, |_| cx.stats.boc_evictions += 1);
                entry.fill(&warp.rows[usize::from(operand.reg)], (inst.id, position as u8));
                cx.stats.boc_writes += 1;
            }
        }
        for reg in inst.inst.destinations() {
            boc.entry(*reg, warp.issued, |_| cx.stats.boc_evictions += 1);
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
        let boc = &mut self.collectors[warp.slot];
        boc.account(cx.cycle, cx.stats);
        boc.slide(warp.issued.saturating_sub(1), drop);
        if inst.exec == 0 {
            return Ok(());
        }
        for write in writes {
            if let Some(entry) = boc.find(write.reg) {
                entry.write(write.row, inst.exec);
                cx.stats.boc_writes += 1;
            }
        }
        Ok(())
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        self.collectors[warp_slot].account(cx.cycle, cx.stats);
        self.collectors[warp_slot].start(cx.cycle, drop);
    }

    fn describe(&self) -> String {
        describe(&self.collectors)
    }
}

/// Supplies an operand from the collector if it holds the value in every lane on the path, after comparing it
/// with the recording in the lanes of `checked`.
pub(crate) fn forward(
    technique: &'static str,
    boc: &mut Boc,
    cx: &mut Cx<'_>,
    warp: &WarpView<'_>,
    inst: &InstView<'_>,
    operand: &mut OperandRead,
    checked: impl FnOnce(&Entry) -> u32,
) -> Result<(), Box<ValueMismatch>> {
    let Some(entry) = boc.find(operand.reg).filter(|entry| inst.active & !entry.held == 0) else {
        return Ok(());
    };
    entry.accessed = warp.issued;
    cx.check(technique, warp, inst.pc, operand.reg, checked(entry), &entry.row)?;
    operand.from = match entry.awaited(inst.active) {
        Some((id, position)) => ReadFrom::After(id, position),
        None => ReadFrom::Forwarded,
    };
    cx.stats.boc_reads += 1;
    cx.stats.forwarded_operands += 1;
    Ok(())
}

/// What the collectors hold, warp by warp.
pub(crate) fn describe(collectors: &[Boc]) -> String {
    let mut text = String::new();
    for (slot, boc) in collectors.iter().enumerate().filter(|(_, boc)| boc.len() > 0) {
        let registers: Vec<String> = boc.registers().map(|reg| format!("R{reg}")).collect();
        text += &format!("warp slot {slot} holds {}; ", registers.join(" "));
    }
    text
}
