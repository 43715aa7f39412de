//! What packed registers add to LARF: CORF's settings and counters, and the losses of both in one list.

use super::account::{Counts, Lost};
use crate::corf::{self, account, coalescing::Coalescing};
use crate::{CauseInfo, CounterInfo, ParamValue, causes};
use warplab_technique::declare::Cause;

causes! {
    /// Reasons for which an operand does not share a bank access with another operand of its instruction.
    enum LostRead {
        /// No other operand of the instruction shares its access, and the compiler did not want one to.
        NoPartner = "no_partner";
        /// The compiler wanted another operand to share its access, and the two do not fit into one physical register.
        DoesNotFit = "pair_does_not_fit";
        /// Coalescing is switched off.
        Off = "reads_not_coalesced";
    }
}

/// A lost read among the losses of both.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfReads(LostRead);

impl Cause for OfReads {
    const DECLARED: &'static [CauseInfo] = &LOSSES;

    fn index(self) -> u8 {
        Lost::DECLARED.len() as u8 + self.0.index()
    }
}

impl From<account::Lost> for OfReads {
    fn from(lost: account::Lost) -> OfReads {
        OfReads(match lost {
            account::Lost::NoPartner => LostRead::NoPartner,
            account::Lost::DoesNotFit => LostRead::DoesNotFit,
            account::Lost::Off => LostRead::Off,
        })
    }
}

/// The losses of LARF, then those of coalesced reads.
pub(super) const LOSSES: [CauseInfo; Lost::DECLARED.len() + LostRead::DECLARED.len()] =
    joined_causes(Lost::DECLARED, LostRead::DECLARED);

const fn joined_causes<const N: usize>(first: &[CauseInfo], second: &[CauseInfo]) -> [CauseInfo; N] {
    let mut all = [first[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < first.len() { first[at] } else { second[at - first.len()] };
        at += 1;
    }
    all
}

/// CORF's counters but for the last three, which LARF has too.
const PACKED_COUNTERS: usize = account::Counts::DECLARED.len() - 3;

/// The counters of LARF, then those of packed registers.
pub(super) const COUNTERS: [CounterInfo; Counts::DECLARED.len() + PACKED_COUNTERS] = {
    let first = Counts::DECLARED;
    let mut all = [first[0]; Counts::DECLARED.len() + PACKED_COUNTERS];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < first.len() { first[at] } else { account::Counts::DECLARED[at - first.len()] };
        at += 1;
    }
    all
};

/// What packed registers add to LARF.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    pub(super) settings: corf::Settings,
    /// CORF's parameters.
    pub(super) values: Vec<(&'static str, ParamValue)>,
    pub(super) counts: account::Counts,
    pub(super) coalescing: Coalescing,
}

impl Packed {
    /// CORF's counters beside those of LARF.
    pub(super) fn counted(&self) -> Vec<u64> {
        let mut values = self.counts.values();
        values.truncate(PACKED_COUNTERS);
        values
    }
}
