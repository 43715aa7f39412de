//! Calls of what the system provides: functions that a module only declares.

use super::{Builder, Lowered};
use crate::lower::vir::Term;
use crate::ptx::{FuncId, Inst};

impl Builder<'_> {
    /// A call of a declared function.
    pub fn service(&mut self, inst: &Inst, func: FuncId) -> Lowered {
        let function = self.module.function(func);
        if function.name == "__assertfail" {
            self.asm.end(Term::Trap(0));
            self.asm.cur = None;
            return Ok(());
        }
        let what = format!("a call of `{}`, which the module only declares,", function.name);
        Err(self.unsupported(inst, &what))
    }
}
