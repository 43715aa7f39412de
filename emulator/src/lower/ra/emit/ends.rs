//! Prologue and epilogue of machine functions: stack pointer, frame, and the registers that a function
//! preserves.

use trace_format::isa::{self, BoolOp, Extended, ICmp, MemWidth, Op, Pc, Pred, PredSrc, Reg, Sign, space};

use super::super::assign::STACK_POINTER;
use super::{Emitter, Origin, Role};
use crate::lower::frame::Addressing;

/// A run of registers that one instruction saves or restores.
#[derive(Clone, Copy)]
struct Kept {
    first: u8,
    count: u8,
    offset: u32,
}

/// Bytes to save a number of registers and predicates, from a multiple of 16 on.
pub(crate) const fn kept_bytes(registers: u32, predicates: u32) -> u32 {
    // Predicates are saved through a register, which must be saved too.
    4 * (if registers == 0 && predicates > 0 { 1 } else { registers } + predicates)
}

impl Emitter<'_> {
    fn glue(&mut self, inst: isa::Inst) {
        self.push(inst, Origin::Glue);
    }

    /// R1 = the stack pointer of the launch.
    pub(super) fn load_stack_pointer(&mut self) {
        let stack = isa::Src::constant(space::BANK_PARAM, space::PARAM_STACK);
        self.glue(isa::Inst::new(Op::Mov {}).dst(Reg(STACK_POINTER)).srcs([stack]));
    }

    /// R1 += bytes.
    fn move_stack(&mut self, bytes: i32) {
        let r1 = isa::Src::reg(Reg(STACK_POINTER));
        let add = isa::Inst::new(Op::Iadd3 { x: Extended(false) });
        self.glue(add.dst(Reg(STACK_POINTER)).srcs([r1, isa::Src::imm(bytes as u32), isa::Src::RZ]));
    }

    /// Allocates the frame and saves the registers that the function overwrites.
    pub(super) fn prologue(&mut self) {
        let Addressing::Framed { frame_bytes } = self.addressing else { return };
        if self.role == Role::Kernel {
            self.load_stack_pointer();
        }
        if frame_bytes > 0 {
            self.move_stack(-(frame_bytes as i32));
        }
        let (kept, predicates, scratch, at) = self.kept();
        for k in kept {
            let mut store = isa::Inst::new(Op::Stl { width: width(k.count) });
            store.src[0] = isa::Src::reg(Reg(STACK_POINTER));
            store.src[1] = isa::Src::reg(Reg(k.first));
            store.offset = k.offset as i32;
            self.glue(store);
        }
        for (i, p) in predicates.into_iter().enumerate() {
            let mut sel = isa::Inst::new(Op::Sel {}).dst(Reg(scratch));
            sel.src = [isa::Src::RZ, isa::Src::imm(1), isa::Src::NONE];
            sel.psrc[0] = PredSrc::not(Pred(p));
            self.glue(sel);
            let mut store = isa::Inst::new(Op::Stl { width: MemWidth::B32 });
            store.src[0] = isa::Src::reg(Reg(STACK_POINTER));
            store.src[1] = isa::Src::reg(Reg(scratch));
            store.offset = (at + 4 * i as u32) as i32;
            self.glue(store);
        }
    }

    /// Restores the registers saved by the prologue, frees the frame and returns.
    pub(super) fn epilogue(&mut self) {
        let (Role::Function { .. }, Addressing::Framed { frame_bytes }) = (self.role, self.addressing) else {
            return;
        };
        self.out.epilogue = Some(Pc(self.out.insts.len() as u32));
        let (kept, predicates, scratch, at) = self.kept();
        let load = |first: u8, count: u8, offset: u32| {
            let mut load = isa::Inst::new(Op::Ldl { width: width(count) }).dst(Reg(first));
            load.src[0] = isa::Src::reg(Reg(STACK_POINTER));
            load.offset = offset as i32;
            load
        };
        for (i, p) in predicates.into_iter().enumerate() {
            self.glue(load(scratch, 1, at + 4 * i as u32));
            let op = Op::Isetp { cmp: ICmp::Ne, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
            let mut set = isa::Inst::new(op).srcs([isa::Src::reg(Reg(scratch)), isa::Src::RZ]);
            set.pdst[0] = Pred(p);
            self.glue(set);
        }
        for k in kept {
            self.glue(load(k.first, k.count, k.offset));
        }
        if frame_bytes > 0 {
            self.move_stack(frame_bytes as i32);
        }
        self.glue(isa::Inst::new(Op::Ret {}));
    }

    /// Runs of registers to save, predicates to save, a saved register to move these through, and the offset
    /// of the predicates.
    fn kept(&self) -> (Vec<Kept>, Vec<u8>, u8, u32) {
        let Role::Function { save_at } = self.role else { return (Vec::new(), Vec::new(), 0, 0) };
        let predicates = self.a.assignment.used_predicates();
        let mut registers = self.a.assignment.used_registers();
        if registers.is_empty() && !predicates.is_empty() {
            registers.push(0);
        }
        let has = |r: u8| registers.binary_search(&r).is_ok();
        let mut runs = Vec::new();
        let mut r = 0u16;
        while r < 255 {
            let first = r as u8;
            let count = [4u8, 2, 1].into_iter().find(|&n| {
                first.is_multiple_of(n)
                    && (0..n).all(|k| u16::from(first) + u16::from(k) < 255 && has(first + k))
            });
            match count {
                Some(count) => {
                    runs.push((first, count));
                    r += u16::from(count);
                }
                None => r += 1,
            }
        }
        // The widest first, so that all are aligned.
        runs.sort_by_key(|(first, count)| (std::cmp::Reverse(*count), *first));
        let mut offset = save_at.next_multiple_of(16);
        let kept = runs.into_iter().map(|(first, count)| {
            let at = offset;
            offset += 4 * u32::from(count);
            Kept { first, count, offset: at }
        });
        let kept: Vec<Kept> = kept.collect();
        (kept, predicates, registers.first().copied().unwrap_or(0), offset)
    }
}

const fn width(registers: u8) -> MemWidth {
    match registers {
        4 => MemWidth::B128,
        2 => MemWidth::B64,
        _ => MemWidth::B32,
    }
}
