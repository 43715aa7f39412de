//! The opcode table is the only list of opcodes: no other file of the workspace names several memory opcodes in one
//! pattern, where a query of the table would do. And the numbers of its rows never change.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use trace_format::isa::{Kind, Op};

/// Names of the variants of memory opcodes.
fn memory_opcodes() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    Op::every(|op| {
        if op.info().memory.is_some() {
            let text = format!("{op:?}");
            names.insert(text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned());
        }
    });
    names
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the workspace").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Alternatives of patterns: `Op::A { .. } | Op::B { .. }` gives [A, B].
fn patterns(text: &str) -> Vec<Vec<&str>> {
    let mut chains: Vec<Vec<&str>> = Vec::new();
    let mut end = usize::MAX;
    for (at, _) in text.match_indices("Op::") {
        let rest = &text[at + 4..];
        let length = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let (name, behind) = (&rest[..length], rest[length..].trim_start());
        // Opcodes of the machine carry their modifiers in braces.
        let Some(body) = behind.strip_prefix('{') else { continue };
        let Some(close) = body.find('}') else { continue };
        let joined = end <= at
            && text[end..at].trim_matches(|c: char| c.is_whitespace() || "()VOpM:".contains(c)) == "|";
        match chains.last_mut().filter(|_| joined) {
            Some(chain) => chain.push(name),
            None => chains.push(vec![name]),
        }
        end = text.len() - body.len() + close + 1;
    }
    chains
}

#[test]
fn alternatives_of_patterns_are_found() {
    let text = "match op { VOp::M(Op::Lds { scale, .. }) | VOp::M(Op::Sts { .. }) => 1, Op::Ldg { .. }\n | Op::Mov {} => 2 }";
    assert_eq!(patterns(text), [vec!["Lds", "Sts"], vec!["Ldg", "Mov"]]);
}

#[test]
fn no_list_of_memory_opcodes_stands_outside_of_the_table() {
    let memory = memory_opcodes();
    assert!(memory.contains("Ldg") && memory.contains("Sured") && !memory.contains("Mov"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let mut files = Vec::new();
    sources(root, &mut files);
    assert!(files.len() > 300, "only {} files were found", files.len());
    let mut lists = Vec::new();
    for file in files.iter().filter(|file| !file.ends_with("trace-format/tests/one_table.rs")) {
        let text = fs::read_to_string(file).expect("a source file");
        for chain in patterns(&text) {
            if chain.iter().filter(|name| memory.contains(**name)).count() > 1 {
                lists.push(format!("{}: {}", file.display(), chain.join(" | ")));
            }
        }
    }
    assert!(lists.is_empty(), "ask `Op::info` instead:\n{}", lists.join("\n"));
}

#[test]
fn every_row_describes_what_its_kind_says() {
    Op::every(|op| {
        let info = op.info();
        assert_eq!(info.memory.is_some(), info.kind.is_memory(), "{op:?}");
        let bytes = info.memory.map_or(0, |memory| memory.bytes());
        assert_eq!(bytes > 0, info.kind.is_memory(), "{op:?}");
        if let Some(memory) = info.memory {
            let pair = matches!(memory.address, trace_format::isa::Address::Wide);
            assert!(!pair || info.src_regs[0] == 2, "{op:?} has no pair for its address");
            assert!(!op.takes_address() || pair || info.src_regs[0] == 1, "{op:?} has a pair as address");
        }
        if info.kind == Kind::Pure {
            let predicates = info.pred_dsts > 0 || op.writes_all_predicates();
            assert!(info.dst_regs > 0 || predicates, "{op:?} computes nothing");
        }
    });
}

/// Rows have been added at the end of the table, and none was renumbered, since the list was written.
#[test]
fn numbers_are_those_of_the_committed_list() {
    let listed: Vec<(u16, &str)> = include_str!("opcodes.txt")
        .lines()
        .map(|line| {
            let (number, mnemonic) = line.split_once(' ').expect("a number and a mnemonic");
            (number.parse().expect("a number"), mnemonic)
        })
        .collect();
    assert_eq!(Op::ROWS, listed, "append new rows to trace-format/tests/opcodes.txt; never change old ones");
    Op::every(|op| {
        let written = postcard::to_stdvec(&op).expect("an opcode");
        assert_eq!(u16::from(written[0]), op.number(), "{op:?} is written as another number");
        assert_eq!(Op::ROWS[usize::from(op.number())].1, op.info().mnemonic);
    });
}

/// Small tables, as they would grow and change.
mod tables {
    macro_rules! table {
        ($module:ident: $($rows:tt)+) => {
            pub(crate) mod $module {
                #[allow(unused_imports, reason = "not every table has modifiers")]
                use serde::{Deserialize, Serialize};
                use trace_format::isa::*;

                trace_format::isa_table! { $($rows)+ }
            }
        };
    }

    table! { first:
        /// d = a.
        0 Mov {} = "MOV", Int, Alu, IntAdd, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Own => pure(mov);
        /// Ends.
        1 Exit {} = "EXIT", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Exit);
    }
    table! { longer:
        /// d = a.
        0 Mov {} = "MOV", Int, Alu, IntAdd, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Own => pure(mov);
        /// Ends.
        1 Exit {} = "EXIT", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Exit);
        /// Nothing.
        2 Nop {} = "NOP", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Sync);
    }
    table! { renamed:
        /// d = a.
        0 Mov {} = "MOVE", Int, Alu, IntAdd, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Own => pure(mov);
        /// Ends.
        1 Exit {} = "EXIT", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Exit);
    }
    table! { wider:
        /// d = a, a pair.
        0 Mov {} = "MOV", Int, Alu, IntAdd, dst 2, src [2, 0, 0], Bits, pred 0 <- 0, Own => pure(mov);
        /// Ends.
        1 Exit {} = "EXIT", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Exit);
    }
    table! { modified:
        /// d = a.
        0 Mov { sign: Sign } = "MOV", Int, Alu, IntAdd, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::External);
        /// Ends.
        1 Exit {} = "EXIT", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Exit);
    }
    table! { slower:
        /// d = a.
        0 Mov {} = "MOV", Sfu, Sfu, IntMisc, dst 1, src [1, 0, 0], Bits, pred 0 <- 0, Own => pure(mov);
        /// Ends.
        1 Exit {} = "EXIT", Control, NoCollector, Control, dst 0, src [0, 0, 0], Bits, pred 0 <- 0, Own => outside(Kind::Exit);
    }
}

#[test]
fn a_row_at_the_end_leaves_the_numbers_of_the_others() {
    use tables::{first, longer};
    assert_eq!(first::Op::ROWS, &longer::Op::ROWS[..2]);
    for (old, new) in [
        (postcard::to_stdvec(&first::Op::Mov {}), postcard::to_stdvec(&longer::Op::Mov {})),
        (postcard::to_stdvec(&first::Op::Exit {}), postcard::to_stdvec(&longer::Op::Exit {})),
    ] {
        assert_eq!(old.expect("an opcode"), new.expect("an opcode"));
    }
    assert_eq!(longer::Op::Nop {}.number(), 2);
}

#[test]
fn a_table_that_is_read_in_another_way_has_another_hash() {
    use tables::{first, longer, modified, renamed, slower, wider};
    let hashes = BTreeSet::from([
        first::Op::table_hash(),
        longer::Op::table_hash(),
        renamed::Op::table_hash(),
        wider::Op::table_hash(),
        modified::Op::table_hash(),
    ]);
    assert_eq!(hashes.len(), 5, "{hashes:x?}");
    // Units and latencies are not in a trace: whoever changes them reads older traces as before.
    assert_eq!(first::Op::table_hash(), slower::Op::table_hash());
}

#[test]
fn samples_show_every_value_of_every_modifier() {
    let (mut all, mut samples) = (BTreeSet::new(), BTreeSet::new());
    let seen = |op: Op, of: &mut BTreeSet<String>| {
        let text = format!("{op:?}");
        let (name, fields) = text.split_once(' ').unwrap_or((&text, ""));
        of.insert(name.to_owned());
        of.extend(fields.split(", ").map(|field| format!("{name} {}", field.trim_matches(['{', '}', ' ']))));
    };
    Op::every(|op| seen(op, &mut all));
    Op::samples(|op| seen(op, &mut samples));
    assert!(all.len() > 400, "{}", all.len());
    assert_eq!(all, samples);
}

#[test]
fn modifiers_are_replaced_by_type() {
    use trace_format::isa::{MemOrder, MemWidth, Scale};
    let load = Op::Lds { width: MemWidth::B32, scale: Scale::X1 };
    assert_eq!(load.with(Scale::X8), Some(Op::Lds { width: MemWidth::B32, scale: Scale::X8 }));
    assert_eq!(load.with(MemOrder::Strong), None);
}
