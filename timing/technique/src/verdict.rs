//! The answers that techniques give at the stages of the pipeline.

use crate::context::Supplied;
use crate::micro::{MicroId, MicroOp};
use crate::storage::Access;
use crate::view::{InFlightId, InstView};

/// How a source operand reaches its collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFrom {
    /// One access to this bank.
    Bank(u8),
    /// One access to this bank, delayed by the cycles for which an access of a structure waited, such as a
    /// renaming table.
    BankBehind(u8, Access),
    /// One access to this bank that reads a single lane, whose value is sent to all of them; it does not count as a
    /// read of the register.
    Lane(u8, Supplied),
    /// From a structure of the technique, when its access is done.
    Storage(Access, Supplied),
    /// Together with another operand of the same instruction, by position; no access of its own.
    With(u8, Supplied),
    /// When an operand of an earlier instruction of the same warp arrives in the shared collector;
    /// immediately if it has already arrived.
    After(InFlightId, u8, Supplied),
}

impl ReadFrom {
    /// The proof that a value which does not come from its register was compared.
    #[must_use]
    #[inline]
    pub fn supplied(&self) -> Option<Supplied> {
        match *self {
            ReadFrom::Bank(_) | ReadFrom::BankBehind(..) => None,
            ReadFrom::Lane(_, supplied)
            | ReadFrom::Storage(_, supplied)
            | ReadFrom::With(_, supplied)
            | ReadFrom::After(_, _, supplied) => Some(supplied),
        }
    }
}

/// A source operand on its way to the collector.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OperandRead {
    /// Register number.
    pub reg: u8,
    /// On entry the bank without techniques; techniques replace it.
    pub from: ReadFrom,
    /// Whether an earlier technique lets another operand come with this one, which then has to come from its bank.
    leads: bool,
}

impl OperandRead {
    /// An operand that is read from a bank.
    #[must_use]
    #[inline]
    pub fn from_bank(reg: u8, bank: u8) -> OperandRead {
        OperandRead { reg, from: ReadFrom::Bank(bank), leads: false }
    }

    /// Whether it comes from a bank, with an access of its own that no other operand shares: a technique may supply it.
    #[must_use]
    #[inline]
    pub fn is_from_bank(&self) -> bool {
        !self.leads && matches!(self.from, ReadFrom::Bank(_) | ReadFrom::BankBehind(..))
    }

    /// Marks the operands with which others come.
    pub fn mark_leaders(operands: &mut [OperandRead]) {
        for position in 0..operands.len() {
            if let ReadFrom::With(leader, _) = operands[position].from
                && let Some(leader) = operands.get_mut(usize::from(leader))
            {
                leader.leads = true;
            }
        }
    }
}

/// Verdict on an instruction that is about to be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchVerdict {
    /// It is fetched.
    Fetch,
    /// It is never fetched and takes no access to the I-cache: its results are supplied by the technique
    /// ([`Technique::answered`](crate::Technique::answered)).
    Skip,
    /// The warp does not fetch in this cycle, and another one may; the cause is a position in the technique's list
    /// of stall causes.
    Stall(u8),
}

/// Verdict on an instruction that the scheduler has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueVerdict {
    /// It issues.
    Issue,
    /// Its warp waits; the slot is attributed to the technique unless another warp issues. The cause is a
    /// position in the technique's list of stall causes.
    Stall(u8),
    /// It issues, reads no operands, makes no memory access and executes in no unit; its results are written after
    /// this many cycles and supplied by the technique ([`Technique::answered`](crate::Technique::answered)).
    Reuse {
        /// Cycles from issue to the result bus, at least 1.
        after_cycles: u32,
    },
    /// As [`IssueVerdict::Reuse`], in a unit of the technique beside the lanes: it takes half of an issue slot where a
    /// scheduler issues one instruction per cycle, and its results do not take the result bus. It needs no free operand
    /// collector if the plan says so ([`Hooks::aside`](crate::Hooks::aside)).
    Aside {
        /// Cycles from issue to the results, at least 1.
        after_cycles: u32,
    },
}

/// An instruction or micro-operation that is about to issue.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Issuing<'a> {
    /// An instruction of the program.
    Program(InstView<'a>),
    /// A micro-operation of the technique.
    Micro(MicroId, &'a MicroOp),
}

/// Verdict on a memory access with known addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessVerdict {
    /// It goes to memory.
    Access,
    /// Only these lanes go to memory; the values of the others are supplied by the technique.
    Lanes(u32),
    /// Nothing goes to memory: the technique supplies the values when this access of its own storage is done.
    Satisfied(Access),
    /// Nothing goes to memory: the values come with those of an access in flight, this many cycles after it; at
    /// once when it has already been completed.
    After(InFlightId, u32),
}

/// What has become of a prefetch into the buffer beside L1. A prefetch is redundant, late, or arrives; one that arrived
/// is used, evicted, overwritten, or in the buffer when the kernel ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prefetched {
    /// Its line was in L1 or in the buffer, or was on its way: nothing was requested.
    Redundant,
    /// A load came to wait for the line while it was on its way; it went to L1.
    Late,
    /// The line has arrived in the buffer.
    Arrived,
    /// A load found the line in the buffer, which it left for L1.
    Used,
    /// The line left the buffer for another one before a load used it.
    Evicted,
    /// A store or an atomic of the SM changed the line before a load used it.
    Overwritten,
}

/// The warps of a scheduler of which one issues, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// Warps that could issue.
    pub ready: u64,
    /// Those whose next instruction a technique would serve in place of memory
    /// ([`Technique::would_serve`](crate::Technique::would_serve)), if this was asked for.
    pub served: u64,
    /// The scheduler's choice, one of `ready`.
    pub chosen: u8,
}

impl Choice {
    /// A choice among ready warps.
    #[must_use]
    #[inline]
    pub const fn new(ready: u64, served: u64, chosen: u8) -> Choice {
        Choice { ready, served, chosen }
    }
}
