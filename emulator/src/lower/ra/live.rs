//! Live ranges: where in the linear code each value may still be read, as lists of segments.
//!
//! Every item of the code has two positions, one at which it reads and the next at which it writes; a value
//! that is last read by an instruction does not conflict with what that instruction writes. Values live
//! across a call conflict with everything in the called subroutine.

use super::code::{Code, Item, Node};
use crate::lower::vir::{Blk, Def, Func, Term, VOp};

/// A half-open range of positions in which a location holds a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// First position.
    pub start: u32,
    /// One past the last position.
    pub end: u32,
    /// The value: node index of the original that copies were made of.
    pub value: u32,
}

/// Live ranges of all nodes.
pub struct Live {
    /// Segments of each node, ascending and disjoint.
    pub ranges: Vec<Vec<Segment>>,
    /// Position of each block's first item.
    pub block_start: Vec<u32>,
    /// Position behind each block's terminator.
    pub block_end: Vec<u32>,
    /// Nodes live into each block.
    pub live_in: Vec<Bits>,
    /// Positions of each subroutine.
    pub sub_range: Vec<(u32, u32)>,
}

/// A set of nodes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// An empty set with room for `n`.
    pub fn new(n: usize) -> Bits {
        Bits(vec![0; n.div_ceil(64)])
    }
    /// Adds a node; tells whether it is new.
    pub fn insert(&mut self, i: usize) -> bool {
        let old = self.0[i / 64];
        self.0[i / 64] |= 1 << (i % 64);
        old != self.0[i / 64]
    }
    /// Removes a node.
    pub fn remove(&mut self, i: usize) {
        self.0[i / 64] &= !(1 << (i % 64));
    }
    /// Adds all of another set; tells whether anything is new.
    pub fn union(&mut self, other: &Bits) -> bool {
        let mut changed = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            changed |= *b & !*a != 0;
            *a |= *b;
        }
        changed
    }
    /// The nodes in the set.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(w, &bits)| {
            std::iter::successors((bits != 0).then_some(bits), |&b| {
                let rest = b & (b - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |b| w * 64 + b.trailing_zeros() as usize)
        })
    }
}

impl Live {
    /// Computes live ranges.
    pub fn of(f: &Func, code: &Code) -> Live {
        let n = Code::nodes(f);
        let mut live = Live {
            ranges: vec![Vec::new(); n],
            block_start: vec![0; f.blocks.len()],
            block_end: vec![0; f.blocks.len()],
            live_in: vec![Bits::new(n); f.blocks.len()],
            sub_range: vec![(u32::MAX, 0); f.subs.len()],
        };
        let mut at = 0;
        for &b in &f.order {
            live.block_start[b.index()] = at;
            at += 2 * (code.blocks[b.index()].items.len() as u32 + 1);
            live.block_end[b.index()] = at;
            if let Some(sub) = f.block(b).sub {
                let range = &mut live.sub_range[sub.index()];
                *range = (range.0.min(live.block_start[b.index()]), range.1.max(at));
            }
        }
        live.solve(f, code);
        live.segments(f, code);
        live
    }

    /// What is live behind a block's terminator.
    fn live_out(&self, f: &Func, code: &Code, b: Blk, out: &mut Bits) {
        for s in f.block(b).term.succs() {
            out.union(&self.live_in[s.index()]);
        }
        if let (Term::Return, Some(sub)) = (f.block(b).term, f.block(b).sub) {
            for r in &code.sub_results[sub.index()] {
                out.insert(Node::R(*r).index(f));
            }
        }
        if let Term::If(p, _, _) = f.block(b).term
            && let Some(p) = p.pred
        {
            out.insert(Node::P(p).index(f));
        }
    }

    fn solve(&mut self, f: &Func, code: &Code) {
        let n = Code::nodes(f);
        let mut changed = true;
        while changed {
            changed = false;
            for &b in f.order.iter().rev() {
                let mut set = Bits::new(n);
                self.live_out(f, code, b, &mut set);
                for item in code.blocks[b.index()].items.iter().rev() {
                    let mut defs = Vec::new();
                    let mut uses = Vec::new();
                    item.visit(f, |u| uses.push(u.index(f)), |d| defs.push(d.index(f)));
                    defs.iter().for_each(|&d| set.remove(d));
                    uses.iter().for_each(|&u| {
                        set.insert(u);
                    });
                }
                changed |= self.live_in[b.index()].union(&set);
            }
        }
    }

    fn segments(&mut self, f: &Func, code: &Code) {
        let n = Code::nodes(f);
        let values = original_values(f, code);
        let mut unnamed = n as u32;
        // End of the open segment of each node while a block is walked backwards; 0 is none.
        let mut open = vec![0u32; n];
        for &b in f.order.iter().rev() {
            let (start, end) = (self.block_start[b.index()], self.block_end[b.index()]);
            let mut set = Bits::new(n);
            self.live_out(f, code, b, &mut set);
            for i in set.iter() {
                open[i] = end;
            }
            // A branch reads its predicate, nothing else lives on only for it.
            let items = &code.blocks[b.index()].items;
            for (k, item) in items.iter().enumerate().rev() {
                let at = start + 2 * k as u32;
                let mut defs = Vec::new();
                let mut uses = Vec::new();
                item.visit(f, |u| uses.push(u.index(f)), |d| defs.push(d.index(f)));
                for d in defs {
                    let stop = if open[d] == 0 { at + 2 } else { open[d] };
                    // To the end of this block a copy holds what it copies, even where it is a phi: not yet
                    // the phi's value, of which an older instance may still be alive.
                    let value = match (copied(f, item, d), item) {
                        (Some(source), _) => values[source],
                        (None, Item::Copies(_)) => {
                            unnamed += 1;
                            unnamed
                        }
                        (None, Item::Inst(_)) => values[d],
                    };
                    self.ranges[d].push(Segment { start: at + 1, end: stop, value });
                    open[d] = 0;
                    set.remove(d);
                }
                if let Item::Inst(id) = item
                    && let VOp::Call(sub) = f.inst(*id).op
                {
                    let (from, to) = self.sub_range[sub.index()];
                    for i in set.iter() {
                        self.ranges[i].push(Segment { start: from, end: to, value: values[i] });
                    }
                }
                for u in uses {
                    if open[u] == 0 {
                        open[u] = at + 1;
                        set.insert(u);
                    }
                }
            }
            for i in set.iter().collect::<Vec<_>>() {
                self.ranges[i].push(Segment { start, end: open[i], value: values[i] });
                open[i] = 0;
            }
        }
        for range in &mut self.ranges {
            normalise(range);
        }
    }
}

/// The node that a parallel copy writes to `dst`, if it is a plain copy of one.
fn copied(f: &Func, item: &Item, dst: usize) -> Option<usize> {
    let Item::Copies(copies) = item else { return None };
    let copy = copies.iter().find(|c| c.dst().index(f) == dst && c.coalescable())?;
    copy.src().map(|s| s.index(f))
}

/// Sorts segments and joins those of one value that touch.
pub fn normalise(range: &mut Vec<Segment>) {
    range.sort_by_key(|s| (s.start, s.end));
    let mut out: Vec<Segment> = Vec::with_capacity(range.len());
    for s in range.drain(..) {
        match out.last_mut() {
            Some(last) if last.end >= s.start && last.value == s.value => last.end = last.end.max(s.end),
            _ => out.push(s),
        }
    }
    *range = out;
}

/// For every node the node whose value it copies (itself unless it is a copy with a single definition).
/// Phis are values of their own, even where only one predecessor defines them.
fn original_values(f: &Func, code: &Code) -> Vec<u32> {
    let n = Code::nodes(f);
    let is_phi = |i: usize| match Node::at(f, i) {
        Node::R(r) => matches!(f.defs[r.index()], Def::Phi(_)),
        Node::P(p) => matches!(f.pdefs[p.index()], Def::Phi(_)),
    };
    let mut definitions = vec![0u32; n];
    let mut source: Vec<Option<usize>> = vec![None; n];
    for &b in &f.order {
        for item in &code.blocks[b.index()].items {
            item.visit(f, |_| (), |d| definitions[d.index(f)] += 1);
            if let Item::Copies(copies) = item {
                for c in copies.iter().filter(|c| c.coalescable()) {
                    source[c.dst().index(f)] = c.src().map(|s| s.index(f));
                }
            }
        }
    }
    (0..n)
        .map(|i| {
            let mut at = i;
            for _ in 0..n {
                match source[at] {
                    Some(next) if definitions[at] == 1 && !is_phi(at) => at = next,
                    _ => break,
                }
            }
            at as u32
        })
        .collect()
}
