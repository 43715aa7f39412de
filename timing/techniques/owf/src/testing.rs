//! What tests of techniques use, with those of this crate.

use trace_format::isa::MachineKernel;
use warplab_technique::Registration;
pub(crate) use warplab_technique_kit::*;

/// The techniques of this crate.
pub(crate) const OWN: &[Registration] = &[crate::REGISTRATION];

/// A launch of a hand-made kernel under the techniques of this crate.
pub(crate) fn by_hand(kernel: MachineKernel, blocks: u32, threads: u32) -> Hand {
    Hand::new(kernel, blocks, threads).knowing(OWN)
}
