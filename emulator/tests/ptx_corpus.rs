//! The front end on PTX of other tools: nvcc's output for this repository's workloads and for a
//! kernel with calls, structs, `printf` and line information, and every instruction form that real programs
//! were seen to use, accepted by NVIDIA's assembler. All of it must be parsed and supported.

use crate::ptx_support;

use emulator::ptx::{
    self, AddressBase, CallShape, Callee, Formal, Linkage, Module, Op, Operand, RelocationTarget, ScalarType,
    StateSpace, Statement, VarSpace,
};
use ptx_support::check_module;

/// Parses a text that must be understood completely.
fn parse_whole(text: &str, name: &str) -> Module {
    let module = ptx::parse(text, name).unwrap_or_else(|errors| panic!("{errors}"));
    let unsupported: Vec<String> =
        module.unsupported().map(|(_, entry)| entry.plain(&module.source)).collect();
    assert!(unsupported.is_empty(), "{}", unsupported.join("\n"));
    assert!(module.warnings.is_empty(), "{}", module.warnings);
    check_module(&module);
    module
}

#[test]
fn every_workload_is_understood() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/workloads");
    let mut count = 0;
    let suites =
        std::fs::read_dir(folder).expect("the workloads' folder").map(|suite| suite.expect("a suite").path());
    let folders =
        suites.filter(|path| path.is_dir()).flat_map(|suite| std::fs::read_dir(suite).expect("workloads"));
    for entry in folders {
        let folder = entry.expect("a workload").path();
        let Some(name) = folder.file_name().and_then(|name| name.to_str()) else { continue };
        let path = folder.join(format!("{name}.ptx"));
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let module = parse_whole(&text, name);
        assert!(module.kernels().count() > 0, "{name} has no kernel");
        count += 1;
    }
    assert!(count >= 12, "only {count} workloads found in {folder}");
}

#[test]
fn every_instruction_form_of_the_corpus_is_decoded() {
    let text = include_str!("ptx_forms.ptx");
    let module = parse_whole(text, "ptx_forms.ptx");
    let kernel = module.function(module.kernel("forms").expect("the kernel"));
    let body = kernel.body.as_ref().expect("its body");
    let instructions =
        body.statements.iter().filter(|statement| matches!(statement, Statement::Inst(_))).count();
    let lines = text.lines().filter(|line| line.ends_with(';') && !line.starts_with(['.', '/'])).count();
    assert_eq!(instructions, lines, "one instruction a line");
}

/// The kernel that both generations of nvcc's back end compiled.
fn combine(sm: u32) -> Module {
    let text =
        if sm == 75 { include_str!("ptx_combine_sm75.ptx") } else { include_str!("ptx_combine_sm100.ptx") };
    parse_whole(text, "combine.ptx")
}

#[test]
fn nvcc_modules_have_their_tables() {
    for sm in [75, 100] {
        let module = combine(sm);
        assert_eq!((module.target.sm, module.address_bits), (sm, 64));
        assert_eq!(module.file(1), Some("combine.cu"));
        let names: Vec<(&str, bool)> = module
            .functions
            .iter()
            .map(|function| (function.name.as_str(), function.body.is_some()))
            .collect();
        let expected = [
            ("_Z3sumff", true),
            ("_Z10differenceff", true),
            ("vprintf", false),
            ("_Z7combine6ParamsPKfPfi", true),
        ];
        assert_eq!(names.len(), 4, "{names:?}");
        assert!(expected.iter().all(|function| names.contains(function)), "{names:?}");
        let kernel = module.function(module.kernel("_Z7combine6ParamsPKfPfi").expect("the kernel"));
        assert_eq!(kernel.linkage, Linkage::Visible);
        assert_eq!(kernel.limits.max_threads, Some([256, 1, 1]));
        assert_eq!(kernel.limits.min_blocks_per_sm, Some(2));
        let layout: Vec<(u64, u64)> = kernel
            .params
            .iter()
            .map(|formal| match formal {
                Formal::Var(id) => (module.var(*id).param_offset, module.var(*id).size_bytes),
                Formal::Reg(_) => panic!("a kernel's parameters are variables"),
            })
            .collect();
        assert_eq!(layout, [(0, 32), (32, 8), (40, 8), (48, 4)]);
    }
}

#[test]
fn nvcc_initialisers_become_bytes_and_relocations() {
    for sm in [75, 100] {
        let module = combine(sm);
        let var = |name: &str| module.vars.iter().find(|var| var.name == name).expect("a variable");
        let weights = var("weights");
        assert_eq!((weights.space, weights.size_bytes, weights.align_bytes), (VarSpace::Const, 16, 4));
        let init = weights.init.as_ref().expect("initial values");
        let floats: Vec<f32> = init
            .bytes
            .chunks(4)
            .map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four bytes")))
            .collect();
        assert_eq!(floats, [0.5, 0.25, 0.125, 1.0]);
        let pointer = var("counter_pointer").init.as_ref().expect("an address").relocations[0];
        assert!(pointer.generic);
        assert_eq!((pointer.offset, pointer.size_bytes, pointer.addend), (0, 8, 4));
        assert!(matches!(pointer.target, RelocationTarget::Var(id) if module.var(id).name == "counters"));
        let table = &var("combines").init.as_ref().expect("function addresses").relocations;
        assert_eq!(table.len(), 2);
        assert!(
            matches!(table[1].target, RelocationTarget::Func(id) if module.function(id).name == "_Z10differenceff")
        );
        let dynamic = var("dynamic");
        assert_eq!(
            (dynamic.space, dynamic.linkage, dynamic.size_bytes),
            (VarSpace::Shared, Linkage::Extern, 0)
        );
    }
}

#[test]
fn nvcc_calls_are_resolved() {
    for sm in [75, 100] {
        let module = combine(sm);
        let kernel = module.function(module.kernel("_Z7combine6ParamsPKfPfi").expect("the kernel"));
        let body = kernel.body.as_ref().expect("its body");
        let mut direct = 0;
        let mut indirect = 0;
        for statement in &body.statements {
            let Statement::Inst(inst) = statement else { continue };
            match inst.op {
                Op::Call { callee: Callee::Direct(id), .. } => {
                    assert_eq!(module.function(id).name, "vprintf");
                    assert!(inst.srcs().iter().all(|source| matches!(source, Operand::Var(_, 0))));
                    direct += 1;
                }
                Op::Call { callee: Callee::Indirect { shape: CallShape::Prototype(id), .. }, .. } => {
                    let prototype = body.prototype(id);
                    assert_eq!((prototype.returns.len(), prototype.params.len()), (1, 2));
                    assert_eq!((inst.dsts().len(), inst.srcs().len()), (1, 2));
                    indirect += 1;
                }
                _ => {}
            }
        }
        assert_eq!((direct, indirect), (1, 1));
    }
}

#[test]
fn instructions_know_their_cuda_line() {
    let module = combine(100);
    let kernel = module.function(module.kernel("_Z7combine6ParamsPKfPfi").expect("the kernel"));
    let body = kernel.body.as_ref().expect("its body");
    let barrier = body.statements.iter().find_map(|statement| match statement {
        Statement::Inst(inst) if matches!(inst.op, Op::Bar(_)) => Some(inst),
        _ => None,
    });
    let barrier = barrier.expect("the barrier");
    let loc = body.loc(barrier.loc.expect("a position"));
    assert_eq!((loc.file, loc.line, loc.col), (1, 16, 3));
    assert_eq!(module.source.line(module.line(barrier.span)).trim(), "bar.sync \t0;");
}

#[test]
fn both_register_styles_name_the_same_operation() {
    let loads = |module: &Module| -> Vec<(StateSpace, u32, ScalarType)> {
        let function =
            module.functions.iter().find(|function| function.name == "_Z3sumff").expect("the function");
        let body = function.body.as_ref().expect("its body");
        let insts = body.statements.iter().filter_map(|statement| match statement {
            Statement::Inst(inst) => Some(inst),
            _ => None,
        });
        insts
            .filter_map(|inst| match (&inst.op, inst.srcs().first()) {
                (Op::Ld(ld), Some(Operand::Mem(address))) if matches!(address.base, AddressBase::Var(_)) => {
                    let register = inst.dsts()[0].reg().expect("a register");
                    Some((ld.space, ld.ty.bits(), function.register(register).ty))
                }
                _ => None,
            })
            .collect()
    };
    let (old, new) = (loads(&combine(75)), loads(&combine(100)));
    assert_eq!(old.len(), 3);
    assert!(old.iter().all(|load| load.1 == 32 && load.2 == ScalarType::F32), "{old:?}");
    assert!(new.iter().all(|load| load.1 == 32 && load.2 == ScalarType::B32), "{new:?}");
    assert_eq!(
        old.iter().map(|load| load.0).collect::<Vec<_>>(),
        new.iter().map(|load| load.0).collect::<Vec<_>>()
    );
}
