//! Executes an instruction on literals with the semantics of the machine, to fold conversions, sums and comparisons.

use super::vir::{Inst, Val};
use trace_format::isa::{self, MachineKernel, Op, Operand, Pc, Pred, Reg};
use trace_format::semantics::{Banks, Code, Row, Warp, execute};

/// The result words of a pure operation whose sources are single words, if all are literals.
pub(super) fn words(op: Op, inst: &Inst) -> Option<[Val; 2]> {
    let info = op.info();
    if info.src_regs.iter().any(|&n| n > 1) || !(1..=2).contains(&info.dst_regs) {
        return None;
    }
    let (code, warp) = executed(isa::Inst::new(op).dst(Reg(0)), inst)?;
    let word = |i: usize| warp.registers(&code).get(i).map(|row| Val::Imm(row.0[0]));
    Some([word(0)?, if info.dst_regs > 1 { word(1)? } else { Val::Undef }])
}

/// Whether a comparison holds, if its sources are literals; it is combined with no predicate.
pub(super) fn comparison(op: Op, inst: &Inst) -> Option<bool> {
    let mut machine = isa::Inst::new(op);
    machine.pdst[0] = Pred(0);
    let (_, warp) = executed(machine, inst)?;
    Some(warp.preds()[0] & 1 != 0)
}

/// The state of one lane behind a machine instruction that reads an instruction's literals in registers from R2 on.
fn executed(mut machine: isa::Inst, inst: &Inst) -> Option<(Code, Warp)> {
    let widths = machine.info().src_regs;
    let mut literals = Vec::new();
    for (i, source) in inst.src.iter().enumerate().filter(|&(i, _)| widths[i] > 0) {
        let reg = Reg(2 + 2 * i as u8);
        machine.src[i] = isa::Src { operand: Operand::Reg(reg), neg: source.neg, abs: source.abs };
        for word in 0..widths[i] {
            let value = source.v[usize::from(word)];
            let literal = if value == Val::Undef { return None } else { value.imm()? };
            literals.push((i, u16::from(word), literal));
        }
    }
    let kernel = MachineKernel { insts: vec![machine], regs_per_thread: 8, ..MachineKernel::default() };
    let code = Code::prepare(&kernel, &Banks::default());
    let mut warp = Warp::new(&code);
    let prepared = code.inst(Pc(0));
    for (i, word, literal) in literals {
        warp.write_row(prepared.src[i].row + word, &Row::splat(literal), 1);
    }
    execute(&code, prepared, &mut warp, 1);
    Some((code, warp))
}
