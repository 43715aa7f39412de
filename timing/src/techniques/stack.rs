//! The techniques of one SM, asked in order.
//!
//! Each hook is behind one test of a flag, so that a replay without techniques pays one predictable branch.

use super::{
    AnyTechnique, Cx, FetchVerdict, Hooks, InstView, IssueVerdict, Issuing, OperandRead, Plan, RegisterWrite,
    ValueMismatch, WarpView,
};
use crate::config::GpuConfig;
use crate::program::Program;

/// Prepared techniques in the order in which they act.
#[derive(Clone, Default)]
pub struct Stack {
    techniques: Vec<AnyTechnique>,
    hooks: Hooks,
}

impl Stack {
    /// Prepares the techniques for a kernel and returns them with the plan that they agree on.
    ///
    /// # Errors
    /// A technique's refusal, with its name.
    pub fn prepare(
        mut techniques: Vec<AnyTechnique>,
        program: &Program,
        config: &GpuConfig,
    ) -> Result<(Stack, Plan), String> {
        let mut plan = Plan::of(program);
        for technique in &mut techniques {
            let before = plan.hooks;
            technique.prepare(program, config, &mut plan).map_err(|why| {
                format!("technique {}, kernel {}: {why}", technique.info().name, program.name)
            })?;
            let hooks = &mut plan.hooks;
            hooks.fetch |= before.fetch;
            hooks.issue |= before.issue;
            hooks.collect |= before.collect;
            hooks.write_back |= before.write_back;
        }
        plan.inserted.sort_by_key(|inserted| inserted.before);
        Ok((Stack { techniques, hooks: plan.hooks }, plan))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.techniques.is_empty()
    }

    /// The hooks that any of them asked for.
    #[must_use]
    #[inline]
    pub fn hooks(&self) -> Hooks {
        self.hooks
    }

    /// A block has been placed.
    pub fn start_block(&mut self, cx: &mut Cx<'_>, block_slot: usize, block: u32) {
        for technique in &mut self.techniques {
            technique.start_block(cx, block_slot, block);
        }
    }

    /// A warp has been placed.
    pub fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        for technique in &mut self.techniques {
            technique.start_warp(cx, warp);
        }
    }

    /// The first verdict that is not `Fetch` wins.
    pub fn fetch(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, pc: u32) -> FetchVerdict {
        for technique in &mut self.techniques {
            let verdict = technique.fetch(cx, warp, pc);
            if verdict != FetchVerdict::Fetch {
                return verdict;
            }
        }
        FetchVerdict::Fetch
    }

    /// A skipped instruction has been reached in program order.
    ///
    /// # Errors
    /// The value that differs.
    pub fn skipped(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
    ) -> Result<(), Box<ValueMismatch>> {
        self.techniques.iter_mut().try_for_each(|technique| technique.skipped(cx, warp, inst))
    }

    /// The first verdict that is not `Issue` wins.
    pub fn issue(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>) -> IssueVerdict {
        for technique in &mut self.techniques {
            let verdict = technique.issue(cx, warp, what);
            if verdict != IssueVerdict::Issue {
                return verdict;
            }
        }
        IssueVerdict::Issue
    }

    /// Each technique decides over what the earlier ones left to the banks.
    ///
    /// # Errors
    /// The value that differs.
    pub fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        self.techniques.iter_mut().try_for_each(|technique| technique.collect(cx, warp, inst, operands))
    }

    /// Each technique decides over what the earlier ones left to the banks.
    ///
    /// # Errors
    /// The value that differs.
    pub fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        self.techniques.iter_mut().try_for_each(|technique| technique.write_back(cx, warp, inst, writes))
    }

    /// A warp has ended.
    pub fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        for technique in &mut self.techniques {
            technique.end_warp(cx, warp_slot);
        }
    }

    /// A block has ended.
    pub fn end_block(&mut self, cx: &mut Cx<'_>, block_slot: usize) {
        for technique in &mut self.techniques {
            technique.end_block(cx, block_slot);
        }
    }

    /// What each technique holds.
    #[must_use]
    pub fn describe(&self) -> String {
        self.techniques.iter().map(|t| format!("{}: {}\n", t.info().name, t.describe())).collect()
    }
}
