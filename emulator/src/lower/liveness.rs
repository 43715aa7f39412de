//! The blocks into which values are live, for any numbering of values: the scheduler's, before single
//! assignment ends, and the register allocator's, after it.
//!
//! Each value is followed from the blocks that read it backwards to those that write it, so that the time is
//! proportional to the size of the result.

use super::vir::{Blk, Func};

/// Where values are mentioned.
pub(super) struct Mentions {
    /// Blocks that read a value before they write it, or at their end without writing it.
    reads: Vec<(u32, Blk)>,
    /// Blocks that write a value.
    writes: Vec<(u32, Blk)>,
    /// The last block that was seen to read and to write each value.
    last_read: Vec<Option<Blk>>,
    last_written: Vec<Option<Blk>>,
}

impl Mentions {
    /// No mentions of `values` values.
    pub(super) fn new(values: usize) -> Mentions {
        let (last_read, last_written) = (vec![None; values], vec![None; values]);
        Mentions { reads: Vec::new(), writes: Vec::new(), last_read, last_written }
    }

    /// Notes that a block reads a value; a block's mentions come together, in their order.
    pub(super) fn read(&mut self, b: Blk, value: usize) {
        if self.last_written[value] != Some(b) && self.last_read[value].replace(b) != Some(b) {
            self.reads.push((value as u32, b));
        }
    }

    /// Notes that a block writes a value.
    pub(super) fn write(&mut self, b: Blk, value: usize) {
        if self.last_written[value].replace(b) != Some(b) {
            self.writes.push((value as u32, b));
        }
    }

    /// The values that are live into each block, ascending. A value for which `begins` returns a block exists
    /// from the start of that block: it is live into it, but into no earlier block.
    pub(super) fn live_in(mut self, f: &Func, begins: impl Fn(u32) -> Option<Blk>) -> Vec<Vec<u32>> {
        let preds = predecessors(f);
        self.reads.sort_unstable();
        self.writes.sort_unstable();
        let mut live_in = vec![Vec::new(); f.blocks.len()];
        // The last value that was found live into a block, and that the block writes.
        let mut entered = vec![u32::MAX; f.blocks.len()];
        let mut written = vec![u32::MAX; f.blocks.len()];
        let mut stack = Vec::new();
        let mut writes = self.writes.chunk_by(|a, b| a.0 == b.0).peekable();
        for reads in self.reads.chunk_by(|a, b| a.0 == b.0) {
            let value = reads[0].0;
            while let Some(list) = writes.next_if(|list| list[0].0 <= value) {
                if list[0].0 == value {
                    list.iter().for_each(|(_, b)| written[b.index()] = value);
                }
            }
            let begin = begins(value);
            stack.extend(reads.iter().map(|&(_, b)| b));
            while let Some(b) = stack.pop() {
                if std::mem::replace(&mut entered[b.index()], value) != value {
                    live_in[b.index()].push(value);
                    if begin != Some(b) {
                        stack.extend(preds[b.index()].iter().filter(|p| written[p.index()] != value));
                    }
                }
            }
        }
        live_in
    }
}

/// The predecessors of each block.
fn predecessors(f: &Func) -> Vec<Vec<Blk>> {
    let mut preds = vec![Vec::new(); f.blocks.len()];
    for &b in &f.order {
        f.block(b).term.succs().for_each(|s| preds[s.index()].push(b));
    }
    preds
}
