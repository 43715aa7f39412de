//! Device functions of random kernels: a few that are always the same, and drawn ones whose parameters and results are
//! registers, vectors, predicates and variables.
//!
//! A drawn function computes with registers of its own, which begin as its parameters or as constants, and returns what
//! they hold at the end. It calls only those that were drawn before it, so that calls end.

use super::Node;
use super::nodes::{print_all, registers};
use super::shape::{LOCAL_BYTES, Pools};
use super::signature::{Formal, Signature, Storage};
use std::fmt::Write;

/// Functions that are always the same: with a loop and parameters in memory, on doubles, with parameters in registers,
/// one that calls another and returns early, and one that calls itself.
const FIXED: [(&str, &str); 5] = [
    (
        "f_loop",
        "\
.func (.param .b32 result) f_loop(.param .b32 f_loop_a, .param .b32 f_loop_b)
{
	.reg .b32 %a, %b, %n;
	.reg .pred %more;
	ld.param.b32 %a, [f_loop_a];
	ld.param.b32 %b, [f_loop_b];
	and.b32 %n, %b, 3;
$again:
	mad.lo.s32 %a, %a, 17, %b;
	shf.l.wrap.b32 %a, %a, %a, 5;
	add.s32 %n, %n, -1;
	setp.ge.s32 %more, %n, 0;
	@%more bra $again;
	st.param.b32 [result], %a;
	ret;
}
",
    ),
    (
        "f_double",
        "\
.func (.param .b64 result) f_double(.param .b64 f_double_a, .param .b64 f_double_b)
{
	.reg .f64 %a, %b;
	ld.param.f64 %a, [f_double_a];
	ld.param.f64 %b, [f_double_b];
	div.rn.f64 %a, %a, %b;
	sqrt.rn.f64 %b, %a;
	add.rn.f64 %a, %a, %b;
	st.param.f64 [result], %a;
	ret;
}
",
    ),
    (
        "f_register",
        "\
.func (.reg .b32 %q) f_register(.reg .b32 %x, .reg .b64 %y)
{
	.reg .b32 %lo, %hi;
	mov.b64 {%lo, %hi}, %y;
	xor.b32 %q, %lo, %x;
	sub.s32 %q, %q, %hi;
	ret;
}
",
    ),
    (
        "f_outer",
        "\
.func (.param .b32 result) f_outer(.param .b32 f_outer_a)
{
	.reg .b32 %a, %b;
	.reg .pred %small;
	ld.param.b32 %a, [f_outer_a];
	st.param.b32 [result], %a;
	setp.lt.s32 %small, %a, 1000;
	@%small ret;
	{
	.param .b32 first;
	st.param.b32 [first], %a;
	.param .b32 second;
	st.param.b32 [second], 2;
	.param .b32 value;
	call.uni (value), f_loop, (first, second);
	ld.param.b32 %b, [value];
	}
	add.s32 %b, %b, %a;
	st.param.b32 [result], %b;
	ret;
}
",
    ),
    (
        "f_again",
        "\
.func (.param .b32 result) f_again(.param .b32 f_again_a, .param .b32 f_again_n)
{
	.reg .b32 %a, %n, %b;
	.reg .b64 %kept;
	.reg .pred %last;
	ld.param.b32 %a, [f_again_a];
	ld.param.b32 %n, [f_again_n];
	setp.eq.s32 %last, %n, 0;
	@%last bra $f_again_done;
	mul.wide.u32 %kept, %a, 747796405;
	{
	.param .b32 first;
	shr.u32 %b, %a, 3;
	add.s32 %b, %b, %n;
	st.param.b32 [first], %b;
	.param .b32 second;
	add.s32 %b, %n, -1;
	st.param.b32 [second], %b;
	.param .b32 value;
	call (value), f_again, (first, second);
	ld.param.b32 %b, [value];
	}
	shr.u64 %kept, %kept, 16;
	cvt.u32.u64 %n, %kept;
	xor.b32 %a, %a, %b;
	add.s32 %a, %a, %n;
$f_again_done:
	st.param.b32 [result], %a;
	ret;
}
",
    ),
];

/// A drawn function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    pub(super) signature: Signature,
    pub(super) pools: Pools,
    pub(super) uses_local: bool,
    /// The instructions that give every register and result its first value.
    pub(super) prologue: Vec<String>,
    /// Its code; early exits go to `$exit`.
    pub body: Vec<Node>,
    /// The instructions that give the results.
    pub(super) epilogue: Vec<String>,
}

impl Function {
    /// What its parameters and results are, in words.
    pub fn features(&self) -> Vec<&'static str> {
        let Signature { params, results, .. } = &self.signature;
        let in_registers = |f: &Formal| f.lanes > 1 && f.storage == Storage::Register;
        let in_memory = |f: &Formal| f.lanes > 1 && f.storage != Storage::Register;
        let predicate = |f: &Formal| f.class().letter == 'p';
        let there = [
            ("vectors as parameters in registers", params.iter().any(in_registers)),
            ("vectors as parameters", params.iter().any(in_memory)),
            ("predicates as parameters", params.iter().any(predicate)),
            ("vectors as results in registers", results.iter().any(in_registers)),
            ("vectors as results", results.iter().any(in_memory)),
            ("predicates as results", results.iter().any(predicate)),
        ];
        there.into_iter().filter_map(|(name, there)| there.then_some(name)).collect()
    }

    fn print(&self, text: &mut String) {
        let Signature { params, typed, .. } = &self.signature;
        let _ = writeln!(
            text,
            ".func {}{}({})\n{{",
            self.signature.result_list(Some("out")),
            self.name,
            self.signature.list(params, Some("par"))
        );
        let mut body = String::new();
        print_all(&self.body, &mut body);
        registers(text, self.pools, *typed, &body);
        *text += "\t.reg .b32 %gtid;\n\tmov.u32 %gtid, %tid.x;\n";
        if self.uses_local {
            let _ = writeln!(text, "\t.local .align 16 .b8 l_array[{LOCAL_BYTES}];");
            for at in (0..LOCAL_BYTES).step_by(16) {
                let _ = writeln!(text, "\tst.local.v4.u32 [l_array+{at}], {{%gtid, {at}, 7, -1}};");
            }
        }
        for line in &self.prologue {
            let _ = writeln!(text, "\t{line}");
        }
        if body.contains("%w") {
            *text += "\tmov.b128 %w0, {%d0, %d1};\n\tmov.b128 %w1, {%d1, %d0};\n";
        }
        *text += &body;
        *text += "$exit:\n";
        for line in &self.epilogue {
            let _ = writeln!(text, "\t{line}");
        }
        *text += "\tret;\n}\n";
    }
}

/// The functions that a text calls, and those that they call.
pub(super) fn print(functions: &[Function], body: &str, text: &mut String) {
    let mut printed: Vec<String> = Vec::new();
    let called = |name: &str, body: &str, printed: &[String]| {
        let names = |text: &str| {
            text.match_indices(name).any(|(at, _)| {
                !text[at + name.len()..].starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_')
            })
        };
        names(body) || printed.iter().any(|text| names(text))
    };
    for function in functions.iter().rev() {
        if called(&function.name, body, &printed) {
            let mut text = String::new();
            function.print(&mut text);
            printed.push(text);
        }
    }
    // `f_outer` calls `f_loop`, which is defined before it.
    for (name, fixed) in FIXED.iter().rev() {
        if called(name, body, &printed) {
            printed.push((*fixed).to_owned());
        }
    }
    printed.iter().rev().for_each(|function| *text += function);
}
