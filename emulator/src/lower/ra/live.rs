//! Live ranges of values in the linear code, as lists of segments.
//!
//! Every item of the code has two positions, one at which it reads and the next at which it writes; a value
//! that is last read by an instruction does not conflict with what that instruction writes. Values live
//! across a call conflict with everything in the called subroutine, but not with those live across other
//! calls of it ([`THROUGH`]).

use super::code::{Code, Item, Node};
use crate::lower::liveness::Mentions;
use crate::lower::vir::{Blk, Def, Func, PSrc, Term, VOp};

/// Value of a segment over a subroutine's positions that stands for whatever is live across a call of it:
/// two of them never conflict there, because they do at the call itself if they are live across the same one.
pub(crate) const THROUGH: u32 = u32::MAX;

/// A half-open range of positions in which a location holds a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    /// First position.
    pub start: u32,
    /// One past the last position.
    pub end: u32,
    /// The value: node index of the original that copies were made of, or [`THROUGH`].
    pub value: u32,
}

impl Segment {
    /// Whether it stands for a value that is live across a call, in the called subroutine.
    pub(crate) const fn is_through(&self) -> bool {
        self.value == THROUGH
    }
}

/// A call of a subroutine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallAt {
    /// Position at which it reads its arguments; it writes its results at the next one.
    pub at: u32,
    /// Positions of the subroutine.
    pub body: (u32, u32),
}

/// Live ranges of all nodes.
pub(crate) struct Live {
    /// Segments of each node, ascending and disjoint.
    pub ranges: Vec<Vec<Segment>>,
    /// Position of each block's first item.
    pub block_start: Vec<u32>,
    /// Position after each block's terminator.
    pub block_end: Vec<u32>,
    /// Nodes live into each block.
    live_in: Vec<Vec<u32>>,
    /// Calls of subroutines, by position.
    pub calls: Vec<CallAt>,
    /// Positions of each subroutine.
    sub_range: Vec<(u32, u32)>,
}

impl Live {
    /// Computes live ranges.
    pub(crate) fn of(f: &Func, code: &Code) -> Live {
        let n = Code::nodes(f);
        let mut live = Live {
            ranges: vec![Vec::new(); n],
            block_start: vec![0; f.blocks.len()],
            block_end: vec![0; f.blocks.len()],
            live_in: vec![Vec::new(); f.blocks.len()],
            calls: Vec::new(),
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

    /// Finds the blocks that each node is live into.
    fn solve(&mut self, f: &Func, code: &Code) {
        let mut mentions = Mentions::new(Code::nodes(f));
        for &b in &f.order {
            for item in &code.blocks[b.index()].items {
                item.visit(f, |u| mentions.read(b, u.index(f)), |_| ());
                item.visit(f, |_| (), |d| mentions.write(b, d.index(f)));
            }
            read_at_end(f, code, b, |i| mentions.read(b, i));
        }
        // Phis are written by the blocks before theirs.
        self.live_in = mentions.live_in(f, |_| None);
    }

    fn segments(&mut self, f: &Func, code: &Code) {
        let n = Code::nodes(f);
        let values = original_values(f, code);
        let mut unnamed = n as u32;
        // End of the open segment of each node while a block is walked backwards; 0 is none.
        let mut open = vec![0u32; n];
        // Every node with an open segment, some of them twice, and some without one.
        let mut opened: Vec<u32> = Vec::new();
        for &b in f.order.iter().rev() {
            let (start, end) = (self.block_start[b.index()], self.block_end[b.index()]);
            opened.clear();
            for s in f.block(b).term.succs() {
                opened.extend(&self.live_in[s.index()]);
            }
            read_at_end(f, code, b, |i| opened.push(i as u32));
            opened.iter().for_each(|&i| open[i as usize] = end);
            for (k, item) in code.blocks[b.index()].items.iter().enumerate().rev() {
                let at = start + 2 * k as u32;
                let mut define = |d: usize, value: u32| {
                    let stop = if open[d] == 0 { at + 2 } else { open[d] };
                    self.ranges[d].push(Segment { start: at + 1, end: stop, value });
                    open[d] = 0;
                };
                match item {
                    // Until the end of this block a copy holds its source's value, even if it is a phi: it is
                    // not yet the phi's value, of which an older instance may still be live.
                    Item::Copies(copies) => {
                        for copy in copies {
                            let source = copy.src().filter(|_| copy.coalescable());
                            let value = source.map(|s| values[s.index(f)]).unwrap_or_else(|| {
                                unnamed += 1;
                                unnamed
                            });
                            define(copy.dst().index(f), value);
                        }
                    }
                    Item::Inst(_) => item.visit(f, |_| (), |d| define(d.index(f), values[d.index(f)])),
                }
                if let Item::Inst(id) = item
                    && let VOp::Call(sub) = f.inst(*id).op
                {
                    let (start, end) = self.sub_range[sub.index()];
                    for &i in opened.iter().filter(|&&i| open[i as usize] != 0) {
                        self.ranges[i as usize].push(Segment { start, end, value: THROUGH });
                    }
                    self.calls.push(CallAt { at, body: (start, end) });
                }
                let read = |u: Node| {
                    let u = u.index(f);
                    if open[u] == 0 {
                        open[u] = at + 1;
                        opened.push(u as u32);
                    }
                };
                item.visit(f, read, |_| ());
            }
            for &i in &opened {
                let i = i as usize;
                let end = std::mem::take(&mut open[i]);
                if end != 0 {
                    self.ranges[i].push(Segment { start, end, value: values[i] });
                }
            }
        }
        for range in &mut self.ranges {
            normalise(range);
        }
        self.calls.sort_unstable_by_key(|call| call.at);
    }
}

/// Calls `visit` with the nodes read at the end of a block.
fn read_at_end(f: &Func, code: &Code, b: Blk, mut visit: impl FnMut(usize)) {
    match (f.block(b).term, f.block(b).sub) {
        (Term::Return, Some(sub)) => {
            code.sub_results[sub.index()].iter().for_each(|r| visit(Node::R(*r).index(f)));
        }
        (Term::If(PSrc { pred: Some(p), .. }, ..), _) => visit(Node::P(p).index(f)),
        _ => {}
    }
}

/// Sorts segments and joins those of one value that touch.
pub(crate) fn normalise(range: &mut Vec<Segment>) {
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
    let mut values: Vec<Option<u32>> = vec![None; n];
    let mut path = Vec::new();
    for i in 0..n {
        let mut at = i;
        let value = loop {
            match source[at] {
                _ if values[at].is_some() => break values[at],
                // Cyclic copies occur only in unreachable code.
                Some(next) if definitions[at] == 1 && !is_phi(at) && path.len() < n => {
                    path.push(at);
                    at = next;
                }
                _ => break Some(at as u32),
            }
        };
        path.push(at);
        path.drain(..).for_each(|node| values[node] = value);
    }
    values.into_iter().zip(0..).map(|(value, i)| value.unwrap_or(i)).collect()
}
