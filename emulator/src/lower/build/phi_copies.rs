//! Removes phis that are copies: those whose arguments are all the same value, the phi itself, or such copies.
//!
//! Every phi is taken for a copy of what is known of its arguments until an argument contradicts, as in sparse
//! constant propagation (Wegman and Zadeck, TOPLAS 1991). So the headers of nested loops, whose phis read each other,
//! are settled together, and the work follows the number of arguments.

use std::collections::VecDeque;

use crate::lower::vir::{Func, PSrc, Val};

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

/// Phis by number, with their arguments one after the other.
struct Phis<V> {
    args: Vec<Arg<V>>,
    /// Where the arguments of each phi end.
    ends: Vec<usize>,
    own: Vec<V>,
    /// What each is known to be: nothing yet, a copy of a value, or itself.
    known: Vec<Option<V>>,
}

impl<V: Value> Phis<V> {
    fn new() -> Self {
        Self { args: Vec::new(), ends: Vec::new(), own: Vec::new(), known: Vec::new() }
    }

    fn push(&mut self, own: V, args: impl Iterator<Item = Arg<V>>) {
        self.args.extend(args);
        self.ends.push(self.args.len());
        self.own.push(own);
        self.known.push(None);
    }

    fn args(&self, phi: usize) -> &[Arg<V>] {
        let start = phi.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.args[start..self.ends[phi]]
    }

    /// What the arguments of a phi say of it.
    fn evaluate(&self, phi: usize) -> Option<V> {
        let own = self.own[phi];
        let (mut same, mut partial) = (None, false);
        for arg in self.args(phi) {
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

    /// Every phi and what it is; itself if nothing is known.
    fn known(&self) -> impl Iterator<Item = (V, V)> {
        self.own.iter().zip(&self.known).map(|(&own, known)| (own, known.unwrap_or(own)))
    }

    /// For each phi those that read it: where their numbers begin, and all numbers.
    fn readers(&self) -> (Vec<usize>, Vec<usize>) {
        let reads = |phi: usize| {
            self.args(phi).iter().filter_map(|arg| match *arg {
                Arg::Phi(other, _) => Some(other),
                _ => None,
            })
        };
        let count = self.own.len();
        let mut starts = vec![0; count + 1];
        (0..count).flat_map(reads).for_each(|other| starts[other + 1] += 1);
        for at in 0..count {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut readers = vec![0; starts[count]];
        for phi in 0..count {
            for other in reads(phi) {
                readers[next[other]] = phi;
                next[other] += 1;
            }
        }
        (starts, readers)
    }

    /// Finds what each phi is, those that no path defines `undefined`; returns how often one was examined.
    fn settle(&mut self, undefined: V) -> usize {
        let count = self.own.len();
        let (starts, readers) = self.readers();
        let of = |phi: usize| &readers[starts[phi]..starts[phi + 1]];
        let mut queue = Queue { order: (0..count).collect(), queued: vec![true; count] };
        let mut examined = 0;
        let mut defined_nowhere = vec![false; count];
        loop {
            while let Some(phi) = queue.pop() {
                if self.known[phi] == Some(self.own[phi]) || defined_nowhere[phi] {
                    continue;
                }
                examined += 1;
                let known = self.evaluate(phi);
                if known.is_some() && known != self.known[phi] {
                    self.known[phi] = known;
                    queue.push(of(phi));
                }
            }
            // What nothing is known of now is defined nowhere, and its readers are no copies of their other arguments.
            let open: Vec<usize> = (0..count).filter(|&phi| self.known[phi].is_none()).collect();
            if open.is_empty() {
                return examined;
            }
            for phi in open {
                self.known[phi] = Some(undefined);
                // It reads only others that are defined nowhere, which may be negated: evaluated again, it might change forever.
                defined_nowhere[phi] = true;
                queue.push(of(phi));
            }
        }
    }
}

/// Phis that are to be examined, each once.
struct Queue {
    order: VecDeque<usize>,
    queued: Vec<bool>,
}

impl Queue {
    fn pop(&mut self) -> Option<usize> {
        let phi = self.order.pop_front()?;
        self.queued[phi] = false;
        Some(phi)
    }

    fn push(&mut self, phis: &[usize]) {
        for &phi in phis {
            if !std::mem::replace(&mut self.queued[phi], true) {
                self.order.push_back(phi);
            }
        }
    }
}

/// Marks values that are no phis.
const NONE: u32 = u32::MAX;

/// The numbers of phis by what they define, of so many values.
fn numbered(values: usize, dsts: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut numbers = vec![NONE; values];
    for (number, dst) in dsts.enumerate() {
        numbers[dst] = number as u32;
    }
    numbers
}

fn remove_words(f: &mut Func) -> usize {
    let numbers = numbered(f.defs.len(), f.blocks.iter().flat_map(|b| &b.phis).map(|phi| phi.dst.index()));
    let argument = |&arg: &Val| match f.resolve(arg) {
        Val::Undef => Arg::Undefined,
        Val::Reg(reg) if numbers[reg.index()] != NONE => Arg::Phi(numbers[reg.index()] as usize, false),
        value => Arg::Value(value),
    };
    let mut phis = Phis::new();
    for phi in f.blocks.iter().flat_map(|block| &block.phis) {
        phis.push(Val::Reg(phi.dst), phi.args.iter().map(argument));
    }
    let examined = phis.settle(Val::ZERO);
    let mut known = phis.known();
    for block in 0..f.blocks.len() {
        let mut list = std::mem::take(&mut f.blocks[block].phis);
        list.retain(|phi| {
            let Some((own, value)) = known.next() else { return true };
            f.replace(phi.dst, value);
            own == value
        });
        f.blocks[block].phis = list;
    }
    examined
}

fn remove_predicates(f: &mut Func) -> usize {
    let numbers = numbered(f.pdefs.len(), f.blocks.iter().flat_map(|b| &b.pphis).map(|phi| phi.dst.index()));
    let argument = |&arg: &PSrc| {
        let arg = f.presolve(arg);
        match arg.pred.map(|pred| numbers[pred.index()]) {
            Some(phi) if phi != NONE => Arg::Phi(phi as usize, arg.not),
            _ => Arg::Value(arg),
        }
    };
    let mut phis = Phis::new();
    for phi in f.blocks.iter().flat_map(|block| &block.pphis) {
        phis.push(PSrc::of(phi.dst), phi.args.iter().map(argument));
    }
    let examined = phis.settle(PSrc::FALSE);
    let mut known = phis.known();
    for block in 0..f.blocks.len() {
        let mut list = std::mem::take(&mut f.blocks[block].pphis);
        list.retain(|phi| {
            let Some((own, value)) = known.next() else { return true };
            f.preplace(phi.dst, value);
            own == value
        });
        f.blocks[block].pphis = list;
    }
    examined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::vir::{Def, PPhi, Phi, VReg};

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

    #[test]
    fn predicates_that_no_path_defines_and_that_negate_each_other_come_to_an_end() {
        let mut f = Func::default();
        let [first, second] = [(); 2].map(|()| f.new_pred());
        let negated = PSrc::of(second).flipped(true);
        for (dst, args) in [(first, vec![negated, negated]), (second, vec![PSrc::of(first); 2])] {
            let block = f.new_block(None);
            f.block_mut(block).pphis.push(PPhi { dst, args });
        }
        remove(&mut f);
        assert!([first, second].iter().all(|&pred| f.presolve(PSrc::of(pred)) == PSrc::FALSE));
    }

    #[test]
    fn a_phi_that_reads_one_that_no_path_defines_is_no_copy_of_its_other_argument() {
        let mut f = Func::default();
        let [defined, undefined, both] = [(); 3].map(|()| f.new_reg());
        for (dst, args) in
            [(undefined, vec![Val::Undef; 2]), (both, vec![Val::Reg(undefined), Val::Reg(defined)])]
        {
            let block = f.new_block(None);
            f.defs[dst.index()] = Def::Phi(block);
            f.block_mut(block).phis.push(Phi { dst, args });
        }
        remove(&mut f);
        assert_eq!(f.resolve(Val::Reg(undefined)), Val::ZERO);
        assert_eq!(f.resolve(Val::Reg(both)), Val::Reg(both));
        assert_eq!(f.blocks[1].phis[0].args, [Val::ZERO, Val::Reg(defined)]);
    }
}
