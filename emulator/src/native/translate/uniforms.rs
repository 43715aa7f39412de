//! Numbers of uniform registers. Targets since sm_100 have 255, of which code names few; our kernels have 63. Registers
//! beyond these get the numbers of others that the code does not name.

use trace_format::isa::{Inst, Operand, UniformReg};

/// Uniform registers of a kernel.
const REGISTERS: u8 = 63;
/// Registers that one instruction names together, which stay together.
const GROUP: u8 = 4;

/// Renumbers the uniform registers of a kernel. Where no numbers are free they stay, and the kernel is refused.
pub(super) fn renumber(insts: &mut [Inst]) {
    let mut used = [false; 256 / GROUP as usize];
    let mut beyond = false;
    for reg in insts.iter().flat_map(Inst::uniforms) {
        used[usize::from(reg.0 / GROUP)] = true;
        beyond |= reg.0 >= REGISTERS;
    }
    if !beyond {
        return;
    }
    let mut to: Vec<u8> = (0..used.len() as u8).collect();
    let whole = REGISTERS / GROUP;
    let mut free: Vec<u8> = (0..whole).rev().filter(|group| !used[usize::from(*group)]).collect();
    for group in whole..used.len() as u8 {
        if used[usize::from(group)] {
            to[usize::from(group)] = free.pop().unwrap_or(group);
        }
    }
    let renumbered = |reg: &mut UniformReg| {
        if !reg.is_zero() {
            reg.0 = to[usize::from(reg.0 / GROUP)] * GROUP + reg.0 % GROUP;
        }
    };
    for inst in insts {
        renumbered(&mut inst.udst);
        renumbered(&mut inst.base);
        for src in &mut inst.src {
            if let Operand::Uniform(reg) = &mut src.operand {
                renumbered(reg);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::isa::{Op, Src};

    fn named(insts: &[Inst]) -> Vec<u8> {
        insts.iter().flat_map(Inst::uniforms).map(|reg| reg.0).collect()
    }

    fn moves(to: u8, from: u8) -> Inst {
        let mut inst = Inst::new(Op::Mov {}).srcs([Src::uniform(UniformReg(from))]);
        inst.udst = UniformReg(to);
        inst
    }

    #[test]
    fn registers_beyond_those_of_a_kernel_get_free_numbers() {
        let mut insts = vec![moves(4, 79), moves(77, 5), moves(63, 0)];
        renumber(&mut insts);
        assert_eq!(named(&insts), [4, 15, 13, 5, 11, 0]);
    }

    #[test]
    fn registers_of_a_kernel_keep_their_numbers() {
        let mut insts = vec![moves(4, 62)];
        renumber(&mut insts);
        assert_eq!(named(&insts), [4, 62]);
    }
}
