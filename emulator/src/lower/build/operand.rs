//! Operands: PTX registers as variables of one to four words, literals, special registers and addresses of
//! variables as values.
//!
//! Registers narrower than 32 bits occupy a word whose upper bits are unspecified; users that need them
//! extended request it ([`Builder::int_operand`]).

use trace_format::isa::{Sign, SpecialReg, space};

use super::{Builder, FULL_LITERALS, Lowered};
use crate::lower::vir::{PSrc, Val};
use crate::ptx::{
    Axis, Inst, Operand, RegId, RelocationTarget, ScalarType, SpecialRegister, VarId, VarSpace,
};

/// Words kept per register variable, enough for `.b128`.
const WORDS: u32 = 4;

impl Builder<'_> {
    /// First variable of a register of the function being walked.
    fn reg_var(&mut self, reg: RegId) -> u32 {
        let func = self.scopes[self.scopes.len() - 1].func;
        self.reg_var_of(func, reg)
    }

    /// First variable of a register of any function.
    pub(crate) fn reg_var_of(&mut self, func: crate::ptx::FuncId, reg: RegId) -> u32 {
        let count = self.module.function(func).registers.len() as u32;
        let next = &mut self.next_var;
        let base = *self.vars.entry(func).or_insert_with(|| {
            let base = *next;
            *next += count * WORDS;
            base
        });
        base + reg.index() as u32 * WORDS
    }

    /// First variable of a `.param` variable's words.
    pub(crate) fn param_var(&mut self, var: VarId) -> u32 {
        let words = self.module.var(var).size_bytes.div_ceil(4) as u32;
        let next = &mut self.next_var;
        *self.param_vars.entry(var).or_insert_with(|| {
            let base = *next;
            *next += words;
            base
        })
    }

    /// Type that a register was declared with.
    pub(crate) fn reg_type(&self, reg: RegId) -> ScalarType {
        let func = self.scopes[self.scopes.len() - 1].func;
        self.module.function(func).register(reg).ty
    }

    /// Number of words of a register.
    pub(crate) fn reg_words(&self, reg: RegId) -> usize {
        self.reg_type(reg).bits().div_ceil(32).max(1) as usize
    }

    /// A variable's word.
    pub(crate) fn read_var(&mut self, var: u32) -> Val {
        let blk = self.asm.block();
        self.ssa.read(&mut self.asm.f, blk, var)
    }

    /// Assigns a variable's word.
    pub(crate) fn write_var(&mut self, var: u32, value: Val) {
        let blk = self.asm.block();
        self.ssa.write(blk, var, value);
    }

    /// Word `i` of a register.
    pub(crate) fn read_reg(&mut self, reg: RegId, i: u32) -> Val {
        let var = self.reg_var(reg) + i;
        self.read_var(var)
    }

    /// Assigns word `i` of a register.
    pub(crate) fn write_reg(&mut self, reg: RegId, i: u32, value: Val) {
        let var = self.reg_var(reg) + i;
        self.write_var(var, value);
    }

    /// A predicate register.
    pub(crate) fn read_pred(&mut self, reg: RegId) -> PSrc {
        let var = self.reg_var(reg);
        self.read_pred_var(var)
    }

    /// The predicate in a variable.
    pub(crate) fn read_pred_var(&mut self, var: u32) -> PSrc {
        let blk = self.asm.block();
        self.ssa.pread(&mut self.asm.f, blk, var)
    }

    /// Assigns the predicate in a variable.
    pub(crate) fn write_pred_var(&mut self, var: u32, value: PSrc) {
        let blk = self.asm.block();
        self.ssa.pwrite(blk, var, value);
    }

    /// The words of an operand, `n` of them; words beyond the register are zero.
    fn words(&mut self, inst: &Inst, operand: &Operand, n: usize) -> Lowered<Vec<Val>> {
        Ok(match operand {
            Operand::Reg(reg) if self.reg_type(*reg) == ScalarType::Pred => {
                return Err(self.unsupported(inst, "a predicate as a number"));
            }
            Operand::Reg(reg) => {
                let have = self.reg_words(*reg);
                (0..n).map(|i| if i < have { self.read_reg(*reg, i as u32) } else { Val::ZERO }).collect()
            }
            Operand::RegOffset(reg, offset) => {
                let mut words = self.sum_with_constant(*reg, *offset);
                words.resize(n.max(1), Val::ZERO);
                words
            }
            Operand::Imm(bits) => {
                (0..n).map(|i| Val::Imm(if i < 2 { (bits >> (32 * i)) as u32 } else { 0 })).collect()
            }
            Operand::Special(sr) => {
                let mut words = self.special(*sr);
                words.resize(n.max(1), Val::ZERO);
                words
            }
            Operand::Var(var, offset) => {
                self.variable_address(inst, *var, *offset)?.into_iter().cycle().take(n).collect()
            }
            Operand::Sink => vec![Val::Undef; n],
            Operand::Func(func) => {
                let address = crate::lower::calls::function_address(*func);
                (0..n).map(|i| Val::Imm(if i < 2 { (address >> (32 * i)) as u32 } else { 0 })).collect()
            }
            Operand::NotReg(_) | Operand::Vector(_) | Operand::Mem(_) => {
                return Err(self.unsupported(inst, "this operand"));
            }
        })
    }

    /// The words of a register plus a constant.
    fn sum_with_constant(&mut self, reg: RegId, constant: i64) -> Vec<Val> {
        let low = self.read_reg(reg, 0);
        if self.reg_words(reg) == 1 {
            return vec![self.asm.iadd(low, Val::Imm(constant as u32))];
        }
        let high = self.read_reg(reg, 1);
        self.asm.add64([low, high], [Val::Imm(constant as u32), Val::Imm((constant >> 32) as u32)]).to_vec()
    }

    /// A value of 32 bits or fewer.
    pub(crate) fn word(&mut self, inst: &Inst, operand: &Operand) -> Lowered<Val> {
        Ok(self.words(inst, operand, 1)?[0])
    }

    /// A 64-bit value.
    pub(crate) fn pair(&mut self, inst: &Inst, operand: &Operand) -> Lowered<[Val; 2]> {
        let words = self.words(inst, operand, 2)?;
        Ok([words[0], words[1]])
    }

    /// As many words as a type has.
    pub(crate) fn value(&mut self, inst: &Inst, operand: &Operand, ty: ScalarType) -> Lowered<Vec<Val>> {
        self.words(inst, operand, ty.bits().div_ceil(32).max(1) as usize)
    }

    /// An integer of at most 32 bits, extended to 32 according to its type.
    pub(crate) fn int_operand(&mut self, inst: &Inst, operand: &Operand, ty: ScalarType) -> Lowered<Val> {
        let v = self.word(inst, operand)?;
        Ok(self.extended(v, ty))
    }

    /// Extends a value to 32 bits according to its type.
    pub(crate) fn extended(&mut self, v: Val, ty: ScalarType) -> Val {
        match (ty.bits(), ty.is_signed()) {
            (32.., _) => v,
            (bits, signed) if self.fits(v, bits, signed) => v,
            (16, false) => self.asm.and(v, Val::Imm(0xFFFF)),
            (8, false) => self.asm.and(v, Val::Imm(0xFF)),
            (16, true) => self.asm.prmt(v, Val::Imm(0x9910), Val::ZERO),
            (8, true) => self.asm.prmt(v, Val::Imm(0x8880), Val::ZERO),
            (bits, signed) => self.asm.sgxt(if signed { Sign::S32 } else { Sign::U32 }, v, Val::Imm(bits)),
        }
    }

    /// Whether a value is known to be extended from `bits` bits already.
    fn fits(&self, v: Val, bits: u32, signed: bool) -> bool {
        let (significant, always_positive) = super::logic::known_bits(&self.asm.f, v, 4);
        if signed {
            significant <= bits && (!always_positive || significant < bits)
        } else {
            always_positive && significant <= bits
        }
    }

    /// A predicate operand.
    pub(crate) fn pred(&mut self, inst: &Inst, operand: &Operand) -> Lowered<PSrc> {
        match operand {
            Operand::Reg(reg) | Operand::NotReg(reg) if self.reg_type(*reg) != ScalarType::Pred => {
                Err(self.unsupported(inst, "a number as a predicate"))
            }
            Operand::Reg(reg) => Ok(self.read_pred(*reg)),
            Operand::NotReg(reg) => Ok(self.read_pred(*reg).negated()),
            Operand::Imm(bits) => Ok(if *bits != 0 { PSrc::TRUE } else { PSrc::FALSE }),
            Operand::Special(SpecialRegister::IsExplicitCluster) => Ok(PSrc::FALSE),
            _ => Err(self.unsupported(inst, "this predicate operand")),
        }
    }

    /// Assigns a destination of 32 bits or fewer; a wider register gets zeros above.
    pub(crate) fn set_word(&mut self, operand: &Operand, value: Val) {
        self.set_words(operand, &[value]);
    }

    /// Assigns a 64-bit destination.
    pub(crate) fn set_pair(&mut self, operand: &Operand, value: [Val; 2]) {
        self.set_words(operand, &value);
    }

    /// Assigns a destination word by word; a wider register gets zeros above.
    pub(crate) fn set_words(&mut self, operand: &Operand, words: &[Val]) {
        if let Operand::Reg(reg) = operand {
            for i in 0..self.reg_words(*reg) {
                let v = words.get(i).copied().unwrap_or(Val::ZERO);
                self.write_reg(*reg, i as u32, v);
            }
        }
    }

    /// Assigns a destination that may be wider than the value, extending it according to its type.
    pub(crate) fn set_extended(&mut self, operand: &Operand, words: &[Val], ty: ScalarType) {
        let Operand::Reg(reg) = operand else { return };
        let have = self.reg_words(*reg);
        if ty.is_signed() && words.len() == 1 && have > 1 {
            let high = self.asm.shr(Sign::S32, words[0], Val::Imm(31));
            self.set_words(operand, &[words[0], high]);
        } else {
            self.set_words(operand, words);
        }
    }

    /// Assigns a predicate destination.
    pub(crate) fn set_pred(&mut self, operand: &Operand, value: PSrc) {
        if let Operand::Reg(reg) = operand {
            let var = self.reg_var(*reg);
            self.write_pred_var(var, value);
        }
    }

    /// Address of a variable in its own space, low word first.
    pub(crate) fn variable_address(&mut self, inst: &Inst, var: VarId, offset: i64) -> Lowered<[Val; 2]> {
        let v = self.module.var(var);
        let local = |base: u32| {
            let address = (base as i32).wrapping_add(offset as i32) as u32;
            Ok([Val::Imm(address), Val::ZERO])
        };
        match v.space {
            VarSpace::Shared => local(self.frame.shared.get(&var).copied().unwrap_or(0)),
            VarSpace::Local => {
                let at = self.frame.local.get(&var).copied().unwrap_or(0);
                Ok([self.frame_address((at as i32).wrapping_add(offset as i32)), Val::ZERO])
            }
            VarSpace::Const => local(self.layout.const_offset(var).unwrap_or(0)),
            VarSpace::Param if self.is_kernel_param(var) => {
                local(u32::from(space::PARAM_BASE) + v.param_offset as u32)
            }
            // The "address" of a texture or surface reference is the handle that it is bound to.
            VarSpace::Global | VarSpace::Texture => {
                let at = self.frame.address(RelocationTarget::Var(var), offset);
                let at = at.ok_or_else(|| self.unsupported(inst, FULL_LITERALS))?;
                let word = |k: u16| Val::Const { bank: space::BANK_LITERAL, offset: at + k };
                Ok([word(0), word(4)])
            }
            VarSpace::Param => match self.incoming_place(var) {
                Some(place) => Ok([self.frame_address(place.wrapping_add(offset as i32)), Val::ZERO]),
                None => Err(self.unsupported(inst, "the address of a function's parameter")),
            },
        }
    }

    /// Whether a variable is a parameter of the kernel itself.
    pub(crate) fn is_kernel_param(&self, var: VarId) -> bool {
        let v = self.module.var(var);
        let owner = v.owner.map(|f| self.module.function(f));
        v.space == VarSpace::Param
            && owner.is_some_and(|f| f.is_kernel && f.params.contains(&crate::ptx::Formal::Var(var)))
    }

    /// The words of a special register.
    fn special(&mut self, sr: SpecialRegister) -> Vec<Val> {
        use SpecialRegister as S;
        let by_axis = |axis: Axis, of: [SpecialReg; 3]| of[axis.index()];
        let bank0 = |base: u16, axis: Axis| Val::Const {
            bank: space::BANK_PARAM,
            offset: base + 4 * axis.index() as u16,
        };
        let launch = |offset: u16| Val::Const { bank: space::BANK_PARAM, offset };
        let ctaid = [SpecialReg::CtaidX, SpecialReg::CtaidY, SpecialReg::CtaidZ];
        let one = match sr {
            S::Tid(axis) => by_axis(axis, [SpecialReg::TidX, SpecialReg::TidY, SpecialReg::TidZ]),
            // Without clusters every block is a cluster of its own.
            S::Ctaid(axis) | S::Clusterid(axis) => by_axis(axis, ctaid),
            S::Ntid(axis) => return vec![bank0(space::PARAM_NTID, axis)],
            S::Nctaid(axis) | S::Nclusterid(axis) => return vec![bank0(space::PARAM_NCTAID, axis)],
            S::ClusterCtaid(_) | S::ClusterCtarank | S::IsExplicitCluster => return vec![Val::ZERO],
            S::ClusterNctaid(_) | S::ClusterNctarank => return vec![Val::Imm(1)],
            S::Laneid => SpecialReg::LaneId,
            S::Warpid => SpecialReg::WarpId,
            S::Nwarpid => return vec![self.warps_per_block()],
            S::Smid => SpecialReg::SmId,
            S::Nsmid => SpecialReg::NSmId,
            S::Gridid => SpecialReg::GridId,
            S::LanemaskEq => SpecialReg::LaneMaskEq,
            S::LanemaskLe => SpecialReg::LaneMaskLe,
            S::LanemaskLt => SpecialReg::LaneMaskLt,
            S::LanemaskGe => SpecialReg::LaneMaskGe,
            S::LanemaskGt => SpecialReg::LaneMaskGt,
            S::Clock => SpecialReg::ClockLo,
            S::ClockHi => SpecialReg::ClockHi,
            S::GlobaltimerLo => SpecialReg::GlobalTimerLo,
            S::GlobaltimerHi => SpecialReg::GlobalTimerHi,
            S::Clock64 => {
                return vec![self.asm.s2r(SpecialReg::ClockLo), self.asm.s2r(SpecialReg::ClockHi)];
            }
            S::Globaltimer => {
                return vec![
                    self.asm.s2r(SpecialReg::GlobalTimerLo),
                    self.asm.s2r(SpecialReg::GlobalTimerHi),
                ];
            }
            // The workspace of cooperative grids; everything else in the environment is 0.
            S::Envreg(2) => return vec![launch(space::PARAM_WORKSPACE)],
            S::Envreg(1) => return vec![launch(space::PARAM_WORKSPACE + 4)],
            S::DynamicSmemSize => return vec![launch(space::PARAM_DYNAMIC_SHARED)],
            S::TotalSmemSize | S::AggrSmemSize => {
                let fixed = Val::Imm(self.frame.static_shared_bytes);
                return vec![self.asm.iadd(launch(space::PARAM_DYNAMIC_SHARED), fixed)];
            }
            // Nothing is reserved, no graph runs, nothing is counted.
            S::Envreg(_)
            | S::ReservedSmemOffset(_)
            | S::ReservedSmemOffsetBegin
            | S::ReservedSmemOffsetEnd
            | S::ReservedSmemOffsetCap
            | S::CurrentGraphExec
            | S::Pm(_)
            | S::Pm64(_) => return vec![Val::ZERO; 2],
        };
        vec![self.asm.s2r(one)]
    }

    fn warps_per_block(&mut self) -> Val {
        let dim = |i: u16| Val::Const { bank: space::BANK_PARAM, offset: space::PARAM_NTID + 4 * i };
        let xy = self.asm.imad(dim(0), dim(1), Val::ZERO);
        let threads = self.asm.imad(xy, dim(2), Val::Imm(31));
        self.asm.shr(Sign::U32, threads, Val::Imm(5))
    }
}
