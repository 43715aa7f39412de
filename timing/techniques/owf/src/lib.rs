//! Register sharing between pairs of blocks with owner-warp-first scheduling (Jatala et al., HPDC 2016), as RegMutex is
//! compared with it (sections 4.2 and 4.4.3).
//!
//! Registers that are left over where whole blocks no longer fit hold a small private part of further blocks; the rest of
//! their registers is that of a partner block ([`share`]). The first of two corresponding warps that reaches a shared
//! register becomes its owner, and stays so until it ends; the other waits at its first access ([`locks`]). Registers are
//! numbered by their first use, so that early accesses are private ones. Owners issue first, then warps that share nothing,
//! then the others; among these the scheduler's choice, or the oldest.

mod locks;
mod share;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use locks::{Locks, Right};
use share::Sharing;
use warplab_technique::declare::Cause;
use warplab_technique::program::Renaming;
use warplab_technique::{
    Choice, Claim, Cx, InstView, IssueVerdict, Issuing, Launch, OperandRead, ParamValue, Params as _, Plan,
    RegisterWrite, Registration, Technique, TechniqueInfo, ValueMismatch, WarpView,
};
use warplab_technique::{causes, counts, params};

params! {
    /// `[technique.owf]`.
    struct Params {
        /// Percent of a warp's registers that it does not share (the threshold t = 0.1).
        private: u32 = 10, 0..=100;
        /// Registers per thread in which the private part is allocated; 0 for the GPU's unit. One, as RegMutex's base
        /// sets.
        private_unit: u32 = 1, 0..=32;
        /// Whether registers are numbered by their first use.
        reorder: bool = true;
        /// Whether owners issue first, and warps that share nothing before those that wait for an owner.
        owner_first: bool = true;
        /// Whether every warp has the shared registers to itself; occupancy is that of the real file.
        ideal: bool = false;
        /// Whether further blocks share registers; if false, there are none.
        mechanism: bool = true;
    }
}

counts! {
    /// Counters of register sharing.
    struct Counts {
        /// Warps that became owners.
        acquires;
        /// Of these, warps that never waited for it.
        acquires_at_once;
        /// Owners that ended.
        releases;
        /// Warps of blocks that share registers.
        sharing_warps;
        /// Blocks that began beyond those that the registers hold.
        additional_blocks;
        /// Operands and results that lay in shared registers.
        shared_accesses;
        /// Operands and results of warps that share registers, each checked for being shared and owned.
        checked_accesses in "technique_logic";
        /// Turns in which another warp than the scheduler's choice issued.
        reordered_turns;
    }
}

causes! {
    /// Why a warp waits.
    enum Stall {
        /// The corresponding warp of the partner block owns the shared registers.
        Held = "owned_by_partner";
        /// Other warps of the partner block own shared registers.
        OtherBlock = "partner_block_owns";
    }
}

pub(crate) const INFO: TechniqueInfo = TechniqueInfo::new(
    "owf",
    "pairs of blocks share most of their registers; the warps that own them issue first",
    "Jatala et al., Improving GPU Performance through Resource Sharing, HPDC 2016; compared in RegMutex, section 4.4.3",
)
.with_uniform_registers()
.with_claims(&[Claim::Occupancy, Claim::RegisterMapping, Claim::WarpPriority, Claim::WaitingWarps])
.with_params(Params::declared)
.with_counters(Counts::DECLARED)
.with_stalls(Stall::DECLARED);

/// Entry in the list of techniques.
pub const REGISTRATION: Registration =
    Registration::new(&INFO, |_, section| Ok(Box::new(Owf::new(section)?)));

/// A warp of the SM.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    /// Order of its beginning.
    age: u64,
    /// Whether it has waited for the shared registers.
    waited: bool,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Owf {
    params: Params,
    sharing: Option<Sharing>,
    renamed: Vec<Renaming>,
    /// By instruction: whether it reads or writes a register that pairs share.
    touches: Vec<bool>,
    locks: Option<Locks>,
    warps: Vec<Own>,
    begun: u64,
    /// Warps that own shared registers, and warps that share none.
    owners: u64,
    unshared: u64,
    bits: u64,
    counts: Counts,
}

impl Owf {
    /// Reads `[technique.owf]`.
    fn new(section: &toml::Table) -> Result<Owf, String> {
        Ok(Owf {
            params: Params::read(section)?,
            sharing: None,
            renamed: Vec::new(),
            touches: Vec::new(),
            locks: None,
            warps: Vec::new(),
            begun: 0,
            owners: 0,
            unshared: 0,
            bits: 0,
            counts: Counts::default(),
        })
    }

    fn locks(&self) -> &Locks {
        self.locks.as_ref().expect("hooks are called for kernels that share registers only")
    }

    fn locks_mut(&mut self) -> &mut Locks {
        self.locks.as_mut().expect("hooks are called for kernels that share registers only")
    }

    /// Shares the registers of a kernel.
    fn set_up(&mut self, launch: &Launch<'_>, plan: &mut Plan, sharing: Sharing) {
        let (program, sm) = (launch.program, &launch.config.sm);
        let numbers = share::numbers(program, self.params.reorder);
        self.renamed = share::renamed(program, &numbers);
        let is_shared = |register: &u8| u32::from(*register) >= sharing.private;
        let touches = |(inst, renaming): (&warplab_technique::program::TimedInst, &Renaming)| {
            renaming.sources[..inst.sources().len()].iter().any(is_shared)
                || renaming.destinations[..inst.destinations().len()].iter().any(is_shared)
        };
        self.touches = program.insts.iter().zip(&self.renamed).map(touches).collect();
        plan.register_blocks = Some(sharing.own + sharing.further);
        plan.rename(self.renamed.clone());
        let warps_per_block = launch.threads_per_block().div_ceil(32);
        let registers = program.registers_per_thread;
        self.locks = Some(Locks::new(sharing, (warps_per_block, sm.max_warps), registers, self.params.ideal));
        self.warps = vec![Own::default(); sm.max_warps as usize];
        (self.begun, self.owners, self.unshared) = (0, 0, 0);
        self.sharing = Some(sharing);
        plan.hooks.issue = true;
        plan.hooks.order = self.params.owner_first;
        plan.hooks.collect = true;
        plan.hooks.write_back = true;
    }

    /// Counts an access to a register.
    fn note(&mut self, slot: usize, register: u8) {
        let Some(sharing) = self.sharing else { return };
        if self.unshared >> slot & 1 == 0 {
            self.counts.checked_accesses += 1;
            self.counts.shared_accesses += u64::from(u32::from(register) >= sharing.private);
        }
    }
}

impl Technique for Owf {
    fn info(&self) -> &'static TechniqueInfo {
        &INFO
    }

    fn params(&self) -> Vec<(&'static str, ParamValue)> {
        self.params.values()
    }

    fn counts(&self) -> Vec<u64> {
        self.counts.values()
    }

    fn further_bits(&self) -> u64 {
        self.bits
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        let sm = &launch.config.sm;
        // Whether each warp shares registers and whether it is an owner, a lock for two warps, and which block of a pair has
        // the owners.
        self.bits = u64::from(2 * sm.max_warps + sm.max_warps / 2 + sm.max_blocks / 2);
        self.counts = Counts::default();
        (self.sharing, self.locks) = (None, None);
        if !self.params.mechanism {
            return Ok(());
        }
        let chosen = share::choose(launch, plan, self.params.private, self.params.private_unit);
        if let Some(sharing) = chosen {
            self.set_up(launch, plan, sharing);
        }
        Ok(())
    }

    fn start_block(&mut self, _cx: &mut Cx<'_>, block_slot: usize, _block: u32) {
        if let Some(sharing) = self.sharing {
            self.counts.additional_blocks += u64::from(block_slot >= sharing.own as usize);
        }
    }

    fn start_warp(&mut self, _cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        let Some(sharing) = self.sharing else { return };
        self.locks_mut().start(warp.slot, warp.block_slot, warp.warp);
        let bit = 1 << warp.slot;
        self.owners &= !bit;
        self.unshared &= !bit;
        match sharing.partner(warp.block_slot) {
            Some(_) => self.counts.sharing_warps += 1,
            None => self.unshared |= bit,
        }
        self.begun += 1;
        let own = &mut self.warps[warp.slot];
        (own.age, own.waited) = (self.begun, false);
    }

    /// The scheduler's choice if no warp of a better kind is ready, else the oldest of the best kind.
    fn order(&self, _now: u64, _scheduler: usize, choice: Choice) -> u8 {
        let kinds = [self.owners, self.unshared, u64::MAX];
        let best = kinds.into_iter().map(|kind| kind & choice.ready).find(|ready| *ready != 0);
        match best {
            Some(best) if best >> choice.chosen & 1 == 0 => {
                let ready = (0..64u8).filter(|warp| best >> warp & 1 != 0);
                ready.min_by_key(|warp| self.warps[usize::from(*warp)].age).unwrap_or(choice.chosen)
            }
            _ => choice.chosen,
        }
    }

    fn issue(&self, _now: u64, warp: &WarpView<'_>, what: &Issuing<'_>) -> IssueVerdict {
        match what {
            Issuing::Program(inst) if self.touches[inst.pc as usize] => match self.locks().right(warp.slot) {
                Right::Held => IssueVerdict::Stall(Stall::Held.index()),
                Right::OtherBlock => IssueVerdict::Stall(Stall::OtherBlock.index()),
                Right::Unshared | Right::Owner | Right::Free => IssueVerdict::Issue,
            },
            _ => IssueVerdict::Issue,
        }
    }

    fn stalled(&mut self, _cx: &mut Cx<'_>, warp: &WarpView<'_>, _cause: u8) {
        self.warps[warp.slot].waited = true;
    }

    fn issued(&mut self, _cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>, _verdict: IssueVerdict) {
        if let Issuing::Program(inst) = what
            && self.touches[inst.pc as usize]
            && self.locks().right(warp.slot) == Right::Free
        {
            self.locks_mut().acquire(warp.slot);
            self.owners |= 1 << warp.slot;
            self.counts.acquires += 1;
            self.counts.acquires_at_once += u64::from(!self.warps[warp.slot].waited);
        }
    }

    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        let registers = self.renamed[inst.pc as usize].sources;
        for (operand, register) in
            operands.iter().zip(registers).filter(|(operand, _)| operand.is_from_bank())
        {
            let Some(row) = self.locks().register(warp.slot, register) else {
                return Err(cx.missing(warp, inst.pc, operand.reg, warp.reads(inst, operand.reg)));
            };
            cx.compare(warp, inst, operand.reg, row)?;
            self.note(warp.slot, register);
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
        let registers = self.renamed[inst.pc as usize].destinations;
        for (write, register) in writes.iter().zip(registers) {
            if !self.locks_mut().write(warp.slot, register, write.row(), inst.exec) {
                return Err(cx.missing(warp, inst.pc, write.reg, inst.exec));
            }
            self.note(warp.slot, register);
        }
        Ok(())
    }

    fn end_warp(&mut self, _cx: &mut Cx<'_>, warp_slot: usize) {
        if self.sharing.is_some() && self.locks_mut().end(warp_slot) {
            self.owners &= !(1 << warp_slot);
            self.counts.releases += 1;
        }
    }

    fn describe(&self) -> String {
        self.locks.as_ref().map_or_else(|| "no block shares registers".to_owned(), Locks::describe)
    }
}
