//! Registers of a physical file that has fewer than the resident blocks name: who holds how many, and which results
//! have to wait, so that one block can always finish.
//!
//! A block may come to hold all registers of all its warps: its *demand*. The state is safe if for some block the free
//! registers suffice for what it does not hold of its demand. A result takes a register only if the state is safe
//! afterwards. The block for which it is safe never waits for registers; when it ends, at least its demand is free, and
//! all blocks of a kernel have the same demand, so that the state is safe for any other one.

use super::Stall;

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

    /// Free registers.
    pub(super) fn free(&self) -> u32 {
        self.free
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
                // Each block in turn takes one register at a time to its demand, and then ends.
                let mut rest = throttle.clone();
                let mut left = vec![0, 1, 2, 3];
                while !left.is_empty() {
                    let finishes = |block: &usize| {
                        let mut trial = rest.clone();
                        while trial.held()[*block] < demand {
                            if trial.may_take(*block, 1).is_err() {
                                return false;
                            }
                            trial.take(*block, 1);
                        }
                        true
                    };
                    let next = left.iter().position(finishes);
                    prop_assert!(next.is_some(), "{:?}", rest);
                    let block = left.remove(next.expect("asserted"));
                    let held = rest.held()[block];
                    rest.give_back(block, held);
                }
            }
        }
    }
}
