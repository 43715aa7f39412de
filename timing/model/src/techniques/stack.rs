//! The techniques of one SM, called in order.
//!
//! One flag per hook records whether any technique requests it; a replay without techniques has none of these calls
//! (`crate::source::Plain`). Deciding hooks take `&self`; the decision is then reported to all techniques.

use super::{
    AccessVerdict, Answered, Choice, Cx, Effects, FetchVerdict, Holder, Hooks, InstView, IssueVerdict,
    Issuing, Launch, Ledger, MemAccess, MicroId, OperandRead, Plan, Prefetched, RegisterWrite, Rewritten,
    Scouts, Technique, Techniques, ValueMismatch, WarpView,
};
use crate::error::ReplayError;
use crate::program::Program;
use crate::stats::TechniqueStats;

/// When and where hooks are called.
pub struct At<'a> {
    /// SM clock cycle.
    pub cycle: u64,
    /// The kernel.
    pub program: &'a Program,
    /// Effects that hooks request of the SM.
    pub effects: &'a mut Effects,
    /// The SM's scouts, if a technique needs them.
    pub scouts: Option<&'a mut (dyn Scouts + 'a)>,
}

/// A verdict and the position of the technique that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision<V> {
    /// The verdict.
    pub verdict: V,
    /// Position among the techniques that run; 0 if none of them decided.
    pub by: u8,
}

/// A technique with its accounts and requested hooks.
#[derive(Clone)]
struct Member {
    technique: Box<dyn Technique>,
    name: &'static str,
    hooks: Hooks,
    ledger: Ledger,
}

impl Member {
    fn new(technique: Box<dyn Technique>, hooks: Hooks) -> Member {
        let info = technique.info();
        let mut ledger = Ledger::default();
        ledger.lost = vec![0; info.losses.len()];
        ledger.stalls = vec![0; info.stalls.len()];
        Member { technique, name: info.name, hooks, ledger }
    }

    /// Takes the operands that the technique supplies besides the `taken` ones of earlier techniques. Returns the number of all.
    ///
    /// # Errors
    /// The register of an operand that was not compared in this call.
    #[inline]
    fn take(&mut self, operands: &[OperandRead], taken: u64) -> Result<u64, u8> {
        let mut all = 0u64;
        for operand in operands {
            if let Some(token) = operand.from.supplied() {
                if !self.ledger.proofs.cover(token, operand.reg) {
                    return Err(operand.reg);
                }
                all += 1;
            }
        }
        self.ledger.taken += all.saturating_sub(taken);
        Ok(all)
    }

    #[inline]
    fn with<R>(&mut self, at: &mut At<'_>, call: impl FnOnce(&mut dyn Technique, &mut Cx<'_>) -> R) -> R {
        let cx = Cx::new(self.name, at.cycle, at.program, &mut self.ledger, at.effects);
        let mut cx = cx.with_scouts(match &mut at.scouts {
            Some(scouts) => Some(&mut **scouts),
            None => None,
        });
        call(&mut *self.technique, &mut cx)
    }
}

/// The error of a technique that supplied a value without a comparison.
#[cold]
fn unchecked(
    technique: &'static str,
    program: &Program,
    warp: &WarpView<'_>,
    pc: u32,
    (register, of): (u8, Holder),
) -> ReplayError {
    let kernel = program.name.clone();
    ReplayError::Unchecked { technique, kernel, pc, block: warp.block, warp: warp.warp, register, of }
}

/// Prepared techniques in the order in which they act.
#[derive(Clone, Default)]
pub struct Stack {
    members: Vec<Member>,
    hooks: Hooks,
    /// Calls in which values were taken from techniques, by which proofs of comparison are told apart.
    calls: u32,
}

impl Stack {
    /// Prepares the techniques for a kernel and returns them with their common plan.
    ///
    /// # Errors
    /// A technique refuses; the error names it.
    pub fn prepare(techniques: Techniques, launch: &Launch<'_>) -> Result<(Stack, Plan), String> {
        let mut plan = Plan::of(launch.program);
        let mut members = Vec::new();
        for (owner, mut technique) in techniques.into_iter().enumerate() {
            plan.begin(owner);
            technique.prepare(launch, &mut plan).map_err(|why| {
                format!("technique {}, kernel {}: {why}", technique.info().name, launch.program.name)
            })?;
            members.push(Member::new(technique, plan.hooks));
        }
        plan.hooks = members.iter().fold(Hooks::default(), |all, member| all.or(member.hooks));
        let wakes = members.iter().all(|member| member.hooks.wakes || !member.hooks.issue);
        plan.hooks.wakes &= wakes && !plan.hooks.order;
        plan.finish();
        Ok((Stack { members, hooks: plan.hooks, calls: 0 }, plan))
    }

    /// Whether there are no techniques.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The hooks that at least one technique requests.
    #[must_use]
    #[inline]
    pub fn hooks(&self) -> Hooks {
        self.hooks
    }

    /// Counts of each technique.
    #[must_use]
    pub fn stats(&self) -> Vec<TechniqueStats> {
        self.members.iter().map(|member| TechniqueStats::of(&*member.technique, &member.ledger)).collect()
    }

    /// Values of the columns of all techniques.
    #[must_use]
    pub fn columns(&self) -> Vec<u64> {
        self.stats().iter().flat_map(TechniqueStats::column_values).collect()
    }

    /// Checks that the accounts balance: supplied and lost must sum to the opportunities.
    ///
    /// # Errors
    /// The accounts of a technique do not balance; the error holds the sums.
    pub fn check_accounts(&self, kernel: &str) -> Result<(), ReplayError> {
        for member in &self.members {
            let Ledger { supplied, opportunities, .. } = member.ledger;
            let lost = member.ledger.all_lost();
            if opportunities != supplied + lost {
                let technique = member.name;
                return Err(ReplayError::Unbalanced {
                    technique,
                    kernel: kernel.to_owned(),
                    opportunities,
                    supplied,
                    lost,
                });
            }
        }
        Ok(())
    }

    /// Counts slots in which a technique stalled a warp.
    pub fn stalled(&mut self, by: u8, cause: u8, slots: u64) {
        if let Some(count) = self.members[usize::from(by)].ledger.stalls.get_mut(usize::from(cause)) {
            *count += slots;
        }
    }

    fn tell(&mut self, at: &mut At<'_>, mut call: impl FnMut(&mut dyn Technique, &mut Cx<'_>)) {
        for member in &mut self.members {
            member.with(at, &mut call);
        }
    }

    /// Whether every technique admits a block.
    #[must_use]
    pub fn admits_block(&self, now: u64, block: u32) -> bool {
        self.members.iter().all(|m| !m.hooks.admission || m.technique.admits_block(now, block))
    }

    /// Whether every technique admits a warp.
    #[must_use]
    pub fn admits_warp(&self, now: u64, warp: &WarpView<'_>) -> bool {
        self.members.iter().all(|m| !m.hooks.admission || m.technique.admits_warp(now, warp))
    }

    /// Notifies techniques of a placed block.
    pub fn start_block(&mut self, at: &mut At<'_>, block_slot: usize, block: u32) {
        self.tell(at, |technique, cx| technique.start_block(cx, block_slot, block));
    }

    /// Notifies techniques of a placed warp.
    pub fn start_warp(&mut self, at: &mut At<'_>, warp: &WarpView<'_>) {
        self.tell(at, |technique, cx| technique.start_warp(cx, warp));
    }

    /// Notifies techniques of an ended warp.
    pub fn end_warp(&mut self, at: &mut At<'_>, warp_slot: usize) {
        self.tell(at, |technique, cx| technique.end_warp(cx, warp_slot));
    }

    /// Notifies techniques of an ended block.
    pub fn end_block(&mut self, at: &mut At<'_>, block_slot: usize) {
        self.tell(at, |technique, cx| technique.end_block(cx, block_slot));
    }

    /// The first verdict that is not `Fetch`.
    #[must_use]
    pub fn fetch(&self, now: u64, warp: &WarpView<'_>, pc: u32) -> Decision<FetchVerdict> {
        for (by, member) in self.members.iter().enumerate().filter(|(_, member)| member.hooks.fetch) {
            let verdict = member.technique.fetch(now, warp, pc);
            if verdict != FetchVerdict::Fetch {
                return Decision { verdict, by: by as u8 };
            }
        }
        Decision { verdict: FetchVerdict::Fetch, by: 0 }
    }

    /// Notifies techniques of a fetched or skipped instruction.
    pub fn fetched(&mut self, at: &mut At<'_>, warp: &WarpView<'_>, pc: u32, skipped: bool) {
        for member in self.members.iter_mut().filter(|member| member.hooks.fetch) {
            member.with(at, |technique, cx| technique.fetched(cx, warp, pc, skipped));
        }
    }

    /// Notifies a technique of a warp that its verdict has kept from fetching.
    pub fn fetch_stalled(&mut self, at: &mut At<'_>, by: u8, warp: &WarpView<'_>, pc: u32, cause: u8) {
        let member = &mut self.members[usize::from(by)];
        member.with(at, |technique, cx| technique.fetch_stalled(cx, warp, pc, cause));
    }

    /// Whether a warp passes over an inserted micro-operation; its owner decides.
    #[must_use]
    pub fn passes_over(&self, now: u64, warp: &WarpView<'_>, op: MicroId, owner: usize) -> bool {
        let member = &self.members[owner];
        member.hooks.inserted && member.technique.passes_over(now, warp, op)
    }

    /// Notifies its owner of an inserted micro-operation that has been fetched or passed over.
    pub fn inserted_fetched(
        &mut self,
        at: &mut At<'_>,
        warp: &WarpView<'_>,
        op: MicroId,
        owner: usize,
        passed_over: bool,
    ) {
        let member = &mut self.members[owner];
        if member.hooks.inserted {
            member.with(at, |technique, cx| technique.inserted_fetched(cx, warp, op, passed_over));
        }
    }

    /// Notifies techniques that a warp's fetched entries are discarded.
    pub fn flushed(&mut self, at: &mut At<'_>, warp: &WarpView<'_>, resume: Option<u32>) {
        for member in self.members.iter_mut().filter(|member| member.hooks.fetch) {
            member.with(at, |technique, cx| technique.flushed(cx, warp, resume));
        }
    }

    /// The warp that issues instead of the scheduler's choice; always one that is ready.
    #[must_use]
    pub fn order(&self, now: u64, scheduler: usize, choice: Choice) -> u8 {
        let of = |chosen: u8, member: &Member| {
            let choice = Choice::new(choice.ready, choice.served, chosen);
            let other = member.technique.order(now, scheduler, choice);
            if other < 64 && choice.ready >> other & 1 != 0 { other } else { chosen }
        };
        self.members.iter().filter(|member| member.hooks.order).fold(choice.chosen, of)
    }

    /// Whether a technique would answer a warp's next instruction in place of memory.
    #[must_use]
    pub fn would_serve(&self, now: u64, warp: &WarpView<'_>, inst: &InstView<'_>) -> bool {
        let mut asked = self.members.iter().filter(|member| member.hooks.access);
        asked.any(|member| member.technique.would_serve(now, warp, inst))
    }

    /// Notifies techniques that a warp has entered or left its scheduler's active set.
    pub fn activity(&mut self, at: &mut At<'_>, warp: &WarpView<'_>, active: bool) {
        for member in self.members.iter_mut().filter(|member| member.hooks.order) {
            member.with(at, |technique, cx| technique.activity(cx, warp, active));
        }
    }

    /// A stall by any technique, else a reuse by any; only its owner is asked about a micro-operation.
    #[must_use]
    pub fn issue(
        &self,
        now: u64,
        warp: &WarpView<'_>,
        what: &Issuing<'_>,
        owner: Option<usize>,
    ) -> Decision<IssueVerdict> {
        let mut decision = Decision { verdict: IssueVerdict::Issue, by: 0 };
        for (by, member) in self.members.iter().enumerate().filter(|(_, member)| member.hooks.issue) {
            if owner.is_some_and(|owner| owner != by) {
                continue;
            }
            match member.technique.issue(now, warp, what) {
                IssueVerdict::Issue => {}
                verdict @ IssueVerdict::Stall(_) => return Decision { verdict, by: by as u8 },
                verdict @ (IssueVerdict::Reuse { .. } | IssueVerdict::Aside { .. }) => {
                    if decision.verdict == IssueVerdict::Issue {
                        decision = Decision { verdict, by: by as u8 };
                    }
                }
            }
        }
        decision
    }

    /// Notifies techniques of an issued instruction; only its owner is notified of a micro-operation.
    pub fn issued(
        &mut self,
        at: &mut At<'_>,
        warp: &WarpView<'_>,
        what: &Issuing<'_>,
        verdict: IssueVerdict,
        owner: Option<usize>,
    ) {
        for (by, member) in self.members.iter_mut().enumerate().filter(|(_, member)| member.hooks.issue) {
            if owner.is_none_or(|owner| owner == by) {
                member.with(at, |technique, cx| technique.issued(cx, warp, what, verdict));
            }
        }
    }

    /// Notifies a technique of a warp that its verdict has kept from issuing.
    pub fn stalled_warp(&mut self, at: &mut At<'_>, by: u8, warp: &WarpView<'_>, cause: u8) {
        let member = &mut self.members[usize::from(by)];
        member.with(at, |technique, cx| technique.stalled(cx, warp, cause));
    }

    /// Each technique decides about the operands that earlier ones left to the banks.
    ///
    /// # Errors
    /// A supplied value differs, or was not compared in this call.
    pub fn collect(
        &mut self,
        at: &mut At<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), ReplayError> {
        let several = self.members.len() > 1;
        self.calls = self.calls.wrapping_add(1);
        let mut taken = 0;
        for member in self.members.iter_mut().filter(|member| member.hooks.collect) {
            member.ledger.proofs.begin(self.calls);
            member.with(at, |technique, cx| technique.collect(cx, warp, inst, operands))?;
            taken = member.take(operands, taken).map_err(|register| {
                unchecked(member.name, at.program, warp, inst.pc, (register, Holder::Register))
            })?;
            if several {
                OperandRead::mark_leaders(operands);
            }
        }
        Ok(())
    }

    /// Cycles before the unit takes the next instruction.
    #[must_use]
    pub fn initiation(&self, now: u64, warp: &WarpView<'_>, inst: &InstView<'_>, cycles: u32) -> u32 {
        let asked = self.members.iter().filter(|member| member.hooks.execute);
        asked.fold(cycles, |cycles, m| m.technique.initiation(now, warp, inst, cycles)).max(1)
    }

    /// Lanes in which the unit computes an instruction.
    #[must_use]
    pub fn lanes(&self, now: u64, warp: &WarpView<'_>, inst: &InstView<'_>, lanes: u32) -> u32 {
        let asked = self.members.iter().filter(|member| member.hooks.execute);
        asked.fold(lanes, |lanes, m| m.technique.lanes(now, warp, inst, lanes))
    }

    /// The first technique that supplies the results of an instruction with all operands, and the cycles after which
    /// they are written.
    #[must_use]
    pub fn reuse(&self, now: u64, warp: &WarpView<'_>, inst: &InstView<'_>) -> Option<Decision<u32>> {
        let mut asked = self.members.iter().enumerate().filter(|(_, member)| member.hooks.execute);
        asked.find_map(|(by, member)| {
            let verdict = member.technique.reuse(now, warp, inst)?;
            Some(Decision { verdict, by: by as u8 })
        })
    }

    /// Notifies techniques of an instruction that has left its collector.
    pub fn dispatched(&mut self, at: &mut At<'_>, warp: &WarpView<'_>, inst: &InstView<'_>) {
        for member in self.members.iter_mut().filter(|member| member.hooks.execute) {
            member.with(at, |technique, cx| technique.dispatched(cx, warp, inst));
        }
    }

    /// The first verdict that is not `Access`.
    ///
    /// # Errors
    /// Lines of a technique differ from those of the access.
    pub fn access(
        &mut self,
        at: &mut At<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        access: &MemAccess<'_>,
    ) -> Result<Decision<AccessVerdict>, Box<ValueMismatch>> {
        for (by, member) in self.members.iter_mut().enumerate().filter(|(_, member)| member.hooks.access) {
            let verdict = member.with(at, |technique, cx| technique.access(cx, warp, inst, access))?;
            if verdict != AccessVerdict::Access {
                return Ok(Decision { verdict, by: by as u8 });
            }
        }
        Ok(Decision { verdict: AccessVerdict::Access, by: 0 })
    }

    /// Gets the results of an instruction that a technique did not let execute.
    ///
    /// # Errors
    /// A supplied value differs, or the technique did not supply every result.
    pub fn answered(
        &mut self,
        at: &mut At<'_>,
        by: u8,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        how: Answered,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), ReplayError> {
        self.calls = self.calls.wrapping_add(1);
        let member = &mut self.members[usize::from(by)];
        member.ledger.proofs.begin(self.calls);
        let before = member.ledger.supplied;
        member.with(at, |technique, cx| technique.answered(cx, warp, inst, how, results))?;
        let supplied = member.ledger.supplied - before;
        if supplied != results.len() as u64 {
            return Err(ReplayError::Unsupplied {
                technique: member.name,
                kernel: at.program.name.clone(),
                pc: inst.pc,
                block: warp.block,
                warp: warp.warp,
                results: results.len() as u64,
                supplied,
            });
        }
        member.ledger.taken += supplied;
        let proofs = &member.ledger.proofs;
        let register = results.iter().map(|result| result.reg).find(|reg| !proofs.has_result(*reg));
        let predicate = || {
            let mut written = inst.inst.inst.all_dst_preds().filter(|_| inst.exec != 0);
            written.find(|pred| !proofs.has_predicate(pred.0)).map(|pred| (pred.0, Holder::Predicate))
        };
        let uniform = || {
            if inst.inst.uniform_writes == 0 || inst.exec == 0 {
                return None;
            }
            let missing = inst.inst.inst.dst_uniforms().find(|reg| !proofs.has_uniform(reg.0));
            missing.map(|reg| (reg.0, Holder::Uniform))
        };
        match register.map(|reg| (reg, Holder::Register)).or_else(predicate).or_else(uniform) {
            Some(missing) => Err(unchecked(member.name, at.program, warp, inst.pc, missing)),
            None => Ok(()),
        }
    }

    /// Each technique decides about the results that earlier ones left to the banks.
    ///
    /// # Errors
    /// A supplied value differs.
    pub fn write_back(
        &mut self,
        at: &mut At<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        let mut asked = self.members.iter_mut().filter(|member| member.hooks.write_back);
        asked.try_for_each(|m| m.with(at, |technique, cx| technique.write_back(cx, warp, inst, writes)))
    }

    /// Runs every technique's own stage.
    pub fn tick(&mut self, at: &mut At<'_>) {
        for member in self.members.iter_mut().filter(|member| member.hooks.tick) {
            member.with(at, |technique, cx| technique.tick(cx));
        }
    }

    /// Earliest cycle in which a technique's own stage has work.
    #[must_use]
    pub fn next_event(&self, now: u64) -> Option<u64> {
        let asked = self.members.iter().filter(|member| member.hooks.tick || member.hooks.companion);
        asked.filter_map(|member| member.technique.next_event(now)).min()
    }

    /// The first micro-operation that a technique offers for an empty slot.
    #[must_use]
    pub fn companion(&self, now: u64, scheduler: usize) -> Option<Decision<MicroId>> {
        let mut asked = self.members.iter().enumerate().filter(|(_, member)| member.hooks.companion);
        asked.find_map(|(by, member)| {
            let verdict = member.technique.companion(now, scheduler)?;
            Some(Decision { verdict, by: by as u8 })
        })
    }

    /// Notifies its technique of an issued companion micro-operation.
    pub fn companion_issued(
        &mut self,
        at: &mut At<'_>,
        op: Decision<MicroId>,
        scheduler: usize,
        done_at: u64,
    ) {
        let member = &mut self.members[usize::from(op.by)];
        member.with(at, |technique, cx| technique.companion_issued(cx, scheduler, op.verdict, done_at));
    }

    /// Notifies techniques that an early load is in L1. Each technique recognises its own loads by the tag.
    pub fn loaded(&mut self, at: &mut At<'_>, tag: u32, locked: bool) {
        self.tell(at, |technique, cx| technique.loaded(cx, tag, locked));
    }

    /// Notifies all techniques but one of registers that this one has rewritten.
    ///
    /// # Errors
    /// A value differs.
    pub fn rewritten(
        &mut self,
        at: &mut At<'_>,
        by: usize,
        warp: &WarpView<'_>,
        writes: &mut [RegisterWrite<'_>],
        how: Rewritten,
    ) -> Result<(), Box<ValueMismatch>> {
        for (index, member) in self.members.iter_mut().enumerate() {
            if index != by && member.hooks.write_back {
                member.with(at, |technique, cx| technique.rewritten(cx, warp, writes, how))?;
            }
        }
        Ok(())
    }

    /// Whether several techniques run.
    #[must_use]
    #[inline]
    pub fn has_several(&self) -> bool {
        self.members.len() > 1
    }

    /// Notifies the techniques that prefetch of what has become of a prefetch.
    pub fn prefetched(&mut self, at: &mut At<'_>, tag: u32, fate: Prefetched) {
        self.tell(at, |technique, cx| technique.prefetched(cx, tag, fate));
    }

    /// Warp registers that a technique left switched on, summed over cycles.
    #[must_use]
    pub fn powered_register_cycles(&self) -> u64 {
        self.members.iter().find_map(|member| member.technique.powered_register_cycles()).unwrap_or(0)
    }

    /// State of each technique.
    #[must_use]
    pub fn describe(&self) -> String {
        self.members.iter().map(|m| format!("  technique {}: {}\n", m.name, m.technique.describe())).collect()
    }
}
