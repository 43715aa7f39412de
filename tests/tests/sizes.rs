//! Modules that are long, deeply nested, or declare much memory: parsing, lowering and loading succeed within the
//! device's memory, or report the limit. `growth.rs` tests the growth of lowering's time.

use emulator::device::{DeviceModule, LoadError};
use emulator::lower::{LowerOptions, Lowered};
use emulator::memory::GlobalMemory;
use emulator::module::{LoadedModule, ModuleError};
use std::fmt::Write;
use std::sync::Arc;
use test_kit::Watchdog;

const HEAD: &str = ".version 8.7\n.target sm_90\n.address_size 64\n";

/// A kernel with some loads, these statements, and a store.
fn kernel(module: &str, statements: &str) -> String {
    format!(
        "{HEAD}{module}\n.visible .entry k(.param .u64 p)\n{{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .pred %p<9>;\n\
         ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 7;\n{statements}\nst.global.u32 [%rd1], %r2;\n\
         ret;\n}}\n"
    )
}

/// One line for each number.
fn lines(count: usize, mut line: impl FnMut(&mut String, usize)) -> String {
    let mut text = String::new();
    (0..count).for_each(|i| line(&mut text, i));
    text
}

fn loaded(text: &str) -> Result<LoadedModule, ModuleError> {
    LoadedModule::parse(text, "sizes.ptx")
}

fn lower(text: &str) -> Result<Lowered, ModuleError> {
    lower_into(text, LowerOptions::default().max_registers)
}

fn lower_into(text: &str, max_registers: u16) -> Result<Lowered, ModuleError> {
    let _watchdog = Watchdog::over("lowering");
    let module = loaded(text)?;
    let id = module.kernel("k").expect("the kernel is there");
    module.lower(id, &LowerOptions { check: false, max_registers, ..LowerOptions::default() })
}

/// The machine instructions of a kernel that must be lowered without a trap.
fn lowered(text: &str) -> usize {
    let lowered = lower(text).unwrap_or_else(|error| panic!("{error}"));
    assert!(lowered.unsupported.is_empty(), "{:?}", lowered.unsupported[0].message);
    lowered.kernel.insts.len()
}

#[test]
fn long_straight_code() {
    let text = lines(50_000, |t, i| writeln!(t, "mad.lo.s32 %r2, %r2, %r1, {};", i * 7919).unwrap());
    assert!(lowered(&kernel("", &text)) >= 50_000);
}

#[test]
fn long_runs_of_memory_accesses() {
    let stores = lines(25_000, |t, i| writeln!(t, "st.global.u32 [%rd1+{}], %r1;", i % 1000 * 4).unwrap());
    assert!(lowered(&kernel("", &stores)) >= 25_000);
    let loads = lines(10_000, |t, i| {
        writeln!(t, "ld.global.u32 %r3, [%rd1+{}];\nadd.s32 %r2, %r2, %r3;", i % 1000 * 4).unwrap();
    });
    assert!(lowered(&kernel("", &loads)) >= 10_000);
}

#[test]
fn many_blocks() {
    let text = lines(5000, |t, i| {
        let store = i % 64 * 4;
        writeln!(t, "setp.eq.s32 %p1, %r1, {i};\n@%p1 bra L{i};\nmad.lo.s32 %r2, %r2, %r1, {i};").unwrap();
        writeln!(t, "st.global.u32 [%rd1+{store}], %r2;\nL{i}:").unwrap();
    });
    assert!(lowered(&kernel("", &text)) >= 15_000);
    let backwards = lines(5000, |t, i| {
        let target = i * 7919 % 5000;
        writeln!(t, "L{i}:\nsetp.eq.s32 %p1, %r2, {i};\nadd.s32 %r2, %r2, %r1;\n@%p1 bra L{target};")
            .unwrap();
    });
    assert!(lowered(&kernel("", &backwards)) >= 10_000);
}

#[test]
fn many_guarded_instructions() {
    let text = lines(20_000, |t, i| writeln!(t, "@%p1 st.global.u32 [%rd1+{}], %r1;", i % 500 * 4).unwrap());
    assert!(lowered(&kernel("", &format!("setp.eq.s32 %p1, %r1, 3;\n{text}"))) >= 20_000);
}

/// A hundred values and thirty predicates that are live everywhere, with few registers.
#[test]
fn long_code_that_spills() {
    const GROUPS: usize = 800;
    let load = |t: &mut String, i: usize| writeln!(t, "ld.global.u32 %v{i}, [%rd1+{}];", 4 * i).unwrap();
    let compare = |t: &mut String, i: usize| writeln!(t, "setp.lt.s32 %q{i}, %v{i}, %v{};", i + 1).unwrap();
    let group = |t: &mut String, i: usize| {
        let (q, other) = (i * 7 % 30, i * 11 % 30);
        writeln!(t, "setp.lt.s32 %q{q}, %v{}, %v{};\n@%q{other} bra L{i};", i % 97, i % 89).unwrap();
        for k in 0..10 {
            let [d, a, b] = [7919, 104_729, 1_299_709].map(|prime| (i * 10 + k) * prime / 64 % 100);
            writeln!(t, "@%q{} add.s32 %v{d}, %v{a}, %v{b};", (i + k) % 30).unwrap();
        }
        writeln!(t, "L{i}:").unwrap();
    };
    let store = |t: &mut String, i: usize| writeln!(t, "st.global.u32 [%rd1+{}], %v{i};", 4 * i).unwrap();
    let text = format!(
        ".reg .b32 %v<100>;\n.reg .pred %q<30>;\n{}{}{}{}",
        lines(100, load),
        lines(30, compare),
        lines(GROUPS, group),
        lines(100, store)
    );
    let lowered = lower_into(&kernel("", &text), 24).unwrap_or_else(|error| panic!("{error}"));
    assert!(lowered.kernel.spill_bytes >= 4 * 70, "{} bytes", lowered.kernel.spill_bytes);
    assert!(lowered.kernel.regs_per_thread <= 24);
}

/// Nested loops, each with a counter of its own: every loop in between passes all counters through.
#[test]
fn deep_loops() {
    const DEPTH: usize = 800;
    let mut text = lines(DEPTH, |t, i| writeln!(t, ".reg .b32 %c{i};\nmov.u32 %c{i}, 0;\nA{i}:").unwrap());
    text += "add.s32 %r2, %r2, 1;\n";
    for i in (0..DEPTH).rev() {
        writeln!(text, "add.s32 %c{i}, %c{i}, 1;\nsetp.lt.s32 %p1, %c{i}, 3;\n@%p1 bra A{i};").unwrap();
    }
    assert!(lowered(&kernel("", &text)) >= DEPTH);
}

/// Nested loops that all write the same registers: every loop keeps its phis.
#[test]
fn deep_loops_of_shared_registers() {
    const DEPTH: usize = 1500;
    let mut text = lines(DEPTH, |t, i| writeln!(t, "A{i}:\nadd.s32 %r3, %r2, {i};").unwrap());
    for i in (0..DEPTH).rev() {
        writeln!(text, "add.s32 %r2, %r2, 1;\nsetp.lt.s32 %p1, %r2, %r1;\n@%p1 bra A{i};").unwrap();
    }
    assert!(lowered(&kernel("", &text)) >= DEPTH);
}

#[test]
fn a_long_branch_table() {
    let targets: Vec<String> = (0..10_000).map(|i| format!("B{i}")).collect();
    let cases = lines(10_000, |t, i| writeln!(t, "B{i}:\nadd.s32 %r2, %r2, {i};").unwrap());
    let text = format!("T: .branchtargets {};\nbrx.idx %r1, T;\n{cases}", targets.join(", "));
    assert!(lowered(&kernel("", &text)) >= 10_000);
}

/// Functions `f0` to `f<count - 1>`, each of which calls those of `callees`.
fn functions(count: usize, callees: impl Fn(usize) -> Vec<usize>) -> String {
    let mut text = lines(count, |t, i| {
        writeln!(t, ".func (.param .b32 r) f{i}(.param .b32 x);").unwrap();
    });
    for i in 0..count {
        writeln!(text, ".func (.param .b32 r) f{i}(.param .b32 x)\n{{\n.reg .b32 %r<3>;").unwrap();
        writeln!(text, "ld.param.b32 %r1, [x];").unwrap();
        for callee in callees(i) {
            text += &call(callee, "%r1");
        }
        writeln!(text, "add.s32 %r1, %r1, {i};\nst.param.b32 [r], %r1;\nret;\n}}").unwrap();
    }
    text
}

fn call(callee: usize, to: &str) -> String {
    format!(
        "{{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), f{callee}, (a); ld.param.b32 {to}, [b]; }}\n"
    )
}

/// Which functions a function of a given number calls.
type Shape<'a> = &'a dyn Fn(usize) -> Vec<usize>;

#[test]
fn a_thousand_functions_that_call_each_other() {
    const N: usize = 1000;
    let next = |i: usize| if i + 1 < N { vec![i + 1] } else { Vec::new() };
    let shapes: [(&str, Shape); 3] = [
        ("a chain", &next),
        ("a chain of two calls each: 2^1000 copies", &|i| [next(i), next(i)].concat()),
        ("circles", &|i| vec![(i + 1) % N, (i * 7 + 3) % N]),
    ];
    for (shape, callees) in shapes {
        let size = lowered(&kernel(&functions(N, callees), &call(0, "%r2")));
        assert!((2..1_000_000).contains(&size), "{shape}: {size} instructions");
    }
}

#[test]
fn a_chain_of_calls_deeper_than_any_stack() {
    const N: usize = 10_000;
    let next = |i: usize| if i + 1 < N { vec![i + 1] } else { Vec::new() };
    lowered(&kernel(&functions(N, next), &call(0, "%r2")));
    let twice = |i: usize| [next(i), next(i)].concat();
    lowered(&kernel(&functions(N, twice), &call(0, "%r2")));
}

#[test]
fn more_literals_than_the_literal_bank_holds() {
    // Values with bits in both words, which an instruction cannot hold.
    let text = lines(10_000, |t, i| {
        writeln!(t, "fma.rn.f64 %d1, %d1, 0d3FF{:013X}, 0d400{:013X};", i * 7919 + 1, i * 104_729 + 1)
            .unwrap();
    });
    let text = format!(".reg .f64 %d<3>;\nld.global.f64 %d1, [%rd1];\n{text}st.global.f64 [%rd1], %d1;");
    let module = lower(&kernel("", &text)).unwrap_or_else(|error| panic!("{error}"));
    assert!(module.unsupported.is_empty() && module.kernel.literals.len() <= 1 << 16);
    let globals = lines(9000, |t, i| writeln!(t, ".global .b32 g{i};").unwrap());
    let uses = lines(9000, |t, i| writeln!(t, "mov.u64 %rd2, g{i};\nst.global.u64 [%rd1], %rd2;").unwrap());
    let module = lower(&kernel(&globals, &uses)).unwrap_or_else(|error| panic!("{error}"));
    assert!(module.kernel.literals.len() <= 1 << 16);
    let what = &module.unsupported.first().expect("a trap where an address has no place").message;
    assert!(what.contains("literal bank"), "{what}");
}

/// The error of a text, which has one.
fn refused(text: &str) -> String {
    lower(text).err().map_or_else(|| panic!("it is taken"), |error| error.to_string())
}

#[test]
fn parameters_beyond_their_bank() {
    let text = |params: &str| format!("{HEAD}.visible .entry k({params}) {{ ret; }}");
    assert!(refused(&text(".param .b8 a[40000]")).contains("32764"));
    assert!(refused(&text(".param .b8 a[20000], .param .b8 b[20000]")).contains("32764"));
    assert!(refused(&text(".param .b8 a[2147483647]")).contains("larger than any memory"));
    assert!(lower(&text(".param .b8 a[32764]")).is_ok());
    let call = "{ .param .b8 a[1000000]; call.uni f, (a); }";
    let module = ".func f(.param .b8 x[1000000]);";
    assert!(lower(&kernel(module, call)).is_ok(), "no more than the launch refuses");
}

#[test]
fn local_and_shared_variables_beyond_any_memory() {
    for space in ["local", "shared"] {
        let text = format!(".{space} .b8 x[2000000000];\nmov.u64 %rd2, x;\nst.{space}.u32 [%rd2], %r1;");
        assert!(refused(&kernel("", &text)).contains("`x` does not fit its memory"));
    }
}

fn load_error(text: &str) -> LoadError {
    let module = Arc::new(loaded(text).unwrap_or_else(|error| panic!("{error}")));
    let load = DeviceModule::load(module, &mut GlobalMemory::new(), Vec::new());
    load.map_or_else(|error| error, |_| panic!("it is loaded"))
}

#[test]
fn variables_beyond_device_memory() {
    let one = format!("{HEAD}.global .b8 big[1099511627776];");
    let many = lines(20, |t, i| writeln!(t, ".global .b8 g{i}[1073741824];").unwrap());
    for (text, name) in [(one, "big"), (format!("{HEAD}{many}"), "g8")] {
        let error = load_error(&text);
        assert!(matches!(&error, LoadError::TooLarge { name: found, .. } if found == name), "{error}");
        assert!(error.to_string().contains("8 GiB"), "{error}");
    }
}

#[test]
fn initial_values_beyond_any_file() {
    // Each is within the limit; together they would be 2.6 GB.
    let list = vec!["{1}"; 26].join(",");
    let text = lines(10, |t, i| writeln!(t, ".global .b8 g{i}[26][10000000] = {{{list}}};").unwrap());
    let error = loaded(&format!("{HEAD}{text}")).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error.contains("initial values"), "{error}");
}
