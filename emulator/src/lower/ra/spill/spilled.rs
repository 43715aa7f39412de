//! The values spilled so far.

use rustc_hash::FxHashMap;

use crate::lower::vir::{Func, VPred, VReg};

/// Values made by spilling, which are never spilled again, and the local memory taken so far.
#[derive(Default)]
pub(crate) struct Spilled {
    pub(super) registers: Set,
    pub(super) predicates: Set,
    /// The register that holds a spilled or reloaded predicate as 1 or 0.
    pub(super) words: FxHashMap<VPred, VReg>,
    /// Bytes of local memory taken.
    pub bytes: u32,
}

impl Spilled {
    pub(super) fn has_register(&self, r: VReg) -> bool {
        self.registers.contains(r.index())
    }

    pub(super) fn has_predicate(&self, p: VPred) -> bool {
        self.predicates.contains(p.index())
    }

    pub(super) fn word(&self, p: VPred) -> Option<VReg> {
        self.words.get(&p).copied()
    }

    /// A new register that is never spilled.
    pub(super) fn fresh_register(&mut self, f: &mut Func) -> VReg {
        let fresh = f.new_reg();
        self.registers.insert(fresh.index());
        fresh
    }

    /// A new predicate that is never spilled and comes from a word.
    pub(super) fn fresh_predicate(&mut self, f: &mut Func, word: VReg) -> VPred {
        let fresh = f.new_pred();
        self.predicates.insert(fresh.index());
        self.words.insert(fresh, word);
        fresh
    }
}

/// A set of small numbers.
#[derive(Default)]
pub(super) struct Set(Vec<bool>);

impl Set {
    pub(super) fn contains(&self, i: usize) -> bool {
        self.0.get(i).copied().unwrap_or(false)
    }

    pub(super) fn insert(&mut self, i: usize) {
        if self.0.len() <= i {
            self.0.resize(i + 1, false);
        }
        self.0[i] = true;
    }
}
