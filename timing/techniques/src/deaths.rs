//! Finds registers of a warp that are dead in all lanes, even if lanes have diverged (CORF, section 2.4.3), for
//! techniques that release them.
//!
//! The compiler's marks suffice if diverged lanes run in the order of a reconvergence stack. Lanes of a warp
//! may also alternate, at barriers or in spin loops; so the position of every inactive lane is kept, and
//! registers live there are kept too.

use warplab_analysis::release::Release;
use warplab_technique::program::RegSet;

/// Lanes with the same last instruction.
#[derive(Clone, Copy, Debug)]
struct Group {
    lanes: u32,
    pc: u32,
}

/// The last instruction of every lane, for each warp slot, with the result of the analysis.
#[derive(Clone, Debug, Default)]
pub(super) struct Deaths {
    release: Release,
    warps: Vec<Vec<Group>>,
}

impl Deaths {
    /// Initial state: no lane has executed an instruction.
    pub(super) fn new(warps: usize, release: Release) -> Deaths {
        Deaths { release, warps: vec![Vec::new(); warps] }
    }

    /// Starts a new warp in a slot.
    pub(super) fn start(&mut self, slot: usize) {
        self.warps[slot].clear();
    }

    /// The lanes of `active` execute the instruction at `pc`; returns the registers that some lane may still
    /// read after it.
    #[inline]
    pub(super) fn kept(&mut self, slot: usize, pc: u32, active: u32) -> RegSet {
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
