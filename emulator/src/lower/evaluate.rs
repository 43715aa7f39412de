//! Executes an instruction on literals with the semantics of the machine, to fold conversions and sums.

use super::vir::{Inst, Val};
use trace_format::isa::{self, MachineKernel, Op, Operand, Pc, Reg};
use trace_format::semantics::{Banks, Code, Warp, execute};

/// The result words of a pure operation whose sources are single words, if all are literals.
pub(super) fn words(op: Op, inst: &Inst) -> Option<[Val; 2]> {
    let info = op.info();
    if info.src_regs.iter().any(|&n| n > 1) || !(1..=2).contains(&info.dst_regs) {
        return None;
    }
    let mut machine = isa::Inst::new(op);
    machine.dst = Reg(0);
    for (i, source) in inst.src.iter().enumerate().filter(|&(i, _)| info.src_regs[i] == 1) {
        let literal = if source.v[0] == Val::Undef { return None } else { source.v[0].imm()? };
        machine.src[i] = isa::Src { operand: Operand::Imm(literal), neg: source.neg, abs: source.abs };
    }
    let kernel = MachineKernel { insts: vec![machine], regs_per_thread: 2, ..MachineKernel::default() };
    let code = Code::prepare(&kernel, &Banks::default());
    let mut warp = Warp::new(&code);
    execute(&code, code.inst(Pc(0)), &mut warp, 1);
    let word = |i: usize| warp.registers(&code).get(i).map(|row| Val::Imm(row.0[0]));
    Some([word(0)?, if info.dst_regs > 1 { word(1)? } else { Val::Undef }])
}
