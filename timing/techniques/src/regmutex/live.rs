//! What the compiler pass of RegMutex knows about a kernel: registers that are live, and the ways between
//! instructions.

use trace_format::isa::{BlockId, Pc};
use warplab_technique::program::{Path, Program, RegSet};

/// The liveness that the pass works with.
#[derive(Clone, Debug)]
pub(super) struct Live {
    /// Registers live before each instruction.
    pub before: Vec<RegSet>,
    /// Registers live after each instruction, its destinations among them.
    pub after: Vec<RegSet>,
    /// Instructions that a lane may execute next.
    pub next: Vec<Vec<u32>>,
    /// The last instructions of the blocks before each block's first instruction.
    pub previous: Vec<Vec<u32>>,
}

impl Live {
    /// Liveness of a kernel.
    pub(super) fn of(program: &Program) -> Live {
        let kernel = &program.kernel;
        let flow = kernel.flow();
        let liveness = flow.liveness(kernel);
        let before: Vec<RegSet> =
            (0..kernel.insts.len()).map(|pc| liveness.before(Pc(pc as u32)).registers()).collect();
        let (mut next, mut previous) = (vec![Vec::new(); before.len()], vec![Vec::new(); before.len()]);
        for (index, block) in flow.blocks().iter().enumerate() {
            let last = block.end.0 - 1;
            for pc in block.first.0..last {
                next[pc as usize].push(pc + 1);
            }
            for successor in flow.successors(BlockId(index as u32)) {
                let first = flow.block(*successor).first.0;
                next[last as usize].push(first);
                previous[first as usize].push(last);
            }
        }
        let after = |(pc, inst): (usize, &warplab_technique::program::TimedInst)| {
            let mut after = RegSet::default();
            next[pc].iter().for_each(|next| after.insert_all(&before[*next as usize]));
            inst.destinations().iter().for_each(|reg| after.insert(*reg));
            after
        };
        let after = program.insts.iter().enumerate().map(after).collect();
        Live { before, after, next, previous }
    }

    /// Registers live at an instruction.
    pub(super) fn pressure(&self, pc: usize) -> u32 {
        self.before[pc].len().max(self.after[pc].len()) as u32
    }

    /// The most registers live at a barrier of the block. The base set has to hold them: a warp that waited at
    /// a barrier with its extended set could wait for warps that need one.
    pub(super) fn at_barriers(&self, program: &Program) -> u32 {
        let barriers = program.insts.iter().enumerate().filter(|(_, inst)| inst.path == Path::Barrier);
        barriers.map(|(pc, _)| self.pressure(pc)).max().unwrap_or(0)
    }
}
