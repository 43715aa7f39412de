//! Instructions that spilling appends to blocks.

use rustc_hash::FxHashMap;

use crate::lower::vir::{Blk, Func, InstId};

/// Instructions to add at the end of each block.
#[derive(Default)]
pub(super) struct Ends(FxHashMap<Blk, End>);

/// Instructions to add at the end of a block: all phis of all successors read the old values, so reloads come
/// before stores for phis.
#[derive(Default)]
pub(super) struct End {
    pub(super) bring: Vec<InstId>,
    pub(super) pass: Vec<InstId>,
}

impl Ends {
    pub(super) fn of(&mut self, b: Blk) -> &mut End {
        self.0.entry(b).or_default()
    }

    pub(super) fn append(self, f: &mut Func) {
        for (b, end) in self.0 {
            let insts = &mut f.block_mut(b).insts;
            insts.extend(end.bring);
            insts.extend(end.pass);
        }
    }
}
