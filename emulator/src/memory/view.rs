//! How running blocks see device memory: directly, or speculatively beside other blocks.
//!
//! [`Direct`] reads and writes in place, one block after the other. [`Deferred`] lets several threads run
//! blocks at once with the results of running them in order: it reads only memory that no block of the launch
//! writes, and logs writes and reductions until all earlier blocks have committed theirs. An access that does
//! not fit is refused with [`Refusal::Order`]; the block has then changed nothing and is run again, directly.

use super::atomic;
use super::effects::Effects;
use super::global::{AllocationId, GlobalMemory};
use super::heap::Heap;
use super::lanes::{self, Addresses, Rows};
use crate::check::Checker;
use trace_format::isa::{AtomOp, AtomTy, MemWidth};
use trace_format::semantics::Row;

/// Why an access did not take place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// A lane's access lies in no allocation.
    OutOfBounds {
        /// The first such lane.
        lane: u8,
        /// Its address.
        address: u64,
    },
    /// A lane's address is no multiple of the width.
    Misaligned {
        /// The first such lane.
        lane: u8,
        /// Its address.
        address: u64,
    },
    /// The result may depend on the order of blocks: an allocation is written that was not known to be.
    NewlyWritten(AllocationId),
    /// The result may depend on the order of blocks: a written allocation is read, or an atomic returns a value.
    Order,
}

/// A read-modify-write access of a warp.
#[derive(Clone, Copy, Debug)]
pub struct Modify<'a> {
    /// Operation.
    pub op: AtomOp,
    /// Type.
    pub ty: AtomTy,
    /// Operand, lowest word first; words beyond the type are not looked at.
    pub b: [&'a Row; 4],
    /// New value of a compare-and-swap, likewise.
    pub c: [&'a Row; 4],
}

/// What global accesses of a warp need; `at` has passed [`lanes::fill_idle`], `exec` is not empty, `site` is the
/// program counter of the access.
pub trait GlobalView {
    /// The checker of a run that is checked, with the memory; nothing, known at compile time, in all others.
    #[inline(always)]
    fn watch(&mut self) -> Option<(&mut Checker, &GlobalMemory)> {
        None
    }

    /// Loads into rows.
    ///
    /// # Errors
    /// When the access is refused.
    fn load(
        &mut self,
        site: usize,
        at: &Addresses,
        exec: u32,
        width: MemWidth,
        out: &mut Rows,
    ) -> Result<(), Refusal>;

    /// Stores rows.
    ///
    /// # Errors
    /// When the access is refused.
    fn store(
        &mut self,
        site: usize,
        at: &Addresses,
        exec: u32,
        width: MemWidth,
        data: &[&Row; 4],
    ) -> Result<(), Refusal>;

    /// Modifies in ascending order of lanes and returns the old values.
    ///
    /// # Errors
    /// When the access is refused.
    fn atomic(
        &mut self,
        site: usize,
        at: &Addresses,
        exec: u32,
        modify: &Modify<'_>,
        old: &mut Rows,
    ) -> Result<(), Refusal>;

    /// Modifies in ascending order of lanes.
    ///
    /// # Errors
    /// When the access is refused.
    fn reduce(&mut self, site: usize, at: &Addresses, exec: u32, modify: &Modify<'_>) -> Result<(), Refusal>;

    /// The heap of device `malloc`, if there is one.
    ///
    /// # Errors
    /// When the order of blocks matters.
    fn heap(&mut self) -> Result<Option<&mut Heap>, Refusal>;
}

/// Active lanes, ascending.
pub fn lanes_of(mut exec: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = exec.trailing_zeros();
        exec &= exec.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}

/// Checks one lane and finds its allocation.
fn place(memory: &GlobalMemory, lane: usize, address: u64, width: u64) -> Result<AllocationId, Refusal> {
    let lane = lane as u8;
    if address & (width - 1) != 0 {
        return Err(Refusal::Misaligned { lane, address });
    }
    memory.find(address, width).ok_or(Refusal::OutOfBounds { lane, address })
}

/// Loads lane by lane where the lanes do not share an allocation.
fn load_scattered(
    memory: &GlobalMemory,
    at: &Addresses,
    exec: u32,
    width: MemWidth,
    out: &mut Rows,
    mut found: impl FnMut(AllocationId) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let mut one: Rows = [Row::ZERO; 4];
    for l in lanes_of(exec) {
        let id = place(memory, l, at[l], u64::from(width.bytes()))?;
        found(id)?;
        let a = memory.allocation(id);
        let here = [at[l]; 32];
        lanes::load(&a.bytes, a.base, &here, width, a.survey(&here, u64::from(width.bytes())), &mut one);
        for (to, from) in out.iter_mut().zip(&one) {
            to.0[l] = from.0[l];
        }
    }
    Ok(())
}

/// What a launch has done to an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Touched {
    /// A lane has read it, or has got an old value from an atomic.
    pub read: bool,
    /// A lane has written it.
    pub written: bool,
}

/// In place.
#[derive(Debug)]
pub struct Direct<'m, const CHECKED: bool = false> {
    memory: &'m mut GlobalMemory,
    /// Hears of what is accessed, if `CHECKED`.
    checker: Option<&'m mut Checker>,
    /// Allocation that each instruction found last.
    hints: Vec<u32>,
    touched: Vec<Touched>,
}

impl<'m> Direct<'m> {
    /// Access for a kernel of `sites` instructions.
    pub fn new(memory: &'m mut GlobalMemory, sites: usize) -> Direct<'m> {
        Direct::with_checker(memory, sites, None)
    }
}

impl<'m, const CHECKED: bool> Direct<'m, CHECKED> {
    /// Access for a kernel of `sites` instructions, of which a checker hears.
    pub fn with_checker(
        memory: &'m mut GlobalMemory,
        sites: usize,
        checker: Option<&'m mut Checker>,
    ) -> Direct<'m, CHECKED> {
        let touched = vec![Touched::default(); memory.allocations().len()];
        Direct { memory, checker, hints: vec![0; sites], touched }
    }

    /// What happened to each allocation.
    #[must_use]
    pub fn touched(&self) -> &[Touched] {
        &self.touched
    }

    /// The memory itself.
    #[must_use]
    pub fn memory(&self) -> &GlobalMemory {
        self.memory
    }

    fn modify_lanes(
        &mut self,
        at: &Addresses,
        exec: u32,
        m: &Modify<'_>,
        mut old: Option<&mut Rows>,
    ) -> Result<(), Refusal> {
        for l in lanes_of(exec) {
            let id = place(self.memory, l, at[l], u64::from(m.ty.bytes()))?;
            self.touched[id.0].written = true;
            self.touched[id.0].read |= old.is_some();
            let before = modify_in_place(self.memory, id, at[l], l, m);
            if let Some(rows) = old.as_deref_mut() {
                put_words(rows, l, before);
            }
        }
        Ok(())
    }
}

/// Modifies one lane's location and returns what it held.
pub(crate) fn modify_in_place(
    memory: &mut GlobalMemory,
    id: AllocationId,
    address: u64,
    l: usize,
    m: &Modify<'_>,
) -> u128 {
    let a = memory.allocation_mut(id);
    modify_bytes(&mut a.bytes, (address - a.base) as usize, l, m, true)
}

/// Modifies one lane's location in plain bytes and returns what it held; nothing happens outside of them.
pub(crate) fn modify_bytes(bytes: &mut [u8], at: usize, l: usize, m: &Modify<'_>, flush: bool) -> u128 {
    let width = usize::from(m.ty.bytes());
    let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..width)) else { return 0 };
    let mut word = [0; 16];
    word[..width].copy_from_slice(place);
    let words = usize::from(m.ty.regs());
    let wide = |r: &[&Row; 4]| (0..words).fold(0, |v, i| v | u128::from(r[i].0[l]) << (32 * i));
    let old = u128::from_le_bytes(word);
    let new = atomic::apply(m.op, m.ty, flush, old, wide(&m.b), wide(&m.c));
    place.copy_from_slice(&new.to_le_bytes()[..width]);
    old
}

/// Puts a value into the lane's words of rows.
pub(crate) fn put_words(rows: &mut Rows, l: usize, value: u128) {
    for (i, row) in rows.iter_mut().enumerate() {
        row.0[l] = (value >> (32 * i)) as u32;
    }
}

impl<const CHECKED: bool> GlobalView for Direct<'_, CHECKED> {
    #[inline(always)]
    fn watch(&mut self) -> Option<(&mut Checker, &GlobalMemory)> {
        if !CHECKED {
            return None;
        }
        self.checker.as_deref_mut().map(|checker| (checker, &*self.memory))
    }

    fn heap(&mut self) -> Result<Option<&mut Heap>, Refusal> {
        Ok(self.memory.heap_mut())
    }

    #[inline(always)]
    fn load(
        &mut self,
        site: usize,
        at: &Addresses,
        exec: u32,
        width: MemWidth,
        out: &mut Rows,
    ) -> Result<(), Refusal> {
        let bytes = u64::from(width.bytes());
        if let Some(a) = self.memory.allocations().get(self.hints[site] as usize) {
            let survey = a.survey(at, bytes);
            if survey.inside && survey.aligned {
                self.touched[self.hints[site] as usize].read = true;
                lanes::load(&a.bytes, a.base, at, width, survey, out);
                return Ok(());
            }
        }
        let (hints, touched) = (&mut self.hints, &mut self.touched);
        load_scattered(self.memory, at, exec, width, out, |id| {
            hints[site] = id.0 as u32;
            touched[id.0].read = true;
            Ok(())
        })
    }

    #[inline(always)]
    fn store(
        &mut self,
        site: usize,
        at: &Addresses,
        exec: u32,
        width: MemWidth,
        data: &[&Row; 4],
    ) -> Result<(), Refusal> {
        let bytes = u64::from(width.bytes());
        let hint = self.hints[site] as usize;
        if hint < self.memory.allocations().len() {
            let a = self.memory.allocation_mut(AllocationId(hint));
            let survey = a.survey(at, bytes);
            if survey.inside && survey.aligned {
                self.touched[hint].written = true;
                lanes::store(&mut a.bytes, a.base, at, exec, width, survey, data);
                return Ok(());
            }
        }
        for l in lanes_of(exec) {
            let id = place(self.memory, l, at[l], bytes)?;
            self.hints[site] = id.0 as u32;
            self.touched[id.0].written = true;
            let a = self.memory.allocation_mut(id);
            let survey = a.survey(&[at[l]; 32], bytes);
            lanes::store(&mut a.bytes, a.base, at, 1 << l, width, survey, data);
        }
        Ok(())
    }

    fn atomic(
        &mut self,
        _site: usize,
        at: &Addresses,
        exec: u32,
        modify: &Modify<'_>,
        old: &mut Rows,
    ) -> Result<(), Refusal> {
        self.modify_lanes(at, exec, modify, Some(old))
    }

    fn reduce(
        &mut self,
        _site: usize,
        at: &Addresses,
        exec: u32,
        modify: &Modify<'_>,
    ) -> Result<(), Refusal> {
        self.modify_lanes(at, exec, modify, None)
    }
}

/// Beside other blocks: written allocations are lent out and seen by nobody.
#[derive(Debug)]
pub struct Deferred<'m> {
    memory: &'m GlobalMemory,
    hints: Vec<u32>,
    /// What the block will have done to memory.
    pub effects: Effects,
}

impl<'m> Deferred<'m> {
    /// Access for a kernel of `sites` instructions.
    #[must_use]
    pub fn new(memory: &'m GlobalMemory, sites: usize) -> Deferred<'m> {
        Deferred { memory, hints: vec![0; sites], effects: Effects::default() }
    }

    /// Checks that all lanes write where writing is expected.
    #[inline(always)]
    fn writable(&mut self, site: usize, at: &Addresses, exec: u32, width: u64) -> Result<bool, Refusal> {
        if let Some(a) = self.memory.allocations().get(self.hints[site] as usize) {
            let survey = a.survey(at, width);
            if survey.inside && survey.aligned && a.is_lent() {
                return Ok(survey.linear);
            }
        }
        for l in lanes_of(exec) {
            let id = place(self.memory, l, at[l], width)?;
            if !self.memory.allocation(id).is_lent() {
                return Err(Refusal::NewlyWritten(id));
            }
            self.hints[site] = id.0 as u32;
        }
        Ok(false)
    }
}

impl GlobalView for Deferred<'_> {
    fn heap(&mut self) -> Result<Option<&mut Heap>, Refusal> {
        Err(Refusal::Order)
    }

    #[inline(always)]
    fn load(
        &mut self,
        site: usize,
        at: &Addresses,
        exec: u32,
        width: MemWidth,
        out: &mut Rows,
    ) -> Result<(), Refusal> {
        let memory = self.memory;
        if let Some(a) = memory.allocations().get(self.hints[site] as usize) {
            let survey = a.survey(at, u64::from(width.bytes()));
            if survey.inside && survey.aligned && !a.is_lent() {
                lanes::load(&a.bytes, a.base, at, width, survey, out);
                return Ok(());
            }
        }
        let hints = &mut self.hints;
        load_scattered(memory, at, exec, width, out, |id| {
            hints[site] = id.0 as u32;
            if memory.allocation(id).is_lent() { Err(Refusal::Order) } else { Ok(()) }
        })
    }

    #[inline(always)]
    fn store(
        &mut self,
        site: usize,
        at: &Addresses,
        exec: u32,
        width: MemWidth,
        data: &[&Row; 4],
    ) -> Result<(), Refusal> {
        let linear = self.writable(site, at, exec, u64::from(width.bytes()))?;
        self.effects.store(at, exec, width, linear, data);
        Ok(())
    }

    fn atomic(
        &mut self,
        _: usize,
        _: &Addresses,
        _: u32,
        _: &Modify<'_>,
        _: &mut Rows,
    ) -> Result<(), Refusal> {
        Err(Refusal::Order)
    }

    fn reduce(&mut self, site: usize, at: &Addresses, exec: u32, modify: &Modify<'_>) -> Result<(), Refusal> {
        self.writable(site, at, exec, u64::from(modify.ty.bytes()))?;
        self.effects.reduce(at, exec, modify);
        Ok(())
    }
}
