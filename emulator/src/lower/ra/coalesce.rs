//! Coalescing: values that are copies of each other, or must share a register, become one web; webs that
//! instructions name together become groups of consecutive registers.
//!
//! Merging is refused if two values would be needed at the same time in one register. Values that are known
//! to be equal (copies of one original) never conflict, so a copy whose source stays live costs nothing.

use super::code::{Code, Item, Node};
use super::live::{CallAt, Live, Segment, normalise};
use crate::lower::vir::Func;

/// Index of a group of consecutive registers.
pub(crate) type GroupId = u32;

/// Up to four webs that get consecutive registers, the first aligned to their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    /// Number of registers.
    pub size: u8,
    /// Live range of each register's web; empty where nothing is.
    pub ranges: [Vec<Segment>; 4],
    /// Whether the registers are predicates.
    pub predicate: bool,
}

/// All groups, and the position of each node.
#[derive(Clone)]
pub(crate) struct Webs {
    /// Groups; merged ones are empty (size 0).
    pub groups: Vec<Group>,
    /// Calls of subroutines, by position.
    pub calls: Vec<CallAt>,
    place: Vec<Option<(GroupId, u8)>>,
    forward: Vec<Option<(GroupId, u8)>>,
}

impl Webs {
    /// Forms webs and groups.
    pub(crate) fn of(f: &Func, code: &Code, live: &Live) -> Webs {
        let n = Code::nodes(f);
        let mut webs =
            Webs { groups: Vec::new(), calls: live.calls.clone(), place: vec![None; n], forward: Vec::new() };
        for tuple in &code.tuples {
            let mut ranges: [Vec<Segment>; 4] = Default::default();
            for (k, r) in tuple.iter().enumerate() {
                ranges[k].clone_from(&live.ranges[r.index()]);
                webs.place[r.index()] = Some((webs.groups.len() as GroupId, k as u8));
            }
            webs.add(Group { size: tuple.len() as u8, ranges, predicate: false });
        }
        for i in 0..n {
            if webs.place[i].is_none() && !live.ranges[i].is_empty() {
                let mut ranges: [Vec<Segment>; 4] = Default::default();
                ranges[0].clone_from(&live.ranges[i]);
                webs.place[i] = Some((webs.groups.len() as GroupId, 0));
                webs.add(Group { size: 1, ranges, predicate: matches!(Node::at(f, i), Node::P(_)) });
            }
        }
        for &(a, b) in &code.ties {
            let (a, b) = (a.index(f), b.index(f));
            if webs.place(a).is_some() && webs.place(b).is_some() {
                let merged = webs.merge(a, b);
                debug_assert!(merged, "tied values {a} and {b} conflict");
            }
        }
        webs.copies(f, code);
        // From here on nodes are only looked up.
        (0..n).for_each(|node| {
            webs.find(node);
        });
        webs
    }

    /// The same with results in the registers of operands that end where they begin, in code that runs often first.
    pub(crate) fn with_results_in_operands(&self, f: &Func, code: &Code) -> Webs {
        let mut webs = self.clone();
        let mut blocks = f.order.clone();
        blocks.sort_by(|a, b| code.blocks[b.index()].weight.total_cmp(&code.blocks[a.index()].weight));
        for item in blocks.iter().flat_map(|b| &code.blocks[b.index()].items) {
            let Item::Inst(id) = item else { continue };
            let inst = f.inst(*id);
            let Some(result) = inst.dst[0] else { continue };
            let sources = inst.src.iter().zip(inst.op.shape().src).filter(|(_, registers)| *registers > 0);
            let mut operands = sources.filter_map(|(source, _)| source.v[0].reg());
            operands.any(|r| webs.merge(Node::R(result).index(f), Node::R(r).index(f)));
        }
        (0..webs.place.len()).for_each(|node| {
            webs.find(node);
        });
        webs
    }

    fn add(&mut self, group: Group) {
        self.groups.push(group);
        self.forward.push(None);
    }

    /// Removes copies, those that run most often first.
    fn copies(&mut self, f: &Func, code: &Code) {
        let mut list: Vec<(f32, usize, usize)> = Vec::new();
        for &b in &f.order {
            let block = &code.blocks[b.index()];
            for item in &block.items {
                let Item::Copies(copies) = item else { continue };
                for c in copies.iter().filter(|c| c.coalescable()) {
                    if let Some(s) = c.src() {
                        list.push((block.weight, c.dst().index(f), s.index(f)));
                    }
                }
            }
        }
        list.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, d, s) in list {
            self.merge(d, s);
        }
    }

    /// Group and place of a node; `None` for nodes that are never live.
    pub(crate) fn place(&self, node: usize) -> Option<(GroupId, u8)> {
        let (mut g, mut slot) = self.place[node]?;
        while let Some((next, shift)) = self.forward[g as usize] {
            g = next;
            slot += shift;
        }
        Some((g, slot))
    }

    /// The same, and shortens the way for the next time.
    fn find(&mut self, node: usize) -> Option<(GroupId, u8)> {
        let found = self.place(node)?;
        let (mut g, mut slot) = self.place[node].replace(found)?;
        while let Some((next, shift)) = self.forward[g as usize] {
            self.forward[g as usize] = Some((found.0, found.1 - slot));
            (g, slot) = (next, slot + shift);
        }
        Some(found)
    }

    /// Tries to merge two nodes into one register.
    fn merge(&mut self, a: usize, b: usize) -> bool {
        let (Some((ga, sa)), Some((gb, sb))) = (self.find(a), self.find(b)) else { return false };
        if ga == gb {
            return sa == sb;
        }
        // Into the larger group, at the offset that puts both nodes in one place.
        let (into, from, at) = if self.groups[ga as usize].size >= self.groups[gb as usize].size {
            (ga, gb, i32::from(sa) - i32::from(sb))
        } else {
            (gb, ga, i32::from(sb) - i32::from(sa))
        };
        let (big, small) = (&self.groups[into as usize], &self.groups[from as usize]);
        if at < 0 || at + i32::from(small.size) > i32::from(big.size) || at % i32::from(small.size) != 0 {
            return false;
        }
        let at = at as u8;
        for k in 0..small.size {
            if conflict(&big.ranges[(at + k) as usize], &small.ranges[k as usize]) {
                return false;
            }
        }
        let small = std::mem::take(&mut self.groups[from as usize]);
        for (k, range) in small.ranges.into_iter().enumerate().take(small.size as usize) {
            absorb(&mut self.groups[into as usize].ranges[at as usize + k], range);
        }
        self.forward[from as usize] = Some((into, at));
        true
    }
}

/// If one list is this many times longer than the other, it is searched instead of scanned.
const MUCH_LONGER: usize = 8;

/// Whether two ranges hold different values at some position.
pub(crate) fn conflict(a: &[Segment], b: &[Segment]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.len() * MUCH_LONGER < long.len() {
        return short.iter().any(|s| {
            let first = long.partition_point(|l| l.end <= s.start);
            long[first..].iter().take_while(|l| l.start < s.end).any(|l| l.value != s.value)
        });
    }
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        if x.start < y.end && y.start < x.end && x.value != y.value {
            return true;
        }
        if x.end <= y.end {
            i += 1;
        } else {
            j += 1;
        }
    }
    false
}

/// Adds a range to another that it does not conflict with.
fn absorb(target: &mut Vec<Segment>, mut range: Vec<Segment>) {
    if range.len() > target.len() {
        std::mem::swap(target, &mut range);
    }
    if range.len() * MUCH_LONGER >= target.len() {
        target.extend(range);
        return normalise(target);
    }
    for s in range {
        // Everything that it overlaps or touches has its place between these two; few of them do.
        let from = target.partition_point(|t| t.end < s.start);
        let to = from + target[from..].iter().take_while(|t| t.start <= s.end).count();
        let mut joined: Vec<Segment> = target[from..to].iter().copied().chain([s]).collect();
        normalise(&mut joined);
        target.splice(from..to, joined);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Disjoint segments of a few values, and what value they hold at each position.
    fn range(lengths: &[(u32, u32, u32)]) -> (Vec<Segment>, Vec<Option<u32>>) {
        let (mut list, mut at) = (Vec::new(), 0);
        for &(gap, length, value) in lengths {
            let start = at + gap;
            at = start + length;
            list.push(Segment { start, end: at, value });
        }
        normalise(&mut list);
        let held = (0..at).map(|p| list.iter().find(|s| s.start <= p && p < s.end).map(|s| s.value));
        let held = held.collect();
        (list, held)
    }

    fn holds(held: &[Option<u32>], p: usize) -> Option<u32> {
        held.get(p).copied().flatten()
    }

    proptest! {
        #[test]
        fn ranges_conflict_and_join_position_by_position(
            long in proptest::collection::vec((0u32..4, 1u32..4, 0u32..2), 0..60),
            short in proptest::collection::vec((0u32..40, 1u32..4, 0u32..2), 0..4),
        ) {
            let ((long, there), (short, here)) = (range(&long), range(&short));
            let end = there.len().max(here.len());
            let differ = |p: usize| {
                matches!((holds(&there, p), holds(&here, p)), (Some(a), Some(b)) if a != b)
            };
            let expected = (0..end).any(differ);
            prop_assert_eq!(conflict(&long, &short), expected);
            prop_assert_eq!(conflict(&short, &long), expected);
            if !expected {
                let mut both = long;
                absorb(&mut both, short);
                for pair in both.windows(2) {
                    prop_assert!(pair[0].end <= pair[1].start);
                }
                for p in 0..end {
                    let value = both.iter().find(|s| s.start as usize <= p && p < s.end as usize).map(|s| s.value);
                    prop_assert_eq!(value, holds(&there, p).or(holds(&here, p)));
                }
            }
        }
    }
}
