//! The block graph of a kernel with its dominators, and the type of a natural loop in it.

use trace_format::isa::{BlockId, Flow, MachineKernel, Pc};

/// A natural loop; back edges to one header are one loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    /// The block that every iteration begins with.
    pub header: BlockId,
    /// Its blocks, ascending.
    pub blocks: Vec<BlockId>,
    /// Executions of the header per entry of the loop, if constant.
    pub trips: Option<u64>,
}

/// Block graph with dominators; functions besides the entry are entered from a virtual root.
pub(super) struct Graph {
    pub succs: Vec<Vec<usize>>,
    pub preds: Vec<Vec<usize>>,
    /// Immediate dominator by block; the root is one past the last block.
    idom: Vec<Option<usize>>,
    /// Depth in the dominator tree.
    depth: Vec<u32>,
}

impl Graph {
    pub(crate) fn of(kernel: &MachineKernel, flow: &Flow) -> Graph {
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
        let mut graph = Graph { succs, preds, idom: vec![None; count + 1], depth: vec![0; count + 1] };
        graph.dominators(&roots);
        graph
    }

    /// Cooper, Harvey and Kennedy's iterative algorithm from the virtual root.
    fn dominators(&mut self, roots: &[usize]) {
        let root = self.succs.len();
        let order = self.reverse_post_order(roots);
        let mut number = vec![usize::MAX; root + 1];
        number[root] = 0;
        order.iter().enumerate().for_each(|(i, block)| number[*block] = i + 1);
        self.idom[root] = Some(root);
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &order {
                let from_root = roots.contains(&block).then_some(root);
                let entered = self.preds[block].iter().copied().filter(|p| self.idom[*p].is_some());
                let meet = |mut a: usize, mut b: usize| {
                    while a != b {
                        while number[a] > number[b] {
                            a = self.idom[a].unwrap_or(root);
                        }
                        while number[b] > number[a] {
                            b = self.idom[b].unwrap_or(root);
                        }
                    }
                    a
                };
                let found = from_root.into_iter().chain(entered).reduce(meet);
                if found.is_some() && self.idom[block] != found {
                    self.idom[block] = found;
                    changed = true;
                }
            }
        }
        for &block in &order {
            if let Some(above) = self.idom[block] {
                self.depth[block] = self.depth[above] + 1;
            }
        }
    }

    fn reverse_post_order(&self, roots: &[usize]) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.succs.len());
        let mut seen = vec![false; self.succs.len()];
        for &root in roots {
            if std::mem::replace(&mut seen[root], true) {
                continue;
            }
            let mut stack = vec![(root, 0)];
            while let Some((block, next)) = stack.pop() {
                match self.succs[block].get(next) {
                    Some(&succ) => {
                        stack.push((block, next + 1));
                        if !std::mem::replace(&mut seen[succ], true) {
                            stack.push((succ, 0));
                        }
                    }
                    None => order.push(block),
                }
            }
        }
        order.reverse();
        order
    }

    /// Whether every path to `block` passes `above`; false for unreachable blocks.
    pub(crate) fn dominates(&self, above: usize, mut block: usize) -> bool {
        while self.depth[block] > self.depth[above] {
            match self.idom[block] {
                Some(up) => block = up,
                None => return false,
            }
        }
        block == above && self.idom[block].is_some()
    }

    /// Blocks from which `tail` is reached without passing `head`, and both of them; ascending.
    pub(crate) fn body(&self, head: usize, tail: usize) -> Vec<BlockId> {
        let mut inside = vec![false; self.succs.len()];
        inside[head] = true;
        let mut stack = vec![tail];
        while let Some(block) = stack.pop() {
            if !std::mem::replace(&mut inside[block], true) {
                stack.extend(self.preds[block].iter().filter(|p| self.idom[**p].is_some()));
            }
        }
        (0..inside.len()).filter(|b| inside[*b]).map(|b| BlockId(b as u32)).collect()
    }
}
