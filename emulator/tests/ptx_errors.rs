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
    let text = kernel(&format!("{instruction};\nL: ret;"));
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
fn a_missing_header_is_an_error_and_a_newer_one_a_warning() {
    assert_eq!(
        errors(".address_size 16\n"),
        [
            "1:1 this file names no PTX version",
            "1:1 this file names no target",
            "1:1 an address has 32 or 64 bits, not 16"
        ]
    );
    let module = ptx::parse(".version 99.1\n.target gtx_480\n", "t.ptx").expect("loads all the same");
    let warnings: Vec<String> = module.warnings.iter().map(|entry| entry.message.clone()).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("99.1") && warnings[1].contains("gtx_480"), "{warnings:?}");
    assert_eq!((module.target.sm, module.address_bits), (0, 32));
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
fn unknown_instructions_cost_only_themselves() {
    let text = kernel("frobnicate.u32 %r1, [%rd1], {%r2, %r3};\nadd.s32 %r1, %r2, %r3;\nret;");
    let module = ptx::parse(&text, "t.ptx").expect("the file is well-formed");
    let body = module.functions[0].body.as_ref().expect("a body");
    assert!(matches!(body.statements[0], Statement::Unsupported(_)));
    assert!(matches!(body.statements[1], Statement::Inst(_)));
    assert_eq!(module.unsupported().count(), 1);
}

#[test]
fn the_offending_part_of_an_instruction_is_named() {
    for (instruction, expected) in [
        ("frobnicate.u32 %r1", "1 `frobnicate.u32` is no PTX instruction that is known here"),
        ("wgmma.fence.sync.aligned", "1 `wgmma.fence.sync.aligned` is not supported"),
        ("cp.async.bulk.commit_group", "1 `cp.async.bulk.commit_group` is not supported"),
        ("add.foo.s32 %r1, %r2, %r3", "4 `.foo` is not a modifier that `add` can have here"),
        ("add.f33 %f1, %f2, %f3", "4 `add` lacks a type, and `.f33` is none"),
        ("add %r1, %r2, %r3", "1 `add` lacks a type"),
        ("popc.f32 %r1, %r2", "5 `popc` has no form for type `.f32`"),
        ("add.ftz.f64 %rd1, %rd2, %rd3", "4 `.ftz` is not a modifier that `add` can have here"),
        ("mul.s32 %r1, %r2, %r3", "1 `mul.s32` lacks `.lo`, `.hi` or `.wide`"),
        ("fma.f32 %f1, %f2, %f3, %f1", "1 `fma.f32` lacks its rounding"),
        ("add.s32 %r1, %r2", "1 `add.s32` lacks an operand"),
        ("add.s32 %r1, %r2, %r3, %r4", "24 `add.s32`: this operand is one too many"),
        ("add.s32 %r1, %rd2, %r3", "14 `add.s32`: `%rd2` is declared `.b64`, this operand has type `.s32`"),
        ("add.s32 %r1, %p2, %r3", "14 `add.s32`: `%p2` is declared `.pred`, this operand has type `.s32`"),
        ("add.s32 5, %r2, %r3", "9 `add.s32`: this operand is written, so it must be a register"),
        (
            "add.f32 %f1, %f2, 1",
            "19 `add.f32`: an integer cannot stand for a floating-point value; write `1.0` or `0f3F800000`",
        ),
        ("setp.ltu.s32 %p1, %r1, %r2", "1 `setp.ltu.s32` has no comparison `.ltu` for type `.s32`"),
        ("setp.lt.b32 %p1, %r1, %r2", "1 `setp.lt.b32` has no comparison `.lt` for type `.b32`"),
        ("cvt.s32.f32 %r1, %f1", "1 `cvt.s32.f32` has not the right rounding"),
        ("cvt.u32.b32 %r1, %r2", "1 `cvt.u32.b32` does not convert `.b32` to `.u32`"),
        ("ld.global.v3.f32 {%f1, %f2, %f3}, [%rd1]", "10 `.v3` is not a modifier that `ld` can have here"),
        ("ld.global.v2.f32 %f1, [%rd1]", "18 `ld.global.v2.f32`: expected a vector of 2 elements"),
        ("ld.relaxed.global.u32 %r1, [%rd1]", "1 `ld.relaxed.global.u32` lacks a scope"),
        (
            "ld.global.u32 %r1, [%h1]",
            "21 `ld.global.u32`: `%h1` is declared `.b16`, this operand has an address of 32 or 64 bits",
        ),
        ("ld.global.u32 %r1, %rd1", "20 `ld.global.u32`: expected an address in brackets"),
        ("st.const.u32 [%rd1], %r1", "1 `st.const.u32` writes constant memory"),
        (
            "atom.global.add.b32 %r1, [%rd1], %r2",
            "1 `atom.global.add.b32` does not exist: no `.add` of `.b32`",
        ),
        ("bra %r1", "5 `bra`: a branch goes to a label of the same function"),
        ("call (%r1), k, (%r2)", "1 `call`: the callee has 0 results and 1 parameters, this call 1 and 1"),
        ("call %rd1, (%r2)", "1 `call` calls through a register"),
        ("mov.b64 {%r1, %r2, %r3}, %rd1", "1 `mov.b64` cannot split `.b64` into 3 parts"),
        ("lop3.b32 %r1, %r2, %r3, %r4, 256", "1 `lop3.b32` has a truth table of 8 bits"),
        ("vadd.u32.u32.u32 %r1, %r2.b7, %r3", "1 `vadd.u32.u32.u32` has no part `.b7`"),
        (
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2}, [%r3]",
            "42 `ldmatrix.sync.aligned.m8n8.x4.shared.b16`: this fragment has 4 registers, not 2",
        ),
        (
            "cp.async.cg.shared.global [%r1], [%rd1], 8",
            "1 `cp.async.cg.shared.global` copies 4, 8 or 16 bytes, with `.cg` only 16",
        ),
    ] {
        assert_eq!(unsupported(instruction), expected, "{instruction}");
    }
}

#[test]
fn formatted_surface_loads_are_named() {
    for form in [
        "suld.p.2d.v4.b32.trap {%r1, %r2, %r3, %r4}, [counter, {%r5, %r6}]",
        "suld.p.1d.b32 %r1, [counter, %r5]",
    ] {
        let name = form.split(' ').next().unwrap();
        let wanted =
            format!("1 `{name}` is a formatted surface load, which no version of PTX has implemented");
        assert_eq!(unsupported(form), wanted);
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
