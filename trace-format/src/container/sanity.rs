//! Checks on a kernel from a file or another source, beyond [`MachineKernel::check`]: all assumptions of
//! preparing, walking and executing it.

use crate::isa::{MachineKernel, Operand, Pc, Pred, Reg};
use std::collections::HashSet;

/// Rows that a prepared kernel can address.
const MAX_ROWS: usize = 1 << 16;

/// Checks that a kernel can be prepared and executed.
///
/// # Errors
/// The first violation, with its PC.
pub(crate) fn check_kernel(kernel: &MachineKernel) -> Result<(), String> {
    kernel.check()?;
    let fail = |what: String| Err(format!("kernel {}: {what}", kernel.name));
    if usize::from(kernel.regs_per_thread) > Reg::COUNT {
        return fail(format!("{} registers per thread", kernel.regs_per_thread));
    }
    if let Some((pc, name)) = kernel.functions.iter().find(|(pc, _)| pc.index() >= kernel.insts.len()) {
        return fail(format!("function {name} begins at {pc}, outside the code"));
    }
    let mut constants = HashSet::new();
    for (i, inst) in kernel.insts.iter().enumerate() {
        let pc = Pc(i as u32);
        let preds =
            inst.pdst.iter().copied().chain(inst.psrc.iter().map(|p| p.pred)).chain([inst.guard.pred]);
        if let Some(p) = preds.into_iter().find(|p| usize::from(p.0) + 1 >= Pred::ALL) {
            return fail(format!("PC {pc} names predicate {}", p.0));
        }
        let literals = inst.src.iter().map(|s| s.operand);
        constants.extend(literals.filter(|o| matches!(o, Operand::Imm(_) | Operand::Const { .. })));
    }
    // A literal takes at most two rows, and may be used both as one word and as two.
    if usize::from(kernel.regs_per_thread) + 9 + usize::from(kernel.uniform_registers) + 3 * constants.len()
        > MAX_ROWS
    {
        return fail(format!("{} different constants", constants.len()));
    }
    Ok(())
}
