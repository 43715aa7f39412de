//! Deferred writes and reductions of global memory.
//!
//! A block that runs concurrently with earlier ones logs its writes here; the log is applied when all earlier
//! blocks have applied theirs, so that the final memory equals that of sequential execution.

use super::access::{Modify, modify_in_place};
use crate::memory::lanes::{self, Addresses, lanes_of};
use crate::memory::{AllocationId, GlobalMemory};
use trace_format::isa::{AtomOp, AtomTy, MemWidth};
use trace_format::semantics::{FULL_MASK, Row, WARP_SIZE};

/// Rows in a log after which it should be applied before the block continues (8 MiB of data).
const FULL_ROWS: usize = 64 << 10;

#[derive(Clone, Copy, Debug)]
enum What {
    Store(MemWidth),
    Reduce(AtomOp, AtomTy),
}

#[derive(Clone, Copy, Debug)]
struct Effect {
    what: What,
    exec: u32,
    /// Address of lane 0 when lanes follow one another at the distance of the width; else they are in the list.
    linear: Option<u64>,
}

/// A log of effects, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    list: Vec<Effect>,
    addresses: Vec<Addresses>,
    rows: Vec<Row>,
}

impl Effects {
    /// Clears the log and keeps its capacity.
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.addresses.clear();
        self.rows.clear();
    }

    /// Whether the log has grown so large that it should be applied.
    #[must_use]
    pub(crate) fn is_full(&self) -> bool {
        self.rows.len() >= FULL_ROWS
    }

    /// Logs a store; `linear` says that every lane's address follows its predecessor's.
    #[inline]
    pub(crate) fn store(
        &mut self,
        at: &Addresses,
        exec: u32,
        width: MemWidth,
        linear: bool,
        data: &[&Row; 4],
    ) {
        let linear = linear.then_some(at[0]);
        self.list.push(Effect { what: What::Store(width), exec, linear });
        if linear.is_none() {
            self.addresses.push(*at);
        }
        self.rows.extend(data[..usize::from(width.regs())].iter().map(|&&row| row));
    }

    /// Logs a reduction.
    pub(crate) fn reduce(&mut self, at: &Addresses, exec: u32, modify: &Modify<'_>) {
        self.list.push(Effect { what: What::Reduce(modify.op, modify.ty), exec, linear: None });
        self.addresses.push(*at);
        self.rows.extend(modify.b[..usize::from(modify.ty.regs())].iter().map(|&&row| row));
    }

    /// Applies everything to memory in which every logged address exists, and clears the log.
    pub(crate) fn apply(&mut self, memory: &mut GlobalMemory) {
        let (mut address, mut row) = (0, 0);
        let mut hint = AllocationId(0);
        let zero = Row::ZERO;
        for effect in &self.list {
            let mut consecutive = [0; WARP_SIZE];
            let at = match (effect.linear, effect.what) {
                (Some(first), What::Store(width)) => {
                    for (l, at) in consecutive.iter_mut().enumerate() {
                        *at = first + l as u64 * u64::from(width.bytes());
                    }
                    &consecutive
                }
                _ => {
                    address += 1;
                    &self.addresses[address - 1]
                }
            };
            let data = |i: usize| self.rows.get(row + i).unwrap_or(&zero);
            match effect.what {
                What::Store(width) => {
                    let data = [data(0), data(1), data(2), data(3)];
                    store(memory, &mut hint, at, effect.exec, width, &data);
                    row += usize::from(width.regs());
                }
                What::Reduce(op, ty) => {
                    let modify = Modify { op, ty, b: [0, 1, 2, 3].map(data), c: [&zero; 4] };
                    for l in lanes_of(effect.exec) {
                        if let Some(id) = memory.find_near(hint.0, at[l], u64::from(ty.bytes())) {
                            hint = id;
                            modify_in_place(memory, id, at[l], l, &modify);
                        }
                    }
                    row += usize::from(ty.regs());
                }
            }
        }
        self.clear();
    }
}

fn store(
    memory: &mut GlobalMemory,
    hint: &mut AllocationId,
    at: &Addresses,
    exec: u32,
    width: MemWidth,
    data: &[&Row; 4],
) {
    let bytes = u64::from(width.bytes());
    if exec == FULL_MASK
        && let Some(a) = memory.slot_mut(hint.0)
    {
        let survey = a.survey(at, bytes);
        if survey.inside {
            lanes::store(&mut a.bytes, a.base, at, exec, width, survey, data);
            return;
        }
    }
    for l in lanes_of(exec) {
        if let Some(id) = memory.find_near(hint.0, at[l], bytes) {
            *hint = id;
            let a = memory.allocation_mut(id);
            let survey = a.survey(&[at[l]; WARP_SIZE], bytes);
            lanes::store(&mut a.bytes, a.base, at, 1 << l, width, survey, data);
        }
    }
}
