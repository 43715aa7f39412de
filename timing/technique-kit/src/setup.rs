//! Configurations, programs and prepared techniques for tests.

use warplab_model::config::GpuConfig;
use warplab_technique::program::Program;
use warplab_technique::{Launch, Ledger, Plan, Technique};

/// A configuration with a technique's parameters.
pub fn config(set: &[&str]) -> GpuConfig {
    warplab_model::testing::config("gtx480", set)
}

/// The program of a listing.
pub fn program(text: &str, config: &GpuConfig) -> Program {
    Program::new(&warplab_analysis::listing::kernel(text), config).expect("a kernel that can be timed")
}

/// A launch of a program with one block of one warp.
pub fn launch<'a>(program: &'a Program, config: &'a GpuConfig) -> Launch<'a> {
    Launch::new(program, config, [1, 1, 1], [32, 1, 1])
}

/// One technique, prepared.
pub fn prepared<T: Technique>(
    new: fn(&toml::Table) -> Result<T, String>,
    name: &str,
    program: &Program,
    config: &GpuConfig,
) -> (T, Plan) {
    let empty = toml::Table::new();
    let mut technique = new(config.technique.get(name).unwrap_or(&empty)).expect("valid section");
    let mut plan = Plan::of(program);
    technique.prepare(&launch(program, config), &mut plan).expect("the kernel is accepted");
    (technique, plan)
}

/// The value of a technique's counter.
pub fn count(technique: &dyn Technique, name: &str) -> u64 {
    let stats = warplab_model::stats::TechniqueStats::of(technique, &Ledger::default());
    stats.get(name).unwrap_or_else(|| panic!("{} has no counter {name}", technique.info().name))
}
