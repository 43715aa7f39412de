//! Metadata instructions, with which the compiler tells the hardware where registers die, and the cache of their flags.
//!
//! An instruction of 64 bits has 54 bits of payload: a flag for each of three operands of 18 instructions, which tells
//! that the operand is read for the last time; or six-bit names of nine registers that are dead where a block of code
//! begins. A metadata instruction whose flags are in the cache is passed over at fetch.

use trace_format::isa::{BlockId, Pc};
use warplab_analysis::release::Release;
use warplab_technique::program::{Program, RegSet};

/// Bits of payload.
pub(super) const PAYLOAD: u32 = 54;
/// Instructions whose operands one metadata instruction has flags for.
const INSTRUCTIONS: usize = PAYLOAD as usize / 3;
/// Registers that one metadata instruction names.
const REGISTERS: usize = PAYLOAD as usize / 6;

/// The instructions before which a metadata instruction stands, in order; several may stand before one.
pub(super) fn positions(program: &Program, release: &Release) -> Vec<u32> {
    let kernel = &program.kernel;
    let flow = kernel.flow();
    let liveness = flow.liveness(kernel);
    let live_into = |block: BlockId| liveness.before(flow.block(block).first).registers();
    // Registers that are live where some block before this one ends, and not at its beginning.
    let mut dead_at_begin = vec![RegSet::default(); flow.blocks().len()];
    for from in 0..flow.blocks().len() {
        let successors = flow.successors(BlockId(from as u32));
        let mut leaving = RegSet::default();
        successors.iter().for_each(|to| leaving.insert_all(&live_into(*to)));
        for to in successors {
            let kept = &release.kept_after[flow.block(*to).first.index()];
            dead_at_begin[to.0 as usize].insert_all(&leaving.without(&live_into(*to)).without(kept));
        }
    }
    let dies = |pc: &u32| {
        let kept = &release.kept_after[*pc as usize];
        program.insts[*pc as usize].sources().iter().any(|reg| !kept.contains(*reg))
    };
    let mut positions = Vec::new();
    for (block, dead) in flow.blocks().iter().zip(&dead_at_begin) {
        positions.extend(std::iter::repeat_n(block.first.0, dead.len().div_ceil(REGISTERS)));
        let Pc(end) = block.end;
        let groups = (block.first.0..end).step_by(INSTRUCTIONS);
        positions.extend(groups.filter(|first| (*first..end).take(INSTRUCTIONS).any(|pc| dies(&pc))));
    }
    positions
}

/// The release flag cache: metadata instructions whose flags were read least recently are replaced first.
#[derive(Clone, Debug, Default)]
pub(super) struct FlagCache {
    entries: usize,
    /// Metadata instructions, the latest last.
    held: Vec<u16>,
}

impl FlagCache {
    /// An empty cache.
    pub(super) fn new(entries: u32) -> FlagCache {
        FlagCache { entries: entries as usize, held: Vec::new() }
    }

    /// Whether it holds the flags of a metadata instruction.
    pub(super) fn has(&self, metadata: u16) -> bool {
        self.held.contains(&metadata)
    }

    /// Uses the flags of a metadata instruction, which are held from now on.
    pub(super) fn touch(&mut self, metadata: u16) {
        self.held.retain(|other| *other != metadata);
        self.held.push(metadata);
        if self.held.len() > self.entries {
            self.held.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{config, program};

    fn of(text: &str) -> Vec<u32> {
        let program = program(text, &config(&[]));
        let release = Release::of(&program.kernel, &program.kernel.flow());
        positions(&program, &release)
    }

    #[test]
    fn eighteen_instructions_have_one_metadata_instruction() {
        let chain = |length: usize| "iadd r0 r0 r1\n".repeat(length) + "stg r2 r0\n exit";
        assert_eq!(of(&chain(1)), [0]);
        assert_eq!(of(&chain(17)), [0]);
        assert_eq!(of(&chain(18)), [0, 18]);
        assert_eq!(of(&chain(50)), [0, 18, 36]);
        assert_eq!(of("mov r0 1\n mov r1 2\n exit"), [0; 0], "nothing is read for the last time");
    }

    #[test]
    fn what_the_other_side_needs_dies_where_a_side_begins() {
        // r0 is read at 3 only, r1 at 5 only; both are read behind a branch that the compiler cannot foresee.
        let text = "mov r0 1\n mov r1 2\n @p0 bra 5\n stg r4 r0\n bra 6\n stg r4 r1\n exit";
        // Lanes of the other side may still read the register, so that no side releases it at its beginning.
        assert_eq!(of(text), [3, 5], "the flags of the stores");
    }

    #[test]
    fn the_flags_read_least_recently_are_replaced() {
        let mut cache = FlagCache::new(2);
        assert!(!cache.has(7));
        [7, 8, 7, 9].into_iter().for_each(|metadata| cache.touch(metadata));
        assert_eq!([7, 8, 9].map(|metadata| cache.has(metadata)), [true, false, true]);
        let mut none = FlagCache::new(0);
        none.touch(1);
        assert!(!none.has(1));
    }
}
