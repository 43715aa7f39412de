//! Construction of SSA values from PTX registers, after Braun et al., "Simple and Efficient Construction of
//! Static Single Assignment Form" (CC 2013).
//!
//! A variable is one 32-bit word of a PTX register or of a call's parameter space, or one predicate. Reads
//! that reach a block with several (or not yet known) predecessors make a phi at once; all phis get their
//! arguments when the whole function is built, and phis that turn out to be copies are removed then.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::lower::vir::{Blk, Def, Func, PPhi, PSrc, Phi, Val};

/// A variable: dense number given by the builder.
pub(crate) type Var = u32;

/// Number of blocks that a read passes without caching.
const SHORT_WAY: usize = 8;

/// Current values of all variables in all blocks.
#[derive(Default)]
pub(crate) struct Ssa {
    words: FxHashMap<(Blk, Var), Val>,
    preds: FxHashMap<(Blk, Var), PSrc>,
    /// Blocks whose only predecessor is known already.
    single: FxHashMap<Blk, Blk>,
    /// Blocks after guarded code: the block of that code, and the block before both.
    beside: FxHashMap<Blk, (Blk, Blk)>,
    /// Cached values of blocks between a read and its definition, which do not mention the variable
    /// themselves: the next read need not repeat the search.
    passed_words: FxHashMap<(Blk, Var), Val>,
    passed_preds: FxHashMap<(Blk, Var), PSrc>,
    /// Phis without arguments, with their places in their blocks.
    pending: Vec<(Blk, Var, usize)>,
    ppending: Vec<(Blk, Var, usize)>,
    /// Blocks without predecessors, where variables are undefined.
    entries: FxHashSet<Blk>,
}

impl Ssa {
    /// Declares that a block has exactly one predecessor.
    pub(crate) fn set_single_pred(&mut self, block: Blk, pred: Blk) {
        self.single.insert(block, pred);
    }

    /// Declares that a block follows `before` directly and through `side`, which is complete: a variable that
    /// `side` does not mention needs no phi.
    pub(crate) fn set_beside(&mut self, block: Blk, side: Blk, before: Blk) {
        self.beside.insert(block, (side, before));
    }

    /// The block in which the search for a variable continues, unless there are several predecessors;
    /// `mentions` tells whether a block mentions the variable.
    fn above(&self, at: Blk, mentions: impl Fn(Blk) -> bool) -> Option<Blk> {
        let around = || self.beside.get(&at).filter(|(side, _)| !mentions(*side)).map(|(_, before)| *before);
        self.single.get(&at).copied().or_else(around)
    }

    /// Declares a block without predecessors.
    pub(crate) fn set_entry(&mut self, block: Blk) {
        self.entries.insert(block);
    }

    /// Assigns a word.
    pub(crate) fn write(&mut self, block: Blk, var: Var, value: Val) {
        self.words.insert((block, var), value);
    }

    /// Assigns a predicate.
    pub(crate) fn pwrite(&mut self, block: Blk, var: Var, value: PSrc) {
        self.preds.insert((block, var), value);
    }

    /// The value of a word at the end of the part of a block built so far.
    pub(crate) fn read(&mut self, f: &mut Func, block: Blk, var: Var) -> Val {
        let mut at = block;
        let mut passed = Vec::new();
        let value = loop {
            if let Some(&v) = self.words.get(&(at, var)).or_else(|| self.passed_words.get(&(at, var))) {
                break f.resolve(v);
            }
            if self.entries.contains(&at) {
                break Val::Undef;
            }
            match self.above(at, |side| self.words.contains_key(&(side, var))) {
                Some(pred) => {
                    passed.push(at);
                    at = pred;
                }
                None => {
                    let dst = f.new_reg();
                    f.defs[dst.index()] = Def::Phi(at);
                    self.pending.push((at, var, f.block(at).phis.len()));
                    f.block_mut(at).phis.push(Phi { dst, args: Vec::new() });
                    self.words.insert((at, var), Val::Reg(dst));
                    break Val::Reg(dst);
                }
            }
        };
        if passed.len() > SHORT_WAY {
            self.passed_words.extend(passed.into_iter().map(|at| ((at, var), value)));
        }
        self.words.insert((block, var), value);
        value
    }

    /// The value of a predicate at the end of the part of a block built so far.
    pub(crate) fn pread(&mut self, f: &mut Func, block: Blk, var: Var) -> PSrc {
        let mut at = block;
        let mut passed = Vec::new();
        let value = loop {
            if let Some(&p) = self.preds.get(&(at, var)).or_else(|| self.passed_preds.get(&(at, var))) {
                break f.presolve(p);
            }
            if self.entries.contains(&at) {
                break PSrc::FALSE;
            }
            match self.above(at, |side| self.preds.contains_key(&(side, var))) {
                Some(pred) => {
                    passed.push(at);
                    at = pred;
                }
                None => {
                    let dst = f.new_pred();
                    f.pdefs[dst.index()] = Def::Phi(at);
                    self.ppending.push((at, var, f.block(at).pphis.len()));
                    f.block_mut(at).pphis.push(PPhi { dst, args: Vec::new() });
                    self.preds.insert((at, var), PSrc::of(dst));
                    break PSrc::of(dst);
                }
            }
        };
        if passed.len() > SHORT_WAY {
            self.passed_preds.extend(passed.into_iter().map(|at| ((at, var), value)));
        }
        self.preds.insert((block, var), value);
        value
    }

    /// Gives every phi its arguments, now that all edges are known.
    pub(crate) fn finish(&mut self, f: &mut Func) {
        loop {
            if let Some((block, var, at)) = self.pending.pop() {
                let preds = f.block(block).preds.clone();
                let args: Vec<Val> = preds.iter().map(|&p| self.read(f, p, var)).collect();
                f.block_mut(block).phis[at].args = args;
            } else if let Some((block, var, at)) = self.ppending.pop() {
                let preds = f.block(block).preds.clone();
                let args: Vec<PSrc> = preds.iter().map(|&p| self.pread(f, p, var)).collect();
                f.block_mut(block).pphis[at].args = args;
            } else {
                break;
            }
        }
        super::phi_copies::remove(f);
    }
}
