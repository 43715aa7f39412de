//! Speed of emulating, recording and checking on one thread (recording has the writer's beside it), and of emulating
//! and recording on all threads of the machine.
//!
//! Items are warp instructions. `cargo bench -p warplab-emulator --bench executor`

use divan::Bencher;
use divan::counter::ItemsCount;
use emulator::check::{Checker, Checks};
use emulator::exec::{Options, Unobserved};
use emulator::session::{CodeKind, Session, Setup};
use std::path::PathBuf;

fn main() {
    divan::main();
}

fn one_thread() -> Options {
    Options { threads: 1, ..all_threads() }
}

fn all_threads() -> Options {
    Options { max_instructions: u64::MAX, max_print_bytes: 0, ..Options::default() }
}

/// Name, PTX file under the bundled workloads, and size.
const PROGRAMS: [(&str, &str, &str); 2] = [
    ("vectoradd 1 Mi", "textbook/vectoradd/vectoradd.ptx", "n=1048576"),
    ("matmul_tiled 256", "textbook/matmul_tiled/matmul_tiled.ptx", "n=256"),
];

fn open(program: &str) -> Session {
    let (_, file, size) = PROGRAMS.iter().find(|p| p.0 == program).expect("the program is listed");
    let ptx = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/workloads").join(file);
    let setup = Setup { overrides: vec![size.to_string()], ..Setup::default() };
    Session::open(&ptx, &setup).unwrap_or_else(|e| panic!("{e}"))
}

fn warp_instructions(program: &str) -> ItemsCount {
    let report = open(program).run(&one_thread(), &Unobserved).unwrap_or_else(|e| panic!("{e}"));
    ItemsCount::new(report.warp_instructions())
}

fn emulate_with(bencher: Bencher<'_, '_>, program: &str, options: &Options) {
    let items = warp_instructions(program);
    let mut session = open(program);
    bencher.counter(items).bench_local(|| {
        session.run(options, &Unobserved).unwrap_or_else(|e| panic!("{e}"));
    });
}

fn record_with(bencher: Bencher<'_, '_>, program: &str, options: &Options) {
    let items = warp_instructions(program);
    let mut session = open(program);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let trace = folder.path().join("bench.wtrace");
    bencher.counter(items).bench_local(|| {
        session.record(&trace, options, &Unobserved).unwrap_or_else(|e| panic!("{e}"));
    });
}

#[divan::bench(args = PROGRAMS.map(|p| p.0), sample_count = 20)]
fn emulate(bencher: Bencher<'_, '_>, program: &str) {
    emulate_with(bencher, program, &one_thread());
}

/// The machine code that ptxas makes of a program's PTX for sm_75, where there is a ptxas ($CUDA_HOME/bin, or the search path).
/// Its items are compared with those of `emulate`.
#[divan::bench(args = PROGRAMS.map(|p| p.0), sample_count = 20)]
fn emulate_machine_code(bencher: Bencher<'_, '_>, program: &str) {
    let (_, file, size) = PROGRAMS.iter().find(|p| p.0 == program).expect("the program is listed");
    let ptx = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/workloads").join(file);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let cubin = folder.path().join("code.cubin");
    let of_toolkit = std::env::var_os("CUDA_HOME").map(|home| PathBuf::from(home).join("bin/ptxas"));
    let ptxas = of_toolkit.filter(|path| path.is_file()).unwrap_or_else(|| "ptxas".into());
    let made = std::process::Command::new(ptxas).arg("-arch=sm_75").arg(&ptx).arg("-o").arg(&cubin).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no ptxas");
        return;
    }
    let setup = Setup {
        overrides: vec![(*size).to_string()],
        code: Some(CodeKind::Sass),
        cubin: Some(cubin),
        ..Setup::default()
    };
    let mut session = Session::open(&ptx, &setup).unwrap_or_else(|e| panic!("{e}"));
    let report = session.run(&one_thread(), &Unobserved).unwrap_or_else(|e| panic!("{e}"));
    bencher.counter(ItemsCount::new(report.warp_instructions())).bench_local(|| {
        session.run(&one_thread(), &Unobserved).unwrap_or_else(|e| panic!("{e}"));
    });
}

#[divan::bench(args = PROGRAMS.map(|p| p.0), sample_count = 20)]
fn emulate_all_threads(bencher: Bencher<'_, '_>, program: &str) {
    emulate_with(bencher, program, &all_threads());
}

#[divan::bench(args = PROGRAMS.map(|p| p.0), sample_count = 20)]
fn record(bencher: Bencher<'_, '_>, program: &str) {
    record_with(bencher, program, &one_thread());
}

#[divan::bench(args = PROGRAMS.map(|p| p.0), sample_count = 20)]
fn record_all_threads(bencher: Bencher<'_, '_>, program: &str) {
    record_with(bencher, program, &all_threads());
}

#[divan::bench(args = PROGRAMS.map(|p| p.0), sample_count = 3)]
fn check(bencher: Bencher<'_, '_>, program: &str) {
    let items = warp_instructions(program);
    let mut session = open(program);
    bencher.counter(items).bench_local(|| {
        let mut checker = Checker::new(Checks::ALL, 20);
        session.run_checked(&one_thread(), &mut checker, &Unobserved).unwrap_or_else(|e| panic!("{e}"));
    });
}
