//! The sliding window and the collectors that BOW and BOW-WR share: holding, forwarding, pinning and
//! eviction.
//!
//! Each warp has a collector ([`Boc`]); all collectors together are one storage structure with a bank per
//! warp. Entries with operands of instructions that have not been dispatched are pinned: they are not
//! evicted.

use super::boc::{Boc, Entry};
use crate::{
    Access, CollectorPlan, Cx, InFlightId, InstView, IssueVerdict, Issuing, Launch, OperandRead, Plan,
    ReadFrom, Shape, Storage, StorageInfo, TechniqueInfo, ValueMismatch, WarpView,
};
use warplab_technique::declare::Cause;
use warplab_technique::{causes, counts, params};

params! {
    /// `[technique.bow]`.
    pub(crate) struct Params {
        /// Instructions of the window, the inserted one included.
        window: u32 = 3, 1..=16;
        /// Whether a forwarded register stays for another window (section 3.4.1, the extended instruction window); if false, it
        /// leaves with the window of the instruction that brought it.
        extended: bool = true;
        /// Registers that a collector holds; 0 means three sources and a destination per instruction of the window.
        entries: u32 = 0, 0..=64;
        /// Accesses that a collector serves per cycle: operands that are forwarded, and values that are stored.
        ports: u32 = 4, 1..=64;
        /// Whether the collectors of all warps together hold no more undispatched instructions of a class than the
        /// machine's own collectors; if false, each holds as many as the window has.
        machine_collectors: bool = true;
        /// Whether operands are forwarded; if false, the collectors exist but forward nothing.
        mechanism: bool = true;
        /// Whether the window never ends and every register has an entry, with as many ports as are asked for.
        ideal: bool = false;
    }
}

counts! {
    /// Counters of the window.
    pub(crate) struct Counts {
        /// Operands that were forwarded instead of read from a bank.
        forwarded_operands;
        /// Registers evicted from a full collector before their window ended.
        boc_evictions;
        /// Cycles, summed over warps, in which a collector was more than half full.
        boc_over_half_full_cycles;
    }
}

causes! {
    /// Stall causes.
    pub(crate) enum Stall {
        /// The collector has no free entry for the operands beside those of instructions that have not been
        /// dispatched.
        Full = "collector_entries_full";
    }
}

causes! {
    /// Reasons for which an operand is read from its bank.
    pub(crate) enum Lost {
        /// The register was not accessed within the window.
        OutsideWindow = "outside_window";
        /// It was accessed within the window, but its entry was evicted.
        Evicted = "evicted";
        /// The entry holds the value for only some active lanes.
        Lanes = "lanes_not_held";
        /// Forwarding is switched off.
        Off = "mechanism_off";
    }
}

/// Declarations that BOW and BOW-WR share.
pub(crate) const INFO: TechniqueInfo = TechniqueInfo::new("", "", "")
    .with_uniform_registers()
    .with_counters(Counts::DECLARED)
    .with_stalls(Stall::DECLARED)
    .with_losses("a source register of an instruction", Lost::DECLARED)
    .with_storage(&[StorageInfo::new("boc", "the bypassing operand collectors", "technique_storage")]);

/// Registers that an instruction can name.
const REGISTERS: u32 = 255;

/// Bits of an entry: a warp register, its number, and a valid bit.
const ENTRY_BITS: u32 = 32 * 32 + 8 + 1;

/// Pinned and evicted entries of a warp's collector.
#[derive(Clone, Debug)]
struct Warp {
    /// Instructions that have not been dispatched.
    pinned: Vec<InFlightId>,
    /// By register: position in the warp's instructions until which an evicted entry would have stayed.
    evicted_until: Box<[u64; 256]>,
    accounted: u64,
}

/// Windows and collectors of all warps of an SM.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    params: Params,
    /// Instructions for which an access keeps a register, the accessing one included.
    reach: u32,
    entries: u32,
    pub collectors: Vec<Boc>,
    warps: Vec<Warp>,
    pub storage: Storage,
    pub counts: Counts,
}

impl Window {
    /// A window that is not yet prepared for a kernel.
    pub(crate) fn new(params: Params) -> Window {
        let (reach, entries, ports) = match params {
            Params { ideal: true, .. } => (u32::MAX, REGISTERS, REGISTERS),
            Params { window, entries: 0, ports, .. } => (window, 4 * window, ports),
            Params { window, entries, ports, .. } => (window, entries, ports),
        };
        let shape = Shape::new(0, entries, ENTRY_BITS).with_ports(ports, 0);
        let storage = Storage::new(shape);
        let (collectors, warps) = (Vec::new(), Vec::new());
        Window { params, reach, entries, collectors, warps, storage, counts: Counts::default() }
    }

    /// Instructions of the window.
    pub(crate) fn instructions(&self) -> u32 {
        self.params.window
    }

    /// Creates one collector per warp, and requests the hooks that a window needs.
    pub(crate) fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) {
        let warps = launch.config.sm.max_warps;
        self.collectors = vec![Boc::new(self.reach, self.entries); warps as usize];
        let warp = Warp { pinned: Vec::new(), evicted_until: Box::new([0; 256]), accounted: 0 };
        self.warps = vec![warp; warps as usize];
        self.storage = Storage::new(self.storage.shape().with_banks(warps));
        self.counts = Counts::default();
        let collectors = CollectorPlan::new(self.params.window, launch.config.collectors.ports);
        plan.collectors =
            Some(if self.params.machine_collectors { collectors.bounded() } else { collectors });
        plan.hooks.issue = true;
        plan.hooks.collect = true;
        plan.hooks.execute = true;
        plan.hooks.write_back = true;
    }

    /// Empties a collector for a new warp, or after one has ended; its entries are passed to `left`.
    pub(crate) fn start(&mut self, cycle: u64, slot: usize, left: impl FnMut(&Entry)) {
        self.account(cycle, slot);
        self.collectors[slot].start(left);
        self.warps[slot].pinned.clear();
        self.warps[slot].evicted_until.fill(0);
        self.storage.set_used(cycle, slot, 0);
    }

    /// Adds the time since the last change of a collector to the counters.
    #[inline]
    fn account(&mut self, cycle: u64, slot: usize) {
        let passed = cycle - std::mem::replace(&mut self.warps[slot].accounted, cycle);
        if self.collectors[slot].used() * 2 > self.entries as usize {
            self.counts.boc_over_half_full_cycles += passed;
        }
    }

    /// Slides a window so that it ends with the instruction at `position`; entries that leave it are passed
    /// to `left`.
    #[inline]
    pub(crate) fn slide(&mut self, cycle: u64, slot: usize, position: u64, left: impl FnMut(&Entry)) {
        self.account(cycle, slot);
        let boc = &mut self.collectors[slot];
        let before = boc.len();
        boc.slide(position, left);
        if boc.len() != before {
            self.storage.set_used(cycle, slot, boc.used() as u32);
        }
    }

    /// Whether the collector has entries for an instruction's operands.
    pub(crate) fn verdict(&self, warp: &WarpView<'_>, what: &Issuing<'_>) -> IssueVerdict {
        let Issuing::Program(inst) = what else { return IssueVerdict::Issue };
        let (boc, pinned) = (&self.collectors[warp.slot], &self.warps[warp.slot].pinned);
        let sources = inst.inst.sources().len();
        if pinned.is_empty() || boc.pinned() + sources <= self.entries as usize {
            return IssueVerdict::Issue;
        }
        let new = inst.inst.sources().iter().filter(|reg| !boc.is_pinned(**reg)).count();
        if boc.pinned() + new > self.entries as usize {
            return IssueVerdict::Stall(Stall::Full.index());
        }
        IssueVerdict::Issue
    }

    /// Supplies operands from the collector where it holds the value in every lane on the path. All operands are looked up
    /// before any entry is evicted.
    pub(crate) fn forward(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        for operand in operands.iter_mut().filter(|operand| operand.is_from_bank()) {
            cx.opportunity(1);
            if !self.params.mechanism {
                cx.lost(Lost::Off, 1);
                continue;
            }
            let Some(entry) = self.collectors[warp.slot].find(operand.reg) else {
                let until = self.warps[warp.slot].evicted_until[usize::from(operand.reg)];
                cx.lost(if warp.issued < until { Lost::Evicted } else { Lost::OutsideWindow }, 1);
                continue;
            };
            if entry.held == 0 {
                cx.lost(Lost::OutsideWindow, 1);
                continue;
            }
            if inst.active & !entry.held != 0 {
                cx.lost(Lost::Lanes, 1);
                continue;
            }
            if self.params.extended {
                entry.accessed = warp.issued;
            }
            let supplied = cx.supply(warp, inst, operand.reg, &entry.row)?;
            let access: Access = self.storage.read(cx.cycle, warp.slot);
            operand.from = match entry.awaited(inst.active) {
                Some((id, position)) => ReadFrom::After(id, position, supplied),
                None => ReadFrom::Storage(access, supplied),
            };
            self.counts.forwarded_operands += 1;
        }
        Ok(())
    }

    /// The entry of a register, which is created empty if it does not exist; the oldest entry that is not
    /// pinned is evicted and passed to `left`.
    pub(crate) fn hold(&mut self, warp: &WarpView<'_>, reg: u8, left: impl FnOnce(&Entry)) -> &mut Entry {
        let boc = &mut self.collectors[warp.slot];
        let (window, counts) = (u64::from(self.reach), &mut self.counts);
        let evicted_until = &mut self.warps[warp.slot].evicted_until;
        boc.entry(reg, warp.issued, |entry| {
            counts.boc_evictions += 1;
            evicted_until[usize::from(entry.reg)] = entry.accessed + window;
            left(entry);
        })
    }

    /// Pins the operands of an instruction until it is dispatched; the last step of its entry into the
    /// collector.
    pub(crate) fn pin(&mut self, cycle: u64, warp: &WarpView<'_>, inst: &InstView<'_>) {
        let boc = &mut self.collectors[warp.slot];
        inst.inst.sources().iter().for_each(|reg| boc.pin(*reg));
        self.warps[warp.slot].pinned.push(inst.id);
        self.storage.set_used(cycle, warp.slot, boc.used() as u32);
    }

    /// Unpins the operands of a dispatched instruction.
    pub(crate) fn unpin(&mut self, cycle: u64, slot: usize, inst: &InstView<'_>) {
        let pinned = &mut self.warps[slot].pinned;
        let Some(at) = pinned.iter().position(|id| *id == inst.id) else { return };
        pinned.swap_remove(at);
        self.account(cycle, slot);
        let boc = &mut self.collectors[slot];
        inst.inst.sources().iter().for_each(|reg| boc.unpin(*reg));
        self.storage.set_used(cycle, slot, boc.used() as u32);
    }

    /// Contents of the collectors, warp by warp.
    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        for (slot, boc) in self.collectors.iter().enumerate().filter(|(_, boc)| boc.len() > 0) {
            let registers: Vec<String> = boc.registers().map(|reg| format!("R{reg}")).collect();
            let waiting = self.warps[slot].pinned.len();
            text += &format!(
                "warp slot {slot} holds {} for {waiting} instructions in its collector; ",
                registers.join(" ")
            );
        }
        text
    }
}
