//! Removes phis that are copies: those whose arguments are all the same value, the phi itself, or such copies.
//!
//! Every phi is taken for a copy of what is known of its arguments until an argument contradicts, as in sparse
//! constant propagation (Wegman and Zadeck, TOPLAS 1991). So the headers of nested loops, whose phis read each other,
//! are settled together, and the work follows the number of arguments.

use std::collections::{HashMap, VecDeque};

use crate::lower::vir::{Func, PSrc, VPred, VReg, Val};

/// Removes phis that are copies, and applies the replacements to the code. Returns how often phis were examined.
pub(crate) fn remove(f: &mut Func) -> usize {
    let examined = remove_words(f) + remove_predicates(f);
    f.resolve_all();
    examined
}

/// An argument of a phi.
enum Arg<V> {
    /// Another phi or the same, by number, negated if so.
    Phi(usize, bool),
    /// Any other value.
    Value(V),
    Undefined,
}

/// The rules of a kind of value.
trait Value: Copy + PartialEq {
    /// The value negated, if so.
    fn flipped(self, not: bool) -> Self;
    /// Whether it reaches a phi only on the paths that define it.
    fn needs_definition(self) -> bool;
}

impl Value for Val {
    fn flipped(self, _not: bool) -> Self {
        self
    }

    fn needs_definition(self) -> bool {
        matches!(self, Val::Reg(_))
    }
}

impl Value for PSrc {
    fn flipped(self, not: bool) -> Self {
        PSrc { pred: self.pred, not: self.not != not }
    }

    fn needs_definition(self) -> bool {
        false
    }
}

/// Phis by number.
struct Phis<V> {
    args: Vec<Vec<Arg<V>>>,
    own: Vec<V>,
    /// What each is known to be: nothing yet, a copy of a value, or itself.
    known: Vec<Option<V>>,
}

impl<V: Value> Phis<V> {
    fn new(args: Vec<Vec<Arg<V>>>, own: Vec<V>) -> Self {
        let known = vec![None; own.len()];
        Self { args, own, known }
    }

    /// What the arguments of a phi say of it.
    fn evaluate(&self, phi: usize) -> Option<V> {
        let own = self.own[phi];
        let (mut same, mut partial) = (None, false);
        for arg in &self.args[phi] {
            let value = match *arg {
                Arg::Undefined => {
                    partial = true;
                    continue;
                }
                Arg::Value(value) => value,
                Arg::Phi(other, not) => match self.known[other] {
                    _ if other == phi && !not => continue,
                    Some(value) => value.flipped(not),
                    None => continue,
                },
            };
            if value == own {
                continue;
            }
            if same.is_some_and(|same| same != value) {
                return Some(own);
            }
            same = Some(value);
        }
        // A value that only some paths define does not dominate the phi.
        if partial && same.is_some_and(V::needs_definition) { Some(own) } else { same }
    }

    /// Finds what each phi is; returns how often one was examined.
    fn settle(&mut self) -> usize {
        let count = self.own.len();
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (phi, args) in self.args.iter().enumerate() {
            for arg in args {
                if let Arg::Phi(other, _) = *arg {
                    readers[other].push(phi);
                }
            }
        }
        let mut queue: VecDeque<usize> = (0..count).collect();
        let mut queued = vec![true; count];
        let mut examined = 0;
        while let Some(phi) = queue.pop_front() {
            queued[phi] = false;
            examined += 1;
            let known = self.evaluate(phi);
            if self.known[phi] == Some(self.own[phi]) || known == self.known[phi] {
                continue;
            }
            self.known[phi] = known;
            for &reader in &readers[phi] {
                if !std::mem::replace(&mut queued[reader], true) {
                    queue.push_back(reader);
                }
            }
        }
        examined
    }
}

fn remove_words(f: &mut Func) -> usize {
    let dsts: Vec<VReg> = f.blocks.iter().flat_map(|block| block.phis.iter().map(|phi| phi.dst)).collect();
    let numbers: HashMap<VReg, usize> = dsts.iter().enumerate().map(|(at, &dst)| (dst, at)).collect();
    let argument = |&arg: &Val| match f.resolve(arg) {
        Val::Undef => Arg::Undefined,
        Val::Reg(reg) => numbers.get(&reg).map_or(Arg::Value(Val::Reg(reg)), |&phi| Arg::Phi(phi, false)),
        value => Arg::Value(value),
    };
    let all = f.blocks.iter().flat_map(|block| &block.phis);
    let args = all.map(|phi| phi.args.iter().map(argument).collect()).collect();
    let mut phis = Phis::new(args, dsts.iter().map(|&dst| Val::Reg(dst)).collect());
    let examined = phis.settle();
    for (&dst, known) in dsts.iter().zip(&phis.known) {
        f.replace(dst, known.unwrap_or(Val::ZERO));
    }
    for block in &mut f.blocks {
        block.phis.retain(|phi| phis.known[numbers[&phi.dst]] == Some(Val::Reg(phi.dst)));
    }
    examined
}

fn remove_predicates(f: &mut Func) -> usize {
    let dsts: Vec<VPred> = f.blocks.iter().flat_map(|block| block.pphis.iter().map(|phi| phi.dst)).collect();
    let numbers: HashMap<VPred, usize> = dsts.iter().enumerate().map(|(at, &dst)| (dst, at)).collect();
    let argument = |&arg: &PSrc| {
        let arg = f.presolve(arg);
        let phi = arg.pred.and_then(|pred| numbers.get(&pred));
        phi.map_or(Arg::Value(arg), |&phi| Arg::Phi(phi, arg.not))
    };
    let all = f.blocks.iter().flat_map(|block| &block.pphis);
    let args = all.map(|phi| phi.args.iter().map(argument).collect()).collect();
    let mut phis = Phis::new(args, dsts.iter().map(|&dst| PSrc::of(dst)).collect());
    let examined = phis.settle();
    for (&dst, known) in dsts.iter().zip(&phis.known) {
        f.preplace(dst, known.unwrap_or(PSrc::FALSE));
    }
    for block in &mut f.blocks {
        block.pphis.retain(|phi| phis.known[numbers[&phi.dst]] == Some(PSrc::of(phi.dst)));
    }
    examined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::vir::{Def, Phi};

    /// Headers of `depth` nested loops with a phi each: of the value before the loop, and of the one at the end of it,
    /// which is that of the innermost header.
    fn nested(depth: usize, inner: impl Fn(&mut Func, VReg) -> Val) -> (Func, Vec<VReg>) {
        let mut f = Func::default();
        let outside = f.new_reg();
        let phis: Vec<VReg> = (0..depth).map(|_| f.new_reg()).collect();
        let end = inner(&mut f, phis[depth - 1]);
        let mut before = outside;
        for &dst in &phis {
            let block = f.new_block(None);
            f.defs[dst.index()] = Def::Phi(block);
            f.block_mut(block).phis.push(Phi { dst, args: vec![Val::Reg(before), end] });
            before = dst;
        }
        (f, std::iter::once(outside).chain(phis).collect())
    }

    #[test]
    fn a_value_that_no_loop_writes_costs_work_for_each_phi_once() {
        for depth in [10, 100, 1000] {
            let (mut f, values) = nested(depth, |_, innermost| Val::Reg(innermost));
            let examined = remove(&mut f);
            assert!(examined <= 3 * depth, "{examined} phis examined for {depth}");
            assert!(f.blocks.iter().all(|block| block.phis.is_empty()));
            assert_eq!(f.resolve(Val::Reg(values[depth])), Val::Reg(values[0]));
        }
    }

    #[test]
    fn a_value_that_the_innermost_loop_writes_keeps_all_phis() {
        let (mut f, _) = nested(100, |f, _| Val::Reg(f.new_reg()));
        let examined = remove(&mut f);
        assert!(examined <= 300, "{examined} phis examined");
        assert!(f.blocks.iter().all(|block| block.phis.len() == 1));
    }

    #[test]
    fn a_value_that_one_path_leaves_undefined_keeps_its_phi() {
        let (mut f, values) = nested(1, |_, _| Val::Undef);
        remove(&mut f);
        assert_eq!(f.blocks[0].phis[0].dst, values[1]);
    }
}
