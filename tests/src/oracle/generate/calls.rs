//! Calls of functions, by name and through a register.

use super::signature::{Class, Formal, Storage};
use super::writer::Writer;

/// A register of a class, none of those that are taken.
fn other_than(w: &mut Writer<'_>, class: &Class, taken: &mut Vec<String>) -> String {
    let found = (0..8).map(|_| w.register(class.letter)).find(|name| !taken.contains(name));
    let name = found.unwrap_or_else(|| "_".to_owned());
    taken.push(name.clone());
    name
}

/// A call of a function.
pub(crate) fn call(w: &mut Writer<'_>) -> String {
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
        if formal.storage != Storage::Register {
            let name = formal.name("arg", at);
            self.before.push(format!("{};", formal.declaration(&name, typed)));
            let from: Vec<String> = (0..formal.lanes).map(|_| w.register(letter)).collect();
            self.before.extend(formal.access(w.dice, "st", &name, &from, typed));
            self.arguments.push(name);
            return;
        }
        let values: Vec<String> = (0..formal.lanes)
            .map(|_| match letter {
                'p' if w.strict() => w.p(),
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
        if formal.storage != Storage::Register {
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
