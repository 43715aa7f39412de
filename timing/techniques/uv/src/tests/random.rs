//! Random kernels on two warps that share the machine: every value agrees with the recording.

use super::{ALL, of, prepared};
use crate::testing::{Bench, Random, count};
use proptest::prelude::*;
use std::hash::{DefaultHasher, Hash, Hasher};
use warplab_technique::Row;
use warplab_technique::program::TimedInst;

/// Results that follow from the operands where these are uniform, as an instruction's do.
fn result(inst: &TimedInst, rows: &[Row], random: &mut Random) -> Row {
    let sources: Vec<&Row> = inst.inst.src_regs().map(|reg| &rows[usize::from(reg.0)]).collect();
    let uniform = sources.iter().all(|row| row.0.iter().all(|word| *word == row.0[0]));
    if !uniform || inst.path != warplab_technique::program::Path::Alu {
        return random.row();
    }
    let mut hasher = DefaultHasher::new();
    let mut bare = inst.inst;
    bare.dst = trace_format::isa::Reg(0);
    bare.guard = trace_format::isa::PredSrc::TRUE;
    bare.src.iter().for_each(|source| match source.as_reg() {
        Some(_) => 1.hash(&mut hasher),
        None => source.hash(&mut hasher),
    });
    (bare.op, sources.iter().map(|row| row.0[0]).collect::<Vec<_>>()).hash(&mut hasher);
    Row::splat(hasher.finish() as u32)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_value_agrees_on_random_kernels(
        seed in any::<u64>(),
        design in 0..ALL.len(),
        registers in 1u32..40,
        entries in 1u32..12,
        ideal in any::<bool>(),
    ) {
        let (name, build) = ALL[design];
        let mut random = Random::new(seed, 8);
        let (program, config) = of(&random.listing());
        let mut set = format!("ideal = {ideal}\nreliability = true\n");
        if name.contains("scalar") {
            set += &format!("registers = {registers}\n");
        }
        if name.contains("reuse") {
            set += &format!("entries = {entries}\n");
        }
        let (mut uv, plan) = prepared(build, &set, &program, &config);
        for slot in [0, 1, 0] {
            let mut bench = Bench::new(&program, slot).with_ops_of(&plan);
            bench.start(&mut uv);
            prop_assert_eq!(bench.run_with(&mut uv, &mut random, result), Ok(()));
            bench.end(&mut uv);
            let ledger = &bench.ledger;
            prop_assert_eq!(ledger.supplied + ledger.lost.iter().sum::<u64>(), ledger.opportunities);
        }
        prop_assert_eq!(uv.scalars.used(0), 0);
        prop_assert!(count(&uv, "lane_operations_removed") <= count(&uv, "lane_operations"));
        prop_assert!(count(&uv, "protected_register_cycles") <= count(&uv, "live_register_cycles"));
        prop_assert!(count(&uv, "hits") <= count(&uv, "lookups"));
    }
}
