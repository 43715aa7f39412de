//! Pieces of live ranges, and the registers that hold them.
//!
//! A piece is the part of a value's live range in which it stays in one register. A value may change its
//! register only where an extended stretch of the code ends. A piece with a point outside of extended
//! stretches needs a register of the base set.

use super::live::Live;
use warplab_technique::program::{MAX_DST, Program, RegSet};

/// The points of a kernel and the sets of registers.
#[derive(Clone, Copy)]
pub(super) struct Points<'a> {
    pub program: &'a Program,
    pub live: &'a Live,
    /// Whether the warp holds its extended set at an instruction.
    pub extended: &'a [bool],
    /// Registers of the base set.
    pub base: u32,
    /// Registers of both sets.
    pub all: u32,
}

impl Points<'_> {
    /// Whether every way to an instruction comes from an extended one and the instruction is not extended:
    /// values may change their register before it.
    pub(super) fn is_split(&self, at: u32) -> bool {
        if self.extended[at as usize] || at == 0 {
            return false;
        }
        let previous = &self.live.previous[at as usize];
        match previous.is_empty() {
            true => self.live.next[at as usize - 1].contains(&at) && self.extended[at as usize - 1],
            false => previous.iter().all(|from| self.extended[*from as usize]),
        }
    }

    /// Whether an instruction ends the old value of a register.
    fn kills(&self, pc: usize, reg: u8) -> bool {
        let inst = &self.program.insts[pc];
        inst.inst.is_unguarded() && inst.destinations().contains(&reg)
    }
}

/// The pieces of a kernel; each is known by one of its nodes: a register before an instruction, or a result.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    parent: Vec<u32>,
    registers: usize,
    results: usize,
}

impl Pieces {
    fn root(&self, mut node: usize) -> usize {
        while self.parent[node] as usize != node {
            node = self.parent[node] as usize;
        }
        node
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = (a.min(b), a.max(b));
        self.parent[high] = low as u32;
    }

    fn node(&self, pc: usize, reg: u8) -> usize {
        pc * self.registers + usize::from(reg)
    }

    fn result_node(&self, pc: usize, k: usize) -> usize {
        self.results + pc * MAX_DST + k
    }

    /// The piece of a register before an instruction.
    pub(super) fn before(&self, pc: usize, reg: u8) -> usize {
        self.root(self.node(pc, reg))
    }

    /// The piece of an instruction's result.
    pub(super) fn result(&self, pc: usize, k: usize) -> usize {
        self.root(self.result_node(pc, k))
    }

    /// The piece of a register after an instruction.
    pub(super) fn after(&self, points: &Points<'_>, pc: usize, reg: u8) -> usize {
        match points.program.insts[pc].destinations().iter().position(|dst| *dst == reg) {
            Some(k) => self.result(pc, k),
            None => self.before(pc, reg),
        }
    }
}

/// Finds the pieces of a kernel.
pub(super) fn find(points: &Points<'_>) -> Pieces {
    let Points { program, live, .. } = *points;
    let registers = program.registers_per_thread as usize;
    let results = program.insts.len() * registers;
    let nodes = results + program.insts.len() * MAX_DST;
    let mut pieces = Pieces { parent: (0..nodes as u32).collect(), registers, results };
    for (pc, inst) in program.insts.iter().enumerate() {
        for (k, reg) in inst.destinations().iter().enumerate() {
            if !points.kills(pc, *reg) && live.before[pc].contains(*reg) {
                let (result, old) = (pieces.result_node(pc, k), pieces.node(pc, *reg));
                pieces.join(result, old);
            }
        }
        for next in &live.next[pc] {
            if points.is_split(*next) {
                continue;
            }
            for reg in live.before[*next as usize].iter() {
                let (value, there) = (pieces.after(points, pc, reg), pieces.node(*next as usize, reg));
                pieces.join(value, there);
            }
        }
    }
    // One sequence of moves serves all ways to a block, so each value comes in one register.
    for (at, previous) in live.previous.iter().enumerate().filter(|(at, _)| points.is_split(*at as u32)) {
        for (reg, pair) in live.before[at].iter().flat_map(|reg| previous.windows(2).map(move |p| (reg, p))) {
            let [a, b] = [pair[0], pair[1]].map(|pc| pieces.after(points, pc as usize, reg));
            pieces.join(a, b);
        }
    }
    // A value that needs the base set before an extended stretch keeps its register behind it.
    let needs_base = pieces.outside(points);
    for (pc, nexts) in live.next.iter().enumerate() {
        for next in nexts.iter().filter(|next| points.is_split(**next)) {
            for reg in live.before[*next as usize].iter() {
                let (value, there) = (pieces.after(points, pc, reg), pieces.node(*next as usize, reg));
                if needs_base[value] {
                    pieces.join(value, there);
                }
            }
        }
    }
    for node in 0..nodes {
        pieces.parent[node] = pieces.root(node) as u32;
    }
    pieces
}

impl Pieces {
    /// By piece: whether it has a point outside of extended stretches.
    fn outside(&self, points: &Points<'_>) -> Vec<bool> {
        let mut outside = vec![false; self.parent.len()];
        for pc in (0..points.program.insts.len()).filter(|pc| !points.extended[*pc]) {
            points.live.before[pc].iter().for_each(|reg| outside[self.before(pc, reg)] = true);
            points.live.after[pc].iter().for_each(|reg| outside[self.after(points, pc, reg)] = true);
        }
        outside
    }
}

/// A piece on its way to a register.
#[derive(Clone, Debug, Default)]
struct Range {
    /// Moments at which it is live: twice the instruction, one more after it.
    moments: Vec<u32>,
    /// Instructions outside of extended stretches.
    outside: Vec<u32>,
    /// Its register in the program.
    name: u8,
    /// Pieces that the same value has before and after.
    related: Vec<u32>,
}

impl Pieces {
    /// Gives every piece a register; by node, of which those of pieces count.
    ///
    /// # Errors
    /// Instructions outside of extended stretches at which a value found no register of the base set.
    pub(super) fn color(&self, points: &Points<'_>) -> Result<Vec<u8>, Vec<u32>> {
        let (ranges, order) = self.ranges(points);
        let mut used = vec![RegSet::default(); 2 * points.program.insts.len()];
        let mut colors: Vec<Option<u8>> = vec![None; self.parent.len()];
        let mut failed = Vec::new();
        for piece in order {
            let Some(range) = &ranges[piece as usize] else { continue };
            let mut taken = RegSet::default();
            range.moments.iter().for_each(|moment| taken.insert_all(&used[*moment as usize]));
            let limit = if range.outside.is_empty() { points.all } else { points.base };
            let free = |reg: &u8| u32::from(*reg) < limit && !taken.contains(*reg);
            // Where the value is before and behind this piece saves a move, now or when that piece is looked at.
            let related = range.related.iter().filter_map(|other| colors[*other as usize]).find(free);
            let mut taken_there = RegSet::default();
            for other in range.related.iter().filter(|other| colors[**other as usize].is_none()) {
                let moments = ranges[*other as usize].iter().flat_map(|range| &range.moments);
                moments.for_each(|moment| taken_there.insert_all(&used[*moment as usize]));
            }
            let any = || std::iter::once(range.name).chain(0..limit as u8);
            let chosen = related
                .or_else(|| any().find(|reg| free(reg) && !taken_there.contains(*reg)))
                .or_else(|| any().find(free));
            let Some(color) = chosen else {
                failed.extend(&range.outside);
                continue;
            };
            range.moments.iter().for_each(|moment| used[*moment as usize].insert(color));
            colors[piece as usize] = Some(color);
        }
        let missing = ranges.iter().zip(&colors).any(|(range, color)| range.is_some() && color.is_none());
        if missing { Err(failed) } else { Ok(colors.into_iter().map(Option::unwrap_or_default).collect()) }
    }

    /// The ranges of the pieces by node, and the order in which they get registers: in program order, those that
    /// need the base set first.
    fn ranges(&self, points: &Points<'_>) -> (Vec<Option<Range>>, Vec<u32>) {
        let Points { program, live, extended, .. } = *points;
        let mut ranges: Vec<Option<Range>> = vec![None; self.parent.len()];
        let mut order: Vec<u32> = Vec::new();
        let mut at = |piece: usize, reg: u8, pc: usize, moment: u32| {
            let range = ranges[piece].get_or_insert_with(|| {
                order.push(piece as u32);
                Range { name: reg, ..Range::default() }
            });
            range.moments.push(moment);
            if !extended[pc] && range.outside.last() != Some(&(pc as u32)) {
                range.outside.push(pc as u32);
            }
        };
        for pc in 0..program.insts.len() {
            let moment = 2 * pc as u32;
            live.before[pc].iter().for_each(|reg| at(self.before(pc, reg), reg, pc, moment));
            live.after[pc].iter().for_each(|reg| at(self.after(points, pc, reg), reg, pc, moment + 1));
        }
        for (pc, nexts) in live.next.iter().enumerate() {
            for next in nexts.iter().filter(|next| points.is_split(**next)) {
                for reg in live.before[*next as usize].iter() {
                    let (old, new) = (self.after(points, pc, reg), self.before(*next as usize, reg));
                    let mut relate = |one: usize, other: usize| {
                        ranges[one].iter_mut().for_each(|range| range.related.push(other as u32));
                    };
                    relate(old, new);
                    relate(new, old);
                }
            }
        }
        order.sort_by_key(|piece| {
            ranges[*piece as usize].as_ref().is_none_or(|range| range.outside.is_empty())
        });
        (ranges, order)
    }
}
