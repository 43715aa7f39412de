//! Registers of a physical file that has fewer than the resident blocks name: who holds how many, and which results
//! have to wait, so that one block can always finish.
//!
//! A block may come to hold all registers of all its warps: its *demand*. The state is safe if for some block the free
//! registers suffice for what it does not hold of its demand. A result takes a register only if the state is safe
//! afterwards. The block for which it is safe never waits for registers; when it ends, at least its demand is free, and
//! all blocks of a kernel have the same demand, so that the state is safe for any other one.
//!
//! Blocks may share registers. A register that registers of several blocks are mapped to is held by none of them
//! ([`Throttle::lend`]), until it is free or one block's own again. Lending takes a register from what its block holds, so
//! that it keeps the state safe only where the borrower gives a register back for it.

use warplab_technique::causes;

causes! {
    /// Why a warp waits.
    pub(super) enum Stall {
        /// No physical register is free for the instruction's result.
        Full = "file_full";
        /// The free registers are kept for a block that can finish with them.
        Throttled = "kept_for_another_block";
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Throttle {
    free: u32,
    /// Registers of all warps of a block.
    demand: u32,
    /// Registers that the block in each slot holds.
    held: Vec<u32>,
}

impl Throttle {
    /// A file of `registers` free registers, for blocks in so many slots.
    pub(super) fn new(registers: u32, demand: u32, slots: usize) -> Throttle {
        Throttle { free: registers, demand, held: vec![0; slots] }
    }

    /// Whether a block may take registers now, or why it has to wait.
    #[inline]
    pub(super) fn may_take(&self, block: usize, count: u32) -> Result<(), Stall> {
        let Some(left) = self.free.checked_sub(count) else { return Err(Stall::Full) };
        let lacks = |held: u32| self.demand.saturating_sub(held);
        let others = || self.held.iter().enumerate().any(|(at, held)| at != block && lacks(*held) <= left);
        if lacks(self.held[block] + count) <= left || left >= self.demand || others() {
            return Ok(());
        }
        Err(Stall::Throttled)
    }

    /// A block takes registers.
    #[inline]
    pub(super) fn take(&mut self, block: usize, count: u32) {
        self.free = self.free.checked_sub(count).expect("a result takes a register that is free");
        self.held[block] += count;
    }

    /// A block gives registers back.
    #[inline]
    pub(super) fn give_back(&mut self, block: usize, count: u32) {
        self.held[block] = self.held[block].checked_sub(count).expect("a block gives back what it holds");
        self.free += count;
    }

    /// A register that a block holds is shared with another block: none of them holds it. The other one gives a register
    /// back for it.
    #[inline]
    pub(super) fn lend(&mut self, block: usize) {
        self.held[block] = self.held[block].checked_sub(1).expect("a block lends what it holds");
    }

    /// A register that no block holds is one block's own again.
    #[inline]
    pub(super) fn adopt(&mut self, block: usize) {
        self.held[block] += 1;
    }

    /// A register that no block holds becomes free.
    #[inline]
    pub(super) fn free_lent(&mut self) {
        self.free += 1;
    }

    /// Free registers.
    pub(super) fn free(&self) -> u32 {
        self.free
    }

    /// Another demand, as a faulty throttle would have.
    #[cfg(test)]
    pub(super) fn set_demand(&mut self, demand: u32) {
        self.demand = demand;
    }

    /// Registers that each block slot holds, for the watchdog's report.
    pub(super) fn held(&self) -> &[u32] {
        &self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn registers_are_kept_for_a_block_that_can_finish() {
        // Two blocks of 6 registers at most in a file of 8.
        let mut throttle = Throttle::new(8, 6, 2);
        throttle.take(0, 3);
        assert_eq!(throttle.may_take(1, 2), Ok(()), "three are left for the three that block 0 lacks");
        throttle.take(1, 2);
        assert_eq!(throttle.may_take(1, 1), Err(Stall::Throttled));
        assert_eq!(throttle.may_take(0, 3), Ok(()));
        throttle.take(0, 3);
        assert_eq!(throttle.may_take(1, 1), Err(Stall::Full));
        throttle.give_back(0, 1);
        assert_eq!(throttle.may_take(1, 1), Err(Stall::Throttled), "block 0 may need it again");
        throttle.give_back(0, 5);
        assert_eq!((throttle.may_take(1, 4), throttle.free()), (Ok(()), 6));
        throttle.take(1, 4);
        assert_eq!(throttle.may_take(0, 1), Ok(()), "block 1 holds all that it can need");
    }

    proptest! {
        /// Whatever blocks ask for, one of them always gets what it still needs, up to its whole demand.
        #[test]
        fn some_block_can_always_finish(
            demand in 1u32..20,
            room in 0u32..40,
            asked in prop::collection::vec((0usize..4, 1u32..4, any::<bool>()), 1..200),
        ) {
            let mut throttle = Throttle::new(demand + room, demand, 4);
            for (block, count, gives) in asked {
                let held = throttle.held()[block];
                if gives {
                    throttle.give_back(block, count.min(held));
                } else if held + count <= demand && throttle.may_take(block, count).is_ok() {
                    throttle.take(block, count);
                }
                prop_assert!(all_finish(&throttle), "{:?}", throttle);
            }
        }

        /// The same where blocks share registers: a borrower gives the register back that it had taken for its result.
        #[test]
        fn some_block_can_always_finish_where_blocks_share(
            demand in 1u32..20,
            room in 0u32..40,
            asked in prop::collection::vec((0usize..4, 0usize..4, 0u8..6), 1..300),
        ) {
            let mut throttle = Throttle::new(demand + room, demand, 4);
            let mut lent = 0;
            for (block, other, what) in asked {
                let held = throttle.held()[block];
                match what {
                    0..=2 if held < demand && throttle.may_take(block, 1).is_ok() => throttle.take(block, 1),
                    3 if block != other && held > 0 && throttle.held()[other] > 0 => {
                        throttle.give_back(block, 1);
                        throttle.lend(other);
                        lent += 1;
                    }
                    4 if lent > 0 => {
                        throttle.free_lent();
                        lent -= 1;
                    }
                    5 if lent > 0 && held < demand => {
                        throttle.adopt(block);
                        lent -= 1;
                    }
                    _ => {}
                }
                prop_assert!(all_finish(&throttle), "{:?}", throttle);
                let held: u32 = throttle.held().iter().sum();
                prop_assert_eq!(throttle.free() + held + lent, demand + room);
            }
        }
    }

    /// Whether all blocks finish, one after the other: each takes one register at a time to its demand, and then ends.
    fn all_finish(throttle: &Throttle) -> bool {
        let mut rest = throttle.clone();
        let mut left: Vec<usize> = (0..rest.held().len()).collect();
        while !left.is_empty() {
            let finishes = |block: &usize| {
                let mut trial = rest.clone();
                while trial.held()[*block] < trial.demand {
                    if trial.may_take(*block, 1).is_err() {
                        return false;
                    }
                    trial.take(*block, 1);
                }
                true
            };
            let Some(next) = left.iter().position(finishes) else { return false };
            let block = left.remove(next);
            let held = rest.held()[block];
            rest.give_back(block, held);
        }
        true
    }
}
