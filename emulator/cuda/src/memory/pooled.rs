//! Allocates from memory pools, and frees what may have come from one.

use super::allocations::{Memory, Purpose};
use crate::error::{Outcome, Status};

impl Memory {
    /// Allocates from a pool.
    ///
    /// # Errors
    /// When there is no such pool or it has no room.
    pub fn allocate_from(&mut self, pool: u64, bytes: u64) -> Outcome<u64> {
        let found = self.pools.pools.get(pool)?;
        if found.limit != 0 && bytes > found.limit.saturating_sub(found.used) {
            return Err(Status::MEMORY_ALLOCATION);
        }
        let address = self.allocate("memory pool", bytes, Purpose::Device, 0)?;
        let found = self.pools.pools.get_mut(pool)?;
        found.used += bytes;
        found.used_high = found.used_high.max(found.used);
        self.pools.from.insert(address, pool);
        Ok(address)
    }

    /// Frees device memory, from a pool or not, and what graphs have allocated.
    ///
    /// # Errors
    /// `INVALID_VALUE` when none begins at the address.
    pub fn free_device(&mut self, address: u64) -> Outcome {
        let region = self.release(address)?;
        let pool = self.pools.from.remove(&address).and_then(|pool| self.pools.pools.get_mut(pool).ok());
        if let Some(pool) = pool {
            pool.used -= region.bytes;
        }
        Ok(())
    }
}
