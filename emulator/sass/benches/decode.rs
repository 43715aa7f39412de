//! Speed of decoding on one thread: 10,000 instructions, which are to take less than 20 ms.
//!
//! `cargo bench -p warplab-sass --bench decode`

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use sass::{Target, decode};

/// Instructions of a large module.
const INSTRUCTIONS: usize = 10_000;

fn main() {
    divan::main();
}

/// Words of the test's sample, repeated.
fn words(target: Target) -> Vec<u128> {
    let number = target.number().to_string();
    let sample = include_str!("../tests/words.txt");
    let words = sample.lines().filter_map(|line| {
        let (found, rest) = line.split_once(' ')?;
        (found == number).then(|| u128::from_str_radix(rest.split(' ').next()?, 16).ok()).flatten()
    });
    let words: Vec<u128> = words.collect();
    words.iter().copied().cycle().take(INSTRUCTIONS).collect()
}

#[divan::bench(args = [75, 80, 86, 89, 90, 120])]
fn decoding(bencher: Bencher<'_, '_>, target: u32) {
    let target = Target::from_number(target).expect("a known target");
    let words = words(target);
    bencher.counter(ItemsCount::new(words.len())).bench_local(|| {
        for (at, word) in words.iter().enumerate() {
            black_box(decode(target, at as u64 * 16, *word).expect("the sample is known"));
        }
    });
}

#[divan::bench]
fn printing(bencher: Bencher<'_, '_>) {
    let words = words(Target::Sm80);
    let decoded: Vec<_> =
        words.iter().map(|word| decode(Target::Sm80, 0, *word).expect("it is known")).collect();
    bencher.counter(ItemsCount::new(words.len())).bench_local(|| {
        for instruction in &decoded {
            black_box(instruction.to_string());
        }
    });
}
