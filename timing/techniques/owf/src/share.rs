//! How many blocks share registers, and which registers of a kernel are shared.
//!
//! A file that holds D blocks has a rest. Register sharing launches S more blocks of which each has the private part of its
//! registers only, for as long as the rest suffices for their private parts, and pairs each with one of the D. So D blocks
//! at least can always run.

use warplab_technique::program::{Program, Renaming};
use warplab_technique::{Launch, Plan};

/// The blocks of an SM, and the split of each warp's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sharing {
    /// Blocks that the registers hold without sharing.
    pub own: u32,
    /// Blocks beyond them, each of which shares registers with one of them.
    pub further: u32,
    /// Registers of a warp that are not shared.
    pub private: u32,
}

impl Sharing {
    /// The block slot with which a block slot shares its registers.
    pub(super) fn partner(&self, slot: usize) -> Option<usize> {
        let [own, further] = [self.own, self.further].map(|count| count as usize);
        match slot {
            _ if slot < further => Some(own + slot),
            _ if slot >= own && slot < own + further => Some(slot - own),
            _ => None,
        }
    }
}

/// The sharing of a launch; `None` if no further block fits. A register is private if its number is below `percent` of
/// the warp's registers; private parts are allocated in units of `unit` registers per thread, or of the GPU's.
pub(super) fn choose(launch: &Launch<'_>, plan: &Plan, percent: u32, unit: u32) -> Option<Sharing> {
    let own = launch.occupancy(plan).ok()?.blocks;
    let private = (plan.registers_per_thread * percent).div_ceil(100);
    let mut parts = plan.clone();
    parts.registers_per_thread = private;
    if unit > 0 {
        parts.register_allocation_unit = Some(32 * unit);
    }
    let used = launch.registers_taken(plan, own);
    let mut unlimited = plan.clone();
    unlimited.register_blocks = Some(u32::MAX);
    let most = launch.occupancy(&unlimited).ok()?.blocks.min(2 * own) - own;
    let fits = |further: &u32| used + launch.registers_taken(&parts, *further) <= launch.config.sm.registers;
    let further = (1..=most).rev().find(fits)?;
    Some(Sharing { own, further, private })
}

/// New numbers for the registers of a kernel: in the order of their first use along the code, or as they are.
pub(super) fn numbers(program: &Program, reorder: bool) -> [u8; 256] {
    let mut numbers: [Option<u8>; 256] = [None; 256];
    let mut next = 0;
    let used = program.insts.iter().flat_map(|inst| inst.sources().iter().chain(inst.destinations()));
    for reg in used.copied().chain(0..=255) {
        if numbers[usize::from(reg)].is_none() {
            numbers[usize::from(reg)] = Some(next);
            next = next.wrapping_add(1);
        }
    }
    std::array::from_fn(|reg| if reorder { numbers[reg].unwrap_or(reg as u8) } else { reg as u8 })
}

/// The operands of every instruction under new numbers.
pub(super) fn renamed(program: &Program, numbers: &[u8; 256]) -> Vec<Renaming> {
    let new = |reg: &mut u8| *reg = numbers[usize::from(*reg)];
    let of = |inst: &warplab_technique::program::TimedInst| {
        let mut renaming = Renaming { sources: inst.srcs, destinations: inst.dsts };
        renaming.sources[..inst.sources().len()].iter_mut().for_each(new);
        renaming.destinations[..inst.destinations().len()].iter_mut().for_each(new);
        renaming
    };
    program.insts.iter().map(of).collect()
}
