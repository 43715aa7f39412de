//! The block graph of a kernel with its dominators, and the type of a natural loop in it.

use trace_format::isa::{BlockId, Dominators, Flow, MachineKernel, Pc};

/// A natural loop; back edges to one header are one loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The block that every iteration begins with.
    pub header: BlockId,
    /// Its blocks, ascending.
    pub blocks: Vec<BlockId>,
    /// Executions of the header per entry of the loop, if constant.
    pub trips: Option<u64>,
}

/// Block graph with dominators; functions besides the entry are roots too.
pub(super) struct Graph {
    pub succs: Vec<Vec<usize>>,
    pub preds: Vec<Vec<usize>>,
    dominators: Dominators,
}

impl Graph {
    pub(super) fn of(kernel: &MachineKernel, flow: &Flow) -> Graph {
        let count = flow.blocks().len();
        let succs: Vec<Vec<usize>> = (0..count)
            .map(|b| flow.successors(BlockId(b as u32)).iter().map(|s| s.0 as usize).collect())
            .collect();
        let mut preds = vec![Vec::new(); count];
        for (block, next) in succs.iter().enumerate() {
            next.iter().for_each(|s| preds[*s].push(block));
        }
        let starts = std::iter::once(Pc(0)).chain(kernel.functions.iter().map(|(pc, _)| *pc));
        let roots: Vec<usize> = starts.map(|pc| flow.block_of(pc).0 as usize).collect();
        let dominators = Dominators::of(&succs, &roots);
        Graph { succs, preds, dominators }
    }

    /// Whether every path to `block` passes `above`; false for unreachable blocks.
    pub(super) fn dominates(&self, above: usize, block: usize) -> bool {
        self.dominators.dominates(above, block)
    }

    /// Blocks from which `tail` is reached without passing `head`, and both of them; ascending.
    pub(super) fn body(&self, head: usize, tail: usize) -> Vec<BlockId> {
        let mut inside = vec![false; self.succs.len()];
        inside[head] = true;
        let mut stack = vec![tail];
        while let Some(block) = stack.pop() {
            if !std::mem::replace(&mut inside[block], true) {
                stack.extend(self.preds[block].iter().filter(|p| self.dominators.reaches(**p)));
            }
        }
        (0..inside.len()).filter(|b| inside[*b]).map(|b| BlockId(b as u32)).collect()
    }
}
