//! System calls: calls of functions that a module only declares.

use trace_format::isa::Op;

use super::{Builder, Lowered};
use crate::lower::calls::Abi;
use crate::lower::vir::{Inst as VInst, VOp, Val};
use crate::ptx::{FuncId, Inst};
use crate::services::Service;

impl Builder<'_> {
    /// A call of a declared function.
    pub(crate) fn service(&mut self, inst: &Inst, func: FuncId) -> Lowered {
        let name = &self.module.function(func).name;
        let Some(service) = Service::named(name) else {
            let what = format!("a call of `{name}`, which the module only declares,");
            return Err(self.unsupported(inst, &what));
        };
        let abi = Abi::of_function(self.module, func);
        let places: Vec<u32> = abi.params.iter().map(|slot| slot.offset).collect();
        let returned = abi.returns.iter().map(|slot| slot.bytes).sum::<u32>();
        // Compilers that do not use a result may declare the function without one, as LLVM's clients do with `vprintf`.
        if places != service.arguments || (returned != service.result && !abi.returns.is_empty()) {
            let what = format!("a call of `{name}` as declared here");
            return Err(self.unsupported(inst, &what));
        }
        self.pass_arguments(inst, &abi)?;
        let mut system = VInst::new(VOp::M(Op::Syscall { call: service.call }), self.asm.line);
        system.src[0] = self.frame_address(0).into();
        let d = self.asm.put(system, 0).dst;
        if let Some(operand) = inst.dsts().first() {
            let words: Vec<Val> = d[..(service.result / 4) as usize].to_vec();
            self.set_result(operand, &words);
        }
        Ok(())
    }
}
