//! Outlines of kernels: what programs ask about a kernel before its first launch, without its code.
//!
//! A kernel that calls through registers contains every function of its module whose address is taken. In a large
//! library these are hundreds of functions, the same for each of its kernels, and programs ask about all kernels and
//! launch a few. The outline of such a kernel has its parameters and shared memory; its registers and its stack are the
//! most that it may have.

use std::collections::BTreeSet;

use trace_format::isa::{Inst, MachineKernel, Op, SourceLine};

use super::calls::{Facts, addressed, mentioned};
use super::layout::Frame;
use super::options::LowerOptions;
use super::{Lowered, check_params, describe, most_registers};
use crate::ptx::{Diagnostics, FuncId, Module, VarId};

/// Statements from which a kernel is outlined: lowering fewer takes seconds at most.
const LARGE: u64 = 200_000;

/// The functions of a module that calls through registers reach; computed once for all its kernels.
#[derive(Clone, Debug)]
pub struct AddressedCode {
    functions: BTreeSet<FuncId>,
    /// Statements of all of them.
    statements: u64,
    /// Variables that they mention.
    vars: BTreeSet<VarId>,
}

impl AddressedCode {
    /// Of a module.
    #[must_use]
    pub fn of(module: &Module) -> AddressedCode {
        let reached = Reached::from(module, addressed(module));
        let vars = mentioned(module, &reached.functions);
        AddressedCode { functions: reached.functions, statements: reached.statements, vars }
    }
}

/// The functions that direct calls reach.
#[derive(Default)]
struct Reached {
    functions: BTreeSet<FuncId>,
    statements: u64,
    /// Whether one of them calls through a register.
    indirect: bool,
}

impl Reached {
    fn from(module: &Module, mut queue: Vec<FuncId>) -> Reached {
        let mut reached = Reached::default();
        while let Some(func) = queue.pop() {
            if reached.functions.insert(func) {
                let facts = Facts::of(module, func);
                reached.statements += facts.size;
                reached.indirect |= facts.indirect;
                queue.extend(facts.calls);
            }
        }
        reached
    }
}

/// The outline of a kernel; none if it is lowered quickly enough. Its code is a single instruction.
///
/// # Errors
/// As [`lower_kernel`](super::lower_kernel), where that does not depend on the code.
pub fn outline_kernel<'a>(
    module: &Module,
    addressed_code: impl FnOnce() -> &'a AddressedCode,
    kernel: FuncId,
    options: &LowerOptions,
) -> Option<Result<Lowered, Diagnostics>> {
    let own = Reached::from(module, vec![kernel]);
    if !own.indirect {
        return None;
    }
    let called = addressed_code();
    (called.statements >= LARGE).then(|| outlined(module, &own, called, kernel, options))
}

fn outlined(
    module: &Module,
    own: &Reached,
    called: &AddressedCode,
    kernel: FuncId,
    options: &LowerOptions,
) -> Result<Lowered, Diagnostics> {
    check_params(module, kernel)?;
    let function = module.function(kernel);
    let regs_per_thread = most_registers(module, kernel, options)?;
    let only_own: BTreeSet<FuncId> = own.functions.difference(&called.functions).copied().collect();
    let mut vars = mentioned(module, &only_own);
    vars.extend(&called.vars);
    let frame = Frame::sharing(module, &vars).map_err(|error| Diagnostics::one(&module.source, error))?;
    let stack_bytes = options.stack_bytes.next_multiple_of(16);
    let mut machine = MachineKernel {
        name: function.name.clone(),
        regs_per_thread,
        static_shared_bytes: frame.static_shared_bytes,
        local_bytes: stack_bytes,
        stack_bytes,
        max_threads_per_block: function.limits.required_threads.or(function.limits.max_threads),
        insts: vec![Inst::new(Op::Exit {})],
        lines: vec![SourceLine::default()],
        ..MachineKernel::default()
    };
    describe(module, kernel, &mut machine);
    Ok(Lowered::plain(machine))
}
