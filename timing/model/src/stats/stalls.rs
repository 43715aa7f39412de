//! The causes to which every scheduler slot of every cycle is attributed, exactly one each.
//!
//! A scheduler has `issue_width` slots per cycle. When nothing issues, the cause is that of the warp closest
//! to issue; the list is in this order, closest first.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

macro_rules! stalls {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal;)+) => {
        /// Use of a scheduler slot: an issue, or the cause of its absence.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Stall {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Stall {
            /// Every cause, in declaration order.
            pub const ALL: &'static [Stall] = &[$(Stall::$variant),+];

            /// JSON key.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Stall::$variant => $name),+ }
            }

            /// What the cause means.
            #[must_use]
            pub const fn doc(self) -> &'static str {
                match self { $(Stall::$variant => concat!($($doc),+)),+ }
            }
        }
    };
}

stalls! {
    /// An instruction issued.
    Issued = "issued";
    /// The second slot of a dual issue found no second instruction that may pair with the first.
    DualIssue = "dual_issue_restriction";
    /// A technique stalled the warp.
    Technique = "technique";
    /// Warps were ready, but none in the active set of the two-level policy.
    Inactive = "not_in_active_set";
    /// An operand in constant memory was not in the sub-core's cache of them.
    ConstantMiss = "constant_miss";
    /// The load/store queue was full.
    MemoryQueueFull = "memory_queue_full";
    /// Collected instructions waited for an execution unit and left no collector free.
    UnitBusy = "unit_busy";
    /// Every operand collector was still collecting, or operands waited for ports of the banks of their sub-core.
    CollectorFull = "operand_collector_full";
    /// A source or destination awaits an arithmetic result, or the stall count of the instruction before has not run down.
    AluDependency = "alu_dependency";
    /// A source or destination awaits a load.
    MemoryDependency = "memory_dependency";
    /// A branch is being resolved.
    Branch = "branch";
    /// The I-buffer is empty because fetch or decode has not delivered yet.
    IBufferEmpty = "ibuffer_empty";
    /// The I-buffer is empty because of an I-cache miss.
    ICacheMiss = "icache_miss";
    /// Waiting for the other warps of the block at a barrier.
    Barrier = "barrier";
    /// Waiting for earlier memory accesses at a fence.
    Fence = "fence";
    /// The warp has exited and waits for outstanding results, or its block is being set up.
    Drain = "drain";
    /// No warp is resident on this scheduler.
    NoWarp = "no_warp";
    /// The kernel launch latency.
    Launch = "launch";
}

/// Number of causes.
pub const STALLS: usize = Stall::ALL.len();

/// Slots by cause.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StallCounts([u64; STALLS]);

impl StallCounts {
    /// Attributes `slots` slots to a cause.
    #[inline]
    pub fn add(&mut self, cause: Stall, slots: u64) {
        self.0[cause as usize] += slots;
    }

    /// Removes slots that were attributed to a cause.
    pub fn remove(&mut self, cause: Stall, slots: u64) {
        self.0[cause as usize] -= slots;
    }

    /// Slots attributed to a cause.
    #[must_use]
    pub fn get(&self, cause: Stall) -> u64 {
        self.0[cause as usize]
    }

    /// All slots.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds another part's slots.
    pub fn merge(&mut self, other: &StallCounts) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine += theirs;
        }
    }

    /// Slots since an earlier state of the same counts.
    #[must_use]
    pub fn since(&self, earlier: &StallCounts) -> StallCounts {
        StallCounts(std::array::from_fn(|cause| self.0[cause] - earlier.0[cause]))
    }

    /// An object with one key per cause.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let pairs = Stall::ALL.iter().map(|cause| (cause.name().to_owned(), self.get(*cause).into()));
        Value::Object(pairs.collect::<Map<_, _>>())
    }
}
