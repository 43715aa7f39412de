//! Hand-written PTX: scopes, registers, variables, initialisers, calls,
//! directives, constants, and the module that is parsed from them.

use crate::ptx_support;

use emulator::ptx::{
    self, Accuracy, AddressBase, AtomOp, Axis, BarAction, BarOp, BoolOp, CallShape, Callee, Comparison,
    CpAsyncTail, Formal, Function, Inst, Linkage, MemOrder, MemScope, Module, MovShape, MulMode, Op,
    OpaqueKind, Operand, Rounding, ScalarType, SpecialRegister, StateSpace, Statement, VarSpace, Variable,
    VideoSecond, VideoSelector,
};

const HEAD: &str = ".version 9.0\n.target sm_100, texmode_independent\n.address_size 64\n";

/// The header of a file whose target has the warp operations without `.sync`.
const OLD_HEAD: &str = ".version 5.0\n.target sm_60\n.address_size 64\n";

/// The header of a file whose target has `mad` of floats without a rounding.
const OLDEST_HEAD: &str = ".version 5.0\n.target sm_13\n.address_size 64\n";

/// Parses a text after the usual header; all of it must be supported.
fn module(text: &str) -> Module {
    module_for(HEAD, text)
}

/// Parses a text after a header; all of it must be supported.
fn module_for(head: &str, text: &str) -> Module {
    let module = ptx::parse(&format!("{head}{text}"), "t.ptx").unwrap_or_else(|errors| panic!("{errors}"));
    assert!(module.unsupported().next().is_none(), "{:?}", module.unsupported().next());
    ptx_support::check_module(&module);
    module
}

/// The instructions of the last function of a text.
fn insts(module: &Module) -> Vec<&Inst> {
    let body = module.functions.last().and_then(|function| function.body.as_ref()).expect("a body");
    let insts = body.statements.iter().filter_map(|statement| match statement {
        Statement::Inst(inst) => Some(inst),
        _ => None,
    });
    insts.collect()
}

/// Declarations that instruction tests need.
const REGS: &str = ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<8>; \
                    .reg .f64 %e<8>; .global .b32 gv[4];";

/// One instruction alone in a kernel.
fn inst(text: &str) -> Inst {
    inst_for(HEAD, text)
}

fn inst_for(head: &str, text: &str) -> Inst {
    let module = module_for(head, &format!(".entry k() {{ {REGS}\n{text};\nL: ret; }}"));
    insts(&module)[0].clone()
}

fn var<'m>(module: &'m Module, name: &str) -> &'m Variable {
    module.vars.iter().find(|var| var.name == name).unwrap_or_else(|| panic!("no variable {name}"))
}

fn names(function: &Function) -> Vec<&str> {
    function.registers.iter().map(|register| register.name.as_str()).collect()
}

#[test]
fn scopes_shadow_registers_and_labels() {
    let module = module(
        ".entry k() { .reg .b32 %r<4>; .reg .pred p; mov.u32 %r1, 1; { .reg .b32 %r1, t; mov.u32 %r1, 2; mov.u32 t, 3;\n\
         L: @p bra L; } { .reg .b32 t; mov.u32 t, 4; L: @!p bra L; mov.u32 %r1, 5; } bra END; END: ret; }",
    );
    let function = &module.functions[0];
    assert_eq!(names(function), ["%r1", "%r1", "t", "p", "t"]);
    let insts = insts(&module);
    let written = |at: usize| insts[at].dsts()[0].reg().expect("a register").index();
    assert_eq!([written(0), written(1), written(2), written(4), written(6)], [0, 1, 2, 4, 0]);
    let body = function.body.as_ref().expect("a body");
    assert_eq!(body.labels.iter().filter(|label| label.name == "L").count(), 2);
    let target = |at: usize| match insts[at].op {
        Op::Bra { target, uniform: false } => target,
        ref other => panic!("{other:?}"),
    };
    assert_ne!(target(3), target(5));
    assert_eq!(insts[3].guard.map(|guard| guard.negated), Some(false));
    assert_eq!(insts[5].guard.map(|guard| guard.negated), Some(true));
    for at in [3, 5] {
        let label = body.label(target(at));
        assert!(matches!(body.statements[label.statement], Statement::Label(id) if id == target(at)));
    }
}

#[test]
fn parametrised_names_take_their_digits_from_the_declaration() {
    let module = module(
        ".entry k() { .reg .b32 %r1<12>; .reg .b32 %r<3>; .reg .b32 %x7; mov.u32 %r110, %r2; mov.u32 %r11, %x7; ret; }",
    );
    assert_eq!(names(&module.functions[0]), ["%r110", "%r2", "%r11", "%x7"]);
}

#[test]
fn vector_registers_become_scalars() {
    let module = module(
        ".entry k(.param .u64 p) { .reg .v4 .f32 %v; .reg .v2 .b32 w; .reg .b32 %r; ld.param.v4.f32 %v, [p]; mov.b32 %r, w.y;\n\
         mov.f32 %v.w, %v.x; mov.v2.b32 w, {%r, 7}; mov.v4.u32 {%r, _, _, _}, %tid; mov.u32 %r, %ntid.w; ret; }",
    );
    let function = &module.functions[0];
    assert_eq!(names(function), ["%v.x", "%v.y", "%v.z", "%v.w", "%r", "w.x", "w.y"]);
    let insts = insts(&module);
    assert_eq!(insts[0].dsts()[0].elements().len(), 4);
    let first = insts[0].dsts()[0].elements()[3].reg();
    assert_eq!(insts[2].dsts()[0].reg(), first);
    assert!(matches!(insts[3].op, Op::Mov { shape: MovShape::Vector, .. }));
    assert_eq!(insts[3].srcs()[0].elements()[1], Operand::Imm(7));
    let tid = insts[4].srcs()[0].elements();
    assert_eq!(tid[1], Operand::Special(SpecialRegister::Tid(Axis::Y)));
    assert_eq!(tid[3], Operand::Imm(0), "the fourth element is always zero");
    assert_eq!(insts[5].srcs()[0], Operand::Imm(0));
}

#[test]
fn declarations_of_functions_may_lack_their_semicolon() {
    // As nvcc wrote them up to CUDA 4.0, before any other statement.
    let next = [
        "",
        "@@DWARF .byte 0",
        ".file 1 \"a.cu\"",
        ".section .debug_str { .b8 0 }",
        ".global .u32 g;",
        ".extern .shared .align 4 .b8 s[];",
        ".func (.param .b32 r) h(.param .b32 a)",
        ".visible .func h();",
        ".weak .entry k(.param .u64 p) { ret; }",
        ".extern .func (.param .b32 r) h() .noreturn",
    ];
    for next in next {
        for head in ["", ".visible ", ".extern "] {
            let text = format!(
                "{head}.func (.param .s32 r) f(.param .s32 a, .param .align 4 .b8 b[12])\n\n{next}\n\
                 .visible .func (.param .s32 r) f(.param .s32 a, .param .align 4 .b8 b[12]) {{ ret; }}"
            );
            let module = module(&text);
            assert!(module.functions[0].body.is_some(), "{text}");
            assert_eq!(module.functions[0].params.len(), 2, "{text}");
        }
    }
}

#[test]
fn functions_have_formals_linkage_and_limits() {
    let module = module(
        ".extern .func (.param .b32 r) ext(.param .b64 a, .param .align 8 .b8 s[24]) .noreturn;\n\
         .weak .func (.reg .b32 out) f(.reg .b32 a, .reg .v2 .f32 b) { mov.b32 out, a; ret; }\n\
         .visible .entry k(.param .u64 .ptr .global .align 16 p, .param .u8 c, .param .align 8 .b8 s[12], .param .f64 x)\n\
         .reqntid 8, 4 .maxnreg 40 .minnctapersm 3 .reqnctapercluster 2, 1, 1 .explicitcluster .pragma \"a\", \"b\"; { ret; }\n\
         .alias g, f;",
    );
    let [ext, f, k] = [0, 1, 2].map(|at| &module.functions[at]);
    assert!(ext.body.is_none() && ext.noreturn && ext.linkage == Linkage::Extern);
    assert_eq!((ext.returns.len(), ext.params.len()), (1, 2));
    assert_eq!(f.linkage, Linkage::Weak);
    let registers: Vec<&str> = f
        .returns
        .iter()
        .chain(&f.params)
        .map(|formal| match formal {
            Formal::Reg(id) => f.register(*id).name.as_str(),
            Formal::Var(_) => panic!("formals in registers"),
        })
        .collect();
    assert_eq!(registers, ["out", "a", "b.x", "b.y"]);
    assert_eq!(k.limits.required_threads, Some([8, 4, 1]));
    assert_eq!((k.limits.max_registers, k.limits.min_blocks_per_sm), (Some(40), Some(3)));
    assert_eq!(k.limits.cluster_blocks, Some([2, 1, 1]));
    assert!(k.limits.explicit_cluster && !k.limits.blocks_are_clusters);
    assert_eq!(k.pragmas, ["a", "b"]);
    let layout: Vec<(u64, u64, u32)> = k
        .params
        .iter()
        .map(|formal| match formal {
            Formal::Var(id) => {
                let var = module.var(*id);
                (var.param_offset, var.size_bytes, var.align_bytes)
            }
            Formal::Reg(_) => panic!("formals in memory"),
        })
        .collect();
    assert_eq!(layout, [(0, 8, 8), (8, 1, 1), (16, 12, 8), (32, 8, 8)]);
    let pointer = var(&module, "p").pointer.expect("a pointer");
    assert_eq!((pointer.space, pointer.align_bytes), (StateSpace::Global, 16));
    assert_eq!(module.kernel("k").map(ptx::FuncId::index), Some(2));
}

#[test]
fn variables_of_every_space_are_laid_out() {
    let module = module(
        ".visible .global .align 4 .b8 bytes[4] = {1, -1, 0x7F, 0b11};\n\
         .const .v4 .f32 v[2] = { {1.0, 0f40000000, -3.0, 0d4010000000000000}, {5.5} };\n",
    );
    assert_eq!(var(&module, "bytes").init.as_ref().expect("values").bytes, [1, 255, 127, 3]);
    let v = var(&module, "v");
    assert_eq!((v.size_bytes, v.align_bytes, v.vec, v.dims.as_slice()), (32, 16, 4, &[2][..]));
    let floats: Vec<f32> = v
        .init
        .as_ref()
        .expect("values")
        .bytes
        .chunks(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    assert_eq!(floats, [1.0, 2.0, -3.0, 4.0, 5.5]);
    let module = self::module(
        ".global .s16 open[][2] = { {1, 2}, {3} , {5, 6} };\n.global .u16 flat[][2] = {1, 2, 3};\n.global .u32 zero[3] = {0, 0, 0};\n\
         .extern .shared .align 16 .b8 dyn[];\n.weak .global .attribute(.managed) .b32 m;\n.global .texref t;\n.global .samplerref s = { addr_mode_0 = wrap };\n\
         .global .f64 e = (3 + 4) * 2.5;\n.common .global .b32 c;\n\
         .entry k() { .shared .b64 sh[4]; .local .align 32 .b8 lo[100]; .param .b32 slot; .global .u8 static_byte = 9; ret; }",
    );
    let bytes =
        |name: &str| var(&module, name).init.as_ref().map(|init| init.bytes.clone()).unwrap_or_default();
    assert_eq!(var(&module, "open").dims, [3, 2]);
    assert_eq!(bytes("open"), [1, 0, 2, 0, 3, 0, 0, 0, 5, 0, 6, 0]);
    assert_eq!(var(&module, "flat").dims, [2, 2]);
    assert_eq!(bytes("flat"), [1, 0, 2, 0, 3, 0]);
    assert_eq!(bytes("zero"), [0u8; 0]);
    assert_eq!(bytes("e"), 17.5f64.to_le_bytes());
    assert_eq!((var(&module, "dyn").size_bytes, var(&module, "dyn").dims.as_slice()), (0, &[0][..]));
    assert!(var(&module, "m").managed && var(&module, "m").linkage == Linkage::Weak);
    assert_eq!(var(&module, "t").opaque, Some(OpaqueKind::Texref));
    assert_eq!(var(&module, "c").linkage, Linkage::Common);
    let spaces: Vec<VarSpace> = module.functions[0]
        .body
        .as_ref()
        .expect("a body")
        .vars
        .iter()
        .map(|id| module.var(*id).space)
        .collect();
    assert_eq!(spaces, [VarSpace::Shared, VarSpace::Local, VarSpace::Param, VarSpace::Global]);
    assert!(
        module.functions[0].body.iter().flat_map(|body| &body.vars).all(|id| module.var(*id).owner.is_some())
    );
    assert_eq!((var(&module, "lo").align_bytes, var(&module, "lo").size_bytes), (32, 100));
}

#[test]
fn addresses_in_initialisers_become_relocations() {
    let module = module(
        ".global .b32 a[4];\n.global .u64 t[3] = { generic(a) + 8, a, k };\n\
         .global .u8 packed[4] = { 0xFF(a), 0xFF00(a), 0xFF0000(generic(a)), 7 };\n.extern .func k();\n",
    );
    let t = &var(&module, "t").init.as_ref().expect("addresses").relocations;
    let shapes: Vec<_> =
        t.iter().map(|place| (place.offset, place.size_bytes, place.addend, place.generic)).collect();
    assert_eq!(shapes, [(0, 8, 8, true), (8, 8, 0, false), (16, 8, 0, false)]);
    let packed = var(&module, "packed").init.as_ref().expect("addresses");
    assert_eq!(packed.bytes, [0, 0, 0, 7]);
    let shapes: Vec<_> = packed
        .relocations
        .iter()
        .map(|place| (place.offset, place.size_bytes, place.shift, place.generic))
        .collect();
    assert_eq!(shapes, [(0, 1, 0, false), (1, 1, 8, false), (2, 1, 16, true)]);
}

#[test]
fn calls_of_every_shape() {
    let module = module(
        ".func (.param .b32 r) f(.param .b64 a);\n.func g() { ret; }\n\
         .entry k() { .reg .b64 %d; .reg .b32 %r; .param .b32 back; .param .b64 in;\n\
         st.param.b64 [in], %d; call.uni (back), f, (in); ld.param.b32 %r, [back];\n\
         call g; call (%r), f, (%d); P: .callprototype (.param .b32 _) _ (.param .b64 _);\n\
         call (%r), %d, (%d), P; T: .calltargets f, g; call %d, (), T; mov.u64 %d, f; ret; }\n",
    );
    let insts = insts(&module);
    let Op::Call { callee: Callee::Direct(f), uniform: true } = insts[1].op else { panic!("{:?}", insts[1]) };
    assert_eq!(module.function(f).name, "f");
    assert!(
        matches!((&insts[1].dsts()[0], &insts[1].srcs()[0]), (Operand::Var(back, 0), Operand::Var(input, 0))
        if module.var(*back).name == "back" && module.var(*input).name == "in")
    );
    assert!(insts[3].dsts().is_empty() && insts[3].srcs().is_empty());
    assert!(matches!(
        insts[5].op,
        Op::Call { callee: Callee::Indirect { shape: CallShape::Prototype(_), .. }, .. }
    ));
    let body = module.functions[2].body.as_ref().expect("a body");
    let Op::Call { callee: Callee::Indirect { shape: CallShape::Targets(targets), .. }, .. } = insts[6].op
    else {
        panic!("{:?}", insts[6])
    };
    assert_eq!(body.call_table(targets).len(), 2);
    assert_eq!(insts[7].srcs()[0], Operand::Func(f));
}

#[test]
fn indexed_branches_pragmas_and_positions() {
    let module = module(
        ".file 1 \"a.cu\", 12, 34\n.pragma \"module\";\n.entry k() { .reg .b32 %r; .loc 1 7 3, function_name $L__name0+4, inlined_at 1 9 5\n\
         T: .branchtargets A, B, A; brx.idx.uni %r, T; A: .pragma \"nounroll\"; add.u32 %r, %r, 1;\n.loc 1 8\nB: ret; }\n\
         @@DWARF .byte 1, 2\n.section .debug_str { $L__name0: .b8 1,2\n.b64 k+4 { } }\n",
    );
    assert_eq!((module.file(1), module.pragmas.as_slice()), (Some("a.cu"), &["module".to_owned()][..]));
    let body = module.functions[0].body.as_ref().expect("a body");
    let insts = insts(&module);
    let Op::BrxIdx { table, uniform: true } = insts[0].op else { panic!("{:?}", insts[0]) };
    let targets: Vec<&str> =
        body.branch_table(table).iter().map(|id| body.label(*id).name.as_str()).collect();
    assert_eq!(targets, ["A", "B", "A"]);
    assert!(
        body.statements
            .iter()
            .any(|statement| matches!(statement, Statement::Pragma(text) if text == "nounroll"))
    );
    let first = body.loc(insts[0].loc.expect("a position"));
    assert_eq!((first.line, first.col, first.inlined_at), (7, 3, Some((1, 9, 5))));
    let last = body.loc(insts[2].loc.expect("a position"));
    assert_eq!((last.line, last.col, last.inlined_at), (8, 0, None));
}

#[test]
fn constants_take_the_bits_of_their_type() {
    for (text, bits) in [
        ("mov.u32 %r1, -1", 0xffff_ffff),
        ("mov.u64 %d1, -1", u64::MAX),
        ("mov.u16 %h1, 0x12345", 0x2345),
        ("mov.f32 %f1, 1.5", 0x3fc0_0000),
        ("mov.f32 %f1, 0f3FC00000", 0x3fc0_0000),
        ("mov.f32 %f1, -0f3FC00000", 0xbfc0_0000),
        ("mov.f32 %f1, 0d3FF8000000000000", 0x3fc0_0000),
        ("mov.f32 %f1, 0f7F800001", 0x7f80_0001),
        ("mov.b32 %r1, 0f3F800000", 0x3f80_0000),
        ("mov.f64 %e1, 0f3F800000", 0x3ff0_0000_0000_0000),
        ("mov.f64 %e1, -.5e1", (-5.0f64).to_bits()),
        ("mov.b64 %d1, 0d3FF0000000000000", 0x3ff0_0000_0000_0000),
        ("mov.u32 %r1, WARP_SZ - 1", 31),
        ("mov.u32 %r1, 017 + 0b101 * 0x10U", 15 + 80),
        ("mov.u32 %r1, (1 << 4 | 3) ^ ~0", (0x13u32 ^ !0).into()),
        ("mov.s32 %r1, -7 / 2 % 2", 0xffff_ffff),
        ("mov.u32 %r1, 1 < 2 && 3 >= 4 ? 5 : 6", 6),
        ("mov.u64 %d1, (.u64)-1 > 1", 1),
        ("mov.u64 %d1, (.s64)0xFFFFFFFFFFFFFFFF > 1", 0),
        ("mov.u32 %r1, !0", 1),
        ("mov.pred %p1, 5", 1),
    ] {
        assert_eq!(inst(text).srcs()[0], Operand::Imm(bits), "{text}");
    }
}

#[test]
fn addresses_have_a_base_and_an_offset() {
    for (text, offset) in [
        ("ld.global.u32 %r1, [%d1]", 0),
        ("ld.global.u32 %r1, [%d1+-8]", -8),
        ("ld.global.u32 %r1, [%d1-8]", -8),
        ("ld.global.u32 %r1, [4+%d1+4*2]", 12),
        ("ld.global.u32 %r1, [gv+4]", 4),
        ("ld.global.u32 %r1, gv[2]", 8),
        ("ld.global.u32 %r1, [gv[1]]", 4),
        ("ld.local.u32 %r1, [0x100]", 256),
    ] {
        let inst = inst(text);
        let Operand::Mem(address) = inst.srcs()[0] else { panic!("{text}") };
        assert_eq!(address.offset, offset, "{text}");
        let base = match address.base {
            AddressBase::Reg(_) => "%d1",
            AddressBase::Var(_) => "gv",
            AddressBase::Absolute => "0x100",
        };
        assert!(text.contains(base), "{text}");
    }
    assert!(matches!(inst("mov.u64 %d1, gv+12").srcs()[0], Operand::Var(_, 12)));
    assert!(matches!(inst("cvta.global.u64 %d1, gv").srcs()[0], Operand::Var(_, 0)));
}

/// Checks an instruction's operation against a pattern.
macro_rules! decodes {
    ($text:literal, $pattern:pat $(if $guard:expr)?) => {{
        let inst = inst($text);
        assert!(matches!(inst.op, $pattern $(if $guard)?), "{}: {:?}", $text, inst.op);
        inst
    }};
}

#[test]
fn arithmetic_keeps_its_modifiers() {
    decodes!("add.s32 %r1, %r2, 3", Op::Add(op) if !op.carry_in && !op.carry_out && op.rounding.is_none());
    decodes!("add.cc.u32 %r1, %r2, %r3", Op::Add(op) if op.carry_out && !op.carry_in);
    decodes!("subc.cc.u32 %r1, %r2, %r3", Op::Sub(op) if op.carry_out && op.carry_in);
    decodes!("add.rz.ftz.sat.f32 %f1, %f2, %f3", Op::Add(op) if op.ftz && op.sat && op.rounding == Some(Rounding::Rz));
    decodes!("mul.wide.u32 %d1, %r2, %r3", Op::Mul(op) if op.mode == Some(MulMode::Wide) && op.ty == ScalarType::U32);
    decodes!("madc.hi.cc.u32 %r1, %r2, %r3, %r4", Op::Mad(op) if op.carry_in && op.carry_out && op.mode == MulMode::Hi);
    let mad = inst_for(OLDEST_HEAD, "mad.f32 %f1, %f2, %f3, %f4");
    assert!(matches!(mad.op, Op::Fma(op) if op.rounding == Rounding::Rn));
    decodes!("fma.rn.f32.f16 %f1, %h2, %h3, %f4", Op::Fma(op) if op.narrow == Some(ScalarType::F16));
    decodes!("div.full.ftz.f32 %f1, %f2, %f3", Op::Div(op) if op.accuracy == Accuracy::Full && op.ftz);
    decodes!("div.s32 %r1, %r2, %r3", Op::Div(op) if op.accuracy == Accuracy::Integer);
    decodes!("sqrt.rp.f64 %e1, %e2", Op::Sqrt(op) if op.accuracy == Accuracy::Ieee(Rounding::Rp));
    decodes!("rcp.approx.ftz.f64 %e1, %e2", Op::Rcp(op) if op.accuracy == Accuracy::Approx && op.ftz);
    decodes!("min.NaN.xorsign.abs.f32 %f1, %f2, %f3", Op::Min(op) if op.nan && op.xorsign_abs && !op.three);
    decodes!("max.f32 %f1, %f2, %f3, %f4", Op::Max(op) if op.three);
    decodes!(
        "lop3.and.b32 %r1|%p1, %r2, %r3, %r4, 0x96, !%p2",
        Op::Lop3 { lut: 0x96, combine: Some(BoolOp::And) }
    );
}

#[test]
fn comparisons_combine_and_have_two_destinations() {
    let both = decodes!("setp.lo.and.u32 %p1|%p2, %r1, 5, !%p3", Op::Setp(op)
        if op.comparison == Comparison::Lt && op.combine == Some(BoolOp::And));
    assert_eq!((both.dsts().len(), both.srcs().len()), (2, 3));
    assert!(matches!(both.srcs()[2], Operand::NotReg(_)));
    let one = decodes!("setp.gtu.ftz.f32 _|%p1, %f1, %f2", Op::Setp(op) if op.ftz && op.combine.is_none());
    assert_eq!(one.dsts()[0], Operand::Sink);
    decodes!("set.nan.xor.s32.f64 %r1, %e1, %e2, %p1", Op::Set { dst_ty: ScalarType::S32, compare }
        if compare.ty == ScalarType::F64 && compare.combine == Some(BoolOp::Xor));
}

#[test]
fn moves_pack_and_unpack() {
    let unpack = decodes!("mov.b64 {%r1, _}, %d1", Op::Mov { shape: MovShape::Unpack, ty: ScalarType::B64 });
    assert_eq!(unpack.dsts()[0].elements()[1], Operand::Sink);
    let pack = decodes!("mov.b32 %r1, {%h1, 2}", Op::Mov { shape: MovShape::Pack, ty: ScalarType::B32 });
    assert_eq!(pack.srcs()[0].elements()[1], Operand::Imm(2));
    decodes!("mov.b64 %e1, {%f1, %f2}", Op::Mov { shape: MovShape::Pack, .. });
}

#[test]
fn memory_operations_keep_space_order_and_scope() {
    decodes!("ld.volatile.shared.u8 %r1, [%r2]", Op::Ld(op)
        if op.order == MemOrder::Volatile && op.space == StateSpace::Shared && op.ty == ScalarType::U8);
    decodes!("ld.acquire.gpu.global.v2.u32 {%r1, %r2}, [%d1]", Op::Ld(op)
        if op.order == MemOrder::Acquire && op.scope == Some(MemScope::Gpu) && op.vec == 2);
    decodes!("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%f1, %f2, %f3, %f4}, [%d1]", Op::Ld(op) if op.nc && op.vec == 4);
    decodes!("ld.u64 %d1, [%d2]", Op::Ld(op) if op.space == StateSpace::Generic && op.order == MemOrder::Weak);
    decodes!("st.global.cg.u16 [%d1], %r1", Op::St(op) if op.ty == ScalarType::U16);
    let cas = decodes!("atom.acq_rel.sys.shared.cas.b32 %r1, [%r2], %r3, 7", Op::Atom(op)
        if op.op == AtomOp::Cas && op.order == MemOrder::AcqRel && op.scope == MemScope::Sys);
    assert_eq!(cas.srcs().len(), 3);
    decodes!("atom.global.add.u32 _, [%d1], 1", Op::Atom(op) if op.order == MemOrder::Relaxed && op.scope == MemScope::Gpu);
    decodes!("red.global.add.f64 [%d1], %e1", Op::Red(op) if op.op == AtomOp::Add);
    decodes!("cp.async.cg.shared.global [%r1], [%d1], 16, %r2", Op::CpAsync(op)
        if op.bytes == 16 && op.tail == CpAsyncTail::SourceSize);
}

#[test]
fn warp_and_block_operations_in_old_and_new_spelling() {
    for text in ["vote.sync.ballot.b32 %r1, %p1, -1", "vote.ballot.sync.b32 %r1, %p1, -1"] {
        assert!(matches!(inst(text).op, Op::Vote { sync: true, .. }), "{text}");
    }
    assert!(matches!(inst_for(OLD_HEAD, "vote.all.pred %p1, !%p2").op, Op::Vote { sync: false, .. }));
    let shuffle = decodes!("shfl.sync.bfly.b32 %r1|%p1, %f1, 16, 31, %r2", Op::Shfl { sync: true, .. });
    assert_eq!((shuffle.dsts().len(), shuffle.srcs().len()), (2, 4));
    assert!(matches!(inst_for(OLD_HEAD, "shfl.down.b32 %r1, %r2, 1, 31").op, Op::Shfl { sync: false, .. }));
    decodes!("bar.sync 0", Op::Bar(BarOp { action: BarAction::Sync, aligned: true, threads: false }));
    decodes!("barrier.sync 1, 64", Op::Bar(BarOp { action: BarAction::Sync, aligned: false, threads: true }));
    let red = decodes!(
        "bar.red.or.pred %p1, 0, !%p2",
        Op::Bar(BarOp { action: BarAction::Or, threads: false, .. })
    );
    assert!(matches!(red.srcs()[1], Operand::NotReg(_)));
    decodes!(
        "bar.red.popc.u32 %r1, 0, 32, %p1",
        Op::Bar(BarOp { action: BarAction::Popc, threads: true, .. })
    );
}

#[test]
fn textures_and_video_have_their_generic_forms() {
    let tex = decodes!("tex.level.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, %d2, {%f5, %f6}], %f7", Op::Tex(op) if op.sampler);
    assert_eq!((tex.dsts()[0].elements().len(), tex.srcs().len()), (4, 4));
    let layered = decodes!("tex.a2d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%d1, {%r5, %f1, %f2, %f3}]", Op::Tex(op) if !op.sampler);
    assert_eq!(layered.srcs()[1].elements().len(), 4);
    let vadd = decodes!("vadd.s32.u32.s32.sat %r1.h1, %r2.b0, %r3, %r4", Op::Video(op)
        if op.sat && op.second == VideoSecond::Merge(VideoSelector::H1) && op.a_part == Some(VideoSelector::B0));
    assert_eq!(vadd.srcs().len(), 3);
    decodes!("vmad.s32.s32.u32.shr7 %r1, -%r2.h0, %r3, %r4", Op::Video(op) if op.scale == 7 && op.negate == [true, false, false]);
    decodes!("vmax4.u32.u32.u32 %r1.b10, %r2.b7654, %r3.b0123, %r4", Op::Video(op)
        if op.lanes.mask == 0b11 && op.lanes.a == [4, 5, 6, 7] && op.lanes.b == [3, 2, 1, 0]);
}

#[test]
fn several_statements_share_a_line_and_comments_are_ignored() {
    let module = module(
        ".entry k() { /* a\n comment */ .reg .b32 a,b; { .reg .b32 t;mov.u32 t,1;add.u32 a,t,1; } // rest\n# 12 \"x.cu\"\nret;}",
    );
    assert_eq!(insts(&module).len(), 3);
    assert_eq!(module.source.snippet(insts(&module)[1].span), "add.u32 a,t,1;");
}

#[test]
fn a_declaration_and_its_definition_are_one_function() {
    let module = module(
        ".func (.param .b32 r) f(.param .b32 a);\n.entry k() { .reg .b32 %r; call (%r), f, (%r); ret; }\n\
         .func (.param .b32 r) f(.param .b32 a) { ret; }\n.func (.param .b32 r) f(.param .b32 a);\n.extern .global .b32 x;\n.global .b32 x = 4;\n",
    );
    assert_eq!(module.functions.len(), 2);
    assert!(module.functions[0].body.is_some());
}
