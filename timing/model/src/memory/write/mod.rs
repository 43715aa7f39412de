//! Write policies of L1.
//!
//! A policy decides whether L1 keeps the line and which sectors are sent to L2; L2 itself always keeps stores
//! and writes them back. A new policy is one file and one entry of the list below.

mod policy;
mod write_back;
mod write_evict;
mod write_through;

use super::cache::Tags;
use crate::config::GpuConfig;
use crate::policy::policies;
use policy::Write;

pub(crate) use policy::{LineStore, Stored};

policies! {
    $ call_policy,
    /// The policy of a cache.
    enum Chosen { write_through::Through, write_evict::Evict, write_back::Back }
}

/// Value of `l1.local_write_policy` that means: as for stores to global memory.
pub(crate) const AS_GLOBAL: &str = "as_global";

/// The write policy of one kind of stores.
#[derive(Clone, Debug)]
pub(crate) struct WritePolicy(Chosen);

impl WritePolicy {
    /// The policy with a name, for a checked configuration.
    fn new(config: &GpuConfig, name: &str) -> WritePolicy {
        WritePolicy(Chosen::named(config, name).expect("the configuration was checked"))
    }

    /// The policy of stores to global memory.
    ///
    /// # Panics
    /// If `l1.write_policy` names no policy.
    #[must_use]
    pub(crate) fn global(config: &GpuConfig) -> WritePolicy {
        WritePolicy::new(config, &config.l1.write_policy)
    }

    /// The policy of stores to local memory.
    ///
    /// # Panics
    /// If `l1.local_write_policy` names no policy.
    #[must_use]
    pub(crate) fn local(config: &GpuConfig) -> WritePolicy {
        match config.l1.local_write_policy.as_str() {
            AS_GLOBAL => WritePolicy::global(config),
            name => WritePolicy::new(config, name),
        }
    }

    /// Whether L1 may hold data that L2 does not have.
    #[must_use]
    pub(crate) fn keeps(&self) -> bool {
        fn of<P: Write>(_: &P) -> bool {
            P::KEEPS
        }
        call_policy!(&self.0, policy => of(policy))
    }

    /// Whether a store may allocate its line, which evicts another one.
    #[must_use]
    #[inline]
    pub(crate) fn inserts(&self, allocate: bool) -> bool {
        fn of<P: Write>(_: &P, allocate: bool) -> bool {
            P::inserts(allocate)
        }
        call_policy!(&self.0, policy => of(policy, allocate))
    }

    /// Applies a store to L1.
    #[inline]
    pub(crate) fn store(&self, l1: &mut Tags, store: &LineStore) -> Stored {
        fn of<P: Write>(_: &P, l1: &mut Tags, store: &LineStore) -> Stored {
            P::store(l1, store)
        }
        call_policy!(&self.0, policy => of(policy, l1, store))
    }
}

/// Whether L1 under the policy with a name may hold data that L2 does not have; none if there is no such
/// policy.
#[must_use]
pub(crate) fn keeps(config: &GpuConfig, name: &str) -> Option<bool> {
    Chosen::named(config, name).map(|chosen| WritePolicy(chosen).keeps())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{SetHash, load};
    use crate::memory::replacement::Replacement;

    /// Result of a store under a policy when L1 has `resident` sectors of the line, and L1's sectors
    /// afterwards.
    pub(super) fn after(policy: &str, resident: u8, store: &LineStore) -> (Stored, u8) {
        let config = load("gtx480", &[]).expect("built-in").config;
        let mut l1 = Tags::new(1, 2, SetHash::Linear, Replacement::new(&config, "lru"));
        if resident != 0 {
            l1.insert(store.line, resident, 0);
        }
        let stored = WritePolicy::new(&config, policy).store(&mut l1, store);
        (stored, l1.probe(store.line))
    }

    #[test]
    fn no_policy_loses_a_sector_and_only_those_that_keep_hold_one_back() {
        let config = load("gtx480", &[]).expect("built-in").config;
        for row in POLICIES {
            let policy = WritePolicy::new(&config, row.info.name);
            for bits in 0..1u32 << 13 {
                let (sectors, part) = ((bits & 15) as u8, (bits >> 4 & 15) as u8);
                let (resident, allocate) = ((bits >> 8 & 15) as u8, bits >> 12 != 0);
                let store = LineStore { line: 3, sectors, full: sectors & part, allocate };
                let (stored, _) = after(row.info.name, resident, &store);
                let name = row.info.name;
                assert!(policy.inserts(allocate) || stored.kept.is_none(), "{name}: {store:?}");
                let kept = stored.kept.unwrap_or(policy::Kept { valid: 0, dirty: 0 });
                assert_eq!(kept.dirty | stored.through, sectors, "{name}: {store:?}");
                assert_eq!(kept.dirty & stored.through, 0, "{name}: {store:?}");
                assert!(policy.keeps() || kept.dirty == 0, "{name}: {store:?}");
                assert_eq!(kept.valid & !(resident | store.full), 0, "{name}: {store:?}");
            }
        }
    }
}
