//! Tests of register file virtualization. [`crew`] has random divergent warps of several blocks in a file that is too
//! small for them, and seeded faults; [`cycles`] cycles and counts computed by hand.

mod crew;
mod cycles;

use super::super::testing::{config, count, program};
use super::*;
use warplab_technique::program::Program;

/// The technique for a program in blocks of `warps` warps, with so many physical registers.
fn prepared(program: &Program, warps: u32, physical: u32, set: &[&str]) -> Result<(Rfv, Plan), String> {
    let file = format!("sm.registers={}", physical * 32);
    let mut all = vec![file.as_str(), "register_file.banks=4"];
    all.extend(set);
    let config = config(&all);
    let empty = toml::Table::new();
    let mut rfv = Rfv::new(config.technique.get("rfv").unwrap_or(&empty)).expect("a section");
    let mut plan = Plan::of(program);
    rfv.prepare(&Launch::new(program, &config, [8, 1, 1], [32 * warps, 1, 1]), &mut plan)?;
    plan.finish();
    Ok((rfv, plan))
}
