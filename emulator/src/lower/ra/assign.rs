//! Choice of registers for groups: first fit over live ranges with holes, in several orders, keeping the
//! assignment with the fewest registers. Its registers, rounded up, are then used in turn, so that a value
//! seldom overwrites one that was just read. Groups of subroutines come first in each order, so that they take the
//! same few registers, which values live across calls then avoid.
//!
//! If the register file has banks and registers are plentiful, results then take registers of operands that end there,
//! and operands of an instruction registers of different banks ([`Banks`]), which needs more of them.

use super::banks::Banks;
use super::coalesce::{Group, GroupId, Webs};
use super::code::{Code, Node};
use super::limits::Limits;
use super::live::{CallAt, Segment};
use crate::lower::vir::{Func, VPred, VReg};
use fixedbitset::FixedBitSet;

/// Register that holds the stack pointer from the first instruction on and is never allocated, as in CUDA's
/// calling convention.
pub(crate) const STACK_POINTER: u8 = 1;

/// Register of every group.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    reg_of_node: Vec<Option<u8>>,
    registers: usize,
    /// General registers used (highest plus one).
    pub used: u16,
}

/// There are too few registers of a kind.
#[derive(Clone, Debug)]
pub(crate) struct Pressure {
    /// Whether predicates ran out, not general registers.
    pub predicate: bool,
    /// Live range of each group without registers; empty if more values are live at once than there are
    /// registers, so that assignment was not tried.
    pub ranges: Vec<Vec<Segment>>,
}

impl Assignment {
    /// Register of a value; `None` for values that are never live.
    pub(crate) fn reg(&self, r: VReg) -> Option<u8> {
        self.reg_of_node.get(r.index()).copied().flatten()
    }

    /// General registers that values are in, ascending.
    pub(crate) fn used_registers(&self) -> Vec<u8> {
        distinct(&self.reg_of_node[..self.registers.min(self.reg_of_node.len())])
    }

    /// Predicate registers that predicates are in, ascending.
    pub(crate) fn used_predicates(&self) -> Vec<u8> {
        distinct(&self.reg_of_node[self.registers.min(self.reg_of_node.len())..])
    }

    /// Takes over the registers of a kind's groups.
    fn place(&mut self, f: &Func, webs: &Webs, bases: &Bases, predicate: bool) {
        for i in (0..Code::nodes(f)).filter(|&i| matches!(Node::at(f, i), Node::P(_)) == predicate) {
            let Some((g, slot)) = webs.place(i) else { continue };
            self.reg_of_node[i] = bases[g as usize].map(|base| base + slot);
            if let (false, Some(base)) = (predicate, bases[g as usize]) {
                self.used = self.used.max(u16::from(base) + u16::from(webs.groups[g as usize].size));
            }
        }
    }

    /// Predicate register of a predicate.
    pub(crate) fn pred(&self, p: VPred) -> Option<u8> {
        self.reg_of_node.get(self.registers + p.index()).copied().flatten()
    }
}

fn distinct(registers: &[Option<u8>]) -> Vec<u8> {
    let set: std::collections::BTreeSet<u8> = registers.iter().copied().flatten().collect();
    set.into_iter().collect()
}

/// Occupied positions of one machine register; those beyond the last one of a set are free.
#[derive(Clone, Default)]
struct Occupancy {
    taken: FixedBitSet,
    /// Positions of subroutines that values live across their calls occupy; several may occupy the same.
    through: FixedBitSet,
    /// Nothing fits.
    reserved: bool,
}

impl Occupancy {
    fn fits(&self, range: &[Segment]) -> bool {
        let free = |set: &FixedBitSet, s: &Segment| {
            let within = |at: u32| set.len().min(at as usize);
            !set.contains_any_in_range(within(s.start)..within(s.end))
        };
        !self.reserved
            && range.iter().all(|s| free(&self.taken, s) && (s.is_through() || free(&self.through, s)))
    }

    fn take(&mut self, range: &[Segment]) {
        for s in range {
            let set = if s.is_through() { &mut self.through } else { &mut self.taken };
            set.grow(s.end as usize);
            set.insert_range(s.start as usize..s.end as usize);
        }
    }
}

/// Assigns registers to all groups.
///
/// # Errors
/// The groups that did not fit.
pub(crate) fn assign(f: &Func, code: &Code, webs: &Webs, limits: Limits) -> Result<Assignment, Pressure> {
    let mut assignment = Assignment {
        reg_of_node: vec![None; Code::nodes(f)],
        registers: f.defs.len(),
        used: u16::from(STACK_POINTER) + 1,
    };
    let regs = best(webs, &groups(webs, false), limits.registers)?;
    let preds = best(webs, &groups(webs, true), limits.predicates)?;
    assignment.place(f, webs, &preds.bases, true);
    match limits.plentiful {
        Some(plentiful) => {
            let joined = webs.with_results_in_operands(f, code);
            let enough = (regs.used + limits.hidden).next_multiple_of(GRANULE) - limits.hidden;
            let limit = plentiful.max(enough).min(limits.registers);
            match in_banks(f, code, &joined, limit) {
                Some(bases) => assignment.place(f, &joined, &bases, false),
                None => assignment.place(f, webs, &regs.bases, false),
            }
        }
        None => {
            let rounded = (regs.used + limits.hidden).next_multiple_of(UNIT) - limits.hidden;
            let spread = if rounded > limits.registers { None } else { in_turn(webs, rounded, None) };
            assignment.place(f, webs, &spread.unwrap_or(regs.bases), false);
        }
    }
    Ok(assignment)
}

/// Groups of a kind.
fn groups(webs: &Webs, predicate: bool) -> Vec<GroupId> {
    let of_kind = |g: &Group| g.size > 0 && g.predicate == predicate;
    (0..).zip(&webs.groups).filter(|(_, group)| of_kind(group)).map(|(g, _)| g).collect()
}

type Bases = Vec<Option<u8>>;

/// Registers per thread are used in multiples of this number before sm_70: hardware allocates them in larger units.
const UNIT: u16 = 4;
/// Since sm_70 it allocates so many at once.
const GRANULE: u16 = 8;

/// The best of several orders: by start, by start with wide groups first, by length.
fn best(webs: &Webs, groups: &[GroupId], limit: u16) -> Result<Fit, Pressure> {
    let predicate = groups.first().is_some_and(|&g| webs.groups[g as usize].predicate);
    if most_at_once(webs, groups) > available(predicate, limit) {
        return Err(Pressure { predicate, ranges: Vec::new() });
    }
    let start = |g: GroupId| first_position(&webs.groups[g as usize]);
    let length = |g: GroupId| std::cmp::Reverse(length(&webs.groups[g as usize]));
    let size = |g: GroupId| std::cmp::Reverse(webs.groups[g as usize].size);
    let later = not_in_subroutine(webs);
    let mut orders: [Vec<GroupId>; 4] = std::array::from_fn(|_| groups.to_vec());
    orders[0].sort_by_cached_key(|&g| (later(g), start(g)));
    orders[1].sort_by_cached_key(|&g| (later(g), size(g), start(g)));
    orders[2].sort_by_cached_key(|&g| (later(g), length(g)));
    orders[3].sort_by_cached_key(|&g| (later(g), size(g), length(g)));
    let fits = orders.map(|order| fit(webs, &order, limit, Search::Lowest, None));
    let best = fits.into_iter().min_by_key(|fit| (fit.failed.len(), fit.used));
    let best = best.unwrap_or_else(|| Fit::new(webs));
    if best.failed.is_empty() {
        return Ok(best);
    }
    let ranges = best.failed.iter().map(|&g| webs.groups[g as usize].ranges.concat());
    Err(Pressure { predicate, ranges: ranges.collect() })
}

/// Registers in the banks that they should be in, those of long live ranges first; `None` if they do not fit the limit.
/// The registers that this takes are then used in turn.
fn in_banks(f: &Func, code: &Code, webs: &Webs, limit: u16) -> Option<Bases> {
    let banks = Banks::of(f, code, webs);
    let later = not_in_subroutine(webs);
    let mut order = groups(webs, false);
    order.sort_by_cached_key(|&g| (later(g), std::cmp::Reverse(length(&webs.groups[g as usize]))));
    let fit = fit(webs, &order, limit, Search::Lowest, Some(&banks));
    if !fit.failed.is_empty() {
        return None;
    }
    in_turn(webs, fit.used, Some(&banks)).or(Some(fit.bases))
}

/// Registers used in turn, if they fit the limit so.
fn in_turn(webs: &Webs, limit: u16, banks: Option<&Banks>) -> Option<Bases> {
    let later = not_in_subroutine(webs);
    let mut order = groups(webs, false);
    order.sort_by_cached_key(|&g| (later(g), first_position(&webs.groups[g as usize])));
    let fit = fit(webs, &order, limit, Search::Next, banks);
    fit.failed.is_empty().then_some(fit.bases)
}

/// Number of registers of a kind available to values.
pub(crate) fn available(predicate: bool, limit: u16) -> usize {
    let reserved = !predicate && limit > u16::from(STACK_POINTER);
    usize::from(limit) - usize::from(reserved)
}

/// Tells whether a group holds no values of a subroutine's own.
fn not_in_subroutine(webs: &Webs) -> impl Fn(GroupId) -> bool {
    let mut bodies: Vec<(u32, u32)> = webs.calls.iter().map(|call| call.body).collect();
    bodies.sort_unstable();
    bodies.dedup();
    move |g| !is_in_subroutine(&webs.groups[g as usize], &bodies)
}

/// Whether a group holds values of a subroutine's own; `bodies` are the subroutines' positions.
fn is_in_subroutine(group: &Group, bodies: &[(u32, u32)]) -> bool {
    let inside = |s: &Segment| bodies.iter().any(|(start, end)| *start <= s.start && s.start < *end);
    !bodies.is_empty() && group.ranges.iter().flatten().any(|s| !s.is_through() && inside(s))
}

/// Maximum number of registers that hold a value at one position.
fn most_at_once(webs: &Webs, groups: &[GroupId]) -> usize {
    let ranges = groups.iter().flat_map(|&g| webs.groups[g as usize].ranges.iter());
    let crowd = Crowd::of(ranges.map(Vec::as_slice), &webs.calls);
    crowd.most.max(crowd.most_in_calls.iter().copied().max().unwrap_or(0))
}

/// How many values of a kind are live at once.
pub(crate) struct Crowd {
    /// Maximum over all positions, values live across a call not counted in the subroutine.
    pub most: usize,
    /// For each call: those live across it, and the most that the subroutine has of its own.
    pub most_in_calls: Vec<usize>,
}

impl Crowd {
    /// Counts the ranges.
    pub(crate) fn of<'a>(ranges: impl Iterator<Item = &'a [Segment]>, calls: &[CallAt]) -> Crowd {
        let mut changes: Vec<(u32, i32)> = Vec::new();
        let mut across = vec![0; calls.len() + 1];
        for s in ranges.flatten().filter(|s| !s.is_through()) {
            changes.extend([(s.start, 1), (s.end, -1)]);
            let from = calls.partition_point(|call| call.at < s.start);
            let to = calls.partition_point(|call| call.at + 2 <= s.end);
            if from < to {
                across[from] += 1;
                across[to] -= 1;
            }
        }
        changes.sort_unstable();
        let count = |now: i32| usize::try_from(now).unwrap_or(0);
        let mut bodies: Vec<((u32, u32), usize)> = calls.iter().map(|call| (call.body, 0)).collect();
        bodies.sort_unstable();
        bodies.dedup();
        let (mut now, mut most) = (0, 0);
        for (at, change) in changes {
            now += change;
            most = most.max(now);
            let body = bodies.partition_point(|(body, _)| body.1 <= at);
            if let Some((_, own)) = bodies.get_mut(body).filter(|((start, _), _)| *start <= at) {
                *own = (*own).max(count(now));
            }
        }
        let mut through = 0;
        let most_in_calls = calls.iter().zip(across).map(|(call, change)| {
            through += change;
            let body = bodies.partition_point(|(body, _)| *body < call.body);
            count(through) + bodies.get(body).map_or(0, |(_, own)| *own)
        });
        Crowd { most: count(most), most_in_calls: most_in_calls.collect() }
    }
}

fn first_position(group: &Group) -> u32 {
    group.ranges.iter().filter_map(|r| r.first()).map(|s| s.start).min().unwrap_or(0)
}

/// Positions at which a group's registers hold values.
fn length(group: &Group) -> u32 {
    group.ranges.iter().flatten().map(|s| s.end - s.start).sum()
}

/// Result of assignment in one order.
struct Fit {
    /// Registers used.
    used: u16,
    /// Base register of every group that has a place.
    bases: Bases,
    /// Groups without one.
    failed: Vec<GroupId>,
}

impl Fit {
    fn new(webs: &Webs) -> Fit {
        Fit { used: 0, bases: vec![None; webs.groups.len()], failed: Vec::new() }
    }
}

/// Which of the registers that fit a group takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Search {
    /// The lowest.
    Lowest,
    /// The first behind those that the group before took.
    Next,
}

/// Assigns registers in an order; of the registers that fit, one in the bank that a group should be in comes first.
fn fit(webs: &Webs, order: &[GroupId], limit: u16, search: Search, banks: Option<&Banks>) -> Fit {
    let mut rows: Vec<Occupancy> = vec![Occupancy::default(); limit as usize];
    let predicate = order.first().is_some_and(|&g| webs.groups[g as usize].predicate);
    if let (false, Some(row)) = (predicate, rows.get_mut(usize::from(STACK_POINTER))) {
        row.reserved = true;
    }
    let mut fit = Fit::new(webs);
    let mut next = 0;
    for &g in order {
        let group = &webs.groups[g as usize];
        let size = usize::from(group.size);
        let from = if search == Search::Next { usize::next_multiple_of(next, size) } else { 0 };
        let bases = || {
            let all = (from..limit as usize).step_by(size).chain((0..from).step_by(size));
            all.filter(|base| base + size <= limit as usize)
        };
        let fits = |base: &usize| (0..size).all(|k| rows[base + k].fits(&group.ranges[k]));
        let bank = banks.filter(|_| size == 1).and_then(|banks| banks.wanted(g, webs, &fit.bases));
        let preferred = bank.and_then(|bank| bases().filter(|base| base % 2 == usize::from(bank)).find(fits));
        let Some(base) = preferred.or_else(|| bases().find(fits)) else {
            fit.failed.push(g);
            continue;
        };
        for k in 0..size {
            rows[base + k].take(&group.ranges[k]);
        }
        next = base + size;
        fit.used = fit.used.max((base + size) as u16);
        fit.bases[g as usize] = Some(base as u8);
    }
    fit
}
