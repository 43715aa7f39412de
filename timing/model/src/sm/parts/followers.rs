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
pub(crate) struct Followers(Vec<Follower>);

impl Followers {
    /// Makes the instruction in a slot complete some cycles after `leader`, which is in flight.
    pub(crate) fn add(&mut self, leader: InFlightId, slot: u16, cycles: u32) {
        self.0.push(Follower { leader, slot, cycles });
    }

    /// Whether no instruction follows another.
    #[must_use]
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the oldest follower of a completing instruction: its slot, and its delay in cycles.
    pub(crate) fn take(&mut self, leader: InFlightId) -> Option<(u16, u32)> {
        let at = self.0.iter().position(|follower| follower.leader == leader)?;
        let Follower { slot, cycles, .. } = self.0.remove(at);
        Some((slot, cycles))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn followers_are_taken_by_leader_in_the_order_in_which_they_came() {
        let mut followers = Followers::default();
        assert!(followers.is_empty());
        let [first, second] = [InFlightId::new(4, 0), InFlightId::new(5, 0)];
        followers.add(first, 10, 3);
        followers.add(second, 11, 0);
        followers.add(first, 12, 1);
        followers.add(first, 13, 1);
        assert_eq!([(); 3].map(|()| followers.take(first)), [Some((10, 3)), Some((12, 1)), Some((13, 1))]);
        assert_eq!(followers.take(first), None);
        assert!(!followers.is_empty(), "that of another leader is left");
        assert_eq!(followers.take(second), Some((11, 0)));
        assert!(followers.is_empty());
    }

    #[test]
    fn the_next_instruction_in_the_slot_of_a_leader_is_another_leader() {
        let mut followers = Followers::default();
        followers.add(InFlightId::new(4, 1), 10, 0);
        assert_eq!(followers.take(InFlightId::new(4, 2)), None);
        assert_eq!(followers.take(InFlightId::new(4, 1)), Some((10, 0)));
    }

    #[test]
    fn a_follower_leads_others() {
        let mut followers = Followers::default();
        followers.add(InFlightId::new(1, 0), 2, 0);
        followers.add(InFlightId::new(2, 0), 3, 5);
        assert_eq!(followers.take(InFlightId::new(1, 0)), Some((2, 0)));
        assert_eq!(followers.take(InFlightId::new(2, 0)), Some((3, 5)));
    }
}
