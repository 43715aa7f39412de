//! Choice of registers for groups: first fit over live ranges with holes, in several orders, keeping the
//! outcome that needs the fewest registers.

use super::Limits;
use super::coalesce::{Group, GroupId, Webs};
use super::code::{Code, Node};
use super::live::Segment;
use crate::lower::vir::{Func, VPred, VReg};

/// Register that holds the stack pointer from the first instruction on and is never allocated, as in CUDA's
/// calling convention.
pub const STACK_POINTER: u8 = 1;

/// Register of every group.
#[derive(Clone, Debug)]
pub struct Assignment {
    reg_of_node: Vec<Option<u8>>,
    registers: usize,
    /// General registers used (highest plus one).
    pub used: u16,
}

/// There are too few registers of a kind.
#[derive(Clone, Debug)]
pub struct Pressure {
    /// Whether predicates ran out, not general registers.
    pub predicate: bool,
    /// Where the group lives that found no place.
    pub ranges: Vec<Segment>,
}

impl Assignment {
    /// Register of a value; `None` for values that are never live.
    pub fn reg(&self, r: VReg) -> Option<u8> {
        self.reg_of_node.get(r.index()).copied().flatten()
    }

    /// General registers that values are in, ascending.
    pub fn used_registers(&self) -> Vec<u8> {
        distinct(&self.reg_of_node[..self.registers.min(self.reg_of_node.len())])
    }

    /// Predicate registers that predicates are in, ascending.
    pub fn used_predicates(&self) -> Vec<u8> {
        distinct(&self.reg_of_node[self.registers.min(self.reg_of_node.len())..])
    }

    /// Predicate register of a predicate.
    pub fn pred(&self, p: VPred) -> Option<u8> {
        self.reg_of_node.get(self.registers + p.index()).copied().flatten()
    }
}

fn distinct(registers: &[Option<u8>]) -> Vec<u8> {
    let set: std::collections::BTreeSet<u8> = registers.iter().copied().flatten().collect();
    set.into_iter().collect()
}

/// Occupied positions of one machine register.
#[derive(Clone, Default)]
struct Row {
    /// Segments, ascending by start, disjoint.
    taken: Vec<(u32, u32)>,
}

impl Row {
    fn fits(&self, range: &[Segment]) -> bool {
        range.iter().all(|s| {
            let i = self.taken.partition_point(|t| t.1 <= s.start);
            self.taken.get(i).is_none_or(|t| t.0 >= s.end)
        })
    }

    fn take(&mut self, range: &[Segment]) {
        for s in range {
            let i = self.taken.partition_point(|t| t.0 < s.start);
            self.taken.insert(i, (s.start, s.end));
        }
    }
}

/// Assigns registers to all groups.
///
/// # Errors
/// The group that did not fit.
pub fn assign(f: &Func, webs: &Webs, limits: Limits) -> Result<Assignment, Pressure> {
    let live: Vec<GroupId> =
        (0..webs.groups.len() as GroupId).filter(|&g| webs.groups[g as usize].size > 0).collect();
    let (preds, regs): (Vec<GroupId>, Vec<GroupId>) =
        live.into_iter().partition(|&g| webs.groups[g as usize].predicate);
    let regs = best(webs, &regs, limits.registers)?;
    let preds = best(webs, &preds, limits.predicates)?;
    let mut assignment = Assignment {
        reg_of_node: vec![None; Code::nodes(f)],
        registers: f.defs.len(),
        used: u16::from(STACK_POINTER) + 1,
    };
    for (g, base) in regs.iter().enumerate() {
        if let Some(base) = base {
            assignment.used = assignment.used.max(u16::from(*base) + u16::from(webs.groups[g].size));
        }
    }
    for i in 0..Code::nodes(f) {
        if let Some((g, slot)) = webs.place(i) {
            let table = if matches!(Node::at(f, i), Node::P(_)) { &preds } else { &regs };
            assignment.reg_of_node[i] = table[g as usize].map(|base| base + slot);
        }
    }
    Ok(assignment)
}

type Bases = Vec<Option<u8>>;

/// The best of several orders: by start, by start with wide groups first, by length.
fn best(webs: &Webs, groups: &[GroupId], limit: u16) -> Result<Bases, Pressure> {
    let start = |g: GroupId| first_position(&webs.groups[g as usize]);
    let length = |g: GroupId| -> u32 {
        webs.groups[g as usize].ranges.iter().flatten().map(|s| s.end - s.start).sum()
    };
    let size = |g: GroupId| std::cmp::Reverse(webs.groups[g as usize].size);
    let mut orders: [Vec<GroupId>; 4] = std::array::from_fn(|_| groups.to_vec());
    orders[0].sort_by_key(|&g| start(g));
    orders[1].sort_by_key(|&g| (size(g), start(g)));
    orders[2].sort_by_key(|&g| std::cmp::Reverse(length(g)));
    orders[3].sort_by_key(|&g| (size(g), std::cmp::Reverse(length(g))));
    let mut found: Option<(u16, Bases)> = None;
    let mut failure = None;
    for order in &orders {
        match first_fit(webs, order, limit) {
            Ok((used, bases)) if found.as_ref().is_none_or(|(u, _)| used < *u) => found = Some((used, bases)),
            Ok(_) => {}
            Err(pressure) => failure = failure.or(Some(pressure)),
        }
    }
    match (found, failure) {
        (Some((_, bases)), _) => Ok(bases),
        (None, Some(pressure)) => Err(pressure),
        (None, None) => Ok(vec![None; webs.groups.len()]),
    }
}

fn first_position(group: &Group) -> u32 {
    group.ranges.iter().filter_map(|r| r.first()).map(|s| s.start).min().unwrap_or(0)
}

fn first_fit(webs: &Webs, order: &[GroupId], limit: u16) -> Result<(u16, Bases), Pressure> {
    let mut rows: Vec<Row> = vec![Row::default(); limit as usize];
    let predicate = order.first().is_some_and(|&g| webs.groups[g as usize].predicate);
    if let (false, Some(row)) = (predicate, rows.get_mut(usize::from(STACK_POINTER))) {
        row.taken.push((0, u32::MAX));
    }
    let mut bases = vec![None; webs.groups.len()];
    let mut used = 0;
    for &g in order {
        let group = &webs.groups[g as usize];
        let size = usize::from(group.size);
        let base = (0..limit as usize)
            .step_by(size)
            .filter(|base| base + size <= limit as usize)
            .find(|&base| (0..size).all(|k| rows[base + k].fits(&group.ranges[k])));
        let Some(base) = base else {
            return Err(Pressure { predicate: group.predicate, ranges: group.ranges.concat() });
        };
        for k in 0..size {
            rows[base + k].take(&group.ranges[k]);
        }
        used = used.max((base + size) as u16);
        bases[g as usize] = Some(base as u8);
    }
    Ok((used, bases))
}
