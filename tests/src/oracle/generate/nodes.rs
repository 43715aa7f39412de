//! Prints nodes as PTX text and declares the registers that the text names.

use super::Node;
use super::shape::Pools;
use std::fmt::Write;

/// Bits, letter and declared types of each kind of register.
const KINDS: [(char, &str, &str); 6] = [
    ('h', "b16", "u16"),
    ('r', "b32", "u32"),
    ('d', "b64", "s64"),
    ('f', "b32", "f32"),
    ('g', "b64", "f64"),
    ('p', "pred", "pred"),
];

/// Declares the registers of each kind, and what else a body names.
///
/// Words and halves are declared by width where the body has packed or half-precision numbers, which take no others.
pub(crate) fn registers(text: &mut String, pools: Pools, typed: bool, body: &str) {
    let halves = body.contains("f16") || body.contains("16x2");
    for (letter, by_width, by_type) in KINDS {
        let by_type = if halves && matches!(letter, 'h' | 'r') { by_width } else { by_type };
        let (count, ty) = (pools.of(letter), if typed { by_type } else { by_width });
        let _ = writeln!(text, "\t.reg .{ty} %{letter}<{count}>;");
    }
    if body.contains("%w") {
        *text += "\t.reg .b128 %w0, %w1;\n";
    }
    let mut counters: Vec<usize> = Vec::new();
    for part in body.split("%c").skip(1) {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        if let Ok(id) = digits.parse::<usize>() {
            counters.push(id);
        }
    }
    counters.sort_unstable();
    counters.dedup();
    for id in counters {
        let _ = writeln!(text, "\t.reg .b32 %c{id};\n\t.reg .pred %q{id};");
    }
}

/// Prints nodes one after the other.
pub(crate) fn print_all(nodes: &[Node], text: &mut String) {
    for node in nodes {
        print_node(node, text);
    }
}

fn print_rolled(
    id: usize,
    first: &[String],
    inverted: bool,
    copied_late: bool,
    body: &[Node],
    text: &mut String,
) {
    let count = first.len();
    let _ = writeln!(text, "\t{{\n\t.reg .pred %k{id}_<{count}>, %q{id};");
    for line in first {
        let _ = writeln!(text, "\t{line}");
    }
    let _ = writeln!(text, "$head{id}:");
    let copy = format!("\tmov.pred %q{id}, %k{id}_0;");
    if !copied_late {
        let _ = writeln!(text, "{copy}");
    }
    print_all(body, text);
    let _ = writeln!(text, "$next{id}:");
    if copied_late {
        let _ = writeln!(text, "{copy}");
    }
    for at in 1..count {
        let _ = writeln!(text, "\tmov.pred %k{id}_{}, %k{id}_{at};", at - 1);
    }
    let (last, not) = if inverted { ("-1", "!") } else { ("0", "") };
    let _ = writeln!(text, "\tmov.pred %k{id}_{}, {last};", count - 1);
    let _ = writeln!(text, "\t@{not}%q{id} bra $head{id};\n$end{id}:\n\t}}");
}

fn print_node(node: &Node, text: &mut String) {
    match node {
        Node::Line(line) => {
            for line in line.lines() {
                let _ = writeln!(text, "\t{line}");
            }
        }
        Node::If { id, setup, condition, then, otherwise } => {
            for line in setup.lines() {
                let _ = writeln!(text, "\t{line}");
            }
            let inverse = match condition.strip_prefix('!') {
                Some(plain) => plain.to_owned(),
                None => format!("!{condition}"),
            };
            let _ = writeln!(text, "\t@{inverse} bra $else{id};");
            print_all(then, text);
            if otherwise.is_empty() {
                let _ = writeln!(text, "$else{id}:");
            } else {
                let _ = writeln!(text, "\tbra.uni $end{id};\n$else{id}:");
                print_all(otherwise, text);
                let _ = writeln!(text, "$end{id}:");
            }
        }
        Node::Loop { id, trips, tests_first, body } => {
            let _ = writeln!(text, "\t{trips}");
            if *tests_first {
                let _ = writeln!(text, "\tsetp.eq.s32 %q{id}, %c{id}, 0;\n\t@%q{id} bra $end{id};");
            }
            let _ = writeln!(text, "$head{id}:");
            print_all(body, text);
            let _ = writeln!(text, "$next{id}:\n\tadd.s32 %c{id}, %c{id}, -1;");
            let _ = writeln!(text, "\tsetp.gt.s32 %q{id}, %c{id}, 0;\n\t@%q{id} bra $head{id};\n$end{id}:");
        }
        Node::Rolled { id, first, inverted, copied_late, body } => {
            print_rolled(*id, first, *inverted, *copied_late, body, text);
        }
        Node::Irreducible { id, trips, condition, first, second } => {
            let _ = writeln!(text, "\t{trips}\n\t@{condition} bra $middle{id};\n$head{id}:");
            print_all(first, text);
            let _ = writeln!(text, "$middle{id}:");
            print_all(second, text);
            let _ = writeln!(text, "\tadd.s32 %c{id}, %c{id}, -1;");
            let _ = writeln!(text, "\tsetp.gt.s32 %q{id}, %c{id}, 0;\n\t@%q{id} bra $head{id};");
        }
        Node::Forward { id, blocks } => {
            for (at, (code, jump)) in blocks.iter().enumerate() {
                let _ = writeln!(text, "$block{id}_{at}:");
                print_all(code, text);
                if let Some((condition, target)) = jump {
                    let _ = writeln!(text, "\t@{condition} bra $block{id}_{target};");
                }
            }
            let _ = writeln!(text, "$block{id}_{}:", blocks.len());
        }
        Node::Switch { id, selector, cases, falls_through } => {
            let list: Vec<String> = (0..cases.len()).map(|case| format!("$case{id}_{case}")).collect();
            let _ = writeln!(text, "\t{selector}\n\t$table{id}: .branchtargets {};", list.join(", "));
            let _ = writeln!(text, "\tbrx.idx %c{id}, $table{id};");
            for (case, code) in cases.iter().enumerate() {
                let _ = writeln!(text, "$case{id}_{case}:");
                print_all(code, text);
                if !(*falls_through && case == 0) {
                    let _ = writeln!(text, "\tbra.uni $end{id};");
                }
            }
            let _ = writeln!(text, "$end{id}:");
        }
    }
}
