//! Which registers of a warp are dead for all of its lanes, wherever those are (CORF, section 2.4.3).
//!
//! The compiler's marks suffice where diverged lanes run as from a reconvergence stack. Lanes of one warp may
//! also take turns, at barriers or spinning; so the place of every lane that is not on the path is remembered,
//! and what is live there stays.

use crate::analysis::release::Release;
use crate::program::RegSet;

/// Lanes that executed the same instruction last.
#[derive(Clone, Copy, Debug)]
struct Group {
    lanes: u32,
    pc: u32,
}

/// The last instruction of every lane, for each warp slot, with what the analysis says about it.
#[derive(Clone, Debug, Default)]
pub(super) struct Deaths {
    release: Release,
    warps: Vec<Vec<Group>>,
}

impl Deaths {
    /// No lane has executed anything.
    pub fn new(warps: usize, release: Release) -> Deaths {
        Deaths { release, warps: vec![Vec::new(); warps] }
    }

    /// A new warp begins in a slot.
    pub fn start(&mut self, slot: usize) {
        self.warps[slot].clear();
    }

    /// The lanes of `active` execute the instruction at `pc`; returns the registers that some lane may still
    /// read after it.
    #[inline]
    pub fn kept(&mut self, slot: usize, pc: u32, active: u32) -> RegSet {
        let groups = &mut self.warps[slot];
        let mut kept = self.release.kept_after[pc as usize];
        match &mut groups[..] {
            [only] if only.lanes & !active == 0 => *only = Group { lanes: active, pc },
            _ => {
                groups.retain_mut(|group| {
                    group.lanes &= !active;
                    group.lanes != 0
                });
                for group in groups.iter() {
                    kept.insert_all(&self.release.live_after[group.pc as usize]);
                }
                groups.push(Group { lanes: active, pc });
            }
        }
        kept
    }
}
