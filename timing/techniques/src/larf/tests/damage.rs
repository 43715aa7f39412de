//! LARF with a fault: a technique around it that damages its state, or what it is told, at the hook that the fault concerns.

use super::super::table::End;
use super::super::{Kind, Larf};
use crate::*;
use trace_format::isa::space::Space;
use trace_format::isa::{MemOrder, MemWidth, Op};
use warplab_technique::Row;
use warplab_technique::program::{RegSet, TimedInst};

/// Faults, each of which a comparison of values must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Stores leave entries in the table.
    MissedStore,
    /// Atomics leave entries in the table.
    MissedAtomic,
    /// The value of an entry is overwritten in place, and the entry stays.
    StaleEntry,
    /// A released register's entry stays in the table.
    DanglingEntry,
    /// Merged lanes are shifted one too far.
    WrongShift,
    /// Entries have all lanes.
    WrongMask,
    /// Entries have another stride.
    WrongStride,
    /// Entries have another width.
    WrongWidth,
    /// Both parts of a merged register are taken from one.
    OnePartTwice,
    /// The upper halves of addresses are not compared.
    WrongRegion,
    /// A register with other sharers is written in place.
    SharedWrite,
    /// Lanes that a load leaves alone are lost when its register is shared.
    OtherLanes,
    /// The registers of a wide load are exchanged.
    SwappedRegisters,
    /// Volatile loads are shared.
    SharedVolatile,
    /// Loads that a store has overtaken are entered.
    MissedOvertaking,
    /// Registers are released before their last read.
    EarlyRelease,
    /// A bit of a packed value flips.
    FlippedBit,
    /// A packed value is read from fewer slices than it has.
    LostSlices,
    /// Two packed values have each other's place.
    SwappedPlaces,
    /// A register that others share is overwritten, because its result has reserved no physical register.
    TakenForOwn,
    /// A register without a physical register has reserved none for its result.
    NothingReserved,
    /// Another warp's register has the reservation.
    OtherWarpReserved,
    /// A physical register is counted as free twice.
    FreeTwice,
    /// A result keeps its reservation.
    KeptReservation,
    /// No register is kept for a block that can finish.
    Unthrottled,
    /// A block's demand has no register beside those of its warps.
    ShortDemand,
}

/// LARF, whole or with a fault.
#[derive(Clone)]
pub(super) struct Damaged {
    pub(super) larf: Larf,
    pub(super) fault: Option<Fault>,
}

impl Damaged {
    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Damages what the destinations of an issued instruction have reserved.
    fn after_issue(&mut self, slot: usize, regs: &[u8]) {
        let registers = self.larf.registers();
        for reg in regs {
            let is_mapped = registers.is_mapped(slot, *reg);
            let Some(reservations) = &mut registers.reservations else { return };
            if !reservations.has(slot, *reg) {
                continue;
            }
            match self.fault {
                Some(Fault::TakenForOwn) if is_mapped => reservations.give_back(slot, *reg),
                Some(Fault::NothingReserved) if !is_mapped => reservations.give_back(slot, *reg),
                Some(Fault::OtherWarpReserved) if !reservations.has(slot ^ 1, *reg) => {
                    reservations.give_back(slot, *reg);
                    reservations.reserve(slot ^ 1, *reg);
                }
                _ => {}
            }
        }
    }

    /// Damages an account of registers when an instruction has been written back.
    fn after_write(&mut self, block_slot: usize) {
        let Some(reservations) = &mut self.larf.registers().reservations else { return };
        let throttle = &mut reservations.throttle;
        match self.fault {
            Some(Fault::FreeTwice) => throttle.free_lent(),
            Some(Fault::KeptReservation) if throttle.free() > 0 => throttle.take(block_slot, 1),
            _ => {}
        }
    }

    /// Damages what an access has entered, or is answered with.
    fn after_access(&mut self, reads: AccessVerdict) {
        let rotate = |row: &mut Row| row.0.rotate_right(1);
        match self.fault {
            Some(Fault::WrongMask) => self.larf.table.break_vectors(|vector| vector.lanes = u32::MAX),
            Some(Fault::WrongStride) => self.larf.table.break_vectors(|vector| vector.stride = 8),
            Some(Fault::WrongWidth) => self.larf.table.break_vectors(|vector| vector.width = MemWidth::U8),
            _ if reads == AccessVerdict::Access => {}
            Some(Fault::WrongShift) => self.larf.answer.iter_mut().for_each(rotate),
            Some(Fault::OnePartTwice) => {
                self.larf.answer.iter_mut().for_each(|row| row.0[31] = row.0[0]);
            }
            Some(Fault::SwappedRegisters) => self.larf.answer.reverse(),
            _ => {}
        }
    }
}

impl Technique for Damaged {
    fn info(&self) -> &'static TechniqueInfo {
        self.larf.info()
    }

    fn counts(&self) -> Vec<u64> {
        self.larf.counts()
    }

    fn storage(&self) -> Vec<&Storage> {
        self.larf.storage()
    }

    fn further_bits(&self) -> u64 {
        self.larf.further_bits()
    }

    fn prepare(&mut self, launch: &Launch<'_>, plan: &mut Plan) -> Result<(), String> {
        self.larf.prepare(launch, plan)?;
        if let Some(reservations) = &mut self.larf.registers().reservations {
            let warps = launch.threads_per_block().div_ceil(32);
            match self.fault {
                Some(Fault::Unthrottled) => reservations.throttle.set_demand(0),
                Some(Fault::ShortDemand) => {
                    reservations.throttle.set_demand(warps * launch.program.registers_per_thread);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn start_block(&mut self, cx: &mut Cx<'_>, block_slot: usize, block: u32) {
        self.larf.start_block(cx, block_slot, block);
    }

    fn end_block(&mut self, cx: &mut Cx<'_>, block_slot: usize) {
        self.larf.end_block(cx, block_slot);
    }

    fn issue(&self, now: u64, warp: &WarpView<'_>, what: &Issuing<'_>) -> IssueVerdict {
        self.larf.issue(now, warp, what)
    }

    fn describe(&self) -> String {
        self.larf.describe()
    }

    fn start_warp(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>) {
        self.larf.start_warp(cx, warp);
    }

    fn issued(&mut self, cx: &mut Cx<'_>, warp: &WarpView<'_>, what: &Issuing<'_>, verdict: IssueVerdict) {
        self.larf.issued(cx, warp, what, verdict);
        if let Issuing::Program(inst) = what {
            self.after_issue(warp.slot, inst.inst.destinations());
        }
    }

    fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
    ) -> Result<(), Box<ValueMismatch>> {
        let keeps_entries = match inst.inst.inst.kind() {
            Kind::Store(_) => self.has(Fault::MissedStore),
            Kind::Atomic(_) | Kind::Reduction(_) => self.has(Fault::MissedAtomic),
            _ => self.has(Fault::DanglingEntry),
        };
        let table = keeps_entries.then(|| self.larf.table.clone());
        self.larf.collect(cx, warp, inst, operands)?;
        if let Some(table) = table {
            self.larf.table = table;
        }
        if self.has(Fault::EarlyRelease) {
            let mut ended = Vec::new();
            self.larf.registers().release_all_but(warp.slot, &RegSet::default(), |at| ended.push(at));
            ended.into_iter().for_each(|at| self.larf.remove(cx, at, End::Released));
        }
        Ok(())
    }

    fn access(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        access: &MemAccess<'_>,
    ) -> Result<AccessVerdict, Box<ValueMismatch>> {
        let mut told: TimedInst = inst.inst.clone();
        if let (true, Op::Ldg { order, .. }) = (self.has(Fault::SharedVolatile), &mut told.inst.op) {
            *order = MemOrder::Weak;
        }
        if self.has(Fault::WrongRegion) && access.space == Space::Global {
            let lane = access.mask.trailing_zeros() as usize & 31;
            self.larf.table.break_region((access.addresses[lane] >> 32) as u32);
        }
        if self.has(Fault::MissedOvertaking) {
            self.larf.order = Default::default();
        }
        if self.has(Fault::OtherLanes) {
            for reg in inst.inst.destinations() {
                self.larf.registers().lose_other_lanes(warp.slot, *reg, inst.exec);
            }
        }
        let told = InstView::new(inst.pc, &told, inst.active, inst.exec, inst.id);
        let verdict = self.larf.access(cx, warp, &told, access)?;
        self.after_access(verdict);
        Ok(verdict)
    }

    fn answered(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        how: Answered,
        results: &[RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        self.larf.answered(cx, warp, inst, how, results)
    }

    fn write_back(
        &mut self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        writes: &mut [RegisterWrite<'_>],
    ) -> Result<(), Box<ValueMismatch>> {
        let table = self.has(Fault::StaleEntry).then(|| self.larf.table.clone());
        if self.has(Fault::SharedWrite) {
            self.larf.registers().forget_sharers();
        }
        let written = self.larf.write_back(cx, warp, inst, writes);
        match self.fault {
            Some(Fault::FlippedBit) => self.larf.registers().flip_bits(),
            Some(Fault::LostSlices) => self.larf.registers().lose_slices(),
            Some(Fault::SwappedPlaces) => self.larf.registers().swap_places(),
            _ => {}
        }
        self.after_write(warp.block_slot);
        if self.has(Fault::SharedWrite) {
            self.larf.registers().count_sharers();
        }
        if let Some(table) = table {
            self.larf.table = table;
        }
        written
    }

    fn end_warp(&mut self, cx: &mut Cx<'_>, warp_slot: usize) {
        self.larf.end_warp(cx, warp_slot);
        if self.fault.is_none() {
            self.larf.registers().verify();
        }
    }
}
