//! Random kernels on warps that share the machine: every value agrees with arithmetic in every lane.

use super::{of, prepared};
use crate::testing::{Bench, Random, count};
use proptest::prelude::*;
use trace_format::isa::{Op, Operand, Src};
use warplab_technique::Row;
use warplab_technique::program::{Path, TimedInst};

/// A source of every lane.
fn words(source: &Src, rows: &[Row]) -> Row {
    match source.operand {
        Operand::Reg(reg) if !reg.is_zero() => rows[usize::from(reg.0)],
        Operand::Imm(word) => Row::splat(word),
        _ => Row::ZERO,
    }
}

/// Results of integer arithmetic in every lane; the first of the bench's threads is the 96th of its block.
fn result(inst: &TimedInst, rows: &[Row], random: &mut Random) -> Row {
    let [a, b, c] = [0, 1, 2].map(|i| words(&inst.inst.src[i], rows));
    let of = |f: fn(u32, u32, u32) -> u32| Row::from_fn(|lane| f(a.0[lane], b.0[lane], c.0[lane]));
    match inst.inst.op {
        Op::Mov {} => a,
        Op::S2r { .. } => Row::from_fn(|lane| 96 + lane as u32),
        Op::Iadd3 { .. } => of(|a, b, c| a.wrapping_add(b).wrapping_add(c)),
        Op::Imad {} => of(|a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        _ => {
            assert!(
                inst.path != Path::Alu || inst.destinations().len() > 1,
                "an operation without arithmetic here"
            );
            random.row()
        }
    }
}

/// A random kernel whose 64-bit products, whose results this test does not compute, are sums, and some of whose moves read
/// the thread index.
fn listing(random: &mut Random) -> String {
    let lines = random.listing();
    let narrow = lines.lines().enumerate().map(|(line, text)| match text {
        _ if text.contains("wide") => text.replace("wide", "imad"),
        _ if text.contains("mov") && line % 2 == 1 => {
            text.replace("mov", "s2r").trim_end_matches(" 5").to_owned()
        }
        _ => text.to_owned(),
    });
    let narrow: Vec<String> = narrow
        .map(|text| match text.contains("s2r") {
            // The number that a move at the beginning has.
            true => text
                .split_whitespace()
                .take(2 + usize::from(text.starts_with('@')))
                .collect::<Vec<_>>()
                .join(" "),
            false => text,
        })
        .collect();
    narrow.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_value_agrees_on_random_kernels(
        seed in any::<u64>(),
        ideal in any::<bool>(),
        end_points in any::<bool>(),
        units in 1u32..3,
    ) {
        let mut random = Random::new(seed, 8);
        let (program, config) = of(&listing(&mut random));
        let set = format!("ideal = {ideal}\nend_points = {end_points}\nunits = {units}\n");
        let (mut cae, plan) = prepared(&set, &program, &config);
        for slot in [0, 1, 0] {
            let mut bench = Bench::new(&program, slot).with_ops_of(&plan);
            bench.start(&mut cae);
            prop_assert_eq!(bench.run_with(&mut cae, &mut random, result), Ok(()));
            bench.end(&mut cae);
            let ledger = &bench.ledger;
            prop_assert_eq!(ledger.supplied + ledger.lost.iter().sum::<u64>(), ledger.opportunities);
        }
        prop_assert_eq!(cae.file.used(0), 0);
        prop_assert!(count(&cae, "lane_operations_removed") <= count(&cae, "lane_operations"));
        prop_assert!(count(&cae, "scalar_instructions") <= count(&cae, "affine_instructions"));
    }
}
