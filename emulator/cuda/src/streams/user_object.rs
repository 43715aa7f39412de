//! Objects of the program that graphs retain: a reference count, and a destructor that is called after the
//! last release.

use super::work::HostCall;

/// An object.
#[derive(Debug)]
pub struct UserObject {
    /// Its destructor.
    pub(super) end: HostCall,
    /// References to it.
    pub(super) count: u64,
}
