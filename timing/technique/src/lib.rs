//! The interface between Warplab's SM timing model and microarchitectural techniques.
//!
//! A technique is one type that implements [`Technique`], and one [`Registration`]. It can be in any crate:
//! the `timing` library's command line takes registrations from its caller. A technique declares its
//! parameters, counters, stall causes, storage and causes of lost opportunities in its own file with the
//! macros of [`declare`]; they appear in lists, tables, JSON, CSV, reports and energy without changes to
//! another file.
//!
//! Rules that make techniques composable and their results credible:
//! - **Questions change nothing.** Hooks that decide ([`Technique::fetch`], [`Technique::issue`], …) take
//!   `&self`; decisions are reported afterwards ([`Technique::fetched`], [`Technique::issued`]), to every
//!   technique.
//! - **No value is supplied unseen.** [`Supplied`], which every answer in place of the register file carries, is
//!   only made by [`Cx::supply`] and [`Cx::supply_result`], which compare the row with the recorded one in every lane that the
//!   instruction executes and the program has written ([`WarpView::reads`]); the technique has no say in it.
//! - **Nothing is free.** Structures are [`Storage`]: accesses queue at ports, take time and are counted.
//! - **Accounts balance.** The supplied and lost values, by cause, sum to the opportunities
//!   ([`Cx::opportunity`], [`Cx::lost`]); the engine checks it at the end of every kernel.

pub mod banks;
pub mod config;
pub mod context;
pub mod control;
pub mod declare;
mod lanes;
mod micro;
pub mod occupancy;
mod plan;
pub mod policy;
pub mod program;
mod recording;
mod scout;
mod storage;
mod technique;
mod timed;
mod verdict;
mod view;
mod write;

pub use context::{Cx, EarlyLoad, Effects, Holder, Ledger, Proofs, Supplied, ValueMismatch};
pub use declare::{CauseInfo, CounterInfo, ParamInfo, ParamValue, Params, Price};
pub use lanes::{first_difference, merge, noise_outside};
pub use micro::{MicroId, MicroOp};
pub use plan::{Claim, CollectorPlan, Edge, Hooks, Inserted, Launch, Plan};
pub use recording::{Executed, Profiled, RecordedWarps};
pub use scout::{Scouted, Scouting, Scouts};
pub use storage::{Access, Shape, Storage, StorageInfo};
pub use technique::{Fork, Registration, Technique, TechniqueInfo};
/// Used by the macros of [`declare`].
#[doc(hidden)]
pub use toml;
pub use trace_format::semantics::Row;
pub use verdict::{
    AccessVerdict, Choice, FetchVerdict, IssueVerdict, Issuing, OperandRead, Prefetched, ReadFrom,
};
pub use view::{Answered, InFlightId, InstView, MemAccess, WarpView};
pub use write::{RegisterWrite, Rewritten, WriteTo};

/// Bytes of a line of the caches.
pub const LINE_BYTES: u64 = 128;

/// Version of this interface; it increases when existing techniques must be changed.
pub const INTERFACE_VERSION: u32 = 6;
