//! Calls: inlines the callee's code, or calls machine code with arguments and results in the frame, as
//! [`crate::lower::calls`] decides.

use trace_format::isa::{ICmp, MemWidth, Op, Sign};

use super::{Builder, Lowered, code_line};
use crate::lower::calls::{Abi, Slot, moves_stack};
use crate::lower::frame::INCOMING;
use crate::lower::vir::{Inst as VInst, PSrc, Src, Term, VOp, Val};
use crate::ptx::{Callee, Formal, FuncId, Inst, Operand, ScalarType, VarId, VarSpace};

/// An argument of an inlined function.
enum Passed {
    Predicate(PSrc),
    Words(Vec<Val>),
}

impl Builder<'_> {
    /// `call`.
    pub(crate) fn call(&mut self, inst: &Inst, callee: Callee) -> Lowered {
        match callee {
            Callee::Direct(func) if self.module.function(func).body.is_none() => self.service(inst, func),
            Callee::Direct(func) if !self.inlining.is_own(func) => self.inlined(inst, func),
            Callee::Direct(func) => {
                let call = VInst::new(VOp::CallFunction(func), self.asm.line);
                self.called(inst, callee, call)
            }
            Callee::Indirect { pointer, .. } => {
                let high = if self.reg_words(pointer) > 1 { self.read_reg(pointer, 1) } else { Val::ZERO };
                let mut call = VInst::new(VOp::M(Op::CallInd {}), self.asm.line);
                call.src[0] = Src::two([self.read_reg(pointer, 0), high]);
                self.called(inst, callee, call)
            }
        }
    }

    /// A call of machine code: arguments into the frame, results out of it.
    fn called(&mut self, inst: &Inst, callee: Callee, call: VInst) -> Lowered {
        let caller = self.scopes[self.scopes.len() - 1].func;
        let Some(abi) = Abi::of_call(self.module, caller, callee) else {
            return Err(self.unsupported(inst, "a call without targets"));
        };
        self.pass_arguments(inst, &abi)?;
        self.asm.append(call);
        for (operand, slot) in inst.dsts().iter().zip(&abi.returns) {
            let words = self.load_frame(slot.offset as i32, slot.bytes.div_ceil(4));
            let takes_predicate = matches!(operand, Operand::Reg(r) if self.reg_type(*r) == ScalarType::Pred);
            if takes_predicate != slot.predicate && *operand != Operand::Sink {
                return Err(self.unsupported(inst, "a result of another kind than its register"));
            }
            if slot.predicate {
                let p = self.truth(words[0]);
                self.set_pred(operand, p);
            } else {
                self.set_result(operand, &words);
            }
        }
        Ok(())
    }

    /// Stores the arguments of a call into the frame.
    pub(crate) fn pass_arguments(&mut self, inst: &Inst, abi: &Abi) -> Lowered {
        for (operand, slot) in inst.srcs().iter().zip(&abi.params) {
            let words = if slot.predicate {
                let p = self.pred(inst, operand)?;
                vec![self.asm.sel(p, Val::Imm(1), Val::ZERO)]
            } else {
                self.argument(inst, operand, slot.bytes.div_ceil(4).max(1))?
            };
            self.store_frame(slot.offset as i32, &words);
        }
        Ok(())
    }

    /// Whether a predicate that is passed as a word is true.
    fn truth(&mut self, word: Val) -> PSrc {
        self.asm.isetp(ICmp::Ne, Sign::U32, word, Val::ZERO)
    }

    /// Assigns a call's result to a register or a `.param` variable.
    pub(crate) fn set_result(&mut self, operand: &Operand, words: &[Val]) {
        match operand {
            Operand::Var(var, _) => {
                let to = self.param_var(*var);
                for (i, w) in words.iter().enumerate() {
                    self.write_var(to + i as u32, *w);
                }
            }
            other => self.set_words(other, words),
        }
    }

    /// The words of an argument.
    pub(crate) fn argument(&mut self, inst: &Inst, operand: &Operand, words: u32) -> Lowered<Vec<Val>> {
        match operand {
            Operand::Var(var, _) if self.incoming.contains_key(var) => {
                let slot = self.incoming[var];
                Ok(self.load_frame(INCOMING + slot.offset as i32, words))
            }
            Operand::Var(var, _) if self.module.var(*var).space == VarSpace::Param => {
                let base = self.param_var(*var);
                let have = self.module.var(*var).size_bytes.div_ceil(4) as u32;
                let mut read = |i: u32| if i < have { self.read_var(base + i) } else { Val::ZERO };
                Ok((0..words).map(&mut read).collect())
            }
            other => {
                let ty = match words {
                    1 => ScalarType::B32,
                    2 => ScalarType::B64,
                    _ => ScalarType::B128,
                };
                self.value(inst, other, ty)
            }
        }
    }

    /// Begins the function being built: loads its register parameters from the frame.
    pub(crate) fn own_function(&mut self, func: FuncId) {
        let entry = self.asm.new_block();
        self.ssa.set_entry(entry);
        self.asm.cur = Some(entry);
        let (module, abi) = (self.module, Abi::of_function(self.module, func));
        let function = module.function(func);
        self.asm.line.code = code_line(module.line(function.span));
        let mut outgoing: Vec<(u32, Slot)> = Vec::new();
        for (formal, slot) in function.params.iter().zip(&abi.params) {
            match formal {
                Formal::Var(var) => {
                    self.incoming.insert(*var, *slot);
                }
                Formal::Reg(reg) => {
                    let words = self.load_frame(INCOMING + slot.offset as i32, slot.bytes.div_ceil(4).max(1));
                    let var = self.reg_var_of(func, *reg);
                    if slot.predicate {
                        let p = self.truth(words[0]);
                        self.write_pred_var(var, p);
                        continue;
                    }
                    for (i, w) in words.into_iter().enumerate() {
                        self.write_var(var + i as u32, w);
                    }
                }
            }
        }
        for (formal, slot) in function.returns.iter().zip(&abi.returns) {
            match formal {
                Formal::Var(var) => {
                    self.incoming.insert(*var, *slot);
                }
                Formal::Reg(reg) => outgoing.push((self.reg_var_of(func, *reg), *slot)),
            }
        }
        let used = moves_stack(module, func).then(|| self.dynamic_used());
        let back = self.asm.new_block();
        self.function(func, Some(back));
        if self.asm.cur.is_some() {
            self.asm.end(Term::Goto(back));
        }
        self.open(back);
        if let Some(used) = used {
            self.set_dynamic_used(used);
        }
        for (var, slot) in outgoing {
            let words: Vec<Val> = if slot.predicate {
                let p = self.read_pred_var(var);
                vec![self.asm.sel(p, Val::Imm(1), Val::ZERO)]
            } else {
                (0..slot.bytes.div_ceil(4).max(1)).map(|i| self.read_var(var + i)).collect()
            };
            self.store_frame(INCOMING + slot.offset as i32, &words);
        }
        self.asm.end(Term::Return);
        self.asm.cur = None;
    }

    /// Inlines the callee's code.
    fn inlined(&mut self, inst: &Inst, func: FuncId) -> Lowered {
        let function = self.module.function(func);
        let mut args = Vec::new();
        for (operand, formal) in inst.srcs().iter().zip(&function.params) {
            let words = self.formal_words(*formal, func);
            args.push(if self.is_predicate(*formal, func) {
                Passed::Predicate(self.pred(inst, operand)?)
            } else {
                Passed::Words(self.argument(inst, operand, words)?)
            });
        }
        for (passed, formal) in args.iter().zip(&function.params) {
            let var = self.formal_var(*formal, func);
            match passed {
                Passed::Predicate(p) => self.write_pred_var(var, *p),
                Passed::Words(words) => {
                    for (i, w) in words.iter().enumerate() {
                        self.write_var(var + i as u32, *w);
                    }
                }
            }
        }
        let back = self.asm.new_block();
        let line = self.asm.line;
        self.function(func, Some(back));
        if self.asm.cur.is_some() {
            self.asm.end(Term::Goto(back));
        }
        self.asm.line = line;
        if self.asm.f.block(back).preds.is_empty() {
            self.dropped.push(back);
            self.asm.cur = None;
            return Ok(());
        }
        self.open(back);
        for (operand, formal) in inst.dsts().iter().zip(&function.returns) {
            let base = self.formal_var(*formal, func);
            if self.is_predicate(*formal, func) {
                let p = self.read_pred_var(base);
                self.set_pred(operand, p);
                continue;
            }
            let words: Vec<Val> =
                (0..self.formal_words(*formal, func)).map(|i| self.read_var(base + i)).collect();
            self.set_result(operand, &words);
        }
        Ok(())
    }

    fn is_predicate(&self, formal: Formal, func: FuncId) -> bool {
        match formal {
            Formal::Var(_) => false,
            Formal::Reg(reg) => self.module.function(func).register(reg).ty == ScalarType::Pred,
        }
    }

    fn formal_words(&self, formal: Formal, func: FuncId) -> u32 {
        match formal {
            Formal::Var(var) => self.module.var(var).size_bytes.div_ceil(4) as u32,
            Formal::Reg(reg) => self.module.function(func).register(reg).ty.bits().div_ceil(32).max(1),
        }
    }

    fn formal_var(&mut self, formal: Formal, func: FuncId) -> u32 {
        match formal {
            Formal::Var(var) => self.param_var(var),
            Formal::Reg(reg) => self.reg_var_of(func, reg),
        }
    }

    // ---- the frame --------------------------------------------------------------------------------------------

    /// Address in local memory of a place in the frame.
    pub(crate) fn frame_address(&mut self, place: i32) -> Val {
        if !self.inlining.has_frames() {
            return Val::Imm(place as u32);
        }
        let mut address = VInst::new(VOp::FrameAddress, self.asm.line);
        address.offset = place;
        self.asm.put(address, 0).dst[0]
    }

    /// Words at a place in the frame.
    pub(crate) fn load_frame(&mut self, place: i32, words: u32) -> Vec<Val> {
        let mut values = Vec::new();
        let mut at = 0;
        while at < words {
            let n = run(place + 4 * at as i32, words - at);
            let mut load = VInst::new(VOp::M(Op::Ldl { width: width(n) }), self.asm.line);
            load.src[0] = Src::RZ;
            load.offset = place + 4 * at as i32;
            let d = self.asm.put(load, 0).dst;
            values.extend_from_slice(&d[..n as usize]);
            at += n;
        }
        values
    }

    /// Stores words at a place in the frame.
    pub(crate) fn store_frame(&mut self, place: i32, words: &[Val]) {
        let mut at = 0;
        while at < words.len() {
            let n = run(place + 4 * at as i32, (words.len() - at) as u32) as usize;
            let mut store = VInst::new(VOp::M(Op::Stl { width: width(n as u32) }), self.asm.line);
            store.src[0] = Src::RZ;
            store.src[1] = Src::many(&words[at..at + n]);
            store.offset = place + 4 * at as i32;
            self.asm.append(store);
            at += n;
        }
    }

    /// The offset of a variable among the arguments and results of the function being built.
    pub(crate) fn incoming_place(&self, var: VarId) -> Option<i32> {
        self.incoming.get(&var).map(|slot| INCOMING + slot.offset as i32)
    }
}

/// Words that one access at a place may move, of so many.
const fn run(place: i32, words: u32) -> u32 {
    match (place % 16, words) {
        (0, 4..) => 4,
        (0 | 8, 2..) => 2,
        _ => 1,
    }
}

const fn width(words: u32) -> MemWidth {
    match words {
        4 => MemWidth::B128,
        2 => MemWidth::B64,
        _ => MemWidth::B32,
    }
}
