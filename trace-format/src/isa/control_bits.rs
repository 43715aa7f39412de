//! Control bits: what NVIDIA's machine code says about the timing of each instruction, since Volta.

use super::regs::Reg;
use serde::{Deserialize, Serialize};

/// Dependence counters of a warp.
pub const DEPENDENCE_COUNTERS: usize = 6;
/// Places of an instruction word that name source registers and have a reuse flag: bits 24, 32 and 64.
pub const SOURCE_PLACES: usize = 3;

/// The control bits of an instruction (Huerta et al., "Analyzing Modern NVIDIA GPU cores", MICRO 2025, section 4). They do not
/// change what a kernel computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ControlBits {
    /// Cycles until the warp may issue its next instruction.
    pub stall_cycles: u8,
    /// Whether the warp must not issue in the next cycle.
    pub yields: bool,
    /// Dependence counters that must be zero before the instruction issues, one bit each.
    pub waits_for: u8,
    /// A dependence counter, and the number that it may have at most before the instruction issues.
    pub waits_until: Option<(u8, u8)>,
    /// Dependence counter that has one more until the results are written.
    pub write_counter: Option<u8>,
    /// Dependence counter that has one more until the sources have been read.
    pub read_counter: Option<u8>,
    /// The registers that the places of the word name; RZ for a place that names none.
    pub places: [Reg; SOURCE_PLACES],
    /// Places whose value the register file cache keeps, one bit each.
    pub reuse: u8,
    /// Whether it is part of an instruction that takes several here. No bits are known for its registers, so it waits for them
    /// as an instruction without bits does.
    pub partial: bool,
}

impl Default for ControlBits {
    /// An instruction that waits for nothing, and that the next one may follow at once.
    fn default() -> ControlBits {
        ControlBits {
            stall_cycles: 1,
            yields: false,
            waits_for: 0,
            waits_until: None,
            write_counter: None,
            read_counter: None,
            places: [Reg::RZ; SOURCE_PLACES],
            reuse: 0,
            partial: false,
        }
    }
}

impl ControlBits {
    /// Cycles from the issue of the instruction to that of the warp's next one, `yield_cycles` if its stall count is zero and it
    /// yields.
    #[must_use]
    pub fn cycles_to_next_issue(&self, yield_cycles: u32) -> u32 {
        match (u32::from(self.stall_cycles), self.yields) {
            (0, true) => yield_cycles,
            // The warp does not issue in the next cycle.
            (stall, true) => stall.max(2),
            (stall, false) => stall.max(1),
        }
    }

    /// Checks that counters and places exist.
    ///
    /// # Errors
    /// What does not exist.
    pub fn check(&self) -> Result<(), String> {
        let until = self.waits_until.map(|(counter, _)| counter);
        let named = [self.write_counter, self.read_counter, until].into_iter().flatten();
        let highest = named.max().map_or(0, usize::from);
        if highest >= DEPENDENCE_COUNTERS || self.waits_for >> DEPENDENCE_COUNTERS != 0 {
            return Err(format!(
                "its control bits name a dependence counter beyond the {DEPENDENCE_COUNTERS}"
            ));
        }
        if self.reuse >> SOURCE_PLACES != 0 {
            return Err(format!("its control bits name a source beyond the {SOURCE_PLACES}"));
        }
        Ok(())
    }
}
