//! Lowering takes time about as the code is long: of each shape, four times the code may take no more than eight times the
//! processor time. What is quadratic takes sixteen times as much.

use emulator::lower::LowerOptions;
use emulator::session::LoadedModule;
use std::fmt::Write;
use std::time::Duration;
use tests::trying::Stopwatch;

/// Values that are alive everywhere in code that spills.
const VALUES: usize = 100;
/// Predicates that are alive everywhere.
const PREDICATES: usize = 30;

/// Text of a kernel, and a source of numbers.
struct Writer {
    text: String,
    state: u64,
}

impl Writer {
    fn new(values: usize) -> Writer {
        let text = format!(
            ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
             .reg .b32 %r<{values}>;\n.reg .b32 %n, %t;\n.reg .b64 %rd1;\n.reg .pred %p<{PREDICATES}>;\n.reg .pred %q;\n\
             ld.param.u64 %rd1, [p];\nmov.u32 %t, %tid.x;\n"
        );
        let mut w = Writer { text, state: 1 };
        (0..values).for_each(|i| w.line(format_args!("ld.global.u32 %r{i}, [%rd1+{}];", 4 * i)));
        w
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{line}").expect("text takes text");
    }

    fn below(&mut self, n: usize) -> usize {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % n
    }

    /// `op` of three of so many values.
    fn step(&mut self, op: &str, values: usize) {
        let [d, a, b] = [(); 3].map(|()| self.below(values));
        self.line(format_args!("{op} %r{d}, %r{a}, %r{b};"));
    }

    fn end(mut self, values: usize) -> String {
        (0..values).for_each(|i| self.line(format_args!("st.global.u32 [%rd1+{}], %r{i};", 4 * i)));
        self.text + "ret;\n}\n"
    }
}

fn straight(groups: usize) -> String {
    let mut w = Writer::new(VALUES);
    (0..12 * groups).for_each(|_| w.step("xor.b32", VALUES));
    w.end(VALUES)
}

fn branches(groups: usize) -> String {
    let mut w = Writer::new(VALUES);
    for i in 0..groups {
        let (a, b) = (w.below(VALUES), w.below(VALUES));
        w.line(format_args!("setp.lt.s32 %q, %r{a}, %r{b};\n@%q bra L{i};"));
        (0..10).for_each(|_| w.step("add.s32", VALUES));
        w.line(format_args!("L{i}:"));
    }
    w.end(VALUES)
}

/// A diamond and a branch far ahead in every group.
fn tangle(groups: usize) -> String {
    let mut w = Writer::new(VALUES);
    for i in 0..groups {
        let (a, b, far) = (w.below(VALUES), w.below(VALUES), (i + 1 + w.below(6)).min(groups));
        w.line(format_args!("L{i}:\nsetp.lt.s32 %q, %r{a}, %r{b};\n@%q bra E{i};"));
        (0..5).for_each(|_| w.step("add.s32", VALUES));
        w.line(format_args!("bra F{i};\nE{i}:"));
        (0..5).for_each(|_| w.step("xor.b32", VALUES));
        w.line(format_args!("F{i}:\nsetp.eq.s32 %q, %r{a}, {i};\n@%q bra L{far};"));
    }
    w.line(format_args!("L{groups}:"));
    w.end(VALUES)
}

fn loops(groups: usize) -> String {
    let mut w = Writer::new(VALUES);
    for i in 0..groups {
        let a = w.below(VALUES);
        w.line(format_args!("and.b32 %n, %r{a}, 7;\nL{i}:"));
        (0..9).for_each(|_| w.step("xor.b32", VALUES));
        w.line(format_args!("add.s32 %n, %n, -1;\nsetp.gt.s32 %q, %n, 0;\n@%q bra L{i};"));
    }
    w.end(VALUES)
}

fn predicates(groups: usize) -> String {
    let mut w = Writer::new(VALUES);
    (0..PREDICATES).for_each(|i| w.line(format_args!("setp.lt.s32 %p{i}, %r{i}, %r{};", i + 1)));
    for i in 0..groups {
        let [p, q, a, b] = [PREDICATES, PREDICATES, VALUES, VALUES].map(|n| w.below(n));
        w.line(format_args!("setp.lt.s32 %p{p}, %r{a}, %r{b};\n@%p{q} bra L{i};"));
        for _ in 0..10 {
            let p = w.below(PREDICATES);
            w.step(&format!("@%p{p} add.s32"), VALUES);
        }
        w.line(format_args!("L{i}:"));
    }
    w.end(VALUES)
}

/// As many targets as groups, each with a few instructions, which jump on or fall through.
fn table(groups: usize) -> String {
    let mut w = Writer::new(8);
    let targets: Vec<String> = (0..groups).map(|i| format!("B{i}")).collect();
    w.line(format_args!("T: .branchtargets {};\nbrx.idx %t, T;", targets.join(", ")));
    for i in 0..groups {
        w.line(format_args!("B{i}:"));
        (0..4).for_each(|_| w.step("add.s32", 8));
        if i % 3 == 0 {
            w.line(format_args!("bra END;"));
        }
    }
    w.line(format_args!("END:"));
    w.end(8)
}

/// The same with values of each target's own that are alive behind the table.
fn table_that_spills(groups: usize) -> String {
    let mut w = Writer::new(VALUES);
    let targets: Vec<String> = (0..groups).map(|i| format!("B{i}")).collect();
    w.line(format_args!("T: .branchtargets {};\nbrx.idx %t, T;", targets.join(", ")));
    for i in 0..groups {
        w.line(format_args!("B{i}:"));
        (0..4).for_each(|_| w.step("add.s32", VALUES));
        if i % 3 == 0 {
            w.line(format_args!("bra END;"));
        }
    }
    w.line(format_args!("END:"));
    w.end(VALUES)
}

fn stores(groups: usize) -> String {
    let mut w = Writer::new(8);
    for i in 0..12 * groups {
        let r = w.below(8);
        w.line(format_args!("st.global.u32 [%rd1+{}], %r{r};", i % 1000 * 4));
    }
    w.end(8)
}

/// Loads whose values are alive until the end of their hundred, and stores between them.
fn accesses(groups: usize) -> String {
    let mut w = Writer::new(8);
    for i in 0..groups {
        for k in 0..6 {
            let (r, at) = (w.below(8), (i * 6 + k) % 1000 * 4);
            w.line(format_args!("ld.global.u32 %n, [%rd1+{at}];\nadd.s32 %r{r}, %r{r}, %n;"));
        }
        let r = w.below(8);
        w.line(format_args!(
            "st.shared.u32 [{}], %r{r};\nld.shared.u32 %r{r}, [{}];",
            i % 64 * 4,
            i % 61 * 4
        ));
    }
    w.end(8)
}

/// Loads that nothing orders, summed at the end.
fn loads(groups: usize) -> String {
    let mut w = Writer::new(1);
    for i in 0..12 * groups {
        w.line(format_args!("ld.global.u32 %n, [%rd1+{}];\nadd.s32 %r0, %r0, %n;", i % 100_000 * 4));
    }
    w.end(1)
}

/// Blocks that only jump on, in a row.
fn jumps(groups: usize) -> String {
    let mut w = Writer::new(8);
    for i in 0..groups {
        let (a, next) = (w.below(8), i + 1);
        w.line(format_args!("setp.eq.s32 %q, %r{a}, {i};\n@%q bra J{i};\nadd.s32 %r1, %r1, %r{a};\nJ{i}: bra K{next};\nK{next}:"));
    }
    w.end(8)
}

fn time(text: &str, max_registers: u16) -> Duration {
    let module = LoadedModule::parse(text, "growth.ptx").unwrap_or_else(|e| panic!("{e}"));
    let kernel = module.kernel("k").expect("the kernel is there");
    let options = LowerOptions { max_registers, check: false, ..LowerOptions::default() };
    let watch = Stopwatch::of_thread();
    let lowered = module.lower(kernel, &options).unwrap_or_else(|e| panic!("{e}"));
    let time = watch.processor_time();
    assert!(lowered.unsupported.is_empty());
    time
}

/// The least of several times of a length and of four times that length.
fn grows_linearly(shape: fn(usize) -> String, groups: usize, max_registers: u16) {
    let (short, long) = (shape(groups), shape(4 * groups));
    let least =
        |text: &str, runs: usize| (0..runs).map(|_| time(text, max_registers)).min().unwrap_or_default();
    let (once, four_times) = (least(&short, 3), least(&long, 2));
    println!("{groups} groups take {once:?}, {} take {four_times:?}", 4 * groups);
    let ratio = four_times.as_secs_f64() / once.as_secs_f64().max(0.001);
    assert!(
        ratio < 8.0,
        "{groups} groups take {once:?}, {} take {four_times:?}: {ratio:.1} times",
        4 * groups
    );
}

#[test]
fn straight_code_that_spills() {
    grows_linearly(straight, 200, 24);
}

#[test]
fn branches_that_spill() {
    grows_linearly(branches, 150, 24);
}

#[test]
fn branches_ahead_that_spill() {
    grows_linearly(tangle, 150, 24);
}

#[test]
fn loops_that_spill() {
    grows_linearly(loops, 150, 24);
}

#[test]
fn predicates_that_spill() {
    grows_linearly(predicates, 100, 24);
}

#[test]
fn branch_tables() {
    grows_linearly(table, 1000, 255);
}

#[test]
fn branch_tables_that_spill() {
    grows_linearly(table_that_spills, 300, 24);
}

#[test]
fn runs_of_stores() {
    grows_linearly(stores, 500, 255);
}

#[test]
fn runs_of_loads() {
    grows_linearly(loads, 500, 255);
}

#[test]
fn accesses_of_two_spaces() {
    grows_linearly(accesses, 500, 255);
}

#[test]
fn jumps_in_a_row() {
    grows_linearly(jumps, 2000, 255);
}
