//! BOW, breathing operand windows with write-through: each warp has an operand collector of its own that
//! keeps the registers of the warp's last instructions, so that the next instructions need not read them from
//! the banks (BOW, sections 3.4.1 and 3.4.3).
//!
//! The window counts every instruction of the warp, branches included, and slides when one issues; an access
//! keeps a register for `window - 1` further instructions. Results go to the collector and to the register
//! file; a result whose instruction has slid out of the window goes to the register file alone. Operands of
//! instructions that have not been dispatched keep their entries: an instruction whose operands find no free
//! entry waits, unless the collector holds no other instruction's operands. BOW shares [`window`] with
//! BOW-WR.

pub(crate) mod boc;
#[cfg(test)]
mod tests;
pub(crate) mod window;

use super::{
    Claim, Cx, InstView, IssueVerdict, Issuing, Launch, OperandRead, ParamValue, Params as _, Plan,
    RegisterWrite, Registration, Rewritten, Storage, Technique, TechniqueInfo, ValueMismatch, WarpView,
};
use window::{INFO as WINDOW, Params, Window};

/// Entry in the list of techniques.
pub(crate) const REGISTRATION: Registration =
    Registration::new(&INFO, |_, section| Ok(Box::new(Bow::new(section)?)));

pub(crate) const INFO: TechniqueInfo = WINDOW
    .named(
        "bow",
        "operand bypassing within a sliding instruction window, write-through",
        "BOW: Breathing Operand Windows, sections 3.4.1 and 3.4.3",
    )
    .with_claims(&[Claim::CollectorOrganisation])
    .with_params(Params::declared);

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Bow {
    params: Params,
    window: Window,
}

impl Bow {
    /// Reads `[technique.bow]`.
    pub(super) fn new(section: &toml::Table) -> Result<Bow, String> {
        let params = Params::read(section)?;
        Ok(Bow { params, window: Window::new(params) })
    }
}

impl Technique for Bow {
    fn info(&self) -> &'static TechniqueInfo {
        &INFO
    }

    fn params(&self) -> Vec<(&'static str, ParamValue)> {
        self.params.values()
    }

    fn counts(&self) -> Vec<u64> {
        self.window.counts.values()
    }

    fn storage(&self) -> Vec<&Storage> {
        vec![&self.window.storage]
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        self.window.prepare(launch, plan);
        Ok(())
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        self.window.start(cx.cycle, warp.slot, |_| {});
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
        let window = &mut self.window;
        window.slide(cx.cycle, warp.slot, warp.issued, |_| {});
        window.forward(cx, warp, inst, operands)?;
        for (position, operand) in operands.iter().enumerate() {
            if operand.is_from_bank() {
                let row = &warp.rows[usize::from(operand.reg)];
                window.hold(warp, operand.reg, |_| {}).fill(row, (inst.id, position as u8));
                window.storage.write(cx.cycle, warp.slot);
            }
        }
        for reg in inst.inst.destinations() {
            window.hold(warp, *reg, |_| {});
        }
        window.pin(cx.cycle, warp, inst);
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
        self.window.slide(cx.cycle, warp.slot, warp.issued.saturating_sub(1), |_| {});
        for write in writes {
            if let Some(entry) = self.window.collectors[warp.slot].find(write.reg) {
                entry.write(write.row(), inst.exec);
                self.window.storage.write(cx.cycle, warp.slot);
            }
        }
        Ok(())
    }

    /// What another technique supplied for an instruction that was never fetched did not pass the collector.
    fn rewritten(
        &mut self,
        _cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        writes: &mut [RegisterWrite<'_>],
        how: Rewritten,
    ) -> Result<(), Box<ValueMismatch>> {
        if how == Rewritten::Skipped {
            for write in writes {
                if let Some(entry) = self.window.collectors[warp.slot].find(write.reg) {
                    entry.held = 0;
                }
            }
        }
        Ok(())
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        self.window.start(cx.cycle, warp_slot, |_| {});
    }

    fn describe(&self) -> String {
        self.window.describe()
    }
}
