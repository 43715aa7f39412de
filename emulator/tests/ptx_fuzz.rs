//! Arbitrary and mutated texts: the front end never panics or hangs, and every module that it accepts is
//! consistent.

use crate::ptx_support;

use emulator::ptx::{self, Severity};
use proptest::prelude::*;
use ptx_support::check_module;

/// Parses a text and checks the module or the errors.
fn survive(text: &str) {
    match ptx::parse(text, "fuzz.ptx") {
        Ok(module) => check_module(&module),
        Err(list) => {
            assert!(list.has_errors());
            assert!(list.iter().any(|entry| entry.severity == Severity::Error));
            for entry in list.iter().take(3) {
                assert!(list.line_col(entry).line > 0);
                assert!(!entry.render(list.source(), false).is_empty());
            }
        }
    }
}

const NVCC: [&str; 2] = [include_str!("ptx_combine_sm75.ptx"), include_str!("ptx_combine_sm100.ptx")];

/// Words that make up PTX, so that random sequences get past the first token.
fn word() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        ".version",
        "8.7",
        ".target",
        "sm_75",
        ".address_size",
        "64",
        ".entry",
        ".func",
        ".visible",
        ".extern",
        ".reg",
        ".param",
        ".shared",
        ".global",
        ".const",
        ".local",
        ".b32",
        ".f32",
        ".u64",
        ".pred",
        ".v2",
        ".v4",
        ".align",
        ".ptr",
        ".pragma",
        "\"nounroll\"",
        ".loc",
        ".file",
        ".section",
        ".branchtargets",
        ".callprototype",
        ".maxntid",
        ".texref",
        ".attribute",
        ".alias",
        "add",
        "ld",
        "st",
        "mov",
        "setp",
        "call",
        "bra",
        "cvt",
        "tex",
        "ret",
        "L",
        "%r1",
        "%r",
        "%p1",
        "%tid",
        ".x",
        "_",
        "WARP_SZ",
        "generic",
        "@",
        "!",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
        ",",
        ";",
        ":",
        "+",
        "-",
        "*",
        "/",
        "%",
        "|",
        "||",
        "&&",
        "?",
        "=",
        "==",
        "<<",
        ">>",
        "~",
        "^",
        "0x7F",
        "0b1",
        "017",
        "5U",
        "1.5e3",
        "0f3F800000",
        "0d3FF0000000000000",
        "18446744073709551615",
        "@@DWARF",
        "//",
        "/*",
        "*/",
        "\n",
        "(.s64)",
        "#",
        "\"",
        "é",
        "\u{0}",
        "$",
        ".",
        "::",
    ]);
    prop_oneof![12 => fixed.prop_map(str::to_owned), 1 => any::<String>(), 2 => "[a-z%$._0-9]{1,8}"]
}

/// One change to a text, at a place given as a fraction of its length.
fn mutate(text: &mut String, place: usize, kind: u8, insert: &str) {
    let boundary = |text: &str, mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let at = boundary(text, place % (text.len() + 1));
    let end = boundary(text, (at + 1 + place % 37).min(text.len()));
    match kind % 4 {
        0 => text.insert_str(at, insert),
        1 => text.replace_range(at..end, insert),
        2 => text.replace_range(at..end, ""),
        _ => {
            let copy = text[at..end].to_owned();
            let other = boundary(text, place.rotate_left(13) % (text.len() + 1));
            text.insert_str(other, &copy);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 384, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        survive(&text);
    }

    #[test]
    fn token_soup_is_survived(words in prop::collection::vec(word(), 0..120), glue in any::<bool>()) {
        survive(&words.join(if glue { "" } else { " " }));
    }

    #[test]
    fn token_soup_in_a_kernel_is_survived(words in prop::collection::vec(word(), 0..80)) {
        let head = ".version 8.7\n.target sm_75\n.address_size 64\n.entry k(.param .u64 p) {\n.reg .b32 %r<4>;\n";
        survive(&format!("{head}{}", words.join(" ")));
    }

    #[test]
    fn mutated_ptx_is_survived(
        which in 0..2usize,
        changes in prop::collection::vec((any::<usize>(), any::<u8>(), word()), 1..6),
    ) {
        let mut text = NVCC[which].to_owned();
        for (place, kind, insert) in &changes {
            mutate(&mut text, *place, *kind, insert);
        }
        survive(&text);
    }

    #[test]
    fn mutated_instructions_are_survived(
        line in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        cut in any::<(u8, u8)>(),
    ) {
        let text = include_str!("ptx_forms.ptx");
        let (head, body) = text.split_once("// Forms of compiled programs.\n").expect("the marker");
        let lines: Vec<&str> = body.lines().filter(|line| line.ends_with(';')).collect();
        // An opcode with the operands of another, and either with parts cut out.
        let words = |index: prop::sample::Index| lines[index.index(lines.len())].split_once(' ').unwrap_or(("ret", ";"));
        let (opcode, operands) = (words(line).0, words(other).1);
        let keep = |text: &str, cut: u8, by: char| -> String {
            let parts: Vec<&str> = text.split(by).enumerate().filter(|(at, _)| cut as usize % 8 != *at).map(|part| part.1).collect();
            parts.join(&by.to_string())
        };
        survive(&format!("{head}{} {}\nLABEL: ret;\n}}\n", keep(opcode, cut.0, '.'), keep(operands, cut.1, ',')));
    }
}

#[test]
fn deep_nesting_is_refused_not_followed() {
    let head = ".version 8.7\n.target sm_75\n.address_size 64\n";
    let many = |part: &str| part.repeat(100_000);
    let kernel = |statements: &str| format!("{head}.entry k() {{ .reg .b32 %r<4>;\n{statements}\n}}");
    for text in [
        kernel(&many("{")),
        kernel(&format!("{}{}", many("{"), many("}"))),
        kernel(&format!("mov.u32 %r1, {}1{};", many("("), many(")"))),
        kernel(&format!("mov.u32 %r1, {}1;", many("-"))),
        kernel(&format!("mov.u32 %r1, {}1;", many("!"))),
        kernel(&format!("mov.u32 %r1, {}1;", many("(.s64)"))),
        kernel(&format!("mov.u32 %r1, {}1;", many("1+"))),
        kernel(&format!("mov.u32 %r1, {}1;", many("1?1:"))),
        kernel(&format!("ld.u32 %r1, {}1;", many("["))),
        kernel(&format!("mov.u32 {}1;", many("{"))),
        kernel(&format!("add{} %r1, %r1, %r1;", many(".u32"))),
        kernel(&format!("mov.u32 %r1, {};", many("a["))),
        format!("{head}.global .b32 x = {}1{};", many("{"), many("}")),
        format!("{head}.global .b32 x{};", many("[2]")),
        format!("{head}.global .b64 x = {}x{};", many("generic("), many(")")),
        format!("{head}.section .debug {{ {}", many("{")),
        many(".entry k() { ret;\n"),
        many("@"),
    ] {
        survive(&text);
    }
}

#[test]
fn huge_declarations_cost_no_memory() {
    let head = ".version 8.7\n.target sm_75\n.address_size 64\n";
    for text in [
        format!("{head}.global .b8 x[1099511627776] = {{1}};"),
        format!("{head}.global .b8 x[1099511627777];"),
        format!("{head}.global .b64 x[4294967296][4294967296];"),
        format!("{head}.global .b8 x[2][1073741824] = {{ {{1}}, {{1}} }};"),
        format!("{head}.entry k() {{ .reg .b32 %r<1000000>; mov.u32 %r999999, 1; mov.u32 %r1000000, 1; }}"),
        format!("{head}.entry k() {{ .reg .b32 %r<18446744073709551615>; }}"),
        format!("{head}.entry k() {{ .param .b32 p<4000000000>; }}"),
    ] {
        survive(&text);
    }
}
