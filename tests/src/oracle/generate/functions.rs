//! Device functions of random kernels: a few that are always the same, and drawn ones whose parameters and results are
//! registers, vectors, predicates and variables; and the calls of both, by name and through a register.
//!
//! A drawn function computes with registers of its own, which begin as its parameters or as constants, and returns what
//! they hold at the end. It calls only those that were drawn before it, so that calls end.

use super::code::Writer;
use super::plan::{Focus, LOCAL_BYTES, Pools};
use super::{Dice, Node, interesting_bits, interesting_f32, interesting_f64};
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

/// A class of registers: its letter, bytes (0 for predicates), and the types of its declarations and of `mov`, `ld` and
/// `st`.
struct Class {
    letter: char,
    bytes: usize,
    untyped: &'static str,
    typed: &'static str,
}

const CLASSES: [Class; 6] = [
    Class { letter: 'h', bytes: 2, untyped: "b16", typed: "u16" },
    Class { letter: 'r', bytes: 4, untyped: "b32", typed: "u32" },
    Class { letter: 'd', bytes: 8, untyped: "b64", typed: "s64" },
    Class { letter: 'f', bytes: 4, untyped: "b32", typed: "f32" },
    Class { letter: 'g', bytes: 8, untyped: "b64", typed: "f64" },
    Class { letter: 'p', bytes: 0, untyped: "pred", typed: "pred" },
];

/// Where a parameter or result lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In registers.
    Register,
    /// In a variable of its type.
    Variable,
    /// In an array of bytes.
    Bytes,
}

/// A parameter or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Formal {
    /// Index of its class.
    class: usize,
    /// Elements: 1, 2 or 4.
    lanes: usize,
    place: Place,
}

/// What a function takes and gives.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Signature {
    params: Vec<Formal>,
    results: Vec<Formal>,
    /// Declared by what it holds.
    typed: bool,
}

/// A drawn function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    signature: Signature,
    pools: Pools,
    uses_local: bool,
    /// The instructions that give every register and result its first value.
    prologue: Vec<String>,
    /// Its code; early exits go to `$exit`.
    pub body: Vec<Node>,
    /// The instructions that give the results.
    epilogue: Vec<String>,
}

impl Formal {
    fn random(dice: &mut Dice) -> Self {
        let class = dice.pick(&[0, 1, 1, 1, 2, 3, 3, 4, 5, 5]);
        let most = match CLASSES[class].bytes {
            0 => 1,
            8 => 2,
            _ => 4,
        };
        let lanes = dice.pick(&[1, 1, 2, 2, 4]).min(most);
        let place = match (CLASSES[class].bytes, dice.below(4)) {
            (0, _) | (_, 0 | 1) => Place::Register,
            (_, 2) => Place::Variable,
            _ => Place::Bytes,
        };
        Self { class, lanes, place }
    }

    fn class(self) -> &'static Class {
        &CLASSES[self.class]
    }

    fn bytes(self) -> usize {
        self.class().bytes * self.lanes
    }

    /// The type of its elements.
    fn element(self, typed: bool) -> &'static str {
        if typed { self.class().typed } else { self.class().untyped }
    }

    /// `.v2` or nothing.
    fn vector(self) -> &'static str {
        ["", "", ".v2", "", ".v4"][self.lanes]
    }

    /// Its declaration, without the semicolon.
    fn declaration(self, name: &str, typed: bool) -> String {
        let (vector, element) = (self.vector(), self.element(typed));
        match self.place {
            Place::Register if self.lanes == 1 => format!(".reg .{element} {name}"),
            Place::Register => format!(".reg {vector} .{element} {name}"),
            Place::Variable if self.lanes == 1 => format!(".param .{element} {name}"),
            Place::Variable => format!(".param {vector} .{element} {name}"),
            Place::Bytes => format!(".param .align {} .b8 {name}[{}]", self.bytes(), self.bytes()),
        }
    }

    /// Its name within its function, or in a call.
    fn name(self, prefix: &str, at: usize) -> String {
        if self.place == Place::Register { format!("%{prefix}{at}") } else { format!("{prefix}{at}") }
    }

    /// The registers that its declaration makes.
    fn elements(self, name: &str) -> Vec<String> {
        if self.lanes == 1 {
            return vec![name.to_owned()];
        }
        ["x", "y", "z", "w"][..self.lanes].iter().map(|part| format!("{name}.{part}")).collect()
    }

    /// Instructions that move it to or from registers: `st.param`, `ld.param`, as a vector or one by one.
    fn access(self, dice: &mut Dice, op: &str, name: &str, registers: &[String], typed: bool) -> Vec<String> {
        let (element, bytes) = (self.element(typed), self.class().bytes);
        let line = |vector: &str, at: usize, list: &str| match op {
            "ld" => format!("ld.param{vector}.{element} {list}, [{name}+{at}];"),
            _ => format!("st.param{vector}.{element} [{name}+{at}], {list};"),
        };
        if self.lanes > 1 && dice.chance(60) {
            return vec![line(self.vector(), 0, &format!("{{{}}}", registers.join(", ")))];
        }
        registers.iter().enumerate().map(|(at, register)| line("", at * bytes, register)).collect()
    }
}

impl Signature {
    fn random(dice: &mut Dice) -> Self {
        let params = (0..dice.between(0, 4)).map(|_| Formal::random(dice)).collect();
        let results = (0..dice.between(0, 3)).map(|_| Formal::random(dice)).collect();
        Self { params, results, typed: dice.chance(50) }
    }

    /// The two lists around the name, with names or `_` for those in registers.
    fn list(&self, formals: &[Formal], prefix: Option<&str>) -> String {
        let one = |(at, formal): (usize, &Formal)| match (prefix, formal.place) {
            (None, Place::Bytes) => {
                let bytes = formal.bytes();
                format!(".param .align {bytes} .b8 _[{bytes}]")
            }
            (None, _) => formal.declaration("_", self.typed),
            (Some(prefix), _) => formal.declaration(&formal.name(prefix, at), self.typed),
        };
        let list: Vec<String> = formals.iter().enumerate().map(one).collect();
        list.join(", ")
    }

    fn result_list(&self, prefix: Option<&str>) -> String {
        let list = self.list(&self.results, prefix);
        if list.is_empty() { list } else { format!("({list}) ") }
    }

    fn in_registers(&self) -> bool {
        self.results.iter().all(|formal| formal.place == Place::Register)
    }
}

/// A register of a class, none of those that are taken.
fn other_than(w: &mut Writer<'_>, class: &Class, taken: &mut Vec<String>) -> String {
    let found = (0..8).map(|_| w.register(class.letter)).find(|name| !taken.contains(name));
    let name = found.unwrap_or_else(|| "_".to_owned());
    taken.push(name.clone());
    name
}

/// Draws the functions of a kernel.
pub(super) fn draw(dice: &mut Dice, focus: Focus) -> Vec<Function> {
    let mut functions: Vec<Function> = Vec::new();
    for at in 0..dice.between(1, 4) {
        // Functions of one signature can be called through one register.
        let signature = match functions.last() {
            Some(last) if dice.chance(35) => last.signature.clone(),
            _ => Signature::random(dice),
        };
        let function = Function::random(dice, focus, format!("f_drawn{at}"), signature, &functions);
        functions.push(function);
    }
    functions
}

impl Function {
    fn random(
        dice: &mut Dice,
        focus: Focus,
        name: String,
        signature: Signature,
        callees: &[Function],
    ) -> Self {
        let mut pools = Pools { half: 2, word: 3, long: 2, single: 2, double: 2, pred: 2 };
        let more = if focus == Focus::Pressure { 12 } else { 3 };
        for class in &CLASSES {
            let formals = || signature.params.iter().filter(|f| f.class().letter == class.letter);
            let wanted = formals().map(|formal| formal.lanes).sum::<usize>() + dice.below(more);
            let pool = pools.of_mut(class.letter);
            *pool = (*pool).max(wanted);
        }
        let uses_local = dice.chance(20);
        let mut prologue = initial_values(dice, &signature, pools);
        let mut writer = Writer::new(dice, focus, pools, 1, 1);
        writer.in_function = true;
        writer.uniform = false;
        writer.uses_local = uses_local;
        writer.calls = writer.dice.chance(60);
        writer.functions = callees.to_vec();
        let epilogue = results(&mut writer, &signature);
        // Where it may return early the results have to be there before.
        if writer.dice.chance(40) {
            prologue.extend(results(&mut writer, &signature));
            writer.returns = true;
        }
        let size = writer.dice.between(1, 24);
        let body = writer.function_body(size);
        Self { name, signature, pools, uses_local, prologue, body, epilogue }
    }

    /// What its parameters and results are, in words.
    pub fn features(&self) -> Vec<&'static str> {
        let Signature { params, results, .. } = &self.signature;
        let in_registers = |f: &Formal| f.lanes > 1 && f.place == Place::Register;
        let in_memory = |f: &Formal| f.lanes > 1 && f.place != Place::Register;
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
        super::print::print_all(&self.body, &mut body);
        super::print::registers(text, self.pools, *typed, &body);
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

/// The instructions that give each register of a function its first value.
fn initial_values(dice: &mut Dice, signature: &Signature, pools: Pools) -> Vec<String> {
    let typed = signature.typed;
    let mut lines = Vec::new();
    for class in &CLASSES {
        let mut next = 0;
        for (at, formal) in signature.params.iter().enumerate() {
            if formal.class().letter != class.letter {
                continue;
            }
            let to: Vec<String> =
                (next..next + formal.lanes).map(|i| format!("%{}{i}", class.letter)).collect();
            next += formal.lanes;
            let name = formal.name("par", at);
            if formal.place == Place::Register {
                let from = formal.elements(&name);
                let pairs = to.iter().zip(from);
                lines.extend(pairs.map(|(to, from)| format!("mov.{} {to}, {from};", formal.element(typed))));
            } else {
                lines.extend(formal.access(dice, "ld", &name, &to, typed));
            }
        }
        for i in next..pools.of(class.letter) {
            let name = format!("%{}{i}", class.letter);
            lines.push(match class.letter {
                'h' => format!("mov.u16 {name}, {};", interesting_bits(dice) as u16),
                'r' => format!("mov.u32 {name}, {};", interesting_bits(dice) as u32),
                'd' => format!("mov.u64 {name}, {:#x};", interesting_bits(dice)),
                'f' => format!("mov.f32 {name}, 0f{:08X};", interesting_f32(dice)),
                'g' => format!("mov.f64 {name}, 0d{:016X};", interesting_f64(dice)),
                _ => format!("mov.pred {name}, {};", dice.pick(&["0", "-1"])),
            });
        }
    }
    lines
}

/// The instructions that make registers of the function its results.
fn results(w: &mut Writer<'_>, signature: &Signature) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, formal) in signature.results.iter().enumerate() {
        let from: Vec<String> = (0..formal.lanes).map(|_| w.register(formal.class().letter)).collect();
        let name = formal.name("out", at);
        if formal.place == Place::Register {
            let pairs = formal.elements(&name).into_iter().zip(from);
            let ty = formal.element(signature.typed);
            lines.extend(pairs.map(|(to, from)| format!("mov.{ty} {to}, {from};")));
        } else {
            lines.extend(formal.access(w.dice, "st", &name, &from, signature.typed));
        }
    }
    lines
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
    // `f_outer` calls `f_loop`, which stands before it.
    for (name, fixed) in FIXED.iter().rev() {
        if called(name, body, &printed) {
            printed.push((*fixed).to_owned());
        }
    }
    printed.iter().rev().for_each(|function| *text += function);
}

/// A call of a function.
pub(super) fn call(w: &mut Writer<'_>) -> String {
    let uni = if w.uniform && !w.left { ".uni" } else { "" };
    if !w.functions.is_empty() && w.dice.chance(60) {
        return drawn(w, uni);
    }
    let (r, a, b) = (w.r(), w.r(), w.r());
    match w.dice.below(5) {
        4 => format!(
            "{{\n.reg .b32 %n;\nand.b32 %n, {b}, 3;\n.param .b32 first;\nst.param.b32 [first+0], {a};\n.param .b32 second;\nst.param.b32 [second+0], %n;\n.param .b32 value;\ncall{uni} (value), f_again, (first, second);\nld.param.b32 {r}, [value+0];\n}}"
        ),
        0 => format!(
            "{{\n.param .b32 first;\nst.param.b32 [first+0], {a};\n.param .b32 second;\nst.param.b32 [second+0], {b};\n.param .b32 value;\ncall{uni} (value), f_loop, (first, second);\nld.param.b32 {r}, [value+0];\n}}"
        ),
        1 => {
            let (g, a, b) = (w.g(), w.g(), w.g());
            format!(
                "{{\n.param .b64 first;\nst.param.f64 [first+0], {a};\n.param .b64 second;\nst.param.f64 [second+0], {b};\n.param .b64 value;\ncall{uni} (value), f_double, (first, second);\nld.param.f64 {g}, [value+0];\n}}"
            )
        }
        2 => format!("{}call{uni} ({r}), f_register, ({a}, {});", w.guard(), w.d()),
        _ => format!(
            "{{\n.param .b32 first;\nst.param.b32 [first+0], {a};\n.param .b32 value;\ncall{uni} (value), f_outer, (first);\nld.param.b32 {r}, [value+0];\n}}"
        ),
    }
}

/// A call of a drawn function: what stands before it, its two lists, and what stands behind it.
#[derive(Default)]
struct Parts {
    before: Vec<String>,
    arguments: Vec<String>,
    results: Vec<String>,
    after: Vec<String>,
}

impl Parts {
    fn argument(&mut self, w: &mut Writer<'_>, at: usize, formal: Formal, typed: bool) {
        let letter = formal.class().letter;
        if formal.place != Place::Register {
            let name = formal.name("arg", at);
            self.before.push(format!("{};", formal.declaration(&name, typed)));
            let from: Vec<String> = (0..formal.lanes).map(|_| w.register(letter)).collect();
            self.before.extend(formal.access(w.dice, "st", &name, &from, typed));
            self.arguments.push(name);
            return;
        }
        let values: Vec<String> = (0..formal.lanes)
            .map(|_| match letter {
                'p' => w.condition(),
                'f' => w.f_or_constant(),
                'g' => w.g_or_constant(),
                'h' => w.int_or_constant(16),
                'r' => w.int_or_constant(32),
                _ => w.int_or_constant(64),
            })
            .collect();
        if formal.lanes > 1 && w.dice.chance(40) {
            let name = formal.name("arg", at);
            self.before.push(format!("{};", formal.declaration(&name, typed)));
            let pairs = formal.elements(&name).into_iter().zip(&values);
            let ty = formal.element(typed);
            self.before.extend(pairs.map(|(to, from)| format!("mov.{ty} {to}, {from};")));
            self.arguments.push(name);
        } else if formal.lanes > 1 {
            self.arguments.push(format!("{{{}}}", values.join(", ")));
        } else {
            self.arguments.extend(values);
        }
    }

    fn result(
        &mut self,
        w: &mut Writer<'_>,
        at: usize,
        formal: Formal,
        typed: bool,
        taken: &mut Vec<String>,
    ) {
        let class = formal.class();
        let name = formal.name("res", at);
        if formal.place != Place::Register {
            self.before.push(format!("{};", formal.declaration(&name, typed)));
            let to: Vec<String> = (0..formal.lanes).map(|_| other_than(w, class, taken)).collect();
            if to.iter().any(|name| name == "_") {
                // Only vectors have elements that nobody wants.
                let list = to.iter().enumerate().filter(|(_, to)| *to != "_");
                let ty = formal.element(typed);
                self.after
                    .extend(list.map(|(i, to)| format!("ld.param.{ty} {to}, [{name}+{}];", i * class.bytes)));
            } else {
                self.after.extend(formal.access(w.dice, "ld", &name, &to, typed));
            }
            self.results.push(name);
            return;
        }
        let unwanted = |w: &mut Writer<'_>| w.dice.chance(8);
        let to: Vec<String> = (0..formal.lanes)
            .map(|_| if unwanted(w) { "_".to_owned() } else { other_than(w, class, taken) })
            .collect();
        if formal.lanes == 1 {
            self.results.extend(to);
        } else if w.dice.chance(40) && !to.contains(&"_".to_owned()) {
            // Through a vector register, which holds the old values where a guard is false.
            self.before.push(format!("{};", formal.declaration(&name, typed)));
            let ty = formal.element(typed);
            for (element, to) in formal.elements(&name).into_iter().zip(to) {
                self.before.push(format!("mov.{ty} {element}, {to};"));
                self.after.push(format!("mov.{ty} {to}, {element};"));
            }
            self.results.push(name);
        } else {
            self.results.push(format!("{{{}}}", to.join(", ")));
        }
    }

    fn text(self, call: &str) -> String {
        let Self { before, after, .. } = self;
        let lines = ["{".to_owned()].into_iter().chain(before).chain([call.to_owned()]).chain(after);
        lines.chain(["}".to_owned()]).collect::<Vec<_>>().join("\n")
    }
}

/// A call of one of the drawn functions, by name or through a register.
fn drawn(w: &mut Writer<'_>, uni: &str) -> String {
    let chosen = w.dice.below(w.functions.len());
    let signature = w.functions[chosen].signature.clone();
    let alike: Vec<String> =
        w.functions.iter().filter(|f| f.signature == signature).map(|f| f.name.clone()).collect();
    let mut parts = Parts::default();
    for (at, formal) in signature.params.iter().enumerate() {
        parts.argument(w, at, *formal, signature.typed);
    }
    let mut taken = Vec::new();
    for (at, formal) in signature.results.iter().enumerate() {
        parts.result(w, at, *formal, signature.typed, &mut taken);
    }
    // What a call leaves out leaves variables undefined.
    let guard = if signature.in_registers() { w.guard() } else { String::new() };
    let mut callee = w.functions[chosen].name.clone();
    let mut hint = uni;
    let mut prototype = String::new();
    if w.dice.chance(20) {
        let id = w.id();
        let (results, params) = (signature.result_list(None), signature.list(&signature.params, None));
        parts.before.push(format!("$prototype{id}: .callprototype {results}_ ({params});"));
        parts.before.push(format!(".reg .b64 %callee, %other;\nmov.u64 %callee, {callee};"));
        if alike.len() > 1 {
            let (other, p) = (alike[w.dice.below(alike.len())].clone(), w.p());
            parts.before.push(format!("mov.u64 %other, {other};\nselp.b64 %callee, %callee, %other, {p};"));
            hint = "";
        }
        callee = "%callee".to_owned();
        prototype = format!(", $prototype{id}");
    }
    let results =
        if parts.results.is_empty() { String::new() } else { format!("({}), ", parts.results.join(", ")) };
    let arguments = match (parts.arguments.is_empty(), prototype.is_empty()) {
        (true, true) => String::new(),
        _ => format!(", ({})", parts.arguments.join(", ")),
    };
    let call = format!("{guard}call{hint} {results}{callee}{arguments}{prototype};");
    parts.text(&call)
}
