//! Memory pools. Work is done when it is submitted, so that memory freed in a stream is free at once and
//! nothing is held back for reuse; a pool holds only its settings and its count of bytes.

use crate::error::{Outcome, Status};
use crate::handles::{Handles, Kind};
use std::collections::BTreeMap;

/// A pool.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Attributes 1 to 3: reuse policies.
    pub reuse: [u32; 3],
    /// Unused bytes that it would retain.
    pub release_threshold: u64,
    /// Bytes allocated from it.
    pub used: u64,
    /// Maximum of `used`.
    pub used_high: u64,
    /// Limit in bytes, 0 for none.
    pub limit: u64,
}

impl Default for Pool {
    fn default() -> Pool {
        Pool { reuse: [1; 3], release_threshold: 0, used: 0, used_high: 0, limit: 0 }
    }
}

/// All pools.
#[derive(Debug)]
pub struct Pools {
    /// Pools by handle.
    pub pools: Handles<Pool>,
    default: Option<u64>,
    current: Option<u64>,
    /// Pool of each allocation.
    pub(super) from: BTreeMap<u64, u64>,
}

impl Default for Pools {
    fn default() -> Pools {
        Pools { pools: Handles::new(Kind::Pool), default: None, current: None, from: BTreeMap::new() }
    }
}

impl Pools {
    /// The device's own pool.
    pub fn default_pool(&mut self) -> u64 {
        *self.default.get_or_insert_with(|| self.pools.insert(Pool::default()))
    }

    /// The pool that allocations without one come from.
    pub fn current_pool(&mut self) -> u64 {
        match self.current {
            Some(pool) => pool,
            None => self.default_pool(),
        }
    }

    /// Makes a pool the current one.
    ///
    /// # Errors
    /// When there is no such pool.
    pub fn set_current(&mut self, pool: u64) -> Outcome {
        self.pools.get(pool)?;
        self.current = Some(pool);
        Ok(())
    }

    /// Ends a pool; allocations from it stay until they are freed.
    ///
    /// # Errors
    /// When there is no such pool, or it is the device's own.
    pub fn destroy(&mut self, pool: u64) -> Outcome {
        if self.default == Some(pool) {
            return Err(Status::INVALID_VALUE);
        }
        if self.current == Some(pool) {
            self.current = None;
        }
        self.pools.remove(pool).map(drop)
    }

    /// Pool that an allocation came from.
    #[must_use]
    pub fn pool_of(&self, address: u64) -> Option<u64> {
        self.from.get(&address).copied()
    }

    /// Ends all pools.
    pub fn clear(&mut self) {
        self.pools.clear();
        (self.default, self.current) = (None, None);
        self.from.clear();
    }
}
