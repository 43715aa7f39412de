//! A latch for the last result of each warp: an operand that is the warp's last result comes from the latch, and the
//! others from their banks. Results are written to the latch and to the register file.
//!
//! The technique is an example and of no paper. This crate depends only on the timing model's interface,
//! [`warplab_technique`]. Read it from top to bottom: declarations, state, and hooks in the order in which an instruction
//! passes them.

use warplab_technique::declare::Cause;
use warplab_technique::{
    Cx, InstView, Launch, OperandRead, ParamValue, Params as _, Plan, Price, ReadFrom, RegisterWrite,
    Registration, Rewritten, Row, Shape, Storage, StorageInfo, Technique, TechniqueInfo, ValueMismatch,
    WarpView, causes, counts, merge, params,
};

params! {
    /// `[technique.latch]`.
    struct Params {
        /// Operands that a warp's latch supplies per cycle.
        read_ports: u32 = 1, 1..=16;
        /// Cycles from the start of a read to the operand's arrival in the collector.
        latency_cycles: u32 = 1, 0..=16;
        /// Whether the latch supplies operands; if false, the hardware exists, but every operand comes from its bank.
        mechanism: bool = true;
    }
}

counts! {
    /// Counters of the latch.
    struct Counts {
        /// Results that replaced another register's.
        replaced_registers;
        /// Results of only some lanes, which were merged into the register's earlier ones.
        merged_results;
    }
}

causes! {
    /// Reasons for which an operand is read from its bank.
    enum Lost {
        /// The warp's last result is in another register.
        Another = "another_register";
        /// The latch holds the register for only some active lanes.
        Lanes = "lanes_not_held";
        /// The latch is switched off.
        Off = "mechanism_off";
    }
}

/// The registration of the technique, which `main` passes to the command line.
pub const REGISTRATION: Registration =
    Registration::new(&INFO, |_, section| Ok(Box::new(Latch::new(Params::read(section)?))));

const INFO: TechniqueInfo = TechniqueInfo::new(
    "latch",
    "the last result of each warp is read from a latch (an example)",
    "none of the papers",
)
.with_params(Params::declared)
.with_counters(Counts::DECLARED)
.with_losses("a source register that would be read from a bank", Lost::DECLARED)
.with_storage(&[StorageInfo::new("latch", "the latches", "technique_storage")
    .with_price(Price::new(0.5, "an estimate: one entry of BOW's collector of 12 at 2.72 pJ"))]);

/// Bits of a latch: a warp register, its number, and a mask of its held lanes.
const LATCH_BITS: u32 = 32 * 32 + 8 + 32;

/// The last result of a warp.
#[derive(Clone, Debug)]
struct Last {
    register: u8,
    /// Lanes that the latch holds.
    held: u32,
    row: Row,
}

/// See the crate.
#[derive(Clone, Debug)]
struct Latch {
    params: Params,
    storage: Storage,
    counts: Counts,
    /// The latch of each warp slot.
    warps: Vec<Option<Last>>,
}

impl Latch {
    fn new(params: Params) -> Latch {
        let shape =
            Shape::new(0, 1, LATCH_BITS).with_ports(params.read_ports, 1).with_latency(params.latency_cycles);
        Latch { params, storage: Storage::new(shape), counts: Counts::default(), warps: Vec::new() }
    }
}

impl Technique for Latch {
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

    /// Called once per kernel: declares one bank of the structure per warp slot, and requests the hooks
    /// below.
    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        let warps = launch.config.sm.max_warps;
        self.warps = vec![None; warps as usize];
        self.storage = Storage::new(self.storage.shape().with_banks(warps));
        self.counts = Counts::default();
        plan.hooks.collect = true;
        plan.hooks.write_back = true;
        Ok(())
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        self.warps[warp.slot] = None;
        self.storage.set_used(cx.cycle, warp.slot, 0);
    }

    /// Operands: from the latch if it holds the register in every lane on the path, else from their banks.
    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        for operand in operands.iter_mut().filter(|operand| operand.is_from_bank()) {
            cx.opportunity(1);
            let last = self.warps[warp.slot].as_ref().filter(|last| last.register == operand.reg);
            let cause = match last {
                _ if !self.params.mechanism => Lost::Off,
                None => Lost::Another,
                Some(last) if inst.active & !last.held != 0 => Lost::Lanes,
                Some(last) => {
                    // The value is compared with the recorded one: a wrong latch stops the replay.
                    let supplied = cx.supply(warp, inst, operand.reg, &last.row)?;
                    operand.from = ReadFrom::Storage(self.storage.read(cx.cycle, warp.slot), supplied);
                    continue;
                }
            };
            cx.lost(cause, 1);
        }
        Ok(())
    }

    /// Results go to the latch and, as without it, to their banks.
    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        for write in writes {
            self.storage.write(cx.cycle, warp.slot);
            match &mut self.warps[warp.slot] {
                Some(last) if last.register == write.reg => {
                    self.counts.merged_results += u64::from(inst.exec != u32::MAX);
                    merge(&mut last.row, write.row(), inst.exec);
                    last.held |= inst.exec;
                }
                latch => {
                    self.counts.replaced_registers += u64::from(latch.is_some());
                    *latch = Some(Last { register: write.reg, held: inst.exec, row: *write.row() });
                }
            }
            self.storage.set_used(cx.cycle, warp.slot, 1);
        }
        Ok(())
    }

    /// What another technique supplies for an instruction that was never fetched does not pass the latch; a move of a
    /// register leaves its value as it is.
    fn rewritten(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        writes: &mut [RegisterWrite<'_>],
        how: Rewritten,
    ) -> Result<(), Box<ValueMismatch>> {
        let latch = &mut self.warps[warp.slot];
        let holds = |last: &Last| writes.iter().any(|write| write.reg == last.register);
        if how == Rewritten::Skipped && latch.as_ref().is_some_and(holds) {
            *latch = None;
            self.storage.set_used(cx.cycle, warp.slot, 0);
        }
        Ok(())
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        self.warps[warp_slot] = None;
        self.storage.set_used(cx.cycle, warp_slot, 0);
    }

    fn describe(&self) -> String {
        format!("{} latches hold a result", self.warps.iter().flatten().count())
    }
}
