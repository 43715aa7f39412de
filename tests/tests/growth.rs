//! Lowering's time is about proportional to the length of the code: for each shape, four times the code may take at
//! most eight times the processor time. A quadratic algorithm takes sixteen times as much. The outlines of a library's
//! kernels look at the code that all of them call once.

use emulator::lower::LowerOptions;
use emulator::session::LoadedModule;
use std::time::Duration;
use tests::shapes;
use tests::trying::Stopwatch;

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
    let (mut once, mut four_times, mut ratio) = (Duration::MAX, Duration::MAX, f64::MAX);
    // What else runs on the computer may slow one measurement: measured again, an algorithm that is quadratic stays so.
    for _ in 0..4 {
        (once, four_times) = (once.min(least(&short, 3)), four_times.min(least(&long, 2)));
        println!("{groups} groups take {once:?}, {} take {four_times:?}", 4 * groups);
        ratio = four_times.as_secs_f64() / once.as_secs_f64().max(0.001);
        if ratio < 8.0 {
            break;
        }
    }
    assert!(
        ratio < 8.0,
        "{groups} groups take {once:?}, {} take {four_times:?}: {ratio:.1} times",
        4 * groups
    );
}

#[test]
fn straight_code_that_spills() {
    grows_linearly(shapes::straight, 200, 24);
}

#[test]
fn branches_that_spill() {
    grows_linearly(shapes::branches, 150, 24);
}

#[test]
fn branches_ahead_that_spill() {
    grows_linearly(shapes::tangle, 150, 24);
}

#[test]
fn loops_that_spill() {
    grows_linearly(shapes::loops, 150, 24);
}

#[test]
fn predicates_that_spill() {
    grows_linearly(shapes::predicates, 100, 24);
}

#[test]
fn branch_tables() {
    grows_linearly(shapes::table, 1000, 255);
}

#[test]
fn branch_tables_that_spill() {
    grows_linearly(shapes::table_that_spills, 300, 24);
}

#[test]
fn runs_of_stores() {
    grows_linearly(shapes::stores, 500, 255);
}

#[test]
fn runs_of_loads() {
    grows_linearly(shapes::loads, 500, 255);
}

#[test]
fn accesses_of_two_spaces() {
    grows_linearly(shapes::accesses, 500, 255);
}

#[test]
fn jumps_in_a_row() {
    grows_linearly(shapes::jumps, 2000, 255);
}

/// A library of so many kernels, each of which calls one of two large functions through a register.
fn library(kernels: usize) -> String {
    let function = |name: &str| {
        let body = "add.u32 %r0, %r0, %r0;\n".repeat(120_000);
        format!(".visible .func {name}() {{ .reg .b32 %r<1>; mov.u32 %r0, 1;\n{body}ret; }}\n")
    };
    let kernel = |number: usize| {
        format!(
            ".visible .entry k{number}(.param .u64 f) {{ .reg .b64 %rd<1>; ld.param.u64 %rd0, [f];\n\
             prototype: .callprototype ()_ (); call %rd0, (), prototype; ret; }}\n"
        )
    };
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let table = ".visible .global .align 8 .u64 table[2] = {one, two};\n";
    let kernels: String = (0..kernels).map(kernel).collect();
    [head, &function("one"), &function("two"), table, &kernels].concat()
}

/// The least time of asking about all kernels of a library.
fn time_of_outlines(kernels: usize) -> Duration {
    let module = LoadedModule::parse(&library(kernels), "library.ptx").unwrap_or_else(|e| panic!("{e}"));
    let options = LowerOptions::default();
    let once = || {
        let fresh = module.clone();
        let watch = Stopwatch::of_thread();
        for (id, kernel) in fresh.module.kernels() {
            assert!(fresh.outline(id, &options).is_some_and(|outline| outline.is_ok()), "{}", kernel.name);
        }
        watch.processor_time()
    };
    (0..3).map(|_| once()).min().unwrap_or_default()
}

#[test]
fn outlines_of_kernels_that_call_the_same_code() {
    let (few, many) = (time_of_outlines(10), time_of_outlines(40));
    println!("10 kernels take {few:?}, 40 take {many:?}");
    // The clock of a thread counts in steps of some milliseconds. Lowering a kernel takes tenths of a second.
    let ratio = many.as_secs_f64() / few.as_secs_f64().max(0.02);
    assert!(ratio < 2.5, "10 kernels take {few:?}, 40 take {many:?}: {ratio:.1} times");
}
