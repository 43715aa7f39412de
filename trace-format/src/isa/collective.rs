//! Instructions that lanes of several places execute together: those between `WARPSYNC.COLLECTIVE` and `ENDCOLLECTIVE`.
//!
//! A compiler puts such instructions at every place of a warp-wide operation to which lanes may come apart, with the same
//! registers everywhere. Lanes gather at any of these places, execute the instructions of one of them, and go on behind
//! their own.

use super::inst::Inst;
use super::regs::Pc;
use super::table::Op;

/// A `WARPSYNC.COLLECTIVE` and the instructions behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectiveSite {
    /// The `WARPSYNC.COLLECTIVE`.
    pub pc: Pc,
    /// The first site in the code with the same instructions: lanes of both execute these together there.
    pub leader: Pc,
    /// The `ENDCOLLECTIVE`.
    pub end: Pc,
}

impl CollectiveSite {
    /// All sites of a code, ascending.
    #[must_use]
    pub fn all(insts: &[Inst]) -> Vec<CollectiveSite> {
        let mut sites: Vec<CollectiveSite> = Vec::new();
        for (pc, inst) in insts.iter().enumerate() {
            if inst.op != (Op::WarpsyncCollective {}) {
                continue;
            }
            let Some(length) = insts[pc..].iter().position(|inst| inst.op == Op::EndCollective {}) else {
                continue;
            };
            let own =
                CollectiveSite { pc: Pc(pc as u32), leader: Pc(pc as u32), end: Pc((pc + length) as u32) };
            let is_same = |of: &&CollectiveSite| of.body(insts) == own.body(insts);
            let leader = sites.iter().find(is_same).map_or(own.leader, |first| first.leader);
            sites.push(CollectiveSite { leader, ..own });
        }
        sites
    }

    /// The instructions that lanes execute together.
    fn body<'a>(&self, insts: &'a [Inst]) -> &'a [Inst] {
        &insts[self.pc.index() + 1..self.end.index()]
    }
}
