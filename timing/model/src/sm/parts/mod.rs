//! The components of an SM. Each owns its state, knows none of the others and nothing of [`super::Sm`].
//!
//! A component reaches a neighbour through a trait in its own file or through its caller: instructions are
//! offered and accepted or refused, requests are sent if there is room, results are due at a cycle. The
//! stages ([`super::stages`]) connect them, and each component's tests use stand-ins for its neighbours.

pub(super) mod barriers;
pub(super) mod collectors;
mod data_caches;
pub(super) mod dependences;
pub(super) mod early;
pub(super) mod first_level;
pub(super) mod flight;
pub(super) mod followers;
pub(super) mod front;
pub(super) mod load_store;
pub(super) mod lookup;
pub(super) mod memory_port;
#[cfg(test)]
mod mock;
pub(super) mod observer;
mod operand_constants;
pub(super) mod operands;
pub(super) mod prefetch_buffer;
pub(super) mod scoreboard;
pub(super) mod scouts;
pub(super) mod second_level;
mod sectored_cache;
pub(super) mod small_caches;
pub(super) mod units;
pub(super) mod warps;
pub(super) mod wheel;
mod windows;
pub(super) mod write_back;

use crate::stats::Stall;

/// Stall cause of the warps that wait for results, some of them from memory: arithmetic results take precedence.
fn cause_of_waits(held: u64, by_memory: u64) -> Option<Stall> {
    if held & !by_memory != 0 {
        Some(Stall::AluDependency)
    } else if held != 0 {
        Some(Stall::MemoryDependency)
    } else {
        None
    }
}

/// Iterator over a set of warp slots, in ascending order.
#[derive(Clone, Copy, Debug)]
pub(super) struct WarpSet(pub u64);

impl Iterator for WarpSet {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let warp = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(warp)
    }
}
