//! Executions of code that nobody ran: from how often a warp runs the lines that it comes from.
//!
//! - A loop of the code belongs to the loop of the PTX whose backward branch it has, else to the one with most of its
//!   instructions. It is unrolled by the number of copies that most of its loads, stores and floating-point operations have.
//! - Iterations go to the copy of a loop that is unrolled most, as far as they fill it, and the rest to the next, at last to
//!   copies of the body that are in no loop.
//! - A block runs as often as its lines: those that cannot move (stores, branches) are asked first.
//! - Slow paths that are called, and code for diverged warps behind `BRA.DIV`, are left out.

use super::code::{Code, Ending, Weight};
use super::graph::Loops;
use super::profile::{Line, LoopId, Profile};
use std::collections::BTreeMap;

/// Warp instructions of a launch by loop of the PTX.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Estimate {
    /// Of each loop, without those inside it; a [`LoopId`] indexes this list.
    pub loops: Vec<f64>,
    /// Outside of loops.
    pub outside: f64,
    /// In called functions and slow paths, if they were counted.
    pub called: f64,
    /// Copies of each loop's body in its most unrolled version; 0 without a loop of its own.
    pub copies: Vec<u32>,
}

impl Estimate {
    /// All warp instructions besides those of called functions.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.outside + self.loops.iter().sum::<f64>()
    }
}

/// Warp instructions of a code. `counted` are the executions of its blocks if they are known; otherwise they are estimated.
#[must_use]
pub fn estimate(code: &Code, profile: &Profile, counted: Option<&[u64]>) -> Estimate {
    let mapped = Mapped::of(code, profile);
    let runs = match counted {
        Some(runs) => runs.iter().map(|r| *r as f64).collect(),
        None => mapped.runs(),
    };
    let mut found = Estimate { loops: vec![0.0; profile.loops.len()], ..Estimate::default() };
    found.copies = vec![0; profile.loops.len()];
    for (number, block) in code.blocks.iter().enumerate() {
        if !mapped.loops.dominators.reaches(number) {
            found.called += runs[number] * block.len() as f64;
            continue;
        }
        let context = mapped.context(number);
        for inst in &code.instructions[block.clone()] {
            let inside = profile.line(inst.line).map(|line| line.inside);
            match inside.filter(|inside| profile.is_within(*inside, context)).unwrap_or(context) {
                Some(l) => found.loops[l.0] += runs[number],
                None => found.outside += runs[number],
            }
        }
    }
    for (number, of) in mapped.of.iter().enumerate() {
        if let Some(l) = of {
            found.copies[l.0] = found.copies[l.0].max(mapped.copies[number]);
        }
    }
    found
}

/// A code whose loops are tied to those of the PTX.
struct Mapped<'a> {
    code: &'a Code,
    profile: &'a Profile,
    loops: Loops,
    /// The loop of the PTX of each loop of the code.
    of: Vec<Option<LoopId>>,
    /// Copies of the body in each loop.
    copies: Vec<u32>,
    /// Copies of the body of each loop of the PTX outside of its loops in the code, if it has one there.
    straight: Vec<u32>,
}

impl<'a> Mapped<'a> {
    fn of(code: &'a Code, profile: &'a Profile) -> Mapped<'a> {
        let loops = Loops::of(&code.successors, &[0]);
        let mut mapped =
            Mapped { code, profile, of: Vec::new(), copies: Vec::new(), straight: Vec::new(), loops };
        mapped.of = (0..mapped.loops.loops.len()).map(|l| mapped.counterpart(l)).collect();
        mapped.copies = (0..mapped.loops.loops.len()).map(|l| mapped.unrolled(l)).collect();
        mapped.straight = (0..profile.loops.len()).map(|l| mapped.peeled(LoopId(l))).collect();
        mapped
    }

    /// Lines of the blocks of a loop that are in no loop inside it, with their weights.
    fn direct(&self, l: usize) -> impl Iterator<Item = (u32, Weight)> {
        let own = (0..self.code.blocks.len()).filter(move |b| self.loops.innermost[*b] == Some(l));
        own.flat_map(|b| &self.code.instructions[self.code.blocks[b].clone()]).map(|i| (i.line, i.weight))
    }

    fn counterpart(&self, l: usize) -> Option<LoopId> {
        let last = |latch: &usize| self.code.instructions[self.code.blocks[*latch].end - 1].line;
        let with_latch = |line: u32| {
            let inside = self.profile.line(line)?.inside?;
            self.profile.loops[inside.0].latches.contains(&line).then_some(inside)
        };
        self.loops.loops[l].latches.iter().find_map(|latch| with_latch(last(latch))).or_else(|| {
            let mut votes: BTreeMap<LoopId, usize> = BTreeMap::new();
            let known = self.direct(l).filter_map(|(line, _)| self.profile.line(line)?.inside);
            known.for_each(|inside| *votes.entry(inside).or_insert(0) += 1);
            votes.into_iter().max_by_key(|(_, votes)| *votes).map(|(inside, _)| inside)
        })
    }

    /// The number of copies that most lines of a loop have in it.
    fn unrolled(&self, l: usize) -> u32 {
        let Some(of) = self.of[l] else { return 1 };
        let found = self.copies_of(of, self.direct(l));
        let weights: [&[Weight]; 3] = [&[Weight::Counted], &[Weight::Pinned], &[Weight::Loose]];
        weights.into_iter().find_map(|weights| most_common(&found, weights)).map_or(1, |(copies, _)| copies)
    }

    /// The number of copies of a loop's body in front of and behind its loops in the code; 0 if it has none there, or only
    /// a part of its lines is.
    fn peeled(&self, of: LoopId) -> u32 {
        if !self.of.contains(&Some(of)) {
            return 0;
        }
        let outside = |b: &usize| {
            let around = std::iter::successors(self.loops.innermost[*b], |l| self.loops.loops[*l].parent);
            self.loops.dominators.reaches(*b) && around.into_iter().all(|l| self.of[l] != Some(of))
        };
        let blocks = (0..self.code.blocks.len()).filter(outside);
        let instructions = blocks.flat_map(|b| &self.code.instructions[self.code.blocks[b].clone()]);
        let found = self.copies_of(of, instructions.map(|i| (i.line, i.weight)));
        let counted = |(line, weight): &&(u32, Weight)| {
            *weight == Weight::Counted && self.profile.line(*line).is_some_and(|line| line.inside == Some(of))
        };
        let all = self.profile.sizes.keys().filter(counted).count();
        let here = found.keys().filter(|(_, weight)| *weight == Weight::Counted).count();
        if here == 0 || here * 2 < all {
            return 0;
        }
        most_common(&found, &[Weight::Counted]).map_or(0, |(copies, _)| copies)
    }

    /// Copies of each line of a loop among some instructions.
    fn copies_of(
        &self,
        of: LoopId,
        among: impl Iterator<Item = (u32, Weight)>,
    ) -> BTreeMap<(u32, Weight), u32> {
        let mut found: BTreeMap<(u32, Weight), usize> = BTreeMap::new();
        for (line, weight) in among {
            if self.profile.line(line).is_some_and(|line| line.inside == Some(of)) {
                *found.entry((line, weight)).or_insert(0) += 1;
            }
        }
        let copies = |(key, count): ((u32, Weight), usize)| {
            let once = *self.profile.sizes.get(&key)?;
            Some((key, (count as f64 / once as f64).round().max(1.0) as u32))
        };
        found.into_iter().filter_map(copies).collect()
    }

    /// The loop of the PTX that a block of the code is in.
    fn context(&self, block: usize) -> Option<LoopId> {
        self.loops.innermost[block].and_then(|l| self.of[l])
    }

    /// Runs of each loop's header per iteration of its counterpart.
    fn scales(&self) -> Vec<f64> {
        let count = self.loops.loops.len();
        let mut scales: Vec<Option<f64>> = vec![None; count];
        let depth = |l: usize| std::iter::successors(Some(l), |at| self.loops.loops[*at].parent).count();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|l| depth(*l));
        let around = |scales: &[Option<f64>], l: usize| {
            self.loops.loops[l].parent.and_then(|parent| scales[parent]).unwrap_or(1.0)
        };
        for l in order {
            let Some(of) = self.of[l] else { continue };
            let source = &self.profile.loops[of.0];
            let trips = if source.entries > 0.0 { source.iterations / source.entries } else { 0.0 };
            // Entries are shared by the copies that are unrolled alike.
            let alike: Vec<usize> = (0..count)
                .filter(|other| self.of[*other] == Some(of) && self.copies[*other] == self.copies[l])
                .filter(|other| depth(*other) == depth(l))
                .collect();
            let shares: f64 = alike.iter().map(|other| around(&scales, *other)).sum();
            let entries = source.entries * around(&scales, l) / shares.max(f64::MIN_POSITIVE);
            let mut versions: Vec<u32> = (0..count)
                .filter(|other| self.of[*other] == Some(of))
                .map(|other| self.copies[other])
                .collect();
            versions.sort_unstable_by(|a, b| b.cmp(a));
            versions.dedup();
            let mut left = trips;
            let mut runs = 0.0;
            for (position, copies) in versions.iter().enumerate() {
                let copies_of = f64::from(*copies);
                runs = if position + 1 == versions.len() {
                    left / copies_of
                } else {
                    (left / copies_of).floor()
                };
                left -= runs * copies_of;
                if *copies == self.copies[l] {
                    break;
                }
            }
            scales[l] = Some(if source.iterations > 0.0 { entries * runs / source.iterations } else { 0.0 });
        }
        scales.into_iter().map(|scale| scale.unwrap_or(1.0)).collect()
    }

    /// The share of the copies outside of a loop that an entry of it runs: all, if the code has no such loop.
    fn taken_straight(&self, of: LoopId) -> f64 {
        let copies = self.straight[of.0];
        let source = &self.profile.loops[of.0];
        if copies == 0 || source.entries == 0.0 {
            return 1.0;
        }
        let in_loops = (0..self.of.len()).filter(|l| self.of[*l] == Some(of)).map(|l| self.copies[l]);
        let least = in_loops.min().map_or(1.0, f64::from);
        let trips = source.iterations / source.entries;
        ((trips - (trips / least).floor() * least) / f64::from(copies)).min(1.0)
    }

    /// Executions of each block.
    fn runs(&self) -> Vec<f64> {
        let scales = self.scales();
        let mut runs = vec![0.0; self.code.blocks.len()];
        for &block in self.loops.dominators.order() {
            let scale = self.loops.innermost[block].map_or(1.0, |l| scales[l]);
            let own = self.own(block).map(|runs| runs * scale);
            let inherited = || self.loops.dominators.immediate(block).map_or(0.0, |above| runs[above]);
            runs[block] = own.unwrap_or_else(inherited);
        }
        runs
    }

    /// Executions of a block by its lines, if its loop was as often repeated as that of the PTX.
    fn own(&self, block: usize) -> Option<f64> {
        let context = self.context(block);
        let instructions = &self.code.instructions[self.code.blocks[block].clone()];
        let lines = |weight: Weight| {
            let of = instructions.iter().filter(move |i| i.weight == weight);
            of.filter_map(|i| self.profile.line(i.line)).collect::<Vec<&Line>>()
        };
        if self.code.endings[block] == Ending::Calls {
            let all = instructions.iter().filter_map(|i| self.profile.line(i.line));
            return Some(all.map(|line| line.calls).fold(0.0, f64::max));
        }
        [Weight::Pinned, Weight::Counted, Weight::Loose].into_iter().find_map(|weight| {
            let lines = lines(weight);
            let here = lines.iter().filter(|line| line.inside == context).map(|line| line.runs);
            median(here.collect()).or_else(|| {
                // Copies of a loop's body in a row: each runs once per entry of the loop.
                let deeper = lines.iter().filter_map(|line| {
                    let inner = line.inside.filter(|l| self.profile.is_within(Some(*l), context))?;
                    let child = self.profile.child(inner, context);
                    let l = &self.profile.loops[child.0];
                    let taken = self.taken_straight(child);
                    (l.iterations > 0.0).then(|| l.entries * taken * (line.runs / l.iterations).min(1.0))
                });
                median(deeper.collect())
            })
        })
    }
}

/// The number of copies that most lines of some weights have, and how many have it.
fn most_common(found: &BTreeMap<(u32, Weight), u32>, weights: &[Weight]) -> Option<(u32, usize)> {
    let mut votes: BTreeMap<u32, usize> = BTreeMap::new();
    for (_, copies) in found.iter().filter(|((_, weight), _)| weights.contains(weight)) {
        *votes.entry(*copies).or_insert(0) += 1;
    }
    votes.into_iter().max_by_key(|(copies, votes)| (*votes, std::cmp::Reverse(*copies)))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
