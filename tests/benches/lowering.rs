//! Processor time of lowering code that does not fit its registers, by its length. Twice the code should take about
//! twice the time.
//!
//! Items are PTX instructions. `cargo bench -p tests --bench lowering`

use divan::Bencher;
use divan::counter::ItemsCount;
use emulator::lower::LowerOptions;
use emulator::session::LoadedModule;
use tests::shapes;

fn main() {
    divan::main();
}

/// Lengths of the code, in groups of a dozen instructions.
const GROUPS: [usize; 4] = [50, 100, 200, 400];
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
    lower_with_few_registers(bencher, &shapes::straight(groups));
}

#[divan::bench(args = GROUPS, sample_count = 3)]
fn many_branches(bencher: Bencher<'_, '_>, groups: usize) {
    lower_with_few_registers(bencher, &shapes::branches(groups));
}

#[divan::bench(args = GROUPS, sample_count = 3)]
fn many_loops(bencher: Bencher<'_, '_>, groups: usize) {
    lower_with_few_registers(bencher, &shapes::loops(groups));
}

#[divan::bench(args = GROUPS, sample_count = 3)]
fn many_predicates(bencher: Bencher<'_, '_>, groups: usize) {
    lower_with_few_registers(bencher, &shapes::predicates(groups));
}
