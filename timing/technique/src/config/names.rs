//! Keys of unit classes and latency classes in configurations.

use trace_format::isa::LatencyClass;

/// Names of the unit classes, in the order of [`Unit::ALL`].
pub const UNIT_NAMES: [&str; 7] = ["int", "fp32", "fp64", "sfu", "ldst", "control", "tensor"];

/// Key of a latency class in `[latency.…]`; memory has none, its latency comes from the memory system.
#[must_use]
pub const fn latency_name(class: LatencyClass) -> Option<&'static str> {
    Some(match class {
        LatencyClass::IntAdd => "int_add",
        LatencyClass::IntMax => "int_max",
        LatencyClass::IntMul => "int_mul",
        LatencyClass::IntMisc => "int_misc",
        LatencyClass::FpAdd => "fp_add",
        LatencyClass::FpMax => "fp_max",
        LatencyClass::FpMul => "fp_mul",
        LatencyClass::FpFma => "fp_fma",
        LatencyClass::DpAdd => "dp_add",
        LatencyClass::DpMax => "dp_max",
        LatencyClass::DpMul => "dp_mul",
        LatencyClass::DpFma => "dp_fma",
        LatencyClass::Sfu => "sfu",
        LatencyClass::Convert => "convert",
        LatencyClass::Shuffle => "shuffle",
        LatencyClass::Tensor => "tensor",
        LatencyClass::Control => "control",
        LatencyClass::Memory => return None,
    })
}
