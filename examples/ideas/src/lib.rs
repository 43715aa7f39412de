//! Three ideas that are not techniques, each in a file of its own: a warp scheduler, a replacement policy of caches, and a limit
//! study.

pub mod mru;
pub mod youngest;
pub mod zeros;

use timing::policies::{ReplaceEntry, WarpPolicyEntry};
use timing::studies::StudyEntry;

/// The warp schedulers.
pub const SCHEDULERS: &[WarpPolicyEntry] = &[WarpPolicyEntry::of::<youngest::Youngest>()];

/// The replacement policies.
pub const REPLACEMENT: &[ReplaceEntry] = &[ReplaceEntry::of::<mru::Mru>()];

/// The studies.
pub const STUDIES: &[StudyEntry] = &[StudyEntry::of::<zeros::Zeros>(&zeros::STUDY)];
