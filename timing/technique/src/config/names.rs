//! Keys of unit classes and latency classes in configurations.

use trace_format::isa::{LatencyClass, Unit};

/// Names of the unit classes, in the order of [`Unit::ALL`].
pub const UNIT_NAMES: [&str; Unit::COUNT] = Unit::NAMES;

/// Key of a latency class in `[latency.…]`; memory has none, its latency comes from the memory system.
#[must_use]
pub const fn latency_name(class: LatencyClass) -> Option<&'static str> {
    if matches!(class, LatencyClass::Memory) { None } else { Some(class.name()) }
}
