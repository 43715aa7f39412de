//! Micro-operations: instructions that a technique adds to a program.

/// Position of a micro-operation in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MicroId(pub u16);

/// An instruction that is not in the program: a compiler pass inserts it, or a technique issues it at run
/// time. It takes an issue slot, collects its sources, executes in its unit and writes its destinations like
/// any other; it changes no value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MicroOp {
    /// Name, for views.
    pub name: &'static str,
    /// Tag of the technique.
    pub tag: u32,
    /// Registers that it reads.
    pub sources: Vec<u8>,
    /// Registers that it writes.
    pub destinations: Vec<u8>,
    /// Registers that it waits for, besides those that it reads and writes.
    pub waits_for: Vec<u8>,
    /// Unit class, a key of `units` in the configuration; `control` for those that only take an issue slot.
    pub unit: &'static str,
    /// Cycles from dispatch to the result bus.
    pub latency_cycles: u32,
    /// Cycles before the unit takes the next instruction.
    pub initiation_cycles: u32,
    /// Lanes in which it computes, for one that issues beside the warps; others compute in the lanes of their warp.
    pub lanes: u32,
}

impl MicroOp {
    /// A micro-operation that only takes an issue slot, such as metadata.
    #[must_use]
    pub fn marker(name: &'static str, tag: u32) -> MicroOp {
        MicroOp {
            name,
            tag,
            sources: Vec::new(),
            destinations: Vec::new(),
            waits_for: Vec::new(),
            unit: "control",
            latency_cycles: 1,
            initiation_cycles: 1,
            lanes: 32,
        }
    }

    /// One that executes in a unit and takes a new instruction of that unit's every cycle.
    #[must_use]
    pub fn in_unit(name: &'static str, tag: u32, unit: &'static str, latency_cycles: u32) -> MicroOp {
        MicroOp { unit, latency_cycles, ..MicroOp::marker(name, tag) }
    }

    /// With registers that it reads and registers that it writes.
    #[must_use]
    pub fn with_registers(self, sources: &[u8], destinations: &[u8]) -> MicroOp {
        MicroOp { sources: sources.to_vec(), destinations: destinations.to_vec(), ..self }
    }

    /// That issues only when these registers hold the results of earlier instructions.
    #[must_use]
    pub fn after_results(self, registers: &[u8]) -> MicroOp {
        MicroOp { waits_for: registers.to_vec(), ..self }
    }
}
