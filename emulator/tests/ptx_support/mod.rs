//! Invariants of every module that `ptx::parse` returns.

use emulator::ptx::{AddressBase, Body, Callee, Function, Inst, Module, Op, Operand, ScalarType, Statement};

/// Checks that all indices of a module point into its tables and that operands are well-formed.
///
/// # Panics
/// Panics at the first violation, naming it.
pub(crate) fn check_module(module: &Module) {
    for function in &module.functions {
        let Some(body) = &function.body else { continue };
        for (at, label) in body.labels.iter().enumerate() {
            let statement = &body.statements[label.statement];
            assert!(matches!(statement, Statement::Label(id) if id.index() == at), "label {}", label.name);
        }
        for targets in &body.branch_tables {
            assert!(targets.iter().all(|id| id.index() < body.labels.len()));
        }
        assert!(body.vars.iter().all(|id| id.index() < module.vars.len()));
        for statement in &body.statements {
            match statement {
                Statement::Inst(inst) => check_inst(module, function, body, inst),
                Statement::Unsupported(diagnostic) => {
                    assert!(!diagnostic.message.is_empty());
                    assert!(!diagnostic.render(&module.source, false).is_empty());
                }
                Statement::Label(_) | Statement::Pragma(_) => {}
            }
        }
    }
    for var in &module.vars {
        assert!(var.align_bytes.is_power_of_two(), "{}", var.name);
        if let Some(init) = &var.init {
            assert!(init.bytes.len() as u64 <= var.size_bytes, "{}", var.name);
            let inside = |offset: u64, size: u32| offset + u64::from(size) <= var.size_bytes;
            assert!(
                init.relocations.iter().all(|place| inside(place.offset, place.size_bytes)),
                "{}",
                var.name
            );
        }
    }
}

fn check_inst(module: &Module, function: &Function, body: &Body, inst: &Inst) {
    let text = module.source.snippet(inst.span);
    if let Some(guard) = inst.guard {
        assert_eq!(function.register(guard.reg).ty, ScalarType::Pred, "{text}");
    }
    assert!(inst.loc.is_none_or(|loc| loc.index() < body.locs.len()), "{text}");
    match inst.op {
        Op::Bra { target, .. } => assert!(target.index() < body.labels.len(), "{text}"),
        Op::BrxIdx { table, .. } => assert!(table.index() < body.branch_tables.len(), "{text}"),
        Op::Call { callee: Callee::Direct(id), .. } => assert!(id.index() < module.functions.len(), "{text}"),
        _ => {}
    }
    for dst in inst.dsts() {
        let written = |operand: &Operand| {
            matches!(operand, Operand::Reg(_) | Operand::Sink)
                || (matches!(inst.op, Op::Call { .. }) && matches!(operand, Operand::Var(..)))
        };
        assert!(dst.elements().iter().all(written), "{text}: {dst:?}");
    }
    for operand in inst.dsts().iter().chain(inst.srcs()) {
        operand.for_each_reg(|reg| assert!(reg.index() < function.registers.len(), "{text}"));
        for element in operand.elements() {
            match element {
                Operand::Var(id, _) => assert!(id.index() < module.vars.len(), "{text}"),
                Operand::Mem(address) => {
                    if let AddressBase::Var(id) = address.base {
                        assert!(id.index() < module.vars.len(), "{text}");
                    }
                }
                Operand::Vector(_) => panic!("a vector inside a vector: {text}"),
                _ => {}
            }
        }
    }
}
