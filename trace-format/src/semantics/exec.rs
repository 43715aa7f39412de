//! Execution of one pure instruction on a warp: the functions of the opcode table's rows, compiled once per
//! vector level of the host; and the addresses of memory instructions.

use super::WARP_SIZE;
use super::code::{Code, ExecInst};
use super::execution::Execution;
#[cfg(target_arch = "x86_64")]
use super::level::VectorLevel;
use super::operands::read_pred;
use super::rows::perform;
use super::warp::Warp;
use crate::isa::{Address, Pc};

impl Code {
    /// Lanes of `active` in which the instruction's guard holds.
    #[must_use]
    #[inline]
    pub fn exec_mask(&self, pc: Pc, warp: &Warp, active: u32) -> u32 {
        read_pred(warp, self.insts[pc.index()].guard) & active
    }

    /// As [`addresses`], at the vector level of the code.
    #[inline]
    pub fn addresses(&self, inst: &ExecInst, warp: &Warp, out: &mut [u64; WARP_SIZE]) {
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `execute`.
            VectorLevel::Avx512 => unsafe { addresses_avx512(inst, warp, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `execute`.
            VectorLevel::Avx2 => unsafe { addresses_avx2(inst, warp, out) },
            _ => addresses(inst, warp, out),
        }
    }
}

/// Executes a [`crate::isa::Kind::Pure`] instruction in the lanes of `exec`; other kinds change nothing, and nothing changes
/// where there are none, uniform results included.
#[inline]
pub fn execute(code: &Code, inst: &ExecInst, warp: &mut Warp, exec: u32) {
    if exec == 0 {
        return;
    }
    match code.level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Code::prepare_at` never sets a level above `VectorLevel::detect()` of this host.
        VectorLevel::Avx512 => unsafe { execute_avx512(inst, warp, exec) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        VectorLevel::Avx2 => unsafe { execute_avx2(inst, warp, exec) },
        _ => perform(inst.op, Execution { inst, warp, exec }),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn execute_avx512(inst: &ExecInst, warp: &mut Warp, exec: u32) {
    perform(inst.op, Execution { inst, warp, exec });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn execute_avx2(inst: &ExecInst, warp: &mut Warp, exec: u32) {
    perform(inst.op, Execution { inst, warp, exec });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
fn addresses_avx512(inst: &ExecInst, warp: &Warp, out: &mut [u64; WARP_SIZE]) {
    addresses(inst, warp, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn addresses_avx2(inst: &ExecInst, warp: &Warp, out: &mut [u64; WARP_SIZE]) {
    addresses(inst, warp, out);
}

/// Byte addresses of a memory instruction in every lane: base times scale plus offset, 32 bits wide for
/// shared, local and constant accesses, 64 for global and generic ones; for textures and surfaces the
/// addresses set by [`Warp::set_addresses`].
#[inline(always)]
pub fn addresses(inst: &ExecInst, warp: &Warp, out: &mut [u64; WARP_SIZE]) {
    let base = inst.src[0].row;
    let shift = match inst.memory.map(|memory| memory.address) {
        Some(Address::Wide) => {
            let (low, high) = (warp.row(base), warp.row(base + 1));
            let offset = i64::from(inst.offset) as u64;
            for l in 0..WARP_SIZE {
                out[l] = (u64::from(low.0[l]) | u64::from(high.0[l]) << 32).wrapping_add(offset);
            }
            if inst.has_base {
                let base =
                    u64::from(warp.row(inst.base).0[0]) | u64::from(warp.row(inst.base + 1).0[0]) << 32;
                out.iter_mut().for_each(|address| *address = address.wrapping_add(base));
            }
            return;
        }
        Some(Address::Offset) => {
            let (low, offset) = (warp.row(base), i64::from(inst.offset) as u64);
            let [low_base, high_base] = [inst.base, inst.base + 1].map(|row| u64::from(warp.row(row).0[0]));
            let start = (low_base | high_base << 32).wrapping_add(offset);
            for l in 0..WARP_SIZE {
                out[l] = start.wrapping_add(u64::from(low.0[l]));
            }
            return;
        }
        Some(Address::Object) => return warp.addresses(out),
        Some(Address::Narrow(scale)) => scale.shift(),
        Some(Address::Bank(_)) | None => 0,
    };
    let in_bank = inst.memory.is_some_and(|memory| matches!(memory.address, Address::Bank(_)));
    // The row of zeros if there is no uniform register.
    let (low, offset) = (warp.row(base), (inst.offset as u32).wrapping_add(warp.row(inst.base).0[0]));
    for l in 0..WARP_SIZE {
        let address = (low.0[l] << shift).wrapping_add(offset);
        // A bank has 64 KiB, and machine code has offsets from 32 KiB on as negative numbers of 16 bits.
        let wraps = in_bank && address >= FIRST_NEGATIVE_OFFSET;
        out[l] = u64::from(if wraps { address & 0xFFFF } else { address });
    }
}

/// The lowest offset of a constant that stands for a place from 32 KiB on in its bank.
const FIRST_NEGATIVE_OFFSET: u32 = -0x8000_i32 as u32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Inst, MachineKernel, Op, PredSrc, SourceLine, Src, UniformReg};
    use crate::semantics::{Banks, Row};

    #[test]
    fn a_uniform_result_is_every_lane_s_or_none_s() {
        let mov = Inst { udst: UniformReg(1), ..Inst::new(Op::Mov {}).srcs([Src::imm(5)]) };
        let insts = vec![mov.guarded(PredSrc::FALSE), Inst::new(Op::Exit {})];
        let lines = vec![SourceLine::default(); insts.len()];
        let kernel = MachineKernel { insts, lines, uniform_registers: 2, ..MachineKernel::default() };
        let code = Code::prepare(&kernel, &Banks::default());
        let mut warp = Warp::new(&code);
        let exec = code.exec_mask(Pc(0), &warp, u32::MAX);
        execute(&code, code.inst(Pc(0)), &mut warp, exec);
        assert_eq!((exec, warp.uniforms(&code)), (0, &[Row::ZERO; 2][..]), "the guard is false");
        execute(&code, code.inst(Pc(0)), &mut warp, 1 << 7);
        assert_eq!(warp.uniforms(&code), [Row::ZERO, Row::splat(5)]);
    }
}
