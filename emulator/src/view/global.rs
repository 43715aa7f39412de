//! How running blocks see device memory: directly, or speculatively beside other blocks.
//!
//! [`Direct`] reads and writes in place, one block after the other. [`Deferred`] lets several threads run
//! blocks at once with the results of running them in order: it reads only memory that no block of the launch
//! writes, and logs writes and reductions until all earlier blocks have committed theirs. An access that does
//! not fit is refused with [`Refusal::Order`]; the block has then changed nothing and is run again, directly.

use super::access::{Modify, Refusal, modify_in_place, put_words};
use super::effects::Effects;
use crate::check::Checker;
use crate::memory::heap::Heap;
use crate::memory::lanes::{self, Addresses, Rows, lanes_of};
use crate::memory::{AllocationId, GlobalMemory};
use trace_format::isa::MemWidth;
use trace_format::semantics::Row;

/// What global accesses of a warp need; `at` has passed [`lanes::fill_idle`], `exec` is not empty, `site` is the
/// program counter of the access.
pub(crate) trait GlobalView {
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

    /// Loads byte by byte, with zeros where nothing is allocated but an allocation is near; the lanes that have got
    /// such.
    ///
    /// # Errors
    /// When the access is refused.
    fn load_leniently(
        &mut self,
        at: &Addresses,
        exec: u32,
        width: MemWidth,
        out: &mut Rows,
    ) -> Result<u32, Refusal>;

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

/// Checks one lane and finds its allocation, which probably is the one of a number.
#[inline(always)]
fn place(
    memory: &GlobalMemory,
    hint: u32,
    lane: usize,
    address: u64,
    width: u64,
) -> Result<AllocationId, Refusal> {
    let lane = lane as u8;
    if address & (width - 1) != 0 {
        return Err(Refusal::Misaligned { lane, address });
    }
    memory.find_near(hint as usize, address, width).ok_or(Refusal::OutOfBounds { lane, address })
}

/// Loads lane by lane where the lanes do not share an allocation.
fn load_scattered(
    memory: &GlobalMemory,
    at: &Addresses,
    exec: u32,
    width: MemWidth,
    out: &mut Rows,
    hint: &mut u32,
    mut found: impl FnMut(AllocationId) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let mut one: Rows = [Row::ZERO; 4];
    for l in lanes_of(exec) {
        let id = place(memory, *hint, l, at[l], u64::from(width.bytes()))?;
        *hint = id.0 as u32;
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

/// What a block has done to an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Touched {
    /// A lane has read it, or has got an old value from an atomic.
    pub read: bool,
    /// A lane has written it.
    pub written: bool,
}

const READ: u8 = 1;
const WRITTEN: u8 = 2;

/// What blocks have done to allocations: costs nothing for those that they have not touched.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touches {
    /// By number of the allocation.
    marks: Vec<u8>,
    /// Those that are marked.
    touched: Vec<AllocationId>,
}

impl Touches {
    /// Nothing has been touched of allocations with numbers below `slots`.
    #[must_use]
    pub(crate) fn new(slots: usize) -> Touches {
        Touches { marks: vec![0; slots], touched: Vec::new() }
    }

    /// There are allocations with numbers up to `slots` now.
    fn grow(&mut self, slots: usize) {
        self.marks.resize(slots.max(self.marks.len()), 0);
    }

    #[inline(always)]
    fn note(&mut self, id: usize, what: u8) {
        if self.marks[id] & what != what {
            self.first(id, what);
        }
    }

    #[cold]
    fn first(&mut self, id: usize, what: u8) {
        if self.marks[id] == 0 {
            self.touched.push(AllocationId(id));
        }
        self.marks[id] |= what;
    }

    /// An allocation has been written.
    pub(crate) fn write(&mut self, id: AllocationId) {
        self.note(id.0, WRITTEN);
    }

    /// What has been touched, and how.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (AllocationId, Touched)> {
        self.touched.iter().map(|&id| {
            let marks = self.marks[id.0];
            (id, Touched { read: marks & READ != 0, written: marks & WRITTEN != 0 })
        })
    }

    /// Merges another record of changes.
    pub(crate) fn add(&mut self, others: &Touches) {
        others.touched.iter().for_each(|&id| self.note(id.0, others.marks[id.0]));
    }

    /// Extends changes of an allocation to all allocations that show the same bytes.
    pub(crate) fn spread(&mut self, memory: &GlobalMemory) {
        for at in 0..self.touched.len() {
            let id = self.touched[at];
            for twin in memory.twins(id) {
                self.note(twin.0, self.marks[id.0]);
            }
        }
    }
}

/// In place.
#[derive(Debug)]
pub(crate) struct Direct<'m, const CHECKED: bool = false> {
    memory: &'m mut GlobalMemory,
    /// Observes accesses, if `CHECKED`.
    checker: Option<&'m mut Checker>,
    /// Allocation that each instruction found last.
    hints: Vec<u32>,
    touched: Touches,
}

impl<'m> Direct<'m> {
    /// Access for a kernel of `sites` instructions.
    pub(crate) fn new(memory: &'m mut GlobalMemory, sites: usize) -> Direct<'m> {
        Direct::with_checker(memory, sites, None)
    }
}

impl<'m, const CHECKED: bool> Direct<'m, CHECKED> {
    /// Access for a kernel of `sites` instructions, of which a checker hears.
    pub(crate) fn with_checker(
        memory: &'m mut GlobalMemory,
        sites: usize,
        checker: Option<&'m mut Checker>,
    ) -> Direct<'m, CHECKED> {
        let touched = Touches::new(memory.slots());
        Direct { memory, checker, hints: vec![0; sites], touched }
    }

    /// What happened to allocations; nothing more may be accessed after that.
    #[must_use]
    pub(crate) fn take_touched(&mut self) -> Touches {
        std::mem::take(&mut self.touched)
    }

    /// The memory itself.
    #[must_use]
    pub(crate) fn memory(&self) -> &GlobalMemory {
        self.memory
    }

    /// Lets other code change the memory, including its list of allocations.
    pub(crate) fn change<R>(&mut self, others: impl FnOnce(&mut GlobalMemory) -> R) -> R {
        let result = others(self.memory);
        self.touched.grow(self.memory.slots());
        result
    }

    fn modify_lanes(
        &mut self,
        site: usize,
        at: &Addresses,
        exec: u32,
        m: &Modify<'_>,
        mut old: Option<&mut Rows>,
    ) -> Result<(), Refusal> {
        for l in lanes_of(exec) {
            let id = place(self.memory, self.hints[site], l, at[l], u64::from(m.ty.bytes()))?;
            self.hints[site] = id.0 as u32;
            self.touched.note(id.0, if old.is_some() { READ | WRITTEN } else { WRITTEN });
            let before = modify_in_place(self.memory, id, at[l], l, m);
            if let Some(rows) = old.as_deref_mut() {
                put_words(rows, l, before);
            }
        }
        Ok(())
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
        if let Some(a) = self.memory.slot(self.hints[site] as usize) {
            let survey = a.survey(at, bytes);
            if survey.inside && survey.aligned {
                self.touched.note(self.hints[site] as usize, READ);
                lanes::load(&a.bytes, a.base, at, width, survey, out);
                return Ok(());
            }
        }
        let (hint, touched) = (&mut self.hints[site], &mut self.touched);
        load_scattered(self.memory, at, exec, width, out, hint, |id| {
            touched.note(id.0, READ);
            Ok(())
        })
    }

    fn load_leniently(
        &mut self,
        at: &Addresses,
        exec: u32,
        width: MemWidth,
        out: &mut Rows,
    ) -> Result<u32, Refusal> {
        let bytes = u64::from(width.bytes());
        let (mut found, mut outside) = ([0; 32 * 16], 0);
        for l in lanes_of(exec) {
            let (lane, address) = (l as u8, at[l]);
            if address & (bytes - 1) != 0 {
                return Err(Refusal::Misaligned { lane, address });
            }
            if !self.memory.is_near(address) {
                return Err(Refusal::OutOfBounds { lane, address });
            }
            for i in 0..bytes {
                let at = 16 * l + i as usize;
                match self.memory.find(address + i, 1) {
                    Some(id) if self.memory.read(address + i, &mut found[at..=at]) => {
                        self.touched.note(id.0, READ);
                    }
                    _ => outside |= 1 << l,
                }
            }
        }
        let places: Addresses = std::array::from_fn(|l| 16 * l as u64);
        lanes::load(&found[..], 0, &places, width, lanes::survey(&places, 0, found.len() as u64, bytes), out);
        Ok(outside)
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
        if let Some(a) = self.memory.slot_mut(hint) {
            let survey = a.survey(at, bytes);
            if survey.inside && survey.aligned {
                self.touched.note(hint, WRITTEN);
                lanes::store(&mut a.bytes, a.base, at, exec, width, survey, data);
                return Ok(());
            }
        }
        for l in lanes_of(exec) {
            let id = place(self.memory, self.hints[site], l, at[l], bytes)?;
            self.hints[site] = id.0 as u32;
            self.touched.note(id.0, WRITTEN);
            let a = self.memory.allocation_mut(id);
            let survey = a.survey(&[at[l]; 32], bytes);
            lanes::store(&mut a.bytes, a.base, at, 1 << l, width, survey, data);
        }
        Ok(())
    }

    fn atomic(
        &mut self,
        site: usize,
        at: &Addresses,
        exec: u32,
        modify: &Modify<'_>,
        old: &mut Rows,
    ) -> Result<(), Refusal> {
        self.modify_lanes(site, at, exec, modify, Some(old))
    }

    fn reduce(&mut self, site: usize, at: &Addresses, exec: u32, modify: &Modify<'_>) -> Result<(), Refusal> {
        self.modify_lanes(site, at, exec, modify, None)
    }
}

/// Beside other blocks: written allocations are lent out and invisible to others.
#[derive(Debug)]
pub(crate) struct Deferred<'m> {
    memory: &'m GlobalMemory,
    hints: Vec<u32>,
    /// What the block will have done to memory.
    pub effects: Effects,
}

impl<'m> Deferred<'m> {
    /// Access for a kernel of `sites` instructions.
    #[must_use]
    pub(crate) fn new(memory: &'m GlobalMemory, sites: usize) -> Deferred<'m> {
        Deferred { memory, hints: vec![0; sites], effects: Effects::default() }
    }

    /// Checks that all lanes write where writing is expected.
    #[inline(always)]
    fn writable(&mut self, site: usize, at: &Addresses, exec: u32, width: u64) -> Result<bool, Refusal> {
        if let Some(a) = self.memory.slot(self.hints[site] as usize) {
            let survey = a.survey(at, width);
            if survey.inside && survey.aligned && a.is_lent() {
                return Ok(survey.linear);
            }
        }
        for l in lanes_of(exec) {
            let id = place(self.memory, self.hints[site], l, at[l], width)?;
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
        if let Some(a) = memory.slot(self.hints[site] as usize) {
            let survey = a.survey(at, u64::from(width.bytes()));
            if survey.inside && survey.aligned && !a.is_lent() {
                lanes::load(&a.bytes, a.base, at, width, survey, out);
                return Ok(());
            }
        }
        let hint = &mut self.hints[site];
        load_scattered(memory, at, exec, width, out, hint, |id| {
            if memory.allocation(id).is_lent() { Err(Refusal::Order) } else { Ok(()) }
        })
    }

    /// Such loads are counted, and reported in the order of blocks.
    fn load_leniently(&mut self, _: &Addresses, _: u32, _: MemWidth, _: &mut Rows) -> Result<u32, Refusal> {
        Err(Refusal::Order)
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
