//! The scalar register file of uniform vectors: an instruction whose operands are the same in every lane
//! computes one value for the warp, which is kept in a small file of scalar registers instead of the vector
//! register file (UV, sections 3.1 and 3.1.2).
//!
//! Uniform vectors are detected as in the paper, by their operands and not by their values: immediates,
//! constants, special registers that do not depend on the thread, registers that are mapped to scalar
//! registers; and loads of one address by all lanes. All threads of the warp have to take part. The vector
//! register file's own contents are kept beside, and every read from a bank is compared with them.

#[cfg(test)]
mod tests;

use super::{
    Claim, Cx, InstView, Launch, OperandRead, ParamValue, Params as _, Plan, Price, ReadFrom, RegisterWrite,
    Registration, Shape, Storage, StorageInfo, Technique, TechniqueInfo, ValueMismatch, WarpView, WriteTo,
    merge,
};
use crate::program::Path;
use crate::source::Row;
use trace_format::isa::space::Space;
use trace_format::isa::{Inst, Kind, Lanes, Op, SpecialReg};
use warplab_technique::declare::Cause;
use warplab_technique::{causes, counts, params};

params! {
    /// `[technique.srf]`.
    struct Params {
        /// Scalar registers of an SM.
        entries: u32 = 128, 1..=65536;
        /// Scalar registers that are read per cycle; the paper does not say how many.
        read_ports: u32 = 4, 1..=32;
        /// Scalar registers that are written per cycle; the paper does not say how many.
        write_ports: u32 = 2, 1..=32;
        /// Cycles from the start of a read to the operand's arrival in the collector.
        latency_cycles: u32 = 1, 0..=16;
        /// Whether a unit accepts the next instruction one cycle after a uniform one.
        fast_issue: bool = true;
        /// Whether results are kept in scalar registers; if false, the hardware exists and nothing uses it.
        mechanism: bool = true;
        /// Whether there is a scalar register for every vector register, with as many ports as are asked for.
        ideal: bool = false;
    }
}

counts! {
    /// Counters of the scalar register file.
    struct Counts {
        /// Instructions that were detected as uniform when they entered their collector.
        uniform_instructions;
        /// Results that were written to a scalar register and to no bank.
        scalar_results;
        /// Scalar registers that were copied to a bank because some lanes of their register were written.
        copies;
    }
}

causes! {
    /// Reasons for which an operand is read from its bank.
    enum Lost {
        /// The register was not written by a uniform instruction.
        Vector = "vector_register";
        /// A uniform instruction wrote the register, and no scalar register was free.
        Full = "no_scalar_register";
        /// The scalar register file is switched off.
        Off = "mechanism_off";
    }
}

/// Entry in the list of techniques.
pub(crate) const REGISTRATION: Registration =
    Registration::new(&INFO, |_, section| Ok(Box::new(Srf::new(section)?)));

const INFO: TechniqueInfo = TechniqueInfo::new(
    "srf",
    "a scalar register file for values that are the same in every lane",
    "UV (Xiang et al., ICS 2013), section 3.1.2",
)
.with_claims(&[Claim::ResultDestination])
.with_params(Params::declared)
.with_counters(Counts::DECLARED)
.with_losses("a source register that would be read from a bank", Lost::DECLARED)
.with_storage(&[StorageInfo::new("srf", "the scalar register file", "technique_storage")
    .with_price(Price::new(0.176, "UV table 2, SRF read (40 nm)"))]);

/// A vector register of a warp.
#[derive(Clone, Copy, Debug, Default)]
struct Mapping {
    /// The value, if the register is mapped to a scalar register.
    scalar: Option<u32>,
    /// Whether its value is uniform and found no scalar register.
    denied: bool,
}

/// The registers of a warp.
#[derive(Clone, Debug, Default)]
struct Registers {
    mappings: Vec<Mapping>,
    /// Contents of the banks, which may be older than the program's last write.
    banks: Vec<Row>,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Srf {
    params: Params,
    storage: Storage,
    counts: Counts,
    /// Bits of the renaming table.
    table_bits: u64,
    /// Whether an instruction is uniform if its registers are.
    candidates: Vec<bool>,
    warps: Vec<Registers>,
    /// Whether the instruction in a slot of the pipeline was detected as uniform.
    detected: Vec<bool>,
}

/// Whether an instruction has the same results in every lane if its register operands are the same in every lane.
fn is_candidate(inst: &Inst) -> bool {
    let info = inst.op.info();
    let same = match info.kind {
        Kind::Pure => matches!(info.lanes, Lanes::Own) && !reads_thread(inst.op),
        Kind::Load(space) => matches!(space, Space::Global | Space::Shared | Space::Const),
        _ => false,
    };
    same && inst.psrc[..usize::from(info.pred_srcs)].iter().all(|source| source.pred.is_true())
}

/// Whether an instruction reads a special register that depends on the thread.
fn reads_thread(op: Op) -> bool {
    use SpecialReg as S;
    let Op::S2r { sr } = op else { return false };
    let of_lane = matches!(
        sr,
        S::LaneId | S::LaneMaskEq | S::LaneMaskLt | S::LaneMaskLe | S::LaneMaskGt | S::LaneMaskGe
    );
    of_lane || matches!(sr, S::TidX | S::TidY | S::TidZ)
}

impl Srf {
    /// Reads `[technique.srf]`.
    fn new(section: &toml::Table) -> Result<Srf, String> {
        let mut params = Params::read(section)?;
        if params.ideal {
            // More than any SM has vector registers, and than one cycle has accesses.
            (params.entries, params.read_ports, params.write_ports) = (65536, 256, 256);
        }
        let Params { entries, read_ports, write_ports, latency_cycles, .. } = params;
        let shape =
            Shape::new(1, entries, 32).with_ports(read_ports, write_ports).with_latency(latency_cycles);
        Ok(Srf {
            params,
            storage: Storage::new(shape),
            counts: Counts::default(),
            table_bits: 0,
            candidates: Vec::new(),
            warps: Vec::new(),
            detected: Vec::new(),
        })
    }

    fn is_detected(&self, inst: &InstView<'_>) -> bool {
        self.detected.get(usize::from(inst.id.slot())).copied().unwrap_or(false)
    }
}

impl Technique for Srf {
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

    fn further_bits(&self) -> u64 {
        self.table_bits
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        let program = launch.program;
        let registers = program.registers_per_thread as usize;
        let own =
            Registers { mappings: vec![Mapping::default(); registers], banks: vec![Row::ZERO; registers] };
        self.warps = vec![own; launch.config.sm.max_warps as usize];
        self.candidates = program.insts.iter().map(|inst| is_candidate(&inst.inst)).collect();
        // A number of a scalar register for each vector register, one of them for none.
        let number_bits = u64::from(u32::BITS - self.params.entries.leading_zeros());
        self.table_bits = u64::from(launch.config.sm.registers / 32) * number_bits;
        self.storage = Storage::new(self.storage.shape());
        self.counts = Counts::default();
        self.detected.clear();
        plan.hooks.collect = true;
        plan.hooks.execute = self.params.fast_issue && self.params.mechanism;
        plan.hooks.write_back = true;
        Ok(())
    }

    fn start_warp(&mut self, _cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        let own = &mut self.warps[warp.slot];
        own.mappings.fill(Mapping::default());
        own.banks.fill(Row::ZERO);
    }

    /// Operands: from scalar registers where the map names one, else from their banks.
    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        let own = &self.warps[warp.slot];
        let is_mapped = |reg: &u8| own.mappings[usize::from(*reg)].scalar.is_some();
        let uniform = self.params.mechanism
            && inst.active == warp.threads
            && self.candidates[inst.pc as usize]
            && inst.inst.sources().iter().all(is_mapped);
        self.counts.uniform_instructions += u64::from(uniform);
        let slot = usize::from(inst.id.slot());
        self.detected.resize(self.detected.len().max(slot + 1), false);
        self.detected[slot] = uniform;
        for operand in operands.iter_mut().filter(|operand| operand.is_from_bank()) {
            cx.opportunity(1);
            let mapping = own.mappings[usize::from(operand.reg)];
            if let Some(word) = mapping.scalar {
                let supplied = cx.supply(warp, inst.pc, operand.reg, inst.active, &Row::splat(word))?;
                operand.from = ReadFrom::Storage(self.storage.read(cx.cycle, 0), supplied);
                continue;
            }
            cx.compare(warp, inst.pc, operand.reg, inst.active, &own.banks[usize::from(operand.reg)])?;
            let cause = match mapping.denied {
                _ if !self.params.mechanism => Lost::Off,
                true => Lost::Full,
                false => Lost::Vector,
            };
            cx.lost(cause, 1);
        }
        Ok(())
    }

    /// One lane computes for all, so the unit is free in the next cycle.
    fn initiation(&self, _now: u64, _warp: &WarpView<'_>, inst: &InstView<'_>, cycles: u32) -> u32 {
        if self.is_detected(inst) && inst.inst.path == Path::Alu { cycles.min(1) } else { cycles }
    }

    /// Results of uniform instructions: to a scalar register if one is free, and to no bank.
    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        let (whole, detected) = (inst.exec == warp.threads, self.is_detected(inst));
        let is_load = inst.inst.path != Path::Alu;
        let own = &mut self.warps[warp.slot];
        for write in writes {
            let WriteTo::Bank(bank) = write.to else { continue };
            let (at, row) = (usize::from(write.reg), write.row());
            let word = row.0[warp.threads.trailing_zeros() as usize & 31];
            // The one access of a load gives every lane the same value, unless another thread stores meanwhile.
            let same =
                || !is_load || (0..32).all(|lane| warp.threads >> lane & 1 == 0 || row.0[lane] == word);
            let uniform = detected && whole && same();
            let old = own.mappings[at].scalar;
            if uniform && (old.is_some() || self.storage.take(cx.cycle, 0)) {
                own.mappings[at] = Mapping { scalar: Some(word), denied: false };
                self.counts.scalar_results += 1;
                self.storage.write(cx.cycle, 0);
                write.to = WriteTo::Nowhere;
                continue;
            }
            if let Some(old) = old {
                self.storage.give_back(cx.cycle, 0, 1);
                if !whole {
                    // The other lanes keep the scalar: it is written to all of them first.
                    self.counts.copies += 1;
                    self.storage.read(cx.cycle, 0);
                    cx.write_bank(bank);
                    own.banks[at] = Row::splat(old);
                }
            }
            own.mappings[at] = Mapping { scalar: None, denied: uniform };
            merge(&mut own.banks[at], row, inst.exec);
        }
        Ok(())
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        let mappings = &mut self.warps[warp_slot].mappings;
        let mapped = mappings.iter().filter(|mapping| mapping.scalar.is_some()).count();
        mappings.fill(Mapping::default());
        self.storage.give_back(cx.cycle, 0, mapped as u32);
    }

    fn describe(&self) -> String {
        format!("{} of {} scalar registers in use", self.storage.used(0), self.params.entries)
    }
}
