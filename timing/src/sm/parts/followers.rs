//! Memory instructions that make no access of their own: they complete with another access in flight.

use crate::techniques::InFlightId;

/// A memory instruction that completes some cycles after another one.
#[derive(Clone, Copy, Debug)]
struct Follower {
    leader: InFlightId,
    slot: u16,
    cycles: u32,
}

/// The memory instructions of an SM that follow others.
#[derive(Clone, Debug, Default)]
pub struct Followers(Vec<Follower>);

impl Followers {
    /// Makes the instruction in a slot complete some cycles after `leader`, which is in flight.
    pub fn add(&mut self, leader: InFlightId, slot: u16, cycles: u32) {
        self.0.push(Follower { leader, slot, cycles });
    }

    /// Whether no instruction follows another.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the oldest follower of a completing instruction: its slot, and its delay in cycles.
    pub fn take(&mut self, leader: InFlightId) -> Option<(u16, u32)> {
        let at = self.0.iter().position(|follower| follower.leader == leader)?;
        let Follower { slot, cycles, .. } = self.0.remove(at);
        Some((slot, cycles))
    }
}
