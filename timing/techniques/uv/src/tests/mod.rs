//! Tests of uniform vectors: detection, copies under divergence, full files, the reuse buffer, coverage, wrong marks,
//! cycles.

mod bench;
mod cycles;
mod faults;
mod random;

use super::variants::{reuse, scalar, scalar_and_reuse, token, token_and_reuse};
use super::{Technique, Uv};
use crate::testing::{launch, program};
use warplab_technique::Plan;
use warplab_technique::config::GpuConfig;
use warplab_technique::program::Program;

/// All words and what each of them builds.
type Build = fn(&toml::Table) -> Result<Uv, String>;
const ALL: [(&str, Build); 5] = [
    ("uv-token", token),
    ("uv-scalar", scalar),
    ("uv-reuse", reuse),
    ("uv-token+uv-reuse", token_and_reuse),
    ("uv-scalar+uv-reuse", scalar_and_reuse),
];

/// A technique with parameters, prepared for a listing's program.
fn prepared(build: Build, set: &str, program: &Program, config: &GpuConfig) -> (Uv, Plan) {
    let section: toml::Table = toml::from_str(set).expect("parameters");
    let mut uv = build(&section).expect("valid parameters");
    let mut plan = Plan::of(program);
    uv.prepare(&launch(program, config), &mut plan).expect("accepted");
    (uv, plan)
}

/// The program of a listing, on a Fermi GPU.
fn of(text: &str) -> (Program, GpuConfig) {
    let config = crate::testing::config(&[]);
    (program(text, &config), config)
}
