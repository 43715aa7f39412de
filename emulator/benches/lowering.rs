//! Processor time of lowering code that does not fit its registers, by its length. Twice the code should take about
//! twice the time.
//!
//! Items are PTX instructions. `cargo bench -p emulator --bench lowering`

use divan::Bencher;
use divan::counter::ItemsCount;
use emulator::lower::LowerOptions;
use emulator::session::LoadedModule;
use std::fmt::Write;

fn main() {
    divan::main();
}

/// Lengths of the code, in groups of a dozen instructions.
const GROUPS: [usize; 4] = [50, 100, 200, 400];
/// Values that are alive everywhere.
const VALUES: usize = 100;
/// Predicates that are alive everywhere.
const PREDICATES: usize = 30;

/// Text of a kernel, and a source of numbers below a limit.
struct Writer {
    text: String,
    state: u64,
}

impl Writer {
    fn new() -> Writer {
        let text = format!(
            ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
             .reg .b32 %r<{VALUES}>;\n.reg .b32 %n;\n.reg .b64 %rd1;\n.reg .pred %p<{PREDICATES}>;\n.reg .pred %q;\n\
             ld.param.u64 %rd1, [p];\n"
        );
        let mut w = Writer { text, state: 1 };
        (0..VALUES).for_each(|i| w.line(format_args!("ld.global.u32 %r{i}, [%rd1+{}];", 4 * i)));
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

    /// `op` of three values.
    fn step(&mut self, op: &str) {
        let [d, a, b] = [(); 3].map(|()| self.below(VALUES));
        self.line(format_args!("{op} %r{d}, %r{a}, %r{b};"));
    }

    fn end(mut self) -> String {
        (0..VALUES).for_each(|i| self.line(format_args!("st.global.u32 [%rd1+{}], %r{i};", 4 * i)));
        self.text + "ret;\n}\n"
    }
}

fn straight(groups: usize) -> String {
    let mut w = Writer::new();
    (0..12 * groups).for_each(|_| w.step("xor.b32"));
    w.end()
}

fn branches(groups: usize) -> String {
    let mut w = Writer::new();
    for i in 0..groups {
        let (a, b) = (w.below(VALUES), w.below(VALUES));
        w.line(format_args!("setp.lt.s32 %q, %r{a}, %r{b};\n@%q bra L{i};"));
        (0..10).for_each(|_| w.step("add.s32"));
        w.line(format_args!("L{i}:"));
    }
    w.end()
}

fn loops(groups: usize) -> String {
    let mut w = Writer::new();
    for i in 0..groups {
        let a = w.below(VALUES);
        w.line(format_args!("and.b32 %n, %r{a}, 7;\nL{i}:"));
        (0..9).for_each(|_| w.step("xor.b32"));
        w.line(format_args!("add.s32 %n, %n, -1;\nsetp.gt.s32 %q, %n, 0;\n@%q bra L{i};"));
    }
    w.end()
}

fn predicates(groups: usize) -> String {
    let mut w = Writer::new();
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

fn lower_with_few_registers(bencher: Bencher<'_, '_>, text: &str) {
    let module = LoadedModule::parse(text, "lowering.ptx").unwrap_or_else(|e| panic!("{e}"));
    let kernel = module.kernel("k").expect("the kernel is there");
    let options = LowerOptions { max_registers: 24, check: false, ..LowerOptions::default() };
    let instructions = text.lines().filter(|line| line.ends_with(';')).count();
    bencher
        .counter(ItemsCount::new(instructions))
        .bench_local(|| module.lower(kernel, &options).unwrap_or_else(|e| panic!("{e}")));
}

#[divan::bench(args = GROUPS, sample_count = 3)]
fn straight_code(bencher: Bencher<'_, '_>, groups: usize) {
    lower_with_few_registers(bencher, &straight(groups));
}

#[divan::bench(args = GROUPS, sample_count = 3)]
fn many_branches(bencher: Bencher<'_, '_>, groups: usize) {
    lower_with_few_registers(bencher, &branches(groups));
}

#[divan::bench(args = GROUPS, sample_count = 3)]
fn many_loops(bencher: Bencher<'_, '_>, groups: usize) {
    lower_with_few_registers(bencher, &loops(groups));
}

#[divan::bench(args = GROUPS, sample_count = 3)]
fn many_predicates(bencher: Bencher<'_, '_>, groups: usize) {
    lower_with_few_registers(bencher, &predicates(groups));
}
