//! Tests of compact affine execution: what is affine, expansions under divergence, cycles, wrong tuples.

mod bench;
mod cycles;
mod faults;
mod random;
mod rules;

use super::{Cae, Technique};
use crate::Plan;
use crate::testing::{launch, program};
use warplab_technique::config::GpuConfig;
use warplab_technique::program::Program;

/// The technique with parameters, prepared for a listing's program.
fn prepared(set: &str, program: &Program, config: &GpuConfig) -> (Cae, Plan) {
    let section: toml::Table = toml::from_str(set).expect("parameters");
    let mut cae = Cae::new(&section).expect("valid parameters");
    let mut plan = Plan::of(program);
    cae.prepare(&launch(program, config), &mut plan).expect("accepted");
    (cae, plan)
}

/// The program of a listing, on a Fermi GPU.
fn of(text: &str) -> (Program, GpuConfig) {
    let config = crate::testing::config(&[]);
    (program(text, &config), config)
}
