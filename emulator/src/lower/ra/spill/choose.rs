//! Chooses values to spill: at every position with more live values than registers, the long-lived and rarely
//! used ones, the most crowded position first.

use super::super::assign::{self, Pressure};
use super::super::live::{CallAt, Live, Segment};
use super::spilled::Spilled;
use crate::lower::cfg::Dominance;
use crate::lower::vir::{Func, Term, VPred, VReg};

/// A value with a shorter live range is not worth spilling: its reload takes as long.
const SHORT: u32 = 4;

/// Minimum length of the ranges of positions in the index of live values.
const STRETCH: usize = 64;

/// The values of one kind at a failed attempt to allocate.
pub(super) struct Attempt<'a> {
    /// The code before the attempt.
    pub f: &'a Func,
    /// Live ranges of the attempt.
    pub live: &'a Live,
    /// Registers of the attempt, which come before its predicates in the ranges.
    pub registers: usize,
    /// Why it failed.
    pub pressure: &'a Pressure,
    /// Registers that there are of the kind.
    pub limit: usize,
}

/// The values to spill, by number; empty when nothing is left that would help.
pub(super) fn choose(attempt: &Attempt<'_>, spilled: &Spilled) -> Vec<usize> {
    let mut choice = Choice::new(attempt, spilled);
    if choice.crowd.most().1 > attempt.limit {
        choice.relieve_crowds();
    } else {
        choice.relieve_groups();
    }
    choice.chosen
}

/// Values chosen so far.
struct Choice<'a> {
    attempt: &'a Attempt<'a>,
    spilled: &'a Spilled,
    /// Ranges of all values of the kind, those that the attempt added last.
    ranges: &'a [Vec<Segment>],
    /// Values that may be spilled, with their costs; none for the others.
    price: Vec<Option<f32>>,
    crowd: Crowd,
    index: Index,
    taken: Vec<bool>,
    chosen: Vec<usize>,
}

impl<'a> Choice<'a> {
    fn new(attempt: &'a Attempt<'a>, spilled: &'a Spilled) -> Self {
        let (f, predicate) = (attempt.f, attempt.pressure.predicate);
        let ranges = &attempt.live.ranges;
        let ranges = if predicate { &ranges[attempt.registers..] } else { &ranges[..attempt.registers] };
        let count = if predicate { f.pdefs.len() } else { f.defs.len() };
        let costs = costs(f, predicate);
        let price = |i: usize| {
            let length: u32 = ranges[i].iter().map(|s| s.end - s.start).sum();
            let spillable = i < count && length > SHORT && !is_done(spilled, predicate, i);
            spillable.then(|| costs[i] / length as f32)
        };
        let price: Vec<Option<f32>> = (0..ranges.len()).map(price).collect();
        let end = ranges.iter().flatten().map(|s| s.end).max().unwrap_or(0) as usize;
        let index = Index::of(ranges, |i| price[i].is_some(), end);
        let crowd = Crowd::of(ranges, &attempt.live.calls);
        let taken = vec![false; ranges.len()];
        Self { attempt, spilled, ranges, price, crowd, index, taken, chosen: Vec::new() }
    }

    fn take(&mut self, i: usize) {
        self.taken[i] = true;
        self.chosen.push(i);
        self.crowd.remove(&self.ranges[i]);
    }

    /// Values that may be spilled and live somewhere between two positions, the cheapest first.
    fn candidates(&self, at: &Segment) -> Vec<usize> {
        let mut found: Vec<(f32, usize)> = self
            .index
            .between(at)
            .filter(|&i| !self.taken[i] && lives(&self.ranges[i], at))
            .filter_map(|i| Some((self.price[i]?, i)))
            .collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        found.dedup();
        found.into_iter().map(|(_, i)| i).collect()
    }

    /// Relieves every position where too many values live.
    fn relieve_crowds(&mut self) {
        let limit = self.attempt.limit;
        let mut hopeless: Vec<(u32, usize)> = Vec::new();
        loop {
            let (place, most) = self.crowd.most();
            if most <= limit {
                break;
            }
            let candidates = self.candidates(&Segment { start: place, end: place + 1, value: 0 });
            if candidates.is_empty() {
                hopeless.push((place, most - limit));
                self.crowd.ignore(place);
            }
            candidates.into_iter().take(most - limit).for_each(|i| self.take(i));
        }
        if self.chosen.is_empty() {
            self.relieve_phis(&hopeless);
        }
    }

    /// If every candidate is a reload that feeds a phi: spills those phis.
    fn relieve_phis(&mut self, places: &[(u32, usize)]) {
        for &(place, excess) in places {
            let mut phis = self.phis_behind(place);
            let costs = |i: usize| self.price[i].unwrap_or(f32::MAX);
            phis.sort_by(|&a, &b| costs(a).total_cmp(&costs(b)));
            phis.into_iter().take(excess).for_each(|i| self.take(i));
        }
    }

    /// Relieves each group without registers although enough registers are free: alignment, or different free
    /// times, prevented the assignment.
    fn relieve_groups(&mut self) {
        let attempt = self.attempt;
        for group in &attempt.pressure.ranges {
            let relieved = group
                .iter()
                .any(|at| self.index.between(at).any(|i| self.taken[i] && lives(&self.ranges[i], at)));
            if relieved {
                continue;
            }
            let cheapest = group.iter().filter_map(|at| self.candidates(at).first().copied());
            let price = |i: &usize| self.price[*i].unwrap_or(f32::MAX);
            if let Some(i) = cheapest.min_by(|a, b| price(a).total_cmp(&price(b))) {
                self.take(i);
            }
        }
    }

    /// The phis, not yet spilled, that get their values at the end of the block around a position.
    fn phis_behind(&self, place: u32) -> Vec<usize> {
        let Attempt { f, live, .. } = *self.attempt;
        let predicate = self.attempt.pressure.predicate;
        let at = f.order.partition_point(|b| live.block_end[b.index()] <= place);
        let Some(&block) = f.order.get(at) else { return Vec::new() };
        let phis = f.block(block).term.succs().flat_map(|s| {
            let s = f.block(s);
            let predicates = s.pphis.iter().map(|phi| phi.dst.index()).filter(move |_| predicate);
            predicates.chain(s.phis.iter().map(|phi| phi.dst.index()).filter(move |_| !predicate))
        });
        phis.filter(|&i| !self.taken[i] && !is_done(self.spilled, predicate, i)).collect()
    }
}

fn is_done(spilled: &Spilled, predicate: bool, i: usize) -> bool {
    match predicate {
        true => spilled.has_predicate(VPred(i as u32)),
        false => spilled.has_register(VReg(i as u32)),
    }
}

/// Whether a value lives somewhere in a segment.
pub(super) fn lives(range: &[Segment], at: &Segment) -> bool {
    let first = range.partition_point(|s| s.end <= at.start);
    range.get(first).is_some_and(|s| s.start < at.end)
}

/// Index of the values live in each of a number of equal ranges of positions.
struct Index {
    stretch: usize,
    buckets: Vec<Vec<u32>>,
}

impl Index {
    /// The values among `ranges` of which `is_in` holds, which live before `end`.
    fn of(ranges: &[Vec<Segment>], is_in: impl Fn(usize) -> bool, end: usize) -> Index {
        let values = || ranges.iter().enumerate().filter(|(i, _)| is_in(*i));
        // The more values live at once, the longer stretches are, so that each value is in few of them.
        let length: usize = values().flat_map(|(_, range)| range).map(|s| (s.end - s.start) as usize).sum();
        let stretch = (length / (8 * end.max(1))).max(STRETCH);
        let mut buckets: Vec<Vec<u32>> = vec![Vec::new(); end.div_ceil(stretch)];
        for (i, range) in values() {
            for s in range {
                for bucket in &mut buckets[s.start as usize / stretch..(s.end as usize).div_ceil(stretch)] {
                    if bucket.last() != Some(&(i as u32)) {
                        bucket.push(i as u32);
                    }
                }
            }
        }
        Index { stretch, buckets }
    }

    /// The values of all stretches that a segment touches, some of them more than once.
    fn between(&self, at: &Segment) -> impl Iterator<Item = usize> + '_ {
        let from = (at.start as usize / self.stretch).min(self.buckets.len());
        let to = (at.end as usize).div_ceil(self.stretch).clamp(from, self.buckets.len());
        self.buckets[from..to].iter().flatten().map(|&i| i as usize)
    }
}

/// Number of live values at each position: a segment tree with removal of a range and search of the maximum
/// in logarithmic time.
pub(super) struct Crowd {
    /// Positions, rounded up to a power of two.
    size: usize,
    /// Of each node of the tree (the root is 1): the greatest number below it, `change` of its own included.
    most: Vec<i32>,
    /// What was added to all positions below a node.
    change: Vec<i32>,
}

impl Crowd {
    /// Counts the ranges. Inside a call, the values of the subroutine count too.
    pub(super) fn of(ranges: &[Vec<Segment>], calls: &[CallAt]) -> Crowd {
        let end = ranges.iter().flatten().map(|s| s.end).max().unwrap_or(0) as usize;
        let in_calls = assign::Crowd::of(ranges.iter().map(Vec::as_slice), calls).most_in_calls;
        let calls = calls.iter().map(|call| call.at + 1).zip(in_calls);
        let size = end.max(1).next_power_of_two();
        let mut most = vec![0; 2 * size + 1];
        for s in ranges.iter().flatten().filter(|s| !s.is_through()) {
            most[size + s.start as usize] += 1;
            most[size + s.end as usize] -= 1;
        }
        for at in size + 1..2 * size {
            most[at] += most[at - 1];
        }
        most.truncate(2 * size);
        for (at, count) in calls {
            if let Some(leaf) = most[size..].get_mut(at as usize) {
                *leaf = (*leaf).max(i32::try_from(count).unwrap_or(i32::MAX));
            }
        }
        for node in (1..size).rev() {
            most[node] = most[2 * node].max(most[2 * node + 1]);
        }
        Crowd { size, most, change: vec![0; size] }
    }

    /// The first position at which most values live, and how many do.
    pub(super) fn most(&self) -> (u32, usize) {
        let mut node = 1;
        while node < self.size {
            node *= 2;
            if self.most[node + 1] > self.most[node] {
                node += 1;
            }
        }
        ((node - self.size) as u32, self.most[1].max(0) as usize)
    }

    pub(super) fn remove(&mut self, range: &[Segment]) {
        range.iter().filter(|s| !s.is_through()).for_each(|s| self.add(s.start, s.end, -1));
    }

    /// Excludes a position from the maximum.
    fn ignore(&mut self, place: u32) {
        self.add(place, place + 1, i32::MIN / 4);
    }

    fn add(&mut self, start: u32, end: u32, by: i32) {
        let (first, last) = (start as usize + self.size, end as usize + self.size - 1);
        let (mut from, mut to) = (first, last + 1);
        while from < to {
            if from % 2 == 1 {
                self.add_below(from, by);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                self.add_below(to, by);
            }
            from /= 2;
            to /= 2;
        }
        self.correct_above(first);
        self.correct_above(last);
    }

    fn add_below(&mut self, node: usize, by: i32) {
        self.most[node] = self.most[node].saturating_add(by);
        if node < self.size {
            self.change[node] = self.change[node].saturating_add(by);
        }
    }

    fn correct_above(&mut self, leaf: usize) {
        let mut node = leaf / 2;
        while node > 0 {
            let below = self.most[2 * node].max(self.most[2 * node + 1]);
            self.most[node] = below.saturating_add(self.change[node]);
            node /= 2;
        }
    }
}

/// How much spilling each value would cost: its definitions and uses, weighted by loop depth.
fn costs(f: &Func, predicate: bool) -> Vec<f32> {
    let depth = Dominance::of(f).depth;
    let mut cost = vec![0.0f32; if predicate { f.pdefs.len() } else { f.defs.len() }];
    for &b in &f.order {
        let weight = 10f32.powi(depth[b.index()].min(6) as i32);
        let block = f.block(b);
        for &id in &block.insts {
            let inst = f.inst(id);
            if predicate {
                inst.pdsts().for_each(|p| cost[p.index()] += weight);
                inst.for_each_psrc(|p| p.pred.into_iter().for_each(|p| cost[p.index()] += weight));
            } else {
                inst.dsts().for_each(|d| cost[d.index()] += weight);
                inst.for_each_val(|v| v.reg().into_iter().for_each(|r| cost[r.index()] += weight));
            }
        }
        if let (true, Term::If(p, _, _)) = (predicate, block.term) {
            p.pred.into_iter().for_each(|p| cost[p.index()] += weight);
        }
        if predicate {
            block.pphis.iter().for_each(|phi| cost[phi.dst.index()] += weight);
        } else {
            block.phis.iter().for_each(|phi| cost[phi.dst.index()] += weight);
        }
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_tree_knows_the_most_crowded_position(
            list in proptest::collection::vec((0u32..40, 1u32..20), 1..30),
            removed in proptest::collection::vec(0usize..30, 0..20),
            ignored in proptest::collection::vec(0u32..50, 0..6),
        ) {
            let range = |&(start, length): &(u32, u32)| vec![Segment { start, end: start + length, value: 0 }];
            let mut ranges: Vec<Vec<Segment>> = list.iter().map(range).collect();
            let end = ranges.iter().flatten().map(|s| s.end).max().unwrap();
            let mut crowd = Crowd::of(&ranges, &[]);
            for i in removed {
                if let Some(range) = ranges.get_mut(i) {
                    crowd.remove(range);
                    range.clear();
                }
            }
            ignored.iter().filter(|&&place| place < end).for_each(|&place| crowd.ignore(place));
            let here = |p: u32| ranges.iter().flatten().filter(|s| s.start <= p && p < s.end).count();
            let counted = (0..end).filter(|p| !ignored.contains(p)).map(|p| (here(p), std::cmp::Reverse(p)));
            if let Some((most, std::cmp::Reverse(place))) = counted.max().filter(|(most, _)| *most > 0) {
                prop_assert_eq!(crowd.most(), (place, most));
            }
        }
    }
}
