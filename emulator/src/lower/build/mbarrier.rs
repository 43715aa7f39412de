//! `mbarrier`: 64-bit barrier objects in shared memory, and clusters of one block.
//!
//! Updates are SYNCS, which changes the object atomically ([`trace_format::isa::barrier_state`] defines its
//! layout). Tests load it and check its phase. Addresses are those of shared memory; a generic one falls into
//! its window, as PTX demands, so its low word is the address.

use trace_format::isa::barrier_state::{PENDING_BITS, initial};
use trace_format::isa::{BarMode, BarrierUpdate, ICmp, MemWidth, Op, Scale, Scope, Sign};

use super::{Builder, Lowered};
use crate::lower::vir::{Inst as VInst, Src, VOp, Val};
use crate::ptx::{Inst, MbarrierAction, MbarrierOp, Operand, StateSpace};

/// Number of the block barrier that stands for the cluster's.
const CLUSTER_BARRIER: u8 = 15;

impl Builder<'_> {
    /// `mbarrier.*`.
    pub(crate) fn mbarrier(&mut self, inst: &Inst, op: MbarrierOp) -> Lowered {
        match op.action {
            MbarrierAction::Init => self.barrier_init(inst),
            MbarrierAction::Inval => Ok(()),
            MbarrierAction::ExpectTx | MbarrierAction::CompleteTx => {
                let update = if op.action == MbarrierAction::ExpectTx {
                    BarrierUpdate::ExpectTx
                } else {
                    BarrierUpdate::CompleteTx
                };
                let bytes = self.word(inst, &inst.srcs()[1])?;
                self.barrier_update(inst, 0, update, bytes)?;
                Ok(())
            }
            MbarrierAction::Arrive { drop, expect_tx, count, .. } => {
                let operand = if count { Some(self.word(inst, &inst.srcs()[1])?) } else { None };
                if let (true, Some(bytes)) = (expect_tx, operand) {
                    self.barrier_update(inst, 0, BarrierUpdate::ExpectTx, bytes)?;
                }
                let count = operand.filter(|_| !expect_tx).unwrap_or(Val::Imm(1));
                let update = if drop { BarrierUpdate::ArriveDrop } else { BarrierUpdate::Arrive };
                let state = self.barrier_update(inst, 0, update, count)?;
                if let Some(dst @ Operand::Reg(_)) = inst.dsts().first() {
                    self.set_pair(dst, state);
                }
                Ok(())
            }
            MbarrierAction::Wait { parity, .. } => self.barrier_test(inst, parity),
            MbarrierAction::PendingCount => {
                let state = self.pair(inst, &inst.srcs()[0])?;
                let count = self.asm.and(state[0], Val::Imm((1 << PENDING_BITS) - 1));
                self.set_word(&inst.dsts()[0], count);
                Ok(())
            }
        }
    }

    /// Stores the state of a fresh barrier.
    fn barrier_init(&mut self, inst: &Inst) -> Lowered {
        let count = self.word(inst, &inst.srcs()[1])?;
        let address = self.memory_operand(inst, 0)?;
        let place = self.place(inst, address, StateSpace::Shared)?;
        // The count twice: what is pending and what later phases expect.
        let one = initial(1);
        let low = self.asm.imad(count, Val::Imm(one as u32), Val::ZERO);
        let high = self.asm.shr(Sign::U32, count, Val::Imm(32 - PENDING_BITS));
        debug_assert_eq!(one >> 32, 0, "the expected count begins in the low word");
        self.store_at(inst, StateSpace::Shared, &place, 8, &[low, high])
    }

    /// Changes a barrier and returns what its state was.
    pub(crate) fn barrier_update(
        &mut self,
        inst: &Inst,
        source: usize,
        update: BarrierUpdate,
        operand: Val,
    ) -> Lowered<[Val; 2]> {
        let address = self.memory_operand(inst, source)?;
        let place = self.place(inst, address, StateSpace::Shared)?;
        let mut syncs = VInst::new(VOp::M(Op::Syncs { update }), self.asm.line);
        syncs.src[0] = Src::one(place.base[0]);
        syncs.src[1] = Src::one(operand);
        syncs.offset = place.offset;
        let state = self.asm.put(syncs, 0).dst;
        Ok([state[0], state[1]])
    }

    /// `mbarrier.test_wait`, `mbarrier.try_wait`: whether the phase of a state, or the one of a parity, is over.
    fn barrier_test(&mut self, inst: &Inst, parity: bool) -> Lowered {
        let address = self.memory_operand(inst, 0)?;
        let place = self.place(inst, address, StateSpace::Shared)?;
        let load = Op::Lds { width: MemWidth::B64, scale: Scale::X1 };
        let state = self.memory_result(load, &place, false, 2);
        // The phase is the highest bit.
        let other = if parity {
            let parity = self.word(inst, &inst.srcs()[1])?;
            self.asm.shl(parity, Val::Imm(31))
        } else {
            self.pair(inst, &inst.srcs()[1])?[1]
        };
        let differs = self.asm.xor(state[1], other);
        let over = self.asm.isetp(ICmp::Lt, Sign::S32, differs, Val::ZERO);
        self.set_pred(&inst.dsts()[0], over);
        Ok(())
    }

    /// `barrier.cluster`: a cluster is one block. Arriving is a fence, waiting waits for the block.
    pub(crate) fn cluster_barrier(&mut self, arrive: bool) -> Lowered {
        if arrive {
            self.asm.append(VInst::new(VOp::M(Op::Membar { scope: Scope::Cta }), self.asm.line));
            return Ok(());
        }
        self.barriers = self.barriers.max(CLUSTER_BARRIER + 1);
        let mut bar = VInst::new(VOp::M(Op::Bar { mode: BarMode::Sync }), self.asm.line);
        bar.src[0] = Val::Imm(CLUSTER_BARRIER.into()).into();
        bar.src[1] = Val::ZERO.into();
        self.asm.append(bar);
        Ok(())
    }

    /// `mapa`: there is only the block's own shared memory.
    pub(crate) fn map_to_block(&mut self, inst: &Inst) -> Lowered {
        let address = self.pair(inst, &inst.srcs()[0])?;
        self.set_pair(&inst.dsts()[0], address);
        Ok(())
    }
}
