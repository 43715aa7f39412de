//! BOW-WR, operand bypassing with write-back: results stay in the warp's collector and are written to the
//! register file when they leave the window, unless they have been overwritten or are dead by then (BOW,
//! sections 3.4.2 and 3.4.3).
//!
//! Windows and forwarding are those of [`super::bow::window`]. Compiler hints (`analysis::destinations`) send
//! each result to the collector, to the register file, or to both. A copy of the register file without the
//! bypassed values is kept beside the recorded one, and every read from a bank is compared with it: a value
//! that a wrong hint has lost is detected there.

#[cfg(test)]
mod tests;

use super::bow::boc::Entry;
use super::bow::window::{self, INFO as WINDOW, Window};
use super::{
    Claim, Cx, InstView, IssueVerdict, Issuing, Launch, OperandRead, ParamValue, Params as _, Plan,
    RegisterWrite, Registration, Storage, Technique, TechniqueInfo, ValueMismatch, WarpView, WriteTo, merge,
};
use warplab_analysis::destinations::{Destination, destinations};
use warplab_technique::Row;
use warplab_technique::program::MAX_DST;
use warplab_technique::{CounterInfo, params};

params! {
    /// `[technique.bow-wr]`.
    struct Params {
        /// Instructions of the window, the inserted one included.
        window: u32 = 3, 1..=16;
        /// Registers that a collector holds; 0 means three sources and a destination per instruction of the window.
        entries: u32 = 0, 0..=64;
        /// Accesses that a collector serves per cycle: operands that are forwarded, and values that are stored.
        ports: u32 = 4, 1..=64;
        /// Whether compiler hints decide where results go; false is the write-back of table 3.1 without
        /// hints.
        hints: bool = true;
        /// Whether the collectors of all warps together hold no more undispatched instructions of a class than the
        /// machine's own collectors; if false, each holds as many as the window has.
        machine_collectors: bool = true;
        /// Whether operands are forwarded and results held back; if false, the collectors exist but do
        /// neither.
        mechanism: bool = true;
        /// Whether the window never ends and every register has an entry, with as many ports as are asked for; results
        /// then need no hints.
        ideal: bool = false;
    }
}

/// Entry in the list of techniques.
pub(crate) const REGISTRATION: Registration =
    Registration::new(&INFO, |_, section| Ok(Box::new(BowWr::new(section)?)));

/// Counters of the window and of write-back.
const COUNTERS: [CounterInfo; 4] = [
    WINDOW.counters[0],
    WINDOW.counters[1],
    WINDOW.counters[2],
    CounterInfo::new(
        "bypassed_register_writes",
        "Results that were overwritten or dead before they reached a bank.",
        None,
        None,
    ),
];

pub(crate) const INFO: TechniqueInfo = WINDOW
    .named(
        "bow-wr",
        "operand bypassing of reads and writes, with compiler hints where results go",
        "BOW: Breathing Operand Windows, sections 3.4.2 and 3.4.3",
    )
    .with_claims(&[Claim::CollectorOrganisation, Claim::ResultDestination, Claim::RegisterContents])
    .with_params(Params::declared)
    .with_counters(&COUNTERS);

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct BowWr {
    params: Params,
    window: Window,
    hints: Vec<[Destination; MAX_DST]>,
    file: RegisterFile,
    bypassed_register_writes: u64,
}

/// Contents of the banks, which may be older than the program's last write.
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

    /// Writes the dirty lanes of an evicted entry, unless the compiler marks them dead. Returns the written
    /// bank.
    fn take(&mut self, slot: usize, entry: &Entry, evicted: bool, bypassed: &mut u64) -> Option<u8> {
        if entry.dirty == 0 {
            return None;
        }
        // A transient value that is evicted early may still be read.
        if entry.keep || evicted {
            merge(self.row(slot, entry.reg), &entry.row, entry.dirty);
            return Some(entry.bank);
        }
        *bypassed += 1;
        None
    }
}

impl BowWr {
    /// Reads `[technique.bow-wr]`.
    pub(super) fn new(section: &toml::Table) -> Result<BowWr, String> {
        let params = Params::read(section)?;
        let Params { window, entries, ports, machine_collectors, mechanism, ideal, .. } = params;
        // The compiler's hints count on every use to extend the window.
        let extended = true;
        let shared =
            window::Params { window, extended, entries, ports, machine_collectors, mechanism, ideal };
        Ok(BowWr {
            params,
            window: Window::new(shared),
            hints: Vec::new(),
            file: RegisterFile::default(),
            bypassed_register_writes: 0,
        })
    }

    /// Slides the window; entries that leave it are written to the register file or are dead.
    fn slide(&mut self, cx: &mut Cx<'_>, slot: usize, position: u64) {
        let BowWr { window, file, bypassed_register_writes, .. } = self;
        window.slide(cx.cycle, slot, position, |left| {
            if let Some(bank) = file.take(slot, left, false, bypassed_register_writes) {
                cx.write_bank(bank);
            }
        });
    }
}

impl Technique for BowWr {
    fn info(&self) -> &'static TechniqueInfo {
        &INFO
    }

    fn params(&self) -> Vec<(&'static str, ParamValue)> {
        self.params.values()
    }

    fn counts(&self) -> Vec<u64> {
        let mut values = self.window.counts.values();
        values.push(self.bypassed_register_writes);
        values
    }

    fn storage(&self) -> Vec<&Storage> {
        vec![&self.window.storage]
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        let program = launch.program;
        let mut padded = vec![[Destination::BOTH; MAX_DST]; program.insts.len()];
        if self.params.hints && !self.params.ideal {
            let known = destinations(&program.kernel, &program.kernel.flow(), self.window.instructions());
            for (padded, known) in padded.iter_mut().zip(known) {
                padded[..known.len()].copy_from_slice(&known);
            }
        }
        self.hints = padded;
        let warps = launch.config.sm.max_warps as usize;
        self.file = RegisterFile::new(warps, program.registers_per_thread as usize);
        self.bypassed_register_writes = 0;
        self.window.prepare(launch, plan);
        Ok(())
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        self.window.start(cx.cycle, warp.slot, |_| {});
        self.file.clear(warp.slot);
    }

    fn issue(&self, _now: u64, warp: &WarpView<'_>, what: &Issuing<'_>) -> IssueVerdict {
        self.window.verdict(warp, what)
    }

    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        let slot = warp.slot;
        self.slide(cx, slot, warp.issued);
        self.window.forward(cx, warp, inst, operands)?;
        let BowWr { window, file, bypassed_register_writes, .. } = self;
        // A value that is evicted early is written whatever its hint.
        let mut written = Vec::new();
        let mut evict = |file: &mut RegisterFile, left: &Entry| {
            written.extend(file.take(slot, left, true, bypassed_register_writes));
        };
        for (position, operand) in operands.iter().enumerate() {
            if operand.is_from_bank() {
                let entry = window.hold(warp, operand.reg, |left| evict(file, left));
                entry.fill(file.row(slot, operand.reg), (inst.id, position as u8));
                cx.compare(warp, inst, operand.reg, &entry.row)?;
                window.storage.write(cx.cycle, slot);
            }
        }
        for (reg, hint) in inst.inst.destinations().iter().zip(&self.hints[inst.pc as usize]) {
            if hint.collector && self.params.mechanism {
                window.hold(warp, *reg, |left| evict(file, left));
            }
        }
        window.pin(cx.cycle, warp, inst);
        written.into_iter().for_each(|bank| cx.write_bank(bank));
        Ok(())
    }

    fn dispatched(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, inst: &InstView<'_>) {
        self.window.unpin(cx.cycle, warp.slot, inst);
    }

    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        if writes.is_empty() {
            return Ok(());
        }
        self.slide(cx, warp.slot, warp.issued.saturating_sub(1));
        let boc = &mut self.window.collectors[warp.slot];
        for (write, hint) in writes.iter_mut().zip(&self.hints[inst.pc as usize]) {
            let WriteTo::Bank(bank) = write.to else { continue };
            match boc.find(write.reg).filter(|_| hint.collector && self.params.mechanism) {
                Some(entry) => {
                    write.to = WriteTo::Nowhere;
                    self.window.storage.write(cx.cycle, warp.slot);
                    // An earlier result in the same lanes is never written; its other lanes are written
                    // together with this result.
                    let older = entry.dirty & !inst.exec;
                    self.bypassed_register_writes += u64::from(entry.dirty != 0);
                    entry.keep = hint.register_file || (entry.keep && older != 0);
                    entry.bank = bank;
                    entry.dirty |= inst.exec;
                    entry.write(write.row(), inst.exec);
                }
                None => {
                    // Left the window, evicted, or written to the register file alone.
                    self.bypassed_register_writes += u64::from(boc.forget(write.reg, inst.exec));
                    merge(self.file.row(warp.slot, write.reg), write.row(), inst.exec);
                }
            }
        }
        Ok(())
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        let BowWr { window, bypassed_register_writes, .. } = self;
        // The registers of an ended warp are not read again.
        window.start(cx.cycle, warp_slot, |left| *bypassed_register_writes += u64::from(left.dirty != 0));
    }

    fn describe(&self) -> String {
        self.window.describe()
    }
}
