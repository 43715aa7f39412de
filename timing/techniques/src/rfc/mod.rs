//! The register file cache of Gebhart et al. ("Energy-efficient Mechanisms for Managing Thread Context in
//! Throughput Processors", ISCA 2011, section 3): each warp has a small cache of registers beside the main
//! register file. Results are written to the cache first, and to the main register file when they are evicted
//! or when their warp leaves the active set of the two-level scheduler.
//! BOW is compared with it, with six entries per thread (BOW, section 3.6).

use super::{
    Claim, Cx, InstView, Launch, OperandRead, ParamValue, Params as _, Plan, Price, ReadFrom, RegisterWrite,
    Registration, Shape, Storage, StorageInfo, Technique, TechniqueInfo, ValueMismatch, WarpView, WriteTo,
    merge,
};
use warplab_technique::Row;
use warplab_technique::declare::Cause;
use warplab_technique::{causes, counts, params};

params! {
    /// `[technique.rfc]`.
    struct Params {
        /// Registers that each warp has in the cache.
        entries: u32 = 6, 1..=64;
        /// Reads of a warp's part of the cache per cycle.
        read_ports: u32 = 3, 1..=16;
        /// Results that a warp's part of the cache accepts per cycle.
        write_ports: u32 = 1, 1..=16;
        /// Cycles from the start of a read to the operand's arrival in the collector.
        latency_cycles: u32 = 1, 0..=16;
        /// Whether a register read from the main register file is kept too; the paper keeps only results.
        allocate_on_read: bool = false;
        /// Whether the cache is used; if false, the hardware exists, but every access goes to the banks.
        mechanism: bool = true;
        /// Whether every register has an entry, with as many ports as are asked for.
        ideal: bool = false;
    }
}

counts! {
    /// Counters of the cache.
    struct Counts {
        /// Evicted registers.
        evictions;
        /// Registers that were written to a bank when their warp left the active set.
        flushed_registers;
        /// Results that were overwritten in the cache before they reached a bank.
        bypassed_register_writes;
    }
}

causes! {
    /// Reasons for which an operand is read from its bank.
    enum Lost {
        /// The warp has not written the register since it began, or since it was flushed.
        NotWritten = "not_written";
        /// The register was evicted after the warp had written it.
        Evicted = "evicted";
        /// The cache holds the register for only some active lanes.
        Lanes = "lanes_not_held";
        /// The cache is switched off.
        Off = "mechanism_off";
    }
}

/// Entry in the list of techniques.
pub(crate) const REGISTRATION: Registration =
    Registration::new(&INFO, |_, section| Ok(Box::new(Rfc::new(Params::read(section)?))));

const INFO: TechniqueInfo = TechniqueInfo::new(
    "rfc",
    "a small register file cache per warp that takes results first",
    "Gebhart et al., ISCA 2011, section 3; compared in BOW, section 3.6",
)
.with_uniform_registers()
.with_claims(&[Claim::ResultDestination, Claim::RegisterContents])
.with_params(Params::declared)
.with_counters(Counts::DECLARED)
.with_losses("a source register that would be read from a bank", Lost::DECLARED)
.with_storage(&[StorageInfo::new("rfc", "the register file cache", "technique_storage")
    .with_price(Price::new(6.0, "an estimate: a few entries, as BOW's collector of 12 at 2.72 pJ"))]);

/// Registers that an instruction can name.
const REGISTERS: u32 = 255;

/// Bits of an entry: a warp register, its number, and masks of its held and dirty lanes.
const ENTRY_BITS: u32 = 32 * 32 + 8 + 32 + 32;

/// A register in the cache.
#[derive(Clone, Debug)]
struct Entry {
    register: u8,
    /// Lanes that the entry holds.
    held: u32,
    /// Held lanes not yet written to the bank.
    dirty: u32,
    /// Bank of the register.
    bank: u8,
    row: Row,
}

/// A warp's entries in the cache, oldest first, and its registers in the banks.
#[derive(Clone, Debug, Default)]
struct Warp {
    entries: Vec<Entry>,
    /// Registers that were written and evicted.
    evicted: Vec<u8>,
    /// Contents of the main register file, which may be older than the program's last write.
    banks: Vec<Row>,
}

/// See the module.
#[derive(Clone, Debug)]
struct Rfc {
    params: Params,
    storage: Storage,
    counts: Counts,
    warps: Vec<Warp>,
}

impl Rfc {
    fn new(mut params: Params) -> Rfc {
        if params.ideal {
            (params.entries, params.read_ports, params.write_ports) = (REGISTERS, REGISTERS, REGISTERS);
        }
        let shape = Shape::new(0, params.entries, ENTRY_BITS)
            .with_ports(params.read_ports, params.write_ports)
            .with_latency(params.latency_cycles);
        Rfc { params, storage: Storage::new(shape), counts: Counts::default(), warps: Vec::new() }
    }

    /// The entry of a register, which is created empty if it does not exist; the oldest entry is evicted if
    /// the cache is full.
    fn entry(&mut self, cx: &mut Cx<'_>, slot: usize, register: u8, bank: u8) -> &mut Entry {
        let warp = &mut self.warps[slot];
        if let Some(at) = warp.entries.iter().position(|entry| entry.register == register) {
            return &mut warp.entries[at];
        }
        if warp.entries.len() == self.params.entries as usize {
            let oldest = warp.entries.remove(0);
            self.counts.evictions += 1;
            warp.evicted.push(oldest.register);
            write_to_bank(cx, &mut warp.banks, &oldest);
        }
        warp.evicted.retain(|evicted| *evicted != register);
        warp.entries.push(Entry { register, held: 0, dirty: 0, bank, row: Row::ZERO });
        self.storage.set_used(cx.cycle, slot, warp.entries.len() as u32);
        warp.entries.last_mut().expect("just pushed")
    }
}

/// Writes the dirty lanes of an entry to the bank.
fn write_to_bank(cx: &mut Cx<'_>, banks: &mut [Row], entry: &Entry) {
    if entry.dirty != 0 {
        merge(&mut banks[usize::from(entry.register)], &entry.row, entry.dirty);
        cx.write_bank(entry.bank);
    }
}

impl Technique for Rfc {
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
        vec![&self.storage]
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        let warps = launch.config.sm.max_warps;
        let registers = launch.program.registers_per_thread as usize;
        let warp = Warp { banks: vec![Row::ZERO; registers], ..Warp::default() };
        self.warps = vec![warp; warps as usize];
        self.storage = Storage::new(self.storage.shape().with_banks(warps));
        self.counts = Counts::default();
        plan.hooks.collect = true;
        plan.hooks.write_back = true;
        plan.hooks.order = true;
        Ok(())
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        let own = &mut self.warps[warp.slot];
        own.entries.clear();
        own.evicted.clear();
        own.banks.fill(Row::ZERO);
        self.storage.set_used(cx.cycle, warp.slot, 0);
    }

    /// Operands: from the cache where it holds the value in every lane on the path, else from their banks.
    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        for operand in operands.iter_mut().filter(|operand| operand.is_from_bank()) {
            cx.opportunity(1);
            let own = &self.warps[warp.slot];
            let found = own.entries.iter().find(|entry| entry.register == operand.reg);
            if let Some(entry) = found.filter(|entry| inst.active & !entry.held == 0) {
                let supplied = cx.supply(warp, inst, operand.reg, &entry.row)?;
                operand.from = ReadFrom::Storage(self.storage.read(cx.cycle, warp.slot), supplied);
                continue;
            }
            // Combines lanes of the cache with the bank's value in the other lanes.
            let mut row = own.banks[usize::from(operand.reg)];
            if let Some(entry) = found {
                merge(&mut row, &entry.row, entry.held);
                self.storage.read(cx.cycle, warp.slot);
            }
            cx.compare(warp, inst, operand.reg, &row)?;
            let cause = match found {
                _ if !self.params.mechanism => Lost::Off,
                Some(_) => Lost::Lanes,
                None if own.evicted.contains(&operand.reg) => Lost::Evicted,
                None => Lost::NotWritten,
            };
            cx.lost(cause, 1);
            if let (true, true, ReadFrom::Bank(bank)) =
                (self.params.allocate_on_read, self.params.mechanism, operand.from)
            {
                let entry = self.entry(cx, warp.slot, operand.reg, bank);
                (entry.row, entry.held) = (row, u32::MAX);
                self.storage.write(cx.cycle, warp.slot);
            }
        }
        Ok(())
    }

    /// Results are written to the cache, and to a bank when they are evicted.
    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        for write in writes {
            let WriteTo::Bank(bank) = write.to else { continue };
            if !self.params.mechanism {
                merge(&mut self.warps[warp.slot].banks[usize::from(write.reg)], write.row(), inst.exec);
                continue;
            }
            let entry = self.entry(cx, warp.slot, write.reg, bank);
            let overwritten = entry.dirty != 0;
            merge(&mut entry.row, write.row(), inst.exec);
            entry.held |= inst.exec;
            entry.dirty |= inst.exec;
            self.counts.bypassed_register_writes += u64::from(overwritten);
            self.storage.write(cx.cycle, warp.slot);
            write.to = WriteTo::Nowhere;
        }
        Ok(())
    }

    /// A warp that leaves the active set is flushed.
    fn activity(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, active: bool) {
        if active {
            return;
        }
        let own = &mut self.warps[warp.slot];
        for entry in own.entries.drain(..) {
            self.counts.flushed_registers += u64::from(entry.dirty != 0);
            write_to_bank(cx, &mut own.banks, &entry);
        }
        own.evicted.clear();
        self.storage.set_used(cx.cycle, warp.slot, 0);
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        // The registers of an ended warp are not read again: dirty lanes are dropped.
        let entries = self.warps[warp_slot].entries.drain(..);
        self.counts.bypassed_register_writes += entries.filter(|entry| entry.dirty != 0).count() as u64;
        self.storage.set_used(cx.cycle, warp_slot, 0);
    }

    fn describe(&self) -> String {
        let held: usize = self.warps.iter().map(|warp| warp.entries.len()).sum();
        format!("{held} registers in the cache")
    }
}
