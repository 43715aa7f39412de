//! Shapes of code for measurements of lowering's time: PTX of a kernel with a given number of groups of about
//! a dozen instructions.

use crate::oracle::generate::Dice;
use std::fmt::Write;

/// Values that are alive everywhere in code that spills.
const VALUES: usize = 100;
/// Predicates that are alive everywhere.
const PREDICATES: usize = 30;

/// Text of a kernel, and a source of numbers.
struct Writer {
    text: String,
    dice: Dice,
    values: usize,
}

impl Writer {
    fn new(values: usize) -> Writer {
        let text = format!(
            ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
             .reg .b32 %r<{values}>;\n.reg .b32 %n, %t;\n.reg .b64 %rd1;\n.reg .pred %p<{PREDICATES}>;\n.reg .pred %q;\n\
             ld.param.u64 %rd1, [p];\nmov.u32 %t, %tid.x;\n"
        );
        let mut w = Writer { text, dice: Dice::new(1), values };
        (0..values).for_each(|i| w.line(format_args!("ld.global.u32 %r{i}, [%rd1+{}];", 4 * i)));
        w
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{line}").expect("text takes text");
    }

    fn below(&mut self, n: usize) -> usize {
        self.dice.below(n)
    }

    /// `op` of three of the values.
    fn step(&mut self, op: &str) {
        let [d, a, b] = [(); 3].map(|()| self.below(self.values));
        self.line(format_args!("{op} %r{d}, %r{a}, %r{b};"));
    }

    fn end(mut self) -> String {
        (0..self.values).for_each(|i| self.line(format_args!("st.global.u32 [%rd1+{}], %r{i};", 4 * i)));
        self.text + "ret;\n}\n"
    }
}

/// Arithmetic without a branch.
#[must_use]
pub fn straight(groups: usize) -> String {
    let mut w = Writer::new(VALUES);
    (0..12 * groups).for_each(|_| w.step("xor.b32"));
    w.end()
}

/// A branch over every group.
#[must_use]
pub fn branches(groups: usize) -> String {
    let mut w = Writer::new(VALUES);
    for i in 0..groups {
        let (a, b) = (w.below(VALUES), w.below(VALUES));
        w.line(format_args!("setp.lt.s32 %q, %r{a}, %r{b};\n@%q bra L{i};"));
        (0..10).for_each(|_| w.step("add.s32"));
        w.line(format_args!("L{i}:"));
    }
    w.end()
}

/// A diamond and a branch far ahead in every group.
#[must_use]
pub fn tangle(groups: usize) -> String {
    let mut w = Writer::new(VALUES);
    for i in 0..groups {
        let (a, b, far) = (w.below(VALUES), w.below(VALUES), (i + 1 + w.below(6)).min(groups));
        w.line(format_args!("L{i}:\nsetp.lt.s32 %q, %r{a}, %r{b};\n@%q bra E{i};"));
        (0..5).for_each(|_| w.step("add.s32"));
        w.line(format_args!("bra F{i};\nE{i}:"));
        (0..5).for_each(|_| w.step("xor.b32"));
        w.line(format_args!("F{i}:\nsetp.eq.s32 %q, %r{a}, {i};\n@%q bra L{far};"));
    }
    w.line(format_args!("L{groups}:"));
    w.end()
}

/// A loop around every group.
#[must_use]
pub fn loops(groups: usize) -> String {
    let mut w = Writer::new(VALUES);
    for i in 0..groups {
        let a = w.below(VALUES);
        w.line(format_args!("and.b32 %n, %r{a}, 7;\nL{i}:"));
        (0..9).for_each(|_| w.step("xor.b32"));
        w.line(format_args!("add.s32 %n, %n, -1;\nsetp.gt.s32 %q, %n, 0;\n@%q bra L{i};"));
    }
    w.end()
}

/// Branches and guards on more predicates than there are.
#[must_use]
pub fn predicates(groups: usize) -> String {
    let mut w = Writer::new(VALUES);
    (0..PREDICATES).for_each(|i| w.line(format_args!("setp.lt.s32 %p{i}, %r{i}, %r{};", i + 1)));
    for i in 0..groups {
        let [p, q, a, b] = [PREDICATES, PREDICATES, VALUES, VALUES].map(|n| w.below(n));
        w.line(format_args!("setp.lt.s32 %p{p}, %r{a}, %r{b};\n@%p{q} bra L{i};"));
        for _ in 0..10 {
            let p = w.below(PREDICATES);
            w.step(&format!("@%p{p} add.s32"));
        }
        w.line(format_args!("L{i}:"));
    }
    for i in 0..PREDICATES {
        w.line(format_args!("selp.u32 %n, 1, 0, %p{i};\nst.global.u32 [%rd1+{}], %n;", 4 * i));
    }
    w.end()
}

/// As many targets as groups, each with a few instructions on `values` values, which jump on or fall through.
fn targets(groups: usize, values: usize) -> String {
    let mut w = Writer::new(values);
    let targets: Vec<String> = (0..groups).map(|i| format!("B{i}")).collect();
    w.line(format_args!("T: .branchtargets {};\nbrx.idx %t, T;", targets.join(", ")));
    for i in 0..groups {
        w.line(format_args!("B{i}:"));
        (0..4).for_each(|_| w.step("add.s32"));
        if i % 3 == 0 {
            w.line(format_args!("bra END;"));
        }
    }
    w.line(format_args!("END:"));
    w.end()
}

/// A branch table whose values fit the registers.
#[must_use]
pub fn table(groups: usize) -> String {
    targets(groups, 8)
}

/// The same with values that are live after the table and exceed the registers.
#[must_use]
pub fn table_that_spills(groups: usize) -> String {
    targets(groups, VALUES)
}

/// Stores and nothing else.
#[must_use]
pub fn stores(groups: usize) -> String {
    let mut w = Writer::new(8);
    for i in 0..12 * groups {
        let r = w.below(8);
        w.line(format_args!("st.global.u32 [%rd1+{}], %r{r};", i % 1000 * 4));
    }
    w.end()
}

/// Loads whose values are alive until the end of their hundred, and stores between them.
#[must_use]
pub fn accesses(groups: usize) -> String {
    let mut w = Writer::new(8);
    w.line(format_args!(".shared .align 4 .b8 words[256];"));
    for i in 0..groups {
        for k in 0..6 {
            let (r, at) = (w.below(8), (i * 6 + k) % 1000 * 4);
            w.line(format_args!("ld.global.u32 %n, [%rd1+{at}];\nadd.s32 %r{r}, %r{r}, %n;"));
        }
        let r = w.below(8);
        w.line(format_args!(
            "st.shared.u32 [words+{}], %r{r};\nld.shared.u32 %r{r}, [words+{}];",
            i % 64 * 4,
            i % 61 * 4
        ));
    }
    w.end()
}

/// Loads that nothing orders, summed at the end.
#[must_use]
pub fn loads(groups: usize) -> String {
    let mut w = Writer::new(1);
    for i in 0..12 * groups {
        w.line(format_args!("ld.global.u32 %n, [%rd1+{}];\nadd.s32 %r0, %r0, %n;", i % 100_000 * 4));
    }
    w.end()
}

/// Blocks that only jump on, in a row.
#[must_use]
pub fn jumps(groups: usize) -> String {
    let mut w = Writer::new(8);
    for i in 0..groups {
        let (a, next) = (w.below(8), i + 1);
        w.line(format_args!("setp.eq.s32 %q, %r{a}, {i};\n@%q bra J{i};\nadd.s32 %r1, %r1, %r{a};\nJ{i}: bra K{next};\nK{next}:"));
    }
    w.end()
}
