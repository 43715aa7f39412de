//! Which products and sums are fused in each copy of a function.
//!
//! A function is inlined where it is called, and what the caller does not read of its results is no use of a product
//! there. A function that calls itself, or that is called through a register, has code of its own, which computes all
//! results.

use super::contract::Contraction;
use emulator::ptx::{Callee, FuncId, Inst, Module, Op, Operand, RelocationTarget, Statement};
use std::collections::{BTreeSet, HashMap};

/// A copy of a function, as an index into the list of copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CopyId(usize);

/// What is fused in every copy of every function; empty without contraction.
#[derive(Debug, Default)]
pub(super) struct Contractions {
    copies: Vec<Contraction>,
    /// Copies by function and by the results that are wanted of it.
    index: HashMap<(FuncId, Vec<bool>), CopyId>,
    /// The copies of functions with code of their own.
    own: HashMap<FuncId, CopyId>,
}

impl Contractions {
    /// For all kernels of a module and what they call.
    pub(super) fn of(module: &Module) -> Self {
        let mut contractions = Self::default();
        let own = with_own_code(module);
        let kernels = ids(module).filter(|id| module.function(*id).is_kernel);
        let mut queue: Vec<(FuncId, Vec<bool>)> = kernels.map(|id| (id, Vec::new())).collect();
        queue.extend(own.iter().map(|&id| (id, vec![true; module.function(id).returns.len()])));
        while let Some((id, wanted)) = queue.pop() {
            let function = module.function(id);
            let Some(body) = &function.body else { continue };
            if contractions.index.contains_key(&(id, wanted.clone())) {
                continue;
            }
            let copy = Contraction::of(function, body, &wanted);
            for (&at, wanted) in &copy.calls {
                if let Some(callee) = callee(&body.statements[at])
                    && !own.contains(&callee)
                {
                    queue.push((callee, wanted.clone()));
                }
            }
            let copy_id = CopyId(contractions.copies.len());
            contractions.copies.push(copy);
            contractions.index.insert((id, wanted), copy_id);
            if own.contains(&id) {
                contractions.own.insert(id, copy_id);
            }
        }
        contractions
    }

    /// What is fused in a copy.
    pub(super) fn copy(&self, id: CopyId) -> &Contraction {
        &self.copies[id.0]
    }

    /// The copy that is a kernel.
    pub(super) fn kernel(&self, kernel: FuncId) -> Option<CopyId> {
        self.index.get(&(kernel, Vec::new())).copied()
    }

    /// The copy of a function that a statement of another copy calls.
    pub(super) fn called(&self, caller: Option<CopyId>, at: usize, callee: FuncId) -> Option<CopyId> {
        if let Some(&own) = self.own.get(&callee) {
            return Some(own);
        }
        let wanted = self.copy(caller?).calls.get(&at)?;
        self.index.get(&(callee, wanted.clone())).copied()
    }
}

fn ids(module: &Module) -> impl Iterator<Item = FuncId> {
    (0..module.functions.len()).map(FuncId::new)
}

/// The function that a statement calls by name.
fn callee(statement: &Statement) -> Option<FuncId> {
    match statement {
        Statement::Inst(Inst { op: Op::Call { callee: Callee::Direct(callee), .. }, .. }) => Some(*callee),
        _ => None,
    }
}

/// Functions that lead back to themselves, and those that a register may lead to.
fn with_own_code(module: &Module) -> BTreeSet<FuncId> {
    let calls = |id: FuncId| {
        let body = module.function(id).body.as_ref();
        body.into_iter().flat_map(|body| body.statements.iter().filter_map(callee))
    };
    let mut own: BTreeSet<FuncId> = ids(module)
        .filter(|&id| {
            let mut reached = BTreeSet::new();
            let mut queue: Vec<FuncId> = calls(id).collect();
            while let Some(next) = queue.pop() {
                if reached.insert(next) {
                    queue.extend(calls(next));
                }
            }
            reached.contains(&id)
        })
        .collect();
    own.extend(addressed(module));
    own
}

/// Functions of which a register may hold the address.
fn addressed(module: &Module) -> BTreeSet<FuncId> {
    let bodies = || module.functions.iter().filter_map(|f| f.body.as_ref());
    let instructions = || {
        bodies().flat_map(|body| &body.statements).filter_map(|statement| match statement {
            Statement::Inst(inst) => Some(inst),
            _ => None,
        })
    };
    let through_register = |inst: &Inst| matches!(inst.op, Op::Call { callee: Callee::Indirect { .. }, .. });
    if !instructions().any(through_register) {
        return BTreeSet::new();
    }
    let operands = instructions().flat_map(|inst| inst.srcs().iter().flat_map(Operand::elements));
    let mut found: BTreeSet<FuncId> = operands
        .filter_map(|operand| match operand {
            Operand::Func(id) => Some(*id),
            _ => None,
        })
        .collect();
    found.extend(bodies().flat_map(|body| body.call_tables.iter().flatten().copied()));
    let relocations =
        module.vars.iter().filter_map(|var| var.init.as_ref()).flat_map(|init| &init.relocations);
    found.extend(relocations.filter_map(|relocation| match relocation.target {
        RelocationTarget::Func(id) => Some(id),
        RelocationTarget::Var(_) => None,
    }));
    found
}
