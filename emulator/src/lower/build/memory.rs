//! Loads, stores and atomics of every address space.
//!
//! Kernel parameters and `.const` data at known addresses are operands, not loads. The parameter space of
//! calls is a set of variables: calls are inlined, so arguments and results move by name. Vectors become
//! one access of their whole width; elements narrower than a word are packed and unpacked.

use trace_format::isa::{Bank, MemOrder as MOrder, MemWidth, Op, ReadOnly, Scale, Scope, space};

use super::{Builder, Lowered};
use crate::lower::vir::{Inst as VInst, Src, VOp, Val};
use crate::ptx::{
    Address, AddressBase, CacheOp, Inst, LdOp, MemOrder, MemScope, Operand, ScalarType, StOp, StateSpace,
    VarId, VarSpace,
};

/// Address of a memory instruction: a base of one or two words and an offset.
pub(crate) struct MachineAddress {
    /// Base; the second word counts in 64-bit spaces only.
    pub base: [Val; 2],
    /// Bytes added to the base.
    pub offset: i32,
}

/// Largest offset that an instruction carries.
const OFFSET_LIMIT: i64 = 1 << 23;

/// Machine scope of a PTX scope.
pub(super) const fn scope_of(scope: MemScope) -> Scope {
    match scope {
        MemScope::Cta | MemScope::Cluster => Scope::Cta,
        MemScope::Gpu => Scope::Gpu,
        MemScope::Sys => Scope::Sys,
    }
}

impl Builder<'_> {
    /// The address in source `i`.
    pub(crate) fn memory_operand(&self, inst: &Inst, i: usize) -> Lowered<Address> {
        match inst.srcs().get(i) {
            Some(Operand::Mem(address)) => Ok(*address),
            _ => Err(self.unsupported(inst, "this address operand")),
        }
    }

    /// The space of an access: without a state space, the space of the variable that it names.
    pub(crate) fn space_of(&self, space: StateSpace, address: Address) -> StateSpace {
        match (space, address.base) {
            (StateSpace::Generic, AddressBase::Var(var)) => match self.module.var(var).space {
                VarSpace::Shared => StateSpace::Shared,
                VarSpace::Local => StateSpace::Local,
                VarSpace::Global => StateSpace::Global,
                VarSpace::Const => StateSpace::Const,
                VarSpace::Param => StateSpace::Param,
                VarSpace::Texture => StateSpace::Generic,
            },
            _ => space,
        }
    }

    /// Refuses a variable that is not in the space of the access that names it.
    fn check_space(&self, inst: &Inst, address: Address, space: StateSpace) -> Lowered {
        let AddressBase::Var(var) = address.base else { return Ok(()) };
        let var = self.module.var(var);
        let same = match var.space {
            VarSpace::Shared => matches!(space, StateSpace::Shared | StateSpace::SharedCluster),
            VarSpace::Local => space == StateSpace::Local,
            VarSpace::Global => space == StateSpace::Global,
            VarSpace::Const => space == StateSpace::Const,
            VarSpace::Param => {
                matches!(space, StateSpace::Param | StateSpace::ParamEntry | StateSpace::ParamFunc)
            }
            VarSpace::Texture => false,
        };
        if same {
            return Ok(());
        }
        let name = &var.name;
        Err(self.unsupported(
            inst,
            &format!("an access to `.{space}` memory (`{name}` is a variable of another state space)"),
        ))
    }

    /// Base and offset of an address in a space.
    pub(crate) fn place(
        &mut self,
        inst: &Inst,
        address: Address,
        space: StateSpace,
    ) -> Lowered<MachineAddress> {
        self.check_space(inst, address, space)?;
        let wide = matches!(space, StateSpace::Global | StateSpace::Generic);
        let (base, mut offset) = match address.base {
            AddressBase::Reg(reg) => {
                let high = if self.reg_words(reg) > 1 { self.read_reg(reg, 1) } else { Val::ZERO };
                ([self.read_reg(reg, 0), high], address.offset)
            }
            // In a frame the offset is part of the instruction.
            AddressBase::Var(var) if !wide && self.known_place(var).is_some() => {
                let place = self.known_place(var).unwrap_or(0).wrapping_add(address.offset as i32);
                return Ok(MachineAddress { base: [Val::ZERO; 2], offset: place });
            }
            AddressBase::Var(var) => (self.variable_address(inst, var, 0)?, address.offset),
            AddressBase::Absolute => ([Val::ZERO; 2], address.offset),
        };
        let mut base = base;
        match (wide, base[0].imm()) {
            (false, Some(known)) => {
                offset = i64::from((known as i32).wrapping_add(offset as i32));
                base[0] = Val::ZERO;
                return Ok(MachineAddress { base, offset: offset as i32 });
            }
            _ if offset.abs() < OFFSET_LIMIT => {}
            (true, _) => {
                let far = [Val::Imm(offset as u32), Val::Imm((offset >> 32) as u32)];
                base = self.asm.add64(base, far);
                offset = 0;
            }
            (false, None) => {
                base[0] = self.asm.iadd(base[0], Val::Imm(offset as u32));
                offset = 0;
            }
        }
        Ok(MachineAddress { base, offset: offset as i32 })
    }

    /// The place of a variable in a frame that the stack pointer finds.
    fn known_place(&self, var: VarId) -> Option<i32> {
        if !self.inlining.has_frames() {
            return None;
        }
        match self.module.var(var).space {
            VarSpace::Local => self.frame.local.get(&var).map(|&at| at as i32),
            VarSpace::Param => self.incoming_place(var),
            _ => None,
        }
    }

    /// Width of an access, from its size and the signedness of a narrow element.
    pub(super) fn width(bytes: u32, signed: bool) -> Option<MemWidth> {
        Some(match (bytes, signed) {
            (1, false) => MemWidth::U8,
            (1, true) => MemWidth::S8,
            (2, false) => MemWidth::U16,
            (2, true) => MemWidth::S16,
            (4, _) => MemWidth::B32,
            (8, _) => MemWidth::B64,
            (16, _) => MemWidth::B128,
            _ => return None,
        })
    }

    /// `ld`.
    pub(crate) fn ld(&mut self, inst: &Inst, op: LdOp) -> Lowered {
        let address = self.memory_operand(inst, 0)?;
        let op = LdOp { space: self.space_of(op.space, address), ..op };
        let bytes = op.ty.bytes() * u32::from(op.vec);
        let words = match op.space {
            StateSpace::Param | StateSpace::ParamEntry | StateSpace::ParamFunc => {
                match self.param_words(inst, address, bytes, op.ty.is_signed() && op.vec == 1)? {
                    Some(words) => words,
                    None => return self.ld_param_by_register(inst, op, address),
                }
            }
            StateSpace::Const => self.load_const(inst, address, bytes, op.ty.is_signed() && op.vec == 1)?,
            _ => {
                let mut words = Vec::new();
                let mut at = 0;
                while at < bytes {
                    let part = (bytes - at).min(16);
                    let address = Address { offset: address.offset + i64::from(at), ..address };
                    words.extend(self.load(inst, op, address, part)?);
                    at += part;
                }
                words
            }
        };
        self.set_elements(inst, &inst.dsts()[0], &words, op.ty);
        Ok(())
    }

    /// Distributes loaded words over the elements of a destination.
    pub(super) fn set_elements(&mut self, _inst: &Inst, dst: &Operand, words: &[Val], ty: ScalarType) {
        let elements = dst.elements();
        if elements.len() == 1 {
            self.set_extended(&elements[0], words, ty);
            return;
        }
        let bytes = ty.bytes() as usize;
        for (i, element) in elements.iter().enumerate() {
            if *element == Operand::Sink {
                continue;
            }
            let at = i * bytes;
            if bytes >= 4 {
                self.set_extended(element, &words[at / 4..(at + bytes) / 4], ty);
            } else {
                let part = self.narrow_part(words[at / 4], (at % 4) as u32, ty);
                self.set_extended(element, &[part], ty);
            }
        }
    }

    /// A byte or half of a word, extended according to its type.
    fn narrow_part(&mut self, word: Val, byte: u32, ty: ScalarType) -> Val {
        if ty.bits() == 8 {
            return self.byte_of(word, byte, ty.is_signed());
        }
        let selector = match (byte, ty.is_signed()) {
            (0, false) => 0x4410,
            (0, true) => 0x9910,
            (_, false) => 0x4432,
            (_, true) => 0xBB32,
        };
        self.asm.prmt(word, Val::Imm(selector), Val::ZERO)
    }

    /// One access to global, generic, shared or local memory.
    fn load(&mut self, inst: &Inst, op: LdOp, address: Address, bytes: u32) -> Lowered<Vec<Val>> {
        let Some(width) = Self::width(bytes, op.ty.is_signed() && op.vec == 1) else {
            return Err(self.unsupported(inst, "a load of this width"));
        };
        let order = match (op.order, op.cache) {
            (MemOrder::Acquire, _) => MOrder::Acquire,
            (MemOrder::Weak, Some(CacheOp::Cv)) => MOrder::Strong,
            (MemOrder::Weak, _) => MOrder::Weak,
            _ => MOrder::Strong,
        };
        let (machine, wide) = match op.space {
            StateSpace::Global => (Op::Ldg { width, order, ro: ReadOnly(op.nc) }, true),
            StateSpace::Generic => (Op::Ld { width, order }, true),
            StateSpace::Shared | StateSpace::SharedCluster => (Op::Lds { width, scale: Scale::X1 }, false),
            StateSpace::Local => (Op::Ldl { width }, false),
            _ => return Err(self.unsupported(inst, "a load from this space")),
        };
        let place = self.place(inst, address, op.space)?;
        let mut load = self.load_from(machine, &place, wide);
        load.strong = order != MOrder::Weak;
        Ok(self.asm.put(load, 0).dst[..usize::from(width.regs())].to_vec())
    }

    /// A load of `regs` registers.
    pub(crate) fn memory_result(
        &mut self,
        op: Op,
        place: &MachineAddress,
        wide: bool,
        regs: usize,
    ) -> Vec<Val> {
        let load = self.load_from(op, place, wide);
        self.asm.put(load, 0).dst[..regs].to_vec()
    }

    fn load_from(&self, op: Op, place: &MachineAddress, wide: bool) -> VInst {
        let mut load = VInst::new(VOp::M(op), self.asm.line);
        load.src[0] = if wide { Src::two(place.base) } else { Src::one(place.base[0]) };
        load.offset = place.offset;
        load
    }

    /// A weak load of whole words, or of one unsigned byte or half, from a place in global, shared or generic memory.
    pub(crate) fn load_at(
        &mut self,
        inst: &Inst,
        space: StateSpace,
        place: &MachineAddress,
        bytes: u32,
    ) -> Lowered<Vec<Val>> {
        let Some(width) = Self::width(bytes, false) else {
            return Err(self.unsupported(inst, "a load of this width"));
        };
        let order = MOrder::Weak;
        let (op, wide) = match space {
            StateSpace::Global => (Op::Ldg { width, order, ro: ReadOnly(false) }, true),
            StateSpace::Generic => (Op::Ld { width, order }, true),
            _ => (Op::Lds { width, scale: Scale::X1 }, false),
        };
        Ok(self.memory_result(op, place, wide, usize::from(width.regs())))
    }

    /// A weak store to a place in global, shared or generic memory.
    pub(crate) fn store_at(
        &mut self,
        inst: &Inst,
        space: StateSpace,
        place: &MachineAddress,
        bytes: u32,
        words: &[Val],
    ) -> Lowered {
        let Some(width) = Self::width(bytes, false) else {
            return Err(self.unsupported(inst, "a store of this width"));
        };
        let order = MOrder::Weak;
        let (op, wide) = match space {
            StateSpace::Global => (Op::Stg { width, order }, true),
            StateSpace::Generic => (Op::St { width, order }, true),
            _ => (Op::Sts { width, scale: Scale::X1 }, false),
        };
        let mut store = VInst::new(VOp::M(op), self.asm.line);
        store.src[0] = if wide { Src::two(place.base) } else { Src::one(place.base[0]) };
        store.src[1] = Src::many(words);
        store.offset = place.offset;
        self.asm.append(store);
        Ok(())
    }

    /// A load from the `.const` bank: an operand where the address is known and aligned.
    fn load_const(&mut self, inst: &Inst, address: Address, bytes: u32, signed: bool) -> Lowered<Vec<Val>> {
        let place = self.place(inst, address, StateSpace::Const)?;
        Ok(self.load_bank(space::BANK_USER, &place, bytes, signed))
    }

    fn load_bank(&mut self, bank: u8, place: &MachineAddress, bytes: u32, signed: bool) -> Vec<Val> {
        let known =
            place.base[0] == Val::ZERO && place.offset >= 0 && place.offset + bytes as i32 <= 0x1_0000;
        if known && bytes.is_multiple_of(4) && place.offset % 4 == 0 {
            return (0..bytes / 4)
                .map(|i| Val::Const { bank, offset: (place.offset as u32 + 4 * i) as u16 })
                .collect();
        }
        let mut words = Vec::new();
        let mut at = 0;
        while at < bytes {
            let part = (bytes - at).min(16);
            let width = Self::width(part, signed).unwrap_or(MemWidth::B32);
            let here = MachineAddress { base: place.base, offset: place.offset + at as i32 };
            words.extend(self.memory_result(
                Op::Ldc { width, bank: Bank(bank) },
                &here,
                false,
                usize::from(width.regs()),
            ));
            at += part;
        }
        words
    }

    /// Words of parameter space at a known place; `None` when the address is in a register.
    fn param_words(
        &mut self,
        inst: &Inst,
        address: Address,
        bytes: u32,
        signed: bool,
    ) -> Lowered<Option<Vec<Val>>> {
        let AddressBase::Var(var) = address.base else { return Ok(None) };
        self.check_space(inst, address, StateSpace::Param)?;
        if self.is_kernel_param(var) {
            let offset =
                i64::from(space::PARAM_BASE) + self.module.var(var).param_offset as i64 + address.offset;
            let place = MachineAddress { base: [Val::ZERO; 2], offset: offset as i32 };
            return Ok(Some(self.load_bank(space::BANK_PARAM, &place, bytes, signed)));
        }
        if let Some(place) = self.incoming_place(var) {
            return self.load_incoming(inst, place + address.offset as i32, bytes, signed).map(Some);
        }
        let at = self.param_range(inst, var, address.offset, bytes)?;
        let base = self.param_var(var);
        if bytes >= 4 {
            return Ok(Some((0..bytes / 4).map(|i| self.read_var(base + at / 4 + i)).collect()));
        }
        let word = self.read_var(base + at / 4);
        let ty = match (bytes, signed) {
            (1, false) => ScalarType::U8,
            (1, true) => ScalarType::S8,
            (_, false) => ScalarType::U16,
            (_, true) => ScalarType::S16,
        };
        Ok(Some(vec![self.narrow_part(word, at % 4, ty)]))
    }

    /// Words of an argument or result of the function that is built.
    fn load_incoming(&mut self, inst: &Inst, place: i32, bytes: u32, signed: bool) -> Lowered<Vec<Val>> {
        let mut words = Vec::new();
        let mut at = 0;
        while at < bytes {
            let part = (bytes - at).min(16);
            let Some(width) = Self::width(part, signed) else {
                return Err(self.unsupported(inst, "a load of this width"));
            };
            let here = MachineAddress { base: [Val::ZERO; 2], offset: place + at as i32 };
            words.extend(self.memory_result(Op::Ldl { width }, &here, false, usize::from(width.regs())));
            at += part;
        }
        Ok(words)
    }

    /// Byte position of an access to a call's parameter variable, aligned and inside it.
    fn param_range(&mut self, inst: &Inst, var: VarId, offset: i64, bytes: u32) -> Lowered<u32> {
        let size = self.module.var(var).size_bytes as i64;
        let align = i64::from(bytes.min(4));
        if offset < 0 || offset + i64::from(bytes) > size.max(4) || offset % align != 0 {
            return Err(self.unsupported(inst, "an access outside the parameter or across its words"));
        }
        Ok(offset as u32)
    }

    /// A parameter at an address in a register: the kernel's, or in a function the function's own.
    fn ld_param_by_register(&mut self, inst: &Inst, op: LdOp, address: Address) -> Lowered {
        if op.space != StateSpace::ParamEntry && !self.in_kernel() {
            return self.ld(inst, LdOp { space: StateSpace::Local, ..op });
        }
        let place = self.place(inst, address, op.space)?;
        let bytes = op.ty.bytes() * u32::from(op.vec);
        let words = self.load_bank(space::BANK_PARAM, &place, bytes, op.ty.is_signed() && op.vec == 1);
        self.set_elements(inst, &inst.dsts()[0], &words, op.ty);
        Ok(())
    }

    /// `st`.
    pub(crate) fn st(&mut self, inst: &Inst, op: StOp) -> Lowered {
        let address = self.memory_operand(inst, 0)?;
        let op = StOp { space: self.space_of(op.space, address), ..op };
        let elements = inst.srcs()[1].elements();
        let bits = op.ty.bits() * u32::from(op.vec);
        let words = if op.vec == 1 {
            self.value(inst, &inst.srcs()[1], op.ty)?
        } else {
            self.pack(inst, elements, bits)?
        };
        if matches!(op.space, StateSpace::Param | StateSpace::ParamEntry | StateSpace::ParamFunc) {
            return self.st_param(inst, address, &words, op.ty.bytes() * u32::from(op.vec));
        }
        let mut rest = words.as_slice();
        let mut at = 0;
        let bytes = op.ty.bytes() * u32::from(op.vec);
        while at < bytes {
            let part = (bytes - at).min(16);
            let here = Address { offset: address.offset + i64::from(at), ..address };
            let n = part.div_ceil(4) as usize;
            self.store(inst, op, here, part, &rest[..n])?;
            rest = &rest[n..];
            at += part;
        }
        Ok(())
    }

    fn store(&mut self, inst: &Inst, op: StOp, address: Address, bytes: u32, words: &[Val]) -> Lowered {
        let Some(width) = Self::width(bytes, false) else {
            return Err(self.unsupported(inst, "a store of this width"));
        };
        let order = match op.order {
            MemOrder::Weak => MOrder::Weak,
            MemOrder::Release => MOrder::Release,
            _ => MOrder::Strong,
        };
        let (machine, wide) = match op.space {
            StateSpace::Global => (Op::Stg { width, order }, true),
            StateSpace::Generic => (Op::St { width, order }, true),
            StateSpace::Shared | StateSpace::SharedCluster => (Op::Sts { width, scale: Scale::X1 }, false),
            StateSpace::Local => (Op::Stl { width }, false),
            _ => return Err(self.unsupported(inst, "a store to this space")),
        };
        let place = self.place(inst, address, op.space)?;
        let mut store = VInst::new(VOp::M(machine), self.asm.line);
        store.src[0] = if wide { Src::two(place.base) } else { Src::one(place.base[0]) };
        store.src[1] = Src::many(words);
        store.offset = place.offset;
        store.strong = order != MOrder::Weak;
        self.asm.append(store);
        Ok(())
    }

    /// An argument or result of a call.
    fn st_param(&mut self, inst: &Inst, address: Address, words: &[Val], bytes: u32) -> Lowered {
        let AddressBase::Var(var) = address.base else {
            return Err(self.unsupported(inst, "a parameter at an address in a register"));
        };
        if let Some(place) = self.incoming_place(var) {
            let Some(width) = Self::width(bytes, false) else {
                return Err(self.unsupported(inst, "a store of this width"));
            };
            let mut store = VInst::new(VOp::M(Op::Stl { width }), self.asm.line);
            store.src[0] = Src::RZ;
            store.src[1] = Src::many(words);
            store.offset = place + address.offset as i32;
            self.asm.append(store);
            return Ok(());
        }
        if self.module.var(var).space != VarSpace::Param || self.is_kernel_param(var) {
            return Err(self.unsupported(inst, "a store to a kernel parameter"));
        }
        let at = self.param_range(inst, var, address.offset, bytes)?;
        let base = self.param_var(var);
        if bytes >= 4 {
            for (i, w) in words.iter().enumerate() {
                self.write_var(base + at / 4 + i as u32, *w);
            }
            return Ok(());
        }
        let old = self.read_var(base + at / 4);
        // Bytes of the new value (4 and up) take the place of the old ones.
        let selector = (0..4).fold(0, |s, i| {
            let inside = i >= at % 4 && i < at % 4 + bytes;
            s | (if inside { 4 + i - at % 4 } else { i }) << (4 * i)
        });
        let merged = self.asm.prmt(old, Val::Imm(selector), words[0]);
        self.write_var(base + at / 4, merged);
        Ok(())
    }
}
