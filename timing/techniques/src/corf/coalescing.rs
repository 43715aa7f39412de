//! Reads of packed registers: each operand is found and compared, and two that can share a bank access do (CORF,
//! section 2.6).

use super::account::{Counts, Lost};
use super::packing::{SLICES, Slices};
use crate::{Cx, InstView, OperandRead, ReadFrom, Storage, ValueMismatch, WarpView};
use warplab_technique::Row;
use warplab_technique::declare::Cause;
use warplab_technique::program::MAX_SRC;

/// A register found in the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lookup {
    /// Physical register.
    pub physical: u16,
    /// Its bank.
    pub bank: u8,
    /// Its slices.
    pub slices: Slices,
}

/// What the table holds for a register.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mapping {
    /// The register was never written.
    Unwritten,
    /// Lanes whose value was released, though the instruction reads them.
    Lost(u32),
    /// The register has a place.
    At(Lookup),
}

/// A renaming table with packed registers.
pub(crate) trait Places {
    /// Looks up a register that an instruction reads in the lanes of `active`.
    fn look_up(&self, slot: usize, reg: u8, active: u32) -> Mapping;
    /// The value of a register that was looked up: the physical register itself, or unpacked into `space`.
    fn value<'a>(&'a self, found: &Lookup, space: &'a mut Row) -> &'a Row;
    /// Whether the compiler wants two registers to be read at once.
    fn are_partners(&self, a: u8, b: u8) -> bool;
    /// The bank of the renaming table in which a register's entry is.
    fn table_bank(&self, slot: usize, reg: u8) -> u8;
}

/// Reads that share an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// The hardware cannot share.
    Never,
    /// Of one physical register.
    OneEntry,
    /// Of slices in one bank that do not overlap.
    OneBank,
    /// Of any two registers whose values fit one register.
    WhatFits,
}

/// Which reads share an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coalescing {
    /// Reads that can.
    pub(super) sharing: Sharing,
    /// Whether they do.
    pub(super) shares: bool,
}

impl Coalescing {
    /// Finds each operand's physical register, compares its value, and combines reads in pairs, because a collector has
    /// two unpackers and a bank two addresses (section 2.6). `cause` names a loss in the technique's own list.
    ///
    /// # Errors
    /// A value differs from the recorded one, or was released.
    #[expect(clippy::too_many_arguments, reason = "the hook's arguments and what the technique owns")]
    pub(crate) fn read<C: Cause>(
        self,
        cx: &mut Cx<'_>,
        warp: &WarpView<'_>,
        inst: &InstView<'_>,
        operands: &mut [OperandRead],
        places: &impl Places,
        table: &mut Storage,
        counts: &mut Counts,
        cause: impl Fn(Lost) -> C,
    ) -> Result<(), Box<ValueMismatch>> {
        counts.multi_source_instructions += u64::from(operands.len() > 1);
        // Place of each operand whose read is not combined yet.
        let mut alone: [Option<Lookup>; MAX_SRC] = [None; MAX_SRC];
        let (mut banked, mut coalesced) = (0u64, 0);
        for (position, operand) in operands.iter_mut().enumerate() {
            if !operand.is_from_bank() {
                continue;
            }
            banked += 1;
            let access = table.read(cx.cycle, usize::from(places.table_bank(warp.slot, operand.reg)));
            let found = match places.look_up(warp.slot, operand.reg, inst.active) {
                Mapping::At(found) => found,
                Mapping::Lost(lanes) => return Err(cx.missing(warp, inst.pc, operand.reg, lanes)),
                Mapping::Unwritten => {
                    cx.unwritten(warp, inst, operand.reg)?;
                    continue;
                }
            };
            let mut space = Row::ZERO;
            let value = places.value(&found, &mut space);
            let fits = |other: &Lookup| match self.sharing {
                Sharing::Never => false,
                Sharing::OneEntry => other.physical == found.physical,
                // Two registers that share a value have the same slices.
                Sharing::OneBank => {
                    other.physical == found.physical
                        || (other.bank == found.bank && other.slices.mask() & found.slices.mask() == 0)
                }
                Sharing::WhatFits => other.slices.count() + found.slices.count() <= SLICES,
            };
            let shared = alone.iter_mut().enumerate().find(|(_, other)| other.as_ref().is_some_and(fits));
            match shared {
                Some((leader, free)) if self.shares => {
                    let supplied = cx.supply(warp, inst, operand.reg, value)?;
                    *free = None;
                    operand.from = ReadFrom::With(leader as u8, supplied);
                    coalesced += 1;
                }
                _ => {
                    cx.compare(warp, inst, operand.reg, value)?;
                    alone[position] = Some(found);
                    operand.from = ReadFrom::BankBehind(found.bank, access);
                }
            }
        }
        counts.coalesced_register_reads += coalesced;
        counts.coalesced_read_instructions += u64::from(coalesced > 0);
        if self.sharing != Sharing::Never {
            let chances = banked.saturating_sub(1);
            cx.opportunity(chances);
            self.account_for_losses(cx, operands, places, chances - coalesced, cause);
        }
        Ok(())
    }

    /// Counts the reasons for which operands did not share an access.
    fn account_for_losses<C: Cause>(
        self,
        cx: &mut Cx<'_>,
        operands: &[OperandRead],
        places: &impl Places,
        lost: u64,
        cause: impl Fn(Lost) -> C,
    ) {
        if lost == 0 {
            return;
        }
        if !self.shares {
            cx.lost(cause(Lost::Off), lost);
            return;
        }
        let alone = || operands.iter().filter(|operand| operand.is_from_bank()).map(|operand| operand.reg);
        let wanted = |reg: u8| alone().any(|other| other != reg && places.are_partners(reg, other));
        let unfit = (alone().filter(|reg| wanted(*reg)).count() as u64 / 2).min(lost);
        cx.lost(cause(Lost::DoesNotFit), unfit);
        cx.lost(cause(Lost::NoPartner), lost - unfit);
    }
}
