//! Calls, returns, indexed branches, barriers, fences, and warp-wide operations.

use trace_format::isa::{
    BarMode, ICmp, MatchMode, NanProp, Op, ReduxOp as MRedux, ReduxTy, Scope, ShflMode as MShfl, ShiftAmount,
    Sign, SpecialReg, VoteMode as MVote, Wide,
};

use super::memory::scope_of;
use super::{Builder, Lowered};
use crate::lower::vir::{Inst as VInst, PSrc, Src, Term, VOp, Val};
use crate::ptx::{
    BarAction, BarOp, BranchTableId, FenceOp, Inst, MemScope, ReduxOp, ScalarType, ShflMode, VoteMode,
};

impl Builder<'_> {
    /// `exit`.
    pub(crate) fn exit(&mut self, guard: PSrc) {
        if guard.constant() == Some(true) {
            self.asm.end(Term::Exit);
            self.asm.cur = None;
            return;
        }
        let before = self.asm.block();
        let (end, next) = (self.asm.new_block(), self.asm.new_block());
        self.asm.end(Term::If(guard, end, next));
        self.ssa.set_single_pred(end, before);
        self.ssa.set_single_pred(next, before);
        self.open(end);
        self.asm.end(Term::Exit);
        self.open(next);
    }

    /// `ret`: out of the inlined function, or the end of the thread.
    pub(crate) fn ret(&mut self, guard: PSrc) -> Lowered {
        match self.scopes[self.scopes.len() - 1].return_to {
            None => self.exit(guard),
            Some(blk) => self.leave(guard, blk),
        }
        Ok(())
    }

    /// `brx.idx`: a chain of comparisons; an index out of range is undefined and takes the last target.
    pub(crate) fn indexed_branch(&mut self, inst: &Inst, table: BranchTableId) -> Lowered {
        let func = self.scopes[self.scopes.len() - 1].func;
        let Some(body) = &self.module.function(func).body else { return Ok(()) };
        let targets = body.branch_table(table);
        let index = self.word(inst, &inst.srcs()[0])?;
        let Some((last, first)) = targets.split_last() else {
            return Err(self.unsupported(inst, "an empty branch table"));
        };
        for (i, target) in first.iter().enumerate() {
            let p = self.asm.isetp(ICmp::Eq, Sign::U32, index, Val::Imm(i as u32));
            let blk = self.label_block(*target);
            if p.constant() != Some(false) {
                self.leave(p, blk);
            }
            if self.asm.cur.is_none() {
                return Ok(());
            }
        }
        let blk = self.label_block(*last);
        self.leave(PSrc::TRUE, blk);
        Ok(())
    }

    /// `bar`, `barrier`.
    pub(crate) fn bar(&mut self, inst: &Inst, op: BarOp) -> Lowered {
        let barrier = self.word(inst, &inst.srcs()[0])?;
        let threads = if op.threads { self.word(inst, &inst.srcs()[1])? } else { Val::ZERO };
        let used = barrier.imm().map_or(16, |n| n.min(15) as u8 + 1);
        self.barriers = self.barriers.max(used);
        let mode = match op.action {
            BarAction::Sync => BarMode::Sync,
            BarAction::Arrive => BarMode::Arrive,
            BarAction::Popc => BarMode::RedPopc,
            BarAction::And => BarMode::RedAnd,
            BarAction::Or => BarMode::RedOr,
        };
        let mut bar = VInst::new(VOp::M(Op::Bar { mode }), self.asm.line);
        bar.src[0] = barrier.into();
        bar.src[1] = threads.into();
        if matches!(op.action, BarAction::Sync | BarAction::Arrive) {
            self.asm.append(bar);
            return Ok(());
        }
        bar.psrc[0] = self.pred(inst, &inst.srcs()[inst.srcs().len() - 1])?;
        if op.action == BarAction::Popc {
            let r = self.asm.f.new_reg();
            bar.dst[0] = Some(r);
            self.asm.append(bar);
            self.set_word(&inst.dsts()[0], Val::Reg(r));
        } else {
            let p = self.asm.f.new_pred();
            bar.pdst[0] = Some(p);
            self.asm.append(bar);
            self.set_pred(&inst.dsts()[0], PSrc::of(p));
        }
        Ok(())
    }

    fn effect(&mut self, op: Op, srcs: &[Val]) {
        let mut inst = VInst::new(VOp::M(op), self.asm.line);
        for (i, v) in srcs.iter().enumerate() {
            inst.src[i] = (*v).into();
        }
        self.asm.append(inst);
    }

    /// `bar.warp.sync`.
    pub(crate) fn warp_sync(&mut self, inst: &Inst) -> Lowered {
        let mask = self.word(inst, &inst.srcs()[0])?;
        self.effect(Op::Warpsync {}, &[mask]);
        Ok(())
    }

    /// Lanes of a `.sync` operation converge first, unless they are converged by construction: a complete
    /// warp is, unless lanes have diverged at a lock.
    fn gather(&mut self, mask: Val) {
        if mask.imm() != Some(u32::MAX) || self.waits {
            self.effect(Op::Warpsync {}, &[mask]);
        }
    }

    /// `nanosleep`.
    pub(crate) fn nanosleep(&mut self, inst: &Inst) -> Lowered {
        let t = self.word(inst, &inst.srcs()[0])?;
        self.effect(Op::Nanosleep {}, &[t]);
        Ok(())
    }

    /// `fence`, `membar`.
    pub(crate) fn fence(&mut self, _inst: &Inst, op: FenceOp) -> Lowered {
        let scope = match op {
            FenceOp::Thread { scope, .. } => scope_of(scope),
            FenceOp::Proxy { scope, .. } => scope.map_or(Scope::Cta, scope_of),
            FenceOp::MbarrierInit => scope_of(MemScope::Cta),
        };
        self.effect(Op::Membar { scope }, &[]);
        Ok(())
    }

    /// `vote`.
    pub(crate) fn vote(&mut self, inst: &Inst, mode: VoteMode, sync: bool) -> Lowered {
        let p = self.pred(inst, &inst.srcs()[0])?;
        let mask = if sync { self.word(inst, &inst.srcs()[1])? } else { Val::Imm(u32::MAX) };
        self.gather(mask);
        let machine = match mode {
            VoteMode::All => MVote::All,
            VoteMode::Any => MVote::Any,
            VoteMode::Uni => MVote::Uni,
            VoteMode::Ballot => MVote::Ballot,
        };
        let mut vote = VInst::new(VOp::M(Op::Vote { mode: machine }), self.asm.line);
        vote.src[0] = mask.into();
        vote.psrc[0] = p;
        if mode == VoteMode::Ballot {
            let r = self.asm.f.new_reg();
            vote.dst[0] = Some(r);
            self.asm.append(vote);
            self.set_word(&inst.dsts()[0], Val::Reg(r));
        } else {
            let q = self.asm.f.new_pred();
            vote.pdst[0] = Some(q);
            self.asm.append(vote);
            self.set_pred(&inst.dsts()[0], PSrc::of(q));
        }
        Ok(())
    }

    /// `shfl`.
    pub(crate) fn shfl(&mut self, inst: &Inst, mode: ShflMode) -> Lowered {
        let [a, b, c] = [0, 1, 2].map(|i| self.word(inst, &inst.srcs()[i]));
        let (a, b, c) = (a?, b?, c?);
        if let Some(mask) = inst.srcs().get(3) {
            let mask = self.word(inst, mask)?;
            self.gather(mask);
        }
        let mode = match mode {
            ShflMode::Up => MShfl::Up,
            ShflMode::Down => MShfl::Down,
            ShflMode::Bfly => MShfl::Bfly,
            ShflMode::Idx => MShfl::Idx,
        };
        let mut shfl = VInst::new(VOp::M(Op::Shfl { mode }), self.asm.line);
        shfl.src = [Src::one(a), Src::one(b), Src::one(c)];
        let wants_pred = inst.dsts().len() > 1;
        let k = self.asm.put(shfl, u8::from(wants_pred));
        self.set_word(&inst.dsts()[0], k.dst[0]);
        if let Some(p) = inst.dsts().get(1) {
            self.set_pred(p, k.pdst[0]);
        }
        Ok(())
    }

    /// `match`.
    pub(crate) fn find_equal(&mut self, inst: &Inst, all: bool, ty: ScalarType) -> Lowered {
        let a = self.value(inst, &inst.srcs()[0], ty)?;
        let mask = self.word(inst, &inst.srcs()[1])?;
        self.gather(mask);
        let mode = if all { MatchMode::All } else { MatchMode::Any };
        let mut find = VInst::new(VOp::M(Op::Match { mode, wide: Wide(a.len() > 1) }), self.asm.line);
        find.src[0] = Src::many(&a);
        find.src[1] = mask.into();
        let k = self.asm.put(find, u8::from(inst.dsts().len() > 1));
        self.set_word(&inst.dsts()[0], k.dst[0]);
        if let Some(p) = inst.dsts().get(1) {
            self.set_pred(p, k.pdst[0]);
        }
        Ok(())
    }

    /// `redux.sync`.
    pub(crate) fn redux(
        &mut self,
        inst: &Inst,
        op: ReduxOp,
        ty: ScalarType,
        abs: bool,
        nan: bool,
    ) -> Lowered {
        let a = self.word(inst, &inst.srcs()[0])?;
        let mask = self.word(inst, &inst.srcs()[1])?;
        self.gather(mask);
        let machine_op = match op {
            ReduxOp::And => MRedux::And,
            ReduxOp::Or => MRedux::Or,
            ReduxOp::Xor => MRedux::Xor,
            ReduxOp::Add => MRedux::Sum,
            ReduxOp::Min => MRedux::Min,
            ReduxOp::Max => MRedux::Max,
        };
        let machine_ty = match ty {
            ScalarType::F32 => ReduxTy::F32,
            ty if ty.is_signed() => ReduxTy::S32,
            _ => ReduxTy::U32,
        };
        let machine = Op::Redux { op: machine_op, ty: machine_ty, nan: NanProp(nan) };
        let r = self.asm.r1(machine, &[Src { abs, ..a.into() }, mask.into()]);
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// `elect.sync`: the lowest active member leads.
    pub(crate) fn elect(&mut self, inst: &Inst) -> Lowered {
        let mask = self.word(inst, &inst.srcs()[0])?;
        self.gather(mask);
        let mut present = VInst::new(VOp::M(Op::Vote { mode: MVote::Ballot }), self.asm.line);
        present.src[0] = mask.into();
        let members = self.asm.f.new_reg();
        present.dst[0] = Some(members);
        self.asm.append(present);
        let reversed = self.asm.r1(Op::Brev {}, &[Val::Reg(members).into()]);
        let leader = self.asm.r1(Op::Flo { sign: Sign::U32, sh: ShiftAmount(true) }, &[reversed.into()]);
        let lane = self.asm.s2r(SpecialReg::LaneId);
        let p = self.asm.isetp(ICmp::Eq, Sign::U32, lane, leader);
        self.set_word(&inst.dsts()[0], leader);
        self.set_pred(&inst.dsts()[1], p);
        Ok(())
    }

    /// `activemask`.
    pub(crate) fn activemask(&mut self, inst: &Inst) -> Lowered {
        let r = self.asm.s2r(SpecialReg::ActiveMask);
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }
}
