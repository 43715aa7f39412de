//! Invalid files: every error is reported with its place and source line; an unknown instruction causes
//! no other error.

use emulator::ptx::{self, Severity, Statement};

/// Puts statements into a kernel; the first of them stands on line 10.
fn kernel(statements: &str) -> String {
    format!(
        ".version 8.7\n.target sm_75\n.address_size 64\n.global .b32 counter;\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<10>; .reg .b16 %h<4>;\n.reg .b64 %rd<10>; .reg .f32 %f<4>;\n{statements}\n}}\n"
    )
}

/// Errors of a text as `line:column message`.
fn errors(text: &str) -> Vec<String> {
    match ptx::parse(text, "t.ptx") {
        Ok(_) => Vec::new(),
        Err(list) => list
            .iter()
            .filter(|entry| entry.severity == Severity::Error)
            .map(|entry| format!("{} {}", list.line_col(entry), entry.message))
            .collect(),
    }
}

/// The error about the only instruction of a kernel, as `column message`.
fn unsupported(instruction: &str) -> String {
    let text = kernel(&format!("{instruction};\nL: ret;")).replace("sm_75", "sm_90a");
    let module = ptx::parse(&text, "t.ptx").unwrap_or_else(|errors| panic!("{instruction}: {errors}"));
    let (_, diagnostic) =
        module.unsupported().next().unwrap_or_else(|| panic!("`{instruction}` was decoded"));
    let place = module.source.line_col(diagnostic.span);
    assert_eq!(place.line, 10, "{instruction}");
    format!("{} {}", place.col, diagnostic.message)
}

#[test]
fn what_follows_a_function_s_head_is_checked() {
    let errors = |text: &str| errors(&format!(".version 6.3\n.target sm_75\n.address_size 64\n{text}"));
    // A declaration of a kernel needs its semicolon; a misspelt directive does not start a new statement.
    assert_eq!(errors(".visible .entry k()\n.global .u32 g;")[0], "5:1 unknown function directive `.global`");
    assert_eq!(errors(".func f()\n.maxntidd 3;"), ["5:1 unknown function directive `.maxntidd`"]);
    assert_eq!(errors(".func f() ret;"), ["4:11 expected `,` or `;`, found `ret`"]);
}

#[test]
fn all_errors_of_a_file_are_reported() {
    let text = kernel(
        "add.s32 %r1, %r2, ;\nmov.u32 %r3, %tid.x;\nmov.b64 {%r1 %r2}, %rd1;\nadd.s32 %r1, %r99, %r2\nbra NOWHERE;\n\
         @%r1 bra L;\nL: .foo 3;\nL: ret;\nld.global.u32 %r1, [%undefined+4];\nmov.u32 %r1, 0x1FFFFFFFFFFFFFFFF;",
    );
    assert_eq!(
        errors(&text),
        [
            "10:19 expected an operand, found `;`",
            "12:14 expected `,` or `}`, found `%r2`",
            "13:14 undefined register `%r99`",
            "13:22 expected `;` after this",
            "14:5 undefined symbol `NOWHERE`",
            "15:2 the guard `%r1` is not a predicate register",
            "16:4 unknown directive `.foo` in a function body",
            "17:1 `L` is defined twice in this scope",
            "18:21 undefined register `%undefined`",
            "19:14 the number `0x1FFFFFFFFFFFFFFFF` does not fit 64 bits",
        ]
    );
}

#[test]
fn module_level_errors_do_not_hide_later_ones() {
    let text = ".version 8.7\n.target sm_75\n.address_size 64\n.global .b32 a[2] = {1, 2, 3};\n.bogus 5;\n\
                .global .v2 x;\n.shared .b32 s = 4;\n.global .b8 a;\n.entry k(.param .b32 p, .param .b32 p) { ret; }\n\
                .entry k() { ret; }\n.alias nothing, missing;\n.global .b8 c[-1];\n}\n.func f() .fancy 3 { ret; }\n\
                .global .align 3 .b8 d;\n.global .u8 e = 1.5;\n.global .b64 g = h;\n";
    assert_eq!(
        errors(text),
        [
            "4:28 more initial values than the variable has elements",
            "5:1 expected a directive, a variable or a function, found `.bogus`",
            "6:1 this declaration names no type",
            "7:14 only `.global` and `.const` variables can have initial values",
            "8:13 `a` is defined twice in this scope",
            "9:37 `p` is defined twice in this scope",
            "10:8 `k` is defined twice in this scope",
            "11:17 `missing` is not a function",
            "12:15 an array dimension is a whole number from 0",
            "13:1 this `}` closes nothing",
            "14:11 unknown function directive `.fancy`",
            "15:16 an alignment is a power of two",
            "16:17 a floating-point constant of this width does not fit the type",
            "17:18 undefined symbol `h`",
        ]
    );
}

#[test]
fn a_header_that_ptxas_refuses_is_an_error() {
    assert_eq!(
        errors(".address_size 16\n"),
        [
            "1:1 this file names no PTX version",
            "1:1 this file names no target",
            "1:1 an address has 32 or 64 bits, not 16"
        ]
    );
    for (header, expected) in [
        (".version 99.1\n.target sm_75\n", "1:1 there is no PTX 99.1 that is known here"),
        (".version 1.9\n.target sm_10\n", "1:1 there is no PTX 1.9 that is known here"),
        (".version 8.0\n.target sm_999\n", "2:9 there is no target `sm_999`"),
        (".version 8.0\n.target gtx_480\n", "2:9 there is no target `gtx_480`"),
        (".version 6.0\n.target sm_75\n", "2:9 PTX 6.0 has no target `sm_75`"),
        (".target sm_75\n.version 8.0\n", "2:1 `.version` is not at the start of the file"),
        (".version 8.0\n.address_size 64\n.target sm_75\n", "3:1 `.target` is not right after `.version`"),
    ] {
        assert_eq!(errors(header), [expected]);
    }
    let list = ptx::parse(".version 8.0\n.target sm_999\n", "t.ptx").expect_err("no such target");
    let said = list.to_string();
    let targets = "sm_10 sm_11 sm_12 sm_13 sm_20 sm_21 sm_30 sm_32 sm_35 sm_37 sm_50 sm_52 sm_53 sm_60 sm_61 sm_62 \
         sm_70 sm_72 sm_75 sm_80 sm_82 sm_86 sm_87 sm_88 sm_89 sm_90 sm_90a sm_100 sm_100a sm_100f sm_101 \
         sm_101a sm_101f sm_103 sm_103a sm_103f sm_107 sm_107a sm_107f sm_110 sm_110a sm_110f sm_120 sm_120a \
         sm_120f sm_121 sm_121a sm_121f";
    let known: Vec<String> = targets.split(' ').map(|target| format!("`{target}`")).collect();
    let expected = format!("t.ptx:2:9: error: there is no target `sm_999` (there are {})", known.join(", "));
    assert_eq!(said, expected);
}

#[test]
fn unclosed_blocks_are_found_where_they_open() {
    let head = ".version 8.7\n.target sm_75\n.address_size 64\n";
    let text = format!("{head}.entry a() {{\nret;\n.entry b() {{\nret;\n}}\n.entry c() {{ {{ ret;\n");
    assert_eq!(
        errors(&text),
        ["4:12 this `{` is never closed", "9:12 this `{` is never closed", "9:14 this `{` is never closed"]
    );
    assert_eq!(errors(&format!("{head}/* never closed")), ["4:1 this comment is never closed"]);
    assert_eq!(errors(&format!("{head}.pragma \"x;\n")).len(), 2);
}

#[test]
fn reports_show_the_source_line() {
    let text = kernel("mov.u32 %r1, %r10;");
    let list = ptx::parse(&text, "broken.ptx").expect_err("an undefined register");
    assert_eq!(list.to_string(), "broken.ptx:10:14: error: undefined register `%r10`");
    let fancy = list.render(false);
    assert!(fancy.contains("broken.ptx:10:14"), "{fancy}");
    assert!(fancy.contains("mov.u32 %r1, %r10;"), "{fancy}");
    assert!(fancy.contains("this declares `%r0` to `%r9`"), "{fancy}");
    let narrated = list.iter().next().expect("one").render_narrated(list.source());
    assert!(narrated.contains("undefined register") && narrated.contains("line 10"), "{narrated}");
}

#[test]
fn what_is_not_emulated_costs_only_itself() {
    let text = kernel("wgmma.fence.sync.aligned;\nadd.s32 %r1, %r2, %r3;\nret;");
    let text = text.replace("sm_75", "sm_90a");
    let module = ptx::parse(&text, "t.ptx").expect("the file is well-formed");
    let body = module.functions[0].body.as_ref().expect("a body");
    assert!(matches!(body.statements[0], Statement::Unsupported(_)));
    assert!(matches!(body.statements[1], Statement::Inst(_)));
    assert_eq!(module.unsupported().count(), 1);
}

#[test]
fn the_offending_part_of_an_instruction_that_is_not_emulated_is_named() {
    for (instruction, expected) in [
        ("wgmma.fence.sync.aligned", "1 `wgmma.fence.sync.aligned` is not supported"),
        ("cp.async.bulk.commit_group", "1 `cp.async.bulk.commit_group` is not supported"),
        (
            "ld.global.u32 %r1, [%h1]",
            "21 `ld.global.u32`: `%h1` is declared `.b16`, this operand has an address of 32 or 64 bits",
        ),
        ("vadd.u32.u32.u32 %r1, %r2.b7, %r3", "1 `vadd.u32.u32.u32` has no part `.b7`"),
        (
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2}, [%r3]",
            "42 `ldmatrix.sync.aligned.m8n8.x4.shared.b16`: this fragment has 4 registers, not 2",
        ),
    ] {
        assert_eq!(unsupported(instruction), expected, "{instruction}");
    }
}

/// ptxas refuses each of these.
#[test]
fn the_offending_part_of_an_instruction_that_does_not_exist_is_named() {
    for (instruction, expected, help) in [
        ("frobnicate.u32 %r1", "1 PTX has no instruction `frobnicate`", "check its spelling"),
        (
            "add.foo.s32 %r1, %r2, %r3",
            "4 `.foo` is not a modifier that `add` can have here",
            "possible here: .cc, .sat",
        ),
        (
            "add.f33 %f1, %f2, %f3",
            "4 `.f33` is not a modifier that `add` can have here",
            "possible here: .bf16, .bf16x2, .cc, .f16, .f16x2, .f32, .f32x2, .f64, .ftz, .rm, .rn, .rp, .rz, .s16, .s16x2, \
             .s32, .s64, .s8x4, .sat, .u16, .u16x2, .u32, .u64, .u8x4",
        ),
        ("add %r1, %r2, %r3", "1 `add` lacks a type", "add one to `add`: .u16, .u32, .u64, .s16, .s32, .s64"),
        ("popc.f32 %r1, %r2", "5 `.f32` is not a modifier that `popc` can have here", "did you mean `.b32`?"),
        (
            "add.ftz.f64 %rd1, %rd2, %rd3",
            "8 `.f64` is not a modifier that `add` can have here",
            "possible here: .f16, .f16x2, .f32, .f32x2, .rm, .rn, .rp, .rz, .sat",
        ),
        ("mul.s32 %r1, %r2, %r3", "1 `mul.s32` lacks a modifier", "add one to `mul`: .hi, .lo"),
        (
            "fma.f32 %f1, %f2, %f3, %f1",
            "1 `fma.f32` lacks a rounding",
            "add one to `fma`: .rn, .rz, .rm, .rp",
        ),
        ("add.s32 %r1, %r2", "1 `add.s32`: lacks an operand", "it takes 3 operands"),
        ("add.s32 %r1, %r2, %r3, %r4", "24 `add.s32`: this operand is one too many", "it takes 3 operands"),
        (
            "add.s32 %r1, %rd2, %r3",
            "14 `add.s32`: expected type `.s32`, and `%rd2` is declared `.b64`",
            "see the PTX ISA for the operands it takes",
        ),
        (
            "add.s32 %r1, %p2, %r3",
            "14 `add.s32`: expected type `.s32`, and `%p2` is declared `.pred`",
            "see the PTX ISA for the operands it takes",
        ),
        (
            "add.s32 5, %r2, %r3",
            "9 `add.s32`: expected a register of type `.s32`, which is written",
            "see the PTX ISA for the operands it takes",
        ),
        (
            "add.f32 %f1, %f2, 1",
            "19 `add.f32`: expected a value of type `.f32`, such as `1.0` or `0f3F800000`",
            "see the PTX ISA for the operands it takes",
        ),
        (
            "setp.ltu.s32 %p1, %r1, %r2",
            "9 `.s32` is not a modifier that `setp` can have here",
            "did you mean `.f32`?",
        ),
        (
            "setp.lt.b32 %p1, %r1, %r2",
            "8 `.b32` is not a modifier that `setp` can have here",
            "did you mean `.f32`?",
        ),
        (
            "cvt.s32.f32 %r1, %f1",
            "1 `cvt.s32.f32` lacks a modifier",
            "add one to `cvt`: .rni, .rzi, .rmi, .rpi",
        ),
        (
            "cvt.u32.b32 %r1, %r2",
            "8 `.b32` is not a modifier that `cvt` can have here",
            "did you mean `.f32`?",
        ),
        (
            "ld.global.v3.f32 {%f1, %f2, %f3}, [%rd1]",
            "10 `.v3` is not a modifier that `ld` can have here",
            "the whole instruction is `ld.global.v3.f32`",
        ),
        (
            "ld.global.v2.f32 %f1, [%rd1]",
            "18 `ld.global.v2.f32`: expected a vector of 2 elements",
            "see the PTX ISA for the operands it takes",
        ),
        (
            "ld.relaxed.global.u32 %r1, [%rd1]",
            "1 `ld.relaxed.global.u32` lacks a modifier",
            "add one to `ld`: .cta, .cluster, .gpu, .sys",
        ),
        (
            "ld.global.u32 %r1, %rd1",
            "20 `ld.global.u32`: expected an address in brackets",
            "see the PTX ISA for the operands it takes",
        ),
        (
            "st.const.u32 [%rd1], %r1",
            "3 `.const` is not a modifier that `st` can have here",
            "the whole instruction is `st.const.u32`",
        ),
        (
            "atom.global.add.b32 %r1, [%rd1], %r2",
            "16 `.b32` is not a modifier that `atom` can have here",
            "did you mean `.f32`?",
        ),
        (
            "bra %r1",
            "5 `bra`: expected a label of the same function",
            "see the PTX ISA for the operands it takes",
        ),
        (
            "call (%r1), k, (%r2)",
            "1 `call`: the callee has 0 results and 1 parameters, this call 1 and 1",
            "",
        ),
        (
            "call %rd1, (%r2)",
            "1 `call` calls through a register",
            "name its `.callprototype` or `.calltargets` last",
        ),
        (
            "mov.b64 {%r1, %r2, %r3}, %rd1",
            "9 `mov.b64`: expected a register of type `.b64`, which is written",
            "see the PTX ISA for the operands it takes",
        ),
        (
            "lop3.b32 %r1, %r2, %r3, %r4, 256",
            "30 `lop3.b32`: expected an integer constant from 0 to 255",
            "see the PTX ISA for the operands it takes",
        ),
        (
            "suld.p.2d.v4.b32.trap {%r1, %r2, %r3, %r4}, [counter, {%r5, %r6}]",
            "5 `.p` is not a modifier that `suld` can have here",
            "possible here: .b, .ca, .cg, .cs, .cv",
        ),
        (
            "setp.gee.s32 %p1, %r1, %r2",
            "5 `.gee` is not a modifier that `setp` can have here",
            "did you mean `.ge`?",
        ),
        (
            "ld.globl.f32 %f1, [%rd1]",
            "3 `.globl` is not a modifier that `ld` can have here",
            "did you mean `.global`?",
        ),
        (
            "st.global.f64 [%rd1], %f1",
            "23 `st.global.f64`: expected type `.f64`, and `%f1` is declared `.f32`",
            "see the PTX ISA for the operands it takes",
        ),
        (
            "shl.u32 %r1, %r2, %r3",
            "4 `.u32` is not a modifier that `shl` can have here",
            "did you mean `.b32`?",
        ),
        (
            "cp.async.ca.shared.global [%r1], [%rd1], 4",
            "1 `cp.async.ca.shared.global` needs the target sm_80; this file is for sm_75",
            "change `.version` or `.target`, or use an older form",
        ),
        (
            "bar.sync 16",
            "10 `bar.sync`: expected an integer constant from 0 to 15",
            "see the PTX ISA for the operands it takes",
        ),
        (
            "bar.sync 0, 33",
            "13 `bar.sync`: expected an integer constant, a multiple of 32",
            "see the PTX ISA for the operands it takes",
        ),
        (
            "ld.global.u32 %r1, [16]",
            "21 `ld.global.u32`: expected an address: a register or a variable, and an offset",
            "see the PTX ISA for the operands it takes",
        ),
        (
            "ld.shared.u32 %r1, [counter]",
            "21 `ld.shared.u32`: expected a variable in `.shared`, and this one is in `.global`",
            "see the PTX ISA for the operands it takes",
        ),
        (
            "mov.u32 _, %r1",
            "9 `mov.u32`: expected a register of type `.u32`, which is written",
            "see the PTX ISA for the operands it takes",
        ),
        (
            "shfl.down.b32 %r1, %r2, %r3, %r4",
            "1 `shfl.down.b32` needs a target before sm_70; this file is for sm_75",
            "change `.version` or `.target`, or use an older form",
        ),
        (
            "add.f64 %rd1, %rd2, %f1",
            "21 `add.f64`: expected type `.f64`, and `%f1` is declared `.f32`",
            "see the PTX ISA for the operands it takes",
        ),
    ] {
        let text = kernel(&format!("{instruction};\nL: ret;"));
        let list = ptx::parse(&text, "t.ptx").expect_err(instruction);
        let first = list.iter().next().expect("an error");
        let place = list.line_col(first);
        assert_eq!(place.line, 10, "{instruction}");
        assert_eq!(format!("{} {}", place.col, first.message), expected, "{instruction}");
        assert_eq!(first.help.as_deref().unwrap_or_default(), help, "{instruction}");
    }
}

/// ptxas accepts registers of the module only before PTX 3.0, and drops its calling convention for them.
#[test]
fn registers_of_the_module_are_refused_and_old_ptx_is_told_what_to_do() {
    let parsed = |version: &str| {
        let text =
            format!(".version {version}\n.target sm_20\n.reg .b32 %r;\n.entry k() {{ mov.u32 %r, 1; ret; }}");
        ptx::parse(&text, "t.ptx").expect_err("registers are declared in functions")
    };
    for version in ["2.3", "3.0"] {
        let errors = parsed(version);
        let first = errors.iter().next().unwrap();
        assert_eq!(first.message, "registers are declared inside functions");
        assert_eq!(first.help.as_deref().is_some_and(|help| help.contains("before 3.0")), version == "2.3");
    }
}
