//! What tests of techniques use, with the techniques that come with Warplab.

use super::{Catalogue, Plan, Stack};
use trace_format::isa::MachineKernel;
use warplab_model::config::GpuConfig;
use warplab_technique::program::Program;
pub(crate) use warplab_technique_kit::*;

/// The techniques that come with Warplab.
pub(crate) fn built_in() -> Catalogue {
    Catalogue::of(super::BUILT_IN)
}

/// A launch of a hand-made kernel under the techniques that come with Warplab.
pub(crate) fn by_hand(kernel: MachineKernel, blocks: u32, threads: u32) -> Hand {
    Hand::new(kernel, blocks, threads).knowing(super::BUILT_IN)
}

/// As the model's, under the techniques that come with Warplab.
pub(crate) fn stream(blocks: u32) -> Hand {
    warplab_technique_kit::stream(blocks).knowing(super::BUILT_IN)
}

/// Several techniques, prepared.
pub(crate) fn stack(names: &[&str], program: &Program, config: &GpuConfig) -> (Composed, Plan) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let techniques = built_in().select(&names, config).expect("known techniques");
    let (stack, plan) = Stack::prepare(techniques, &launch(program, config)).expect("accepted");
    (Composed(stack), plan)
}
